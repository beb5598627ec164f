"""Roots, exponentials, logarithms, trigonometric and hyperbolic functions of complex numbers, on NumPy's branches."""

from __future__ import annotations

import math

from graphc.ir import Builder, Node
from graphc.passes.complex_parts.arithmetic import (
    minus,
    negated,
    over,
    plus,
    real,
    scaled,
    size,
    times,
    turned,
    turned_back,
)
from graphc.passes.complex_parts.parts import Parts, imaginary


def exp(g: Builder, node: Node, x: Parts) -> Parts:
    """e^a (cos b + i sin b)"""
    grown, angle = g.Exp(x.re), imaginary(g, x)
    return Parts(g.Mul(grown, g.Cos(angle)), g.Mul(grown, g.Sin(angle)))


def expm1(g: Builder, node: Node, x: Parts) -> Parts:
    """(e^a - 1) cos b - 2 sin(b/2)^2 + i e^a sin b"""
    angle = imaginary(g, x)
    bent = g.Sin(g.Mul(angle, g.like(0.5, angle)))
    re = g.Sub(g.Mul(g.Expm1(x.re), g.Cos(angle)), g.Mul(g.like(2.0, angle), g.Mul(bent, bent)))
    return Parts(re, g.Mul(g.Exp(x.re), g.Sin(angle)))


def _log(g: Builder, x: Parts) -> Parts:
    return Parts(g.Log(size(g, x)), g.Atan2(imaginary(g, x), x.re))


def log(g: Builder, node: Node, x: Parts) -> Parts:
    """log |x| + i angle x"""
    return _log(g, x)


def _log1p(g: Builder, x: Parts) -> Parts:
    """log(1 + x): exact for small ones, too."""
    b, two = imaginary(g, x), g.like(2.0, x.re)
    more = g.Add(g.Mul(x.re, g.Add(two, x.re)), g.Mul(b, b))
    return Parts(g.Mul(g.like(0.5, more), g.Log1p(more)), g.Atan2(b, g.Add(g.like(1.0, x.re), x.re)))


def log1p(g: Builder, node: Node, x: Parts) -> Parts:
    """log(1 + x)"""
    return _log1p(g, x)


def _sqrt(g: Builder, x: Parts) -> Parts:
    """On the right of the plane: t = sqrt((|x| + |a|) / 2) is the larger part, |b| / 2t the other one."""
    b, none = imaginary(g, x), g.like(0.0, x.re)
    t = g.Sqrt(g.Mul(g.like(0.5, x.re), g.Add(size(g, x), g.Abs(x.re))))
    other = g.Select(g.Equal(t, none), none, g.Div(g.Abs(b), g.Add(t, t)))
    right = g.GreaterEqual(x.re, none)
    im = g.Select(right, other, t)
    return Parts(g.Select(right, t, other), g.Select(g.Less(b, none), g.Neg(im), im))


def sqrt(g: Builder, node: Node, x: Parts) -> Parts:
    """The root whose real part is not negative."""
    return _sqrt(g, x)


def rsqrt(g: Builder, node: Node, x: Parts) -> Parts:
    """1 / sqrt(x)"""
    return over(g, real(g, x, 1.0), _sqrt(g, x))


def power(g: Builder, node: Node, x: Parts, y: Parts) -> Parts:
    """e^(y log x); 0 to a power is 0, and 1 to that of 0."""
    none, one = g.like(0.0, x.re), g.like(1.0, x.re)
    raised = times(g, y, _log(g, x))
    made = exp(g, node, raised)
    is_zero = g.Equal(size(g, x), none)
    is_one = g.Equal(size(g, y), none)
    re = g.Select(is_zero, none, made.re)
    both = g.LogicalOr(is_zero, is_one)
    return Parts(g.Select(is_one, one, re), g.Select(both, none, imaginary(g, made)))


def sin(g: Builder, node: Node, x: Parts) -> Parts:
    """sin a cosh b + i cos a sinh b"""
    b = imaginary(g, x)
    return Parts(g.Mul(g.Sin(x.re), g.Cosh(b)), g.Mul(g.Cos(x.re), g.Sinh(b)))


