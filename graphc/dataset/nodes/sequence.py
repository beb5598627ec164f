"""`shuffle`, `repeat`, `skip` and `take`: which rows come, and when."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from graphc.dataset.checks import INT32_MAX, integer
from graphc.dataset.core.dataset import Dataset, node
from graphc.dataset.core.rows import Rows, first_ids, joined
from graphc.dataset.core.streams import ALL, OfOne, Run, Stream, fill
from graphc.dataset.orders.mersenne import Mt19937_64
from graphc.errors import ArgumentValueError, DataError, user_loc

# ---- shuffle


class _ShuffleStream(OfOne):
    """A buffer of rows: one is drawn, the last one takes its place, and the next of the child's comes last."""

    def __init__(self, child: Stream, size: int, seed: int, again: bool, endless: bool) -> None:
        super().__init__(child)
        self._size, self._seed, self._again = size, seed, again
        self._uses_up = again and not endless
        self._random = Mt19937_64(seed)
        self._buffer: Rows | None = None
        #: Logical place -> row of the buffer.
        self._places: list[int] = []

    def begin(self) -> None:
        if not self._again:
            self._random = Mt19937_64(self._seed)
        super().begin()

    def leave(self) -> None:
        if self._uses_up:  # The numbers that a pass left early has not drawn.
            self._random.use(len(self._places) + self._child.skip(ALL))
        self._buffer, self._places = None, []
        super().leave()

    def read(self, count: int) -> Rows | None:
        if self._buffer is None:
            first = fill(self._child, self._size)
            if first is None:
                return None
            self._buffer, self._places = _own(first), list(range(first.count))
        if not self._places:
            return None
        arriving = fill(self._child, min(count, self._size))
        if arriving is not None:
            return self._exchanged(arriving)
        return self._emptied(min(count, len(self._places)))

    def _exchanged(self, arriving: Rows) -> Rows:
        assert self._buffer is not None
        if arriving.ids.shape[1:] != self._buffer.ids.shape[1:]:
            self._buffer.ids = first_ids(self._buffer.ids)
            arriving = replace(arriving, ids=first_ids(arriving.ids))
        size, places = len(self._places), self._places
        start = self._buffer.count
        drawn = (self._random.use(arriving.count) % np.uint64(size)).tolist()
        leaving = []
        for k, place in enumerate(drawn):
            leaving.append(places[place])
            places[place] = places[-1]
            places[-1] = start + k
        given = _picked(self._buffer, arriving, leaving)
        # Each row that stays takes the memory of one that has left.
        freed = sorted({i for i in leaving if i < start})
        for place, row in enumerate(places):
            if row >= start:
                free = freed.pop()
                _put(self._buffer, free, arriving, row - start)
                places[place] = free
        return given

    def _emptied(self, count: int) -> Rows:
        assert self._buffer is not None
        leaving = []
        for number in self._random.use(count).tolist():
            place = number % len(self._places)
            leaving.append(self._places[place])
            self._places[place] = self._places[-1]
            self._places.pop()
        return _picked(self._buffer, None, leaving)


def _own(rows: Rows) -> Rows:
    """The same rows, in memory and lists that can be written to."""
    return Rows(rows.count, [c.copy() for c in rows.columns], rows.ids.copy())


def _picked(buffer: Rows, arriving: Rows | None, indices: list[int]) -> Rows:
    """Rows of the buffer, and beyond its end of those that arrive."""
    start = buffer.count
    if arriving is None or max(indices) < start:
        chosen = np.array(indices)
        columns = [c[chosen] if isinstance(c, np.ndarray) else [c[i] for i in indices] for c in buffer.columns]
        return Rows(len(indices), columns, buffer.ids[chosen])
    parts = [buffer.part(i, i + 1) if i < start else arriving.part(i - start, i - start + 1) for i in indices]
    made = joined(parts)
    # What is packed is a copy; single values lie in the buffer, whose places others take.
    made.columns = [c if isinstance(c, np.ndarray) else list(map(np.copy, c)) for c in made.columns]
    return made


def _put(buffer: Rows, place: int, arriving: Rows, row: int) -> None:
    for k, column in enumerate(buffer.columns):
        value = arriving.columns[k][row]
        if isinstance(column, np.ndarray) and (np.shape(value) != column.shape[1:] or _other(value, column)):
            buffer.columns[k] = column = list(column)
        column[place] = value
    buffer.ids[place] = arriving.ids[row]


def _other(value: Any, column: np.ndarray[Any, Any]) -> bool:
    return bool(np.asarray(value).dtype != column.dtype)


@node("shuffle")
class ShuffleDataset(Dataset):
    """A data set whose rows are mixed in a buffer (MindSpore: ShuffleDataset)."""

    def __init__(self, child: Dataset, buffer_size: int, again: bool = True) -> None:
        self.buffer_size = integer("shuffle", "buffer_size", buffer_size, 2, INT32_MAX)
        self.again = again
        if child.is_sync():
            raise DataError("shuffle: rows behind sync_wait cannot be gathered", loc=user_loc(), help="shuffle first")
        super().__init__((child,), child.get_col_names())

    def open(self, run: Run) -> Stream:
        child, endless = self.children[0], self.is_endless()
        return _ShuffleStream(child.open(run), self.buffer_size, run.seed, self.again, endless)

    def count(self) -> int | None:
        return self.children[0].count()


