"""Slices whose bounds only the run tells: what they take of an axis is counted, as what a mask takes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from graphc.errors import ArgumentTypeError, TraceError, user_loc
from graphc.ir.types import INTEGERS
from graphc.ops.functional.core import cast_to, shape_of
from graphc.ops.functional.create import arange
from graphc.ops.functional.dynamic import places_of
from graphc.ops.functional.elementwise import add, greater_equal, less, logical_and
from graphc.ops.functional.logic import select
from graphc.ops.functional.shapes import reshape
from graphc.ops.tensor.deferred import Deferred
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
        if isinstance(item, slice) and any(map(_is_open, (item.start, item.stop, item.step))):
            x, made[k] = rows(x, _places(x, axis, item), axis), slice(None)
        elif isinstance(item, Deferred) and not isinstance(shape_of(x)[axis], Deferred):
            made[k] = _index(item, axis, x)
    return x, made


def _index(size: Deferred, axis: int, x: Tensor) -> Tensor:
    (low, high), extent = size.bounds, x.shape[axis]
    if -extent <= low <= high < extent:
        return size.tensor()
    raise TraceError(
        f"the index is a number between {low} and {high}, which axis {axis} of {x.tensor_type} need not have",
        code="GC120",
        loc=user_loc(),
        help="keep it in range: x[max(n - 1, 0)]; or take rows with ops.gather, which gives zeros for those out of range",
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
    return isinstance(bound, Deferred) or (isinstance(bound, Tensor) and bound.array is None)


def _places(x: Tensor, axis: int, item: slice) -> Tensor:
    """The places of an axis that a slice takes: int32, counted."""
    if item.step is not None and (_is_open(item.step) or item.step != 1):
        raise TraceError(
            "a slice whose bounds only the run tells has a step of 1",
            code="GC120",
            loc=user_loc(),
            help="take every n-th element first: x[::n][:k]",
        )
    at, size, flags = arange(x.shape[axis], dtype="int32"), shape_of(x)[axis], []
    for bound, compare in ((item.start, greater_equal), (item.stop, less)):
        if bound is not None:
            place = _integer(bound)
            flags.append(compare(at, select(less(place, 0), add(place, size), place)))
    return places_of("a slice", flags[0] if len(flags) == 1 else logical_and(*flags))


def _integer(bound: Any) -> Tensor:
    place = as_tensor(bound)
    if place.tensor_type.dtype not in INTEGERS or place.size != 1:
        raise ArgumentTypeError(f"a bound of a slice is an integer, this one is {place.tensor_type}", loc=user_loc())
    return cast_to(reshape(place, ()), "int64")
