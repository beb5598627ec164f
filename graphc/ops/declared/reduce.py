"""Reductions over axes. Attribute `axis` is a sorted tuple of non-negative axes; `keep_dims` keeps them with size 1."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from graphc.errors import ArgumentValueError, ShapeError
from graphc.ir import NO_GRAD, REQUIRED, Builder, Gradient, NodeView, Sample, TensorType, Value, op
from graphc.ir.lowering import CallBuilder
from graphc.ir.op import Attrs, Kernel, NoGrad, Operands, Reduce, TypeRule, Types
from graphc.ir.types import COMPLEX, FLOATS, INTEGERS
from graphc.ops.declared import padding
from graphc.ops.declared.batching import along
from graphc.ops.declared.rules import (
    NUMERIC,
    Array,
    around,
    booleans,
    check_dtype,
    divided,
    exact_sum,
    floats,
    integers,
    normalize_axes,
    others_multiplied,
    reduced_shape,
    require_axis,
)


def _infer(name: str, allowed: Sequence[str], empty_ok: bool) -> TypeRule:
    def infer(types: Types, attrs: Attrs) -> tuple[TensorType, ...]:
        (x,) = types
        check_dtype(name, "x", x, allowed)
        axes = attrs["axis"]
        if axes and normalize_axes(name, axes, x.rank) != axes:
            raise ArgumentValueError(f"{name}: axis {axes} must be sorted and non-negative")
        if not empty_ok and any(x.shape[a] == 0 for a in axes):
            raise ShapeError(f"{name}: {x} has nothing to reduce along axis {axes}")
        return (TensorType(x.dtype, reduced_shape(x.shape, axes, attrs["keep_dims"])),)

    return infer


def _spread(g: Builder, n: NodeView, value: Value) -> Value:
    """A reduced value broadcast back to the operand's shape."""
    shape = n.type(n.x).shape
    kept = reduced_shape(shape, n.axis, True)
    if g.type(value).shape != kept:
        value = g.Reshape(value, shape=kept)
    spread: Value = g.BroadcastTo(value, shape=shape)
    return spread


def _mean_grad(g: Builder, n: NodeView, dy: Value) -> list[Value]:
    count = math.prod(n.type(n.x).shape[a] for a in n.axis)
    return [_spread(g, n, g.Mul(dy, g.like(1.0 / max(count, 1), dy)))]


def _extremum_grad(g: Builder, n: NodeView, dy: Value) -> list[Value]:
    # Equal extrema share the gradient equally, as in MindSpore.
    hit = g.Cast(g.Equal(n.x, _spread(g, n, n.out())), dtype=n.type(n.x).dtype)
    count = _spread(g, n, g.ReduceSum(hit, axis=n.axis, keep_dims=True))
    if g.type(hit).dtype in INTEGERS:
        return [g.Mul(hit, divided(g, _spread(g, n, dy), count))]
    return [g.Mul(g.Div(hit, count), _spread(g, n, dy))]


def _product_grad(g: Builder, n: NodeView, dy: Value) -> list[Value]:
    """dy times the product of the others."""

    def of_all(reduction: Callable[..., Value]) -> Callable[[Value], Value]:
        return lambda value: _spread(g, n, reduction(value, axis=n.axis, keep_dims=True))

    return [g.Mul(_spread(g, n, dy), others_multiplied(g, n.x, of_all(g.ReduceProd), of_all(g.ReduceSum)))]


def _mean(x: Array, axis: tuple[int, ...], keepdims: bool, dtype: Any) -> Array:
    """NumPy's, which warns of a mean of nothing."""
    total = np.sum(x, axis=axis, keepdims=keepdims, dtype=dtype)
    return (
        np.full_like(total, np.nan)
        if total.size and not x.size
        else np.mean(x, axis=axis, keepdims=keepdims, dtype=dtype)
    )


