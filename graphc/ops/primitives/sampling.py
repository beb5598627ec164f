"""Primitives that read images between their pixels: grids and boxes."""

from __future__ import annotations

from typing import Any

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
