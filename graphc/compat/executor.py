"""`mindspore.common.api`: compiling a cell without running it, as MindSpore's own tests do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from graphc.nn.cell.cell import Cell
from graphc.steps.compile import compile
from graphc.steps.compiled_step import CompiledStep


class _CellGraphExecutor:
    """Compiles cells and keeps the steps by phase."""

    def __init__(self) -> None:
        self.compiled: dict[str, CompiledStep] = {}

    def compile(self, obj: Cell, *args: Any, phase: str = "predict", **options: Any) -> tuple[str, bool]:
        """Compile a cell for these inputs; returns (phase, True). Further options of MindSpore's have no meaning here."""
        name = f"{phase}.{id(obj)}"
        self.compiled[name] = compile(obj, *args)
        return name, True

    def __call__(self, obj: Cell, *args: Any, phase: str = "predict") -> Any:
        """Run a cell."""
        return obj(*args)


_cell_graph_executor = _CellGraphExecutor()
_executor = _cell_graph_executor


class _PyNativeExecutor:
    """Nothing waits: every op has run when its call returns."""

    def sync(self) -> None:
        """Return at once."""

    def set_grad_flag(self, flag: bool) -> None:
        """Accepted: graphc differentiates whatever is asked for."""


_pynative_executor = _PyNativeExecutor()


def _no_recursive(function: Callable[..., Any]) -> Callable[..., Any]:
    """MindSpore's mark for functions that do not call themselves."""
    return function


def _function_forbid_reuse(function: Callable[..., Any]) -> Callable[..., Any]:
    """MindSpore's mark for functions whose graphs are made anew for each call of them, as all are here."""
    return function


__all__: list[str] = []  # What it has is private.
