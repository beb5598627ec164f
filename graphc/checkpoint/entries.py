"""What the file formats have in common: named entries with the places of their bytes, how these are read, what can be wrong."""

from __future__ import annotations

import json
import math
import os
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import IO, Any

import numpy as np

from graphc.ir.types import DTYPES, numpy_dtype

Array = np.ndarray[Any, np.dtype[Any]]

#: As many axes as NumPy has in all its versions.
_AXES = 32
_CHUNK = 1 << 20
#: Before a text that is JSON: of anything but a plain string, and of strings that a file would change.
_JSON = "json:"


class DamagedError(ValueError):
    """What is read is no file of its format, or not all of one."""


class UnsupportedError(ValueError):
    """A whole file with something in it that graphc cannot hold or does not read; `help` says what can be done."""

    def __init__(self, message: str, help: str | None = None) -> None:
        super().__init__(message)
        self.help = help


@dataclass(frozen=True, slots=True)
class Entry:
    """A tensor in a file: name, dtype (graphc's name of it, or the file's where graphc has none), shape, and the offsets and
    lengths of its bytes. Of a text, `text` says which, and there are no bytes left to read.
    """

    name: str
    dtype: str
    shape: tuple[int, ...] = ()
    places: tuple[tuple[int, int], ...] = ()
    text: str | None = None

    @property
    def nbytes(self) -> int:
        return sum(length for _, length in self.places)


def check_size(name: str, dtype: str, shape: Iterable[Any], nbytes: int) -> None:
    """DamagedError unless a tensor of this dtype and shape has that many bytes. Nothing is known of strange dtypes."""
    sizes = tuple(shape)
    if not all(type(n) is int and 0 <= n < 1 << 62 for n in sizes) or len(sizes) > _AXES:
        raise DamagedError(f"{name!r} has an impossible shape")
    itemsize = numpy_dtype(dtype).itemsize if dtype in DTYPES else None
    needed = nbytes if itemsize is None else math.prod(sizes) * itemsize
    if needed != nbytes:
        raise DamagedError(f"{name!r} has {nbytes} bytes, its shape needs {needed}")


def check_dtype(entry: Entry) -> None:
    """UnsupportedError for a dtype that a tensor of graphc's cannot have."""
    if entry.text is None and entry.dtype not in DTYPES:
        raise UnsupportedError(
            f"{entry.name!r} has dtype {entry.dtype}, which a tensor cannot hold",
            "leave it out: choice_func says of each name whether it is wanted",
        )


def check_memory(entries: Iterable[Entry]) -> None:
    """MemoryError for more than the machine has, before the system ends the process for it."""
    total = sum(e.nbytes for e in entries)
    try:
        there = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (ValueError, OSError):
        return
    if total > there:
        raise MemoryError(f"its tensors take {total} bytes, the machine has {there}")


def read_into(file: IO[bytes], entry: Entry, array: Array) -> None:
    """Fill a contiguous array of the entry's dtype and shape. DamagedError if the file has become shorter."""
    raw = array.reshape(-1).view(np.uint8)
    begin = 0
    for place, length in entry.places:
        file.seek(place)
        # A buffered file fills the whole buffer unless it ends; io.RawIOBase is never given here.
        if length and file.readinto(raw[begin : begin + length].data) != length:  # type: ignore[attr-defined]
            raise DamagedError("it has become shorter while it was read")
        begin += length
    if entry.dtype == "bool" and raw.size and raw.max() > 1:
        array[...] = raw.reshape(array.shape) != 0


def crc32(file: IO[bytes], begin: int, length: int, start: int = 0) -> int:
    """CRC-32 of bytes of a file, continued from `start`."""
    file.seek(begin)
    while length:
        data = file.read(min(length, _CHUNK))
        if not data:
            raise DamagedError("it has become shorter while it was read")
        start, length = zlib.crc32(data, start), length - len(data)
    return start


def raw_bytes(array: Array) -> memoryview:
    """The bytes of a contiguous array, without a copy."""
    return array.reshape(-1).view(np.uint8).data


# ---- texts


def to_text(value: object) -> str:
    """A string as it is; JSON values, and strings that files do not keep, as "json:" and their JSON. TypeError for a value
    that JSON would change or lacks.
    """
    if isinstance(value, str):
        whole = not value.startswith(_JSON) and not value.endswith("\0")
        if whole and not any("\ud800" <= c <= "\udfff" for c in value):
            return value
    else:
        _check_json(value)
    return _JSON + json.dumps(value)


def from_text(text: str) -> Any:
    """What `to_text` was given. A text that only looks like JSON stays one."""
    if text.startswith(_JSON):
        try:
            return json.loads(text.removeprefix(_JSON))
        except (ValueError, RecursionError):
            return text
    return text


def _check_json(value: object) -> None:
    if isinstance(value, dict):
        wrong = [k for k in value if not isinstance(k, str)]
        if wrong:
            raise TypeError(f"the key {wrong[0]!r} is no string")
    inner: Iterable[object] = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    for item in inner:
        _check_json(item)
    if not isinstance(value, (dict, list, str, bool, int, float)) and value is not None:
        raise TypeError(f"{type(value).__name__} is no JSON value")
