"""The safetensors format: named tensors in one file.

Eight bytes with the length of a header, the header (JSON: of each tensor dtype, shape, and where its data begin and end, counted
from the end of the header; "__metadata__" holds strings), the data in row-major order without gaps. Nothing in it is run.
Texts stand in the metadata, as "graphc:NAME"; MindSpore's "crc_num" is the CRC-32 over names and data in the order of the names.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

import numpy as np

from graphc.checkpoint.entries import Array, DamagedError, Entry, check_size, crc32, raw_bytes
from graphc.files import write_atomic
from graphc.ir.types import numpy_dtype

_NAMES = {
    "float64": "F64", "int64": "I64", "float32": "F32", "int32": "I32", "float16": "F16", "bfloat16": "BF16",
    "int16": "I16", "int8": "I8", "uint8": "U8", "bool": "BOOL",
    "uint16": "U16", "uint32": "U32", "uint64": "U64", "complex64": "C64",
}  # fmt: skip
#: What a file can hold.
DTYPES = frozenset(_NAMES)
_DTYPES = {short: name for name, short in _NAMES.items()}
#: Bytes of a header; longer ones are refused, as by the format's own library.
_HEADER = 100_000_000
_TEXT = "graphc:"
_COUNTED = 1 << 24


def write(path: Path, entries: Mapping[str, Array | str], *, crc: bool = False) -> Path:
    """Write a file of arrays, contiguous, and texts, complete or not at all; returns its path. Raises OSError."""
    tensors = {name: value for name, value in entries.items() if not isinstance(value, str)}
    texts = {name: value for name, value in entries.items() if isinstance(value, str)}
    metadata = {"format": "ms", **{_TEXT + name: text for name, text in texts.items()}}
    if crc:
        number = 0
        for name in sorted(tensors):
            data = raw_bytes(tensors[name])
            counted = _counted(_NAMES[tensors[name].dtype.name], tensors[name].shape, data)
            number = zlib.crc32(data if counted is None else counted, zlib.crc32(name.encode(), number))
        metadata["crc_num"] = str(number)
    begin, names = head({name: (a.dtype.name, a.shape, a.nbytes) for name, a in tensors.items()}, metadata)
    parts = (raw_bytes(tensors[name]) for name in names if tensors[name].size)
    return write_atomic(path, [begin], parts)


def head(
    tensors: Mapping[str, tuple[str, tuple[int, ...], int]], metadata: Mapping[str, str]
) -> tuple[bytes, list[str]]:
    """What a file begins with, and the names in the order in which their data follow; of tensors: (dtype, shape, bytes)."""
    # Wide elements first, so that all of them are aligned.
    ordered = sorted(tensors, key=lambda name: (-np.dtype(numpy_dtype(tensors[name][0])).itemsize, name))
    header: dict[str, Any] = {"__metadata__": dict(metadata)}
    end = 0
    for name in ordered:
        dtype, shape, nbytes = tensors[name]
        begin, end = end, end + nbytes
        header[name] = {"dtype": _NAMES[dtype], "shape": shape, "data_offsets": (begin, end)}
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text, ordered


def scan(file: IO[bytes], size: int) -> tuple[list[Entry], int | None]:
    """The entries in the order of their data, texts last, and the CRC if there is one. Raises DamagedError, OSError."""
    header = _header(file, size)
    start = file.tell()
    metadata = header.pop("__metadata__", None)
    found = sorted((_entry(name, entry, start) for name, entry in header.items()), key=lambda e: (e.places[0], e.name))
    place = start
    for entry in found:
        begin, length = entry.places[0]
        if begin != place:
            raise DamagedError(f"the data of {entry.name!r} are not where they should be")
        place = begin + length
    if place != size:
        raise DamagedError(f"its header tells of {place} bytes")
    notes = metadata if isinstance(metadata, dict) else {}
    texts = {k.removeprefix(_TEXT): v for k, v in notes.items() if k.startswith(_TEXT) and isinstance(v, str)}
    if texts.keys() & header.keys():
        raise DamagedError(f"it has a text and a tensor named {min(texts.keys() & header.keys())!r}")
    crc = str(notes.get("crc_num", ""))
    return [*found, *(Entry(k, "str", text=v) for k, v in texts.items())], int(crc) if _is_number(crc) else None


def check_crc(file: IO[bytes], entries: list[Entry], wanted: int) -> bool:
    """Whether names and data have the CRC that the file gives."""
    number = 0
    for entry in sorted((e for e in entries if e.text is None), key=lambda e: e.name):
        number = zlib.crc32(entry.name.encode(), number)
        begin, length = entry.places[0]
        if not entry.shape and length <= 8:
            file.seek(begin)
            counted = _counted(_NAMES.get(entry.dtype, ""), entry.shape, file.read(length))
            if counted is not None:
                number = zlib.crc32(counted, number)
                continue
        number = crc32(file, begin, length, number)
    return number == wanted


def _counted(short: str, shape: tuple[int, ...], data: bytes | memoryview) -> bytes | None:
    """What MindSpore makes the CRC of in place of the data of an integer without axes: it calls `bytes` with it, which gives that
    many zeros. None for all others, and where these would be more than a count of steps.
    """
    if shape or short[:1] not in ("I", "U"):
        return None
    value = int.from_bytes(data, "little", signed=short[0] == "I")
    return bytes(value) if 0 <= value < _COUNTED else None


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 20


def _entry(name: str, entry: Any, start: int) -> Entry:
    try:
        short, shape, (begin, end) = str(entry["dtype"]), tuple(entry["shape"]), entry["data_offsets"]
    except (TypeError, KeyError, ValueError):
        raise DamagedError(f"its header does not describe {name!r}") from None
    if not all(type(n) is int and 0 <= n < 1 << 62 for n in (begin, end)) or end < begin:
        raise DamagedError(f"its header gives {name!r} an impossible place")
    dtype = _DTYPES.get(short, short)
    check_size(name, dtype, shape, end - begin)
    return Entry(name, dtype, shape, ((start + begin, end - begin),))


def _header(file: IO[bytes], size: int) -> dict[str, Any]:
    length = int.from_bytes(file.read(8), "little")
    if size < 8 or length > min(size - 8, _HEADER):
        raise DamagedError("it ends within its header" if length <= _HEADER else "its header is too long")
    try:
        header = json.loads(file.read(length).decode())
    except (ValueError, RecursionError):
        raise DamagedError("its header is no JSON") from None
    if not isinstance(header, dict):
        raise DamagedError("its header is no table")
    return header
