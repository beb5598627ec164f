"""Sums of the elements up to each along an axis.

Where something lies beside the axis, vectors of it are added up row by row. Along rows the sums inside a vector are made by
log2(lanes) shifted additions (Hillis and Steele, "Data parallel algorithms", 1986), on top of a running total of those before:
a vector waits for the one before it with one addition only.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from graphc_codegen.dtypes import MEMORY
from graphc_codegen.kernels.base import Array, Emitter, Operand, Params
from graphc_codegen.kernels.vectors import along
from graphc_codegen.writer import Writer, vec

#: Vectors beside each other whose totals are kept in registers.
_BESIDE = 4


def cumsum_operands(p: Params) -> tuple[Operand, ...]:
    """x [outer, size, inner] of `dtype` -> y like x."""
    count = p["outer"] * p["size"] * p["inner"]
    return (Operand(p["dtype"], count, "in"), Operand(p["dtype"], count, "out"))


def cumsum_emit(w: Writer, p: Params, pointers: Sequence[str]) -> None:
    """y[o, i, j] is the sum of x[o, :i + 1, j], with `reverse` of x[o, i:, j]; totals of float32 are float64."""
    if p["inner"] == 1:
        w.share(p["outer"], lambda o: _row(w, p, pointers, w.mul(o, p["size"])))
        return
    whole, rest = divmod(p["inner"], w.lanes)
    blocks, single = divmod(whole, _BESIDE)
    wide = _BESIDE * w.lanes
    w.share_pairs(p["outer"], blocks, lambda o, k: _columns(w, p, pointers, (o, w.mul(k, wide)), _BESIDE, w.lanes))
    last = blocks * wide
    w.share_pairs(
        p["outer"], single, lambda o, k: _columns(w, p, pointers, (o, w.linear((k, w.lanes), (last, 1))), 1, w.lanes)
    )
    if rest:
        w.share(p["outer"], lambda o: _columns(w, p, pointers, (o, whole * w.lanes), 1, rest))


def _types(p: Params) -> tuple[str, str, str]:
    """The type of an element, of a total, and how totals are added."""
    type = MEMORY[p["dtype"]]
    return type, "double" if type == "float" else type, "fadd" if type in ("float", "double") else "add"


def _columns(
    w: Writer, p: Params, pointers: Sequence[str], at: tuple[str | int, str | int], vectors: int, active: int
) -> None:
    """Walk down some vectors of columns."""
    (x, y), size, inner = pointers, p["size"], p["inner"]
    type, wide, add = _types(p)
    (o, column) = at
    first = w.linear((o, size * inner), (column, 1))

    def turn(i: str, totals: list[str]) -> list[str]:
        row = w.subtracted(size - 1, i) if p["reverse"] else i
        start, made = w.linear((row, inner), (first, 1)), []
        for v, total in enumerate(totals):
            place = w.add(start, v * w.lanes)
            value = w.vload(w.at(x, place, type), active, type)
            total = w.binary(add, total, _widened(w, value, type, wide), wide)
            w.vstore(_rounded(w, total, wide, type), w.at(y, place, type), active, type)
            made.append(total)
        return made

    w.loop(size, turn, [(vec(wide, w.lanes), "zeroinitializer")] * vectors)


def _row(w: Writer, p: Params, pointers: Sequence[str], first: str | int) -> None:
    """Walk along a row, vector by vector; backwards with `reverse`."""
    (x, y), size = pointers, p["size"]
    type, wide, add = _types(p)

    def one(i: str | int, active: int, values: Sequence[str]) -> list[str]:
        place = w.add(first, i)
        sums = w.vload(w.at(x, place, type), active, type)
        distance = 1
        while distance < active:
            sums = w.binary(add, sums, _moved(w, sums, type, -distance if p["reverse"] else distance), type)
            distance *= 2
        sums = _widened(w, sums, type, wide)
        made = w.binary(add, values[0], sums, wide)
        w.vstore(_rounded(w, made, wide, type), w.at(y, place, type), active, type)
        whole = w.shuffle(sums, "poison", [0 if p["reverse"] else active - 1] * w.lanes, wide)
        return [w.binary(add, values[0], whole, wide)]

    carry, total = vec(wide, w.lanes), "zeroinitializer"
    if not p["reverse"]:
        along(w, size, [(carry, total)], one)
        return
    full, rest = divmod(size, w.lanes)
    if rest:
        (total,) = one(full * w.lanes, rest, [total])
    if full:
        w.loop(full, lambda k, v: one(w.mul(w.subtracted(full - 1, k), w.lanes), w.lanes, v), [(carry, total)])


def _moved(w: Writer, value: str, type: str, by: int) -> str:
    """Lanes moved up, zeros coming in; down if `by` is negative."""
    chosen = [i - by if 0 <= i - by < w.lanes else w.lanes for i in range(w.lanes)]
    return w.shuffle(value, "zeroinitializer", chosen, type)


def _widened(w: Writer, value: str, type: str, wide: str) -> str:
    return value if type == wide else w.convert("fpext", value, type, wide)


def _rounded(w: Writer, value: str, wide: str, type: str) -> str:
    return value if type == wide else w.convert("fptrunc", value, wide, type)


@np.errstate(all="ignore")
def cumsum_twin(p: Params, x: Array, y: Array) -> None:
    rows = x.reshape(p["outer"], p["size"], p["inner"])
    if p["reverse"]:
        rows = rows[:, ::-1]
    made = np.cumsum(rows, axis=1, dtype=np.float64 if p["dtype"] == "float32" else x.dtype)
    y[:] = (made[:, ::-1] if p["reverse"] else made).astype(x.dtype).reshape(-1)


CUMSUM = Emitter(cumsum_operands, cumsum_emit, cumsum_twin)
