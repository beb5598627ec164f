"""Indexing as NumPy does it, reading and writing; gather and scatter along axes and by coordinates."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from graphc.errors import ArgumentTypeError, ArgumentValueError, ShapeError, TraceError, user_loc
from graphc.ops import dispatch
from graphc.ops.functional.core import IndexRangeError, Operand, as_bool, call, cast, cast_to, is_number
from graphc.ops.functional.create import zeros
from graphc.ops.functional.extra_reduce import arange_along
from graphc.ops.functional.extra_shape import arange, moveaxis
from graphc.ops.functional.math import add, less, mul, neg, select
from graphc.ops.functional.shape import as_shape, broadcast_to, reshape
from graphc.ops.functional.shape import getitem as basic
from graphc.ops.functional.state import assign
from graphc.ops.shape import check_axis
from graphc.ops.tensor import Parameter, Tensor, as_tensor

Indices = Tensor | Sequence[Any]


def _gathered(x: Tensor, indices: Tensor, axis: int) -> Tensor:
    """Rows along an axis, of any dtype."""
    if x.type.dtype == "bool":
        return as_bool(call("Gather", cast_to(x, "int32"), indices, axis=axis))
    return call("Gather", x, indices, axis=axis)


def scattered(mode: str, x: Tensor, indices: Tensor, updates: Tensor, axis: int = 0) -> Tensor:
    """x with rows along an axis combined with `updates`, which are cast to x's dtype. indices: int32 or int64."""
    updates = cast_to(updates, x.type.dtype)
    if mode == "sub":
        mode, updates = "add", neg(updates)
    return call("Scatter", x, indices, updates, axis=axis, mode=mode)


def _index(x: Any) -> Tensor:
    """An index of any integer dtype in one that kernels know."""
    index = as_tensor(x if isinstance(x, Tensor) else np.asarray(x))
    return index if index.type.dtype in ("int32", "int64") else cast_to(index, "int32")


def _wrapped(index: Tensor, size: int) -> Tensor:
    """Negative indices counted from the end."""
    if index.array is not None and type(index) is Tensor:
        return Tensor.wrap(np.where(index.array < 0, index.array + size, index.array).astype(index.array.dtype))
    return select(less(index, 0), add(index, size), index)


# ---- x[index]


def index_(x: Tensor, index: Any) -> Tensor:
    """x[index] for integers, slices, `...`, None, bools, lists, integer tensors, and tuples of them, as in NumPy.

    A bool tensor is an index only where its value is known, because the result's shape depends on it: TraceError GC101 in
    a compiled Cell.
    """
    items = [_plain(i) for i in (index if isinstance(index, tuple) else (index,))]
    if any(isinstance(i, Tensor) and i.type.dtype == "bool" for i in items):
        items = [part for i in items for part in _places_of(i)]
    if not any(isinstance(i, Tensor) for i in items):
        return basic(x, tuple(items))
    return _advanced(x, items)


def _plain(item: Any) -> Any:
    if isinstance(item, (list, np.ndarray)):
        if any(isinstance(i, Tensor) for i in item):
            from graphc.ops.functional.shape import stack

            return stack([as_tensor(i) for i in item])
        array = np.asarray(item)
        return Tensor.wrap(array if array.size else array.astype(np.int32))
    if isinstance(item, (bool, np.bool_)):
        if not item:
            raise ArgumentTypeError("False is no index: it would take nothing", loc=user_loc())
        return None
    if isinstance(item, slice):
        return slice(*(_known(v) for v in (item.start, item.stop, item.step)))
    if isinstance(item, Tensor) and not item.shape and item.type.dtype != "bool" and type(item) is Tensor:
        return item.item()
    return item


def _known(bound: Any) -> Any:
    if isinstance(bound, Tensor):
        if bound.array is None:
            raise TraceError(
                "the bounds of a slice must be known when the Cell is compiled, one is a traced tensor",
                code="GC120",
                loc=user_loc(),
                help="take the elements with ops.gather, or choose among them with ops.select",
            )
        return int(bound.array.item())
    return bound


