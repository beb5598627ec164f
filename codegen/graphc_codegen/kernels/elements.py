"""Kernels that read and write elements where indices say, each index within the row of its own that runs along an axis.

An index from -size on is counted from the end of the row, one below that or not below `size` is out of range.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from graphc_codegen.dtypes import MEMORY, REGISTER
from graphc_codegen.kernels.base import Array, Emitter, Operand, Params
from graphc_codegen.kernels.index import index_at
from graphc_codegen.kernels.scatter import COMBINE, combined
from graphc_codegen.kernels.vectors import along, fill_zero, gathered, iota
from graphc_codegen.writer import Writer, mask

#: Columns that a thread scatters into at a time.
_BESIDE = 256


def _counts(p: Params) -> tuple[int, int]:
    """Elements of x, and indices."""
    return p["outer"] * p["size"] * p["inner"], p["outer"] * p["count"] * p["inner"]


# ---- gather_elements


def gather_elements_operands(p: Params) -> tuple[Operand, ...]:
    """x [outer, size, inner] of `dtype`, idx [outer, count, inner] of `index_dtype` -> y like idx."""
    have, wanted = _counts(p)
    return (
        Operand(p["dtype"], have, "in"),
        Operand(p["index_dtype"], wanted, "in"),
        Operand(p["dtype"], wanted, "out"),
    )


def gather_elements_emit(w: Writer, p: Params, pointers: Sequence[str]) -> None:
    """y[o, k, j] = x[o, idx[o, k, j], j]; an index out of range gives zero."""
    outer, size, inner, count = p["outer"], p["size"], p["inner"], p["count"]
    wide = MEMORY[p["dtype"]] in ("float", "double", "i32", "i64")

    def run(number: int, first: str | int, base: str | int, steps: tuple[int, int]) -> None:
        """So many indices one after the other; see `_lanes`."""

        def some(i: str | int, active: int, _: list[str]) -> list[str]:
            at = (w.add(first, i), w.linear((base, 1), (i, steps[1])))
            _lanes(w, p, pointers, at, steps, active)
            return []

        def each(i: str | int) -> None:
            _one(w, p, pointers, (w.add(first, i), w.linear((base, 1), (i, steps[1]))), steps[0])

        along(w, number, (), some) if wide else w.repeat(number, each)

    if inner > 1:
        w.share_pairs(
            outer,
            count,
            lambda o, k: run(inner, w.linear((o, count * inner), (k, inner)), w.mul(o, size * inner), (inner, 1)),
        )
    elif count == 1:
        # One of each row: rows are neighbours.
        whole, rest = divmod(outer, w.lanes)
        w.share(whole, lambda u: run(w.lanes, w.mul(u, w.lanes), w.mul(u, w.lanes * size), (1, size)))
        if rest:
            w.by_one(lambda: run(rest, whole * w.lanes, whole * w.lanes * size, (1, size)))
    else:
        w.share(outer, lambda o: run(count, w.mul(o, count), w.mul(o, size), (1, 0)))


def _lanes(
    w: Writer,
    p: Params,
    pointers: Sequence[str],
    at: tuple[str | int, str | int],
    steps: tuple[int, int],
    active: int,
) -> None:
    """A vector of indices from a place on: an index is `steps[0]` elements, and the next lane's row `steps[1]` further on."""
    (x, idx, y), (place, base), (step, lane), size = pointers, at, steps, p["size"]
    type, index_type = MEMORY[p["dtype"]], REGISTER[p["index_dtype"]]
    index = w.vload(w.at(idx, place, index_type), active, index_type)
    # There is no int32 above those of a longer axis.
    last = w.constant(min(size, (1 << 31) - 1) if index_type == "i32" else size, index_type)
    below = w.binary("icmp slt", index, "zeroinitializer", index_type)
    index = w.select(below, w.binary("add", index, last, index_type), index, index_type)
    valid = w.binary("icmp ult", index, last, index_type)
    if active < w.lanes:
        valid = w.binary("and", valid, mask(active, w.lanes), "i1")
    if index_type == "i32" and size * step + w.lanes * lane >= 1 << 31:
        index, index_type = w.convert("sext", index, "i32", "i64"), "i64"
    if step != 1:
        index = w.binary("mul", index, w.constant(step, index_type), index_type)
    if lane:
        lanes = iota(w) if index_type == "i32" else w.convert("zext", iota(w), "i32", "i64")
        away = w.binary("mul", lanes, w.constant(lane, index_type), index_type)
        index = w.binary("add", index, away, index_type)
    # All lanes are read, of which some count: LLVM would take a gather under a mask that it does not know to pieces.
    index = w.select(valid, index, w.constant(0, index_type), index_type)
    read = gathered(w, w.at(x, base, type), index, (type, index_type))
    w.vstore(w.select(valid, read, "zeroinitializer", type), w.at(y, place, type), active, type)


def _index(w: Writer, p: Params, idx: str, place: str | int) -> tuple[str, str]:
    """An index, counted from the start, and whether it is in range."""
    index = index_at(w, p, idx, place)
    from_end = w.op(f"add nsw i64 {index}, {p['size']}")
    index = w.op(f"select i1 {w.op(f'icmp slt i64 {index}, 0')}, i64 {from_end}, i64 {index}")
    return index, w.op(f"icmp ult i64 {index}, {p['size']}")


