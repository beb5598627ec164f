"""Sums, products and quotients of complex numbers, what they are made of, and comparisons."""

from __future__ import annotations

from typing import Any

from graphc.ir import Builder, Node, Value
from graphc.passes.complex_parts.parts import Parts, broadcast, imaginary

# ---- on values, for rules


def plus(g: Builder, x: Parts, y: Parts) -> Parts:
    """x + y"""
    re = g.Add(x.re, y.re)
    if x.im is None or y.im is None:
        found = x.im or y.im
        return Parts(re, None if found is None else broadcast(g, found, g.type(re).shape))
    return Parts(re, g.Add(x.im, y.im))


def minus(g: Builder, x: Parts, y: Parts) -> Parts:
    """x - y"""
    re = g.Sub(x.re, y.re)
    if x.im is not None and y.im is not None:
        return Parts(re, g.Sub(x.im, y.im))
    found = x.im if y.im is None else g.Neg(y.im)
    return Parts(re, None if found is None else broadcast(g, found, g.type(re).shape))


def negated(g: Builder, x: Parts) -> Parts:
    """-x, of which zeros have their sign."""
    return Parts(g.Neg(x.re), g.Neg(imaginary(g, x)))


def times(g: Builder, x: Parts, y: Parts, product: Any = None) -> Parts:
    """x y; `product` is that of real values, by element unless it is given."""
    mul = product or g.Mul
    if x.im is None or y.im is None:
        re = mul(x.re, y.re)
        if x.im is None and y.im is None:
            return Parts(re)
        return Parts(re, mul(x.re, y.im) if x.im is None else mul(x.im, y.re))
    return Parts(g.Sub(mul(x.re, y.re), mul(x.im, y.im)), g.Add(mul(x.re, y.im), mul(x.im, y.re)))


def scaled(g: Builder, x: Parts, factor: float) -> Parts:
    """x times a real number."""
    return times(g, x, Parts(g.like(factor, x.re)))


def over(g: Builder, x: Parts, y: Parts) -> Parts:
    """x / y, by the larger part of y first, so that squares do not overflow (Smith, "Algorithm 116", 1962)."""
    if y.im is None:
        re = g.Div(x.re, y.re)
        return Parts(re, None if x.im is None else broadcast(g, g.Div(x.im, y.re), g.type(re).shape))
    first = g.GreaterEqual(g.Abs(y.re), g.Abs(y.im))
    large, small = g.Select(first, y.re, y.im), g.Select(first, y.im, y.re)
    none = imaginary(g, x)
    p, q = g.Select(first, x.re, none), g.Select(first, none, x.re)
    share = g.Div(small, large)
    below = g.Add(large, g.Mul(small, share))
    re = g.Div(g.Add(p, g.Mul(q, share)), below)
    im = g.Div(g.Sub(q, g.Mul(p, share)), below)
    return Parts(re, g.Select(first, im, g.Neg(im)))


def size(g: Builder, x: Parts) -> Value:
    """|x|, without squares that overflow."""
    if x.im is None:
        found: Value = g.Abs(x.re)
        return found
    a, b = g.Abs(x.re), g.Abs(x.im)
    large, small = g.Maximum(a, b), g.Minimum(a, b)
    one = g.like(1.0, a)
    # Equal ones may both be zero, or infinite.
    share = g.Select(g.Equal(small, large), one, g.Div(small, large))
    found = g.Mul(large, g.Sqrt(g.Add(one, g.Mul(share, share))))
    return found


def real(g: Builder, like: Parts, value: float) -> Parts:
    """A real number."""
    return Parts(g.like(value, like.re))


def turned(g: Builder, x: Parts) -> Parts:
    """i x"""
    return Parts(g.Neg(imaginary(g, x)), x.re)


def turned_back(g: Builder, x: Parts) -> Parts:
    """-i x"""
    return Parts(imaginary(g, x), g.Neg(x.re))


