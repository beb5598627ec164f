"""Conditions on values that an op needs: raised at once, or at the end of a compiled step's run."""

from __future__ import annotations

from graphc import dispatch
from graphc.errors import ArgumentValueError, TraceError, user_loc
from graphc.ops.functional.control import choose
from graphc.ops.functional.printing import raise_later
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
