"""Generators: streams of random numbers of their own (MindSpore: mindspore.Generator)."""

from __future__ import annotations

import itertools
import os
from typing import Any

import numpy as np

from graphc.errors import ArgumentTypeError, ArgumentValueError, user_loc
from graphc.ops.declared.random import mix64
from graphc.ops.tensor.parameter import Parameter
from graphc.ops.tensor.seed import generator, get_seed, shared_state, times_set
from graphc.ops.tensor.tensor import Tensor
from graphc.validation.checks import integer

_numbers = itertools.count()


class Generator:
    """A stream of random numbers: what draws with `generator=` reads its state, and moves it on.

    It begins with the seed 0. The same seed gives the same numbers, in PYNATIVE_MODE and compiled.
    """

    def __init__(self) -> None:
        self._seed = 0
        self._state = shared_state(_first(0), f"random.state.generator{next(_numbers)}")

    def __repr__(self) -> str:
        return f"Generator(initial_seed={self.initial_seed()})"

    @property
    def state(self) -> Parameter:
        """What draws read and move on: one int64."""
        return self._state

    def manual_seed(self, seed: int) -> Generator:
        """Begin anew with a seed. Returns self. Raises ArgumentTypeError for anything but an int, ArgumentValueError beyond
        int64.
        """
        self._seed = _checked(seed)
        self.state.set_data(_first(self._seed))
        return self

    def seed(self) -> int:
        """Begin anew with a seed from the operating system, which is returned."""
        self.manual_seed(int.from_bytes(os.urandom(4), "little"))
        return self._seed

    def initial_seed(self) -> int:
        """The seed that this generator last began with."""
        return self._seed

    def get_state(self) -> Tensor:
        """uint8[16]: the seed, and what has become of it, as `set_state` takes it."""
        return Tensor(np.array([self.initial_seed(), int(self.state.storage[()])], np.int64).view(np.uint8))

    def set_state(self, state: Tensor) -> None:
        """Go on where `get_state` was called. ArgumentTypeError, ArgumentValueError for what it did not return."""
        if not isinstance(state, Tensor):
            raise ArgumentTypeError(f"set_state: state must be a Tensor, got {type(state).__name__}", loc=user_loc())
        array = state.asnumpy()
        if array.dtype != np.uint8 or array.shape != (16,):
            raise ArgumentValueError(f"set_state: get_state returns uint8[16], got {state.tensor_type}", loc=user_loc())
        seed, now = array.view(np.int64).tolist()
        self._seed = seed
        self.state.set_data(np.array(now, np.int64))


class _DefaultGenerator(Generator):
    """The stream that random functions share; `set_seed` begins it anew, too."""

    def __init__(self) -> None:
        self._seed = 0
        self._seeded: int | None = None

    def __repr__(self) -> str:
        return "the generator that random functions share"

    @property
    def state(self) -> Parameter:
        return generator(None)

    def manual_seed(self, seed: int) -> Generator:
        """As `Generator.manual_seed`; seeds of layers and initial weights stay as `set_seed` left them."""
        super().manual_seed(seed)
        self._seeded = times_set()
        return self

    def initial_seed(self) -> int:
        """The seed of `manual_seed` or `set_seed`, whichever came later; 0 where the operating system gave the state."""
        return self._seed if self._seeded == times_set() else get_seed() or 0

    def set_state(self, state: Tensor) -> None:
        super().set_state(state)
        self._seeded = times_set()


#: The generator of the random functions that are given neither a seed nor a generator.
default_generator = _DefaultGenerator()


def manual_seed(seed: int) -> Generator:
    """Begin the default generator, which is returned, anew with a seed (MindSpore: mindspore.manual_seed)."""
    return default_generator.manual_seed(seed)


def seed() -> int:
    """Begin the default generator anew with a seed from the operating system, which is returned (MindSpore: mindspore.seed)."""
    return default_generator.seed()


def initial_seed() -> int:
    """The seed that the default generator last began with (MindSpore: mindspore.initial_seed)."""
    return default_generator.initial_seed()


def stream(owner: str, given: Any) -> Parameter:
    """The state of a `generator` argument; the one that random functions share for None."""
    if given is None:
        return default_generator.state
    if not isinstance(given, Generator):
        raise ArgumentTypeError(
            f"{owner}: generator must be a graphc.Generator, got {type(given).__name__}", loc=user_loc()
        )
    return given.state


def _first(seed: int) -> np.ndarray[Any, np.dtype[np.int64]]:
    return np.array(mix64(mix64(seed)), np.int64)


def _checked(seed: Any) -> int:
    integer("manual_seed", "seed", seed)
    if not -(1 << 63) <= seed < 1 << 63:
        raise ArgumentValueError(f"manual_seed: seed must be an int64, got {seed}", loc=user_loc())
    return int(seed)


__all__ = [
    "Generator",
    "default_generator",
    "initial_seed",
    "manual_seed",
    "seed",
]
