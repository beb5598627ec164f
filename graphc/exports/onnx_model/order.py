"""Rules of sorting and searching along the last axis."""

from __future__ import annotations

import numpy as np

from graphc.exports.onnx_model.table import rule
from graphc.exports.onnx_model.writer import WIDER, View, Writer

_NATIVE = ("float32", "float64", "int32", "int64")


def _comparable(w: Writer, n: View, x: str) -> tuple[str, str]:
    """A value in a dtype that onnxruntime compares, and that dtype."""
    dtype = n.dtype if n.dtype in _NATIVE else WIDER.get(n.dtype, "")
    if dtype not in _NATIVE:
        raise n.refuse(f"there is no order of {n.dtype}")
    return (x if dtype == n.dtype else w.cast(x, dtype)), dtype


@rule("Argsort")
def _argsort(w: Writer, n: View, x: str) -> str:
    """TopK of all elements, which keeps the order of equal ones; NaN is brought to the end by a second one."""
    if not n.types[0].size:
        return w.filled(0, n.type)
    x, dtype = _comparable(w, n, x)
    descending, size, count = n["descending"], w.ints(n.types[0].shape[-1]), w.ints(n["count"] or n.type.shape[-1])

    def wanted(places: str) -> str:
        return w.cast(w("Gather", places, w.ints(-1), axis=-1) if n["last"] else places, "int32")

    if not n.types[0].is_float:
        return wanted(w.nodes("TopK", [x, count], 2, axis=-1, largest=int(descending))[1])
    absent = w("IsNaN", x)
    last = w.number(float("-inf") if descending else float("inf"), dtype)
    _, places = w.nodes("TopK", [w("Where", absent, last, x), size], 2, axis=-1, largest=int(descending))
    flags = w("GatherElements", w.cast(absent, "int32"), places, axis=-1)
    _, behind = w.nodes("TopK", [flags, count], 2, axis=-1, largest=0)
    return wanted(w("GatherElements", places, behind, axis=-1))


@rule("SearchSorted")
def _search_sorted(w: Writer, n: View, table: str, values: str) -> str:
    """How many elements compare: of all, as ONNX has no binary search."""
    if not n.types[0].size or not n.type.size:
        return w.filled(0, n.type)
    table, _ = _comparable(w, n, table)
    values, _ = _comparable(w, n, values)
    operands = w("Unsqueeze", table, w.ints(-2)), w("Unsqueeze", values, w.ints(-1))
    smaller = w("LessOrEqual" if n["right"] else "Less", *operands)
    return w("ReduceSum", w.cast(smaller, "int32"), w.ints(-1), keepdims=0)


@rule("Nonzero")
def _nonzero(w: Writer, n: View, mask: str) -> tuple[str, str, str]:
    """NonZero's places, and the last of them again, -1 if there is none, as often as there is room."""
    flags = w.cast(mask, "int32")
    places = w.cast(w.reshape(w("NonZero", mask), (-1,)), "int32")
    count = w("Shape", places)
    last = w("Gather", w("Concat", w.array(np.array([-1], np.int32)), places, axis=0), w.ints(-1), axis=0)
    rest = w("Expand", last, w("Sub", w.ints(n["size"]), count))
    ranks = w("Sub", w("CumSum", flags, w.ints(0)), flags)
    return w("Concat", places, rest, axis=0), w.cast(w.reshape(count, ()), "int32"), ranks
