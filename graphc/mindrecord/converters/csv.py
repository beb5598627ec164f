"""`mindrecord.CsvToMR`: a MindRecord file of a CSV file."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from graphc.dataset.checks import names
from graphc.dataset.sources.files import check_width, csv_rows, unfit
from graphc.errors import DataError, user_loc
from graphc.mindrecord import MSRStatus
from graphc.mindrecord.converters.base import Converter, source_file, write
from graphc.mindrecord.writer import FileWriter

_OWNER = "CsvToMR"
_BOOLS = {"true": 1, "True": 1, "TRUE": 1, "false": 0, "False": 0, "FALSE": 0}
#: What stands for no value, as pandas has it.
_MISSING = frozenset((
    "", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN", "<NA>", "N/A", "NA", "NULL",
    "NaN", "None", "n/a", "nan", "null",
))  # fmt: skip


class CsvToMR(Converter):
    """A MindRecord file of the rows of a CSV file, whose first line names the columns.

    Columns of whole numbers are int64, of other numbers, or where one is missing, float64, of true and false int32, all others
    texts. columns_list: these columns only. destination: the file, or with partition_number > 1 what the names of the files
    begin with.
    """

    def __init__(
        self, source: str, destination: str, columns_list: list[str] | None = None, partition_number: int = 1
    ) -> None:
        self._source = source_file(_OWNER, "source", source)
        self._chosen = names(_OWNER, "columns_list", columns_list) if columns_list else None
        self._writer = FileWriter(destination, partition_number)

    def run(self) -> MSRStatus:
        head, lines = self._lines()
        chosen = self._chosen or head
        for name in chosen:
            if name not in head:
                raise DataError(
                    f"{_OWNER}: columns_list has {name!r}, the columns are {', '.join(head)}",
                    code="GC204",
                    loc=user_loc(),
                )
        texts = dict(zip(head, zip(*lines, strict=True), strict=True))
        columns = {name: _typed(list(texts[name])) for name in chosen}
        schema = {name: {"type": kind} for name, (kind, _) in columns.items()}
        rows = (
            dict(zip(chosen, values, strict=True)) for values in zip(*(c for _, c in columns.values()), strict=True)
        )
        return write(self._writer, schema, "csv_schema", rows, chosen)

    def _lines(self) -> tuple[list[str], list[list[str]]]:
        """The names of the columns, and the other lines."""
        rows = csv_rows(_OWNER, self._source, encoding="utf-8-sig")
        if len(rows) < 2:
            raise unfit(_OWNER, self._source, "has no rows")
        head = rows[0][1]
        check_width(_OWNER, self._source, rows, len(head))
        return names(_OWNER, f"the first line of {self._source.name}", head), [row for _, row in rows[1:]]


def _typed(texts: list[str]) -> tuple[str, list[Any]]:
    """The kind of a column, and its values."""
    readers: tuple[tuple[str, Callable[[str], Any]], ...] = (
        ("int64", _int64), ("float64", lambda t: float("nan") if t in _MISSING else _float(t)), ("int32", _BOOLS.__getitem__),
    )  # fmt: skip
    if all(t in _MISSING for t in texts):
        return "string", texts
    for kind, read in readers:
        try:
            return kind, [read(t) for t in texts]
        except (ValueError, KeyError):
            continue
    return "string", texts


def _int64(text: str) -> int:
    value = int(text)
    if "_" in text or not -(1 << 63) <= value < 1 << 63:
        raise ValueError(text)
    return value


def _float(text: str) -> float:
    if "_" in text:
        raise ValueError(text)
    return float(text)
