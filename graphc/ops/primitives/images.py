"""Primitives of images and volumes beyond plain convolution: transposed and 3-D convolution, boxes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from graphc.errors import ArgumentTypeError, ArgumentValueError, ShapeError, user_loc
from graphc.ops import functional as F
from graphc.ops.functional.boxes import nms_by_overlaps, nms_by_score, nms_of_classes, nms_with_mask
from graphc.ops.functional.channel_dropout import dropped_channels
from graphc.ops.functional.colors import adjust_contrast, adjust_hue, adjust_saturation, hsv_to_rgb, rgb_to_hsv
from graphc.ops.functional.conv import dilation2d, unpadded
from graphc.ops.functional.core import Extents, Ints, Operand
from graphc.ops.functional.padding import pad_by_axes
from graphc.ops.functional.rescaling import scale_and_translate
from graphc.ops.primitives.network import check_weight, pair_of
from graphc.ops.tensor.primitive import REQUIRED, Only, declare
from graphc.ops.tensor.tensor import Tensor


def _conv_transpose(
    dy: Tensor,
    weight: Tensor,
    shape: Sequence[int],
    out_channel: int,
    kernel_size: Ints,
    pad_mode: str,
    pad: Ints,
    stride: Ints,
    dilation: Ints,
    group: int,
) -> Tensor:
    """The images of shape [N, C, H, W] whose convolution would have dy as the gradient of its result."""
    check_weight("Conv2DTranspose", weight, out_channel, kernel_size)
    strides, dilations = pair_of("Conv2DTranspose", "stride", stride), pair_of("Conv2DTranspose", "dilation", dilation)
    if pad_mode.lower() in ("same", "valid"):
        unpadded("Conv2DTranspose", pad_mode, pad)
    pads = (pad,) * 4 if isinstance(pad, int) else tuple(pad)
    if pad_mode.lower() == "same":
        pads = F.same_pad((shape[2], shape[3]), (weight.shape[2], weight.shape[3]), strides, dilations)
    elif pad_mode.lower() == "valid":
        pads = (0, 0, 0, 0)
    return F.conv2d_transpose(dy, weight, shape, pads, strides, dilations, group)


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


def _conv3d(
    x: Tensor,
    weight: Tensor,
    out_channel: int,
    kernel_size: Ints,
    pad_mode: str,
    pad: Ints,
    stride: Ints,
    dilation: Ints,
    group: int,
) -> Tensor:
    """Cross-correlation of volumes [N, C, D, H, W] with windows."""
    check_weight("Conv3D", weight, out_channel, kernel_size)
    return F.conv3d(x, weight, None, stride, pad_mode, pad, dilation, group)


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


def _conv3d_transpose(
    x: Tensor,
    weight: Tensor,
    in_channel: int,
    out_channel: int,
    kernel_size: Ints,
    pad_mode: str,
    pad: Ints,
    stride: Ints,
    dilation: Ints,
    group: int,
    output_padding: Ints,
) -> Tensor:
    """Transposed convolution of volumes [N, in, D, H, W] with windows [in, out / group, kd, kh, kw]."""
    check_weight("Conv3DTranspose", weight, in_channel, kernel_size)
    if weight.shape[1] * group != out_channel:
        raise ShapeError(
            f"Conv3DTranspose: the weight is {weight.tensor_type}, expected {out_channel} / {group} channels at axis 1",
            loc=user_loc(),
        )
    return F.conv3d_transpose(x, weight, pad_mode, pad, stride, dilation, group, output_padding)


Conv3DTranspose = declare(
    "Conv3DTranspose",
    _conv3d_transpose,
    in_channel=REQUIRED,
    out_channel=REQUIRED,
    kernel_size=REQUIRED,
    mode=Only(1),
    pad_mode="valid",
    pad=0,
    stride=1,
    dilation=1,
    group=1,
    output_padding=0,
    data_format=Only("NCDHW"),
)


def _dilation2d(x: Tensor, filter: Tensor, stride: Ints, dilation: Ints, pad_mode: str) -> Tensor:
    """Grayscale dilation of images [N, C, H, W] by windows [C, kh, kw]."""
    mode = pad_mode.lower()
    if mode not in ("same", "valid"):
        raise ArgumentValueError(f"Dilation2D: pad_mode must be 'same' or 'valid', got {pad_mode!r}", loc=user_loc())
    if x.ndim != 4 or filter.ndim != 3 or x.shape[1] != filter.shape[0] or not x.tensor_type.is_float:
        raise ShapeError(
            f"Dilation2D: x is {x.tensor_type} and the filter {filter.tensor_type}, expected floats [N, C, H, W] and [C, kh, kw]",
            loc=user_loc(),
        )
    strides, dilations = pair_of("Dilation2D", "stride", stride), pair_of("Dilation2D", "dilation", dilation)
    return dilation2d(x, filter, strides, dilations, mode)


Dilation2D = declare(
    "Dilation2D", _dilation2d, stride=REQUIRED, dilation=REQUIRED, pad_mode="SAME", data_format=Only("NCHW")
)

# ---- blocks of images


def _im2col(x: Tensor, ksizes: Ints, strides: Ints, dilations: Ints, pads: Ints) -> Tensor:
    """The windows of [N, C, H, W] as columns: [N, C, kh kw, number of windows]."""
    columns = F.unfold(x, ksizes, dilations, pads, strides)
    return F.reshape(columns, (x.shape[0], x.shape[1], -1, columns.shape[-1]))


Im2Col = declare("Im2Col", _im2col, ksizes=REQUIRED, strides=1, dilations=1, pads=0)


def _col2im(x: Tensor, output_size: Extents, kernel_size: Ints, dilation: Ints, padding: Ints, stride: Ints) -> Tensor:
    """[N, C, kh kw, number of windows] added up where their windows lie: [N, C, H, W]."""
    return F.col2im(x, output_size, kernel_size, dilation, padding, stride)


Col2Im = declare("Col2Im", _col2im, kernel_size=REQUIRED, dilation=1, padding=0, stride=1)

ChannelShuffle = declare(
    "ChannelShuffle", lambda x, group: F.channel_shuffle(x, group), F.channel_shuffle.__doc__, group=REQUIRED
)

# ---- boxes

IOU = declare("IOU", F.iou, mode="iou")


def _encode(
    anchor_box: Tensor, groundtruth_box: Tensor, means: float | Sequence[float], stds: float | Sequence[float]
) -> Tensor:
    """What moves and scales anchors to boxes."""
    return F.bounding_box_encode(anchor_box, groundtruth_box, means, stds)


def _decode(
    anchor_box: Tensor,
    deltas: Tensor,
    max_shape: Any,
    means: float | Sequence[float],
    stds: float | Sequence[float],
    wh_ratio_clip: float,
) -> Tensor:
    """The boxes that anchors become."""
    return F.bounding_box_decode(anchor_box, deltas, max_shape, means, stds, wh_ratio_clip)


_SCALED: dict[str, Any] = {"means": (0.0, 0.0, 0.0, 0.0), "stds": (1.0, 1.0, 1.0, 1.0)}

BoundingBoxEncode = declare("BoundingBoxEncode", _encode, **_SCALED)

BoundingBoxDecode = declare("BoundingBoxDecode", _decode, max_shape=REQUIRED, **_SCALED, wh_ratio_clip=0.016)

CheckValid = declare("CheckValid", F.check_valid)

NMSWithMask = declare("NMSWithMask", nms_with_mask, iou_threshold=0.5)

NonMaxSuppressionV3 = declare("NonMaxSuppressionV3", nms_by_score)

NonMaxSuppressionWithOverlaps = declare("NonMaxSuppressionWithOverlaps", nms_by_overlaps)

CombinedNonMaxSuppression = declare("CombinedNonMaxSuppression", nms_of_classes, pad_per_class=False, clip_boxes=True)

ScaleAndTranslate = declare("ScaleAndTranslate", scale_and_translate, kernel_type="lanczos3", antialias=True)

# ---- colors, padding

HSVToRGB, RGBToHSV = declare("HSVToRGB", hsv_to_rgb), declare("RGBToHSV", rgb_to_hsv)

AdjustHue, AdjustSaturation = declare("AdjustHue", adjust_hue), declare("AdjustSaturation", adjust_saturation)
AdjustContrastv2 = declare("AdjustContrastv2", adjust_contrast)


def _pad_v3(
    x: Tensor, paddings: Ints, constant_value: Operand | None = None, *, mode: str, paddings_contiguous: bool
) -> Tensor:
    """x with more elements at the ends of its axes."""
    return pad_by_axes(x, paddings, constant_value, mode, paddings_contiguous)


PadV3 = declare("PadV3", _pad_v3, mode="constant", paddings_contiguous=True)

Padding = declare("Padding", lambda x, pad_dim_size: F.padding(x, pad_dim_size), F.padding.__doc__, pad_dim_size=8)

# ---- channels at random


def _channels_dropped(name: str, rank: int) -> Any:
    def run(x: Tensor, keep_prob: float) -> tuple[Tensor, Tensor]:
        if isinstance(keep_prob, bool) or not isinstance(keep_prob, (int, float)):
            raise ArgumentTypeError(f"{name}: keep_prob must be a number, got {keep_prob!r}", loc=user_loc())
        if not 0 <= keep_prob <= 1:
            raise ArgumentValueError(f"{name}: keep_prob must lie in [0, 1], got {keep_prob}", loc=user_loc())
        if x.ndim != rank or not x.tensor_type.is_float:
            raise ShapeError(f"{name}: x is {x.tensor_type}, expected floats of {rank} axes", loc=user_loc())
        scale = dropped_channels(x, 1.0 - keep_prob)
        return F.mul(x, scale), F.broadcast_to(F.not_equal(scale, 0.0), x.shape)

    run.__doc__ = "(x / keep_prob in the channels that are kept, else 0; bool: what is kept)."
    return run


Dropout2D, Dropout3D = (
    declare(name, _channels_dropped(name, rank), keep_prob=0.5) for name, rank in (("Dropout2D", 4), ("Dropout3D", 5))
)
