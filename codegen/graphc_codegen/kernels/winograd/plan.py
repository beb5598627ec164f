"""The geometry of Winograd convolutions: tiles, blocks of them, and where a thread keeps them in scratch memory."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Self

import numpy as np

from graphc_codegen.errors import CodegenError
from graphc_codegen.kernels.base import LINE, Array, Params
from graphc_codegen.kernels.conv.pixels import IN_FLIGHT
from graphc_codegen.kernels.microkernel import blocks, registers, widest
from graphc_codegen.kernels.winograd.transforms import OUT, POINTS, PRODUCTS
from graphc_codegen.writer import Writer

#: Estimated cycles to transform a vector of tiles of one channel.
TRANSFORM = 140
#: Most rows of a register tile.
_MOST_ROWS = 14
#: Vectors of a row: (first element, number of equal vectors, first lane inside the image, lanes inside, lanes).
Run = tuple[int, int, int, int, int]


def whole_lines(size: int) -> int:
    """Tile counts are multiples of a line on every machine, and arrays in scratch memory are aligned to it."""
    return -(-size // LINE) * LINE


@dataclass(frozen=True, kw_only=True)
class Blocks:
    """Images of n x ci channels to n x co, in blocks of tiles: V and M of a block, and U, have an array for each of `products`.

    Sizes are in elements. No distance is a power of two: all these arrays are written at once, which would share sets of the
    cache.
    """

    n: int
    ci: int
    co: int
    h: int
    w: int
    oh: int
    ow: int
    top: int
    left: int
    parts: int
    scratch: int
    threads: int = 1

    @classmethod
    def of(cls, p: Params, threads: int = 1) -> Self:
        names = ("n", "ci", "co", "h", "w", "oh", "ow", "top", "left", "parts", "scratch")
        return cls(**{name: p[name] for name in names}, threads=threads)

    @property
    def products(self) -> int:
        """Of a tile, for a pair of channels."""
        return PRODUCTS

    @property
    def tiles(self) -> int:
        """Tiles in a block, with those that only fill the last vector."""
        raise NotImplementedError

    @cached_property
    def regions(self) -> int:
        """Threads that work."""
        return min(self.parts, self.threads)

    @cached_property
    def u(self) -> int:
        """Distance of the matrices U."""
        return whole_lines(self.ci * self.co) + LINE

    @cached_property
    def v(self) -> int:
        return self.ci * self.tiles + LINE

    @cached_property
    def m(self) -> int:
        return self.co * self.tiles + LINE

    @cached_property
    def common(self) -> int:
        """What all threads share: U."""
        return self.products * self.u


@dataclass(frozen=True, kw_only=True)
class Sums(Blocks):
    """Of a gradient of weights: U, the sums over tiles, is each thread's own, with input channels as lanes."""

    @cached_property
    def channels(self) -> int:
        """Input channels, in whole vectors."""
        return whole_lines(self.ci)

    @cached_property
    def u(self) -> int:
        return self.co * self.channels + LINE

    @cached_property
    def common(self) -> int:
        return 0

    def sum_cycles(self, vectors: int) -> float:
        """Estimated cycles of the sums over so many vectors of tiles."""
        wide = self.channels // LINE
        products = register_tile(self.co, wide, LINE, 2)[0] * vectors * LINE + 3 * self.co * wide
        return self.products * (products + 6 * wide * vectors * LINE)


