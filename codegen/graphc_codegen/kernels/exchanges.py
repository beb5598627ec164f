"""Orders of rows, and the exchanges that make them, one after the other, as LAPACK gives them for LU factors."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from graphc_codegen.kernels.base import Array, Emitter, Operand, Params
from graphc_codegen.kernels.vectors import int32
from graphc_codegen.writer import Writer

# ---- of an order


def operands(p: Params) -> tuple[Operand, ...]:
    """order int32 [batch, size] -> scratch, exchanges int32 [batch, size]."""
    count = p["batch"] * p["size"]
    return Operand("int32", count, "in"), Operand("int32", 2 * p["size"], "out"), Operand("int32", count, "out")


def emit(w: Writer, p: Params, pointers: Sequence[str]) -> None:
    """exchanges[k]: with which place k is exchanged, so that row order[k] comes there. `order` must be one of all rows."""
    order, scratch, exchanges = pointers
    size = p["size"]
    rows, places = scratch, w.at(scratch, size, "i32")

    def number(pointer: str, i: str | int) -> str:
        return w.op(f"sext i32 {w.load(w.at(pointer, i, 'i32'), 'i32')} to i64")

    def one(o: str | int) -> None:
        first = w.mul(o, size)
        for array in (rows, places):
            w.loop(size, lambda i, _, array=array: w.store(int32(w, i), w.at(array, i, "i32"), "i32"))  # type: ignore[misc]

        def step(k: str, _: list[str]) -> None:
            wanted, here = number(order, w.add(first, k)), number(rows, k)
            there = number(places, wanted)
            w.store(int32(w, there), w.at(exchanges, w.add(first, k), "i32"), "i32")
            # What stands in place k is not looked for again, unless it is moved.
            w.store(int32(w, here), w.at(rows, there, "i32"), "i32")
            w.store(int32(w, there), w.at(places, here, "i32"), "i32")

        w.loop(size, step)

    w.repeat(p["batch"], one)


def twin(p: Params, order: Array, scratch: Array, exchanges: Array) -> None:
    scratch[:] = 0
    size = p["size"]
    for wanted, made in zip(order.reshape(-1, size), exchanges.reshape(-1, size), strict=True):
        rows, places = np.arange(size), np.arange(size)
        for k, row in enumerate(wanted):
            there, here = places[row], rows[k]
            made[k], rows[there], places[here] = there, here, there


EXCHANGES = Emitter(operands, emit, twin)

# ---- the order that they make


def order_operands(p: Params) -> tuple[Operand, ...]:
    """exchanges int32 [batch, count] -> order int32 [batch, size].

    Raises ValueError for more exchanges than rows.
    """
    if p["count"] > p["size"]:
        raise ValueError(f"{p['count']} exchanges of {p['size']} rows")
    return Operand("int32", p["batch"] * p["count"], "in"), Operand("int32", p["batch"] * p["size"], "out")


def order_emit(w: Writer, p: Params, pointers: Sequence[str]) -> None:
    """The row that comes to each place where place 0 is exchanged first; those with a place that there is not are left out."""
    exchanges, order = pointers
    size = p["size"]

    def one(o: str | int) -> None:
        rows, given = w.at(order, w.mul(o, size), "i32"), w.at(exchanges, w.mul(o, p["count"]), "i32")
        w.loop(size, lambda i, _: w.store(int32(w, i), w.at(rows, i, "i32"), "i32"))

        def step(k: str, _: list[str]) -> None:
            there = w.op(f"sext i32 {w.load(w.at(given, k, 'i32'), 'i32')} to i64")
            there = w.op(f"select i1 {w.op(f'icmp ult i64 {there}, {size}')}, i64 {there}, i64 {k}")
            places = [w.at(rows, i, "i32") for i in (k, there)]
            for value, place in zip([w.load(place, "i32") for place in places], reversed(places), strict=True):
                w.store(value, place, "i32")

        w.loop(p["count"], step)

    w.repeat(p["batch"], one)


def order_twin(p: Params, exchanges: Array, order: Array) -> None:
    size = p["size"]
    for given, rows in zip(exchanges.reshape(-1, p["count"]), order.reshape(-1, size), strict=True):
        rows[:] = np.arange(size)
        for k, there in enumerate(given):
            if 0 <= there < size:
                rows[k], rows[there] = rows[there], rows[k]


ROW_ORDER = Emitter(order_operands, order_emit, order_twin)
