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
from graphc_codegen.kernels.winograd.points import FIVE, SIX, Points
from graphc_codegen.kernels.winograd.transforms import OUT
from graphc_codegen.writer import Writer

#: Estimated cycles to transform a vector of tiles of one channel to 36 points.
_TRANSFORM = 140
#: The points of F(4, taps).
_POINTS = {2: FIVE, 3: SIX}
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
    parts: int
    scratch: int
    threads: int = 1

    @property
    def products(self) -> int:
        """Of a tile, for a pair of channels."""
        raise NotImplementedError

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


@dataclass(frozen=True, slots=True)
class View:
    """How a channel of the products sees the image: tap (i, j) of output (y, x) is the pixel in row `row` + (y + i) sh and column
    `column` + (x + j) sw, with the strides sh and sw.

    A patch is `before` columns beside a tile's four, these, and others behind them.
    """

    row: int
    column: int
    before: int


@dataclass(frozen=True, kw_only=True)
class Plan(Blocks):
    """How a call is cut into `blocks` of `rows` rows of tiles each; the last block may have fewer.

    Input channels are those of the image for each of the `offsets`, first rows and columns of views of it.
    """

    taps: int
    stride: tuple[int, int]
    offsets: tuple[tuple[int, int], ...]

    @classmethod
    def of(cls, p: Params, threads: int = 1) -> Self:
        names = ("n", "ci", "co", "h", "w", "oh", "ow", "parts", "scratch")
        return cls(
            **{name: p[name] for name in names},
            threads=threads,
            taps=p["kh"],
            stride=p.get("stride", (1, 1)),
            offsets=p["views"] if "views" in p else ((-p["top"], -p["left"]),),
        )

    @cached_property
    def points(self) -> Points:
        return _POINTS[self.taps]

    @property
    def side(self) -> int:
        """Of a patch, and points along it."""
        return OUT + self.taps - 1

    @property
    def products(self) -> int:
        return self.side * self.side

    @property
    def channels_in(self) -> int:
        """Of an image."""
        return self.ci // len(self.offsets)

    # ---- tiles

    @cached_property
    def across(self) -> int:
        """Tiles in a row: one more than outputs need if some view's last patches would end within the image."""
        least = -(-self.ow // OUT)
        return least if all(self._before(column, least) is not None for _, column in self.offsets) else least + 1

    @cached_property
    def views(self) -> list[View]:
        found = [(row, column, self._before(column, self.across)) for row, column in self.offsets]
        return [View(row, column, before or 0) for row, column, before in found]

    def _before(self, first: int, across: int) -> int | None:
        """Columns of a patch before its tile's own, so that none that matters lies before the first tile or behind the last."""
        step, last = self.stride[1], OUT * (across - 1)
        for before in range(self.taps - 1, -1, -1):
            behind = range(before + OUT, self.side)
            inside = any((last + c) * step + first < self.w and last + c - (self.taps - 1) < self.ow for c in behind)
            if (before == 0 or (before - 1) * step + first < 0) and not inside:
                return before
        return None

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
        products = self.products * self.ci * register_tile(self.co, vectors, LINE)[0]
        return products + self.transform_cycles(vectors)

    def transform_cycles(self, vectors: int) -> float:
        return _TRANSFORM * self.products / 36 * vectors * (self.ci + self.co)

    @cached_property
    def blocks(self) -> int:
        return -(-self.total // self.rows)

    @cached_property
    def tiles(self) -> int:
        return whole_lines(self.rows * self.across)

    def seen(self, x: Array, tap: tuple[int, int]) -> Array:
        """The pixel that each output multiplies by a tap, of all views: [n, ci, oh, ow]."""
        image, (sh, sw) = x.reshape(self.n, self.channels_in, self.h, self.w), self.stride
        made = np.zeros((self.n, len(self.offsets), self.channels_in, self.oh, self.ow), np.float32)
        for k, (row, column) in enumerate(self.offsets):
            y, z = (sh * (np.arange(self.oh) + tap[0]) + row, sw * (np.arange(self.ow) + tap[1]) + column)
            inside = ((y >= 0) & (y < self.h))[:, None] & ((z >= 0) & (z < self.w))
            pixels = image[:, :, y.clip(0, self.h - 1)[:, None], z.clip(0, self.w - 1)]
            made[:, k] = np.where(inside, pixels, np.float32(0))
        return made.reshape(self.n, self.ci, self.oh, self.ow)

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
        return self.products * (self.ci + self.co) + self.side * OUT

    @cached_property
    def fixed(self) -> int:
        """What a thread needs besides."""
        return (2 * self.products + 2 * self.side) * LINE + self.zeros

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
        m = w.at(v, z.products * z.v)
        s = w.at(m, z.products * z.m + LINE)
        zeros = w.at(s, z.side * z.s - LINE)
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
