"""Functions that rearrange elements."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from graphc.errors import ArgumentTypeError, ArgumentValueError, ShapeError, user_loc
from graphc.ops.dtype import to_name
from graphc.ops.functional.core import Axis, IndexRangeError, Number, call, cast
from graphc.ops.rules import normalize_axes
from graphc.ops.shape import check_axis
from graphc.ops.tensor import Tensor, as_tensor


def as_shape(shape: Sequence[Any]) -> tuple[int, ...]:
    if len(shape) == 1 and isinstance(shape[0], (tuple, list)):
        shape = shape[0]
    for d in shape:
        if isinstance(d, bool) or not isinstance(d, (int, np.integer)):
            raise ArgumentTypeError(f"a shape consists of integers, got {d!r}", loc=user_loc())
    return tuple(int(d) for d in shape)


def reshape(x: Tensor, shape: Sequence[int] | int) -> Tensor:
    """The same elements under another shape; one size may be -1."""
    wanted = as_shape(shape if isinstance(shape, (tuple, list)) else (shape,))
    if wanted.count(-1) == 1:
        known = -math.prod(wanted)
        if known == 0 or x.size % known:
            raise ShapeError(f"Reshape: {x.type} cannot be divided into shape {wanted}", code="GC103", loc=user_loc())
        wanted = tuple(x.size // known if d == -1 else d for d in wanted)
    return x if wanted == x.shape else call("Reshape", x, shape=wanted)


def transpose(x: Tensor, *perm: Any) -> Tensor:
    """Axes in another order; reversed by default."""
    wanted = as_shape(perm) if perm and perm != (None,) else tuple(range(x.ndim))[::-1]
    return call("Transpose", x, perm=tuple(p % x.ndim if -x.ndim <= p < x.ndim else p for p in wanted))


def swapaxes(x: Tensor, axis0: int, axis1: int) -> Tensor:
    perm = list(range(x.ndim))
    a, b = check_axis("swapaxes", axis0, x.ndim), check_axis("swapaxes", axis1, x.ndim)
    perm[a], perm[b] = perm[b], perm[a]
    return call("Transpose", x, perm=tuple(perm))


def broadcast_to(x: Tensor, shape: Sequence[int]) -> Tensor:
    """x repeated to a shape; -1 keeps the size of x."""
    wanted = as_shape(shape)
    lead = len(wanted) - x.ndim
    wanted = tuple(x.shape[i - lead] if d == -1 and i >= lead else d for i, d in enumerate(wanted))
    return call("BroadcastTo", x, shape=wanted)


def expand_dims(x: Tensor, axis: int) -> Tensor:
    """x with a new axis of size 1."""
    at = check_axis("expand_dims", axis, x.ndim + 1)
    return call("Reshape", x, shape=(*x.shape[:at], 1, *x.shape[at:]))


def squeeze(x: Tensor, axis: Axis = None) -> Tensor:
    """x without axes of size 1."""
    axes = normalize_axes("squeeze", axis, x.ndim) if axis is not None else [i for i, d in enumerate(x.shape) if d == 1]
    if any(x.shape[a] != 1 for a in axes):
        raise ArgumentValueError(
            f"squeeze: {x.type} has an axis among {tuple(axes)} whose size is not 1", loc=user_loc()
        )
    return call("Reshape", x, shape=tuple(d for i, d in enumerate(x.shape) if i not in axes))


def flatten(x: Tensor, start_dim: int = 1, end_dim: int = -1) -> Tensor:
    """Axes from start_dim to end_dim as one; the first axis is kept by default."""
    a, b = check_axis("flatten", start_dim, max(x.ndim, 2)), check_axis("flatten", end_dim, max(x.ndim, 2))
    return reshape(x, (*x.shape[:a], math.prod(x.shape[a : b + 1]), *x.shape[b + 1 :]))


def concat(tensors: Sequence[Tensor], axis: int = 0) -> Tensor:
    """Tensors one after the other along an axis."""
    if not tensors:
        raise ArgumentValueError("concat needs at least one tensor", loc=user_loc())
    return call("Concat", *tensors, axis=check_axis("concat", axis, tensors[0].ndim))


cat = concat


def stack(tensors: Sequence[Tensor], axis: int = 0) -> Tensor:
    """Tensors of one shape along a new axis."""
    return concat([expand_dims(x, axis) for x in tensors], axis)


def split(x: Tensor, split_size_or_sections: int | Sequence[int], axis: int = 0) -> tuple[Tensor, ...]:
    """Pieces of a size (the last may be smaller), or of the given sizes, along an axis."""
    at = check_axis("split", axis, x.ndim)
    total = x.shape[at]
    if isinstance(split_size_or_sections, int):
        each = split_size_or_sections
        if each < 1:
            raise ArgumentValueError(f"split: the size of a piece must be positive, got {each}", loc=user_loc())
        sizes = [min(each, total - i) for i in range(0, total, each)]
    else:
        sizes = list(split_size_or_sections)
        if sum(sizes) != total:
            raise ArgumentValueError(f"split: sizes {sizes} do not add up to {total} of {x.type}", loc=user_loc())
    pieces, start = [], 0
    for size in sizes:
        begin = tuple(start if i == at else 0 for i in range(x.ndim))
        shape = tuple(size if i == at else d for i, d in enumerate(x.shape))
        pieces.append(call("Slice", x, begin=begin, size=shape, step=(1,) * x.ndim))
        start += size
    return tuple(pieces)


def getitem(x: Tensor, index: Any) -> Tensor:
    """x[index] for integers, slices, `...`, None and one integer tensor (rows)."""
    if isinstance(index, Tensor):
        return gather(x, index, 0)
    items = list(index) if isinstance(index, tuple) else [index]
    if items.count(Ellipsis) > 1:
        raise ArgumentValueError("an index may hold one `...` only", loc=user_loc())
    used = sum(1 for i in items if i is not None and i is not Ellipsis)
    if used > x.ndim:
        raise IndexRangeError(f"too many indices ({used}) for {x.type}", loc=user_loc())
    at = items.index(Ellipsis) if Ellipsis in items else len(items)
    items[at : at + 1] = [slice(None)] * (x.ndim - used)
    begin, size, step, shape = [], [], [], []
    axis = 0
    for item in items:
        if item is None:
            shape.append(1)
            continue
        extent = x.shape[axis]
        if isinstance(item, slice):
            start, stop, by = item.indices(extent)
            count = len(range(start, stop, by))
            shape.append(count)
        elif isinstance(item, (int, np.integer)) and not isinstance(item, bool):
            if not -extent <= item < extent:
                raise IndexRangeError(f"index {item} is out of range for axis {axis} of {x.type}", loc=user_loc())
            start, count, by = int(item) % extent, 1, 1
        else:
            raise ArgumentTypeError(f"cannot index a tensor with {type(item).__name__}", loc=user_loc())
        begin.append(start if count else 0)
        size.append(count)
        step.append(by)
        axis += 1
    if tuple(size) != x.shape or any(s != 1 for s in step):
        x = call("Slice", x, begin=tuple(begin), size=tuple(size), step=tuple(step))
    return reshape(x, tuple(shape))


def gather(input_params: Tensor, input_indices: Tensor, axis: int = 0) -> Tensor:
    """Rows at the indices along an axis; an index out of range gives zeros."""
    return call("Gather", input_params, as_tensor(input_indices), axis=check_axis("gather", axis, input_params.ndim))


def one_hot(
    indices: Tensor, depth: int, on_value: Number = 1.0, off_value: Number = 0.0, dtype: Any = "float32"
) -> Tensor:
    """on_value at the index along a new last axis, off_value elsewhere."""
    return call("OneHot", indices, depth=depth, on=on_value, off=off_value, dtype=to_name(dtype))


def pad(x: Tensor, paddings: Sequence[Sequence[int]], value: Number = 0.0) -> Tensor:
    """x with (before, after) more elements per axis."""
    return call("Pad", x, paddings=tuple((int(a), int(b)) for a, b in paddings), value=value)


def unsqueeze(input: Tensor, dim: int) -> Tensor:
    """input with a new axis of size 1."""
    return expand_dims(input, dim)


def chunk(input: Tensor, chunks: int, axis: int = 0) -> tuple[Tensor, ...]:
    """At most `chunks` pieces of equal size along an axis; the last may be smaller."""
    if chunks < 1:
        raise ArgumentValueError(f"chunk: chunks must be positive, got {chunks}", loc=user_loc())
    return split(input, -(-input.shape[check_axis("chunk", axis, input.ndim)] // chunks), axis)


def tile(input: Tensor, dims: Sequence[int]) -> Tensor:
    """input repeated `dims[i]` times along axis i; leading axes of size 1 are added where `dims` is longer."""
    times = as_shape(dims if isinstance(dims, (tuple, list)) else (dims,))
    if any(t < 1 for t in times):
        raise ArgumentValueError(f"tile: repetitions must be positive, got {times}", loc=user_loc())
    rank = max(len(times), input.ndim)
    sizes = (1,) * (rank - input.ndim) + input.shape
    times = (1,) * (rank - len(times)) + times
    spread = reshape(input, tuple(n for d in sizes for n in (1, d)))
    spread = broadcast_to(spread, tuple(n for t, d in zip(times, sizes, strict=True) for n in (t, d)))
    return reshape(spread, tuple(t * d for t, d in zip(times, sizes, strict=True)))


def size(input_x: Tensor) -> int:
    """The number of elements."""
    return as_tensor(input_x).size


def _shifted(x: Tensor, axis: int, by: int) -> Tensor:
    """x moved up along an axis, zeros coming in."""
    kept = tuple(d - by if i == axis else d for i, d in enumerate(x.shape))
    head = call("Slice", x, begin=(0,) * x.ndim, size=kept, step=(1,) * x.ndim)
    return pad(head, [(by, 0) if i == axis else (0, 0) for i in range(x.ndim)])


def cumsum(x: Tensor, axis: int, dtype: Any = None) -> Tensor:
    """Sums of the elements up to each along an axis, by log2(size) shifted additions (Hillis and Steele, 1986)."""
    if dtype is not None:
        x = cast(x, dtype)
    at = check_axis("cumsum", axis, x.ndim)
    by = 1
    while by < x.shape[at]:
        x = call("Add", x, _shifted(x, at, by))
        by *= 2
    return x
