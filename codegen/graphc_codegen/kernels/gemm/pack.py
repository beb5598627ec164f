"""Parts of a matrix, copied so that tiles read them from one line after the other."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from graphc_codegen.kernels.base import LINE
from graphc_codegen.kernels.gemm.plan import Side
from graphc_codegen.kernels.microkernel import prefetch
from graphc_codegen.kernels.transposition import FOUR, fetched, square, together, turned
from graphc_codegen.kernels.vectors import first_lanes
from graphc_codegen.writer import Writer

#: Turns of k come in groups of so many, the last one filled up with zeros.
TOGETHER = 4
#: Turns that are fetched ahead where vectors are as long as lines.
_AHEAD = 4


class Tiles(NamedTuple):
    """Where a part is copied to: `tiles` tiles of it, `apart` elements from each other, at `pointer`.

    Element (z * lead + r) of a tile is that of turn z and row or column r < `wide`. `lead` is a multiple of 4.
    """

    pointer: str
    tiles: str | int
    wide: int
    lead: int
    apart: int


def pack(w: Writer, x: Side, at: tuple[str | int, str | int], count: str | int, to: Tiles) -> None:
    """Copy `count` turns of x from `at` on: row or column, and turn.

    Behind the end of x, and from `wide` to `lead`, there is anything; behind the last turn zeros, up to a multiple of TOGETHER.
    Up to a vector behind the last turn of a tile may be written.
    """
    if x.along == 1:
        _copied(w, x, at, count, to)
    else:
        _transposed(w, x, at, count, to)
    filled(w, count, to)


def pack_rows(w: Writer, x: Side, at: tuple[str | int, str | int], count: str | int, to: Tiles) -> None:
    """Copy `count` turns of x, whose rows lie in memory as such, as rows: element (z, r) of a tile is number r * lead + z.

    Of rows behind the end of x there is the last one; behind the last turn zeros, up to a whole vector.
    """
    i, first = at
    whole = w.op(f"and i64 {count}, {-w.lanes}")

    def row(t: str, r: str) -> None:
        line = w.smaller(w.linear((i, 1), (t, to.wide), (r, 1)), x.size - 1)
        source = w.at(x.pointer, w.linear((line, x.along), (first, x.deep)))
        own = w.at(to.pointer, w.linear((t, to.apart), (r, to.lead)))
        w.turns((0, whole), lambda z, _: w.vstore(w.vload(w.at(source, z)), w.at(own, z)), step=w.lanes)

        def rest() -> None:
            value = w.masked_load(w.at(source, whole), first_lanes(w, w.subtracted(count, whole)), "zeroinitializer")
            w.vstore(value, w.at(own, whole))

        w.when(w.op(f"icmp slt i64 {whole}, {count}"), rest)

    w.loop(to.tiles, lambda t, _: w.loop(to.wide, lambda r, _: row(t, r)) and None)


def row_length(w: Writer, turns: int) -> int:
    """Elements from one row of so many turns to the next: an odd number of lines, so that rows fall into different sets."""
    return (-(-turns // w.lanes) | 1) * w.lanes


def spare(w: Writer) -> int:
    """Elements that may be written behind a tile, if its turns are no whole vectors."""
    return w.lanes


def _copied(w: Writer, x: Side, at: tuple[str | int, str | int], count: str | int, to: Tiles) -> None:
    """A few turns after the other, each for all whole tiles: these lie behind each other in x, but turns are far apart."""
    i, first = at
    left, source = w.subtracted(x.size, i), w.at(x.pointer, w.linear((i, x.along), (first, x.deep)))
    whole = w.smaller(w.divided(left, to.wide)[0], to.tiles)
    # A store of a whole line waits for that line, if it is not near: with vectors as long as lines they are asked for, too.
    lines = w.floats >= LINE

    def tile(z: str, t: str, some: int, load: Callable[[str, int], str]) -> None:
        """So many turns of a tile; the lines of turns that come next are asked for."""
        place = w.at(source, w.linear((z, x.deep), (t, to.wide)))
        own = w.at(to.pointer, w.linear((z, to.lead), (t, to.apart)))
        ahead = _AHEAD if lines else some
        for q in range(some):
            for u in range(0, to.wide, LINE):
                prefetch(w, place, (ahead + q) * x.deep + u)
        for q in range(some):
            for u in range(0, to.wide, w.lanes):
                if lines:
                    prefetch(w, own, (ahead + q) * to.lead + u, write=True)
                w.vstore(load(w.at(place, q * x.deep + u), u), w.at(own, q * to.lead + u))

    def turns(z: str, some: int) -> None:
        def vector(place: str, u: int) -> str:
            return w.vload(place, min(to.wide - u, w.lanes))

        w.turns((0, whole), lambda t, _: tile(z, t, some, vector))

    def partly(t: str, _: list[str]) -> None:
        rest = w.subtracted(left, w.mul(t, to.wide))

        def vector(place: str, u: int) -> str:
            return w.masked_load(place, first_lanes(w, w.add(rest, -u)), "zeroinitializer")

        w.loop(count, lambda z, _: tile(z, t, 1, vector))

    full = w.op(f"and i64 {count}, {-TOGETHER}")
    w.turns((0, full), lambda z, _: turns(z, TOGETHER), step=TOGETHER)
    w.turns((full, count), lambda z, _: turns(z, 1))
    w.turns((whole, to.tiles), partly)


def _transposed(w: Writer, x: Side, at: tuple[str | int, str | int], count: str | int, to: Tiles) -> None:
    """Tile after tile, some rows of x at a time, while the next ones are fetched: those of a vector, or four."""
    i, first = at
    whole, size = w.op(f"and i64 {count}, {-FOUR}"), together(w) or 4

    def group(t: str | int, r: str | int, active: int) -> None:
        rows = [w.smaller(w.linear((i, 1), (t, to.wide), (r, 1), (q, 1)), x.size - 1) for q in range(active)]
        sources = [w.at(x.pointer, w.linear((row, x.along), (first, x.deep))) for row in rows]
        column = w.at(to.pointer, w.linear((t, to.apart), (r, 1)))

        def squares(z: str, _: list[str]) -> None:
            lines = [w.at(source, z) for source in sources]
            places = [w.at(column, w.linear((z, to.lead), (q, to.lead))) for q in range(FOUR)]
            if size > 4:
                fetched(w, sources[0], x.along, z)
                # Behind a tile's rows comes the last one again.
                values = turned(w, [*lines, *lines[-1:] * (size - active)])
                for value, place in zip(values, places, strict=True):
                    w.vstore(value, place, active)
                return
            for source in sources:
                prefetch(w, source, w.add(z, 4 * x.along))
            for value, place in zip(square(w, [w.load_four(line) for line in lines]), places, strict=True):
                w.store_four(value, place)

        def single(z: str, _: list[str]) -> None:
            for q, source in enumerate(sources):
                w.store(w.load(w.at(source, z)), w.at(column, w.linear((z, to.lead), (q, 1))))

        w.turns((0, whole), squares, step=FOUR)
        w.turns((whole, count), single)

    def tile(t: str, _: list[str]) -> None:
        # Vectors of which `lead` has no whole number are those of a single tile of A.
        if size > 4 and to.lead % size:
            for r in range(0, to.lead, size):
                group(t, r, min(size, to.lead - r))
        else:
            w.repeat(-(-to.wide // size), lambda n: group(t, w.mul(n, size), size))

    w.loop(to.tiles, tile)


def filled(w: Writer, count: str | int, to: Tiles) -> None:
    """Zeros behind the last turn."""
    end = rounded_up(w, count)

    def tile(t: str, _: list[str]) -> None:
        def zeros(z: str, _: list[str]) -> None:
            for u in range(0, to.lead, w.lanes):
                w.vstore("zeroinitializer", w.at(to.pointer, w.linear((t, to.apart), (z, to.lead), (u, 1))))

        w.turns((count, end), zeros)

    def tiles() -> None:
        w.loop(to.tiles, tile)

    w.when(w.op(f"icmp slt i64 {count}, {end}"), tiles)


def rounded_up(w: Writer, count: str | int) -> str:
    """The next multiple of TOGETHER."""
    return w.op(f"and i64 {w.add(count, TOGETHER - 1)}, {-TOGETHER}")
