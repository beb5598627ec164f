"""Logarithms and powers to other bases, and what is composed of transcendental functions."""

from __future__ import annotations

import math

from graphc.ops.functional.arithmetic import div
from graphc.ops.functional.core import Operand, as_float, pair
from graphc.ops.functional.elementwise import (
    abs_,
    add,
    equal,
    exp,
    isnan,
    log,
    log1p,
    logical_and,
    logical_not,
    maximum,
    minimum,
    mul,
    neg,
    sin,
    sqrt,
    square,
    sub,
)
from graphc.ops.functional.logic import select
from graphc.ops.tensor.methods import method
from graphc.ops.tensor.tensor import Tensor


@method()
def exp2(input: Operand) -> Tensor:
    """2 to the power x."""
    return exp(mul(as_float(input), math.log(2)))


@method()
def log2(input: Operand) -> Tensor:
    """Logarithm to base 2."""
    return mul(log(as_float(input)), 1 / math.log(2))


@method()
def log10(input: Operand) -> Tensor:
    """Logarithm to base 10."""
    return mul(log(as_float(input)), 1 / math.log(10))


@method()
def sinc(input: Operand) -> Tensor:
    """sin(pi x) / (pi x), 1 at zero."""
    x = mul(as_float(input), math.pi)
    zero = equal(x, 0.0)
    return select(zero, 1.0, div(sin(x), select(zero, 1.0, x)))


@method()
def logit(input: Tensor, eps: float | None = None) -> Tensor:
    """log(x / (1 - x)), x first held within [eps, 1 - eps] if eps is given."""
    x = input if eps is None else minimum(maximum(input, eps), 1 - eps)
    return log(div(x, sub(1.0, x)))


@method()
def hypot(input: Tensor, other: Tensor) -> Tensor:
    """sqrt(x^2 + y^2)."""
    return sqrt(add(square(input), square(other)))


@method()
def logaddexp(input: Tensor, other: Tensor) -> Tensor:
    """log(e^x + e^y), without overflow."""
    most = maximum(input, other)
    return add(most, log1p(exp(neg(abs_(sub(input, other))))))


@method()
def logaddexp2(input: Tensor, other: Tensor) -> Tensor:
    """log2(2^x + 2^y), without overflow."""
    scale = math.log(2)
    return mul(logaddexp(mul(input, scale), mul(other, scale)), 1 / scale)


@method()
def xlogy(input: Operand, other: Operand) -> Tensor:
    """x log(y), 0 where x is 0 and y is not NaN."""
    x, y = pair("xlogy", input, other)
    zero = logical_and(equal(x, 0.0), logical_not(isnan(y)))
    return select(zero, 0.0, mul(x, log(select(zero, 1.0, y))))


@method()
def xdivy(x: Operand, y: Operand) -> Tensor:
    """x / y, 0 where x is 0."""
    a, b = pair("xdivy", x, y)
    zero = equal(a, 0.0)
    return select(zero, 0.0, div(a, select(zero, 1.0, b)))


@method()
def ldexp(x: Tensor, other: Tensor) -> Tensor:
    """x 2^other."""
    return mul(as_float(x), exp2(other))


__all__ = [
    "exp2",
    "hypot",
    "ldexp",
    "log2",
    "log10",
    "logaddexp",
    "logaddexp2",
    "logit",
    "sinc",
    "xdivy",
    "xlogy",
]
