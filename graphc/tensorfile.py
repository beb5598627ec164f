"""The safetensors format: named tensors in one file, read and written tensor by tensor.

Eight bytes with the length of a header, the header (JSON: of each tensor dtype, shape, and where its data begin and end, counted
from the end of the header; "__metadata__" holds strings), the data in row-major order without gaps. Nothing in it is run, and
no more memory is taken than the tensors need.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Any

import numpy as np

from graphc.files import write_atomic
from graphc.ir.types import numpy_dtype

Array = np.ndarray[Any, np.dtype[Any]]

_NAMES = {
    "float64": "F64", "int64": "I64", "float32": "F32", "int32": "I32", "float16": "F16", "bfloat16": "BF16",
    "int16": "I16", "int8": "I8", "uint8": "U8", "bool": "BOOL",
}  # fmt: skip
_DTYPES = {short: name for name, short in _NAMES.items()}
#: How the format's other dtypes are called elsewhere.
_OTHERS = {"U16": "uint16", "U32": "uint32", "U64": "uint64", "C64": "complex64"}
#: Bytes of a header; longer ones are refused, as by the format's own library.
_HEADER = 100_000_000
#: As many axes as NumPy has in all its versions.
_AXES = 32


class DamagedError(ValueError):
    """What is read is no safetensors file, or not all of one."""


class DTypeNameError(ValueError):
    """A tensor of a dtype that a tensor of graphc's cannot have."""


def write(path: Path, tensors: Mapping[str, Array], metadata: Mapping[str, str]) -> Path:
    """Write a file, complete or not at all; returns its path. The arrays are C-contiguous. Raises OSError."""
    # Wide elements first, so that all of them are aligned.
    ordered = sorted(tensors.items(), key=lambda item: (-item[1].dtype.itemsize, item[0]))
    header: dict[str, Any] = {"__metadata__": dict(metadata)}
    end = 0
    for name, array in ordered:
        begin, end = end, end + array.nbytes
        header[name] = {"dtype": _NAMES[array.dtype.name], "shape": array.shape, "data_offsets": (begin, end)}
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8)
    parts = (array.reshape(-1).view(np.uint8).data for _, array in ordered if array.size)
    return write_atomic(path, [len(text).to_bytes(8, "little"), text], parts)


def read(path: Path) -> Iterator[tuple[str, Array]]:
    """The tensors one after the other, in the order of their data. Everything is checked before the first.

    Raises OSError, DamagedError and DTypeNameError; MemoryError for a tensor that does not fit into memory.
    """
    with open(path, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        entries = _entries(file, size)
        for name, dtype, shape in entries:
            array = np.empty(shape, np.uint8 if dtype == "bool" else numpy_dtype(dtype))
            if array.nbytes and file.readinto(array.reshape(-1).view(np.uint8).data) != array.nbytes:
                raise DamagedError("it has become shorter while it was read")
            yield name, array != 0 if dtype == "bool" else array


def _entries(file: IO[bytes], size: int) -> list[tuple[str, str, tuple[int, ...]]]:
    """Names, dtypes and shapes in the order of their data, which follow."""
    header = _header(file, size)
    start = file.tell()
    header.pop("__metadata__", None)
    found = sorted((_entry(name, entry) for name, entry in header.items()), key=lambda e: e[:2])
    place = 0
    for begin, end, name, _, _ in found:
        if begin != place:
            raise DamagedError(f"the data of {name!r} are not where they should be")
        place = end
    if start + place != size:
        raise DamagedError(f"its header tells of {start + place} bytes")
    _check_memory(place)
    return [(name, dtype, shape) for _, _, name, dtype, shape in found]


def _entry(name: str, entry: Any) -> tuple[int, int, str, str, tuple[int, ...]]:
    """Where a tensor's data begin and end, its name, dtype and shape."""
    try:
        short, shape, (begin, end) = str(entry["dtype"]), tuple(entry["shape"]), entry["data_offsets"]
    except (TypeError, KeyError, ValueError):
        raise DamagedError(f"its header does not describe {name!r}") from None
    if short not in _DTYPES:
        raise DTypeNameError(f"{name!r} has dtype {_OTHERS.get(short, short)}, which a tensor cannot hold")
    counts = (*shape, begin, end)
    itemsize = numpy_dtype(_DTYPES[short]).itemsize
    if not all(type(n) is int and 0 <= n < 1 << 62 for n in counts) or len(shape) > _AXES:
        raise DamagedError(f"its header gives {name!r} an impossible size")
    if end - begin != math.prod(shape) * itemsize:
        raise DamagedError(f"its header gives {name!r} another size than its data have")
    return begin, end, name, _DTYPES[short], shape


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


def _check_memory(total: int) -> None:
    """MemoryError for more than the machine has, before the system ends the process for it."""
    try:
        there = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (ValueError, OSError):
        return
    if total > there:
        raise MemoryError(f"its tensors take {total} bytes, the machine has {there}")
