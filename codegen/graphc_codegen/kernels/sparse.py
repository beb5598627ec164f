"""A sparse matrix held row by row times a dense one: each row of the result adds up rows of the dense one, or elements of a vector."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from graphc_codegen.dtypes import REGISTER
from graphc_codegen.kernels.base import Array, Emitter, Operand, Params
from graphc_codegen.kernels.index import index_at
from graphc_codegen.kernels.vectors import across, first, gathered, int32, iota
from graphc_codegen.writer import Writer, vec

#: Vectors of a row of the result that are added up at a time.
_ACROSS = 4


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
    at = {"index_dtype": p["pointer_dtype"]}
    start, end = index_at(w, at, indptr, r), index_at(w, at, indptr, w.add(r, 1))
    return w.call("llvm.smax.i64", "i64", [("i64", start), ("i64", "0")]), w.smaller(end, p["count"])


def _element(w: Writer, p: Params, pointers: Sequence[str], r: str | int) -> None:
    """One sum, by vectors; the last of them may have fewer elements."""
    values, indptr, indices, dense, y = pointers
    type, index_type = w.element, REGISTER[p["index_dtype"]]
    v, zero = vec(type, w.lanes), "zeroinitializer"
    start, end = _bounds(w, p, indptr, r)
    bound = w.constant(min(p["columns"], (1 << 31) - 1) if index_type == "i32" else p["columns"], index_type)

    def met(k: str | int, total: str, on: str) -> str:
        """The sum with the products of the lanes that are on, all if "" is."""
        if on:
            index = w.masked_load(w.at(indices, k, index_type), on, zero, index_type)
            value = w.masked_load(w.at(values, k), on, zero)
        else:
            index, value = w.vload(w.at(indices, k, index_type), type=index_type), w.vload(w.at(values, k))
        valid = w.binary("icmp ult", index, bound, index_type)
        if on:
            valid = w.binary("and", valid, on, "i1")
        return w.fma(value, gathered(w, dense, index, (type, index_type), on=valid, other=zero), total)

    size = w.subtracted(end, start)
    rest = w.op(f"and i64 {size}, {w.lanes - 1}")
    whole = w.subtracted(end, rest)
    (total,) = w.turns((start, whole), lambda k, x: [met(k, x[0], "")], [(v, zero)], step=w.lanes)

    def finish(total: str) -> None:
        summed = across(w, total, lambda a, b: w.binary("fadd", a, b), type)
        w.store(first(w, summed, type), w.at(y, r))

    some = w.op(f"icmp sgt i64 {size}, 0")
    lanes = w.binary("icmp ult", iota(w), w.splat(int32(w, w.op(f"select i1 {some}, i64 {rest}, i64 0")), "i32"), "i32")
    finish(met(whole, total, lanes))


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
