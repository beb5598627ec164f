"""Parts of a matrix of bfloat16 or float32, copied as pairs of bfloat16: two numbers that follow each other along k.

A pair has the bits of one float, the number of the even turn in the lower half, so that tiles of pairs lie in memory as tiles of
floats do: `dpbf16ps` multiplies those of two vectors and adds what they give to one float. float32 is rounded on the way.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from graphc_codegen.errors import CodegenError
from graphc_codegen.kernels.base import LINE
from graphc_codegen.kernels.gemm.pack import Tiles, filled
from graphc_codegen.kernels.gemm.plan import Side
from graphc_codegen.kernels.microkernel import prefetch
from graphc_codegen.kernels.narrow import NarrowWriter
from graphc_codegen.kernels.transposition import FOUR, turned
from graphc_codegen.kernels.vectors import first_lanes
from graphc_codegen.writer import Writer, vec

#: Pairs of rows that are fetched ahead where turns are far apart.
_AHEAD = 2


class _Source(NamedTuple):
    """A factor of a product of k terms, as `writer` sees it: of bfloat16 if `narrow`, else of float32."""

    w: Writer
    x: Side
    k: int
    narrow: bool

    def vector(self, place: str, active: int | None = None, lanes: str = "") -> str:
        """A vector of bfloat16 from an address on: its first `active` lanes, or those that are on in a mask; others are zero."""
        w, type = self.w, "i16" if self.narrow else "float"
        if lanes:
            value = w.masked_load(place, lanes, "zeroinitializer", type)
        else:
            value = w.vload(place, active, type)
        return value if self.narrow else self._bits(value, w.lanes)

    def four(self, place: str) -> str:
        """<4 x float>: the four pairs from an address on."""
        w = self.w
        if self.narrow:
            return w.op(f"load {vec('float', FOUR)}, ptr {place}, align 2")
        value = w.op(f"load {vec('float', 2 * FOUR)}, ptr {place}, align 4")
        bits = self._bits(value, 2 * FOUR)
        return w.op(f"bitcast {vec('i16', 2 * FOUR)} {bits} to {vec('float', FOUR)}")

    def one(self, place: str, *, whole: bool) -> str:
        """A float: the pair at an address, or unless `whole` the number there and a zero."""
        w = self.w
        if self.narrow and whole:
            return w.op(f"load float, ptr {place}, align 2")
        numbers = []
        for q in range(2 if whole else 1):
            if self.narrow:
                bits = w.op(f"load i16, ptr {place}, align 2")
            else:
                value = w.op(f"load float, ptr {w.at(place, q)}, align 4")
                bits = w.op(f"bitcast bfloat {w.op(f'fptrunc float {value} to bfloat')} to i16")
            numbers.append(w.op(f"zext i16 {bits} to i32"))
        pair = numbers[0]
        if whole:
            pair = w.op(f"or i32 {pair}, {w.op(f'shl i32 {numbers[1]}, 16')}")
        return w.op(f"bitcast i32 {pair} to float")

    def _bits(self, value: str, lanes: int) -> str:
        w = self.w
        short = w.op(f"fptrunc {vec('float', lanes)} {value} to {vec('bfloat', lanes)}")
        return w.op(f"bitcast {vec('bfloat', lanes)} {short} to {vec('i16', lanes)}")


class Pairs(NamedTuple):
    """That a product multiplies pairs of bfloat16, and which of its factors are `narrow`: of that in memory, not of float32."""

    narrow: tuple[bool, bool]


def pairs_of(w: Writer, factors: Sequence[str], rounds: Sequence[int]) -> Pairs | None:
    """How to multiply pairs of bfloat16, where the processor does and both factors are that, or rounded: those that `rounds` has.

    Raises CodegenError if they are to be rounded and the processor has no pairs.
    """
    if not w.bfloat16 or not isinstance(w, NarrowWriter):
        if rounds:
            raise CodegenError("a product rounds its factors to bfloat16, for which this processor has no instructions")
        return None
    narrow = [w.holds(x) == "bfloat16" for x in factors]
    return Pairs((narrow[0], narrow[1])) if all(n or k in rounds for k, n in enumerate(narrow)) else None


def as_scalars(w: Writer, x: Side, k: int, memory: str) -> Side:
    """The pairs of a factor of bfloat16, read one by one: where they lie, or as they have been copied to `memory`."""
    if not memory:
        return Side(w.op(f"getelementptr i8, ptr {x.pointer}, i64 0"), x.size, x.along // 2, 1)
    lead = places(w, x.size)
    count = -(-k // 2)
    pack_pairs(w, x, k, (0, 0), count, Tiles(memory, -(-x.size // w.lanes), w.lanes, lead, w.lanes), filled_up=False)
    return Side(memory, x.size, 1, lead)


def places(w: Writer, size: int) -> int:
    """How many pairs of a turn are copied where there are so many: whole vectors."""
    return -(-size // w.lanes) * w.lanes


def pack_pairs(
    w: Writer,
    x: Side,
    k: int,
    at: tuple[str | int, str | int],
    count: str | int,
    to: Tiles,
    *,
    narrow: bool = True,
    filled_up: bool = True,
    inside: bool = False,
) -> None:
    """`pack`, where a turn is two of x: `at` says the row or column and the number of the first pair. x has `k` turns, and the
    last pair of an odd number has a zero. Behind the last turn there are zeros if it is to be `filled_up`; tiles that are all
    `inside` of x have no rest.
    """
    source, (i, first) = _Source(w, x, k, narrow), at
    # Pairs that are whole: all, but for the last one of all.
    whole = w.smaller(count, w.subtracted(k // 2, first)) if k % 2 else count
    if x.along == 1:
        _interleaved(source, (i, first), (whole, count), to, inside)
    else:
        _turned(source, (i, first), (whole, count), to)
    if filled_up:
        filled(w, count, to)


def _interleaved(
    s: _Source, at: tuple[str | int, str | int], counts: tuple[str | int, str | int], to: Tiles, inside: bool
) -> None:
    """Two turns after the other, each for all tiles: these lie behind each other in x."""
    w, x, (i, first), (whole_pairs, count) = s.w, s.x, at, counts
    left, source = w.subtracted(x.size, i), w.at(x.pointer, w.linear((i, 1), (first, 2 * x.deep)))
    whole = to.tiles if inside else w.smaller(w.divided(left, to.wide)[0], to.tiles)
    v, order = vec("i16", w.lanes), ", ".join(f"i32 {r}, i32 {w.lanes + r}" for r in range(w.lanes))

    def pair(a: str, b: str) -> str:
        both = w.op(f"shufflevector {v} {a}, {v} {b}, {vec('i32', 2 * w.lanes)} <{order}>")
        return w.op(f"bitcast {vec('i16', 2 * w.lanes)} {both} to {vec('float', w.lanes)}")

    def turn(z: str, rows: int) -> None:
        lines = [w.at(source, w.linear((z, 2 * x.deep), (q, x.deep))) for q in range(rows)]
        target = w.at(to.pointer, w.mul(z, to.lead))

        def tile(t: str, load: Callable[[str, int], str]) -> None:
            places, own = [w.at(line, w.mul(t, to.wide)) for line in lines], w.at(target, w.mul(t, to.apart))
            for place in places:
                for u in range(0, to.wide, LINE * (2 if s.narrow else 1)):
                    prefetch(w, place, w.add(2 * _AHEAD * x.deep, u))
            for u in range(0, to.wide, w.lanes):
                both = [load(w.at(place, u), u) for place in places]
                w.vstore(pair(both[0], both[1] if rows == 2 else "zeroinitializer"), w.at(own, u))

        def partly(t: str, _: list[str]) -> None:
            rest = w.subtracted(left, w.mul(t, to.wide))
            tile(t, lambda place, u: s.vector(place, lanes=first_lanes(w, w.add(rest, -u))))

        w.turns((0, whole), lambda t, _: tile(t, lambda place, u: s.vector(place, min(to.wide - u, w.lanes))))
        if not inside:
            w.turns((whole, to.tiles), partly)

    w.turns((0, whole_pairs), lambda z, _: turn(z, 2))
    if s.k % 2:
        w.turns((whole_pairs, count), lambda z, _: turn(z, 1))


def _turned(s: _Source, at: tuple[str | int, str | int], counts: tuple[str | int, str | int], to: Tiles) -> None:
    """Tile after tile, as many rows of x at a time as a vector has lanes."""
    w, x, (i, first), (whole_pairs, count) = s.w, s.x, at, counts
    squares_end = w.op(f"and i64 {whole_pairs}, {-FOUR}")

    def group(t: str | int, r: str | int, active: int) -> None:
        rows = [w.smaller(w.linear((i, 1), (t, to.wide), (r, 1), (q, 1)), x.size - 1) for q in range(active)]
        sources = [w.at(x.pointer, w.linear((row, x.along), (first, 2))) for row in rows]
        column = w.at(to.pointer, w.linear((t, to.apart), (r, 1)))

        def squares(z: str, _: list[str]) -> None:
            lines = [w.at(source, w.mul(z, 2)) for source in sources]
            _fetched(s, sources[0], z)
            # Behind a tile's rows comes the last one again.
            values = turned(w, [*lines, *lines[-1:] * (w.lanes - active)], s.four)
            for q, value in enumerate(values):
                w.vstore(value, w.at(column, w.linear((z, to.lead), (q, to.lead))), active)

        def single(z: str, whole: bool) -> None:
            for q, source in enumerate(sources):
                w.store(s.one(w.at(source, w.mul(z, 2)), whole=whole), w.at(column, w.linear((z, to.lead), (q, 1))))

        w.turns((0, squares_end), squares, step=FOUR)
        w.turns((squares_end, whole_pairs), lambda z, _: single(z, True))
        if s.k % 2:
            w.turns((whole_pairs, count), lambda z, _: single(z, False))

    def tile(t: str, _: list[str]) -> None:
        if to.lead % w.lanes:
            for r in range(0, to.lead, w.lanes):
                group(t, r, min(w.lanes, to.lead - r))
        else:
            w.repeat(-(-to.wide // w.lanes), lambda n: group(t, w.mul(n, w.lanes), w.lanes))

    w.loop(to.tiles, tile)


def _fetched(s: _Source, first: str, z: str | int) -> None:
    """Ask for the lines of the next rows, a few at a time."""
    w = s.w
    turns = 4 if s.narrow else 2
    some = w.divided(w.divided(z, FOUR)[0], turns)[1]
    for r in range(w.lanes, 2 * w.lanes, turns):
        prefetch(w, first, w.linear((some, s.x.along), (r, s.x.along), (z, 2)))
