"""More elementwise ops: trigonometry, rounding, logarithms near one, deviations from a mean."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from graphc.errors import ShapeError
from graphc.ir import NO_GRAD, Sample, TensorType, op
from graphc.ir.op import Attrs, Scalar, Types
from graphc.ir.types import FLOATS
from graphc.ops.elementwise import unary
from graphc.ops.rules import Array, broadcast_shape, check_dtype, elementwise, floats, same_dtype

unary("Sin", np.sin, lambda e, x: e.sin(x), lambda g, n, dy: [g.Mul(dy, g.Cos(n.x))], -9, 9, doc="sine of radians")
unary(
    "Cos",
    np.cos,
    lambda e, x: e.cos(x),
    lambda g, n, dy: [g.Neg(g.Mul(dy, g.Sin(n.x)))],
    -9,
    9,
    doc="cosine of radians",
)
unary("Ceil", np.ceil, lambda e, x: e.neg(e.floor(e.neg(x))), NO_GRAD, doc="smallest integer >= x")
unary("Round", np.round, lambda e, x: e.round(x), NO_GRAD, -9, 9, doc="nearest integer, halves to the even one")


def _log1p(e: Any, x: Any) -> Any:
    """log(u) x / (u - 1) with u = 1 + x: the rounding of u cancels (W. Kahan)."""
    one = e.constant(1.0, x)
    u = e.add(x, one)
    d = e.sub(u, one)
    corrected = e.mul(e.log(u), e.div(x, d))
    return e.select(e.eq(d, e.constant(0.0, x)), x, e.select(e.eq(u, x), e.log(u), corrected))


def _expm1(e: Any, x: Any) -> Any:
    """2 t / (1 - t) with t = tanh(x / 2) near zero, where exp(x) - 1 would cancel."""
    t = e.tanh(e.mul(x, e.constant(0.5, x)))
    near = e.div(e.add(t, t), e.sub(e.constant(1.0, x), t))
    far = e.sub(e.exp(x), e.constant(1.0, x))
    return e.select(e.lt(e.abs(x), e.constant(1.0, x)), near, far)


unary(
    "Log1p",
    np.log1p,
    _log1p,
    lambda g, n, dy: [g.Div(dy, g.Add(n.x, g.like(1.0, n.x)))],
    -0.9,
    9,
    doc="log(1 + x), exact for small x",
)
unary(
    "Expm1",
    np.expm1,
    _expm1,
    lambda g, n, dy: [g.Mul(dy, g.Add(n.out(), g.like(1.0, n.x)))],
    doc="exp(x) - 1, exact for small x",
)
unary(
    "Softplus",
    lambda x: np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x))),
    lambda e, x: e.add(e.max(x, e.constant(0.0, x)), _log1p(e, e.exp(e.neg(e.abs(x))))),
    lambda g, n, dy: [g.Mul(dy, g.Sigmoid(n.x))],
    -9,
    9,
    doc="log(1 + e^x)",
)

_SPECIAL = np.array([1, np.inf, -np.inf, np.nan, 0, 3e38, -1e-38], np.float32)


def _test(name: str, ref: Callable[..., Array], scalar: Callable[..., Any], doc: str) -> None:
    op(
        name,
        "x",
        infer=elementwise(name, FLOATS, "bool"),
        ref=ref,
        grad=NO_GRAD,
        lower=Scalar(scalar),
        samples=lambda: [Sample((_SPECIAL,)), Sample((floats(3, 19),))],
        doc=doc,
    )


_test("IsNan", np.isnan, lambda e, x: e.ne(x, x), "not a number")
_test("IsInf", np.isinf, lambda e, x: e.eq(e.abs(x), e.constant(np.inf, x)), "plus or minus infinity")


def _deviation_infer(types: Types, attrs: Attrs) -> tuple[TensorType, ...]:
    x, mean = types
    same_dtype("SquaredDeviation", types)
    check_dtype("SquaredDeviation", "x", x, FLOATS)
    if broadcast_shape("SquaredDeviation", types) != x.shape:
        raise ShapeError(f"SquaredDeviation: mean is {mean}, which is larger than x: {x}")
    return (x,)


op(
    "SquaredDeviation",
    "x mean",
    infer=_deviation_infer,
    ref=lambda x, mean: np.square(x - mean),
    # d/dmean sum (x - mean)^2 = -2 sum (x - mean) = 0 at the mean of x: one sweep less in every normalization.
    grad=lambda g, n, dy: [g.Mul(g.Mul(dy, g.like(2.0, n.x)), g.Sub(n.x, n.mean)), None],
    lower=Scalar(lambda e, x, mean: e.mul(e.sub(x, mean), e.sub(x, mean))),
    samples=lambda: [
        Sample((floats(3, 37), floats(3, 1)), grad=(0,)),
        Sample((floats(2, 3, 5), floats(3, 1)), grad=(0,)),
        Sample((floats(7), floats()), grad=(0,)),
    ],
    doc="(x - mean)^2 for the variance. `mean` must be the mean of x over the axes that are then averaged: it gets no"
    " gradient, as that sums to zero there",
)
