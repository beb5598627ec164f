"""The transforms of Winograd's F(4x4, 3x3): 4 x 4 outputs of a 3 x 3 correlation from a 6 x 6 patch by 36 products.

Lavin and Gray, "Fast Algorithms for Convolutional Neural Networks" (2015): Y = A^T [(G g G^T) * (B^T d B)] A. The points are 0,
plus and minus sqrt(1/2), plus and minus sqrt(2), and infinity: rounding errors are two to four times those of a sum of products,
with the usual points 0, 1, -1, 2, -2 five to ten times. Every transform is applied along one axis at a time.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from graphc_codegen.writer import Writer, vec

#: Outputs along a side of a tile, and points: the side of the patch that it reads.
OUT, POINTS = 4, 6
#: The products of a tile.
PRODUCTS = POINTS * POINTS

#: Runs a body for a thread's part of so many turns.
Part = Callable[[int, Callable[[str | int], None]], None]

_A = float(np.float32(math.sqrt(0.5)))
_B = 2 * _A


def _combine(w: Writer, first: str, factor: float, second: str) -> str:
    """first + factor * second"""
    return w.fma(w.constant(factor), second, first)


def input_axis(w: Writer, d: Sequence[str]) -> list[str]:
    """B^T d along one axis: 6 vectors of pixels to 6 of points."""
    odd_a, even_a = _combine(w, d[3], -2.0, d[1]), _combine(w, d[4], -2.0, d[2])
    odd_b, even_b = _combine(w, d[3], -0.5, d[1]), _combine(w, d[4], -0.5, d[2])
    return [
        _combine(w, w.binary("fadd", d[0], d[4]), -2.5, d[2]),
        _combine(w, even_a, _A, odd_a),
        _combine(w, even_a, -_A, odd_a),
        _combine(w, even_b, _B, odd_b),
        _combine(w, even_b, -_B, odd_b),
        _combine(w, w.binary("fadd", d[1], d[5]), -2.5, d[3]),
    ]


def patch_axis(w: Writer, u: Sequence[str]) -> list[str]:
    """B u along one axis, the transpose of `input_axis`: 6 vectors of points to 6 of an input's gradient."""
    sum_a, less_a, sum_b, less_b = _pairs(w, u)
    scaled = [w.binary("fmul", w.constant(-2.5), u[i]) for i in (0, 5)]
    return [
        u[0],
        _combine(w, u[5], -_A, _combine(w, less_b, 2.0, less_a)),
        _combine(w, _combine(w, scaled[0], -2.0, sum_a), -0.5, sum_b),
        _combine(w, scaled[1], _A, _combine(w, less_a, 2.0, less_b)),
        w.binary("fadd", u[0], w.binary("fadd", sum_a, sum_b)),
        u[5],
    ]


def _pairs(w: Writer, u: Sequence[str]) -> list[str]:
    """Sum and difference of the points plus and minus sqrt(1/2), then of plus and minus sqrt(2)."""
    return [w.binary(op, u[i], u[i + 1]) for i in (1, 3) for op in ("fadd", "fsub")]


def output_axis(w: Writer, m: Sequence[str], count: int = OUT) -> list[str]:
    """A^T m along one axis: 6 vectors of points to `count` of pixels."""
    sum_a, less_a, sum_b, less_b = _pairs(w, m)
    made = [w.binary("fadd", m[0], w.binary("fadd", sum_a, sum_b))]
    for k in range(1, count):
        a, b = (less_a, less_b) if k % 2 else (sum_a, sum_b)
        inner = _combine(w, a, 2.0**k, b)
        factor = _power(_A, k)
        made.append(_combine(w, m[5], factor, inner) if k == count - 1 else w.binary("fmul", w.constant(factor), inner))
    return made


def gradient_axis(w: Writer, y: Sequence[str]) -> list[str]:
    """A y along one axis: the vectors of an output's gradient, 2 at least, to 6 of points."""
    even_a, odd_a = _horner(w, y[::2], 0.5), _horner(w, y[1::2], 0.5)
    even_b, odd_b = _horner(w, y[::2], 2.0), _horner(w, y[1::2], 2.0)
    return [
        y[0],
        _combine(w, even_a, _A, odd_a),
        _combine(w, even_a, -_A, odd_a),
        _combine(w, even_b, _B, odd_b),
        _combine(w, even_b, -_B, odd_b),
        y[-1],
    ]


