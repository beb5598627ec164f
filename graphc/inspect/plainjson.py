"""JSON as graphc writes it: safe wherever it is put."""

from __future__ import annotations

import json
from typing import Any


def dumps(data: Any) -> str:
    """Compact JSON that is plain ASCII and safe inside an HTML page: a `<` in a user's name cannot close a script element.

    Each key at the top of an object has a line of its own.
    """
    if isinstance(data, dict) and data:
        return "{\n" + ",\n".join(f"{_compact(str(k))}:{_compact(v)}" for k, v in data.items()) + "\n}\n"
    return _compact(data) + "\n"


def _compact(data: Any) -> str:
    text = json.dumps(data, separators=(",", ":"), default=_number, allow_nan=False)
    return text.replace("<", "\\u003c")


def _number(value: object) -> Any:
    item = getattr(value, "item", None)  # NumPy's scalars.
    if item is None:
        raise TypeError(f"{type(value).__name__} cannot be written as JSON")
    return item()
