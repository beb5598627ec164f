"""`zip`: data sets side by side. The name is the public one: Python's own zip is not to be had in this module."""

from __future__ import annotations

from builtins import zip as pairs
from typing import Any

from graphc.dataset.checks import LateError
from graphc.dataset.core.dataset import Dataset, node
from graphc.dataset.core.rows import Rows
from graphc.dataset.core.streams import Run, Stream, filled
from graphc.errors import ArgumentTypeError, DataError, user_loc


class _ZipStream(Stream):
    def __init__(self, children: list[Stream]) -> None:
        self._children = children
        self._failure: DataError | None = None

    def begin(self) -> None:
        self._failure = None
        for child in self._children:
            child.begin()

    def read(self, count: int) -> Rows | None:
        if self._failure is not None:
            raise self._failure
        parts = [filled(child, count) for child in self._children[:1]]
        for child in self._children[1:]:
            parts.append(filled(child, parts[-1].rows.count if parts[-1].rows is not None else 1))
        if any(p.rows is None and p.error is None for p in parts):
            return None
        for part in parts:
            if part.rows is None:
                assert part.error is not None
                raise part.error
        rows = [p.rows for p in parts if p.rows is not None]
        count = min(r.count for r in rows)
        # Rows before one that fails are given; its turn comes after them, unless the pass is over before.
        failures = (d.error for d, r in pairs(parts, rows, strict=True) if r.count == count)
        self._failure = next((f for f in failures if f is not None), None)
        # One that had more rows than a later one has come to its end: the pass is over after these.
        cut = [r.part(0, count) for r in rows]
        return Rows(count, [c for p in cut for c in p.columns], cut[0].ids)

    def skip(self, count: int) -> int:
        return min(child.skip(count) for child in self._children)

    def leave(self) -> None:
        for child in self._children:
            child.leave()


@node("zip")
class ZipDataset(Dataset):
    """Data sets side by side (MindSpore: ZipDataset)."""

    def __init__(self, datasets: Any) -> None:
        if not isinstance(datasets, tuple):
            raise ArgumentTypeError(
                f"zip: datasets must be a tuple of data sets, got {type(datasets).__name__}", loc=user_loc()
            )
        if not datasets:
            raise LateError("zip: datasets is empty", loc=user_loc())
        for dataset in datasets:
            if not isinstance(dataset, Dataset):
                raise ArgumentTypeError(f"zip needs data sets, got {type(dataset).__name__}", loc=user_loc())
        columns = [c for d in datasets for c in d.get_col_names()]
        twice = [c for c in columns if columns.count(c) > 1]
        if twice:
            raise DataError(
                f"zip: two data sets have a column {twice[0]!r}",
                loc=user_loc(),
                help="rename one of them: dataset.rename([old], [new])",
            )
        super().__init__(datasets, columns)

    def open(self, run: Run) -> Stream:
        return _ZipStream([c.open(run) for c in self.children])

    def count(self) -> int | None:
        counts = [c.count() for c in self.children]
        known = [c for c in counts if c is not None]
        return min(known) if len(known) == len(counts) else None

    def get_dataset_size(self) -> int:
        return min(c.get_dataset_size() for c in self.children)


def zip(datasets: tuple[Dataset, ...]) -> ZipDataset:
    """The columns of several data sets side by side, as long as all have rows. No name may occur twice."""
    return ZipDataset(datasets)


__all__ = ["ZipDataset", "zip"]
