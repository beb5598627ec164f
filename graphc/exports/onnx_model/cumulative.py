"""Rules of what is made of the elements up to each along an axis.

ONNX has sums only. The others are log2(size) steps, each of which joins what is ever further apart (Hillis and Steele, "Data
parallel algorithms", 1986).
"""

from __future__ import annotations

import numpy as np

from graphc.exports.onnx_model.table import rule
from graphc.exports.onnx_model.writer import View, Writer
from graphc.ir import TensorType

#: The dtypes whose CumSum onnxruntime has.
_SUMMED = ("float32", "float64", "int32", "int64")


@rule("Cumsum")
def _cumsum(w: Writer, n: View, x: str) -> str:
    if not n.types[0].size:
        return w("Identity", x)
    return w.reduced("CumSum", (x, w.number(n["axis"], "int64")), n.dtype, _SUMMED, reverse=int(n["reverse"]))


@rule("Cumprod")
def _cumprod(w: Writer, n: View, x: str) -> str:
    wide = {"uint64": "int64"}.get(n.dtype, "float32" if n.types[0].is_float else "int32")
    dtype = n.dtype if n.dtype in _SUMMED else wide
    x = x if dtype == n.dtype else w.cast(x, dtype)
    for by in _distances(n):
        x = w("Mul", x, _further(w, n, x, by, w.number(1, dtype)))
    return x if dtype == n.dtype else w.cast(x, n.dtype)


@rule("LinearRecurrence")
def _linear_recurrence(w: Writer, n: View, a: str, b: str) -> str:
    """As the products: maps y -> a y + b that are ever longer chains."""
    one, none = w.number(1, n.dtype), w.number(0, n.dtype)
    if not n.type.size:
        return w("Identity", b)
    if not n["own"]:
        a = _further(w, n, a, 1, none)
    for by in _distances(n):
        b = w("Add", b, w("Mul", a, _further(w, n, b, by, none)))
        a = w("Mul", a, _further(w, n, a, by, one))
    return b


@rule("Cumextremum")
def _cumextremum(w: Writer, n: View, x: str) -> tuple[str, str]:
    """Extrema as the products, then the greatest place up to each of where an element is the extremum."""
    type, largest = n.types[0], n["mode"] == "max"
    if not type.size:
        return w("Identity", x), w.filled(0, TensorType("int64", type.shape))
    narrow = type.dtype in ("int8", "int16", "uint8", "uint16")
    own = x = w.cast(x, "int32") if narrow else x
    dtype = "int32" if narrow else type.dtype
    ends = (-np.inf, np.inf) if type.is_float else (int(np.iinfo(dtype).min), int(np.iinfo(dtype).max))
    for by in _distances(n):
        before = _further(w, n, x, by, w.number(ends[not largest], dtype))
        better = w("Greater" if largest else "Less", before, x)
        better = w("Or", better, w("IsNaN", before)) if type.is_float else better
        x = w("Where", better, before, x)
    taken = w("Equal", own, x)
    taken = w("Or", taken, w("IsNaN", own)) if type.is_float else taken
    size = type.shape[n["axis"]]
    counted = np.arange(size).reshape([-1 if k == n["axis"] else 1 for k in range(type.rank)])
    places = w("Where", taken, w.array(counted), w.number(0, "int64"))
    for by in _distances(n):
        places = w("Max", places, _further(w, n, places, by, w.number(0, "int64")))
    return w.cast(x, type.dtype) if narrow else x, places


def _distances(n: View) -> list[int]:
    """1, 2, 4, ... below the size of the axis."""
    return [1 << k for k in range((n.types[0].shape[n["axis"]] - 1).bit_length())]


def _further(w: Writer, n: View, x: str, by: int, new: str) -> str:
    """Elements so many places further along the axis, with `reverse` back; `new` comes in."""
    axis, rank = n["axis"], n.types[0].rank
    back = n.node.attrs.get("reverse", False)
    start, end = (by, np.iinfo(np.int64).max) if back else (0, -by)
    part = w.part(x, axis, start, end)
    edges = [0] * (2 * rank)
    edges[axis + (rank if back else 0)] = by
    return w("Pad", part, w.ints(*edges), new)
