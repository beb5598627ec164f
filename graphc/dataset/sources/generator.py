"""`GeneratorDataset`: rows that come of the user's own object, function or iterable."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from threading import Lock
from types import FunctionType, GeneratorType
from typing import Any

import numpy as np

from graphc.dataset.checks import LateError, function, memory_of_rows, misfit, names, truth, workers
from graphc.dataset.core import dicts
from graphc.dataset.core.dataset import Dataset
from graphc.dataset.core.faults import fault, interrupts
from graphc.dataset.core.rows import Rows, alike, collated, joined_alike, of_numbers, stack, to_array, values
from graphc.dataset.core.streams import ALL, Done, Run, Stream, Worked
from graphc.dataset.orders.samplers import PKSampler, readable_again
from graphc.dataset.schema import Schema, numpy_dtype
from graphc.dataset.sources.source import MappableDataset, Numbered, check_shards, chosen_sampler
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
            raise self._error(f"gave {misfit(len(given[k]), self.columns)}", ids[k])
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
        if (numbers := of_numbers(values, kinds)) is not None:
            return numbers
        if kinds == {np.ndarray} and values[0].dtype.kind in "biuf" and alike(values):
            return joined_alike(values)
        for value in values:
            try:
                arrays.append(to_array(value))
            except DataError as error:
                raise self._error(
                    f"gave something else for column {name!r}: {error.message}", ids[len(arrays)]
                ) from None
        return stack(arrays, name, ids) if alike(arrays) else arrays

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
            given.extend(map(get, task.tolist()))
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
    except DataError as raised:
        whole = raised
    for good in range(len(given)):
        try:
            form.rows(given[good : good + 1], ids[good : good + 1])
        except DataError as first:
            return Done(form.rows(given[:good], ids[:good]) if good else None, first)
    return Done(None, whole)


class FetchBatch(Fetch):
    """The job of getting samples by their numbers and making one row, a batch, of them."""

    def __init__(self, source: Any, form: Form, collate: Callable[..., Any] | None) -> None:
        super().__init__(source, form)
        self.collate = collate

    def __call__(self, task: Array) -> Done:
        done = super().__call__(task)
        if done.error is not None or done.rows is None:
            return Done(None, done.error)
        rows = done.rows
        try:
            if self.collate is None:
                batch = [dicts.batch(c, n, rows.ids) for c, n in zip(rows.columns, self.form.columns, strict=True)]
            else:
                batch = collated(_OWNER, self.collate, [values(c) for c in rows.columns], self.form.columns, task)
        except DataError as error:
            return Done(None, error)
        return Done(Rows(1, [b[None] for b in batch], task[None]))


def indices_of(owner: str, batch: Any) -> Array:
    """int64 [m]: the indices of one batch, at least one. DataError for what are none."""
    if isinstance(batch, (str, bytes)) or not isinstance(batch, Iterable):
        raise DataError(f"{owner} must give lists of indices, it gave {type(batch).__name__}", code="GC201")
    given = list(batch)
    odd = [i for i in given if isinstance(i, (bool, np.bool_)) or not isinstance(i, (int, np.integer))]
    if odd or not given:
        what = f"{odd[0]!r} in one" if odd else "an empty one"
        raise DataError(f"{owner} must give lists of indices, it gave {what}", code="GC201")
    return np.array(given, np.int64)


class _BatchedStream(Worked):
    """Batches of the samples that a batch_sampler names."""

    def __init__(self, dataset: GeneratorDataset, run: Run) -> None:
        self._job = FetchBatch(dataset.source, dataset.form, dataset.collate)
        super().__init__(*pool_of(_OWNER, self._job, dataset.workers(), dataset.python_multiprocessing, run))
        self._sampler = dataset.batch_sampler
        self._batches: Iterator[Any] = iter(())
        #: Whether any batch of the pass has been asked for.
        self._asked = False

    def begin(self) -> None:
        self._batches, self._asked = iter(self._sampler), False

    def leave(self) -> None:
        super().leave()
        if not self._asked:  # What the sampler draws as it is read is drawn. One that was read may have no end.
            self.leave_out(ALL)

    def task(self, count: int) -> Array | None:
        self._asked = True
        for batch in self._batches:
            return indices_of(f"{_OWNER}: batch_sampler", batch)
        return None

    def do(self, task: Array) -> Done:
        return self._job(task)

    def leave_out(self, count: int) -> int:
        self._asked, left_out = True, 0
        while left_out < count and next(self._batches, self) is not self:
            left_out += 1
        return left_out


def _next_ones(rows: Iterator[Any]) -> Iterator[Any]:
    """What `next` gives. `iter` is not called any more: where a user's `__iter__` returns the object itself, that begins anew."""
    while True:
        try:
            row = next(rows)
        except StopIteration:
            return
        yield row


