"""Large products, block by block of C: for each part of k a thread copies what it reads of A and B into memory of its own.

The part of A stays in the second cache, a strip of the part of B in the first one; tiles read both from one line after the
other, whatever the strides. What the parts of k give is brought together in float64, which also lies in the thread's memory;
the epilogue follows when the last part is done.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from graphc_codegen.errors import CodegenError
from graphc_codegen.kernels import epilogue
from graphc_codegen.kernels.base import LINE, Params
from graphc_codegen.kernels.gemm.fetch import Rows, beside
from graphc_codegen.kernels.gemm.pack import TOGETHER, Tiles, pack, rounded_up, spare
from graphc_codegen.kernels.gemm.plan import VECTORS, Side, domain, item_size
from graphc_codegen.kernels.microkernel import Segment, contiguous, registers, splat_tile
from graphc_codegen.writer import Writer

#: Elements of a line of each matrix's memory.
_LINE = 64


class Matrices(NamedTuple):
    """The factors of one product, the address of its result with the distance of rows, and its batch index."""

    a: Side
    b: Side
    c: str
    rows: int
    batch: str | int


class _Block(NamedTuple):
    """A block of C: its first row and column, how many it has, and how many tiles and strips these are."""

    i: str | int
    j: str | int
    height: str | int
    width: str | int
    tiles: str | int
    strips: str | int


class _Memory(NamedTuple):
    """A thread's memory: the part of A in tiles, a strip of B, and the sums, tile by tile."""

    a: str
    b: str
    sums: str


