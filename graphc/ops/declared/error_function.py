"""The error function, its complement and its inverse.

The complement is in float32 the Chebyshev fit of Numerical Recipes, 6.2 (relative error 1.2e-7), in float64 the rational
functions of W. J. Cody, "Rational Chebyshev Approximation for the Error Function", 1969. The inverse is in float32, and begins in
float64 with, the polynomials of M. Giles, "Approximating the erfinv function", 2010.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from graphc.ops.declared.elementwise import unary
from graphc.ops.declared.rules import Array
from graphc.ops.declared.transcendental import is_double, polynomial, signed, wide


def _erf_ref(x: Array) -> Array:
    return np.asarray(np.vectorize(math.erf, otypes=[x.dtype])(x))


unary(
    "Erf",
    _erf_ref,
    lambda e, x: e.erf(x),
    lambda g, n, dy: [g.Mul(g.Mul(dy, g.like(2 / np.pi**0.5, n.x)), g.Exp(g.Neg(g.Square(n.x))))],
    doc="error function",
)

_ERFC = (
    0.17087277, -0.82215223, 1.48851587, -1.13520398, 0.27886807, -0.18628806, 0.09678418, 0.37409196, 1.00002368,
    -1.26551223,
)  # fmt: skip


#: Above and below the line of erfc(x) e^(x^2), for x to 4, and of (1/sqrt(pi) - x erfc(x) e^(x^2)) x^2 in 1/x^2 beyond.
_ERFC_MIDDLE = (
    (2.15311535474403846e-8, 5.64188496988670089e-1, 8.88314979438837594e0, 6.61191906371416295e1, 2.98635138197400131e2,
     8.81952221241769090e2, 1.71204761263407058e3, 2.05107837782607147e3, 1.23033935479799725e3),
    (1.0, 1.57449261107098347e1, 1.17693950891312499e2, 5.37181101862009858e2, 1.62138957456669019e3,
     3.29079923573345963e3, 4.36261909014324716e3, 3.43936767414372164e3, 1.23033935480374942e3),
)  # fmt: skip

_ERFC_FAR = (
    (1.63153871373020978e-2, 3.05326634961232344e-1, 3.60344899949804439e-1, 1.25781726111229246e-1,
     1.60837851487422766e-2, 6.58749161529837803e-4),
    (1.0, 2.56852019228982242e0, 1.87295284992346725e0, 5.27905102951428412e-1, 6.05183413124413191e-2,
     2.33520497626869185e-3),
)  # fmt: skip


def _erfc_double(e: Any, x: Any) -> Any:
    a, one = e.abs(x), e.constant(1.0, x)
    far = e.gt(a, e.constant(4.0, x))
    # Held to where either is used: their powers overflow.
    near, z = e.select(far, one, a), e.select(far, a, e.constant(4.0, x))
    middle = e.div(polynomial(e, near, _ERFC_MIDDLE[0]), polynomial(e, near, _ERFC_MIDDLE[1]))
    w = e.div(one, e.mul(z, z))
    tail = e.mul(w, e.div(polynomial(e, w, _ERFC_FAR[0]), polynomial(e, w, _ERFC_FAR[1])))
    outer = e.div(e.sub(e.constant(1 / math.sqrt(math.pi), x), tail), z)
    # e^(-a^2) in two factors, of which the first has an exact exponent.
    held = e.select(e.gt(a, e.constant(30.0, x)), e.constant(30.0, x), a)
    head = e.div(e.floor(e.mul(held, e.constant(16.0, x))), e.constant(16.0, x))
    rest = e.mul(e.sub(held, head), e.add(held, head))
    y = e.mul(e.select(far, outer, middle), e.mul(e.exp(e.neg(e.mul(head, head))), e.exp(e.neg(rest))))
    y = e.select(e.lt(x, e.constant(0.0, x)), e.sub(e.constant(2.0, x), y), y)
    return e.select(e.lt(a, e.constant(0.46875, x)), e.sub(one, e.erf(x)), y)


def _erfc(e: Any, x: Any) -> Any:
    if is_double(e, x):
        return _erfc_double(e, x)
    z, one = e.abs(x), e.constant(1.0, x)
    t = e.div(one, e.add(one, e.mul(e.constant(0.5, x), z)))
    y = e.mul(t, e.exp(e.sub(polynomial(e, t, _ERFC), e.mul(z, z))))
    return e.select(e.lt(x, e.constant(0.0, x)), e.sub(e.constant(2.0, x), y), y)


def _erfc_ref(x: Array) -> Array:
    return np.asarray(np.vectorize(math.erfc, otypes=[x.dtype])(x))


# ---- the inverse error function

_ERFINV_NEAR = (
    2.81022636e-08, 3.43273939e-07, -3.5233877e-06, -4.39150654e-06, 0.00021858087, -0.00125372503, -0.00417768164,
    0.246640727, 1.50140941,
)  # fmt: skip

_ERFINV_FAR = (
    -0.000200214257, 0.000100950558, 0.00134934322, -0.00367342844, 0.00573950773, -0.0076224613, 0.00943887047,
    1.00167406, 2.83297682,
)  # fmt: skip


def _erfinv(e: Any, x: Any) -> Any:
    """In float32 within 2.7e-7 of it; in float64 that and two steps of Halley's method, on erfc where x is nearly 1."""
    a, zero, one = e.abs(x), e.constant(0.0, x), e.constant(1.0, x)
    left = e.sub(one, a)
    w = e.neg(e.log(e.mul(left, e.add(one, a))))
    near = polynomial(e, e.sub(w, e.constant(2.5, x)), _ERFINV_NEAR)
    far = polynomial(e, e.sub(e.sqrt(e.max(w, e.constant(5.0, x))), e.constant(3.0, x)), _ERFINV_FAR)
    if is_double(e, x):
        # Beyond what float32 has: erfc(y) is about e^(-y^2) / (y sqrt(pi)).
        v = e.max(w, e.constant(16.0, x))
        beyond = e.sqrt(e.sub(v, e.log(e.mul(e.sqrt(v), e.constant(math.sqrt(math.pi) / 2, x)))))
        far = e.select(e.lt(w, e.constant(16.0, x)), far, beyond)
    y = e.mul(e.select(e.lt(w, e.constant(5.0, x)), near, far), a)
    for _ in range(2 if is_double(e, x) else 0):
        over = e.select(e.lt(a, e.constant(0.5, x)), e.sub(e.erf(y), a), e.sub(left, _erfc(e, y)))
        step = e.mul(over, e.mul(e.exp(e.mul(y, y)), e.constant(math.sqrt(math.pi) / 2, x)))
        y = e.sub(y, e.div(step, e.add(one, e.mul(step, y))))
    y = e.select(e.eq(left, zero), e.constant(math.inf, x), y)
    return signed(e, x, e.select(e.gt(a, one), e.constant(math.nan, x), y))


