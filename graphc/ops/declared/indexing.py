"""Ops that follow indices: rows gathered and scattered, one-hot rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from graphc.errors import ArgumentValueError, ShapeError
from graphc.ir import NO_GRAD, REQUIRED, Builder, NodeView, Sample, TensorType, Value, op
from graphc.ir.lowering import CallBuilder, ExpressionBuilder, Handle
from graphc.ir.op import Attrs, Kernel, KernelRule, Operands, Scalar, Types
from graphc.ir.types import HALVES
from graphc.ops.declared import padding_places
from graphc.ops.declared.batching import Mapped, leading, rows_in_one
from graphc.ops.declared.rules import (
    MOVED,
    ONLY_MOVED,
    Array,
    around,
    booleans,
    check_dtype,
    divided,
    floats,
    integers,
    others_multiplied,
    require_axis,
    same_dtype,
)

INDEX_DTYPES = ("int32", "int64")

# ---- indices


def _one_hot_infer(types: Types, attrs: Attrs) -> tuple[TensorType, ...]:
    (indices,) = types
    check_dtype("OneHot", "indices", indices, INDEX_DTYPES)
    if attrs["depth"] < 1:
        raise ArgumentValueError(f"OneHot: depth must be positive, got {attrs['depth']}")
    return (TensorType(attrs["dtype"], (*indices.shape, attrs["depth"])),)


def _one_hot_scalar(e: ExpressionBuilder, indices: Handle, depth: int, on: float, off: float, dtype: str) -> Handle:
    hit = e.eq(indices, e.iota(-1, indices))
    return e.select(hit, e.number(on, dtype), e.number(off, dtype))


op(
    "OneHot",
    "indices",
    attrs={"depth": REQUIRED, "on": 1.0, "off": 0.0, "dtype": "float32"},
    infer=_one_hot_infer,
    ref=lambda indices, depth, on, off, dtype: np.where(
        indices[..., None] == np.arange(depth), np.asarray(on, dtype), np.asarray(off, dtype)
    ),
    grad=NO_GRAD,
    lower=Scalar(
        _one_hot_scalar,
        align=lambda types, attrs: ((*range(types[0].rank), None),),
    ),
    batch=leading,
    samples=lambda: [
        Sample((integers(7, low=0, high=9),), {"depth": 10}),
        Sample((integers(2, 3, low=-1, high=20, dtype="int64"),), {"depth": 18, "on": 0.9, "off": 0.1}),
        Sample((integers(low=0, high=2),), {"depth": 3, "dtype": "int32"}),
    ],
    doc="`on` where the last axis equals the index, else `off`; an index out of range gives only `off`",
)


def _gather_infer(types: Types, attrs: Attrs) -> tuple[TensorType, ...]:
    x, indices = types
    check_dtype("Gather", "indices", indices, INDEX_DTYPES)
    require_axis("Gather", x, attrs["axis"])
    return (TensorType(x.dtype, x.shape[: attrs["axis"]] + indices.shape + x.shape[attrs["axis"] + 1 :]),)


def _gather_ref(x: Array, indices: Array, axis: int) -> Array:
    size = x.shape[axis]
    inside = (indices >= 0) & (indices < size)
    if size == 0:
        return np.zeros(x.shape[:axis] + indices.shape + x.shape[axis + 1 :], x.dtype)
    y = np.take(x, np.where(inside, indices, 0), axis)
    mask = inside.reshape((1,) * axis + inside.shape + (1,) * (x.ndim - axis - 1))
    return np.where(mask, y, np.zeros((), x.dtype))


def _gather_params(x: TensorType, indices: TensorType, axis: int) -> dict[str, Any]:
    return around(x, axis) | {"count": indices.size, "index_dtype": indices.dtype}


def _gather_lower(k: CallBuilder, inputs: Operands, outputs: Operands, attrs: Attrs) -> None:
    k.call("gather", inputs, outputs, **_gather_params(inputs[0].type, inputs[1].type, attrs["axis"]))


def _gather_backward(g: Builder, n: NodeView, dy: Value) -> list[Value | None]:
    """dy's rows added up where they come from; of places that were found each is another one, so that nothing is to be added."""
    shape, axis, indices = n.type(n.x).shape, n.axis, n.indices
    maker = g.graph.node(indices.node)
    if maker.op.name != "Nonzero" or indices.slot or shape[axis] != maker.types[2].size:
        return [g.GatherGrad(dy, indices, shape=shape, axis=axis), None]
    (mask,) = maker.inputs
    rows = g.Gather(dy, maker.outputs[2], axis=axis)
    chosen = g.Reshape(mask, shape=(shape[axis], *(1,) * (len(shape) - axis - 1)))
    return [g.Select(chosen, rows, g.like(0.0, rows)), None]


