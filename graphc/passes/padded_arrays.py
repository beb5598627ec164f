"""Arrays with padding, on the host: what a step for a bucket is given, and what of its results is real."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from graphc.ops.declared.padding import Axes, Axis, is_padded, length

Array = np.ndarray[Any, np.dtype[Any]]


def places(axis: Axis, lengths: Sequence[int]) -> Array:
    """For each real place of an axis, in order, where it is among all."""
    found = np.zeros(1, np.intp)
    for f in axis:
        count = f.size if f.symbol < 0 else lengths[f.symbol] - f.less
        found = (found[:, None] * f.size + np.arange(count)).ravel()
    return found


def sources(axis: Axis, lengths: Sequence[int]) -> Array:
    """For each place of an axis the real one, counted among the real ones, that it is, or that it copies."""
    found = np.zeros(1, np.intp)
    for f in axis:
        count = f.size if f.symbol < 0 else lengths[f.symbol] - f.less
        found = (found[:, None] * count + np.minimum(np.arange(f.size), count - 1)).ravel()
    return found


def padded_array(array: Array, axes: Axes, lengths: Sequence[int]) -> Array:
    """An array of real elements with copies of the last ones as padding."""
    for k, axis in enumerate(axes):
        if is_padded(axis) and array.shape[k] != math.prod(f.size for f in axis):
            array = np.take(array, sources(axis, lengths), k)
    return array


def real_part(array: Array, axes: Axes, lengths: Sequence[int]) -> Array:
    """The real elements of an array with padding."""
    for k, axis in enumerate(axes):
        if not is_padded(axis):
            continue
        if len(axis) == 1:
            array = array[(slice(None),) * k + (slice(0, length(axis, lengths)),)]
        elif length(axis, lengths) != array.shape[k]:
            array = np.take(array, places(axis, lengths), k)
    return np.ascontiguousarray(array) if array.ndim else array
