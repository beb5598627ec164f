"""LU factors with partial pivoting, and systems that are solved by them: some columns at a time, in memory of their own.

From columns of a matrix what stands left of them is taken away by tiles, as triangular systems are solved, then the rest of them
is factored column by column: the left-looking form in blocks (Golub and Van Loan, "Matrix computations", 2013, 3.2 and 3.4). It
writes every number once, and what it works on stays in a cache.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from graphc_codegen.dtypes import ITEMSIZE, REGISTER
from graphc_codegen.kernels.base import LINE, Array, Emitter, Operand, Params
from graphc_codegen.kernels.triangular import (
    VECTORS,
    System,
    eliminated,
    solve_column,
    solve_columns,
    tile_rows,
    without_products,
)
from graphc_codegen.kernels.vectors import int32, iota
from graphc_codegen.writer import Writer

_Index = str | int


def _room(p: Params) -> int:
    """Elements of memory of a part: some columns, and one element that is read behind them."""
    return int((p["size"] + 1) * VECTORS * LINE * 4 // ITEMSIZE[p["dtype"]])


class _Columns(NamedTuple):
    """Some columns of a matrix in a part's memory, where rows are whole vectors, and the lanes of these that count."""

    memory: str
    active: list[int]

    @classmethod
    def of(cls, w: Writer, memory: str, columns: int) -> _Columns:
        return cls(memory, [min(w.lanes, columns - k) for k in range(0, columns, w.lanes)])

    def place(self, w: Writer, r: _Index, column: _Index = 0) -> str:
        return w.at(self.memory, w.linear((r, len(self.active) * w.lanes), (column, 1)))

    def load(self, w: Writer, r: _Index) -> list[str]:
        return [w.vload(self.place(w, r, v * w.lanes)) for v in range(len(self.active))]

    def store(self, w: Writer, r: _Index, values: Sequence[str], first: int = 0) -> None:
        for v, value in enumerate(values, first):
            w.vstore(value, self.place(w, r, v * w.lanes))

    def take(self, w: Writer, r: _Index, source: str) -> None:
        """Row r from an address."""
        self.store(w, r, [w.vload(w.at(source, v * w.lanes), n) for v, n in enumerate(self.active)])

    def give(self, w: Writer, r: _Index, target: str) -> None:
        """Row r to an address."""
        for v, (value, n) in enumerate(zip(self.load(w, r), self.active, strict=True)):
            w.vstore(value, w.at(target, v * w.lanes), n)


def _number(w: Writer, order: str, r: _Index) -> str:
    """An int32 of an array of them."""
    return w.op(f"sext i32 {w.load(w.at(order, r, 'i32'), 'i32')} to i64")


# ---- factors


def factor_operands(p: Params) -> tuple[Operand, ...]:
    """x [batch, size, size] of `dtype`, float32 or float64 -> scratch, packed like x, order int32 [batch, size], sign [batch].

    At most `parts` threads share the matrices.
    """
    count = p["batch"] * p["size"] ** 2
    return (
        Operand(p["dtype"], count, "in"),
        Operand(p["dtype"], p["parts"] * _room(p), "out"),
        Operand(p["dtype"], count, "out"),
        Operand("int32", p["batch"] * p["size"], "out"),
        Operand(p["dtype"], p["batch"], "out"),
    )


def factor_emit(w: Writer, p: Params, pointers: Sequence[str]) -> None:
    """packed: L below the diagonal, whose own is ones, and U above, of rows `order` of x; the sign of that order.

    A pivot is what is largest in its column, the first of those, or the first NaN. Below one that is zero all is.
    """
    x, scratch, packed, order, sign = pointers
    with w.elements(REGISTER[p["dtype"]]):

        def one(r: _Index, o: _Index) -> None:
            first, rows = w.mul(o, p["size"] ** 2), w.at(order, w.mul(o, p["size"]), "i32")
            memory = w.at(scratch, w.mul(r, _room(p)))
            _Factors(w, p["size"], w.at(x, first), memory, w.at(packed, first), rows, w.at(sign, o)).make()

        w.share(p["parts"], lambda r: w.part(r, p["parts"], p["batch"], partial(one, r)))


