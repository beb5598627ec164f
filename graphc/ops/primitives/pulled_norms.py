"""Gradients of normalizations as primitives of their own, and the gradients of these."""

from __future__ import annotations

import functools
from typing import Any

from graphc.errors import ShapeError, user_loc
from graphc.ops import functional as F
from graphc.ops.primitives.network import LRN, L2Normalize
from graphc.ops.primitives.pull import pulled
from graphc.ops.tensor.primitive import Only, declare
from graphc.ops.tensor.tensor import Tensor

Three = tuple[Tensor, Tensor, Tensor]


def _moments(x: Tensor, mean: Tensor, variance: Tensor, axes: tuple[int, ...]) -> tuple[Tensor, Tensor]:
    """The mean and the variance as they are given, with the gradients for x that those of x have, and none of their own."""
    own = F.reduce_mean(x, axes, keep_dims=True)
    mean = F.stop_gradient(mean) + (own - F.stop_gradient(own))
    spread = F.reduce_mean(F.square(x - mean), axes, keep_dims=True)
    return mean, F.stop_gradient(variance) + (spread - F.stop_gradient(spread))


def _back(
    dy: Tensor, x: Tensor, moments: tuple[Tensor, Tensor], gamma: Tensor, over: Any, ahead: Any, centered: bool = False
) -> Three:
    """The gradients for x, gamma and beta of y = (x - mean) rate gamma + beta; moments: the mean and the rate.

    over: the axes of the mean and the rate, () where they are given and no moments of x; ahead: those of dy that gamma has not.
    centered: as some of MindSpore's kernels, count with a given mean that is not that of x.
    """
    mean, rate = moments
    normal, flow = (x - mean) * rate, dy * gamma
    dx = flow
    if over:
        share = F.reduce_mean(flow * normal, over, keep_dims=True)
        apart = normal - F.reduce_mean(normal, over, keep_dims=True) if centered else normal
        dx = flow - F.reduce_mean(flow, over, keep_dims=True) - apart * share
    return dx * rate, F.reduce_sum(dy * normal, ahead), F.reduce_sum(dy, ahead)


def _layer_norm_grad(
    x: Tensor,
    dy: Tensor,
    variance: Tensor,
    mean: Tensor,
    gamma: Tensor,
    begin_norm_axis: int,
    begin_params_axis: int,
    epsilon: float = 1e-7,
) -> Three:
    """The gradients of LayerNorm for x, gamma and beta, from x, dy, the variance and the mean that it gave, and gamma."""
    over = tuple(range(begin_norm_axis % x.ndim, x.ndim))
    mean, variance = _moments(x, mean, variance, over)
    return _back(
        dy, x, (mean, F.rsqrt(variance + epsilon)), gamma, over, tuple(range(begin_params_axis % x.ndim)), True
    )


_AXES: dict[str, Any] = {"begin_norm_axis": 1, "begin_params_axis": 1}
LayerNormGrad = declare(
    "LayerNormGrad",
    lambda x, dy, variance, mean, gamma, begin_norm_axis, begin_params_axis: _layer_norm_grad(
        x, dy, variance, mean, gamma, begin_norm_axis, begin_params_axis
    ),
    _layer_norm_grad.__doc__,
    **_AXES,
)
LayerNormGradGrad = pulled(
    "LayerNormGradGrad",
    "x dy variance mean gamma d_dx d_dg d_db",
    "x dy gamma",
    # Another epsilon, as MindSpore's kernel has.
    functools.partial(_layer_norm_grad, epsilon=1e-12),
    "The gradients of LayerNormGrad for x, dy and gamma, from its operands and what flows into its results",
    flows="d_dx d_dg d_db",
    **_AXES,
)


def _batch_norm_grad(
    dy: Tensor, x: Tensor, scale: Tensor, saved_mean: Tensor, saved_variance: Tensor, is_training: bool, epsilon: float
) -> Three:
    """The gradients of BatchNorm for x, scale and bias, from dy, x, scale and the mean and variance that it used."""
    shape, axes = (1, -1, *[1] * (x.ndim - 2)), (0, *range(2, x.ndim))
    mean, variance, factor = (F.reshape(v, shape) for v in (saved_mean, saved_variance, scale))
    if is_training:
        mean, variance = _moments(x, mean, variance, axes)
    else:
        mean, variance = F.stop_gradient(mean), F.stop_gradient(variance)
    return _back(dy, x, (mean, F.rsqrt(variance + epsilon)), factor, axes if is_training else (), axes)


