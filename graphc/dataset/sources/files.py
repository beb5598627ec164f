"""What sources of files share: paths that must be there, bytes that must be whole."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from graphc.arguments import only
from graphc.errors import ArgumentTypeError, ArgumentValueError, DataError, user_loc


def directory(owner: str, value: Any) -> Path:
    """A directory that is there; ArgumentTypeError or ArgumentValueError else."""
    if not isinstance(value, (str, os.PathLike)):
        raise ArgumentTypeError(f"{owner}: dataset_dir must be a path, got {type(value).__name__}", loc=user_loc())
    path = Path(value)
    if not path.is_dir():
        raise ArgumentValueError(f"{owner}: there is no directory {str(path)!r}", code="GC205", loc=user_loc())
    return path


def usage_of(owner: str, value: Any) -> tuple[bool, bool]:
    """Whether files of training and of testing are read: "train", "test", "all" or None."""
    if value not in (None, "train", "test", "all"):
        raise ArgumentValueError(f"{owner}: usage must be 'train', 'test' or 'all', got {value!r}", loc=user_loc())
    return value != "test", value != "train"


def files_with(owner: str, folder: Path, parts: Sequence[str], end: str = "") -> list[Path]:
    """The files of a folder whose names have one of the parts in them, and end so, by name; DataError if there are none."""
    found = sorted(p for p in folder.iterdir() if p.name.endswith(end) and any(part in p.name for part in parts))
    if not found:
        raise DataError(
            f"{owner}: no file in {str(folder)!r} has {' or '.join(map(repr, parts))} in its name"
            + (f" and ends in {end!r}" if end else ""),
            code="GC205",
            loc=user_loc(),
        )
    return found


def no_cache(owner: str, cache: Any) -> None:
    """MindSpore's cache is a server of its own, which there is none of here."""
    only(owner, "cache", cache, None)


def read_whole(owner: str, path: Path) -> bytes:
    """The bytes of a file. DataError if it is missing or cannot be read."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise DataError(
            f"{owner}: {path.name} cannot be read: {error.strerror}",
            code="GC205",
            loc=user_loc(),
            details=[f"in {path.parent}"],
        ) from error
