"""Lines of text files, and rows of CSV files."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

import numpy as np

from graphc.dataset.checks import integer, names
from graphc.dataset.orders.files import FilesSampler, how_mixed
from graphc.dataset.shuffle import Shuffle
from graphc.dataset.sources.arrays import ArrayDataset
from graphc.dataset.sources.files import matching_files, no_cache, read_whole
from graphc.dataset.sources.source import check_shards
from graphc.errors import ArgumentTypeError, ArgumentValueError, DataError, user_loc

Array = np.ndarray[Any, np.dtype[Any]]


def _text(owner: str, path: Path) -> str:
    try:
        return read_whole(owner, path).decode("utf-8")
    except UnicodeDecodeError as error:
        raise DataError(
            f"{owner}: {path.name} is no UTF-8 text: {error.reason} at byte {error.start}", code="GC205", loc=user_loc()
        ) from error


class _TextDataset(ArrayDataset):
    """What both have in common: columns made of rows of files."""

    def _fill(
        self,
        owner: str,
        columns: dict[str, Array],
        ends: list[int],
        shuffle: Any,
        num_samples: int | None,
        num_shards: int | None,
        shard_id: int | None,
        workers_: int | None,
    ) -> None:
        check_shards(owner, num_shards, shard_id)
        number = None if num_samples is None else integer(owner, "num_samples", num_samples, 0) or None
        lines = FilesSampler(ends, how_mixed(owner, shuffle), num_shards or 1, shard_id or 0, number)
        ArrayDataset.__init__(self, columns, workers_, lines)


class TextFileDataset(_TextDataset):
    """The lines of text files that are not empty, without their ends, in one column "text".

    dataset_files: a path, or several; they may be patterns. Files come in the order of their names. shuffle: Shuffle.GLOBAL or
    True mixes files and lines, Shuffle.FILES the order of files only, False nothing. num_shards, shard_id: one of so many
    shares of lines that follow each other. num_samples: at most so many lines. num_parallel_workers has no effect on text
    that is read at once; cache must be None.
    """

    def __init__(
        self,
        dataset_files: Any,
        num_samples: int | None = None,
        num_parallel_workers: int | None = None,
        shuffle: Any = Shuffle.GLOBAL,
        num_shards: int | None = None,
        shard_id: int | None = None,
        cache: None = None,
    ) -> None:
        owner = "TextFileDataset"
        no_cache(owner, cache)
        lines: list[str] = []
        ends: list[int] = []
        for path in matching_files(owner, dataset_files):
            lines += [line for line in _text(owner, path).split("\n") if line]
            ends.append(len(lines))
        columns = {"text": np.array(lines, np.str_)}
        self._fill(owner, columns, ends, shuffle, num_samples, num_shards, shard_id, num_parallel_workers)


class CSVDataset(_TextDataset):
    """The rows of CSV files, a column for each of theirs.

    dataset_files: a path, or several; they may be patterns. field_delim: one character between values, which may stand in
    double quotes. column_defaults: one per column, of which the type is taken: int is int32, float is float32, str is text; all
    are text without. An empty value is the default, for numbers. column_names: by default the first line of each file.
    num_samples, shuffle, num_shards, shard_id and cache: as in TextFileDataset. DataError for a row of another length, or a
    value of another type.
    """

    def __init__(
        self,
        dataset_files: Any,
        field_delim: str = ",",
        column_defaults: list[Any] | None = None,
        column_names: list[str] | None = None,
        num_samples: int | None = None,
        num_parallel_workers: int | None = None,
        shuffle: Any = Shuffle.GLOBAL,
        num_shards: int | None = None,
        shard_id: int | None = None,
        cache: None = None,
    ) -> None:
        owner = "CSVDataset"
        no_cache(owner, cache)
        if not isinstance(field_delim, str) or len(field_delim) != 1 or field_delim in '"\r\n':
            raise ArgumentValueError(
                f"{owner}: field_delim must be one character, not a quote, got {field_delim!r}", loc=user_loc()
            )
        head = None if column_names is None else names(owner, "column_names", column_names)
        rows: list[tuple[Path, int, list[str]]] = []
        ends: list[int] = []
        for path in matching_files(owner, dataset_files):
            of_file = _csv_rows(owner, path, field_delim)
            if column_names is None:
                if not of_file:
                    raise DataError(f"{owner}: {path.name} is empty", code="GC205", loc=user_loc())
                first = of_file.pop(0)[2]
                if head is not None and first != head:
                    raise DataError(
                        f"{owner}: {path.name} has columns {first}, the file before has {head}",
                        code="GC205",
                        loc=user_loc(),
                    )
                head = names(owner, f"the first line of {path.name}", first)
            rows += of_file
            ends.append(len(rows))
        assert head is not None
        columns = _typed(owner, rows, head, column_defaults)
        self._fill(owner, columns, ends, shuffle, num_samples, num_shards, shard_id, num_parallel_workers)


def _csv_rows(owner: str, path: Path, delimiter: str) -> list[tuple[Path, int, list[str]]]:
    reader = csv.reader(io.StringIO(_text(owner, path), newline=""), delimiter=delimiter, strict=True)
    rows = []
    try:
        for row in reader:
            if row:
                rows.append((path, reader.line_num, row))
    except csv.Error as error:
        raise DataError(
            f"{owner}: {path.name}:{reader.line_num} is no CSV: {error}", code="GC205", loc=user_loc()
        ) from error
    return rows


def _typed(
    owner: str, rows: list[tuple[Path, int, list[str]]], head: list[str], column_defaults: Any
) -> dict[str, Array]:
    defaults = [""] * len(head) if column_defaults is None else column_defaults
    if not isinstance(defaults, list):
        raise ArgumentTypeError(f"{owner}: column_defaults must be a list", loc=user_loc())
    if len(defaults) != len(head):
        raise ArgumentValueError(
            f"{owner}: column_defaults has {len(defaults)} values, there are {len(head)} columns", loc=user_loc()
        )
    for path, line, row in rows:
        if len(row) != len(head):
            raise DataError(
                f"{owner}: {path.name}:{line} has {len(row)} values, there are {len(head)} columns",
                code="GC205",
                loc=user_loc(),
            )
    columns = {}
    for k, (name, default) in enumerate(zip(head, defaults, strict=True)):
        if isinstance(default, bool) or not isinstance(default, (int, float, str)):
            raise ArgumentTypeError(
                f"{owner}: column_defaults must be ints, floats or texts, one is {default!r}", loc=user_loc()
            )
        if isinstance(default, str):
            columns[name] = np.array([row[k] for _, _, row in rows], np.str_)
            continue
        kind, dtype = (int, np.int32) if isinstance(default, int) else (float, np.float32)
        values = []
        for path, line, row in rows:
            try:
                values.append(dtype(kind(row[k]) if row[k] else default))
            except (ValueError, OverflowError) as error:
                raise DataError(
                    f"{owner}: {path.name}:{line} has {row[k]!r} for {name!r}, which is no {np.dtype(dtype)}",
                    code="GC205",
                    loc=user_loc(),
                ) from error
        columns[name] = np.array(values, dtype)
    return columns
