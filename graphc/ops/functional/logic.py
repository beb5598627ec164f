"""Truth values and choices: logical functions, tests, selection."""

from __future__ import annotations

import math

from graphc.ops.functional.core import Operand, as_bool, call, cast_to, number, pair, real_only
from graphc.ops.functional.elementwise import (
    abs_,
    add,
    equal,
    isfinite,
    isnan,
    less,
    less_equal,
    logical_and,
    logical_or,
    maximum,
    minimum,
    mul,
    reciprocal,
    sub,
)
from graphc.ops.tensor.methods import method
from graphc.ops.tensor.tensor import Tensor, as_tensor


def select(condition: Operand, input: Operand, other: Operand) -> Tensor:
    """input where the condition holds, else other, elementwise with broadcasting."""
    x, y = input, other
    if isinstance(x, Tensor) and isinstance(y, Tensor) and x.tensor_type.dtype == y.tensor_type.dtype:
        return call("Select", as_bool(condition), x, y)
    return call("Select", as_bool(condition), *pair("Select", x, y))


def where(condition: Operand, input: Operand, other: Operand) -> Tensor:
    """As `select`."""
    return select(condition, input, other)


@method()
def masked_fill(input_x: Tensor, mask: Tensor, value: Operand) -> Tensor:
    """value where the mask holds, else input_x."""
    filled = value if isinstance(value, Tensor) else number(value, input_x.tensor_type.dtype)
    return call("Select", as_bool(mask), cast_to(filled, input_x.tensor_type.dtype), input_x)


def _distance(x: Tensor, y: Tensor) -> Tensor:
    """|x - y|, also where unsigned integers would wrap around and bools have no difference."""
    if x.tensor_type.is_float or y.tensor_type.is_float:
        return abs_(sub(x, y))
    return sub(cast_to(maximum(x, y), "int64"), cast_to(minimum(x, y), "int64"))


@method()
def isclose(
    input: Tensor, other: Tensor, rtol: Operand = 1e-5, atol: Operand = 1e-8, equal_nan: bool = False
) -> Tensor:
    """|x - y| <= atol + rtol |y|, or both the same infinity, or both NaN if `equal_nan`."""
    real_only("isclose", input, other)
    near = less_equal(_distance(input, other), add(mul(abs_(other), rtol), atol))
    if input.tensor_type.is_float:
        near = logical_and(near, logical_and(isfinite(input), isfinite(other)))
    # Equal ones are infinite, too, or the least integer, whose size is no number of its dtype.
    near = logical_or(equal(input, other), near)
    if equal_nan and input.tensor_type.is_float:
        near = logical_or(near, logical_and(isnan(input), isnan(other)))
    return near


@method()
def isneginf(input: Tensor) -> Tensor:
    """Whether x is minus infinity."""
    return equal(input, -math.inf)


@method()
def isposinf(input: Tensor) -> Tensor:
    """Whether x is plus infinity."""
    return equal(input, math.inf)


@method()
def signbit(input: Tensor) -> Tensor:
    """Whether x is negative; minus zero too."""
    x = as_tensor(input)
    if not x.tensor_type.is_float:
        return less(x, 0)
    return logical_or(less(x, 0.0), logical_and(equal(x, 0.0), less(reciprocal(x), 0.0)))


def approximate_equal(x: Tensor, y: Tensor, tolerance: Operand = 1e-5) -> Tensor:
    """|x - y| < tolerance."""
    return less(_distance(x, y), tolerance)


def bool_(x: Operand) -> Tensor:
    """x in dtype bool."""
    return as_bool(x)


__all__ = [
    "approximate_equal",
    "isclose",
    "isneginf",
    "isposinf",
    "masked_fill",
    "select",
    "signbit",
    "where",
]
