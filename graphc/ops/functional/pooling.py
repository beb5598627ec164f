"""Pooling over windows of sequences, images and volumes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from graphc.errors import ArgumentValueError, DTypeError, ShapeError, user_loc
from graphc.ir.types import FLOATS, INTEGERS
from graphc.ops.functional.conv import padded_ends, triple
from graphc.ops.functional.core import Ints, Operand, call, cast_to
from graphc.ops.functional.elementwise import (
    abs_,
    greater,
    isnan,
    less,
    logical_and,
    logical_not,
    logical_or,
    mul,
    pow_,
    relu,
    sign,
)
from graphc.ops.functional.logic import select
from graphc.ops.functional.padding import bordered
from graphc.ops.functional.scalars import scalar
from graphc.ops.functional.shapes import broadcast_to, expand_dims, reshape, squeeze
from graphc.ops.functional.sliding import Windows, both_ends, per_axis, windows_over
from graphc.ops.tensor.tensor import Tensor, as_tensor
from graphc.validation.checks import boolean, exact_int

# ---- the largest element of each window


def max_windows(x: Tensor, w: Windows) -> Tensor:
    """[N, C, ...]: the largest element of each window of [N, C, *spatial], padding left out; the first of equal ones."""
    narrow = all(d == 1 for d in w.dilation) and all(max(e) < k for e, k in zip(w.ends, w.kernel, strict=True))
    if x.tensor_type.is_float and narrow:
        return _by_planes("MaxPool", x, w)
    return max_windows_with_places(x, w)[0]


def max_windows_with_places(x: Tensor, w: Windows) -> tuple[Tensor, Tensor]:
    """The largest element of each window, and its int64 place in the flattened spatial axes; the first of equal ones.

    One axis after the other, the last first: shifted slices, of which each replaces those before it where it is larger.
    """
    spatial = x.shape[2:]
    number = np.arange(math.prod(spatial), dtype=np.int32).reshape(1, 1, *spatial)
    every = [(0, 0), (0, 0), *w.ends]
    places = Tensor(np.pad(number, every, constant_values=-1))
    x = bordered(x, every, _lowest(x)) if any(map(any, w.ends)) else x
    for i in reversed(range(len(spatial))):
        values, marks = w.seen(x, i + 2, i), w.seen(places, i + 2, i)
        x, places = values[0], marks[0]
        for value, mark in zip(values[1:], marks[1:], strict=True):
            wins = logical_or(greater(value, x), less(places, 0))
            if x.tensor_type.is_float:
                wins = logical_or(wins, logical_and(isnan(value), logical_not(isnan(x))))
            x, places = select(wins, value, x), select(wins, mark, places)
    return x.value(), cast_to(broadcast_to(places, x.shape), "int64")


def _lowest(x: Tensor) -> float:
    return -math.inf if x.tensor_type.is_float else int(np.iinfo(x.tensor_type.numpy).min)


def _by_planes(op: str, x: Tensor, w: Windows, **attrs: Any) -> Tensor:
    """The op over the last two spatial axes, then over the one before them, if there are three."""
    n, channels, *spatial = x.shape
    if len(spatial) == 1:
        flat = Windows((1, *w.kernel), (1, *w.stride), (1, 1), ((0, 0), *w.ends), (1, *w.counts))
        return squeeze(_by_planes(op, expand_dims(x, 2), flat, **attrs), 2)
    pad = (*w.ends[-2], *w.ends[-1])
    if len(spatial) == 2:
        return call(op, x, kernel=w.kernel, stride=w.stride, pad=pad, **attrs)
    depth = spatial[0]
    y = reshape(x, (n, channels * depth, *spatial[1:]))
    y = call(op, y, kernel=w.kernel[1:], stride=w.stride[1:], pad=pad, **attrs)
    if (w.kernel[0], w.stride[0]) != (1, 1):
        y = reshape(y, (n * channels, 1, depth, math.prod(w.counts[1:])))
        y = call(op, y, kernel=(w.kernel[0], 1), stride=(w.stride[0], 1), pad=(*w.ends[0], 0, 0), **attrs)
    return reshape(y, (n, channels, *w.counts))


# ---- the mean of each window


def avg_windows(
    x: Tensor, w: Windows, plain_ends: Sequence[tuple[int, int]], count_include_pad: bool = True, divisor: int = 0
) -> Tensor:
    """[N, C, ...]: the mean of each window of [N, C, *spatial], or its sum by a divisor that is not 0.

    plain_ends: the padding that counts with count_include_pad; what windows read beyond it never does.
    """
    if len(w.kernel) == 2 and not divisor and not count_include_pad:
        return _by_planes("AvgPool", x, w, count_include_pad=False)
    means = _by_planes("AvgPool", x, w, count_include_pad=True)
    taps = math.prod(w.kernel)
    counted: Any = np.full(w.counts, float(divisor or 1))
    if not divisor:
        for i, (size, (before, _), (plain, after)) in enumerate(zip(x.shape[2:], w.ends, plain_ends, strict=True)):
            low, high = (-plain, size + after) if count_include_pad else (0, size)
            starts = np.arange(w.counts[i]) * w.stride[i] - before
            seen = np.minimum(starts + w.kernel[i], high) - np.maximum(starts, low)
            counted = counted * seen.reshape([-1 if j == i else 1 for j in range(len(w.kernel))])
    share = taps / counted
    if (share == 1).all():
        return means
    return mul(means, Tensor(share.astype(x.tensor_type.numpy)))


# ---- MindSpore's functions


def _checked(owner: str, x: Tensor, axes: int, flags: dict[str, Any]) -> Tensor:
    tensor = as_tensor(x, f"{owner}: x")
    for name, flag in flags.items():
        boolean(owner, name, flag)
    if tensor.ndim != axes + 2:
        raise ShapeError(f"{owner}: x is {tensor.tensor_type}, expected {axes + 2} axes", loc=user_loc())
    if tensor.tensor_type.dtype not in (*FLOATS, *INTEGERS):
        raise DTypeError(f"{owner}: x is {tensor.tensor_type}, expected real numbers", loc=user_loc())
    return tensor


def max_pool(
    owner: str,
    x: Tensor,
    axes: int,
    kernel_size: Any,
    stride: Any,
    padding: Any,
    dilation: Any = 1,
    return_indices: bool = False,
    ceil_mode: bool = False,
) -> Any:
    """max_pool1d to max_pool3d by the number of axes; x is [N, C, *spatial]. padding: as for `both_ends`."""
    x = _checked(owner, x, axes, {"return_indices": return_indices, "ceil_mode": ceil_mode})
    kernel = per_axis(owner, "kernel_size", kernel_size, axes)
    steps = kernel if stride is None else per_axis(owner, "stride", stride, axes)
    ends = both_ends(owner, "padding", padding, axes)
    if any(2 * max(e) > k for e, k in zip(ends, kernel, strict=True)):
        raise ArgumentValueError(
            f"{owner}: padding {padding!r} is more than half of the window {kernel}", loc=user_loc()
        )
    spread = per_axis(owner, "dilation", dilation, axes)
    w = windows_over(owner, x.shape[2:], kernel, steps, ends, spread, ceil_mode)
    return max_windows_with_places(x, w) if return_indices else max_windows(x, w)


def avg_pool(
    owner: str,
    x: Tensor,
    axes: int,
    kernel_size: Any,
    stride: Any,
    padding: Any,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = 0,
) -> Tensor:
    """avg_pool1d to avg_pool3d by the number of axes; x is [N, C, *spatial]. padding: as for `both_ends`."""
    x = _checked(owner, x, axes, {"ceil_mode": ceil_mode, "count_include_pad": count_include_pad})
    divisor = 0 if divisor_override is None else divisor_override
    exact_int(owner, "divisor_override", divisor)
    if divisor < 0:
        raise ArgumentValueError(f"{owner}: divisor_override must not be negative, got {divisor}", loc=user_loc())
    kernel = per_axis(owner, "kernel_size", kernel_size, axes)
    steps = kernel if stride is None else per_axis(owner, "stride", stride, axes)
    ends = both_ends(owner, "padding", padding, axes)
    w = windows_over(owner, x.shape[2:], kernel, steps, ends, None, ceil_mode)
    return avg_windows(x, w, ends, count_include_pad, divisor)


def max_pool2d(
    x: Tensor,
    kernel_size: Ints,
    stride: Ints | None = None,
    padding: Ints = 0,
    dilation: Ints = 1,
    return_indices: bool = False,
    ceil_mode: bool = False,
) -> Any:
    """The largest pixel of each window of [N, C, H, W] (MindSpore: ops.max_pool2d); with return_indices also their int64
    places in the flattened plane.

    kernel_size, stride (by default the window), padding, dilation: an int or (vertical, horizontal); padding is left out.
    ceil_mode: a last window may reach beyond the end. x may be of integers. Raises ShapeError, ArgumentTypeError,
    ArgumentValueError.
    """
    return max_pool("max_pool2d", x, 2, kernel_size, stride, padding, dilation, return_indices, ceil_mode)


def max_pool3d(
    x: Tensor,
    kernel_size: Ints,
    stride: Ints | None = None,
    padding: Ints = 0,
    dilation: Ints = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """The largest element of each window of [N, C, D, H, W] (MindSpore: ops.max_pool3d); arguments as for max_pool2d."""
    return max_pool("max_pool3d", x, 3, kernel_size, stride, padding, dilation, return_indices, ceil_mode)


def avg_pool1d(
    input_x: Tensor,
    kernel_size: Ints = 1,
    stride: Ints = 1,
    padding: Ints = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> Tensor:
    """The mean of each window of [N, C, L] (MindSpore: ops.avg_pool1d); arguments as for avg_pool2d."""
    return avg_pool("avg_pool1d", input_x, 1, kernel_size, stride, padding, ceil_mode, count_include_pad)


def avg_pool2d(
    input_x: Tensor,
    kernel_size: Ints = 1,
    stride: Ints = 1,
    padding: Ints = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int = 0,
) -> Tensor:
    """The mean of each window of [N, C, H, W] (MindSpore: ops.avg_pool2d).

    kernel_size, stride: an int or (vertical, horizontal); padding an int or (top, bottom, left, right). ceil_mode: a last
    window may reach beyond the end. count_include_pad: whether padding counts. divisor_override: what sums are divided by
    instead, if not 0. Raises ShapeError, ArgumentTypeError, ArgumentValueError.
    """
    return avg_pool(
        "avg_pool2d", input_x, 2, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override
    )


def avg_pool3d(
    input_x: Tensor,
    kernel_size: Ints = 1,
    stride: Ints = 1,
    padding: Ints = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int = 0,
) -> Tensor:
    """The mean of each window of [N, C, D, H, W] (MindSpore: ops.avg_pool3d); arguments as for avg_pool2d, padding an int or
    six.
    """
    return avg_pool(
        "avg_pool3d", input_x, 3, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override
    )


def pool3d(
    x: Tensor,
    kernel_size: Any,
    strides: Any = 1,
    pad_mode: str = "valid",
    pad_list: Any = 0,
    kind: str = "max",
    ceil_mode: bool | None = None,
    count_include_pad: bool = False,
    divisor_override: int = 0,
) -> Tensor:
    """The largest element (kind "max") or the mean ("avg") of windows of volumes [N, C, D, H, W]; pad_mode "valid", "same" or
    "pad" with `pad_list`.
    """
    owner = f"{kind.capitalize()}Pool3D"
    x = _checked(owner, x, 3, {})
    kernel, stride = triple(owner, "kernel_size", kernel_size), triple(owner, "strides", strides)
    mode = pad_mode.lower()
    if mode not in ("valid", "same", "pad"):
        raise ArgumentValueError(f"pad_mode must be 'valid', 'same' or 'pad', got {pad_mode!r}", loc=user_loc())
    ends = [(int(a), int(b)) for a, b in padded_ends(owner, x.shape[2:], kernel, stride, (1, 1, 1), mode, pad_list)]
    w = windows_over(owner, x.shape[2:], kernel, stride, ends, None, bool(ceil_mode) and mode == "pad")
    if kind == "max":
        return max_windows(x, w)
    return avg_windows(x, w, ends, count_include_pad, divisor_override)


# ---- the p-norm of each window


def _lp_pool(
    owner: str, x: Tensor, axes: int, norm_type: Any, kernel_size: Any, stride: Any, ceil_mode: bool
) -> Tensor:
    norm_type = scalar(owner, "norm_type", norm_type, ("!=", 0), wanted="be a number other than 0")
    tensor = as_tensor(x, f"{owner}: x")
    lead = tensor.ndim == axes + 1
    images = expand_dims(tensor, 0) if lead else tensor
    kernel = per_axis(owner, "kernel_size", kernel_size, axes)
    mean = avg_pool(owner, pow_(images, norm_type), axes, kernel, stride, 0, ceil_mode)
    total = mul(mul(sign(mean), relu(abs_(mean))), float(math.prod(kernel)))
    made = pow_(total, 1.0 / norm_type)
    return squeeze(made, 0) if lead else made


def lp_pool1d(
    x: Tensor, norm_type: Operand, kernel_size: int, stride: Ints | None = None, ceil_mode: bool = False
) -> Tensor:
    """(sum of x^p)^(1/p) of each window of [N, C, L] or [C, L], with p = norm_type (MindSpore: ops.lp_pool1d)."""
    return _lp_pool("lp_pool1d", x, 1, norm_type, kernel_size, stride, ceil_mode)


def lp_pool2d(
    x: Tensor, norm_type: Operand, kernel_size: Ints, stride: Ints | None = None, ceil_mode: bool = False
) -> Tensor:
    """(sum of x^p)^(1/p) of each window of [N, C, H, W] or [C, H, W], with p = norm_type (MindSpore: ops.lp_pool2d)."""
    return _lp_pool("lp_pool2d", x, 2, norm_type, kernel_size, stride, ceil_mode)


__all__ = [
    "avg_pool1d",
    "avg_pool2d",
    "avg_pool3d",
    "lp_pool1d",
    "lp_pool2d",
    "max_pool2d",
    "max_pool3d",
]
