"""A sparse matrix that is held row by row times a dense one: a row of the result adds up rows of the dense one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from graphc_codegen.dtypes import REGISTER
from graphc_codegen.kernels.base import Array, Emitter, Operand, Params
from graphc_codegen.kernels.index import index_at
from graphc_codegen.kernels.vectors import first_lanes
from graphc_codegen.writer import Writer, vec

#: Vectors of a row of the result that are added up at a time.
_ACROSS = 4
#: Terms of one sum that are added up beside each other.
_BESIDE = 4


def operands(p: Params) -> tuple[Operand, ...]:
    """values [count] of `dtype`, indptr [rows + 1] of `pointer_dtype`, indices [count] of `index_dtype`, dense [columns, width]
    -> [rows, width].
    """
    return (
        Operand(p["dtype"], p["count"], "in"),
        Operand(p["pointer_dtype"], p["rows"] + 1, "in"),
        Operand(p["index_dtype"], p["count"], "in"),
        Operand(p["dtype"], p["columns"] * p["width"], "in"),
        Operand(p["dtype"], p["rows"] * p["width"], "out"),
    )


def emit(w: Writer, p: Params, pointers: Sequence[str]) -> None:
    """Row i is made of the elements from indptr[i] to indptr[i + 1], as far as there are such; columns out of range count for
    nothing.
    """
    one = _element if p["width"] == 1 else _row
    with w.elements(REGISTER[p["dtype"]]):
        w.share(p["rows"], lambda r: one(w, p, pointers, r), hand_out=True)


def _bounds(w: Writer, p: Params, indptr: str, r: str | int) -> tuple[str | int, str | int]:
    """The first element of a row and the end of it, whatever indptr holds."""
    start, end = (index_at(w, {"index_dtype": p["pointer_dtype"]}, indptr, w.add(r, k)) for k in (0, 1))
    first = w.smaller(_larger(w, start, 0), p["count"])
    return first, _larger(w, w.smaller(end, p["count"]), first)


def _larger(w: Writer, a: str | int, b: str | int) -> str:
    return w.call("llvm.smax.i64", "i64", [("i64", f"{a}"), ("i64", f"{b}")])


def _element(w: Writer, p: Params, pointers: Sequence[str], r: str | int) -> None:
    """One sum, of which some terms are added up beside each other; processors gather no faster than they load."""
    start, end = _bounds(w, p, pointers[1], r)
    out_of_range = _any_outside(w, p, pointers[2], (start, end))
    w.either(
        out_of_range,
        lambda: _sum_checked(w, p, pointers, (r, start, end)),
        lambda: _sum_known(w, p, pointers, (r, start, end)),
    )


def _any_outside(w: Writer, p: Params, indices: str, bounds: tuple[str | int, str | int]) -> str:
    """Whether a column is out of range, by vectors; the last of them may have fewer."""
    (start, end), type = bounds, REGISTER[p["index_dtype"]]
    # No int32 is beyond more columns than it can tell.
    last = w.constant(min(p["columns"], (1 << 31) if type == "i32" else p["columns"]) - 1, type)
    lanes = vec("i1", w.lanes)

    def bad(index: str, found: str) -> str:
        return w.binary("or", found, w.binary("icmp ugt", index, last, type), "i1")

    whole = w.add(start, w.op(f"and i64 {w.subtracted(end, start)}, {-w.lanes}"))
    (found,) = w.turns(
        (start, whole),
        lambda k, x: [bad(w.vload(w.at(indices, k, type), type=type), x[0])],
        [(lanes, "zeroinitializer")],
        step=w.lanes,
    )
    on = first_lanes(w, w.subtracted(end, whole))
    found = bad(w.masked_load(w.at(indices, whole, type), on, "zeroinitializer", type), found)
    return w.op(f"icmp ne i{w.lanes} {w.op(f'bitcast {lanes} {found} to i{w.lanes}')}, 0")


def _sum_known(w: Writer, p: Params, pointers: Sequence[str], at: tuple[str | int, ...]) -> None:
    """The sum of a row whose columns are all in range."""
    values, _, indices, dense, y = pointers
    (r, start, end), type = at, w.element

    def added(k: str | int, total: str) -> str:
        factor = w.load(w.at(dense, index_at(w, p, indices, k)))
        return w.op(
            f"fadd contract {type} {total}, {w.op(f'fmul contract {type} {w.load(w.at(values, k))}, {factor}')}"
        )

    whole = w.add(start, w.op(f"and i64 {w.subtracted(end, start)}, {-_BESIDE}"))
    totals = w.turns(
        (start, whole),
        lambda k, sums: [added(w.add(k, u), total) for u, total in enumerate(sums)],
        [(type, "0.0")] * _BESIDE,
        step=_BESIDE,
    )
    while len(totals) > 1:
        totals = [w.op(f"fadd {type} {a}, {b}") for a, b in zip(totals[::2], totals[1::2], strict=True)]
    totals = w.turns((whole, end), lambda k, x: [added(k, x[0])], [(type, totals[0])])
    w.store(totals[0], w.at(y, r))


def _sum_checked(w: Writer, p: Params, pointers: Sequence[str], at: tuple[str | int, ...]) -> None:
    """The sum of a row without what stands in columns out of range."""
    values, _, indices, dense, y = pointers
    (r, start, end), type = at, w.element

    def added(k: str, sums: list[str]) -> list[str]:
        index = index_at(w, p, indices, k)
        valid = w.op(f"icmp ult i64 {index}, {p['columns']}")
        factor = w.load(w.at(dense, w.op(f"select i1 {valid}, i64 {index}, i64 0")))
        more = w.op(f"fadd {type} {sums[0]}, {w.op(f'fmul {type} {w.load(w.at(values, k))}, {factor}')}")
        return [w.op(f"select i1 {valid}, {type} {more}, {type} {sums[0]}")]

    (total,) = w.turns((start, end), added, [(type, "0.0")])
    w.store(total, w.at(y, r))


def _row(w: Writer, p: Params, pointers: Sequence[str], r: str | int) -> None:
    """A row of the result, some vectors of it at a time."""
    values, indptr, indices, dense, y = pointers
    width, v = p["width"], vec(w.element, w.lanes)
    start, end = _bounds(w, p, indptr, r)

    def part(at: str | int, sizes: list[int]) -> None:
        """The columns from `at` on, of which each vector has so many."""

        def term(k: str, totals: list[str]) -> list[str]:
            index = index_at(w, p, indices, k)
            valid = w.op(f"icmp ult i64 {index}, {p['columns']}")
            source = w.at(dense, w.linear((w.op(f"select i1 {valid}, i64 {index}, i64 0"), width), (at, 1)))
            value = w.splat(w.load(w.at(values, k)))
            made = []
            for u, (size, total) in enumerate(zip(sizes, totals, strict=True)):
                row = w.vload(w.at(source, u * w.lanes), size)
                added = w.fma(value, row, total)
                made.append(w.op(f"select i1 {valid}, {v} {added}, {v} {total}"))
            return made

        totals = w.turns((start, end), term, [(v, "zeroinitializer")] * len(sizes))
        for u, (size, total) in enumerate(zip(sizes, totals, strict=True)):
            w.vstore(total, w.at(y, w.linear((r, width), (at, 1), (u * w.lanes, 1))), size)

    block = _ACROSS * w.lanes
    whole = width // block
    w.repeat(whole, lambda b: part(w.mul(b, block), [w.lanes] * _ACROSS))
    left = [min(w.lanes, width - i) for i in range(whole * block, width, w.lanes)]
    if left:
        part(whole * block, left)


@np.errstate(all="ignore")
def twin(p: Params, values: Array, indptr: Array, indices: Array, dense: Array, y: Array) -> None:
    table, made = dense.reshape(p["columns"], p["width"]), y.reshape(p["rows"], p["width"])
    for r in range(p["rows"]):
        start, end = max(int(indptr[r]), 0), min(int(indptr[r + 1]), p["count"])
        index, value = indices[start:end], values[start:end]
        valid = (index >= 0) & (index < p["columns"])
        made[r] = (value[valid, None] * table[index[valid]]).sum(0)


CSR_PRODUCT = Emitter(operands, emit, twin)
