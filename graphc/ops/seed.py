"""The global seed. Initial weights are drawn from NumPy's global generator, as in MindSpore."""

from __future__ import annotations

import numpy as np

from graphc.errors import ArgumentTypeError, ArgumentValueError, user_loc

_seed: int | None = None


def set_seed(seed: int) -> None:
    """Seed NumPy's global generator, from which every initializer draws (MindSpore: mindspore.set_seed).

    Raises ArgumentTypeError for anything but an int, ArgumentValueError outside 0 .. 2**32 - 1.
    """
    if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)):
        raise ArgumentTypeError(f"set_seed: seed must be an int, got {type(seed).__name__}", loc=user_loc())
    if not 0 <= seed < 1 << 32:
        raise ArgumentValueError(f"set_seed: seed must lie in 0 .. 2**32 - 1, got {seed}", loc=user_loc())
    global _seed
    _seed = int(seed)
    np.random.seed(_seed)


def get_seed() -> int | None:
    """What `set_seed` was last given, or None."""
    return _seed
