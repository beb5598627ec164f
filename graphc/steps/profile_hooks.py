"""When steps and Cells run: a profiler that records it is told of every run. Who is not asked pays a look at a list."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from graphc.steps.compiled_step import CompiledStep


@dataclass(frozen=True, slots=True)
class Ran:
    """What has run.

    kind     "step" of a compiled step, "op by op" of a Cell in PYNATIVE_MODE, "compile" where a step was made
    name     of the graph or the Cell
    began    nanoseconds of the clock `perf_counter_ns`
    ended    the same
    thread   number of the thread
    step     the compiled step, if it was one
    arrays   what it was given
    count    how many steps it made
    """

    kind: str
    name: str
    began: int
    ended: int
    thread: int
    step: CompiledStep | None = None
    arrays: Sequence[Any] = ()
    count: int = 1


#: Who wants to know.
listeners: list[Callable[[Ran], None]] = []


def now() -> int:
    """Nanoseconds of the clock if anybody wants to know, else 0."""
    return perf_counter_ns() if listeners else 0


def tell(
    kind: str, name: str, began: int, step: CompiledStep | None = None, arrays: Sequence[Any] = (), count: int = 1
) -> None:
    """Say that something has run since `began`."""
    ran = Ran(kind, name, began, perf_counter_ns(), threading.get_ident(), step, arrays, count)
    for listener in list(listeners):
        listener(ran)
