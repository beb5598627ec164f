"""Rows that are added up where indices say, each result in registers: what belongs to it is listed, then it is made at once.

A table in which rows are added up one after the other is read and written for each, and where it holds sums of float64 made
anew at the end.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from graphc_codegen.kernels.base import Array, Emitter, Operand, Params
from graphc_codegen.kernels.index import index_at
from graphc_codegen.writer import Writer, vec

# ---- the list


def places_size(p: Params) -> int:
    """Numbers of int32: where the list of each row begins and the last one ends, one more, then all lists."""
    return int(p["size"]) + 2 + int(p["count"])


def list_rows_operands(p: Params) -> tuple[Operand, ...]:
    """idx [count] of `index_dtype` -> places."""
    return (Operand(p["index_dtype"], p["count"], "in"), Operand("int32", places_size(p), "out"))


def list_rows_emit(w: Writer, p: Params, pointers: Sequence[str]) -> None:
    """For each index in [0, size) the places where it stands, in order. An index out of range is in no list."""
    (idx, places), size, count = pointers, p["size"], p["count"]
    listed = w.at(places, size + 2, "i32")

    def found(k: str | int) -> tuple[str, str]:
        """Whether index k is valid, and the address of its row's number."""
        index = index_at(w, p, idx, k)
        return w.op(f"icmp ult i64 {index}, {size}"), w.at(places, index, "i32")

    def one_more(k: str | int) -> None:
        inside, first = found(k)
        cell = w.at(first, 2, "i32")
        w.when(inside, lambda: w.store(w.op(f"add i32 {w.load(cell, 'i32')}, 1"), cell, "i32"))

    def sum_up(r: str, total: list[str]) -> list[str]:
        cell = w.at(places, w.add(r, 2), "i32")
        made = w.op(f"add i32 {total[0]}, {w.load(cell, 'i32')}")
        w.store(made, cell, "i32")
        return [made]

    def put(k: str | int) -> None:
        inside, first = found(k)
        cell = w.at(first, 1, "i32")

        def enter() -> None:
            at = w.load(cell, "i32")
            number = str(k) if isinstance(k, int) else w.op(f"trunc i64 {k} to i32")
            w.store(number, w.at(listed, w.op(f"zext i32 {at} to i64"), "i32"), "i32")
            w.store(w.op(f"add i32 {at}, 1"), cell, "i32")

        w.when(inside, enter)

    w.repeat(size + 2, lambda r: w.store("0", w.at(places, r, "i32"), "i32"))
    w.repeat(count, one_more)
    w.loop(size, sum_up, [("i32", "0")])
    # What was where the next list begins ends where it does.
    w.repeat(count, put)


def list_rows_twin(p: Params, idx: Array, places: Array) -> None:
    size = p["size"]
    inside = np.flatnonzero((idx >= 0) & (idx < size))
    order = inside[np.argsort(idx[inside], kind="stable")]
    places[0] = 0
    places[1 : size + 1] = np.cumsum(np.bincount(idx[inside].astype(np.int64), minlength=size))
    places[size + 1] = inside.size
    places[size + 2 : size + 2 + order.size] = order


# ---- the sums


def add_rows_operands(p: Params) -> tuple[Operand, ...]:
    """x [outer, size, inner], unless rows are added to `zeros`, places, u [outer, count, inner] -> y like x; all float32."""
    outer, inner = p["outer"], p["inner"]
    table = outer * p["size"] * inner
    x = () if p["zeros"] else (Operand("float32", table, "in"),)
    return (
        *x,
        Operand("int32", places_size(p), "in"),
        Operand("float32", outer * p["count"] * inner, "in"),
        Operand("float32", table, "out"),
    )


def add_rows_emit(w: Writer, p: Params, pointers: Sequence[str]) -> None:
    """Row r of y is that of x and all of u that `places` list for it, added up in float64 in their order."""
    *x, places, u, y = pointers
    size, inner, count = p["size"], p["inner"], p["count"]
    listed = w.at(places, size + 2, "i32")
    # Sums take half of the registers.
    strip = w.lanes * (w.lanes // 2)
    wide = vec("double", w.lanes)

    def number(n: str | int, of: str) -> str:
        return w.op(f"zext i32 {w.load(w.at(of, n, 'i32'), 'i32')} to i64")

    def row(o: str | int, r: str | int) -> None:
        first, end = (number(w.add(r, k), places) for k in range(2))
        start = w.linear((o, size * inner), (r, inner))

        def columns(c: str | int, most: int) -> None:
            vectors = [(k, min(w.lanes, most - k)) for k in range(0, most, w.lanes)]

            def read(pointer: str, at: str | int) -> list[str]:
                here = w.at(pointer, w.add(at, c))
                return [w.convert("fpext", w.vload(w.at(here, k), n), "float", "double") for k, n in vectors]

            def add(n: str, sums: list[str]) -> list[str]:
                k = number(n, listed)
                terms = read(u, w.linear((o, count * inner), (k, inner)))
                return [w.binary("fadd", a, b, "double") for a, b in zip(sums, terms, strict=True)]

            begun = read(x[0], start) if x else ["zeroinitializer"] * len(vectors)
            for (k, n), made in zip(vectors, w.turns((first, end), add, [(wide, b) for b in begun]), strict=True):
                w.vstore(w.convert("fptrunc", made, "double", "float"), w.at(y, w.add(w.add(start, c), k)), n)

        whole, rest = divmod(inner, strip)
        w.repeat(whole, lambda s: columns(w.mul(s, strip), strip))
        if rest:
            columns(whole * strip, rest)

    w.share_pairs(p["outer"], size, row, hand_out=True)


@np.errstate(all="ignore")
def add_rows_twin(p: Params, *arrays: Array) -> None:
    *x, places, u, y = arrays
    shape = p["outer"], p["size"], p["inner"]
    sums = x[0].reshape(shape).astype(np.float64) if x else np.zeros(shape)
    rows, listed = u.reshape(p["outer"], p["count"], p["inner"]), places[p["size"] + 2 :]
    for r in range(p["size"]):
        for k in listed[places[r] : places[r + 1]]:
            sums[:, r] += rows[:, k]
    y[:] = sums.reshape(-1)


LIST_ROWS = Emitter(list_rows_operands, list_rows_emit, list_rows_twin)
ADD_ROWS = Emitter(add_rows_operands, add_rows_emit, add_rows_twin)
