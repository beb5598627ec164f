"""Rules of LU factors and what is made of them. ONNX has only Det, without factors: some nodes for each row."""

from __future__ import annotations

import numpy as np

from graphc.exports.onnx_model.table import rule
from graphc.exports.onnx_model.triangular import NATIVE, substituted
from graphc.exports.onnx_model.writer import View, Writer


@rule("LU")
def _lu(w: Writer, n: View, x: str) -> tuple[str, str, str]:
    """Gauss' elimination: for each row an exchange by places, then what is left of the matrix."""
    type, narrow = n.type, n.dtype not in NATIVE
    dtype = "float32" if narrow else n.dtype
    *lead, size, _ = type.shape
    down, across = type.rank - 2, type.rank - 1
    places = w.array(np.arange(size)[:, None])
    order = w("Expand", places, w.ints(*lead, size, 1))
    sign = w("Expand", w.array(np.ones((1, 1), dtype)), w.ints(*lead, 1, 1))
    if type.size:
        x = w.cast(x, "float32") if narrow else x
        for k in range(size):
            here = w.ints(k)
            column = w("Abs", w.part(x, across, k, k + 1))
            column = w("Where", w("IsNaN", column), w.number(np.inf, dtype), column)
            column = w("Where", w.array(np.arange(size)[:, None] < k), w.number(-1, dtype), column)
            chosen = w("ArgMax", column, axis=down)
            others = w("Where", w("Equal", places, chosen), here, places)
            others = w("Where", w.array(np.arange(size)[:, None] == k), chosen, others)
            order = w("GatherElements", order, others, axis=down)
            x = w("GatherElements", x, w("Expand", others, w.ints(*type.shape)), axis=down)
            sign = w("Where", w("Equal", chosen, here), sign, w("Neg", sign))
            x = _eliminated(w, x, type.rank, (k, size), dtype)
        x = w.cast(x, n.dtype) if narrow else x
    order = w.cast(w.reshape(order, (*lead, size)), "int32")
    return x, order, w.cast(w.reshape(sign, lead), n.dtype)


def _eliminated(w: Writer, x: str, rank: int, at: tuple[int, int], dtype: str) -> str:
    """x after the step of row k: below it the factors, and what is left on their right."""
    (k, size), down, across = at, rank - 2, rank - 1
    if k + 1 == size:
        return x
    above, below = w.part(x, down, 0, k + 1), w.part(x, down, k + 1, size)
    row = w.part(above, down, k, k + 1)
    pivot = w.part(row, across, k, k + 1)
    zero = w.number(0, dtype)
    pivot = w("Where", w("Equal", pivot, zero), w.number(1, dtype), pivot)
    factors = w("Div", w.part(below, across, k, k + 1), pivot)
    products = w("Mul", factors, w.part(row, across, k + 1, size))
    rest = w("Sub", w.part(below, across, k + 1, size), products)
    done = (w.part(below, across, 0, k),) if k else ()
    return w("Concat", above, w("Concat", *done, factors, rest, axis=across), axis=down)


@rule("SolveLU")
def _solve(w: Writer, n: View, a: str, b: str, packed: str, order: str) -> str:
    type, narrow, transposed = n.type, n.dtype not in NATIVE, n["transposed"]
    if not type.size:
        return w("Identity", b)
    down = type.rank - 2
    if narrow:
        b, packed = (w.cast(x, "float32") for x in (b, packed))
    rows = w("Expand", w("Unsqueeze", w.cast(order, "int64"), w.ints(-1)), w.ints(*type.shape))
    made = b if transposed else w("GatherElements", b, rows, axis=down)
    for lower in (not transposed, transposed):
        made = substituted(w, type, packed, made, lower, transposed, lower)
    made = w("ScatterElements", made, rows, made, axis=down) if transposed else made
    return w.cast(made, n.dtype) if narrow else made


@rule("Det", "Cofactors", "CofactorsChange")
def _made(w: Writer, n: View, value: str, *_: str) -> str:
    return w("Identity", value)


@rule("LUFactors")
def _factors(w: Writer, n: View, packed: str, a: str, order: str) -> str:
    return w("Identity", packed)


@rule("Exchanges")
def _exchanges(w: Writer, n: View, order: str) -> str:
    """For each place where its row stands meanwhile; what stood there moves on."""
    *lead, size = n.type.shape
    if not n.type.size:
        return w("Identity", order)
    axis, places, order = len(lead), w.array(np.arange(size)), w.cast(order, "int64")
    rows = at = w("Expand", places, w.ints(*n.type.shape))
    made = []
    for k in range(size):
        here = w.part(rows, axis, k, k + 1)
        made.append(w("GatherElements", at, w.part(order, axis, k, k + 1), axis=axis))
        rows = w("Where", w("Equal", places, made[-1]), here, rows)
        at = w("Where", w("Equal", places, here), made[-1], at)
    return w.cast(w("Concat", *made, axis=axis) if size > 1 else made[0], "int32")


@rule("RowOrder")
def _row_order(w: Writer, n: View, exchanges: str) -> str:
    *lead, size = n.type.shape
    axis, places, given = len(lead), w.array(np.arange(size)), w.cast(exchanges, "int64")
    order = w("Expand", places, w.ints(*n.type.shape))
    for k in range(n.types[0].shape[-1] if n.type.size else 0):
        here, there = w.ints(k), w.part(given, axis, k, k + 1)
        others = w("Where", w("Equal", places, there), here, places)
        others = w("Where", w.array(np.arange(size) == k), there, others)
        order = w("GatherElements", order, others, axis=axis)
    return w.cast(order, "int32")
