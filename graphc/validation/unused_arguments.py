"""Arguments that MindSpore takes and graphc has no use for: those with one meaning here, and those that say how, not what."""

from __future__ import annotations

import logging
from contextvars import ContextVar
from typing import Any

from graphc.errors import ArgumentValueError, GraphcError, Loc, TraceError, user_loc

_logger = logging.getLogger("graphc")
_said: set[tuple[str, str]] = set()
#: Whether what would be done once is refused: Python takes over then (graphc.steps.python_fallback).
refuses_once: ContextVar[bool] = ContextVar("refuses_once", default=False)


def only(owner: str, name: str, value: Any, *wanted: Any) -> None:
    """Refuse an argument (ArgumentValueError GC112) unless its value is one of those that mean something here."""
    if not any(value is w or (type(value) is type(w) and value == w) for w in wanted):
        raise refusal(owner, name, value, *wanted)


def refusal(owner: str, name: str, value: Any, *wanted: Any) -> ArgumentValueError:
    """The error GC112: MindSpore gives the value a meaning that graphc has not."""
    return ArgumentValueError(
        f"{owner}: {name}={value!r} is not supported, only {' or '.join(map(repr, wanted))}",
        code="GC112",
        loc=user_loc(),
    )


def once(message: str, *, loc: Loc | None, help: str) -> None:
    """Say by the logger "graphc" what of a line is done once, when a Cell is compiled (GC134); once per line. TraceError where
    Python can take over.
    """
    if refuses_once.get():
        raise TraceError(message, code="GC134", loc=loc, help=help)
    key = (str(loc), message)
    if key not in _said:
        _said.add(key)
        _logger.warning("%s", GraphcError(message, code="GC134", loc=loc, help=help))


def no_effect(owner: str, name: str, why: str) -> None:
    """Say once per process, by the logger "graphc", that something given has no effect."""
    if (owner, name) not in _said:
        _said.add((owner, name))
        _logger.warning("%s: %s has no effect: %s", owner, name, why)