@dataclass(frozen=True, kw_only=True)
class Plan(Blocks):
    """How a call is cut into `blocks` of `rows` rows of tiles each; the last block may have fewer."""

    # ---- tiles

    @cached_property
    def shift(self) -> int:
        """Output columns before the first that the first tile has: no pixel may lie left of its second column."""
        return max(0, 1 - self.left)

    @cached_property
    def column(self) -> int:
        """The column of the image at the second column of the first tile's patch; not positive."""
        return 1 - self.left - self.shift

    @cached_property
    def across(self) -> int:
        """Tiles in a row. No pixel that matters lies at the last column of the last one's patch."""
        right = self.ow + 2 - self.left - self.w
        return -(-(self.ow + self.shift + (right < 1)) // OUT)

    @cached_property
    def down(self) -> int:
        """Rows of tiles in an image."""
        return -(-self.oh // OUT)

    # ---- blocks

    @cached_property
    def total(self) -> int:
        """Rows of tiles in all images."""
        return self.n * self.down

    @cached_property
    def rows(self) -> int:
        """Rows of tiles in a block, as many as scratch memory allows: least estimated cycles."""
        most = ((self.scratch - self.common) // self.parts - self.fixed) // self.per_tile // LINE
        choices = {min(vectors * LINE // self.across, self.total) for vectors in range(1, most + 1)} - {0}
        if not choices:
            raise CodegenError(f"scratch memory of {self.scratch} elements has no room for a row of Winograd tiles")

        def cost(rows: int) -> tuple[float, int]:
            turns = math.ceil(math.ceil(self.total / rows) / self.regions) * self.regions
            return turns * self.cycles(whole_lines(rows * self.across) // LINE), -rows

        return min(choices, key=cost)

    def cycles(self, vectors: int) -> float:
        """Estimated cycles for a block of so many vectors of tiles."""
        products = PRODUCTS * self.ci * register_tile(self.co, vectors, LINE)[0]
        return products + TRANSFORM * vectors * (self.ci + self.co)

    @cached_property
    def blocks(self) -> int:
        return -(-self.total // self.rows)

    @cached_property
    def tiles(self) -> int:
        return whole_lines(self.rows * self.across)

    def padded(self, x: Array) -> Array:
        """x with zeros around it, as far as outputs read."""
        shape = (self.n, self.ci, max(self.oh + 2, self.top + self.h), max(self.ow + 2, self.left + self.w))
        wide = np.zeros(shape, np.float32)
        wide[:, :, self.top : self.top + self.h, self.left : self.left + self.w] = x.reshape(
            self.n, self.ci, self.h, self.w
        )
        return wide

    # ---- scratch memory, in elements

    @cached_property
    def s(self) -> int:
        """Distance of the rows of S. A cache line lies before the first tile: neighbours of tiles at the ends are loaded."""
        return OUT * self.tiles + 2 * LINE

    @cached_property
    def zeros(self) -> int:
        """A row of an image."""
        return whole_lines(max(self.w, self.ow))

    @cached_property
    def per_tile(self) -> int:
        """What a tile of a block needs in V, M and S."""
        return PRODUCTS * (self.ci + self.co) + POINTS * OUT

    @cached_property
    def fixed(self) -> int:
        """What a thread needs besides."""
        return (2 * PRODUCTS + 2 * POINTS) * LINE + self.zeros

    @cached_property
    def region(self) -> int:
        """Distance of the memory of two threads."""
        return self.tiles * self.per_tile + self.fixed


def runs(total: int, lanes: int, low: int, high: int) -> list[Run]:
    """`total` elements as vectors; those in [low, high) are inside."""
    made: list[Run] = []
    for start in range(0, total, lanes):
        width = min(lanes, total - start)
        first = min(max(0, low - start), width)
        count = max(0, min(width, high - start) - first)
        if made and made[-1][2:] == (first, count, width):
            made[-1] = (made[-1][0], made[-1][1] + 1, first, count, width)
        else:
            made.append((start, 1, first, count, width))
    return made


@cache
def register_tile(rows: int, vectors: int, lanes: int, sums: int = 1) -> tuple[float, int, int]:
    """Estimated cycles per k of a product of `rows` by `vectors`, and the rows and vectors of the best register tile.

    Each element of it takes so many registers as `sums` says.
    """
    choices = []
    for wide in (v for v in range(1, 5) if vectors % v == 0):
        for limit in range(1, min(rows, _MOST_ROWS, registers(lanes) // sums) + 1):
            cut = blocks(rows, limit)
            if cut[0][2] != limit or widest(lanes, sums * limit) < wide:
                continue
            cycles = sum(n * (max(size * wide, size + wide, IN_FLIGHT) + 1) for _, n, size in cut) * (vectors // wide)
            # Another kind of block is another copy of the code.
            choices.append((cycles * (1 + 0.1 * (len(cut) - 1)), limit, wide))
    return min(choices)


@dataclass(frozen=True, slots=True)
class Memory:
    """Pointers to a thread's scratch memory; `end` is behind what `Plan` has in it."""

    v: str
    m: str
    s: str
    zeros: str
    end: str

    @classmethod
    def of(cls, w: Writer, z: Plan, scratch: str, r: str | int) -> Memory:
        v = w.at(scratch, w.linear((r, z.region), (z.common, 1)))
        m = w.at(v, PRODUCTS * z.v)
        s = w.at(m, PRODUCTS * z.m + LINE)
        zeros = w.at(s, POINTS * z.s - LINE)
        return cls(v, m, s, zeros, w.at(zeros, z.zeros))


@dataclass(frozen=True, slots=True)
class Rows:
    """A block's rows of tiles: the first one of all images', and how many there are."""

    first: str | int
    count: str | int

    @classmethod
    def of(cls, w: Writer, z: Plan, b: str | int) -> Rows:
        first = w.mul(b, z.rows)
        if z.total % z.rows == 0:
            return cls(first, z.rows)
        left = w.op(f"sub nsw i64 {z.total}, {first}")
        return cls(first, w.call("llvm.smin.i64", "i64", [("i64", left), ("i64", str(z.rows))]))

    def each(self, w: Writer, z: Plan, body: Callable[[str | int, str | int, str | int], None]) -> None:
        """`body(number in the block, image, row of tiles in the image)`"""

        def turn(i: str | int, _: object = None) -> None:
            body(i, *w.divided(w.add(self.first, i), z.down))

        if isinstance(self.count, int):
            w.repeat(self.count, turn)
        else:
            w.loop(self.count, turn)