class _Factors(NamedTuple):
    """One matrix and the addresses of its factors."""

    w: Writer
    size: int
    x: str
    memory: str
    packed: str
    order: str
    sign: str

    def make(self) -> None:
        w, wide = self.w, VECTORS * self.w.lanes
        w.repeat(self.size, lambda r: w.store(int32(w, r), w.at(self.order, r, "i32"), "i32"))
        w.store("1.0", self.sign)
        whole, rest = divmod(self.size, wide)
        w.repeat(whole, lambda i: self.columns(w.mul(i, wide), wide))
        if rest:
            self.columns(whole * wide, rest)

    @property
    def bits(self) -> str:
        """The type of an element's bits."""
        return "i32" if self.w.element == "float" else "i64"

    def element(self, r: _Index, column: _Index) -> str:
        return self.w.at(self.packed, self.w.linear((r, self.size), (column, 1)))

    def columns(self, start: _Index, count: int) -> None:
        """Some columns, of which those on the left are there."""
        w, columns = self.w, _Columns.of(self.w, self.memory, count)

        def source(r: _Index) -> str:
            # Rows stand as they were before the first exchange.
            row = _number(w, self.order, r) if start != 0 else r
            return w.at(self.x, w.linear((row, self.size), (start, 1)))

        w.repeat(self.size, lambda r: columns.take(w, r, source(r)))
        if start != 0:
            self.take_away(columns, start)
        self.factor(columns, start)
        w.repeat(self.size, lambda r: columns.give(w, r, self.element(r, start)))

    def take_away(self, columns: _Columns, start: _Index) -> None:
        """The products of columns on the left with what is above: that solves the upper rows."""
        w = self.w
        # Tiles end where the diagonal begins, and where the matrix does.
        rows = max(r for r in range(1, tile_rows(w, len(columns.active)) + 1) if VECTORS * w.lanes % r == 0)

        def tile(first: _Index, count: int, end: _Index, above: bool = False) -> None:
            def factor(k: _Index, r: int) -> str:
                return w.at(self.element(first, k), r * self.size)

            shape = count, len(columns.active)
            made = without_products(
                w, shape, lambda r: columns.load(w, w.add(first, r)), end, factor, partial(columns.load, w)
            )
            if above:
                made = eliminated(w, made, lambda k, r: factor(w.add(first, k), r), True)
            for r, line in enumerate(made):
                columns.store(w, w.add(first, r), line)

        rest = self.size % rows
        w.turns((0, start), lambda i, _: tile(i, rows, i, True), step=rows)
        w.turns((start, self.size - rest), lambda i, _: tile(i, rows, start), step=rows)
        if rest:
            tile(self.size - rest, rest, start)

    def factor(self, columns: _Columns, start: _Index) -> None:
        """The columns from their diagonal on, one after the other, each with the search for the next one's pivot."""
        found = self.searched(columns, (start, self.size), 0)
        left = sum(columns.active)
        # Below the last element of the diagonal there is nothing.
        left -= isinstance(start, int) and start + left == self.size
        for v in range(len(columns.active)):
            count = min(self.w.lanes, left - v * self.w.lanes)
            if count > 0:
                found = self.w.loop(
                    count, partial(self.column, columns, start, v), list(zip((self.bits, "i64"), found, strict=True))
                )

    def searched(
        self, columns: _Columns, rows: tuple[_Index, _Index], column: _Index, body: Callable[[str], None] | None = None
    ) -> list[str]:
        """The bits of the largest element of a column in some rows, and where it is; `body` is told each row before."""
        w = self.w
        bits = self.bits
        most = (1 << int(bits[1:]) - 1) - 1

        def turn(r: str, found: list[str]) -> list[str]:
            if body is not None:
                body(r)
            # As numbers, bits without the sign have the order of sizes, NaN last.
            size = w.op(f"and {bits} {w.load(columns.place(w, r, column), bits)}, {most}")
            larger = w.op(f"icmp sgt {bits} {size}, {found[0]}")
            return [
                w.op(f"select i1 {larger}, {t} {new}, {t} {old}")
                for t, new, old in zip((bits, "i64"), (size, r), found, strict=True)
            ]

        return w.turns(rows, turn, [(bits, "-1"), ("i64", f"{rows[0]}")])

    def column(self, columns: _Columns, start: _Index, v: int, k: str, found: list[str]) -> list[str]:
        """Lane k of vector v: exchange rows, divide, and take the products away on the right."""
        w = self.w
        column = w.add(k, v * w.lanes)
        diagonal, pivot_row = w.add(start, column), found[1]
        pivot, row = w.load(columns.place(w, pivot_row, column)), columns.load(w, pivot_row)[v:]
        self.exchange(columns, start, (diagonal, pivot_row))
        # A column of zeros leaves nothing to take away.
        nothing = w.op(f"fcmp oeq {w.element} {pivot}, 0.0")
        pivot = w.op(f"select i1 {nothing}, {w.element} 1.0, {w.element} {pivot}")
        places, here = iota(w), w.splat(int32(w, k), "i32")
        behind, at = (w.binary(f"icmp {how}", places, here, "i32") for how in ("sgt", "eq"))

        def below(r: str) -> None:
            factor = w.splat(w.op(f"fdiv {w.element} {w.load(columns.place(w, r, column))}, {pivot}"))
            by, values = w.negative(factor), columns.load(w, r)[v:]
            made = [w.fma(by, x, y) for x, y in zip(row, values, strict=True)]
            made[0] = w.select(behind, made[0], w.select(at, factor, values[0]))
            columns.store(w, r, made, v)

        return self.searched(columns, (w.add(diagonal, 1), self.size), w.add(column, 1), below)

    def exchange(self, columns: _Columns, start: _Index, rows: tuple[_Index, _Index]) -> None:
        """Exchange two rows, also of what is left of the columns."""
        w = self.w
        values = [columns.load(w, r) for r in rows]
        for r, line in zip(rows, reversed(values), strict=True):
            columns.store(w, r, line)

        def left(i: str, _: list[str]) -> None:
            places = [self.element(r, i) for r in rows]
            for value, place in zip([w.vload(place) for place in places], reversed(places), strict=True):
                w.vstore(value, place)

        if start != 0:
            w.turns((0, start), left, step=w.lanes)
        numbers = [w.at(self.order, r, "i32") for r in rows]
        for value, place in zip([w.load(place, "i32") for place in numbers], reversed(numbers), strict=True):
            w.store(value, place, "i32")
        # By its bit: a choice could become a branch, which nobody foresees.
        bits, top = self.bits, int(self.bits[1:]) - 1
        turned = w.op(f"zext i1 {w.op(f'icmp ne i64 {rows[0]}, {rows[1]}')} to {bits}")
        turned = w.op(f"shl {bits} {turned}, {top}")
        w.store(w.op(f"xor {bits} {w.load(self.sign, bits)}, {turned}"), self.sign, bits)


