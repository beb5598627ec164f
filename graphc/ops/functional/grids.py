"""Values of images and volumes between their pixels: at the points of a grid, in boxes, at shifted places."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from graphc.errors import ArgumentTypeError, ArgumentValueError, DTypeError, ShapeError, user_loc
from graphc.ops.functional.arithmetic import bias_add, div, round_, trunc
from graphc.ops.functional.bounds import elements_in_bounds
from graphc.ops.functional.clipping import clamp
from graphc.ops.functional.conv import Pair, convolution
from graphc.ops.functional.core import Extents, Ints, Operand, cast, cast_to
from graphc.ops.functional.elementwise import (
    abs_,
    add,
    equal,
    floor,
    floor_mod,
    greater_equal,
    less_equal,
    logical_and,
    maximum,
    minimum,
    mul,
    sub,
)
from graphc.ops.functional.logic import select
from graphc.ops.functional.products import matmul
from graphc.ops.functional.reduce import reduce_mean
from graphc.ops.functional.scalars import scalar
from graphc.ops.functional.shapes import as_shape, expand_dims, moveaxis, reshape, transpose
from graphc.ops.functional.slicing import getitem, rows_at
from graphc.ops.functional.sliding import per_axis
from graphc.ops.tensor.tensor import Tensor, as_tensor
from graphc.validation.checks import boolean
from graphc.validation.unused_arguments import only, refusal

# ---- values at points


def pixel_rows(x: Tensor) -> Tensor:
    """[N, C, *sizes] as [N * all sizes, C]: a row for each pixel."""
    return reshape(moveaxis(x, 1, -1), (x.size // max(x.shape[1], 1), x.shape[1]))


def first_rows(n: int, sizes: Sequence[int], rank: int) -> Tensor:
    """int32[n, 1, ...]: the row of the first pixel of each of n images."""
    return Tensor((np.arange(n, dtype=np.int32) * math.prod(sizes)).reshape(n, *[1] * (rank - 1)))


def values_at(rows: Tensor, first: Tensor, points: Sequence[Tensor], sizes: Sequence[int], nearest: bool) -> Tensor:
    """[*points, C]: values at points, one tensor of coordinates per axis, by linear interpolation or the nearest pixel.

    rows, first: see `pixel_rows` and `first_rows`. Pixels outside are zero; so is a point whose coordinate is NaN.
    """
    corners: list[list[tuple[Tensor, Any]]] = []
    for point, size in zip(points, sizes, strict=True):
        known = clamp(select(equal(point, point), point, -1.0), -1.0, float(size))
        if nearest:
            corners.append([(round_(known), None)])
            continue
        low = floor(known)
        share = sub(known, low)
        corners.append([(low, sub(1.0, share)), (add(low, 1.0), share)])
    total: Tensor | None = None
    for corner in itertools.product(*corners):
        place: Any = 0
        weight: Any = None
        inside: Any = None
        for (at, share), size in zip(corner, sizes, strict=True):
            place = add(mul(place, size), cast_to(clamp(at, 0.0, size - 1.0), "int32"))
            here = logical_and(greater_equal(at, 0.0), less_equal(at, size - 1.0))
            inside = here if inside is None else logical_and(inside, here)
            if share is not None:
                weight = share if weight is None else mul(weight, share)
        counted = select(inside, 1.0 if weight is None else weight, 0.0)
        part = mul(rows_at(rows, add(place, first)), expand_dims(cast(counted, rows.dtype), -1))
        total = part if total is None else add(total, part)
    assert total is not None
    return total


# ---- grids


def affine_grid(theta: Tensor, size: Extents, align_corners: bool = False) -> Tensor:
    """[N, H, W, 2] or [N, D, H, W, 3]: the points of a grid moved by affine maps theta [N, 2, 3] or [N, 3, 4] (MindSpore:
    ops.affine_grid).

    size: (N, C, H, W) or (N, C, D, H, W). Coordinates are (x, y) or (x, y, z); -1 and 1 are the middles of the pixels at the ends
    with align_corners, else the ends of the image. Raises ShapeError, ArgumentTypeError.
    """
    if not isinstance(size, (tuple, list, Tensor)):
        raise ArgumentTypeError(
            f"affine_grid: size must be (N, C, H, W) or (N, C, D, H, W), got {type(size).__name__}",
            loc=user_loc(),
            help="x.shape is the shape of x, x.size the number of its elements",
        )
    sizes = as_shape(size)
    axes = len(sizes) - 2
    boolean("affine_grid", "align_corners", align_corners)
    if axes not in (2, 3) or theta.shape != (sizes[0], axes, axes + 1) or not theta.tensor_type.is_float:
        raise ShapeError(
            f"affine_grid: theta is {theta.tensor_type} and size {sizes}, expected floats [N, 2, 3] for (N, C, H,"
            f" W), or [N, 3, 4]"
            " for (N, C, D, H, W)",
            loc=user_loc(),
        )
    lines = []
    for n in sizes[2:]:
        line = np.linspace(-1, 1, n) if n > 1 else np.zeros(1)
        lines.append(line if align_corners else line * (n - 1) / n)
    places = np.stack([*np.meshgrid(*lines, indexing="ij")[::-1], np.ones(sizes[2:])], -1).reshape(-1, axes + 1)
    grid = matmul(Tensor(places.astype(theta.tensor_type.numpy)), transpose(theta, (0, 2, 1)))
    return reshape(grid, (sizes[0], *sizes[2:], axes))


def _pixel_places(x: Tensor, size: int, padding_mode: str, corners: bool) -> Tensor:
    """Coordinates in [-1, 1] as places among pixels, moved inside unless padding is by zeros."""
    at = mul(add(x, 1.0), (size - 1) / 2) if corners else sub(mul(add(x, 1.0), size / 2), 0.5)
    if padding_mode == "zeros":
        return at
    if padding_mode == "reflection":
        low, span = (0.0, size - 1.0) if corners else (-0.5, float(size))
        if span == 0:
            return mul(at, 0.0)
        away = abs_(sub(at, low))
        turns = floor(div(away, span))
        rest = sub(away, mul(turns, span))
        at = add(select(equal(floor_mod(turns, 2.0), 0.0), rest, sub(span, rest)), low)
    inside: Tensor = clamp(at, 0.0, size - 1.0)
    return inside


def grid_sample(
    input: Tensor, grid: Tensor, mode: str = "bilinear", padding_mode: str = "zeros", align_corners: bool | None = None
) -> Tensor:
    """The values of images [N, C, H, W] at the points of a grid [N, h, w, 2], or of volumes [N, C, D, H, W] at those of
    [N, d, h, w, 3] (MindSpore: ops.grid_sample; Jaderberg et al., 2015).

    Coordinates are (x, y) or (x, y, z), -1 and 1 at the ends (see `affine_grid`). mode: "bilinear" or "nearest". padding_mode,
    for points outside: "zeros", "border" or "reflection". Raises ShapeError, DTypeError, ArgumentTypeError, ArgumentValueError.
    """
    x, grid = as_tensor(input, "grid_sample: input"), as_tensor(grid, "grid_sample: grid")
    only("grid_sample", "mode", mode, "bilinear", "nearest")
    if padding_mode not in ("zeros", "border", "reflection"):
        raise ArgumentValueError(
            f"grid_sample: padding_mode must be 'zeros', 'border' or 'reflection', got {padding_mode!r}", loc=user_loc()
        )
    if align_corners is not None and not isinstance(align_corners, bool):
        raise ArgumentTypeError("grid_sample: align_corners must be a bool or None", loc=user_loc())
    if not x.tensor_type.is_float or x.tensor_type.dtype != grid.tensor_type.dtype:
        raise DTypeError(
            f"grid_sample: the input is {x.tensor_type}, the grid {grid.tensor_type}, expected floats of one dtype",
            loc=user_loc(),
        )
    axes = x.ndim - 2
    if axes not in (2, 3) or grid.ndim != x.ndim or grid.shape[-1] != axes or grid.shape[0] != x.shape[0]:
        raise ShapeError(
            f"grid_sample: the input is {x.tensor_type} and the grid {grid.tensor_type}, expected [N, C, H, W] and"
            f" [N, h, w, 2], or"
            " [N, C, D, H, W] and [N, d, h, w, 3]",
            loc=user_loc(),
        )
    sizes = x.shape[2:]
    coordinates = [getitem(grid, (..., axes - 1 - i)) for i in range(axes)]
    points = [
        _pixel_places(c, size, padding_mode, bool(align_corners)) for c, size in zip(coordinates, sizes, strict=True)
    ]
    first = first_rows(x.shape[0], sizes, axes + 1)
    return moveaxis(values_at(pixel_rows(x), first, points, sizes, mode == "nearest"), -1, 1)


# ---- boxes


def crop_and_resize(
    image: Tensor,
    boxes: Tensor,
    box_indices: Tensor,
    crop_size: Ints,
    method: str = "bilinear",
    extrapolation_value: Operand = 0.0,
) -> Tensor:
    """float32[boxes, h, w, C]: boxes of images [N, H, W, C], each in the size crop_size (h, w) (MindSpore: ops.crop_and_resize).

    boxes: float32[boxes, 4], (y1, x1, y2, x2) with 0 and 1 at the middles of the first and last pixels; y1 > y2 turns a box
    around. box_indices: int32[boxes], which image. method: "bilinear", "nearest", or "bilinear_v2" of the whole pixels that a box
    begins and ends in, 1 the end of the last. What lies outside is extrapolation_value, by the last the nearest pixel.
    Raises ShapeError, ArgumentTypeError, ArgumentValueError; IndexRangeError for images that there are not.
    """
    if method not in ("bilinear", "nearest", "bilinear_v2"):
        raise refusal("crop_and_resize", "method", method, "bilinear", "nearest", "bilinear_v2")
    outside = scalar("crop_and_resize", "extrapolation_value", extrapolation_value)
    wanted = per_axis("crop_and_resize", "crop_size", crop_size, 2)
    if image.ndim != 4 or boxes.ndim != 2 or boxes.shape[1] != 4 or box_indices.shape != boxes.shape[:1]:
        raise ShapeError(
            f"crop_and_resize: image is {image.tensor_type}, boxes {boxes.tensor_type}, box_indices"
            f" {box_indices.tensor_type}, expected"
            " [N, H, W, C], [boxes, 4] and [boxes]",
            loc=user_loc(),
        )
    rows = reshape(cast(image, "float32"), (math.prod(image.shape[:3]), image.shape[3]))
    sizes = image.shape[1:3]
    corners = cast(boxes, "float32")
    points, inside = [], None
    places = _places_of_pixels if method == "bilinear_v2" else _places_of_middles
    for axis, (size, count) in enumerate(zip(sizes, wanted, strict=True)):
        begin, end = (getitem(corners, (slice(None), i, None)) for i in (axis, axis + 2))
        at = places(begin, end, size, count)
        here = logical_and(greater_equal(at, 0.0), less_equal(at, size - 1.0))
        # Of two pixels that are as near it is the last.
        at = floor(add(at, 0.5)) if method == "nearest" else at
        at, here = expand_dims(at, 2 - axis), expand_dims(here, 2 - axis)
        points.append(at)
        inside = here if inside is None else logical_and(inside, here)
    vertical, horizontal = points
    both = [add(vertical, mul(horizontal, 0.0)), add(horizontal, mul(vertical, 0.0))]
    chosen = elements_in_bounds("crop_and_resize", cast(box_indices, "int32"), image.shape[0])
    first = reshape(mul(chosen, math.prod(sizes)), (-1, 1, 1))
    made = values_at(rows, first, both, sizes, method == "nearest")
    assert inside is not None
    return select(expand_dims(inside, -1), made, outside)


def _places_of_middles(begin: Tensor, end: Tensor, size: int, count: int) -> Tensor:
    """[boxes, count]: places at equal distances along an axis, where 0 and 1 are the middles of its first and last pixels."""
    if count == 1:
        return mul(mul(add(begin, end), 0.5), size - 1.0)
    step = div(mul(sub(end, begin), size - 1.0), count - 1.0)
    return add(mul(begin, size - 1.0), mul(step, Tensor(np.arange(count, dtype=np.float32))))


def _places_of_pixels(begin: Tensor, end: Tensor, size: int, count: int) -> Tensor:
    """[boxes, count]: the middles of equal parts of the pixels from one to another, within the axis."""
    first, last = (trunc(mul(x, float(size))) for x in (begin, end))
    pixels = maximum(add(sub(last, first), 1.0), 1.0)
    share = Tensor(((np.arange(count) + 0.5) / count).astype(np.float32))
    at = maximum(minimum(sub(mul(pixels, share), 0.5), sub(pixels, 1.0)), 0.0)
    return minimum(maximum(add(first, at), 0.0), size - 1.0)


def roi_align(
    features: Tensor,
    rois: Tensor,
    pooled_height: int,
    pooled_width: int,
    spatial_scale: float,
    sample_num: int,
    roi_end_mode: int,
) -> Tensor:
    """[boxes, C, pooled_height, pooled_width]: means of boxes of features [N, C, H, W] (He et al., 2017).

    rois: [boxes, 5], the image's number and (x1, y1, x2, y2), times spatial_scale. sample_num points per part and axis.
    roi_end_mode 1: x2 and y2 are the last pixels, 0: the ends.
    """
    if features.ndim != 4 or rois.ndim != 2 or rois.shape[1] != 5:
        raise ShapeError(
            f"ROIAlign: features are {features.tensor_type}, rois {rois.tensor_type}, expected [N, C, H, W] and [boxes, 5]",
            loc=user_loc(),
        )
    parts = per_axis("ROIAlign", "pooled_height and pooled_width", (pooled_height, pooled_width), 2)
    if isinstance(sample_num, bool) or not isinstance(sample_num, int) or sample_num < 1:
        raise refusal("ROIAlign", "sample_num", sample_num, "a positive int")
    only("ROIAlign", "roi_end_mode", roi_end_mode, 0, 1)
    sizes = features.shape[2:]
    points, inside = [], None
    for axis, (size, count) in enumerate(zip(sizes, parts, strict=True)):
        begin = mul(getitem(rois, (slice(None), 2 - axis, None)), spatial_scale)
        end = mul(add(getitem(rois, (slice(None), 4 - axis, None)), float(roi_end_mode)), spatial_scale)
        extent = maximum(sub(end, begin), 1.0) if roi_end_mode == 0 else maximum(sub(end, begin), 0.0)
        share = (np.arange(count * sample_num) + 0.5) / (count * sample_num)
        at = add(begin, mul(extent, Tensor(share.astype(features.tensor_type.numpy))))
        here = logical_and(greater_equal(at, -1.0), less_equal(at, float(size)))
        at, here = expand_dims(clamp(at, 0.0, size - 1.0), 2 - axis), expand_dims(here, 2 - axis)
        points.append(at)
        inside = here if inside is None else logical_and(inside, here)
    vertical, horizontal = points
    both = [add(vertical, mul(horizontal, 0.0)), add(horizontal, mul(vertical, 0.0))]
    first = reshape(mul(cast(getitem(rois, (slice(None), 0)), "int32"), math.prod(sizes)), (-1, 1, 1))
    found = values_at(pixel_rows(features), first, both, sizes, nearest=False)
    assert inside is not None
    found = select(expand_dims(inside, -1), found, 0.0)
    shape = (rois.shape[0], parts[0], sample_num, parts[1], sample_num, features.shape[1])
    return moveaxis(reduce_mean(reshape(found, shape), (2, 4)), -1, 1)


# ---- shifted places


def deformable_offsets(
    x: Tensor,
    offsets: Tensor,
    kernel: Pair,
    stride: Pair,
    pads: Sequence[int],
    dilation: Pair,
    groups: int,
) -> Tensor:
    """[N, C, rows kh, columns kw]: what the taps of windows of x [N, C, H, W] read at shifted places, times a mask.

    offsets: [N, 3 groups kh kw, rows, columns], first the shifts to the right, then those downwards, then the masks; the channels
    are divided into groups with shifts of their own. What lies outside is zero.
    """
    n, channels, *sizes = x.shape
    reach = [d * (k - 1) + 1 for d, k in zip(dilation, kernel, strict=True)]
    room = [s + sum(p) - r for s, p, r in zip(sizes, (pads[:2], pads[2:]), reach, strict=True)]
    counts = tuple(r // s + 1 for r, s in zip(room, stride, strict=True))
    taps = kernel[0] * kernel[1]
    if min(room) < 0 or offsets.shape != (n, 3 * groups * taps, *counts) or channels % groups:
        raise ShapeError(
            f"deformable offsets: x is {x.tensor_type} and the offsets {offsets.tensor_type}, expected [N, 3"
            f" {groups} {taps}, rows, columns]"
            f" with {counts} windows",
            loc=user_loc(),
        )
    parts = reshape(offsets, (n, 3, groups, *kernel, *counts))
    starts = []
    for axis in (0, 1):
        tap = np.arange(kernel[axis]) * dilation[axis] - pads[2 * axis]
        window = np.arange(counts[axis]) * stride[axis]
        shape = [1] * 6
        shape[2 + axis] = kernel[axis]
        starts.append(tap.reshape(shape) + window.reshape([1, 1, 1, 1, *(-1 if a == axis else 1 for a in (0, 1))]))
    shifts = [getitem(parts, (slice(None), 1 - axis)) for axis in (0, 1)]
    points = [add(s, Tensor(p.astype(x.tensor_type.numpy))) for s, p in zip(shifts, starts, strict=True)]
    # Each group of channels is an image of its own.
    images = reshape(x, (n * groups, channels // groups, *sizes))
    first = reshape(first_rows(n * groups, sizes, 1), (n, groups, 1, 1, 1, 1))
    found = values_at(pixel_rows(images), first, points, sizes, nearest=False)
    found = mul(found, expand_dims(getitem(parts, (slice(None), 2)), -1))
    moved = transpose(found, (0, 1, 6, 4, 2, 5, 3))
    return reshape(moved, (n, channels, counts[0] * kernel[0], counts[1] * kernel[1]))


def window_steps(
    owner: str, kernel_size: Any, strides: Any, padding: Any, dilations: Any, groups: Any
) -> tuple[Pair, Pair, Sequence[int], Pair, int]:
    """Window, strides, padding, dilations and groups of `deformable_offsets`.

    Strides and dilations are given as (1, 1, vertical, horizontal).
    """
    pairs = []
    for name, value in (("strides", strides), ("dilations", dilations)):
        four = per_axis(owner, name, value, 4)
        if four[:2] != (1, 1):
            raise ArgumentValueError(
                f"{owner}: {name} must be (1, 1, vertical, horizontal), got {value}", loc=user_loc()
            )
        pairs.append((four[2], four[3]))
    first, second = per_axis(owner, "kernel_size", kernel_size, 2)
    pads = per_axis(owner, "padding", padding, 4, least=0)
    return (first, second), pairs[0], pads, pairs[1], per_axis(owner, "deformable_groups", groups, 1)[0]


def deformable_conv2d(
    x: Tensor,
    weight: Tensor,
    offsets: Tensor,
    kernel_size: Ints,
    strides: Ints,
    padding: Ints,
    bias: Tensor | None = None,
    dilations: Ints = (1, 1, 1, 1),
    groups: int = 1,
    deformable_groups: int = 1,
    modulated: bool = True,
) -> Tensor:
    """Convolution of images [N, C, H, W] whose windows read at shifted places, times a mask (Zhu et al., 2018; MindSpore:
    ops.deformable_conv2d).

    weight: [out, C / groups, kh, kw]; offsets: see `deformable_offsets`. strides, dilations: (1, 1, vertical, horizontal);
    padding: (top, bottom, left, right). modulated must be True. Raises ShapeError, ArgumentTypeError, ArgumentValueError.
    """
    owner = "deformable_conv2d"
    only(owner, "modulated", modulated, True)
    steps = window_steps(owner, kernel_size, strides, padding, dilations, deformable_groups)
    if weight.ndim != 4 or weight.shape[2:] != steps[0] or x.ndim != 4:
        raise ShapeError(
            f"{owner}: x is {x.tensor_type} and the weight {weight.tensor_type}, expected [N, C, H, W] and [out,"
            f" in, *{steps[0]}]",
            loc=user_loc(),
        )
    y = convolution(deformable_offsets(x, offsets, *steps), weight, (0, 0, 0, 0), steps[0], (1, 1), groups)
    return y if bias is None else bias_add(y, bias)


__all__ = ["affine_grid", "crop_and_resize", "deformable_conv2d", "grid_sample"]
