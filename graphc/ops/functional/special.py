"""Special functions: the inverse error function, the gamma function's logarithm and its derivative."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence

from graphc.ir.types import HALVES
from graphc.ops.functional.arithmetic import div, round_
from graphc.ops.functional.core import Operand, as_float, call, cast_to
from graphc.ops.functional.elementwise import (
    abs_,
    add,
    equal,
    greater_equal,
    less,
    log,
    logical_and,
    mul,
    not_equal,
    sin,
    square,
    sub,
    tan,
)
from graphc.ops.functional.logic import select
from graphc.ops.tensor.methods import method
from graphc.ops.tensor.tensor import Tensor, as_tensor


@method()
def erfinv(input: Tensor) -> Tensor:
    """Inverse of the error function; infinite at -1 and 1, NaN beyond."""
    return call("Erfinv", as_float(input))


# ---- gamma functions

#: By dtype: from where on the asymptotic series are good, which is also how far smaller numbers are moved, and how many
#: terms they have.
_SERIES = {"float64": (10, 8)}
_SERIES_OF_OTHERS = (6, 3)

#: B(2k) / (2k), with the numbers of Bernoulli.
_BERNOULLI = (1 / 12, -1 / 120, 1 / 252, -1 / 240, 1 / 132, -691 / 32760, 1 / 12, -3617 / 8160)


def _moved(input: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor, int, int]:
    """(whether x is below 1/2, x or 1 - x there, whether the series takes it as it is, x or 1 where it is), shift, terms."""
    input = as_float(input)
    shift, terms = _SERIES.get(input.tensor_type.dtype, _SERIES_OF_OTHERS)
    low = less(input, 0.5)
    x = select(low, sub(1.0, input), input)
    far = greater_equal(x, float(shift))
    return low, x, far, select(far, 1.0, x), shift, terms


def _from_integer(low: Tensor, x: Tensor) -> Tensor:
    """pi (x - the nearest integer) where x is reflected, else pi / 4: sin and tan of pi x without its rounding."""
    return mul(select(low, sub(x, round_(x)), 0.25), math.pi)


def _wide(function: Callable[[Tensor], Tensor]) -> Callable[[Tensor], Tensor]:
    """The function, computed in float32 for halves, in which its intermediate results overflow."""

    @functools.wraps(function)
    def computed(input: Tensor) -> Tensor:
        if input.tensor_type.dtype not in HALVES:
            return function(input)
        return cast_to(function(cast_to(input, "float32")), input.tensor_type.dtype)

    return computed


@method()
@_wide
def lgamma(input: Tensor) -> Tensor:
    """log |gamma(x)|, by Stirling's series at x moved up; by reflection below 1/2. Infinite at 0, -1, -2, ..."""
    low, x, far, near, shift, terms = _moved(input)
    product = near
    for k in range(1, shift):
        product = mul(product, add(near, float(k)))
    z = select(far, x, add(near, float(shift)))
    inverse = div(1.0, z)
    tail = mul(inverse, _horner(square(inverse), [b / (2 * k - 1) for k, b in enumerate(_BERNOULLI[:terms], 1)]))
    # (z - 1/2) log z - z, in which infinity is not subtracted from itself.
    value = add(mul(sub(z, 0.5), sub(log(z), 1.0)), add(tail, 0.5 * math.log(2 * math.pi) - 0.5))
    value = sub(value, select(far, 0.0, log(product)))
    reflected = sub(math.log(math.pi), add(log(abs_(sin(_from_integer(low, input)))), value))
    made = select(low, reflected, value)
    return select(equal(input, -math.inf), math.inf, made)


@method()
@_wide
def digamma(input: Tensor) -> Tensor:
    """The derivative of log gamma(x), by its asymptotic series at x moved up; by reflection below 1/2.

    Minus infinity at 0, NaN at -1, -2, ... and minus infinity.
    """
    low, x, far, near, shift, terms = _moved(input)
    z = select(far, x, add(near, float(shift)))
    inverse = div(1.0, z)
    tail = mul(square(inverse), _horner(square(inverse), list(_BERNOULLI[:terms])))
    value = sub(sub(log(z), mul(inverse, 0.5)), tail)
    before = div(1.0, near)
    for k in range(1, shift):
        before = add(before, div(1.0, add(near, float(k))))
    value = sub(value, select(far, 0.0, before))
    turned = tan(_from_integer(low, input))
    made = select(low, sub(value, div(math.pi, turned)), value)
    return select(logical_and(equal(turned, 0.0), not_equal(input, 0.0)), math.nan, made)


def _horner(x: Tensor, coefficients: Sequence[float]) -> Tensor:
    """The polynomial with these coefficients, the constant one first."""
    value: Operand = coefficients[-1]
    for c in coefficients[-2::-1]:
        value = add(mul(value, x), c)
    return as_tensor(value)


__all__ = [
    "digamma",
    "erfinv",
    "lgamma",
]
