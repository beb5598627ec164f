"""Triangular systems, in tiles of rows and vectors of columns that stand in registers.

From a tile of right sides what the rows before contribute is taken away, product by product, then its own triangle is solved:
the left-looking form (Golub and Van Loan, "Matrix computations", 2013, 3.1), which writes every number once. Rows go from the
last to the first where that is the way of substitution: with strides below zero that is the same code.

A single right side leaves no columns for the lanes of vectors: there these run along rows, or columns, of the matrix.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
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
    tile: Rows,
    end: str | int,
    factor: Callable[[str | int, int], str],
    row: Callable[[str | int], Sequence[str]],
) -> Rows:
    """The tile less factor(k, r) times row k for its row r, for all k < `end`; `factor` gives addresses, `row` vectors."""
    wide = len(tile[0])

    def turn(k: str, values: list[str]) -> list[str]:
        vectors, made = row(k), []
        for r in range(len(tile)):
            by = w.negative(w.load_splat(factor(k, r)))
            made += [w.fma(by, x, values[r * wide + v]) for v, x in enumerate(vectors)]
        return made

    flat = w.turns((0, end), turn, [(vec(w.element, w.lanes), x) for line in tile for x in line])
    return [flat[r : r + wide] for r in range(0, len(flat), wide)]


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
        system = _System.of(p, pointers)
        if p["cols"] == 1:
            w.share(p["batch"], lambda o: _column(w, p, system, o))
            return
        w.share_pairs(p["batch"], whole, lambda o, c: _panel(w, p, system, (o, w.mul(c, wide)), wide))
        if rest:
            w.share(p["batch"], lambda o: _panel(w, p, system, (o, whole * wide), rest))


class _System(NamedTuple):
    """Where numbers are, in the order in which rows are solved: element (r, k) of the matrix at `first` + r `down` + k `across`,
    row r of the sides at `begin` + r `step`.
    """

    a: str
    b: str
    x: str
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
    def of(cls, p: Params, pointers: Sequence[str]) -> _System:
        size, cols = p["size"], p["cols"]
        down, across = (1, size) if p["transposed"] else (size, 1)
        a, b, x = pointers
        if p["lower"] != p["transposed"]:
            return cls(a, b, x, 0, down, across, 0, cols)
        return cls(a, b, x, size * size - 1, -down, -across, (size - 1) * cols, -cols)


def _panel(w: Writer, p: Params, s: _System, at: tuple[str | int, str | int], columns: int) -> None:
    """Solve some columns of one matrix's right sides."""
    (o, column), size = at, p["size"]
    vectors = -(-columns // w.lanes)
    active = [min(w.lanes, columns - v * w.lanes) for v in range(vectors)]
    first = w.linear((o, size * size), (s.first, 1))
    begin = w.linear((o, size * p["cols"]), (column, 1), (s.begin, 1))

    def places(pointer: str, r: str | int) -> list[str]:
        start = w.at(pointer, w.linear((r, s.step), (begin, 1)))
        return [w.at(start, v * w.lanes) for v in range(vectors)]

    def load(pointer: str, r: str | int) -> list[str]:
        return [w.vload(place, n) for place, n in zip(places(pointer, r), active, strict=True)]

    def tile(start: str | int, rows: int) -> None:
        # Elements of the matrix stand at constant distances from one of each k.
        corner = w.linear((start, s.down), (first, 1))

        def factor(k: str | int, r: int) -> str:
            return w.at(w.at(s.a, w.linear((k, s.across), (corner, 1))), r * s.down)

        made = [load(s.b, w.add(start, r)) for r in range(rows)]
        made = without_products(w, made, start, factor, lambda k: load(s.x, k))
        made = eliminated(w, made, lambda k, r: factor(w.add(start, k), r), p["unit"])
        for r, line in enumerate(made):
            for value, place, n in zip(line, places(s.x, w.add(start, r)), active, strict=True):
                w.vstore(value, place, n)

    rows = tile_rows(w, vectors)
    whole, rest = divmod(size, rows)
    w.repeat(whole, lambda i: tile(w.mul(i, rows), rows))
    if rest:
        tile(whole * rows, rest)


def _column(w: Writer, p: Params, s: _System, o: str | int) -> None:
    """Solve one matrix's only right side, as many rows at a time as a vector has lanes.

    Vectors lie along what is contiguous. Rows are multiplied with what is solved when their turn comes; columns are taken away
    from the rest as soon as they can be.
    """
    size = p["size"]
    whole, rest = divmod(size, w.lanes)
    first, begin = w.linear((o, size * size), (s.first, 1)), w.linear((o, size), (s.begin, 1))

    def place(pointer: str, r: str | int) -> str:
        return w.at(pointer, w.linear((r, s.step), (begin, 1)))

    def factor(k: str | int, r: str | int) -> str:
        return w.at(s.a, w.linear((r, s.down), (k, s.across), (first, 1)))

    def tile(start: str | int, rows: int) -> None:
        places = [w.add(start, r) for r in range(rows)]
        if s.rows_lie:
            sums = _sums(w, s, (start, rows), factor, place)
            made = [[w.binary("fsub", w.load_splat(place(s.b, r)), x)] for r, x in zip(places, sums, strict=True)]
        else:
            made = [[w.load_splat(place(s.x, r))] for r in places]
        solved = [x for (x,) in eliminated(w, made, lambda k, r: factor(places[k], places[r]), p["unit"])]
        for r, value in zip(places, solved, strict=True):
            w.store(first_lane(w, value, w.element), place(s.x, r))
        if not s.rows_lie and rows == w.lanes:
            _take_away(w, s, (places, solved), (whole, rest), factor, place)

    if not s.rows_lie:
        at = w.mul(o, size)
        along(w, size, (), lambda i, n, _: _copy(w, s, w.add(at, i), n))
    w.repeat(whole, lambda i: tile(w.mul(i, w.lanes), w.lanes))
    if rest:
        tile(whole * w.lanes, rest)


#: The address of the matrix's element in column k, row r; and of row r of a right side.
_Factor = Callable[[str | int, str | int], str]
_Place = Callable[[str, str | int], str]


def _copy(w: Writer, s: _System, i: str | int, active: int) -> list[str]:
    w.vstore(w.vload(w.at(s.b, i), active), w.at(s.x, i), active)
    return []


def _sums(w: Writer, s: _System, tile: tuple[str | int, int], factor: _Factor, place: _Place) -> list[str]:
    """For each row of a tile the sum, in all lanes, of its products with what is solved before it."""
    start, rows = tile

    def turn(k: str, sums: list[str]) -> list[str]:
        lowest = k if s.across > 0 else w.add(k, w.lanes - 1)
        x = w.vload(place(s.x, lowest))
        return [w.fma(w.vload(factor(lowest, w.add(start, r))), x, total) for r, total in enumerate(sums)]

    none = [(vec(w.element, w.lanes), "zeroinitializer")] * rows
    totals = w.turns((0, start), turn, none, step=w.lanes)
    return [across(w, x, lambda a, b: w.binary("fadd", a, b), w.element) for x in totals]


def _take_away(
    w: Writer,
    s: _System,
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
        value = w.vload(place(s.x, lowest), active)
        for k, x in zip(places, negative, strict=True):
            value = w.fma(w.vload(factor(k, lowest), active), x, value)
        w.vstore(value, place(s.x, lowest), active)

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
