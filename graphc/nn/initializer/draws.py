"""Random numbers bit for bit those of MindSpore 2.10: counters through Philox, then the distributions."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from graphc import dispatch
from graphc.debug import cpus
from graphc.errors import ArgumentValueError, user_loc
from graphc.nn.initializer.quantiles import normal_quantile
from graphc.ops.tensor.tensor import Array
from graphc.validation.unused_arguments import once

Shape = tuple[int, ...]

_LOW = np.uint64(0xFFFFFFFF)

_HALF = np.uint64(32)

_CHUNK = 1 << 16  # Numbers made at once: their 64-bit products stay in the cache.


def philox(seed: int, start: int, count: int) -> Array:
    """uint32[count]: the numbers from `start` on of the stream of a seed; both must be multiples of 4."""
    low, high = seed & 0xFFFFFFFF, seed >> 32
    block = np.arange(start // 4, (start + count) // 4, dtype=np.uint64)
    c0, c1 = block & _LOW, block >> _HALF
    c2, c3 = np.full_like(block, low), np.full_like(block, high)
    key0, key1 = low, high
    for _ in range(10):
        p, q = c0 * np.uint64(0xD2511F53), c2 * np.uint64(0xCD9E8D57)
        c0, c1, c2, c3 = (
            (q >> _HALF) ^ c1 ^ np.uint64(key0),
            q & _LOW,
            (p >> _HALF) ^ c3 ^ np.uint64(key1),
            p & _LOW,
        )
        key0, key1 = (key0 + 0x9E3779B9) & 0xFFFFFFFF, (key1 + 0xBB67AE85) & 0xFFFFFFFF
    return np.stack([c0, c1, c2, c3], axis=1).astype(np.uint32).reshape(-1)


def _draw(shape: Shape, transform: Callable[[Array], Array]) -> Array:
    """float32 numbers: `transform` of a fresh stream, piece by piece."""
    active = dispatch.recorder.get()
    if active is not None and not active.immediate:
        once(
            "the initial values of a layer are drawn once, when the Cell is compiled, not at every step",
            loc=user_loc(),
            help="make the layer in __init__, and keep it in an attribute",
        )
    seed = int(np.random.randint(1, 1 << 63, dtype=np.int64))
    size = math.prod(shape)
    made = np.empty(size, np.float32)

    def piece(start: int) -> None:
        count = min(_CHUNK, size - start)
        made[start : start + count] = transform(philox(seed, start, -(-count // 4) * 4))[:count]

    starts = range(0, size, _CHUNK)
    if len(starts) <= 1 or cpus() == 1:
        for start in starts:
            piece(start)
        return made.reshape(shape)
    # Where there are many numbers only: the import takes as long as making some.
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(min(cpus(), len(starts))) as pool:
        list(pool.map(piece, starts))
    return made.reshape(shape)


def uniform(shape: Shape, low: float, high: float) -> Array:
    """float32 uniform in [low, high): u / 2**32 * (high - low) + low, in float64 from float32 bounds."""
    a, b = float(np.float32(low)), float(np.float32(high))
    return _draw(shape, lambda u: u / 2.0**32 * (b - a) + a)


def normal(shape: Shape, mean: float, sigma: float) -> Array:
    """float32 normal numbers by the method of Box and Muller: a pair (cos, sin) from two of 23 bits."""
    m, s = float(np.float32(mean)), float(np.float32(sigma))
    two_pi = 2 * float(np.float32(3.1415926))  # Not the nearest float32 to pi, but MindSpore's.

    def transform(u: Array) -> Array:
        parts = ((u & np.uint32(0x7FFFFF)) | np.uint32(0x3F800000)).view(np.float32).astype(np.float64) - 1
        parts = np.maximum(parts, 1e-7)
        radius = np.sqrt(-2 * np.log(parts[0::2]))
        angle = two_pi * parts[1::2]
        return np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1).reshape(-1) * s + m

    return _draw(shape, transform)


def truncated_normal(shape: Shape, low: float, high: float, mean: float, sigma: float) -> Array:
    """float32 normal numbers between low and high, by inversion of the distribution function."""
    a, b, m, s = (float(np.float32(x)) for x in (low, high, mean, sigma))
    root = float(np.float32(math.sqrt(2)))  # MindSpore has it in float32, which shows in the last bits.
    p, q = (0.5 * (1 + math.erf((x - m) / s / root)) for x in (a, b))
    if not p < q:
        raise ArgumentValueError(
            f"TruncatedNormal: the interval [{low}, {high}] holds no numbers of mean {mean}, sigma {sigma}"
        )

    def transform(u: Array) -> Array:
        # The clip only keeps the inverse finite where the interval reaches into the far tails.
        inside = np.clip(u / 2.0**32 * (q - p) + p, 2.0**-1022, 1 - 2.0**-53)
        return normal_quantile(inside) * (root / math.sqrt(2)) * s + m

    return _draw(shape, transform)