def _one(w: Writer, p: Params, pointers: Sequence[str], at: tuple[str | int, str | int], step: int) -> None:
    """The element of one index, which is `step` elements."""
    (x, idx, y), (place, base), type = pointers, at, MEMORY[p["dtype"]]
    index, valid = _index(w, p, idx, place)
    inside = w.op(f"select i1 {valid}, i64 {index}, i64 0")
    value = w.load(w.at(x, w.linear((base, 1), (inside, step)), type), type)
    w.store(w.op(f"select i1 {valid}, {type} {value}, {type} 0"), w.at(y, place, type), type)


def _from_start(index: Array, size: int) -> Array:
    return np.where(index < 0, index + size, index)


@np.errstate(all="ignore")
def gather_elements_twin(p: Params, x: Array, idx: Array, y: Array) -> None:
    rows = x.reshape(p["outer"], p["size"], p["inner"])
    index = _from_start(idx.reshape(p["outer"], p["count"], p["inner"]), p["size"])
    valid = (index >= 0) & (index < p["size"])
    taken = np.take_along_axis(rows, np.where(valid, index, 0), 1)
    y[:] = np.where(valid, taken, np.zeros((), x.dtype)).reshape(-1)


# ---- scatter_elements


def scatter_elements_operands(p: Params) -> tuple[Operand, ...]:
    """x [outer, size, inner] of `dtype`, idx and u [outer, count, inner] -> y like x.

    With a `block` x and u are float32, and y, in which they are added up, is float64. There is no x `in_place`, where y holds
    it, and none `of_zeros`.
    """
    have, given = _counts(p)
    x = () if "in_place" in p or "of_zeros" in p else (Operand(p["dtype"], have, "in"),)
    return (
        *x,
        Operand(p["index_dtype"], given, "in"),
        Operand(p["dtype"], given, "in"),
        Operand("float64" if p.get("block") else p["dtype"], have, "out"),
    )


def scatter_elements_emit(w: Writer, p: Params, pointers: Sequence[str]) -> None:
    """y is x with y[o, idx[o, k, j], j] combined with u[o, k, j] for k in order; an index out of range is left out.

    `mode` as of `scatter`. Threads have rows of their own, or columns.
    """
    *x, idx, u, y = pointers
    size, inner, count = p["size"], p["inner"], p["count"]
    type = MEMORY[p["dtype"]]
    dtype = "float64" if p.get("block") else p["dtype"]
    out = MEMORY[dtype]

    def copy(first: str | int, number: int) -> None:
        def one(i: str | int, active: int, _: list[str]) -> list[str]:
            value = w.vload(w.at(x[0], w.add(first, i), type), active, type)
            value = value if out == type else w.convert("fpext", value, type, out)
            w.vstore(value, w.at(y, w.add(first, i), out), active, out)
            return []

        along(w, number, (), one)

    def start(first: str | int, number: int) -> None:
        if x:
            copy(first, number)
        elif "of_zeros" in p:
            fill_zero(w, w.at(y, first, out), number, out)

    def put(first: str | int, place: str | int, index: str) -> None:
        target = w.at(y, w.linear((first, 1), (index, inner)), out)
        new = w.load(w.at(u, place, type), type)
        new = new if out == type else w.op(f"fpext {type} {new} to {out}")
        old = w.load(target, out) if p["mode"] != "update" else new
        w.store(combined(w, p["mode"], dtype, (old, new), 1), target, out)

    def columns(o: str | int, j: str | int, number: int) -> None:
        """Columns beside each other, all elements of each; one column is a row."""
        first = w.linear((o, size * inner), (j, 1))
        if inner == 1:
            start(first, size)
        elif "in_place" not in p:
            w.repeat(size, lambda r: start(w.linear((r, inner), (first, 1)), number))

        def one(k: str | int, c: str | int) -> None:
            place = w.linear((o, count * inner), (k, inner), (j, 1), (c, 1))
            index, inside = _index(w, p, idx, place)
            w.when(inside, lambda: put(w.add(first, c), place, index))

        w.repeat(count, lambda k: w.repeat(number, lambda c: one(k, c)))

    whole, rest = divmod(inner, _BESIDE)
    w.share_pairs(p["outer"], whole, lambda o, b: columns(o, w.mul(b, _BESIDE), _BESIDE))
    if rest:
        w.share(p["outer"], lambda o: columns(o, whole * _BESIDE, rest))


@np.errstate(all="ignore")
def scatter_elements_twin(p: Params, *arrays: Array) -> None:
    *x, idx, u, y = arrays
    if x or "of_zeros" in p:
        y[:] = x[0] if x else 0
    rows = y.reshape(p["outer"], p["size"], p["inner"])
    index, given = (a.reshape(p["outer"], p["count"], p["inner"]) for a in (idx, u))
    index, combine = _from_start(index, p["size"]), COMBINE.get(p["mode"])
    for k in range(p["count"]):
        o, j = np.nonzero((index[:, k] >= 0) & (index[:, k] < p["size"]))
        at = (o, index[o, k, j], j)
        rows[at] = given[o, k, j] if combine is None else combine(rows[at], given[o, k, j])


GATHER_ELEMENTS = Emitter(gather_elements_operands, gather_elements_emit, gather_elements_twin)
SCATTER_ELEMENTS = Emitter(scatter_elements_operands, scatter_elements_emit, scatter_elements_twin)
