"""Rows of float64 made orthogonal by rotations of pairs (Hestenes, 1958), and what kernels that do so share.

A row stands in whole vectors, of which the rest are zeros. What is read of it lies in a row.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from graphc_codegen.kernels.vectors import across
from graphc_codegen.literals import literal
from graphc_codegen.writer import Writer, vec

INFINITY = "0x7FF0000000000000"
NAN = "0x7FF8000000000000"
#: Rows stand a multiple of so many elements apart, in whole vectors of any width.
_STEP = 16
#: More sweeps than any matrix needs: each squares what is left to do.
_SWEEPS = 60


def wide(size: int) -> int:
    """Elements from a row to the next."""
    return -(-size // _STEP) * _STEP


def over_vectors(
    w: Writer, size: int, body: Callable[[str, list[str]], Sequence[str] | None], sums: int = 0
) -> list[str]:
    """`body` for whole vectors of a row, with so many sums."""
    return w.loop(size, body, [(vec("double", w.lanes), w.constant(0.0))] * sums, step=w.lanes)


def of_lanes(w: Writer, value: str) -> str:
    """The sum of a vector's lanes."""
    made = across(w, value, lambda a, b: w.binary("fadd", a, b), "double")
    return w.op(f"extractelement {vec('double', w.lanes)} {made}, i64 0")


def of(w: Writer, op: str, a: str, b: str) -> str:
    return w.op(f"{op} double {a}, {b}")


def chosen(w: Writer, condition: str, a: str, b: str) -> str:
    return w.op(f"select i1 {condition}, double {a}, double {b}")


def size_of(w: Writer, x: str) -> str:
    return w.call("llvm.fabs.f64", "double", [("double", x)])


def root(w: Writer, x: str) -> str:
    return w.call("llvm.sqrt.f64", "double", [("double", x)])


def length_of(w: Writer, row: str, size: int) -> str:
    """The root of the sum of squares of a row at an address."""

    def one(j: str, sums: list[str]) -> list[str]:
        value = w.vload(w.at(row, j))
        return [w.fma(value, value, sums[0])]

    return root(w, of_lanes(w, over_vectors(w, size, one, 1)[0]))


def make_orthogonal(
    w: Writer, row: Callable[[str], str], rows: int, columns: int, turned: str, held: int | None = None
) -> None:
    """Rotate every pair of rows, again and again, until all are orthogonal in so many columns.

    held: how many columns of memory are rotated, those that count among them; as many by default. turned: memory of an i8.
    """
    if rows == 1:
        return

    def rest(i: str) -> None:
        w.turns((w.add(i, 1), rows), lambda k, _: _rotate(w, row(i), row(k), columns, held or columns, turned))

    def sweep(left: str) -> str:
        w.store("0", turned, "i8")
        w.loop(rows - 1, lambda i, _: rest(i))
        more = w.op(f"icmp ne i8 {w.load(turned, 'i8')}, 0")
        return w.op(f"select i1 {more}, i64 {w.op(f'sub i64 {left}, 1')}, i64 0")

    w.until_zero("i64", f"{_SWEEPS}", sweep)


def _tolerance(size: int) -> float:
    """The cosine of two rows that counts as zero: a little more than roundings make of it."""
    return float(np.finfo(np.float64).eps * max(10, 2 * size**0.5))


def _rotate(w: Writer, first: str, second: str, columns: int, held: int, turned: str) -> None:
    """Make two rows orthogonal, unless they are."""

    def products(j: str, sums: list[str]) -> list[str]:
        a, b = w.vload(w.at(first, j)), w.vload(w.at(second, j))
        return [w.fma(a, a, sums[0]), w.fma(b, b, sums[1]), w.fma(a, b, sums[2])]

    a, b, both = (of_lanes(w, x) for x in over_vectors(w, columns, products, 3))
    bound = of(w, "fmul", root(w, of(w, "fmul", a, b)), literal(_tolerance(columns), "double"))

    def turn() -> None:
        """By the smaller of the two angles."""
        w.store("1", turned, "i8")
        away = of(w, "fdiv", of(w, "fsub", b, a), of(w, "fadd", both, both))
        tangent = of(w, "fadd", size_of(w, away), root(w, of(w, "fadd", of(w, "fmul", away, away), "1.0")))
        tangent = w.call("llvm.copysign.f64", "double", [("double", of(w, "fdiv", "1.0", tangent)), ("double", away)])
        cosine = of(w, "fdiv", "1.0", root(w, of(w, "fadd", of(w, "fmul", tangent, tangent), "1.0")))
        c, s = w.splat(cosine), w.splat(of(w, "fmul", cosine, tangent))
        back = w.negative(s)

        def one(j: str, _: list[str]) -> None:
            x, y = w.vload(w.at(first, j)), w.vload(w.at(second, j))
            w.vstore(w.fma(back, y, w.binary("fmul", c, x)), w.at(first, j))
            w.vstore(w.fma(s, x, w.binary("fmul", c, y)), w.at(second, j))

        over_vectors(w, held, one)

    w.when(w.op(f"fcmp ogt double {size_of(w, both)}, {bound}"), turn)