def _places_of(item: Any) -> list[Any]:
    """A bool index as integer ones, one per axis."""
    if not isinstance(item, Tensor) or item.type.dtype != "bool":
        return [item]
    if item.array is None:
        raise TraceError(
            "a bool tensor as an index makes a result whose shape depends on its values",
            code="GC120",
            loc=user_loc(),
            details=[f"the index is {item.type}"],
            help="keep the shape: ops.select(mask, x, 0), or ops.masked_fill",
        )
    if not item.shape:
        return [_plain(bool(item.array))]
    return [Tensor.wrap(places) for places in np.nonzero(item.array)]


def _advanced(x: Tensor, items: list[Any]) -> Tensor:
    """An index with integer tensors: slices first, then one gather over the axes that tensors walk."""
    used = sum(1 for i in items if i is not None and i is not Ellipsis)
    if used > x.ndim:
        raise IndexRangeError(f"too many indices ({used}) for {x.type}", loc=user_loc())
    at = next((k for k, i in enumerate(items) if i is Ellipsis), len(items))
    kinds = (Tensor, int, np.integer)
    # As in NumPy: what stands between two such indices sends their axes to the front, even `...` for no axes.
    parted = any(isinstance(i, kinds) for i in items[:at]) and any(isinstance(i, kinds) for i in items[at + 1 :])
    items[at : at + 1] = [slice(None)] * (x.ndim - used)
    walked = [isinstance(i, kinds) for i in items]
    x = basic(x, tuple(slice(None) if w else i for i, w in zip(items, walked, strict=True)))
    axes = [k for k, w in enumerate(walked) if w]
    indices = [_index(items[k]) for k in axes]
    shape = np.broadcast_shapes(*(i.shape for i in indices))
    flat: Tensor | None = None
    for axis, index in zip(axes, indices, strict=True):
        step = _wrapped(index, x.shape[axis])
        flat = step if flat is None else add(mul(flat, x.shape[axis]), step)
    assert flat is not None
    if flat.shape != shape:
        flat = broadcast_to(flat, shape)
    first = axes[0] if axes == list(range(axes[0], axes[-1] + 1)) and not parted else 0
    x = moveaxis(x, tuple(axes), tuple(range(first, first + len(axes))))
    lead, rest = x.shape[:first], x.shape[first + len(axes) :]
    return _gathered(reshape(x, (*lead, math.prod(x.shape[first : first + len(axes)]), *rest)), flat, first)


# ---- x[index] = value


def updated(x: Tensor, index: Any, value: Operand | Sequence[Any]) -> Tensor:
    """A copy of x in which x[index] is `value`, broadcast and cast to x's dtype."""
    new = value if isinstance(value, Tensor) else Tensor(np.asarray(value).astype(x.type.numpy))
    new = cast_to(new, x.type.dtype)
    if isinstance(index, Tensor) and index.type.dtype == "bool" and (index.array is None or new.size == 1):
        mask = reshape(index, index.shape + (1,) * (x.ndim - index.ndim))
        return select(mask, new, x)
    if x.size == 0:
        return x
    places = index_(reshape(arange(0, x.size, dtype="int32"), x.shape), index)
    lead = max(new.ndim - places.ndim, 0)
    if any(d != 1 for d in new.shape[:lead]):
        raise ShapeError(f"a value {new.type} cannot be written to elements of shape {places.shape}", loc=user_loc())
    new = broadcast_to(reshape(new, new.shape[lead:]), places.shape)
    flat = scattered("update", reshape(x, (-1,)), reshape(places, (-1,)), reshape(new, (-1,)))
    return reshape(flat, x.shape)


def write(x: Tensor, index: Any, value: Any) -> None:
    """x[index] = value in place. In a compiled Cell the name stands for the new tensor; a Parameter is assigned."""
    made = updated(x, index, value)
    if isinstance(x, Parameter):
        assign(x, made)
    elif dispatch.recorder.get() is None:
        array = dispatch.require_array(x)
        array[...] = made.asnumpy()
    else:
        replace(x, made)


