"""Diagonal forms of square matrices by Gauss' elimination of rows and of columns, with a pivot among all that is left.

Such a form is one of any matrix, singular or not, and what made it is well conditioned (Golub and Van Loan, "Matrix
computations", 2013, 3.4.8). Complex numbers are two arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from graphc_codegen.dtypes import REGISTER
from graphc_codegen.kernels.base import Array, Emitter, Operand, Params
from graphc_codegen.writer import Writer

_Index = str | int
#: A number's parts, or the arrays that have them: one, or two.
_Parts = list[str]


def operands(p: Params) -> tuple[Operand, ...]:
    """x [batch, size, size] of `dtype`, float32 or float64, its real and then its imaginary parts if `parts` is 2 -> scratch,
    then each in as many parts: left and right like x, diagonal and firsts [batch, size], seconds like x.
    """
    parts, square, line = p["parts"], p["batch"] * p["size"] ** 2, p["batch"] * p["size"]
    results = [
        Operand(p["dtype"], count, "out") for count in (square, square, line, line, square) for _ in range(parts)
    ]
    read = [Operand(p["dtype"], square, "in")] * parts
    return (*read, Operand(p["dtype"], parts * p["size"] ** 2, "out"), *results)


def emit(w: Writer, p: Params, pointers: Sequence[str]) -> None:
    """left x right^T is diagonal, and both have the determinant 1, or both -1.

    firsts[i] is the product of the diagonal without element i, seconds[i, j] that without i and j, zero where these are one.
    """
    parts, size = p["parts"], p["size"]
    x, scratch, results = pointers[:parts], pointers[parts], pointers[parts + 1 :]
    with w.elements(REGISTER[p["dtype"]]):
        rest = [w.at(scratch, k * size * size) for k in range(parts)]

        def one(o: _Index) -> None:
            square, line = w.mul(o, size * size), w.mul(o, size)
            at = [
                [w.at(place, start) for place in results[k * parts : (k + 1) * parts]]
                for k, start in enumerate((square, square, line, line, square))
            ]
            _Form(w, size, [w.at(place, square) for place in x], rest, *at).make()

        w.repeat(p["batch"], one)


class _Form(NamedTuple):
    """One matrix, what is left of it, and the addresses of the results."""

    w: Writer
    size: int
    x: _Parts
    rest: _Parts
    left: _Parts
    right: _Parts
    diagonal: _Parts
    firsts: _Parts
    seconds: _Parts

    def make(self) -> None:
        w, size = self.w, self.size
        w.loop(size * size, lambda i, _: self.put(self.rest, i, self.get(self.x, i)))
        for array in (self.left, self.right):
            w.loop(size * size, lambda i, _, array=array: self.put(array, i, self.number("0.0")))  # type: ignore[misc]
            w.loop(size, lambda i, _, array=array: self.put(array, w.mul(i, size + 1), self.number("1.0")))  # type: ignore[misc]
        (sign,) = w.loop(size, self.step, [(w.element, "1.0")])
        # Where rows and columns were exchanged an odd number of times both determinants were -1 together.
        self.times(self.diagonal, 0, sign)
        w.loop(size, lambda c, _: self.times(self.left, c, sign))
        w.loop(size, lambda i, _: self.products(i))

    # ---- numbers

    def number(self, value: str) -> _Parts:
        return [value, "0.0"][: len(self.x)]

    def get(self, array: _Parts, i: _Index) -> _Parts:
        return [self.w.load(self.w.at(place, i)) for place in array]

    def put(self, array: _Parts, i: _Index, value: _Parts) -> None:
        for place, part in zip(array, value, strict=True):
            self.w.store(part, self.w.at(place, i))

    def of(self, op: str, a: str, b: str) -> str:
        return self.w.op(f"{op} {self.w.element} {a}, {b}")

    def size_of(self, a: _Parts) -> str:
        """|re| + |im|"""
        type = self.w.element
        name = "llvm.fabs.f32" if type == "float" else "llvm.fabs.f64"
        sizes = [self.w.call(name, type, [(type, part)]) for part in a]
        return sizes[0] if len(sizes) == 1 else self.of("fadd", *sizes)

    def product(self, a: _Parts, b: _Parts) -> _Parts:
        if len(a) == 1:
            return [self.of("fmul", a[0], b[0])]
        re = self.of("fsub", self.of("fmul", a[0], b[0]), self.of("fmul", a[1], b[1]))
        return [re, self.of("fadd", self.of("fmul", a[0], b[1]), self.of("fmul", a[1], b[0]))]

    def quotient(self, a: _Parts, b: _Parts, scale: str) -> _Parts:
        """a / b, where `scale` is |re| + |im| of b, by which both are divided first: a square might be none."""
        if len(a) == 1:
            return [self.of("fdiv", a[0], b[0])]
        (c, d), (e, f) = ([self.of("fdiv", part, scale) for part in x] for x in (a, b))
        below = self.of("fadd", self.of("fmul", e, e), self.of("fmul", f, f))
        above = self.product([c, d], [e, self.of("fsub", "-0.0", f)])
        return [self.of("fdiv", part, below) for part in above]

    def times(self, array: _Parts, i: _Index, factor: str) -> None:
        self.put(array, i, [self.of("fmul", part, factor) for part in self.get(array, i)])

    def less(self, array: _Parts, at: _Index, factor: _Parts, other: _Index) -> None:
        """array[at] -= factor * array[other]"""
        taken = self.product(factor, self.get(array, other))
        made = [self.of("fsub", a, b) for a, b in zip(self.get(array, at), taken, strict=True)]
        self.put(array, at, made)

    # ---- elimination

    def step(self, k: str, carried: list[str]) -> list[str]:
        """Bring the largest number that is left to place k of the diagonal and clear its row and its column."""
        w, size = self.w, self.size
        row, column = self.pivot(k)
        self.exchange(self.rest, k, row)
        self.exchange(self.left, k, row)
        self.exchange(self.rest, k, column, columns=True)
        self.exchange(self.right, k, column)
        here = w.linear((k, size + 1))
        pivot = self.get(self.rest, here)
        scale = self.size_of(pivot)
        # What is left is zeros, otherwise.
        w.when(w.op(f"fcmp une {w.element} {scale}, 0.0"), lambda: self.clear(k, pivot, scale))
        self.put(self.diagonal, k, pivot)
        odd = w.op(f"xor i1 {w.op(f'icmp ne i64 {row}, {k}')}, {w.op(f'icmp ne i64 {column}, {k}')}")
        return [w.op(f"select i1 {odd}, {w.element} {self.of('fsub', '-0.0', carried[0])}, {w.element} {carried[0]}")]

    def pivot(self, k: str) -> tuple[str, str]:
        """Row and column of the first of the largest numbers from row and column k on."""
        w, size = self.w, self.size
        kinds = [(w.element, "-1.0"), ("i64", k), ("i64", k)]

        def line(i: str, found: list[str]) -> list[str]:
            def one(j: str, best: list[str]) -> list[str]:
                value = self.size_of(self.get(self.rest, w.linear((i, size), (j, 1))))
                larger = w.op(f"fcmp ogt {w.element} {value}, {best[0]}")
                pairs = zip(kinds, (value, i, j), best, strict=True)
                return [w.op(f"select i1 {larger}, {type} {new}, {type} {old}") for (type, _), new, old in pairs]

            return w.loop(size, one, [(type, old) for (type, _), old in zip(kinds, found, strict=True)], start=k)

        _, row, column = w.loop(size, line, kinds, start=k)
        return row, column

    def exchange(self, array: _Parts, first: str, second: str, columns: bool = False) -> None:
        w, size = self.w, self.size
        down, along = (1, size) if columns else (size, 1)

        def one(c: _Index) -> None:
            places = [w.linear((r, down), (c, along)) for r in (first, second)]
            values = [self.get(array, place) for place in places]
            for place, value in zip(places, reversed(values), strict=True):
                self.put(array, place, value)

        w.when(w.op(f"icmp ne i64 {first}, {second}"), lambda: w.repeat(size, one))

    def clear(self, k: str, pivot: _Parts, scale: str) -> None:
        w, size = self.w, self.size
        after = w.add(k, 1)

        def line(array: _Parts, r: str, factor: _Parts, start: _Index) -> None:
            """array[r] -= factor * array[k] from a column on"""
            w.turns(
                (start, size),
                lambda c, _: self.less(array, w.linear((r, size), (c, 1)), factor, w.linear((k, size), (c, 1))),
            )

        def row(r: str, _: list[str]) -> None:
            factor = self.quotient(self.get(self.rest, w.linear((r, size), (k, 1))), pivot, scale)
            line(self.rest, r, factor, after)
            line(self.left, r, factor, 0)

        def column(c: str, _: list[str]) -> None:
            factor = self.quotient(self.get(self.rest, w.linear((k, size), (c, 1))), pivot, scale)
            line(self.right, c, factor, 0)

        w.turns((after, size), row)
        w.turns((after, size), column)

    # ---- products

    def products(self, i: str) -> None:
        """Of the elements before each one, then those behind it, element i never among them."""
        w, size, kinds = self.w, self.size, [(self.w.element, part) for part in self.number("1.0")]
        last = size - 1

        def along(place: Callable[[str], _Index], finish: Callable[[_Index, _Parts], None]) -> _Parts:
            def one(j: str, so_far: _Parts) -> _Parts:
                at = place(j)
                finish(w.linear((i, size), (at, 1)), so_far)
                own = w.op(f"icmp eq i64 {at}, {i}")
                pairs = zip(so_far, self.product(so_far, self.get(self.diagonal, at)), strict=True)
                return [w.op(f"select i1 {own}, {w.element} {old}, {w.element} {new}") for old, new in pairs]

            return w.loop(size, one, kinds)

        def both(at: _Index, behind: _Parts) -> None:
            self.put(self.seconds, at, self.product(self.get(self.seconds, at), behind))

        along(lambda j: j, lambda at, before: self.put(self.seconds, at, before))
        whole = along(lambda j: w.subtracted(last, j), both)
        self.put(self.firsts, i, whole)
        self.put(self.seconds, w.mul(i, size + 1), self.number("0.0"))


# ---- the same in NumPy


def twin(p: Params, *arrays: Array) -> None:
    parts, size, batch = p["parts"], p["size"], p["batch"]
    x = arrays[0] if parts == 1 else arrays[0] + 1j * arrays[1]
    arrays[parts][:] = 0
    x = x.reshape(batch, size, size)
    results = [arrays[k : k + parts] for k in range(parts + 1, len(arrays), parts)]
    for o in range(batch):
        for array, value in zip(results, _form(x[o]), strict=True):
            for place, part in zip(array, (value.real, value.imag), strict=False):
                place.reshape(batch, -1)[o] = part.ravel()


def _form(x: Array) -> tuple[Array, ...]:
    size, x, sign = len(x), x.copy(), 1.0
    left, right = np.eye(size, dtype=x.dtype), np.eye(size, dtype=x.dtype)
    with np.errstate(all="ignore"):
        for k in range(size):
            sizes = np.nan_to_num(abs(x[k:, k:].real) + abs(x[k:, k:].imag), nan=-2, posinf=np.inf)
            row, column = (k + int(i) for i in np.unravel_index(sizes.argmax(), sizes.shape))
            for array, other in ((x, row), (left, row), (x.T, column), (right, column)):
                array[[k, other]] = array[[other, k]]
            sign = -sign if (row != k) ^ (column != k) else sign
            if x[k, k] != 0:
                down, across = x[k + 1 :, k] / x[k, k], x[k, k + 1 :] / x[k, k]
                x[k + 1 :, k + 1 :] -= np.outer(down, x[k, k + 1 :])
                left[k + 1 :] -= np.outer(down, left[k])
                right[k + 1 :] -= np.outer(across, right[k])
        diagonal = np.diagonal(x).copy()
        diagonal[0] *= sign
        left[0] *= sign
        others = ~np.eye(size, dtype=bool)
        firsts = np.where(others, diagonal, 1).prod(1)
        kept = others[:, None] & others[None]
        return left, right, diagonal, firsts, np.where(kept, diagonal, 1).prod(2) * others


DIAGONAL_FORM = Emitter(operands, emit, twin)
