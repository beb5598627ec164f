"""Gradients of reading images at places as primitives of their own: points of a grid, boxes."""

from __future__ import annotations

from typing import Any

from graphc.errors import DTypeError, ShapeError, user_loc
from graphc.ops import functional as F
from graphc.ops.functional.core import Ints
from graphc.ops.functional.shapes import whole_numbers
from graphc.ops.primitives.pull import numbers, pull, pulled
from graphc.ops.primitives.sampling import GridSampler2D, GridSampler3D, PSROIPooling
from graphc.ops.tensor.dtype import to_name
from graphc.ops.tensor.primitive import REQUIRED, Only, declare
from graphc.ops.tensor.tensor import Tensor
from graphc.validation.unused_arguments import refusal

_GRIDS: dict[str, Any] = {
    "interpolation_mode": "bilinear",
    "padding_mode": "zeros",
    "align_corners": False,
    "output_mask": Only((1, 1)),
}


def _sampled(sampler: type[Any]) -> type[Any]:
    name = sampler.__name__
    return pulled(
        f"{name}Grad",
        "dy x grid",
        "x grid",
        lambda x, grid, interpolation_mode, padding_mode, align_corners: sampler(
            interpolation_mode, padding_mode, align_corners
        )(x, grid),
        f"The gradients of {name} for x and grid",
        **_GRIDS,
    )


GridSampler2DGrad, GridSampler3DGrad = _sampled(GridSampler2D), _sampled(GridSampler3D)
AffineGridGrad = pulled(
    "AffineGridGrad",
    "dy x_size",
    "theta",
    lambda theta, x_size, align_corners: F.affine_grid(theta, x_size, align_corners),
    "The gradient of AffineGrid for theta, from dy and the size of x",
    known="x_size",
    shape=lambda x_size: (x_size[0], len(x_size) - 2, len(x_size) - 1),
    align_corners=False,
)

# ---- boxes


def _crop_size(owner: str, grads: Tensor) -> tuple[int, ...]:
    if not isinstance(grads, Tensor) or grads.ndim != 4 or grads.tensor_type.dtype not in ("float32", "float64"):
        raise ShapeError(
            f"{owner}: grads are {getattr(grads, 'tensor_type', grads)}, expected float32 or float64 [boxes, H, W, C]",
            loc=user_loc(),
        )
    return grads.shape[1:3]


def _image_grad(grads: Tensor, boxes: Tensor, box_index: Tensor, image_size: Any, T: Any, method: str) -> Tensor:
    """The gradient of CropAndResize for images [N, H, W, C] of the size image_size, from that of the boxes; of dtype T."""
    owner, wanted = "CropAndResizeGradImage", to_name(T)
    if wanted not in ("float16", "float32", "float64"):
        raise DTypeError(f"{owner}: T must be float16, float32 or float64, got {wanted}", loc=user_loc())
    if method not in ("bilinear", "nearest"):
        raise refusal(owner, "method", method, "bilinear", "nearest")
    crop, size = _crop_size(owner, grads), whole_numbers(owner, "image_size", numbers(owner, image_size))
    back = pull(
        lambda images: F.crop_and_resize(images, boxes, box_index, crop, method),
        F.cast(grads, "float32"),
        F.zeros(size, "float32"),
    )
    return F.cast(back, wanted)


CropAndResizeGradImage = declare("CropAndResizeGradImage", _image_grad, T=REQUIRED, method="bilinear")


def _boxes_read(boxes: Tensor, grads: Tensor, images: Tensor, box_index: Tensor) -> Tensor:
    crop = _crop_size("CropAndResizeGradBoxes", grads)
    return F.cast(F.crop_and_resize(images, boxes, box_index, crop), grads.dtype)


CropAndResizeGradBoxes = pulled(
    "CropAndResizeGradBoxes",
    "grads images boxes box_index",
    "boxes",
    _boxes_read,
    "The gradient of CropAndResize for the boxes, from grads, the images [N, H, W, C], the boxes and whose they are; where a box"
    " reads a pixel exactly, that towards the next one, in MindSpore zero",
    flows="grads",
    method=Only("bilinear"),
)


def _position_sensitive(
    features: Tensor, rois: Tensor, spatial_scale: float, group_size: int, output_dim: int
) -> Tensor:
    made: Tensor = PSROIPooling(spatial_scale, group_size, output_dim)(features, rois)
    return made


def _features_shape(rois: Tensor, input_size: Ints, group_size: int, output_dim: int) -> tuple[int, ...]:
    if rois.ndim != 3:
        raise ShapeError(f"PSROIPoolingGrad: rois are {rois.tensor_type}, expected [N, 5, boxes]", loc=user_loc())
    plane = (input_size, input_size) if isinstance(input_size, int) else tuple(input_size)
    return (rois.shape[0], output_dim * group_size * group_size, *plane)


PSROIPoolingGrad = pulled(
    "PSROIPoolingGrad",
    "dy rois",
    "features",
    _position_sensitive,
    "The gradient of PSROIPooling for features of a height and width input_size, from dy and the boxes",
    shape=_features_shape,
    input_size=REQUIRED,
    spatial_scale=REQUIRED,
    group_size=REQUIRED,
    output_dim=REQUIRED,
)
