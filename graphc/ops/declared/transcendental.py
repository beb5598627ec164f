"""Roots, exponentials, logarithms, trigonometric and hyperbolic functions.

The polynomials for arcus tangent, and for arcus sine in float32, are those of Cephes (S. L. Moshier).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from graphc.ir import Builder, Gradient, NodeView, Sample, Value, op
from graphc.ir.lowering import ExpressionBuilder, Handle
from graphc.ir.op import Scalar
from graphc.ir.types import COMPLEX, FLOATS, HALVES
from graphc.ops.declared.elementwise import unary
from graphc.ops.declared.rules import Array, elementwise, floats, unbroadcast

#: Where a function has a complex derivative, its gradient rule is the same: see `graphc.passes.autodiff`.
ANALYTIC = (*FLOATS, *COMPLEX)


def _sigmoid(x: Array) -> Array:
    if x.dtype.kind == "c":
        return 1 / (1 + np.exp(-x))
    # The form that does not overflow on either side.
    z = np.exp(-np.abs(x))
    return np.where(x >= 0, 1 / (1 + z), z / (1 + z)).astype(x.dtype)


unary("Exp", np.exp, lambda e, x: e.exp(x), lambda g, n, dy: [g.Mul(dy, n.out())], dtypes=ANALYTIC, doc="e^x")

unary(
    "Log",
    np.log,
    lambda e, x: e.log(x),
    lambda g, n, dy: [g.Div(dy, n.x)],
    0.1,
    9,
    dtypes=ANALYTIC,
    doc="natural logarithm",
)

unary(
    "Sqrt",
    np.sqrt,
    lambda e, x: e.sqrt(x),
    lambda g, n, dy: [g.Div(g.Mul(dy, g.like(0.5, n.x)), n.out())],
    0.1,
    9,
    dtypes=ANALYTIC,
    doc="square root",
)

unary(
    "Rsqrt",
    lambda x: 1 / np.sqrt(x),
    lambda e, x: e.rsqrt(x),
    lambda g, n, dy: [g.Mul(g.Mul(dy, g.like(-0.5, n.x)), g.Div(n.out(), n.x))],
    0.1,
    9,
    dtypes=ANALYTIC,
    doc="1 / sqrt(x)",
)

unary(
    "Reciprocal",
    lambda x: 1 / x,
    lambda e, x: e.div(e.constant(1.0, x), x),
    lambda g, n, dy: [g.Neg(g.Mul(dy, g.Square(n.out())))],
    0.2,
    3,
    dtypes=ANALYTIC,
    doc="1 / x",
)

unary(
    "Tanh",
    np.tanh,
    lambda e, x: e.tanh(x),
    lambda g, n, dy: [g.Mul(dy, g.Sub(g.like(1.0, n.x), g.Square(n.out())))],
    dtypes=ANALYTIC,
    doc="hyperbolic tangent",
)

unary(
    "Sigmoid",
    _sigmoid,
    lambda e, x: e.sigmoid(x),
    lambda g, n, dy: [g.Mul(dy, g.Mul(n.out(), g.Sub(g.like(1.0, n.x), n.out())))],
    dtypes=ANALYTIC,
    doc="1 / (1 + e^-x)",
)

unary(
    "Sin",
    np.sin,
    lambda e, x: e.sin(x),
    lambda g, n, dy: [g.Mul(dy, g.Cos(n.x))],
    -9,
    9,
    dtypes=ANALYTIC,
    doc="sine of radians",
)

unary(
    "Cos",
    np.cos,
    lambda e, x: e.cos(x),
    lambda g, n, dy: [g.Neg(g.Mul(dy, g.Sin(n.x)))],
    -9,
    9,
    dtypes=ANALYTIC,
    doc="cosine of radians",
)


Scalars = Callable[..., Handle]


def wide(fn: Scalars) -> Scalars:
    """The expression in float32 if its operands are halves: rounded once, not at every step, and without their overflow."""

    def built(e: ExpressionBuilder, *operands: Handle) -> Handle:
        dtype = e.dtype(operands[0])
        if dtype not in HALVES:
            return fn(e, *operands)
        return e.cast(fn(e, *(e.cast(x, "float32") for x in operands)), dtype)

    return built


def is_double(e: ExpressionBuilder, x: Handle) -> bool:
    return bool(e.dtype(x) == "float64")


def _log1p(e: ExpressionBuilder, x: Handle) -> Handle:
    """log(u) x / (u - 1) with u = 1 + x: the rounding of u cancels (W. Kahan)."""
    one = e.constant(1.0, x)
    u = e.add(x, one)
    d = e.sub(u, one)
    corrected = e.mul(e.log(u), e.div(x, d))
    return e.select(e.eq(d, e.constant(0.0, x)), x, e.select(e.eq(u, x), e.log(u), corrected))


def _expm1(e: ExpressionBuilder, x: Handle) -> Handle:
    """2 t / (1 - t) with t = tanh(x / 2) near zero, where exp(x) - 1 would cancel."""
    t = e.tanh(e.mul(x, e.constant(0.5, x)))
    near = e.div(e.add(t, t), e.sub(e.constant(1.0, x), t))
    far = e.sub(e.exp(x), e.constant(1.0, x))
    return e.select(e.lt(e.abs(x), e.constant(1.0, x)), near, far)


unary(
    "Log1p",
    np.log1p,
    wide(_log1p),
    lambda g, n, dy: [g.Div(dy, g.Add(n.x, g.like(1.0, n.x)))],
    -0.9,
    9,
    dtypes=ANALYTIC,
    doc="log(1 + x), exact for small x",
)

unary(
    "Expm1",
    np.expm1,
    wide(_expm1),
    lambda g, n, dy: [g.Mul(dy, g.Add(n.out(), g.like(1.0, n.x)))],
    dtypes=ANALYTIC,
    doc="exp(x) - 1, exact for small x",
)

unary(
    "Softplus",
    lambda x: np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x))),
    wide(lambda e, x: e.add(e.max(x, e.constant(0.0, x)), _log1p(e, e.exp(e.neg(e.abs(x)))))),
    lambda g, n, dy: [g.Mul(dy, g.Sigmoid(n.x))],
    -9,
    9,
    doc="log(1 + e^x)",
)

# ---- expressions


def polynomial(e: ExpressionBuilder, x: Handle, coefficients: Sequence[float]) -> Handle:
    """Horner's rule, the highest power first."""
    value = e.constant(coefficients[0], x)
    for c in coefficients[1:]:
        value = e.add(e.mul(value, x), e.constant(c, x))
    return value


