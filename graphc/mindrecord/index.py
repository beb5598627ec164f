"""The index of a MindRecord file, an SQLite file beside it: where each row is, and what its index fields hold.

INDEXES(ROW_ID, PAGE_ID_RAW, PAGE_OFFSET_RAW, PAGE_OFFSET_RAW_END, ROW_GROUP_ID, PAGE_ID_BLOB, PAGE_OFFSET_BLOB,
        PAGE_OFFSET_BLOB_END, INC_0, <field>_0, INC_1, ...)        SHARD_NAME(NAME)
"""

from __future__ import annotations

import contextlib
import math
import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np

from graphc.dataset.sources.files import unfit
from graphc.mindrecord.layout import BLOB, LENGTH, RAW, Field, Header

Array = np.ndarray[Any, np.dtype[Any]]

_PLACES = (
    "ROW_ID", "PAGE_ID_RAW", "PAGE_OFFSET_RAW", "PAGE_OFFSET_RAW_END", "ROW_GROUP_ID", "PAGE_ID_BLOB", "PAGE_OFFSET_BLOB",
    "PAGE_OFFSET_BLOB_END",
)  # fmt: skip
_TYPES = {"int32": "INTEGER", "int64": "INTEGER", "float32": "REAL", "float64": "REAL", "string": "TEXT"}
#: What their values are. MindSpore's columns of floats are NUMERIC: whole numbers are ints.
_HELD: dict[str, tuple[type, ...]] = {"INTEGER": (int,), "REAL": (int, float), "TEXT": (str,)}
#: Rows that are asked for at a time.
_ROWS = 10000


@dataclass(frozen=True)
class Places:
    """int64 [n] each: where the raw data and the blobs of rows begin in the file, their lengths before them, and how long
    they are."""

    raw: Array
    raw_size: Array
    blob: Array
    blob_size: Array


def index_path(path: Path) -> Path:
    """The index of a file."""
    return path.with_name(f"{path.name}.db")


def _columns(fields: Sequence[Field]) -> list[str]:
    return [name for k, f in enumerate(fields) for name in (f"INC_{k}", f"{f.name}_0")]


# ---- writing


def write_index(path: Path, name: str, fields: Sequence[Field], places: Sequence[tuple[int, ...]], values: Any) -> None:
    """Write an index of rows, each of which has its places and a value for each field, in place of one that is there."""
    path.unlink(missing_ok=True)
    with contextlib.closing(sqlite3.connect(path)) as base, base:
        keys = ["ROW_ID", *(f"INC_{k}" for k in range(len(fields)))]
        declared = [f"{p} INT NOT NULL" for p in _PLACES]
        declared += [f'INC_{k} INT, "{f.name}_0" {_TYPES[f.kind]}' for k, f in enumerate(fields)]
        base.execute(f"CREATE TABLE INDEXES({', '.join(declared)}, PRIMARY KEY({', '.join(keys)}))")
        base.execute("CREATE TABLE SHARD_NAME(NAME TEXT NOT NULL)")
        base.execute("INSERT INTO SHARD_NAME VALUES(?)", (name,))
        _insert(base, fields, places, values)


def extend_index(
    path: Path, fields: Sequence[Field], places: Sequence[tuple[int, ...]], values: Any
) -> sqlite3.Connection:
    """Add rows to an index: they are there with `commit` of what this returns. Nobody else reads or writes it until then."""
    base = sqlite3.connect(path)
    try:
        # A lock that others hold is met here, not by `commit`.
        base.execute("BEGIN EXCLUSIVE")
        _insert(base, fields, places, values)
    except BaseException:
        base.close()
        raise
    return base


def shorten_index(base: sqlite3.Connection, rows: int) -> None:
    """Leave the first rows only."""
    with base:
        base.execute("DELETE FROM INDEXES WHERE ROW_ID >= ?", (rows,))


def _insert(base: sqlite3.Connection, fields: Sequence[Field], places: Sequence[tuple[int, ...]], values: Any) -> None:
    names = [*_PLACES, *(f'"{c}"' for c in _columns(fields))]
    marks = ", ".join("?" * len(names))
    rows = (
        (*place, *(x for value in of_row for x in (0, value))) for place, of_row in zip(places, values, strict=True)
    )
    base.executemany(f"INSERT INTO INDEXES({', '.join(names)}) VALUES({marks})", rows)


# ---- reading


