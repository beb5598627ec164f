"""Moments, norms and distances."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from graphc.errors import ArgumentValueError, user_loc
from graphc.ir.types import HALVES
from graphc.ops.declared.rules import normalize_axes
from graphc.ops.declared.shape import check_axis
from graphc.ops.functional.arithmetic import div
from graphc.ops.functional.core import Axis, Operand, as_float, call, cast, halves_widened, real_only, shape_of
from graphc.ops.functional.elementwise import add, equal, greater, maximum, mul, sqrt, square, sub
from graphc.ops.functional.logic import select
from graphc.ops.functional.norms import distance, vector_norm
from graphc.ops.functional.operand_checks import require_at_least, require_rank
from graphc.ops.functional.products import matmul
from graphc.ops.functional.reduce import reduce_mean, reduce_sum
from graphc.ops.functional.shapes import broadcast_to, expand_dims, reshape, swapaxes
from graphc.ops.tensor.deferred import Deferred
from graphc.ops.tensor.methods import method
from graphc.ops.tensor.tensor import Tensor

#: Rows that fill two vectors.
_BESIDE = 32


def moments(x: Tensor, axes: Sequence[int]) -> tuple[Tensor, Tensor]:
    """(mean, variance) over axes, which stay with size 1. The variance divides by the count, in two passes."""
    mean = reduce_mean(x, axes, True)
    return mean, reduce_mean(call("SquaredDeviation", x, mean), axes, True)


def var(input: Tensor, axis: Axis = None, ddof: int = 0, keepdims: bool = False) -> Tensor:
    """Sum of squared deviations from the mean over axes, divided by count - ddof; of integers in float32."""
    input = as_float(input)
    axes = normalize_axes("var", axis, input.ndim)
    _, variance = moments(input, axes)
    count = math.prod(shape_of(input)[a] for a in axes)
    if ddof:
        variance = mul(variance, share_of(count, count - ddof, variance))
    return variance if keepdims else reshape(variance, [d for i, d in enumerate(input.shape) if i not in axes])


def share_of(count: int, other: int, beside: Tensor) -> Any:
    """One size divided by another, infinite for zero; where the run tells them a tensor of the dtype of the one beside it."""
    if isinstance(count, Deferred) or isinstance(other, Deferred):
        parts = (cast(x.tensor() if isinstance(x, Deferred) else x, beside.tensor_type.dtype) for x in (count, other))
        return div(*parts)
    return count / other if other else math.inf


def std(input: Tensor, axis: Axis = None, ddof: int = 0, keepdims: bool = False) -> Tensor:
    """Root of `var`."""
    return sqrt(var(input, axis, ddof, keepdims))


def var_mean(input: Tensor, axis: Axis = None, ddof: int = 0, keepdims: bool = False) -> tuple[Tensor, Tensor]:
    """(variance, mean) over axes."""
    return var(input, axis, ddof, keepdims), reduce_mean(as_float(input), axis, keepdims)


def std_mean(input: Tensor, axis: Axis = None, ddof: int = 0, keepdims: bool = False) -> tuple[Tensor, Tensor]:
    """(standard deviation, mean) over axes."""
    return std(input, axis, ddof, keepdims), reduce_mean(as_float(input), axis, keepdims)


def dist(input: Tensor, other: Tensor, p: float = 2) -> Tensor:
    """The p-norm of input - other, p >= 0."""
    require_at_least("dist", "p", p, 0)
    return vector_norm(sub(input, other), p)


@method()
def cov(input: Tensor, *, correction: int = 1, fweights: Any = None, aweights: Any = None) -> Tensor:
    """The covariances of the rows of a matrix, whose columns are observations with weights; of one row its variance.

    Of halves in float32. The sum of squares is divided by the number of observations less the correction, or by 0.
    """
    real_only("cov", input)
    require_rank("cov", "input", input, 0, 1, 2)
    x = as_float(input if input.ndim == 2 else reshape(input, (1, -1)))
    x = halves_widened(x)
    n = x.shape[1]
    weights: Any = None
    for given in (fweights, aweights):
        if given is not None:
            weights = cast(given, x.dtype) if weights is None else mul(weights, given)
    if weights is None:
        centred = sub(x, reduce_mean(x, 1, keep_dims=True))
        total: Any = float(max(n - correction, 0))
        right = centred
    else:
        whole = reduce_sum(weights)
        centred = sub(x, div(reduce_sum(mul(x, weights), 1, keep_dims=True), whole))
        right = mul(centred, weights)
        spread: Any = 1.0 if aweights is None else div(reduce_sum(mul(weights, aweights)), whole)
        total = maximum(sub(whole, spread * float(correction)), 0.0)
    made = div(matmul(centred, right, False, True), total)
    return reshape(made, ()) if made.size == 1 else made


@method()
def renorm(input: Tensor, p: float, axis: int, maxnorm: Operand) -> Tensor:
    """Each entry of an axis scaled down to the p-norm maxnorm if it is larger; p above 0, maxnorm not below."""
    if isinstance(p, (int, float)) and not p > 0:
        raise ArgumentValueError(f"renorm: p must be positive, got {p}", loc=user_loc())
    require_at_least("renorm", "maxnorm", maxnorm, 0)
    at = check_axis("renorm", axis, input.ndim)
    others = tuple(i for i in range(input.ndim) if i != at)
    norm = vector_norm(input, p, others, True)
    scale = div(maxnorm, add(maximum(norm, maxnorm), 1e-7))
    return select(broadcast_to(greater(norm, maxnorm), input.shape), mul(input, scale), input)


def cosine_similarity(x1: Tensor, x2: Tensor, dim: int = 1, eps: Operand = 1e-8) -> Tensor:
    """x1 x2 / (|x1| |x2|) over an axis; the product of the lengths is at least eps."""

    def length(x: Tensor) -> Tensor:
        squares = reduce_sum(square(x), dim)
        # The gradient of the root is infinite at 0.
        none = equal(squares, 0.0)
        return select(none, 0.0, sqrt(select(none, 1.0, squares)))

    return div(reduce_sum(mul(x1, x2), dim), maximum(mul(length(x1), length(x2)), eps))


def cdist(x1: Tensor, x2: Tensor, p: float = 2.0) -> Tensor:
    """The p-norms of all differences of a row of x1 and a row of x2, p >= 0, both of equally many axes; of halves computed in
    float32, and rounded once.
    """
    real_only("cdist", x1, x2)
    require_at_least("cdist", "p", p, 0)
    require_rank("cdist", "x2", x2, x1.ndim)
    if x1.tensor_type.dtype == x2.tensor_type.dtype in HALVES:
        return cast(cdist(cast(x1, "float32"), cast(x2, "float32"), p), x1.tensor_type.dtype)
    if x1.ndim < 2 or x2.ndim < 2 or x2.shape[-2] < _BESIDE:
        return distance(sub(expand_dims(x1, -2), expand_dims(x2, -3)), p, -1)
    # Distances to rows of x2 lie beside each other, so with these turned lanes need not be added up.
    return distance(sub(expand_dims(x1, -1), expand_dims(swapaxes(x2, -1, -2), -3)), p, -2)


__all__ = [
    "cdist",
    "cosine_similarity",
    "cov",
    "dist",
    "moments",
    "renorm",
    "std",
    "std_mean",
    "var",
    "var_mean",
]
