"""What sources of files share: paths that must be there, bytes that must be whole."""

from __future__ import annotations

import glob
import os
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


def matching_files(owner: str, dataset_files: Any) -> list[Path]:
    """Files of a path or a list of paths, which may be patterns; in the order of their names."""
    given = [dataset_files] if isinstance(dataset_files, (str, os.PathLike)) else dataset_files
    if not isinstance(given, (list, tuple)) or not given:
        raise ArgumentTypeError(f"{owner}: dataset_files must be a path or a list of paths", loc=user_loc())
    found: list[str] = []
    for pattern in given:
        if not isinstance(pattern, (str, os.PathLike)):
            raise ArgumentTypeError(
                f"{owner}: dataset_files must be paths, one is {type(pattern).__name__}", loc=user_loc()
            )
        named = [os.fspath(pattern)] if os.path.isfile(pattern) else []
        matching = [p for p in glob.glob(os.fspath(pattern), recursive=True) if os.path.isfile(p)] or named
        if not matching:
            raise ArgumentValueError(f"{owner}: there is no file {os.fspath(pattern)!r}", code="GC205", loc=user_loc())
        found += matching
    return [Path(p) for p in sorted(found)]
