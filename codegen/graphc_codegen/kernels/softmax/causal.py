"""Softmax of square matrices of which each row sees no more than its diagonal, and its gradient.

With `causal` the rows of a softmax are those of matrices of cols x cols. In row r of one only the first r + 1 elements count;
what stands behind them may be anything, and the results there are zero.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from graphc_codegen.kernels import epilogue
from graphc_codegen.kernels.base import Array, Params
from graphc_codegen.kernels.vectors import across_maximum, across_sum, across_total, iota, maximum, widened
from graphc_codegen.scalars import maths_float32
from graphc_codegen.writer import Carry, Writer, vec

#: What is done with a whole vector of a row: (first column, carried values) -> values.
_Step = Callable[[str | int, list[str]], Sequence[str]]


class _Row:
    """A row of a matrix with `cols` columns; the last one that counts is number `diagonal`.

    Vectors before that of the diagonal count as a whole, those behind it not at all. Nothing behind the row is touched.
    """

    def __init__(self, w: Writer, cols: int, diagonal: str | int) -> None:
        self.w = w
        self.full, self.tail = divmod(cols, w.lanes)
        self.before, last = w.divided(diagonal, w.lanes)
        self.at = w.mul(self.before, w.lanes)
        lane = w.splat(w.op(f"trunc i64 {last} to i32"), "i32")
        self._counts = w.binary("icmp sle", iota(w), lane, "i32")

    def whole(self, carry: Carry, step: _Step) -> list[str]:
        """Walk the vectors before that of the diagonal."""
        return self.w.turns((0, self.before), lambda i, v: step(self.w.mul(i, self.w.lanes), v), carry)

    def sum(self, term: Callable[[str | int], str], end: str, block: int) -> str:
        """The sum of `term(first column)` over the vectors before that of the diagonal, and of `end`, in every lane."""
        w, v, zero = self.w, vec("float", self.w.lanes), "zeroinitializer"

        def add(i: str | int, values: list[str]) -> list[str]:
            return [w.binary("fadd", values[0], term(w.mul(i, w.lanes)))]

        if not block or self.full <= block:
            (total,) = w.turns((0, self.before), add, [(v, zero)])
            return across_sum(w, w.binary("fadd", total, end))

        def one(i: str | int, totals: list[str]) -> list[str]:
            stop = w.smaller(w.add(i, block), self.before)
            return [widened(w, totals[0], w.loop(stop, add, [(v, zero)], start=i)[0])]

        (total,) = w.turns((0, self.before), one, [(vec("double", w.lanes), zero)], step=block)
        return across_total(w, widened(w, total, end))

    def load(self, pointer: str, other: str) -> str:
        """The vector of the diagonal; `other` in lanes that do not count."""
        w = self.w
        return w.masked_load(w.at(pointer, self.at), self._counts, other)

    def store(self, value: str, store: Callable[[str, str | int, int], None]) -> None:
        """`store(vector, first column, lanes)` from the diagonal's vector on; zero where nothing counts."""
        w = self.w
        value = w.select(self._counts, value, "zeroinitializer")
        inside = w.op(f"icmp slt i64 {self.before}, {self.full}")
        w.when(inside, lambda: store(value, self.at, w.lanes))

        def clear(i: str, _: list[str]) -> None:
            store("zeroinitializer", w.mul(i, w.lanes), w.lanes)

        w.turns((w.add(self.before, 1), self.full), clear)
        if self.tail:
            v = vec("float", w.lanes)
            last = w.op(f"select i1 {inside}, {v} zeroinitializer, {v} {value}")
            store(last, self.full * w.lanes, self.tail)


def row_memory(w: Writer, p: Params) -> str:
    """Memory for the exponentials of a row, if its result is rounded where it is stored; else they stand there."""
    rounded = any(1 in places for _, places in p.get("halves", ()))
    return w.op(f"alloca [{p['cols']} x float], align 64") if rounded else ""


def emit(w: Writer, p: Params, pointers: Sequence[str]) -> None:
    """Softmax of [rows, cols]."""
    cols = p["cols"]
    v, lowest = vec("float", w.lanes), w.constant(-math.inf)
    memory = row_memory(w, p)

    def row(r: str | int) -> None:
        x, y = (w.at(pointer, w.mul(r, cols)) for pointer in pointers)
        made = memory or y
        this = _Row(w, cols, w.divided(r, cols)[1])
        end = this.load(x, lowest)

        def larger(i: str | int, values: list[str]) -> list[str]:
            return [maximum(w, values[0], w.vload(w.at(x, i)))]

        (top,) = this.whole([(v, lowest)], larger)
        top = across_maximum(w, maximum(w, top, end))

        def exponential(value: str) -> str:
            return maths_float32.exp_of_negative(w, w.binary("fsub", value, top))

        def term(i: str | int) -> str:
            e = exponential(w.vload(w.at(x, i)))
            w.vstore(e, w.at(made, i))
            return e

        end = exponential(end)
        total = this.sum(term, end, p.get("block", 0))
        scale = w.binary("fdiv", w.constant(1.0), total)

        def divide(i: str | int, _: list[str]) -> list[str]:
            w.vstore(w.binary("fmul", w.vload(w.at(made, i)), scale), w.at(y, i))
            return []

        this.whole((), divide)
        this.store(w.binary("fmul", end, scale), lambda value, i, active: w.vstore(value, w.at(y, i), active))

    w.share(p["rows"], row, hand_out=True)


def grad_emit(w: Writer, p: Params, pointers: Sequence[str]) -> None:
    """dx = y * (dy - sum(dy * y))"""
    cols = p["cols"]
    finish = epilogue.Finish(w, p, (p["rows"], cols), pointers[2:])

    def row(r: str | int) -> None:
        y, dy = (w.at(pointer, w.mul(r, cols)) for pointer in pointers[:2])
        this = _Row(w, cols, w.divided(r, cols)[1])
        end, end_gradient = (this.load(pointer, "zeroinitializer") for pointer in (y, dy))

        def term(i: str | int) -> str:
            return w.binary("fmul", w.vload(w.at(y, i)), w.vload(w.at(dy, i)))

        total = this.sum(term, w.binary("fmul", end, end_gradient), p.get("block", 0))

        def made(value: str, gradient: str) -> str:
            return w.binary("fmul", value, w.binary("fsub", gradient, total))

        def store(i: str | int, _: list[str]) -> list[str]:
            finish.store(made(w.vload(w.at(y, i)), w.vload(w.at(dy, i))), (r, i), w.lanes)
            return []

        this.whole((), store)
        this.store(made(end, end_gradient), lambda value, i, active: finish.store(value, (r, i), active))

    w.share(p["rows"], row, hand_out=True)


def visible(p: Params, x: Array, other: float) -> Array:
    """[rows, cols] with `other` where nothing counts, if the rows are those of causal matrices."""
    rows = x.reshape(p["rows"], p["cols"])
    if not p.get("causal"):
        return rows
    counts = np.tile(np.tri(p["cols"], dtype=bool), (p["rows"] // p["cols"], 1))
    result: Array = np.where(counts, rows, np.float32(other))
    return result
