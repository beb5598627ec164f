"""Random numbers of transforms: each sample has a generator of its own, whoever computes it and whenever."""

from __future__ import annotations

import threading

import numpy as np

from graphc.dataset import config


class _Current(threading.local):
    key: tuple[int, ...] | None = None
    generator: np.random.Generator | None = None


_current = _Current()
#: The generator of transforms that are called outside of a data set, and the seed that it began with.
_outside: tuple[int, np.random.Generator] | None = None


def enter(key: tuple[int, ...]) -> None:
    """From now on this thread works on the sample of that key: seed, node, pass, place."""
    _current.key, _current.generator = key, None


def leave() -> None:
    """This thread works on no sample any more."""
    _current.key = _current.generator = None


def rng() -> np.random.Generator:
    """The generator of the sample that is being transformed; outside of a data set one that starts from the data sets' seed.

    A user's own transform that draws from it gives the same for any number of workers, and after a resume.
    """
    global _outside
    if _current.key is not None:
        if _current.generator is None:
            _current.generator = np.random.Generator(np.random.PCG64(np.random.SeedSequence(_current.key)))
        return _current.generator
    seed = config.get_seed()
    if _outside is None or _outside[0] != seed:
        _outside = seed, np.random.default_rng(None if seed == config.UNSET else seed)
    return _outside[1]
