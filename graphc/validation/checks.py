"""Checks of an argument's kind and value, with one message for each. They return the argument, or raise ArgumentTypeError or
ArgumentValueError.

owner: who was called, in front of the argument's name; "" for what is named alone.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum
from typing import Any, TypeVar

import numpy as np

from graphc.errors import ArgumentTypeError, ArgumentValueError, user_loc

T = TypeVar("T")
Member = TypeVar("Member", bound=Enum)


def wrong_type(owner: str, name: str, expected: str, value: Any, help: str | None = None) -> ArgumentTypeError:
    """The error of an argument of another kind."""
    message = f"{_named(owner, name)} must be {expected}, got {type(value).__name__}"
    return ArgumentTypeError(message, loc=user_loc(), help=help)


def wrong_value(owner: str, name: str, expected: str, value: Any, help: str | None = None) -> ArgumentValueError:
    """The error of an argument of the right kind with another value."""
    return ArgumentValueError(f"{_named(owner, name)} must be {expected}, got {value!r}", loc=user_loc(), help=help)


def _named(owner: str, name: str) -> str:
    return f"{owner}: {name}" if owner else name


def is_int(value: Any) -> bool:
    """An int, or one of NumPy's, that is not a bool."""
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def integer(owner: str, name: str, value: Any, least: int | None = None) -> int:
    """An int, or one of NumPy's, of at least `least`."""
    if not is_int(value):
        raise wrong_type(owner, name, "an int", value)
    if least is not None and value < least:
        raise wrong_value(owner, name, f"at least {least}", value)
    return int(value)


def exact_int(owner: str, name: str, value: Any, least: int | None = None) -> int:
    """Python's own int, where MindSpore refuses NumPy's, of at least `least`."""
    if isinstance(value, np.integer):
        raise wrong_type(owner, name, "an int", value)
    return integer(owner, name, value, least)


def boolean(owner: str, name: str, value: Any) -> bool:
    """A bool."""
    if not isinstance(value, bool):
        raise wrong_type(owner, name, "a bool", value)
    return value


def string(owner: str, name: str, value: Any) -> str:
    """A str."""
    if not isinstance(value, str):
        raise wrong_type(owner, name, "a string", value)
    return value


def one_of(owner: str, name: str, value: T, known: Iterable[Any]) -> T:
    """One of known values."""
    values = tuple(known)
    if value not in values:
        raise wrong_value(owner, name, f"one of {', '.join(map(repr, values))}", value)
    return value


def member(owner: str, name: str, value: Any, kind: type[Member]) -> Member:
    """A member of an enumeration."""
    if not isinstance(value, kind):
        raise wrong_type(owner, name, f"one of {kind.__name__}", value)
    return value
