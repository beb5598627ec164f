"""What is made of the elements up to each along an axis: sums, products, extrema; and the recurrence that is their gradient."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from graphc.errors import ArgumentValueError, ShapeError
from graphc.ir import REQUIRED, Builder, NodeView, Sample, TensorType, Value, op
from graphc.ir.lowering import CallBuilder
from graphc.ir.op import Attrs, Kernel, Operands, TypeRule, Types
from graphc.ir.types import COMPLEX, FLOATS, INTEGERS
from graphc.ops.declared import padding
from graphc.ops.declared.batching import along
from graphc.ops.declared.rules import (
    NUMERIC,
    Array,
    around,
    check_dtype,
    exact_sum,
    floats,
    in_float64,
    integers,
    require_axis,
    same_dtype,
)


def _infer(name: str, *allowed: str, places: bool = False) -> TypeRule:
    """Results like the operands; with `places` another one, int64."""

    def infer(types: Types, attrs: Attrs) -> tuple[TensorType, ...]:
        x = types[0]
        check_dtype(name, "x", x, allowed)
        require_axis(name, x, attrs["axis"])
        if attrs.get("mode", "max") not in ("max", "min"):
            raise ArgumentValueError(f"{name}: mode must be 'max' or 'min', got {attrs['mode']!r}")
        return (x, TensorType("int64", x.shape)) if places else (x,)

    return infer


def _lower(kernel: str, k: CallBuilder, inputs: Operands, outputs: Operands, attrs: Attrs) -> None:
    more = {name: value for name, value in attrs.items() if name != "axis"}
    k.call(kernel, inputs, outputs, **around(inputs[0].type, attrs["axis"]), **more)


def _moved(g: Builder, value: Value, axis: int, by: int, new: float) -> Value:
    """Elements one place further along an axis, or with `by` -1 back; `new` comes in."""
    shape = g.type(value).shape
    if not shape[axis]:
        return value
    kept = tuple(d - (k == axis) for k, d in enumerate(shape))
    begin = tuple(int(k == axis and by < 0) for k in range(len(shape)))
    part = g.Slice(value, begin=begin, size=kept, step=(1,) * len(shape))
    edge = g.Fill(dtype=g.type(value).dtype, shape=tuple(1 if k == axis else d for k, d in enumerate(shape)), value=new)
    made: Value = g.Concat(*((edge, part) if by > 0 else (part, edge)), axis=axis)
    return made


# ---- sums


def _cumsum_ref(x: Array, axis: int, reverse: bool) -> Array:
    made = exact_sum(np.flip(x, axis) if reverse else x, axis, fold=_running_sum)
    return np.flip(made, axis) if reverse else made


def _running_sum(x: Array, axis: int, keepdims: bool, dtype: Any) -> Array:
    return np.cumsum(x, axis=axis, dtype=dtype)


op(
    "Cumsum",
    "x",
    attrs={"axis": REQUIRED, "reverse": False},
    infer=_infer("Cumsum", *NUMERIC, *COMPLEX),
    ref=_cumsum_ref,
    grad=lambda g, n, dy: [g.Cumsum(dy, axis=n.axis, reverse=not n.reverse)],
    lower=Kernel(partial(_lower, "cumsum"), ("float32", "float64", *INTEGERS)),
    batch=along("axis"),
    pad=padding.running,
    samples=lambda: [
        Sample((floats(5, 33),), {"axis": 1}, grad=(0,)),
        Sample((floats(5, 33),), {"axis": 1, "reverse": True}, grad=(0,)),
        Sample((floats(5, 43),), {"axis": 0}, grad=(0,)),
        Sample((floats(2, 3, 4),), {"axis": 1, "reverse": True}, grad=(0,)),
        Sample((integers(2, 19),), {"axis": 1}),
        Sample((integers(3, 19, dtype="int64"),), {"axis": 0, "reverse": True}),
        Sample((np.array([1, np.nan, 3, np.inf], np.float32),), {"axis": 0}),
        Sample((floats(0, 3),), {"axis": 0}),
    ],
    doc="sums of the elements up to each along an axis, itself included; with `reverse` of those from each on",
)

# ---- products


def _cumprod_grad(g: Builder, n: NodeView, dy: Value) -> list[Value]:
    """y_i = x_i y_(i-1), so what reaches y_i is g_i = dy_i + x_(i+1) g_(i+1): exact where elements are zero, too."""
    recurrence = partial(g.LinearRecurrence, axis=n.axis, reverse=True, own=False)
    whole = g.type(n.x).dtype in INTEGERS
    reaching = in_float64(g, recurrence, n.x, dy) if whole else recurrence(n.x, dy)
    return [g.Mul(reaching, _moved(g, n.out(), n.axis, 1, 1.0))]


op(
    "Cumprod",
    "x",
    attrs={"axis": REQUIRED},
    infer=_infer("Cumprod", *NUMERIC),
    ref=lambda x, axis: np.cumprod(x, axis=axis, dtype=x.dtype),
    grad=_cumprod_grad,
    lower=Kernel(partial(_lower, "cumprod"), ("float32", "float64", *INTEGERS)),
    batch=along("axis"),
    pad=padding.running,
    samples=lambda: [
        Sample((floats(5, 9),), {"axis": 1}, grad=(0,)),
        Sample((floats(9, 43),), {"axis": 0}, grad=(0,)),
        Sample((floats(2, 3, 4),), {"axis": 1}, grad=(0,)),
        Sample((np.array([[2, 0, 3, 0, 4], [0, 1, 2, 3, 4]], np.float32),), {"axis": 1}, grad=(0,)),
        Sample((integers(2, 19),), {"axis": 1}),
        Sample((integers(3, 9, dtype="int64"),), {"axis": 0}),
        Sample((np.array([1, np.inf, 0, np.nan], np.float32),), {"axis": 0}),
        Sample((floats(0, 3),), {"axis": 0}),
    ],
    doc="products of the elements up to each along an axis, itself included, in x's dtype",
)

# ---- recurrences


def _recurrence_infer(types: Types, attrs: Attrs) -> tuple[TensorType, ...]:
    a, b = types
    check_dtype("LinearRecurrence", "a", a, FLOATS)
    same_dtype("LinearRecurrence", types)
    if a.shape != b.shape:
        raise ShapeError(f"LinearRecurrence: a is {a}, b is {b}: they must have one shape")
    require_axis("LinearRecurrence", a, attrs["axis"])
    return (b,)


def _recurrence_ref(a: Array, b: Array, axis: int, reverse: bool, own: bool) -> Array:
    factors, terms = (np.moveaxis(np.flip(x, axis) if reverse else x, axis, 0) for x in (a, b))
    wide = np.float64 if b.dtype == np.float32 else b.dtype
    made, last = np.empty(terms.shape, b.dtype), np.zeros(terms.shape[1:], wide)
    for i, term in enumerate(terms):
        last = term.astype(wide) + (factors[i if own else i - 1] * last if i else 0)
        made[i] = last
    y = np.moveaxis(made, 0, axis)
    return np.flip(y, axis) if reverse else y


def _recurrence_grad(g: Builder, n: NodeView, dy: Value) -> list[Value]:
    db = g.LinearRecurrence(n.a, dy, axis=n.axis, reverse=not n.reverse, own=not n.own)
    way = -1 if n.reverse else 1
    if n.own:
        return [g.Mul(db, _moved(g, n.out(), n.axis, way, 0.0)), db]
    return [g.Mul(_moved(g, db, n.axis, -way, 0.0), n.out()), db]


op(
    "LinearRecurrence",
    "a b",
    attrs={"axis": REQUIRED, "reverse": False, "own": True},
    infer=_recurrence_infer,
    ref=_recurrence_ref,
    grad=_recurrence_grad,
    lower=Kernel(partial(_lower, "recurrence"), ("float32", "float64")),
    batch=along("axis"),
    samples=lambda: [
        Sample((floats(5, 9), floats(5, 9, seed=1)), {"axis": 1}, grad=(0, 1)),
        Sample((floats(5, 9), floats(5, 9, seed=1)), {"axis": 1, "own": False}, grad=(0, 1)),
        Sample((floats(2, 5, 9), floats(2, 5, 9, seed=1)), {"axis": 1, "reverse": True}, grad=(0, 1)),
        Sample((floats(6), floats(6, seed=1)), {"axis": 0, "reverse": True, "own": False}, grad=(0, 1)),
        Sample((floats(3, 0), floats(3, 0)), {"axis": 1}),
    ],
    doc="y_i = a_i y_j + b_i along an axis, j being the place before i, with `reverse` the one behind it; unless `own`"
    " a_j y_j + b_i",
)

# ---- extrema


def _extremum_ref(x: Array, axis: int, mode: str) -> tuple[Array, Array]:
    values = (np.maximum if mode == "max" else np.minimum).accumulate(x, axis)
    places = np.arange(x.shape[axis]).reshape([-1 if k == axis else 1 for k in range(x.ndim)])
    # Only NaN is not itself.
    taken = (x == values) | (x != x)
    return values, np.maximum.accumulate(np.where(taken, places, 0), axis)


def _ties() -> Array:
    """With equal elements and NaN."""
    x = integers(3, 19, low=-3, high=3).astype(np.float32)
    x[1, [4, 9]] = np.nan
    return x


op(
    "Cumextremum",
    "x",
    attrs={"axis": REQUIRED, "mode": "max"},
    infer=_infer("Cumextremum", *NUMERIC, places=True),
    ref=_extremum_ref,
    grad=lambda g, n, dy, _: [g.GatherElementsGrad(dy, n.out(1), shape=n.type(n.x).shape, axis=n.axis)],
    lower=Kernel(partial(_lower, "cumextremum"), ("float32", "float64", *INTEGERS)),
    batch=along("axis"),
    pad=padding.running,
    samples=lambda: [
        Sample((floats(5, 33),), {"axis": 1}, grad=(0,)),
        Sample((floats(9, 43),), {"axis": 0, "mode": "min"}, grad=(0,)),
        Sample((floats(2, 5, 4),), {"axis": 1}, grad=(0,)),
        Sample((_ties(),), {"axis": 1}),
        Sample((_ties(),), {"axis": 0, "mode": "min"}),
        Sample((integers(2, 19),), {"axis": 1, "mode": "min"}),
        Sample((integers(3, 19, dtype="int64"),), {"axis": 0}),
        Sample((floats(0, 3),), {"axis": 0}),
    ],
    doc='the largest of the elements up to each along an axis, or by `mode` "min" the smallest, and its last place, int64;'
    " NaN is beyond all",
)
