"""Loops over time in which every sample depends on those before it: functions for Numba, which compiles each when it is
called.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]


@functools.cache
def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function in machine code, kept in Numba's cache where there is a place for it."""
    import numba  # Heavy: few programs transform sounds.

    if function is not _half:
        # What a kernel calls is compiled with it.
        function.__globals__["half"] = compiled(_half)
    try:
        made: Callable[..., Any] = numba.njit(cache=True, nogil=True, error_model="numpy")(function)
    except RuntimeError:  # No folder that it may write to.
        made = numba.njit(nogil=True, error_model="numpy")(function)
    return made


def _half(value: float) -> float:
    """The float16 next to a number, as a float64; of two, the even one."""
    if value == 0.0 or not math.isfinite(value):
        return value
    _, exponent = math.frexp(value)
    unit = math.ldexp(1.0, max(exponent - 11, -24))
    rounded: float = np.rint(value / unit) * unit
    if abs(rounded) >= 65520.0:
        return math.copysign(math.inf, value)
    return rounded


#: Compiled, once a kernel is.
half: Callable[[float], float] = _half


def filtered(x: Array, a: Array, b: Array, y: Array) -> None:
    """y [n, time] = sum of b[j] x[t - j] less the sum of a[j] y[t - j], j > 0, in the dtype of all."""
    for row in range(x.shape[0]):
        for t in range(x.shape[1]):
            last = min(t, len(b) - 1)
            value = b[0] * x[row, t]
            for j in range(1, last + 1):
                value += b[j] * x[row, t - j]
            for j in range(1, last + 1):
                value -= a[j] * y[row, t - j]
            y[row, t] = value


def filtered_in_halves(x: Array, a: Array, b: Array, y: Array) -> None:
    """`filtered` of numbers of float16, which are kept in float64: every product and sum is rounded."""
    for row in range(x.shape[0]):
        for t in range(x.shape[1]):
            last = min(t, len(b) - 1)
            value = half(b[0] * x[row, t])
            for j in range(1, last + 1):
                value = half(value + half(b[j] * x[row, t - j]))
            for j in range(1, last + 1):
                value = half(value - half(a[j] * y[row, t - j]))
            y[row, t] = value


def without_offset(x: Array, y: Array) -> None:
    """y [n, time] = x[t] - x[t - 1] + 0.995 y[t - 1]."""
    for row in range(x.shape[0]):
        before, made = x.dtype.type(0), x.dtype.type(0)
        for t in range(x.shape[1]):
            made = x.dtype.type((x[row, t] - before) + made * 0.995)
            before = x[row, t]
            y[row, t] = made


def phased(x: Array, delays: Array, ring: Array, decay: float, y: Array) -> None:
    """y [n, time]: x and what the ring [n, length] holds so many places on; the sum, times decay, goes into the ring."""
    length = ring.shape[1]
    for row in range(x.shape[0]):
        place = 0
        for t in range(x.shape[1]):
            at = (place + delays[t % len(delays)]) % length
            place = (place + 1) % length
            value = x[row, t] + ring[row, at]
            y[row, t] = value
            ring[row, place] = value * decay


def flanged(
    x: Array, table: Array, phases: Array, ring: Array, feedback: float, quadratic: bool, delayed: Array
) -> None:
    """delayed [n, channels, time]: what the ring [n, channels, length] holds, between its places, as far back as the table
    says, which every channel begins at another place; x and the last one times `feedback` go into the ring.
    """
    length = ring.shape[2]
    for batch in range(x.shape[0]):
        for channel in range(x.shape[1]):
            held, last = ring[batch, channel], x.dtype.type(0)
            place = 0
            for t in range(x.shape[2]):
                place = (place + length - 1) % length
                delay = table[(t + phases[channel]) % len(table)]
                whole = int(delay)
                share = x.dtype.type(delay - whole)
                held[place] = x[batch, channel, t] + last * feedback
                first = held[(place + whole) % length]
                second = held[(place + whole + 1) % length]
                if quadratic:
                    second = second - first
                    third = held[(place + whole + 2) % length] - first
                    bend = x.dtype.type(third * 0.5 - second)
                    slope = x.dtype.type(second * 2 - third * 0.5)
                    last = first + (bend * share + slope) * share
                else:
                    last = first + (second - first) * share
                delayed[batch, channel, t] = last


def correlated(x: Array, size: int, y: Array) -> None:
    """y [n, frames, lags]: of each frame of x [n, time] with what stands lag + 1 samples later, the product over both
    squares.
    """
    for row in range(y.shape[0]):
        for frame in range(y.shape[1]):
            start = frame * size
            own = x.dtype.type(0)
            for t in range(start, start + size):
                own += x[row, t] * x[row, t]
            for lag in range(1, y.shape[2] + 1):
                both, other = x.dtype.type(0), x.dtype.type(0)
                for t in range(start, start + size):
                    both += x[row, t] * x[row, t + lag]
                    other += x[row, t + lag] * x[row, t + lag]
                some = own != 0 and other != 0
                y[row, frame, lag - 1] = both / own / other if some else x.dtype.type(0)


def correlated_in_halves(x: Array, size: int, y: Array) -> None:
    """`correlated` of numbers of float16, which are kept in float64: every product, sum and quotient is rounded."""
    for row in range(y.shape[0]):
        for frame in range(y.shape[1]):
            start = frame * size
            own = 0.0
            for t in range(start, start + size):
                own = half(own + half(x[row, t] * x[row, t]))
            for lag in range(1, y.shape[2] + 1):
                both, other = 0.0, 0.0
                for t in range(start, start + size):
                    both = half(both + half(x[row, t] * x[row, t + lag]))
                    other = half(other + half(x[row, t + lag] * x[row, t + lag]))
                some = own != 0 and other != 0
                y[row, frame, lag - 1] = half(half(both / own) / other) if some else 0.0


def without_mean(x: Array, starts: Array, ends: Array, normed: bool, y: Array) -> None:
    """y [n, time, features] = x less its mean from starts [time] to ends [time], over its standard deviation if normed.

    Windows go on by no more than one time. Their sums go along, and keep their rounding: so does MindSpore.
    """
    number = x.dtype.type
    for row in range(x.shape[0]):
        sums, squares = np.zeros(x.shape[2], x.dtype), np.zeros(x.shape[2], x.dtype)
        for t in range(x.shape[1]):
            start, end = starts[t], ends[t]
            gone = starts[t - 1] if t and start > starts[t - 1] else -1
            first = 0 if t == 0 else ends[t - 1]
            frames = number(end - start)
            for f in range(x.shape[2]):
                if gone >= 0:
                    sums[f] -= x[row, gone, f]
                    squares[f] -= x[row, gone, f] * x[row, gone, f]
                for come in range(first, end):
                    sums[f] += x[row, come, f]
                    squares[f] += x[row, come, f] * x[row, come, f]
                value = x[row, t, f] - sums[f] / frames
                if normed:
                    spread = squares[f] / frames - sums[f] * sums[f] / (frames * frames)
                    value = number(0) if end - start == 1 else value * (number(1) / np.sqrt(spread))
                y[row, t, f] = value
