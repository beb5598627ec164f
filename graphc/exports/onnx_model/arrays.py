"""Rules of ops that move elements: shapes, slices, rows at indices; constants."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from graphc.exports.onnx_model.table import rule
from graphc.exports.onnx_model.writer import View, Writer
from graphc.ir import TensorType

#: An end before the first element, for slices that go backwards.
_BEFORE = -(2**62)


@rule("Constant")
def _constant(w: Writer, n: View) -> str:
    return w.array(n["value"].array)


@rule("Fill")
def _fill(w: Writer, n: View) -> str:
    return w.filled(n["value"], n.type)


@rule("ClearFloatStatus")
def _clear(w: Writer, n: View) -> str:
    """Values alone say when a model's nodes run; the status is zeros, and what is tested tells of itself."""
    return w.filled(0, n.type)


@rule("Assign")
def _assign(w: Writer, n: View, variable: str, value: str) -> str:
    return w("Identity", value)


@rule("AllGather", "AllReduce", "AllToAll", "Broadcast", "Reduce", "ReduceScatter", "Shared")
def _collective(w: Writer, n: View, x: str) -> str:
    if n["size"] != 1:
        raise n.refuse(f"it is about {n['size']} processes")
    return w("Identity", x)


@rule("JoinParts", "SumPart", "TakePart")
def _part(w: Writer, n: View, x: str) -> str:
    if n["size"] != 1:
        raise n.refuse(f"it is about {n['size']} processes")
    return w.reshape(x, n.type.shape)


@rule("Reshape")
def _reshape(w: Writer, n: View, x: str) -> str:
    return w.reshape(x, n["shape"])


@rule("Transpose")
def _transpose(w: Writer, n: View, x: str) -> str:
    return w("Transpose", x, perm=list(n["perm"]))


@rule("BroadcastTo")
def _broadcast_to(w: Writer, n: View, x: str) -> str:
    return w("Expand", x, w.ints(*n["shape"]))


@rule("Concat")
def _concat(w: Writer, n: View, *xs: str) -> str:
    return w("Concat", *xs, axis=n["axis"])


@rule("Slice")
def _slice(w: Writer, n: View, x: str) -> str:
    begin, size, step = n["begin"], n["size"], n["step"]
    if all(s == 1 for s in step) and size == n.types[0].shape:
        return w("Identity", x)
    last = [b + (c - 1) * s for b, c, s in zip(begin, size, step, strict=True)]
    ends = [end + (1 if s > 0 else -1) for end, s in zip(last, step, strict=True)]
    ends = [b if c == 0 else _BEFORE if e < 0 else e for b, c, e in zip(begin, size, ends, strict=True)]
    return w("Slice", x, w.ints(*begin), w.ints(*ends), w.ints(*range(len(begin))), w.ints(*step))


@rule("SliceGrad")
def _slice_grad(w: Writer, n: View, dy: str) -> str:
    shape, begin, step = n["shape"], n["begin"], n["step"]
    size = n.types[0].shape
    if all(s == 1 for s in step):
        after = [whole - b - c for whole, b, c in zip(shape, begin, size, strict=True)]
        return _padded(w, dy, (*begin, *after), 0, n.dtype)
    places = np.arange(math.prod(shape)).reshape(shape)
    for axis, (b, c, s) in enumerate(zip(begin, size, step, strict=True)):
        places = np.take(places, b + s * np.arange(c), axis)
    zeros = w.filled(0, TensorType(n.dtype, (math.prod(shape),)))
    flat = w("ScatterElements", zeros, w.array(places.ravel().astype(np.int64)), w.reshape(dy, (-1,)))
    return w.reshape(flat, shape)


@rule("Pad")
def _pad(w: Writer, n: View, x: str) -> str:
    before, after = zip(*n["paddings"], strict=True) if n["paddings"] else ((), ())
    return _padded(w, x, (*before, *after), n["value"], n.dtype)


def _padded(w: Writer, x: str, edges: Sequence[int], value: float, dtype: str) -> str:
    if dtype in ("int16", "uint16"):
        return w.cast(w("Pad", w.cast(x, "int32"), w.ints(*edges), w.number(value, "int32")), dtype)
    return w("Pad", x, w.ints(*edges), w.number(value, dtype))


