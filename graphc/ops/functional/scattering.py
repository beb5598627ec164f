"""Writing where indices say: copies of tensors, parameters, segments."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from graphc.errors import ArgumentTypeError, ArgumentValueError, DTypeError, ShapeError, user_loc
from graphc.ir.types import FLOATS, INTEGERS
from graphc.ops.declared.shape import check_axis
from graphc.ops.functional.arithmetic import div, truncate_div
from graphc.ops.functional.bounds import as_index, in_bounds
from graphc.ops.functional.core import Extents, Operand, call, cast_to, is_number
from graphc.ops.functional.create import ones_like, zeros
from graphc.ops.functional.elements import beside, element_places
from graphc.ops.functional.index import Indices, coordinates, scattered, updated, write
from graphc.ops.functional.shapes import as_shape, broadcast_to, reshape
from graphc.ops.functional.state import assign_parameter
from graphc.ops.tensor.methods import method
from graphc.ops.tensor.parameter import Parameter
from graphc.ops.tensor.tensor import Tensor, as_tensor


def tensor_scatter_elements(
    input_x: Tensor, indices: Tensor, updates: Tensor, axis: int = 0, reduction: str = "none"
) -> Tensor:
    """x with the elements at places along an axis replaced, or added to (`reduction` "none", "add")."""
    at = check_axis("tensor_scatter_elements", axis, input_x.ndim)
    if reduction not in ("none", "add"):
        raise ArgumentValueError(f"reduction must be 'none' or 'add', got {reduction!r}", loc=user_loc())
    return with_elements("update" if reduction == "none" else "add", input_x, at, indices, updates)


def with_elements(mode: str, x: Tensor, axis: int, indices: Tensor, updates: Tensor) -> Tensor:
    """x with the elements at places along an axis combined with `updates`, which have the shape of the indices."""
    places = element_places("scatter", x, axis, indices)
    part = beside(x, axis, places)
    made = call("ScatterElements", part, places, cast_to(updates, x.tensor_type.dtype), axis=axis, mode=mode)
    return made if part is x else updated(x, tuple(slice(0, n) for n in part.shape), made)


@method()
def scatter(input: Tensor, axis: int, index: Tensor, src: Operand) -> Tensor:
    """x with the elements at places along an axis replaced by those of src, or by a number."""
    new = Tensor(src, input.dtype) if is_number(src) else as_tensor(src)
    return tensor_scatter_elements(input, index, broadcast_to(new, index.shape) if not new.shape else new, axis)


def tensor_scatter(mode: str, x: Tensor, indices: Indices, updates: Tensor, owner: str = "tensor_scatter") -> Tensor:
    """x with the slices at coordinates combined with `updates`."""
    flat, depth = coordinates(owner, x.shape, indices)
    rows = reshape(x, (math.prod(x.shape[:depth]), *x.shape[depth:]))
    return reshape(combined(mode, rows, flat, as_tensor(updates)), x.shape)


def combined(mode: str, x: Tensor, places: Tensor, updates: Tensor) -> Tensor:
    """As `scattered`, with "div" as well: divided by the product of what goes to a place. Quotients of integers are truncated."""
    if mode != "div":
        return scattered(mode, x, places, updates)
    factors = scattered("mul", ones_like(x), places, updates)
    return div(x, factors) if x.tensor_type.is_float else truncate_div(x, factors)


def tensor_scatter_update(input_x: Tensor, indices: Indices, updates: Tensor) -> Tensor:
    """x with the slices at coordinates replaced."""
    return tensor_scatter("update", input_x, indices, updates)


def tensor_scatter_add(input_x: Tensor, indices: Indices, updates: Tensor) -> Tensor:
    """x with `updates` added at coordinates."""
    return tensor_scatter("add", input_x, indices, updates)


def tensor_scatter_sub(input_x: Tensor, indices: Indices, updates: Tensor) -> Tensor:
    """x with `updates` subtracted at coordinates."""
    return tensor_scatter("sub", input_x, indices, updates)


def tensor_scatter_mul(input_x: Tensor, indices: Indices, updates: Tensor) -> Tensor:
    """x multiplied by `updates` at coordinates."""
    return tensor_scatter("mul", input_x, indices, updates)


def tensor_scatter_max(input_x: Tensor, indices: Indices, updates: Tensor) -> Tensor:
    """The larger of x and `updates` at coordinates."""
    return tensor_scatter("max", input_x, indices, updates)


def tensor_scatter_min(input_x: Tensor, indices: Indices, updates: Tensor) -> Tensor:
    """The smaller of x and `updates` at coordinates."""
    return tensor_scatter("min", input_x, indices, updates)


def scatter_nd(indices: Indices, updates: Tensor, shape: Extents) -> Tensor:
    """Zeros of a shape with `updates` added at coordinates."""
    return tensor_scatter("add", zeros(as_shape((shape,)), updates.dtype), indices, updates, "scatter_nd")


# ---- writing into parameters


def scatter_into(mode: str, input_x: Tensor, indices: Indices, updates: Tensor) -> Tensor:
    """Combine rows of a parameter, or of a tensor in place, with `updates`; returns the new value."""
    index = in_bounds(f"scatter_{mode}", as_index(indices), _rows(f"scatter_{mode}", input_x))
    return _written(input_x, combined(mode, input_x, index, as_tensor(updates)))


def rows_updated(x: Tensor, indices: Tensor, updates: Tensor) -> Tensor:
    """`scatter_update` at indices that are known to be in bounds."""
    return _written(x, combined("update", x, indices, updates))


def scatter_nd_into(mode: str, input_x: Tensor, indices: Indices, updates: Tensor) -> Tensor:
    """Combine slices of a parameter, or of a tensor in place, at coordinates with `updates`; returns the new value."""
    _rows(f"scatter_nd_{mode}", input_x)
    return _written(input_x, tensor_scatter(mode, input_x, indices, updates, f"scatter_nd_{mode}"))


def _rows(name: str, x: Any) -> int:
    if not isinstance(x, Tensor):
        raise ArgumentTypeError(
            f"{name}: input_x must be a Parameter or Tensor, got {type(x).__name__}", loc=user_loc()
        )
    if not x.ndim:
        raise ShapeError(f"{name}: input_x is {x.tensor_type}, expected rows", loc=user_loc())
    return x.shape[0]


def _written(x: Tensor, made: Tensor) -> Tensor:
    if isinstance(x, Parameter):
        return assign_parameter(x, made)
    write(x, ..., made)
    return x


def scatter_update(input_x: Tensor, indices: Indices, updates: Tensor) -> Tensor:
    """Replace rows of a parameter, or of a tensor in place; returns the new value."""
    return scatter_into("update", input_x, indices, updates)


def scatter_add(input_x: Tensor, indices: Indices, updates: Tensor) -> Tensor:
    """Add to rows of a parameter, or of a tensor in place; returns the new value."""
    return scatter_into("add", input_x, indices, updates)


def scatter_mul(input_x: Tensor, indices: Indices, updates: Tensor) -> Tensor:
    """Multiply rows of a parameter, or of a tensor in place; returns the new value."""
    return scatter_into("mul", input_x, indices, updates)


def scatter_div(input_x: Tensor, indices: Indices, updates: Tensor) -> Tensor:
    """Divide rows of a parameter, or of a tensor in place; returns the new value."""
    return scatter_into("div", input_x, indices, updates)


def scatter_max(input_x: Tensor, indices: Indices, updates: Tensor) -> Tensor:
    """The larger in rows of a parameter, or of a tensor in place; returns the new value."""
    return scatter_into("max", input_x, indices, updates)


def scatter_min(input_x: Tensor, indices: Indices, updates: Tensor) -> Tensor:
    """The smaller in rows of a parameter, or of a tensor in place; returns the new value."""
    return scatter_into("min", input_x, indices, updates)


def scatter_nd_update(input_x: Tensor, indices: Indices, updates: Tensor, use_locking: bool = True) -> Tensor:
    """Replace slices of a parameter, or of a tensor in place, at coordinates; returns the new value."""
    return scatter_nd_into("update", input_x, indices, updates)


def scatter_nd_add(input_x: Tensor, indices: Indices, updates: Tensor, use_locking: bool = False) -> Tensor:
    """Add to slices of a parameter, or of a tensor in place, at coordinates; returns the new value."""
    return scatter_nd_into("add", input_x, indices, updates)


def scatter_nd_sub(input_x: Tensor, indices: Indices, updates: Tensor, use_locking: bool = False) -> Tensor:
    """Subtract from slices of a parameter, or of a tensor in place, at coordinates; returns the new value."""
    return scatter_nd_into("sub", input_x, indices, updates)


def scatter_nd_mul(input_x: Tensor, indices: Indices, updates: Tensor, use_locking: bool = False) -> Tensor:
    """Multiply slices of a parameter, or of a tensor in place, at coordinates; returns the new value."""
    return scatter_nd_into("mul", input_x, indices, updates)


def scatter_nd_div(input_x: Tensor, indices: Indices, updates: Tensor, use_locking: bool = False) -> Tensor:
    """Divide slices of a parameter, or of a tensor in place, at coordinates; returns the new value."""
    return scatter_nd_into("div", input_x, indices, updates)


def scatter_nd_max(input_x: Tensor, indices: Indices, updates: Tensor, use_locking: bool = False) -> Tensor:
    """The larger in slices of a parameter, or of a tensor in place, at coordinates; returns the new value."""
    return scatter_nd_into("max", input_x, indices, updates)


def scatter_nd_min(input_x: Tensor, indices: Indices, updates: Tensor, use_locking: bool = False) -> Tensor:
    """The smaller in slices of a parameter, or of a tensor in place, at coordinates; returns the new value."""
    return scatter_nd_into("min", input_x, indices, updates)


# ---- segments


def _segments(owner: str, number: Any) -> int:
    known: Any = number.array if isinstance(number, Tensor) and number.size == 1 else number
    if isinstance(known, bool) or np.asarray(known).dtype.kind not in "iu":
        raise ArgumentTypeError(f"{owner}: num_segments must be an int, got {number!r}", loc=user_loc())
    if int(known) < 0:
        raise ArgumentValueError(f"{owner}: num_segments must not be negative, got {known}", loc=user_loc())
    return int(known)


def segment(mode: str, input_x: Tensor, segment_ids: Tensor, num_segments: int, finite: bool = True) -> Tensor:
    """Entries of the leading axes combined by segment: "add", or "max" and "min", whose empty segments hold the extremes.

    finite: that of floats is a number, as in MindSpore, where a segment of nothing but -inf has it as its maximum, too.
    """
    ids = as_index(segment_ids)
    if input_x.shape[: ids.ndim] != ids.shape:
        raise ShapeError(
            f"segment_ids are {ids.tensor_type}, which are no leading axes of {input_x.tensor_type}", loc=user_loc()
        )
    shape = (
        _segments(f"unsorted_segment_{'sum' if mode == 'add' else mode}", num_segments),
        *input_x.shape[ids.ndim :],
    )
    if mode == "add":
        start = zeros(shape, input_x.dtype)
    else:
        if input_x.tensor_type.dtype not in (*FLOATS, *INTEGERS):
            raise DTypeError(
                f"unsorted_segment_{mode}: input_x is {input_x.tensor_type}, expected real numbers", loc=user_loc()
            )
        name = input_x.tensor_type.dtype
        real = input_x.tensor_type.is_float
        kind = (
            np.finfo(name if name in ("float16", "float64") else "float32")
            if real
            else np.iinfo(input_x.tensor_type.numpy)
        )
        extreme = (kind.min, kind.max) if finite or not real else (-np.inf, np.inf)
        start = broadcast_to(Tensor(extreme[mode == "min"], input_x.dtype), shape)
    return call("Scatter", start, ids, input_x, axis=0, mode=mode)


def unsorted_segment_sum(input_x: Tensor, segment_ids: Tensor, num_segments: int) -> Tensor:
    """Sums of the entries by segment."""
    return segment("add", input_x, segment_ids, num_segments)


@method()
def unsorted_segment_max(x: Tensor, segment_ids: Tensor, num_segments: int) -> Tensor:
    """The largest of the entries of each segment."""
    return segment("max", x, segment_ids, num_segments)


@method()
def unsorted_segment_min(x: Tensor, segment_ids: Tensor, num_segments: int) -> Tensor:
    """The smallest of the entries of each segment."""
    return segment("min", x, segment_ids, num_segments)


@method()
def unsorted_segment_prod(x: Tensor, segment_ids: Tensor, num_segments: int) -> Tensor:
    """Products of the entries by segment; 1 for empty segments."""
    if x.shape[: segment_ids.ndim] != segment_ids.shape:
        raise ShapeError(
            f"segment_ids are {segment_ids.tensor_type}, which are no leading axes of {x.tensor_type}", loc=user_loc()
        )
    start = Tensor(
        np.ones((_segments("unsorted_segment_prod", num_segments), *x.shape[segment_ids.ndim :]), x.tensor_type.numpy)
    )
    return call("Scatter", start, segment_ids, x, axis=0, mode="mul")


def tensor_scatter_div(input_x: Tensor, indices: Any, updates: Tensor) -> Tensor:
    """x divided by `updates` at coordinates; quotients of integers are truncated."""
    return tensor_scatter("div", input_x, indices, updates)


def _rows_at(indices: Any) -> Tensor:
    """Numbers of rows: one, or several."""
    return reshape(as_index(indices), (-1,))


def inplace_add(x: Tensor, v: Tensor, indices: Any) -> Tensor:
    """A copy of x with rows of v added at the indices."""
    return scattered("add", x, _rows_at(indices), v)


def inplace_sub(x: Tensor, v: Tensor, indices: Any) -> Tensor:
    """A copy of x with rows of v subtracted at the indices."""
    return scattered("sub", x, _rows_at(indices), v)


def inplace_update(x: Tensor, v: Tensor, indices: Any) -> Tensor:
    """A copy of x with rows of v at the indices."""
    return scattered("update", x, _rows_at(indices), v)


__all__ = [
    "inplace_add",
    "inplace_sub",
    "inplace_update",
    "scatter",
    "scatter_add",
    "scatter_div",
    "scatter_max",
    "scatter_min",
    "scatter_mul",
    "scatter_nd",
    "scatter_nd_add",
    "scatter_nd_div",
    "scatter_nd_max",
    "scatter_nd_min",
    "scatter_nd_mul",
    "scatter_nd_sub",
    "scatter_nd_update",
    "scatter_update",
    "tensor_scatter_add",
    "tensor_scatter_div",
    "tensor_scatter_elements",
    "tensor_scatter_max",
    "tensor_scatter_min",
    "tensor_scatter_mul",
    "tensor_scatter_sub",
    "tensor_scatter_update",
    "unsorted_segment_max",
    "unsorted_segment_min",
    "unsorted_segment_prod",
    "unsorted_segment_sum",
]
