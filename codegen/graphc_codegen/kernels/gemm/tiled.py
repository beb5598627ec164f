"""Products by AMX' registers, block by block of C: a thread copies what it reads of A and B as pieces of bfloat16 (`pieces`).

For each part of k the part of B is copied once for a block, that of A a few rows at a time, which are then multiplied by all of
B: results are written along the rows of C.
A unit of C has 32 x 32 elements in four registers, fewer at the edges; A and B have two registers each. What a unit has added up
goes to the thread's memory, where parts of k come together in float32, and from there to the epilogue.

Where pieces of infinity or of NaN come in, a sum of theirs is NaN that is not for the numbers themselves: elements that are NaN
are made again, of first pieces alone, whose products are infinite or NaN where those of the numbers are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from graphc_codegen.errors import CodegenError
from graphc_codegen.kernels import epilogue, tiles
from graphc_codegen.kernels.base import LINE, Params
from graphc_codegen.kernels.gemm.fetch import far_extras
from graphc_codegen.kernels.gemm.panels import Matrices, stored
from graphc_codegen.kernels.gemm.pieces import PIECES, TILE, Factor, Place, pack, pieces_of, terms
from graphc_codegen.kernels.gemm.plan import domain, item_size
from graphc_codegen.kernels.microkernel import prefetch
from graphc_codegen.kernels.narrow import dtype_behind
from graphc_codegen.writer import Writer, vec

#: Registers of a unit's rows and columns at most.
MOST = 2
#: Where the registers of A and of B begin; those of C are before them.
_A, _B = MOST * MOST, MOST * MOST + MOST


class Sizes(NamedTuple):
    """What a product does at a time, its parameter `tiles`: terms of a part, rows and columns of a block. All are multiples of a
    unit's, or all there are."""

    depth: int
    rows: int
    columns: int