def _atan_positive(e: ExpressionBuilder, x: Handle) -> Handle:
    one = e.constant(1.0, x)
    double = is_double(e, x)
    large = e.gt(x, e.constant(math.tan(3 * math.pi / 8), x))
    middle = e.gt(x, e.constant(0.66 if double else math.tan(math.pi / 8), x))
    shift = e.select(
        large, e.constant(math.pi / 2, x), e.select(middle, e.constant(math.pi / 4, x), e.constant(0.0, x))
    )
    inner = e.select(middle, e.div(e.sub(x, one), e.add(x, one)), x)
    t = e.select(large, e.neg(e.div(one, x)), inner)
    z = e.mul(t, t)
    if double:
        tail = e.div(polynomial(e, z, _ATAN_ABOVE), polynomial(e, z, _ATAN_BELOW))
        rest = e.mul(shift, e.constant(_HALF_PI_REST / (math.pi / 2), x))
        return e.add(shift, e.add(e.add(e.mul(e.mul(tail, z), t), rest), t))
    tail = polynomial(e, z, (8.05374449538e-2, -1.38776856032e-1, 1.99777106478e-1, -3.33329491539e-1))
    return e.add(shift, e.add(e.mul(e.mul(tail, z), t), t))


_ATAN_ABOVE = (
    -8.750608600031904122785e-1, -1.615753718733365076637e1, -7.500855792314704667340e1, -1.228866684490136173410e2,
    -6.485021904942025371773e1,
)  # fmt: skip

_ATAN_BELOW = (
    1.0, 2.485846490142306297962e1, 1.650270098316988542046e2, 4.328810604912902668951e2, 4.853903996359136964868e2,
    1.945506571482613964425e2,
)  # fmt: skip

#: What pi/2 in float64 lacks.
_HALF_PI_REST = 6.123233995736765886130e-17


def signed(e: ExpressionBuilder, x: Handle, magnitude: Handle) -> Handle:
    return e.select(e.lt(x, e.constant(0.0, x)), e.neg(magnitude), magnitude)


def _atan(e: ExpressionBuilder, x: Handle) -> Handle:
    return signed(e, x, _atan_positive(e, e.abs(x)))


