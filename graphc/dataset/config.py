"""`dataset.config`: settings of all data sets."""

from __future__ import annotations

from graphc.errors import ArgumentTypeError, ArgumentValueError

#: MindSpore's default, which means: draw a new seed.
_DEFAULT = 5489
_seed = _DEFAULT


def set_seed(seed: int) -> None:
    """The seed of shuffles: an int from 0 to 2**32 - 1. ArgumentTypeError or ArgumentValueError for anything else."""
    global _seed
    if isinstance(seed, bool) or not isinstance(seed, int):
        raise ArgumentTypeError(f"set_seed: the seed must be an int, got {type(seed).__name__}")
    if not 0 <= seed < 2**32:
        raise ArgumentValueError(f"set_seed: the seed must lie in [0, 2**32 - 1], got {seed}")
    _seed = seed


def get_seed() -> int:
    """The seed that was set, else 5489."""
    return _seed
