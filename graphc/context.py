"""MindSpore's set_context, as far as it has a meaning here: compile Cells (GRAPH_MODE) or run them op by op (PYNATIVE_MODE)."""

from __future__ import annotations

from typing import Any

from graphc.errors import ArgumentValueError, user_loc

GRAPH_MODE = 0
PYNATIVE_MODE = 1

_context: dict[str, Any] = {"mode": GRAPH_MODE, "device_target": "CPU"}


def set_context(**settings: Any) -> None:
    """Set `mode` (GRAPH_MODE or PYNATIVE_MODE) and `device_target` ("CPU"). ArgumentValueError for anything else."""
    allowed = {"mode": (GRAPH_MODE, PYNATIVE_MODE), "device_target": ("CPU",)}
    for name, value in settings.items():
        if name not in allowed:
            raise ArgumentValueError(
                f"set_context has no setting {name!r}; it has {', '.join(allowed)}", loc=user_loc()
            )
        if value not in allowed[name]:
            wanted = " or ".join(map(repr, allowed[name]))
            raise ArgumentValueError(f"set_context: {name}={value!r} is not available, only {wanted}", loc=user_loc())
    _context.update(settings)


def get_context(name: str) -> Any:
    """The value of a setting; ArgumentValueError if there is none of that name."""
    if name not in _context:
        raise ArgumentValueError(f"there is no setting {name!r}; there are {', '.join(_context)}", loc=user_loc())
    return _context[name]
