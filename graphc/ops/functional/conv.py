"""Convolutions of images and volumes, of every stride, dilation and grouping, over the op Conv2D."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from graphc.errors import ArgumentTypeError, ArgumentValueError, ShapeError, user_loc
from graphc.ops.functional.arithmetic import bias_add
from graphc.ops.functional.core import Ints, call
from graphc.ops.functional.elementwise import add, greater
from graphc.ops.functional.joining import concat
from graphc.ops.functional.logic import select
from graphc.ops.functional.padding import bordered
from graphc.ops.functional.shapes import expand_dims, reshape, squeeze, transpose
from graphc.ops.functional.slicing import getitem
from graphc.ops.functional.sliding import both_ends, per_axis, same_ends, windows_over
from graphc.ops.tensor.tensor import Tensor
from graphc.validation.checks import exact_int

Pad = tuple[int, int, int, int]

Pair = tuple[int, int]


def pair(owner: str, name: str, value: Any) -> Pair:
    """An int, or one for each axis of an image, at least 1; other values are refused by name."""
    first, second = per_axis(owner, name, value, 2)
    return first, second


def same_pad(size: Pair, kernel: Pair, stride: Pair, dilation: Pair) -> Pad:
    """(top, bottom, left, right) for ceil(size / stride) windows; an odd element goes to the end."""
    rows, columns = same_ends(size, kernel, stride, dilation, 2)
    return *rows, *columns


def convolution(
    x: Tensor,
    weight: Tensor,
    pads: int | Sequence[int] = 0,
    stride: int | Sequence[int] = 1,
    dilation: int | Sequence[int] = 1,
    groups: int = 1,
) -> Tensor:
    """Cross-correlation of [N,C,H,W] with [out,C/groups,kh,kw]; pads are (top, bottom, left, right), one for both ends of each
    axis, or one for all.

    Output channels are divided into groups as the input channels are, and see those of their own group only. Raises
    ShapeError where channels and groups do not fit, or the window does not fit the image, ArgumentValueError and
    ArgumentTypeError for other steps, spreads and padding than windows have.
    """
    per_axis("convolution", "groups", groups, 1)
    geometry = {
        "pad": tuple(p for ends in both_ends("convolution", "pads", pads, 2) for p in ends),
        "stride": pair("convolution", "stride", stride),
        "dilation": pair("convolution", "dilation", dilation),
    }
    if groups == 1:
        return call("Conv2D", x, weight, **geometry)
    channels, out = x.shape[1], weight.shape[0]
    if channels % groups or out % groups or weight.shape[1] * groups != channels:
        raise ShapeError(
            f"convolution: x is {x.tensor_type} and weight {weight.tensor_type}, which do not divide into {groups} groups",
            code="GC101",
            loc=user_loc(),
        )
    return call("GroupedConv2D", x, weight, **geometry, groups=groups)


def unpadded(owner: str, pad_mode: str, padding: Any) -> None:
    """ArgumentValueError for any padding beside a mode that sets it itself, as in MindSpore; ArgumentTypeError for no numbers."""
    ends = padding if isinstance(padding, (tuple, list)) else (padding,)
    if any(isinstance(p, bool) or not isinstance(p, (int, np.integer)) for p in ends):
        raise ArgumentTypeError(f"{owner}: padding must be an int or a tuple of ints, got {padding!r}", loc=user_loc())
    if any(ends):
        raise ArgumentValueError(
            f"{owner}: padding must be 0 with pad_mode {pad_mode!r}, got {padding!r}",
            loc=user_loc(),
            help='use pad_mode="pad"',
        )


def conv2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: int | Sequence[int] = 1,
    pad_mode: str = "valid",
    padding: int | Sequence[int] = 0,
    dilation: int | Sequence[int] = 1,
    groups: int = 1,
) -> Tensor:
    """Cross-correlation of images [N,C,H,W] with windows [out,C/groups,kh,kw], plus one bias per channel (MindSpore:
    ops.conv2d).

    pad_mode: "valid", "same" (ceil(H / stride) rows) or "pad": `padding` zeros, an int or (vertical, horizontal) or
    (top, bottom, left, right).
    """
    if not isinstance(weight, Tensor) or input.ndim != 4 or weight.ndim != 4:
        kinds = [str(t.tensor_type) if isinstance(t, Tensor) else type(t).__name__ for t in (input, weight)]
        raise ShapeError(
            f"conv2d: x is {kinds[0]} and weight is {kinds[1]}, expected [N,C,H,W] and [out,in,kh,kw]", loc=user_loc()
        )
    strides, dilations = pair("conv2d", "stride", stride), pair("conv2d", "dilation", dilation)
    pads: Sequence[int] = (0, 0, 0, 0)
    if pad_mode in ("same", "valid"):
        unpadded("conv2d", pad_mode, padding)
    if pad_mode == "same":
        pads = same_pad((input.shape[2], input.shape[3]), (weight.shape[2], weight.shape[3]), strides, dilations)
    elif pad_mode == "pad":
        pads = [p for ends in both_ends("conv2d", "padding", padding, 2) for p in ends]
    elif pad_mode != "valid":
        raise ArgumentValueError(f"conv2d: pad_mode must be 'valid', 'same' or 'pad', got {pad_mode!r}", loc=user_loc())
    exact_int("conv2d", "groups", groups)
    y = convolution(input, weight, pads, strides, dilations, groups)
    return y if bias is None else bias_add(y, bias)


def conv1d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: int | Sequence[int] = 1,
    pad_mode: str = "valid",
    padding: int | Sequence[int] = 0,
    dilation: int | Sequence[int] = 1,
    groups: int = 1,
) -> Tensor:
    """Cross-correlation of sequences [N,C,L] with windows [out,C/groups,k], plus one bias per channel (MindSpore: ops.conv1d);
    arguments as for conv2d, of one axis.
    """
    if not isinstance(weight, Tensor) or input.ndim != 3 or weight.ndim != 3:
        kinds = [str(t.tensor_type) if isinstance(t, Tensor) else type(t).__name__ for t in (input, weight)]
        raise ShapeError(
            f"conv1d: x is {kinds[0]} and weight is {kinds[1]}, expected [N,C,L] and [out,in,k]", loc=user_loc()
        )
    step, ends, spread_by = (
        per_axis("conv1d", name, value, 1, least)[0]
        for name, value, least in (("stride", stride, 1), ("padding", padding, 0), ("dilation", dilation, 1))
    )
    if pad_mode in ("same", "valid"):
        unpadded("conv1d", pad_mode, padding)
    images = (expand_dims(input, 2), expand_dims(weight, 2), bias)
    y = conv2d(*images, (1, step), pad_mode, (0, 0, ends, ends), (1, spread_by), groups)
    return squeeze(y, 2)


def dilation2d(x: Tensor, window: Tensor, stride: Pair, dilation: Pair, mode: str) -> Tensor:
    """Grayscale dilation of images [N,C,H,W] by windows [C,kh,kw]: the largest sum of a pixel and what the window has there, the
    first of equal ones. mode: "valid" or "same", in which what lies outside is left out.
    """
    kernel = (window.shape[1], window.shape[2])
    pads = same_pad((x.shape[2], x.shape[3]), kernel, stride, dilation) if mode == "same" else (0, 0, 0, 0)
    w = windows_over("Dilation2D", x.shape[2:], kernel, stride, (pads[:2], pads[2:]), dilation)
    x = bordered(x, [(0, 0), (0, 0), *w.ends], -math.inf)
    made: Tensor | None = None
    for i, rows in enumerate(w.seen(x, 2, 0)):
        for j, part in enumerate(w.seen(rows, 3, 1)):
            tap = reshape(getitem(window, (slice(None), i, j)), (1, -1, 1, 1))
            total = add(part, tap)
            made = total if made is None else select(greater(total, made), total, made)
    assert made is not None
    return made


# ---- volumes

Triple = tuple[int, int, int]


def triple(owner: str, name: str, value: Any) -> Triple:
    """Of an int or three of them, before which ones for the batch and the channels may stand."""
    five = isinstance(value, (tuple, list)) and len(value) == 5 and tuple(value[:2]) == (1, 1)
    a, b, c = per_axis(owner, name, value[2:] if five else value, 3)
    return a, b, c


def padded_ends(
    owner: str, sizes: Sequence[int], kernel: Sequence[int], stride: Triple, dilation: Triple, mode: str, padding: Any
) -> list[Any]:
    """(before, after) of the three axes."""
    if mode == "same":
        return list(same_ends(sizes, kernel, stride, dilation, 3))
    if mode == "valid":
        return [(0, 0)] * 3
    return list(both_ends(owner, "padding", padding, 3))


def conv3d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Ints = 1,
    pad_mode: str = "valid",
    padding: Ints = 0,
    dilation: Ints = 1,
    groups: int = 1,
) -> Tensor:
    """Cross-correlation of volumes [N,C,D,H,W] with windows [out,C/groups,kd,kh,kw]: one of images whose channels are, for each
    channel, the slices of the volume that a window meets; with a group for each channel a sum over these.
    """
    strides, dilations = triple("conv3d", "stride", stride), triple("conv3d", "dilation", dilation)
    mode = pad_mode.lower()
    if mode not in ("same", "valid", "pad"):
        raise ArgumentValueError(f"conv3d: pad_mode must be 'valid', 'same' or 'pad', got {pad_mode!r}", loc=user_loc())
    if mode != "pad":
        unpadded("conv3d", pad_mode, padding)
    front, *around = padded_ends("conv3d", input.shape[2:], weight.shape[2:], strides, dilations, mode, padding)
    x = bordered(input, [(0, 0), (0, 0), front, (0, 0), (0, 0)])
    n, channels, depth, h, w = x.shape
    out, kd = weight.shape[0], weight.shape[2]
    count = (depth - dilations[0] * (kd - 1) - 1) // strides[0] + 1
    if count < 1:
        raise ShapeError(f"conv3d: the window is deeper than the padded volume, {x.tensor_type}", loc=user_loc())
    pads = [p for ends in around for p in ends]

    def met(i: int) -> Tensor:
        """What slice i of the windows meets: [N, count, C, 1, H, W]."""
        first = i * dilations[0]
        part = getitem(x, (slice(None), slice(None), slice(first, first + (count - 1) * strides[0] + 1, strides[0])))
        return expand_dims(transpose(part, (0, 2, 1, 3, 4)), 3)

    # Channels of their own have kernels of their own, which want one channel a group.
    together = 1 if groups == channels > 1 else kd
    total: Any = None
    for first in range(0, kd, together):
        parts = [met(i) for i in range(first, min(kd, first + together))]
        images = reshape(concat(parts, 3), (n * count, channels * len(parts), h, w))
        window = getitem(weight, (slice(None), slice(None), slice(first, first + len(parts))))
        window = reshape(window, (out, weight.shape[1] * len(parts), *weight.shape[3:]))
        y = convolution(images, window, pads, strides[1:], dilations[1:], groups)
        total = y if total is None else add(total, y)
    made = transpose(reshape(total, (n, count, *total.shape[1:])), (0, 2, 1, 3, 4))
    return made if bias is None else add(made, reshape(bias, (1, -1, 1, 1, 1)))


__all__ = [
    "conv1d",
    "conv2d",
    "conv3d",
    "same_pad",
]