def _erfinv_ref(x: Array) -> Array:
    from statistics import NormalDist  # Takes milliseconds to import.

    normal = NormalDist()

    def one(v: float) -> float:
        if math.isnan(v) or abs(v) > 1:
            return math.nan
        if abs(v) == 1:
            return math.copysign(math.inf, v)
        # The left tail of the distribution is the one with digits to spare.
        y = -normal.inv_cdf((1 - abs(v)) / 2) / math.sqrt(2) if v else 0.0
        over = math.erf(y) - abs(v) if abs(v) < 0.5 else (1 - abs(v)) - math.erfc(y)
        return math.copysign(y - over * math.sqrt(math.pi) / 2 * math.exp(y * y), v)

    return np.asarray(np.vectorize(one, otypes=[np.float64])(x)).astype(x.dtype)


# ---- declarations


unary(
    "Erfc",
    _erfc_ref,
    wide(_erfc),
    lambda g, n, dy: [g.Mul(g.Mul(dy, g.like(-2 / math.pi**0.5, n.x)), g.Exp(g.Neg(g.Square(n.x))))],
    doc="1 - erf(x), exact for large x",
)

unary(
    "Erfinv",
    _erfinv_ref,
    wide(_erfinv),
    lambda g, n, dy: [g.Mul(g.Mul(dy, g.like(math.sqrt(math.pi) / 2, n.x)), g.Exp(g.Square(n.out())))],
    -0.98,
    0.98,
    doc="the number whose error function is x",
)
