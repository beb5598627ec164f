"""Items of what converted code puts in brackets."""

from __future__ import annotations

import contextlib
from typing import Any

from graphc.errors import TraceError
from graphc.ops.functional.traced_numbers import as_number
from graphc.trace.conversion.truth import active_recorder, is_traced
from graphc.trace.flow.dynamic_lists import Listed


def item_at(items: Any, place: Any) -> Any:
    """`items[place]`: at a number that only the run tells of a list or tuple, too, where all items are alike. The run raises an
    IndexError where there is no such place.
    """
    if (
        type(items) in (list, tuple)
        and items
        and is_traced(place)
        and place.shape == ()
        and "int" in place.tensor_type.dtype
    ):
        with contextlib.suppress(TraceError):
            made = Listed.of(items)[as_number(place, "int64")]
            active_recorder().root.raised.append(IndexError("list index out of range"))  # Which no handler is run for.
            return made
    return items[place]
