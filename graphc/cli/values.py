"""Values of the command's options: what a text means, or argparse's error that says why it means nothing."""

from __future__ import annotations

import math
import sys
from argparse import ArgumentTypeError
from collections.abc import Callable


def integer(low: int, high: int | None = None) -> Callable[[str], int]:
    """A reader of whole numbers of a range."""

    def read(text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            raise ArgumentTypeError(f"{text!r} is no whole number") from None
        if value < low or (high is not None and value > high):
            raise ArgumentTypeError(f"{value} is out of range: {_range(low, high)}")
        return value

    return read


def number(low: float, high: float | None = None, *, open: bool = False) -> Callable[[str], float]:
    """A reader of finite numbers of a range; with `open` without its lower end."""

    def read(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            raise ArgumentTypeError(f"{text!r} is no number") from None
        if not math.isfinite(value) or value < low or (open and value == low) or (high is not None and value > high):
            raise ArgumentTypeError(f"{text} is out of range: {f'more than {low}' if open else _range(low, high)}")
        return value

    return read


def _range(low: float, high: float | None) -> str:
    return f"at least {low}" if high is None else f"{low} to {high}"


def depth(text: str) -> int:
    """How deep a drawing goes: a number, or `all`."""
    return sys.maxsize if text == "all" else integer(0)(text)


def words(text: str) -> list[str]:
    """A script's arguments, divided as a shell does."""
    import shlex  # Here, so that a start is quick.

    try:
        return shlex.split(text)
    except ValueError as error:
        raise ArgumentTypeError(f"{text!r} cannot be divided into arguments: {error}") from None
