"""Order along axes: sorting, ranking, searching."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from graphc import dispatch
from graphc.errors import ArgumentTypeError, ArgumentValueError, ShapeError, user_loc
from graphc.ir.types import INTEGERS
from graphc.ops.declared.rules import broadcast_shapes
from graphc.ops.declared.shape import check_axis
from graphc.ops.declared.sorting import RANKED
from graphc.ops.functional.core import call, cast, cast_to, real_only, shape_of
from graphc.ops.functional.create import arange, zeros, zeros_like
from graphc.ops.functional.elements import elements_at, gather_elements
from graphc.ops.functional.elementwise import (
    equal,
    greater,
    greater_equal,
    isfinite,
    isnan,
    less,
    less_equal,
    logical_and,
)
from graphc.ops.functional.extrema import argmax
from graphc.ops.functional.logic import select
from graphc.ops.functional.reduce import reduce_any, reduce_sum
from graphc.ops.functional.require import require
from graphc.ops.functional.shapes import broadcast_to, expand_dims, moveaxis, reshape
from graphc.ops.functional.slicing import getitem
from graphc.ops.tensor.deferred import Deferred
from graphc.ops.tensor.dtype import promote
from graphc.ops.tensor.methods import method
from graphc.ops.tensor.tensor import Tensor, as_tensor

# ---- order


def sorting_places(x: Tensor, descending: bool = False, count: int = 0) -> Tensor:
    """int32: the places that sort the last axis, of `count` elements or all; equal ones keep their order, NaN goes to the end."""
    return call("Argsort", comparable(x), descending=descending, count=count)


def element_in_order(x: Tensor, number: int) -> tuple[Tensor, Tensor]:
    """(the element that has a number, from 0 on, when the last axis is sorted, NaN last; its int64 place), without that axis."""
    return _taken(x, call("Argsort", comparable(x), count=number + 1, last=True))


def _taken(x: Tensor, place: Tensor) -> tuple[Tensor, Tensor]:
    """(the elements at places [..., 1] of the last axis, these places as int64), without that axis."""
    return getitem(elements_at(x, -1, place), (..., 0)), cast(getitem(place, (..., 0)), "int64")


def comparable(x: Tensor) -> Tensor:
    """x, or its elements in the dtype in which kernels compare them. DTypeError for complex numbers, which have no order."""
    real_only("the order of elements", x)
    return x if x.tensor_type.dtype in RANKED or x.tensor_type.is_float else cast_to(x, "int32")


def sort(input_x: Tensor, axis: int = -1, descending: bool = False) -> tuple[Tensor, Tensor]:
    """(sorted elements, int32 places they came from) along an axis; equal elements keep their order."""
    x = as_tensor(input_x)
    if x.ndim == 0:
        return x.value(), zeros_like(x, "int32")
    at = check_axis("sort", axis, x.ndim)
    moved = moveaxis(x, at, -1)
    places = sorting_places(moved, descending)
    values = elements_at(moved, -1, places)
    return moveaxis(values, -1, at), moveaxis(places, -1, at)


def ordered(x: Tensor, count: int, descending: bool) -> tuple[Tensor, Tensor]:
    """The first `count` elements of the sorted last axis, and their places."""
    places = sorting_places(x, descending, count) if count else zeros((*x.shape[:-1], 0), "int32")
    return elements_at(x, -1, places), places


def argsort(input: Tensor, axis: int = -1, descending: bool = False) -> Tensor:
    """int32: the places that sort an axis."""
    return sort(input, axis, descending)[1]


@method("topk", "top_k")
def topk(
    input: Tensor, k: int, dim: int | None = None, largest: bool = True, sorted: bool = True
) -> tuple[Tensor, Tensor]:
    """(the k largest elements in descending order, their int32 places) along an axis, the last by default."""
    told = isinstance(k, Tensor) and k.array is None and k.is_number and k.tensor_type.dtype in INTEGERS
    if isinstance(k, bool) or not (isinstance(k, int) or told):
        raise ArgumentTypeError(f"topk: k must be an int, got {type(k).__name__}", loc=user_loc())
    at = check_axis("topk", -1 if dim is None else dim, input.ndim)
    if isinstance(k, Tensor):
        size = shape_of(input)[at]
        most = size.tensor() if isinstance(size, Deferred) else size
        require(
            logical_and(greater_equal(k, 0), less_equal(k, most)),
            f"topk: k is more than axis {at} has, or negative",
        )
    elif not 0 <= k <= input.shape[at]:
        dispatch.refuse(
            ArgumentValueError(
                f"topk: k is {k}, axis {at} of {input.tensor_type} has {input.shape[at]}", loc=user_loc()
            )
        )
    if isinstance(k, (Deferred, Tensor)):
        # Of all in order the first, as many as the run tells.
        moved = moveaxis(input, at, -1)
        order = sorting_places(moved, largest)
        values, places = elements_at(moved, -1, order)[..., :k], order[..., :k]
    else:
        values, places = ordered(moveaxis(input, at, -1), k, largest)
    return moveaxis(values, -1, at), moveaxis(places, -1, at)


@method()
def median(input: Tensor, axis: int = -1, keepdims: bool = False) -> tuple[Tensor, Tensor]:
    """(the lower median, its int64 place) along an axis; where an element is NaN, NaN and the first one's place."""
    if not input.ndim and axis in (0, -1):
        return input.value(), zeros_like(input, "int64")
    at = check_axis("median", axis, input.ndim)
    if not input.shape[at]:
        raise ArgumentValueError(f"median: axis {at} of {input.tensor_type} has no elements", loc=user_loc())
    x = moveaxis(input, at, -1)
    place = call("Argsort", comparable(x), count=(x.shape[-1] + 1) // 2, last=True)
    if x.tensor_type.is_float:
        first = expand_dims(argmax(x, -1), -1)
        place = select(isnan(elements_at(x, -1, first)), first, place)
    value, index = _taken(x, place)
    return (expand_dims(value, at), expand_dims(index, at)) if keepdims else (value, index)


def in_top_k(x1: Tensor, x2: Tensor, k: int | Tensor) -> Tensor:
    """bool: whether the element of each row at the given place is among the k largest. Not where the place is out of range, nor
    where the element is not finite (MindSpore: ops.intopk).
    """
    chosen = equal(arange(0, x1.shape[1], dtype=x2.dtype), expand_dims(x2, 1))
    target = reduce_sum(select(chosen, x1, 0), 1, True)
    there = reduce_any(logical_and(chosen, isfinite(x1)) if x1.tensor_type.is_float else chosen, 1)
    return logical_and(there, less(reduce_sum(cast_to(greater(x1, target), "int32"), 1), k))


@method()
def msort(input: Tensor) -> Tensor:
    """Axis 0 sorted."""
    return sort(input, 0)[0]


# ---- searching and sums


def searchsorted(
    sorted_sequence: Tensor,
    values: Tensor,
    *,
    out_int32: bool = False,
    right: bool = False,
    side: str | None = None,
    sorter: Tensor | None = None,
) -> Tensor:
    """How many elements along the last axis are less than each value (right: not greater)."""
    if sorter is not None:
        sorted_sequence = gather_elements(sorted_sequence, -1, sorter)
    dtype = promote("searchsorted", sorted_sequence.tensor_type.dtype, values.tensor_type.dtype)
    table, wanted = (comparable(cast_to(x, dtype)) for x in (sorted_sequence, values))
    if table.ndim == 1:
        table, wanted = expand_dims(table, 0), reshape(wanted, (1, -1))
    elif table.ndim != values.ndim:
        raise ShapeError(
            f"searchsorted: values is {values.tensor_type}, expected the axes of sorted_sequence, {sorted_sequence.tensor_type}",
            loc=user_loc(),
        )
    else:
        lead = broadcast_shapes("searchsorted", table.shape[:-1], wanted.shape[:-1])
        table, wanted = (broadcast_to(x, (*lead, x.shape[-1])) for x in (table, wanted))
    found = call("SearchSorted", table, wanted, right=right or side == "right")
    shape = values.shape if sorted_sequence.ndim == 1 else found.shape
    return cast(reshape(found, shape), "int32" if out_int32 else "int64")


def bucketize(input: Tensor, boundaries: Sequence[float], *, right: bool = False) -> Tensor:
    """How many boundaries are less than each element (right: not greater): int32."""
    real_only("bucketize", input)
    edges = Tensor(np.asarray(boundaries, np.float32))
    return searchsorted(edges, cast(input, "float32"), out_int32=True, right=right)


__all__ = [
    "argsort",
    "bucketize",
    "in_top_k",
    "median",
    "msort",
    "searchsorted",
    "sort",
    "topk",
]