@np.errstate(all="ignore")
def factor_twin(p: Params, x: Array, scratch: Array, packed: Array, order: Array, sign: Array) -> None:
    size = p["size"]
    made, rows = packed.reshape(-1, size, size), order.reshape(-1, size)
    made[:], rows[:], sign[:] = x.reshape(made.shape), np.arange(size), 1
    batch = np.arange(p["batch"])
    for k in range(size):
        chosen = k + np.abs(made[:, k:, k]).argmax(1)
        for array in (made, rows):
            array[batch, k], array[batch, chosen] = array[batch, chosen], array[batch, k].copy()
        sign[chosen != k] *= -1
        pivot = made[:, k, k, None]
        made[:, k + 1 :, k] /= np.where(pivot == 0, 1, pivot)
        made[:, k + 1 :, k + 1 :] -= made[:, k + 1 :, k, None] * made[:, k, None, k + 1 :]


LU = Emitter(factor_operands, factor_emit, factor_twin)

# ---- systems


def solve_operands(p: Params) -> tuple[Operand, ...]:
    """packed [batch, size, size] of `dtype` and order int32 [batch, size], as `lu` gives them, b [batch, size, cols] -> scratch,
    x like b. At most `parts` threads share the work.
    """
    sides = p["batch"] * p["size"] * p["cols"]
    return (
        Operand(p["dtype"], p["batch"] * p["size"] ** 2, "in"),
        Operand("int32", p["batch"] * p["size"], "in"),
        Operand(p["dtype"], sides, "in"),
        Operand(p["dtype"], p["parts"] * _room(p), "out"),
        Operand(p["dtype"], sides, "out"),
    )


