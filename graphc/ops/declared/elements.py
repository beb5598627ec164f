"""Elements at places along an axis, each index for the row of its own: reading them and writing them.

MindSpore's GatherD and TensorScatterElements, ONNX' GatherElements and ScatterElements, torch's gather and scatter. A negative
index counts from the end.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from graphc.errors import ArgumentValueError, ShapeError
from graphc.ir import REQUIRED, Builder, Sample, TensorType, Value, op
from graphc.ir.lowering import CallBuilder
from graphc.ir.op import Attrs, Kernel, Operands, Types
from graphc.ops.declared import padding_places
from graphc.ops.declared.batching import Mapped, along
from graphc.ops.declared.indexing import COMBINE, COMBINED_IN, INDEX_DTYPES, MODES, scatter_grad, scattered_wide
from graphc.ops.declared.rules import (
    ONLY_MOVED,
    Array,
    around,
    booleans,
    check_dtype,
    floats,
    integers,
    require_axis,
    same_dtype,
)


def _check(op: str, x: TensorType, indices: TensorType, axis: int) -> None:
    """Raise unless indices have x's axes, and their sizes but for `axis`."""
    check_dtype(op, "indices", indices, INDEX_DTYPES)
    require_axis(op, x, axis)
    others = [s[:axis] + s[axis + 1 :] for s in (x.shape, indices.shape)]
    if indices.rank != x.rank or others[0] != others[1]:
        raise ShapeError(f"{op}: x is {x}, indices are {indices}: all axes but {axis} must agree")


def _from_start(indices: Array, size: int) -> Array:
    return np.where(indices < 0, indices + size, indices)


def _gather_infer(types: Types, attrs: Attrs) -> tuple[TensorType, ...]:
    x, indices = types
    _check("GatherElements", x, indices, attrs["axis"])
    return (TensorType(x.dtype, indices.shape),)


def _gather_ref(x: Array, indices: Array, axis: int) -> Array:
    size = x.shape[axis]
    if not size:
        return np.zeros(indices.shape, x.dtype)
    indices = _from_start(indices, size)
    inside = (indices >= 0) & (indices < size)
    read = np.take_along_axis(x, np.where(inside, indices, 0), axis)
    return np.where(inside, read, np.zeros((), x.dtype))


def _gather_lower(k: CallBuilder, inputs: Operands, outputs: Operands, attrs: Attrs) -> None:
    x, indices = (v.type for v in inputs)
    if not x.size:
        k.fill(outputs[0], 0)
    elif indices.size:
        more = {"count": indices.shape[attrs["axis"]], "index_dtype": indices.dtype}
        k.call("gather_elements", inputs, outputs, **around(x, attrs["axis"]), **more)


def _gather_grad_infer(types: Types, attrs: Attrs) -> tuple[TensorType, ...]:
    dy, indices = types
    made = TensorType(dy.dtype, attrs["shape"])
    _check("GatherElementsGrad", made, indices, attrs["axis"])
    return (made,)


def _gather_grad_ref(dy: Array, indices: Array, shape: tuple[int, ...], axis: int) -> Array:
    return _scatter_ref(np.zeros(shape, dy.dtype), indices, dy, axis, "add")


def _gather_grad_lower(k: CallBuilder, inputs: Operands, outputs: Operands, attrs: Attrs) -> None:
    (dy, indices), (dx,) = inputs, outputs
    more = {"count": indices.type.shape[attrs["axis"]], "index_dtype": indices.type.dtype}
    k.call(
        "scatter_elements", (indices, dy), (dx,), **around(dx.type, attrs["axis"]), **more, mode="add", of_zeros=True
    )


def _gather_grad_batch(g: Builder, m: Mapped) -> tuple[Value, ...]:
    return m.again(*m.fronts(), shape=(m.size, *m.shape), axis=m.axis + 1)


op(
    "GatherElements",
    "x indices",
    attrs={"axis": 0},
    infer=_gather_infer,
    ref=_gather_ref,
    grad=lambda g, n, dy: [g.GatherElementsGrad(dy, n.indices, shape=n.type(n.x).shape, axis=n.axis), None],
    lower=Kernel(_gather_lower, ONLY_MOVED),
    batch=along("axis"),
    pad=padding_places.elements,
    samples=lambda: [
        Sample((floats(5, 17), integers(5, 9, low=0, high=17)), {"axis": 1}, grad=(0,)),
        Sample((floats(3, 5, 10), integers(3, 7, 10, low=-1, high=6, dtype="int64")), {"axis": 1}, grad=(0,)),
        Sample((floats(19, 6), integers(19, 1, low=0, high=6)), {"axis": 1}, grad=(0,)),
        Sample((integers(6, 3), integers(4, 3, low=0, high=6))),
        Sample((booleans(6, 3), integers(4, 3, low=0, high=6))),
        Sample((floats(0, 3), integers(4, 3))),
    ],
    doc="x's element at the index of each place along an axis; an index out of range gives zero",
)


