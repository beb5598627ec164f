"""Scalar operations in NumPy, where NumPy has no function that does the same."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]


def cast(x: Array, dtype: np.dtype[Any]) -> Array:
    """`astype`, but floats saturate when they become integers, and NaN becomes 0."""
    if x.dtype.kind != "f" or dtype.kind not in "iu":
        return x.astype(dtype)
    limits = np.iinfo(dtype)
    high = x >= x.dtype.type(limits.max)
    low = x <= x.dtype.type(limits.min)
    inside = np.where(high | low | np.isnan(x), x.dtype.type(0), x).astype(dtype)
    return np.where(high, dtype.type(limits.max), np.where(low, dtype.type(limits.min), inside))


def power(x: Array, y: Array) -> Array:
    """x**y; integers wrap, and a negative exponent gives 0 unless the base is 1 or -1."""
    if x.dtype.kind not in "iu":
        return np.asarray(np.power(x, y))
    unit = np.abs(x) == 1
    # A negative exponent of 1 or -1 counts only by its lowest bit.
    exponent = np.where(y >= 0, y, y & 1)
    return np.where((y >= 0) | unit, np.power(x, exponent), x.dtype.type(0))


def erf(x: Array) -> Array:
    """The error function, computed in float64."""
    return np.asarray(np.frompyfunc(math.erf, 1, 1)(x.astype(np.float64))).astype(x.dtype)


def bits_or_logical(bits: Callable[..., Any], logical: Callable[..., Any]) -> Callable[..., Any]:
    """`bits` of integers, `logical` of booleans."""
    return lambda *args: (logical if args[0].dtype == np.bool_ else bits)(*args)


def shift_right(x: Array, y: Array) -> Array:
    """x shifted right by y bits, zeros coming in."""
    unsigned = np.dtype(f"u{x.dtype.itemsize}")
    return np.asarray(x.astype(unsigned) >> y.astype(unsigned)).astype(x.dtype)
