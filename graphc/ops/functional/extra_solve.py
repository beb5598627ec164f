"""Small linear systems, greatest common divisors, boxes, volumes, bilinear resizing: compositions with fixed numbers of steps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from graphc.errors import ArgumentValueError, ShapeError, user_loc
from graphc.ops.functional.control import while_loop
from graphc.ops.functional.conv import convolution, same_pad
from graphc.ops.functional.core import cast
from graphc.ops.functional.extra_bits import bitwise_and, bitwise_right_shift
from graphc.ops.functional.math import (
    abs_,
    add,
    div,
    equal,
    floor_div,
    floor_mod,
    maximum,
    minimum,
    mul,
    select,
    sqrt,
    sub,
)
from graphc.ops.functional.network import matmul
from graphc.ops.functional.reduce import reduce_max, reduce_sum
from graphc.ops.functional.shape import concat, expand_dims, gather, getitem, pad, reshape, stack, transpose
from graphc.ops.tensor import Tensor

# ---- linear algebra


def _matrices(owner: str, x: Tensor) -> int:
    if x.ndim < 2 or x.shape[-1] != x.shape[-2] or not x.type.is_float:
        raise ShapeError(f"{owner}: x is {x.type}, expected square float matrices", loc=user_loc())
    return x.shape[-1]


def _eliminated(x: Tensor, right: Tensor | None) -> tuple[list[Tensor], list[Tensor], Tensor | None]:
    """Gauss and Jordan's elimination with the largest pivot of each column: pivots, signs of the exchanges, solution."""
    n = x.shape[-1]
    rows = np.arange(n)
    pivots, signs = [], []
    for k in range(n):
        column = abs_(getitem(x, (..., k)))
        below = Tensor(np.where(rows >= k, 0, -np.inf).astype(x.type.numpy))
        candidates = add(column, below)
        largest = equal(candidates, reduce_max(candidates, -1, keep_dims=True))
        # The first of equal ones.
        order = select(largest, Tensor((n - rows).astype(np.int32)), Tensor(np.zeros(n, np.int32)))
        chosen = expand_dims(equal(order, reduce_max(order, -1, keep_dims=True)), -1)
        here = Tensor((rows == k)[:, None])
        signs.append(
            select(getitem(chosen, (..., k, 0)), Tensor(np.array(1, x.type.numpy)), Tensor(np.array(-1, x.type.numpy)))
        )
        x = _exchanged(x, chosen, here)
        pivot = getitem(x, (..., slice(k, k + 1), slice(k, k + 1)))
        pivots.append(getitem(pivot, (..., 0, 0)))
        factors = div(getitem(x, (..., slice(k, k + 1))), pivot)
        factors = select(here, Tensor(np.zeros(1, x.type.numpy)), factors)
        if right is not None:
            right = _exchanged(right, chosen, here)
            right = sub(right, mul(factors, getitem(right, (..., slice(k, k + 1), slice(None)))))
        x = sub(x, mul(factors, getitem(x, (..., slice(k, k + 1), slice(None)))))
    return pivots, signs, right


def _exchanged(x: Tensor, chosen: Tensor, here: Tensor) -> Tensor:
    """x with two rows exchanged."""
    zero = Tensor(np.zeros((), x.type.numpy))
    first = reduce_sum(select(here, x, zero), -2, keep_dims=True)
    second = reduce_sum(select(chosen, x, zero), -2, keep_dims=True)
    return select(here, second, select(chosen, first, x))


def inverse(input: Tensor) -> Tensor:
    """The inverse of square matrices, by elimination."""
    n = _matrices("inverse", input)
    eye = Tensor(np.broadcast_to(np.eye(n, dtype=input.type.numpy), input.shape).copy())
    pivots, _, made = _eliminated(input, eye)
    assert made is not None
    return div(made, expand_dims(stack(pivots, -1), -1))


def det(input: Tensor) -> Tensor:
    """The determinant of square matrices, by elimination."""
    n = _matrices("det", input)
    pivots, signs, _ = _eliminated(input, None)
    value = mul(pivots[0], signs[0])
    for k in range(1, n):
        value = mul(value, mul(pivots[k], signs[k]))
    return value


