"""Branches that raise: which way a tensor takes is known when the step runs, and the exception is raised then."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from graphc.errors import TraceError, user_loc
from graphc.errors.source_lines import source_line
from graphc.ops.functional.printing import raise_later
from graphc.ops.tensor.tensor import Tensor
from graphc.ops.tensor.tree import flatten, unflatten
from graphc.trace.conversion.truth import active_recorder
from graphc.trace.recorder import GraphRecorder
from graphc.tracebacks import place

#: What a branch that raises leaves in place of its symbols.
_RAISED = "raised"
#: Is in the namespace of an exception that has left a part of the program that need not be run.
_ONE_WAY = "graphc_one_way"


def caught(part: Callable[[], Any], recorder: GraphRecorder) -> Callable[[], Any]:
    """A part of a conditional; where it ends with a `raise` statement of the user's, that is recorded.

    TraceError GC124 inside a loop over tensors, which would go on.
    """

    def run() -> Any:
        try:
            return part()
        except Exception as error:
            if not error.__dict__.get("graphc_asked_for"):
                raise
            if _loops(recorder):
                raise TraceError(
                    f"{type(error).__name__} is raised inside a `while` over tensors",
                    code="GC124",
                    loc=user_loc(),
                    help="leave the loop with `break`, and raise behind it",
                ) from error
            loc = place(error.__traceback__)
            if loc is not None:  # Where it is raised again, the user's code has long ended.
                error.add_note(f"raised at {loc}  {source_line(loc.file, loc.line).strip()}")
            recorder.root.raised.append(error)
            raise_later(error)
            return _RAISED

    return run


@contextmanager
def one_way() -> Iterator[None]:
    """Around a part of the program of which only the run tells whether it is run, and how often: notes what is raised there."""
    try:
        yield
    except Exception as error:
        error.__dict__[_ONE_WAY] = weakref.ref(active_recorder().root)
        raise


def is_one_way(error: BaseException) -> bool:
    """Whether an exception was raised, in this trace, where only the run tells whether the program comes there."""
    trace = error.__dict__.get(_ONE_WAY)
    return trace is not None and trace() is active_recorder().root


def _loops(recorder: GraphRecorder) -> bool:
    around: GraphRecorder | None = recorder
    while around is not None:
        if around.graph.name == "body":
            return True
        around = around.parent
    return False


def settled(states: Sequence[Any], entry: tuple[Any, ...]) -> list[tuple[Any, ...]]:
    """The symbols after both branches: where one raises, what nobody sees stands in for its own."""
    if all(s is _RAISED for s in states):
        return [entry, entry]
    return [_stand_ins(states[1 - i], entry) if s is _RAISED else s for i, s in enumerate(states)]


def _stand_ins(given: tuple[Any, ...], entry: tuple[Any, ...]) -> tuple[Any, ...]:
    """Values of the kinds of the other branch's: what it has left alone, else zeros."""
    before = [*entry, *[None] * len(given)]
    return tuple(value if value is before[i] else zeros_of(value) for i, value in enumerate(given))


def zeros_of(value: Any) -> Any:
    """Zeros in the structure of a value."""
    leaves, structure = flatten(value)
    zeros = [Tensor.wrap(np.zeros(x.shape, x.tensor_type.numpy)) for x in leaves]
    for zero, x in zip(zeros, leaves, strict=True):
        zero.is_number = x.is_number
    return unflatten(structure, zeros)
