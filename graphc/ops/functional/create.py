"""Tensors made of numbers: filled, counted, spaced."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from graphc import dispatch
from graphc.errors import ArgumentTypeError, ArgumentValueError, DTypeError, ShapeError, user_loc
from graphc.ops.functional.core import Number, Operand, Real, Shape, bound_in, call, cast, in_range, is_number, pythons
from graphc.ops.functional.dynamic_sizes import with_rooms
from graphc.ops.functional.operand_checks import require_at_least
from graphc.ops.functional.shapes import as_shape, broadcast_to, reshape
from graphc.ops.tensor.deferred import Deferred
from graphc.ops.tensor.dtype import float32, int64, to_name
from graphc.ops.tensor.methods import method
from graphc.ops.tensor.sparse import Sparse
from graphc.ops.tensor.tensor import Tensor, as_tensor
from graphc.ops.tensor.tree import map_values
from graphc.validation.checks import integer

#: Sizes, one of them, or a tensor of them.


def fill(type: Any, shape: Shape, value: Operand) -> Tensor:
    """A tensor filled with one number, or with the one element of a tensor. ArgumentTypeError for anything else."""
    return _filled("fill", "value", to_name(type), as_shape((with_rooms(shape),)), value)


def _filled(owner: str, name: str, dtype: str, shape: tuple[int, ...], value: Any) -> Tensor:
    if isinstance(value, Deferred):
        value = value.tensor()
    if isinstance(value, Tensor) and value.size == 1:
        return broadcast_to(cast(reshape(value, ()), dtype), shape)
    if not is_number(value):
        held = f"a tensor {value.tensor_type}" if isinstance(value, Tensor) else type(value).__name__
        raise ArgumentTypeError(f"{owner}: {name} must be a number, got {held}", loc=user_loc())
    return call("Fill", dtype=dtype, shape=shape, value=in_range(value, dtype))


def full(size: Shape, fill_value: Operand, *, dtype: Any = None) -> Tensor:
    """A tensor filled with one number; its dtype is the number's unless given. Errors as for `fill`."""
    fill_value = pythons(fill_value)
    known = as_tensor(fill_value).dtype if isinstance(fill_value, Tensor) or is_number(fill_value) else None
    # What is neither is refused, whatever the dtype.
    return _filled(
        "full",
        "fill_value",
        to_name(dtype if dtype is not None else known or "float32"),
        as_shape((with_rooms(size),)),
        fill_value,
    )


def zeros(size: Shape, dtype: Any = None) -> Tensor:
    """Zeros; float32 by default."""
    return fill("float32" if dtype is None else dtype, size, 0)


def ones(shape: Shape, dtype: Any = None) -> Tensor:
    """Ones; float32 by default."""
    return fill("float32" if dtype is None else dtype, shape, 1)


def zeros_like(input: Any, dtype: Any = None) -> Tensor:
    """Zeros in the shape and dtype of a tensor, or of each tensor of a nest."""
    made: Tensor = _like(input, 0, dtype)
    return made


def ones_like(input: Any, dtype: Any = None) -> Tensor:
    """Ones in the shape and dtype of a tensor, or of each tensor of a nest."""
    made: Tensor = _like(input, 1, dtype)
    return made


def _like(x: Any, value: Number, dtype: Any) -> Any:
    if isinstance(x, (tuple, list, dict, Sparse)):
        return map_values(lambda t: fill(t.dtype if dtype is None else dtype, t.shape, value), x)
    return fill(x.dtype if dtype is None else dtype, x.shape, value)


# ---- making


def _number(owner: str, x: Any) -> Any:
    """A number, or the one in a tensor, as Python's. ArgumentTypeError for anything else."""
    array = dispatch.known_array(x) if isinstance(x, Tensor) else None
    known = x.item() if isinstance(x, np.generic) else x if array is None else array.item()
    if not isinstance(known, (int, float)):
        raise ArgumentTypeError(f"{owner}: expected numbers, got {type(known).__name__}", loc=user_loc())
    return known


def _require_count(owner: str, name: str, value: Any) -> None:
    """ArgumentTypeError, or ArgumentValueError, unless a value is a number of things."""
    integer(owner, name, value)
    if value < 0:
        raise ArgumentValueError(f"{owner}: {name} must be at least 0, got {value}", loc=user_loc())


def arange(start: Real = 0, end: Real | None = None, step: Real = 1, *, dtype: Any = None) -> Tensor:
    """start, start + step, ... before end; int64, or float32 if a float is among them. The numbers are known when compiling.

    ArgumentValueError for a step that leads away from end.
    """
    if end is None:
        start, end = 0, with_rooms(start)
    first, last, by = (_number("arange", v) for v in (start, end, step))
    if by == 0:
        raise ArgumentValueError("arange: step must not be 0", loc=user_loc())
    if not all(map(math.isfinite, (first, last, by))):
        raise ArgumentValueError(f"arange: {first}, {last} and {by} must be finite", loc=user_loc())
    if (last - first) * by < 0:
        raise ArgumentValueError(f"arange: from {first} to {last} no step is {by}", loc=user_loc())
    if dtype is None:
        dtype = "float32" if any(isinstance(v, float) for v in (first, last, by)) else "int64"
    return Tensor.wrap(np.arange(first, last, by).astype(to_name(dtype)))


