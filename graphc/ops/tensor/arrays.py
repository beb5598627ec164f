"""NumPy arrays as the memory of tensors: aligned, in this machine's byte order, of a dtype that the IR knows."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphc.errors import ArgumentTypeError, DTypeError, user_loc
from graphc.ir.types import DTYPES, TensorType, dtype_name

Array = np.ndarray[Any, np.dtype[Any]]

_ALIGNMENT = 64


def aligned(type: TensorType) -> Array:
    """An uninitialised array whose data start at a multiple of 64 bytes."""
    raw = np.empty(type.nbytes + _ALIGNMENT, np.uint8)
    start = -raw.ctypes.data % _ALIGNMENT
    return raw[start : start + type.nbytes].view(type.numpy).reshape(type.shape)


def native(array: Array) -> Array:
    """The array, in this machine's byte order. ArgumentTypeError for one with masked elements."""
    if isinstance(array, np.ma.MaskedArray) and np.ma.is_masked(array):
        raise ArgumentTypeError(
            f"a tensor has no mask: {int(np.sum(array.mask))} of {array.size} elements of the array are masked",
            loc=user_loc(),
            help="give array.filled(value), and the mask as a tensor of its own",
        )
    return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))


#: Kinds of NumPy's dtypes that a tensor cannot have -> what to do about it.
_INSTEAD = {
    "c": "convert it: x.astype(np.complex128)",
    "f": "convert it: x.astype(np.float64)",
    "O": "make numbers of it: np.array(x.tolist(), np.float32)",
    "M": "count from a day: (x - x.min()).astype(np.int64)",
    "m": "count: x.astype(np.int64)",
    "S": "give each word a number",
    "U": "give each word a number",
}


def require_dtype(dtype: np.dtype[Any], what: str = "a tensor") -> None:
    """DTypeError GC110 for a dtype that no tensor has."""
    if dtype_name(dtype) is None:
        raise DTypeError(
            f"{what} cannot be {dtype}",
            loc=user_loc(),
            details=[f"the dtypes are {', '.join(DTYPES)}"],
            help=_INSTEAD.get(dtype.kind),
        )


def keep_complex(dtype: np.dtype[Any], wanted: np.dtype[Any], what: str) -> None:
    """DTypeError GC110 where complex numbers would silently become real ones. A bool says whether they are 0."""
    if dtype.kind == "c" and wanted.kind not in "cbO":
        raise DTypeError(
            f"{what}: complex numbers are no {wanted}",
            loc=user_loc(),
            help="take a part of them first: ops.real(x), x.real",
        )


def value_text(array: Array) -> str:
    """The numbers of an array as a tensor shows them."""
    if not array.shape and array.dtype.kind == "f":
        return f" {array.item():g}"
    text = np.array2string(array, separator=", ", formatter={"float_kind": lambda x: f"{x: .8e}"})
    return f"\n{text}" if array.ndim > 1 else f" {text}"
