"""Printing, from Python and from a compiled step."""

from __future__ import annotations

import sys
from typing import Any
from weakref import WeakKeyDictionary

from graphc.errors import ArgumentTypeError, user_loc
from graphc.ir.types import HALVES
from graphc.ops import dispatch
from graphc.ops.functional.core import call, cast_to
from graphc.ops.functional.shape import concat, getitem
from graphc.ops.printing import Logged, Part, PrintLog, corner_axes, tensor_text
from graphc.ops.tensor import Tensor

#: The log of each step that is being traced.
_logs: WeakKeyDictionary[Any, PrintLog] = WeakKeyDictionary()


def print_(*input_x: Any) -> None:
    """Print texts, numbers, tensors and nests of them, one per line, at every run (MindSpore: ops.print_).

    In a compiled step tensors are recorded where the call stands, in order with other prints, in branches and loops too, and
    printed when the step has run. Raises ArgumentTypeError for what is none of these.
    """
    active: Any = dispatch.recorder.get()
    if active is None or getattr(active, "immediate", False):
        sys.stdout.write("\n".join(_text(x) for x in input_x) + "\n")
        sys.stdout.flush()
        return
    parts: list[Part] = []
    tensors: list[Tensor] = []
    for x in input_x:
        _record(x, parts, tensors)
    _append(active, parts, tensors)


def raise_later(error: Exception) -> None:
    """While a step is traced: raise an exception at the end of every run that comes to this place."""
    _append(dispatch.recorder.get(), [error], [])


def _append(active: Any, parts: list[Part], tensors: list[Tensor]) -> None:
    """Log an entry."""
    log = _logs.get(active.root)
    if log is None:
        log = _logs[active.root] = PrintLog()
    active.assign(log, call("AppendLog", log, *tensors, site=log.add(parts)))


def _text(x: Any) -> str:
    if isinstance(x, Tensor):
        return tensor_text(dispatch.require_array(x))
    if isinstance(x, (tuple, list)):
        inside = ", ".join(_text(i) for i in x)
        return f"[{inside}]" if isinstance(x, list) else f"({inside}{',' if len(x) == 1 else ''})"
    _check(x)
    return str(x)


def _check(x: Any) -> None:
    if x is not None and not isinstance(x, (str, bool, int, float, dict)):
        raise ArgumentTypeError(
            f"print_ takes texts, numbers, tensors and tuples, got {type(x).__name__}", loc=user_loc()
        )


def _record(x: Any, parts: list[Part], tensors: list[Tensor]) -> None:
    if isinstance(x, Tensor):
        shown = x
        for axis in corner_axes(x.shape):
            before = (slice(None),) * axis
            shown = concat((getitem(shown, (*before, slice(3))), getitem(shown, (*before, slice(-3, None)))), axis)
        shown = cast_to(shown, "float32") if shown.type.dtype in HALVES else shown
        parts.append(Logged(x.type, shown.type))
        tensors.append(shown)
    elif isinstance(x, (tuple, list)) and any(isinstance(i, (Tensor, tuple, list)) for i in x):
        for item in x:
            _record(item, parts, tensors)
    else:
        if not isinstance(x, (tuple, list)):
            _check(x)
        parts.append(str(int(x)) if isinstance(x, bool) else str(x))


__all__ = ["print_"]