def cos(g: Builder, node: Node, x: Parts) -> Parts:
    """cos a cosh b - i sin a sinh b"""
    b = imaginary(g, x)
    return Parts(g.Mul(g.Cos(x.re), g.Cosh(b)), g.Neg(g.Mul(g.Sin(x.re), g.Sinh(b))))


def sinh(g: Builder, node: Node, x: Parts) -> Parts:
    """sinh a cos b + i cosh a sin b"""
    b = imaginary(g, x)
    return Parts(g.Mul(g.Sinh(x.re), g.Cos(b)), g.Mul(g.Cosh(x.re), g.Sin(b)))


def cosh(g: Builder, node: Node, x: Parts) -> Parts:
    """cosh a cos b + i sinh a sin b"""
    b = imaginary(g, x)
    return Parts(g.Mul(g.Cosh(x.re), g.Cos(b)), g.Mul(g.Sinh(x.re), g.Sin(b)))


def _tanh(g: Builder, x: Parts) -> Parts:
    """(t (1 + u^2) + i u (1 - t^2)) / (1 + t^2 u^2) with t = tanh a, u = tan b"""
    t, u, one = g.Tanh(x.re), g.Tan(imaginary(g, x)), g.like(1.0, x.re)
    below = g.Add(one, g.Square(g.Mul(t, u)))
    re = g.Div(g.Mul(t, g.Add(one, g.Square(u))), below)
    return Parts(re, g.Div(g.Mul(u, g.Mul(g.Sub(one, t), g.Add(one, t))), below))


def tanh(g: Builder, node: Node, x: Parts) -> Parts:
    """The hyperbolic tangent."""
    return _tanh(g, x)


def tan(g: Builder, node: Node, x: Parts) -> Parts:
    """-i tanh(i x)"""
    return turned_back(g, _tanh(g, turned(g, x)))


def sigmoid(g: Builder, node: Node, x: Parts) -> Parts:
    """1 / (1 + e^-x)"""
    grown = exp(g, node, negated(g, x))
    one = real(g, x, 1.0)
    return over(g, one, plus(g, one, grown))


# ---- inverse functions, all by the logarithm


def _root(g: Builder, x: Parts, by: float) -> Parts:
    """sqrt(x + by)"""
    return _sqrt(g, plus(g, x, real(g, x, by)))


def _asinh(g: Builder, x: Parts) -> Parts:
    """log(x + sqrt(1 + i x) sqrt(1 - i x)), with -x where that is on the left, of which the sum would cancel."""
    left = g.Less(x.re, g.like(0.0, x.re))
    sign = g.Select(left, g.like(-1.0, x.re), g.like(1.0, x.re))
    right = times(g, x, Parts(sign))
    up = turned(g, right)
    root = times(g, _root(g, up, 1.0), _root(g, negated(g, up), 1.0))
    return times(g, _log(g, plus(g, right, root)), Parts(sign))


def asinh(g: Builder, node: Node, x: Parts) -> Parts:
    """The inverse of sinh."""
    return _asinh(g, x)


def _asin(g: Builder, x: Parts) -> Parts:
    """-i asinh(i x)"""
    return turned_back(g, _asinh(g, turned(g, x)))


def asin(g: Builder, node: Node, x: Parts) -> Parts:
    """The inverse of the sine."""
    return _asin(g, x)


def acos(g: Builder, node: Node, x: Parts) -> Parts:
    """pi / 2 - asin x"""
    return minus(g, real(g, x, math.pi / 2), _asin(g, x))


def acosh(g: Builder, node: Node, x: Parts) -> Parts:
    """log(x + sqrt(x + 1) sqrt(x - 1))"""
    return _log(g, plus(g, x, times(g, _root(g, x, 1.0), _root(g, x, -1.0))))


def _atanh(g: Builder, x: Parts) -> Parts:
    """(log(1 + x) - log(1 - x)) / 2"""
    return scaled(g, minus(g, _log1p(g, x), _log1p(g, negated(g, x))), 0.5)


def atanh(g: Builder, node: Node, x: Parts) -> Parts:
    """The inverse of tanh."""
    return _atanh(g, x)


def atan(g: Builder, node: Node, x: Parts) -> Parts:
    """-i atanh(i x)"""
    return turned_back(g, _atanh(g, turned(g, x)))
