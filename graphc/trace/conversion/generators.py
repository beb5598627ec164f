"""Generators and coroutines: functions that stop on their way. Python runs those that construct calls; it is none itself."""

from __future__ import annotations

import inspect
from typing import Any

from graphc.errors import Loc, TraceError
from graphc.errors.source_lines import display_path
from graphc.nn.cell.cell import Cell


def is_suspended(function: Any) -> bool:
    """Whether calling a function gives a generator or coroutine. Python runs it as it is."""
    code = getattr(function, "__code__", None)
    return code is not None and bool(code.co_flags & _SUSPENDED)


_SUSPENDED = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR


def refuse_suspended(cell: Cell) -> None:
    """TraceError GC124 for a construct that is a generator or coroutine: a step gives its results when it ends."""
    function = getattr(cell.construct, "__func__", cell.construct)
    if is_suspended(function):
        code = function.__code__
        kind = (
            "async"
            if code.co_flags & (inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR)
            else "a generator: it has `yield`"
        )
        raise TraceError(
            f"{type(cell).__name__}.construct is {kind}",
            code="GC124",
            loc=Loc(display_path(code.co_filename), code.co_firstlineno, code.co_qualname),
            help="collect the results and return them",
        )
