"""Slices whose bounds only the run tells: what they take of an axis is counted, as what a mask takes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

from graphc import dispatch
from graphc.errors import ArgumentTypeError, TraceError, user_loc
from graphc.ir.types import INTEGERS
from graphc.ops.declared.bounds import IndexRangeError
from graphc.ops.functional.core import cast_to, shape_of
from graphc.ops.functional.create import arange
from graphc.ops.functional.dynamic import places_of
from graphc.ops.functional.dynamic_sizes import first_places, is_certain, sized
from graphc.ops.functional.elementwise import add, equal, floor_mod, greater_equal, less, logical_and, maximum, sub
from graphc.ops.functional.logic import select
from graphc.ops.functional.shapes import reshape
from graphc.ops.tensor.deferred import Deferred, least_of, most_of
from graphc.ops.tensor.tensor import Tensor, as_tensor


def without_open(
    x: Tensor, items: Sequence[Any], rows: Callable[[Tensor, Tensor, int], Tensor]
) -> tuple[Tensor, list[Any]]:
    """x with what such slices take of it, and the index without them, and with tensors in place of sizes.

    rows: those of a tensor at places of an axis. Raises TraceError GC120 where nothing is counted, for steps, and for sizes
    that may be out of range.
    """
    made, axes = list(items), axes_of(x, items)
    for k, (item, axis) in enumerate(zip(items, axes, strict=True)):
        if isinstance(item, slice) and (_is_open_slice(item) or _skips(item, shape_of(x)[axis])):
            x, made[k] = rows(x, _places(x, axis, item), axis), slice(None)
        elif isinstance(item, Deferred):
            made[k] = _index(item, axis, x)
    return x, made


def _index(size: Deferred, axis: int, x: Tensor) -> Any:
    (low, high), extent = size.bounds, shape_of(x)[axis]
    if isinstance(extent, Deferred):
        if not isinstance(extent - size, Deferred) and extent - size == 1:
            return int(size)  # The last one.
        if not -int(extent) <= int(size) < int(extent):
            dispatch.refuse(IndexRangeError(f"index {size} is out of range for an axis of {extent}", loc=user_loc()))
        place = size.tensor()
        return place if low >= 0 else select(less(place, 0), add(place, extent.tensor()), place)
    if -extent <= low <= high < extent:
        return size.tensor()
    raise TraceError(
        f"the index is a number between {low} and {high}, which axis {axis} of {x.tensor_type} need not have",
        code="GC120",
        loc=user_loc(),
        help="keep it in range: x[max(n - 1, 0)]",
    )


def axes_of(x: Tensor, items: Sequence[Any]) -> list[int]:
    """For each item of an index the axis of x that it is about, the first of several for a mask."""
    spans = [_span(i) for i in items]
    left = x.ndim - sum(spans)
    made, axis = [], 0
    for item, span in zip(items, spans, strict=True):
        made.append(axis)
        axis += left if item is Ellipsis else span
    return made


def _span(item: Any) -> int:
    if item is None or item is Ellipsis or item is True:
        return 0
    return item.ndim if isinstance(item, Tensor) and item.tensor_type.dtype == "bool" else 1


def _is_open(bound: Any) -> bool:
    return isinstance(bound, Deferred) or (isinstance(bound, Tensor) and dispatch.known_array(bound) is None)


def _is_open_slice(item: slice) -> bool:
    return any(map(_is_open, (item.start, item.stop, item.step)))


def _skips(item: slice, size: int) -> bool:
    """Whether a slice takes every n-th of what is counted."""
    return isinstance(size, Deferred) and isinstance(item.step, int) and item.step > 1


def _places(x: Tensor, axis: int, item: slice) -> Tensor:
    """The places of an axis that a slice takes: int32, counted unless each turn of a loop takes as many."""
    step = 1 if item.step is None else item.step
    if _is_open(step) or not isinstance(step, int) or step < 1:
        raise TraceError(
            "a slice whose bounds only the run tells has a step that is known and positive",
            code="GC120",
            loc=user_loc(),
            help="turn the axis round: x[::-1][:k]",
        )
    span = getattr(item.start, "span_to", None)  # Of the number of a turn.
    apart = span(item.stop, shape_of(x)[axis]) if span is not None and step == 1 else None
    if apart is not None:
        return add(arange(apart, dtype="int32"), cast_to(item.start, "int32"))
    size, start, stop = shape_of(x)[axis], sized(item.start), sized(item.stop)
    given = _given_places(start, stop, size) if step == 1 else None
    if given is not None:
        return given
    from_first = (start is None or (type(start) is int and start == 0)) and is_certain(size)
    if step == 1 and from_first and isinstance(stop, Deferred) and stop.bounds[0] >= 0:
        stop = stop.at_most(size)
        return first_places(stop) if isinstance(stop, Deferred) else arange(stop, dtype="int32")
    at = arange(x.shape[axis], dtype="int32")
    first, last = (None if b is None else _from_first(b, size) for b in (start, stop))
    flags = [] if first is None else [greater_equal(at, first)]
    flags += [] if last is None else [less(at, last)]
    if step > 1:
        flags.append(equal(floor_mod(at if first is None else sub(at, maximum(first, 0)), step), 0))
    return places_of("a slice", reduce(logical_and, flags))


def _given_places(start: Any, stop: Any, size: int) -> Tensor | None:
    """The places from one bound to another where both are made of what the call brings, and in order: of its lengths those before
    as many are known. None otherwise.
    """
    bounds = [0 if start is None else start, size if stop is None else stop]
    if not all(isinstance(b, int) and (b.is_given if isinstance(b, Deferred) else True) for b in bounds):
        return None
    first, last = (b + size if most_of(b) < 0 else b for b in bounds)
    if not any(isinstance(b, Deferred) for b in (first, last)):
        return None
    count = last - first
    if least_of(first) < 0 or least_of(count) < 0 or not _fits(last, size):
        return None
    places = first_places(count) if isinstance(count, Deferred) else arange(count, dtype="int32")
    return places if type(first) is int and first == 0 else add(places, cast_to(as_tensor(_number(first)), "int32"))


def _fits(last: int, size: int) -> bool:
    """Whether a bound is no further than an axis goes: in every call, or, as each length is traced, in this one."""
    return most_of(last - size) <= 0 or (not isinstance(size, Deferred) and int(last) <= size)


def _number(x: int) -> Any:
    return x.tensor() if isinstance(x, Deferred) else x


def _from_first(bound: Any, size: int) -> Tensor:
    """A bound as a number from the first element on: int64[]."""
    place = _integer(bound)
    return select(less(place, 0), add(place, size), place)


def _integer(bound: Any) -> Tensor:
    place = as_tensor(bound)
    if place.tensor_type.dtype not in INTEGERS or place.size != 1:
        raise ArgumentTypeError(f"a bound of a slice is an integer, this one is {place.tensor_type}", loc=user_loc())
    return cast_to(reshape(place, ()), "int64")