class Panels:
    """How one kernel does it, told by its parameters `panels` the turns, rows and columns of a part; the columns are a multiple
    of a tile's, or all. `tall` and `wide` are the rows and columns of a tile, `lead` those of a tile of A in memory."""

    def __init__(self, w: Writer, p: Params, finish: epilogue.Finish | None) -> None:
        self.w, self.p, self.finish = w, p, finish
        self.depth, self.rows, self.columns = p["panels"]
        self.tall, self.wide = tile_rows(self.rows, registers(w.floats) // VECTORS), VECTORS * w.lanes
        self.lead = -(-self.tall // 4) * 4
        tiles, strips = -(-self.rows // self.tall), -(-self.columns // self.wide)
        #: Elements of a tile's sums. With a single part no tile needs its own any more when the next one comes.
        self.sums = self.tall * self.wide
        self.single = self.depth >= p["k"]
        #: Elements of a tile of A and of a strip of B.
        full = -(-self.depth // TOGETHER) * TOGETHER
        self.tile, self.strip = self.lead * full + spare(w), self.wide * full + 2 * LINE
        #: Turns whose sum is of the matrix's own dtype.
        self.turns = min(-(-int(p.get("block", full)) // TOGETHER) * TOGETHER, full)
        # In a thread's memory, counted in bytes.
        size = item_size(p)
        self.at_b = _full(size * tiles * self.tile)
        self.at_sums = self.at_b + _full(size * strips * self.strip)
        self.each = self.at_sums + _full(8 * self.sums * (1 if self.single else tiles * strips))
        if self.each * w.threads > size * p["scratch"]:
            raise CodegenError(f"scratch memory of {p['scratch']} elements has no room for the panels of a product")

    def block(self, x: Matrices, memory: str, i: str | int, j: str | int) -> None:
        """The block of C that begins at (i, j); `memory` is that of all threads."""
        w, p = self.w, self.p
        mine = w.at(memory, w.mul("%thread", self.each) if w.threads > 1 else 0, "i8")
        m = _Memory(mine, w.at(mine, self.at_b, "i8"), w.at(mine, self.at_sums, "i8"))
        height, width = (
            w.smaller(most, w.subtracted(size, at))
            for most, size, at in ((self.rows, p["m"], i), (self.columns, p["n"], j))
        )
        tiles, strips = (w.divided(w.add(n, by - 1), by)[0] for n, by in ((height, self.tall), (width, self.wide)))
        block = _Block(i, j, height, width, tiles, strips)

        def part(z: str, _: list[str]) -> None:
            count = w.smaller(self.depth, w.subtracted(p["k"], z))

            pack(w, x.b, (j, z), count, Tiles(m.b, strips, self.wide, self.wide, self.strip))
            pack(w, x.a, (i, z), count, Tiles(m.a, tiles, self.tall, self.lead, self.tile))

            def strip(s: str, _: list[str]) -> None:
                w.loop(tiles, lambda t, _: self._tile(x, m, block, (t, s, z), count))

            w.loop(strips, strip)

        w.loop(p["k"], part, step=self.depth)

    def _tile(self, x: Matrices, m: _Memory, block: _Block, at: tuple[str, str, str], count: str | int) -> None:
        """Multiply a tile of A by a strip, and add it to the sums; after the last part finish it."""
        w, (t, s, z) = self.w, at
        a, b = w.at(m.a, w.mul(t, self.tile)), w.at(m.b, w.mul(s, self.strip))
        number = 0 if self.single else w.linear((s, -(-self.rows // self.tall)), (t, 1))
        first = w.at(m.sums, w.mul(number, self.sums), "double")
        places = [w.at(first, n * w.lanes, "double") for n in range(self.tall * VECTORS)]

        def clear() -> None:
            for place in places:
                w.vstore("zeroinitializer", place, type="double")

        def turns(begin: str | int, some: str | int) -> None:
            taps = tuple((n * self.lead, n * self.wide) for n in range(TOGETHER))
            loops = w.op(f"lshr exact i64 {rounded_up(w, some)}, {TOGETHER.bit_length() - 1}")
            fetch = self._fetch(x, m, block, at)
            segment = Segment(loops, TOGETHER * self.lead, TOGETHER * self.wide, taps, beside=fetch)
            left, right = w.at(a, w.mul(begin, self.lead)), w.at(b, w.mul(begin, self.wide))
            acc = splat_tile(w, left, right, range(self.tall), contiguous([w.lanes] * VECTORS, w.lanes), (), (segment,))
            for value, place in zip(acc, places, strict=True):
                if w.element != "double":
                    value = w.convert("fpext", value, "float", "double")
                w.vstore(w.binary("fadd", w.vload(place, type="double"), value, "double"), place, type="double")

        if self.single:
            clear()
        else:
            w.when(w.op(f"icmp eq i64 {z}, 0"), clear)
        if self.turns >= self.depth:
            turns(0, count)
        else:
            w.loop(count, lambda n, _: turns(n, w.smaller(self.turns, w.subtracted(count, n))), step=self.turns)
        if self.single:
            self._finished(x, first, block, t, s)
        else:
            last = w.op(f"icmp sge i64 {w.add(z, self.depth)}, {self.p['k']}")
            w.when(last, lambda: self._finished(x, first, block, t, s))

    def _fetch(
        self, x: Matrices, m: _Memory, block: _Block, at: tuple[str, str, str]
    ) -> Callable[[str | int], None] | None:
        """Beside the turns of a tile its share of the next strip is fetched, and the sums of the next tile."""
        w, (t, s, _) = self.w, at
        tiles = -(-self.rows // self.tall)
        wanted = []
        if self.single:  # A tile's own part of C.
            place = w.linear((w.add(block.i, w.mul(t, self.tall)), x.rows), (w.add(block.j, w.mul(s, self.wide)), 1))
            wanted.append(Rows(x.c, place, x.rows, self.wide))
        else:
            floats = self.sums * 8 // item_size(self.p)
            line = self.wide * 8 // item_size(self.p)
            wanted.append(Rows(m.sums, w.mul(w.linear((s, tiles), (t, 1), (1, 1)), floats), line, line))
        return beside(w, wanted, self.tall, self.turns // TOGETHER)

    def _finished(self, x: Matrices, sums: str, block: _Block, t: str, s: str) -> None:
        """Round the sums of a tile, apply the epilogue, and store what belongs to C."""
        w, n = self.w, self.p["n"]
        i, j = w.mul(t, self.tall), w.mul(s, self.wide)
        rows = w.smaller(self.tall, w.subtracted(block.height, i))
        width = w.smaller(self.wide, w.subtracted(block.width, j))
        i, j = w.add(block.i, i), w.add(block.j, j)

        def vector(r: str, e: str | int, active: int) -> None:
            value = w.vload(w.at(sums, w.linear((r, self.wide), (e, 1)), "double"), type="double")
            if w.element != "double":
                value = w.convert("fptrunc", value, "double", "float")
            row, column = w.add(i, r), w.add(j, e)
            if self.finish is not None:
                self.finish.mark([self.finish.watch(value, (x.batch, row, column), active)])
                return
            place = w.at(x.c, w.linear((row, x.rows), (column, 1)))
            if self.p["accumulate"]:
                value = w.binary("fadd", value, w.vload(place, active))
            w.vstore(value, place, active)

        full = w.mul(w.divided(width, w.lanes)[0], w.lanes)

        def row(r: str, _: list[str]) -> None:
            w.turns((0, full), lambda e, _: vector(r, e, w.lanes), step=w.lanes)
            if n % w.lanes:
                w.when(w.op(f"icmp eq i64 {w.add(j, width)}, {n}"), lambda: vector(r, full, n % w.lanes))

        w.loop(rows, row)


def tile_rows(rows: int, limit: int) -> int:
    """The rows of tiles of so many rows: a few more than there are cost less than tiles that are too low."""

    def cost(tall: int) -> int:
        return -(-rows // tall) * (2 * tall + 1)

    return min(range(limit, limit // 2, -1), key=cost)


def emit_panels(
    w: Writer,
    p: Params,
    finish: epilogue.Finish | None,
    matrices: Callable[[str | int], Matrices],
    memory: str,
) -> None:
    """Every block of every product; threads share them. `matrices` gives those of a batch index, `memory` is for all threads."""
    made = Panels(w, p, finish)
    down, across = -(-p["m"] // made.rows), -(-p["n"] // made.columns)

    def turn(index: str | int) -> None:
        rest, i = w.divided(index, down)
        batch, j = w.divided(rest, across)
        made.block(matrices(batch), memory, w.mul(i, made.rows), w.mul(j, made.columns))

    w.share(domain(p)[0] * down * across, turn, hand_out=True)


def _full(size: int) -> int:
    return -(-size // _LINE) * _LINE
