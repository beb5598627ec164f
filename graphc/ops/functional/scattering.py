"""Writing where indices say: copies of tensors, parameters, segments."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from graphc.errors import ArgumentTypeError, ArgumentValueError, ShapeError, user_loc
from graphc.ops.declared.shape import check_axis
from graphc.ops.functional.arithmetic import div
from graphc.ops.functional.core import Operand, call, is_number
from graphc.ops.functional.create import zeros
from graphc.ops.functional.index import Indices, as_index, coordinates, element_places, scattered, wrapped
from graphc.ops.functional.shapes import as_shape, broadcast_to, reshape
from graphc.ops.functional.state import assign
from graphc.ops.tensor.methods import method
from graphc.ops.tensor.tensor import Parameter, Tensor, as_tensor


def tensor_scatter_elements(
    input_x: Tensor, indices: Tensor, updates: Tensor, axis: int = 0, reduction: str = "none"
) -> Tensor:
    """x with the elements at places along an axis replaced, or added to (`reduction` "none", "add")."""
    at = check_axis("tensor_scatter_elements", axis, input_x.ndim)
    if reduction not in ("none", "add"):
        raise ArgumentValueError(f"reduction must be 'none' or 'add', got {reduction!r}", loc=user_loc())
    flat = element_places(input_x.shape, at, as_index(indices))
    mode = "update" if reduction == "none" else "add"
    made = scattered(mode, reshape(input_x, (-1,)), reshape(flat, (-1,)), reshape(updates, (-1,)))
    return reshape(made, input_x.shape)


@method()
def scatter(input: Tensor, axis: int, index: Tensor, src: Operand) -> Tensor:
    """x with the elements at places along an axis replaced by those of src, or by a number."""
    new = Tensor(src, input.dtype) if is_number(src) else as_tensor(src)
    return tensor_scatter_elements(input, index, broadcast_to(new, index.shape) if not new.shape else new, axis)


def tensor_scatter(mode: str, x: Tensor, indices: Indices, updates: Tensor) -> Tensor:
    """x with the slices at coordinates combined with `updates`."""
    flat, depth = coordinates(x.shape, indices)
    rows = reshape(x, (math.prod(x.shape[:depth]), *x.shape[depth:]))
    return reshape(scattered(mode, rows, flat, as_tensor(updates)), x.shape)


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


def scatter_nd(indices: Indices, updates: Tensor, shape: Any) -> Tensor:
    """Zeros of a shape with `updates` added at coordinates."""
    return tensor_scatter("add", zeros(as_shape((shape,)), updates.dtype), indices, updates)


# ---- writing into parameters


def _parameter(name: str, x: Any) -> Parameter:
    if not isinstance(x, Parameter):
        raise ArgumentTypeError(f"{name}: input_x must be a Parameter, got {type(x).__name__}", loc=user_loc())
    return x


def scatter_into(mode: str, input_x: Parameter, indices: Indices, updates: Tensor) -> Tensor:
    """Combine rows of a parameter with `updates`; returns the new value."""
    p = _parameter(f"scatter_{mode}", input_x)
    return assign(p, scattered(mode, p, wrapped(as_index(indices), p.shape[0]), as_tensor(updates)))


def scatter_nd_into(mode: str, input_x: Parameter, indices: Indices, updates: Tensor) -> Tensor:
    """Combine slices of a parameter at coordinates with `updates`; returns the new value."""
    p = _parameter(f"scatter_nd_{mode}", input_x)
    return assign(p, tensor_scatter(mode, p, indices, updates))


def scatter_update(input_x: Parameter, indices: Indices, updates: Tensor) -> Tensor:
    """Replace rows of a parameter."""
    return scatter_into("update", input_x, indices, updates)


def scatter_add(input_x: Parameter, indices: Indices, updates: Tensor) -> Tensor:
    """Add to rows of a parameter."""
    return scatter_into("add", input_x, indices, updates)


def scatter_nd_update(input_x: Parameter, indices: Indices, updates: Tensor) -> Tensor:
    """Replace slices of a parameter at coordinates."""
    return scatter_nd_into("update", input_x, indices, updates)


def scatter_nd_add(input_x: Parameter, indices: Indices, updates: Tensor, use_locking: bool = False) -> Tensor:
    """Add to slices of a parameter at coordinates. use_locking: says how, not what."""
    return scatter_nd_into("add", input_x, indices, updates)


# ---- segments


def segment(mode: str, input_x: Tensor, segment_ids: Tensor, num_segments: int) -> Tensor:
    """Entries of the leading axes combined by segment: "add", or "max" and "min", whose empty segments hold the extremes."""
    ids = as_index(segment_ids)
    if input_x.shape[: ids.ndim] != ids.shape:
        raise ShapeError(f"segment_ids are {ids.type}, which are no leading axes of {input_x.type}", loc=user_loc())
    shape = (int(num_segments), *input_x.shape[ids.ndim :])
    if mode == "add":
        start = zeros(shape, input_x.dtype)
    else:
        kind = np.finfo(np.float32) if input_x.type.is_float else np.iinfo(input_x.type.numpy)
        start = broadcast_to(Tensor(kind.min if mode == "max" else kind.max, input_x.dtype), shape)
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
        raise ShapeError(f"segment_ids are {segment_ids.type}, which are no leading axes of {x.type}", loc=user_loc())
    start = Tensor(np.ones((int(num_segments), *x.shape[segment_ids.ndim :]), x.type.numpy))
    return call("Scatter", start, segment_ids, x, axis=0, mode="mul")


def tensor_scatter_div(input_x: Tensor, indices: Any, updates: Tensor) -> Tensor:
    """x divided by `updates` at coordinates."""
    return tensor_scatter_mul(input_x, indices, div(1.0, updates))


def inplace_add(x: Tensor, v: Tensor, indices: Any) -> Tensor:
    """A copy of x with rows of v added at the indices."""
    return scattered("add", x, Tensor(np.atleast_1d(np.asarray(indices, np.int32))), v)


def inplace_sub(x: Tensor, v: Tensor, indices: Any) -> Tensor:
    """A copy of x with rows of v subtracted at the indices."""
    return scattered("sub", x, Tensor(np.atleast_1d(np.asarray(indices, np.int32))), v)


def inplace_update(x: Tensor, v: Tensor, indices: Any) -> Tensor:
    """A copy of x with rows of v at the indices."""
    return scattered("update", x, Tensor(np.atleast_1d(np.asarray(indices, np.int32))), v)


__all__ = [
    "inplace_add",
    "inplace_sub",
    "inplace_update",
    "scatter",
    "scatter_add",
    "scatter_nd",
    "scatter_nd_add",
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
