"""Gradients of pooling, convolution and resizing as primitives of their own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from graphc.checks import one_of
from graphc.errors import ShapeError, user_loc
from graphc.ops import functional as F
from graphc.ops.functional.fractional import pooled_between
from graphc.ops.functional.resizing import resize_by_places, upsample_nearest, upsample_trilinear3d
from graphc.ops.functional.shapes import whole_numbers
from graphc.ops.primitives.images import Conv3D
from graphc.ops.primitives.network import AvgPool, Conv2D, MaxPool
from graphc.ops.primitives.pooling import AvgPool3D, MaxPool3D, MaxPoolWithArgmaxV2, MaxUnpool2D, MaxUnpool3D
from graphc.ops.primitives.pull import pull, pulled
from graphc.ops.primitives.resizing import ResizeBicubic, ResizeBilinearV2, ResizeLinear1D, ResizeNearestNeighbor
from graphc.ops.primitives.sampling import DeformableOffsets, GridSampler2D, GridSampler3D
from graphc.ops.tensor.primitive import REQUIRED, Only, declare
from graphc.ops.tensor.tensor import Tensor

# ---- pooling

_PLANES: dict[str, Any] = {"kernel_size": 1, "strides": 1, "pad_mode": "VALID", "data_format": Only("NCHW")}
_VOLUMES: dict[str, Any] = {
    "kernel_size": (1, 1, 1, 1, 1),
    "strides": (1, 1, 1, 1, 1),
    "pad_mode": "VALID",
    "pad_list": 0,
    "data_format": Only("NCDHW"),
}


def _max_pool2d(x: Tensor, kernel_size: Any, strides: Any, pad_mode: str) -> Tensor:
    made: Tensor = MaxPool(kernel_size, strides, pad_mode)(x)
    return made


def _max_pool3d(x: Tensor, kernel_size: Any, strides: Any, pad_mode: str, pad_list: Any = 0) -> Tensor:
    made: Tensor = MaxPool3D(kernel_size, strides, pad_mode, pad_list)(x)
    return made


MaxPoolGrad = pulled(
    "MaxPoolGrad", "x out dy", "x", _max_pool2d, "The gradient of MaxPool, from x, its result and dy", **_PLANES
)
AvgPoolGrad = pulled(
    "AvgPoolGrad",
    "x out dy",
    "x",
    lambda x, kernel_size, strides, pad_mode: AvgPool(kernel_size, strides, pad_mode)(x),
    "The gradient of AvgPool, from x, its result and dy",
    **_PLANES,
)
MaxPool3DGrad = pulled(
    "MaxPool3DGrad", "x out dy", "x", _max_pool3d, "The gradient of MaxPool3D, from x, its result and dy", **_VOLUMES
)


def _second(name: str, pool: Callable[..., Tensor], attrs: dict[str, Any]) -> type[Any]:
    """What flows back to dy through the gradient of a pooling of x, of which `out` is the result."""

    def first(dy: Tensor, x: Tensor, kernel_size: Any, strides: Any, pad_mode: str) -> Tensor:
        made: Tensor = pull(lambda v: pool(v, kernel_size, strides, pad_mode), dy, x)
        return made

    return pulled(
        f"{name}GradGrad",
        "x out grad",
        "dy",
        first,
        f"The gradient of {name}Grad for dy, from x, the result of {name}, and what flows into the gradient",
        flows="grad",
        shape=lambda out: out.shape,
        **attrs,
    )


MaxPoolGradGrad = _second("MaxPool", _max_pool2d, {k: v for k, v in _PLANES.items() if k != "data_format"})
MaxPool3DGradGrad = _second("MaxPool3D", _max_pool3d, {k: v for k, v in _VOLUMES.items() if k != "pad_list"})
AvgPool3DGrad = pulled(
    "AvgPool3DGrad",
    "x_shape dy",
    "x",
    lambda x, kernel_size, strides, pads, ceil_mode, count_include_pad, divisor_override, pad_mode: AvgPool3D(
        kernel_size, strides, pad_mode, pads, ceil_mode, count_include_pad, divisor_override
    )(x),
    "The gradient of AvgPool3D, from the shape of x and dy",
    kernel_size=1,
    strides=1,
    pads=0,
    ceil_mode=False,
    count_include_pad=True,
    divisor_override=0,
    data_format=Only("NCDHW"),
    pad_mode="pad",
)
AdaptiveAvgPool2DGrad = pulled(
    "AdaptiveAvgPool2DGrad",
    "dy x_shape",
    "x",
    lambda x, dy: F.adaptive_avg_pool2d(x, dy.shape[-2:]),
    "The gradient of AdaptiveAvgPool2D, from dy and the shape of x",
)
AdaptiveAvgPool3DGrad = pulled(
    "AdaptiveAvgPool3DGrad",
    "dy x_shape",
    "x",
    lambda x, dy: F.adaptive_avg_pool3d(x, dy.shape[-3:]),
    "The gradient of AdaptiveAvgPool3D, from dy and the shape of x",
)

# ---- pooling of which the places are given


def _taken(owner: str, x: Tensor, places: Tensor, axes: int) -> Tensor:
    """The elements of x [..., *spatial] at places in the flattened last axes; the places are [..., *windows]."""
    lead = x.shape[: x.ndim - axes]
    if x.ndim <= axes or places.ndim != x.ndim or places.shape[: len(lead)] != lead:
        raise ShapeError(
            f"{owner}: {x.tensor_type} has no places {places.tensor_type} in its last {axes} axes", loc=user_loc()
        )
    flat, at = (F.reshape(v, (*lead, -1)) for v in (x, places))
    return F.reshape(F.gather_elements(flat, len(lead), at), places.shape)


def _placed(name: str, axes: int, takes: str, doc: str, **attrs: Any) -> type[Any]:
    """The gradient of a pooling that has said where the largest elements are, argmax."""
    return pulled(
        name,
        takes,
        "x",
        lambda x, argmax: _taken(name, x, argmax, axes),
        f"The gradient of {doc}, from {takes}",
        **attrs,
    )


def _at_places(name: str, axes: int, doc: str, **attrs: Any) -> type[Any]:
    """dy at the places of the elements of x; the attributes say what argmax says, too."""

    def taken(x: Tensor, dy: Tensor, argmax: Tensor, **_: Any) -> Tensor:
        if dy.ndim != x.ndim:
            raise ShapeError(f"{name}: x is {x.tensor_type} and dy {dy.tensor_type}", loc=user_loc())
        return _taken(name, dy, argmax, axes)

    return declare(name, taken, f"The gradient of {doc}, from x, dy and argmax", **attrs)


#: The places of the pooling of MindSpore 1 count in all of an image.
MaxPoolGradWithArgmax = _placed("MaxPoolGradWithArgmax", 3, "x dy argmax", "MaxPoolWithArgmax", **_PLANES)
MaxPoolGradGradWithArgmax = _at_places(
    "MaxPoolGradGradWithArgmax",
    3,
    "MaxPoolGradWithArgmax for dy",
    **{k: v for k, v in _PLANES.items() if k != "data_format"},
)
MaxPoolGradWithArgmaxV2 = _placed(
    "MaxPoolGradWithArgmaxV2",
    2,
    "x dy argmax",
    "MaxPoolWithArgmaxV2",
    **MaxPoolWithArgmaxV2.attributes,
)
MaxPool3DGradWithArgmax = _placed(
    "MaxPool3DGradWithArgmax",
    3,
    "x dy argmax",
    "MaxPool3DWithArgmax",
    ksize=REQUIRED,
    strides=REQUIRED,
    pads=REQUIRED,
    dilation=(1, 1, 1),
    ceil_mode=False,
    data_format=Only("NCDHW"),
)
AdaptiveMaxPool2DGrad = _placed("AdaptiveMaxPool2DGrad", 2, "dy x argmax", "AdaptiveMaxPool2D")
AdaptiveMaxPool3DGrad = _placed("AdaptiveMaxPool3DGrad", 3, "dy x argmax", "AdaptiveMaxPool3D")
FractionalMaxPool3DGradWithFixedKsize = _placed(
    "FractionalMaxPool3DGradWithFixedKsize",
    3,
    "x dy argmax",
    "FractionalMaxPool3DWithFixedKsize",
    data_format=Only("NCDHW"),
)
FractionalMaxPoolGradWithFixedKsize = pulled(
    "FractionalMaxPoolGradWithFixedKsize",
    "x dy argmax",
    "image",
    lambda image, argmax: _taken("FractionalMaxPoolGradWithFixedKsize", image, argmax, 2),
    "The gradient of FractionalMaxPoolWithFixedKsize, from x, of which the shape counts, dy and argmax",
    shape=lambda x: x.shape,
    data_format=Only("NCHW"),
)

MaxUnpool2DGrad = _at_places("MaxUnpool2DGrad", 2, "MaxUnpool2D", **MaxUnpool2D.attributes)
MaxUnpool3DGrad = _at_places("MaxUnpool3DGrad", 3, "MaxUnpool3D", **MaxUnpool3D.attributes)

# ---- pooling between borders


def _widths(x: Tensor, borders: Sequence[Tensor], overlapping: bool) -> list[int]:
    """How many rows and columns a window has at most: as many as there are, where the borders are not known."""
    more = 1 if overlapping else 0
    most = [
        x.shape[k] if b.array is None else int((b.array[1:] - b.array[:-1]).max()) + more
        for k, b in enumerate(borders, 1)
    ]
    return [max(1, min(width, size)) for width, size in zip(most, x.shape[1:3], strict=True)]


def _between(name: str, largest: bool) -> Callable[..., Tensor]:
    def pooled(x: Tensor, rows: Tensor, columns: Tensor, overlapping: bool) -> Tensor:
        if x.ndim != 4 or rows.ndim != 1 or columns.ndim != 1 or min(rows.size, columns.size) < 2:
            raise ShapeError(
                f"{name}: x is {x.tensor_type}, the borders {rows.tensor_type} and {columns.tensor_type}, expected"
                " [N, H, W, C] and two borders or more each",
                loc=user_loc(),
            )
        borders = (rows, columns)
        return pooled_between(x, borders, _widths(x, borders, overlapping), overlapping, largest)

    return pooled


FractionalMaxPoolGrad = pulled(
    "FractionalMaxPoolGrad",
    "x out dy rows columns",
    "x",
    _between("FractionalMaxPoolGrad", True),
    "The gradient of FractionalMaxPool, from x, its result, dy, and the borders of rows and of columns",
    overlapping=False,
)
FractionalAvgPoolGrad = pulled(
    "FractionalAvgPoolGrad",
    "x_shape dy rows columns",
    "x",
    _between("FractionalAvgPoolGrad", False),
    "The gradient of FractionalAvgPool, from the shape of x, dy, and the borders of rows and of columns",
    overlapping=False,
)

# ---- convolution


Conv2DBackpropFilter = pulled(
    "Conv2DBackpropFilter",
    "dy x weight_shape",
    "weight",
    Conv2D.function,
    "The gradient of Conv2D for its weight, from dy, x and the weight's shape",
    out_channel=REQUIRED,
    kernel_size=REQUIRED,
    pad_mode="valid",
    pad=0,
    pad_list=(0, 0, 0, 0),
    mode=Only(1),
    stride=(1, 1),
    dilation=(1, 1, 1, 1),
    group=1,
    data_format=Only("NCHW"),
)


_CONV3D: dict[str, Any] = {
    "out_channel": REQUIRED,
    "kernel_size": REQUIRED,
    "mode": Only(1),
    "pad_mode": "valid",
    "pad": 0,
    "stride": (1, 1, 1, 1, 1),
    "dilation": (1, 1, 1, 1, 1),
    "group": 1,
    "data_format": Only("NCDHW"),
}
_filter3d = pulled(
    "Conv3DBackpropFilter",
    "x dy weight_shape",
    "weight",
    Conv3D.function,
    "The gradient of Conv3D for its weight, from x, dy and the weight's shape; of float16 in float32",
    **_CONV3D,
)


def _wide_filter3d(x: Tensor, dy: Tensor, weight_shape: Any, **how: Any) -> Tensor:
    made: Tensor = _filter3d(**how)(x, dy, weight_shape)
    return F.cast(made, "float32") if made.tensor_type.dtype == "float16" else made


Conv3DBackpropFilter = declare("Conv3DBackpropFilter", _wide_filter3d, _filter3d.__doc__, **_CONV3D)
Conv3DBackpropInput = pulled(
    "Conv3DBackpropInput",
    "weight dy x_shape",
    "x",
    Conv3D.function,
    "The gradient of Conv3D for x, from the weight, dy and the shape of x",
    **_CONV3D,
)
DeformableOffsetsGrad = pulled(
    "DeformableOffsetsGrad",
    "dy x offsets",
    "x offsets",
    lambda x, offsets, strides, pads, kernel_size, dilations, deformable_groups: DeformableOffsets(
        strides, pads, kernel_size, dilations, "NCHW", deformable_groups
    )(x, offsets),
    "The gradients of DeformableOffsets for x and the offsets",
    strides=REQUIRED,
    pads=REQUIRED,
    kernel_size=REQUIRED,
    dilations=(1, 1, 1, 1),
    data_format=Only("NCHW"),
    deformable_groups=1,
    modulated=Only(True),
)

# ---- resizing

_CORNERS: dict[str, Any] = {"align_corners": False, "half_pixel_centers": False}


def _resized(name: str, resize: type[Any]) -> type[Any]:
    return pulled(
        f"{name}Grad",
        "dy image",
        "image",
        lambda image, dy, align_corners, half_pixel_centers: resize(align_corners, half_pixel_centers)(
            image, dy.shape[2:]
        ),
        f"The gradient of {resize.__name__}, from dy and x",
        **_CORNERS,
    )


ResizeBilinearGrad = _resized("ResizeBilinear", ResizeBilinearV2)
ResizeBicubicGrad = _resized("ResizeBicubic", ResizeBicubic)


def _nearest_grad(name: str) -> type[Any]:
    return pulled(
        name,
        "dy size",
        "x",
        lambda x, dy, align_corners, half_pixel_centers: ResizeNearestNeighbor(
            dy.shape[2:], align_corners, half_pixel_centers
        )(x),
        f"The gradient of {name.removesuffix('Grad')}, from dy and the size of x",
        known="size",
        shape=lambda dy, size: (*dy.shape[:2], *whole_numbers(name, "size", size)),
        **_CORNERS,
    )


ResizeNearestNeighborGrad = _nearest_grad("ResizeNearestNeighborGrad")
ResizeNearestNeighborV2Grad = _nearest_grad("ResizeNearestNeighborV2Grad")
ResizeLinear1DGrad = pulled(
    "ResizeLinear1DGrad",
    "dy x",
    "x",
    lambda x, dy, coordinate_transformation_mode: ResizeLinear1D(coordinate_transformation_mode)(x, dy.shape[2:]),
    "The gradient of ResizeLinear1D, from dy and x",
    coordinate_transformation_mode="align_corners",
)
UpsampleNearest1DGrad, UpsampleNearest2DGrad, UpsampleNearest3DGrad = (
    pulled(
        f"UpsampleNearest{_axes}DGrad",
        "dy x_shape output_size? scales?",
        "x",
        lambda x, output_size, scales, axes=_axes: upsample_nearest(
            f"UpsampleNearest{axes}DGrad", axes, x, output_size, scales
        ),
        f"The gradient of nearest neighbours in {_axes} axes, from dy, the shape of x, and one of output_size and scales",
    )
    for _axes in (1, 2, 3)
)
UpsampleTrilinear3DGrad = pulled(
    "UpsampleTrilinear3DGrad",
    "dy x_shape output_size? scales?",
    "x",
    lambda x, output_size, scales, align_corners: upsample_trilinear3d(
        x, output_size, scales, align_corners=align_corners
    ),
    "The gradient of UpsampleTrilinear3D, from dy, the shape of x, and one of output_size and scales",
    align_corners=False,
)


def _resize_v2(x: Tensor, dy: Tensor, coordinate_transformation_mode: str, mode: str) -> Tensor:
    """x in the size of dy; by "nearest" and "linear" sequences alone, which are images of one row."""
    name = "ResizeV2Grad"
    for key, value, known in (
        ("coordinate_transformation_mode", coordinate_transformation_mode, ("align_corners", "half_pixel")),
        ("mode", mode, ("nearest", "linear", "cubic")),
    ):
        one_of(name, key, value, known)
    if x.ndim != 4 or dy.ndim != 4 or (mode != "cubic" and x.shape[2] != 1):
        rows = "H" if mode == "cubic" else "1"
        raise ShapeError(
            f"{name}: dy is {dy.tensor_type} and the size of x {x.shape}, expected [N, C, {rows}, W]", loc=user_loc()
        )
    return resize_by_places(x, dy.shape[2:], mode, coordinate_transformation_mode == "align_corners")


ResizeV2Grad = pulled(
    "ResizeV2Grad",
    "dy roi scales x_shape",
    "x",
    _resize_v2,
    "The gradient of ResizeV2, from dy and the size of x; roi and scales count for nothing",
    coordinate_transformation_mode="half_pixel",
    mode="nearest",
)

# ---- pixels at places

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
