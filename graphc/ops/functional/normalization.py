"""Normalizations: over a batch, over the last axes, over groups of channels; norms and moments."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from graphc.errors import ArgumentTypeError, ArgumentValueError, ShapeError, user_loc
from graphc.ops.functional.core import Axis, Number, call, cast
from graphc.ops.functional.math import abs_, add, mul, not_equal, pow_, rsqrt, sqrt, square
from graphc.ops.functional.reduce import reduce_max, reduce_mean, reduce_min, reduce_sum
from graphc.ops.functional.shape import reshape
from graphc.ops.functional.state import assign
from graphc.ops.rules import normalize_axes
from graphc.ops.tensor import Parameter, Tensor


def moments(x: Tensor, axes: Sequence[int]) -> tuple[Tensor, Tensor]:
    """(mean, variance) over axes, which stay with size 1. The variance divides by the count, in two passes."""
    mean = reduce_mean(x, axes, True)
    return mean, reduce_mean(call("SquaredDeviation", x, mean), axes, True)


def var(input: Tensor, axis: Axis = None, ddof: int = 0, keepdims: bool = False) -> Tensor:
    """Sum of squared deviations from the mean over axes, divided by count - ddof."""
    axes = normalize_axes("var", axis, input.ndim)
    _, variance = moments(input, axes)
    count = math.prod(input.shape[a] for a in axes)
    if ddof:
        variance = mul(variance, count / (count - ddof) if count != ddof else math.nan)
    return variance if keepdims else reshape(variance, [d for i, d in enumerate(input.shape) if i not in axes])


def std(input: Tensor, axis: Axis = None, ddof: int = 0, keepdims: bool = False) -> Tensor:
    """Root of `var`."""
    return sqrt(var(input, axis, ddof, keepdims))


def standardize(x: Tensor, mean: Tensor, variance: Tensor, eps: float, gamma: Tensor | None) -> Tensor:
    """(x - mean) / sqrt(variance + eps) * gamma."""
    scale = rsqrt(add(variance, eps))
    return mul(x - mean, scale if gamma is None else mul(scale, gamma))


def layer_norm(
    input: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """x standardized over its last axes, whose sizes `normalized_shape` gives, times weight plus bias of that shape."""
    shape = tuple(normalized_shape)
    if not shape or input.shape[-len(shape) :] != shape:
        raise ShapeError(
            f"layer_norm: the last axes of {input.type} are not normalized_shape = {shape}", loc=user_loc()
        )
    for name, p in (("weight", weight), ("bias", bias)):
        if p is not None and p.shape != shape:
            raise ShapeError(f"layer_norm: {name} is {p.type}, expected shape {shape}", loc=user_loc())
    return layer_norm_over(input, weight, bias, input.ndim - len(shape), eps)


def layer_norm_over(x: Tensor, gamma: Tensor | None, beta: Tensor | None, begin: int, eps: float) -> Tensor:
    """x standardized over the axes from `begin` on, times gamma plus beta, which are broadcast against x.

    Statistics of float16 and bfloat16 are taken in float32.
    """
    source = x.type.dtype
    if source in ("float16", "bfloat16"):
        x = cast(x, "float32")
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
    eps: float = 1e-5,
) -> Tensor:
    """x [N, C, ...] standardized per channel, times weight plus bias (each [C]).

    With `training` by the statistics of the batch; running_mean and running_var, if they are Parameters, then become
    (1 - momentum) old + momentum new, the new variance unbiased (divided by count - 1). Otherwise by the running ones.
    """
    x, source = input_x, input_x.type.dtype
    if x.ndim < 2:
        raise ShapeError(f"batch_norm: x is {x.type}, expected [N, channels, ...]", loc=user_loc())
    for name, p in (("running_mean", running_mean), ("running_var", running_var), ("weight", weight), ("bias", bias)):
        if p is not None and p.shape != x.shape[1:2]:
            raise ShapeError(
                f"batch_norm: {name} is {p.type}, expected one number per channel (axis 1) of {x.type}", loc=user_loc()
            )
    if source in ("float16", "bfloat16"):
        x = cast(x, "float32")
    gamma = None if weight is None else _per_channel(weight, x.ndim)
    if training:
        axes = tuple(i for i in range(x.ndim) if i != 1)
        mean, variance = moments(x, axes)
        count = x.size // max(x.shape[1], 1)
        _move(running_mean, mean, momentum)
        _move(running_var, variance, momentum, count / max(count - 1, 1))
    else:
        mean, variance = _per_channel(running_mean, x.ndim), _per_channel(running_var, x.ndim)
    y = standardize(x, mean, variance, eps, gamma)
    return cast(y if bias is None else add(y, _per_channel(bias, x.ndim)), source)


def _move(running: Tensor, new: Tensor, momentum: float, correction: float = 1.0) -> None:
    if isinstance(running, Parameter):
        step = mul(reshape(new, running.shape), momentum * correction)
        assign(running, add(mul(running, 1.0 - momentum), step))


def group_norm(
    input: Tensor,
    num_groups: int,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """x [N, C, ...] standardized over each of `num_groups` groups of channels of a sample, times weight plus bias."""
    if input.ndim < 2 or num_groups < 1 or input.shape[1] % num_groups:
        raise ShapeError(
            f"group_norm: the channels (axis 1) of {input.type} cannot be divided into {num_groups} groups",
            loc=user_loc(),
        )
    groups = reshape(input, (input.shape[0], num_groups, math.prod(input.shape[1:]) // num_groups))
    y = reshape(layer_norm_over(groups, None, None, 2, eps), input.shape)
    if weight is not None:
        y = mul(y, _per_channel(weight, input.ndim))
    return y if bias is None else add(y, _per_channel(bias, input.ndim))


def norm(A: Tensor, ord: Any = None, dim: Axis = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """The norm (sum |x|^ord)^(1/ord) over axes (all by default); ord 2 for None and "fro".

    ord: None, "fro", a number, or +-inf for the largest or smallest |x|; 0 counts the elements that are not zero. Norms
    of matrices other than "fro" are not supported: ArgumentValueError.
    """
    x = A if dtype is None else cast(A, dtype)
    axes = normalize_axes("norm", dim, x.ndim)
    if ord is None or ord == "fro" or (ord == 2 and len(axes) == 1):
        return sqrt(reduce_sum(square(x), axes, keepdim))
    if isinstance(ord, bool) or not isinstance(ord, (int, float)):
        raise ArgumentTypeError(f"norm: ord must be None, 'fro' or a number, got {ord!r}", loc=user_loc())
    if len(axes) != 1 and dim is not None:
        raise ArgumentValueError(f"norm: ord = {ord!r} over {len(axes)} axes is not supported", loc=user_loc())
    return _vector_norm(x, ord, axes, keepdim)


def _vector_norm(x: Tensor, ord: Number, axes: Sequence[int], keepdim: bool) -> Tensor:
    if ord == math.inf:
        return reduce_max(abs_(x), tuple(axes), keepdim)
    if ord == -math.inf:
        return reduce_min(abs_(x), tuple(axes), keepdim)
    if ord == 0:
        return reduce_sum(cast(not_equal(x, 0.0), x.dtype), tuple(axes), keepdim)
    if ord == 1:
        return reduce_sum(abs_(x), tuple(axes), keepdim)
    return pow_(reduce_sum(pow_(abs_(x), float(ord)), tuple(axes), keepdim), 1.0 / ord)


__all__ = [
    "batch_norm", "group_norm", "layer_norm", "layer_norm_over", "moments", "norm", "standardize", "std", "var",
]  # fmt: skip