@rule("BorderPad")
def _border_pad(w: Writer, n: View, x: str) -> str:
    """ONNX has no "symmetric", and wraps only from opset 19 on."""
    for axis, (size, pair) in enumerate(zip(n.types[0].shape, n["paddings"], strict=True)):
        if any(pair):
            x = w("Gather", x, w.ints(*np.pad(np.arange(size), pair, n["mode"]).tolist()), axis=axis)
    return x


@rule("BorderPadGrad")
def _border_pad_grad(w: Writer, n: View, dy: str) -> str:
    shape = n.type.shape
    places = np.pad(np.arange(math.prod(shape)).reshape(shape), n["paddings"], n["mode"]).ravel()
    flat, type = TensorType(n.type.dtype, (math.prod(shape),)), TensorType("int64", places.shape)
    row, indices = w.reshape(dy, (-1,)), w.array(places.astype(np.int64))
    return w.reshape(_scattered(w, w.filled(0, flat), indices, row, type, flat, 0, "add"), shape)


@rule("OneHot")
def _one_hot(w: Writer, n: View, indices: str) -> str:
    """Not ONNX's OneHot, which counts negative indices from the end."""
    places = w.array(np.arange(n["depth"], dtype=n.dtype))
    hit = w("Equal", w("Unsqueeze", indices, w.ints(-1)), places)
    return w("Where", hit, w.number(n["on"], n["dtype"]), w.number(n["off"], n["dtype"]))


@rule("Gather")
def _gather(w: Writer, n: View, x: str, indices: str) -> str:
    """An index out of range gives zeros; in ONNX it is an error, or counted from the end."""
    axis, (table, places) = n["axis"], n.types
    known = w.constants.get(indices)
    if known is not None and known.size and known.min() >= 0 and known.max() < table.shape[axis]:
        return w("Gather", x, indices, axis=axis)
    if not table.shape[axis]:
        return w.filled(0, n.type)
    outside = _outside(w, indices, places.dtype, table.shape[axis])
    rows = w("Gather", x, w("Where", outside, w.number(0, places.dtype), indices), axis=axis)
    trailing = table.rank - axis - 1
    mask = w.reshape(outside, (*places.shape, *(1,) * trailing)) if trailing else outside
    if n.type.dtype == "bool":
        return w("And", w("Not", mask), rows)
    return w("Where", mask, w.number(0, n.type.dtype), rows)


def _outside(w: Writer, indices: str, dtype: str, size: int) -> str:
    return w("Or", w("Less", indices, w.number(0, dtype)), w("GreaterOrEqual", indices, w.number(size, dtype)))


@rule("InBounds")
def _in_bounds(w: Writer, n: View, indices: str, *sizes: str) -> str:
    """The rows of a table of numbers from 0 on: to read one that it does not have is an error in ONNX, too."""
    dtype, ignored = n.dtype, n["ignored"]
    size = sizes[0] if sizes else w.number(n["size"], dtype)
    if not n["checked"] and not n["negative"]:
        return w("Identity", indices)
    left = w("Equal", indices, w.number(ignored, dtype)) if ignored is not None else ""
    places = w("Where", left, w.number(0, dtype), indices) if left else indices
    below = w("Less", places, w.number(0, dtype))
    if not n["checked"]:
        made = w("Where", below, w("Add", places, size), places)
    else:
        numbers = w("Range", w.number(0, dtype), size, w.number(1, dtype))
        made = w("Gather", numbers, places if n["negative"] else w("Where", below, size, places), axis=0)
    return w("Where", left, indices, made) if left else made


@rule("GatherGrad")
def _gather_grad(w: Writer, n: View, dy: str, indices: str) -> str:
    zeros = w.filled(0, TensorType(n.dtype, n["shape"]))
    return _scattered(w, zeros, indices, dy, n.types[1], TensorType(n.dtype, n["shape"]), n["axis"], "add")


@rule("Scatter")
def _scatter(w: Writer, n: View, x: str, indices: str, updates: str) -> str:
    mode = "none" if n["mode"] == "update" else n["mode"]
    return _scattered(w, x, indices, updates, n.types[1], n.types[0], n["axis"], mode)


