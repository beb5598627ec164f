"""Conditions on values that an op needs: raised at once, or at the end of a compiled step's run."""

from __future__ import annotations

from typing import Any

from graphc import dispatch
from graphc.errors import ArgumentValueError, TraceError, user_loc
from graphc.ops.functional.control import choose
from graphc.ops.functional.core import IndexRangeError, shape_of
from graphc.ops.functional.elementwise import greater_equal, less, logical_and, neg
from graphc.ops.functional.printing import raise_later
from graphc.ops.tensor.deferred import Deferred
from graphc.ops.tensor.tensor import Tensor


def require(holds: Tensor, error: Exception | str) -> None:
    """Raise unless a bool tensor without axes holds: at once, or where a compiled step comes to this place, at its end.

    error: what is raised, or the message of an ArgumentValueError.
    """
    error = ArgumentValueError(error, loc=user_loc()) if isinstance(error, str) else error
    if dispatch.recorder.get() is None or holds.array is not None:
        if not bool(holds):
            raise error
        return
    choose(holds, lambda: None, lambda: raise_later(error))


def require_place(index: Any, x: Tensor, axis: int) -> None:
    """IndexRangeError where a number that only the run tells is no place of an axis of x: zeros would be taken there.

    Raised at the end of a run that comes to such a place; of the number of a turn as soon as it is known. Not looked for in a
    turn of a Scan, which could grow no list then.
    """
    if not isinstance(index, Tensor) or not index.is_number or index.array is not None or axis >= x.ndim:
        return
    size = shape_of(x)[axis]
    of_turn = getattr(index, "require_place", None)
    if of_turn is not None:
        of_turn(size)
        return
    active = dispatch.recorder.get()
    if active is not None and active.in_scan:
        return
    end = size.tensor() if isinstance(size, Deferred) else size
    error = IndexRangeError(f"an index is out of range for axis {axis}", loc=user_loc())
    require(logical_and(less(index, end), greater_equal(index, neg(end))), error)


def outside_steps(name: str, why: str) -> None:
    """TraceError GC120 in a compiled Cell."""
    active = dispatch.recorder.get()
    if active is not None and not getattr(active, "immediate", False):
        raise TraceError(
            f"{name} cannot be compiled: {why}",
            code="GC120",
            loc=user_loc(),
            help="call it outside the compiled Cell, and give the Cell what it returns",
        )
