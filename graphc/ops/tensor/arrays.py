"""NumPy arrays as the memory of tensors: aligned, in this machine's byte order, of a dtype that the IR knows."""

from __future__ import annotations

import sys
import weakref
from typing import Any, TypeGuard

import numpy as np

from graphc.errors import ArgumentTypeError, DTypeError, user_loc
from graphc.ir.types import DTYPES, TensorType, contiguous_strides, dtype_name

Array = np.ndarray[Any, np.dtype[Any]]

_ALIGNMENT = 64


def aligned(array: Array) -> Array:
    """A copy whose data start at a multiple of 64 bytes.

    Of one zero that is repeated, as `np.broadcast_to` does it, memory that nobody has touched: the system has it when it is used.
    """
    type = TensorType.of(array)
    is_zero = array.size > 0 and not any(array.strides) and not any(array[(0,) * array.ndim].tobytes())
    raw = (np.zeros if is_zero else np.empty)(type.nbytes + _ALIGNMENT, np.uint8)
    start = -raw.ctypes.data % _ALIGNMENT
    made = raw[start : start + type.nbytes].view(type.numpy).reshape(type.shape)
    if not is_zero:
        made[...] = array
    return made


def in_order(array: Array) -> Array:
    """The array, in row-major order, as every tensor is made: others are views. What NumPy repeats stays as it is."""
    return array if array.flags.c_contiguous or not array.flags.writeable else array.copy()


def elements_between(array: Array) -> tuple[int, ...]:
    """Elements from one to the next, per axis."""
    if array.flags.c_contiguous:
        return contiguous_strides(array.shape)
    return tuple(s // array.itemsize for s in array.strides)


def elements_before(array: Array) -> int:
    """How many elements stand before an array's first in the memory that it is a part of."""
    owner = _owner(array)
    first = owner.ctypes.data
    if owner.dtype != array.dtype:  # As `aligned` makes it.
        first += -first % _ALIGNMENT
    return int(array.ctypes.data - first) // array.itemsize


#: How often memory was written in place, by the id of the array that owns it. Such memory as others may write, too: _OTHERS.
_writes: dict[int, int] = {}
_OTHERS = -1


def _owner(array: Array) -> Array:
    """The array whose memory this one has, itself if it is a part of none."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array


def writes_to(array: Array) -> int:
    """How often the array's memory was written in place, through whichever array; negative where nobody can tell."""
    return _writes.get(id(_owner(array)), 0)


def note_write(array: Array, by_others: bool = False) -> None:
    """Note that memory of an array was written in place: tensors that are parts of one another share it. `by_others`: that it
    may be, at any time from now on, by whoever it was given to.
    """
    owner = _owner(array)
    key = id(owner)
    if key not in _writes:
        weakref.finalize(owner, _writes.pop, key).atexit = False
    before = _writes.get(key, 0)
    _writes[key] = _OTHERS if by_others or before == _OTHERS else before + 1


def is_masked(value: Any) -> TypeGuard[np.ma.MaskedArray[Any, Any]]:
    """Whether it is an array with masked elements. Whoever has one has imported numpy.ma; nobody else waits for that."""
    ma = sys.modules.get("numpy.ma")
    return ma is not None and isinstance(value, ma.MaskedArray) and bool(ma.is_masked(value))


def native(array: Array) -> Array:
    """The array, in this machine's byte order. ArgumentTypeError for one with masked elements."""
    if is_masked(array):
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


def narrowed(array: Array, dtype: Any, copy: bool) -> Array:
    """The array in another dtype. What is too large for it is infinite, without a word, as in casts of tensors."""
    with np.errstate(over="ignore"):
        return array.astype(dtype, copy=copy)


def plain_text(array: Array) -> str:
    """The numbers of an array as `str` of a tensor shows them: as NumPy does, of bfloat16 with six digits behind the point."""
    if dtype_name(array.dtype) != "bfloat16":
        return str(array)
    return np.array2string(array.astype(np.float32), formatter={"float_kind": lambda x: f"{x:.6f}"})


def value_text(array: Array) -> str:
    """The numbers of an array as `repr` of a tensor shows them, in MindSpore's form: of an axis of more than six elements, or of
    a vector of more than a thousand, three at either end.
    """
    before = "\n" if array.ndim > 1 else " "
    if not array.size:
        return before
    if not array.ndim:
        return before + (f"{array.item():g}" if _form(array) else _words(array.reshape(1))[0].strip())
    limit = 1000 if array.ndim == 1 else 6
    shown = array
    for axis, size in enumerate(array.shape):
        if size > limit:
            shown = np.take(shown, [0, 1, 2, size - 3, size - 2, size - 1], axis)
    words = np.array(_words(shown.reshape(-1)), object).reshape(shown.shape)
    if array.ndim == 1 and array.size <= limit:
        count = 12 if array.dtype.kind in "fb" else 24
        lines = [", ".join(words[i : i + count]) for i in range(0, array.size, count)]
        # MindSpore breaks the line behind every full one, the last included.
        end = "" if array.size % count else "\n "
        return before + "[" + ", \n ".join(lines) + end + "]"
    return before + _nested(words, array.shape, limit, 1)


def _form(array: Array) -> str:
    """How an element is formatted; "" for what is no float."""
    name = dtype_name(array.dtype)
    return {"float16": " .4e", "float32": " .8e", "float64": " .8e", "bfloat16": "g"}.get(name or "", "")


def _words(elements: Array) -> list[str]:
    """Elements as texts of one width; complex numbers as they are."""
    if elements.dtype.kind == "c":
        return [f"{x.real:g}{x.imag:+g}j" for x in elements]
    form = _form(elements)
    words = [format(float(x), form) if form else str(x) for x in elements]
    width = max(map(len, words))
    return [word.rjust(width) for word in words]


def _nested(words: Array, shape: tuple[int, ...], limit: int, depth: int) -> str:
    """Rows in brackets, one a line; `words` holds of an axis that is longer than the limit the three elements at either end."""
    cut = shape[0] > limit
    if len(shape) == 1:
        return f"[{', '.join(words[:3])} ... {', '.join(words[3:])}]" if cut else f"[{', '.join(words)}]"
    rows = [_nested(row, shape[1:], limit, depth + 1) for row in words]
    line = "\n" + " " * depth
    if cut:
        return "[" + f",{line}".join(rows[:3]) + f",{line}...{line}" + f",{line}".join(rows[3:]) + "]"
    return "[" + f",{line}".join(rows) + "]"
