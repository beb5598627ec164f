"""One MindRecord file while it is written: rows go into pages, full pages into the file, head and index come last."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from graphc.dataset.sources.files import unfit
from graphc.errors import DataError, user_loc
from graphc.mindrecord.index import extend_index, index_path, shorten_index, write_index
from graphc.mindrecord.layout import BLOB, LENGTH, RAW, Field, Header, Page
from graphc.mindrecord.packing import Row, pack_blobs, pack_raw

_OWNER = "FileWriter"


#: Rows whose index is written at a time.
_ROWS = 10000


@dataclass(frozen=True, slots=True)
class Packed:
    """A row as it is written: raw data and blobs with their lengths before them, and what the index holds.

    saved: how many bytes packing has saved.
    """

    raw: bytes
    blob: bytes
    indexed: tuple[Any, ...]
    saved: int


def packed(row: Row, header: Header) -> Packed:
    """A row, packed. DataError for one that is larger than a page."""
    fields = header.fields.values()
    raw = pack_raw(row, [f for f in fields if not f.in_blob])
    blob, saved = pack_blobs(row, [f for f in fields if f.in_blob])
    for data in (raw, blob):
        if len(data) + LENGTH > header.page_size:
            raise DataError(
                f"{_OWNER}: a row has {len(data)} bytes, pages have {header.page_size}",
                code="GC205",
                loc=user_loc(),
                help="call set_page_size with more before the first row is written",
            )
    return Packed(_with_length(raw), _with_length(blob), tuple(row[name] for name in header.index), saved)


def _with_length(data: bytes) -> bytes:
    return len(data).to_bytes(LENGTH, "little") + data


class _Filling:
    """The page of a kind that is being filled, and what is in it."""

    def __init__(self, page: Page, held: bytes = b"") -> None:
        self.page, self.data = page, bytearray(held)


class ShardWriter:
    """Writes one file: `write` for rows, then `prepare`, `publish` and `finish`, or `discard` before `finish`.

    Until `publish` a new file stands beside its place under another name; to a file that is there rows are added in place,
    where its head does not tell of them.
    """

    def __init__(self, path: Path, header: Header, append: bool = False) -> None:
        self.path, self.header, self._append = path, header, append
        self._indexed: list[Field] = [header.fields[n] for n in header.index]
        self._places: list[tuple[int, ...]] = []
        self._values: list[tuple[Any, ...]] = []
        #: Whether there is an index of a new file's first rows.
        self._begun = False
        #: What `publish` renamed, and the files that gave way.
        self._moves: list[tuple[Path, Path]] = []
        self._gave_way: list[Path] = []
        #: Of a file that rows are added to: its head and rows before, the head to come, and its index, open.
        self._old_head, self._old_rows, self._head = b"", header.rows, b""
        self._base: sqlite3.Connection | None = None
        self._written = path if append else path.with_name(f".{path.name}.{secrets.token_hex(6)}.tmp")
        self._file: IO[bytes] = open(self._written, "r+b" if append else "xb")  # noqa: SIM115, it stays open until the end
        self._raw: _Filling | None = self._last(RAW)
        self._blob: _Filling | None = self._last(BLOB)

    def write(self, rows: Sequence[Packed]) -> None:
        """Add rows."""
        for row in rows:
            self._add(row.raw, row.blob)
            self._values.append(row.indexed)
            self.header.saved += row.saved
        if len(self._places) >= _ROWS and not self._append:
            self._write_index()

    def prepare(self) -> None:
        """Write what is left, the head of a new file and the index: all that takes room."""
        for filling in (self._raw, self._blob):
            if filling is not None:
                self._flush(filling)
        self._head = self.header.encoded()
        if not self._append:
            self._file.seek(0)
            self._file.write(self._head)
        # What a file has no bytes for are zeros that take no room on the disk.
        self._file.truncate(max(self._file.seek(0, os.SEEK_END), self.header.header_size))
        self._to_disk()
        if self._append:
            self._base = extend_index(index_path(self.path), self._indexed, self._places, self._values)
            return
        self._file.close()
        self._write_index()
        os.chmod(self._written, 0o600)
        os.chmod(index_path(self._written), 0o600)

    def publish(self) -> None:
        """Let the rows appear."""
        if self._base is not None:
            self._file.seek(0)
            self._old_head = self._file.read(self.header.header_size)
            self._write_head(self._head.ljust(self.header.header_size, b"\0"))
            self._base.commit()
            return
        for written, place in ((index_path(self._written), index_path(self.path)), (self._written, self.path)):
            if place.is_file():
                aside = written.with_name(f"{written.name}.old")
                self._move(place, aside)
                self._gave_way.append(aside)
            self._move(written, place)

    def finish(self) -> None:
        """Let go of what `discard` needs."""
        self._file.close()
        if self._base is not None:
            self._base.close()
        for path in self._gave_way:
            with contextlib.suppress(OSError):
                path.unlink()

    def discard(self) -> None:
        """Leave nothing of a new file, and what was in its place; one that rows were to be added to keeps its rows."""
        if self._base is not None:
            with contextlib.suppress(sqlite3.Error):
                if self._base.in_transaction:
                    self._base.rollback()
                else:
                    shorten_index(self._base, self._old_rows)
            self._base.close()
            self._base = None
        with contextlib.suppress(OSError):
            if self._old_head:
                self._write_head(self._old_head)
        with contextlib.suppress(OSError):
            self._file.close()
        while self._moves:
            source, target = self._moves.pop()
            with contextlib.suppress(OSError):
                os.replace(target, source)
        if not self._append:
            self._written.unlink(missing_ok=True)
            index_path(self._written).unlink(missing_ok=True)

    def _move(self, source: Path, target: Path) -> None:
        os.replace(source, target)
        self._moves.append((source, target))

    def _write_head(self, head: bytes) -> None:
        # Past the buffer, which would write again what it could not write, over the old head.
        if os.pwrite(self._file.fileno(), head, 0) != len(head):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        self._to_disk()

    def _to_disk(self) -> None:
        self._file.flush()
        os.fsync(self._file.fileno())

    def _write_index(self) -> None:
        """Write the index of the rows since the last time."""
        base = index_path(self._written)
        if self._begun:
            with contextlib.closing(extend_index(base, self._indexed, self._places, self._values)) as added:
                added.commit()
        else:
            write_index(base, self.path.name, self._indexed, self._places, self._values)
        self._begun, self._places, self._values = True, [], []

    def _add(self, raw: bytes, blob: bytes) -> None:
        room = self.header.page_size
        if self._blob is None or self._raw is None or not self._fits(raw, blob):
            group = sum(p.kind == BLOB for p in self.header.pages)
            self._blob = self._next(self._blob, BLOB, group, [(0, 0)])
            if self._raw is None or len(self._raw.data) + len(raw) > room:
                number = len(self.header.pages)
                self._raw = self._next(self._raw, RAW, number if self._raw is not None else 0, [])
            self._raw.page.groups.append((group, len(self._raw.data)))
        raw_page, blob_page = self._raw.page, self._blob.page
        begin, blob_begin = len(self._raw.data), len(self._blob.data)
        self._raw.data += raw
        self._blob.data += blob
        row = blob_page.end
        blob_page.end += 1
        raw_page.size, blob_page.size = len(self._raw.data), len(self._blob.data)
        self._places.append(
            (
                row,
                raw_page.number,
                begin,
                raw_page.size,
                blob_page.type_id,
                blob_page.number,
                blob_begin,
                blob_page.size,
            )
        )

    def _fits(self, raw: bytes, blob: bytes) -> bool:
        assert self._raw is not None
        assert self._blob is not None
        room = self.header.page_size
        # A row group that would go on in another page of raw data ends: its rows must be in one.
        return len(self._raw.data) + len(raw) <= room and len(self._blob.data) + len(blob) <= room

    def _next(self, full: _Filling | None, kind: str, type_id: int, groups: list[tuple[int, int]]) -> _Filling:
        if full is not None:
            self._flush(full)
        rows = self.header.rows if kind == BLOB else 0
        page = Page(len(self.header.pages), kind, type_id, 0, rows, rows, groups)
        self.header.pages.append(page)
        return _Filling(page)

    def _flush(self, filling: _Filling) -> None:
        self._file.seek(self.header.place(filling.page.number))
        self._file.write(filling.data)

    def _last(self, kind: str) -> _Filling | None:
        """The last page of a kind in a file that rows are added to."""
        of_kind = [p for p in self.header.pages if p.kind == kind]
        if not of_kind:
            return None
        page = of_kind[-1]
        self._file.seek(self.header.place(page.number))
        held = self._file.read(page.size)
        if len(held) != page.size:
            raise unfit(_OWNER, self.path, f"has a page {page.number} that is cut off")
        return _Filling(page, held)
