"""Logarithms and powers to other bases, and what is composed of transcendental functions."""

from __future__ import annotations

import math

from graphc.ops.functional.arithmetic import div
from graphc.ops.functional.core import Operand, as_float, pair, real_only
from graphc.ops.functional.elementwise import (
    abs_,
    add,
    equal,
    exp,
    expm1,
    greater_equal,
    isfinite,
    less_equal,
    log,
    log1p,
    logical_and,
    logical_not,
    logical_or,
    maximum,
    minimum,
    mul,
    pow_,
    sin,
    sqrt,
    square,
    sub,
)
from graphc.ops.functional.logic import select
from graphc.ops.functional.state import stop_gradient
from graphc.ops.tensor.methods import method
from graphc.ops.tensor.tensor import Tensor


@method()
def exp2(input: Operand) -> Tensor:
    """2 to the power x."""
    return pow_(2.0, as_float(input))


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
def logit(input: Tensor, eps: Operand | None = None) -> Tensor:
    """log(x / (1 - x)), x first held within [eps, 1 - eps] if eps is given."""
    real_only("logit", input)
    x = input if eps is None else minimum(maximum(input, eps), 1 - eps)
    return log(div(x, sub(1.0, x)))


@method()
def hypot(input: Tensor, other: Tensor) -> Tensor:
    """sqrt(x^2 + y^2), of which no square overflows."""
    real_only("hypot", input, other)
    x, y = pair("hypot", input, other)
    a, b = as_float(x), as_float(y)
    # Counts as a constant, so that derivatives of every order are those of the root.
    large = stop_gradient(maximum(abs_(a), abs_(b)))
    nothing = equal(large, 0.0)
    scale = select(logical_and(isfinite(large), logical_not(nothing)), large, 1.0)
    total = add(square(div(a, scale)), square(div(b, scale)))
    return mul(scale, select(nothing, 0.0, sqrt(select(nothing, 1.0, total))))


@method()
def logaddexp(input: Tensor, other: Tensor) -> Tensor:
    """log(e^x + e^y), without overflow."""
    x, y = map(as_float, pair("logaddexp", input, other))
    # The larger one counts as a constant, so that derivatives of every order are right on ties; infinities have no difference.
    top = maximum(x, y)
    fixed = stop_gradient(top)
    finite, first = isfinite(fixed), greater_equal(x, y)
    large = select(finite, sub(select(first, x, y), fixed), 0.0)
    small = select(finite, sub(select(first, y, x), fixed), 0.0)
    return add(select(finite, fixed, top), log1p(add(expm1(large), exp(small))))


@method()
def logaddexp2(input: Tensor, other: Tensor) -> Tensor:
    """log2(2^x + 2^y), without overflow."""
    x, y = pair("logaddexp2", input, other)
    scale = math.log(2)
    return mul(logaddexp(mul(x, scale), mul(y, scale)), 1 / scale)


@method()
def xlogy(input: Operand, other: Operand) -> Tensor:
    """x log(y), 0 where x is 0 and y is not NaN."""
    x, y = pair("xlogy", input, other)
    # At x = 0 the gradient is log(y) where there is one.
    none = logical_and(equal(x, 0.0), logical_or(less_equal(y, 0.0), equal(y, math.inf)))
    return mul(x, log(select(none, 1.0, y)))


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