# ---- repeat


class _RepeatStream(OfOne):
    """Passes of the child's. One that is left early uses up those of them that it has not begun, as in MindSpore, however far
    others have read ahead.
    """

    def __init__(self, child: Stream, count: int, endless: bool) -> None:
        super().__init__(child)
        self._count, self._endless = count, endless
        #: The number of the child's pass that is read.
        self._round = 0
        self._any = False

    def begin(self) -> None:
        super().begin()
        self._round, self._any = 0, False

    def leave(self) -> None:
        super().leave()
        if not self._endless:
            for _ in range(self._round + 1, self._count):
                self._child.begin()
                self._child.leave()

    def read(self, count: int) -> Rows | None:
        while True:
            rows = self._child.read(count)
            if rows is not None:
                self._any = True
                return rows
            if not self._next_round():
                return None

    def _next_round(self) -> bool:
        """Whether there is one; an endless repeat of nothing is none."""
        if self._round + 1 == self._count or (self._count == -1 and not self._any):
            return False
        self._round += 1
        self._child.leave()
        self._child.begin()
        return True

    def skip(self, count: int) -> int:
        left = count
        while True:
            got = self._child.skip(left)
            left -= got
            self._any = self._any or got > 0
            if left == 0 or not self._next_round():
                return count - left


@node("repeat")
class RepeatDataset(Dataset):
    """A data set that is read several times in a pass (MindSpore: RepeatDataset)."""

    def __init__(self, child: Dataset, count: int | None) -> None:
        self.repeats = -1 if count is None else integer("repeat", "count", count, -1, INT32_MAX)
        if self.repeats == 0:
            raise ArgumentValueError("repeat: count must be -1 or 1 and more, got 0", loc=user_loc())
        super().__init__((child,), child.get_col_names())

    def open(self, run: Run) -> Stream:
        repeats = 1 if run.counting and self.repeats == -1 else self.repeats
        return _RepeatStream(self.children[0].open(run), repeats, self.is_endless())

    def is_endless(self) -> bool:
        return self.repeats == -1 or super().is_endless()

    def count(self) -> int | None:
        rows = self.children[0].count()
        return rows if rows is None or self.repeats == -1 else rows * self.repeats

    def get_dataset_size(self) -> int:
        return self.children[0].get_dataset_size() * max(self.repeats, 1)

    def get_repeat_count(self) -> int:
        return self.repeats


# ---- skip and take


class _SkipStream(OfOne):
    def __init__(self, child: Stream, count: int) -> None:
        super().__init__(child)
        self._count = count
        #: How many rows are yet to be left out; of a pass that is not read none need be.
        self._left = 0

    def begin(self) -> None:
        super().begin()
        self._left = self._count

    def read(self, count: int) -> Rows | None:
        self._leave_out()
        return self._child.read(count)

    def skip(self, count: int) -> int:
        self._leave_out()
        return self._child.skip(count)

    def _leave_out(self) -> None:
        left, self._left = self._left, 0
        if left:
            self._child.skip(left)


@node("skip")
class SkipDataset(Dataset):
    """A data set without its first rows (MindSpore: SkipDataset)."""

    def __init__(self, child: Dataset, count: int) -> None:
        self.skipped = integer("skip", "count", count, 0, INT32_MAX)
        super().__init__((child,), child.get_col_names())

    def open(self, run: Run) -> Stream:
        return _SkipStream(self.children[0].open(run), self.skipped)

    def count(self) -> int | None:
        rows = self.children[0].count()
        return None if rows is None else max(0, rows - self.skipped)


class _TakeStream(OfOne):
    def __init__(self, child: Stream, count: int) -> None:
        super().__init__(child)
        self._count = count
        self._left = 0

    def begin(self) -> None:
        super().begin()
        self._left = self._count

    def read(self, count: int) -> Rows | None:
        rows = self._child.read(min(count, self._left)) if self._left else None
        self._left -= 0 if rows is None else rows.count
        return rows

    def skip(self, count: int) -> int:
        got = self._child.skip(min(count, self._left))
        self._left -= got
        return got


@node("take")
class TakeDataset(Dataset):
    """The first rows of a data set (MindSpore: TakeDataset)."""

    def __init__(self, child: Dataset, count: int) -> None:
        self.taken = integer("take", "count", count, -1, INT32_MAX)
        if self.taken == 0:
            raise ArgumentValueError("take: count must be -1 or 1 and more, got 0", loc=user_loc())
        super().__init__((child,), child.get_col_names())

    def open(self, run: Run) -> Stream:
        return _TakeStream(self.children[0].open(run), ALL if self.taken == -1 else self.taken)

    def count(self) -> int | None:
        rows = self.children[0].count()
        return rows if rows is None or self.taken == -1 else min(rows, self.taken)


__all__ = ["RepeatDataset", "ShuffleDataset", "SkipDataset", "TakeDataset"]
