"""`dataset.Shuffle`: MindSpore's names of how far samples are mixed."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from graphc.arguments import refusal
from graphc.errors import ArgumentTypeError, user_loc


class Shuffle(StrEnum):
    """GLOBAL mixes files and samples, FILES the order of files only; the others are for MindRecord files."""

    FALSE = "false"
    ADAPTIVE = "adaptive"
    GLOBAL = "global"
    PARTIAL = "partial"
    FILES = "files"
    INFILE = "infile"


def is_global(owner: str, shuffle: Any) -> None:
    """Refuse any other way of mixing than Shuffle.GLOBAL."""
    if not isinstance(shuffle, Shuffle):
        raise ArgumentTypeError(f"{owner}: shuffle must be a Shuffle, got {type(shuffle).__name__}", loc=user_loc())
    if shuffle is not Shuffle.GLOBAL:
        raise refusal(owner, "shuffle", shuffle, Shuffle.GLOBAL)
