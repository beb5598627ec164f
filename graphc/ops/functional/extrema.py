"""Largest and smallest elements, and where they are."""

from __future__ import annotations

from typing import Any

from graphc.errors import ArgumentValueError, user_loc
from graphc.ops.declared.shape import check_axis
from graphc.ops.functional.core import Axis, Operand, call, cast, cast_to
from graphc.ops.functional.create import arange, zeros_like
from graphc.ops.functional.elementwise import equal, maximum, minimum, neg, sub
from graphc.ops.functional.integers import bitwise_not
from graphc.ops.functional.logic import select
from graphc.ops.functional.reduce import reduce_max, reduce_min, reduce_sum
from graphc.ops.functional.shapes import expand_dims, reshape
from graphc.ops.tensor.methods import method
from graphc.ops.tensor.tensor import Tensor


@method()
def amax(
    input: Tensor, axis: Axis = None, keepdims: bool = False, *, initial: Operand | None = None, where: Any = None
) -> Tensor:
    """The largest element over axes. `where` chooses the elements that count, `initial` bounds the result from below."""
    return _extremum(input, axis, keepdims, initial, where, True)


@method()
def amin(
    input: Tensor, axis: Axis = None, keepdims: bool = False, *, initial: Operand | None = None, where: Any = None
) -> Tensor:
    """The smallest element over axes. `where` chooses the elements that count, `initial` bounds the result from above."""
    return _extremum(input, axis, keepdims, initial, where, False)


def _extremum(x: Tensor, axis: Axis, keep: bool, initial: Any, where: Any, largest: bool) -> Tensor:
    if where is not None:
        if initial is None:
            raise ArgumentValueError("an extremum with `where` needs `initial`", loc=user_loc())
        x = select(where, x, cast(initial, x.dtype))
    made = (reduce_max if largest else reduce_min)(x, axis, keep)
    return made if initial is None else (maximum if largest else minimum)(made, cast(initial, x.dtype))


def argmax(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Tensor:
    """int64: the place of the first largest element along an axis, or in the flattened tensor."""
    return place(input, dim, keepdim, True, "int64")


@method()
def argmin(input: Tensor, axis: int | None = None, keepdims: bool = False) -> Tensor:
    """int32: the place of the first smallest element along an axis, or in the flattened tensor."""
    return place(input, axis, keepdims, False, "int32")


def place(x: Tensor, axis: int | None, keep: bool, largest: bool, dtype: str) -> Tensor:
    """The place of the first extremum; without an axis that in the flattened tensor, and nothing is kept, as in MindSpore."""
    if not x.ndim and axis in (None, 0, -1):
        return zeros_like(x, "int64")
    if axis is None:
        return place(reshape(x, (-1,)), 0, False, largest, dtype)
    at = check_axis("argmax" if largest else "argmin", axis, x.ndim)
    if x.tensor_type.dtype not in ("int32", "int64", "uint32", "uint64", "float64"):
        x = cast_to(x, "float32")
    if not largest:
        # -x of the least integer overflows, -1 - x does not.
        x = neg(x) if x.tensor_type.is_float else bitwise_not(x)
    made = call("Argmax", x, axis=at, dtype=dtype)
    return expand_dims(made, at) if keep else made


def arg_with_value(x: Tensor, axis: int, keep: bool, largest: bool, dtype: str = "int64") -> tuple[Tensor, Tensor]:
    """(places, values) of the first extrema along an axis; only those elements have a gradient."""
    if x.ndim == 0:
        return zeros_like(x, dtype), x.value()
    at = check_axis("argmax" if largest else "argmin", axis, x.ndim)
    index = place(x, at, True, largest, dtype)
    chosen = equal(arange_along(x, at, dtype), index)
    values = cast_to(reduce_sum(select(chosen, x, 0), at, keep), x.tensor_type.dtype)
    return (index if keep else reshape(index, values.shape)), values


def arange_along(x: Tensor, axis: int, dtype: str) -> Tensor:
    """0, 1, ... along an axis, with size 1 elsewhere."""
    count = x.shape[axis]
    return reshape(arange(0, count, dtype=dtype), tuple(count if i == axis else 1 for i in range(x.ndim)))


def max_(
    input: Tensor, axis: int | None = None, keepdims: bool = False, *, initial: Operand | None = None, where: Any = None
) -> Any:
    """(values, places) of the largest elements along an axis; without an axis the largest element and 0."""
    return _with_places(input, axis, keepdims, initial, where, True)


def min_(
    input: Tensor, axis: int | None = None, keepdims: bool = False, *, initial: Operand | None = None, where: Any = None
) -> Any:
    """(values, places) of the smallest elements along an axis; without an axis the smallest element and 0."""
    return _with_places(input, axis, keepdims, initial, where, False)


def _with_places(x: Tensor, axis: int | None, keep: bool, initial: Any, where: Any, largest: bool) -> Any:
    if axis is None:
        return _extremum(x, None, False, initial, where, largest), Tensor(0)
    if initial is not None:
        initial = cast(initial, x.dtype)
        x = (maximum if largest else minimum)(x, initial)
    if where is not None:
        x = select(where, x, initial)
    places, values = arg_with_value(x, axis, keep, largest)
    return values, places


@method()
def aminmax(input: Tensor, *, axis: int | None = 0, keepdims: bool = False) -> tuple[Tensor, Tensor]:
    """The smallest and the largest element along an axis; the gradient of each goes to the first of equal ones."""
    if axis is None:
        return amin(input, None, keepdims), amax(input, None, keepdims)
    return min_(input, axis, keepdims)[0], max_(input, axis, keepdims)[0]


@method()
def ptp(x: Tensor, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """The largest minus the smallest element over axes."""
    return sub(amax(x, axis, keepdims), amin(x, axis, keepdims))


__all__ = [
    "amax",
    "amin",
    "aminmax",
    "argmax",
    "argmin",
    "ptp",
]
