"""Primitives that resize sequences, images and volumes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from graphc.ops.functional.core import Extents
from graphc.ops.functional.fitting import require_rank
from graphc.ops.functional.resizing import (
    resize_area,
    resize_bilinear,
    resize_cubic,
    resize_linear1d,
    resize_nearest,
    upsample_nearest3d,
    upsample_trilinear3d,
    wanted_plane,
)
from graphc.ops.tensor.primitive import REQUIRED, declare
from graphc.ops.tensor.tensor import Tensor


def _nearest(image: Tensor, size: Extents, align_corners: bool, half_pixel_centers: bool) -> Tensor:
    """Images [N, C, H, W] in another height and width, by nearest neighbours."""
    require_rank("ResizeNearestNeighbor", "the image", image, 4)
    return resize_nearest(image, wanted_plane(size), align_corners, half_pixel_centers)


def _bilinear(x: Tensor, size: Sequence[int], align_corners: bool, half_pixel_centers: bool) -> Tensor:
    """Images [N, C, H, W] in another height and width, by bilinear interpolation."""
    require_rank("ResizeBilinearV2", "the image", x, 4)
    return resize_bilinear(x, size, align_corners, half_pixel_centers)


def _cubic(image: Tensor, size: Sequence[int], align_corners: bool, half_pixel_centers: bool) -> Tensor:
    """Images [N, C, H, W] in another height and width, by cubic convolution."""
    return resize_cubic(image, size, align_corners, half_pixel_centers)


_PLACES: dict[str, Any] = {"align_corners": False, "half_pixel_centers": False}

ResizeNearestNeighbor = declare("ResizeNearestNeighbor", _nearest, size=REQUIRED, **_PLACES)

ResizeNearestNeighborV2 = declare("ResizeNearestNeighborV2", _nearest, **_PLACES)

ResizeBilinearV2 = declare("ResizeBilinearV2", _bilinear, **_PLACES)

ResizeBicubic = declare("ResizeBicubic", _cubic, **_PLACES)

ResizeArea = declare("ResizeArea", resize_area, align_corners=False)

ResizeLinear1D = declare("ResizeLinear1D", resize_linear1d, coordinate_transformation_mode="align_corners")

UpsampleNearest3D = declare("UpsampleNearest3D", upsample_nearest3d)

UpsampleTrilinear3D = declare("UpsampleTrilinear3D", upsample_trilinear3d, align_corners=False)