def replace(x: Tensor, made: Tensor) -> None:
    """Let the object x stand for another tensor of its type."""
    active: Any = dispatch.recorder.get()
    if not hasattr(made, "handle"):
        made = active.wrap(active.resolve(made))
    if not hasattr(x, "handle"):
        raise TraceError(
            "a tensor that is a constant of the compiled Cell cannot be changed",
            code="GC133",
            loc=user_loc(),
            help="make a copy first, x = x + 0, or hold the state in a Parameter",
        )
    x.handle = made.handle  # type: ignore[attr-defined]
    x._array = made.array


# ---- along an axis


def gather_elements(input: Tensor, dim: int, index: Tensor) -> Tensor:
    """y[i][j][k] = x[i][index[i][j][k]][k] for dim 1, and so on: x's elements at places along an axis."""
    axis = check_axis("gather_elements", dim, input.ndim)
    flat = _element_places(input.shape, axis, _index(index))
    return reshape(_gathered(reshape(input, (-1,)), reshape(flat, (-1,)), 0), index.shape)


def gather_d(x: Tensor, dim: int, index: Tensor) -> Tensor:
    """As gather_elements."""
    return gather_elements(x, dim, index)


def _element_places(shape: tuple[int, ...], axis: int, index: Tensor) -> Tensor:
    """The flat places in a tensor of `shape` that an index along an axis means."""
    if index.ndim != len(shape):
        raise ShapeError(f"the index is {index.type}, expected {len(shape)} axes for shape {shape}", loc=user_loc())
    flat: Operand = 0
    for k, size in enumerate(shape):
        step = _wrapped(index, size) if k == axis else arange_along(index, k, index.type.dtype)
        flat = step if k == 0 else add(mul(flat, size), step)
    return broadcast_to(as_tensor(flat), index.shape)


def tensor_scatter_elements(
    input_x: Tensor, indices: Tensor, updates: Tensor, axis: int = 0, reduction: str = "none"
) -> Tensor:
    """x with the elements at places along an axis replaced, or added to (`reduction` "none", "add")."""
    at = check_axis("tensor_scatter_elements", axis, input_x.ndim)
    if reduction not in ("none", "add"):
        raise ArgumentValueError(f"reduction must be 'none' or 'add', got {reduction!r}", loc=user_loc())
    flat = _element_places(input_x.shape, at, _index(indices))
    mode = "update" if reduction == "none" else "add"
    made = scattered(mode, reshape(input_x, (-1,)), reshape(flat, (-1,)), reshape(updates, (-1,)))
    return reshape(made, input_x.shape)


def scatter(input: Tensor, axis: int, index: Tensor, src: Operand) -> Tensor:
    """x with the elements at places along an axis replaced by those of src, or by a number."""
    new = Tensor(src, input.dtype) if is_number(src) else as_tensor(src)
    return tensor_scatter_elements(input, index, broadcast_to(new, index.shape) if not new.shape else new, axis)


def index_select(input: Tensor, axis: int, index: Tensor) -> Tensor:
    """Entries of an axis."""
    at = check_axis("index_select", axis, input.ndim)
    return _gathered(input, _wrapped(_index(index), input.shape[at]), at)


def take(input: Tensor, index: Any, axis: int | None = None, mode: str = "clip") -> Tensor:
    """Entries of an axis, of the flattened tensor by default."""
    x = reshape(input, (-1,)) if axis is None else input
    return index_select(x, 0 if axis is None else axis, _index(index))


def index_add(x: Tensor, indices: Indices, y: Tensor, axis: int, **_: Any) -> Tensor:
    """x with entries of y added to those of an axis; a Parameter is assigned."""
    at = check_axis("index_add", axis, x.ndim)
    made = scattered("add", x, _wrapped(_index(indices), x.shape[at]), y, at)
    return assign(x, made) if isinstance(x, Parameter) else made


def index_fill(x: Tensor, axis: int, index: Any, value: Operand) -> Tensor:
    """x with entries of an axis filled with a number."""
    at = check_axis("index_fill", axis, x.ndim)
    where = _index(index)
    where = reshape(where, (-1,))
    shape = (*x.shape[:at], where.size, *x.shape[at + 1 :])
    return scattered("update", x, _wrapped(where, x.shape[at]), broadcast_to(cast(value, x.dtype), shape), at)


# ---- by coordinates