def _scattered(
    w: Writer, x: str, indices: str, updates: str, places: TensorType, type: TensorType, axis: int, mode: str
) -> str:
    """Rows brought into x. Indices out of range mean one row more, which is cut off again."""
    if not places.size or not type.size:
        return w("Identity", x)
    if type.dtype == "float16":
        wide = TensorType("float32", type.shape)
        return w.cast(
            _scattered(w, w.cast(x, "float32"), indices, w.cast(updates, "float32"), places, wide, axis, mode),
            "float16",
        )
    before, after = type.shape[:axis], type.shape[axis + 1 :]
    rows: Sequence[int] = (*before, places.size, *after)
    chosen = _or_spare(w, indices, places.dtype, type.shape[axis])
    spread = w("Expand", w.reshape(chosen, (places.size, *(1,) * len(after))), w.ints(*rows))
    return _brought(w, (x, spread, w.reshape(updates, rows)), type, axis, mode)


def _or_spare(w: Writer, indices: str, dtype: str, size: int) -> str:
    """Indices, and for those out of range that of the row behind the last one."""
    return w("Where", _outside(w, indices, dtype, size), w.number(size, dtype), indices)


def _brought(w: Writer, operands: tuple[str, str, str], type: TensorType, axis: int, mode: str) -> str:
    """Elements brought into x, which has one row more meanwhile."""
    x, places, updates = operands
    spare = w.filled(0, TensorType(type.dtype, (*type.shape[:axis], 1, *type.shape[axis + 1 :])))
    longer = w("Concat", x, spare, axis=axis)
    made = w("ScatterElements", longer, places, updates, axis=axis, reduction=mode)
    return w.part(made, axis, 0, type.shape[axis])


@rule("GatherElements")
def _gather_elements(w: Writer, n: View, x: str, indices: str) -> str:
    """ONNX, too, counts negative indices from the end, but one out of range is an error."""
    table, places = n.types
    size = table.shape[n["axis"]]
    if not size or not places.size:
        return w.filled(0, n.type)
    known = w.constants.get(indices)
    if known is not None and known.min() >= -size and known.max() < size:
        return w("GatherElements", x, indices, axis=n["axis"])
    outside = _beyond(w, indices, places.dtype, size)
    chosen = w("Where", outside, w.number(0, places.dtype), indices)
    read = w("GatherElements", x, chosen, axis=n["axis"])
    if n.type.dtype == "bool":
        return w("And", w("Not", outside), read)
    return w("Where", outside, w.number(0, n.type.dtype), read)


def _beyond(w: Writer, indices: str, dtype: str, size: int) -> str:
    """Which indices are neither those of a place nor count from the end."""
    return w("Or", w("Less", indices, w.number(-size, dtype)), w("GreaterOrEqual", indices, w.number(size, dtype)))


@rule("GatherElementsGrad")
def _gather_elements_grad(w: Writer, n: View, dy: str, indices: str) -> str:
    zeros = w.filled(0, n.type)
    return _elements(w, (zeros, indices, dy), n.types[1], n.type, n["axis"], "add")


@rule("ScatterElements")
def _scatter_elements(w: Writer, n: View, x: str, indices: str, updates: str) -> str:
    mode = "none" if n["mode"] == "update" else n["mode"]
    return _elements(w, (x, indices, updates), n.types[1], n.types[0], n["axis"], mode)


def _elements(
    w: Writer, operands: tuple[str, str, str], places: TensorType, type: TensorType, axis: int, mode: str
) -> str:
    """Elements brought into x. Indices out of range mean one row more, which is cut off again."""
    x, indices, updates = operands
    if not places.size or not type.size:
        return w("Identity", x)
    if type.dtype == "float16":
        wide = (w.cast(x, "float32"), indices, w.cast(updates, "float32"))
        return w.cast(_elements(w, wide, places, TensorType("float32", type.shape), axis, mode), "float16")
    size, none = type.shape[axis], w.number(0, places.dtype)
    from_end = w("Add", indices, w.number(size, places.dtype))
    from_start = w("Where", w("Less", indices, none), from_end, indices)
    return _brought(w, (x, _or_spare(w, from_start, places.dtype, size), updates), type, axis, mode)
