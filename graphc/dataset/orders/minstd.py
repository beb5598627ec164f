"""std::minstd_rand0 of C++ (P. A. W. Lewis, A. S. Goodman, J. M. Miller, IBM Systems Journal 8, 1969), which MindRecord's readers
shuffle with."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]

_FACTOR, _PRIME = 16807, (1 << 31) - 1
#: Numbers that are computed at a time.
_BLOCK = 4096
_POWERS = np.array([pow(_FACTOR, k, _PRIME) for k in range(1, _BLOCK + 1)], np.int64)


class MinStd0:
    """std::minstd_rand0(seed): numbers from 0 to `span`, in order; C++ counts them from 1."""

    span = _PRIME - 2

    def __init__(self, seed: int) -> None:
        self._last = seed % _PRIME or 1
        self._ahead = np.empty(0, np.uint64)

    def peek(self, count: int) -> Array:
        """uint64 [count]: the next numbers, without using them up."""
        parts = [self._ahead]
        lacking = count - len(self._ahead)
        while lacking > 0:
            numbers = _POWERS[:lacking] * self._last % _PRIME
            self._last = int(numbers[-1])
            parts.append(numbers.astype(np.uint64) - np.uint64(1))
            lacking -= len(numbers)
        self._ahead = np.concatenate(parts)
        return self._ahead[:count]

    def use(self, count: int) -> Array:
        """uint64 [count]: the next numbers."""
        drawn = self.peek(count)
        self._ahead = self._ahead[count:]
        return drawn
