"""Primitives of images and volumes beyond plain convolution: adaptive pooling, resizing, transposed and 3-D convolution."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from graphc.ops import functional as F
from graphc.ops.functional.conv import conv2d_transpose, conv3d
from graphc.ops.functional.pooling import adaptive_max_pool2d, pool3d
from graphc.ops.functional.resizing import resize_bilinear, upsample_nearest3d
from graphc.ops.primitives.network import check_weight, pair_of
from graphc.ops.tensor.primitive import REQUIRED, Only, declare
from graphc.ops.tensor.tensor import Tensor

AdaptiveAvgPool2D = declare("AdaptiveAvgPool2D", F.adaptive_avg_pool2d, output_size=REQUIRED)


def _resize(x: Tensor, size: Sequence[int], align_corners: bool) -> Tensor:
    """[N, C, H, W] with another height and width, by nearest neighbours."""
    return F.resize_nearest_neighbor(x, size, align_corners)


ResizeNearestNeighbor = declare(
    "ResizeNearestNeighbor", _resize, size=REQUIRED, align_corners=False, half_pixel_centers=Only(False)
)


def _conv_transpose(
    dy: Tensor,
    weight: Tensor,
    shape: Sequence[int],
    out_channel: int,
    kernel_size: Any,
    pad_mode: str,
    pad: Any,
    stride: Any,
    dilation: Any,
    group: int,
) -> Tensor:
    """The images of shape [N, C, H, W] whose convolution would have dy as the gradient of its result."""
    check_weight("Conv2DTranspose", weight, out_channel, kernel_size)
    strides, dilations = pair_of("Conv2DTranspose", "stride", stride), pair_of("Conv2DTranspose", "dilation", dilation)
    pads = (pad,) * 4 if isinstance(pad, int) else tuple(pad)
    if pad_mode.lower() == "same":
        pads = F.same_pad((shape[2], shape[3]), (weight.shape[2], weight.shape[3]), strides, dilations)
    elif pad_mode.lower() == "valid":
        pads = (0, 0, 0, 0)
    if group == 1:
        return conv2d_transpose(dy, weight, shape, pads, strides, dilations)
    part = (shape[0], shape[1] // group, *shape[2:])
    dys, weights = F.split(dy, dy.shape[1] // group, 1), F.split(weight, weight.shape[0] // group, 0)
    parts = [conv2d_transpose(d, w, part, pads, strides, dilations) for d, w in zip(dys, weights, strict=True)]
    return F.concat(parts, 1)


_TRANSPOSED: dict[str, Any] = {
    "out_channel": REQUIRED,
    "kernel_size": REQUIRED,
    "pad_mode": "valid",
    "pad": 0,
    "pad_list": Only(None),
    "mode": Only(1),
    "stride": 1,
    "dilation": 1,
    "group": 1,
    "data_format": Only("NCHW"),
}

Conv2DBackpropInput = declare("Conv2DBackpropInput", _conv_transpose, **_TRANSPOSED)

Conv2DTranspose = declare("Conv2DTranspose", _conv_transpose, **_TRANSPOSED)

AdaptiveMaxPool2D = declare("AdaptiveMaxPool2D", adaptive_max_pool2d, output_size=REQUIRED)

UpsampleNearest3D = declare("UpsampleNearest3D", upsample_nearest3d)


def _resized(x: Tensor, size: Any, align_corners: bool, half_pixel_centers: bool) -> Tensor:
    """Images [N, C, H, W] in another height and width, by bilinear interpolation."""
    return resize_bilinear(x, size, align_corners, half_pixel_centers)


ResizeBilinearV2 = declare("ResizeBilinearV2", _resized, align_corners=False, half_pixel_centers=False)


def _conv3d(
    x: Tensor,
    weight: Tensor,
    out_channel: int,
    kernel_size: Any,
    pad_mode: str,
    pad: Any,
    stride: Any,
    dilation: Any,
    group: int,
) -> Tensor:
    """Cross-correlation of volumes [N, C, D, H, W] with windows."""
    check_weight("Conv3D", weight, out_channel, kernel_size)
    return conv3d(x, weight, None, stride, pad_mode, pad, dilation, group)


Conv3D = declare(
    "Conv3D",
    _conv3d,
    out_channel=REQUIRED,
    kernel_size=REQUIRED,
    mode=Only(1),
    pad_mode="valid",
    pad=0,
    stride=1,
    dilation=1,
    group=1,
    data_format=Only("NCDHW"),
)


def _max_pool3d(x: Tensor, kernel_size: Any, strides: Any, pad_mode: str, pad_list: Any) -> Tensor:
    """The largest element of each window of volumes [N, C, D, H, W]."""
    return pool3d(x, kernel_size, strides, pad_mode, pad_list)


MaxPool3D = declare(
    "MaxPool3D",
    _max_pool3d,
    kernel_size=1,
    strides=1,
    pad_mode="valid",
    pad_list=0,
    ceil_mode=Only(None),
    data_format=Only("NCDHW"),
)

IOU = declare("IOU", F.iou, mode="iou")
