"""Transposed convolutions of images and volumes: the gradients of convolutions for what they read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from graphc.errors import ArgumentValueError, ShapeError, user_loc
from graphc.ops.functional.arithmetic import bias_add
from graphc.ops.functional.blocks import apart
from graphc.ops.functional.core import Ints, call
from graphc.ops.functional.elementwise import add
from graphc.ops.functional.padding import bordered
from graphc.ops.functional.shapes import reshape, transpose, whole_numbers
from graphc.ops.functional.slicing import getitem
from graphc.ops.functional.sliding import both_ends, per_axis, same_ends
from graphc.ops.tensor.tensor import Tensor, as_tensor
from graphc.validation.checks import exact_int


def conv2d_transpose(
    dy: Tensor,
    weight: Tensor,
    shape: Sequence[int],
    pads: Sequence[int],
    stride: Sequence[int],
    dilation: Sequence[int],
    groups: int = 1,
) -> Tensor:
    """The gradient for the images, of this shape, of a convolution whose results have the gradient dy."""
    attrs = {"pad": tuple(pads), "stride": tuple(stride), "dilation": tuple(dilation)}
    size = whole_numbers("conv2d_transpose", "shape", shape)
    if len(size) != 4:
        raise ShapeError(f"conv2d_transpose: shape must be [N, C, H, W], got {size}", loc=user_loc())
    if groups > 1:
        return call("GroupedConv2DBackpropInput", dy, weight, shape=size, **attrs, groups=groups)
    return call("Conv2DBackpropInput", dy, weight, shape=size, **attrs)


def _fitting(owner: str, x: Tensor, weight: Tensor, groups: Any, axes: int) -> tuple[Tensor, Tensor]:
    x, weight = as_tensor(x, f"{owner}: input"), as_tensor(weight, f"{owner}: weight")
    exact_int(owner, "groups", groups)
    rank = axes + 2
    if x.ndim != rank or weight.ndim != rank or groups < 1 or x.shape[1] != weight.shape[0] or x.shape[1] % groups:
        raise ShapeError(
            f"{owner}: the input is {x.tensor_type} and the weight {weight.tensor_type}, expected {rank} axes each,"
            f" and as many input"
            f" channels (axis 1) as the weight has at axis 0, in {groups} groups",
            loc=user_loc(),
        )
    return x, weight


def conv_transpose2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Ints = 1,
    padding: Ints = 0,
    output_padding: Ints = 0,
    groups: int = 1,
    dilation: Ints = 1,
) -> Tensor:
    """Transposed convolution of images [N,C,H,W] with windows [C,out/groups,kh,kw], plus one bias per channel (MindSpore:
    ops.conv_transpose2d).

    Rows of the result: (H - 1) stride - 2 padding + dilation (kh - 1) + 1 + output_padding. Each argument is an int or
    (vertical, horizontal). Raises ShapeError, ArgumentTypeError, ArgumentValueError.
    """
    owner = "conv_transpose2d"
    x, weight = _fitting(owner, input, weight, groups, 2)
    steps, spreads = per_axis(owner, "stride", stride, 2), per_axis(owner, "dilation", dilation, 2)
    pads = per_axis(owner, "padding", padding, 2, least=0)
    extra = per_axis(owner, "output_padding", output_padding, 2, least=0)
    if any(e >= max(s, d) for e, s, d in zip(extra, steps, spreads, strict=True)):
        raise ArgumentValueError(
            f"{owner}: output_padding {output_padding!r} must be smaller than the stride or the dilation",
            loc=user_loc(),
        )
    parts = zip(x.shape[2:], steps, pads, spreads, weight.shape[2:], extra, strict=True)
    sizes = [(n - 1) * s - 2 * p + d * (k - 1) + 1 + e for n, s, p, d, k, e in parts]
    if min(sizes) < 1:
        raise ShapeError(f"{owner}: nothing is left of {x.tensor_type} with padding {padding!r}", loc=user_loc())
    shape = (x.shape[0], weight.shape[1] * groups, *sizes)
    y = conv2d_transpose(x, weight, shape, (pads[0], pads[0], pads[1], pads[1]), steps, spreads, groups)
    return y if bias is None else bias_add(y, bias)


def conv3d_transpose(
    inputs: Tensor,
    weight: Tensor,
    pad_mode: str = "valid",
    padding: Ints = 0,
    stride: Ints = 1,
    dilation: Ints = 1,
    group: int = 1,
    output_padding: Ints = 0,
) -> Tensor:
    """Transposed convolution of volumes [N,C,D,H,W] with windows [C,out/group,kd,kh,kw] (MindSpore: ops.conv3d_transpose).

    Each size of the result: "same" n stride; "valid" (n - 1) stride + reach, with the reach dilation (k - 1) + 1; "pad"
    (n - 1) stride + reach - padding + output_padding. stride, dilation, output_padding: an int or three; padding an int or six.
    Raises ShapeError, ArgumentTypeError, ArgumentValueError.
    """
    owner = "conv3d_transpose"
    x, weight = _fitting(owner, inputs, weight, group, 3)
    steps, spreads = per_axis(owner, "stride", stride, 3), per_axis(owner, "dilation", dilation, 3)
    ends = both_ends(owner, "padding", padding, 3)
    extra = per_axis(owner, "output_padding", output_padding, 3, least=0)
    mode = pad_mode.lower()
    if mode not in ("same", "valid", "pad"):
        raise ArgumentValueError(
            f"{owner}: pad_mode must be 'same', 'valid' or 'pad', got {pad_mode!r}", loc=user_loc()
        )
    if mode != "pad" and (any(map(any, ends)) or any(extra)):
        raise ArgumentValueError(
            f"{owner}: padding and output_padding must be 0 with pad_mode {pad_mode!r}", loc=user_loc()
        )
    kernel = weight.shape[2:]
    if mode == "same":
        sizes = [n * s for n, s in zip(x.shape[2:], steps, strict=True)]
        ends = tuple(same_ends(sizes, kernel, steps, spreads, len(kernel)))
    else:
        parts = zip(x.shape[2:], steps, spreads, kernel, ends, extra, strict=True)
        sizes = [(n - 1) * s + d * (k - 1) + 1 - sum(e) + o for n, s, d, k, e, o in parts]
    if min(sizes) < 1:
        raise ShapeError(f"{owner}: nothing is left of {x.tensor_type} with padding {padding!r}", loc=user_loc())
    return _by_depth(x, weight, tuple(sizes), ends, steps, spreads, group)


def _by_depth(
    x: Tensor,
    weight: Tensor,
    sizes: tuple[int, ...],
    ends: Sequence[tuple[int, int]],
    stride: Sequence[int],
    dilation: Sequence[int],
    groups: int,
) -> Tensor:
    """One transposed convolution of all slices of the volume, whose channels are, for each channel, what the slices of a window
    give; the sum of these, each moved to its depth.
    """
    n, channels, depth, h, w = x.shape
    images = reshape(transpose(x, (0, 2, 1, 3, 4)), (n * depth, channels, h, w))
    each, kd = weight.shape[1:3]
    out = each * groups
    shape, pads = (n * depth, out * kd, *sizes[1:]), (*ends[1], *ends[2])
    windows = reshape(weight, (channels, each * kd, *weight.shape[3:]))
    slices = conv2d_transpose(images, windows, shape, pads, stride[1:], dilation[1:], groups)
    slices = reshape(slices, (n, depth, out, kd, *sizes[1:]))
    whole = sizes[0] + sum(ends[0])
    total: Any = None
    for i in range(kd):
        y = apart(getitem(slices, (slice(None), slice(None), slice(None), i)), 1, stride[0])
        start = i * dilation[0]
        kept = min(y.shape[1], whole - start)
        part = getitem(y, (slice(None), slice(0, kept)))
        part = bordered(part, [(0, 0), (start, whole - start - kept), (0, 0), (0, 0), (0, 0)])
        total = part if total is None else add(total, part)
    kept_depths = getitem(total, (slice(None), slice(ends[0][0], ends[0][0] + sizes[0])))
    return transpose(kept_depths, (0, 2, 1, 3, 4))


__all__ = ["conv2d_transpose", "conv3d_transpose", "conv_transpose2d"]
