"""Checks of arguments that everything in graphc.dataset shares. Each names who was called, and the argument."""

from __future__ import annotations

import numbers
import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from graphc.errors import ArgumentTypeError, ArgumentValueError, user_loc

INT32_MAX, INT64_MAX = 2**31 - 1, 2**63 - 1


def integer(owner: str, name: str, value: Any, low: int | None = None, high: int | None = None) -> int:
    """An int from low to high, at most one of 64 bits; ArgumentTypeError or ArgumentValueError for anything else."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, np.integer)):
        raise ArgumentTypeError(f"{owner}: {name} must be an int, got {type(value).__name__}", loc=user_loc())
    _within(owner, name, value, low, INT64_MAX if high is None and value > INT64_MAX else high)
    return int(value)


def number(owner: str, name: str, value: Any, low: float | None = None, high: float | None = None) -> float:
    """A finite int or float from low to high; ArgumentTypeError or ArgumentValueError for anything else."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, numbers.Real):
        raise ArgumentTypeError(f"{owner}: {name} must be a number, got {type(value).__name__}", loc=user_loc())
    if not np.isfinite(float(value)):
        raise ArgumentValueError(f"{owner}: {name} must be finite, got {value}", loc=user_loc())
    _within(owner, name, value, low, high)
    return float(value)


def _within(owner: str, name: str, value: Any, low: float | None, high: float | None) -> None:
    if (low is not None and value < low) or (high is not None and value > high):
        wanted = f"{low} or more" if high is None else f"from {low} to {high}"
        if low is None:
            wanted = f"{high} or less"
        raise ArgumentValueError(f"{owner}: {name} must be {wanted}, got {value}", loc=user_loc())


def truth(owner: str, name: str, value: Any) -> bool:
    """A bool; ArgumentTypeError for anything else."""
    if not isinstance(value, (bool, np.bool_)):
        raise ArgumentTypeError(f"{owner}: {name} must be a bool, got {type(value).__name__}", loc=user_loc())
    return bool(value)


def chance(owner: str, value: Any, name: str = "prob") -> float:
    """A probability from 0 to 1."""
    return number(owner, name, value, 0, 1)


def names(owner: str, name: str, value: Any) -> list[str]:
    """Column names as a list: a str or a list of different non-empty ones."""
    if isinstance(value, str):
        value = [value]
    if not isinstance(value, (list, tuple)):
        raise ArgumentTypeError(
            f"{owner}: {name} must be a list of column names, got {type(value).__name__}", loc=user_loc()
        )
    for column in value:
        if not isinstance(column, str):
            raise ArgumentTypeError(
                f"{owner}: {name} must be column names, one is {type(column).__name__} {column!r}", loc=user_loc()
            )
        if not column:
            raise ArgumentValueError(f"{owner}: {name} has an empty name", loc=user_loc())
    if len(set(value)) != len(value):
        twice = next(c for c in value if value.count(c) > 1)
        raise ArgumentValueError(f"{owner}: {name} has {twice!r} twice", loc=user_loc())
    return list(value)


def workers(owner: str, value: Any) -> int | None:
    """num_parallel_workers: None, or from 1 to the number of this machine's cores (at least 8 are allowed)."""
    if value is None:
        return None
    return integer(owner, "num_parallel_workers", value, 1, max(os.cpu_count() or 1, 8))


def function(owner: str, name: str, value: Any) -> Any:
    """Something that can be called; ArgumentTypeError for anything else."""
    if not callable(value):
        raise ArgumentTypeError(f"{owner}: {name} must be callable, got {type(value).__name__}", loc=user_loc())
    return value


def misfit(given: int, columns: Sequence[str]) -> str:
    """How many values were given for which columns, as the end of a sentence: "2 values for 1 column, x"."""
    values, wanted = ("value" if n == 1 else "values" for n in (given, len(columns)))
    return f"{given} {values} for {len(columns)} {wanted.replace('value', 'column')}, {', '.join(columns)}"
