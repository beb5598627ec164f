"""Dumps of compiled steps: where somebody says so, or of every step as switches and settings ask for it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from graphc import context
from graphc.debug import switches
from graphc.errors import ArgumentValueError
from graphc.inspect.document import Record
from graphc.inspect.dump import EVERYTHING, LEVELS, write_dump
from graphc.ir import Graph

#: How many steps this process has dumped by itself, by directory.
_dumped: dict[Path, int] = {}


class Step(Protocol):
    """What is written of a step: `graphc.steps.compiled_step.CompiledStep`."""

    @property
    def graph(self) -> Graph: ...
    @property
    def passes(self) -> Sequence[tuple[str, Graph]]: ...
    @property
    def rewrites(self) -> Sequence[tuple[str, str]]: ...
    @property
    def source(self) -> str: ...
    @property
    def kernels(self) -> str: ...
    @property
    def memory(self) -> dict[str, int]: ...
    def record(self) -> Record: ...


def dump(step: Step, directory: Path, level: int = EVERYTHING) -> list[Path]:
    """Write a step into a directory; see `graphc.inspect.dump.write_dump`."""
    return write_dump(
        directory,
        graph=step.graph,
        passes=step.passes,
        source=step.source,
        kernels=step.kernels,
        memory=step.memory,
        rewrites=step.rewrites,
        record=step.record(),
        level=level,
    )


def dump_as_asked(step: Step) -> None:
    """Write a step as GRAPHC_DUMP, MS_DEV_SAVE_GRAPHS and set_context(save_graphs=) ask for it.

    GRAPHC_DUMP: the first step of the process into the directory, the second into one beside it, `dir.2`. The others: each step
    into a folder of its own, `00_TrainOneStepCell`. Files of an earlier process are replaced. Raises ArgumentValueError for a
    level of MS_DEV_SAVE_GRAPHS that there is not.
    """
    on = switches()
    if on.dump is not None:
        number = _next(on.dump)
        dump(step, on.dump if number == 0 else on.dump.with_name(f"{on.dump.name}.{number + 1}"))
    level = int(context.get_context("save_graphs") if on.save_graphs is None else on.save_graphs)
    if level not in LEVELS:
        raise ArgumentValueError(f"MS_DEV_SAVE_GRAPHS must be one of {', '.join(map(str, LEVELS))}, got {level}")
    if level:
        root = on.save_graphs_path or Path(context.get_context("save_graphs_path"))
        name = re.sub(r"[^\w-]+", "-", step.graph.name, flags=re.ASCII)[:60]
        dump(step, root / f"{_next(root):02}_{name}", level)


def _next(directory: Path) -> int:
    """How many steps have been written there before."""
    key = directory.absolute()
    _dumped[key] = _dumped.get(key, -1) + 1
    return _dumped[key]
