"""Sets of MindRecord files: their rows by numbers."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import IO, Any

import numpy as np

from graphc.dataset.sources.files import unfit
from graphc.errors import ArgumentTypeError, ArgumentValueError, DataError, user_loc
from graphc.mindrecord.index import Index, Places
from graphc.mindrecord.layout import LENGTH, Field, Header, read_header
from graphc.mindrecord.packing import DamagedRow, Row, split_blobs, unpack_blobs, unpack_raw

Array = np.ndarray[Any, np.dtype[Any]]

_FORBIDDEN = frozenset("\\/:*?\"<>|`&';")


def file_name(owner: str, given: Any) -> Path:
    """The path of a MindRecord file. ArgumentTypeError or ArgumentValueError for what cannot be one."""
    if not isinstance(given, (str, os.PathLike)):
        raise ArgumentTypeError(f"{owner}: a file name must be a str, got {type(given).__name__}", loc=user_loc())
    text = os.fspath(given)
    name = os.path.basename(text)
    if not name or set(name) & _FORBIDDEN or name != name.strip(" "):
        raise ArgumentValueError(
            f"{owner}: {text!r} is no name of a MindRecord file: it ends with '/' or a space, or has one of "
            f"{' '.join(sorted(_FORBIDDEN))}",
            loc=user_loc(),
        )
    return Path(text)


def file_names(owner: str, given: Any) -> list[Path]:
    """The files of a list; of one file all that were written with it, as its head says. DataError for those that are missing."""
    if isinstance(given, list):
        if not given:
            raise ArgumentValueError(f"{owner}: the list of files is empty", loc=user_loc())
        paths = [file_name(owner, name) for name in given]
    else:
        path = file_name(owner, given)
        _there(owner, path)
        header = read_header(owner, path)
        # A file that stands alone may have been renamed.
        paths = [path] if len(header.files) == 1 else [path.with_name(Path(f).name) for f in header.files]
        if path not in paths:
            raise unfit(owner, path, f"says in its head that it is one of {', '.join(header.files)}: it was renamed")
    for path in paths:
        _there(owner, path)
    return paths


def _there(owner: str, path: Path) -> None:
    if not path.is_file():
        raise ArgumentValueError(f"{owner}: there is no file {str(path)!r}", code="GC205", loc=user_loc())


class RecordSet:
    """The rows of files one after the other.

    given: a list of files, or one of those that were written together. DataError for files that are missing, damaged, or have
    other fields than the first.
    """

    def __init__(self, owner: str, given: Any) -> None:
        self.owner, self.paths = owner, file_names(owner, given)
        self._headers = [read_header(owner, path) for path in self.paths]
        self.header: Header = self._headers[0]
        for path, header in zip(self.paths, self._headers, strict=True):
            if (header.fields, header.index) != (self.header.fields, self.header.index):
                raise unfit(owner, path, f"has other fields than {self.paths[0].name}")
        self.fields = self.header.fields
        self._raw = [f for f in self.fields.values() if not f.in_blob]
        self._blobs = [f for f in self.fields.values() if f.in_blob]
        self._indexed = [self.fields[name] for name in self.header.index]
        self._indexes = [Index(owner, p, h) for p, h in zip(self.paths, self._headers, strict=True)]
        self._places: list[Places] = [index.places() for index in self._indexes]
        #: Of each file the rows whose fields have been compared with its index.
        self._known = [np.zeros(h.rows, bool) for h in self._headers]
        #: After each file, how many rows there are up to there.
        self.ends: list[int] = np.cumsum([h.rows for h in self._headers]).tolist()

    def __len__(self) -> int:
        return self.ends[-1]

    def among(self, name: str, columns: Sequence[str]) -> None:
        """DataError for columns that are no fields."""
        for column in columns:
            if column not in self.fields:
                raise DataError(
                    f"{self.owner}: {name} has {column!r}, the fields are {', '.join(self.fields)}",
                    code="GC204",
                    loc=user_loc(),
                )

    def rows(self, numbers: Array, columns: Sequence[str]) -> list[Row]:
        """These fields of rows; errors as `read`."""
        made = self.read(numbers, columns)
        return [dict(zip(columns, values, strict=True)) for values in zip(*(made[c] for c in columns), strict=True)]

    def read(self, numbers: Array, columns: Sequence[str]) -> dict[str, list[Any]]:
        """Of each of these fields the values in rows. DataError for data that are not what the index says, or cut off."""
        wanted = set(columns)
        raw = any(f.name in wanted for f in self._raw)
        blobs = [k for k, f in enumerate(self._blobs) if f.name in wanted]
        made: dict[str, list[Any]] = {name: [None] * len(numbers) for name in columns}
        files = np.searchsorted(self.ends, numbers, side="right")
        for k in np.unique(files).tolist():
            places = np.flatnonzero(files == k)
            rows = (numbers[places] - (self.ends[k - 1] if k else 0)).tolist()
            found: dict[str, list[Any]] = {}
            with self._open(k) as file:
                if raw:
                    held = self._raw_of(file, k, rows)
                    found = {f.name: [row[f.name] for row in held] for f in self._raw if f.name in wanted}
                if blobs:
                    found |= self._blobs_of(file, k, rows, blobs)
            for name, values in found.items():
                for place, value in zip(places.tolist(), values, strict=True):
                    made[name][place] = value
        return made

    def labels(self, name: str) -> Array | None:
        """[n]: what an index field holds in each row; None for other fields."""
        if name not in self.header.index:
            return None
        return self._columns_of_index[name]

    @cached_property
    def _columns_of_index(self) -> dict[str, Array]:
        return {
            f.name: np.array([value for index in self._indexes for value in index.column(f.name)])
            for f in self._indexed
        }

    def _raw_of(self, file: IO[bytes], k: int, rows: list[int]) -> list[Row]:
        """The fields of one value of rows of a file, which are those of its index: that is looked at once."""
        places, known = self._places[k], self._known[k]
        held = self._indexes[k].values([row for row in sorted(set(rows)) if not known[row]])
        made = []
        for row in rows:
            try:
                made.append(unpack_raw(_piece(file, int(places.raw[row]), int(places.raw_size[row])), self._raw))
                for field, value in zip(self._indexed, held.get(row, ()), strict=False):
                    if not _same(made[-1][field.name], value, field):
                        raise DamagedRow(f"field {field.name!r} is {made[-1][field.name]!r}, the index says {value!r}")
            except DamagedRow as error:
                raise self._damaged(k, row, error) from None
        known[list(held)] = True
        return made

    def _blobs_of(self, file: IO[bytes], k: int, rows: list[int], blobs: list[int]) -> dict[str, list[Any]]:
        """Some of the blobs of rows of a file."""
        places, packed = self._places[k], self._headers[k].packed
        parts: list[list[bytes]] = []
        for row in rows:
            try:
                data = _piece(file, int(places.blob[row]), int(places.blob_size[row]))
                parts.append(split_blobs(data, self._blobs))
            except DamagedRow as error:
                raise self._damaged(k, row, error) from None
        made = {}
        for place in blobs:
            field = self._blobs[place]
            try:
                made[field.name] = unpack_blobs([p[place] for p in parts], field, packed)
            except DamagedRow as error:
                if len(rows) == 1:
                    raise self._damaged(k, rows[0], error) from None
                # One of the rows is to blame: it is found by itself.
                return self._merged([self._blobs_of(file, k, [row], blobs) for row in rows])
        return made

    @staticmethod
    def _merged(parts: list[dict[str, list[Any]]]) -> dict[str, list[Any]]:
        return {name: [value for part in parts for value in part[name]] for name in parts[0]}

    def _damaged(self, k: int, row: int, error: DamagedRow) -> DataError:
        return unfit(self.owner, self.paths[k], f"has a damaged row {row}: {error}")

    def _open(self, k: int) -> IO[bytes]:
        try:
            return open(self.paths[k], "rb")
        except OSError as error:
            raise unfit(self.owner, self.paths[k], f"cannot be read: {error.strerror}") from error


def _piece(file: IO[bytes], at: int, size: int) -> bytes:
    """What stands behind its length. DamagedRow where the length is another one."""
    data = os.pread(file.fileno(), size + LENGTH, at)
    if len(data) != size + LENGTH:
        raise DamagedRow("the file has become shorter")
    if int.from_bytes(data[:LENGTH], "little") != size:
        raise DamagedRow("it has another length than the index says")
    return data[LENGTH:]


def _same(value: Any, held: Any, field: Field) -> bool:
    """Whether a value is the one of the index, which has no NaN, and of a text what stands before a NUL."""
    if field.kind == "string":
        return held in (value, value.partition("\0")[0])
    if held is None:
        return bool(value != value)
    return isinstance(held, (int, float)) and bool(value == held)