def _used_up() -> DataError:
    return DataError(
        f"{_OWNER}: the source is an iterator, which can be read only once, and has been",
        code="GC206",
        help="give the function that makes it: it is called for each pass",
    )


class _Kept:
    """The rows of a generator object, which gives them once: each pass has them all (MindSpore: itertools.tee, which keeps them
    as well). What it raises it raises in each pass, at the same row.
    """

    def __init__(self, rows: Iterator[Any]) -> None:
        self._rows = rows
        self._kept: list[Any] = []
        self._error: BaseException | None = None
        self._lock = Lock()

    def __iter__(self) -> Iterator[Any]:
        place = 0
        while self._has(place):
            yield self._kept[place]
            place += 1

    def _has(self, place: int) -> bool:
        with self._lock:
            if place < len(self._kept):
                return True
            if self._error is not None:
                raise self._error
            try:
                self._kept.append(_owned(next(self._rows)))
            except StopIteration:
                return False
            except BaseException as raised:
                self._error = raised
                raise
            return True


def _owned(row: Any) -> Any:
    """A row in memory that its generator does not write again."""
    if isinstance(row, np.ndarray):
        return row.copy()
    return type(row)(map(_owned, row)) if type(row) in (tuple, list) else row


class _IteratedStream(Stream):
    """The rows of an iterable, in its order; iterated anew for each pass."""

    def __init__(self, dataset: GeneratorDataset) -> None:
        self._dataset = dataset
        self._source, self._form, self._limit = dataset.source, dataset.form, dataset.limit
        #: Those of the pass that are left; None before the first is read: of a pass that is not, the source is not asked.
        self._rows: Iterator[Any] | None = None
        self._place = 0
        self._again = False
        self._failure: DataError | None = None

    def begin(self) -> None:
        self._place, self._failure, self._rows = 0, None, None

    def leave(self) -> None:
        """Passes are independent of each other."""

    def _opened(self) -> Iterator[Any]:
        try:
            rows = self._source() if callable(self._source) else self._source
            rows = iter(rows)
        except interrupts():
            raise
        except BaseException as raised:
            raise fault(f"{_OWNER}: the source", None, raised) from raised
        self._again = rows is self._source and self._dataset.used_up
        if self._again and not isinstance(getattr(type(rows), "__iter__", None), FunctionType):
            raise _used_up()
        self._dataset.used_up = rows is self._source
        return islice(_next_ones(rows), self._limit)

    def read(self, count: int) -> Rows | None:
        if self._failure is not None:
            raise self._failure
        given, error = self._take(min(count, 128))
        ids = np.arange(self._place, self._place + len(given))
        if self._again and not given and error is None and self._place == 0:
            raise _used_up()
        self._place += len(given)
        done = _done(self._form, given, ids, error)
        self._failure = done.error
        if done.rows is None and done.error is not None:
            raise done.error
        return done.rows

    def _take(self, count: int) -> tuple[list[Any], DataError | None]:
        given: list[Any] = []
        if self._rows is None:
            self._rows = self._opened()
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


def _columns(
    column_names: Any, column_types: Any, schema: Schema | str | None
) -> tuple[list[str], list[np.dtype[Any]] | None]:
    """Names and dtypes of the columns."""
    if schema is not None:
        if column_names is not None or column_types is not None:
            raise LateError(f"{_OWNER}: schema excludes column_names and column_types", loc=user_loc())
        described = schema if isinstance(schema, Schema) else Schema(schema)
        return [c["name"] for c in described.columns], [numpy_dtype(_OWNER, c["type"]) for c in described.columns]
    if column_names is None:
        raise ArgumentValueError(f"{_OWNER}: column_names or schema must be given", loc=user_loc())
    columns = names(_OWNER, "column_names", column_names)
    if column_types is None or column_types == []:
        return columns, None
    if not isinstance(column_types, list):
        raise ArgumentTypeError(
            f"{_OWNER}: column_types must be a list of dtypes, got {type(column_types).__name__}", loc=user_loc()
        )
    if len(column_types) != len(columns):
        raise LateError(
            f"{_OWNER}: column_types has {len(column_types)} dtypes, there are {len(columns)} columns", loc=user_loc()
        )
    return columns, [numpy_dtype(_OWNER, t) for t in column_types]


def _check_unnumbered(source: Any, **given: Any) -> None:
    if not (callable(source) or isinstance(source, Iterable)):
        lacking = ", but no __len__" if hasattr(source, "__getitem__") else ""
        raise (DataError if lacking else ArgumentTypeError)(
            f"{_OWNER}: source must have __getitem__ and __len__, be iterable or return an iterator when called; "
            f"{type(source).__name__} has {'__getitem__' if lacking else 'none of these'}{lacking}",
            loc=user_loc(),
        )
    for name, value in given.items():
        if value is not None:
            raise ArgumentValueError(f"{_OWNER}: {name} needs a source with __getitem__ and __len__", loc=user_loc())