def cholesky(input_x: Tensor, upper: bool = False) -> Tensor:
    """The lower triangular L with L L^T the given symmetric positive definite matrices; upper: its transpose."""
    n = _matrices("cholesky", input_x)
    x, columns = input_x, []
    for k in range(n):
        root = sqrt(getitem(x, (..., slice(k, k + 1), slice(k, k + 1))))
        column = mul(
            div(getitem(x, (..., slice(k, k + 1))), root), Tensor((np.arange(n) >= k).astype(x.type.numpy)[:, None])
        )
        columns.append(column)
        x = sub(x, matmul(column, column, False, True))
    made = concat(columns, -1)
    order = (*range(made.ndim - 2), made.ndim - 1, made.ndim - 2)
    return transpose(made, order) if upper else made


# ---- integers


def gcd(input: Tensor, other: Tensor) -> Tensor:
    """The greatest common divisor of integers, by Euclid's algorithm."""
    a, b = abs_(add(input, mul(other, 0))), abs_(add(other, mul(input, 0)))

    def step(a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
        done = equal(b, 0)
        return select(done, a, b), select(done, b, floor_mod(a, maximum(b, 1)))

    made: tuple[Tensor, Tensor] = while_loop(lambda _, b: reduce_max(b) > 0, step, a, b)
    return made[0]


def lcm(input: Tensor, other: Tensor) -> Tensor:
    """The least common multiple of integers; 0 with a zero."""
    return mul(abs_(floor_div(input, maximum(gcd(input, other), 1))), abs_(other))


def population_count(input_x: Tensor) -> Tensor:
    """How many bits of each integer are set: uint8."""
    width = input_x.type.numpy.itemsize * 8
    wide = cast(input_x, "int64" if width == 64 else "int32")
    one = Tensor(np.ones((), wide.type.numpy))
    total = bitwise_and(wide, one)
    for k in range(1, width):
        shifted = bitwise_right_shift(wide, Tensor(np.full((), k, wide.type.numpy)))
        total = add(total, bitwise_and(shifted, one))
    return cast(total, "uint8")


# ---- boxes


def iou(anchor_boxes: Tensor, gt_boxes: Tensor, mode: str = "iou") -> Tensor:
    """[M, N]: intersection over union of N boxes with M others, each x0, y0, x1, y1; mode "iof": over the second's area."""
    if mode not in ("iou", "iof"):
        raise ArgumentValueError(f"iou: mode must be 'iou' or 'iof', got {mode!r}", loc=user_loc())
    a, b = expand_dims(anchor_boxes, 0), expand_dims(gt_boxes, 1)

    def extent(low: Tensor, high: Tensor) -> Tensor:
        return maximum(add(sub(high, low), 1.0), 0.0)

    sides = [extent(maximum(a[..., i], b[..., i]), minimum(a[..., i + 2], b[..., i + 2])) for i in (0, 1)]
    common = mul(*sides)
    first, second = (mul(extent(x[..., 0], x[..., 2]), extent(x[..., 1], x[..., 3])) for x in (a, b))
    whole = sub(add(first, second), common) if mode == "iou" else second
    return div(common, whole)


# ---- volumes

Triple = tuple[int, int, int]


def _three(value: Any) -> Triple:
    sizes = tuple(value) if isinstance(value, (tuple, list)) else (value,) * 3
    a, b, c = sizes[-3:]
    return int(a), int(b), int(c)


def _ends(sizes: Sequence[int], kernel: Triple, stride: Triple, dilation: Triple, mode: str, padding: Any) -> list[Any]:
    """(before, after) of the three axes."""
    if mode == "same":
        pairs = zip(sizes, kernel, stride, dilation, strict=True)
        return [same_pad((n, n), (k, k), (s, s), (d, d))[:2] for n, k, s, d in pairs]
    if mode == "valid":
        return [(0, 0)] * 3
    given = tuple(padding) if isinstance(padding, (tuple, list)) else (padding,) * 6
    given = tuple(p for p in given for _ in (0, 1)) if len(given) == 3 else given
    return [given[2 * i : 2 * i + 2] for i in range(3)]


def conv3d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Any = 1,
    pad_mode: str = "valid",
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Tensor:
    """Cross-correlation of volumes [N,C,D,H,W] with windows [out,C/groups,kd,kh,kw], as a sum over the windows' slices."""
    strides, dilations, mode = _three(stride), _three(dilation), pad_mode.lower()
    ends = _ends(input.shape[2:], _three(weight.shape[2:]), strides, dilations, mode, padding)
    x = pad(input, [(0, 0), (0, 0), *ends])
    n, channels, depth, h, w = x.shape
    kd = weight.shape[2]
    count = (depth - dilations[0] * (kd - 1) - 1) // strides[0] + 1
    if count < 1:
        raise ShapeError(f"conv3d: the window is deeper than the padded volume, {x.type}", loc=user_loc())
    total: Any = None
    for i in range(kd):
        start = i * dilations[0]
        part = getitem(x, (slice(None), slice(None), slice(start, start + (count - 1) * strides[0] + 1, strides[0])))
        images = reshape(transpose(part, (0, 2, 1, 3, 4)), (n * count, channels, h, w))
        window = getitem(weight, (slice(None), slice(None), i))
        y = convolution(images, window, (0, 0, 0, 0), strides[1:], dilations[1:], groups)
        total = y if total is None else add(total, y)
    made = transpose(reshape(total, (n, count, *total.shape[1:])), (0, 2, 1, 3, 4))
    return made if bias is None else add(made, reshape(bias, (1, -1, 1, 1, 1)))


def pool3d(
    x: Tensor, kernel_size: Any, strides: Any = 1, pad_mode: str = "valid", pad_list: Any = 0, kind: str = "max"
) -> Tensor:
    """The largest element (kind "max") or the mean ("avg", without the padding) of windows of volumes [N, C, D, H, W]."""
    kernel, stride = _three(kernel_size), _three(strides)
    ends = _ends(x.shape[2:], kernel, stride, (1, 1, 1), pad_mode.lower(), pad_list)
    fill = -np.inf if kind == "max" else 0.0
    every = [(0, 0), (0, 0), *ends]
    counted = Tensor(np.ones(x.shape[2:], x.type.numpy)[None, None]) if kind == "avg" else None
    parts = [pad(x, every, fill)] if counted is None else [pad(x, every), pad(counted, every)]
    sizes = parts[0].shape[2:]
    spans = [(n - k) // s for n, k, s in zip(sizes, kernel, stride, strict=True)]
    for axis, (k, s, span) in enumerate(zip(kernel, stride, spans, strict=True), 2):
        before = (slice(None),) * axis
        shifted = [[getitem(p, (*before, slice(i, i + span * s + 1, s))) for i in range(k)] for p in parts]
        parts = [_merged(group, maximum if kind == "max" else add) for group in shifted]
    return parts[0] if counted is None else div(parts[0], parts[1])


def _merged(parts: Sequence[Tensor], join: Any) -> Tensor:
    made = parts[0]
    for part in parts[1:]:
        made = join(made, part)
    return made


# ---- resizing


def resize_bilinear(
    x: Tensor, size: Sequence[int], align_corners: bool = False, half_pixel_centers: bool = False
) -> Tensor:
    """Images [N, C, H, W] in another height and width, by bilinear interpolation: a product with a matrix for either axis."""
    for axis, wanted in zip((2, 3), size, strict=True):
        have = x.shape[axis]
        if align_corners and wanted > 1:
            places: Any = np.arange(wanted) * (have - 1) / (wanted - 1)
        elif half_pixel_centers:
            places = np.clip((np.arange(wanted) + 0.5) * (have / wanted) - 0.5, 0, None)
        else:
            places = np.arange(wanted) * (have / wanted)
        low = np.minimum(np.floor(places).astype(int), have - 1)
        share = places - low
        weights = np.zeros((have, wanted))
        np.add.at(weights, (low, np.arange(wanted)), 1 - share)
        np.add.at(weights, (np.minimum(low + 1, have - 1), np.arange(wanted)), share)
        matrix = Tensor(weights.astype(x.type.numpy))
        if axis == 3:
            x = matmul(x, matrix)
        else:
            x = transpose(matmul(transpose(x, (0, 1, 3, 2)), matrix), (0, 1, 3, 2))
    return x


def upsample_nearest3d(x: Tensor, output_size: Any = None, scales: Any = None) -> Tensor:
    """Volumes [N, C, D, H, W] in another size, by nearest neighbours."""
    sizes = output_size or [int(n * s) for n, s in zip(x.shape[2:], scales, strict=True)]
    for axis, wanted in enumerate(sizes, 2):
        have = x.shape[axis]
        places = np.minimum(np.floor(np.arange(wanted) * (have / wanted)), have - 1)
        x = gather(x, Tensor(places.astype(np.int32)), axis)
    return x


__all__ = [
    "cholesky", "conv3d", "det", "gcd", "inverse", "iou", "lcm", "population_count",
]  # fmt: skip
