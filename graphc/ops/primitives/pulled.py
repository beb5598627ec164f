"""Gradients of primitives as primitives of their own: what flows into the results, pulled back through the forward one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from graphc.errors import ShapeError, user_loc
from graphc.ops import functional as F
from graphc.ops.functional.dynamic import known_values
from graphc.ops.functional.shapes import whole_numbers
from graphc.ops.gradients.derivatives import vjp
from graphc.ops.primitives.arrays import MirrorPad, Slice, StridedSlice
from graphc.ops.primitives.losses import MultiMarginLoss
from graphc.ops.primitives.network import (
    LRN,
    AvgPool,
    BinaryCrossEntropy,
    Conv2D,
    KLDivLoss,
    L2Normalize,
    MaxPool,
    NLLLoss,
    SmoothL1Loss,
)
from graphc.ops.primitives.pooling import AvgPool3D, MaxPool3D
from graphc.ops.primitives.resizing import ResizeBicubic, ResizeBilinearV2, ResizeNearestNeighbor
from graphc.ops.primitives.sampling import GridSampler2D, GridSampler3D
from graphc.ops.tensor.primitive import REQUIRED, Only, declare
from graphc.ops.tensor.tensor import Tensor


def _pull(forward: Callable[..., Any], dy: Any, *operands: Tensor) -> Any:
    """The gradients for the operands of a function whose result has the gradient dy: one alone, several in a tuple."""
    made = vjp(forward, *operands)[1](dy)
    return made[0] if len(operands) == 1 else made


# ---- activations

SoftmaxGrad = declare(
    "SoftmaxGrad",
    lambda y, dy: y * (dy - F.reduce_sum(dy * y, -1, keep_dims=True)),
    "The gradient of Softmax along the last axis, from its result and dy",
)
GeLUGrad = declare(
    "GeLUGrad", lambda dy, x, y: _pull(lambda v: F.gelu(v, "tanh"), dy, x), "The gradient of GeLU, from dy, x and y"
)
FastGeLUGrad = declare(
    "FastGeLUGrad", lambda dy, x: _pull(F.fast_gelu, dy, x), "The gradient of FastGeLU, from dy and x"
)
HSwishGrad = declare("HSwishGrad", lambda dy, x: _pull(F.hardswish, dy, x), "The gradient of HSwish, from dy and x")
HShrinkGrad = declare(
    "HShrinkGrad",
    lambda dy, x, lambd: _pull(lambda v: F.hardshrink(v, lambd), dy, x),
    "The gradient of HShrink, from dy and x",
    lambd=0.5,
)
SoftShrinkGrad = declare(
    "SoftShrinkGrad",
    lambda dy, x, lambd: _pull(lambda v: F.softshrink(v, lambd), dy, x),
    "The gradient of SoftShrink, from dy and x",
    lambd=0.5,
)
LogitGrad = declare(
    "LogitGrad",
    lambda dy, x, eps: _pull(lambda v: F.logit(v, None if eps == -1.0 else eps), dy, x),
    "The gradient of Logit, from dy and x",
    eps=-1.0,
)
PReLUGrad = declare(
    "PReLUGrad", lambda dy, x, weight: _pull(F.prelu, dy, x, weight), "The gradients of PReLU for x and weight"
)
DropoutGrad = declare(
    "DropoutGrad",
    lambda dy, mask, keep_prob: dy * F.cast(mask, dy.dtype) / keep_prob,
    "The gradient of Dropout, from dy and the mask of what was kept",
    keep_prob=0.5,
)

# ---- pooling, convolution, resizing


def _pool_grad(pool: Any) -> Callable[..., Tensor]:
    def gradient(x: Tensor, out: Tensor, dy: Tensor, **attributes: Any) -> Tensor:
        made: Tensor = _pull(pool(**attributes), dy, x)
        return made

    return gradient


_PLANES = {"kernel_size": 1, "strides": 1, "pad_mode": "VALID", "data_format": Only("NCHW")}
MaxPoolGrad = declare(
    "MaxPoolGrad", _pool_grad(MaxPool), "The gradient of MaxPool, from x, its result and dy", **_PLANES
)
AvgPoolGrad = declare(
    "AvgPoolGrad", _pool_grad(AvgPool), "The gradient of AvgPool, from x, its result and dy", **_PLANES
)
MaxPool3DGrad = declare(
    "MaxPool3DGrad",
    _pool_grad(MaxPool3D),
    "The gradient of MaxPool3D, from x, its result and dy",
    kernel_size=(1, 1, 1, 1, 1),
    strides=(1, 1, 1, 1, 1),
    pad_mode="VALID",
    pad_list=0,
    data_format=Only("NCDHW"),
)


def _avg_pool3d_grad(x_shape: Sequence[int], dy: Tensor, pads: Any, pad_mode: str, **attributes: Any) -> Tensor:
    made: Tensor = _pull(AvgPool3D(pad=pads, pad_mode=pad_mode, **attributes), dy, F.zeros(tuple(x_shape), dy.dtype))
    return made


AvgPool3DGrad = declare(
    "AvgPool3DGrad",
    _avg_pool3d_grad,
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


def _max_pool_grad_with_argmax(
    x: Tensor, dy: Tensor, argmax: Tensor, kernel_size: Any, strides: Any, pad_mode: Any
) -> Tensor:
    """dy at the places of the greatest of each window, counted in all of an image of x [N, C, H, W]."""
    if x.ndim != 4 or dy.shape != argmax.shape or dy.shape[:2] != x.shape[:2]:
        raise ShapeError(
            f"MaxPoolGradWithArgmax: x is {x.tensor_type}, dy {dy.tensor_type}, argmax {argmax.tensor_type}",
            loc=user_loc(),
        )
    images = F.zeros((x.shape[0], x.size // x.shape[0]), dy.dtype)
    places, given = (F.reshape(v, (x.shape[0], -1)) for v in (argmax, dy))
    return F.reshape(F.tensor_scatter_elements(images, places, given, 1, "add"), x.shape)


MaxPoolGradWithArgmax = declare(
    "MaxPoolGradWithArgmax",
    _max_pool_grad_with_argmax,
    kernel_size=1,
    strides=1,
    pad_mode="VALID",
    data_format=Only("NCHW"),
)


def _conv2d_filter(dy: Tensor, x: Tensor, w_size: Sequence[int], pad_list: Any, **attributes: Any) -> Tensor:
    """The gradient of Conv2D for its weight, of this shape, from dy and x."""
    weight = F.zeros(tuple(w_size), x.dtype)
    made: Tensor = _pull(lambda w: Conv2D(**attributes)(x, w), dy, weight)
    return made


Conv2DBackpropFilter = declare(
    "Conv2DBackpropFilter",
    _conv2d_filter,
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

_CORNERS = {"align_corners": False, "half_pixel_centers": False}


def _resize_grad(resize: Any) -> Callable[..., Tensor]:
    def gradient(dy: Tensor, image: Tensor, **attributes: Any) -> Tensor:
        made: Tensor = _pull(lambda v: resize(**attributes)(v, dy.shape[2:]), dy, image)
        return made

    return gradient


ResizeBilinearGrad = declare(
    "ResizeBilinearGrad", _resize_grad(ResizeBilinearV2), "The gradient of ResizeBilinearV2, from dy and x", **_CORNERS
)
ResizeBicubicGrad = declare(
    "ResizeBicubicGrad", _resize_grad(ResizeBicubic), "The gradient of ResizeBicubic, from dy and x", **_CORNERS
)


def _nearest_grad(dy: Tensor, size: Any, **attributes: Any) -> Tensor:
    wanted = whole_numbers("ResizeNearestNeighborGrad", "size", size)
    resize = ResizeNearestNeighbor(dy.shape[2:], **attributes)
    made: Tensor = _pull(resize, dy, F.zeros((*dy.shape[:2], *wanted), dy.dtype))
    return made


ResizeNearestNeighborGrad = declare(
    "ResizeNearestNeighborGrad",
    _nearest_grad,
    "The gradient of ResizeNearestNeighbor, from dy and the size of x",
    **_CORNERS,
)


def _grid_grad(sampler: Any) -> Callable[..., Any]:
    def gradient(dy: Tensor, x: Tensor, grid: Tensor, **attributes: Any) -> Any:
        return _pull(sampler(**attributes), dy, x, grid)

    return gradient


_GRIDS = {
    "interpolation_mode": "bilinear",
    "padding_mode": "zeros",
    "align_corners": False,
    "output_mask": Only((1, 1)),
}
GridSampler2DGrad = declare(
    "GridSampler2DGrad", _grid_grad(GridSampler2D), "The gradients of GridSampler2D for x and grid", **_GRIDS
)
GridSampler3DGrad = declare(
    "GridSampler3DGrad", _grid_grad(GridSampler3D), "The gradients of GridSampler3D for x and grid", **_GRIDS
)

# ---- normalization


def _standardized(x: Tensor, mean: Tensor, variance: Tensor, epsilon: float) -> tuple[Tensor, Tensor]:
    """x less a mean over the root of a variance, and 1 over that root."""
    rate = F.rsqrt(variance + epsilon)
    return (x - mean) * rate, rate


def _layer_norm_grad(
    x: Tensor, dy: Tensor, variance: Tensor, mean: Tensor, gamma: Tensor, begin_norm_axis: int, begin_params_axis: int
) -> tuple[Tensor, Tensor, Tensor]:
    """The gradients of LayerNorm for x, gamma and beta, from x, dy, the variance and the mean that it gave, and gamma."""
    over = tuple(range(begin_norm_axis % x.ndim, x.ndim))
    ahead = tuple(range(begin_params_axis % x.ndim))
    normal, rate = _standardized(x, mean, variance, 1e-12)
    flow = dy * gamma
    dx = flow - F.reduce_mean(flow, over, keep_dims=True) - normal * F.reduce_mean(flow * normal, over, keep_dims=True)
    return dx * rate, F.reduce_sum(dy * normal, ahead), F.reduce_sum(dy, ahead)


LayerNormGrad = declare("LayerNormGrad", _layer_norm_grad, begin_norm_axis=1, begin_params_axis=1)


def _batch_norm_grad(
    dy: Tensor,
    x: Tensor,
    scale: Tensor,
    saved_mean: Tensor,
    saved_variance: Tensor,
    reserve: Any,
    is_training: bool,
    epsilon: float,
) -> tuple[Tensor, Tensor, Tensor]:
    """The gradients of BatchNorm for x, scale and bias, from dy, x, scale and the mean and variance that it used."""
    shape = (1, -1, *[1] * (x.ndim - 2))
    axes = (0, *range(2, x.ndim))
    mean, variance, factor = (F.reshape(v, shape) for v in (saved_mean, saved_variance, scale))
    normal, rate = _standardized(x, mean, variance, epsilon)
    dscale, dbias = F.reduce_sum(dy * normal, axes), F.reduce_sum(dy, axes)
    flow = dy
    if is_training:
        count = x.size // x.shape[1]
        flow = dy - (F.reshape(dbias, shape) + normal * F.reshape(dscale, shape)) / count
    return flow * factor * rate, dscale, dbias


BatchNormGrad = declare("BatchNormGrad", _batch_norm_grad, is_training=False, epsilon=1e-5, data_format=Only("NCHW"))
L2NormalizeGrad = declare(
    "L2NormalizeGrad",
    lambda x, y, dy, **attributes: _pull(L2Normalize(**attributes), dy, x),
    "The gradient of L2Normalize, from x, its result and dy",
    axis=0,
    epsilon=1e-4,
)
LRNGrad = declare(
    "LRNGrad",
    lambda dy, x, y, **attributes: _pull(LRN(**attributes), dy, x),
    "The gradient of LRN, from dy, x and its result",
    depth_radius=5,
    bias=1.0,
    alpha=1.0,
    beta=0.5,
)

# ---- losses

SmoothL1LossGrad = declare(
    "SmoothL1LossGrad",
    lambda x, target, dy, **attributes: _pull(lambda v: SmoothL1Loss(**attributes)(v, target), dy, x),
    "The gradient of SmoothL1Loss, from x, target and dy",
    beta=1.0,
    reduction="none",
)
BinaryCrossEntropyGrad = declare(
    "BinaryCrossEntropyGrad",
    lambda x, target, dy, weight=None, **attributes: _pull(
        lambda v: BinaryCrossEntropy(**attributes)(v, target, weight), dy, x
    ),
    "The gradient of BinaryCrossEntropy, from x, target, dy and weight",
    reduction="mean",
)
KLDivLossGrad = declare(
    "KLDivLossGrad",
    lambda dy, x, target, **attributes: _pull(lambda v: KLDivLoss(**attributes)(v, target), dy, x),
    "The gradient of KLDivLoss, from dy, x and target",
    reduction="mean",
)


def _nll_grad(
    x: Tensor, dy: Tensor, labels: Tensor, weight: Tensor, total_weight: Tensor, reduction: str, ignore_index: int
) -> Tensor:
    """The gradient of NLLLoss, from x, dy, labels, weight and what the weights of the labels add up to."""
    if reduction == "mean":
        reduction, dy = "sum", dy / total_weight
    made: Tensor = _pull(lambda v: NLLLoss(reduction, ignore_index)(v, labels, weight)[0], dy, x)
    return made


NLLLossGrad = declare(
    "NLLLossGrad",
    _nll_grad,
    reduction="mean",
    ignore_index=-100,
)
MultiMarginLossGrad = declare(
    "MultiMarginLossGrad",
    lambda dy, x, target, weight=None, **attributes: _pull(
        lambda v: MultiMarginLoss(**attributes)(v, target, weight), dy, x
    ),
    "The gradient of MultiMarginLoss, from dy, x, target and weight",
    p=1,
    margin=1.0,
    reduction="mean",
)

# ---- elements taken, and padding


def _strided_slice_grad(dy: Tensor, shapex: Any, begin: Any, end: Any, strides: Any, **masks: Any) -> Tensor:
    """The gradient of StridedSlice for x, of this shape, from dy."""
    x = F.zeros(whole_numbers("StridedSliceGrad", "shapex", shapex), dy.dtype)
    made: Tensor = _pull(lambda v: StridedSlice(**masks)(v, begin, end, strides), dy, x)
    return made


StridedSliceGrad = declare(
    "StridedSliceGrad",
    _strided_slice_grad,
    begin_mask=0,
    end_mask=0,
    ellipsis_mask=0,
    new_axis_mask=0,
    shrink_axis_mask=0,
)
SliceGrad = declare(
    "SliceGrad",
    lambda dy, x, begin, size: _pull(lambda v: Slice()(v, begin, size), dy, x),
    "The gradient of Slice, from dy, x, begin and size",
)
GatherDGradV2 = declare(
    "GatherDGradV2",
    lambda x, dim, index, dy: _pull(lambda v: F.gather_elements(v, dim, index), dy, x),
    "The gradient of GatherD, from x, dim, index and dy",
)


def _mirror_pad_grad(dy: Tensor, paddings: Any, mode: str) -> Tensor:
    """The gradient of MirrorPad for x, from dy and the paddings."""
    ends = known_values("MirrorPadGrad", paddings) if isinstance(paddings, Tensor) else paddings
    ends = tuple((int(a), int(b)) for a, b in ends)
    x = F.zeros(tuple(d - a - b for d, (a, b) in zip(dy.shape, ends, strict=True)), dy.dtype)
    made: Tensor = _pull(lambda v: MirrorPad(mode)(v, ends), dy, x)
    return made


MirrorPadGrad = declare("MirrorPadGrad", _mirror_pad_grad, mode="REFLECT")


def _extreme_grad(extreme: Callable[[Tensor, Tensor], Tensor]) -> Callable[..., Any]:
    def gradient(x: Tensor, y: Tensor, dy: Tensor) -> Any:
        return _pull(extreme, dy, x, y)

    return gradient


_BOTH = {"grad_x": Only(True), "grad_y": Only(True)}
MaximumGrad = declare("MaximumGrad", _extreme_grad(F.maximum), "The gradients of Maximum, from x, y and dy", **_BOTH)
MinimumGrad = declare("MinimumGrad", _extreme_grad(F.minimum), "The gradients of Minimum, from x, y and dy", **_BOTH)
