"""tf.train.Example in the wire format of Protocol Buffers (protobuf.dev/programming-guides/encoding):

    message Example   { Features features = 1; }
    message Features  { map<string, Feature> feature = 1; }
    message Feature   { oneof kind { BytesList bytes_list = 1; FloatList float_list = 2; Int64List int64_list = 3; } }
    message BytesList { repeated bytes value = 1; }      FloatList, Int64List: repeated float, int64, packed or not

Of a feature the pieces are kept that hold its values; values of many examples are decoded at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]

#: The kinds of features by the number of their field.
BYTES, FLOATS, INTS = 1, 2, 3
#: What stands before the list of each kind.
_TAGS = {0x0A: BYTES, 0x12: FLOATS, 0x1A: INTS}
_VARINT, _FIXED64, _LENGTH, _FIXED32 = 0, 1, 2, 5
#: Bytes of the longest varint.
_LONGEST = 10


class DamagedExample(Exception):
    """Bytes that are no Example."""


@dataclass(slots=True)
class Feature:
    """kind: BYTES, FLOATS or INTS, 0 where it has none. pieces: each value of BYTES, else bytes that hold values."""

    kind: int = 0
    pieces: list[bytes] = field(default_factory=list)


def features(data: bytes, wanted: dict[bytes, int] | None = None) -> dict[bytes, Feature]:
    """The features of an Example by their names; those in `wanted` only. DamagedExample for bytes that are none."""
    found: dict[bytes, Feature] = {}
    for number, kind, begin, end in _fields(data, 0, len(data)):
        if number == 1 and kind == _LENGTH:
            for inner, inner_kind, at, stop in _fields(data, begin, end):
                if inner == 1 and inner_kind == _LENGTH:
                    _entry(data, at, stop, wanted, found)
    return found


def _entry(data: bytes, begin: int, end: int, wanted: dict[bytes, int] | None, found: dict[bytes, Feature]) -> None:
    """Add an entry of the map; one that comes later takes the place of one before."""
    name, value = b"", None
    for number, kind, at, stop in _fields(data, begin, end):
        if kind == _LENGTH and number == 1:
            name = data[at:stop]
        elif kind == _LENGTH and number == 2:
            value = (at, stop)
    if wanted is None or name in wanted:
        found[name] = Feature() if value is None else _feature(data, *value)


def _feature(data: bytes, begin: int, end: int) -> Feature:
    # As a rule it is one list, which has one piece.
    inner = _whole(data, begin, end)
    piece = _whole(data, inner, end) if inner < end else end
    if piece < end and data[inner] == 0x0A and data[begin] in _TAGS and (data[begin] != 0x12 or (end - piece) % 4 == 0):
        return Feature(_TAGS[data[begin]], [data[piece:end]])
    made = Feature()
    for number, kind, at, stop in _fields(data, begin, end):
        if kind != _LENGTH or number not in (BYTES, FLOATS, INTS):
            continue
        if number != made.kind:
            made = Feature(number)
        for inner, inner_kind, first, last in _fields(data, at, stop):
            # A number that is not packed is a field of its own: the bytes are those that packed ones have.
            if inner == 1 and (inner_kind == _LENGTH or (number, inner_kind) in ((FLOATS, _FIXED32), (INTS, _VARINT))):
                if number == FLOATS and (last - first) % 4:
                    raise DamagedExample("floats that are no multiple of four bytes")
                made.pieces.append(data[first:last])
    return made


def _whole(data: bytes, begin: int, end: int) -> int:
    """Where the value of a field begins that is bytes up to the end; the end where there is none."""
    if begin + 2 > end or data[begin] & 7 != _LENGTH:
        return end
    length, at = data[begin + 1], begin + 2
    if length > 0x7F:
        length, at = _varint(data, begin + 1, end)
    return at if at + length == end else end


def _fields(data: bytes, at: int, end: int) -> Iterator[tuple[int, int, int, int]]:
    """Number and kind of each field of a message, and where its value begins and ends."""
    while at < end:
        key = data[at]
        at += 1
        if key > 0x7F:
            key, at = _varint(data, at - 1, end)
        kind = key & 7
        if kind == _LENGTH:
            if at < end and data[at] < 0x80:
                length, at = data[at], at + 1
            else:
                length, at = _varint(data, at, end)
            stop = at + length
        elif kind == _VARINT:
            stop = _varint(data, at, end)[1]
        elif kind == _FIXED32:
            stop = at + 4
        elif kind == _FIXED64:
            stop = at + 8
        else:
            raise DamagedExample(f"a field of kind {kind}")
        if stop > end:
            raise DamagedExample("a field that is cut off")
        if key < 8:
            raise DamagedExample("a field of number 0")
        yield key >> 3, kind, at, stop
        at = stop


def _varint(data: bytes, at: int, end: int) -> tuple[int, int]:
    """A number, and where it ends."""
    value = 0
    for place in range(_LONGEST):
        if at >= end:
            raise DamagedExample("a number that is cut off")
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << (7 * place)
        if byte < 0x80:
            return value, at
    raise DamagedExample("a number of more than ten bytes")


def floats(rows: Sequence[Feature]) -> tuple[Array, list[int]]:
    """float32 [n]: the values of all rows one after the other, and how many each row has."""
    counts = [sum(map(len, f.pieces)) // 4 for f in rows]
    return np.frombuffer(b"".join(p for f in rows for p in f.pieces), "<f4"), counts


def integers(rows: Sequence[Feature]) -> tuple[Array, list[int]]:
    """int64 [n]: the values of all rows one after the other, and how many each row has. DamagedExample for what is none."""
    joined = np.frombuffer(b"".join(p for f in rows for p in f.pieces), np.uint8)
    sizes = np.array([sum(map(len, f.pieces)) for f in rows], np.int64)
    last = joined < 0x80
    stops = np.cumsum(sizes)
    # Of every row the last byte ends a number.
    if not last[stops[sizes > 0] - 1].all():
        raise DamagedExample("a number that is cut off")
    ended = np.concatenate([[0], np.cumsum(last)])
    counts = ended[stops] - ended[stops - sizes]
    ends = np.flatnonzero(last)
    begins = np.concatenate([[0], ends[:-1] + 1]) if len(ends) else ends
    lengths = ends - begins + 1
    longest = int(lengths.max()) if len(lengths) else 0
    if longest > _LONGEST:
        raise DamagedExample("a number of more than ten bytes")
    values = np.zeros(len(ends), np.uint64)
    for place in range(longest):
        has = lengths > place
        byte = joined[begins[has] + place].astype(np.uint64) & np.uint64(0x7F)
        values[has] |= byte << np.uint64(7 * place)
    return values.view(np.int64), counts.tolist()
