"""Special functions that SciPy computes, outside of compiled Cells: Bessel's, incomplete gamma and beta, polygamma, zeta."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from graphc.errors import ArgumentTypeError, ArgumentValueError, user_loc
from graphc.ops.functional.core import Count, Operand, as_float, call, pair
from graphc.ops.functional.dynamic import known_values
from graphc.ops.functional.elementwise import add
from graphc.ops.functional.one_op import unary
from graphc.ops.functional.operand_checks import require_alike
from graphc.ops.functional.special import lgamma
from graphc.ops.tensor.methods import method
from graphc.ops.tensor.tensor import Tensor, as_tensor
from graphc.validation.checks import exact_int

bessel_i0, BesselI0 = unary("BesselI0", methods="", parameter="x")
bessel_i0e, BesselI0e = unary("BesselI0e", methods="", parameter="x")
bessel_i1, BesselI1 = unary("BesselI1", methods="", parameter="x")
bessel_i1e, BesselI1e = unary("BesselI1e", methods="", parameter="x")
bessel_j0, BesselJ0 = unary("BesselJ0", methods="", parameter="x")
bessel_j1, BesselJ1 = unary("BesselJ1", methods="", parameter="x")
bessel_k0, BesselK0 = unary("BesselK0", methods="", parameter="x")
bessel_k0e, BesselK0e = unary("BesselK0e", methods="", parameter="x")
bessel_k1, BesselK1 = unary("BesselK1", methods="", parameter="x")
bessel_k1e, BesselK1e = unary("BesselK1e", methods="", parameter="x")
bessel_y0, BesselY0 = unary("BesselY0", methods="", parameter="x")
bessel_y1, BesselY1 = unary("BesselY1", methods="", parameter="x")


@method()
def i0(input: Tensor) -> Tensor:
    """Bessel's function, modified, of the first kind, of order 0."""
    return bessel_i0(input)


def _floats(owner: str, *operands: Operand) -> list[Tensor]:
    """All of one float dtype."""
    made = [as_tensor(x, f"{owner}: operand") for x in operands]
    for i in range(len(made)):
        for j in range(i):
            made[i], made[j] = pair(owner, made[i], made[j])
    return [as_float(x) for x in made]


@method()
def igamma(input: Operand, other: Operand) -> Tensor:
    """The regularized lower incomplete gamma function P(input, other): input > 0, other >= 0, else NaN."""
    return call("Igamma", *_floats("igamma", input, other))


@method()
def igammac(input: Operand, other: Operand) -> Tensor:
    """The regularized upper incomplete gamma function Q = 1 - P(input, other): input > 0, other >= 0, else NaN."""
    return call("Igammac", *_floats("igammac", input, other))


def polygamma(n: Count, input: Tensor) -> Tensor:
    """The n-th derivative of digamma, n >= 0: an int, or a tensor of one element whose value is known."""
    order = known_values("polygamma", n) if isinstance(n, Tensor) else n
    if np.size(order) != 1 or isinstance(order, bool) or np.asarray(order).dtype.kind not in "iu":
        raise ArgumentTypeError(f"polygamma: n must be one int, got {n!r}", loc=user_loc())
    if int(order) < 0:
        raise ArgumentValueError(f"polygamma: n must be at least 0, got {int(order)}", loc=user_loc())
    return call("Polygamma", as_float(input), n=int(order))


def zeta(input: Operand, other: Operand) -> Tensor:
    """Hurwitz's zeta function, the sum of (k + other)^-input. It has no gradient for `input`: GradientError."""
    x, q = _floats("zeta", input, other)
    return call("Zeta", call("Undifferentiated", x), q)


def betainc(a: Tensor, b: Tensor, x: Tensor) -> Tensor:
    """The regularized incomplete beta function I_x(a, b). It has no gradient for a and b: GradientError."""
    require_alike("betainc", a=a, b=b, x=x)
    first, second, third = _floats("Betainc", a, b, x)
    return call("Betainc", call("Undifferentiated", first), call("Undifferentiated", second), third)


@method()
def mvlgamma(input: Tensor, p: int) -> Tensor:
    """The logarithm of the multivariate gamma function of p dimensions; input greater than (p - 1) / 2."""
    exact_int("mvlgamma", "p", p)
    if p < 1:
        raise ArgumentValueError(f"mvlgamma: p must be at least 1, got {p}", loc=user_loc())
    x = as_float(input)
    made = lgamma(x)
    for i in range(1, p):
        made = add(made, lgamma(add(x, -i / 2)))
    return add(made, p * (p - 1) / 4 * math.log(math.pi))


@method()
def nextafter(input: Operand, other: Operand) -> Tensor:
    """The next number of the dtype from input towards other. Not in a compiled Cell; its gradient is that of input."""
    made: Any = _floats("nextafter", input, other)
    return call("NextAfter", *made)


__all__ = [
    "BesselI0", "BesselI0e", "BesselI1", "BesselI1e", "BesselJ0", "BesselJ1", "BesselK0", "BesselK0e", "BesselK1",
    "BesselK1e", "BesselY0", "BesselY1", "bessel_i0", "bessel_i0e", "bessel_i1", "bessel_i1e", "bessel_j0", "bessel_j1",
    "bessel_k0", "bessel_k0e", "bessel_k1", "bessel_k1e", "bessel_y0", "bessel_y1", "i0", "igamma", "igammac", "mvlgamma",
    "nextafter", "polygamma", "zeta",
]  # fmt: skip
