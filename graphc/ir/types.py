"""Types of values: dtype and static shape."""

from __future__ import annotations

import math
import re
from functools import cache, lru_cache
from typing import Any, NamedTuple

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]

#: dtype name -> short name in text
_SHORT = {
    "bool": "b1",
    "int8": "i8",
    "int16": "i16",
    "int32": "i32",
    "int64": "i64",
    "uint8": "u8",
    "uint16": "u16",
    "uint32": "u32",
    "uint64": "u64",
    "float16": "f16",
    "bfloat16": "bf16",
    "float32": "f32",
    "float64": "f64",
    "complex64": "c64",
    "complex128": "c128",
}
_TYPE = re.compile(r"(\w+)\[((?:\d+(?:,\d+)*)?)\]", re.ASCII)
_LONG = {short: name for name, short in _SHORT.items()}

DTYPES = tuple(_SHORT)
FLOATS = ("float16", "bfloat16", "float32", "float64")
#: Floats of 16 bits: stored as they are, computed in float32 and rounded after each op.
HALVES = ("float16", "bfloat16")
#: Each is a pair of the float of half its size; kernels know its parts alone (`graphc.passes.complex_parts`).
COMPLEX = ("complex64", "complex128")
UNSIGNED = ("uint8", "uint16", "uint32", "uint64")
INTEGERS = ("int8", "int16", "int32", "int64", *UNSIGNED)


class TensorType(NamedTuple):
    """dtype (a full name, e.g. "float32") and shape. Printed as `f32[32,10]`."""

    dtype: str
    shape: tuple[int, ...]

    @staticmethod
    def of(array: Array) -> TensorType:
        """The type of an array."""
        return TensorType(_full_name(array.dtype), array.shape)

    def __str__(self) -> str:
        return f"{_SHORT[self.dtype]}[{','.join(map(str, self.shape))}]"

    @property
    def size(self) -> int:
        """Number of elements."""
        return math.prod(self.shape)

    @property
    def rank(self) -> int:
        return len(self.shape)

    @property
    def numpy(self) -> np.dtype[Any]:
        return numpy_dtype(self.dtype)

    @property
    def nbytes(self) -> int:
        return self.size * self.numpy.itemsize

    @property
    def is_float(self) -> bool:
        return self.dtype in FLOATS

    @property
    def is_complex(self) -> bool:
        return self.dtype in COMPLEX

    @property
    def is_inexact(self) -> bool:
        """Whether its elements are floats or complex numbers (NumPy: inexact): others have no gradient."""
        return self.dtype in FLOATS or self.dtype in COMPLEX

    @property
    def part(self) -> str:
        """The dtype of real and imaginary parts; of other dtypes their own."""
        return {"complex64": "float32", "complex128": "float64"}.get(self.dtype, self.dtype)


@cache
def numpy_dtype(dtype: str) -> np.dtype[Any]:
    """The NumPy dtype of that name; bfloat16 comes from ml_dtypes."""
    if dtype == "bfloat16":
        import ml_dtypes

        found: np.dtype[Any] = np.dtype(ml_dtypes.bfloat16)
        return found
    return np.dtype(dtype)


@cache
def _full_name(dtype: np.dtype[Any]) -> str:
    # NumPy puts the name together anew each time.
    return dtype.name


def dtype_name(dtype: Any) -> str | None:
    """The dtype's name in the IR, or None if the IR has no such dtype. NumPy's default is none that is meant here."""
    try:
        name = None if dtype is None else np.dtype(dtype).name
    except (TypeError, ValueError):
        return None
    return name if name in _SHORT else None


def parse_type(text: str) -> TensorType:
    """The inverse of `str`; ValueError if it is no type."""
    match = _TYPE.fullmatch(text)
    if not match or match[1] not in _LONG:
        raise ValueError(f"{text!r} is no type, expected for example f32[32,10]")
    return TensorType(_LONG[match[1]], tuple(map(int, match[2].split(","))) if match[2] else ())


@lru_cache(maxsize=4096)
def contiguous_strides(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Row-major strides in elements."""
    strides = [1] * len(shape)
    for i in range(len(shape) - 1, 0, -1):
        strides[i - 1] = strides[i] * shape[i]
    return tuple(strides)