def _gather_grad_lower(k: CallBuilder, inputs: Operands, outputs: Operands, attrs: Attrs) -> None:
    if inputs[0].type.dtype == "float32":
        k.call("gather_grad", inputs, outputs, **_gather_params(outputs[0].type, inputs[1].type, attrs["axis"]))
        return
    zeros = k.temp(outputs[0].type)
    k.fill(zeros, 0)
    _lower(k, (zeros, inputs[1], inputs[0]), outputs, {"axis": attrs["axis"], "mode": "add"})


def _gather_grad_ref(dy: Array, indices: Array, shape: tuple[int, ...], axis: int) -> Array:
    dx = np.zeros(shape, np.float64 if dy.dtype == np.float32 else dy.dtype)
    flat = indices.ravel()
    inside = (flat >= 0) & (flat < shape[axis])
    spread = dy.reshape(*shape[:axis], flat.size, *shape[axis + 1 :])
    np.add.at(np.moveaxis(dx, axis, 0), flat[inside], np.moveaxis(spread, axis, 0)[inside])
    return dx.astype(dy.dtype, copy=False)


def _rows_first(g: Builder, m: Mapped, value: Value, width: int) -> Value:
    """The `width` axes that stand in place of `axis` moved right behind the batch axis."""
    rank, first = g.type(value).rank, 1 + m.axis
    made: Value = g.Transpose(
        value, perm=(0, *range(first, first + width), *range(1, first), *range(first + width, rank))
    )
    return made if m.axis else value


def _rows_back(g: Builder, m: Mapped, value: Value, width: int) -> Value:
    """The inverse of `_rows_first`."""
    rank, axis = g.type(value).rank, m.axis
    order = (0, *range(1 + width, 1 + width + axis), *range(1, 1 + width), *range(1 + width + axis, rank))
    made: Value = g.Transpose(value, perm=order) if axis else value
    return made


def _table(g: Builder, m: Mapped, value: Value, shape: tuple[int, ...]) -> Value:
    """The rows of a mapped operand of this shape, one batch behind the other."""
    rows = _rows_first(g, m, value, 1)
    others = g.type(rows).shape[2:]
    return m.reshaped(rows, (m.size * shape[m.axis], *others))


def _untable(g: Builder, m: Mapped, value: Value, shape: tuple[int, ...]) -> Value:
    """The inverse of `_table`."""
    rows = m.reshaped(value, (m.size, shape[m.axis], *g.type(value).shape[1:]))
    return _rows_back(g, m, rows, 1)


def _gather_batch(g: Builder, m: Mapped) -> tuple[Value, ...]:
    x, indices = m.inputs
    width, axis = m.types[1].rank, m.axis
    if not m.mapped[1]:
        return m.again(x, indices, axis=axis + 1)
    if not m.mapped[0]:
        (y,) = m.again(x, indices)
        rank = g.type(y).rank
        return (g.Transpose(y, perm=(axis, *range(axis), *range(axis + 1, rank))) if axis else y,)
    shape = m.types[0].shape
    (y,) = m.again(_table(g, m, x, shape), rows_in_one(g, m, 1, shape[axis]), axis=0)
    return (_rows_back(g, m, y, width),)


def _gather_grad_batch(g: Builder, m: Mapped) -> tuple[Value, ...]:
    if not m.mapped[1]:
        return m.again(*m.inputs, shape=(m.size, *m.shape), axis=m.axis + 1)
    dy = _rows_first(g, m, m.front(0), m.types[1].rank)
    others = (*m.shape[: m.axis], *m.shape[m.axis + 1 :])
    rows = rows_in_one(g, m, 1, m.shape[m.axis])
    (dx,) = m.again(dy, rows, shape=(m.size * m.shape[m.axis], *others), axis=0)
    return (_untable(g, m, dx, m.shape),)


def _scatter_batch(g: Builder, m: Mapped) -> tuple[Value, ...]:
    if not m.mapped[1]:
        return m.again(m.front(0), m.inputs[1], m.front(2), axis=m.axis + 1)
    shape = m.types[0].shape
    updates = _rows_first(g, m, m.front(2), m.types[1].rank)
    rows = rows_in_one(g, m, 1, shape[m.axis])
    (y,) = m.again(_table(g, m, m.front(0), shape), rows, updates, axis=0)
    return (_untable(g, m, y, shape),)


