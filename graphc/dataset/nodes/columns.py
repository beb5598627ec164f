"""`project` and `rename`: which columns there are, and their names."""

from __future__ import annotations

from typing import Any

from graphc.dataset.checks import names
from graphc.dataset.core.dataset import Dataset, node
from graphc.dataset.core.rows import Rows
from graphc.dataset.core.streams import OfOne, Run, Stream
from graphc.errors import ArgumentValueError, DataError, user_loc


class _ProjectStream(OfOne):
    def __init__(self, child: Stream, places: list[int]) -> None:
        super().__init__(child)
        self._places = places

    def read(self, count: int) -> Rows | None:
        rows = self._child.read(count)
        return None if rows is None else Rows(rows.count, [rows.columns[p] for p in self._places], rows.ids)

    def skip(self, count: int) -> int:
        return self._child.skip(count)


@node("project")
class ProjectDataset(Dataset):
    """Some columns of a data set (MindSpore: ProjectDataset)."""

    def __init__(self, child: Dataset, columns: Any) -> None:
        chosen = child.among("project", "columns", columns)
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
            raise ArgumentValueError(f"rename: {len(old)} input_columns, but {len(new)} output_columns", loc=user_loc())
        changed = self.changed = dict(zip(old, new, strict=True))
        columns = [changed.get(c, c) for c in child.get_col_names()]
        twice = [c for c in columns if columns.count(c) > 1]
        if twice:
            raise DataError(f"rename: there would be two columns {twice[0]!r}", loc=user_loc())
        super().__init__((child,), columns)

    def open(self, run: Run) -> Stream:
        return self.children[0].open(run)

    def count(self) -> int | None:
        return self.children[0].count()
