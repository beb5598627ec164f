"""Winograd's F(4x4, 3x3), 4 x 4 outputs of a 3 x 3 correlation from a 6 x 6 patch by 36 products, and F(4x4, 2x2), from 5 x 5 by
25; the weights' transform.

Y = A^T [(G g G^T) * (B^T d B)] A; every transform is applied along one axis at a time, see `points`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from graphc_codegen.kernels.vectors import deinterleave, interleave
from graphc_codegen.kernels.winograd.points import Points
from graphc_codegen.writer import Writer, constant_mask, vec

#: Outputs along a side of a tile.
OUT = 4

#: Runs a body for a thread's part of so many turns.
Part = Callable[[int, Callable[[str | int], None]], None]


def transpose_quads(w: Writer, x: Sequence[str]) -> list[str]:
    """Four vectors as rows of 4 x 4 blocks of lanes; each block transposed. Its own inverse."""
    lanes, quads = w.lanes, range(0, w.lanes, 4)
    low = [i for q in quads for i in (q, lanes + q, q + 1, lanes + q + 1)]
    left = [i for q in quads for i in (q, q + 1, lanes + q, lanes + q + 1)]
    high, right = [i + 2 for i in low], [i + 2 for i in left]
    pairs = [[w.shuffle(x[0], x[1], half), w.shuffle(x[2], x[3], half)] for half in (low, high)]
    return [w.shuffle(pair[0], pair[1], half) for pair in pairs for half in (left, right)]


def clear(w: Writer, pointer: str, count: int) -> None:
    """Fill `count` elements, a multiple of `lanes`, with zeros."""
    w.repeat(count // w.lanes, lambda i: w.vstore("zeroinitializer", w.at(pointer, w.mul(i, w.lanes))))


def every_nth(w: Writer, x: Sequence[str]) -> list[str]:
    """n consecutive vectors x, n being odd or 2; vector i of the result has the elements i, i + n, i + 2 n, ..."""
    if len(x) == 2:
        return [deinterleave(w, x[0], x[1], parity) for parity in (0, 1)]
    v, boolean, lanes, n = vec("float", w.lanes), vec("i1", w.lanes), range(w.lanes), len(x)
    result = []
    for first in range(n):
        places = [divmod(first + n * i, w.lanes) for i in lanes]
        source = {lane: vector for vector, lane in places}  # Every lane is wanted of one vector only.
        merged = x[source[0]]
        for vector in sorted(set(source.values()) - {source[0]}):
            on = constant_mask(source[lane] == vector for lane in lanes)
            merged = w.op(f"select {boolean} {on}, {v} {x[vector]}, {v} {merged}")
        result.append(w.shuffle(merged, "poison", [lane for _, lane in places]))
    return result


def nth_of(w: Writer, x: Sequence[str]) -> list[str]:
    """The inverse of `every_nth`: n consecutive vectors whose elements i, i + n, i + 2 n, ... are those of x[i]."""
    if len(x) == 2:
        return list(interleave(w, x[0], x[1]))
    v, boolean, lanes, n = vec("float", w.lanes), vec("i1", w.lanes), range(w.lanes), len(x)
    moved = []
    for k, value in enumerate(x):
        source = {(k + n * i) % w.lanes: i for i in lanes}
        moved.append(w.shuffle(value, "poison", [source[lane] for lane in lanes]))
    result = []
    for j in range(n):
        wanted = [(j * w.lanes + lane) % n for lane in lanes]
        merged = moved[wanted[0]]
        for k in sorted(set(wanted) - {wanted[0]}):
            on = constant_mask(one == k for one in wanted)
            merged = w.op(f"select {boolean} {on}, {v} {moved[k]}, {v} {merged}")
        result.append(merged)
    return result


def load_columns(w: Writer, rows: Sequence[str]) -> list[str]:
    """The first four elements at each pointer, as columns: four vectors whose lanes are rows. Lanes without a row are zero."""

    def quad(row: int) -> str:
        return w.load_four(rows[row]) if row < len(rows) else "zeroinitializer"

    def joined(parts: list[str], size: int) -> str:
        if len(parts) == 1:
            return parts[0]
        choice = ", ".join(f"i32 {i}" for i in range(2 * size))
        pairs = zip(parts[::2], parts[1::2], strict=True)
        type = f"<{size} x float>"
        made = [w.op(f"shufflevector {type} {a}, {type} {b}, <{2 * size} x i32> <{choice}>") for a, b in pairs]
        return joined(made, 2 * size)

    return transpose_quads(w, [joined([quad(4 * k + j) for k in range(w.lanes // 4)], 4) for j in range(4)])


def transform_weights(
    w: Writer,
    axis: Points,
    taps: int,
    weight: str,
    u: str,
    pairs: int,
    distance: int,
    *,
    flipped: bool,
    temporary: str,
    part: Part,
) -> None:
    """U[points][pair] = G g G^T of weight [pair, taps, taps], lanes being pairs; `distance` is that of the rows of U.

    `temporary` has room for taps (taps + points) vectors. `part` runs a thread's part of a loop.
    """
    lanes, width, window, side = w.lanes, min(w.lanes, pairs), taps * taps, axis.count

    def columns(kx: str | int) -> None:
        """The taps of a column of the kernel, from every so many elements, to points."""
        loaded = [w.vload(w.at(temporary, w.linear((kx, lanes), (taps * k * lanes, 1)))) for k in range(taps)]
        column = every_nth(w, loaded)
        place = w.linear((kx, -lanes), ((taps - 1) * lanes, 1)) if flipped else w.mul(kx, lanes)
        for r, value in enumerate(axis.weights(w, column[::-1] if flipped else column)):
            w.vstore(value, w.at(temporary, w.add(place, (window + taps * r) * lanes)))

    def rows(target: str, r: str | int) -> None:
        places = [w.linear((r, taps * lanes), ((window + kx) * lanes, 1)) for kx in range(taps)]
        for c, value in enumerate(axis.weights(w, [w.vload(w.at(temporary, place)) for place in places])):
            w.vstore(value, w.at(target, w.linear((r, side * distance), (c * distance, 1))), width)

    def parts(source: str, k: str | int) -> None:
        loaded = [w.vload(w.at(source, w.linear((k, taps * lanes), (i * lanes, 1)))) for i in range(taps)]
        for i, value in enumerate(every_nth(w, loaded)):
            w.vstore(value, w.at(temporary, w.linear((k, taps * lanes), (i * lanes, 1))))

    def few(source: str) -> None:
        """The first stage for less than a vector of pairs."""
        for k in range(taps):
            left = [max(0, min(lanes, window * pairs - (taps * k + i) * lanes)) for i in range(taps)]
            loaded = [
                w.vload(w.at(source, (taps * k + i) * lanes), n) if n else "zeroinitializer" for i, n in enumerate(left)
            ]
            for i, value in enumerate(every_nth(w, loaded)):
                w.vstore(value, w.at(temporary, (taps * k + i) * lanes))

    def strip(j: str | int) -> None:
        # The last strip may do pairs of the one before again.
        first = w.mul(j, lanes)
        if pairs % lanes and pairs > lanes and not isinstance(first, int):
            first = w.call("llvm.smin.i64", "i64", [("i64", first), ("i64", str(pairs - lanes))])
        source = w.at(weight, w.mul(first, window))
        if pairs < lanes:
            few(source)
        else:
            w.repeat(taps, partial(parts, source))
        w.repeat(taps, columns)
        w.repeat(side, partial(rows, w.at(u, first)))

    part(-(-pairs // lanes), strip)
