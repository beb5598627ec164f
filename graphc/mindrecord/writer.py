"""`mindrecord.FileWriter`: writes sets of MindRecord files."""

from __future__ import annotations

import contextlib
import copy
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from graphc.dataset.checks import integer, truth
from graphc.dataset.sources.files import unfit
from graphc.errors import ArgumentTypeError, ArgumentValueError, DataError, user_loc
from graphc.mindrecord.index import index_path
from graphc.mindrecord.layout import (
    HEADER_SIZE,
    MAX_HEADER,
    MAX_PAGE,
    MAX_SHARDS,
    MIN_HEADER,
    MIN_PAGE,
    PAGE_SIZE,
    Field,
    Header,
    read_header,
)
from graphc.mindrecord.packing import Row
from graphc.mindrecord.reading import RecordSet, file_name
from graphc.mindrecord.rows import checked, fields_of
from graphc.mindrecord.writing import ShardWriter, packed

_OWNER = "FileWriter"


class FileWriter:
    """Writes rows into MindRecord files, which appear when they are complete, with `commit`.

    file_name: the file, or with shard_num > 1 what the names of the files begin with: a number follows. overwrite: files that
    are there give way. A row is a dict of ints, floats, texts, bytes and arrays; `add_schema` says which. Rows are dealt out so
    that all files have about as many.
    """

    def __init__(self, file_name: str, shard_num: int = 1, overwrite: bool = False) -> None:
        path = _path(file_name)
        number = integer(_OWNER, "shard_num", shard_num, 1, MAX_SHARDS)
        width = len(str(number - 1))
        self._paths = [path] if number == 1 else [path.with_name(f"{path.name}{k:0{width}}") for k in range(number)]
        self._overwrite = truth(_OWNER, "overwrite", overwrite)
        self._fields: dict[str, Field] = {}
        self._description = ""
        self._index: list[str] | None = None
        self._header_size, self._page_size = HEADER_SIZE, PAGE_SIZE
        self._writers: list[ShardWriter] | None = None
        self._counts = [0] * number
        self._parallel: bool | None = None
        #: The file that the next rows go into where files are filled in turn.
        self._turn = 0
        self._rows, self._append = 0, False
        self._committed, self._discarded = False, False

    @classmethod
    def open_for_append(cls, file_name: str) -> FileWriter:
        """A writer that adds rows to the files that were written together with this one. ArgumentValueError where it is
        missing, DataError where one is damaged."""
        RecordSet(_OWNER, str(_path(file_name)))
        path = _path(file_name)
        first = read_header(_OWNER, path)
        made = cls(str(path))
        made._append = True
        made._paths = [path] if len(first.files) == 1 else [path.with_name(Path(f).name) for f in first.files]
        made._fields, made._index, made._description = first.fields, first.index, first.description
        headers = [read_header(_OWNER, p) for p in made._paths]
        if not all(h.packed for h in headers):
            raise unfit(_OWNER, path, "is of version 2.0, rows are added to files of version 3.0 only")
        made._counts = [h.rows for h in headers]
        made._rows = sum(made._counts)
        return made

    def add_schema(self, content: dict[str, dict[str, Any]], desc: str | None = None) -> None:
        """The fields of the rows: {name: {"type": kind}}, of arrays with "shape", a list of sizes; one may be -1, for any.
        Kinds are "int32", "int64", "float32", "float64", "string" and "bytes", of arrays the first four."""
        self._not_begun("add_schema")
        if self._fields:
            raise ArgumentValueError(f"{_OWNER}: there is a schema already", loc=user_loc())
        if desc is not None and not isinstance(desc, str):
            raise ArgumentTypeError(f"{_OWNER}: desc must be a str, got {type(desc).__name__}", loc=user_loc())
        self._fields, self._description = fields_of(content), desc or ""

    def add_index(self, index_fields: list[str]) -> None:
        """The fields of one value by which rows can be found; all of them by default."""
        self._not_begun("add_index")
        if not self._fields:
            raise DataError(f"{_OWNER}: add_schema comes before add_index", loc=user_loc())
        if not isinstance(index_fields, list) or not index_fields:
            raise ArgumentTypeError(f"{_OWNER}: index_fields must be a list of names", loc=user_loc())
        for name in index_fields:
            if not isinstance(name, str):
                raise ArgumentTypeError(f"{_OWNER}: index_fields holds {type(name).__name__}", loc=user_loc())
            if name not in self._fields or self._fields[name].in_blob:
                raise ArgumentValueError(f"{_OWNER}: {name!r} is no field of one number or text", loc=user_loc())
        self._index = sorted({*(self._index or ()), *index_fields})

    def set_header_size(self, header_size: int) -> None:
        """How many bytes the head of a file may have, from 16 KiB to 128 MiB: 16 MiB by default."""
        self._not_begun("set_header_size")
        self._header_size = _size("header_size", header_size, MIN_HEADER, MAX_HEADER)

    def set_page_size(self, page_size: int) -> None:
        """How many bytes a page has, from 32 KiB to 256 MiB, and a row at most: 32 MiB by default."""
        self._not_begun("set_page_size")
        self._page_size = _size("page_size", page_size, MIN_PAGE, MAX_PAGE)

    def write_raw_data(self, raw_data: list[Row], parallel_writer: bool = False) -> None:
        """Write rows. parallel_writer: each call fills one file, the next call the next one; there are no processes.
        DataError for a row that does not fit the schema: nothing of the call is written."""
        parallel = truth(_OWNER, "parallel_writer", parallel_writer)
        if self._parallel not in (None, parallel):
            raise DataError(f"{_OWNER}: parallel_writer must be the same in all calls", loc=user_loc())
        self._not_discarded()
        if self._committed:
            raise DataError(
                f"{_OWNER}: rows cannot be written after commit",
                loc=user_loc(),
                help="open_for_append adds rows to files",
            )
        rows = checked(raw_data, self._fields, self._rows)
        if not rows:
            raise DataError(f"{_OWNER}: there is no row in raw_data", loc=user_loc())
        self._parallel = parallel
        writers = self._opened()
        made = [packed(row, writers[0].header) for row in rows]
        begin = 0
        with self._or_nothing():
            for writer, count in zip(writers, self._dealt(len(made)), strict=True):
                writer.write(made[begin : begin + count])
                begin += count
        self._rows += len(rows)

    def commit(self) -> None:
        """Write heads and indexes, and let the files appear: all of them, or none where this fails. Without rows they are
        empty. DataError where they cannot be written, or were discarded."""
        self._not_discarded()
        if self._committed:
            return
        writers = self._opened()
        with self._or_nothing():
            for writer in writers:
                writer.prepare()
            for writer in writers:
                writer.publish()
            self._committed = True
        for writer in writers:
            writer.finish()

    @contextlib.contextmanager
    def _or_nothing(self) -> Iterator[None]:
        """What fails leaves nothing behind. DataError where files cannot be written."""
        try:
            yield
        except BaseException as error:
            self.discard()
            if isinstance(error, (OSError, sqlite3.Error)):
                said = getattr(error, "strerror", None) or error
                raise unfit(_OWNER, self._paths[0], f"cannot be written: {said}") from error
            raise

    def __del__(self) -> None:
        with contextlib.suppress(Exception):
            if self._writers is not None:
                self.discard()

    def discard(self) -> None:
        """Leave nothing of new files, and files that rows were to be added to with the rows that they had. Without effect
        after commit."""
        if self._committed or self._discarded:
            return
        self._discarded = True
        for writer in self._writers or ():
            writer.discard()

    def _dealt(self, count: int) -> list[int]:
        """How many of so many rows go into each file."""
        shares = [0] * len(self._paths)
        if self._parallel:
            shares[self._turn] = count
            self._turn = (self._turn + 1) % len(shares)
        else:
            each, rest = divmod(count, len(shares))
            fewest = sorted(range(len(shares)), key=lambda k: (self._counts[k], k))[:rest]
            shares = [each + (k in fewest) for k in range(len(shares))]
        self._counts = [a + b for a, b in zip(self._counts, shares, strict=True)]
        return shares

    def _opened(self) -> list[ShardWriter]:
        if self._writers is None:
            if not self._fields:
                raise DataError(f"{_OWNER}: add_schema comes before rows are written", loc=user_loc())
            headers = self._headers()
            self._writers = []
            try:
                for path, header in zip(self._paths, headers, strict=True):
                    self._writers.append(ShardWriter(path, header, self._append))
            except OSError as error:
                self.discard()
                raise unfit(_OWNER, path, f"cannot be written: {error.strerror}") from error
        return self._writers

    def _headers(self) -> list[Header]:
        if self._append:
            return [read_header(_OWNER, path) for path in self._paths]
        for path in self._paths:
            if not path.parent.is_dir():
                raise ArgumentValueError(
                    f"{_OWNER}: there is no directory {str(path.parent)!r}", code="GC205", loc=user_loc()
                )
            if path.is_dir():
                raise ArgumentValueError(f"{_OWNER}: {str(path)!r} is a directory", code="GC205", loc=user_loc())
            if not self._overwrite and (path.exists() or index_path(path).exists()):
                raise DataError(
                    f"{_OWNER}: {str(path)!r} is there already", loc=user_loc(), help="overwrite=True lets it give way"
                )
        index = self._index if self._index is not None else [f.name for f in self._fields.values() if not f.in_blob]
        _check_index(index)
        files = [path.name for path in self._paths]
        header = Header(self._fields, index, files, 0, self._description, self._header_size, self._page_size)
        headers = [copy.copy(header) for _ in files]
        for shard, made in enumerate(headers):
            made.shard, made.pages = shard, []
        return headers

    def _not_discarded(self) -> None:
        if self._discarded:
            raise DataError(
                f"{_OWNER}: the files were discarded, as after each error while files are written",
                loc=user_loc(),
                help="write them with another FileWriter",
            )

    def _not_begun(self, asked: str) -> None:
        if self._writers is not None or self._append:
            raise DataError(f"{_OWNER}: {asked} comes before the first row is written", loc=user_loc())


def _check_index(index: list[str]) -> None:
    """The columns of an SQLite table do not tell capitals from small letters, and do not begin with digits."""
    for name in index:
        alike = [other for other in index if other.lower() == name.lower()]
        if name[0].isdigit() or len(alike) > 1:
            what = "begins with a digit" if name[0].isdigit() else f"differs from {alike[1]!r} in capitals only"
            raise ArgumentValueError(
                f"{_OWNER}: the field {name!r} cannot be in an index: its name {what}",
                loc=user_loc(),
                help="rename it, or name other fields in add_index",
            )


def _path(given: Any) -> Path:
    return file_name(_OWNER, given)


def _size(name: str, value: Any, low: int, high: int) -> int:
    size = integer(_OWNER, name, value, low, high)
    if size % 4:
        raise ArgumentValueError(f"{_OWNER}: {name} must be a multiple of 4, got {value}", loc=user_loc())
    return size