def _reduction(
    name: str,
    ref: Callable[..., Any],
    lower: Reduce,
    grad: Gradient | NoGrad,
    allowed: Sequence[str] = NUMERIC,
    empty_ok: bool = True,
    doc: str = "",
) -> None:
    def samples() -> list[Sample]:
        shapes: list[tuple[tuple[int, ...], tuple[int, ...]]] = [
            ((4, 35), (1,)),
            ((4, 35), (0,)),
            ((35, 4), (0, 1)),
            ((2, 3, 5, 7), (0, 2, 3)),
            ((2, 3, 5, 7), (1,)),
            ((1, 1), (0,)),
            ((6,), (0,)),
            ((3, 4), ()),
        ]
        made = []
        for shape, axis in shapes:
            for keep in (False, True):
                attrs = {"axis": axis, "keep_dims": keep}
                if "bool" in allowed:
                    made.append(Sample((booleans(*shape),), attrs))
                else:
                    made.append(Sample((floats(*shape),), attrs, grad=(0,) if grad is not NO_GRAD else ()))
                    if "int32" in allowed:
                        made.append(Sample((integers(*shape),), attrs))
        if "int64" in allowed:
            made.append(Sample((integers(3, 19, dtype="int64"),), {"axis": (1,), "keep_dims": False}))
        return made

    op(
        name,
        "x",
        attrs={"axis": REQUIRED, "keep_dims": False},
        infer=_infer(name, allowed, empty_ok),
        ref=lambda x, axis, keep_dims: np.asarray(ref(x, axis=axis, keepdims=keep_dims)).astype(x.dtype),
        grad=grad,
        lower=lower,
        samples=samples,
        doc=doc,
    )


_reduction(
    "ReduceSum",
    exact_sum,
    Reduce("sum"),
    lambda g, n, dy: [_spread(g, n, dy)],
    (*NUMERIC, *COMPLEX),
    doc="sum over axes",
)

_reduction(
    "ReduceMean",
    partial(exact_sum, fold=_mean),
    Reduce("sum", mean=True),
    _mean_grad,
    (*FLOATS, *COMPLEX),
    doc="mean over axes; NaN of nothing",
)

_reduction(
    "ReduceMax",
    np.max,
    Reduce("max"),
    _extremum_grad,
    empty_ok=False,
    doc="largest element, NaN if there is one",
)

_reduction(
    "ReduceMin",
    np.min,
    Reduce("min"),
    _extremum_grad,
    empty_ok=False,
    doc="smallest element, NaN if there is one",
)

_reduction(
    "ReduceProd",
    partial(exact_sum, fold=np.prod),
    Reduce("prod"),
    _product_grad,
    (*NUMERIC, *COMPLEX),
    doc="product over axes",
)

_reduction("ReduceAll", np.all, Reduce("all"), NO_GRAD, ("bool",), doc="logical and over axes")

_reduction("ReduceAny", np.any, Reduce("any"), NO_GRAD, ("bool",), doc="logical or over axes")


# ---- along one axis


_RANKED = ("int32", "int64", "uint32", "uint64", "float32", "float64")


def _arg_infer(types: Types, attrs: Attrs) -> tuple[TensorType, ...]:
    (x,) = types
    check_dtype("Argmax", "x", x, _RANKED)
    require_axis("Argmax", x, attrs["axis"])
    if x.shape[attrs["axis"]] == 0:
        raise ShapeError(f"Argmax: {x} has nothing along axis {attrs['axis']}")
    return (TensorType(attrs["dtype"], reduced_shape(x.shape, (attrs["axis"],), False)),)


def _arg_ref(x: Array, axis: int, dtype: str) -> Array:
    return np.asarray(np.argmax(x, axis=axis)).astype(dtype)


def _arg_lower(k: CallBuilder, inputs: Operands, outputs: Operands, attrs: Attrs) -> None:
    k.call("argmax", inputs, outputs, **around(inputs[0].type, attrs["axis"]), mode="max", out_dtype=attrs["dtype"])


op(
    "Argmax",
    "x",
    attrs={"axis": REQUIRED, "dtype": "int32"},
    infer=_arg_infer,
    ref=_arg_ref,
    grad=NO_GRAD,
    lower=Kernel(_arg_lower, _RANKED),
    batch=along("axis"),
    pad=padding.largest,
    samples=lambda: [
        Sample((floats(5, 33),), {"axis": 1}),
        Sample((floats(5, 33),), {"axis": 0, "dtype": "int64"}),
        Sample((floats(2, 3, 4),), {"axis": 1}),
        Sample((integers(19, low=0, high=3),), {"axis": 0}),
        Sample((np.array([1, np.nan, 3, np.nan], np.float32),), {"axis": 0}),
    ],
    doc="index of the first largest element; NaN counts as largest",
)