op(
    "Gather",
    "x indices",
    attrs={"axis": 0},
    infer=_gather_infer,
    ref=_gather_ref,
    grad=_gather_backward,
    lower=Kernel(_gather_lower, ONLY_MOVED),
    batch=_gather_batch,
    pad=padding_places.gathered,
    samples=lambda: [
        Sample((floats(9, 17), integers(4, 3, low=0, high=8)), grad=(0,)),
        Sample((floats(3, 5, 2), integers(7, low=-1, high=5, dtype="int64")), {"axis": 1}, grad=(0,)),
        Sample((integers(6), integers(low=0, high=5))),
    ],
    doc="rows of x at the indices along an axis; an index out of range gives zeros, as MindSpore does on a CPU",
)

op(
    "GatherGrad",
    "dy indices",
    attrs={"shape": REQUIRED, "axis": 0},
    infer=lambda types, attrs: (TensorType(types[0].dtype, attrs["shape"]),),
    ref=_gather_grad_ref,
    grad=lambda g, n, d: [g.Gather(d, n.indices, axis=n.axis), None],
    lower=Kernel(_gather_grad_lower, tuple(d for d in MOVED if d != "bool")),
    batch=_gather_grad_batch,
    samples=lambda: [
        Sample((floats(4, 3, 17), integers(4, 3, low=0, high=8)), {"shape": (9, 17)}, grad=(0,)),
        Sample((floats(3, 7, 2), integers(7, low=-1, high=5)), {"shape": (3, 5, 2), "axis": 1}, grad=(0,)),
        # As large as takes its rows one by one.
        Sample((floats(40, 521), integers(40, low=-1, high=33)), {"shape": (33, 521)}),
    ],
    doc="zeros with dy's rows added at the indices",
)

MODES = ("update", "add", "mul", "max", "min")

#: Dtypes that are combined in a wider one.
COMBINED_IN = {**dict.fromkeys(("int8", "int16", "uint8", "uint16"), "int32"), **dict.fromkeys(HALVES, "float32")}

COMBINE = {"add": np.add, "mul": np.multiply, "max": np.maximum, "min": np.minimum}


def _infer(types: Types, attrs: Attrs) -> tuple[TensorType, ...]:
    x, indices, updates = types
    axis = attrs["axis"]
    check_dtype("Scatter", "indices", indices, INDEX_DTYPES)
    same_dtype("Scatter", (x, updates))
    if attrs["mode"] not in MODES:
        raise ArgumentValueError(f"Scatter: mode must be one of {', '.join(MODES)}, got {attrs['mode']!r}")
    require_axis("Scatter", x, axis)
    wanted = x.shape[:axis] + indices.shape + x.shape[axis + 1 :]
    if updates.shape != wanted:
        raise ShapeError(f"Scatter: updates are {updates}, expected shape {wanted} for {x} and indices {indices}")
    return (x,)


def _ref(x: Array, indices: Array, updates: Array, axis: int, mode: str) -> Array:
    y = x.astype(np.float64) if mode == "add" and x.dtype == np.float32 else x.copy()
    flat = indices.ravel()
    rows = np.moveaxis(updates.reshape(*x.shape[:axis], flat.size, *x.shape[axis + 1 :]), axis, 0)
    out, inside = np.moveaxis(y, axis, 0), (flat >= 0) & (flat < x.shape[axis])
    combine = COMBINE.get(mode)
    if combine is None:
        out[flat[inside]] = rows[inside]  # Of what goes to one place the last.
    else:
        combine.at(out, flat[inside], rows[inside])
    return y.astype(x.dtype, copy=False)


def scatter_grad(
    g: Builder, n: NodeView, dy: Value, scatter: str = "Scatter", gather: str = "Gather"
) -> list[Value | None]:
    """The gradient of rows, or elements, brought into x, and of x."""

    def brought(x: Value, updates: Value, mode: str) -> Value:
        made: Value = getattr(g, scatter)(x, n.indices, updates, axis=n.axis, mode=mode)
        return made

    def read(x: Value) -> Value:
        made: Value = getattr(g, gather)(x, n.indices, axis=n.axis)
        return made

    if n.mode == "add":
        return [dy, None, read(dy)]
    if n.mode == "update":
        zeros = g.Fill(dtype=g.type(dy).dtype, shape=n.type(n.updates).shape, value=0)
        return [brought(dy, zeros, "update"), None, read(dy)]
    if n.mode == "mul":
        return [brought(dy, n.updates, "mul"), None, _factor_grad(g, n, dy, brought, read)]
    # All elements that are equal to the extremum share its gradient equally.
    dtype = n.type(n.x).dtype
    kept = g.Cast(g.Equal(n.x, n.out()), dtype=dtype)
    taken = g.Cast(g.Equal(n.updates, read(n.out())), dtype=dtype)
    share = divided(g, dy, brought(kept, taken, "add"))
    return [g.Mul(share, kept), None, g.Mul(read(share), taken)]


