"""Pseudoinverses of matrices by singular values: rows are rotated until they are orthogonal, in float64.

Of a matrix with more rows than columns these are its columns. Rotated, they are as long as the singular values; what they have
been rotated by stands behind them.
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
from graphc_codegen.literals import literal
from graphc_codegen.writer import Writer, vec

_Index = str | int


def _sizes(p: Params) -> tuple[int, int]:
    """The number of rows that are rotated, and how long they are."""
    return min(p["rows"], p["cols"]), max(p["rows"], p["cols"])


def operands(p: Params) -> tuple[Operand, ...]:
    """x [batch, rows, cols] of `dtype`, float32 or float64 -> scratch, y [batch, cols, rows]."""
    count = p["batch"] * p["rows"] * p["cols"]
    few, many = _sizes(p)
    scratch = Operand("float64", few * (wide(many) + wide(few)) + wide(many) + few, "out")
    return Operand(p["dtype"], count, "in"), scratch, Operand(p["dtype"], count, "out")


class _Matrix(NamedTuple):
    """One matrix: what is read and written, and the memory in which it is turned. Elements are `type`s."""

    w: Writer
    p: Params
    type: str
    x: str
    y: str
    memory: str
    turned: str

    @property
    def held(self) -> int:
        few, many = _sizes(self.p)
        return wide(many) + wide(few)

    def row(self, i: _Index) -> str:
        """One of the rows, and behind the last a line for results."""
        return self.w.at(self.memory, self.w.mul(i, self.held))

    def lengths(self, i: _Index) -> str:
        few, many = _sizes(self.p)
        return self.w.at(self.memory, self.w.add(self.held * few + wide(many), i))

    def element(self, i: _Index, j: _Index) -> _Index:
        """The place of element j of row i in x, and of what stands for it in y."""
        by_columns = self.p["rows"] > self.p["cols"]
        return self.w.linear((j if by_columns else i, self.p["cols"]), (i if by_columns else j, 1))


def emit(w: Writer, p: Params, pointers: Sequence[str]) -> None:
    """Singular values up to max(atol, rtol times the largest) count as zero. All is NaN where x is not finite."""
    x, scratch, y = pointers
    type, count = REGISTER[p["dtype"]], p["rows"] * p["cols"]
    with w.elements("double"):
        turned = w.op("alloca i8, i64 1, align 8")

        def one(o: _Index) -> None:
            place = w.mul(o, count)
            _solve(_Matrix(w, p, type, w.at(x, place, type), w.at(y, place, type), scratch, turned))

        w.repeat(p["batch"], one)


def _solve(m: _Matrix) -> None:
    w, (few, many) = m.w, _sizes(m.p)
    largest, total = _take(m)
    scale = chosen(w, w.op(f"fcmp oeq double {largest}, 0.0"), "1.0", largest)

    def solve() -> None:
        by = w.splat(scale)

        def begin(i: str) -> None:
            row = m.row(i)
            over_vectors(w, many, lambda j, _: w.vstore(w.binary("fdiv", w.vload(w.at(row, j)), by), w.at(row, j)))
            w.store("1.0", w.at(row, w.add(wide(many), i)))

        w.loop(few, lambda i, _: begin(i))
        make_orthogonal(w, m.row, few, many, m.turned, m.held)
        _give(m, scale)

    # Infinite numbers, and those that are none, have no difference.
    finite = w.op(f"fcmp ord double {of(w, 'fsub', total, total)}, 0.0")
    count = m.p["rows"] * m.p["cols"]
    w.either(finite, solve, lambda: _write_all(m, count))


def _write_all(m: _Matrix, count: int) -> None:
    """NaN everywhere."""
    m.w.loop(count, lambda i, _: m.w.store(NAN, m.w.at(m.y, i, m.type), m.type))


def _take(m: _Matrix) -> tuple[str, str]:
    """Read a matrix: the largest size of an element, and all of them added up."""
    w, (few, many) = m.w, _sizes(m.p)

    def row(i: str, found: list[str]) -> list[str]:
        line = m.row(i)
        over_vectors(w, m.held, lambda j, _: w.vstore(w.constant(0.0), w.at(line, j)))

        def one(j: str, best: list[str]) -> list[str]:
            value = w.load(w.at(m.x, m.element(i, j), m.type), m.type)
            value = value if m.type == "double" else w.op(f"fpext float {value} to double")
            w.store(value, w.at(line, j))
            size = size_of(w, value)
            larger = w.op(f"fcmp ogt double {size}, {best[0]}")
            # What is not finite remains so, and nothing else comes to be so.
            return [chosen(w, larger, size, best[0]), of(w, "fadd", best[1], of(w, "fmul", value, "0.0"))]

        return w.loop(many, one, [("double", found[0]), ("double", found[1])])

    largest, total = w.loop(few, row, [("double", "0.0"), ("double", "0.0")])
    return largest, total


def _give(m: _Matrix, scale: str) -> None:
    """The sum of products of each row with what it was rotated by, divided by the square of its length."""
    w, p, (few, many) = m.w, m.p, _sizes(m.p)

    def measure(i: str, found: list[str]) -> list[str]:
        size = length_of(w, m.row(i), many)
        w.store(size, m.lengths(i))
        return [chosen(w, w.op(f"fcmp ogt double {size}, {found[0]}"), size, found[0])]

    (largest,) = w.loop(few, measure, [("double", "0.0")])
    least = of(w, "fdiv", literal(p["atol"], "double"), scale)
    share = of(w, "fmul", literal(p["rtol"], "double"), largest)
    bound = chosen(w, w.op(f"fcmp ogt double {least}, {share}"), least, share)

    def divide(i: str) -> None:
        """Twice by the length, which for a row that counts as zero is infinite."""
        size, row = w.load(m.lengths(i)), m.row(i)
        by = w.splat(chosen(w, w.op(f"fcmp ogt double {size}, {bound}"), size, INFINITY))

        def one(j: str, _: list[str]) -> None:
            value = w.binary("fdiv", w.binary("fdiv", w.vload(w.at(row, j)), by), by)
            w.vstore(value, w.at(row, j))

        over_vectors(w, many, one)

    w.loop(few, lambda i, _: divide(i))

    line = m.row(few)

    def products(a: str) -> None:
        def some(b: str, _: list[str]) -> None:
            def one(i: str, sums: list[str]) -> list[str]:
                row = m.row(i)
                turned = w.load_splat(w.at(row, w.add(wide(many), a)))
                return [w.fma(turned, w.vload(w.at(row, b)), sums[0])]

            w.vstore(w.loop(few, one, [(vec("double", w.lanes), w.constant(0.0))])[0], w.at(line, b))

        over_vectors(w, many, some)

        def give(b: str) -> None:
            value = of(w, "fdiv", w.load(w.at(line, b)), scale)
            narrow = value if m.type == "double" else w.op(f"fptrunc double {value} to float")
            # Of a matrix whose columns were rotated a is a row of y.
            place = w.linear((a, many), (b, 1)) if p["rows"] > p["cols"] else w.linear((b, few), (a, 1))
            w.store(narrow, w.at(m.y, place, m.type), m.type)

        w.loop(many, lambda b, _: give(b))

    w.loop(few, lambda a, _: products(a))


# ---- the same in NumPy


def twin(p: Params, x: Array, scratch: Array, y: Array) -> None:
    scratch[:] = 0
    matrices = x.reshape(p["batch"], p["rows"], p["cols"]).astype(np.float64)
    finite = np.asarray(np.isfinite(matrices).all((1, 2), keepdims=True))
    u, s, vh = np.linalg.svd(np.where(finite, matrices, 0), full_matrices=False)
    kept = s > np.maximum(p["atol"], p["rtol"] * s.max(-1, keepdims=True))
    inverse = np.where(kept, 1 / np.where(kept, s, 1), 0)
    made = (vh.swapaxes(1, 2) * inverse[:, None]) @ u.swapaxes(1, 2)
    y[:] = np.where(finite, made, np.nan).ravel()


PINV = Emitter(operands, emit, twin)
