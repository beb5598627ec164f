"""Lines of text files, and rows of CSV files."""

from __future__ import annotations

import csv
import glob
import io
import os
from pathlib import Path
from typing import Any

import numpy as np

from graphc.dataset.checks import integer, names
from graphc.dataset.orders.mersenne import Mt19937, shuffled
from graphc.dataset.orders.samplers import BuiltinSampler, Labels, Plan
from graphc.dataset.shuffle import Shuffle
from graphc.dataset.sources.arrays import ArrayDataset
from graphc.dataset.sources.files import no_cache, read_whole
from graphc.dataset.sources.source import check_shards
from graphc.errors import ArgumentTypeError, ArgumentValueError, DataError, user_loc

Array = np.ndarray[Any, np.dtype[Any]]


class _Lines(BuiltinSampler):
    """Rows of files: files in order or mixed, rows too, and of those the share of one of several."""

    def __init__(self, ends: list[int], shuffle: Shuffle, shards: int, shard: int, num_samples: int | None) -> None:
        super().__init__(num_samples)
        self._ends, self._shuffle, self._shards, self._shard = ends, shuffle, shards, shard

    def is_shuffled(self) -> bool:
        return self._shuffle is not Shuffle.FALSE

    def is_sharded(self) -> bool:
        return self._shards > 1

    def count(self, size: int, labels: Labels) -> int:
        return self._at_most(len(self._share(np.arange(size))))

    def _share(self, order: Array) -> Array:
        each = -(-len(order) // self._shards)
        return order[self._shard * each : (self._shard + 1) * each]

    def plan(self, size: int, seed: int, labels: Labels) -> Plan:
        starts = [0, *self._ends[:-1]]
        turn = -1

        def next_pass() -> Array:
            nonlocal turn
            turn += 1
            files = np.arange(len(starts))
            if self._shuffle is not Shuffle.FALSE:
                files = shuffled(files, Mt19937(seed + turn))
            share = self._share(np.concatenate([np.arange(starts[f], self._ends[f]) for f in files]))
            if self._shuffle is Shuffle.GLOBAL:
                share = shuffled(share, Mt19937(seed + turn))
            return share[: self._at_most(len(share))]

        return next_pass


def _mixed(owner: str, shuffle: Any) -> Shuffle:
    """How rows are mixed: a bool, Shuffle.GLOBAL or Shuffle.FILES."""
    if isinstance(shuffle, bool):
        return Shuffle.GLOBAL if shuffle else Shuffle.FALSE
    if not isinstance(shuffle, Shuffle):
        raise ArgumentTypeError(
            f"{owner}: shuffle must be a bool or a Shuffle, got {type(shuffle).__name__}", loc=user_loc()
        )
    if shuffle not in (Shuffle.GLOBAL, Shuffle.FILES, Shuffle.FALSE):
        raise ArgumentValueError(
            f"{owner}: shuffle must be a bool, Shuffle.GLOBAL or Shuffle.FILES, got {shuffle}", loc=user_loc()
        )
    return shuffle


def _paths(owner: str, dataset_files: Any) -> list[Path]:
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
        matching = glob.glob(os.fspath(pattern)) or ([os.fspath(pattern)] if os.path.isfile(pattern) else [])
        if not matching:
            raise ArgumentValueError(f"{owner}: there is no file {os.fspath(pattern)!r}", code="GC205", loc=user_loc())
        found += matching
    return [Path(p) for p in sorted(found)]


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
        lines = _Lines(ends, _mixed(owner, shuffle), num_shards or 1, shard_id or 0, number)
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
        for path in _paths(owner, dataset_files):
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
        for path in _paths(owner, dataset_files):
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
