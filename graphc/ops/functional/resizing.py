"""Images and volumes of another size."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from graphc.arguments import only
from graphc.errors import ArgumentValueError, user_loc
from graphc.ops.functional.products import matmul
from graphc.ops.functional.shapes import transpose
from graphc.ops.functional.slicing import gather
from graphc.ops.tensor.tensor import Tensor

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
    return x.value()


def upsample_nearest3d(x: Tensor, output_size: Any = None, scales: Any = None) -> Tensor:
    """Volumes [N, C, D, H, W] in another size, by nearest neighbours."""
    sizes = output_size or [int(n * s) for n, s in zip(x.shape[2:], scales, strict=True)]
    for axis, wanted in enumerate(sizes, 2):
        have = x.shape[axis]
        places = np.minimum(np.floor(np.arange(wanted) * (have / wanted)), have - 1)
        x = gather(x, Tensor(places.astype(np.int32)), axis)
    return x.value()


def resize_nearest_neighbor(input_x: Tensor, size: Sequence[int], align_corners: bool = False) -> Tensor:
    """[N, C, H, W] with another height and width: each pixel is the one at the same relative place."""
    for axis, wanted in zip((2, 3), size, strict=True):
        have = input_x.shape[axis]
        if align_corners and wanted > 1:
            places = np.floor(np.arange(wanted) * (have - 1) / (wanted - 1) + 0.5)
        else:
            places = np.floor(np.arange(wanted) * (have / wanted))
        input_x = gather(input_x, Tensor(np.minimum(places, have - 1).astype(np.int32)), axis)
    return input_x


def interpolate(
    input: Tensor, size: Any = None, scale_factor: Any = None, mode: str = "nearest", align_corners: bool | None = None
) -> Tensor:
    """[N, C, H, W] with another height and width, by nearest neighbours.

    ArgumentValueError for another mode, and for align_corners, which this mode has not.
    """
    only("interpolate", "align_corners", align_corners, None)
    if mode != "nearest" or input.ndim != 4:
        raise ArgumentValueError(f"interpolate: mode {mode!r} of {input.type} is not supported", loc=user_loc())
    if size is None:
        factors = (scale_factor, scale_factor) if isinstance(scale_factor, (int, float)) else tuple(scale_factor)
        size = tuple(int(d * f) for d, f in zip(input.shape[2:], factors, strict=True))
    return resize_nearest_neighbor(input, (size, size) if isinstance(size, int) else size)


__all__ = [
    "interpolate",
    "resize_nearest_neighbor",
]