def beside_each_other(n: int) -> int:
    """How many tiles of a factor with so many rows or columns are in a unit."""
    return min(MOST, -(-n // tiles.ROWS))


def packed_elements(p: Params) -> int:
    """Elements of float32 of the second factor of a product as tiles, all of it."""
    each = beside_each_other(p["n"])
    units, blocks = -(-p["n"] // (each * tiles.COLUMNS)), -(-p["k"] // tiles.TERMS)
    return int(units * each * blocks * PIECES[p["packed"]] * TILE // 4)


def memory(p: Params, sizes: Sizes, pieces: tuple[int, int]) -> tuple[int, int, int, int]:
    """Where in a thread's memory A, B and sums end, in bytes, behind the unit that comes first; and how much it is in all."""
    blocks = -(-sizes.depth // tiles.TERMS)
    unit = MOST * MOST * TILE
    at = [2 * unit]
    for size, count in zip((1, 0 if "packed" in p else sizes.columns), pieces, strict=True):
        at.append(at[-1] + -(-size // (MOST * tiles.ROWS)) * MOST * blocks * count * TILE)
    several = sizes.depth < p["k"]
    # With few rows or columns units are smaller, and a block has room for more of them.
    tall, wide = (beside_each_other(p[size]) for size in "mn")
    units = -(-sizes.rows // (tall * tiles.ROWS)) * -(-sizes.columns // (wide * tiles.COLUMNS))
    return at[0], at[1], at[2], at[2] + (units * unit if several else 0)


class _Unit(NamedTuple):
    """A unit of C: its first row and column, how many are left from there on, its number in the block, and that of its columns
    in what has been copied of B."""

    i: str | int
    j: str | int
    height: str | int
    width: str | int
    number: str | int
    strip: str | int


class Tiled:
    """How one kernel does it."""

    def __init__(self, w: Writer, p: Params, finish: epilogue.Finish | None, kinds: Sequence[tuple[str, bool]]) -> None:
        if not w.tiles:
            raise CodegenError("a product has the parameter `tiles`, and this processor has no such registers")
        self.w, self.p, self.finish, self.kinds = w, p, finish, kinds
        self.sizes = Sizes(*p["tiles"])
        #: Registers of the rows and of the columns of a unit.
        self.tall, self.wide = (beside_each_other(p[size]) for size in "mn")
        self.pieces = (pieces_of(*kinds[0]), pieces_of(*kinds[1]))
        #: Pairs of bfloat16 are loaded as they lie.
        self.apart = "bfloat16" not in {dtype for dtype, _ in kinds}
        self.terms = terms(*self.pieces)
        self.blocks = -(-self.sizes.depth // tiles.TERMS)
        self.single = self.sizes.depth >= p["k"]
        self.unit = MOST * MOST * TILE
        if "packed" in p and not self.single:
            raise CodegenError(
                f"a factor that is packed has {p['k']} terms in one part, not parts of {self.sizes.depth}"
            )
        self.at_a, self.at_b, self.at_sums, self.each = memory(p, self.sizes, self.pieces)
        if self.each * w.threads > item_size(p) * p["scratch"]:
            raise CodegenError(f"scratch memory of {p['scratch']} elements has no room for the tiles of a product")

    def block(self, x: Matrices, memory: str, i: str | int, j: str | int) -> None:
        """The block of C that begins at (i, j); `memory` is that of all threads."""
        w, p, sizes = self.w, self.p, self.sizes
        mine = w.at(memory, w.mul("%thread", self.each) if w.threads > 1 else 0, "i8")
        height, width = (
            w.smaller(most, w.subtracted(size, at))
            for most, size, at in ((sizes.rows, p["m"], i), (sizes.columns, p["n"], j))
        )
        a, b = (
            Factor(side, p["k"], *kind, rows=rows, apart=self.apart)
            for side, kind, rows in ((x.a, self.kinds[0], True), (x.b, self.kinds[1], False))
        )
        to_a = Place(w.at(mine, self.at_a, "i8"), self.tall, self.blocks, a.pieces)
        to_b = Place(w.at(mine, self.at_b, "i8"), self.wide, self.blocks, b.pieces)
        tall, wide = self.tall * tiles.ROWS, self.wide * tiles.COLUMNS
        if "packed" in p:  # As a whole, by `packed`.
            to_b = to_b._replace(pointer=x.b.pointer, blocks=-(-p["k"] // tiles.TERMS))
            to_b = to_b._replace(pointer=to_b.at(w, w.divided(j, wide)[0], 0))

        def part(z: str | int) -> None:
            whole = w.divided(w.smaller(sizes.depth, w.subtracted(p["k"], z)), tiles.TERMS)[0]
            last = "true" if self.single else w.op(f"icmp sge i64 {w.add(z, sizes.depth)}, {p['k']}")
            count = whole
            if p["k"] % tiles.TERMS:
                count = w.add(whole, 1 if self.single else w.op(f"zext i1 {last} to i64"))
            if "packed" not in p:
                pack(w, b, (j, z), whole, self._units(width, 1), last, to_b)

            def rows(t: str, _: list[str]) -> None:
                row = w.mul(t, tall)
                left = w.smaller(tall, w.subtracted(height, row))
                pack(w, a, (w.add(i, row), z), whole, self._units(left, 1), last, to_a)

                def unit(s: str, _: list[str]) -> None:
                    column, number = w.mul(s, wide), w.linear((t, -(-sizes.columns // wide)), (s, 1))
                    u = _Unit(w.add(i, row), w.add(j, column), left, w.subtracted(width, column), number, s)
                    self._one(x, mine, u, (to_a, to_b), (z, count, last))

                w.loop(self._units(width, self.wide), unit)

            w.loop(self._units(height, self.tall), rows)

        if self.single:
            part(0)
        else:
            w.loop(p["k"], lambda z, _: part(z), step=sizes.depth)

    def _units(self, size: str | int, each: int) -> str | int:
        return self.w.divided(self.w.add(size, each * tiles.ROWS - 1), each * tiles.ROWS)[0]

    # ---- a unit

    def _one(
        self, x: Matrices, mine: str, u: _Unit, places: tuple[Place, Place], part: tuple[str | int, str | int, str]
    ) -> None:
        """Multiply a unit, as large as it is."""
        w, p = self.w, self.p
        heights = [self.tall] + ([1] if self.tall > 1 and 0 < p["m"] % (2 * tiles.ROWS) <= tiles.ROWS else [])
        widths = [self.wide] + ([1] if self.wide > 1 and 0 < p["n"] % (2 * tiles.COLUMNS) <= tiles.COLUMNS else [])

        def sized(tall: int, wide: int) -> None:
            self._multiply(x, mine, u, places, part, (tall, wide))

        def across(tall: int) -> None:
            self._either(u.width, widths, lambda wide: sized(tall, wide))

        self._either(u.height, heights, across)
        if self.single:
            self._finished(x, mine, "", u)
            return
        sums = w.at(mine, w.linear((u.number, self.unit), (self.at_sums, 1)), "i8")
        z, _, last = part
        w.when(w.op(f"icmp eq i64 {z}, 0"), lambda: self._added(mine, sums, first=True))
        not_last = w.op(f"xor i1 {last}, true")
        w.when(w.op(f"and i1 {not_last}, {w.op(f'icmp sgt i64 {z}, 0')}"), lambda: self._added(mine, sums, first=False))
        w.when(last, lambda: self._finished(x, mine, sums, u))

    def _fetch(self, x: Matrices, u: _Unit, q: str | int) -> None:
        """Ask for what the next unit reads and writes at its end: it lies behind this one's rows. Some rows beside each block."""
        w, some = self.w, -(-self.tall * tiles.ROWS // self.blocks)
        far = [(x.c, (0, x.rows, 1)), *far_extras(self.finish)]
        for r in range(some):
            row = w.smaller(w.linear((u.i, 1), (q, some), (r, 1)), self.p["m"] - 1)
            at = (x.batch, row, w.add(u.j, self.wide * tiles.COLUMNS))
            for pointer, strides in far:
                place = w.at(pointer, w.linear(*zip(at, strides, strict=True)), inside=False)
                for v in range(0, self.wide * tiles.COLUMNS, LINE) if strides[-1] else (0,):
                    prefetch(w, place, v, write=pointer is x.c)

    def _either(self, left: str | int, sizes: Sequence[int], body: Callable[[int], None]) -> None:
        """`body` of the first size, or of the second one where no more is left than that has."""
        w = self.w
        if len(sizes) == 1 or isinstance(left, int):
            body(sizes[-1] if len(sizes) > 1 and int(left) <= tiles.ROWS else sizes[0])
            return
        few = w.op(f"icmp sle i64 {left}, {tiles.ROWS}")
        w.when(few, lambda: body(sizes[1]))
        w.when(w.op(f"xor i1 {few}, true"), lambda: body(sizes[0]))

    def _multiply(
        self, x: Matrices, mine: str, u: _Unit, places: tuple[Place, Place], part: tuple[str | int, str | int, str],
        size: tuple[int, int],
    ) -> None:  # fmt: skip
        """The product of a unit, which is left in the thread's memory."""
        w = self.w
        self._product(mine, u, places, part[1], size, self.terms, lambda q: self._fetch(x, u, q))
        if max(self.pieces) > 1:
            rows = size[0] * tiles.ROWS
            vectors = [v * tiles.COLUMNS for v in range(size[1])]
            carry = [(vec("float", w.lanes), "zeroinitializer")] * size[1]

            def added(r: str, totals: list[str]) -> list[str]:
                row = self._row(mine, r)
                return [w.binary("fadd", t, w.vload(w.at(row, v))) for t, v in zip(totals, vectors, strict=True)]

            totals = w.loop(rows, added, carry)
            total = totals[0] if len(totals) == 1 else w.binary("fadd", *totals)
            bits = w.op(f"bitcast {vec('i1', w.lanes)} {w.binary('fcmp uno', total, total)} to i{w.lanes}")
            w.when(w.op(f"icmp ne i{w.lanes} {bits}, 0"), lambda: self._again(mine, u, places, part[1], size))

    def _again(self, mine: str, u: _Unit, places: tuple[Place, Place], count: str | int, size: tuple[int, int]) -> None:
        """Put products of first pieces where a unit's are NaN."""
        w = self.w
        other = w.at(mine, self.unit, "i8")
        self._product(other, u, places, count, size, [(0, 0)])

        def row(r: str, _: list[str]) -> None:
            for v in range(size[1]):
                place = w.at(self._row(mine, r), v * tiles.COLUMNS)
                value, first = w.vload(place), w.vload(w.at(self._row(other, r), v * tiles.COLUMNS))
                w.vstore(w.select(w.binary("fcmp uno", value, value), first, value), place)

        w.loop(size[0] * tiles.ROWS, row)

    def _product(
        self, to: str, u: _Unit, places: tuple[Place, Place], count: str | int, size: tuple[int, int],
        which: Sequence[tuple[int, int]], beside: Callable[[str | int], None] | None = None,
    ) -> None:  # fmt: skip
        """Some products of pieces of a unit, added up in registers and stored; with each block of terms what is `beside` it."""
        w, (a, b), (tall, wide) = self.w, places, size
        units = [(r, s) for r in range(tall) for s in range(wide)]
        for r, s in units:
            tiles.clear(w, MOST * r + s)

        def block(q: str, _: list[str]) -> None:
            there: dict[int, int] = {}
            if beside is not None:
                beside(q)

            def loaded(place: Place, unit: str | int, first: int, piece: int, number: int) -> None:
                if there.get(first) != piece:
                    there[first] = piece
                    for n in range(number):
                        tiles.load(w, first + n, place.at(w, unit, q, piece, n))

            for i, j in which:
                loaded(a, 0, _A, i, tall)
                loaded(b, u.strip, _B, j, wide)
                for r, s in units:
                    tiles.multiply(w, MOST * r + s, _A + r, _B + s)

        w.loop(count, block)
        for r, s in units:
            tiles.store(w, MOST * r + s, w.at(self._row(to, r * tiles.ROWS), s * tiles.COLUMNS), MOST * tiles.WIDTH)

    def _row(self, unit: str, r: str | int) -> str:
        """The address of a row of a unit in memory."""
        return self.w.at(unit, self.w.mul(r, MOST * tiles.COLUMNS))

    def _added(self, mine: str, sums: str, *, first: bool) -> None:
        """Add a unit to its sums, or begin with it."""
        w = self.w

        def row(r: str, _: list[str]) -> None:
            for v in range(0, self.wide * tiles.COLUMNS, w.lanes):
                value, place = w.vload(w.at(self._row(mine, r), v)), w.at(self._row(sums, r), v)
                w.vstore(value if first else w.binary("fadd", w.vload(place), value), place)

        w.loop(self.tall * tiles.ROWS, row)

    # ---- what becomes of it

    def _finished(self, x: Matrices, mine: str, sums: str, u: _Unit) -> None:
        """Add a unit to its sums, if there are any, apply the epilogue, and store what belongs to C."""
        w, n, lanes = self.w, self.p["n"], self.w.lanes
        rows, most = w.smaller(self.tall * tiles.ROWS, u.height), self.wide * tiles.COLUMNS

        def vector(r: str, v: str | int, active: int) -> list[str]:
            value = w.vload(w.at(self._row(mine, r), v))
            if sums:
                value = w.binary("fadd", w.vload(w.at(self._row(sums, r), v)), value)
            return stored(w, self.p, self.finish, x, value, w.add(u.i, r), w.add(u.j, v), active)

        def row(r: str, vectors: Sequence[tuple[str | int, int]]) -> None:
            watched = [value for v, active in vectors for value in vector(r, v, active)]
            if self.finish is not None:
                self.finish.mark(watched)

        def all_of(count: int) -> None:
            w.loop(rows, lambda r, _: row(r, [(v, lanes) for v in range(0, count * lanes, lanes)]))

        def edge() -> None:
            """Fewer columns than a unit has: those that are left of n."""
            whole, rest = divmod(n % most, lanes)
            vectors = [(v * lanes, lanes) for v in range(whole)] + ([(whole * lanes, rest)] if rest else [])
            w.loop(rows, lambda r, _: row(r, vectors))

        if n % most == 0:
            all_of(self.wide)
        elif n < most:
            edge()
        else:
            full = w.op(f"icmp sge i64 {u.width}, {most}")
            w.when(full, lambda: all_of(self.wide))
            w.when(w.op(f"xor i1 {full}, true"), edge)


def kinds_of(w: Writer, p: Params, factors: Sequence[str]) -> list[tuple[str, bool]]:
    """What lies in memory of each factor, and whether it is rounded to bfloat16."""
    a, b = (dtype_behind(w, x) for x in factors)
    return [(dtype, k in p.get("rounds", ())) for k, dtype in enumerate((a, p.get("packed", b)))]


def emit_tiled(
    w: Writer,
    p: Params,
    finish: epilogue.Finish | None,
    matrices: Callable[[str | int], Matrices],
    memory: str,
    kinds: Sequence[tuple[str, bool]],
) -> None:
    """Every block of every product; threads share them. `matrices` gives those of a batch index, `memory` is for all threads, and
    `kinds` says of the factors what lies in memory and whether it is rounded."""
    made = Tiled(w, p, finish, kinds)
    down, across = -(-p["m"] // made.sizes.rows), -(-p["n"] // made.sizes.columns)
    tiles.configure(w)

    def turn(index: str | int) -> None:
        rest, i = w.divided(index, down)
        batch, j = w.divided(rest, across)
        made.block(matrices(batch), memory, w.mul(i, made.sizes.rows), w.mul(j, made.sizes.columns))

    w.share(domain(p)[0] * down * across, turn, hand_out=True)
    tiles.release(w)
