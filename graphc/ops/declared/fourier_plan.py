"""How a transform of so many numbers is divided: what its kernel is told, and what becomes two transforms."""

from __future__ import annotations

import math

#: The largest prime of which a kernel makes a stage.
LARGEST_PRIME = 31
#: Numbers whose stages the nearest cache holds together, for all lanes of a vector; so many are transformed there of more.
_NEAR, _STAGE = 128, 64


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


def radices(size: int) -> tuple[tuple[int, ...], ...]:
    """The stages of a transform: fours and an eight, then odd primes; of many numbers some stages together are one."""
    primes = factors(size)
    twos, odd = primes.count(2), [f for f in primes if f > 2]
    eights = 1 if twos % 2 and twos > 1 else 0
    stages = [8] * eights + [4] * ((twos - 3 * eights) // 2) + [2] * ((twos - 3 * eights) % 2) + odd
    if size <= _NEAR:
        return tuple((f,) for f in stages) or ((1,),)
    groups: list[list[int]] = []
    wanted = size ** (1 / math.ceil(math.log(size, _STAGE)))
    for f in stages:
        if groups and math.prod(groups[-1]) * f <= 1.5 * wanted:
            groups[-1].append(f)
        else:
            groups.append([f])
    return tuple(map(tuple, groups))
