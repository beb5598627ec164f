"""What a command's argument names: a dump directory, a .ir or .json file, FILE.py:ATTR, which is compiled, or a script FILE.py,
which is run and whose compiled steps are looked at.
"""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from graphc.errors import ArgumentTypeError
from graphc.inspect.listing import Listing, read_listing
from graphc.inspect.saved import saved_listing, saved_passes, saved_record
from graphc.scripts import TargetError, attribute, user_code

if TYPE_CHECKING:
    from graphc.inspect.document import Record
    from graphc.ir import Graph
    from graphc.steps.compiled_step import CompiledStep
    from graphc.steps.inputs import Array


def is_source(target: str) -> bool:
    """Whether an argument has the form FILE.py:ATTR."""
    file, colon, attr = target.rpartition(":")
    return bool(colon) and file.endswith(".py") and bool(attr)


@dataclass(frozen=True)
class Target:
    """What was named: a `step`, compiled just now, or else a file or dump at `path`. `inputs` are those the step came with."""

    name: str
    step: CompiledStep | None = None
    path: str = ""
    inputs: tuple[Any, ...] | None = None
    arrays: tuple[Array, ...] | None = None

    def listing(self) -> Listing:
        """Its graph to look at. Raises ArgumentValueError, ParseError."""
        if self.step is None:
            return saved_listing(self.path)
        return read_listing(str(self.step.graph))

    def graph(self) -> Graph:
        """Its graph, as the compiler has it. Raises ArgumentValueError, ParseError."""
        if self.step is not None:
            return self.step.graph
        from graphc.inspect.dump import load  # What is on disk is read without the compiler.

        return load(self.path)

    def record(self) -> Record:
        """All that is known of it. Raises ArgumentValueError, ParseError."""
        if self.step is not None:
            return self.step.record()
        found = saved_record(self.path)
        if found is None:
            from graphc.inspect.dump import load_record  # What is on disk is read without the compiler.

            found = load_record(self.path)
        return found

    def passes(self) -> list[tuple[str, Listing | None]]:
        """(name, graph after it) of each pass; None where a pass of a dump changed nothing."""
        if self.step is not None:
            return [(name, read_listing(str(graph))) for name, graph in self.step.passes]
        if not Path(self.path).is_dir():
            raise TargetError(
                f"{self.path!r} is no dump directory", help="passes are read from a dump, or from FILE.py:ATTR"
            )
        return [(name, None if text is None else read_listing(text)) for name, text in saved_passes(self.path)]


def targets(name: str, args: Namespace, *, inputs: bool = False) -> list[Target]:
    """What an argument names; several steps only where a script compiles several and none is chosen with --step.

    With `inputs` a script is run until it runs the step. Raises TargetError, and what compiling raises.
    """
    mindspore, as_script = getattr(args, "mindspore", False), getattr(args, "script", False)
    if name.endswith(".py") and (mindspore or as_script):
        return _of_script(name, args, inputs)
    if mindspore:
        from graphc import compat  # What is on disk is read without the compiler.

        compat.install()
    if is_source(name):
        with redirect_stdout(sys.stderr):  # What the user's file prints is none of the command's output.
            step, given = compiled(name)
        return [Target(name, step, inputs=given)]
    if name.endswith(".py"):
        raise TargetError(
            f"{name!r} does not say what to compile",
            help=f"name a function of the file, for example {name}:build, or --script to run it and look at its steps",
        )
    return [Target(name, path=name)]


def target(name: str, args: Namespace, *, inputs: bool = False) -> Target:
    """The one step or graph that an argument names: of a script's steps the first that trains, or the last."""
    found = targets(name, args, inputs=inputs)
    if len(found) == 1:
        return found[0]
    from graphc.cli.script_runs import trains  # What is on disk is read without the compiler.

    return next((t for t in found if t.step is not None and trains(t.step)), found[-1])


def _of_script(name: str, args: Namespace, inputs: bool) -> list[Target]:
    from graphc.cli.script_runs import run_script  # What is on disk is read without the compiler.

    number = getattr(args, "step", None)
    seen = run_script(
        name,
        getattr(args, "args", None) or (),
        mindspore=args.mindspore,
        wanted=number,
        to_end=getattr(args, "to_end", False),
        inputs=inputs,
    )
    count = len(seen.steps)
    if number is not None and number > count:
        raise TargetError(f"{name} compiled {count} step{'' if count == 1 else 's'}, there is no step {number}")
    arrays = None if seen.inputs is None else tuple(seen.inputs)
    made = [
        Target(f"{name} step {k} of {count}", step, arrays=arrays if k == count else None)
        for k, step in enumerate(seen.steps, 1)
    ]
    return made if number is None else [made[number - 1]]


def compiled(target: str) -> tuple[CompiledStep, tuple[Any, ...] | None]:
    """The CompiledStep that FILE.py:ATTR names: ATTR itself, what it returns, or what compiling the (cell, inputs) it
    returns gives; and the inputs, if it gives any.

    Raises TargetError if the file or attribute does not exist or the user's code fails, and what graphc.compile raises.
    """
    file, _, attr = target.rpartition(":")
    found = attribute(file, attr)
    # Only a FILE.py:ATTR is compiled.
    from graphc.steps.compile import compile
    from graphc.steps.compiled_step import CompiledStep

    if not isinstance(found, CompiledStep) and callable(found):
        with user_code(f"{target} failed"):
            found = found()
    if isinstance(found, CompiledStep):
        return found, None
    cell, inputs = _cell_and_inputs(target, found)
    return compile(cell, *inputs), tuple(inputs)


def _cell_and_inputs(target: str, found: object) -> tuple[Any, Sequence[Any]]:
    from graphc.nn.cell.cell import Cell  # Only a FILE.py:ATTR has Cells.

    if isinstance(found, tuple) and len(found) == 2 and isinstance(found[0], Cell):
        inputs = found[1]
        return found[0], inputs if isinstance(inputs, (tuple, list)) else (inputs,)
    what = f"a tuple of {len(found)}" if isinstance(found, tuple) else type(found).__name__
    raise ArgumentTypeError(
        f"{target} gives {what}; it must give (cell, inputs) or a compiled step",
        help="write a function without arguments that returns (cell, inputs), inputs being a tuple of Tensors",
    )
