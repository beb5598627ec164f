"""Types of values: dtype and static shape."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

#: dtype name -> (short name in text, NumPy dtype)
_DTYPES: dict[str, tuple[str, type]] = {
    "bool": ("b1", np.bool_),
    "int8": ("i8", np.int8),
    "int16": ("i16", np.int16),
    "int32": ("i32", np.int32),
    "int64": ("i64", np.int64),
    "uint8": ("u8", np.uint8),
    "float16": ("f16", np.float16),
    "float32": ("f32", np.float32),
    "float64": ("f64", np.float64),
}
_SHORT = {name: short for name, (short, _) in _DTYPES.items()}
_LONG = {short: name for name, short in _SHORT.items()}

DTYPES = tuple(_DTYPES)
FLOATS = ("float16", "float32", "float64")
INTEGERS = ("int8", "int16", "int32", "int64", "uint8")


class TensorType(NamedTuple):
    """dtype (a full name, e.g. "float32") and shape. Printed as `f32[32,10]`."""

    dtype: str
    shape: tuple[int, ...]

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
        return np.dtype(_DTYPES[self.dtype][1])

    @property
    def nbytes(self) -> int:
        return self.size * self.numpy.itemsize

    @property
    def is_float(self) -> bool:
        return self.dtype in FLOATS


def numpy_dtype(dtype: str) -> np.dtype[Any]:
    return np.dtype(_DTYPES[dtype][1])


def dtype_name(dtype: Any) -> str | None:
    """The dtype's name in the IR, or None if the IR has no such dtype."""
    try:
        name = np.dtype(dtype).name
    except TypeError:
        return None
    return name if name in _DTYPES else None


def parse_type(text: str) -> TensorType:
    """The inverse of `str`; ValueError if it is no type."""
    short, bracket, dims = text.partition("[")
    if short not in _LONG or not bracket or not dims.endswith("]"):
        raise ValueError(f"{text!r} is no type, expected for example f32[32,10]")
    return TensorType(_LONG[short], tuple(int(d) for d in dims[:-1].split(",")) if dims != "]" else ())