def _check_alone(**given: Any) -> None:
    for name, value in given.items():
        if value is not None:
            raise ArgumentValueError(f"{_OWNER}: batch_sampler and {name} exclude each other", loc=user_loc())


class GeneratorDataset(MappableDataset):
    """Rows of the user's own object.

    source: an object with `__getitem__` and `__len__`, whose samples are numbered; an iterable; or a function that returns an
    iterator, called for each pass. The rows of a generator object are kept for later passes. A row is one value, or a tuple of
    as many as there are columns: arrays, numbers (ints become int64, floats float64), texts, and dicts of such, which functions
    get as they are and which make no batch. column_names, or schema: names of the columns. column_types: the dtypes that the
    source must give, nothing is cast. num_samples, shuffle (True by default for numbered samples), sampler, num_shards and
    shard_id: which samples, in which order; an iterable has its own order, num_samples only limits it. num_parallel_workers:
    threads or, with python_multiprocessing, processes that each have a copy of the source; iterables are read by one.
    batch_sampler: gives lists of indices, one per batch; collate_fn then makes a batch of lists of its values, one per column.
    max_rowsize has no effect.
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
        if isinstance(source, zip):
            source = list(source)
        elif isinstance(source, GeneratorType):
            source = _Kept(source)
        self.source, self.form = source, Form(columns, dtypes)
        self.numbered = hasattr(source, "__getitem__") and hasattr(source, "__len__")
        if self.numbered and isinstance(source, type):
            raise ArgumentTypeError(
                f"{_OWNER}: source is the class {source.__name__}, not one of its objects",
                loc=user_loc(),
                help=f"{source.__name__}(...) makes one",
            )
        self.python_multiprocessing = truth(_OWNER, "python_multiprocessing", python_multiprocessing)
        workers(_OWNER, num_parallel_workers)
        memory_of_rows(_OWNER, max_rowsize, pair=False)
        if not self.numbered:
            _check_unnumbered(source, sampler=sampler, batch_sampler=batch_sampler, num_shards=num_shards)
        if isinstance(sampler, PKSampler):
            raise ArgumentValueError(
                f"{_OWNER}: PKSampler needs a source whose labels are known before it is read", loc=user_loc()
            )
        self.batch_sampler, self.collate = readable_again(batch_sampler), collate_fn
        self.limit = None if num_samples in (None, 0) else num_samples
        #: Whether a source that can be read only once has been.
        self.used_up = False
        if batch_sampler is not None:
            _check_alone(num_samples=num_samples, shuffle=shuffle, sampler=sampler, num_shards=num_shards)
            if isinstance(batch_sampler, (str, bytes)) or not isinstance(batch_sampler, Iterable):
                raise ArgumentTypeError(
                    f"{_OWNER}: batch_sampler must give lists of indices, got {type(batch_sampler).__name__}",
                    loc=user_loc(),
                )
        elif collate_fn is not None:
            raise ArgumentValueError(f"{_OWNER}: collate_fn goes with batch_sampler only", loc=user_loc())
        if collate_fn is not None:
            function(_OWNER, "collate_fn", collate_fn)
        check_shards(_OWNER, num_shards, shard_id)
        mixed = shuffle if self.numbered and batch_sampler is None else False
        chosen = chosen_sampler(_OWNER, num_samples, mixed, sampler, num_shards, shard_id)
        super().__init__(columns, num_parallel_workers, chosen)

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
        if self.batch_sampler is not None:
            return len(self.batch_sampler) if hasattr(self.batch_sampler, "__len__") else len(list(self.batch_sampler))
        return super().count()

    def get_batch_size(self) -> int:
        return 1 if self.batch_sampler is None else -1

    def open(self, run: Run) -> Stream:
        if not self.numbered:
            return _IteratedStream(self)
        if self.batch_sampler is not None:
            return _BatchedStream(self, run)
        job = Fetch(self.source, self.form)
        pool = pool_of(_OWNER, job, self.workers(), self.python_multiprocessing, run)
        return Numbered(*pool, job, self.order(run.seed))

    def share(self, shards: int, first: int) -> Dataset:
        by_sampler = self.numbered and self.batch_sampler is None
        return super().share(shards, first) if by_sampler else Dataset.share(self, shards, first)

    def _split(self, sizes: list[int], randomize: bool) -> tuple[Dataset, ...]:
        return super()._split(sizes, randomize) if self.numbered else Dataset._split(self, sizes, randomize)
