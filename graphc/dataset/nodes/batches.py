"""`batch`, `padded_batch` and `bucket_batch_by_length`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from graphc.dataset.checks import INT32_MAX, LateError, integer, memory_of_rows, names, parameters_of, truth, workers
from graphc.dataset.core import dicts
from graphc.dataset.core.dataset import Dataset, node
from graphc.dataset.core.faults import fault, interrupts
from graphc.dataset.core.rows import Rows, collated, mixed, values
from graphc.dataset.core.streams import ALL, Done, OfOne, Run, Stream, Worked, fill, filled
from graphc.dataset.nodes.waiting import gates
from graphc.dataset.workers.choice import pool_of
from graphc.errors import ArgumentTypeError, ArgumentValueError, DataError, KindError, user_loc
from graphc.validation.unused_arguments import no_effect

Array = np.ndarray[Any, np.dtype[Any]]


class BatchInfo:
    """Where a batch stands, for functions of the user's (MindSpore: BatchInfo)."""

    def __init__(self, epoch: int, batch: int) -> None:
        self._epoch, self._batch = epoch, batch

    def get_epoch_num(self) -> int:
        """How many passes are over."""
        return self._epoch

    def get_batch_num(self) -> int:
        """How many batches of this pass are over."""
        return self._batch


class _BatchStream(OfOne):
    """Batches of a fixed size: as many as are asked for at once, and the last, smaller one alone."""

    def __init__(self, child: Stream, size: int, drop: bool, names_: list[str]) -> None:
        super().__init__(child)
        self._size, self._drop, self._names = size, drop, names_
        self._left: Rows | None = None
        self._failure: DataError | None = None

    def begin(self) -> None:
        super().begin()
        self._left = self._failure = None

    def read(self, count: int) -> Rows | None:
        if self._failure is not None:
            raise self._failure
        rows, self._left = self._left, None
        if rows is None:
            done = filled(self._child, count * self._size)
            rows, self._failure = done.rows, done.error
        full = 0 if rows is None else rows.count // self._size
        if self._failure is not None and not full:
            raise self._failure
        if rows is None:
            return None
        if rows.count % self._size and full:
            self._left = rows.part(full * self._size, rows.count)
            rows = rows.part(0, full * self._size)
        if not full:
            return None if self._drop else self._batched(rows, 1, rows.count)
        return self._batched(rows, full, self._size)

    def _batched(self, rows: Rows, count: int, size: int) -> Rows:
        columns: list[Any] = []
        for column, name in zip(rows.columns, self._names, strict=True):
            if isinstance(column, np.ndarray) and column.dtype != object:
                columns.append(column.reshape((count, size, *column.shape[1:])))
                continue
            parts = [(column[k * size : (k + 1) * size], rows.ids[k * size : (k + 1) * size]) for k in range(count)]
            made = [dicts.batch(part, name, ids) for part, ids in parts]
            columns.append(made[0][None] if count == 1 else made)
        return Rows(count, columns, rows.ids.reshape((count, size, *rows.ids.shape[1:])))

    def skip(self, count: int) -> int:
        if self._left is not None:
            self._left = None
            return int(not self._drop)
        rows = self._child.skip(min(count, ALL // self._size) * self._size)
        full, rest = divmod(rows, self._size)
        return full + (1 if rest and not self._drop else 0)


class Collate:
    """The job of per_batch_map; it goes to worker processes as it is."""

    def __init__(self, per_batch_map: Any, places: list[int], outputs: list[str], known: list[str]) -> None:
        self.per_batch_map, self.places, self.outputs, self.known = per_batch_map, places, outputs, known

    def __call__(self, task: tuple[Rows, BatchInfo]) -> Done:
        rows, info = task
        try:
            given = [dicts.for_a_function(rows.columns[p], self.known[p], values) for p in self.places]
            made = collated("batch", self.per_batch_map, given, self.outputs, rows.ids, info)
            if len(made) == len(self.places):
                arrays = {p: a for p, a in zip(self.places, made, strict=True)}
                columns = [
                    arrays[p] if p in arrays else dicts.batch(c, self.known[p], rows.ids)
                    for p, c in enumerate(rows.columns)
                ]
            else:
                kept = [
                    dicts.batch(c, self.known[p], rows.ids) for p, c in enumerate(rows.columns) if p not in self.places
                ]
                columns = [*made, *kept]
        except DataError as error:
            return Done(None, error)
        return Done(Rows(1, [c[None] for c in columns], rows.ids[None]))


class _FunctionBatchStream(Worked):
    """Batches whose size a function says, or that a function collates."""

    #: What the user called.
    owner = "batch"

    def __init__(self, child: Stream, dataset: BatchDataset, run: Run) -> None:
        job: Callable[[Any], Done] = dataset.job or _plain_job(dataset)
        workers_ = dataset.workers() if dataset.job and not dataset.paced() else 1
        super().__init__(*pool_of("batch", job, workers_, dataset.processes, run))
        self._child, self._job = child, job
        self._size, self._drop = dataset.batch_size, dataset.drop_remainder
        self._run, self._number = run, 0

    def begin(self) -> None:
        self._child.begin()
        self._number = 0

    def _next_size(self) -> int:
        if isinstance(self._size, int):
            return self._size
        try:
            size = self._size(BatchInfo(self._run.epoch, self._number))
        except interrupts():
            raise
        except BaseException as raised:
            raise fault(f"{self.owner}: batch_size", f"batch {self._number}", raised) from raised
        if isinstance(size, bool) or not isinstance(size, (int, np.integer)) or size < 1:
            raise DataError(f"{self.owner}: batch_size must give an int of 1 or more, it gave {size!r}", code="GC201")
        return int(size)

    def task(self, count: int) -> Any | None:
        size = self._next_size()
        rows = fill(self._child, size)
        if rows is None or (rows.count < size and self._drop):
            return None
        self._number += 1
        return rows, BatchInfo(self._run.epoch, self._number - 1)

    def do(self, task: Any) -> Done:
        return self._job(task)

    def leave_out(self, count: int) -> int:
        for k in range(count):
            size = self._next_size()
            got = self._child.skip(size)
            if not got or (got < size and self._drop):
                return k
            self._number += 1
        return count

    def leave(self) -> None:
        super().leave()
        self._child.leave()


def _stacked(rows: Rows, names_: list[str]) -> Rows:
    """One row, the batch of these."""
    columns: list[Any] = [dicts.batch(c, n, rows.ids)[None] for c, n in zip(rows.columns, names_, strict=True)]
    return Rows(1, columns, rows.ids[None])


def _plain_job(dataset: BatchDataset) -> Callable[[Any], Done]:
    names_ = dataset.get_col_names()

    def job(task: tuple[Rows, BatchInfo]) -> Done:
        try:
            return Done(_stacked(task[0], names_))
        except DataError as error:
            return Done(None, error)

    return job


class _Batches(Dataset):
    """What batches of a size, or of sizes that a function says, share."""

    def _sized(self, owner: str, child: Dataset, batch_size: Any, drop_remainder: Any) -> None:
        if not callable(batch_size):
            batch_size = integer(owner, "batch_size", batch_size, 1, INT32_MAX, LateError)
            for gate in gates(child):
                gate.rows *= batch_size
        elif isinstance(batch_size, type) or parameters_of(batch_size) not in (None, 1):
            raise ArgumentValueError(
                f"{owner}: batch_size must be an int, or a function of one argument, a BatchInfo", loc=user_loc()
            )
        self.batch_size, self.drop_remainder = batch_size, truth(owner, "drop_remainder", drop_remainder)

    def count(self) -> int | None:
        rows = self.children[0].count()
        if rows is None or not isinstance(self.batch_size, int):
            return None
        return rows // self.batch_size if self.drop_remainder else -(-rows // self.batch_size)

    def get_batch_size(self) -> int:
        return self.batch_size if isinstance(self.batch_size, int) else -1


@node("batch")
class BatchDataset(_Batches):
    """A data set whose rows are stacked into batches (MindSpore: BatchDataset)."""

    def __init__(
        self,
        child: Dataset,
        batch_size: Any,
        drop_remainder: bool,
        num_parallel_workers: int | None,
        per_batch_map: Any,
        input_columns: Any,
        output_columns: Any,
        python_multiprocessing: bool,
        max_rowsize: Any,
    ) -> None:
        self._sized("batch", child, batch_size, drop_remainder)
        self.processes = truth("batch", "python_multiprocessing", python_multiprocessing)
        memory_of_rows("batch", max_rowsize)
        known = columns = child.get_col_names()
        self.job: Collate | None = None
        if per_batch_map is None:
            for name, value in (("input_columns", input_columns), ("output_columns", output_columns)):
                if value is not None:
                    if name == "output_columns":
                        names("batch", name, value)
                    raise ArgumentValueError(f"batch: {name} goes with per_batch_map only", loc=user_loc())
        else:
            if not callable(per_batch_map):
                kind = type(per_batch_map).__name__
                raise KindError(f"batch: per_batch_map must be callable, got {kind}", loc=user_loc())
            inputs = known if input_columns is None else names("batch", "input_columns", input_columns)
            taken = parameters_of(per_batch_map)
            if input_columns is not None and taken not in (None, len(inputs) + 1):
                raise ArgumentValueError(
                    f"batch: per_batch_map takes {taken} arguments, input_columns are {len(inputs)}, to which a BatchInfo comes",
                    loc=user_loc(),
                )
            child.among("batch", "input_columns", inputs)
            outputs = inputs if output_columns is None else names("batch", "output_columns", output_columns)
            self.job = Collate(per_batch_map, [known.index(c) for c in inputs], outputs, known)
            if len(outputs) == len(inputs):
                renamed = dict(zip(inputs, outputs, strict=True))
                columns = [renamed.get(c, c) for c in known]
            else:
                columns = [*outputs, *(c for c in known if c not in inputs)]
            names("batch", "output_columns", columns)
        super().__init__((child,), columns, workers("batch", num_parallel_workers))

    @property
    def in_python(self) -> bool:  # type: ignore[override]
        return self.job is not None

    def open(self, run: Run) -> Stream:
        child = self.children[0].open(run)
        if self.job is None and isinstance(self.batch_size, int):
            return _BatchStream(child, self.batch_size, self.drop_remainder, self._columns)
        return _FunctionBatchStream(child, self, run)


# ---- padding


def _is_single(value: Any) -> bool:
    """Whether a value is one number or one text."""
    return isinstance(value, (int, float, complex, str, bytes, np.generic)) or (
        isinstance(value, np.ndarray) and not value.ndim
    )


class Padding:
    """How columns are filled up: {place: (shape or None, value or None)}."""

    def __init__(self, owner: str, child: Dataset, pad_info: Any) -> None:
        known = child.get_col_names()
        if not isinstance(pad_info, dict):
            raise ArgumentTypeError(f"{owner}: pad_info must be a dict, got {type(pad_info).__name__}", loc=user_loc())
        for name, rule in pad_info.items():
            if not isinstance(rule, tuple) or len(rule) != 2:
                raise ArgumentTypeError(
                    f"{owner}: pad_info[{name!r}] must be a tuple of a shape and a value, got {rule!r}", loc=user_loc()
                )
        if pad_info:
            child.among(owner, "pad_info", list(pad_info))
        self.known = known
        self.of: dict[int, tuple[list[int | None] | None, Any]] = {}
        self.named = bool(pad_info)
        for name, rule in (pad_info or dict.fromkeys(known, (None, None))).items():
            shape, value = rule
            if shape is not None:
                if not isinstance(shape, list):
                    raise ArgumentTypeError(
                        f"{owner}: pad_info[{name!r}] must have a list as its shape, got {type(shape).__name__}",
                        loc=user_loc(),
                    )
                shape = [None if s is None else integer(owner, f"pad_info[{name!r}]", s, 1, INT32_MAX) for s in shape]
            if value is not None and not _is_single(value):
                raise ArgumentTypeError(
                    f"{owner}: pad_info[{name!r}] must have a number or a text as its value, got {type(value).__name__}",
                    loc=user_loc(),
                )
            self.of[known.index(name)] = (shape, value)

    def batch(self, rows: Rows, length: int | None = None) -> Rows:
        """One row, the batch of these. length: what None in a shape of `pad_info` stands for, instead of the largest."""
        length = length if self.named else None
        columns: list[Any] = []
        for place, column in enumerate(rows.columns):
            name = self.known[place]
            if place not in self.of or dicts.are_dicts(column):
                columns.append(dicts.batch(column, name, rows.ids)[None])
                continue
            shape, value = self.of[place]
            upto = None if shape is None else length
            columns.append(self._filled(values(column), name, shape, value, upto, rows.ids)[None])
        return Rows(1, columns, rows.ids[None])

    def _filled(self, arrays: list[Any], name: str, shape: Any, value: Any, length: int | None, ids: Array) -> Array:
        arrays = [np.asarray(a) for a in arrays]
        rank = arrays[0].ndim
        for k, a in enumerate(arrays):
            if a.ndim != rank or (shape is not None and len(shape) != a.ndim):
                wanted = rank if shape is None else len(shape)
                raise DataError(
                    f"padding: column {name!r} has {a.ndim} axes at sample {ids[k]}, {wanted} are needed", code="GC203"
                )
        largest = [max(a.shape[axis] for a in arrays) for axis in range(rank)]
        final: list[Any] = [
            n if wanted is None and length is None else (wanted if wanted is not None else length)
            for n, wanted in zip(largest, shape or [None] * rank, strict=True)
        ]
        dtypes = {a.dtype for a in arrays}
        text = all(d.kind in "US" for d in dtypes)
        if len(dtypes) > 1 and not text:
            raise mixed(arrays, name, ids)
        fill_with = ("" if text else 0) if value is None else value
        if text != isinstance(fill_with, (str, bytes)):
            raise DataError(
                f"padding: {fill_with!r} cannot fill up column {name!r}, which is {arrays[0].dtype}", code="GC203"
            )
        # Texts have the length of the longest, that of the filling among them.
        dtype = np.result_type(*dtypes, np.asarray(fill_with)) if text else arrays[0].dtype
        result: Array = np.full((len(arrays), *final), np.asarray(fill_with).astype(dtype), dtype)
        for k, a in enumerate(arrays):
            inside: Any = tuple(slice(0, min(have, most)) for have, most in zip(a.shape, final, strict=True))
            result[(k, *inside)] = a[inside]
        return result


class _PaddedStream(_FunctionBatchStream):
    owner = "padded_batch"

    def __init__(self, child: Stream, dataset: PaddedBatchDataset, run: Run) -> None:
        Worked.__init__(self, None, 0)
        self._child, self._job = child, dataset.padded
        self._size, self._drop = dataset.batch_size, dataset.drop_remainder
        self._run, self._number = run, 0


@node("padded_batch")
class PaddedBatchDataset(_Batches):
    """A data set whose rows are filled up and stacked (MindSpore: PaddedBatchDataset)."""

    in_python = True

    def __init__(
        self, child: Dataset, batch_size: Any, drop_remainder: bool, num_parallel_workers: int | None, pad_info: Any
    ) -> None:
        self._sized("padded_batch", child, batch_size, drop_remainder)
        self.padding = None if pad_info is None else Padding("padded_batch", child, pad_info)
        if workers("padded_batch", num_parallel_workers) not in (None, 1):
            no_effect("padded_batch", "num_parallel_workers", "batches are filled up by the thread that reads")
        super().__init__((child,), child.get_col_names())

    def padded(self, task: tuple[Rows, BatchInfo]) -> Done:
        """The job: one batch."""
        rows = task[0]
        try:
            if self.padding is not None:
                return Done(self.padding.batch(rows))
            return Done(_stacked(rows, self._columns))
        except DataError as error:
            return Done(None, error)

    def open(self, run: Run) -> Stream:
        return _PaddedStream(self.children[0].open(run), self, run)