def _coordinates(shape: tuple[int, ...], indices: Indices) -> tuple[Tensor, int]:
    """Flat places of coordinates (the last axis of `indices`), and how many axes they name."""
    index = _index(indices)
    depth = index.shape[-1] if index.ndim else 1
    if not index.ndim or depth > len(shape):
        raise ShapeError(f"coordinates are {index.type}, shape {shape} has {len(shape)} axes", loc=user_loc())
    flat: Operand = 0
    for k in range(depth):
        step = _wrapped(basic(index, (..., k)), shape[k])
        flat = step if k == 0 else add(mul(flat, shape[k]), step)
    return as_tensor(flat), depth


def gather_nd(input_x: Tensor, indices: Indices) -> Tensor:
    """The slices of x at coordinates."""
    flat, depth = _coordinates(input_x.shape, indices)
    return _gathered(reshape(input_x, (math.prod(input_x.shape[:depth]), *input_x.shape[depth:])), flat, 0)


def tensor_scatter(mode: str, x: Tensor, indices: Indices, updates: Tensor) -> Tensor:
    """x with the slices at coordinates combined with `updates`."""
    flat, depth = _coordinates(x.shape, indices)
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
    return assign(p, scattered(mode, p, _wrapped(_index(indices), p.shape[0]), as_tensor(updates)))


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


def scatter_nd_add(input_x: Parameter, indices: Indices, updates: Tensor) -> Tensor:
    """Add to slices of a parameter at coordinates."""
    return scatter_nd_into("add", input_x, indices, updates)


# ---- segments


def segment(mode: str, input_x: Tensor, segment_ids: Tensor, num_segments: int) -> Tensor:
    """Entries of the leading axes combined by segment: "add", or "max" and "min", whose empty segments hold the extremes."""
    ids = _index(segment_ids)
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


def unsorted_segment_max(input_x: Tensor, segment_ids: Tensor, num_segments: int) -> Tensor:
    """The largest of the entries of each segment."""
    return segment("max", input_x, segment_ids, num_segments)


def unsorted_segment_min(input_x: Tensor, segment_ids: Tensor, num_segments: int) -> Tensor:
    """The smallest of the entries of each segment."""
    return segment("min", input_x, segment_ids, num_segments)


# ---- results whose shape depends on values


def known_values(name: str, x: Tensor) -> Any:
    """The array; TraceError while a Cell is compiled."""
    if x.array is None:
        raise TraceError(
            f"the shape of what {name} returns depends on the values of {x.type}: a compiled step has fixed shapes",
            code="GC120",
            loc=user_loc(),
            help="call it outside the compiled Cell, or keep the shape with ops.select",
        )
    return x.array


def nonzero(input: Tensor) -> Tensor:
    """int64 [count, axes]: the places of what is not zero. Not in a compiled Cell."""
    return Tensor(np.argwhere(known_values("nonzero", input)))


def masked_select(input: Tensor, mask: Tensor) -> Tensor:
    """The elements where the mask holds, as a vector. Not in a compiled Cell."""
    known_values("masked_select", input)
    x, m = np.broadcast_arrays(input.asnumpy(), known_values("masked_select", mask))
    return Tensor(x[m])


def unique(input: Tensor) -> tuple[Tensor, Tensor]:
    """(the distinct elements in order of appearance, int32 place of each element among them). Not in a compiled Cell."""
    array = known_values("unique", input)
    values, first, inverse = np.unique(array, return_index=True, return_inverse=True)
    order = np.argsort(first)
    places = np.empty_like(order)
    places[order] = np.arange(order.size)
    return Tensor(values[order]), Tensor(places[inverse.reshape(array.shape)].astype(np.int32))


__all__ = [
    "gather_d", "gather_elements", "gather_nd", "index_add", "index_fill", "index_select", "masked_select",
    "nonzero", "scatter", "scatter_add", "scatter_nd", "scatter_nd_add", "scatter_nd_update", "scatter_update",
    "take", "tensor_scatter_add", "tensor_scatter_elements", "tensor_scatter_max", "tensor_scatter_min",
    "tensor_scatter_mul", "tensor_scatter_sub", "tensor_scatter_update", "unique", "unsorted_segment_max",
    "unsorted_segment_min", "unsorted_segment_sum",
]  # fmt: skip
