"""The assignment of rows to columns with the least sum of costs, by shortest augmenting paths.

Each row in turn is joined by a path along which what was assigned moves on, the shortest one in costs reduced by prices of rows
and columns (Jonker and Volgenant, 1987; Crouse, "On implementing 2D rectangular assignment algorithms", 2016): at most n^3
steps, of which the innermost are vectors of columns.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from graphc_codegen.errors import KernelError
from graphc_codegen.kernels.base import Array, Emitter, Operand, Params, note_failure
from graphc_codegen.kernels.vectors import int32, numbers_from
from graphc_codegen.writer import Carry, Writer, vec

_INFINITY = "0x7FF0000000000000"
#: Columns stand in a multiple of so many, in whole vectors of any width.
_STEP = 16
#: Arrays of columns beside the costs.
_ARRAYS = 5


def _least(p: Params) -> int:
    return int(min(p["rows"], p["cols"]))


def _wide(p: Params) -> int:
    return int(-(-max(p["rows"], p["cols"]) // _STEP) * _STEP)


def operands(p: Params) -> tuple[Operand, ...]:
    """cost float64 [rows, cols], limit int64 [1] -> scratch, row and column int64 [the lesser of rows and cols]."""
    least = _least(p)
    return (
        Operand("float64", p["rows"] * p["cols"], "in"),
        Operand("int64", 1, "in"),
        Operand("float64", (least + _ARRAYS) * _wide(p) + 2 * least, "out"),
        Operand("int64", least, "out"),
        Operand("int64", least, "out"),
    )


class _Problem(NamedTuple):
    """Memory of a problem with no more rows than columns: costs and prices, the pairs, what one search knows of columns.

    rows, end       how many rows there are, and columns
    wide            how far apart rows of costs stand; behind the columns they are infinite
    seen            infinite for columns that a search has been at, else zero
    before          from which row the shortest way to a column comes
    failed          a byte: there is no assignment
    row, length     where a search is, and how far from its first row
    sink            the column that it has come to
    """

    w: Writer
    rows: str
    end: str
    wide: int
    failed: str
    row: str
    length: str
    sink: str
    cost: str
    price: str
    shortest: str
    seen: str
    before: str
    row_of: str
    row_price: str
    column_of: str

    def fail(self, condition: str) -> None:
        self.w.store(self.w.op(f"zext i1 {condition} to i8"), self.failed, "i8")

    def unless_failed(self, body: Callable[[], None]) -> None:
        self.w.when(self.w.op(f"icmp eq i8 {self.w.load(self.failed, 'i8')}, 0"), body)

    def columns(self, body: Callable[[str, list[str]], Sequence[str] | None], carry: Carry = ()) -> list[str]:
        """`body` for whole vectors of columns."""
        return self.w.turns((0, self.end), body, carry, step=self.w.lanes)

    def number(self, pointer: str, i: str) -> str:
        return self.w.op(f"sext i32 {self.w.load(self.w.at(pointer, i, 'i32'), 'i32')} to i64")


def emit(w: Writer, p: Params, pointers: Sequence[str]) -> None:
    """Pairs in the order of rows, of the first `limit` columns, and -1 behind them. With `maximize` their sum is the greatest.

    The step ends where the limit is not in [1, cols], where a cost is NaN or infinite on the better side, and where every
    assignment is infinite.
    """
    cost, limit, scratch, rows, columns = pointers
    least, wide = _least(p), _wide(p)
    with w.elements("double"):
        for target in (rows, columns):
            w.repeat(least, lambda i, target=target: w.store("-1", w.at(target, i, "i64"), "i64"))  # type: ignore[misc]
        given = w.load(limit, "i64")
        turned = w.op(f"icmp slt i64 {given}, {p['rows']}")
        sizes = [f"{given}", f"{p['rows']}"]
        fewer, more = (w.op(f"select i1 {turned}, i64 {a}, i64 {b}") for a, b in (sizes, sizes[::-1]))
        price, shortest, seen, before, row_of = (w.at(scratch, (least + k) * wide) for k in range(_ARRAYS))
        rest = w.at(scratch, (least + _ARRAYS) * wide)
        failed, row, length, sink = (w.op(f"alloca {type}, i64 1, align 8") for type in ("i8", "i64", "double", "i64"))
        problem = _Problem(
            w, fewer, more, wide, failed, row, length, sink, scratch, price, shortest, seen, before, row_of, rest,
            w.at(rest, least),
        )  # fmt: skip
        problem.fail(w.op(f"icmp uge i64 {w.op(f'sub i64 {given}, 1')}, {p['cols']}"))
        problem.unless_failed(lambda: _begin(problem, p, cost, turned))
        w.turns((0, fewer), lambda i, _: problem.unless_failed(lambda: _join(problem, i)))
        problem.unless_failed(lambda: _give(problem, turned, (rows, columns)))
        note_failure(w, w.op(f"icmp ne i8 {w.load(problem.failed, 'i8')}, 0"))


def _begin(s: _Problem, p: Params, cost: str, turned: str) -> None:
    """Costs to be made small, of rows of which there are no more than columns; nothing is assigned, all prices are zero."""
    w = s.w
    down, across = (w.op(f"select i1 {turned}, i64 {a}, i64 {b}") for a, b in ((1, p["cols"]), (p["cols"], 1)))

    def row(i: str, before: list[str]) -> list[str]:
        line = w.at(s.cost, w.mul(i, s.wide))
        w.loop(s.wide, lambda j, _: w.vstore(w.constant(np.inf), w.at(line, j)), step=w.lanes)

        def one(j: str, bad: list[str]) -> list[str]:
            value = w.load(w.at(cost, w.linear((i, down), (j, across))))
            value = w.op(f"fneg double {value}") if p["maximize"] else value
            w.store(value, w.at(line, j))
            # NaN compares with nothing.
            wrong = w.op(f"fcmp ule double {value}, 0xFFF0000000000000")
            return [w.op(f"or i1 {bad[0]}, {wrong}")]

        w.store("0.0", w.at(s.row_price, i))
        w.store("-1", w.at(s.column_of, i, "i32"), "i32")
        return w.turns((0, s.end), one, [("i1", before[0])])

    (bad,) = w.turns((0, s.rows), row, [("i1", "false")])
    s.fail(bad)

    def free(j: str, _: list[str]) -> None:
        w.vstore(w.constant(0.0), w.at(s.price, j))
        w.vstore(w.constant(-1, "i32"), w.at(s.row_of, j, "i32"), type="i32")

    s.columns(free)


def _join(s: _Problem, current: str) -> None:
    """Find the shortest path from a row to a free column, and move on what is assigned along it."""
    w = s.w

    def forget(j: str, _: list[str]) -> None:
        w.vstore(w.constant(np.inf), w.at(s.shortest, j))
        w.vstore(w.constant(0.0), w.at(s.seen, j))

    s.columns(forget)
    w.store(current, s.row, "i64")
    w.store("0.0", s.length)

    def step() -> str:
        column, way = _nearest(s, w.load(s.row, "i64"), w.load(s.length))
        w.store(way, s.length)
        w.store(column, s.sink, "i64")
        lost = w.op(f"fcmp oeq double {way}, {_INFINITY}")
        s.fail(lost)
        at = w.op(f"select i1 {lost}, i64 0, i64 {column}")
        w.store(_INFINITY, w.at(s.seen, at))
        owner = s.number(s.row_of, at)
        w.store(owner, s.row, "i64")
        return w.op(f"or i1 {lost}, {w.op(f'icmp slt i64 {owner}, 0')}")

    w.until(step)

    def move() -> None:
        _raise_prices(s, current, w.load(s.length))

        def back() -> str:
            column = w.load(s.sink, "i64")
            owner = s.number(s.before, column)
            place = w.at(s.column_of, owner, "i32")
            w.store(s.number(s.column_of, owner), s.sink, "i64")
            w.store(int32(w, column), place, "i32")
            w.store(int32(w, owner), w.at(s.row_of, column, "i32"), "i32")
            return w.op(f"icmp eq i64 {owner}, {current}")

        w.until(back)

    s.unless_failed(move)


def _nearest(s: _Problem, row: str, length: str) -> tuple[str, str]:
    """Ways to all columns by way of a row that is `length` away: the nearest column that has not been seen, and its way.

    Of columns that are equally near a free one is taken: it ends the search.
    """
    w = s.w
    base = w.splat(w.op(f"fsub double {length}, {w.load(w.at(s.row_price, row))}"))
    here, zeros = w.splat(int32(w, row), "i32"), w.constant(0, "i32")

    def look(j: str, found: list[str]) -> list[str]:
        way = w.binary("fsub", w.vload(w.at(s.cost, w.linear((row, s.wide), (j, 1)))), w.vload(w.at(s.price, j)))
        seen = w.vload(w.at(s.seen, j))
        way = w.binary("fadd", w.binary("fadd", way, base), seen)
        known = w.vload(w.at(s.shortest, j))
        shorter = w.binary("fcmp olt", way, known)
        known = w.select(shorter, way, known)
        w.vstore(known, w.at(s.shortest, j))
        before = w.at(s.before, j, "i32")
        w.vstore(w.select(shorter, here, w.vload(before, type="i32"), "i32"), before, type="i32")
        left = w.binary("fadd", known, seen)
        free = w.binary("icmp slt", w.vload(w.at(s.row_of, j, "i32"), type="i32"), zeros, "i32")
        equal = w.binary("and", w.binary("fcmp oeq", left, found[0]), free, "i1")
        better = w.binary("or", w.binary("fcmp olt", left, found[0]), equal, "i1")
        return [w.select(better, left, found[0]), w.select(better, numbers_from(w, j), found[1], "i32")]

    carry = [(vec("double", w.lanes), w.constant(np.inf)), (vec("i32", w.lanes), zeros)]
    ways, places = s.columns(look, carry)
    way, place = "", ""
    for lane in range(w.lanes):
        here_way = w.op(f"extractelement {vec('double', w.lanes)} {ways}, i64 {lane}")
        here_place = w.op(f"extractelement {vec('i32', w.lanes)} {places}, i64 {lane}")
        here_place = w.op(f"sext i32 {here_place} to i64")
        if not lane:
            way, place = here_way, here_place
            continue
        free = w.op(f"icmp slt i64 {s.number(s.row_of, here_place)}, 0")
        equal = w.op(f"and i1 {w.op(f'fcmp oeq double {here_way}, {way}')}, {free}")
        better = w.op(f"or i1 {w.op(f'fcmp olt double {here_way}, {way}')}, {equal}")
        way = w.op(f"select i1 {better}, double {here_way}, double {way}")
        place = w.op(f"select i1 {better}, i64 {here_place}, i64 {place}")
    return place, way


def _raise_prices(s: _Problem, current: str, length: str) -> None:
    """Keep reduced costs of pairs zero, and of all others not negative."""
    w = s.w

    def change(pointer: str, at: str, by: str, op: str) -> None:
        place = w.at(pointer, at)
        w.store(w.op(f"{op} double {w.load(place)}, {by}"), place)

    change(s.row_price, current, length, "fadd")

    def one(j: str, _: list[str]) -> None:
        def raised() -> None:
            by = w.op(f"fsub double {length}, {w.load(w.at(s.shortest, j))}")
            change(s.price, j, by, "fsub")
            owner = s.number(s.row_of, j)
            w.when(w.op(f"icmp sge i64 {owner}, 0"), lambda: change(s.row_price, owner, by, "fadd"))

        w.when(w.op(f"fcmp oeq double {w.load(w.at(s.seen, j))}, {_INFINITY}"), raised)

    w.turns((0, s.end), one)


def _give(s: _Problem, turned: str, targets: tuple[str, str]) -> None:
    """The pairs, in the order of what were rows at first."""
    w, (rows, columns) = s.w, targets

    def pair(i: str | int, row: str, column: str) -> None:
        w.store(row, w.at(rows, i, "i64"), "i64")
        w.store(column, w.at(columns, i, "i64"), "i64")

    def by_columns() -> None:
        def one(j: str, found: list[str]) -> list[str]:
            owner = s.number(s.row_of, j)
            taken = w.op(f"icmp sge i64 {owner}, 0")
            w.when(taken, lambda: pair(found[0], j, owner))
            return [f"{w.add(found[0], w.op(f'zext i1 {taken} to i64'))}"]

        w.turns((0, s.end), one, [("i64", "0")])

    def by_rows() -> None:
        w.turns((0, s.rows), lambda i, _: pair(i, i, s.number(s.column_of, i)))

    w.either(turned, by_columns, by_rows)


# ---- the same in NumPy


def twin(p: Params, cost: Array, limit: Array, scratch: Array, row: Array, column: Array) -> None:
    """Raises KernelError."""
    scratch[:], row[:], column[:] = 0, -1, -1
    end = int(limit[0])
    if not 1 <= end <= p["cols"]:
        raise KernelError("linear_sum_assignment", f"met dimension_limit {end} for {p['cols']} columns")
    costs = cost.reshape(p["rows"], p["cols"])[:, :end]
    costs = -costs if p["maximize"] else costs
    if not (costs > -np.inf).all():
        raise KernelError("linear_sum_assignment", "met a cost that is NaN, or infinite on the better side")
    turned = costs.shape[0] > costs.shape[1]
    found = _assigned(costs.T if turned else costs)
    if found is None:
        raise KernelError("linear_sum_assignment", "found infinite sums alone")
    order = np.argsort(found) if turned else np.arange(found.size)
    first, second = (found[order], order) if turned else (order, found)
    row[: found.size], column[: found.size] = first, second


def _assigned(cost: Array) -> Array | None:
    """The column of each row."""
    count, end = cost.shape
    row_price, price = np.zeros(count), np.zeros(end)
    row_of, column_of = np.full(end, -1), np.full(count, -1)
    for current in range(count):
        shortest, seen, before = np.full(end, np.inf), np.zeros(end, bool), np.zeros(end, np.int64)
        row, length, sink = current, 0.0, -1
        while row >= 0:
            way = np.where(seen, np.inf, cost[row] - price + (length - row_price[row]))
            shorter = way < shortest
            shortest[shorter], before[shorter] = way[shorter], row
            left = np.where(seen, np.inf, shortest)
            length = left.min()
            if length == np.inf:
                return None
            nearest = np.flatnonzero(left == length)
            free = nearest[row_of[nearest] < 0]
            sink = int(free[0] if free.size else nearest[0])
            seen[sink] = True
            row = int(row_of[sink])
        row_price[current] += length
        passed = np.flatnonzero(seen & (row_of >= 0))
        row_price[row_of[passed]] += length - shortest[passed]
        price[seen] -= length - shortest[seen]
        while sink >= 0:
            row = int(before[sink])
            row_of[sink] = row
            column_of[row], sink = sink, int(column_of[row]) if row != current else -1
    return column_of


ASSIGNMENT = Emitter(operands, emit, twin)
