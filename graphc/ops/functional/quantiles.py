"""Places in the order of an axis: quantiles, medians, the k-th smallest; means without what is not a number."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from graphc import dispatch
from graphc.errors import ArgumentTypeError, ArgumentValueError, DTypeError, ShapeError, user_loc
from graphc.ops.declared.shape import check_axis
from graphc.ops.functional.arithmetic import div
from graphc.ops.functional.core import Axis, cast, cast_to, is_number
from graphc.ops.functional.create import zeros
from graphc.ops.functional.elements import elements_at
from graphc.ops.functional.elementwise import (
    add,
    equal,
    floor,
    greater,
    greater_equal,
    isnan,
    less_equal,
    logical_and,
    logical_not,
    maximum,
    minimum,
    mul,
    sub,
)
from graphc.ops.functional.integers import bitwise_right_shift
from graphc.ops.functional.logic import select
from graphc.ops.functional.reduce import nansum, reduce_all, reduce_any, reduce_sum
from graphc.ops.functional.require import require
from graphc.ops.functional.shapes import broadcast_to, expand_dims, moveaxis, reshape
from graphc.ops.functional.sorting import element_in_order, median, sorting_places
from graphc.ops.tensor.methods import method
from graphc.ops.tensor.tensor import Tensor
from graphc.validation.checks import exact_int


@method()
def quantile(input: Tensor, q: Any, axis: int | None = None, keepdims: bool = False) -> Tensor:
    """The q-th quantiles along an axis, between two elements linear (MindSpore: ops.quantile).

    input: floats; a NaN makes the result NaN. q: a number, or a float tensor without axes or [m], in [0, 1]; of [m] the
    result has a first axis m. axis: None for all elements. Raises DTypeError, ShapeError, ArgumentTypeError,
    ArgumentValueError, for the values of q in a compiled step when it has run.
    """
    return _quantile("quantile", input, q, axis, keepdims, ignore_nan=False)


@method()
def nanquantile(input: Tensor, q: Any, axis: int | None = None, keepdims: bool = False) -> Tensor:
    """As `quantile`, of the elements that are not NaN; NaN where there are none (MindSpore: ops.nanquantile)."""
    return _quantile("nanquantile", input, q, axis, keepdims, ignore_nan=True)


def _quantile(owner: str, x: Tensor, q: Any, axis: int | None, keep: bool, ignore_nan: bool) -> Tensor:
    if not x.tensor_type.is_float:
        raise DTypeError(f"{owner}: input is {x.tensor_type}, expected floats", loc=user_loc())
    if not x.size:
        raise ShapeError(f"{owner}: input is {x.tensor_type}: of no element there is no quantile", loc=user_loc())
    rank = x.ndim
    x, at = (reshape(x, (-1,)), 0) if axis is None or not rank else (x, check_axis(owner, axis, rank))
    parts = _parts(owner, q)
    x = moveaxis(x, at, -1)
    count = x.shape[-1]
    nan = isnan(x)
    # Where a result is NaN, numbers take the place of what there is, so that gradients are zero there.
    known: Any = count
    if ignore_nan:
        known = expand_dims(reduce_sum(cast_to(logical_not(nan), "int32"), -1), -1)
        lost = equal(reduce_sum(known, -1), 0)
    else:
        lost = reduce_any(nan, -1)
    clean = select(nan, 0.0, x) if not ignore_nan else x
    below, above, weight = _between(parts, known, x)
    ordered = elements_at(clean, -1, sorting_places(clean))
    low, high = (elements_at(ordered, -1, _for_rows(place, ordered)) for place in (below, above))
    # Without the choice an infinite neighbour would make NaN of a quantile that is an element itself.
    mixed = select(equal(weight, 0.0), low, add(low, mul(sub(high, low), weight)))
    made = moveaxis(select(expand_dims(lost, -1), math.nan, mixed), -1, 0)
    single = is_number(q) or q.ndim == 0
    if keep:
        sizes = (1,) * rank if axis is None else tuple(1 if i == at else d for i, d in _sizes(made, at))
        made = reshape(made, (made.shape[0], *sizes))
    return reshape(made, made.shape[1:]) if single else made


def _for_rows(places: Tensor, x: Tensor) -> Tensor:
    """Places [m], or [..., m], for each row of x [..., n]."""
    return broadcast_to(places, (*x.shape[:-1], places.shape[-1]))


def _sizes(made: Tensor, at: int) -> list[tuple[int, int]]:
    """(axis, size) of a result [m, ...] with an axis of size 1 put back at `at`."""
    rest = list(made.shape[1:])
    rest.insert(at, 1)
    return list(enumerate(rest))


def _parts(owner: str, q: Any) -> Any:
    """Shares in [0, 1]: a float64 array [m] of known ones, else, and where they may have a gradient, a tensor [m]."""
    if isinstance(q, bool) or not (is_number(q) or isinstance(q, Tensor)):
        raise ArgumentTypeError(f"{owner}: q must be a number or a Tensor, got {type(q).__name__}", loc=user_loc())
    message = f"{owner}: q must lie in [0, 1]"
    if isinstance(q, Tensor):
        if q.ndim > 1 or not q.tensor_type.is_float:
            raise ShapeError(f"{owner}: q is {q.tensor_type}, expected floats [] or [m]", loc=user_loc())
        # In PYNATIVE_MODE what is known may have a gradient.
        active = dispatch.recorder.get()
        if q.array is None or (active is not None and active.immediate):
            require(reduce_all(logical_and(greater_equal(q, 0.0), less_equal(q, 1.0))), message)
            return reshape(q, (-1,))
    known = np.asarray(q.array if isinstance(q, Tensor) else q, np.float64).reshape(-1)
    if not np.all((known >= 0) & (known <= 1)):
        raise ArgumentValueError(message, loc=user_loc())
    return known


def _between(parts: Any, known: Any, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """(place before, place behind, how far from the former) of shares among `known` sorted elements."""
    dtype = x.tensor_type.dtype if x.tensor_type.dtype == "float64" else "float32"
    if isinstance(known, int) and isinstance(parts, np.ndarray):
        exact = parts * (known - 1)
        first = np.floor(exact)
        last = np.minimum(first + 1, known - 1)
        return (
            Tensor(first.astype(np.int32)),
            Tensor(last.astype(np.int32)),
            cast(Tensor(exact - first), x.dtype),
        )
    shares = (
        Tensor(parts.astype(np.float64 if dtype == "float64" else np.float32))
        if isinstance(parts, np.ndarray)
        else parts
    )
    most = known - 1 if isinstance(known, int) else cast_to(maximum(sub(known, 1), 0), dtype)
    place = mul(cast_to(shares, dtype), most)
    start = floor(place)
    return cast_to(start, "int32"), cast_to(minimum(add(start, 1.0), most), "int32"), cast(sub(place, start), x.dtype)


# ---- medians


@method()
def nanmedian(input: Tensor, axis: int = -1, keepdims: bool = False) -> tuple[Tensor, Tensor]:
    """(the lower median of the elements that are not NaN, its int64 place) along an axis; (NaN, 0) where there are none
    (MindSpore: ops.nanmedian). Of equal elements the first has its place.
    """
    at = check_axis("nanmedian", axis, max(input.ndim, 1))
    x = reshape(input, (1,)) if not input.ndim else moveaxis(input, at, -1)
    if not x.shape[-1]:
        raise ArgumentValueError(f"nanmedian: axis {at} of {input.tensor_type} has no elements", loc=user_loc())
    if x.tensor_type.is_float:
        known = reduce_sum(cast_to(logical_not(isnan(x)), "int32"), -1)
        value, where = taken_at(x, maximum(bitwise_right_shift(sub(known, 1), 1), 0))
    else:
        value, where = element_in_order(x, (x.shape[-1] - 1) // 2)
    if keepdims and input.ndim:
        return expand_dims(value, at), expand_dims(where, at)
    return value, where


def taken_at(x: Tensor, place: Tensor) -> tuple[Tensor, Tensor]:
    """(the element that stands at a place when the last axis is sorted, NaN last, where it is: int64)."""
    where = elements_at(sorting_places(x), -1, expand_dims(place, -1))
    value = elements_at(x, -1, where)
    return reshape(value, place.shape), cast_to(reshape(where, place.shape), "int64")


@method()
def kthvalue(input: Tensor, k: int, dim: int = -1, keepdim: bool = False) -> tuple[Tensor, Tensor]:
    """(the k-th smallest element, counted from 1, its int64 place) along an axis (MindSpore: Tensor.kthvalue).

    Equal elements keep their order, NaN comes last. Raises ArgumentTypeError, ArgumentValueError for k beyond the axis.
    """
    exact_int("kthvalue", "k", k)
    at = check_axis("kthvalue", dim, max(input.ndim, 1))
    x = reshape(input, (1,)) if not input.ndim else moveaxis(input, at, -1)
    if not 1 <= k <= x.shape[-1]:
        dispatch.refuse(
            ArgumentValueError(
                f"kthvalue: k is {k}, axis {at} of {input.tensor_type} has {x.shape[-1]}", loc=user_loc()
            )
        )
    value, where = element_in_order(x, k - 1)
    if keepdim and input.ndim:
        return expand_dims(value, at), expand_dims(where, at)
    return value, where


def nth_element(input: Tensor, n: Any, reverse: bool = False) -> Tensor:
    """The n-th smallest element, counted from 0, along the last axis; with `reverse` the n-th largest."""
    place = int(n)
    size = input.shape[-1] if input.ndim else 0
    if not 0 <= place < size:
        raise ArgumentValueError(
            f"NthElement: n is {place}, the last axis of {input.tensor_type} has {size}", loc=user_loc()
        )
    return kthvalue(input, size - place if reverse else place + 1)[0]


def median_of(
    x: Tensor, global_median: bool = False, axis: int = 0, keep_dims: bool = False, ignore_nan: bool = False
) -> tuple[Tensor, Tensor]:
    """(the lower median, its int64 place) along an axis, or with `global_median` of all, whose place is 0."""
    find = nanmedian if ignore_nan else median
    if not global_median:
        return find(x, axis, keep_dims)
    value, _ = find(reshape(x, (-1,)), 0)
    shape = (1,) * x.ndim if keep_dims else ()
    return reshape(value, shape), zeros(shape, "int64")


# ---- means


@method()
def nanmean(input: Tensor, axis: Axis = None, keepdims: bool = False, *, dtype: Any = None) -> Tensor:
    """The mean of the elements that are not NaN over axes, NaN where there are none (MindSpore: ops.nanmean).

    input: floats, else DTypeError. dtype: in which it is computed and returned, by default that of the input; a mean in an
    integer dtype has no fraction.
    """
    if not input.tensor_type.is_float:
        raise DTypeError(f"nanmean: input is {input.tensor_type}, expected floats", loc=user_loc())
    x = input if dtype is None else cast(input, dtype)
    if not x.tensor_type.is_float:
        return cast(nanmean(input, axis, keepdims), dtype)
    there = reduce_sum(cast_to(logical_not(isnan(x)), "int32"), axis, keepdims)
    mean = div(nansum(x, axis, keepdims), cast(maximum(there, 1), x.dtype))
    return select(greater(there, 0), mean, math.nan)


__all__ = [
    "kthvalue",
    "nanmean",
    "nanmedian",
    "nanquantile",
    "quantile",
]