def solve_emit(w: Writer, p: Params, pointers: Sequence[str]) -> None:
    """a x = b for the matrices a that have these factors, with `transposed` for their transposes."""
    packed, order, b, scratch, x = pointers
    size, cols, parts = p["size"], p["cols"], p["parts"]
    with w.elements(REGISTER[p["dtype"]]):
        wide = VECTORS * w.lanes

        def some(r: _Index, column: _Index, count: int, o: _Index) -> None:
            matrix, rows = w.at(packed, w.mul(o, size**2)), w.at(order, w.mul(o, size), "i32")
            side, target = (w.at(pointer, w.linear((o, size * cols), (column, 1))) for pointer in (b, x))
            columns = _Columns.of(w, w.at(scratch, w.mul(r, _room(p))), count)
            _solve(w, p, (matrix, rows, side, target), columns)

        def part(r: _Index) -> None:
            whole, rest = divmod(cols, wide)
            if whole:
                w.part(r, parts, p["batch"] * whole, lambda u: each(r, *w.divided(u, whole)))
            if rest:
                w.part(r, parts, p["batch"], partial(some, r, whole * wide, rest))

        def each(r: _Index, o: _Index, c: _Index) -> None:
            some(r, w.mul(c, wide), wide, o)

        w.share(parts, part)


def _solve(w: Writer, p: Params, pointers: tuple[str, str, str, str], columns: _Columns) -> None:
    """Some columns of right sides: brought into their memory, solved there by the one factor and the other, and brought back."""
    matrix, order, side, target = pointers
    size, cols, transposed, memory = p["size"], p["cols"], p["transposed"], columns.memory
    single = cols == 1
    lead = 1 if single else len(columns.active) * w.lanes

    def take(r: _Index) -> None:
        source = w.at(side, w.mul(r if transposed else _number(w, order, r), cols))
        if single:
            w.store(w.load(source), w.at(memory, r))
        else:
            columns.take(w, r, source)

    def give(r: _Index) -> None:
        place = w.at(target, w.mul(_number(w, order, r) if transposed else r, cols))
        if single:
            w.store(w.load(w.at(memory, r)), place)
        else:
            columns.give(w, r, place)

    w.repeat(size, take)
    for lower in (not transposed, transposed):
        system = System.of(size, lead, lower=lower, transposed=transposed, unit=lower)
        if single:
            solve_column(w, system, (matrix, memory, memory))
        else:
            solve_columns(w, system, (matrix, memory, memory), lead)
    w.repeat(size, give)


@np.errstate(all="ignore")
def solve_twin(p: Params, packed: Array, order: Array, b: Array, scratch: Array, x: Array) -> None:
    size, cols = p["size"], p["cols"]
    matrices, rows = packed.reshape(-1, size, size), order.reshape(-1, size)
    sides, made = b.reshape(-1, size, cols), x.reshape(-1, size, cols)
    batch = np.arange(p["batch"])[:, None]
    solved = sides.copy() if p["transposed"] else sides[batch, rows]
    matrices = matrices.swapaxes(1, 2) if p["transposed"] else matrices
    for forward in (True, False):
        unit = forward != p["transposed"]
        for r in range(size) if forward else reversed(range(size)):
            done = slice(0, r) if forward else slice(r + 1, None)
            solved[:, r] -= (matrices[:, r : r + 1, done] @ solved[:, done])[:, 0]
            if not unit:
                solved[:, r] /= matrices[:, r, r, None]
    if p["transposed"]:
        made[batch, rows] = solved
    else:
        made[:] = solved


LU_SOLVE = Emitter(solve_operands, solve_emit, solve_twin)
