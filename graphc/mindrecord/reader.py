"""`mindrecord.FileReader` and `mindrecord.MindPage`: rows of MindRecord files, one after the other or page by page."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator
from typing import Any

import numpy as np

from graphc.dataset.checks import integer, names
from graphc.errors import ArgumentTypeError, ArgumentValueError, DataError, user_loc
from graphc.mindrecord.packing import Row
from graphc.mindrecord.reading import RecordSet
from graphc.validation.checks import string

#: Rows that are read at a time.
_ROWS = 128


def _consumers(owner: str, value: Any) -> None:
    integer(owner, "num_consumer", value, 1, max(os.cpu_count() or 1, 8))


class FileReader:
    """Reads rows of MindRecord files as dicts.

    file_name: a list of files, or one of those that were written together, which are all read. columns: these fields only.
    num_consumer has no effect: one thread reads. operator must be None. DataError for files that are damaged.
    """

    def __init__(
        self,
        file_name: str | list[str],
        num_consumer: int = 4,
        columns: list[str] | None = None,
        operator: None = None,
    ) -> None:
        owner = "FileReader"
        _consumers(owner, num_consumer)
        if operator is not None:
            raise ArgumentTypeError(f"{owner}: operator must be None", loc=user_loc())
        self._set = RecordSet(owner, file_name)
        chosen = names(owner, "columns", columns) if columns else list(self._set.fields)
        self._set.among("columns", chosen)
        # Fields of one value stand before the others, as in MindSpore.
        self._columns = sorted(chosen, key=lambda name: self._set.fields[name].in_blob)
        self._closed = False

    def get_next(self) -> Iterator[Row]:
        """The rows, from the first on."""
        for begin in range(0, len(self._set), _ROWS):
            if self._closed:
                raise DataError("FileReader: it is closed", code="GC206", loc=user_loc())
            yield from self._set.rows(np.arange(begin, min(begin + _ROWS, len(self._set))), self._columns)

    def close(self) -> None:
        """Read no more."""
        self._closed = True

    def schema(self) -> dict[str, dict[str, Any]]:
        """The fields: {name: {"type": kind}}, of arrays with "shape"."""
        return self._set.header.schema()

    def len(self) -> int:
        """How many rows there are."""
        return len(self._set)


class MindPage:
    """Reads rows of MindRecord files by what an index field holds, some at a time.

    file_name and num_consumer: as in FileReader. category_field: the field whose values make the groups; it is set first.
    """

    def __init__(self, file_name: str | list[str], num_consumer: int = 4) -> None:
        _consumers("MindPage", num_consumer)
        self._set = RecordSet("MindPage", file_name)
        self._field: str | None = None

    @property
    def candidate_fields(self) -> list[str]:
        """The index fields."""
        return list(self._set.header.index)

    @property
    def category_field(self) -> str | None:
        """The field whose values make the groups; None until it is set."""
        return self._field

    @category_field.setter
    def category_field(self, category_field: str) -> None:
        string("MindPage", "category_field", category_field)
        if category_field not in self._set.header.index:
            raise ArgumentValueError(
                f"MindPage: {category_field!r} is no index field, there are {', '.join(self._set.header.index)}",
                loc=user_loc(),
            )
        self._field = category_field

    def read_category_info(self) -> str:
        """The groups, as JSON: {"key": field, "categories": [{"count", "id", "name"}, ...]}."""
        groups = [
            {"count": len(rows), "id": number, "name": name}
            for number, (name, rows) in enumerate(self._groups().items())
        ]
        return json.dumps({"categories": groups, "key": f"{self._field}_0"}, separators=(",", ":"), ensure_ascii=False)

    def read_at_page_by_id(self, category_id: int, page: int, num_row: int) -> list[Row]:
        """The rows of a page of a group, by the group's number; num_row to a page, from page 0 on. DataError beyond the
        last."""
        groups = list(self._groups().values())
        number = integer("MindPage", "category_id", category_id, 0)
        if number >= len(groups):
            raise DataError(
                f"MindPage: there is no group {number}, there are {len(groups)}", code="GC204", loc=user_loc()
            )
        return self._page(groups[number], page, num_row)

    def read_at_page_by_name(self, category_name: str, page: int, num_row: int) -> list[Row]:
        """The rows of a page of a group, by what its field holds, as text. DataError where no row holds that."""
        string("MindPage", "category_name", category_name)
        groups = self._groups()
        if category_name not in groups:
            raise DataError(f"MindPage: there is no group {category_name!r}", code="GC204", loc=user_loc())
        return self._page(groups[category_name], page, num_row)

    def _groups(self) -> dict[str, np.ndarray[Any, Any]]:
        """What the field holds, as text -> the rows that hold it."""
        if self._field is None:
            raise DataError("MindPage: category_field is not set", code="GC204", loc=user_loc())
        held = self._set.labels(self._field)
        assert held is not None
        values, of = np.unique(held, return_inverse=True)
        return {_name(value): np.flatnonzero(of == k) for k, value in enumerate(values.tolist())}

    def _page(self, rows: np.ndarray[Any, Any], page: int, num_row: int) -> list[Row]:
        begin = integer("MindPage", "page", page, 0) * integer("MindPage", "num_row", num_row, 1)
        if begin >= len(rows):
            raise DataError(
                f"MindPage: there is no page {page}, the group has {len(rows)} rows", code="GC204", loc=user_loc()
            )
        return self._set.rows(rows[begin : begin + num_row], list(self._set.fields))


def _name(value: Any) -> str:
    """A value as SQLite writes it: floats with 15 digits, and a point."""
    if not isinstance(value, float):
        return str(value)
    digits, sign, exponent = f"{value:.15g}".partition("e")
    return digits + ("" if "." in digits or not math.isfinite(value) else ".0") + sign + exponent
