"""The global seed. Initial weights are drawn from NumPy's global generator, as in MindSpore; masks and other random
numbers of a running step come of states, Parameters of one int64 (graphc.ops.declared.random).
"""

from __future__ import annotations

import itertools
import os
from typing import Any

import numpy as np

from graphc.errors import ArgumentTypeError, ArgumentValueError, user_loc
from graphc.ops.declared.random import mix64
from graphc.ops.tensor.tensor import Parameter

_seed: int | None = None

_times = 0

_made = 0

_names = itertools.count()

_generators: dict[int | None, Parameter] = {}


def set_seed(seed: int) -> None:
    """Seed NumPy's global generator, from which every initializer draws, the states of random layers made from now on,
    and those of the random functions (MindSpore: mindspore.set_seed).

    Raises ArgumentTypeError for anything but an int, ArgumentValueError outside 0 .. 2**32 - 1.
    """
    if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)):
        raise ArgumentTypeError(f"set_seed: seed must be an int, got {type(seed).__name__}", loc=user_loc())
    if not 0 <= seed < 1 << 32:
        raise ArgumentValueError(f"set_seed: seed must lie in 0 .. 2**32 - 1, got {seed}", loc=user_loc())
    global _seed, _made, _times
    _seed, _made, _times = int(seed), 0, _times + 1
    np.random.seed(_seed)
    for number, state in _generators.items():
        state.set_data(_start(number))


def get_seed() -> int | None:
    """What `set_seed` was last given, or None."""
    return _seed


def times_set() -> int:
    """How often `set_seed` has been called: data sets obey the later one of it and their own."""
    return _times


def new_state(owner: str) -> Parameter:
    """The random state of a new layer: from the seed and how many were made since, or, where no seed was set, from the
    operating system. It is drawn from no other generator, so initial weights stay what they are.
    """
    global _made
    _made += 1
    first = mix64(mix64(_entropy()) ^ _made)
    return Parameter(np.array(first, np.int64), name=f"{owner}.state.{next(_names)}", requires_grad=False)


def generator(seed: int | None = None) -> Parameter:
    """The state that the random functions share, or the one of those that are given this seed."""
    if seed not in _generators:
        name = "random.state" if seed is None else f"random.state.seed{seed}"
        _generators.setdefault(seed, Parameter(_start(seed), name=name, requires_grad=False))
    return _generators[seed]


def _start(seed: int | None) -> np.ndarray[Any, np.dtype[np.int64]]:
    return np.array(mix64(mix64(_entropy()) ^ (0 if seed is None else ~seed)), np.int64)


def _entropy() -> int:
    return _seed if _seed is not None else int.from_bytes(os.urandom(8), "little")


__all__ = [
    "generator",
    "get_seed",
    "new_state",
    "set_seed",
    "times_set",
]
