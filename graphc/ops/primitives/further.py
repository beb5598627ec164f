"""Primitives over `graphc.ops.functional.extra_further`, and the gradients of activations as primitives of their own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from graphc.ops import functional as F
from graphc.ops.functional import extra_further as more
from graphc.ops.functional import extra_solve as solve
from graphc.ops.primitives.base import REQUIRED, declare
from graphc.ops.tensor import Tensor

Ger, Lgamma, Digamma = declare("Ger", more.ger), declare("Lgamma", more.lgamma), declare("Digamma", more.digamma)
LRN = declare("LRN", more.lrn, depth_radius=5, bias=1.0, alpha=1.0, beta=0.5, norm_region="ACROSS_CHANNELS")
SpaceToBatchND = declare("SpaceToBatchND", more.space_to_batch_nd, block_size=REQUIRED, paddings=REQUIRED)
BatchToSpaceND = declare("BatchToSpaceND", more.batch_to_space_nd, block_shape=REQUIRED, crops=REQUIRED)
Renorm = declare("Renorm", more.renorm, p=REQUIRED, axis=REQUIRED, maxnorm=REQUIRED)
Bucketize = declare(
    "Bucketize",
    lambda x, boundaries: more.bucketize(x, boundaries, right=False),
    more.bucketize.__doc__,
    boundaries=REQUIRED,
)
AdaptiveMaxPool2D = declare("AdaptiveMaxPool2D", more.adaptive_max_pool2d, output_size=REQUIRED)


def _search(sequence: Tensor, values: Tensor, sorter: Any = None, *, dtype: Any, right: bool) -> Tensor:
    """How many elements along the last axis are less than each value (right: not greater)."""
    return F.cast(more.searchsorted(sequence, values, right=right, sorter=sorter), dtype)


SearchSorted = declare("SearchSorted", _search, dtype="int64", right=False)
CumulativeLogsumexp = declare(
    "CumulativeLogsumexp",
    lambda x, axis, exclusive, reverse: more.logcumsumexp(x, int(axis)),
    more.logcumsumexp.__doc__,
    exclusive=False,
    reverse=False,
)


# ---- small systems, integers, volumes


def _inverse(x: Tensor, adjoint: bool) -> Tensor:
    """The inverse of square matrices, or of their transposes."""
    return solve.inverse(F.swapaxes(x, -1, -2) if adjoint else x)


MatrixInverse = declare("MatrixInverse", _inverse, adjoint=False)
MatrixDeterminant = declare("MatrixDeterminant", solve.det)
Cholesky = declare("Cholesky", lambda x, upper: solve.cholesky(x, upper), solve.cholesky.__doc__, upper=False)
Gcd, Lcm = declare("Gcd", solve.gcd), declare("Lcm", solve.lcm)
PopulationCount, IOU = declare("PopulationCount", solve.population_count), declare("IOU", solve.iou, mode="iou")
UpsampleNearest3D = declare("UpsampleNearest3D", solve.upsample_nearest3d)


def _resized(x: Tensor, size: Any, align_corners: bool, half_pixel_centers: bool) -> Tensor:
    """Images [N, C, H, W] in another height and width, by bilinear interpolation."""
    return solve.resize_bilinear(x, size, align_corners, half_pixel_centers)


ResizeBilinearV2 = declare("ResizeBilinearV2", _resized, align_corners=False, half_pixel_centers=False)


def _conv3d(x: Tensor, weight: Tensor, pad_mode: str, pad: Any, stride: Any, dilation: Any, group: int) -> Tensor:
    """Cross-correlation of volumes [N, C, D, H, W] with windows."""
    return solve.conv3d(x, weight, None, stride, pad_mode, pad, dilation, group)


def _conv3d_call(x: Tensor, weight: Tensor, out_channel: int, kernel_size: Any, mode: int, **chosen: Any) -> Tensor:
    return _conv3d(x, weight, **chosen)


Conv3D = declare(
    "Conv3D",
    _conv3d_call,
    _conv3d.__doc__,
    out_channel=REQUIRED,
    kernel_size=REQUIRED,
    mode=1,
    pad_mode="valid",
    pad=0,
    stride=1,
    dilation=1,
    group=1,
    data_format="NCDHW",
)


def _max_pool3d(
    x: Tensor, kernel_size: Any, strides: Any, pad_mode: str, pad_list: Any, ceil_mode: bool | None
) -> Tensor:
    """The largest element of each window of volumes [N, C, D, H, W]."""
    return solve.pool3d(x, kernel_size, strides, pad_mode, pad_list)


MaxPool3D = declare(
    "MaxPool3D",
    _max_pool3d,
    kernel_size=1,
    strides=1,
    pad_mode="valid",
    pad_list=0,
    ceil_mode=None,
    data_format="NCDHW",
)


# ---- gradients: of dy and what the forward took or gave


def _gradient(name: str, rule: Callable[..., Tensor], doc: str, **attrs: Any) -> type[Any]:
    return declare(name, rule, f"The gradient {doc}", **attrs)


ReluGrad = _gradient(
    "ReluGrad", lambda dy, x: dy * F.cast(x > 0, dy.dtype), "of ReLU, from dy and its operand or result"
)
ReLU6Grad = _gradient(
    "ReLU6Grad", lambda dy, x: dy * F.cast(F.logical_and(x > 0, x < 6), dy.dtype), "of ReLU6, from dy, x"
)
SigmoidGrad = _gradient("SigmoidGrad", lambda y, dy: dy * y * (1 - y), "of Sigmoid, from its result and dy")
TanhGrad = _gradient("TanhGrad", lambda y, dy: dy * (1 - y * y), "of Tanh, from its result and dy")
SqrtGrad = _gradient("SqrtGrad", lambda y, dy: dy / (y * 2), "of Sqrt, from its result and dy")
RsqrtGrad = _gradient("RsqrtGrad", lambda y, dy: dy * y * y * y * -0.5, "of Rsqrt, from its result and dy")
ReciprocalGrad = _gradient("ReciprocalGrad", lambda y, dy: -dy * y * y, "of Reciprocal, from its result and dy")
InvGrad = _gradient("InvGrad", lambda y, dy: -dy * y * y, "of Inv, from its result and dy")
AbsGrad = _gradient("AbsGrad", lambda x, dy: dy * F.sign(x), "of Abs, from x and dy")
ACosGrad = _gradient("ACosGrad", lambda x, dy: -dy * F.rsqrt(1 - x * x), "of ACos, from x and dy")
AsinGrad = _gradient("AsinGrad", lambda x, dy: dy * F.rsqrt(1 - x * x), "of Asin, from x and dy")
AtanGrad = _gradient("AtanGrad", lambda x, dy: dy / (1 + x * x), "of Atan, from x and dy")
AsinhGrad = _gradient("AsinhGrad", lambda y, dy: dy / F.cosh(y), "of Asinh, from its result and dy")
AcoshGrad = _gradient("AcoshGrad", lambda y, dy: dy / F.sinh(y), "of Acosh, from its result and dy")
SoftplusGrad = _gradient("SoftplusGrad", lambda dy, x: dy * F.sigmoid(x), "of Softplus, from dy and x")
EluGrad = _gradient(
    "EluGrad", lambda dy, y: dy * F.select(y > 0, F.ones_like(y), y + 1), "of Elu, from dy and its result"
)
HSigmoidGrad = _gradient(
    "HSigmoidGrad", lambda dy, x: dy * F.cast(F.logical_and(x > -3, x < 3), dy.dtype) / 6, "of HSigmoid, from dy and x"
)
SiLUGrad = _gradient(
    "SiLUGrad", lambda dy, x: dy * F.sigmoid(x) * (1 + x * (1 - F.sigmoid(x))), "of SiLU, from dy and x"
)
LogSoftmaxGrad = _gradient(
    "LogSoftmaxGrad",
    lambda y, dy, axis: dy - F.exp(y) * F.reduce_sum(dy, axis, keep_dims=True),
    "of LogSoftmax, from its result and dy",
    axis=-1,
)
BiasAddGrad = _gradient(
    "BiasAddGrad",
    lambda dy: F.reduce_sum(dy, tuple(i for i in range(dy.ndim) if i != 1)),
    "of BiasAdd for its bias",
    data_format="NCHW",
)
SigmoidCrossEntropyWithLogitsGrad = _gradient(
    "SigmoidCrossEntropyWithLogitsGrad",
    lambda x, label, dy: (F.sigmoid(x) - label) * dy,
    "of SigmoidCrossEntropyWithLogits, from logits, labels and dy",
)
FlattenGrad = _gradient("FlattenGrad", lambda dy, shape: F.reshape(dy, shape), "of Flatten, from dy and the shape of x")

__all__ = [
    "IOU",
    "LRN",
    "ACosGrad",
    "AbsGrad",
    "AcoshGrad",
    "AdaptiveMaxPool2D",
    "AsinGrad",
    "AsinhGrad",
    "AtanGrad",
    "BatchToSpaceND",
    "BiasAddGrad",
    "Bucketize",
    "Cholesky",
    "Conv3D",
    "CumulativeLogsumexp",
    "Digamma",
    "EluGrad",
    "FlattenGrad",
    "Gcd",
    "Ger",
    "HSigmoidGrad",
    "InvGrad",
    "Lcm",
    "Lgamma",
    "LogSoftmaxGrad",
    "MatrixDeterminant",
    "MatrixInverse",
    "MaxPool3D",
    "PopulationCount",
    "ReLU6Grad",
    "ReciprocalGrad",
    "ReluGrad",
    "Renorm",
    "ResizeBilinearV2",
    "RsqrtGrad",
    "SearchSorted",
    "SiLUGrad",
    "SigmoidCrossEntropyWithLogitsGrad",
    "SigmoidGrad",
    "SoftplusGrad",
    "SpaceToBatchND",
    "SqrtGrad",
    "TanhGrad",
    "UpsampleNearest3D",
]  # fmt: skip
