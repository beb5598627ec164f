"""Eigenvalues of symmetric matrices by one-sided rotations of rows, in float64.

Twice the identity is added to a matrix whose eigenvalues lie in [-1, 1], so that all are between 1 and 3: rows that rotations
have made orthogonal are the vectors then, and as long as their eigenvalues.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from graphc_codegen.dtypes import REGISTER
from graphc_codegen.kernels.base import Array, Emitter, Operand, Params
from graphc_codegen.kernels.rotations import (
    INFINITY,
    NAN,
    chosen,
    length_of,
    make_orthogonal,
    of,
    over_vectors,
    size_of,
    wide,
)
from graphc_codegen.writer import Writer


def operands(p: Params) -> tuple[Operand, ...]:
    """x [batch, size, size] of `dtype`, float32 or float64 -> scratch, values [batch, size], vectors like x."""
    size = p["size"]
    count = p["batch"] * size
    return (
        Operand(p["dtype"], count * size, "in"),
        Operand("float64", (size + 1) * wide(size), "out"),
        Operand(p["dtype"], count, "out"),
        Operand(p["dtype"], count * size, "out"),
    )


class _Matrix(NamedTuple):
    """One matrix: what is read, the memory in which it is turned, the lengths of rows, and what is written."""

    w: Writer
    size: int
    type: str
    x: str
    rows: str
    lengths: str
    values: str
    vectors: str
    turned: str

    def row(self, i: str | int) -> str:
        return self.w.at(self.rows, self.w.mul(i, wide(self.size)))

    def double(self, place: str) -> str:
        read = self.w.load(place, self.type)
        return read if self.type == "double" else self.w.op(f"fpext float {read} to double")

    def write(self, value: str, place: str) -> None:
        narrow = value if self.type == "double" else self.w.op(f"fptrunc double {value} to float")
        self.w.store(narrow, place, self.type)


def emit(w: Writer, p: Params, pointers: Sequence[str]) -> None:
    """Ascending values, and as columns their vectors, whose first element of at least half the size of the largest is positive.

    Only the `lower` triangle of x is read, or the upper one. All is NaN where what is read is not finite.
    """
    x, scratch, values, vectors = pointers
    size, type = p["size"], REGISTER[p["dtype"]]
    with w.elements("double"):
        turned = w.op("alloca i8, i64 1, align 8")

        def one(o: str | int) -> None:
            square, line = w.mul(o, size * size), w.mul(o, size)
            lengths = w.at(scratch, size * wide(size))
            places = w.at(values, line, type), w.at(vectors, square, type)
            _solve(_Matrix(w, size, type, w.at(x, square, type), scratch, lengths, *places, turned), p["lower"])

        w.repeat(p["batch"], one)


def _solve(m: _Matrix, lower: bool) -> None:
    w, size = m.w, m.size
    scale, total = _take(m, lower)
    scale = chosen(w, w.op(f"fcmp oeq double {scale}, 0.0"), "1.0", scale)

    def solve() -> None:
        by = w.splat(scale)

        def begin(i: str) -> None:
            row = m.row(i)
            over_vectors(w, size, lambda j, _: w.vstore(w.binary("fdiv", w.vload(w.at(row, j)), by), w.at(row, j)))
            place = w.at(row, i)
            w.store(of(w, "fadd", w.load(place), "2.0"), place)

        w.loop(size, lambda i, _: begin(i))
        make_orthogonal(w, m.row, size, size, m.turned)
        w.loop(size, lambda i, _: w.store(length_of(w, m.row(i), size), w.at(m.lengths, i)))
        w.loop(size, lambda k, _: _give(m, k, scale))

    def nothing() -> None:
        w.loop(size, lambda i, _: w.store(NAN, w.at(m.values, i, m.type), m.type))
        w.loop(size * size, lambda i, _: w.store(NAN, w.at(m.vectors, i, m.type), m.type))

    # Infinite numbers, and those that are none, have no difference.
    w.either(w.op(f"fcmp ord double {of(w, 'fsub', total, total)}, 0.0"), solve, nothing)


def _take(m: _Matrix, lower: bool) -> tuple[str, str]:
    """Read a triangle, and make the other one of it: the largest sum of sizes in a row, and all of them."""
    w, size = m.w, m.size

    def row(i: str, found: list[str]) -> list[str]:
        line = m.row(i)
        w.loop(wide(size), lambda j, _: w.vstore(w.constant(0.0), w.at(line, j)), step=w.lanes)

        def one(j: str, sums: list[str]) -> list[str]:
            below = w.op(f"icmp sge i64 {i}, {j}")
            pair = (i, j) if lower else (j, i)
            first, second = (w.op(f"select i1 {below}, i64 {a}, i64 {b}") for a, b in (pair, pair[::-1]))
            value = m.double(w.at(m.x, w.linear((first, size), (second, 1)), m.type))
            w.store(value, w.at(line, j))
            return [of(w, "fadd", sums[0], size_of(w, value))]

        (made,) = w.loop(size, one, [("double", "0.0")])
        larger = chosen(w, w.op(f"fcmp ogt double {made}, {found[0]}"), made, found[0])
        return [larger, of(w, "fadd", found[1], made)]

    largest, total = w.loop(size, row, [("double", "0.0"), ("double", "0.0")])
    return largest, total


def _give(m: _Matrix, k: str, scale: str) -> None:
    """The k-th value is the least of the lengths that are left; its row, with the right sign, becomes a column."""
    w, size = m.w, m.size

    def less(i: str, found: list[str]) -> list[str]:
        length = w.load(w.at(m.lengths, i))
        smaller = w.op(f"fcmp olt double {length}, {found[0]}")
        return [chosen(w, smaller, length, found[0]), w.op(f"select i1 {smaller}, i64 {i}, i64 {found[1]}")]

    length, at = w.loop(size, less, [("double", INFINITY), ("i64", "0")])
    w.store(INFINITY, w.at(m.lengths, at))
    m.write(of(w, "fmul", of(w, "fsub", length, "2.0"), scale), w.at(m.values, k, m.type))
    row = m.row(at)

    def larger(j: str, found: list[str]) -> list[str]:
        value = size_of(w, w.load(w.at(row, j)))
        return [chosen(w, w.op(f"fcmp ogt double {value}, {found[0]}"), value, found[0])]

    half = of(w, "fmul", w.loop(size, larger, [("double", "0.0")])[0], "0.5")

    def first(j: str, found: list[str]) -> list[str]:
        value = w.load(w.at(row, j))
        none, enough = w.op(f"fcmp oeq double {found[0]}, 0.0"), w.op(f"fcmp oge double {size_of(w, value)}, {half}")
        return [chosen(w, w.op(f"and i1 {none}, {enough}"), value, found[0])]

    (sign,) = w.loop(size, first, [("double", "0.0")])
    by = w.call("llvm.copysign.f64", "double", [("double", length), ("double", sign)])
    w.loop(
        size,
        lambda j, _: m.write(
            of(w, "fdiv", w.load(w.at(row, j)), by), w.at(m.vectors, w.linear((j, size), (k, 1)), m.type)
        ),
    )


# ---- the same in NumPy


def twin(p: Params, x: Array, scratch: Array, values: Array, vectors: Array) -> None:
    scratch[:] = 0
    size = p["size"]
    matrices = x.reshape(-1, size, size).astype(np.float64)
    half = np.tril(matrices) if p["lower"] else np.triu(matrices)
    finite = np.asarray(np.isfinite(half).all((1, 2), keepdims=True))
    made, v = np.linalg.eigh(np.where(finite, half, 0), "L" if p["lower"] else "U")
    sizes = abs(v)
    first = np.take_along_axis(v, (sizes >= sizes.max(1, keepdims=True) / 2).argmax(1)[:, None], 1)
    values[:] = np.where(finite[..., 0], made, np.nan).ravel()
    vectors[:] = np.where(finite, v * np.sign(first), np.nan).ravel()


EIGH = Emitter(operands, emit, twin)
