"""Pooling to a given size: axes divided into parts as equal as possible."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from graphc.errors import ArgumentTypeError, ArgumentValueError, ShapeError, user_loc
from graphc.ops.functional.core import Extents, cast_to
from graphc.ops.functional.elements import elements_at
from graphc.ops.functional.elementwise import add, mul
from graphc.ops.functional.extrema import arg_with_value
from graphc.ops.functional.joining import stack
from graphc.ops.functional.reduce import reduce_max, reduce_mean
from graphc.ops.functional.shapes import reshape, squeeze
from graphc.ops.functional.slicing import getitem
from graphc.ops.tensor.tensor import Tensor, as_tensor
from graphc.validation.checks import boolean

#: More parts than any memory has room for.
_MOST_PARTS = 2**31


def _parts(size: int, wanted: int) -> list[tuple[int, int]]:
    """Where each part begins and ends. ArgumentValueError for more of them than can be made."""
    if wanted > _MOST_PARTS:
        raise ArgumentValueError(f"an axis of {size} cannot be pooled to {wanted} parts", loc=user_loc())
    return [(i * size // wanted, -(-(i + 1) * size // wanted)) for i in range(wanted)]


def adaptive(x: Tensor, sizes: Sequence[int | None], reduce: Any) -> Tensor:
    """The last axes divided into parts as equal as possible, each part reduced; None keeps an axis."""
    first = x.ndim - len(sizes)
    for axis, wanted in enumerate(sizes, first):
        size = x.shape[axis]
        if wanted is not None and size % wanted:
            before = (slice(None),) * axis
            x = stack([reduce(getitem(x, (*before, slice(a, b))), axis) for a, b in _parts(size, wanted)], axis)
    # Equal parts are an axis of their own, as rows and columns of one reduction.
    shape, within = list(x.shape[:first]), []
    for size, wanted in zip(x.shape[first:], sizes, strict=True):
        shape.append(wanted or size)
        if wanted and wanted != size:
            shape.append(size // wanted)
            within.append(len(shape) - 1)
    return reduce(reshape(x, tuple(shape)), tuple(within)) if within else x.twin()


def adaptive_max(
    x: Tensor, sizes: Sequence[int | None], return_indices: bool, dtype: str = "int64"
) -> Tensor | tuple[Tensor, Tensor]:
    """Maxima of parts of the last axes, with return_indices also their places in these axes flattened; the first of equal
    ones.
    """
    boolean("", "return_indices", return_indices)
    if not return_indices:
        return adaptive(x, sizes, reduce_max)
    first = x.ndim - len(sizes)
    if not sizes or first < 0:
        raise ShapeError(f"{x.tensor_type} has no axes for {len(sizes)} sizes", loc=user_loc())
    spatial = x.shape[first:]
    places: Tensor | None = None
    for i in reversed(range(len(sizes))):
        axis, size = first + i, spatial[i]
        before, step = (slice(None),) * axis, math.prod(spatial[i + 1 :])
        values, marks = [], []
        for a, b in _parts(size, sizes[i] or size):
            at, value = arg_with_value(getitem(x, (*before, slice(a, b))), axis, True, True, "int32")
            mark = mul(add(at, a), step)
            if places is not None:
                mark = add(mark, elements_at(getitem(places, (*before, slice(a, b))), axis, at))
            values.append(squeeze(value, axis))
            marks.append(squeeze(mark, axis))
        x, places = stack(values, axis), stack(marks, axis)
    assert places is not None
    return x, cast_to(places, dtype)


def _sizes(owner: str, x: Tensor, output_size: Any, axes: int) -> tuple[int | None, ...]:
    """An int or None for every axis, or one for each, after a check of x's axes."""
    sizes = tuple(output_size) if isinstance(output_size, (tuple, list)) else (output_size,) * axes
    if len(sizes) != axes or any(s is not None and (isinstance(s, bool) or not isinstance(s, int)) for s in sizes):
        raise ArgumentTypeError(
            f"{owner}: output_size must be an int, or {axes} ints or None, got {output_size!r}", loc=user_loc()
        )
    if any(s is not None and s < 1 for s in sizes):
        raise ArgumentValueError(f"{owner}: output_size must be positive, got {output_size!r}", loc=user_loc())
    if x.ndim not in (axes + 1, axes + 2):
        raise ShapeError(f"{owner}: x is {x.tensor_type}, expected {axes + 1} or {axes + 2} axes", loc=user_loc())
    return sizes


def adaptive_avg_pool1d(input: Tensor, output_size: int) -> Tensor:
    """Means of windows that divide the last axis into output_size parts as equal as possible."""
    x = as_tensor(input, "adaptive_avg_pool1d: input")
    return adaptive(x, _sizes("adaptive_avg_pool1d", x, output_size, 1), reduce_mean)


def adaptive_avg_pool2d(input: Tensor, output_size: Extents) -> Tensor:
    """Means of windows that divide [..., H, W] into `output_size` parts as equal as possible; None keeps a size."""
    x = as_tensor(input, "adaptive_avg_pool2d: input")
    return adaptive(x, _sizes("adaptive_avg_pool2d", x, output_size, 2), reduce_mean)


def adaptive_avg_pool3d(input: Tensor, output_size: Extents) -> Tensor:
    """Means of windows that divide [..., D, H, W] into `output_size` parts as equal as possible; None keeps a size."""
    x = as_tensor(input, "adaptive_avg_pool3d: input")
    return adaptive(x, _sizes("adaptive_avg_pool3d", x, output_size, 3), reduce_mean)


def adaptive_max_pool1d(input: Tensor, output_size: int) -> Tensor:
    """Maxima of windows that divide the last axis into output_size parts as equal as possible."""
    x = as_tensor(input, "adaptive_max_pool1d: input")
    return adaptive(x, _sizes("adaptive_max_pool1d", x, output_size, 1), reduce_max)


def adaptive_max_pool2d(input: Tensor, output_size: Extents, return_indices: bool = False) -> Any:
    """Maxima of windows that divide the last two axes into output_size parts as equal as possible; None keeps a size.

    With return_indices also their int64 places in the flattened plane.
    """
    x = as_tensor(input, "adaptive_max_pool2d: input")
    return adaptive_max(x, _sizes("adaptive_max_pool2d", x, output_size, 2), return_indices)


def adaptive_max_pool3d(input: Tensor, output_size: Extents, return_indices: bool = False) -> Any:
    """Maxima of windows that divide the last three axes into output_size parts as equal as possible; None keeps a size.

    With return_indices also their int32 places in the flattened volume.
    """
    x = as_tensor(input, "adaptive_max_pool3d: input")
    return adaptive_max(x, _sizes("adaptive_max_pool3d", x, output_size, 3), return_indices, "int32")


__all__ = [
    "adaptive_avg_pool1d",
    "adaptive_avg_pool2d",
    "adaptive_avg_pool3d",
    "adaptive_max_pool1d",
    "adaptive_max_pool2d",
    "adaptive_max_pool3d",
]
