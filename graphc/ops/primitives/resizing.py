"""Primitives that resize sequences, images and volumes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from graphc.errors import ArgumentValueError, DTypeError, ShapeError, user_loc
from graphc.ops.functional.core import Extents
from graphc.ops.functional.operand_checks import require_rank
from graphc.ops.functional.resizing import (
    resize_area,
    resize_bilinear,
    resize_by_places,
    resize_cubic,
    resize_linear1d,
    resize_nearest,
    upsample_nearest3d,
    upsample_trilinear3d,
    wanted_plane,
)
from graphc.ops.functional.shapes import whole_numbers
from graphc.ops.primitives.pull import numbers
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


def resized_v2(owner: str, x: Tensor, plane: Sequence[int], places: str, mode: str) -> Tensor:
    """x [N, C, H, W] in another height and width; by "nearest" and "linear" sequences alone, which are images of one row.

    places: "align_corners" or "half_pixel"; mode: "nearest", "linear" or "cubic". Raises ArgumentValueError, ShapeError.
    """
    for key, value, known in (
        ("coordinate_transformation_mode", places, ("align_corners", "half_pixel")),
        ("mode", mode, ("nearest", "linear", "cubic")),
    ):
        if value not in known:
            raise ArgumentValueError(f"{owner}: {key} must be one of {known}, got {value!r}", loc=user_loc())
    if x.ndim != 4 or (mode != "cubic" and (x.shape[2], plane[0]) != (1, 1)):
        rows = "H" if mode == "cubic" else "1"
        raise ShapeError(
            f"{owner}: x is {x.shape}, to become {tuple(plane)}, expected [N, C, {rows}, W]", loc=user_loc()
        )
    return resize_by_places(x, plane, mode, places == "align_corners")


def _resize_v2(x: Tensor, roi: Any, scales: Any, sizes: Any, coordinate_transformation_mode: str, mode: str) -> Tensor:
    """x [N, C, H, W] in the size `sizes`, of which N and C are those of x; roi and scales count for nothing.

    By "nearest", with "half_pixel" alone, and "linear" H is 1. Numbers that are no floats are resized by "nearest" alone. Raises
    ArgumentValueError, ShapeError, DTypeError; TraceError (GC120) for sizes that are not known.
    """
    owner, wanted = "ResizeV2", whole_numbers("ResizeV2", "sizes", numbers("ResizeV2", sizes))
    if len(wanted) != 4 or wanted[:2] != x.shape[:2] or min(wanted) < 1:
        raise ShapeError(f"{owner}: sizes are {wanted}, x is {x.tensor_type}", loc=user_loc())
    if mode == "nearest" and coordinate_transformation_mode != "half_pixel":
        raise ArgumentValueError(
            f"{owner}: coordinate_transformation_mode must be 'half_pixel' where mode is 'nearest',"
            f" got {coordinate_transformation_mode!r}",
            loc=user_loc(),
        )
    if mode != "nearest" and not x.tensor_type.is_float:
        raise DTypeError(f"{owner}: x is {x.tensor_type}, expected floats for mode {mode!r}", loc=user_loc())
    return resized_v2(owner, x, wanted[2:], coordinate_transformation_mode, mode)


ResizeV2 = declare("ResizeV2", _resize_v2, coordinate_transformation_mode="half_pixel", mode="nearest")
