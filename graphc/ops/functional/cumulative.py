"""Sums, products and extrema up to each element of an axis; differences."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from graphc.errors import ArgumentValueError, DTypeError, user_loc
from graphc.ops.declared.shape import check_axis
from graphc.ops.functional.core import Operand, as_float, call, cast, real_only
from graphc.ops.functional.create import arange, fill
from graphc.ops.functional.dynamic import known_values
from graphc.ops.functional.elementwise import (
    add,
    less,
    mul,
    sub,
)
from graphc.ops.functional.joining import concat
from graphc.ops.functional.operand_checks import require_at_least
from graphc.ops.functional.reduce import reduce_sum, summand
from graphc.ops.functional.shapes import expand_dims
from graphc.ops.functional.slicing import getitem
from graphc.ops.functional.transcendental import logaddexp
from graphc.ops.tensor.methods import method
from graphc.ops.tensor.tensor import Tensor


def cumsum(x: Tensor, axis: int, dtype: Any = None) -> Tensor:
    """Sums of the elements up to each along an axis; those of float32 and halves are added up in float64."""
    if dtype is not None:
        x = cast(x, dtype)
    return call("Cumsum", x, axis=check_axis("cumsum", axis, x.ndim))


def _scanned(name: str, x: Tensor, axis: int, combine: Any, neutral: float) -> Tensor:
    """Results up to each element, by log2(size) shifted steps (Hillis and Steele, 1986)."""
    at = check_axis(name, axis, x.ndim)
    by = 1
    while by < x.shape[at]:
        before = (slice(None),) * at
        head = getitem(x, (*before, slice(0, x.shape[at] - by)))
        lead = fill(x.dtype, tuple(by if i == at else d for i, d in enumerate(x.shape)), neutral)
        x = combine(x, concat((lead, head), at))
        by *= 2
    return x.value()


@method()
def cumprod(input: Tensor, dim: int, dtype: Any = None) -> Tensor:
    """Products of the elements up to each along an axis; of integers and bools in int64, unless a dtype is given."""
    x = summand(input, dtype)
    if x.tensor_type.is_complex:
        return _scanned("cumprod", x, dim, mul, 1)
    return call("Cumprod", x, axis=check_axis("cumprod", dim, x.ndim))


@method()
def cummax(input: Tensor, axis: int) -> tuple[Tensor, Tensor]:
    """(largest element so far, its last place so far, int64) along an axis; NaN is larger than all."""
    return _extremum("cummax", input, axis, "max")


@method()
def cummin(input: Tensor, axis: int) -> tuple[Tensor, Tensor]:
    """(smallest element so far, its last place so far, int32) along an axis; NaN is smaller than all."""
    values, places = _extremum("cummin", input, axis, "min")
    return values, cast(places, "int32")


def _extremum(name: str, x: Tensor, axis: int, mode: str) -> tuple[Tensor, Tensor]:
    at = check_axis(name, axis, x.ndim)
    if x.tensor_type.dtype == "bool":
        raise DTypeError(
            f"{name}: x is {x.tensor_type}, expected numbers", loc=user_loc(), help="ops.cast(x, graphc.int32)"
        )
    values, places = call("Cumextremum", x, axis=at, mode=mode)
    return values, places


@method()
def logcumsumexp(input: Tensor, axis: int) -> Tensor:
    """log of the cumulative sum of exp(x) along an axis, without overflow."""
    return _scanned("logcumsumexp", input, axis, logaddexp, -math.inf)


@method()
def diff(x: Tensor, n: int = 1, axis: int = -1, prepend: Tensor | None = None, append: Tensor | None = None) -> Tensor:
    """Differences of neighbours along an axis, n times, with `prepend` before and `append` behind the axis."""
    at = check_axis("diff", axis, x.ndim)
    if n < 0:
        raise ArgumentValueError(f"diff: n must be at least 0, got {n}", loc=user_loc())
    if n == 0:
        return x.value()
    around = [piece for piece in (prepend, x, append) if piece is not None]
    x = concat(around, at) if len(around) > 1 else x
    before = (slice(None),) * at
    for _ in range(min(n, x.shape[at])):  # Then nothing is left.
        x = sub(getitem(x, (*before, slice(1, None))), getitem(x, (*before, slice(0, -1))))
    return x.value()


def trapz(y: Tensor, x: Tensor | None = None, *, dx: Operand = 1.0, dim: int = -1) -> Tensor:
    """The integral over an axis by the trapezoidal rule, at distances dx or places x; of integers in float32."""
    y, x = as_float(y), x if x is None else as_float(x)
    at = check_axis("trapz", dim, y.ndim)
    before = (slice(None),) * at
    means = mul(add(getitem(y, (*before, slice(1, None))), getitem(y, (*before, slice(0, -1)))), 0.5)
    widths: Operand = dx if x is None else diff(x, 1, -1 if x.ndim == 1 and at == y.ndim - 1 else at)
    return reduce_sum(mul(means, widths), at)


def sequence_mask(lengths: Tensor, maxlen: int | None = None) -> Tensor:
    """bool: along a new last axis, the places below each length. Without maxlen the lengths must be known."""
    real_only("sequence_mask", lengths)
    if maxlen is None:
        maxlen = int(np.max(known_values("sequence_mask", lengths), initial=0))
    require_at_least("sequence_mask", "maxlen", maxlen, 0)
    return less(arange(0, maxlen, dtype=lengths.dtype), expand_dims(lengths, -1))


__all__ = [
    "cummax",
    "cummin",
    "cumprod",
    "cumsum",
    "diff",
    "logcumsumexp",
    "sequence_mask",
    "trapz",
]
