"""Where the operands of attention lie, and into which blocks it is cut."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from graphc_codegen.kernels.base import Array, Operand, Params
from graphc_codegen.kernels.gemm.plan import VECTORS, View
from graphc_codegen.kernels.microkernel import registers

#: The most keys of a block: what a strip of queries makes of them stays in the first cache.
_KEYS = 128
#: The most queries of a block: for so many are keys and values read once from far away; and the most elements of a panel of them,
#: half of the first cache.
_QUERIES, _PANEL = 64, 1 << 12
#: The random bits of an element (`graphc.ops.declared.random`): rounds of shift right, multiply.
ROUND: tuple[tuple[int, int], ...] = ((16, 0x21F0AAAD), (15, 0x735A2D97), (15, 1))


class Cut(NamedTuple):
    """Keys go in tiles of `rows`, `tiles` of them and `rest` more; blocks have `most` tiles, the last one the rest, too.

    Queries go in strips of VECTORS vectors, `strips` of which are a block of `queries`; there are `blocks` blocks, the last of
    which has only `tail` queries, if that is not zero.
    """

    rows: int
    tiles: int
    rest: int
    most: int
    strips: int
    wide: int
    queries: int
    blocks: int
    tail: int

    @property
    def keys(self) -> int:
        """The most keys of a block."""
        return self.rows * min(self.most, self.tiles) + self.rest

    @property
    def last(self) -> int:
        """The number of the last block of keys."""
        return -(-self.tiles // self.most) - 1


def cut(p: Params, lanes: int, floats: int) -> Cut:
    """The blocks for vectors of so many elements, which as floats are so many."""
    wide, limit = VECTORS * lanes, min(registers(floats) // VECTORS, p["s"])
    even = next((n for n in range(limit, 3 * limit // 4, -1) if p["s"] % n == 0), limit)
    tiles, rest = divmod(p["s"], even)
    most = min(_QUERIES, _PANEL // max(p["d"], p["e"]))
    strips = min(max(1, most // wide), -(-p["l"] // wide))
    queries = strips * wide
    blocks, tail = -(-p["l"] // queries), p["l"] % queries
    return Cut(even, tiles, rest, max(1, _KEYS // even), strips, wide, queries, blocks, tail)


# ---- operands


def dtype_of(p: Params) -> str:
    return str(p.get("dtype", "float32"))


def shapes(p: Params) -> dict[str, tuple[int, int]]:
    """Rows and columns of each operand that has matrices."""
    q, k, v, y = (p["l"], p["d"]), (p["s"], p["d"]), (p["s"], p["e"]), (p["l"], p["e"])
    return {"q": q, "k": k, "v": v, "y": y, "dy": y, "dq": q, "dk": k, "dv": v}


def view(p: Params, name: str) -> View:
    """Where the matrices of an operand lie; contiguous unless a parameter of its name says otherwise."""
    rows, columns = shapes(p)[name]
    axes: tuple[int, ...] = p["axes"]
    if name in p:
        size, offset, lead, *strides = p[name]
        return View(size, offset, lead, tuple(strides))
    strides = [rows * columns * math.prod(axes[i + 1 :]) for i in range(len(axes))]
    return View(rows * columns * math.prod(axes), 0, columns, tuple(strides))


def mask_size(p: Params, strides: tuple[int, ...]) -> int:
    """Elements of a mask with such strides along axes, queries and keys."""
    sizes = (*p["axes"], p["l"], p["s"])
    return 1 + int(sum((n - 1) * s for n, s in zip(sizes, strides, strict=True)))


def batch(p: Params) -> int:
    axes: tuple[int, ...] = p["axes"]
    return math.prod(axes)


def read(p: Params) -> list[Operand]:
    """The operands that both directions read first."""
    dtype = dtype_of(p)
    made = [Operand(dtype, view(p, name).size, "in") for name in "qkv"]
    made += [Operand(dtype, mask_size(p, strides), "in") for strides in p["masks"]]
    return made + [Operand("int64", 1, "in")] * dropped(p)


def dropped(p: Params) -> bool:
    """Whether shares are dropped, with a key of random bits among the operands."""
    return bool(p["keep"] < 1)


# ---- in NumPy


def index(p: Params, name: str) -> Array:
    """The number of each element of an operand, [axes, rows, columns]."""
    seen = view(p, name)
    return _numbers((*p["axes"], *shapes(p)[name]), (*seen.strides, seen.lead, 1)) + seen.offset


def _numbers(sizes: tuple[int, ...], strides: tuple[int, ...]) -> Array:
    made = np.zeros((), np.int64)
    for count, stride in zip(sizes, strides, strict=True):
        made = made[..., None] + stride * np.arange(count)
    return made


def scores(p: Params, q: Array, k: Array, masks: tuple[Array, ...]) -> Array:
    """[axes, l, s] of matrices, masked."""
    made = np.matmul(q, k.swapaxes(-1, -2)) * q.dtype.type(p["scale"])
    for strides, mask in zip(p["masks"], masks, strict=True):
        made = made + mask[_numbers((*p["axes"], p["l"], p["s"]), strides)]
    if p["ahead"] >= 0:
        seen = np.arange(p["s"]) <= np.arange(p["l"])[:, None] + p["ahead"]
        made = np.where(seen, made, -np.inf)
    return np.asarray(made)


def kept(p: Params, key: Array) -> Array:
    """bool [axes, l, s]: which shares are not dropped; the numbers of `RandomUniform`."""
    bits, shape = int(key[0]), (*p["axes"], p["l"], p["s"])
    x = np.arange(math.prod(shape)).astype(np.uint32).reshape(shape) + np.uint32(bits & 0xFFFFFFFF)
    for start in (np.uint32(0), np.uint32(bits >> 32 & 0xFFFFFFFF)):
        x = x ^ start
        for shift, factor in ROUND:
            x = (x ^ (x >> np.uint32(shift))) * np.uint32(factor)
    return np.asarray(x >> np.uint32(8) < threshold(p))


def threshold(p: Params) -> int:
    """Random numbers of 24 bits below this keep a share."""
    return math.ceil(float(np.float32(p["keep"])) * 2.0**24)
