"""More reductions: products, extrema with their places, sorting, and what is composed of them."""

from __future__ import annotations

import math
from typing import Any

from graphc.errors import ArgumentTypeError, ArgumentValueError, user_loc
from graphc.ops.dtype import to_name
from graphc.ops.functional.core import Axis, Operand, call, cast, cast_to
from graphc.ops.functional.create import zeros_like
from graphc.ops.functional.extra_shape import arange, flip, moveaxis
from graphc.ops.functional.math import (
    abs_,
    add,
    equal,
    exp,
    greater,
    isnan,
    less,
    log,
    logical_and,
    logical_or,
    maximum,
    minimum,
    mul,
    neg,
    not_equal,
    select,
    sub,
)
from graphc.ops.functional.normalization import std, var
from graphc.ops.functional.reduce import reduce_max, reduce_mean, reduce_min, reduce_sum
from graphc.ops.functional.shape import broadcast_to, concat, expand_dims, getitem, reshape
from graphc.ops.rules import normalize_axes
from graphc.ops.shape import check_axis
from graphc.ops.tensor import Tensor, as_tensor


def amax(input: Tensor, axis: Axis = None, keepdims: bool = False, *, initial: Any = None, where: Any = None) -> Tensor:
    """The largest element over axes. `where` chooses the elements that count, `initial` bounds the result from below."""
    return _extremum(input, axis, keepdims, initial, where, True)


def amin(input: Tensor, axis: Axis = None, keepdims: bool = False, *, initial: Any = None, where: Any = None) -> Tensor:
    """The smallest element over axes. `where` chooses the elements that count, `initial` bounds the result from above."""
    return _extremum(input, axis, keepdims, initial, where, False)


def _extremum(x: Tensor, axis: Axis, keep: bool, initial: Any, where: Any, largest: bool) -> Tensor:
    if where is not None:
        if initial is None:
            raise ArgumentValueError("an extremum with `where` needs `initial`", loc=user_loc())
        x = select(where, x, initial)
    made = (reduce_max if largest else reduce_min)(x, axis, keep)
    return made if initial is None else (maximum if largest else minimum)(made, initial)


