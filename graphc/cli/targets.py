"""What a command's argument names: a dump directory, a .ir or .json file, or FILE.py:ATTR, which is compiled."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from graphc.errors import ArgumentTypeError
from graphc.inspect.document import Record
from graphc.inspect.dump import load, load_passes, load_record
from graphc.ir import Graph
from graphc.scripts import TargetError, attribute, user_code


def is_source(target: str) -> bool:
    """Whether an argument has the form FILE.py:ATTR."""
    file, colon, attr = target.rpartition(":")
    return bool(colon) and file.endswith(".py") and bool(attr)


def graph_of(target: str) -> Graph:
    """The graph that an argument names. Raises TargetError, ParseError, and what compiling raises."""
    if is_source(target):
        graph: Graph = compiled(target).graph
        return graph
    _refuse_python(target)
    return load(target)


def record_of(target: str) -> Record:
    """The record of the step that an argument names; of a graph alone where there is no step. Raises as `graph_of`."""
    if is_source(target):
        made: Record = compiled(target).record()
        return made
    _refuse_python(target)
    return load_record(target)


def passes_of(target: str) -> list[tuple[str, Graph | None]]:
    """(name, graph after it) of each pass; None where a pass of a dump changed nothing."""
    if is_source(target):
        return list(compiled(target).passes)
    _refuse_python(target)
    if not Path(target).is_dir():
        raise TargetError(f"{target!r} is no dump directory", help="passes are read from a dump, or from FILE.py:ATTR")
    return load_passes(target)


def _refuse_python(target: str) -> None:
    if target.endswith(".py"):
        raise TargetError(
            f"{target!r} does not say what to compile", help=f"name a function of the file, for example {target}:build"
        )


def compiled(target: str) -> Any:
    """The CompiledStep that FILE.py:ATTR names: ATTR itself, what it returns, or what compiling the (cell, inputs) it
    returns gives.

    Raises TargetError if the file or attribute does not exist or the user's code fails, and what graphc.compile raises.
    """
    return compiled_with_inputs(target)[0]


def compiled_with_inputs(target: str) -> tuple[Any, Sequence[Any] | None]:
    """The CompiledStep that FILE.py:ATTR names, and the inputs that go with it; None where ATTR is, or returns, the step
    itself. Raises what `compiled` raises.
    """
    file, _, attr = target.rpartition(":")
    found = attribute(file, attr)
    if not _is_step(found) and callable(found):
        with user_code(f"{target} failed"):
            found = found()
    if _is_step(found):
        return found, None
    cell, inputs = _cell_and_inputs(target, found)
    from graphc.api import compile

    return compile(cell, *inputs), inputs


def _is_step(value: object) -> bool:
    from graphc.api import CompiledStep

    return isinstance(value, CompiledStep)


def _cell_and_inputs(target: str, found: object) -> tuple[Any, Sequence[Any]]:
    from graphc.nn.cell.cell import Cell

    if isinstance(found, tuple) and len(found) == 2 and isinstance(found[0], Cell):
        inputs = found[1]
        return found[0], inputs if isinstance(inputs, (tuple, list)) else (inputs,)
    what = f"a tuple of {len(found)}" if isinstance(found, tuple) else type(found).__name__
    raise ArgumentTypeError(
        f"{target} gives {what}; it must give (cell, inputs) or a compiled step",
        help="write a function without arguments that returns (cell, inputs), inputs being a tuple of Tensors",
    )
