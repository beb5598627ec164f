"""Special functions: the inverse error function, the gamma function's logarithm and its derivative."""

from __future__ import annotations

import math

import numpy as np

from graphc.ops.functional.arithmetic import div
from graphc.ops.functional.core import as_float
from graphc.ops.functional.elementwise import (
    abs_,
    add,
    equal,
    erf,
    exp,
    less,
    log,
    maximum,
    mul,
    neg,
    sin,
    sqrt,
    square,
    sub,
    tan,
)
from graphc.ops.functional.logic import select
from graphc.ops.functional.shapes import broadcast_to
from graphc.ops.functional.state import stop_gradient
from graphc.ops.tensor.methods import method
from graphc.ops.tensor.tensor import Tensor


@method()
def erfinv(input: Tensor) -> Tensor:
    """Inverse of the error function (M. Giles, "Approximating the erfinv function", single precision), with one step of
    Newton's method that gives the gradient too.
    """
    x = as_float(input)
    fixed = stop_gradient(x)
    w = neg(log(mul(sub(1.0, fixed), add(1.0, fixed))))
    near, far = sub(w, 2.5), sub(sqrt(maximum(w, 5.0)), 3.0)
    small = _horner(near, _ERFINV_NEAR)
    y = mul(select(less(w, 5.0), small, _horner(far, _ERFINV_FAR)), fixed)
    step = mul(sub(erf(y), x), mul(exp(square(y)), math.sqrt(math.pi) / 2))
    return select(less(abs_(fixed), 0.99), sub(y, step), select(equal(abs_(fixed), 1.0), mul(fixed, math.inf), y))


_ERFINV_NEAR = (
    2.81022636e-08, 3.43273939e-07, -3.5233877e-06, -4.39150654e-06, 0.00021858087, -0.00125372503, -0.00417768164,
    0.246640727, 1.50140941,
)  # fmt: skip

_ERFINV_FAR = (
    -0.000200214257, 0.000100950558, 0.00134934322, -0.00367342844, 0.00573950773, -0.0076224613, 0.00943887047,
    1.00167406, 2.83297682,
)  # fmt: skip


def _horner(x: Tensor, coefficients: tuple[float, ...]) -> Tensor:
    value = add(mul(x, coefficients[0]), coefficients[1])
    for c in coefficients[2:]:
        value = add(mul(value, x), c)
    return value


# ---- gamma functions

_SHIFT = 6


def lgamma(input: Tensor) -> Tensor:
    """log |gamma(x)|, by Stirling's series at x + 6; by reflection below 1/2."""
    low = less(input, 0.5)
    x = select(low, sub(1.0, input), input)
    product, z = x, add(x, float(_SHIFT))
    for k in range(1, _SHIFT):
        product = mul(product, add(x, float(k)))
    inverse = div(1.0, z)
    square_inverse = square(inverse)
    tail = mul(inverse, add(1 / 12, mul(square_inverse, sub(mul(square_inverse, 1 / 1260), 1 / 360))))
    value = add(sub(mul(sub(z, 0.5), log(z)), z), add(0.5 * math.log(2 * math.pi), tail))
    value = sub(value, log(product))
    safe = select(low, input, broadcast_to(Tensor(np.array(0.25, input.type.numpy)), input.shape))
    reflected = sub(math.log(math.pi), add(log(abs_(sin(mul(safe, math.pi)))), value))
    return select(low, reflected, value)


def digamma(input: Tensor) -> Tensor:
    """The derivative of log gamma(x), by its asymptotic series at x + 6; by reflection below 1/2."""
    low = less(input, 0.5)
    x = select(low, sub(1.0, input), input)
    z = add(x, float(_SHIFT))
    inverse = div(1.0, z)
    square_inverse = square(inverse)
    tail = mul(square_inverse, sub(1 / 12, mul(square_inverse, sub(1 / 120, mul(square_inverse, 1 / 252)))))
    value = sub(sub(log(z), mul(inverse, 0.5)), tail)
    for k in range(_SHIFT):
        value = sub(value, div(1.0, add(x, float(k))))
    safe = select(low, input, broadcast_to(Tensor(np.array(0.25, input.type.numpy)), input.shape))
    return select(low, sub(value, div(math.pi, tan(mul(safe, math.pi)))), value)


__all__ = [
    "digamma",
    "erfinv",
    "lgamma",
]
