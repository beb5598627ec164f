"""Triangular systems, in tiles of rows and vectors of columns that stand in registers.

From a tile of right sides what the rows before contribute is taken away, product by product, then its own triangle is solved:
the left-looking form (Golub and Van Loan, "Matrix computations", 2013, 3.1), which writes every number once. Rows go from the
last to the first where that is the way of substitution: with strides below zero that is the same code.

A single right side leaves no columns for the lanes of vectors: there these run along rows, or columns, of the matrix.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from graphc_codegen.dtypes import REGISTER
from graphc_codegen.kernels.base import Array, Emitter, Operand, Params
from graphc_codegen.kernels.microkernel import registers
from graphc_codegen.kernels.vectors import across, along
from graphc_codegen.kernels.vectors import first as first_lane
from graphc_codegen.writer import Writer, vec

#: Vectors of a tile beside each other, where there are as many.
VECTORS = 3
#: The vectors of each row of a tile.
Rows = list[list[str]]


def tile_rows(w: Writer, vectors: int) -> int:
    """Rows of a tile, for which there are registers."""
    return registers(w.floats) // vectors


def without_products(
    w: Writer,
    shape: tuple[int, int],
    load: Callable[[int], Sequence[str]],
    end: str | int,
    factor: Callable[[str | int, int], str],
    row: Callable[[str | int], Sequence[str]],
) -> Rows:
    """What `load` gives for the rows of a tile, of so many rows and vectors, less factor(k, r) times row k for its row r, for all
    k < `end`; `factor` gives addresses, `row` and `load` vectors.

    The products are added up before: their roundings are those of their own sum.
    """
    rows, wide = shape

    def turn(k: str, sums: list[str]) -> list[str]:
        vectors, made = row(k), []
        for r in range(rows):
            by = w.load_splat(factor(k, r))
            made += [w.fma(by, x, sums[r * wide + v]) for v, x in enumerate(vectors)]
        return made

    sums = w.turns((0, end), turn, [(vec(w.element, w.lanes), "zeroinitializer")] * (rows * wide))
    return [[w.binary("fsub", x, sums[r * wide + v]) for v, x in enumerate(load(r))] for r in range(rows)]


def eliminated(w: Writer, tile: Rows, factor: Callable[[int, int], str], unit: bool) -> Rows:
    """The solution of a tile's own triangle, whose element of row r and column k is at the address factor(k, r)."""
    done = list(tile)
    for k in range(len(done)):
        if not unit:
            pivot = w.load_splat(factor(k, k))
            done[k] = [w.binary("fdiv", x, pivot) for x in done[k]]
        for r in range(k + 1, len(done)):
            by = w.negative(w.load_splat(factor(k, r)))
            done[r] = [w.fma(by, x, y) for x, y in zip(done[k], done[r], strict=True)]
    return done


# ---- triangular systems


def solve_operands(p: Params) -> tuple[Operand, ...]:
    """a [batch, size, size], b [batch, size, cols] of `dtype`, float32 or float64 -> x like b."""
    sides = p["batch"] * p["size"] * p["cols"]
    return (
        Operand(p["dtype"], p["batch"] * p["size"] ** 2, "in"),
        Operand(p["dtype"], sides, "in"),
        Operand(p["dtype"], sides, "out"),
    )


def solve_emit(w: Writer, p: Params, pointers: Sequence[str]) -> None:
    """a x = b for the `lower` or the upper triangle of a, the transposed one with `transposed`; with `unit` its diagonal is ones.

    Nothing else of a is read.
    """
    with w.elements(REGISTER[p["dtype"]]):
        wide = VECTORS * w.lanes
        whole, rest = divmod(p["cols"], wide)
        system = System.of(p["size"], p["cols"], lower=p["lower"], transposed=p["transposed"], unit=p["unit"])

        def places(o: str | int, column: str | int) -> tuple[str, str, str]:
            a, *sides = pointers
            first = w.linear((o, p["size"] * p["cols"]), (column, 1))
            b, x = (w.at(side, first) for side in sides)
            return w.at(a, w.mul(o, p["size"] ** 2)), b, x

        if p["cols"] == 1:
            w.share(p["batch"], lambda o: solve_column(w, system, places(o, 0)))
            return
        w.share_pairs(p["batch"], whole, lambda o, c: solve_columns(w, system, places(o, w.mul(c, wide)), wide))
        if rest:
            w.share(p["batch"], lambda o: solve_columns(w, system, places(o, whole * wide), rest))


