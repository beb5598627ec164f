"""The smallest program that still fails."""

from __future__ import annotations

from collections.abc import Callable

from tests.fuzz.program import Program, shorter


def shrink(program: Program, fails: Callable[[Program], bool]) -> Program:
    """Leave out steps and inputs as long as the rest still fails."""
    while True:
        smaller = next((s for s in shorter(program) if fails(s)), None)
        if smaller is None:
            return program
        program = smaller