_BATCHES: dict[str, Any] = {"is_training": False, "epsilon": 1e-5, "data_format": Only("NCHW")}
BatchNormGrad = declare(
    "BatchNormGrad",
    lambda dy, x, scale, saved_mean, saved_variance, reserve, is_training, epsilon: _batch_norm_grad(
        dy, x, scale, saved_mean, saved_variance, is_training, epsilon
    ),
    _batch_norm_grad.__doc__,
    **_BATCHES,
)
BatchNormGradGrad = pulled(
    "BatchNormGradGrad",
    "x dy scale saved_mean saved_variance dout_dx dout_dscale dout_dbias",
    "x dy scale",
    _batch_norm_grad,
    "The gradients of BatchNormGrad for x, dy and scale, from its operands and what flows into its results",
    flows="dout_dx dout_dscale dout_dbias",
    **_BATCHES,
)


def _instance_norm_grad(
    dy: Tensor,
    x: Tensor,
    gamma: Tensor,
    mean: Tensor,
    variance: Tensor,
    save_mean: Tensor,
    save_variance: Tensor,
    is_training: bool,
    epsilon: float,
) -> Three:
    """The gradients of InstanceNormV2 for x, gamma and beta [N, C, 1, 1, ...], from dy, x, gamma and the moments of each channel
    of each image: in training what it saved, the mean and 1 over the standard deviation, else the moving mean and variance."""
    axes = (2, 3)
    if is_training:
        mean, variance = _moments(x, save_mean, 1 / F.square(save_variance), axes)
    else:
        mean, variance = F.stop_gradient(mean), F.stop_gradient(variance) + epsilon
    dx, dgamma, dbeta = _back(dy, x, (mean, F.rsqrt(variance)), gamma, axes if is_training else (), axes)
    return dx, F.reshape(dgamma, gamma.shape), F.reshape(dbeta, gamma.shape)


InstanceNormV2Grad = declare("InstanceNormV2Grad", _instance_norm_grad, is_training=True, epsilon=1e-5)


def _group_norm_grad(
    dy: Tensor,
    x: Tensor,
    mean: Tensor,
    rstd: Tensor,
    gamma_opt: Tensor,
    num_groups: int,
    dx_is_require: bool = True,
    dgamma_is_require: bool = True,
    dbeta_is_require: bool = True,
) -> Three:
    """The gradients of a group normalization for x, gamma and beta, from dy, x [N, C, ...], and of each group the mean and 1
    over the standard deviation [N, num_groups]. All three are given, whichever are required."""
    n, channels = x.shape[:2]
    if channels % num_groups or mean.shape != (n, num_groups) or rstd.shape != mean.shape:
        raise ShapeError(
            f"GroupNormGrad: x is {x.tensor_type}, mean {mean.tensor_type}, rstd {rstd.tensor_type}, expected a multiple of"
            f" {num_groups} channels and ({n}, {num_groups})",
            loc=user_loc(),
        )
    shape = (n, num_groups, channels // num_groups, -1)
    parts, flow = F.reshape(x, shape), F.reshape(dy, shape)
    middle, rate = (F.reshape(v, (n, num_groups, 1, 1)) for v in (mean, rstd))
    factor = F.reshape(gamma_opt, (1, num_groups, -1, 1))
    middle, variance = _moments(parts, middle, 1 / F.square(rate), (2, 3))
    dx, dgamma, dbeta = _back(flow, parts, (middle, F.rsqrt(variance)), factor, (2, 3), (0, 3), True)
    return F.reshape(dx, x.shape), F.reshape(dgamma, (channels,)), F.reshape(dbeta, (channels,))


GroupNormGrad = declare("GroupNormGrad", _group_norm_grad)
L2NormalizeGrad = pulled(
    "L2NormalizeGrad",
    "x y dy",
    "x",
    lambda x, axis, epsilon: L2Normalize(axis, epsilon)(x),
    "The gradient of L2Normalize, from x, its result and dy",
    axis=0,
    epsilon=1e-4,
)
LRNGrad = pulled(
    "LRNGrad",
    "dy x y",
    "x",
    lambda x, depth_radius, bias, alpha, beta: LRN(depth_radius, bias, alpha, beta)(x),
    "The gradient of LRN, from dy, x and its result",
    depth_radius=5,
    bias=1.0,
    alpha=1.0,
    beta=0.5,
)
