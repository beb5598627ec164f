"""`dataset.Shuffle`: MindSpore's names of how far samples are mixed."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

import numpy as np

from graphc.errors import ArgumentTypeError, user_loc
from graphc.validation.unused_arguments import refusal


class Shuffle(StrEnum):
    """GLOBAL mixes files and samples, FILES the order of files only; the others are for MindDataset."""

    FALSE = "false"
    ADAPTIVE = "adaptive"
    GLOBAL = "global"
    PARTIAL = "partial"
    FILES = "files"
    INFILE = "infile"


def is_level(owner: str, shuffle: Any, or_bool: bool = False) -> Shuffle:
    """How far samples are mixed: a Shuffle, or a bool, True for Shuffle.GLOBAL. ArgumentTypeError for anything else."""
    if or_bool and isinstance(shuffle, (bool, np.bool_)):
        return Shuffle.GLOBAL if shuffle else Shuffle.FALSE
    if not isinstance(shuffle, Shuffle):
        wanted = "a bool or a Shuffle" if or_bool else "a Shuffle"
        raise ArgumentTypeError(f"{owner}: shuffle must be {wanted}, got {type(shuffle).__name__}", loc=user_loc())
    return shuffle


def of_records_only(owner: str, shuffle: Shuffle) -> None:
    """Refuse other ways of mixing than Shuffle.GLOBAL, or none, for data sets whose samples are in no files."""
    if shuffle not in (Shuffle.GLOBAL, Shuffle.FALSE):
        raise refusal(owner, "shuffle", shuffle, Shuffle.GLOBAL)