op(
    "GatherElementsGrad",
    "dy indices",
    attrs={"shape": REQUIRED, "axis": 0},
    infer=_gather_grad_infer,
    ref=_gather_grad_ref,
    grad=lambda g, n, d: [g.GatherElements(d, n.indices, axis=n.axis), None],
    lower=Kernel(_gather_grad_lower, ("float32", "float64", "int32", "int64")),
    batch=_gather_grad_batch,
    samples=lambda: [
        Sample((floats(5, 9), integers(5, 9, low=0, high=17)), {"shape": (5, 17), "axis": 1}, grad=(0,)),
        Sample((floats(3, 7, 10), integers(3, 7, 10, low=-1, high=6)), {"shape": (3, 5, 10), "axis": 1}, grad=(0,)),
        Sample((floats(40, 3), integers(40, 3, low=0, high=4, dtype="int64")), {"shape": (4, 3)}, grad=(0,)),
    ],
    doc="zeros with dy's elements added at the indices along an axis",
)


def _scatter_infer(types: Types, attrs: Attrs) -> tuple[TensorType, ...]:
    x, indices, updates = types
    _check("ScatterElements", x, indices, attrs["axis"])
    same_dtype("ScatterElements", (x, updates))
    if attrs["mode"] not in MODES:
        raise ArgumentValueError(f"ScatterElements: mode must be one of {', '.join(MODES)}, got {attrs['mode']!r}")
    if updates.shape != indices.shape:
        raise ShapeError(f"ScatterElements: updates are {updates}, expected the shape of indices {indices}")
    return (x,)


def _scatter_ref(x: Array, indices: Array, updates: Array, axis: int, mode: str) -> Array:
    y = x.astype(np.float64) if mode == "add" and x.dtype == np.float32 else x.copy()
    places = _from_start(indices, x.shape[axis])
    out, places, given = (np.moveaxis(a, axis, 0) for a in (y, places, updates))
    combine = COMBINE.get(mode)
    for k in range(len(places)):
        inside = np.nonzero(np.atleast_1d((places[k] >= 0) & (places[k] < len(out))))
        at = (np.atleast_1d(places[k])[inside], *inside[: x.ndim - 1])
        new = np.atleast_1d(given[k])[inside]
        out[at] = new if combine is None else combine(out[at], new)
    return y.astype(x.dtype, copy=False)


def _scatter_lower(k: CallBuilder, inputs: Operands, outputs: Operands, attrs: Attrs) -> None:
    x, indices = (v.type for v in inputs[:2])
    over = inputs[0].buffer == outputs[0].buffer
    if not x.size or not indices.size:
        if not over:
            k.duplicate(inputs[0], outputs[0])
        return
    if x.dtype in COMBINED_IN and attrs["mode"] != "update":
        scattered_wide(_scatter_lower, k, inputs, outputs, attrs)
        return
    more = {"count": indices.shape[attrs["axis"]], "index_dtype": indices.dtype, "mode": attrs["mode"]}
    more |= {"in_place": True} if over else {}
    k.call("scatter_elements", inputs[over:], outputs, **around(x, attrs["axis"]), **more)


def _samples() -> list[Sample]:
    distinct = np.argsort(floats(9, 17, seed=2), 0)[:4].astype(np.int32)
    repeated = integers(3, 7, 2, low=-1, high=5, dtype="int64")
    x, more = floats(3, 5, 2), floats(3, 7, 2, seed=1)
    made = [
        Sample((floats(9, 17), distinct, floats(4, 17, seed=3)), {"mode": mode}, grad=(0, 2))
        for mode in ("update", "add", "mul", "max")
    ]
    made += [Sample((x, repeated, more), {"axis": 1, "mode": mode}, grad=(0, 2)) for mode in ("add", "min", "mul")]
    made += [
        Sample((floats(3, 5), integers(3, 7, low=0, high=5), floats(3, 7, seed=1)), {"axis": 1, "mode": "update"}),
        Sample((floats(2, 40), integers(2, 40, low=0, high=2), floats(2, 40, seed=1)), {"mode": "add"}, grad=(0, 2)),
        Sample((integers(6), np.array([1, 1, 4], np.int32), integers(3)), {"mode": "max"}),
        Sample((integers(6, dtype="int8"), np.array([1, 1, 4], np.int32), integers(3, dtype="int8")), {"mode": "add"}),
        Sample((booleans(4, 3), np.array([[2, 0, 1]], np.int32), booleans(1, 3, seed=1)), {"mode": "update"}),
        Sample((floats(4), np.zeros((0,), np.int32), floats(0)), {"mode": "update"}),
    ]
    return made


op(
    "ScatterElements",
    "x indices updates",
    attrs={"axis": 0, "mode": "update"},
    infer=_scatter_infer,
    ref=_scatter_ref,
    grad=partial(scatter_grad, scatter="ScatterElements", gather="GatherElements"),
    # Sums of many terms are made in memory of their own, in float64.
    lower=Kernel(_scatter_lower, ONLY_MOVED, over=lambda attrs: attrs["mode"] == "update"),
    batch=along("axis"),
    pad=padding_places.elements,
    samples=_samples,
    doc="x with the elements at the indices along an axis replaced (`update`: the last one wins), or combined (`add`, `mul`,"
    " `max`, `min`), in the order of the axis; an index out of range is left out",
)
