"""Matrices whose rows become columns: in squares that fit into registers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from graphc_codegen.kernels.microkernel import blocks, prefetch
from graphc_codegen.writer import Writer, vec

#: Columns that are turned at a time.
FOUR = 4


def together(w: Writer) -> int:
    """Rows of which `turned` makes vectors; 0 where these are too short or not of floats."""
    return w.lanes if w.lanes >= 16 and w.element == "float" else 0


def turned(w: Writer, rows: Sequence[str], load: Callable[[str], str] | None = None) -> list[str]:
    """Four columns of `together` rows, which are given by their addresses; `load` makes vectors of four of these.

    Vectors are put together from four rows each as they are loaded, which leaves a transposition within each quarter.
    """
    quarters = range(0, w.lanes, FOUR)
    lines = []
    for r in range(FOUR):
        four = [(load or w.load_four)(rows[q + r]) for q in quarters]
        lines.append(joined(w, four, FOUR))
    return square(w, lines, w.lanes)


def joined(w: Writer, pieces: Sequence[str], size: int) -> str:
    """Vectors of so many lanes, of which there are a power of two, one after the other as one."""
    found = list(pieces)
    while len(found) > 1:
        found = [_picked(w, size, a, b, range(2 * size)) for a, b in zip(found[::2], found[1::2], strict=True)]
        size *= 2
    return found[0]


def _picked(w: Writer, lanes: int, a: str, b: str, order: Sequence[int]) -> str:
    """Lanes of two vectors of so many."""
    v, indices = vec(w.element, lanes), ", ".join(f"i32 {i}" for i in order)
    return w.op(f"shufflevector {v} {a}, {v} {b}, <{len(order)} x i32> <{indices}>")


def fetched(w: Writer, first: str, lead: int, z: str | int) -> None:
    """Ask for the lines that are to be turned after so many rows, those of column `z` a few rows at a time."""
    four, count = w.divided(z, FOUR)[0], w.lanes
    some = w.divided(four, FOUR)[1]
    for r in range(count, 2 * count, FOUR):
        prefetch(w, first, w.linear((some, lead), (r, lead), (z, 1)))


def transpose_into(
    w: Writer, source: str, lead: int, rows: int, columns: int, target: str, wide: int, *, add: bool = False
) -> None:
    """target[j * wide + i] = source[i * lead + j] for i < `rows`, j < `columns`, or added to what is there.

    Whole vectors are written where they are long enough for `turned`; else squares of 4 x 4, up to four of them at a time, so
    that whole lines are written. The rest goes one by one.
    """
    n = together(w)
    down, across = (rows // n * n, columns // FOUR * FOUR) if n else (0, 0)

    def some(u: str | int, v: str | int) -> None:
        a, z = w.at(source, w.mul(u, n * lead)), w.mul(v, FOUR)
        fetched(w, a, lead, z)
        for c, value in enumerate(turned(w, [w.at(a, w.linear((z, 1), (r, lead))) for r in range(n)])):
            place = w.at(target, w.linear((z, wide), (u, n), (c, wide)))
            w.vstore(w.binary("fadd", value, w.vload(place)) if add else value, place)

    if down and across:
        w.repeat(down // n, lambda u: w.repeat(across // FOUR, lambda v: some(u, v)))
        small = partial(_transpose_small, w, lead=lead, wide=wide, add=add)
        small(w.at(source, across), rows=down, columns=columns - across, target=w.at(target, across * wide))
        small(w.at(source, down * lead), rows=rows - down, columns=columns, target=w.at(target, down))
    else:
        _transpose_small(w, source, lead, rows, columns, target, wide, add)


def _transpose_small(
    w: Writer, source: str, lead: int, rows: int, columns: int, target: str, wide: int, add: bool
) -> None:
    """The same in squares of 4 x 4."""

    def squares(count: int, i: str | int, j: str | int) -> None:
        a, b = w.at(source, w.linear((i, lead), (j, 1))), w.at(target, w.linear((j, wide), (i, 1)))
        for u in range(0, 4 * count, 4):
            lines = [w.load_four(w.at(a, (u + r) * lead)) for r in range(4)]
            for r, line in enumerate(square(w, lines)):
                place = w.at(b, r * wide + u)
                if add:
                    line = w.op(f"fadd {vec(w.element, 4)} {line}, {w.load_four(place)}")
                w.store_four(line, place)

    def one(i: str | int, j: str | int) -> None:
        value, place = w.load(w.at(source, w.linear((i, lead), (j, 1)))), w.at(target, w.linear((j, wide), (i, 1)))
        w.store(w.op(f"fadd {w.element} {value}, {w.load(place)}") if add else value, place)

    whole, across = rows // 4, columns // 4
    for start, count, size in blocks(whole, 4) if whole else ():

        def group(u: str | int, start: int = start, size: int = size) -> None:
            first = w.linear((u, 4 * size), (4 * start, 1))
            w.repeat(across, lambda v: squares(size, first, w.mul(v, 4)))

        w.repeat(count, group)
    w.repeat(columns % 4, lambda v: w.repeat(4 * whole, lambda i: one(i, w.add(v, 4 * across))))
    w.repeat(rows % 4, lambda u: w.repeat(columns, lambda j: one(w.add(u, 4 * whole), j)))


def square(w: Writer, x: Sequence[str], lanes: int = 4) -> list[str]:
    """Four vectors of four, transposed; of longer ones each four lanes by themselves."""

    def pick(a: str, b: str, *order: int) -> str:
        return _picked(w, lanes, a, b, [k + i % 4 + lanes * (i // 4) for k in range(0, lanes, 4) for i in order])

    low = [pick(x[i], x[i + 1], 0, 4, 1, 5) for i in (0, 2)]
    high = [pick(x[i], x[i + 1], 2, 6, 3, 7) for i in (0, 2)]
    return [pick(a, b, *order) for a, b in (low, high) for order in ((0, 1, 4, 5), (2, 3, 6, 7))]
