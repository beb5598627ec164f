"""Large products, block by block of C: for each part of k a thread copies what it reads of A and B into memory of its own.

The part of B is copied once for a block, that of A some rows at a time, which stay in the second cache while the next ones are
fetched; a strip of B stays in the first one. If all rows of A are there, strips of B are copied a few at a time, while the next
ones are fetched. Tiles read both from one line after the other, whatever the strides. What the parts of k give is added up in the
thread's memory: a part's own sum begins with zero, so that sums stay short. If these parts are still too long (`block`), the sums
of blocks are brought together in float64. The last part of a tile goes from the registers to the epilogue.

What a loop multiplies by is copied once before it, all parts of it: see `packed`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, Self

from graphc_codegen.errors import CodegenError
from graphc_codegen.kernels import epilogue
from graphc_codegen.kernels.base import LINE, Params
from graphc_codegen.kernels.gemm.fetch import Lines, Rows, Strip, beside, far_extras
from graphc_codegen.kernels.gemm.pack import TOGETHER, Tiles, pack, pack_rows, rounded_up, row_length, spare
from graphc_codegen.kernels.gemm.pairs import Pairs, pack_pairs
from graphc_codegen.kernels.gemm.plan import VECTORS, Side, domain, item_size
from graphc_codegen.kernels.microkernel import Segment, contiguous, prefetch, registers, splat_tile
from graphc_codegen.writer import Writer

#: Terms of products of which C is most, and bytes that stay in the second cache beside other ones.
_SHORT, _NEAR = 128, 1 << 18
#: Elements of a line of each matrix's memory.
_LINE = 64
#: Bytes of A that may not be near, and lines that a core asks for at once.
_FAR, _AT_ONCE = 1 << 19, 24
#: Strips of B that are copied at a time where all rows of A are there.
_GROUP = 2


class Matrices(NamedTuple):
    """The factors of one product, the address of its result with the distance of rows, and its batch index."""

    a: Side
    b: Side
    c: str
    rows: int
    batch: str | int


class _Block(NamedTuple):
    """Some rows of a block of C: the first row and column, how many it has, how many tiles and strips these are, the number of
    its first tile in the block, and how far behind its rows of A those lie that are copied next."""

    i: str | int
    j: str | int
    height: str | int
    width: str | int
    tiles: str | int
    strips: str | int
    before: str | int
    ahead: str | int = 0


class _Memory(NamedTuple):
    """A thread's memory: some rows of the part of A in tiles, the part of B in strips, the sums, tile by tile, and the zeros with
    which they begin."""

    a: str
    b: str
    sums: str
    zeros: str


class _Part(NamedTuple):
    """A part of k: its first turn, how many it has, and an i1: whether it is the last one; and the strip with which those in
    memory begin, where not all of B's part is there."""

    z: str
    turns: str | int
    last: str
    first: str | int = 0