def _horner(w: Writer, coefficients: Sequence[str], at: float) -> str:
    value = coefficients[-1]
    for c in coefficients[-2::-1]:
        value = _combine(w, c, at, value)
    return value


def _power(root: float, k: int) -> float:
    """root ** k, exact but for one factor, of a root of 1/2 or 2."""
    square = round(4 * root * root) / 4
    return math.prod([square] * (k // 2) + [root] * (k % 2))


def weight_gradient_axis(w: Writer, u: Sequence[str], count: int = 3) -> list[str]:
    """G^T u along one axis: 6 vectors of points to `count` of taps."""
    sum_a, less_a, sum_b, less_b = _pairs(w, u)
    made = []
    for k, (_, a, _, b, _, _) in enumerate(zip(*weight_matrix(count), strict=True)):
        pair_a, pair_b = (less_a, less_b) if k % 2 else (sum_a, sum_b)
        first = u[0] if k == 0 else u[5] if k == count - 1 else None
        scaled = _combine(w, first, a, pair_a) if first else w.binary("fmul", w.constant(a), pair_a)
        made.append(_combine(w, scaled, b, pair_b))
    return made


def weight_matrix(count: int) -> list[list[float]]:
    """G for so many taps, 2 at least: a row for each point."""
    rows = [
        [scale * _power(root, k) * sign**k for k in range(count)]
        for root, scale in ((_A, -1 / 1.5), (_B, 1 / 6))
        for sign in (1, -1)
    ]
    return [[1.0] + [0.0] * (count - 1), *rows, [0.0] * (count - 1) + [1.0]]


def weight_axis(w: Writer, g: Sequence[str]) -> list[str]:
    """G g along one axis: 3 vectors of taps to 6 of points."""
    middle = [w.binary("fmul", w.constant(f), g[1]) for f in (-_A / 1.5, _B / 6)]
    outer = [
        _combine(w, w.binary("fmul", w.constant(f), g[0]), f * s, g[2]) for f, s in ((-1 / 1.5, 0.5), (1 / 6, 2.0))
    ]
    pairs = [w.binary(op, outer[i], middle[i]) for i in range(2) for op in ("fadd", "fsub")]
    return [g[0], *pairs, g[2]]


def shuffle(w: Writer, a: str, b: str, indices: Sequence[int]) -> str:
    """Lanes of two vectors of floats; those of `b` are counted on from those of `a`."""
    v = vec("float", w.lanes)
    choice = ", ".join(f"i32 {i}" for i in indices)
    return w.op(f"shufflevector {v} {a}, {v} {b}, {vec('i32', w.lanes)} <{choice}>")


def transpose_quads(w: Writer, x: Sequence[str]) -> list[str]:
    """Four vectors as rows of 4 x 4 blocks of lanes; each block transposed. Its own inverse."""
    lanes, quads = w.lanes, range(0, w.lanes, 4)
    low = [i for q in quads for i in (q, lanes + q, q + 1, lanes + q + 1)]
    left = [i for q in quads for i in (q, q + 1, lanes + q, lanes + q + 1)]
    high, right = [i + 2 for i in low], [i + 2 for i in left]
    pairs = [[shuffle(w, x[0], x[1], half), shuffle(w, x[2], x[3], half)] for half in (low, high)]
    return [shuffle(w, pair[0], pair[1], half) for pair in pairs for half in (left, right)]


def clear(w: Writer, pointer: str, count: int) -> None:
    """Fill `count` elements, a multiple of `lanes`, with zeros."""
    w.repeat(count // w.lanes, lambda i: w.vstore("zeroinitializer", w.at(pointer, w.mul(i, w.lanes))))


def every_third(w: Writer, x: Sequence[str]) -> list[str]:
    """Three consecutive vectors x; vector i of the result has the elements i, i + 3, i + 6, ..."""
    v, boolean, lanes = vec("float", w.lanes), vec("i1", w.lanes), range(w.lanes)
    result = []
    for first in range(3):
        places = [divmod(first + 3 * i, w.lanes) for i in lanes]
        source = {lane: vector for vector, lane in places}  # Every lane is wanted of one vector only.
        merged = x[0]
        for vector in (1, 2):
            on = ", ".join(f"i1 {'true' if source[lane] == vector else 'false'}" for lane in lanes)
            merged = w.op(f"select {boolean} <{on}>, {v} {x[vector]}, {v} {merged}")
        result.append(shuffle(w, merged, "poison", [lane for _, lane in places]))
    return result


def third_of(w: Writer, x: Sequence[str]) -> list[str]:
    """The inverse of `every_third`: three consecutive vectors whose elements i, i + 3, i + 6, ... are those of x[i]."""
    v, boolean, lanes = vec("float", w.lanes), vec("i1", w.lanes), range(w.lanes)
    moved = []
    for k, value in enumerate(x):
        source = {(k + 3 * i) % w.lanes: i for i in lanes}
        moved.append(shuffle(w, value, "poison", [source[lane] for lane in lanes]))
    result = []
    for j in range(3):
        merged = moved[0]
        for k in (1, 2):
            on = ", ".join(f"i1 {'true' if (j * w.lanes + lane) % 3 == k else 'false'}" for lane in lanes)
            merged = w.op(f"select {boolean} <{on}>, {v} {moved[k]}, {v} {merged}")
        result.append(merged)
    return result


def load_columns(w: Writer, rows: Sequence[str]) -> list[str]:
    """The first four elements at each pointer, as columns: four vectors whose lanes are rows. Lanes without a row are zero."""

    def quad(row: int) -> str:
        return w.op(f"load <4 x float>, ptr {rows[row]}, align 4") if row < len(rows) else "zeroinitializer"

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
    w: Writer, weight: str, u: str, pairs: int, distance: int, *, flipped: bool, temporary: str, part: Part
) -> None:
    """U[36][pair] = G g G^T of weight [pair, 3, 3], lanes being pairs; `distance` is that of the rows of U.

    `temporary` has room for 27 vectors. `part` runs a thread's part of a loop.
    """
    lanes, width = w.lanes, min(w.lanes, pairs)

    def columns(kx: str | int) -> None:
        """The taps of a column of the kernel, from every third element, to 6 points."""
        taps = every_third(w, [w.vload(w.at(temporary, w.linear((kx, lanes), (3 * k * lanes, 1)))) for k in range(3)])
        place = w.linear((kx, -lanes), (2 * lanes, 1)) if flipped else w.mul(kx, lanes)
        for r, value in enumerate(weight_axis(w, taps[::-1] if flipped else taps)):
            w.vstore(value, w.at(temporary, w.add(place, (9 + 3 * r) * lanes)))

    def rows(target: str, r: str | int) -> None:
        taps = [w.vload(w.at(temporary, w.linear((r, 3 * lanes), ((9 + kx) * lanes, 1)))) for kx in range(3)]
        for c, value in enumerate(weight_axis(w, taps)):
            w.vstore(value, w.at(target, w.linear((r, POINTS * distance), (c * distance, 1))), width)

    def thirds(source: str, k: str | int) -> None:
        loaded = [w.vload(w.at(source, w.linear((k, 3 * lanes), (i * lanes, 1)))) for i in range(3)]
        for i, value in enumerate(every_third(w, loaded)):
            w.vstore(value, w.at(temporary, w.linear((k, 3 * lanes), (i * lanes, 1))))

    def few(source: str) -> None:
        """The first stage for less than a vector of pairs."""
        for k in range(3):
            left = [max(0, min(lanes, 9 * pairs - (3 * k + i) * lanes)) for i in range(3)]
            loaded = [
                w.vload(w.at(source, (3 * k + i) * lanes), n) if n else "zeroinitializer" for i, n in enumerate(left)
            ]
            for i, value in enumerate(every_third(w, loaded)):
                w.vstore(value, w.at(temporary, (3 * k + i) * lanes))

    def strip(j: str | int) -> None:
        # The last strip may do pairs of the one before again.
        first = w.mul(j, lanes)
        if pairs % lanes and pairs > lanes and not isinstance(first, int):
            first = w.call("llvm.smin.i64", "i64", [("i64", first), ("i64", str(pairs - lanes))])
        source = w.at(weight, w.mul(first, 9))
        if pairs < lanes:
            few(source)
        else:
            w.repeat(3, partial(thirds, source))
        w.repeat(3, columns)
        w.repeat(POINTS, partial(rows, w.at(u, first)))

    part(-(-pairs // lanes), strip)
