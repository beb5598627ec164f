"""Casts, fills, choices: elementwise ops whose result has another dtype or another origin than their operands."""

from __future__ import annotations

import numpy as np

from graphc.errors import ArgumentValueError, DTypeError
from graphc.ir import NO_GRAD, REQUIRED, Builder, NodeView, Sample, TensorType, Value, op
from graphc.ir.lowering import ExpressionBuilder, Handle
from graphc.ir.op import Attrs, Scalar, Types
from graphc.ir.types import DTYPES, numpy_dtype
from graphc.ops.declared.rules import (
    Array,
    booleans,
    broadcast_shape,
    check_dtype,
    floats,
    integers,
    same_dtype,
    unbroadcast,
)


def _cast_infer(types: Types, attrs: Attrs) -> tuple[TensorType, ...]:
    if attrs["dtype"] not in DTYPES:
        raise DTypeError(f"Cast: {attrs['dtype']!r} is no dtype; dtypes are {', '.join(DTYPES)}")
    return (TensorType(attrs["dtype"], types[0].shape),)


def _cast_ref(x: Array, dtype: str) -> Array:
    target = numpy_dtype(dtype)
    if x.dtype.kind == "c" and target.kind not in "cb":
        x = x.real
    if target.kind in "iu" and x.dtype.kind == "f":
        # As kernels do it: the fraction is cut off, the ends stand for what lies beyond them, and 0 for NaN.
        wide, ends = np.nan_to_num(x.astype(np.float64)), np.iinfo(target)
        over, under = wide >= float(ends.max), wide <= float(ends.min)
        made = np.where(over | under, 0, wide).astype(target)
        made[over], made[under] = ends.max, ends.min
        return made
    if target.kind in "fc" and x.dtype.kind == target.kind and x.dtype.itemsize > target.itemsize:
        # In the float64 oracle every float is float64; rounding is not its business.
        return x
    return x.astype(target)


def _cast_scalar(e: ExpressionBuilder, x: Handle, dtype: str) -> Handle:
    return e.cast(x, dtype)


op(
    "Cast",
    "x",
    attrs={"dtype": REQUIRED},
    infer=_cast_infer,
    ref=_cast_ref,
    # Between numbers of any kind the gradient passes, as in MindSpore; a bool has none.
    grad=lambda g, n, dy: [
        None if "bool" in (n.type(n.x).dtype, g.type(dy).dtype) else g.Cast(dy, dtype=n.type(n.x).dtype)
    ],
    lower=Scalar(_cast_scalar),
    samples=lambda: [
        Sample((floats(4, 9, high=50),), {"dtype": "int32"}),
        Sample((floats(4, 9, high=50),), {"dtype": "int64"}),
        Sample((floats(6) * booleans(6),), {"dtype": "bool"}),
        Sample((integers(5),), {"dtype": "float32"}),
        Sample((integers(17, dtype="int64"),), {"dtype": "int32"}),
        Sample((integers(3),), {"dtype": "int64"}),
        Sample((booleans(20),), {"dtype": "float32"}),
        Sample((booleans(20),), {"dtype": "int64"}),
        Sample((floats(5),), {"dtype": "float32"}, grad=(0,)),
    ],
    doc="x in another dtype; floats are truncated towards zero to become integers, complex numbers lose their imaginary part",
)


def _fill_infer(types: Types, attrs: Attrs) -> tuple[TensorType, ...]:
    if attrs["dtype"] not in DTYPES:
        raise DTypeError(f"Fill: {attrs['dtype']!r} is no dtype; dtypes are {', '.join(DTYPES)}")
    if any(not isinstance(d, int) or d < 0 for d in attrs["shape"]):
        raise ArgumentValueError(f"Fill: {attrs['shape']} is no shape")
    return (TensorType(attrs["dtype"], attrs["shape"]),)


def _fill_scalar(e: ExpressionBuilder, dtype: str, shape: tuple[int, ...], value: float) -> Handle:
    return e.number(value, dtype)


op(
    "Fill",
    attrs={"dtype": REQUIRED, "shape": REQUIRED, "value": REQUIRED},
    infer=_fill_infer,
    ref=lambda dtype, shape, value: np.full(shape, value, numpy_dtype(dtype)),
    grad=NO_GRAD,
    lower=Scalar(_fill_scalar),
    samples=lambda: [
        Sample((), {"dtype": "float32", "shape": (3, 21), "value": 1.5}),
        Sample((), {"dtype": "int32", "shape": (), "value": -2}),
        Sample((), {"dtype": "bool", "shape": (5,), "value": True}),
        Sample((), {"dtype": "float32", "shape": (2,), "value": float("inf")}),
    ],
    doc="a tensor filled with one number",
)


def _select_infer(types: Types, attrs: Attrs) -> tuple[TensorType, ...]:
    check_dtype("Select", "condition", types[0], ("bool",))
    dtype = same_dtype("Select", types[1:])
    return (TensorType(dtype, broadcast_shape("Select", types)),)


def _select_grad(g: Builder, n: NodeView, dy: Value) -> list[Value | None]:
    zero = g.like(0.0, dy)
    x, y = g.Select(n.condition, dy, zero), g.Select(n.condition, zero, dy)
    return [None, unbroadcast(g, x, n.x), unbroadcast(g, y, n.y)]


op(
    "Select",
    "condition x y",
    infer=_select_infer,
    ref=lambda condition, x, y: np.where(condition, x, y),
    grad=_select_grad,
    lower=Scalar(lambda e, condition, x, y: e.select(condition, x, y)),
    samples=lambda: [
        Sample((booleans(4, 17), floats(4, 17), floats(17)), grad=(1, 2)),
        Sample((booleans(), floats(3), floats()), grad=(1, 2)),
        Sample((booleans(9), integers(9), integers(9, seed=4))),
        Sample((booleans(9), booleans(9, seed=1), booleans(9, seed=2))),
        Sample((booleans(3), integers(3, dtype="int64"), integers(3, dtype="int64", seed=4))),
    ],
    doc="x where the condition holds, else y; the operand not taken may hold anything",
)
