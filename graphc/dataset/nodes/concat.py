"""`concat`: the rows of several data sets one after the other, or the next of any."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphc.dataset.core.dataset import Dataset, node
from graphc.dataset.core.rows import Column, Rows
from graphc.dataset.core.streams import Run, Stream
from graphc.dataset.orders.mersenne import Mt19937, canonical
from graphc.dataset.orders.samplers import DistributedSampler, RandomSampler
from graphc.dataset.shuffle import of_records_only
from graphc.errors import ArgumentTypeError, ArgumentValueError, DataError, user_loc


def _kind(column: Column) -> str:
    """Dtype and number of axes of a column's first value."""
    value = np.asarray(column[0])
    return f"{'text' if value.dtype.kind in 'SU' else value.dtype} with {value.ndim} axes"


class _Agreeing:
    """What the columns of all children agree in: the dtypes and numbers of axes of the first rows there were."""

    def __init__(self, orders: list[list[int]], names: list[str]) -> None:
        self._orders, self._names = orders, names
        self._kinds: list[str] | None = None
        #: The children that agree with them.
        self._checked: set[int] = set()

    def of(self, child: int, rows: Rows) -> Rows:
        """Rows of a child, their columns in the order of the first one's. DataError for others than its."""
        columns = [rows.columns[k] for k in self._orders[child]]
        if child not in self._checked:
            self._check(child, columns)
        return Rows(rows.count, columns, rows.ids)

    def _check(self, child: int, columns: list[Column]) -> None:
        kinds = [_kind(column) for column in columns]
        if self._kinds is None:
            self._kinds = kinds
        for name, wanted, got in zip(self._names, self._kinds, kinds, strict=True):
            if wanted != got:
                raise DataError(f"concat: column '{name}' is {wanted} in one data set and {got} in the next")
        self._checked.add(child)


class _ConcatStream(Stream):
    """The rows of one child after the other. A pass that was left early uses up those children that it has not begun, as in
    MindSpore.
    """

    def __init__(self, children: list[Stream], orders: list[list[int]], names: list[str], endless: bool) -> None:
        self._children, self._endless = children, endless
        self._agreeing = _Agreeing(orders, names)
        #: Which child is read.
        self._turn = 0

    def begin(self) -> None:
        self._turn = 0
        self._children[0].begin()

    def leave(self) -> None:
        while self._turn < len(self._children):
            if not self._next_child() or self._endless:
                break

    def _next_child(self) -> bool:
        self._children[self._turn].leave()
        self._turn += 1
        if self._turn >= len(self._children):
            return False
        self._children[self._turn].begin()
        return True

    def read(self, count: int) -> Rows | None:
        while self._turn < len(self._children):
            rows = self._children[self._turn].read(count)
            if rows is not None:
                return self._agreeing.of(self._turn, rows)
            self._next_child()
        return None

    def skip(self, count: int) -> int:
        left = count
        while self._turn < len(self._children):
            left -= self._children[self._turn].skip(left)
            if left == 0:
                break
            self._next_child()
        return count - left


class _AnyNextStream(Stream):
    """The next row of any child, drawn by how many rows each has left: numbers of one generator for all passes, and of each pass
    one more than it has rows, as in MindSpore.
    """

    def __init__(
        self, children: list[Stream], orders: list[list[int]], names: list[str], sizes: list[int], seed: int
    ) -> None:
        self._children, self._sizes = children, sizes
        self._agreeing = _Agreeing(orders, names)
        self._random = Mt19937(seed)
        #: The children that the rows of the pass come from, and how many of them have been.
        self._turns: list[int] = []
        self._place = 0

    def begin(self) -> None:
        self._turns, self._place = self._drawn(), 0
        for child in self._children:
            child.begin()

    def leave(self) -> None:
        for child in self._children:
            child.leave()

    def _drawn(self) -> list[int]:
        left, turns = np.array(self._sizes), []
        for number in canonical(self._random, sum(self._sizes) + 1)[:-1].tolist():
            bounds = np.cumsum(left / left.sum())
            turn = int(np.searchsorted(bounds, number, side="left"))
            turns.append(
                min(turn, int(np.flatnonzero(left)[-1]))
            )  # Where the sum of the shares is a little less than 1.
            left[turns[-1]] -= 1
        return turns

    def _alike(self, count: int) -> tuple[int, int]:
        """Whose turn it is, and how many rows of it come in a row, up to `count`."""
        turns = self._turns[self._place : self._place + count]
        return turns[0], next((k for k, turn in enumerate(turns) if turn != turns[0]), len(turns))

    def read(self, count: int) -> Rows | None:
        if self._place == len(self._turns):
            return None
        turn, several = self._alike(count)
        rows = self._children[turn].read(several)
        if rows is None:
            raise DataError("concat: a data set has fewer rows than it had when they were counted", code="GC204")
        self._place += rows.count
        return self._agreeing.of(turn, rows)

    def skip(self, count: int) -> int:
        done = 0
        while done < count and self._place < len(self._turns):
            turn, several = self._alike(count - done)
            self._children[turn].skip(several)
            self._place, done = self._place + several, done + several
        return done


