"""Primitives that read images between their pixels: grids and boxes."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphc.errors import ArgumentValueError, ShapeError, user_loc
from graphc.ops import functional as F
from graphc.ops.functional.core import Ints
from graphc.ops.functional.grids import deformable_offsets, roi_align, window_steps
from graphc.ops.tensor.primitive import REQUIRED, Only, declare
from graphc.ops.tensor.tensor import Tensor


def _grid_sample(
    input_x: Tensor, grid: Tensor, interpolation_mode: str, padding_mode: str, align_corners: bool
) -> Tensor:
    """The values of images or volumes at the points of a grid."""
    return F.grid_sample(input_x, grid, interpolation_mode, padding_mode, align_corners)


_SAMPLER: dict[str, Any] = {"interpolation_mode": "bilinear", "padding_mode": "zeros", "align_corners": False}

GridSampler2D, GridSampler3D = (declare(n, _grid_sample, **_SAMPLER) for n in ("GridSampler2D", "GridSampler3D"))

AffineGrid = declare(
    "AffineGrid",
    lambda theta, output_size, align_corners: F.affine_grid(theta, output_size, align_corners),
    F.affine_grid.__doc__,
    align_corners=False,
)


def _crop(
    x: Tensor, boxes: Tensor, box_index: Tensor, crop_size: Ints, method: str, extrapolation_value: float
) -> Tensor:
    """Boxes of images [N, H, W, C], each in the same size."""
    return F.crop_and_resize(x, boxes, box_index, crop_size, method, extrapolation_value)


CropAndResize = declare("CropAndResize", _crop, method="bilinear", extrapolation_value=0.0)


def _deformable_offsets(
    x: Tensor, offsets: Tensor, strides: Ints, pads: Ints, ksize: Ints, dilations: Ints, deformable_groups: int
) -> Tensor:
    """What the taps of a convolution's windows read at shifted places, times a mask: [N, C, rows kh, columns kw]."""
    return deformable_offsets(
        x, offsets, *window_steps("DeformableOffsets", ksize, strides, pads, dilations, deformable_groups)
    )


DeformableOffsets = declare(
    "DeformableOffsets",
    _deformable_offsets,
    strides=REQUIRED,
    pads=REQUIRED,
    ksize=REQUIRED,
    dilations=(1, 1, 1, 1),
    data_format=Only("NCHW"),
    deformable_groups=1,
    modulated=Only(True),
)

ROIAlign = declare(
    "ROIAlign",
    roi_align,
    pooled_height=REQUIRED,
    pooled_width=REQUIRED,
    spatial_scale=REQUIRED,
    sample_num=2,
    roi_end_mode=1,
)

# ---- boxes whose parts read channels of their own


def _covered(first: Tensor, last: Tensor, parts: int, size: int, scale: float) -> Tensor:
    """bool [boxes, parts, size]: the pixels of each part of boxes along an axis, whose ends are rounded away from zero."""
    begin, end = (F.sign(x) * F.floor(F.abs(x) * scale + 0.5) for x in (first, last))
    length = F.maximum(end - begin, 0.1) / parts
    steps = Tensor(np.arange(parts, dtype=np.float32))
    low, high = (F.reshape(begin, (-1, 1)) + (steps + k) * F.reshape(length, (-1, 1)) for k in (0, 1))
    low, high = (F.expand_dims(F.clamp(x, 0, size), 2) for x in (F.floor(low), F.ceil(high)))
    pixels = Tensor(np.arange(size, dtype=np.float32))
    return F.logical_and(low <= pixels, pixels < high)


def _position_sensitive(
    features: Tensor, rois: Tensor, spatial_scale: float, group_size: int, output_dim: int
) -> Tensor:
    """[N boxes, output_dim, group_size, group_size]: the means of the pixels of each part of boxes, of part (i, j) those of the
    channels that are its own; 0 for parts without pixels.

    features: floats [N, output_dim group_size^2, H, W]; rois: [N, 5, boxes], the image's number and (x1, y1, x2, y2); of several
    boxes MindSpore's kernel for CPUs reads other numbers than those. Raises ShapeError, ArgumentValueError.
    """
    images, channels = features.shape[0], output_dim * group_size * group_size
    if features.ndim != 4 or features.shape[1] != channels or rois.ndim != 3 or rois.shape[:2] != (images, 5):
        raise ShapeError(
            f"PSROIPooling: features are {features.tensor_type}, rois {rois.tensor_type}, expected"
            f" [N, {channels}, H, W] and [N, 5, boxes]",
            loc=user_loc(),
        )
    if not spatial_scale > 0:
        raise ArgumentValueError(f"PSROIPooling: spatial_scale must be positive, got {spatial_scale}", loc=user_loc())
    image, left, top, right, bottom = (F.reshape(rois[:, k], (-1,)) for k in range(5))
    down, across = (
        F.cast(_covered(a, b, group_size, size, spatial_scale), features.dtype)
        for a, b, size in ((top, bottom, features.shape[2]), (left, right, features.shape[3]))
    )
    pixels = F.reshape(F.reduce_sum(down, 2), (-1, 1, group_size, 1)) * F.reshape(
        F.reduce_sum(across, 2), (-1, 1, 1, group_size)
    )
    numbers = Tensor(np.arange(images, dtype=np.int32))
    whose = F.cast(F.equal(F.expand_dims(F.cast(image, "int32"), 1), numbers), features.dtype)
    parts = F.reshape(features, (images, output_dim, group_size, group_size, *features.shape[2:]))
    sums = F.einsum("rn,ncijhw,rih,rjw->rcij", whose, parts, down, across)
    return F.select(pixels > 0, sums / F.maximum(pixels, 1.0), F.zeros_like(sums))


PSROIPooling = declare(
    "PSROIPooling", _position_sensitive, spatial_scale=REQUIRED, group_size=REQUIRED, output_dim=REQUIRED
)
