"""The Mersenne twisters of C++ and the distributions of libstdc++, a whole epoch's draws at a time.

M. Matsumoto, T. Nishimura: "Mersenne Twister", ACM TOMACS 8 (1998); T. Nishimura: "Tables of 64-bit Mersenne Twisters",
ACM TOMACS 10 (2000). MindSpore draws with std::mt19937, std::mt19937_64 and libstdc++'s std::shuffle.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]

_MASK32 = (1 << 32) - 1


class Engine(Protocol):
    """A generator of numbers from 0 to `span`."""

    @property
    def span(self) -> int: ...

    def peek(self, count: int) -> Array:
        """uint64 [count]: the next numbers, without using them up."""
        ...

    def use(self, count: int) -> Array:
        """uint64 [count]: the next numbers."""
        ...


class Mt19937:
    """std::mt19937(seed): numbers of 32 bits, in order."""

    span = _MASK32

    def __init__(self, seed: int) -> None:
        bits = np.random.MT19937()
        bits._legacy_seeding(seed & _MASK32)
        self._bits = bits
        self._ahead = np.empty(0, np.uint64)

    def peek(self, count: int) -> Array:
        """uint64 [count]: the next numbers, without using them up."""
        lacking = count - len(self._ahead)
        if lacking > 0:
            self._ahead = np.concatenate([self._ahead, self._bits.random_raw(lacking)])
        return self._ahead[:count]

    def use(self, count: int) -> Array:
        """uint64 [count]: the next numbers."""
        drawn = self.peek(count)
        self._ahead = self._ahead[count:]
        return drawn


def firsts(seeds: Array, bound: int) -> Array:
    """int64 like `seeds` [n]: the first std::uniform_int_distribution(0, bound - 1) of each std::mt19937(seed)."""
    word = seeds.astype(np.uint64) & np.uint64(_MASK32)
    words = [word]
    for i in range(1, 398):
        word = (np.uint64(1812433253) * (word ^ (word >> np.uint64(30))) + np.uint64(i)) & np.uint64(_MASK32)
        if i in (1, 397):
            words.append(word)
    both = (words[0] & np.uint64(0x80000000)) | (words[1] & np.uint64(0x7FFFFFFF))
    twist = np.where(both & np.uint64(1), np.uint64(0x9908B0DF), np.uint64(0))
    raw: Array = words[2] ^ (both >> np.uint64(1)) ^ twist
    raw = raw ^ (raw >> np.uint64(11))
    raw = raw ^ ((raw << np.uint64(7)) & np.uint64(0x9D2C5680))
    raw = raw ^ ((raw << np.uint64(15)) & np.uint64(0xEFC60000))
    raw = raw ^ (raw >> np.uint64(18))
    scaling = _MASK32 // bound
    drawn = (raw // np.uint64(scaling)).astype(np.int64)
    for k in np.flatnonzero(raw >= bound * scaling):
        drawn[k] = integers(Mt19937(int(seeds[k])), np.array([bound]))[0]
    return drawn


_N, _M = 312, 156
_UPPER, _LOWER = np.uint64(0xFFFFFFFF80000000), np.uint64(0x7FFFFFFF)
_MATRIX = np.uint64(0xB5026F5AA96619E9)


class Mt19937_64:
    """std::mt19937_64(seed): numbers of 64 bits, in order."""

    def __init__(self, seed: int) -> None:
        state, mask = [seed & ((1 << 64) - 1)], (1 << 64) - 1
        for i in range(1, _N):
            state.append((6364136223846793005 * (state[-1] ^ (state[-1] >> 62)) + i) & mask)
        self._state = np.array(state, np.uint64)
        self._ahead = np.empty(0, np.uint64)

    def use(self, count: int) -> Array:
        """uint64 [count]: the next numbers."""
        while len(self._ahead) < count:
            self._ahead = np.concatenate([self._ahead, self._turn()])
        drawn, self._ahead = self._ahead[:count], self._ahead[count:]
        return drawn

    def _turn(self) -> Array:
        """The next 312 numbers. New words of the first half are read by the second, the first new one by the last."""
        s = self._state
        for start, end in ((0, _N - _M), (_N - _M, _N - 1), (_N - 1, _N)):
            following = np.append(s[start + 1 : end], s[end % _N])
            word = (s[start:end] & _UPPER) | (following & _LOWER)
            twisted = (word >> np.uint64(1)) ^ np.where(word & np.uint64(1), _MATRIX, np.uint64(0))
            s[start:end] = s[(start + _M) % _N :][: end - start] ^ twisted
        x = s.copy()
        x ^= (x >> np.uint64(29)) & np.uint64(0x5555555555555555)
        x ^= (x << np.uint64(17)) & np.uint64(0x71D67FFFEDA60000)
        x ^= (x << np.uint64(37)) & np.uint64(0xFFF7EEE000000000)
        return x ^ (x >> np.uint64(43))


def integers(generator: Engine, ranges: Array) -> Array:
    """int64 like `ranges` [n]: std::uniform_int_distribution(0, range - 1) for each, drawn one after the other.

    A number is refused where it lies beyond the last whole multiple of the range. Whom each number is for depends on
    how many were refused before it: guessed, and corrected until the guess agrees with itself.
    """
    n = len(ranges)
    if n == 0:
        return np.empty(0, np.int64)
    ranges = ranges.astype(np.uint64)
    scaling = np.uint64(generator.span) // ranges
    limit = ranges * scaling
    count = n
    while True:
        raw = generator.peek(count)
        owner = np.arange(count)
        while True:
            accepted = raw < limit[np.minimum(owner, n - 1)]
            corrected: Array = np.cumsum(accepted) - accepted
            if np.array_equal(corrected, owner):
                break
            owner = corrected
        if owner[-1] + accepted[-1] >= n:
            break
        count = count + max(16, count // 4)
    places = np.flatnonzero(accepted)[:n]
    values = raw[places] // scaling
    generator.use(int(places[-1]) + 1)
    return values.astype(np.int64)


def shuffled(values: Array, generator: Engine) -> Array:
    """[n]: libstdc++'s std::shuffle. Two places come of one number while the square of n fits into the engine's numbers."""
    n = len(values)
    if n < 2:
        return values.copy()
    if generator.span // n >= n:
        first = 1 + (n % 2 == 0)
        partners = [integers(generator, np.array([2]))] if first == 2 else []
        at = np.arange(first, n, 2)
        pairs = integers(generator, (at + 1) * (at + 2))
        both = np.stack([pairs // (at + 2), pairs % (at + 2)], 1).reshape(-1)
        partner = np.concatenate([*partners, both])
    else:
        partner = integers(generator, np.arange(2, n + 1))
    order = values.tolist()
    for i, j in enumerate(partner.tolist(), 1):
        order[i], order[j] = order[j], order[i]
    return np.array(order, np.int64)


def buffered(values: Array, size: int, generator: Mt19937_64) -> Array:
    """[n]: MindSpore's ShuffleOp. From a buffer of `size` values one is drawn, the last takes its place, the next comes last."""
    inside = values[:size].tolist()
    drawn = []
    numbers = generator.use(len(values)).tolist()
    for number, arriving in zip(numbers, values[size:].tolist(), strict=False):
        place = number % size
        drawn.append(inside[place])
        inside[place], inside[-1] = inside[-1], arriving
    for number in numbers[len(drawn) :]:
        place = number % len(inside)
        drawn.append(inside[place])
        inside[place] = inside[-1]
        inside.pop()
    return np.array(drawn, np.int64)


def canonical(generator: Mt19937, count: int) -> Array:
    """float64 [count] in [0, 1): std::generate_canonical of two numbers each."""
    raw = generator.use(2 * count).astype(np.float64).reshape(-1, 2)
    drawn = (raw[:, 0] + raw[:, 1] * 2.0**32) / 2.0**64
    return np.where(drawn >= 1.0, np.nextafter(1.0, 0.0), drawn)
