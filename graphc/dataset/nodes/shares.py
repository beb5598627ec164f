"""The share of one of several processes, of data sets whose sources have no sampler of their own to ask."""

from __future__ import annotations

import numpy as np

from graphc.dataset.core.dataset import Dataset, node
from graphc.dataset.core.rows import Rows
from graphc.dataset.core.streams import OfOne, Run, Stream


class _EveryStream(OfOne):
    def __init__(self, child: Stream, step: int, first: int) -> None:
        super().__init__(child)
        self._step, self._first = step, first
        #: How many rows of the child's have been read in this pass.
        self._place = 0

    def begin(self) -> None:
        super().begin()
        self._place = 0

    def read(self, count: int) -> Rows | None:
        while (rows := self._child.read(count)) is not None:
            ours = np.flatnonzero((self._place + np.arange(rows.count) - self._first) % self._step == 0)
            self._place += rows.count
            if len(ours):
                columns = [c[ours] if isinstance(c, np.ndarray) else [c[i] for i in ours] for c in rows.columns]
                return Rows(len(ours), columns, rows.ids[ours])
        return None


@node("every")
class EveryDataset(Dataset):
    """Every step-th row of a data set, from the row `first` on."""

    def __init__(self, child: Dataset, step: int, first: int) -> None:
        self.step, self.first = step, first
        super().__init__((child,), child.get_col_names())

    def open(self, run: Run) -> Stream:
        return _EveryStream(self.children[0].open(run), self.step, self.first)

    def count(self) -> int | None:
        rows = self.children[0].count()
        return None if rows is None else len(range(self.first, rows, self.step))

    def title(self) -> str:
        return f"EveryDataset[{self.step}, {self.first}]({self.children[0].title()})"
