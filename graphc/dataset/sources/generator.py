"""`GeneratorDataset`: rows that come of the user's own object, function or iterable."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any

import numpy as np

from graphc.arguments import no_effect
from graphc.dataset.checks import function, names, truth, workers
from graphc.dataset.core.dataset import Dataset
from graphc.dataset.core.faults import fault, interrupts
from graphc.dataset.core.rows import Rows, stack, to_array
from graphc.dataset.core.streams import Done, Run, Stream, Worked
from graphc.dataset.nodes.batches import BatchDataset
from graphc.dataset.orders.samplers import BuiltinSampler, PKSampler
from graphc.dataset.schema import Schema, numpy_dtype
from graphc.dataset.sources.source import MappableDataset, check_shards, chosen_sampler
from graphc.dataset.workers.choice import pool_of
from graphc.errors import ArgumentTypeError, ArgumentValueError, DataError, GraphcError, user_loc

Array = np.ndarray[Any, np.dtype[Any]]

_OWNER = "GeneratorDataset"


class Form:
    """What a row of the user's must be."""

    def __init__(self, columns: list[str], dtypes: list[np.dtype[Any]] | None) -> None:
        self.columns, self.dtypes = columns, dtypes

    def rows(self, given: list[Any], ids: Array) -> Rows:
        """The user's rows, column by column. DataError for one that does not fit."""
        width = len(self.columns)
        kinds = set(map(type, given))
        if not (kinds <= {tuple} or kinds <= {list}):
            given = [r if isinstance(r, (tuple, list)) else (r,) for r in given]
        if set(map(len, given)) != {width}:
            k = next(k for k, r in enumerate(given) if len(r) != width)
            raise self._error(
                f"gave {len(given[k])} values, there are {width} columns: {', '.join(self.columns)}", ids[k]
            )
        columns: list[Any] = [
            self._column(values, name, ids) for values, name in zip(zip(*given, strict=True), self.columns, strict=True)
        ]
        for k, dtype in enumerate(self.dtypes or ()):
            for place, value in enumerate(columns[k]):
                if value.dtype != dtype:
                    raise self._error(
                        f"gave {value.dtype} for column {self.columns[k]!r}, column_types says {dtype}", ids[place]
                    )
        return Rows(len(given), columns, ids)

    def _column(self, values: tuple[Any, ...], name: str, ids: Array) -> Any:
        arrays: list[Any] = []
        kinds = set(map(type, values))
        if kinds == {int} or kinds == {float} or kinds == {bool}:
            return stack(values, name, ids)
        for value in values:
            try:
                arrays.append(to_array(value))
            except DataError as error:
                raise self._error(f"{error.message}, in column {name!r}", ids[len(arrays)]) from None
        first = arrays[0]
        if all(a.shape == first.shape and a.dtype == first.dtype for a in arrays):
            return stack(arrays, name, ids)
        return arrays

    def _error(self, message: str, sample: Any) -> DataError:
        made = DataError(f"{_OWNER}: the source {message}, at sample {sample}", code="GC201")
        made.sample = str(sample)
        return made


class Fetch:
    """The job of getting samples by their numbers; it goes to worker processes as it is."""

    def __init__(self, source: Any, form: Form) -> None:
        self.source, self.form = source, form

    def __call__(self, task: Array) -> Done:
        given: list[Any] = []
        get, error = self.source.__getitem__, None
        try:
            for i in task.tolist():
                given.append(get(i))
        except interrupts():
            raise
        except BaseException as raised:
            error = fault(f"{_OWNER}: source[{task[len(given)]}]", task[len(given)], raised)
            error.__cause__ = raised
        return _done(self.form, given, task, error)


def _done(form: Form, given: list[Any], ids: Array, error: DataError | None) -> Done:
    """Rows up to the first that does not fit, and why it does not."""
    if not given:
        return Done(None, error)
    try:
        return Done(form.rows(given, ids[: len(given)]), error)
    except DataError as misfit:
        for good in range(len(given)):
            try:
                form.rows(given[good : good + 1], ids[good : good + 1])
            except DataError as first:
                return Done(form.rows(given[:good], ids[:good]) if good else None, first)
        return Done(None, misfit)


class _NumberedStream(Worked):
    def __init__(self, dataset: GeneratorDataset, run: Run) -> None:
        job = Fetch(dataset.source, dataset.form)
        pool, ahead = pool_of(_OWNER, job, dataset.workers(), dataset.python_multiprocessing, run)
        super().__init__(pool, ahead)
        self._job, self._order = job, dataset.order(run.seed)
        self._indices: Array = np.empty(0, np.int64)
        self._place = 0

    def begin(self) -> None:
        self.restart()
        self._indices, self._place = self._order.next_pass(), 0

    def task(self, count: int) -> Array | None:
        chosen = self._indices[self._place : self._place + count]
        self._place += len(chosen)
        return chosen if len(chosen) else None

    def do(self, task: Array) -> Done:
        return self._job(task)

    def leave_out(self, count: int) -> int:
        before, self._place = self._place, min(self._place + count, len(self._indices))
        return self._place - before

    def pass_over(self) -> None:
        self._order.next_pass()