def _factor_grad(
    g: Builder, n: NodeView, dy: Value, brought: Callable[[Value, Value, str], Value], read: Callable[[Value], Value]
) -> Value:
    """dy times all other factors of the same element."""

    def multiplied(factors: Value) -> Value:
        return read(g.Mul(dy, brought(n.x, factors, "mul")))

    def summed(values: Value) -> Value:
        start = g.Fill(dtype=n.type(n.x).dtype, shape=n.type(n.x).shape, value=0)
        return read(brought(start, values, "add"))

    return others_multiplied(g, n.updates, multiplied, summed)


def _lower(k: CallBuilder, inputs: Operands, outputs: Operands, attrs: Attrs) -> None:
    x, indices, axis = inputs[0].type, inputs[1].type, attrs["axis"]
    if not indices.size or not inputs[2].type.size:
        if inputs[0].buffer != outputs[0].buffer:
            k.duplicate(inputs[0], outputs[0])
        return
    if x.dtype in COMBINED_IN and attrs["mode"] != "update":
        scattered_wide(_lower, k, inputs, outputs, attrs)
        return
    over = inputs[0].buffer == outputs[0].buffer
    k.call(
        "scatter",
        inputs[over:],
        outputs,
        **_gather_params(x, indices, axis),
        mode=attrs["mode"],
        **({"in_place": True} if over else {}),
    )


def scattered_wide(rule: KernelRule, k: CallBuilder, inputs: Operands, outputs: Operands, attrs: Attrs) -> None:
    """Small integers combined in int32 by a rule, of which the last bits are the same; halves as float32, of which kernels know
    what is in their memory.
    """
    x, indices, updates = inputs
    wide = COMBINED_IN[x.type.dtype]
    if wide == "float32":
        a, b, y = (v._replace(type=TensorType(wide, v.type.shape)) for v in (x, updates, outputs[0]))
        rule(k, (a, indices, b), (y,), attrs)
        return
    a, b, y = (k.temp(TensorType(wide, v.type.shape)) for v in (x, updates, outputs[0]))
    for source, target in ((x, a), (updates, b)):
        k.elementwise(lambda e, v: e.cast(v, wide), (source,), target)
    rule(k, (a, indices, b), (y,), attrs)
    k.elementwise(lambda e, v: e.cast(v, x.type.dtype), (y,), outputs[0])


def _samples() -> list[Sample]:
    distinct = np.array([[3, 0], [6, 1]], np.int32)
    made = [
        Sample((floats(9, 17), distinct, floats(2, 2, 17, seed=3)), {"mode": mode}, grad=(0, 2))
        for mode in ("update", "add", "mul", "max")
    ]
    repeated = integers(7, low=-1, high=5, dtype="int64")
    made += [
        Sample((floats(3, 5, 2), repeated, floats(3, 7, 2, seed=1)), {"axis": 1, "mode": "add"}, grad=(0, 2)),
        Sample((floats(3, 5, 2), repeated, floats(3, 7, 2, seed=1)), {"axis": 1, "mode": "min"}, grad=(0, 2)),
        Sample((floats(3, 5, 2), repeated, floats(3, 7, 2, seed=1)), {"axis": 1, "mode": "mul"}, grad=(0, 2)),
        Sample((floats(3, 5), repeated, floats(3, 7, seed=1)), {"axis": 1, "mode": "update"}),
        Sample((integers(6), np.array([1, 1, 4], np.int32), integers(3)), {"mode": "max"}),
        Sample((booleans(4, 3), np.array([2], np.int32), booleans(1, 3, seed=1)), {"mode": "update"}),
        Sample((floats(4), np.zeros((0,), np.int32), floats(0)), {"mode": "update"}),
        Sample((floats(2, 33, 521), integers(40, low=-1, high=33), floats(2, 40, 521)), {"axis": 1, "mode": "add"}),
    ]
    return made


op(
    "Scatter",
    "x indices updates",
    attrs={"axis": 0, "mode": REQUIRED},
    infer=_infer,
    ref=_ref,
    grad=scatter_grad,
    # Sums of many terms are made in float64, in memory of their own or row by row.
    lower=Kernel(_lower, ONLY_MOVED, over=lambda attrs: attrs["mode"] == "update"),
    batch=_scatter_batch,
    pad=padding_places.brought,
    samples=_samples,
    doc="x with rows along an axis replaced (`update`: the last one wins), or combined (`add`, `mul`, `max`, `min`), in the"
    " order of the indices; an index out of range is left out. Where indices repeat, the gradient of `update` goes to every"
    " row for that place, as in MindSpore",
)
