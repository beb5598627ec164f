"""MindSpore's .ckpt format: one message in the wire format of Protocol Buffers (protobuf.dev/programming-guides/encoding).

    message Checkpoint  { repeated Value value = 1;
      message Value { required string tag = 1; oneof { TensorProto tensor = 2; MapTensorProto maptensor = 3; } } }
    message TensorProto { repeated int64 dims = 1; required string tensor_type = 2; required bytes tensor_content = 3; }

Contents are little endian, row-major. A tensor of more than 512 MiB stands in several Values of one tag, one behind the
other, each with all dims. Numbers without axes have no dims. A text has type "str", dims [0], and UTF-32. A CRC-32 of
all that, if there is one, is behind it: "crc_num" and ten big-endian bytes. The message is walked in the file, and only
what frames the contents is read: the library of Protocol Buffers would hold all of them twice. Nothing in a file is
run.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO

from graphc.checkpoint.entries import Array, DamagedError, Entry, UnsupportedError, check_size, crc32, raw_bytes
from graphc.files import write_atomic

_NAMES = {
    "float64": "Float64", "int64": "Int64", "float32": "Float32", "int32": "Int32", "float16": "Float16",
    "bfloat16": "BFloat16", "int16": "Int16", "int8": "Int8", "uint8": "UInt8", "bool": "Bool",
    "uint16": "UInt16", "uint32": "UInt32", "uint64": "UInt64",
    "complex64": "Complex64", "complex128": "Complex128",
}  # fmt: skip
_DTYPES = {theirs: ours for ours, theirs in _NAMES.items()}
#: Bytes of a tensor in one Value.
_SLICE = 512 << 20
#: Bytes of a name, of a type's name, of a text.
_TAG, _TYPE, _TEXT = 1 << 16, 64, 1 << 26
#: Fields of a file, that is entries and pieces of them; of a message in it. More are none of MindSpore's.
_VALUES, _FIELDS = 1 << 20, 128
_CRC_MARK, _CRC_SIZE = b"crc_num", 17
#: The first four bytes of files that MindSpore has encrypted: AES-GCM, AES-CBC, SM4-CBC.
_ENCRYPTED = (b"\xd8\x5e\x3a\x7f", b"\xd9\x5e\x3a\x7f", b"\xda\x5e\x3a\x7f")
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5

# ---- writing


def write(path: Path, entries: Mapping[str, Array | str], *, crc: bool = False) -> Path:
    """Write a file of arrays, contiguous, and texts in their order, complete or not at all; returns its path. Raises OSError."""
    return write_atomic(path, _with_crc(entries) if crc else _parts(entries))


def _with_crc(entries: Mapping[str, Array | str]) -> Iterator[bytes | memoryview]:
    number = 0
    for part in _parts(entries):
        number = zlib.crc32(part, number)
        yield part
    yield _CRC_MARK + number.to_bytes(_CRC_SIZE - len(_CRC_MARK), "big")


def _parts(entries: Mapping[str, Array | str]) -> Iterator[bytes | memoryview]:
    for name, value in entries.items():
        if isinstance(value, str):
            # An array of strings has at least one character.
            encoded = (value or "\0").encode("utf-32-le")
            yield _frame(name, (0,), "str", len(encoded)) + encoded
            continue
        content = raw_bytes(value) if value.size else memoryview(b"")
        for begin in range(0, max(len(content), 1), _SLICE):
            piece = content[begin : begin + _SLICE]
            yield _frame(name, value.shape, _NAMES[value.dtype.name], len(piece))
            yield piece


def _frame(name: str, shape: tuple[int, ...], kind: str, length: int) -> bytes:
    """Everything of a Value that stands before its content of `length` bytes."""
    dims = b"".join(b"\x08" + _varint(n) for n in shape)
    tensor = dims + _field(2, kind.encode()) + b"\x1a" + _varint(length)
    inside = _field(1, name.encode()) + b"\x12" + _varint(len(tensor) + length) + tensor
    return b"\x0a" + _varint(len(inside) + length) + inside


def _field(number: int, data: bytes) -> bytes:
    return bytes([number << 3 | _BYTES]) + _varint(len(data)) + data


def _varint(value: int) -> bytes:
    made = bytearray()
    while value > 0x7F:
        made.append(value & 0x7F | 0x80)
        value >>= 7
    made.append(value)
    return bytes(made)


# ---- reading


def scan(file: IO[bytes], size: int) -> tuple[list[Entry], int | None]:
    """The entries in the order of the file, and the CRC if there is one. Raises DamagedError, UnsupportedError, OSError."""
    file.seek(0)
    if file.read(4) in _ENCRYPTED:
        raise UnsupportedError("it is encrypted, and graphc decrypts nothing", "save it without enc_key")
    file.seek(max(size - _CRC_SIZE, 0))
    end = file.read(_CRC_SIZE)
    crc = None
    if size >= _CRC_SIZE and end.startswith(_CRC_MARK):
        size, crc = size - _CRC_SIZE, int.from_bytes(end[len(_CRC_MARK) :], "big")
    found: dict[str, list[Entry]] = {}
    last = None
    for number, kind, value in _fields(file, 0, size, _VALUES):
        if number == 1 and kind == _BYTES:
            entry = _value(file, *value)
            pieces = found.setdefault(entry.name, [])
            if pieces and entry.name != last:
                raise DamagedError(f"it has two entries named {entry.name!r}")
            pieces.append(entry)
            last = entry.name
    if not found:
        raise DamagedError("it holds nothing")
    return [_checked(file, pieces) for pieces in found.values()], crc


def check_crc(file: IO[bytes], size: int, wanted: int) -> bool:
    """Whether everything before the CRC has it."""
    return crc32(file, 0, size - _CRC_SIZE) == wanted


def _fields(file: IO[bytes], at: int, end: int, limit: int) -> Iterator[tuple[int, int, tuple[int, int]]]:
    """Number and kind of each field of the message in a part of a file; offset and length of its bytes, or of a number its value
    and 0. DamagedError for more fields than `limit`.
    """
    for _ in range(limit):
        if at >= end:
            return
        key, at = _read_varint(file, at, end)
        number, kind = key >> 3, key & 7
        value = length = 0
        if kind == _VARINT:
            value, at = _read_varint(file, at, end)
        elif kind == _BYTES:
            length, at = _read_varint(file, at, end)
        elif kind in (_FIXED64, _FIXED32):
            length = 8 if kind == _FIXED64 else 4
        else:
            raise DamagedError(f"byte {at - 1} begins no field")
        if not 0 < number < 1 << 29 or length > end - at:
            raise DamagedError(f"at byte {at} it tells of {length} bytes, {end - at} are left")
        yield number, kind, (value, 0) if kind == _VARINT else (at, length)
        at += length
    if at < end:
        raise DamagedError(f"a message in it has more than {limit} fields")


def _read_varint(file: IO[bytes], at: int, end: int) -> tuple[int, int]:
    """The number at a place, and the place behind it."""
    file.seek(at)
    value = 0
    for count, byte in enumerate(file.read(min(10, end - at))):
        value |= (byte & 0x7F) << 7 * count
        if byte < 0x80:
            if value >> 64:
                break
            return value, at + count + 1
    raise DamagedError(f"byte {at} begins no number")


def _value(file: IO[bytes], at: int, length: int) -> Entry:
    """The entry of a Value, its text, if it is one, not yet read."""
    parts: dict[int, tuple[int, int]] = {}
    for number, kind, place in _fields(file, at, at + length, _FIELDS):
        if number <= 3:
            if kind != _BYTES or number in parts:
                raise DamagedError(f"at byte {at} it has no entry")
            parts[number] = place
    if 1 not in parts or not parts.keys() & {2, 3}:
        raise DamagedError(f"the entry at byte {at} has no name or no tensor")
    name = _text(file, *parts[1], _TAG)
    if 3 in parts:
        raise UnsupportedError(f"{name!r} is a MapTensor, which graphc has not")
    return _tensor(file, name, *parts[2])


def _tensor(file: IO[bytes], name: str, at: int, length: int) -> Entry:
    shape: list[int] = []
    parts: dict[int, tuple[int, int]] = {}
    for number, kind, place in _fields(file, at, at + length, _FIELDS):
        if number == 1 and kind == _VARINT:
            shape.append(place[0])
        elif number == 1 and kind == _BYTES:
            shape += _packed(file, *place)
        elif number <= 3:
            if kind != _BYTES or number in parts:
                raise DamagedError(f"the tensor of {name!r} is none")
            parts[number] = place
    if parts.keys() != {2, 3}:
        raise DamagedError(f"{name!r} has no type or no content")
    kind_name = _text(file, *parts[2], _TYPE)
    dtype = _DTYPES.get(kind_name, kind_name)
    return Entry(name, dtype, tuple(shape), (parts[3],))


def _packed(file: IO[bytes], at: int, length: int) -> list[int]:
    """The numbers that stand one behind the other, no more than a message has fields."""
    end = at + length
    found: list[int] = []
    while at < end and len(found) < _FIELDS:
        value, at = _read_varint(file, at, end)
        found.append(value)
    return found


def _text(file: IO[bytes], at: int, length: int, limit: int) -> str:
    if length > limit:
        raise DamagedError(f"at byte {at} it has a name of {length} bytes")
    file.seek(at)
    try:
        return file.read(length).decode()
    except UnicodeDecodeError:
        raise DamagedError(f"at byte {at} it has a name that is no UTF-8") from None


def _checked(file: IO[bytes], pieces: list[Entry]) -> Entry:
    """The entry that stands in these pieces, with the size that its shape needs, or its text."""
    first = pieces[0]
    if any((p.dtype, p.shape) != (first.dtype, first.shape) for p in pieces):
        raise DamagedError(f"the pieces of {first.name!r} differ in dtype or shape")
    places = tuple(place for piece in pieces for place in piece.places)
    entry = Entry(first.name, first.dtype, first.shape, places)
    if entry.dtype == "str":
        if entry.nbytes > _TEXT:
            raise DamagedError(f"{entry.name!r} is a text of {entry.nbytes} bytes")
        data = b"".join(_read(file, *place) for place in places)
        try:
            return Entry(entry.name, "str", text=data.decode("utf-32-le").rstrip("\0"))
        except UnicodeDecodeError:
            raise DamagedError(f"{entry.name!r} is no text") from None
    # MindSpore reads a number that is given one axis of size 0 as one without axes.
    shape = () if entry.shape == (0,) and entry.nbytes else entry.shape
    check_size(entry.name, entry.dtype, shape, entry.nbytes)
    return Entry(entry.name, entry.dtype, shape, places)


def _read(file: IO[bytes], at: int, length: int) -> bytes:
    file.seek(at)
    return file.read(length)