def _asin_parts(e: ExpressionBuilder, x: Handle) -> tuple[Handle, Handle]:
    """(|x| > 1/2, r) with asin |x| = r, or pi/2 - 2 r where |x| > 1/2."""
    a = e.abs(x)
    far = e.gt(a, e.constant(0.5, x))
    half = e.mul(e.constant(0.5, x), e.sub(e.constant(1.0, x), a))
    z = e.select(far, half, e.mul(a, a))
    root = e.select(far, e.sqrt(half), a)
    tail = polynomial(e, z, (4.2163199048e-2, 2.4181311049e-2, 4.5470025998e-2, 7.4953002686e-2, 1.6666752422e-1))
    return far, e.add(e.mul(e.mul(tail, z), root), root)


def _asin(e: ExpressionBuilder, x: Handle) -> Handle:
    if is_double(e, x):
        one = e.constant(1.0, x)
        return _atan(e, e.div(x, e.sqrt(e.mul(e.sub(one, x), e.add(one, x)))))
    far, r = _asin_parts(e, x)
    return signed(e, x, e.select(far, e.sub(e.constant(math.pi / 2, x), e.add(r, r)), r))


def _acos(e: ExpressionBuilder, x: Handle) -> Handle:
    if is_double(e, x):
        one = e.constant(1.0, x)
        half = _atan_positive(e, e.sqrt(e.div(e.sub(one, x), e.add(one, x))))
        return e.add(half, half)
    far, r = _asin_parts(e, x)
    negative = e.lt(x, e.constant(0.0, x))
    outer = e.select(negative, e.sub(e.constant(math.pi, x), e.add(r, r)), e.add(r, r))
    return e.select(far, outer, e.sub(e.constant(math.pi / 2, x), signed(e, x, r)))


def _is_negative(e: ExpressionBuilder, x: Handle) -> Handle:
    """Whether the sign bit is set; 1 / -0 is minus infinity."""
    zero = e.constant(0.0, x)
    return e.lt(e.select(e.eq(x, zero), e.div(e.constant(1.0, x), x), x), zero)


def _atan2(e: ExpressionBuilder, y: Handle, x: Handle) -> Handle:
    a, b, zero, one = e.abs(y), e.abs(x), e.constant(0.0, x), e.constant(1.0, x)
    large, small = e.max(a, b), e.min(a, b)
    ratio = e.select(e.eq(large, zero), zero, e.select(e.eq(small, e.constant(math.inf, x)), one, e.div(small, large)))
    angle = _atan_positive(e, ratio)
    angle = e.select(e.gt(a, b), e.sub(e.constant(math.pi / 2, x), angle), angle)
    angle = e.select(_is_negative(e, x), e.sub(e.constant(math.pi, x), angle), angle)
    return e.select(_is_negative(e, y), e.neg(angle), angle)


def _sinh(e: ExpressionBuilder, x: Handle) -> Handle:
    # exp(|x|) overflows only where the result does, up to a factor of two.
    a = e.abs(x)
    near = e.mul(e.constant(0.5, x), e.sub(_expm1(e, a), _expm1(e, e.neg(a))))
    return signed(e, x, e.select(e.gt(a, e.constant(60.0, x)), _half_exp(e, a), near))


def _half_exp(e: ExpressionBuilder, a: Handle) -> Handle:
    root = e.exp(e.mul(e.constant(0.5, a), a))
    return e.mul(e.mul(e.constant(0.5, a), root), root)


def _cosh(e: ExpressionBuilder, x: Handle) -> Handle:
    a = e.abs(x)
    return e.add(_half_exp(e, a), e.mul(e.constant(0.5, x), e.exp(e.neg(a))))


def _asinh(e: ExpressionBuilder, x: Handle) -> Handle:
    a, one = e.abs(x), e.constant(1.0, x)
    large = e.gt(a, e.constant(1e9, x))
    safe = e.select(large, one, a)
    square = e.mul(safe, safe)
    near = _log1p(e, e.add(safe, e.div(square, e.add(one, e.sqrt(e.add(square, one))))))
    return signed(e, x, e.select(large, e.add(e.log(a), e.constant(math.log(2), x)), near))


def _acosh(e: ExpressionBuilder, x: Handle) -> Handle:
    large = e.gt(x, e.constant(1e9, x))
    t = e.sub(e.select(large, e.constant(2.0, x), x), e.constant(1.0, x))
    # Two roots: below 1 there is none.
    near = _log1p(e, e.add(t, e.mul(e.sqrt(t), e.sqrt(e.add(t, e.constant(2.0, x))))))
    return e.select(large, e.add(e.log(x), e.constant(math.log(2), x)), near)


