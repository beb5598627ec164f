"""Further primitives, each one function."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from graphc.ops import functional as F
from graphc.ops.functional.extra_more import conv2d_transpose
from graphc.ops.primitives.base import REQUIRED, declare
from graphc.ops.primitives.network import _pair
from graphc.ops.tensor import Tensor

Hypot, Heaviside, NanToNum = (
    declare("Hypot", F.hypot),
    declare("Heaviside", F.heaviside),
    declare("NanToNum", F.nan_to_num, nan=None, posinf=None, neginf=None),
)
Logit, Sinc, Dense = declare("Logit", F.logit, eps=None), declare("Sinc", F.sinc), declare("Dense", F.dense)
LeftShift, RightShift = declare("LeftShift", F.bitwise_left_shift), declare("RightShift", F.bitwise_right_shift)
Cross, Cdist = declare("Cross", F.cross, dim=None), declare("Cdist", F.cdist, p=2.0)
CountNonZero = declare("CountNonZero", lambda x, dims: F.count_nonzero(x, dims), F.count_nonzero.__doc__, dims=None)
Expand, UnsortedSegmentProd = declare("Expand", F.expand), declare("UnsortedSegmentProd", F.unsorted_segment_prod)
TensorScatterDiv = declare("TensorScatterDiv", F.tensor_scatter_div)
ReverseSequence = declare("ReverseSequence", F.reverse_sequence, seq_dim=REQUIRED, batch_dim=0)
AdaptiveAvgPool2D = declare("AdaptiveAvgPool2D", F.adaptive_avg_pool2d, output_size=REQUIRED)


def _resize(x: Tensor, size: Sequence[int], align_corners: bool, half_pixel_centers: bool) -> Tensor:
    """[N, C, H, W] with another height and width, by nearest neighbours."""
    return F.resize_nearest_neighbor(x, size, align_corners)


ResizeNearestNeighbor = declare(
    "ResizeNearestNeighbor", _resize, size=REQUIRED, align_corners=False, half_pixel_centers=False
)


def _conv_transpose(
    dy: Tensor,
    weight: Tensor,
    shape: Sequence[int],
    out_channel: int,
    kernel_size: Any,
    pad_mode: str,
    pad: Any,
    pad_list: Any,
    mode: int,
    stride: Any,
    dilation: Any,
    group: int,
) -> Tensor:
    """The images of shape [N, C, H, W] whose convolution would have dy as the gradient of its result."""
    strides, dilations = _pair("Conv2DTranspose", "stride", stride), _pair("Conv2DTranspose", "dilation", dilation)
    pads = (pad,) * 4 if isinstance(pad, int) else tuple(pad)
    if pad_mode.lower() == "same":
        pads = F.same_pad((shape[2], shape[3]), (weight.shape[2], weight.shape[3]), strides, dilations)
    elif pad_mode.lower() == "valid":
        pads = (0, 0, 0, 0)
    return conv2d_transpose(dy, weight, shape, pads, strides, dilations)


_TRANSPOSED: dict[str, Any] = {
    "out_channel": REQUIRED,
    "kernel_size": REQUIRED,
    "pad_mode": "valid",
    "pad": 0,
    "pad_list": None,
    "mode": 1,
    "stride": 1,
    "dilation": 1,
    "group": 1,
    "data_format": "NCHW",
}
Conv2DBackpropInput = declare("Conv2DBackpropInput", _conv_transpose, **_TRANSPOSED)
Conv2DTranspose = declare("Conv2DTranspose", _conv_transpose, **_TRANSPOSED)

__all__ = [
    "AdaptiveAvgPool2D", "Cdist", "Conv2DBackpropInput", "Conv2DTranspose", "CountNonZero", "Cross", "Dense", "Expand",
    "Heaviside", "Hypot", "LeftShift", "Logit", "NanToNum", "ResizeNearestNeighbor", "ReverseSequence", "RightShift",
    "Sinc", "TensorScatterDiv", "UnsortedSegmentProd",
]  # fmt: skip
