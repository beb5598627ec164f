"""`map` and `filter`: the user's functions, or graphc's transforms, on each row."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from graphc.dataset import config
from graphc.dataset.callbacks import Told, checked
from graphc.dataset.checks import LateError, function, memory_of_rows, misfit, names, no_cache, truth, workers
from graphc.dataset.core.dataset import Dataset, node
from graphc.dataset.core.faults import fault, interrupts
from graphc.dataset.core.rows import Rows, alike, apart, joined, stack, to_array, values
from graphc.dataset.core.streams import ALL, Done, OfOne, Run, Stream, Worked
from graphc.dataset.debug import DebugHook, with_hooks
from graphc.dataset.sample_rng import enter, leave
from graphc.dataset.workers.choice import pool_of
from graphc.errors import ArgumentValueError, DataError, GraphcError, user_loc
from graphc.validation.unused_arguments import no_effect

Array = np.ndarray[Any, np.dtype[Any]]

#: Rows that are transformed at a time, so that what one transform has written is still in the cache for the next.
_BLOCK = 64
#: Samples that went well and are kept for places of others, as in MindSpore.
_SPARE = 16


class Operations:
    """The job of `map`; it goes to worker processes as it is. A task: rows, the key of their random numbers, the first place."""

    def __init__(self, operations: Sequence[Any], places: list[int], inputs: list[str], outputs: list[str]) -> None:
        self.operations, self.places, self.inputs, self.outputs = list(operations), places, inputs, outputs
        self.hooked = any(isinstance(o, DebugHook) for o in operations)
        # Those at the end that can be applied to many rows at once.
        single = len(places) == len(outputs) == 1
        self.whole = 0
        while single and self.whole < len(self.operations) and hasattr(self.operations[-1 - self.whole], "whole"):
            self.whole += 1

    @property
    def in_python(self) -> bool:
        """Whether any is called for each row."""
        return self.whole < len(self.operations)

    def watched(self, hooks: list[DebugHook] | None) -> Operations:
        """The same with debug hooks before and after each; itself without debug mode, where hooks are None and none are allowed
        among the operations (ArgumentValueError).
        """
        if hooks is None:
            if self.hooked:
                raise ArgumentValueError(
                    "map: a DebugHook stands among the operations, and debug mode is off",
                    loc=user_loc(),
                    help="dataset.config.set_debug_mode(True)",
                )
            return self
        return Operations(with_hooks(self.operations, hooks), self.places, self.inputs, self.outputs)

    def __call__(self, task: tuple[Rows, tuple[int, ...], int]) -> Done:
        rows, key, first = task
        columns = [rows.columns[p] for p in self.places]
        one_by_one = self.operations[: len(self.operations) - self.whole]
        if not one_by_one and isinstance(columns[0], np.ndarray):
            try:
                return self._done(rows, [self._at_once(columns[0])], None)
            except GraphcError as misfit:
                return Done(None, self._said(misfit, rows, 0))
        results, error = self._one_by_one(rows, columns, one_by_one, key, first)
        if not results:
            return Done(None, error)
        done = rows.part(0, len(results))
        made = []
        for k, name in enumerate(self.outputs if one_by_one else self.inputs):
            made.append(_gathered([r[k] for r in results], name, done.ids))
        if self.whole:
            try:
                if isinstance(made[0], np.ndarray):
                    made = [self._at_once(made[0])]
                else:
                    made = [[self._at_once(a[None])[0] for a in made[0]]]
            except GraphcError as misfit:
                return Done(None, self._said(misfit, rows, 0))
        return self._done(done, made, error)

    def _at_once(self, column: Array) -> Array:
        transforms = self.operations[len(self.operations) - self.whole :]
        if len(column) <= _BLOCK:
            return _through(transforms, column)
        first = _through(transforms, column[:_BLOCK])
        result = np.empty((len(column), *first.shape[1:]), first.dtype)
        result[:_BLOCK] = first
        for start in range(_BLOCK, len(column), _BLOCK):
            result[start : start + _BLOCK] = _through(transforms, column[start : start + _BLOCK])
        return result

    def _one_by_one(
        self, rows: Rows, columns: list[Any], operations: list[Any], key: tuple[int, ...], first: int
    ) -> tuple[list[tuple[Any, ...]], DataError | None]:
        results: list[tuple[Any, ...]] = []
        try:
            for k, row in enumerate(zip(*map(values, columns), strict=True)):
                enter((*key, first + k))
                for operation in operations:
                    result = operation(*row)
                    row = result if type(result) is tuple else (result,)
                results.append(self._checked(row, operation if operations else None) if operations else row)
        except interrupts():
            raise
        except BaseException as raised:
            error = self._said(raised, rows, len(results))
            return results, error
        finally:
            leave()
        return results, None

    def _checked(self, row: tuple[Any, ...], operation: Any) -> tuple[Any, ...]:
        wanted = self.inputs if self.whole else self.outputs
        if len(row) != len(wanted):
            raise DataError(f"{_name(operation)} gave {misfit(len(row), wanted)}", code="GC201")
        return tuple(v if type(v) in _PLAIN else to_array(v) for v in row)

    def _said(self, raised: BaseException, rows: Rows, place: int) -> DataError:
        sample = ", ".join(map(str, np.atleast_1d(rows.ids[place]).tolist()[:4])) if place < len(rows.ids) else None
        what = f"map of column {', '.join(map(repr, self.inputs))}"
        error = fault(what, sample, raised)
        if not isinstance(raised, DataError):
            error.__cause__ = raised
        return error

    def _done(self, rows: Rows, made: list[Any], error: DataError | None) -> Done:
        if len(made) == len(self.places):
            columns = list(rows.columns)
            for place, column in zip(self.places, made, strict=True):
                columns[place] = column
        else:
            kept = [c for k, c in enumerate(rows.columns) if k not in self.places]
            columns = [*made, *kept]
        return Done(Rows(rows.count, columns, rows.ids), error)


class Lenient:
    """The job of a `map` that leaves out the samples that it fails for."""

    def __init__(self, job: Operations) -> None:
        self.job = job

    def __call__(self, task: tuple[Rows, tuple[int, ...], int]) -> Done:
        rows, key, first = task
        done = [self.job((rows.part(k, k + 1), key, first + k)) for k in range(rows.count)]
        kept = [d.rows for d in done if d.error is None and d.rows is not None]
        return Done(joined(kept) if kept else None)


class _Spare:
    """Samples that went well and stand in for those that a `map` fails for: a ring, in which what has been given makes room.

    While it is full a sample is given before the next one that goes well, the others at the end of the pass, as in MindSpore.
    """

    def __init__(self, inputs: list[str]) -> None:
        self._inputs, self._ring = inputs, list[Rows]()
        self._kept = self._given = self._failed = 0
        #: Whether a pass is read that has not come to its end.
        self.inside = False

    def begin(self) -> None:
        """A pass begins."""
        self._failed, self.inside = 0, True

    def after(self, done: Done | None) -> Done | None:
        """What a task has given, which had one sample, and those in place of others. None: nothing is left to do. DataError if
        there are none.
        """
        if done is None:
            chosen = [self._next() for _ in range(self._failed)]
            self._failed, self.inside = 0, bool(chosen)
            return Done(apart(joined(chosen))) if chosen else None
        if done.rows is None:
            self._failed += 1
            return done
        full = self._kept - self._given >= _SPARE
        before = [apart(self._next())] if full and self._failed else []
        self._failed -= len(before)
        if self._kept - self._given < _SPARE:
            place, self._kept = self._kept % _SPARE, self._kept + 1
            self._ring[place : place + 1] = [apart(done.rows)]
        return Done(joined([*before, done.rows]))

    def _next(self) -> Rows:
        if not self._ring:
            what = f"map of column {', '.join(map(repr, self._inputs))}"
            raise DataError(f"{what} fails for every sample: there is none to take their places", code="GC200")
        place = self._given % _SPARE
        self._given += 1
        return self._ring[place % len(self._ring)]


_PLAIN = {int, float, bool}


def _through(transforms: list[Any], column: Array) -> Array:
    for transform in transforms:
        column = transform.whole(column)
    return column


def _gathered(results: list[Any], name: str, ids: Array) -> Any:
    """Packed if all have one shape and dtype, else one by one."""
    if set(map(type, results)) <= _PLAIN:
        return stack(results, name, ids) if len(set(map(type, results))) == 1 else [to_array(r) for r in results]
    arrays = [to_array(r) for r in results]
    return stack(arrays, name, ids) if alike(arrays) else arrays


def _name(operation: Any) -> str:
    return getattr(operation, "__qualname__", type(operation).__name__)


class _MapStream(Worked):
    def __init__(
        self,
        child: Stream,
        job: Operations,
        run: Run,
        workers_: int,
        processes: bool,
        told: Told | None,
        endless: bool,
    ) -> None:
        mode = config.on_errors()
        self._lenient = mode is not config.ErrorSamplesMode.RETURN
        self._spare = _Spare(job.inputs) if mode is config.ErrorSamplesMode.REPLACE else None
        self._done: Callable[[Any], Done] = Lenient(job) if self._lenient else job
        super().__init__(*pool_of("map", self._done, workers_, processes, run))
        self._child, self._told, self._endless = child, told, endless
        self._in_python = job.in_python or self._lenient
        self._key, self._pass, self._place = (run.seed, run.number()), -1, 0

    def begin(self) -> None:
        if self._spare:
            self._spare.begin()
        self._child.begin()
        self._pass, self._place = self._pass + 1, 0

    def task(self, count: int) -> Any | None:
        rows = self._child.read(1 if self._told or self._spare else count)
        if rows is None:
            return None
        if self._told:
            self._told.row_begins()
        first, self._place = self._place, self._place + rows.count
        return rows, (*self._key, self._pass), first

    def do(self, task: Any) -> Done:
        done = self._done(task)
        if self._told and done.error is None:
            self._told.row_ends()
        return done

    def _next(self, count: int) -> Done | None:
        done = super()._next(count)
        return self._spare.after(done) if self._spare else done

    def read(self, count: int) -> Rows | None:
        if self._in_python or self._pool is not None:
            return super().read(count)
        task = self.task(count)
        if task is None:
            return None
        done = self.do(task)
        if done.rows is None:
            assert done.error is not None
            raise done.error
        return done.rows

    def leave_out(self, count: int) -> int:
        if self._lenient:  # Which ones there are is known when they are computed.
            return Stream.skip(self, count)
        skipped = self._child.skip(count)
        self._place += skipped
        return skipped

    def leave(self) -> None:
        if self._spare and self._spare.inside and not self._endless:
            self.skip(ALL)  # What stands in for samples of the next pass is known behind the end of this one.
        super().leave()
        self._child.leave()


@node("map")
class MapDataset(Dataset):
    """A data set whose columns are transformed (MindSpore: MapDataset)."""

    def __init__(
        self,
        child: Dataset,
        operations: Any,
        input_columns: Any,
        output_columns: Any,
        num_parallel_workers: int | None,
        python_multiprocessing: bool,
        cache: None,
        callbacks: Any,
        max_rowsize: Any,
        offload: bool | None,
    ) -> None:
        listed = list(operations) if isinstance(operations, (list, tuple)) else [operations]
        if not listed:
            raise LateError("map: operations is empty", loc=user_loc())
        for operation in listed:
            if not callable(operation) or isinstance(operation, type):
                raise LateError(
                    f"map: operations must be callable objects, one is {operation!r}",
                    loc=user_loc(),
                    help=f"{operation.__name__}() makes one" if isinstance(operation, type) else None,
                )
        no_cache("map", "cache", cache)
        self.callbacks = checked(callbacks)
        memory_of_rows("map", max_rowsize)
        if offload is not None and truth("map", "offload", offload):
            no_effect("map", "offload", "there is no device to move transforms to")
        known = child.get_col_names()
        inputs = known[:1] if input_columns is None else child.among("map", "input_columns", input_columns)
        outputs = inputs if output_columns is None else names("map", "output_columns", output_columns)
        places = [known.index(c) for c in inputs]
        self.job = Operations(listed, places, inputs, outputs)
        self.processes = truth("map", "python_multiprocessing", python_multiprocessing)
        if len(outputs) == len(inputs):
            columns = list(known)
            for place, name in zip(places, outputs, strict=True):
                columns[place] = name
        else:
            columns = [*outputs, *(c for c in known if c not in inputs)]
        names("map", "output_columns", columns)
        super().__init__((child,), columns, workers("map", num_parallel_workers))

    @property
    def in_python(self) -> bool:  # type: ignore[override]
        return self.job.in_python or bool(self.callbacks)

    @property
    def waits(self) -> bool:  # type: ignore[override]
        return bool(self.callbacks)

    def open(self, run: Run) -> Stream:
        job = self.job.watched(config.debug_hooks())
        child = self.children[0].open(run)
        told = Told(self.callbacks, run) if self.callbacks else None
        workers_ = self.workers() if job.in_python or self.num_parallel_workers else 1
        return _MapStream(child, job, run, 1 if self.paced() else workers_, self.processes, told, self.is_endless())

    def count(self) -> int | None:
        return None if config.on_errors() is config.ErrorSamplesMode.SKIP else self.children[0].count()


class _FilterStream(OfOne):
    def __init__(self, child: Stream, predicate: Any, places: list[int]) -> None:
        super().__init__(child)
        self._predicate, self._places = predicate, places
        self._failure: DataError | None = None

    def begin(self) -> None:
        self._failure = None
        super().begin()

    def read(self, count: int) -> Rows | None:
        while self._failure is None and (rows := self._child.read(count)) is not None:
            kept, self._failure = self._kept(rows)
            if kept:
                columns: list[Any] = [
                    c[kept] if isinstance(c, np.ndarray) else [c[k] for k in kept] for c in rows.columns
                ]
                return Rows(len(kept), columns, rows.ids[kept])
        if self._failure is not None:
            raise self._failure
        return None

    def _kept(self, rows: Rows) -> tuple[list[int], DataError | None]:
        """Places of the rows that stay, and what was raised after them."""
        kept: list[int] = []
        for k, row in enumerate(zip(*(values(rows.columns[p]) for p in self._places), strict=True)):
            try:
                answer = self._predicate(*row)
            except interrupts():
                raise
            except BaseException as raised:
                error = fault("filter: the predicate", rows.ids[k], raised)
                error.__cause__ = raised
                return kept, error
            if not isinstance(answer, (bool, np.bool_)) and not (
                isinstance(answer, np.ndarray) and answer.dtype == bool and answer.size == 1
            ):
                what = f"the predicate must give a bool, it gave {type(answer).__name__}"
                return kept, DataError(f"filter: {what} at sample {rows.ids[k]}", code="GC201")
            if answer:
                kept.append(k)
        return kept, None


@node("filter")
class FilterDataset(Dataset):
    """A data set without the rows that a predicate refuses (MindSpore: FilterDataset)."""

    in_python = True

    def __init__(self, child: Dataset, predicate: Any, input_columns: Any, num_parallel_workers: int | None) -> None:
        self.predicate = function("filter", "predicate", predicate)
        known = child.get_col_names()
        chosen = known if input_columns is None else child.among("filter", "input_columns", input_columns)
        self._places = [known.index(c) for c in chosen]
        if workers("filter", num_parallel_workers) not in (None, 1):
            no_effect("filter", "num_parallel_workers", "predicates are called one after the other")
        super().__init__((child,), known)

    def open(self, run: Run) -> Stream:
        return _FilterStream(self.children[0].open(run), self.predicate, self._places)

    def count(self) -> int | None:
        return None


__all__ = ["FilterDataset", "MapDataset"]