def _atanh(e: ExpressionBuilder, x: Handle) -> Handle:
    a = e.abs(x)
    inside = e.div(e.add(a, a), e.sub(e.constant(1.0, x), a))
    return signed(e, x, e.mul(e.constant(0.5, x), _log1p(e, inside)))


# ---- declarations

#: Something of a node, as new nodes.
_Term = Callable[[Builder, NodeView], Value]


def _one_over(root: _Term) -> Gradient:
    """Gradient dy / root(g, x)."""
    return lambda g, n, dy: [g.Div(dy, root(g, n))]


def _quadratic(sign: float, constant: float) -> _Term:
    """constant + sign x^2."""
    return lambda g, n: g.Add(g.like(constant, n.x), g.Mul(g.like(sign, n.x), g.Square(n.x)))


def _two_roots(g: Builder, n: NodeView) -> Value:
    """sqrt(x^2 - 1). Of complex numbers sqrt(x - 1) sqrt(x + 1): on the left of the plane they differ in sign."""
    one = g.like(1.0, n.x)
    root: Value = (
        g.Mul(g.Sqrt(g.Sub(n.x, one)), g.Sqrt(g.Add(n.x, one)))
        if g.type(n.x).is_complex
        else g.Sqrt(_quadratic(1.0, -1.0)(g, n))
    )
    return root


unary(
    "Tan",
    np.tan,
    wide(lambda e, x: e.div(e.sin(x), e.cos(x))),
    lambda g, n, dy: [g.Mul(dy, g.Add(g.like(1.0, n.x), g.Square(n.out())))],
    -1.3,
    1.3,
    dtypes=ANALYTIC,
    doc="tangent of radians",
)

unary(
    "Atan",
    np.arctan,
    wide(_atan),
    _one_over(_quadratic(1.0, 1.0)),
    -9,
    9,
    dtypes=ANALYTIC,
    doc="the angle whose tangent is x",
)

unary(
    "Asin",
    np.arcsin,
    wide(_asin),
    _one_over(lambda g, n: g.Sqrt(_quadratic(-1.0, 1.0)(g, n))),
    -0.95,
    0.95,
    dtypes=ANALYTIC,
    doc="the angle whose sine is x",
)

unary(
    "Acos",
    np.arccos,
    wide(_acos),
    lambda g, n, dy: [g.Neg(g.Div(dy, g.Sqrt(_quadratic(-1.0, 1.0)(g, n))))],
    -0.95,
    0.95,
    dtypes=ANALYTIC,
    doc="the angle whose cosine is x",
)

unary("Sinh", np.sinh, wide(_sinh), lambda g, n, dy: [g.Mul(dy, g.Cosh(n.x))], dtypes=ANALYTIC, doc="hyperbolic sine")

unary("Cosh", np.cosh, wide(_cosh), lambda g, n, dy: [g.Mul(dy, g.Sinh(n.x))], dtypes=ANALYTIC, doc="hyperbolic cosine")

unary(
    "Asinh",
    np.arcsinh,
    wide(_asinh),
    _one_over(lambda g, n: g.Sqrt(_quadratic(1.0, 1.0)(g, n))),
    dtypes=ANALYTIC,
    doc="inverse of the hyperbolic sine",
)

unary(
    "Acosh",
    np.arccosh,
    wide(_acosh),
    _one_over(_two_roots),
    1.1,
    5,
    dtypes=ANALYTIC,
    doc="inverse of the hyperbolic cosine",
)

unary(
    "Atanh",
    np.arctanh,
    wide(_atanh),
    _one_over(_quadratic(-1.0, 1.0)),
    -0.9,
    0.9,
    dtypes=ANALYTIC,
    doc="inverse of the hyperbolic tangent",
)

op(
    "Atan2",
    "y x",
    infer=elementwise("Atan2", FLOATS),
    ref=np.arctan2,
    grad=lambda g, n, dy: [
        unbroadcast(g, g.Div(g.Mul(dy, n.x), g.Add(g.Square(n.x), g.Square(n.y))), n.y),
        unbroadcast(g, g.Neg(g.Div(g.Mul(dy, n.y), g.Add(g.Square(n.x), g.Square(n.y)))), n.x),
    ],
    lower=Scalar(wide(_atan2)),
    samples=lambda: [
        Sample((floats(5, 7), floats(5, 7, seed=3)), grad=(0, 1)),
        Sample((floats(3, 1), floats(4, seed=1)), grad=(0, 1)),
    ],
    doc="the angle of the point (x, y), in [-pi, pi]",
)
