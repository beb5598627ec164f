"""What rows of MindRecord files are made of: MessagePack (github.com/msgpack/msgpack/blob/master/spec.md) for fields of one
value, blobs one behind the other, arrays of ints packed into as few bytes as each of them needs.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

import numpy as np

from graphc.mindrecord.layout import NUMBERS, Field

Array = np.ndarray[Any, np.dtype[Any]]

#: What one row holds: ints, floats, texts, bytes and arrays by their names.
Row = dict[str, Any]

_WIDTHS = np.array([1, 2, 4, 8])


class DamagedRow(Exception):
    """Bytes that are no row of the schema."""


# ---- fields of one value


def pack_raw(row: Row, fields: Sequence[Field]) -> bytes:
    """The fields of one value; where there are none, a stand-in."""
    if not fields:
        return b"\x81\xa2id\x00"
    return _map(len(fields)) + b"".join(_text(f.name) + _value(f, row[f.name]) for f in fields)


def _map(count: int) -> bytes:
    return bytes([0x80 | count]) if count < 16 else b"\xde" + struct.pack(">H", count)


def _text(text: str) -> bytes:
    data = text.encode("utf-8")
    n = len(data)
    if n < 32:
        return bytes([0xA0 | n]) + data
    for code, form, most in ((0xD9, ">B", 1 << 8), (0xDA, ">H", 1 << 16)):
        if n < most:
            return bytes([code]) + struct.pack(form, n) + data
    return b"\xdb" + struct.pack(">I", n) + data


def _value(of: Field, value: Any) -> bytes:
    if of.kind == "string":
        return _text(value)
    if of.kind in ("int32", "int64"):
        return _int(value)
    single = struct.pack(">f", value) if abs(value) <= 3.4028234e38 else b""
    # A number that four bytes can hold is written so, as MindSpore's library does.
    if single and struct.unpack(">f", single)[0] == value:
        return b"\xca" + single
    return b"\xcb" + struct.pack(">d", value)


def _int(value: int) -> bytes:
    if -32 <= value < 128:
        return struct.pack(">b", value)
    codes = (">B", ">H", ">I", ">Q") if value >= 0 else (">b", ">h", ">i", ">q")
    for code, form in enumerate(codes, 0xCC if value >= 0 else 0xD0):
        try:
            return bytes([code]) + struct.pack(form, value)
        except struct.error:
            continue
    raise OverflowError(value)


_FIXED = {
    0xCA: ">f", 0xCB: ">d", 0xCC: ">B", 0xCD: ">H", 0xCE: ">I", 0xCF: ">Q", 0xD0: ">b", 0xD1: ">h", 0xD2: ">i", 0xD3: ">q",
}  # fmt: skip
_TEXTS = {0xD9: ">B", 0xDA: ">H", 0xDB: ">I"}


def unpack_raw(data: bytes, fields: Sequence[Field]) -> Row:
    """The fields of one value. DamagedRow for bytes that hold others, or values of another kind."""
    try:
        if data[0] & 0xF0 == 0x80:
            count, at = data[0] & 0x0F, 1
        elif data[0] == 0xDE:
            count, at = struct.unpack(">H", data[1:3])[0], 3
        else:
            raise DamagedRow("it is no map")
        found: Row = {}
        for _ in range(count):
            name, at = _next(data, at)
            found[name], at = _next(data, at)
    except (IndexError, struct.error, UnicodeDecodeError, TypeError) as error:
        raise DamagedRow(f"it cannot be unpacked: {error}") from None
    if at != len(data):
        raise DamagedRow("there is something behind it")
    return {f.name: _checked(f, found) for f in fields}


def _next(data: bytes, at: int) -> tuple[Any, int]:
    code = data[at]
    at += 1
    if code < 0x80 or code >= 0xE0:
        return (code if code < 0x80 else code - 0x100), at
    if code in _FIXED:
        form = _FIXED[code]
        end = at + struct.calcsize(form)
        return struct.unpack(form, data[at:end])[0], end
    if code & 0xE0 == 0xA0:
        length = code & 0x1F
    elif code in _TEXTS:
        form = _TEXTS[code]
        end = at + struct.calcsize(form)
        (length,) = struct.unpack(form, data[at:end])
        at = end
    else:
        raise DamagedRow(f"it has a value of kind {code:#x}")
    if at + length > len(data):
        raise DamagedRow("it is cut off")
    return data[at : at + length].decode("utf-8"), at + length


def _checked(of: Field, found: Row) -> Any:
    if of.name not in found:
        raise DamagedRow(f"field {of.name!r} is missing")
    value = found[of.name]
    if of.kind == "string":
        fits = isinstance(value, str)
    elif of.kind in ("int32", "int64"):
        bits = int(of.kind[3:])
        fits = isinstance(value, int) and -(1 << bits - 1) <= value < 1 << bits - 1
    else:
        fits = isinstance(value, (int, float))
        value = float(value) if fits else value
    if not fits:
        raise DamagedRow(f"field {of.name!r} is no {of.kind}")
    return value


# ---- blobs


def pack_blobs(row: Row, fields: Sequence[Field]) -> tuple[bytes, int]:
    """The blobs of a row, and how many bytes packing its ints has saved; where there are none, a stand-in."""
    if not fields:
        return bytes(4), 0
    parts, saved = [], 0
    for of in fields:
        data = row[of.name] if of.kind == "bytes" else _packed(row[of.name], of.kind)
        if of.kind in ("int32", "int64"):
            saved += row[of.name].size * np.dtype(of.kind).itemsize - len(data)
        parts.append(data)
    if len(parts) == 1:
        return parts[0], saved
    return b"".join(len(p).to_bytes(8, "big") + p for p in parts), saved


def split_blobs(data: bytes, fields: Sequence[Field]) -> list[bytes]:
    """The bytes of each blob of a row. DamagedRow for bytes that hold others."""
    if len(fields) <= 1:
        return [data]
    parts, at = [], 0
    for _ in fields:
        length = int.from_bytes(data[at : at + 8], "big")
        at += 8
        if length > len(data) - at:
            raise DamagedRow("its blobs are cut off")
        parts.append(data[at : at + length])
        at += length
    if at != len(data):
        raise DamagedRow("there is something behind its blobs")
    return parts


def unpack_blobs(parts: Sequence[bytes], of: Field, packed: bool) -> list[Any]:
    """The bytes or arrays that a field has in some rows. DamagedRow for bytes that hold others."""
    if of.kind == "bytes":
        return list(parts)
    dtype = np.dtype(of.kind)
    if packed and of.kind in ("int32", "int64"):
        arrays = _unpacked(parts, dtype)
    else:
        for data in parts:
            if len(data) % dtype.itemsize:
                raise DamagedRow(f"field {of.name!r} has {len(data)} bytes, which is no multiple of {dtype.itemsize}")
        joined = np.frombuffer(b"".join(parts), dtype.newbyteorder("<")).astype(dtype)
        arrays = _split(joined, [len(data) // dtype.itemsize for data in parts])
    shape = of.shape or (-1,)
    try:
        return arrays if shape == (-1,) else [values.reshape(shape) for values in arrays]
    except ValueError:
        sizes = sorted({values.size for values in arrays})
        raise DamagedRow(f"field {of.name!r} has {sizes[0]} values, its shape is {list(shape)}") from None


def _split(joined: Array, counts: Sequence[int]) -> list[Array]:
    """Parts of an array, each with memory of its own."""
    ends = np.cumsum(counts).tolist()
    return [joined[end - count : end].copy() for count, end in zip(counts, ends, strict=True)]


def _packed(array: Array, kind: str) -> bytes:
    """An array as bytes. Ints: how many, big endian in four bytes; two bits for the width of each; and each in so many bytes."""
    assert kind in NUMBERS
    values = np.ascontiguousarray(array, np.dtype(kind).newbyteorder("<")).reshape(-1)
    if kind not in ("int32", "int64"):
        return values.tobytes()
    codes = np.zeros(len(values), np.uint8)
    for bits in (8, 16, 32):
        codes += (values < -(1 << bits - 1)) | (values >= 1 << bits - 1)
    ends = np.cumsum(_WIDTHS[codes])
    out = np.zeros(int(ends[-1]) if len(ends) else 0, np.uint8)
    whole = values.astype("<i8").view(np.uint8).reshape(-1, 8)
    for code, width in enumerate(_WIDTHS):
        at = np.flatnonzero(codes == code)
        out[(ends[at] - width)[:, None] + np.arange(width)] = whole[at, :width]
    padded = np.zeros(-(-len(codes) // 4) * 4, np.uint8)
    padded[: len(codes)] = codes
    quads = padded.reshape(-1, 4)
    bytes_of_codes = quads[:, 0] << 6 | quads[:, 1] << 4 | quads[:, 2] << 2 | quads[:, 3]
    return len(values).to_bytes(4, "big") + bytes_of_codes.tobytes() + out.tobytes()


def _unpacked(parts: Sequence[bytes], dtype: np.dtype[Any]) -> list[Array]:
    """The arrays that some rows hold, decoded at once."""
    counts = np.array([int.from_bytes(data[:4], "big") for data in parts], np.int64)
    quads = -(-counts // 4)
    sizes = np.array([len(data) for data in parts], np.int64) - 4 - quads
    if len(parts) and sizes.min() < 0:
        raise DamagedRow("packed ints are cut off")
    held = np.frombuffer(b"".join(d[4 : 4 + q] for d, q in zip(parts, quads.tolist(), strict=True)), np.uint8)
    codes = np.stack([held >> 6, held >> 4 & 3, held >> 2 & 3, held & 3], 1).reshape(-1)
    # Of the last byte of each row some codes may be of no number.
    first = np.cumsum(counts) - counts
    where = np.arange(int(counts.sum())) + np.repeat(4 * (np.cumsum(quads) - quads) - first, counts)
    used = codes[where]
    widths = _WIDTHS[used]
    ends = np.cumsum(widths)
    bounds = np.concatenate([[0], ends])
    if not np.array_equal(bounds[first + counts] - bounds[first], sizes) or (
        len(used) and widths.max() > dtype.itemsize
    ):
        raise DamagedRow("packed ints do not have the bytes that they should")
    if np.count_nonzero(codes) != np.count_nonzero(used):
        raise DamagedRow("packed ints have widths behind the last")
    body = np.frombuffer(b"".join(d[4 + q :] for d, q in zip(parts, quads.tolist(), strict=True)), np.uint8)
    values = np.zeros(len(used), dtype)
    for code, width in enumerate(_WIDTHS.tolist()):
        at = np.flatnonzero(used == code)
        if len(at):
            taken = np.ascontiguousarray(body[(ends[at] - width)[:, None] + np.arange(width)])
            values[at] = taken.view(f"<i{width}").reshape(-1)
    return _split(values, counts.tolist())
