"""Normalizations: over a batch, over the last axes, over groups of channels."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from graphc.errors import ArgumentValueError, ShapeError, user_loc
from graphc.ops.functional.arithmetic import div
from graphc.ops.functional.core import Operand, call, cast, halves_widened, is_number, real_only, shape_of
from graphc.ops.functional.elementwise import add, mul, pow_, rsqrt, sqrt, square
from graphc.ops.functional.in_place import assign
from graphc.ops.functional.operand_checks import require_at_least
from graphc.ops.functional.padding import bordered
from graphc.ops.functional.reduce import reduce_mean
from graphc.ops.functional.shapes import broadcast_to, reshape
from graphc.ops.functional.slicing import getitem
from graphc.ops.functional.statistics import moments, share_of
from graphc.ops.tensor.deferred import Deferred
from graphc.ops.tensor.tensor import Tensor

#: From so many numbers of a channel on they are worth a sum of their own.
_MANY = 32


def standardize(x: Tensor, mean: Tensor, variance: Tensor, eps: Operand, gamma: Tensor | None) -> Tensor:
    """(x - mean) / sqrt(variance + eps) * gamma."""
    scale = rsqrt(add(variance, eps))
    return mul(x - mean, scale if gamma is None else mul(scale, gamma))


def layer_norm(
    input: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: Operand = 1e-5,
) -> Tensor:
    """x standardized over its last axes, whose sizes `normalized_shape` gives, times weight plus bias of that shape."""
    shape = tuple(normalized_shape)
    if not shape or input.shape[-len(shape) :] != shape:
        raise ShapeError(
            f"layer_norm: the last axes of {input.tensor_type} are not normalized_shape = {shape}", loc=user_loc()
        )
    for name, p in (("weight", weight), ("bias", bias)):
        if p is not None and p.shape != shape:
            raise ShapeError(f"layer_norm: {name} is {p.tensor_type}, expected shape {shape}", loc=user_loc())
    return layer_norm_over(input, weight, bias, input.ndim - len(shape), eps)


def layer_norm_over(x: Tensor, gamma: Tensor | None, beta: Tensor | None, begin: int, eps: Operand) -> Tensor:
    """x standardized over the axes from `begin` on, times gamma plus beta, which are broadcast against x.

    Statistics of float16 and bfloat16 are taken in float32.
    """
    source = x.tensor_type.dtype
    x = halves_widened(x)
    mean, variance = moments(x, tuple(range(begin, x.ndim)))
    y = mul(x - mean, rsqrt(add(variance, eps)))
    y = y if gamma is None else mul(y, gamma)
    return cast(y if beta is None else add(y, beta), source)


def _per_channel(v: Tensor, rank: int) -> Tensor:
    return reshape(v, tuple(v.size if i == 1 else 1 for i in range(rank)))


def batch_norm(
    input_x: Tensor,
    running_mean: Tensor,
    running_var: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    training: bool = False,
    momentum: float = 0.1,
    eps: Operand = 1e-5,
) -> Tensor:
    """x [N, C, ...] standardized per channel, times weight plus bias (each [C]).

    With `training` by the statistics of the batch; running_mean and running_var, Parameters or tensors, then hold
    (1 - momentum) old + momentum new, the new variance unbiased (divided by count - 1). Otherwise by the running ones.
    """
    x, source = input_x, input_x.tensor_type.dtype
    if x.ndim < 2:
        raise ShapeError(f"batch_norm: x is {x.tensor_type}, expected [N, channels, ...]", loc=user_loc())
    require_at_least("batch_norm", "eps", eps, 0)
    if isinstance(momentum, (int, float)) and not 0 <= momentum <= 1:
        raise ArgumentValueError(f"batch_norm: momentum must lie in [0, 1], got {momentum}", loc=user_loc())
    for name, p in (("running_mean", running_mean), ("running_var", running_var), ("weight", weight), ("bias", bias)):
        if p is not None and p.shape != x.shape[1:2]:
            raise ShapeError(
                f"batch_norm: {name} is {p.tensor_type}, expected one number per channel (axis 1) of {x.tensor_type}",
                loc=user_loc(),
            )
    x = halves_widened(x)
    gamma = None if weight is None else _per_channel(weight, x.ndim)
    if training:
        axes = tuple(i for i in range(x.ndim) if i != 1)
        mean, variance = moments(x, axes)
        count = math.prod(shape_of(x)[i] for i in axes)
        less = count - 1
        less = less.at_least(1) if isinstance(less, Deferred) else max(less, 1)
        _move(running_mean, mean, momentum)
        _move(running_var, variance, momentum, share_of(count, less, variance))
    else:
        mean, variance = _per_channel(running_mean, x.ndim), _per_channel(running_var, x.ndim)
    y = standardize(x, mean, variance, eps, gamma)
    return cast(y if bias is None else add(y, _per_channel(bias, x.ndim)), source)


def _move(running: Tensor, new: Tensor, momentum: float, correction: Any = 1.0) -> None:
    if is_number(momentum) and momentum == 0:
        return
    step = mul(reshape(new, running.shape), momentum * correction)
    assign(running, add(mul(running, 1.0 - momentum), step))


def group_norm(
    input: Tensor,
    num_groups: int,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: Operand = 1e-5,
) -> Tensor:
    """x [N, C, ...] standardized over each of `num_groups` groups of channels of a sample, times weight plus bias.

    Float16 and bfloat16 are computed in float32; the result has the dtype of x.
    """
    if input.ndim < 2 or num_groups < 1 or input.shape[1] % num_groups:
        raise ShapeError(
            f"group_norm: the channels (axis 1) of {input.tensor_type} cannot be divided into {num_groups} groups",
            loc=user_loc(),
        )
    x, source = input, input.tensor_type.dtype
    x = halves_widened(x)
    batch, count, pixels = x.shape[0], x.shape[1], math.prod(x.shape[2:])
    if pixels >= _MANY:
        y = _by_channels(reshape(x, (batch, count, pixels)), num_groups, weight, bias, eps)
    else:
        # With axes of their own for groups and channels all of it is one loop.
        channels = (1, num_groups, count // num_groups, 1)
        gamma, beta = (None if v is None else reshape(v, channels) for v in (weight, bias))
        y = layer_norm_over(reshape(x, (batch, *channels[1:3], pixels)), gamma, beta, 2, eps)
    return cast(reshape(y, x.shape), source)


def _by_channels(x: Tensor, groups: int, weight: Tensor | None, bias: Tensor | None, eps: Operand) -> Tensor:
    """`group_norm` of x [N, C, P]. Everything large goes over the last axis alone, and only then over channels or samples: so all
    sums of the gradient are made in one sweep.
    """
    batch, count, _ = x.shape

    def over_groups(sums: Tensor) -> Tensor:
        """The mean over the channels of a group, [N, groups, 1]."""
        return reduce_mean(reshape(sums, (batch, groups, count // groups)), 2, True)

    def to_channels(v: Tensor) -> Tensor:
        return reshape(broadcast_to(v, (batch, groups, count // groups)), (batch, count, 1))

    def of_samples(v: Tensor) -> Tensor:
        return broadcast_to(reshape(v, (1, count, 1)), (batch, count, 1))

    mean = to_channels(over_groups(reduce_mean(x, 2)))
    variance = over_groups(reduce_mean(call("SquaredDeviation", x, mean), 2))
    scale = to_channels(rsqrt(add(variance, eps)))
    y = mul(x - mean, scale if weight is None else mul(scale, of_samples(weight)))
    return y if bias is None else add(y, of_samples(bias))


def lrn(
    x: Tensor,
    depth_radius: int = 5,
    bias: Operand = 1.0,
    alpha: Operand = 1.0,
    beta: Operand = 0.5,
    norm_region: str = "ACROSS_CHANNELS",
) -> Tensor:
    """x / (bias + alpha sum of squares)^beta, the sum over depth_radius channels on either side (Krizhevsky et al., 2012)."""
    real_only("lrn", x)
    if norm_region != "ACROSS_CHANNELS":
        raise ArgumentValueError(f"lrn: norm_region must be 'ACROSS_CHANNELS', got {norm_region!r}", loc=user_loc())
    channels = x.shape[1]
    squares = bordered(square(x), [(0, 0), (depth_radius, depth_radius), *[(0, 0)] * (x.ndim - 2)])
    total = getitem(squares, (slice(None), slice(0, channels)))
    for i in range(1, 2 * depth_radius + 1):
        total = add(total, getitem(squares, (slice(None), slice(i, i + channels))))
    return mul(x, pow_(add(mul(total, alpha), bias), -beta))


def rms_norm(x: Tensor, gamma: Tensor, epsilon: Operand = 1e-6) -> tuple[Tensor, Tensor]:
    """(x / sqrt(mean x^2 + epsilon) gamma, the factor) over the axes of gamma."""
    real_only("rms_norm", x)
    axes = tuple(range(x.ndim - gamma.ndim, x.ndim))
    factor = div(1.0, sqrt(add(reduce_mean(square(x), axes, True), epsilon)))
    return mul(mul(x, factor), gamma), factor


__all__ = [
    "batch_norm",
    "group_norm",
    "layer_norm",
    "layer_norm_over",
    "lrn",
    "rms_norm",
    "standardize",
]
