"""Checks of arguments that everything in graphc.dataset shares. Each names who was called, and the argument."""

from __future__ import annotations

import inspect
import numbers
import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from graphc.errors import ArgumentTypeError, ArgumentValueError, KindError, user_loc
from graphc.validation.unused_arguments import no_effect

INT32_MAX, INT64_MAX = 2**31 - 1, 2**63 - 1


class LateError(ArgumentValueError, RuntimeError, shown_as="RuntimeError"):
    """A value that MindSpore refuses where a pipeline is put together or read, not where it is given: a RuntimeError there."""


class WideError(ArgumentValueError, TypeError, shown_as="ValueError"):
    """An int of more bits than there are: to MindSpore a wrong value, and no int at all where C++ is handed it: a TypeError."""


def integer(
    owner: str,
    name: str,
    value: Any,
    low: int | None = None,
    high: int | None = None,
    error: type[ArgumentValueError] = ArgumentValueError,
) -> int:
    """An int from low to high, at most one of 64 bits; ArgumentTypeError for anything else, `error` for another int, WideError
    for one that the bits of 32 or 64 do not hold.
    """
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, np.integer)):
        raise ArgumentTypeError(f"{owner}: {name} must be an int, got {type(value).__name__}", loc=user_loc())
    highest = INT64_MAX if high is None else high
    if value > highest and highest in (INT32_MAX, INT64_MAX):
        raise WideError(f"{owner}: {name} must be {_wanted(low, highest)}, got {value}", loc=user_loc())
    _within(owner, name, value, low, high, error)
    return int(value)


def number(owner: str, name: str, value: Any, low: float | None = None, high: float | None = None) -> float:
    """A finite int or float from low to high; ArgumentTypeError or ArgumentValueError for anything else."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, numbers.Real):
        raise ArgumentTypeError(f"{owner}: {name} must be a number, got {type(value).__name__}", loc=user_loc())
    if not np.isfinite(float(value)):
        raise ArgumentValueError(f"{owner}: {name} must be finite, got {value}", loc=user_loc())
    _within(owner, name, value, low, high)
    return float(value)


def _within(
    owner: str,
    name: str,
    value: Any,
    low: float | None,
    high: float | None,
    error: type[ArgumentValueError] = ArgumentValueError,
) -> None:
    if (low is not None and value < low) or (high is not None and value > high):
        raise error(f"{owner}: {name} must be {_wanted(low, high)}, got {value}", loc=user_loc())


def _wanted(low: float | None, high: float | None) -> str:
    if low is None:
        return f"{high} or less"
    return f"{low} or more" if high is None else f"from {low} to {high}"


def truth(owner: str, name: str, value: Any) -> bool:
    """A bool; ArgumentTypeError for anything else."""
    if not isinstance(value, (bool, np.bool_)):
        raise ArgumentTypeError(f"{owner}: {name} must be a bool, got {type(value).__name__}", loc=user_loc())
    return bool(value)


def chance(owner: str, value: Any, name: str = "prob") -> float:
    """A probability from 0 to 1."""
    return number(owner, name, value, 0, 1)


def names(
    owner: str,
    name: str,
    value: Any,
    *,
    alone: bool = True,
    empty: bool = False,
    twice: type[ArgumentValueError] = ArgumentValueError,
) -> list[str]:
    """Column names as a list of different non-empty ones. alone: whether one may be given as a str. empty: whether there may be
    none. twice: the error of names that are not different, and of empty ones.
    """
    if alone and isinstance(value, str):
        value = [value]
    if not isinstance(value, list):
        raise ArgumentTypeError(
            f"{owner}: {name} must be a list of column names, got {type(value).__name__}", loc=user_loc()
        )
    for column in value:
        if not isinstance(column, str):
            raise KindError(
                f"{owner}: {name} must be column names, one is {type(column).__name__} {column!r}", loc=user_loc()
            )
        if not column:
            raise twice(f"{owner}: {name} has an empty name", loc=user_loc())
    if not value and not empty:
        raise ArgumentValueError(f"{owner}: {name} is empty", loc=user_loc())
    if len(set(value)) != len(value):
        again = next(c for c in value if value.count(c) > 1)
        raise twice(f"{owner}: {name} has {again!r} twice", loc=user_loc())
    return list(value)


def workers(owner: str, value: Any) -> int | None:
    """num_parallel_workers: None, or from 1 to the number of this machine's cores (at least 8 are allowed)."""
    if value is None:
        return None
    return integer(owner, "num_parallel_workers", value, 1, max(os.cpu_count() or 1, 8))


def no_cache(owner: str, name: str, value: Any) -> None:
    """None; ArgumentTypeError for anything else, as there is no DatasetCache."""
    if value is not None:
        raise ArgumentTypeError(f"{owner}: {name}={value!r} is not supported, only None", code="GC112", loc=user_loc())


def memory_of_rows(owner: str, value: Any, pair: bool = True) -> None:
    """`max_rowsize`, which has no effect: None, an int of -1 or more, or with `pair` a list of two."""
    if value is None:
        return
    several = pair and isinstance(value, list)
    if several and len(value) != 2:
        raise ArgumentTypeError(f"{owner}: max_rowsize must be an int or a list of two, got {value!r}", loc=user_loc())
    for size in value if several else [value]:
        integer(owner, "max_rowsize", size, -1, INT32_MAX)
    no_effect(owner, "max_rowsize", "shared memory grows with the rows")


def parameters_of(called: Any) -> int | None:
    """How many arguments something takes by position; None where that is not known, or any number."""
    try:
        known = inspect.signature(called).parameters.values()
    except (TypeError, ValueError):
        return None
    if any(p.kind is p.VAR_POSITIONAL for p in known):
        return None
    return sum(p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) for p in known)


def function(owner: str, name: str, value: Any) -> Any:
    """Something that can be called; ArgumentTypeError for anything else."""
    if not callable(value):
        raise ArgumentTypeError(f"{owner}: {name} must be callable, got {type(value).__name__}", loc=user_loc())
    return value


def misfit(given: int, columns: Sequence[str]) -> str:
    """How many values were given for which columns, as the end of a sentence: "2 values for 1 column, x"."""
    values, wanted = ("value" if n == 1 else "values" for n in (given, len(columns)))
    return f"{given} {values} for {len(columns)} {wanted.replace('value', 'column')}, {', '.join(columns)}"
