"""Which matrix products are made by AMX' registers, and what of them at a time: see `kernels.gemm.tiled`.

Those that gain by what was measured on two Emerald Rapids. Their registers multiply up to 16 times what multiply-adds do, but a
product of float32 is six of bfloat16, all is copied before, and results come by way of memory. Who else has threads on a core
takes up to three quarters of what its registers make, and a third of what multiply-adds do: what gains even then is done unless
switched off, what gains alone where it is switched on.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

#: Rows and columns of a register, and terms of one; bytes of it.
_SIDE, _TERMS, _TILE = 16, 32, 1024
#: Bytes of an element of memory.
_ITEM = 4
#: Pieces of bfloat16 that a number is split into; of two factors' pieces those count whose numbers are no more than this.
_PIECES, _LAST = {"float32": 3, "float16": 2, "bfloat16": 1}, 2
#: Products with more terms would add up too many at a time.
_MOST_TERMS = 1 << 14
#: Terms of a part, bytes of what is copied of B, and the fewest rows or columns of a block.
_DEPTH, _NEAR, _LEAST = 512, 800 << 10, 64
#: Blocks for each thread, so that all have about as much to do.
_BLOCKS = 4


class _Costs(NamedTuple):
    """Nanoseconds: of a product of registers, a piece of an element that is copied, an element of C, a call, and of a
    multiply-add of float32 in a product without registers."""

    multiply: float
    copy: float = 0.05
    finish: float = 0.1
    call: float = 600.0
    fma: float = 0.0133


#: By how the processor multiplies bfloat16: beside others on its cores, and alone there.
_COSTS = {"tiles": _Costs(27.0), "all by tiles": _Costs(8.0)}
#: Of the time without registers they may take so much.
_GAIN = 0.75
#: What a product with a triangle multiplies, where it does without registers.
_TRIANGLE = 0.6


def pieces(p: Mapping[str, Any]) -> tuple[int, int]:
    """How many pieces of bfloat16 the numbers of each factor of a product are, by its parameters."""
    stored = {k: dtype for dtype, places in p.get("halves", ()) for k in places}
    first, second = (1 if k in p.get("rounds", ()) else _PIECES[stored.get(k, "float32")] for k in (0, 1))
    return first, second


def gains(p: Mapping[str, Any], of: tuple[int, int], how: str, *, packed: bool = False) -> bool:
    """Whether a product whose factors have so many pieces takes less time by registers; of a `packed` one only A is copied.
    `how` says of bfloat16 what `Buffers` does."""
    costs = _COSTS.get(how)
    if costs is None:
        return False
    m, n, k = (int(p[name]) for name in "mnk")
    if str(p.get("dtype", "float32")) != "float32" or not 0 < k <= _MOST_TERMS:
        return False
    products = sum(i + j <= _LAST for i in range(of[0]) for j in range(of[1]))
    blocks = math.ceil(m / _SIDE) * math.ceil(n / _SIDE) * math.ceil(k / _TERMS)
    copied = k * (of[0] * m + (0 if packed else of[1] * n))
    count = batch(p)
    each = costs.multiply * products * blocks + costs.copy * copied + costs.finish * m * n
    alone = costs.fma * m * n * k * count * (_TRIANGLE if "triangle" in p else 1)
    return bool(each * count + costs.call < _GAIN * alone)


def sizes(p: Mapping[str, Any], of: tuple[int, int], threads: int) -> tuple[tuple[int, int, int], int]:
    """Terms of a part, rows and columns of a block; and the elements of memory of a thread."""
    m, n, k = (int(p[name]) for name in "mnk")
    depth = _even(k, _DEPTH, _TERMS)
    rows, columns = m, _even(n, _NEAR // (2 * of[1] * depth), 2 * _SIDE)

    def blocks() -> int:
        return batch(p) * math.ceil(m / rows) * math.ceil(n / columns)

    while threads > 1 and blocks() % threads and blocks() < _BLOCKS * threads and max(rows, columns) > _LEAST:
        if rows >= columns:
            rows = _even(m, rows - 2 * _SIDE, 2 * _SIDE)
        else:
            columns = _even(n, columns - 2 * _SIDE, 2 * _SIDE)
    units = [math.ceil(size / (2 * _SIDE)) for size in (rows, columns)]
    copied = 2 * math.ceil(depth / _TERMS) * (of[0] + units[1] * of[1])
    # Two units, what is copied, and sums where k has several parts.
    registers = 8 + copied + (4 * units[0] * units[1] if depth < k else 0)
    return (depth, rows, columns), registers * _TILE // _ITEM


def packed_sizes(p: Mapping[str, Any], of: tuple[int, int], threads: int) -> tuple[tuple[int, int, int], int]:
    """The same where B is there as a whole: a single part. Threads share columns."""
    m, n, k = (int(p[name]) for name in "mnk")
    columns = _even(n, max(math.ceil(n / threads), _LEAST), 2 * _SIDE)
    return (k, m, columns), _TILE * (8 + 2 * math.ceil(k / _TERMS) * of[0]) // _ITEM


def packed_elements(p: Mapping[str, Any], pieces: int) -> int:
    """Elements of float32 that B takes as tiles."""
    n, k = int(p["n"]), int(p["k"])
    each = min(2, math.ceil(n / _SIDE))
    units = math.ceil(n / (each * _SIDE))
    return units * each * math.ceil(k / _TERMS) * pieces * _TILE // _ITEM


def batch(p: Mapping[str, Any]) -> int:
    """How many products there are."""
    return math.prod(int(n) for n in p.get("axes", (p.get("batch", 1),)))


def _even(size: int, most: int, step: int) -> int:
    """The size of equal parts, a multiple of `step` where that is not more than all; at least one step."""
    each = math.ceil(size / math.ceil(size / max(most, step)))
    return min(size, -(-each // step) * step)