class Index:
    """The index of a file. DataError for one that is missing, damaged, or of another file."""

    def __init__(self, owner: str, path: Path, header: Header) -> None:
        self._owner, self.path, self._header = owner, index_path(path), header
        self._fields = [header.fields[name] for name in header.index]
        if not self.path.is_file():
            raise unfit(owner, self.path, f"is not there, the index of {path.name}")

    def places(self) -> Places:
        """Where the rows are: checked, so that each is in a page of its kind, behind the one before."""
        parts: list[Array] = []
        with self._open() as base:
            cursor = base.execute(f"SELECT {', '.join(_PLACES)} FROM INDEXES ORDER BY ROW_ID")
            while rows := cursor.fetchmany(_ROWS):
                try:
                    parts.append(np.array(rows, np.int64))
                except (ValueError, TypeError, OverflowError):
                    raise self._wrong("has a row with places that are no numbers") from None
        held = np.concatenate(parts) if parts else np.empty((0, len(_PLACES)), np.int64)
        if len(held) != self._header.rows or not np.array_equal(held[:, 0], np.arange(len(held))):
            raise self._wrong(f"has {len(held)} rows, the file has {self._header.rows}")
        self._check_groups(held)
        raw, raw_size = self._checked(held[:, 1:4], RAW)
        blob, blob_size = self._checked(held[:, 5:8], BLOB)
        return Places(raw, raw_size, blob, blob_size)

    def values(self, rows: list[int]) -> dict[int, tuple[Any, ...]]:
        """Row -> what its index fields hold."""
        if not self._fields or not rows:
            return {}
        names = ", ".join(f'"{f.name}_0"' for f in self._fields)
        found: dict[int, tuple[Any, ...]] = {}
        with self._open() as base:
            for begin in range(0, len(rows), 500):
                some = rows[begin : begin + 500]
                marks = ", ".join("?" * len(some))
                for row, *held in base.execute(f"SELECT ROW_ID, {names} FROM INDEXES WHERE ROW_ID IN ({marks})", some):
                    found[row] = tuple(held)
        return found

    def column(self, name: str) -> list[Any]:
        """What an index field holds in each row; NaN is NULL in SQLite. DataError for values of another type."""
        field = self._header.fields[name]
        with self._open() as base:
            held = [value for (value,) in base.execute(f'SELECT "{name}_0" FROM INDEXES ORDER BY ROW_ID')]
        if _TYPES[field.kind] == "REAL":
            held = [math.nan if value is None else value for value in held]
        if not all(isinstance(value, _HELD[_TYPES[field.kind]]) for value in held):
            raise self._wrong(f"has a value of the field {name!r} that is no {field.kind}")
        return held

    @contextlib.contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        """The index, to be read only. Tables only are asked: a view might never come to an end."""
        try:
            where = f"file:{quote(str(self.path.absolute()))}?mode=ro"
            with contextlib.closing(sqlite3.connect(where, uri=True)) as base:
                base.execute("PRAGMA trusted_schema=OFF")
                kinds = base.execute("SELECT type, sql FROM sqlite_master WHERE name='INDEXES'").fetchall()
                if len(kinds) != 1 or kinds[0][0] != "table" or "VIRTUAL" in str(kinds[0][1]).upper()[:20]:
                    raise self._wrong("has no table INDEXES")
                yield base
        except (sqlite3.Error, UnicodeDecodeError, OverflowError) as error:
            raise self._wrong(f"is no index, or damaged: {error}") from None

    def _check_groups(self, held: Array) -> None:
        """A row's group is that of its page of blobs, and its raw data stand where its page says that the group does."""
        blob_types = {p.number: p.type_id for p in self._header.pages if p.kind == BLOB}
        starts = {(p.number, group): at for p in self._header.pages if p.kind == RAW for group, at in p.groups}
        groups, first = np.unique(held[:, 4:6], axis=0, return_index=True)
        for (group, page), row in zip(groups.tolist(), first.tolist(), strict=True):
            if blob_types.get(page) != group or starts.get((int(held[row, 1]), group)) != int(held[row, 2]):
                raise self._wrong(f"has row {row} in another group than the file says")

    def _checked(self, held: Array, kind: str) -> tuple[Array, Array]:
        """int64 [n] each: where rows begin in the file, and how long they are, of [n, 3] pages, begins and ends."""
        numbers, begins, ends = held.T
        pages = self._header.pages
        ours = np.array([p.kind == kind for p in pages], bool)
        if len(numbers) and not (numbers.min() >= 0 and numbers.max() < len(pages) and ours[numbers].all()):
            raise self._wrong("has a row in no page")
        sizes = np.array([p.size for p in pages], np.int64)
        new = np.ones(len(numbers), bool)
        new[1:] = numbers[1:] != numbers[:-1]
        last = np.ones(len(numbers), bool)
        last[:-1] = new[1:]
        before = np.where(new, 0, np.concatenate([[0], ends[:-1]]))
        wrong = (begins != before) | (ends - begins < LENGTH) | (last & (ends != sizes[numbers]))
        if kind == BLOB and len(numbers):
            rows = np.arange(len(numbers))
            low, high = (np.array([getattr(p, k) for p in pages], np.int64) for k in ("first", "end"))
            wrong |= (rows < low[numbers]) | (rows >= high[numbers])
        if wrong.any():
            raise self._wrong(f"has row {int(np.flatnonzero(wrong)[0])} elsewhere than where the one before it ends")
        starts = self._header.header_size + numbers * self._header.page_size + begins
        return starts, ends - begins - LENGTH

    def _wrong(self, what: str) -> Exception:
        return unfit(self._owner, self.path, what)
