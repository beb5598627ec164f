"""The global seed. Initial weights are drawn from NumPy's global generator, as in MindSpore; masks and other random
numbers of a running step come of states, Parameters of one int64 (graphc.ops.declared.random).
"""

from __future__ import annotations

import itertools
import json
import os
import random
from typing import Any

import numpy as np

from graphc.errors import ArgumentTypeError, ArgumentValueError, user_loc
from graphc.ops.declared.random import mix64
from graphc.ops.tensor.parameter import Parameter
from graphc.ops.tensor.tensor import Tensor
from graphc.validation.checks import integer
from graphc_codegen.forks import rlock

_seed: int | None = None

_times = 0

_made = 0

_names = itertools.count()

_generators: dict[int | None, Parameter] = {}

#: Held while a state is read and moved on, so that threads never draw the same; and by compiled steps that draw of a state
#: which others draw of too, while they run.
drawing = rlock()


def set_seed(seed: int) -> None:
    """Seed NumPy's global generator, from which every initializer draws, and Python's; the states of random layers made from now
    on, and those of the random functions (MindSpore: mindspore.set_seed).

    Raises ArgumentTypeError for anything but an int, ArgumentValueError outside 0 .. 2**32 - 1.
    """
    integer("set_seed", "seed", seed)
    if not 0 <= seed < 1 << 32:
        raise ArgumentValueError(f"set_seed: seed must lie in 0 .. 2**32 - 1, got {seed}", loc=user_loc())
    global _seed, _made, _times
    _seed, _made, _times = int(seed), 0, _times + 1
    np.random.seed(_seed)
    random.seed(_seed)
    for number, state in _generators.items():
        state.set_data(_start(number))


def get_seed() -> int | None:
    """What `set_seed` was last given, or None."""
    return _seed


def get_rng_state() -> Tensor:
    """The program's random state: what is drawn from now on depends on nothing else (MindSpore: get_rng_state).

    A uint8 tensor, JSON in UTF-8, with the seed, how many states of layers were made, the states that the random
    functions share, and the state of NumPy's global generator, from which initial weights are drawn. Raises
    ArgumentValueError if that generator is not the Mersenne twister that NumPy begins with.
    """
    numpy: Any = np.random.get_state(legacy=False)
    if numpy["bit_generator"] != "MT19937":
        raise ArgumentValueError(f"NumPy's global generator is a {numpy['bit_generator']}, not MT19937", loc=user_loc())
    twister = {**numpy["state"], "key": numpy["state"]["key"].tolist()}
    state = {
        "seed": _seed,
        "made": _made,
        "functions": [[number, int(p.storage[()])] for number, p in _generators.items()],
        "numpy": {"state": twister, "has_gauss": numpy["has_gauss"], "gauss": numpy["gauss"]},
    }
    return Tensor(np.frombuffer(json.dumps(state).encode(), np.uint8))


def set_rng_state(state: Tensor) -> None:
    """Make a state that `get_rng_state` returned the program's (MindSpore: set_rng_state).

    Random states of layers that were made before are in checkpoints of their cells, not here. Raises ArgumentTypeError
    for anything but a Tensor, ArgumentValueError, and changes nothing, for one that is no such state.
    """
    if not isinstance(state, Tensor):
        raise ArgumentTypeError(f"set_rng_state: state must be a Tensor, got {type(state).__name__}", loc=user_loc())
    try:
        read = json.loads(state.asnumpy().astype(np.uint8, casting="safe").tobytes().decode())
        seed, made = read["seed"], int(read["made"])
        functions = {number: np.array(value, np.int64).reshape(()) for number, value in read["functions"]}
        key = np.array(read["numpy"]["state"]["key"], np.uint32)
        twister = {"bit_generator": "MT19937", **read["numpy"], "state": {**read["numpy"]["state"], "key": key}}
        np.random.RandomState().set_state(twister)
        if not all(type(n) is int or n is None for n in (seed, *functions)):
            raise TypeError("a seed is no number")
        if not 0 <= twister["state"]["pos"] <= key.size:
            raise ValueError("NumPy would read beyond the key")
    except (TypeError, ValueError, LookupError, AttributeError, OverflowError, RecursionError):
        raise ArgumentValueError(
            "set_rng_state: this tensor is no state that get_rng_state returned", loc=user_loc()
        ) from None
    global _seed, _made
    _seed, _made = seed, made
    np.random.set_state(twister)
    for number in {*_generators, *functions}:
        generator(number).set_data(functions[number] if number in functions else _start(number))


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
    return _random_state(np.array(first, np.int64), f"{owner}.state.{next(_names)}")


def generator(seed: int | None = None) -> Parameter:
    """The state that the random functions share, or the one of those that are given this seed."""
    if seed not in _generators:
        name = "random.state" if seed is None else f"random.state.seed{seed}"
        with drawing:
            _generators.setdefault(seed, shared_state(_start(seed), name))
    return _generators[seed]


def shared_state(first: np.ndarray[Any, np.dtype[np.int64]], name: str) -> Parameter:
    """A random state that belongs to no layer: steps of any cell draw of it."""
    state = _random_state(first, name)
    state.is_shared_state = True
    return state


def _random_state(first: np.ndarray[Any, np.dtype[np.int64]], name: str) -> Parameter:
    state = Parameter(first, name=name, requires_grad=False)
    state.is_random_state = True
    return state


def _start(seed: int | None) -> np.ndarray[Any, np.dtype[np.int64]]:
    return np.array(mix64(mix64(_entropy()) ^ (0 if seed is None else ~seed)), np.int64)


def _entropy() -> int:
    return _seed if _seed is not None else int.from_bytes(os.urandom(8), "little")


__all__ = [
    "drawing",
    "generator",
    "get_rng_state",
    "get_seed",
    "new_state",
    "set_rng_state",
    "set_seed",
    "shared_state",
    "times_set",
]
