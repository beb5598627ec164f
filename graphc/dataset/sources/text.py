"""Lines of text files, and rows of CSV files."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from graphc.dataset.checks import LateError, names
from graphc.dataset.sources.files import check_width, csv_rows, lines_of, text_of, unfit
from graphc.dataset.sources.line_files import FILES, LINES, LinesDataset
from graphc.dataset.sources.parameters import CACHE, Parameter
from graphc.dataset.sources.source import MappableDataset
from graphc.errors import ArgumentTypeError, ArgumentValueError, user_loc


class TextFileDataset(LinesDataset):
    """The lines of text files that are not empty, without their ends, in one column "text".

    dataset_files: a path, or several; they may be patterns. Files come in the order of their names. shuffle: Shuffle.GLOBAL or
    True mixes files and lines, Shuffle.FILES the order of files only, False nothing. num_shards, shard_id: one of so many
    shares of lines that follow each other, of one size: the last ones begin again with the first line. num_samples: at most so
    many lines, the first ones. num_parallel_workers has no effect on text that is read at once; cache must be None.
    """

    parameters: tuple[Parameter, ...] = (FILES, *LINES, CACHE)

    def paths(self, given: Any) -> list[Path]:
        found: list[Path] = given.dataset_files
        return found

    def rows(self, path: Path, given: Any) -> list[Sequence[Any]]:
        return [(line,) for line in text_of(type(self).__name__, path).split("\n") if line]


def _delimiter(owner: str, name: str, value: Any) -> str:
    if value is None:
        return ","
    if not isinstance(value, str):
        raise ArgumentTypeError(f"{owner}: {name} must be one character, got {type(value).__name__}", loc=user_loc())
    if len(value) != 1 or value in '"\r\n':
        raise ArgumentValueError(f"{owner}: {name} must be one character, not a quote, got {value!r}", loc=user_loc())
    return value


def _column_names(owner: str, name: str, value: Any) -> list[str] | None:
    if value is None or value == []:
        return None
    return names(owner, name, value, alone=False, twice=LateError)


def _defaults(owner: str, name: str, value: Any) -> list[Any] | None:
    if value is not None and not isinstance(value, list):
        raise ArgumentTypeError(f"{owner}: {name} must be a list", loc=user_loc())
    for default in value or ():
        if isinstance(default, bool) or not isinstance(default, (int, float, str)):
            raise ArgumentTypeError(
                f"{owner}: {name} must be ints, floats or texts, one is {default!r}", loc=user_loc()
            )
    return value


#: Python type of a default -> dtype of its column.
_KINDS = {int: np.int32, float: np.float32, str: np.str_}


class CSVDataset(TextFileDataset):
    """The rows of CSV files, a column for each of theirs.

    dataset_files: a path, or several; they may be patterns. field_delim: one character between values, which may stand in
    double quotes. column_defaults: of the first columns, whose types are taken: int is int32, float is float32, str is text; all
    others are text. An empty value is the default, for numbers. column_names: by default the first line of each file.
    num_samples, shuffle, num_shards, shard_id and cache: as in TextFileDataset. DataError for a row of another length, or a
    value of another type.
    """

    holds = MappableDataset.holds
    parameters = (
        FILES,
        Parameter("field_delim", ",", _delimiter),
        Parameter("column_defaults", None, _defaults),
        Parameter("column_names", None, _column_names),
        *LINES,
        CACHE,
    )

    def fields(self, given: Any) -> dict[str, Any]:
        if given.column_defaults is None:
            return dict.fromkeys(given.column_names, np.str_)
        kinds = [_KINDS[type(d)] for d in given.column_defaults]
        return dict(zip(given.column_names, kinds, strict=True))

    def paths(self, given: Any) -> list[Path]:
        """The files; the names of columns that are not given are read from them."""
        owner = type(self).__name__
        self._head = given.column_names is None
        for path in given.dataset_files if self._head else ():
            line = next(iter(lines_of(owner, path)), None)
            if not line:
                raise unfit(owner, path, "is empty")
            first = next(csv.reader([line], delimiter=given.field_delim))
            if given.column_names is not None and first != given.column_names:
                raise unfit(owner, path, f"has columns {first}, the file before has {given.column_names}")
            given.column_names = names(owner, f"the first line of {path.name}", first, twice=LateError)
        defaults = given.column_defaults
        lacking = 0 if defaults is None else len(given.column_names) - len(defaults)
        if lacking < 0:
            raise LateError(
                f"{owner}: column_defaults has {len(defaults)} values, there are {len(given.column_names)} columns",
                loc=user_loc(),
            )
        if lacking:
            given.column_defaults = [*defaults, *[""] * lacking]
        return super().paths(given)

    def rows(self, path: Path, given: Any) -> list[Sequence[Any]]:
        owner = type(self).__name__
        rows = csv_rows(owner, path, given.field_delim)[self._head :]
        check_width(owner, path, rows, len(given.column_names))
        if given.column_defaults is None:
            return [row for _, row in rows]
        return [
            [
                _typed(owner, path, line, name, text, default)
                for name, text, default in zip(given.column_names, row, given.column_defaults, strict=True)
            ]
            for line, row in rows
        ]


def _typed(owner: str, path: Path, line: int, name: str, text: str, default: Any) -> Any:
    """A value of the type of its column's default."""
    if isinstance(default, str):
        return text
    kind, dtype = (int, np.int32) if isinstance(default, int) else (float, np.float32)
    try:
        return dtype(kind(text) if text else default)
    except (ValueError, OverflowError):
        raise unfit(owner, path, f"has {text!r} for {name!r}, which is no {np.dtype(dtype)}", line) from None
