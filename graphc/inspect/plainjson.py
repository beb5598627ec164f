"""Data as JSON text that is safe wherever it is put."""

from __future__ import annotations

import json
from typing import Any


def dumps(data: Any) -> str:
    """JSON that is plain ASCII and safe inside an HTML page: a `<` in a user's name cannot close a script element."""
    return json.dumps(data, indent=1, default=_number, allow_nan=False).replace("<", "\\u003c") + "\n"


def _number(value: object) -> Any:
    item = getattr(value, "item", None)  # NumPy's scalars.
    if item is None:
        raise TypeError(f"{type(value).__name__} cannot be written as JSON")
    return item()
