"""Rows of MindRecord files."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from graphc.dataset.checks import LateError, integer, names, no_cache
from graphc.dataset.core.rows import Rows, alike, joined_alike
from graphc.dataset.core.streams import Done, Run, Stream
from graphc.dataset.orders.records import Files, of_records
from graphc.dataset.orders.samplers import (
    BuiltinSampler,
    DistributedSampler,
    Order,
    RandomSampler,
    SequentialSampler,
    as_sampler,
)
from graphc.dataset.shuffle import Shuffle, is_level
from graphc.dataset.sources.source import MappableDataset, Numbered, check_shards
from graphc.dataset.workers.choice import pool_of
from graphc.errors import ArgumentTypeError, ArgumentValueError, DataError, user_loc
from graphc.mindrecord.layout import Field
from graphc.mindrecord.reading import RecordSet
from graphc.mindrecord.rows import within
from graphc.validation.signatures import Remembers

Array = np.ndarray[Any, np.dtype[Any]]

_OWNER = "MindDataset"
#: What values of Python's are in a column.
_PLAIN: dict[str, Any] = {
    "int32": int,
    "int64": int,
    "float32": (int, float),
    "float64": (int, float),
    "string": str,
    "bytes": bytes,
}


def column(values: Sequence[Any], field: Field) -> Any:
    """What a field holds in some rows as a column: numbers and texts without axes, bytes as [1], arrays as they are."""
    if field.kind == "string":
        return np.array(values, np.str_)
    if field.kind == "bytes":
        # The width says how many bytes there are: NumPy leaves zeros at the end out of values.
        arrays = [np.array([v], f"S{max(len(v), 1)}") for v in values]
    elif field.shape is None:
        return np.array(values, field.kind)
    else:
        arrays = list(values)
    return joined_alike(arrays) if alike(arrays) else arrays


class Read:
    """The job of reading rows by their numbers; those behind the last are the sample that fills up."""

    def __init__(self, records: RecordSet, columns: list[str], padding: dict[str, Any]) -> None:
        self.records, self.columns, self.padding = records, columns, padding

    def __call__(self, task: Array) -> Done:
        try:
            return Done(self._rows(task))
        except DataError:
            pass
        # Rows before the one that is damaged are given first.
        for good in range(len(task)):
            try:
                self._rows(task[good : good + 1])
            except DataError as error:
                error.sample = str(task[good])
                return Done(self._rows(task[:good]) if good else None, error)
        return Done(self._rows(task))

    def _rows(self, task: Array) -> Rows:
        held = task < len(self.records)
        found = self.records.read(task[held], self.columns)
        columns = []
        for name in self.columns:
            values = found[name]
            for place in np.flatnonzero(~held).tolist():
                values.insert(place, self.padding[name])
            columns.append(column(values, self.records.fields[name]))
        return Rows(len(task), columns, task)


class MindDataset(MappableDataset, Remembers):
    """Rows of MindRecord files: numbers and texts without axes, bytes as [1], arrays in their shapes.

    dataset_files: a list of files, or one of those that were written together, which are all read. columns_list: these fields,
    in this order; all in the order of their names by default. shuffle: Shuffle.GLOBAL mixes all rows, PARTIAL the files and then
    rows within a million of them, FILES the order of files only, INFILE the rows of each file; ADAPTIVE, as True and None are,
    is GLOBAL for up to a hundred million rows. num_samples, num_shards, shard_id and sampler: which rows, in which order.
    padded_sample: {column: value} that stands num_padded times behind the rows, so that all shares have as many.
    num_parallel_workers: threads that read. cache must be None. DataError for files that are damaged or do not belong together.
    """

    in_python = True

    def __init__(
        self,
        dataset_files: str | list[str],
        columns_list: list[str] | None = None,
        num_parallel_workers: int | None = None,
        shuffle: bool | Shuffle | None = None,
        num_shards: int | None = None,
        shard_id: int | None = None,
        sampler: Any = None,
        padded_sample: dict[str, Any] | None = None,
        num_padded: int | None = None,
        num_samples: int | None = None,
        cache: None = None,
    ) -> None:
        no_cache(_OWNER, "cache", cache)
        chosen = _sampler(num_samples, shuffle, sampler, num_shards, shard_id)
        records = RecordSet(_OWNER, dataset_files)
        columns = list(records.fields)
        if columns_list is not None:
            chosen_ones = names(_OWNER, "columns_list", columns_list, alone=False, empty=True, twice=LateError)
            columns = chosen_ones or columns
            records.among("columns_list", columns)
        padding, count = _padding(records, columns if columns_list else None, padded_sample, num_padded)
        self.job = Read(records, columns, padding)
        self._files = Files(tuple(records.ends), count)
        shards = chosen.num_shards if isinstance(chosen, DistributedSampler) else 1
        if count and self._files.size % shards:
            raise DataError(
                f"{_OWNER}: {len(records)} rows and {count} to fill up are no multiple of {shards} shares",
                code="GC204",
                loc=user_loc(),
            )
        super().__init__(columns, num_parallel_workers, chosen)

    def length(self) -> int:
        return self._files.size

    def labels(self, column: str) -> Array:
        held = self.job.records.labels(column)
        return super().labels(column) if held is None else held

    def order(self, seed: int) -> Order:
        size = self.length()
        if size == 0:
            raise DataError(f"{_OWNER}: the data set is empty", loc=user_loc())
        return Order(of_records(self.sampler, self._files), size, seed, self.labels)

    def open(self, run: Run) -> Stream:
        return Numbered(*pool_of(_OWNER, self.job, self.workers(), False, run), self.job, self.order(run.seed))

    def __getitem__(self, index: int) -> list[Array]:
        """The columns of a row, by its number in the files."""
        number = integer(_OWNER, "index", index, 0)
        if number >= self.length():
            raise IndexError(f"{_OWNER}: index {number} lies outside of {self.length()} rows")
        done = self.job(np.array([number]))
        if done.rows is None:
            assert done.error is not None
            raise done.error
        return [np.asarray(c[0]) for c in done.rows.columns]


def _sampler(
    num_samples: int | None, shuffle: Any, sampler: Any, num_shards: int | None, shard_id: int | None
) -> BuiltinSampler:
    """The sampler that these arguments mean."""
    number = None if num_samples is None else integer(_OWNER, "num_samples", num_samples, 0) or None
    level = Shuffle.ADAPTIVE if shuffle is None or shuffle is True else is_level(_OWNER, shuffle, or_bool=True)
    check_shards(_OWNER, num_shards, shard_id)
    if sampler is not None:
        for name, value in (("shuffle", shuffle), ("num_shards", num_shards)):
            if value is not None:
                raise LateError(f"{_OWNER}: sampler and {name} exclude each other", loc=user_loc())
        return as_sampler(_OWNER, sampler, number)
    if number is not None and level in (Shuffle.FILES, Shuffle.INFILE):
        raise ArgumentValueError(f"{_OWNER}: num_samples and shuffle={level} exclude each other", loc=user_loc())
    if num_shards is not None:
        assert shard_id is not None
        return DistributedSampler(num_shards, shard_id, level, number)
    if level is Shuffle.FALSE:
        return SequentialSampler(0, number)
    return RandomSampler(number is not None, number, level)


def _padding(records: RecordSet, columns: list[str] | None, sample: Any, number: Any) -> tuple[dict[str, Any], int]:
    """The sample that fills up, and how often. DataError where one of both is missing, or a column has no value."""
    if sample is None and number is None:
        return {}, 0
    if sample is not None and not isinstance(sample, dict):
        raise ArgumentTypeError(f"{_OWNER}: padded_sample must be a dict, got {type(sample).__name__}", loc=user_loc())
    if number is None:
        raise DataError(f"{_OWNER}: padded_sample needs num_padded", loc=user_loc())
    count = integer(_OWNER, "num_padded", number, 0)
    if sample is None:
        raise DataError(f"{_OWNER}: num_padded needs padded_sample", loc=user_loc())
    if columns is None:
        raise DataError(f"{_OWNER}: padded_sample needs columns_list", loc=user_loc())
    if not set(columns) <= set(sample):
        raise ArgumentValueError(
            f"{_OWNER}: padded_sample has {', '.join(map(str, sample))}, the columns are {', '.join(columns)}",
            loc=user_loc(),
        )
    made = {name: _padded_value(sample[name], records.fields[name]) for name in columns}
    return made, count


def _padded_value(value: Any, field: Field) -> Any:
    if field.shape is None:
        plain = value.item() if isinstance(value, np.generic) else value
        fits = isinstance(plain, _PLAIN[field.kind]) and not isinstance(plain, bool)
        if fits and (field.kind not in ("int32", "int64") or within(plain, field.kind)):
            return plain
    elif isinstance(value, np.ndarray) and value.dtype.name == field.kind:
        try:
            return value.reshape(field.shape)
        except ValueError:
            pass
    raise LateError(
        f"{_OWNER}: padded_sample has {value!r:.60} for {field.name!r}, which is no {field.kind}"
        + (f" of shape {list(field.shape)}" if field.shape else ""),
        loc=user_loc(),
    )
