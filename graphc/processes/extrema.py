"""The largest and the least of what several processes have. MPI compares floats, of which one may be NaN: what it gives then
depends on who is compared with whom, and differs between processes. As integers in the order of the floats, among which NaN is
beyond all others, all of them agree, on NaN as NumPy does; zeros have no sign.
"""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]

EXTREMA = ("max", "min")


def are_ordered(x: Array, reduction: str) -> bool:
    """Whether such a reduction is one of `keys_of` the numbers."""
    return reduction in EXTREMA and x.dtype.kind == "f"


def keys_of(x: Array, reduction: str) -> Array:
    """Integers in the order of floats."""
    keys = _turned((x + x.dtype.type(0)).view(f"int{8 * x.itemsize}"))
    keys[np.isnan(x)] = _nan(keys, reduction)
    return keys


def of_keys(keys: Array, reduction: str) -> Array:
    """The floats that have these."""
    made = _turned(keys).view(f"float{8 * keys.itemsize}")
    made[keys == _nan(keys, reduction)] = np.nan
    return made


def _turned(bits: Array) -> Array:
    """Bits of floats as integers in their order, and back: those below zero count the other way."""
    turned: Array = bits ^ ((bits >> (8 * bits.itemsize - 1)) & np.iinfo(bits.dtype).max)
    return turned


def _nan(keys: Array, reduction: str) -> int:
    ends = np.iinfo(keys.dtype)
    return ends.max if reduction == "max" else ends.min