def argmax_(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Tensor:
    """int64: the place of the first largest element along an axis, or in the flattened tensor."""
    return place(input, dim, keepdim, True, "int64")


def argmin(input: Tensor, axis: int | None = None, keepdims: bool = False) -> Tensor:
    """int32: the place of the first smallest element along an axis, or in the flattened tensor."""
    return place(input, axis, keepdims, False, "int32")


def place(x: Tensor, axis: int | None, keep: bool, largest: bool, dtype: str) -> Tensor:
    """The place of the first extremum."""
    if axis is None:
        flat = place(reshape(x, (-1,)), 0, False, largest, dtype)
        return reshape(flat, (1,) * x.ndim) if keep else flat
    at = check_axis("argmax" if largest else "argmin", axis, x.ndim)
    if x.type.dtype not in ("int32", "int64"):
        x = cast_to(x, "float32")
    made = call("Argmax", x if largest else neg(x), axis=at, dtype=dtype)
    return expand_dims(made, at) if keep else made


def arg_with_value(x: Tensor, axis: int, keep: bool, largest: bool, dtype: str = "int64") -> tuple[Tensor, Tensor]:
    """(places, values) of the first extrema along an axis; only those elements have a gradient."""
    if x.ndim == 0:
        return zeros_like(x, dtype), x
    at = check_axis("argmax" if largest else "argmin", axis, x.ndim)
    index = place(x, at, True, largest, dtype)
    chosen = equal(arange_along(x, at, dtype), index)
    values = reduce_sum(select(chosen, x, 0), at, keep)
    return (index if keep else reshape(index, values.shape)), values


def arange_along(x: Tensor, axis: int, dtype: str) -> Tensor:
    """0, 1, ... along an axis, with size 1 elsewhere."""
    count = x.shape[axis]
    return reshape(arange(0, count, dtype=dtype), tuple(count if i == axis else 1 for i in range(x.ndim)))


def max_(
    input: Tensor, axis: int | None = None, keepdims: bool = False, *, initial: Any = None, where: Any = None
) -> Any:
    """(values, places) of the largest elements along an axis; without an axis the largest element and 0."""
    return _with_places(input, axis, keepdims, initial, where, True)


def min_(
    input: Tensor, axis: int | None = None, keepdims: bool = False, *, initial: Any = None, where: Any = None
) -> Any:
    """(values, places) of the smallest elements along an axis; without an axis the smallest element and 0."""
    return _with_places(input, axis, keepdims, initial, where, False)


def _with_places(x: Tensor, axis: int | None, keep: bool, initial: Any, where: Any, largest: bool) -> Any:
    if axis is None:
        return _extremum(x, None, False, initial, where, largest), Tensor(0)
    if where is not None:
        x = select(where, x, initial)
    places, values = arg_with_value(x, axis, keep, largest)
    if initial is not None:
        values = (maximum if largest else minimum)(values, initial)
    return values, places


def aminmax(input: Tensor, *, axis: int | None = 0, keepdims: bool = False) -> tuple[Tensor, Tensor]:
    """The smallest and the largest element along an axis."""
    return amin(input, axis, keepdims), amax(input, axis, keepdims)


def ptp(x: Tensor, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """The largest minus the smallest element over axes."""
    return sub(amax(x, axis, keepdims), amin(x, axis, keepdims))


def prod(input: Tensor, axis: Axis = None, keep_dims: bool = False, dtype: Any = None) -> Tensor:
    """The product over axes."""
    x = as_tensor(input) if dtype is None else cast(input, dtype)
    x = cast_to(x, "int64") if x.type.dtype == "bool" else x
    return call("ReduceProd", x, axis=normalize_axes("prod", axis, x.ndim), keep_dims=bool(keep_dims))


def _scanned(name: str, x: Tensor, axis: int, combine: Any, neutral: float) -> Tensor:
    """Results up to each element, by log2(size) shifted steps (Hillis and Steele, 1986)."""
    at = check_axis(name, axis, x.ndim)
    by = 1
    while by < x.shape[at]:
        before = (slice(None),) * at
        head = getitem(x, (*before, slice(0, x.shape[at] - by)))
        lead = zeros_like(getitem(x, (*before, slice(0, by))))
        x = combine(x, concat((add(lead, neutral), head), at))
        by *= 2
    return x


def cumprod(input: Tensor, dim: int, dtype: Any = None) -> Tensor:
    """Products of the elements up to each along an axis."""
    return _scanned("cumprod", input if dtype is None else cast(input, dtype), dim, mul, 1)


def cummax(input: Tensor, axis: int) -> tuple[Tensor, Tensor]:
    """(largest element so far, its last place so far, int64) along an axis."""
    return _running("cummax", input, axis, True)


def cummin(input: Tensor, axis: int) -> tuple[Tensor, Tensor]:
    """(smallest element so far, its last place so far, int32) along an axis."""
    values, places = _running("cummin", input, axis, False)
    return values, cast(places, "int32")


def _running(name: str, x: Tensor, axis: int, largest: bool) -> tuple[Tensor, Tensor]:
    at = check_axis(name, axis, x.ndim)
    values = _scanned(name, x, at, maximum if largest else minimum, -math.inf if largest else math.inf)
    here = select(equal(x, values), broadcast_to(arange_along(x, at, "int64"), x.shape), 0)
    return values, _scanned(name, here, at, maximum, 0)


def logsumexp(input: Tensor, axis: Axis = None, keep_dims: bool = False) -> Tensor:
    """log(sum(exp(x))) over axes, without overflow."""
    from graphc.ops.functional.state import stop_gradient

    most = stop_gradient(reduce_max(input, axis, True))
    most = select(equal(abs_(most), math.inf), 0.0, most)
    made = add(log(reduce_sum(exp(sub(input, most)), axis, True)), most)
    return made if keep_dims else reduce_sum(made, axis, False)


def count_nonzero(x: Tensor, axis: Axis = (), keep_dims: bool = False, dtype: Any = "int32") -> Tensor:
    """How many elements are not zero."""
    return reduce_sum(cast(not_equal(x, 0) if x.type.dtype != "bool" else x, to_name(dtype)), axis, keep_dims)


def var_mean(input: Tensor, axis: Axis = None, ddof: int = 0, keepdims: bool = False) -> tuple[Tensor, Tensor]:
    """(variance, mean) over axes."""
    return var(input, axis, ddof, keepdims), reduce_mean(input, axis, keepdims)


def std_mean(input: Tensor, axis: Axis = None, ddof: int = 0, keepdims: bool = False) -> tuple[Tensor, Tensor]:
    """(standard deviation, mean) over axes."""
    return std(input, axis, ddof, keepdims), reduce_mean(input, axis, keepdims)


def nansum(input: Tensor, axis: Axis = None, keepdims: bool = False, *, dtype: Any = None) -> Tensor:
    """The sum of the elements that are not NaN."""
    x = select(isnan(input), 0.0, input)
    return reduce_sum(x if dtype is None else cast(x, dtype), axis, keepdims)


# ---- order


def _ranks(x: Tensor, descending: bool) -> Tensor:
    """The place that each element takes when the last axis is sorted; equal ones keep their order, NaN goes to the end.

    Counts for each element those before it: the square of the axis in comparisons, fused into one loop.
    """
    count = x.shape[-1]
    mine, other = expand_dims(x, -1), expand_dims(x, -2)
    before = greater(other, mine) if descending else less(other, mine)
    same = equal(other, mine)
    if x.type.is_float:
        nan = logical_and(isnan(mine), isnan(other))
        before = logical_or(before, logical_and(isnan(mine), equal(other, other)))
        same = logical_or(same, nan)
    index = arange(0, count, dtype="int32")
    earlier = less(reshape(index, (1, count)), reshape(index, (count, 1)))
    return reduce_sum(cast_to(logical_or(before, logical_and(same, earlier)), "int32"), -1)


def sort(input_x: Tensor, axis: int = -1, descending: bool = False) -> tuple[Tensor, Tensor]:
    """(sorted elements, int32 places they came from) along an axis; equal elements keep their order."""
    x = as_tensor(input_x)
    if x.ndim == 0:
        return x, zeros_like(x, "int32")
    at = check_axis("sort", axis, x.ndim)
    values, places = ordered(moveaxis(x, at, -1), x.shape[at], descending)
    return moveaxis(values, -1, at), moveaxis(places, -1, at)


def ordered(x: Tensor, count: int, descending: bool) -> tuple[Tensor, Tensor]:
    """The first `count` elements of the sorted last axis, and their places."""
    ranks = _ranks(x, descending)
    wanted = reshape(arange(0, count, dtype="int32"), (count, 1))
    hit = equal(expand_dims(ranks, -2), wanted)
    values = reduce_sum(select(hit, expand_dims(x, -2), 0), -1)
    places = reduce_sum(select(hit, arange(0, x.shape[-1], dtype="int32"), 0), -1)
    return values, places


def argsort(input: Tensor, axis: int = -1, descending: bool = False) -> Tensor:
    """int32: the places that sort an axis."""
    return sort(input, axis, descending)[1]


def topk(
    input: Tensor, k: int, dim: int | None = None, largest: bool = True, sorted: bool = True
) -> tuple[Tensor, Tensor]:
    """(the k largest elements in descending order, their int32 places) along an axis, the last by default."""
    if isinstance(k, bool) or not isinstance(k, int):
        raise ArgumentTypeError(f"topk: k must be an int, got {type(k).__name__}", loc=user_loc())
    at = check_axis("topk", -1 if dim is None else dim, input.ndim)
    if not 0 <= k <= input.shape[at]:
        raise ArgumentValueError(f"topk: k is {k}, axis {at} of {input.type} has {input.shape[at]}", loc=user_loc())
    values, places = ordered(moveaxis(input, at, -1), k, largest)
    return moveaxis(values, -1, at), moveaxis(places, -1, at)


def median(input: Tensor, axis: int = -1, keepdims: bool = False) -> tuple[Tensor, Tensor]:
    """(the lower median, its int64 place) along an axis."""
    at = check_axis("median", axis, input.ndim)
    values, places = ordered(moveaxis(input, at, -1), (input.shape[at] + 1) // 2, False)
    value, index = getitem(values, (..., -1)), cast(getitem(places, (..., -1)), "int64")
    return (expand_dims(value, at), expand_dims(index, at)) if keepdims else (value, index)


def reverse_cumsum(x: Tensor, axis: int) -> Tensor:
    """Sums of the elements from each to the last along an axis."""
    from graphc.ops.functional.shape import cumsum

    return flip(cumsum(flip(x, (axis,)), axis), (axis,))


def in_top_k(x1: Tensor, x2: Tensor, k: int) -> Tensor:
    """bool: whether the element of each row at the given place is among the k largest."""
    chosen = equal(arange(0, x1.shape[1], dtype=x2.dtype), expand_dims(x2, 1))
    target = reduce_sum(select(chosen, x1, 0), 1, True)
    return less(reduce_sum(cast_to(greater(x1, target), "int32"), 1), k)


def l2_loss(x: Operand) -> Tensor:
    """Half the sum of squares."""
    return mul(reduce_sum(mul(x, x)), 0.5)


__all__ = [
    "amax", "amin", "aminmax", "argmin", "argsort", "count_nonzero", "cummax", "cummin", "cumprod", "in_top_k",
    "l2_loss", "logsumexp", "median", "nansum", "prod", "ptp", "sort", "std_mean", "topk", "var_mean",
]  # fmt: skip
