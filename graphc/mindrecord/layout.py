"""MindRecord's file: a head of JSON, then pages of one size.

    uint64 n; byte json[n]; zeros up to header_size; page 0; page 1; ...     (little endian)

Pages are of raw data, the fields of one value in MessagePack, or of blobs, the arrays and bytes. In either one rows stand one
after the other, each as uint64 length and data. Rows whose blobs are in one page are a row group: their raw data are in one
page, too. What the head says: sizes; the pages with their rows; the schema; the files of the set; the fields that the index has.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from graphc.dataset.sources.files import unfit
from graphc.errors import DataError, user_loc

#: Bytes of the head and of pages: the usual ones, and the least and most that there may be.
HEADER_SIZE, MIN_HEADER, MAX_HEADER = 1 << 24, 1 << 14, 1 << 27
PAGE_SIZE, MIN_PAGE, MAX_PAGE = 1 << 25, 1 << 15, 1 << 28
#: Files of a set.
MAX_SHARDS = 1000
#: Bytes before the data of each row.
LENGTH = 8
RAW, BLOB = "RAW_DATA", "BLOB_DATA"
_VERSIONS = ("2.0", "3.0")
#: What files end with that MindSpore has encrypted.
_ENCRYPTED = b"ENCRYPT"

#: The kinds of fields, and what NumPy calls those of numbers.
NUMBERS = ("int32", "int64", "float32", "float64")
KINDS = (*NUMBERS, "string", "bytes")


@dataclass(frozen=True)
class Field:
    """A field of the schema. shape: None for one value; -1 stands for any size."""

    name: str
    kind: str
    shape: tuple[int, ...] | None = None

    @property
    def in_blob(self) -> bool:
        """Whether it is stored among the blobs."""
        return self.kind == "bytes" or self.shape is not None


@dataclass
class Page:
    """A page. group: of blobs the number of its row group. groups: of raw data its row groups, and where each begins."""

    number: int
    kind: str
    type_id: int
    size: int = 0
    first: int = 0
    end: int = 0
    groups: list[tuple[int, int]] = field(default_factory=list)


@dataclass
class Header:
    """What the head of a file says."""

    fields: dict[str, Field]
    index: list[str]
    files: list[str]
    shard: int = 0
    description: str = ""
    header_size: int = HEADER_SIZE
    page_size: int = PAGE_SIZE
    pages: list[Page] = field(default_factory=list)
    saved: int = 0
    #: Whether arrays of ints are packed.
    packed: bool = True

    @property
    def blobs(self) -> list[str]:
        """The fields that are stored as blobs, in order."""
        return [f.name for f in self.fields.values() if f.in_blob]

    @property
    def rows(self) -> int:
        """How many rows the file has."""
        return max((p.end for p in self.pages if p.kind == BLOB), default=0)

    def place(self, page: int) -> int:
        """Where a page begins."""
        return self.header_size + page * self.page_size

    def schema(self) -> dict[str, dict[str, Any]]:
        """The fields as users write them."""
        return {
            f.name: {"type": f.kind} if f.shape is None else {"shape": list(f.shape), "type": f.kind}
            for f in self.fields.values()
        }

    def encoded(self) -> bytes:
        """The head as it stands in the file, without the zeros after it. DataError if it is larger than header_size."""
        index = [{"index_field": name, "schema_id": 0} for name in self.index]
        made = {
            "header_size": self.header_size,
            "index_fields": index or None,
            "page": [_page_out(p, self.shard) for p in self.pages],
            "page_size": self.page_size,
            "compression_size": max(self.saved, 0),
            "schema": [{"blob_fields": self.blobs, "desc": self.description, "schema": self.schema()}],
            "shard_addresses": self.files,
            "shard_id": self.shard,
            "statistics": None,
            "version": _VERSIONS[self.packed],
        }
        data = json.dumps(made, separators=(",", ":"), ensure_ascii=False).encode("utf-8")
        if len(data) + LENGTH > self.header_size:
            raise DataError(
                f"FileWriter: the head needs {len(data) + LENGTH} bytes, there are {self.header_size}",
                code="GC205",
                loc=user_loc(),
                help="call set_header_size with more before the first row is written",
            )
        return len(data).to_bytes(LENGTH, "little") + data


def _page_out(page: Page, shard: int) -> dict[str, Any]:
    return {
        "end_row_id": page.end,
        "page_id": page.number,
        "page_size": page.size,
        "page_type": page.kind,
        "page_type_id": page.type_id,
        "row_group_ids": [{"id": k, "offset": at} for k, at in page.groups],
        "shard_id": shard,
        "start_row_id": page.first,
    }


def read_header(owner: str, path: Path) -> Header:
    """The head of a file. DataError for what is missing, damaged, encrypted or no MindRecord file."""
    try:
        with open(path, "rb") as file:
            size = os.fstat(file.fileno()).st_size
            return _parsed(owner, path, _head(owner, path, file, size), size)
    except OSError as error:
        raise unfit(owner, path, f"cannot be read: {error.strerror}") from error


def _head(owner: str, path: Path, file: IO[bytes], size: int) -> Any:
    length = int.from_bytes(file.read(LENGTH), "little")
    if size >= len(_ENCRYPTED):
        file.seek(-len(_ENCRYPTED), os.SEEK_END)
        if file.read() == _ENCRYPTED:
            raise unfit(owner, path, "is encrypted, and graphc decrypts nothing")
    if size < LENGTH or not 2 <= length <= min(size - LENGTH, MAX_HEADER):
        raise unfit(owner, path, "is no MindRecord file, or cut off")
    file.seek(LENGTH)
    try:
        return json.loads(file.read(length).decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise unfit(owner, path, f"is no MindRecord file, or damaged: its head is no JSON: {error}") from None


def _parsed(owner: str, path: Path, given: Any, size: int) -> Header:
    try:
        if given["version"] not in _VERSIONS:
            raise unfit(owner, path, f"is of version {given['version']!r}, graphc reads {' and '.join(_VERSIONS)}")
        (schema,) = given["schema"]
        fields = {str(n): _field_in(str(n), f) for n, f in sorted(schema["schema"].items())}
        made = Header(
            fields,
            [str(f["index_field"]) for f in given["index_fields"] or ()],
            [str(f) for f in given["shard_addresses"]],
            _number(given["shard_id"]),
            str(schema["desc"]),
            _number(given["header_size"]),
            _number(given["page_size"]),
            [_page_in(p) for p in given["page"]],
            _number(given.get("compression_size", 0)),
            packed=given["version"] != _VERSIONS[0],
        )
        if made.blobs != list(schema["blob_fields"]) or not set(made.index) <= set(fields):
            raise ValueError("fields do not match")
        _check(made, size)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise unfit(owner, path, f"has a damaged head: {type(error).__name__}: {error}") from None
    return made


def _number(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 1 << 62:
        raise ValueError(f"{value!r} is no size")
    return value


def _field_in(name: str, given: Any) -> Field:
    kind, shape = given["type"], given.get("shape")
    if kind not in KINDS:
        raise ValueError(f"{kind!r} is no type")
    if shape is None:
        return Field(name, kind)
    if kind not in NUMBERS or not all(isinstance(s, int) and s >= -1 for s in shape):
        raise ValueError(f"{shape!r} is no shape")
    return Field(name, kind, tuple(shape))


def _page_in(given: Any) -> Page:
    if given["page_type"] not in (RAW, BLOB):
        raise ValueError(f"{given['page_type']!r} is no type of page")
    groups = [(_number(g["id"]), _number(g["offset"])) for g in given["row_group_ids"]]
    kind, size, first, end = (_number(given[k]) for k in ("page_type_id", "page_size", "start_row_id", "end_row_id"))
    return Page(_number(given["page_id"]), given["page_type"], kind, size, first, end, groups)


def _check(header: Header, size: int) -> None:
    """ValueError for pages that overlap, lie outside of the file, or leave rows out."""
    if not MIN_HEADER <= header.header_size <= MAX_HEADER or not MIN_PAGE <= header.page_size <= MAX_PAGE:
        raise ValueError(f"a head of {header.header_size} bytes and pages of {header.page_size} cannot be")
    if [p.number for p in header.pages] != list(range(len(header.pages))):
        raise ValueError("pages are missing")
    row = 0
    for page in header.pages:
        if page.size > header.page_size or (page.size and header.place(page.number) + page.size > size):
            raise ValueError(f"page {page.number} is cut off")
        if page.kind == BLOB:
            if page.first != row or not 0 <= page.end - row <= page.size // LENGTH:
                raise ValueError(f"rows {page.first} to {page.end} cannot be in page {page.number}")
            row = page.end
