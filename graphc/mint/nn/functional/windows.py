"""Pooling, resizing, and transposed convolutions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from graphc import ops
from graphc.ops import (
    adaptive_avg_pool1d,
    adaptive_avg_pool2d,
    adaptive_avg_pool3d,
    conv_transpose2d,
    grid_sample,
)
from graphc.ops.functional.core import Extents, Ints
from graphc.ops.functional.extended import avg_pool1d_ext as avg_pool1d
from graphc.ops.functional.extended import avg_pool2d_ext as avg_pool2d
from graphc.ops.functional.extended import avg_pool3d_ext as avg_pool3d
from graphc.ops.functional.extended import max_pool2d_ext as max_pool2d
from graphc.ops.functional.resizing import resized
from graphc.ops.tensor.tensor import Tensor
from graphc.validation.unused_arguments import only


def adaptive_max_pool1d(input: Tensor, output_size: int | Sequence[int], return_indices: bool = False) -> Any:
    """Maxima of windows that divide the last axis into output_size parts; with return_indices also where they are, int64."""
    size: Any = output_size
    size = size[0] if isinstance(size, (tuple, list)) and len(size) == 1 else size
    made = adaptive_max_pool2d(ops.expand_dims(input, -2), (1, size), return_indices)
    return tuple(ops.squeeze(m, -2) for m in made) if return_indices else ops.squeeze(made, -2)


def adaptive_max_pool2d(input: Tensor, output_size: Extents, return_indices: bool = False) -> Any:
    """Maxima of windows that divide the last two axes into output_size parts; with return_indices also where they are, int64."""
    made = ops.adaptive_max_pool2d(input, output_size, return_indices)
    return (made[0], ops.cast(made[1], "int64")) if return_indices else made


def max_unpool2d(
    input: Tensor,
    indices: Tensor,
    kernel_size: Ints,
    stride: Ints | None = None,
    padding: Any = 0,
    output_size: Extents = None,
) -> Tensor:
    """The reverse of `max_pool2d`: maxima at their places in planes of zeros."""
    return ops.max_unpool2d(input, indices, kernel_size, stride, padding, output_size)


def interpolate(
    input: Tensor,
    size: Extents = None,
    scale_factor: float | Sequence[float] | None = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
) -> Tensor:
    """As `ops.interpolate`, but for "bicubic", which is torch's: derivative -0.75, ends repeated, wherever the places lie."""
    return resized(input, size, scale_factor, mode, align_corners, recompute_scale_factor, repeated=True)


def upsample(
    input: Tensor,
    size: Extents = None,
    scale_factor: float | Sequence[float] | None = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
) -> Tensor:
    """`interpolate`."""
    return interpolate(input, size, scale_factor, mode, align_corners)


def dropout2d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Whole channels of [N, C, H, W] zero with probability p, the others over 1 - p; input itself unless training."""
    only("dropout2d", "inplace", inplace, False)
    return ops.dropout2d(input, p, training)


__all__ = [
    "adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d", "adaptive_max_pool1d", "adaptive_max_pool2d",
    "avg_pool1d", "avg_pool2d", "avg_pool3d", "conv_transpose2d", "dropout2d", "grid_sample", "interpolate",
    "max_pool2d", "max_unpool2d", "upsample",
]  # fmt: skip