class System(NamedTuple):
    """Where numbers are, in the order in which rows are solved: element (r, k) of the matrix at `first` + r `down` + k `across`,
    row r of the sides at `begin` + r `step`. With `unit` the diagonal counts as ones.
    """

    size: int
    unit: bool
    first: int
    down: int
    across: int
    begin: int
    step: int

    @property
    def rows_lie(self) -> bool:
        """Whether rows of the matrix are contiguous, not columns."""
        return abs(self.across) == 1

    @classmethod
    def of(cls, size: int, lead: int, *, lower: bool, transposed: bool, unit: bool) -> System:
        """A triangle of so many rows, with right sides whose rows are `lead` apart."""
        down, across = (1, size) if transposed else (size, 1)
        if lower != transposed:
            return cls(size, unit, 0, down, across, 0, lead)
        return cls(size, unit, size * size - 1, -down, -across, (size - 1) * lead, -lead)


#: The addresses of a matrix, of right sides, and of what solves the system, which may be the same as the sides.
Places = tuple[str, str, str]


def solve_columns(w: Writer, s: System, pointers: Places, columns: int) -> None:
    """Solve some columns of one matrix's right sides, from an address on."""
    a, b, x = pointers
    vectors = -(-columns // w.lanes)
    active = [min(w.lanes, columns - v * w.lanes) for v in range(vectors)]

    def places(pointer: str, r: str | int) -> list[str]:
        start = w.at(pointer, w.linear((r, s.step), (s.begin, 1)))
        return [w.at(start, v * w.lanes) for v in range(vectors)]

    def load(pointer: str, r: str | int) -> list[str]:
        return [w.vload(place, n) for place, n in zip(places(pointer, r), active, strict=True)]

    def tile(start: str | int, rows: int) -> None:
        # Elements of the matrix stand at constant distances from one of each k.
        corner = w.linear((start, s.down), (s.first, 1))

        def factor(k: str | int, r: int) -> str:
            return w.at(w.at(a, w.linear((k, s.across), (corner, 1))), r * s.down)

        made = without_products(
            w, (rows, vectors), lambda r: load(b, w.add(start, r)), start, factor, lambda k: load(x, k)
        )
        made = eliminated(w, made, lambda k, r: factor(w.add(start, k), r), s.unit)
        for r, line in enumerate(made):
            for value, place, n in zip(line, places(x, w.add(start, r)), active, strict=True):
                w.vstore(value, place, n)

    rows = tile_rows(w, vectors)
    whole, rest = divmod(s.size, rows)
    w.repeat(whole, lambda i: tile(w.mul(i, rows), rows))
    if rest:
        tile(whole * rows, rest)


def solve_column(w: Writer, s: System, pointers: Places) -> None:
    """Solve one matrix's only right side, as many rows at a time as a vector has lanes.

    Vectors lie along what is contiguous. Rows are multiplied with what is solved when their turn comes; columns are taken away
    from the rest as soon as they can be.
    """
    a, b, x = pointers
    whole, rest = divmod(s.size, w.lanes)

    def place(pointer: str, r: str | int) -> str:
        return w.at(pointer, w.linear((r, s.step), (s.begin, 1)))

    def factor(k: str | int, r: str | int) -> str:
        return w.at(a, w.linear((r, s.down), (k, s.across), (s.first, 1)))

    def copy(i: str | int, n: int) -> list[str]:
        w.vstore(w.vload(w.at(b, i), n), w.at(x, i), n)
        return []

    def tile(start: str | int, rows: int) -> None:
        places = [w.add(start, r) for r in range(rows)]
        if s.rows_lie:
            sums = _sums(w, s, (start, rows), factor, partial(place, x))
            made = [[w.binary("fsub", w.load_splat(place(b, r)), y)] for r, y in zip(places, sums, strict=True)]
        else:
            made = [[w.load_splat(place(x, r))] for r in places]
        solved = [y for (y,) in eliminated(w, made, lambda k, r: factor(places[k], places[r]), s.unit)]
        for r, value in zip(places, solved, strict=True):
            w.store(first_lane(w, value, w.element), place(x, r))
        if not s.rows_lie and rows == w.lanes:
            _take_away(w, s, (places, solved), (whole, rest), factor, partial(place, x))

    if not s.rows_lie and b != x:
        along(w, s.size, (), lambda i, n, _: copy(i, n))
    w.repeat(whole, lambda i: tile(w.mul(i, w.lanes), w.lanes))
    if rest:
        tile(whole * w.lanes, rest)


#: The address of the matrix's element in column k, row r; and of row r of what solves the system.
_Factor = Callable[[str | int, str | int], str]
_Place = Callable[[str | int], str]


def _sums(w: Writer, s: System, tile: tuple[str | int, int], factor: _Factor, place: _Place) -> list[str]:
    """For each row of a tile the sum, in all lanes, of its products with what is solved before it."""
    start, rows = tile

    def turn(k: str, sums: list[str]) -> list[str]:
        lowest = k if s.across > 0 else w.add(k, w.lanes - 1)
        x = w.vload(place(lowest))
        return [w.fma(w.vload(factor(lowest, w.add(start, r))), x, total) for r, total in enumerate(sums)]

    none = [(vec(w.element, w.lanes), "zeroinitializer")] * rows
    totals = w.turns((0, start), turn, none, step=w.lanes)
    return [across(w, x, lambda a, b: w.binary("fadd", a, b), w.element) for x in totals]


def _take_away(
    w: Writer,
    s: System,
    tile: tuple[Sequence[str | int], Sequence[str]],
    parts: tuple[int, int],
    factor: _Factor,
    place: _Place,
) -> None:
    """Take the products with what a tile has solved away from all rows behind it: whole vectors of them, and a rest."""
    (places, solved), (whole, rest) = tile, parts
    negative = [w.negative(x) for x in solved]

    def some(r: str | int, active: int) -> None:
        lowest = r if s.down > 0 else w.add(r, active - 1)
        value = w.vload(place(lowest), active)
        for k, x in zip(places, negative, strict=True):
            value = w.fma(w.vload(factor(k, lowest), active), x, value)
        w.vstore(value, place(lowest), active)

    w.turns((w.add(places[0], w.lanes), whole * w.lanes), lambda r, _: some(r, w.lanes), step=w.lanes)
    if rest:
        some(whole * w.lanes, rest)


@np.errstate(all="ignore")
def solve_twin(p: Params, a: Array, b: Array, x: Array) -> None:
    size, cols = p["size"], p["cols"]
    matrices, sides, made = a.reshape(-1, size, size), b.reshape(-1, size, cols), x.reshape(-1, size, cols)
    if p["transposed"]:
        matrices = matrices.swapaxes(1, 2)
    if p["lower"] == p["transposed"]:
        matrices, sides, made = matrices[:, ::-1, ::-1], sides[:, ::-1], made[:, ::-1]
    for r in range(size):
        before = (matrices[:, r : r + 1, :r] @ made[:, :r])[:, 0]
        made[:, r] = sides[:, r] - before
        if not p["unit"]:
            made[:, r] /= matrices[:, r, r, None]


TRIANGULAR_SOLVE = Emitter(solve_operands, solve_emit, solve_twin)
