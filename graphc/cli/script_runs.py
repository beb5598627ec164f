"""A user's script run as it is, to look at the steps that it compiles."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Any

from graphc.scripts import TargetError, run_main, user_code

if TYPE_CHECKING:
    from graphc.steps.compiled_step import CompiledStep
    from graphc.steps.inputs import Array


class _Enough(BaseException):
    """Ends a script: what was to be seen has been seen. No exception that a script would catch."""


class Seen:
    """The steps that a script compiles, in order, and the inputs of the run that it was ended at."""

    def __init__(self, wanted: int | None, *, to_end: bool, inputs: bool) -> None:
        self.steps: list[CompiledStep] = []
        self.inputs: list[Array] | None = None
        self._wanted, self._to_end, self._inputs = wanted, to_end, inputs

    def __call__(self, step: CompiledStep) -> None:
        """A step has been compiled."""
        self.steps.append(step)
        done = trains(step) if self._wanted is None else len(self.steps) == self._wanted
        if not done or self._to_end:
            return
        if not self._inputs:
            raise _Enough
        # What the script runs it with is what it is profiled with.
        own: Any = step
        own.run, own.run_many = self._run, lambda queue, *_: self._run([batches[0] for batches in queue])

    def _run(self, arrays: list[Array]) -> None:
        self.inputs = arrays
        raise _Enough


def trains(step: CompiledStep) -> bool:
    """Whether it computes gradients and writes parameters."""
    return bool(step.graph.updates) and any(node.region == "backward" for node in step.graph)


def run_script(
    file: str,
    arguments: Sequence[str],
    *,
    mindspore: bool,
    wanted: int | None = None,
    to_end: bool = False,
    inputs: bool = False,
) -> Seen:
    """Run a script as `python FILE.py ARGUMENTS` would, until it has compiled step number `wanted`, by default the first one that
    trains; with `to_end` to its end, with `inputs` until it runs that step. What it prints goes to stderr.

    Raises TargetError if there is no such file, its code fails, or it compiles no step.
    """
    from graphc.steps import compiled_step  # What is on disk is read without the compiler.

    if not Path(file).is_file():
        raise TargetError(f"there is no file {file!r}")
    if mindspore:
        from graphc import compat  # What is on disk is read without the compiler.

        compat.install()
    seen = Seen(wanted, to_end=to_end, inputs=inputs)
    compiled_step.watchers.append(seen)
    try:
        with _as_main(file, arguments), redirect_stdout(sys.stderr), user_code(f"{file} failed"):
            try:
                run_main(file)
            except _Enough:
                pass
            except SystemExit as stop:
                if stop.code not in (None, 0) and not seen.steps:
                    raise
    finally:
        compiled_step.watchers.remove(seen)
    for step in seen.steps:
        for name in ("run", "run_many"):
            vars(step).pop(name, None)
    if not seen.steps:
        raise TargetError(
            f"{file} compiled no step",
            help="steps are compiled in GRAPH_MODE: set_context(mode=GRAPH_MODE), or graphc.compile(cell, ...)",
        )
    return seen


@contextmanager
def _as_main(file: str, arguments: Sequence[str]) -> Iterator[None]:
    """The arguments and the import path that Python gives a script."""
    before = list(sys.argv), list(sys.path)
    sys.argv = [file, *arguments]
    sys.path.insert(0, str(Path(file).resolve().parent))
    try:
        yield
    finally:
        sys.argv, sys.path[:] = before
