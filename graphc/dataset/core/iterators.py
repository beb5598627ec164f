"""Iterators: rows of a data set as the user gets them, read ahead in a thread where that helps."""

from __future__ import annotations

import weakref
from collections import deque
from collections.abc import Callable
from functools import cache
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from graphc.dataset import config
from graphc.dataset.checks import INT32_MAX, LateError, integer
from graphc.dataset.core.dicts import each
from graphc.dataset.core.rows import Rows, joined, packed, stack
from graphc.dataset.core.streams import Epochs, Run, Stream
from graphc.dataset.workers.ahead import ReadAhead
from graphc.errors import DataError, DTypeError, user_loc
from graphc.ops.tensor.arrays import native
from graphc.ops.tensor.dtype import BY_NAME
from graphc.ops.tensor.tensor import Tensor
from graphc.tracebacks import clean

if TYPE_CHECKING:
    from graphc.dataset.core.dataset import Dataset

T = TypeVar("T")
Array = np.ndarray[Any, np.dtype[Any]]


@cache
def _is_held(dtype: np.dtype[Any]) -> bool:
    """Whether Tensors have such elements. NumPy makes the name of a dtype anew whenever it is asked for."""
    return dtype.name in BY_NAME


class DatasetIterator:
    """Rows, one pass per `for`. Ends its workers when it is closed, left by an exception or forgotten."""

    def __init__(self, dataset: Dataset, columns: list[str] | None, num_epochs: int, output_numpy: bool) -> None:
        owner = type(self).__name__
        epochs = integer(owner, "num_epochs", num_epochs, -1, INT32_MAX)
        if epochs == 0:
            raise LateError(f"{owner}: num_epochs must be -1 or more than 0, got 0", loc=user_loc())
        self._names = dataset.get_col_names()
        # What begins so is for those who rename it, as in MindSpore.
        self._chosen = [n for n in self._names if not n.startswith("_meta-")] if columns is None else columns
        self._places = [self._names.index(c) for c in self._chosen]
        self._epochs, self._numpy, self._title = epochs, output_numpy, dataset.title()
        state = dataset.taken_state()
        self._epoch, self._position, self._seed = state["epoch"], state["position"], state["seed"]
        prefetch = config.get_prefetch_size()
        run = Run(self._seed, prefetch, parallel=not config.get_debug_mode())
        self._closing = weakref.finalize(self, run.close)
        try:
            stream = Epochs(dataset.open(run), run, dataset.is_endless())
            self._source: Stream | ReadAhead = stream
            if run.parallel and dataset.busy():
                self._source = ReadAhead(stream, prefetch, self._epoch, self._position, epochs)
                # The last is called first: workers that the thread waits for are ended in between.
                run.closers.insert(0, self._source.join)
                run.closers.append(self._source.stop)
            else:
                for _ in range(self._epoch):
                    stream.pass_over()
        except BaseException as error:
            run.close()
            if isinstance(error, DataError):
                error.loc = error.loc or user_loc()
            raise
        self._begun = False
        #: Whether a block has met the end of the pass, which is yet to be told.
        self._ended = False
        self._failure: DataError | None = None
        self._ready: deque[Rows] = deque()
        #: Unbatched rows are read several at a time.
        self._paced = dataset.paced()
        one_by_one = dataset.get_batch_size() != 1 or self._paced or not run.parallel
        self._at_once = 1 if one_by_one else min(prefetch, 64)

    def __iter__(self) -> DatasetIterator:
        return self

    def __next__(self) -> Any:
        try:
            rows = self._read(1)
            return self._given([self._one(rows, k) for k in self._places])
        except BaseException as error:
            clean(error)
            raise

    def _given(self, values: list[Any]) -> Any:
        raise NotImplementedError

    def blocks(self, columns: list[str] | None = None, steps: int = 1) -> tuple[Array, ...] | None:
        """The next rows, up to `steps`, at once: one C-contiguous array [rows, ...] per column; None at the end of a pass.

        columns: names, by default those of the iterator. Batches in one block have one shape: a smaller last one comes alone. The
        rows, and what they count for `state_dict`, are those of `next`.
        """
        steps = integer("blocks", "steps", steps, 1)
        if self._paced:
            raise DataError(
                "rows of this data set wait for the training: its steps cannot be gathered",
                loc=user_loc(),
                help="dataset_sink_mode=False; sync_wait and callbacks of map let rows wait",
            )
        names = self._chosen if columns is None else columns
        for name in names:
            if name not in self._names:
                raise DataError(
                    f"blocks: there is no column {name!r}, there are {', '.join(self._names)}", loc=user_loc()
                )
        try:
            parts = [self._of_one_shape(self._read(steps))]
        except StopIteration:
            return None
        have = parts[0].count
        while have < steps:
            rows = self._more(steps - have)
            if rows is None:
                self._ended = True
                break
            same = self._of_one_shape(rows)
            if _shapes(same) != _shapes(parts[0]):
                self._put_back(same)
                break
            parts.append(same)
            have += same.count
        whole = joined(parts)
        picked = (self._names.index(n) for n in names)
        return tuple(np.ascontiguousarray(native(packed(whole.columns[k], self._names[k], whole.ids))) for k in picked)

    # ---- position

    def state_dict(self) -> dict[str, Any]:
        """Where the iterator is, as JSON values: for `load_state_dict` of the same data set."""
        return {
            "epoch": self._epoch,
            "position": self._position,
            "seed": self._seed,
            "pipeline": self._title,
        }

    # ---- ends

    def close(self) -> None:
        """End the workers; reading on is a DataError."""
        self._closing()

    def stop(self) -> None:
        """Same as `close` (MindSpore: Iterator.stop)."""
        self.close()

    def release(self) -> None:
        """Same as `close` (MindSpore: Iterator.release)."""
        self.close()

    def __enter__(self) -> Any:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # ---- reading

    def _read(self, count: int) -> Rows:
        """Up to `count` rows of the pass; StopIteration at its end, which is the start of the next one."""
        self._check_open()
        if not self._begun:
            self._guarded(self._begin)
        rows = None if self._ended else self._more(count)
        if rows is None:
            self._ended = False
            self._epoch, self._position, self._begun = self._epoch + 1, 0, False
            if self._epoch == self._epochs:
                self.close()
            raise StopIteration
        return rows

    def _check_open(self) -> None:
        if self._failure is not None:
            raise self._failure
        if self._epochs != -1 and self._epoch >= self._epochs:
            raise DataError(
                f"the iterator has given its last epoch: it was made for num_epochs={self._epochs}",
                code="GC206",
                loc=user_loc(),
                help="make another one, or let num_epochs be -1",
            )
        if not self._closing.alive:
            raise DataError("the iterator is closed", code="GC206", loc=user_loc())

    def _begin(self) -> None:
        self._begun = True
        if isinstance(self._source, Stream):
            self._source.begin()
            if self._position:
                self._source.skip(self._position)

    def _more(self, count: int) -> Rows | None:
        if not self._ready:
            rows = self._guarded(lambda: self._source.read(max(count, self._at_once)))
            if rows is None:
                return None
            self._ready.append(rows)
        rows = self._ready.popleft()
        if rows.count > count:
            self._ready.appendleft(rows.part(count, rows.count))
            rows = rows.part(0, count)
        self._position += rows.count
        return rows

    def _guarded(self, action: Callable[[], T]) -> T:
        """What an action of the source's gives; whatever it raises ends the workers, and an error is raised again ever after."""
        try:
            return action()
        except BaseException as error:
            if isinstance(error, DataError):
                self._failure = error
                error.loc = error.loc or user_loc()
            self.close()
            raise

    def _of_one_shape(self, rows: Rows) -> Rows:
        """The first rows that are alike; the others are given later."""
        alike = next((k for k in range(1, rows.count) if _shapes(rows, k) != _shapes(rows)), rows.count)
        if alike < rows.count:
            self._put_back(rows.part(alike, rows.count))
        return rows.part(0, alike)

    def _put_back(self, rows: Rows) -> None:
        self._position -= rows.count
        self._ready.appendleft(rows)

    def _one(self, rows: Rows, place: int) -> Any:
        """The value of a column in the only row: memory of its own."""
        name, column = self._names[place], rows.columns[place]
        first = column[0] if isinstance(column, np.ndarray) else stack([column[0]], name, rows.ids)[0]
        return self._as_asked(np.asarray(first), name)

    def _as_asked(self, array: Any, name: str) -> Any:
        """An array as the iterator gives it; a dict with such ones in it."""
        if array.dtype == object:
            return each(array.item(), lambda value: self._as_asked(value, name))
        array = native(array)
        held = _is_held(array.dtype)
        if self._numpy or (array.dtype.kind in "USV" and not held):
            return array
        if not held:
            raise DTypeError(
                f"column {name!r} is {array.dtype}, which a Tensor does not hold",
                loc=user_loc(),
                help=f"map it: transforms.TypeCast(graphc.int32), or ask for output_numpy=True; Tensors are {', '.join(BY_NAME)}",
            )
        return Tensor.wrap(array if array.flags.c_contiguous else np.ascontiguousarray(array))


def _shapes(rows: Rows, row: int = 0) -> list[tuple[int, ...]]:
    """The shape of each column in one of the rows."""
    return [c.shape[1:] if isinstance(c, np.ndarray) else np.shape(c[row]) for c in rows.columns]


class DictIterator(DatasetIterator):
    """Yields {column: value} (MindSpore: DictIterator)."""

    def _given(self, values: list[Any]) -> dict[str, Any]:
        return dict(zip(self._chosen, values, strict=True))


class TupleIterator(DatasetIterator):
    """Yields [value of each column] (MindSpore: TupleIterator)."""

    def _given(self, values: list[Any]) -> list[Any]:
        return values


__all__ = ["DictIterator", "TupleIterator"]