# ---- rules


def add(g: Builder, node: Node, x: Parts, y: Parts) -> Parts:
    """x + y"""
    return plus(g, x, y)


def sub(g: Builder, node: Node, x: Parts, y: Parts) -> Parts:
    """x - y"""
    return minus(g, x, y)


def mul(g: Builder, node: Node, x: Parts, y: Parts) -> Parts:
    """x y"""
    return times(g, x, y)


def div(g: Builder, node: Node, x: Parts, y: Parts) -> Parts:
    """x / y"""
    return over(g, x, y)


def product(g: Builder, node: Node, x: Parts, y: Parts) -> Parts:
    """Matrix products."""

    def real_product(a: Value, b: Value) -> Value:
        return g.node(node.op.name, a, b, attrs=node.attrs).outputs[0]

    return times(g, x, y, real_product)


def square(g: Builder, node: Node, x: Parts) -> Parts:
    """(a + b i)^2 = (a + b) (a - b) + 2 a b i"""
    if x.im is None:
        return Parts(g.Square(x.re))
    both = g.Mul(x.re, x.im)
    return Parts(g.Mul(g.Add(x.re, x.im), g.Sub(x.re, x.im)), g.Add(both, both))


def reciprocal(g: Builder, node: Node, x: Parts) -> Parts:
    """1 / x"""
    return over(g, real(g, x, 1.0), x)


def absolute(g: Builder, node: Node, x: Parts) -> Parts:
    """|x|"""
    return Parts(size(g, x))


def equal(g: Builder, node: Node, x: Parts, y: Parts) -> Parts:
    """x == y"""
    return Parts(g.LogicalAnd(g.Equal(x.re, y.re), g.Equal(imaginary(g, x), imaginary(g, y))))


def not_equal(g: Builder, node: Node, x: Parts, y: Parts) -> Parts:
    """x != y"""
    return Parts(g.LogicalOr(g.NotEqual(x.re, y.re), g.NotEqual(imaginary(g, x), imaginary(g, y))))


# ---- parts, and what is made of them


def real_part(g: Builder, node: Node, x: Parts) -> Parts:
    """Re x"""
    return Parts(x.re)


def imaginary_part(g: Builder, node: Node, x: Parts) -> Parts:
    """Im x"""
    return Parts(imaginary(g, x))


def whole(g: Builder, node: Node, re: Parts, im: Parts) -> Parts:
    """re + i im"""
    return Parts(*(broadcast(g, x.re, node.type.shape) for x in (re, im)))


def conjugate(g: Builder, node: Node, x: Parts) -> Parts:
    """The conjugate."""
    return Parts(x.re, None if x.im is None else g.Neg(x.im))


def cast(g: Builder, node: Node, x: Parts) -> Parts:
    """To another dtype: only a complex one has imaginary parts, only a bool depends on them."""
    type = node.type
    if type.dtype == "bool":
        there = g.Cast(x.re, dtype="bool")
        return Parts(there if x.im is None else g.LogicalOr(there, g.Cast(x.im, dtype="bool")))
    if not type.is_complex or x.im is None:
        return Parts(g.Cast(x.re, dtype=type.part))
    return Parts(g.Cast(x.re, dtype=type.part), g.Cast(x.im, dtype=type.part))


def constant(g: Builder, node: Node) -> Parts:
    """Two constants, one where all is real."""
    array = node.attrs["value"].array
    re = g.matrix(array.real.copy())
    return Parts(re, g.matrix(array.imag.copy()) if array.imag.any() else None)


def fill(g: Builder, node: Node) -> Parts:
    """One number everywhere."""
    value, type = complex(node.attrs["value"]), node.type
    re = g.Fill(dtype=type.part, shape=type.shape, value=value.real)
    return Parts(re, g.Fill(dtype=type.part, shape=type.shape, value=value.imag) if value.imag else None)