class Strips(NamedTuple):
    """Where B is copied to: strips as wide as a tile, `apart` elements from each other, of the `columns` of a block and `depth`
    turns; one block after the other, each with all `parts` of k, if all of it is copied before.
    """

    depth: int
    columns: int
    parts: int
    wide: int
    number: int
    apart: int

    @classmethod
    def of(cls, w: Writer, depth: int, columns: int, turns: int) -> Self:
        """Of parts of so many columns, and turns, of which there are `turns` in all."""
        wide, full = VECTORS * w.lanes, -(-depth // TOGETHER) * TOGETHER
        return cls(depth, columns, -(-turns // depth), wide, -(-columns // wide), wide * full + 2 * LINE)

    def at(self, w: Writer, pointer: str, j: str | int, z: str | int) -> str:
        """The address of the part from column j and turn z on."""
        block, part = w.divided(j, self.columns)[0], w.divided(z, self.depth)[0]
        each = self.number * self.apart
        return w.at(pointer, w.linear((block, self.parts * each), (part, each)))


def strip_elements(n: int, k: int, depth: int, columns: int) -> int:
    """Elements that all parts of B take as strips, on any machine."""
    widest = 2 * LINE
    full, blocks = -(-depth // TOGETHER) * TOGETHER, -(-n // columns) * -(-k // depth)
    # The narrowest strips have four columns, and two lines more each.
    return blocks * -(-columns // widest) * widest * (full + LINE // 2)


class Panels:
    """How one kernel does it, told by its parameters `panels` the turns, rows and columns of a part, and how many rows of A are
    copied at a time; the columns are a multiple of a tile's, or all. `tall` and `wide` are the rows and columns of a tile, `lead`
    those of a tile of A in memory."""

    def __init__(self, w: Writer, p: Params, finish: epilogue.Finish | None, pairs: Pairs | None = None) -> None:
        self.w, self.p, self.finish, self.pairs = w, p, finish, pairs
        parts: tuple[int, int, int, int] = p["panels"]
        (self.depth, self.rows, self.columns, some), size = parts, item_size(p)
        #: The turns of k.
        self.k = p["k"]
        if pairs is not None:
            # Pairs are as large as floats: a part may have as many.
            self.k = -(-self.k // 2)
            self.depth = -(-self.k // -(-self.k // self.depth))
        self.tall, self.wide = tile_rows(min(self.rows, some), registers(w.floats) // VECTORS), VECTORS * w.lanes
        #: Tiles of all rows of a block, and of those that are copied at a time.
        self.tiles, self.some = -(-self.rows // self.tall), -(-some // self.tall)
        #: B, and whether it has been copied before.
        self.strips, self.packed = Strips.of(w, self.depth, self.columns, self.k), "packed" in p
        #: Elements of a tile's sums. With a single part no tile needs its own any more when the next one comes.
        self.sums = self.tall * self.wide
        self.single = self.depth >= self.k
        full = -(-self.depth // TOGETHER) * TOGETHER
        #: Whether tiles of the same rows follow each other: where C is most of what is moved, and the part of B stays near.
        self.by_rows = self.single and self.depth <= _SHORT and size * self.columns * self.depth <= _NEAR
        #: Whether a part is too long for one sum, the turns of one, and what the sums are made of.
        self.blocks = "block" in p
        block = -(-int(p.get("block", full)) // (1 if pairs is None else 2))
        self.turns = min(-(-block // TOGETHER) * TOGETHER, full) if self.blocks else full
        self.type = "double" if self.blocks else w.element
        #: Whether each strip of B is read once only, so that a few are copied at a time.
        self.grouped = self.some >= self.tiles and not self.packed and not self.by_rows
        #: Elements of a line of the cache, and how many pieces of the rows of A that are copied next a tile asks for.
        self.line = 4 * LINE // size
        self.asks, self.spread = self._asks(size)
        #: Whether tiles of A have rows, as A has, not columns: where each of few strips reads them, to turn them takes too long.
        self.lies = self.spread and not p["ta"]
        #: Elements of a tile of A and of a strip of B; and from one row or column of the tile to the next.
        self.lead = row_length(w, self.depth) if self.lies else -(-self.tall // 4) * 4
        self.tile, self.strip = self.lead * (self.tall if self.lies else full) + spare(w), self.strips.apart
        # In a thread's memory, counted in bytes.
        self.item = 8 if self.blocks else size
        self.at_b = _full(size * self.some * self.tile)
        strips = self.strips.number
        copied = 0 if self.packed else min(strips, _GROUP) if self.grouped else strips
        self.at_zeros = self.at_b + _full(size * copied * self.strip)
        self.at_sums = self.at_zeros + _full(self.item * self.sums)
        self.each = self.at_sums + _full(self.item * self.sums * (1 if self.single else self.tiles * strips))
        if self.each * w.threads > size * p["scratch"]:
            raise CodegenError(f"scratch memory of {p['scratch']} elements has no room for the panels of a product")

    def block(self, x: Matrices, memory: str, i: str | int, j: str | int) -> None:
        """The block of C that begins at (i, j); `memory` is that of all threads."""
        w, p = self.w, self.p
        mine = w.at(memory, w.mul("%thread", self.each) if w.threads > 1 else 0, "i8")
        m = _Memory(mine, *(w.at(mine, at, "i8") for at in (self.at_b, self.at_sums, self.at_zeros)))
        for place in self._places(m.zeros):
            w.vstore("zeroinitializer", place, type=self.type)
        height, width = (
            w.smaller(most, w.subtracted(size, at))
            for most, size, at in ((self.rows, p["m"], i), (self.columns, p["n"], j))
        )
        strips = w.divided(w.add(width, self.wide - 1), self.wide)[0]

        def part(z: str, _: list[str]) -> None:
            count = w.smaller(self.depth, w.subtracted(self.k, z))
            last = w.op(f"icmp sge i64 {w.add(z, self.depth)}, {self.k}")
            if self.grouped:
                self._by_groups(
                    x, m, _Block(i, j, height, width, self._tiles(height), strips, 0), _Part(z, count, last)
                )
                return
            b = self.strips.at(w, x.b.pointer, j, z) if self.packed else m.b
            if not self.packed:
                self._pack(1, x.b, (j, z), count, Tiles(b, strips, self.wide, self.wide, self.strip))

            def rows(r: str | int) -> None:
                begin = w.mul(r, self.some * self.tall)
                left = w.smaller(self.some * self.tall, w.subtracted(height, begin))
                tiles, ahead = self._tiles(left), self._ahead(x.a, begin, left, height)
                block = _Block(w.add(i, begin), j, left, width, tiles, strips, w.mul(r, self.some), ahead)
                self._pack(0, x.a, (block.i, z), count, Tiles(m.a, tiles, self.tall, self.lead, self.tile))

                def tile(t: str, s: str) -> None:
                    self._tile(x, m._replace(b=b), block, (t, s), _Part(z, count, last))

                if self.by_rows:
                    w.loop(tiles, lambda t, _: w.loop(strips, lambda s, _: tile(t, s)) and None)
                else:
                    w.loop(strips, lambda s, _: w.loop(tiles, lambda t, _: tile(t, s)) and None)

            if self.some >= self.tiles:
                rows(0)
            else:
                w.loop(
                    w.divided(w.add(height, self.some * self.tall - 1), self.some * self.tall)[0], lambda r, _: rows(r)
                )

        w.loop(self.k, part, step=self.depth)

    def _tiles(self, rows: str | int) -> str | int:
        return self.w.divided(self.w.add(rows, self.tall - 1), self.tall)[0]

    def _by_groups(self, x: Matrices, m: _Memory, block: _Block, part: _Part) -> None:
        """A part of k where all rows of A are copied: some strips of B at a time, which stay near until they are multiplied."""
        w = self.w
        self._pack(0, x.a, (block.i, part.z), part.turns, Tiles(m.a, block.tiles, self.tall, self.lead, self.tile))

        def group(first: str, _: list[str]) -> None:
            some = w.smaller(_GROUP, w.subtracted(block.strips, first))
            column = w.add(block.j, w.mul(first, self.wide))
            self._pack(1, x.b, (column, part.z), part.turns, Tiles(m.b, some, self.wide, self.wide, self.strip))
            of = part._replace(first=first)

            def tile(t: str, s: str) -> None:
                self._tile(x, m, block, (t, w.add(first, s)), of)

            w.loop(some, lambda s, _: w.loop(block.tiles, lambda t, _: tile(t, s)) and None)

        w.loop(block.strips, group, step=_GROUP)

    def _pack(self, operand: int, x: Side, at: tuple[str | int, str | int], count: str | int, to: Tiles) -> None:
        """Copy a part of A or B, in a stage: other products have factors of the same size."""

        def copied(w: Writer, pointers: Sequence[str], numbers: Sequence[str | int]) -> None:
            (source, target), (i, z, turns, tiles) = pointers, numbers
            side, places = x._replace(pointer=source), to._replace(pointer=target, tiles=tiles)
            if operand == 0 and self.lies:
                pack_rows(w, side, (i, z), turns, places)
            elif self.pairs is None:
                pack(w, side, (i, z), turns, places)
            else:
                pack_pairs(w, side, self.p["k"], (i, z), turns, places, narrow=self.pairs.narrow[operand])

        # Numbers that are known are passed as others are, so that it is one stage wherever the part begins.
        self.w.stage([x.pointer, to.pointer], [*map(str, (*at, count, to.tiles))], copied)

    def _places(self, first: str) -> list[str]:
        """Where the vectors of a tile's sums lie."""
        return [self.w.at(first, n * self.w.lanes, self.type) for n in range(self.tall * VECTORS)]

    def _tile(self, x: Matrices, m: _Memory, block: _Block, at: tuple[str, str | int], part: _Part) -> None:
        """Multiply a tile of A by a strip, and add it to the sums; after the last part finish it."""
        w, (t, s) = self.w, at
        number = 0 if self.single else w.linear((s, self.tiles), (block.before, 1), (t, 1))
        sums = w.at(m.sums, w.mul(number, self.sums), self.type)
        fetch = self._fetch(x, m, block, at, part)
        if self.asks:
            self._ask(x.a, block, at, part)
        if self.blocks:
            self._in_blocks(m, at, part, sums, fetch)
            w.when(part.last, lambda: self._finished(x, sums, block, t, s))
            return
        acc = self._multiplied(m, at, part, (0, part.turns), fetch)
        if not self.single:
            first = w.op(f"icmp eq i64 {part.z}, 0")
            before = w.op(f"select i1 {first}, ptr {m.zeros}, ptr {sums}")
            acc = [w.binary("fadd", w.vload(p), value) for p, value in zip(self._places(before), acc, strict=True)]
        i, j = w.mul(t, self.tall), w.mul(s, self.wide)
        whole = w.op(f"icmp sge i64 {w.subtracted(block.height, i)}, {self.tall}")
        whole = w.op(f"and i1 {whole}, {w.op(f'icmp sge i64 {w.subtracted(block.width, j)}, {self.wide}')}")
        at_once = w.op(f"and i1 {part.last}, {whole}")

        def store() -> None:
            for value, place in zip(acc, self._places(sums), strict=True):
                w.vstore(value, place)
            w.when(part.last, lambda: self._finished(x, sums, block, t, s))

        w.when(at_once, lambda: self._finish_whole(x, acc, w.add(block.i, i), w.add(block.j, j)))
        w.when(w.op(f"xor i1 {at_once}, true"), store)

    def _multiplied(
        self,
        m: _Memory,
        at: tuple[str, str | int],
        part: _Part,
        span: tuple[str | int, str | int],
        fetch: Callable[[str | int], None] | None,
    ) -> list[str]:
        """The product of a tile of A and a strip, from a turn on so many."""
        w, (t, s), (begin, turns) = self.w, at, span
        a, b = w.at(m.a, w.mul(t, self.tile)), w.at(m.b, w.mul(w.subtracted(s, part.first), self.strip))
        row, turn = (self.lead, 1) if self.lies else (1, self.lead)
        taps = tuple((n * turn, n * self.wide) for n in range(TOGETHER))
        loops = w.op(f"lshr exact i64 {rounded_up(w, turns)}, {TOGETHER.bit_length() - 1}")
        segment = Segment(loops, TOGETHER * turn, TOGETHER * self.wide, taps, beside=fetch)
        left, right = w.at(a, w.mul(begin, turn)), w.at(b, w.mul(begin, self.wide))
        vectors, pairs = contiguous([w.lanes] * VECTORS, w.lanes), self.pairs is not None
        rows = [r * row for r in range(self.tall)]
        return splat_tile(w, left, right, rows, vectors, (), (segment,), pairs=pairs)

    def _in_blocks(
        self, m: _Memory, at: tuple[str, str | int], part: _Part, sums: str, fetch: Callable[[str | int], None] | None
    ) -> None:
        """Add a part to the sums, some turns at a time."""
        w, places = self.w, self._places(sums)

        def clear() -> None:
            for place in places:
                w.vstore("zeroinitializer", place, type=self.type)

        def turns(begin: str | int, some: str | int) -> None:
            for value, place in zip(self._multiplied(m, at, part, (begin, some), fetch), places, strict=True):
                value = w.convert("fpext", value, w.element, self.type)
                w.vstore(w.binary("fadd", w.vload(place, type=self.type), value, self.type), place, type=self.type)

        w.when(w.op(f"icmp eq i64 {part.z}, 0"), clear)
        w.loop(part.turns, lambda n, _: turns(n, w.smaller(self.turns, w.subtracted(part.turns, n))), step=self.turns)

    def _fetch(
        self, x: Matrices, m: _Memory, block: _Block, at: tuple[str, str | int], part: _Part
    ) -> Callable[[str | int], None] | None:
        """Beside the turns of a tile its share of the next strips is fetched, and its part of C or the sums of the next tile."""
        w, (t, s) = self.w, at
        wanted = []
        if self.single:  # A tile's own part of C, and of what its epilogue reads.
            row, column = w.add(block.i, w.mul(t, self.tall)), w.add(block.j, w.mul(s, self.wide))
            wanted.append(Rows(x.c, w.linear((row, x.rows), (column, 1)), x.rows, self.wide))
            for pointer, (outer, lead, step) in far_extras(self.finish):
                wanted.append(Rows(pointer, w.linear((x.batch, outer), (row, lead), (column, step)), lead, self.wide))
        else:
            line = self.wide * self.item // item_size(self.p)
            next_one = w.linear((s, self.tiles), (block.before, 1), (t, 1), (1, 1))
            wanted.append(Rows(m.sums, w.mul(next_one, self.tall * line), line, line))
        coming: Strip | Lines | None = None
        if self.grouped:
            coming = self._coming(x, block, at, part)
        elif self.spread:
            coming = self._rows_coming(x.a, block, at, part)
        return beside(w, wanted, self.tall, self.turns // TOGETHER, coming)

    def _coming(self, x: Matrices, block: _Block, at: tuple[str, str | int], part: _Part) -> Strip:
        """A tile's share of what is copied next: more strips, or behind the last one the first one's next turns."""
        w, (t, s), terms = self.w, at, 1 if self.pairs is None else 2
        beyond, depth = w.add(part.first, _GROUP), self.depth * terms
        over = w.op(f"icmp sge i64 {beyond}, {block.strips}")
        ahead = w.mul(w.mul(beyond, self.wide), x.b.along)
        ahead = w.op(f"select i1 {over}, i64 {depth * x.b.deep}, i64 {ahead}")
        first = w.linear((block.j, x.b.along), (part.z, terms * x.b.deep), (ahead, 1))
        start, columns = w.linear((w.subtracted(s, part.first), self.tiles), (t, 1)), _GROUP * self.wide
        return Strip(x.b.pointer, first, depth, columns, x.b.deep, x.b.along, start, 1, _GROUP * self.tiles, cache=2)

    def _number(self, t: str, s: str | int) -> str | int:
        """The number of a tile among those of the same rows of A that are copied."""
        return self.w.linear((t, self.strips.number), (s, 1)) if self.by_rows else self.w.linear((s, self.some), (t, 1))

    def _rows_coming(self, a: Side, block: _Block, at: tuple[str, str | int], part: _Part) -> Lines:
        """A tile's share of the rows of A that are copied next, as they lie."""
        w, rows = self.w, self.some * self.tall
        first = w.linear((block.i, a.along), (part.z, a.deep), (block.ahead, 1))
        count, size, lead = (self.depth, rows, a.deep) if a.along == 1 else (rows, self.depth, a.along)
        lines = -(-size // self.line)
        share = -(-count * lines // (self.some * self.strips.number))
        start, each = w.mul(self._number(*at), share), -(-share // (self.turns // TOGETHER))
        return Lines(a.pointer, first, lines, self.line, lead, start, each)

    def _ahead(self, a: Side, begin: str | int, rows: str | int, height: str | int) -> str:
        """How far behind some rows of A, those of a block from `begin` on, lie those that are copied next: behind the last ones
        the first ones' next turns."""
        w = self.w
        over = w.op(f"icmp sge i64 {w.add(begin, rows)}, {height}")
        back = w.add(w.mul(begin, -a.along), self.depth * a.deep)
        return w.op(f"select i1 {over}, i64 {back}, i64 {self.some * self.tall * a.along}")

    def _asks(self, size: int) -> tuple[int, bool]:
        """How many pieces of A each tile asks for, of elements of so many bytes: some lines of as many rows as a tile has, or all
        of one turn; and whether it does so beside its turns, as a core would wait for so many lines at once. None where A is
        near."""
        if self.pairs is not None or self.grouped or size * self.p["m"] * self.k < _FAR:
            return 0, False
        lines = -(-self.some * self.tall // self.line) if self.p["ta"] else self.tall
        each = -(-self._pieces() // (self.some * self.strips.number))
        return (each, False) if each * lines <= _AT_ONCE else (0, self.w.floats >= LINE)

    def _pieces(self) -> int:
        return self.depth if self.p["ta"] else self.some * -(-self.depth // self.line)

    def _ask(self, a: Side, block: _Block, at: tuple[str, str | int], part: _Part) -> None:
        """Fetch a tile's share of the rows of A that are copied next."""
        w, (t, s) = self.w, at
        first = w.linear((block.i, a.along), (part.z, a.deep), (block.ahead, 1))
        start = w.mul(self._number(t, s), self.asks)

        def lines(piece: str | int) -> list[str | int]:
            if a.along == 1:
                across = range(0, self.some * self.tall, self.line)
                return [w.linear((first, 1), (piece, a.deep), (column, 1)) for column in across]
            line, tile = w.divided(piece, self.some)
            corner = w.linear((first, 1), (line, self.line), (tile, self.tall * a.along))
            return [w.add(corner, row * a.along) for row in range(self.tall)]

        def pieces() -> None:
            for place in [place for k in range(self.asks) for place in lines(w.add(start, k))]:
                prefetch(w, a.pointer, place, cache=2)

        w.when(w.op(f"icmp slt i64 {start}, {self._pieces()}"), pieces)

    def _finish_whole(self, x: Matrices, acc: list[str], i: str | int, j: str | int) -> None:
        """Apply the epilogue to a whole tile in registers, and store it."""
        w, watched = self.w, []
        for index, value in enumerate(acc):
            r, u = divmod(index, VECTORS)
            row, column = w.add(i, r), w.add(j, u * w.lanes)
            watched += stored(w, self.p, self.finish, x, value, row, column, w.lanes)
        if self.finish is not None:
            self.finish.mark(watched)

    def _finished(self, x: Matrices, sums: str, block: _Block, t: str, s: str | int) -> None:
        """Round the sums of a tile, apply the epilogue, and store what belongs to C."""
        w, n = self.w, self.p["n"]
        i, j = w.mul(t, self.tall), w.mul(s, self.wide)
        rows = w.smaller(self.tall, w.subtracted(block.height, i))
        width = w.smaller(self.wide, w.subtracted(block.width, j))
        i, j = w.add(block.i, i), w.add(block.j, j)

        def vector(r: str, e: str | int, active: int) -> None:
            value = w.vload(w.at(sums, w.linear((r, self.wide), (e, 1)), self.type), type=self.type)
            if self.type != w.element:
                value = w.convert("fptrunc", value, self.type, w.element)
            watched = stored(w, self.p, self.finish, x, value, w.add(i, r), w.add(j, e), active)
            if self.finish is not None:
                self.finish.mark(watched)

        full = w.mul(w.divided(width, w.lanes)[0], w.lanes)

        def row(r: str, _: list[str]) -> None:
            w.turns((0, full), lambda e, _: vector(r, e, w.lanes), step=w.lanes)
            if n % w.lanes:
                w.when(w.op(f"icmp eq i64 {w.add(j, width)}, {n}"), lambda: vector(r, full, n % w.lanes))

        w.loop(rows, row)


def stored(
    w: Writer, p: Params, finish: epilogue.Finish | None, x: Matrices, value: str, row: str | int, column: str | int,
    active: int,
) -> list[str]:  # fmt: skip
    """Store a vector of C, or what the epilogue makes of it; what there is to mark."""
    if finish is not None:
        return [finish.watch(value, (x.batch, row, column), active)]
    place = w.at(x.c, w.linear((row, x.rows), (column, 1)))
    if p["accumulate"]:
        value = w.binary("fadd", value, w.vload(place, active))
    w.vstore(value, place, active)
    return []


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
    pairs: Pairs | None = None,
) -> None:
    """Every block of every product; threads share them. `matrices` gives those of a batch index, `memory` is for all threads."""
    made = Panels(w, p, finish, pairs)
    down, across = -(-p["m"] // made.rows), -(-p["n"] // made.columns)

    def turn(index: str | int) -> None:
        rest, i = w.divided(index, down)
        batch, j = w.divided(rest, across)
        made.block(matrices(batch), memory, w.mul(i, made.rows), w.mul(j, made.columns))

    w.share(domain(p)[0] * down * across, turn, hand_out=True)


def _full(size: int) -> int:
    return -(-size // _LINE) * _LINE
