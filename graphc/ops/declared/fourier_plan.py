"""How a transform of so many numbers is divided: what its kernel is told, and what becomes two transforms."""

from __future__ import annotations

import math

#: The largest prime of which a kernel makes a stage.
LARGEST_PRIME = 31


def factors(size: int) -> list[int]:
    """The primes of a number in ascending order."""
    found, prime = [], 2
    while size > 1:
        while size % prime == 0:
            found.append(prime)
            size //= prime
        prime += 1 if prime * prime <= size else max(size - prime, 1)
    return found


def is_smooth(size: int) -> bool:
    """Whether a kernel has stages for it."""
    return max(factors(size), default=1) <= LARGEST_PRIME


def radices(size: int) -> tuple[int, ...]:
    """The stages of a transform: fours and an eight or two, then odd primes."""
    primes = factors(size)
    twos, odd = primes.count(2), [f for f in primes if f > 2]
    first = [8] if twos % 2 and twos > 1 else [2] * (twos % 2)
    return (*first, *[4] * ((twos - (first == [8]) * 3) // 2), *odd) or (1,)


#: Rows that are too few for the lanes of a vector, and numbers that are worth two transforms instead, or need them.
_FEW, _WORTH, _MANY = 8, 256, 8192


def divided(size: int, rows: int) -> tuple[int, int] | None:
    """n and m, of which a transform of n m numbers of a row is made, so that those of its parts stand side by side; or None.

    Of a matrix of n rows the transforms of columns, and then of rows, with turns in between (Bailey, "FFTs in external or
    hierarchical memory", 1990).
    """
    if size < _WORTH or (rows >= _FEW and size <= _MANY):
        return None
    best = min((n for n in range(2, math.isqrt(size) + 1) if size % n == 0), key=lambda n: size // n - n, default=1)
    return (best, size // best) if best >= _FEW else None


#: What divides the sides of a matrix that is a row, so that vectors are full, and the fewest and the most of its elements.
_SIDE, _FEWEST, _MOST = 8, 192, 8192


def matrix(size: int, rows: int) -> tuple[int, int] | None:
    """Rows and columns of the matrix that a row of so many complex numbers is where each row is transformed by itself; or None.

    Where vectors would not be full, several rows side by side take less time.
    """
    if size % _SIDE**2 or not _FEWEST <= size <= _MOST or not is_smooth(size) or (rows < _FEW and size >= _WORTH):
        return None
    n = max(n for n in range(_SIDE, math.isqrt(size) + 1, _SIDE) if size % (n * _SIDE) == 0)
    return n, size // n


def convolved(least: int) -> int:
    """A number of at least so many that has short stages: a power of two, or 3, 5, 9 or 15 times one."""
    return min(f << max(0, math.ceil(math.log2(least / f))) for f in (1, 3, 5, 9, 15))
