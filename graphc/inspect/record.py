"""The step record: plain data about one compiled step. The same in memory, in `graph.json` of a dump and behind `--json`.

`record(step)` makes it, `load_record(path)` reads it back; neither needs Numba. docs/debugging.md says what it is for.
"""

from __future__ import annotations

from typing import Any

from graphc.errors import ArgumentTypeError
from graphc.inspect.document import (
    SCHEMA,
    VERSION,
    BufferRow,
    CallRow,
    CallTime,
    CellRow,
    GraphRow,
    Line,
    Machine,
    Memory,
    NodeRow,
    PassRow,
    Profile,
    Record,
    Rewrite,
    schema,
)
from graphc.inspect.dump import load_record

__all__ = [
    "SCHEMA", "VERSION", "BufferRow", "CallRow", "CallTime", "CellRow", "GraphRow", "Line", "Machine", "Memory", "NodeRow",
    "PassRow", "Profile", "Record", "Rewrite", "load_record", "record", "schema",
]  # fmt: skip


def record(step: Any) -> Record:
    """The record of a compiled step, as `step.record()` gives it. Raises ArgumentTypeError for anything else."""
    make = getattr(step, "record", None)
    if make is None:
        raise ArgumentTypeError(f"record needs a compiled step, got {type(step).__name__}")
    made: Record = make()
    return made
