"""`project`, `rename` and `zip`: which columns there are, and their names."""

from __future__ import annotations

from typing import Any

from graphc.dataset.checks import names
from graphc.dataset.core.dataset import Dataset, node
from graphc.dataset.core.rows import Rows
from graphc.dataset.core.streams import Run, Stream, fill
from graphc.errors import ArgumentTypeError, ArgumentValueError, DataError, user_loc


class _ProjectStream(Stream):
    def __init__(self, child: Stream, places: list[int]) -> None:
        self._child, self._places = child, places

    def begin(self) -> None:
        self._child.begin()

    def read(self, count: int) -> Rows | None:
        rows = self._child.read(count)
        return None if rows is None else Rows(rows.count, [rows.columns[p] for p in self._places], rows.ids)

    def skip(self, count: int) -> int:
        return self._child.skip(count)

    def pass_over(self) -> None:
        self._child.pass_over()


@node("project")
class ProjectDataset(Dataset):
    """Some columns of a data set (MindSpore: ProjectDataset)."""

    def __init__(self, child: Dataset, columns: Any) -> None:
        chosen = child.among("project", "columns", columns)
        if not chosen:
            raise ArgumentValueError("project: columns is empty", loc=user_loc())
        known = child.get_col_names()
        self._places = [known.index(c) for c in chosen]
        super().__init__((child,), chosen)

    def open(self, run: Run) -> Stream:
        return _ProjectStream(self.children[0].open(run), self._places)

    def count(self) -> int | None:
        return self.children[0].count()


@node("rename")
class RenameDataset(Dataset):
    """A data set with other names of columns (MindSpore: RenameDataset)."""

    def __init__(self, child: Dataset, input_columns: Any, output_columns: Any) -> None:
        old = child.among("rename", "input_columns", input_columns)
        new = names("rename", "output_columns", output_columns)
        if len(old) != len(new):
            raise ArgumentValueError(
                f"rename: {len(old)} input_columns, but {len(new)} output_columns", loc=user_loc()
            )
        changed = dict(zip(old, new, strict=True))
        columns = [changed.get(c, c) for c in child.get_col_names()]
        twice = [c for c in columns if columns.count(c) > 1]
        if twice:
            raise DataError(f"rename: there would be two columns {twice[0]!r}", loc=user_loc())
        super().__init__((child,), columns)

    def open(self, run: Run) -> Stream:
        return self.children[0].open(run)

    def count(self) -> int | None:
        return self.children[0].count()


class _ZipStream(Stream):
    def __init__(self, children: list[Stream]) -> None:
        self._children = children

    def begin(self) -> None:
        for child in self._children:
            child.begin()

    def read(self, count: int) -> Rows | None:
        parts = []
        for child in self._children:
            rows = fill(child, count)
            if rows is None:
                return None
            count = rows.count
            parts.append(rows)
        # One that had more rows than a later one has come to its end: the pass is over after these.
        cut = [p.part(0, count) for p in parts]
        return Rows(count, [c for p in cut for c in p.columns], cut[0].ids)

    def skip(self, count: int) -> int:
        return min(child.skip(count) for child in self._children)

    def pass_over(self) -> None:
        for child in self._children:
            child.pass_over()


@node("zip")
class ZipDataset(Dataset):
    """Data sets side by side (MindSpore: ZipDataset)."""

    def __init__(self, datasets: Any) -> None:
        if not isinstance(datasets, tuple):
            raise ArgumentTypeError(
                f"zip: datasets must be a tuple of data sets, got {type(datasets).__name__}", loc=user_loc()
            )
        if not datasets:
            raise ArgumentValueError("zip: datasets is empty", loc=user_loc())
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