def range_(start: Real, end: Real | None = None, step: Real = 1, maxlen: int = 1000000, *, dtype: Any = None) -> Tensor:
    """start, start + step, ... before end."""
    return arange(start, end, step, dtype=dtype)


def linspace(start: Operand, end: Operand, steps: int, *, dtype: Any = None) -> Tensor:
    """`steps` numbers at equal distances from start to end; by default float32, or float64 if one of them is a tensor of that."""
    count = _number("linspace", steps)
    _require_count("linspace", "steps", count)
    if dtype is None and any(isinstance(x, Tensor) and x.tensor_type.dtype == "float64" for x in (start, end)):
        dtype = "float64"
    return _spaced("linspace", start, end, count, to_name(dtype) if dtype is not None else "float32")


def _spaced(owner: str, start: Any, end: Any, count: int, name: str) -> Tensor:
    """`count` numbers at equal distances in a dtype. ArgumentTypeError for ends that are no numbers, ShapeError."""
    number = partial(_number, owner)
    for x in (start, end):
        if isinstance(x, Tensor) and x.size != 1:
            raise ShapeError(f"{owner}: {x.tensor_type} is not one number", loc=user_loc())
    if all(type(x) is Tensor and x.array is not None for x in (start, end) if isinstance(x, Tensor)):
        return Tensor.wrap(np.linspace(number(start), number(end), count).astype(name))
    wide = "float64" if name == "float64" else "float32"
    share = np.linspace(0, 1, count)
    ends = [reshape(cast(x, wide), ()) if isinstance(x, Tensor) else Tensor(number(x), wide) for x in (start, end)]
    parts = [call("Mul", x, Tensor.wrap(s.astype(wide))) for x, s in zip(ends, (1 - share, share), strict=True)]
    return cast(call("Add", *parts), name)


def eye(n: int, m: int | None = None, dtype: Any = None) -> Tensor:
    """Ones on the diagonal of n rows and m columns; float32 by default."""
    for name, size in (("n", n), ("m", m)):
        if size is not None:
            _require_count("eye", name, size)
    return Tensor.wrap(np.eye(n, m, dtype=to_name(dtype) if dtype is not None else "float32"))


def full_like(input: Tensor, fill_value: Operand, *, dtype: Any = None) -> Tensor:
    """One number in the shape, and by default the dtype, of a tensor."""
    return full(input.shape, fill_value, dtype=dtype if dtype is not None else input.dtype)


@method()
def fills(x: Tensor, value: Operand) -> Tensor:
    """One number in the shape and dtype of a tensor."""
    one = bound_in(value, x.tensor_type.dtype)
    if one.ndim:
        raise ShapeError(f"fills: value is {one.tensor_type}, expected one number without axes", loc=user_loc())
    return broadcast_to(one, x.shape)


def eps(x: Tensor) -> Tensor:
    """The distance from 1 to the next number of x's dtype, in x's shape (MindSpore: ops.eps). DTypeError unless x is of
    floats.
    """
    if not x.tensor_type.is_float:
        raise DTypeError(f"eps: x is {x.tensor_type}, expected floats", loc=user_loc())
    bits = {"bfloat16": 7, "float16": 10, "float32": 23, "float64": 52}[x.tensor_type.dtype]
    return full_like(x, 2.0**-bits)


def scalar_to_tensor(input_x: Operand, dtype: Any = float32) -> Tensor:
    """A number as a tensor without axes; float32 by default, also for integers."""
    return Tensor(input_x, dtype)


def tuple_to_array(input_x: Sequence[Number]) -> Tensor:
    """Numbers of one type as a vector: int32 or float32."""
    if not isinstance(input_x, (tuple, list)) or len({type(x) for x in input_x}) != 1:
        raise ArgumentTypeError(f"tuple_to_array needs numbers of one type, got {input_x}", loc=user_loc())
    return Tensor(list(input_x), "int32" if isinstance(input_x[0], int) else "float32")


def logspace(start: Operand, end: Operand, steps: int, base: int = 10, *, dtype: Any = float32) -> Tensor:
    """base to the power of `steps` numbers at equal distances; start and end, numbers or tensors of one, have gradients."""
    _require_count("logspace", "steps", steps)
    require_at_least("logspace", "base", base, 0)
    return cast(call("Pow", Tensor(np.float64(base)), _spaced("logspace", start, end, steps, "float64")), dtype)


def tril_indices(row: int, col: int, offset: int = 0, *, dtype: Any = int64) -> Tensor:
    """[2, count]: rows and columns on and below a diagonal."""
    _require_count("tril_indices", "row", row)
    _require_count("tril_indices", "col", col)
    return cast(Tensor(np.stack(np.tril_indices(row, offset, col))), dtype)


def triu_indices(row: int, col: int, offset: int = 0, *, dtype: Any = int64) -> Tensor:
    """[2, count]: rows and columns on and above a diagonal."""
    _require_count("triu_indices", "row", row)
    _require_count("triu_indices", "col", col)
    return cast(Tensor(np.stack(np.triu_indices(row, offset, col))), dtype)


__all__ = [
    "arange",
    "eps",
    "eye",
    "fill",
    "fills",
    "full",
    "full_like",
    "linspace",
    "logspace",
    "ones",
    "ones_like",
    "scalar_to_tensor",
    "tril_indices",
    "triu_indices",
    "tuple_to_array",
    "zeros",
    "zeros_like",
]
