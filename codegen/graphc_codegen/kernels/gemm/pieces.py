"""Factors of a product as pieces of bfloat16, copied as AMX' registers want them.

A float32 is the sum of three numbers of bfloat16, exactly: the upper half of its bits, the upper half of what is left, and what
is left then; a float16 is that of two. A product is so the sum of products of pieces (`terms`), of which those that are less than
2^-21 of it are left out, on average 2^-24. Infinity has a second piece that is NaN. The split goes back to Dekker, A
floating-point technique for extending the available precision, Numerische Mathematik 18 (1971).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from graphc_codegen.dtypes import ITEMSIZE
from graphc_codegen.kernels import tiles
from graphc_codegen.kernels.base import LINE
from graphc_codegen.kernels.gemm.plan import Side
from graphc_codegen.kernels.microkernel import prefetch
from graphc_codegen.kernels.transposition import FOUR, square
from graphc_codegen.kernels.vectors import first_lanes
from graphc_codegen.writer import Writer, vec

#: Bytes of a register.
TILE = tiles.ROWS * tiles.WIDTH
#: The pieces of a number in memory.
PIECES = {"float32": 3, "float16": 2, "bfloat16": 1}
#: Bytes of a matrix that may not be in the second cache.
_FAR = 1 << 20
#: The upper halves of words.
_UPPER = "splat (i32 -65536)"
#: Pieces whose numbers are together more than this give products that are left out.
_LAST = 2


class Factor(NamedTuple):
    """A factor of a product of k terms: what lies in memory, and whether that is rounded to bfloat16. It is wanted in `rows` of
    terms, or in columns of pairs of them.

    A block of 32 terms has pairs of those that follow each other, or if they are `apart` of term r and term r + 16, which floats
    are sooner put into; for both factors the same.
    """

    x: Side
    k: int
    dtype: str
    rounds: bool
    rows: bool
    apart: bool

    @property
    def far(self) -> bool:
        """Whether it may not be near: it is larger than what is copied of it at a time."""
        return ITEMSIZE[self.dtype] * self.x.size * self.k >= _FAR

    @property
    def pieces(self) -> int:
        return pieces_of(self.dtype, self.rounds)

    @property
    def turned(self) -> bool:
        """Whether it lies in memory the other way round."""
        return self.rows == (self.x.along == 1)


class Place(NamedTuple):
    """Where a part of a factor is copied to: units of so many tiles beside each other (`each`), for each of which there is room
    for so many blocks of terms (`blocks`)."""

    pointer: str
    each: int
    blocks: int
    pieces: int

    def at(self, w: Writer, unit: str | int, block: str | int, piece: int = 0, tile: str | int = 0) -> str:
        """The address of a tile."""
        size = self.each * TILE
        number = w.linear((unit, self.blocks * self.pieces * size), (block, self.pieces * size), (tile, TILE))
        return w.at(self.pointer, w.add(number, piece * size), "i8")


def pieces_of(dtype: str, rounds: bool) -> int:
    """How many numbers of bfloat16 one in memory is split into."""
    return 1 if rounds else PIECES[dtype]


def terms(a: int, b: int) -> list[tuple[int, int]]:
    """Which pieces of a and b are multiplied, so that as few as possible are loaded anew, small ones first."""
    found = []
    for i in range(a):
        which = range(min(b, _LAST + 1 - i))
        found += [(i, j) for j in (which if i % 2 else reversed(which))]
    return found


def pack(
    w: Writer, f: Factor, at: tuple[str | int, str | int], count: str | int, tiles_: str | int, last: str, to: Place
) -> None:
    """Copy a part of a factor that begins at a row (or column) and a term: `count` whole blocks of terms, of so many tiles; in
    the `last` part also what is left of k, filled up with zeros. Rows behind the end are any.
    """

    def block(t: str | int, q: str | int, active: int) -> None:
        unit, tile = w.divided(t, to.each)
        first = (w.linear((t, tiles.ROWS), (at[0], 1)), w.linear((q, tiles.TERMS), (at[1], 1)))
        places = [to.at(w, unit, q, p, tile) for p in range(to.pieces)]
        _pack_tile(w, f, first, active, places)

    def all_of(q: str | int, active: int) -> None:
        w.loop(tiles_, lambda t, _: block(t, q, active))

    if f.x.along == 1:
        w.turns((0, count), lambda q, _: all_of(q, tiles.TERMS))
    else:
        w.loop(tiles_, lambda t, _: w.turns((0, count), lambda q, _: block(t, q, tiles.TERMS)) and None)
    if f.k % tiles.TERMS:
        w.when(last, lambda: all_of(count, f.k % tiles.TERMS))


def _pack_tile(w: Writer, f: Factor, at: tuple[str | int, str | int], active: int, to: Sequence[str]) -> None:
    """Copy a tile of `active` terms: a vector of words, which are pairs of terms, for each of its rows and pieces."""
    if f.far:
        _fetch(w, f, at)
    pairs = _pairs(w, f, at, active)
    if f.turned and f.apart:
        pairs = list(zip(*(_transposed(w, vectors) for vectors in zip(*pairs, strict=True)), strict=True))
    rows = [_words(w, f, *pair) for pair in pairs]
    for p, place in enumerate(to):
        words = [row[p] for row in rows]
        for r, word in enumerate(_transposed(w, words) if f.turned and not f.apart else words):
            w.vstore(word, w.at(place, r * tiles.WIDTH, "i8"))


def _fetch(w: Writer, f: Factor, at: tuple[str | int, str | int]) -> None:
    """Ask for the tile behind this one along the axis that is walked last: the rows there are many lines apart."""
    x, (i, z) = f.x, at
    ahead = tiles.TERMS * x.deep if x.along == 1 else tiles.ROWS * x.along
    first = w.at(x.pointer, w.linear((i, x.along), (z, x.deep)))
    for r in range(tiles.TERMS if x.along == 1 else tiles.ROWS):
        for u in range(0, tiles.ROWS if x.along == 1 else tiles.TERMS, LINE):
            prefetch(w, first, r * (x.deep if x.along == 1 else x.along) + u + ahead, cache=2)


def _pairs(w: Writer, f: Factor, at: tuple[str | int, str | int], active: int) -> list[tuple[str, str]]:
    """The vectors of which each vector of words is made: 32 terms of a row, or two rows of 16 columns."""
    x, (i, z) = f.x, at
    half = tiles.ROWS
    if x.along == 1:
        first, lanes = w.at(x.pointer, w.linear((i, 1), (z, x.deep))), first_lanes(w, w.subtracted(x.size, i))
        rows = [_vector(w, f, w.at(first, r * x.deep), lanes) for r in range(active)]
        rows += ["zeroinitializer"] * (tiles.TERMS - active)
        return list(zip(rows[:half], rows[half:], strict=True) if f.apart else zip(rows[::2], rows[1::2], strict=True))
    found = []
    for r in range(tiles.ROWS):
        row = w.smaller(w.add(i, r), x.size - 1)
        place = w.at(x.pointer, w.linear((row, x.along), (z, 1)))
        a = _vector(w, f, place, min(active, half))
        found.append((a, _vector(w, f, w.at(place, half), active - half) if active > half else "zeroinitializer"))
    return found


def _words(w: Writer, f: Factor, a: str, b: str) -> list[str]:
    """The pieces of two vectors, whose elements are put together one by one, or of rows of terms one after the other."""
    lanes = w.lanes
    by_lane = f.apart or f.x.along == 1
    if f.pieces == 1:
        order = [n for lane in range(lanes) for n in (lane, lane + lanes)] if by_lane else list(range(2 * lanes))
        return [_picked(w, lanes, (a, b), order)]
    both = zip(_split(w, a, f.pieces), _split(w, b, f.pieces), strict=True)
    if by_lane:
        return [_joined(w, *pair) for pair in both]
    return [_picked(w, 2 * lanes, (_bits(w, x), _bits(w, y)), range(1, 4 * lanes, 2)) for x, y in both]


def _joined(w: Writer, a: str, b: str) -> str:
    """Words of the upper halves of two vectors of floats."""
    low = w.binary("lshr", w.convert("bitcast", a, "float", "i32"), "splat (i32 16)", "i32")
    high = w.binary("and", w.convert("bitcast", b, "float", "i32"), _UPPER, "i32")
    return w.convert("bitcast", w.binary("or", low, high, "i32"), "i32", "float")


def _vector(w: Writer, f: Factor, place: str, active: int | str) -> str:
    """A vector from an address on, as bfloat16 if it has one piece."""
    type = "i16" if f.dtype == "bfloat16" else "float"
    if isinstance(active, str):
        value = w.masked_load(place, active, "zeroinitializer", type)
    else:
        value = w.vload(place, active, type)
    return shortened(w, value) if f.rounds and f.dtype != "bfloat16" else value


def shortened(w: Writer, value: str) -> str:
    """Floats rounded to bfloat16, by the instruction that processors with tiles have."""
    return w.convert("bitcast", w.convert("fptrunc", value, "float", "bfloat"), "bfloat", "i16")


def _split(w: Writer, x: str, pieces: int) -> list[str]:
    """Vectors of floats whose upper halves are the pieces of x."""
    found = [x]
    while len(found) < pieces:
        if x != "zeroinitializer":
            upper = w.binary("and", w.convert("bitcast", x, "float", "i32"), _UPPER, "i32")
            x = w.binary("fsub", x, w.convert("bitcast", upper, "i32", "float"))
        found.append(x)
    return found


def _bits(w: Writer, x: str) -> str:
    return x if x == "zeroinitializer" else w.op(f"bitcast {vec('float', w.lanes)} {x} to {vec('i16', 2 * w.lanes)}")


def _picked(w: Writer, lanes: int, pair: tuple[str, str], order: Sequence[int]) -> str:
    """Words of floats made of elements of 16 bits of two vectors of so many."""
    v, indices = vec("i16", lanes), ", ".join(f"i32 {n}" for n in order)
    both = w.op(f"shufflevector {v} {pair[0]}, {v} {pair[1]}, {vec('i32', len(order))} <{indices}>")
    return w.op(f"bitcast {vec('i16', len(order))} {both} to {vec('float', w.lanes)}")


def _transposed(w: Writer, rows: Sequence[str]) -> list[str]:
    """Sixteen vectors of sixteen words: their squares of 4 x 4, then quarters of vectors."""
    squares = [square(w, rows[n : n + FOUR], w.lanes) for n in range(0, w.lanes, FOUR)]

    def picked(pair: Sequence[str], quarters: Sequence[int]) -> str:
        return w.shuffle(pair[0], pair[1], [FOUR * q + n for q in quarters for n in range(FOUR)])

    columns = [""] * w.lanes
    for c in range(FOUR):
        four = [s[c] for s in squares]
        low = [picked(four[n : n + 2], (0, 4, 1, 5)) for n in (0, 2)]
        high = [picked(four[n : n + 2], (2, 6, 3, 7)) for n in (0, 2)]
        for half, pair in enumerate((low, high)):
            for q, order in enumerate(((0, 1, 4, 5), (2, 3, 6, 7))):
                columns[FOUR * (2 * half + q) + c] = picked(pair, order)
    return columns
