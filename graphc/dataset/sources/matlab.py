"""MATLAB's files of version 5 to 7: arrays, structs, cells and sparse matrices (MathWorks: "MAT-File Format", 2023)."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path
from typing import Any, Literal

import numpy as np

from graphc.dataset.sources.files import read_whole, unfit

Array = np.ndarray[Any, np.dtype[Any]]

#: Number of a type -> how its values are stored.
_STORED = {
    1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 9: "f8", 12: "i8", 13: "u8", 16: "u1", 17: "u2", 18: "u4",
}  # fmt: skip
_MATRIX, _COMPRESSED = 14, 15
#: Numbers of classes of matrices.
_CELL, _STRUCT, _TEXT, _SPARSE = 1, 2, 4, 5
_NUMBERS = range(6, 16)
#: Class -> dtype of its values, however few bytes they are stored in.
_CLASSES = dict(zip(_NUMBERS, ("f8", "f4", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8"), strict=True))
#: The flags of matrices of complex numbers and of truth values.
_COMPLEX, _LOGICAL = 0x800, 0x200
#: How deep cells and structs may lie in each other.
_DEPTH = 100


class _Reader:
    """Elements of a part of a file, one after the other. ValueError and struct.error for what is none."""

    def __init__(self, data: bytes, order: Literal["<", ">"], depth: int = 0) -> None:
        self.data, self.order, self.place, self.depth = data, order, 0, depth
        if depth > _DEPTH:
            raise ValueError(f"cells or structs lie more than {_DEPTH} deep in each other")

    def more(self) -> bool:
        """Whether another element follows."""
        return self.place + 8 <= len(self.data)

    def element(self) -> tuple[int, bytes]:
        """The number of the type of the next element, and its bytes."""
        kind, size = struct.unpack_from(f"{self.order}II", self.data, self.place)
        if kind >> 16:  # A small one: four bytes follow the sizes of both, in two halves.
            kind, size = kind & 0xFFFF, kind >> 16
            start, end = self.place + 4, self.place + 8
        else:
            start = self.place + 8
            end = start + size + (0 if kind == _COMPRESSED else -size % 8)
        if start + size > len(self.data):
            raise ValueError("it is cut off")
        self.place = end
        return kind, self.data[start : start + size]

    def numbers(self) -> Array:
        """The numbers of the next element."""
        kind, data = self.element()
        if kind not in _STORED:
            raise ValueError(f"there is an element of type {kind} among numbers")
        return np.frombuffer(data, np.dtype(_STORED[kind]).newbyteorder(self.order))

    def matrix(self) -> tuple[str, Any]:
        """Name and value of the next element, which is a matrix."""
        kind, data = self.element()
        if kind != _MATRIX:
            raise ValueError(f"there is an element of type {kind} where a matrix was expected")
        return _Reader(data, self.order, self.depth + 1)._parts() if data else ("", np.empty((0, 0)))

    def _parts(self) -> tuple[str, Any]:
        flags = int(self.numbers()[0])
        kind, shape = flags & 0xFF, self.numbers().tolist()
        name = self.element()[1].decode("latin-1")
        count = int(np.prod(shape, dtype=object))
        if flags & _COMPLEX:
            raise ValueError(f"{name!r} holds complex numbers, which are not read")
        if kind in _NUMBERS or kind == _TEXT:
            values = self.numbers()
            if len(values) != count:
                raise ValueError(f"{name!r} has {len(values)} values for the shape {shape}")
            dtype = np.dtype(_CLASSES[kind]) if kind in _CLASSES else values.dtype.newbyteorder("=")
            return name, values.astype(dtype).reshape(shape, order="F")
        if kind == _SPARSE:
            rows, starts, values = self.numbers(), self.numbers(), self.numbers()
            dense = np.zeros(shape, np.uint8 if flags & _LOGICAL else np.float64)
            dense[rows[: starts[-1]], np.repeat(np.arange(shape[1]), np.diff(starts))] = values[: starts[-1]]
            return name, dense
        if kind == _CELL:
            return name, [self.matrix()[1] for _ in range(count)]
        if kind == _STRUCT:
            length = int(self.numbers()[0])
            packed = self.element()[1]
            names = [packed[k : k + length].split(b"\0")[0].decode() for k in range(0, len(packed), length)]
            return name, [{field: self.matrix()[1] for field in names} for _ in range(count)]
        raise ValueError(f"{name!r} is an object of class {kind}, which is not read")


def read_matlab(owner: str, path: Path) -> dict[str, Any]:
    """{name: value} of a file: an array in its shape, sparse ones filled up with zeros; of a cell a list of values, of a struct
    a list of dicts {field: value}, both column after column. DataError for what is no such file.
    """
    data = read_whole(owner, path)
    if data[:19] == b"MATLAB 7.3 MAT-file":
        raise unfit(owner, path, "is a MATLAB file of version 7.3, which is not read: save it with -v7")
    if len(data) < 128 or data[126:128] not in (b"IM", b"MI"):
        raise unfit(owner, path, "is no MATLAB file of version 5 to 7")
    order: Literal["<", ">"] = "<" if data[126:128] == b"IM" else ">"
    reader, found = _Reader(data[128:], order), dict[str, Any]()
    try:
        while reader.more():
            place = reader.place
            kind, inside = reader.element()
            one = _Reader(zlib.decompress(inside), order) if kind == _COMPRESSED else reader
            if one is reader:
                reader.place = place
            name, value = one.matrix()
            found[name] = value
    except (ValueError, IndexError, OverflowError, struct.error, zlib.error, MemoryError) as error:
        raise unfit(owner, path, f"is no MATLAB file that can be read: {error}") from error
    return found


def field(owner: str, path: Path, values: dict[str, Any], *names: str) -> Any:
    """What a file of MATLAB's has under these names, one inside of the other. DataError if it has not."""
    value: Any = values
    for name in names:
        inside = value[0] if isinstance(value, list) and value else value
        if not isinstance(inside, dict) or name not in inside:
            raise unfit(owner, path, f"has no {'.'.join(names)}")
        value = inside[name]
    return value
