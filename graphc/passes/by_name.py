"""Passes by name: those of the pipeline, and a user's own as FILE.py:FUNCTION or module:FUNCTION."""

from __future__ import annotations

from collections.abc import Sequence

from graphc import scripts
from graphc.errors import ArgumentTypeError, ArgumentValueError
from graphc.errors.suggestions import nearest, question
from graphc.passes.pipeline import PIPELINE, Pass, name_of


def find(name: str) -> Pass:
    """The pass of that name. Raises ArgumentValueError with the nearest names, or for what the user's file lacks."""
    where, colon, function = name.rpartition(":")
    if colon:
        found: Pass = scripts.attribute(where, function)
        if not callable(found):
            raise ArgumentTypeError(
                f"{name} is {type(found).__name__}, a pass is a function that takes a Graph and gives one"
            )
        return found
    known = {name_of(p): p for p in PIPELINE}
    if name in known:
        return known[name]
    raise ArgumentValueError(
        f"there is no pass named {name!r}",
        details=[f"the passes are {', '.join(known)}"],
        help=question(nearest(name, known, 2)) or "a pass of your own is named as FILE.py:FUNCTION",
    )


def up_to(passes: Sequence[Pass], last: str) -> tuple[Pass, ...]:
    """The passes until the one of that name, which is included. Raises ArgumentValueError if it is not among them."""
    names = [name_of(p) for p in passes]
    wanted = last.rpartition(":")[2]
    if wanted not in names:
        raise ArgumentValueError(
            f"pass {wanted!r} is not among those that run: {', '.join(names) or 'none'}",
            help=question(nearest(wanted, names, 2)),
        )
    return tuple(passes[: names.index(wanted) + 1])
