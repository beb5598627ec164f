"""Sizes that only the run tells as sizes of axes: where no axis has such a size yet, places are counted for it."""

from __future__ import annotations

from typing import Any

from graphc import dispatch
from graphc.errors import TraceError, user_loc
from graphc.ops.functional.core import shape_of
from graphc.ops.tensor.deferred import Deferred
from graphc.ops.tensor.tensor import Tensor


def first_places(size: Deferred) -> Tensor:
    """The places before a number that is not negative: int32. Those before the same number are the same."""
    active: Any = dispatch.recorder.get()
    places: Tensor = active.places_before(size)
    return places


def is_certain(size: int) -> bool:
    """Whether a size is that of every call, or one that the run tells."""
    active: Any = dispatch.recorder.get()
    return isinstance(size, Deferred) or bool(active.has_fixed_sizes)


def with_rooms(shape: Any) -> Any:
    """A shape, or a size, of which every size is one that an axis can have. TraceError GC120 for one that may be negative."""
    if isinstance(shape, (tuple, list)):
        return type(shape)(map(with_rooms, shape)) if type(shape) in (tuple, list) else tuple(map(with_rooms, shape))
    size = sized(shape)
    if not isinstance(size, Deferred):
        return size
    if size.is_room:
        active: Any = dispatch.recorder.get()
        active.note_room(size)
        return size
    low, high = size.bounds
    if low < 0:
        raise TraceError(
            f"the size of an axis is a number between {low} and {high}, which only the run tells",
            code="GC120",
            loc=user_loc(),
            help="keep it from being negative: max(n, 0)",
        )
    return shape_of(first_places(size))[0]


def sized(x: Any) -> Any:
    """The same; of a tensor that says how many elements of a mask are true, the size that is counted; of one that is made of
    constants the number.
    """
    if not isinstance(x, Tensor) or x.array is not None or x.shape or x.tensor_type.dtype not in ("int32", "int64"):
        return x
    known = dispatch.known_array(x)
    if known is not None:
        return known.item()
    active: Any = dispatch.recorder.get()
    found = None if active is None or active.immediate else active.size_of(x)
    return x if found is None else found
