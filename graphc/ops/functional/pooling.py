"""Pooling over windows, and to a given size."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from graphc.ops.functional.arithmetic import div
from graphc.ops.functional.blocks import two_sizes
from graphc.ops.functional.conv import padded_ends, triple
from graphc.ops.functional.core import call
from graphc.ops.functional.elementwise import add, maximum
from graphc.ops.functional.joining import stack
from graphc.ops.functional.padding import bordered
from graphc.ops.functional.reduce import reduce_max, reduce_mean
from graphc.ops.functional.slicing import getitem
from graphc.ops.tensor.tensor import Tensor


def max_pool2d(x: Tensor, kernel: Sequence[int], stride: Sequence[int], pad: Sequence[int] = (0, 0, 0, 0)) -> Tensor:
    """Largest pixel of each window."""
    return call("MaxPool", x, kernel=tuple(kernel), stride=tuple(stride), pad=tuple(pad))


def avg_pool2d(
    x: Tensor,
    kernel: Sequence[int],
    stride: Sequence[int],
    pad: Sequence[int] = (0, 0, 0, 0),
    count_include_pad: bool = True,
) -> Tensor:
    """Mean of each window."""
    attrs = {"kernel": tuple(kernel), "stride": tuple(stride), "pad": tuple(pad)}
    return call("AvgPool", x, **attrs, count_include_pad=bool(count_include_pad))


def pool3d(
    x: Tensor, kernel_size: Any, strides: Any = 1, pad_mode: str = "valid", pad_list: Any = 0, kind: str = "max"
) -> Tensor:
    """The largest element (kind "max") or the mean ("avg", without the padding) of windows of volumes [N, C, D, H, W]."""
    kernel, stride = triple(kernel_size), triple(strides)
    ends = padded_ends(x.shape[2:], kernel, stride, (1, 1, 1), pad_mode.lower(), pad_list)
    fill = -np.inf if kind == "max" else 0.0
    every = [(0, 0), (0, 0), *ends]
    counted = Tensor(np.ones(x.shape[2:], x.type.numpy)[None, None]) if kind == "avg" else None
    parts = [bordered(x, every, fill)] if counted is None else [bordered(x, every), bordered(counted, every)]
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


def adaptive_avg_pool1d(input: Tensor, output_size: int) -> Tensor:
    """Means of windows that divide the last axis into output_size parts as equal as possible."""
    return adaptive(input, (output_size,), reduce_mean)


def adaptive_max_pool1d(input: Tensor, output_size: int) -> Tensor:
    """Maxima of windows that divide the last axis into output_size parts as equal as possible."""
    return adaptive(input, (output_size,), reduce_max)


def adaptive_max_pool2d(input: Tensor, output_size: Any) -> Tensor:
    """Maxima of windows that divide the last two axes into output_size parts as equal as possible."""
    return adaptive(input, two_sizes(output_size), reduce_max)


def adaptive(x: Tensor, sizes: Sequence[int | None], reduce: Any) -> Tensor:
    """The last axes divided into parts as equal as possible, each part reduced; None keeps an axis."""
    for axis, wanted in enumerate(sizes, x.ndim - len(sizes)):
        size = x.shape[axis]
        if wanted is not None and wanted != size:
            before = (slice(None),) * axis
            bounds = [(i * size // wanted, -(-(i + 1) * size // wanted)) for i in range(wanted)]
            x = stack([reduce(getitem(x, (*before, slice(a, b))), axis) for a, b in bounds], axis)
    return x.value()


def adaptive_avg_pool2d(input: Tensor, output_size: Any) -> Tensor:
    """Means of windows that divide [..., H, W] into `output_size` parts as equal as possible; None keeps a size."""
    sizes = (output_size, output_size) if isinstance(output_size, int) or output_size is None else tuple(output_size)
    for axis, wanted in zip((-2, -1), sizes, strict=True):
        size = input.shape[axis]
        if wanted is None or wanted == size:
            continue
        at = input.ndim + axis
        before = (slice(None),) * at
        bounds = [(i * size // wanted, -(-(i + 1) * size // wanted)) for i in range(wanted)]
        input = stack([reduce_mean(getitem(input, (*before, slice(a, b))), at) for a, b in bounds], at)
    return input.value()


__all__ = [
    "adaptive_avg_pool1d",
    "adaptive_avg_pool2d",
    "adaptive_max_pool1d",
    "adaptive_max_pool2d",
    "avg_pool2d",
    "max_pool2d",
]
