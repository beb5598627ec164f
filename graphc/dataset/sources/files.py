"""What sources of files share: paths that must be there, bytes that must be whole."""

from __future__ import annotations

import csv
import glob
import io
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from graphc.errors import ArgumentTypeError, ArgumentValueError, DataError, KindError, user_loc

#: Values of a CSV file may be as long as this, more than Python's reader takes by itself.
_LONGEST = 2**31 - 1


def directory(owner: str, name: str, value: Any) -> Path:
    """A directory that is there; ArgumentTypeError or ArgumentValueError else. name: the argument's."""
    if not isinstance(value, (str, os.PathLike)):
        raise ArgumentTypeError(f"{owner}: {name} must be a path, got {type(value).__name__}", loc=user_loc())
    path = Path(value)
    if not os.fspath(value) or not path.is_dir():
        raise ArgumentValueError(f"{owner}: there is no directory {os.fspath(value)!r}", code="GC205", loc=user_loc())
    return path


def a_file(owner: str, name: str, value: Any) -> Path:
    """A file that is there; ArgumentTypeError or ArgumentValueError else. name: the argument's."""
    if not isinstance(value, (str, os.PathLike)):
        raise ArgumentTypeError(f"{owner}: {name} must be a path, got {type(value).__name__}", loc=user_loc())
    path = Path(value)
    if not path.is_file():
        raise ArgumentValueError(f"{owner}: there is no file {str(path)!r}", code="GC205", loc=user_loc())
    return path


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


def text_of(owner: str, path: Path, encoding: str = "utf-8") -> str:
    """The text of a file in UTF-8; encoding: "utf-8-sig" for one that may begin with a mark of that. DataError if it is missing
    or is something else.
    """
    try:
        return read_whole(owner, path).decode(encoding)
    except UnicodeDecodeError as error:
        raise DataError(
            f"{owner}: {path.name} is no UTF-8 text: {error.reason} at byte {error.start}", code="GC205", loc=user_loc()
        ) from error


def lines_of(owner: str, path: Path) -> list[str]:
    """The lines of a text file, without what ends them; the last one counts if there is something in it."""
    text = text_of(owner, path)
    if "\0" in text:
        raise unfit(owner, path, "is no text: there is a zero in it")
    lines = text.split("\n")
    if not lines[-1]:
        lines.pop()
    return [line.removesuffix("\r") for line in lines]


def csv_rows(owner: str, path: Path, delimiter: str = ",", encoding: str = "utf-8") -> list[tuple[int, list[str]]]:
    """(number of the line, values) of the rows of a CSV file that are not empty. DataError for what is none."""
    reader = csv.reader(io.StringIO(text_of(owner, path, encoding), newline=""), delimiter=delimiter, strict=True)
    most = csv.field_size_limit(_LONGEST)
    try:
        return [(reader.line_num, row) for row in reader if row]
    except csv.Error as error:
        raise unfit(owner, path, f"is no CSV: {error}", reader.line_num) from error
    finally:
        csv.field_size_limit(most)


def check_width(owner: str, path: Path, rows: list[tuple[int, list[str]]], width: int) -> None:
    """DataError for a row of a CSV file that has not one value for each column."""
    for line, row in rows:
        if len(row) != width:
            raise unfit(owner, path, f"has {len(row)} values, there are {width} columns", line)


def unfit(owner: str, path: Path, why: str, line: int | None = None) -> DataError:
    """The error of a file that is not what it should be. line: where, counted from 1."""
    place = path.name if line is None else f"{path.name}:{line}"
    return DataError(f"{owner}: {place} {why}", code="GC205", loc=user_loc(), details=[f"in {path.parent}"])


def folder_in(owner: str, path: Path) -> Path:
    """A folder of the data set that must be there. DataError else."""
    if not path.is_dir():
        raise DataError(f"{owner}: there is no folder {str(path)!r}", code="GC205", loc=user_loc())
    return path


def matching_files(owner: str, dataset_files: Any) -> list[Path]:
    """Files of a path or a list of paths, which may be patterns; in the order of their names."""
    given = [dataset_files] if isinstance(dataset_files, (str, os.PathLike)) else dataset_files
    if not isinstance(given, list) or not given:
        raise KindError(f"{owner}: dataset_files must be a path or a list of paths", loc=user_loc())
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
