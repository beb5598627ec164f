"""The reverse of max pooling with places, and pooling over windows that are placed at random."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from graphc.errors import ArgumentTypeError, ArgumentValueError, DTypeError, ShapeError, user_loc
from graphc.ops.declared.bounds import IndexRangeError
from graphc.ops.functional.core import Extents, Ints, cast_to
from graphc.ops.functional.create import zeros
from graphc.ops.functional.elements import elements_at
from graphc.ops.functional.elementwise import add, floor, greater_equal, less, logical_and, mul, sub
from graphc.ops.functional.extrema import arg_with_value
from graphc.ops.functional.joining import concat
from graphc.ops.functional.logic import select
from graphc.ops.functional.random import rand
from graphc.ops.functional.scattering import tensor_scatter_elements
from graphc.ops.functional.shapes import expand_dims, reshape, squeeze
from graphc.ops.functional.slicing import getitem
from graphc.ops.functional.sliding import per_axis
from graphc.ops.tensor.tensor import Tensor, as_tensor
from graphc.validation.checks import boolean

# ---- elements back at their places


def unpooled(
    owner: str, x: Tensor, indices: Tensor, axes: int, kernel_size: Any, stride: Any, padding: Any, output_size: Any
) -> Tensor:
    """x's elements at their places in zeros; x and the places are [N, C, *spatial] or [C, *spatial].

    output_size: the result's sizes, with or without those of N and C, else (n - 1) stride - 2 padding + kernel for each; it may
    differ from that by less than the stride.
    """
    x, indices = as_tensor(x, f"{owner}: x"), as_tensor(indices, f"{owner}: indices")
    if indices.tensor_type.dtype not in ("int32", "int64"):
        raise DTypeError(f"{owner}: the indices are {indices.tensor_type}, expected int32 or int64", loc=user_loc())
    if x.shape != indices.shape or x.ndim not in (axes + 1, axes + 2):
        raise ShapeError(
            f"{owner}: x is {x.tensor_type} and the indices {indices.tensor_type}, expected equal shapes of"
            f" {axes + 1} or {axes + 2} axes",
            loc=user_loc(),
        )
    kernel = per_axis(owner, "kernel_size", kernel_size, axes)
    steps = per_axis(owner, "stride", 0 if stride is None else stride, axes, least=0)
    steps = per_axis(owner, "stride", stride, axes) if any(steps) else kernel
    pads = per_axis(owner, "padding", padding, axes, least=0)
    lead, spatial = x.shape[:-axes], x.shape[-axes:]
    made = tuple((n - 1) * s - 2 * p + k for n, s, p, k in zip(spatial, steps, pads, kernel, strict=True))
    if output_size:
        if not isinstance(output_size, tuple):
            raise ArgumentTypeError(
                f"{owner}: output_size must be a tuple, got {type(output_size).__name__}", loc=user_loc()
            )
        per_axis(owner, "output_size", output_size, len(output_size))
        wanted = output_size[-axes:]
        near = len(wanted) == axes and all(abs(a - b) < s for a, b, s in zip(wanted, made, steps, strict=True))
        if not near or output_size[:-axes] not in ((), lead):
            raise ArgumentValueError(
                f"{owner}: output_size {output_size} does not belong to {x.tensor_type}: expected {made}, up to the stride",
                loc=user_loc(),
            )
        made = wanted
    rows, count = math.prod(lead), math.prod(made)
    flat_indices = reshape(indices, (rows, -1))
    inside = logical_and(greater_equal(flat_indices, 0), less(flat_indices, count))
    if inside.array is not None and not inside.array.all():
        raise IndexRangeError(f"{owner}: the indices must lie in [0, {count}), the flattened {made}", loc=user_loc())
    # A place outside would else be one of the next channel.
    places = add(flat_indices, Tensor(np.arange(rows, dtype=indices.tensor_type.numpy)[:, None] * count))
    places = select(inside, places, rows * count)
    flat = zeros((rows * count,), x.dtype)
    filled = tensor_scatter_elements(flat, reshape(places, (-1,)), reshape(x, (-1,)), 0)
    return reshape(filled, (*lead, *made))


def max_unpool1d(
    x: Tensor,
    indices: Tensor,
    kernel_size: Ints,
    stride: Ints | None = None,
    padding: Ints = 0,
    output_size: Extents = None,
) -> Tensor:
    """The reverse of max pooling of [N, C, L] or [C, L] (MindSpore: ops.max_unpool1d); see `max_unpool2d`."""
    return unpooled("max_unpool1d", x, indices, 1, kernel_size, stride, padding, output_size)


def max_unpool2d(
    x: Tensor,
    indices: Tensor,
    kernel_size: Ints,
    stride: Ints | None = None,
    padding: Ints = 0,
    output_size: Extents = None,
) -> Tensor:
    """Zeros with the elements of x at the places `indices` of each flattened plane (MindSpore: ops.max_unpool2d).

    x and indices (int32 or int64): [N, C, H, W] or [C, H, W], as max pooling with the window kernel_size, the stride and the
    padding gave them. output_size: the result's sizes, where rounding left them open.
    Raises ShapeError, DTypeError, ArgumentTypeError, ArgumentValueError, and IndexError for a place outside; in a compiled step
    what would stand there is left out.
    """
    return unpooled("max_unpool2d", x, indices, 2, kernel_size, stride, padding, output_size)


def max_unpool3d(
    x: Tensor,
    indices: Tensor,
    kernel_size: Ints,
    stride: Ints | None = None,
    padding: Ints = 0,
    output_size: Extents = None,
) -> Tensor:
    """The reverse of max pooling of [N, C, D, H, W] or [C, D, H, W] (MindSpore: ops.max_unpool3d); see `max_unpool2d`."""
    return unpooled("max_unpool3d", x, indices, 3, kernel_size, stride, padding, output_size)


# ---- windows placed at random


def _starts(samples: Tensor, size: int, window: int, wanted: int) -> Tensor:
    """int32[N, C, wanted]: where windows begin, by one random number u for each channel: floor((i + u) a) - floor(u a) with
    the mean step a; the last window ends at the end.
    """
    last = Tensor(np.array([size - window], np.int32))
    shape = (*samples.shape, 1)
    ends = add(zeros(shape, "int32"), last)
    if wanted == 1:
        return ends
    step = (size - window) / (wanted - 1)
    u = expand_dims(samples, -1)
    numbers = Tensor(np.arange(wanted - 1).astype(samples.tensor_type.numpy))
    begin = sub(floor(mul(add(numbers, u), step)), floor(mul(u, step)))
    return concat([cast_to(begin, "int32"), ends], -1)


def _output_sizes(owner: str, spatial: tuple[int, ...], output_size: Any, output_ratio: Any) -> tuple[int, ...]:
    axes = len(spatial)
    if output_size is not None:
        return per_axis(owner, "output_size", output_size, axes)
    ratios = tuple(output_ratio) if isinstance(output_ratio, (tuple, list)) else (output_ratio,) * axes
    if len(ratios) != axes or any(not isinstance(r, float) or not 0 < r < 1 for r in ratios):
        raise ArgumentValueError(
            f"{owner}: give output_size, or output_ratio as floats between 0 and 1, got {output_ratio!r}",
            loc=user_loc(),
        )
    return tuple(int(n * r) for n, r in zip(spatial, ratios, strict=True))


def _fractional(
    owner: str,
    input: Tensor,
    axes: int,
    order: tuple[int, ...],
    sizes: tuple[Any, Any, Any],
    return_indices: bool,
    samples: Tensor | None,
) -> Any:
    """Maxima of windows placed at random; `order` says which sample belongs to which axis."""
    boolean(owner, "return_indices", return_indices)
    x = as_tensor(input, f"{owner}: input")
    if x.ndim not in (axes + 1, axes + 2):
        raise ShapeError(
            f"{owner}: the input is {x.tensor_type}, expected {axes + 1} or {axes + 2} axes", loc=user_loc()
        )
    alone = x.ndim == axes + 1
    x = expand_dims(x, 0) if alone else x
    n, channels, *spatial = x.shape
    kernel = per_axis(owner, "kernel_size", sizes[0], axes)
    wanted = _output_sizes(owner, tuple(spatial), *sizes[1:])
    if any(k + w - 1 > s for k, w, s in zip(kernel, wanted, spatial, strict=True)):
        raise ArgumentValueError(f"{owner}: {wanted} windows of {kernel} do not fit {x.tensor_type}", loc=user_loc())
    if samples is None:
        samples = rand(n, channels, axes)
    if samples.shape not in ((n, channels, axes), (1, channels, axes)) or not samples.tensor_type.is_float:
        raise ShapeError(
            f"{owner}: _random_samples is {samples.tensor_type}, expected floats ({n}, {channels}, {axes})",
            loc=user_loc(),
        )
    places: Any = 0
    for i, (size, window, count) in enumerate(zip(spatial, kernel, wanted, strict=True)):
        begin = _starts(getitem(samples, (..., order[i])), size, window, count)
        taps = add(expand_dims(begin, -1), Tensor(np.arange(window, dtype=np.int32)))
        shape = [1] * (2 * axes)
        shape[i], shape[axes + i] = count, window
        places = add(mul(places, size), reshape(taps, (*begin.shape[:2], *shape)))
    windows = reshape(places, (places.shape[0], channels, -1))
    windows = add(windows, zeros((n, channels, 1), "int32"))
    seen = elements_at(reshape(x, (n, channels, -1)), 2, windows)
    each = (n, channels, math.prod(wanted), math.prod(kernel))
    at, values = arg_with_value(reshape(seen, each), -1, True, True, "int32")
    found = squeeze(elements_at(reshape(windows, each), 3, at), -1)
    made = (n, channels, *wanted)
    y, marks = reshape(values, made), cast_to(reshape(found, made), "int64")
    if alone:
        y, marks = squeeze(y, 0), squeeze(marks, 0)
    return (y, marks) if return_indices else y


def fractional_max_pool2d(
    input: Tensor,
    kernel_size: Ints,
    output_size: Extents = None,
    output_ratio: float | Sequence[float] | None = None,
    return_indices: bool = False,
    _random_samples: Tensor | None = None,
) -> Any:
    """Maxima of windows placed at random (Graham, 2014; MindSpore: ops.fractional_max_pool2d); with return_indices also their
    int64 places in the flattened plane.

    input: [N, C, H, W] or [C, H, W]. output_size counts, or sizes are output_ratio (floats in (0, 1)) of the input's.
    _random_samples: [N or 1, C, 2] in [0, 1), for W and H; drawn if None. Raises ShapeError, ArgumentTypeError,
    ArgumentValueError.
    """
    sizes = (kernel_size, output_size, output_ratio)
    return _fractional("fractional_max_pool2d", input, 2, (1, 0), sizes, return_indices, _random_samples)


def fractional_max_pool3d(
    input: Tensor,
    kernel_size: Ints,
    output_size: Extents = None,
    output_ratio: float | Sequence[float] | None = None,
    return_indices: bool = False,
    _random_samples: Tensor | None = None,
) -> Any:
    """As fractional_max_pool2d for volumes [N, C, D, H, W] or [C, D, H, W]; _random_samples: [N or 1, C, 3] for D, H and W."""
    sizes = (kernel_size, output_size, output_ratio)
    return _fractional("fractional_max_pool3d", input, 3, (0, 1, 2), sizes, return_indices, _random_samples)


__all__ = [
    "fractional_max_pool2d",
    "fractional_max_pool3d",
    "max_unpool1d",
    "max_unpool2d",
    "max_unpool3d",
]