@node("concat")
class ConcatDataset(Dataset):
    """Data sets one after the other (MindSpore: ConcatDataset).

    Each column has one dtype and one number of axes in all of them: DataError, when the first rows are read.
    """

    def __init__(self, datasets: list[Dataset]) -> None:
        for other in datasets:
            if not isinstance(other, Dataset):
                raise ArgumentTypeError(f"concat needs data sets, got {type(other).__name__}", loc=user_loc())
        columns = datasets[0].get_col_names()
        for other in datasets[1:]:
            if sorted(other.get_col_names()) != sorted(columns):
                raise DataError(
                    "concat: the data sets have different columns",
                    loc=user_loc(),
                    details=[f"{type(d).__name__}: {', '.join(d.get_col_names())}" for d in datasets],
                )
        super().__init__(tuple(datasets), columns)
        #: What the shares are of, whichever was asked for last, and who says which shares.
        self.whole = self.children
        self.sampler: DistributedSampler | RandomSampler | None = None

    def use_sampler(self, sampler: Any) -> None:
        """Give each process its share of all rows, every num_shards-th, by a DistributedSampler that mixes nothing; or take
        the next row of any data set, by a RandomSampler without arguments: of one that has more rows left the more likely.
        """
        if isinstance(sampler, RandomSampler):
            if sampler.replacement or sampler.num_samples is not None:
                raise ArgumentValueError(
                    "use_sampler: a RandomSampler of concat must have no replacement and no num_samples", loc=user_loc()
                )
            of_records_only("use_sampler", sampler.level)
            self.children = self.whole
        elif isinstance(sampler, DistributedSampler):
            self.children = self._shares(sampler)
        else:
            raise ArgumentTypeError(
                f"use_sampler: concat takes a DistributedSampler or a RandomSampler, got {type(sampler).__name__}",
                loc=user_loc(),
            )
        self.sampler = sampler

    def _shares(self, sampler: DistributedSampler) -> tuple[Dataset, ...]:
        if sampler.shuffle or sampler.num_samples is not None:
            raise ArgumentValueError(
                "use_sampler: a DistributedSampler of concat must have shuffle=False and no num_samples", loc=user_loc()
            )
        before, parts = 0, []
        for child in self.whole:
            first = (sampler.shard_id - before) % sampler.num_shards
            before += child.get_dataset_size()
            parts.append(child.share(sampler.num_shards, first))
        return tuple(parts)

    def open(self, run: Run) -> Stream:
        orders = [[d.get_col_names().index(c) for c in self._columns] for d in self.children]
        streams = [c.open(run) for c in self.children]
        if isinstance(self.sampler, RandomSampler):
            sizes = [c.get_dataset_size() for c in self.children]
            return _AnyNextStream(streams, orders, self.get_col_names(), sizes, run.seed)
        return _ConcatStream(streams, orders, self.get_col_names(), self.is_endless())

    def count(self) -> int | None:
        counts = [c.count() for c in self.children]
        known = [c for c in counts if c is not None]
        return sum(known) if len(known) == len(counts) else None


__all__ = ["ConcatDataset"]