class _IteratedStream(Stream):
    """The rows of an iterable, in its order; iterated anew for each pass."""

    def __init__(self, source: Any, form: Form, limit: int | None) -> None:
        self._source, self._form, self._limit = source, form, limit
        self._rows: Iterator[Any] = iter(())
        self._place = 0
        self._failure: DataError | None = None

    def begin(self) -> None:
        self._place, self._failure = 0, None
        try:
            rows = self._source() if callable(self._source) else self._source
            self._rows = iter(rows)
        except interrupts():
            raise
        except BaseException as raised:
            raise fault(f"{_OWNER}: the source", None, raised) from raised
        if self._limit is not None:
            self._rows = islice(self._rows, self._limit)

    def read(self, count: int) -> Rows | None:
        if self._failure is not None:
            raise self._failure
        given, error = self._take(min(count, 128))
        ids = np.arange(self._place, self._place + len(given))
        self._place += len(given)
        done = _done(self._form, given, ids, error)
        self._failure = done.error
        if done.rows is None and done.error is not None:
            raise done.error
        return done.rows

    def _take(self, count: int) -> tuple[list[Any], DataError | None]:
        given: list[Any] = []
        try:
            for row in islice(self._rows, count):
                given.append(row)
        except interrupts():
            raise
        except BaseException as raised:
            error = fault(f"{_OWNER}: the source", self._place + len(given), raised)
            error.__cause__ = raised
            return given, error
        return given, None

    def skip(self, count: int) -> int:
        left = count
        while left > 0:
            given, error = self._take(min(left, 1024))
            if error is not None:
                raise error
            if not given:
                break
            left -= len(given)
            self._place += len(given)
        return count - left

    def pass_over(self) -> None:
        """Passes are independent of each other."""


class GeneratorDataset(MappableDataset):
    """Rows of the user's own object.

    source: an object with `__getitem__` and `__len__`, whose samples are numbered; an iterable; or a function that returns an
    iterator, called for each pass. A row is one value, or a tuple of as many as there are columns: arrays, numbers (ints become
    int64, floats float64), texts. column_names, or schema: names of the columns. column_types: the dtypes that the source must
    give, nothing is cast. num_samples, shuffle (True by default for numbered samples), sampler, num_shards and shard_id: which
    samples, in which order; an iterable has its own order, num_samples only limits it. num_parallel_workers: threads or, with
    python_multiprocessing, processes that each have a copy of the source; iterables are read by one. batch_sampler: gives
    lists of indices, one per batch; collate_fn then makes a batch of lists of its values, one per column. max_rowsize has no effect.
    """

    in_python = True

    def __init__(
        self,
        source: Any,
        column_names: str | list[str] | None = None,
        column_types: list[Any] | None = None,
        schema: Schema | str | None = None,
        num_samples: int | None = None,
        num_parallel_workers: int | None = 1,
        shuffle: bool | None = None,
        sampler: Any = None,
        num_shards: int | None = None,
        shard_id: int | None = None,
        python_multiprocessing: bool = True,
        max_rowsize: Any = None,
        batch_sampler: Any = None,
        collate_fn: Callable[..., Any] | None = None,
    ) -> None:
        columns, dtypes = _columns(column_names, column_types, schema)
        self.source, self.form = source, Form(columns, dtypes)
        self.numbered = hasattr(source, "__getitem__") and hasattr(source, "__len__")
        self.python_multiprocessing = truth(_OWNER, "python_multiprocessing", python_multiprocessing)
        workers(_OWNER, num_parallel_workers)
        if max_rowsize is not None:
            no_effect(_OWNER, "max_rowsize", "shared memory grows with the rows")
        if not self.numbered:
            _check_unnumbered(source, sampler, batch_sampler, num_shards)
        if isinstance(sampler, PKSampler):
            raise ArgumentValueError(
                f"{_OWNER}: PKSampler needs a source whose labels are known before it is read", loc=user_loc()
            )
        self._batches: Dataset | None = None
        self._limit = None if num_samples in (None, 0) else num_samples
        if batch_sampler is not None:
            _check_alone(num_samples=num_samples, shuffle=shuffle, sampler=sampler, num_shards=num_shards)
            sampled = _BatchSampler(batch_sampler)
            super().__init__(columns, num_parallel_workers, sampled)
            self._collate, self._batch_sizes = collate_fn, sampled.sizes
            if collate_fn is not None:
                function(_OWNER, "collate_fn", collate_fn)
        else:
            if collate_fn is not None:
                raise ArgumentValueError(f"{_OWNER}: collate_fn goes with batch_sampler only", loc=user_loc())
            self._batch_sizes = None
            mixed = shuffle if self.numbered else False
            chosen = chosen_sampler(_OWNER, num_samples, mixed, sampler, num_shards, shard_id)
            super().__init__(columns, num_parallel_workers, chosen)
        check_shards(_OWNER, num_shards, shard_id)

    def length(self) -> int:
        try:
            return len(self.source)
        except GraphcError:
            raise
        except Exception as raised:
            raise fault(f"{_OWNER}: len(source)", None, raised) from raised

    def title(self) -> str:
        return super().title() if self.numbered else f"{type(self).__name__}[iterable]"

    def count(self) -> int | None:
        if not self.numbered:
            return None
        return super().count()

    def open(self, run: Run) -> Stream:
        if not self.numbered:
            return _IteratedStream(self.source, self.form, self._limit)
        return _NumberedStream(self, run)

    def _split(self, sizes: list[int], randomize: bool) -> tuple[Dataset, ...]:
        return super()._split(sizes, randomize) if self.numbered else Dataset._split(self, sizes, randomize)
