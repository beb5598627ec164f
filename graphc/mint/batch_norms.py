"""The parts of a batch normalization over several batches: their moments, those of all of them, and the elements standardized."""

from __future__ import annotations

import math
from typing import Any

from graphc.errors import DTypeError, ShapeError, user_loc
from graphc.ops import functional as F
from graphc.ops.tensor.tensor import Tensor, as_tensor


def _channels(owner: str, input: Any) -> Tensor:
    x = as_tensor(input, f"{owner}: input")
    if x.ndim < 2:
        raise ShapeError(f"{owner}: input is {x.tensor_type}, expected [N, channels, ...]", loc=user_loc())
    if not x.tensor_type.is_float:
        raise DTypeError(f"{owner}: input is {x.tensor_type}, expected floats", loc=user_loc())
    return x


def _wide(x: Tensor) -> Tensor:
    return F.cast(x, "float32") if x.tensor_type.dtype in ("float16", "bfloat16") else x


def _per_channel(owner: str, name: str, given: Any, x: Tensor) -> Tensor:
    """[1, C, 1, ...] of one number per channel of x. ShapeError."""
    p = as_tensor(given, f"{owner}: {name}")
    if p.shape != x.shape[1:2]:
        raise ShapeError(
            f"{owner}: {name} is {p.tensor_type}, expected one number per channel (axis 1) of {x.tensor_type}",
            loc=user_loc(),
        )
    return F.reshape(_wide(p), (1, -1, *[1] * (x.ndim - 2)))


def batch_norm_stats(input: Tensor, eps: float | Tensor) -> tuple[Tensor, Tensor]:
    """([C], [C]): of each channel of [N, C, ...] the mean, and 1 / sqrt(variance + eps); of halves in float32
    (MindSpore: mint.batch_norm_stats, for which it has no kernel on a CPU). Raises ShapeError, DTypeError.
    """
    x = _wide(_channels("batch_norm_stats", input))
    axes = tuple(k for k in range(x.ndim) if k != 1)
    mean = F.reduce_mean(x, axes, keep_dims=True)
    variance = F.reduce_mean(F.square(F.sub(x, mean)), axes)
    return F.reshape(mean, (-1,)), F.rsqrt(F.add(variance, eps))


def batch_norm_gather_stats_with_counts(
    input: Tensor,
    mean: Tensor,
    invstd: Tensor,
    running_mean: Tensor | None = None,
    running_var: Tensor | None = None,
    momentum: float | Tensor = 0.1,
    eps: float | Tensor = 1e-5,
    counts: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """([C], [C]) of all batches together, from what batch_norm_stats gives for each: mean and invstd [batches, C], and how many
    elements of a channel each has, counts [batches]; without counts as many as input.

    running_mean and running_var then hold (1 - momentum) old + momentum new, the new variance unbiased. Raises ShapeError,
    DTypeError (MindSpore: mint.batch_norm_gather_stats_with_counts, for which it has no kernel on a CPU).
    """
    owner = "batch_norm_gather_stats_with_counts"
    x = _channels(owner, input)
    means, rates = _wide(as_tensor(mean, f"{owner}: mean")), _wide(as_tensor(invstd, f"{owner}: invstd"))
    if means.ndim != 2 or means.shape[1] != x.shape[1] or rates.shape != means.shape:
        raise ShapeError(
            f"{owner}: mean is {means.tensor_type}, invstd {rates.tensor_type}, expected [batches, {x.shape[1]}]",
            loc=user_loc(),
        )
    if counts is None:
        each = F.full(means.shape[:1], float(math.prod(x.shape) // x.shape[1]), dtype=means.dtype)
    else:
        each = F.cast(as_tensor(counts, f"{owner}: counts"), means.dtype)
        if each.shape != means.shape[:1]:
            raise ShapeError(f"{owner}: counts are {each.tensor_type}, expected [{means.shape[0]}]", loc=user_loc())
    weight, total = F.expand_dims(each, 1), F.reduce_sum(each)
    whole = F.div(F.reduce_sum(F.mul(means, weight), 0), total)
    spread = F.add(F.sub(F.square(F.reciprocal(rates)), eps), F.square(F.sub(means, whole)))
    squares = F.reduce_sum(F.mul(spread, weight), 0)
    for name, running, new in (
        ("running_mean", running_mean, whole),
        ("running_var", running_var, F.div(squares, F.maximum(F.sub(total, 1.0), 1.0))),
    ):
        if running is not None:
            _per_channel(owner, name, running, x)
            F.assign(running, F.cast(F.add(F.mul(running, 1 - momentum), F.mul(new, momentum)), running.dtype))
    return whole, F.rsqrt(F.add(F.div(squares, total), eps))


def batch_norm_elemt(
    input: Tensor,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    mean: Tensor | None = None,
    invstd: Tensor | None = None,
    eps: float | Tensor = 1e-5,
) -> Tensor:
    """(input - mean) invstd weight + bias, each one number per channel of [N, C, ...], in the dtype of input; what is None is
    left out. eps counts for nothing: it is in invstd (MindSpore: mint.batch_norm_elemt, for which it has no kernel on a CPU).

    Raises ShapeError, DTypeError.
    """
    owner = "batch_norm_elemt"
    x = _channels(owner, input)
    made = _wide(x)
    for name, of, given in (
        ("mean", F.sub, mean),
        ("invstd", F.mul, invstd),
        ("weight", F.mul, weight),
        ("bias", F.add, bias),
    ):
        if given is not None:
            made = of(made, _per_channel(owner, name, given, x))
    return F.cast(made, x.dtype)


__all__ = ["batch_norm_elemt", "batch_norm_gather_stats_with_counts", "batch_norm_stats"]
