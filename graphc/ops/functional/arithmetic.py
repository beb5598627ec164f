"""Sums, products, quotients and roundings, and what is composed of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from graphc.errors import ArgumentTypeError, user_loc
from graphc.ir.types import COMPLEX, FLOATS, INTEGERS
from graphc.ops.functional.core import Operand, as_float, call, cast, cast_to, greatest, is_number, pair
from graphc.ops.functional.create import fill, ones_like, zeros_like
from graphc.ops.functional.elementwise import (
    abs_,
    add,
    equal,
    floor_mod,
    greater,
    greater_equal,
    isfinite,
    isnan,
    less,
    less_equal,
    logical_and,
    logical_not,
    logical_or,
    maximum,
    minimum,
    mul,
    neg,
    not_equal,
    pow_,
    reciprocal,
    square,
    sub,
)
from graphc.ops.functional.logic import select, signbit
from graphc.ops.functional.one_op import unary
from graphc.ops.functional.operand_checks import require_alike
from graphc.ops.tensor.methods import method
from graphc.ops.tensor.tensor import Tensor, as_tensor
from graphc.validation.unused_arguments import refusal

_round_to_even, _ = unary("Round", methods="")


def round_(input: Operand, *, decimals: int = 0) -> Tensor:
    """The nearest multiple of 10**-decimals, halves to the even one."""
    if decimals == 0 and isinstance(input, Tensor) and input.tensor_type.dtype in INTEGERS:
        return input.value()
    if decimals == 0:
        return _round_to_even(input)
    # A power of ten below 1 is no number of base 2: what is multiplied by it, and divided again, is no multiple of ten.
    to, back = (mul, div) if decimals > 0 else (div, mul)
    power = 10.0 ** abs(decimals)
    return back(_round_to_even(to(input, power)), power)


@method("floor_divide")
def floor_div(input: Operand, other: Operand) -> Tensor:
    """x / y rounded down; x / 0 is 0 for integers. A bool tensor and a Python bool give bool, as in MindSpore."""
    a, b = pair("FloorDiv", input, other)
    if a.tensor_type.dtype == "bool":
        return cast_to(call("FloorDiv", cast_to(a, "int32"), cast_to(b, "int32")), "bool")
    return call("FloorDiv", a, b)


@method("div", "divide")
def div(input: Operand, other: Operand, *, rounding_mode: str | None = None) -> Tensor:
    """input / other; two integer tensors give float32.

    rounding_mode: None; "floor", rounded down as by `floor_div`; "trunc", towards zero as by `truncate_div`.
    """
    if rounding_mode is not None:
        if rounding_mode not in ("floor", "trunc"):
            raise refusal("div", "rounding_mode", rounding_mode, None, "floor", "trunc")
        return (floor_div if rounding_mode == "floor" else truncate_div)(input, other)
    a, b = as_tensor(input), as_tensor(other)
    if {a.tensor_type.dtype, b.tensor_type.dtype}.isdisjoint((*FLOATS, *COMPLEX)):
        return call("Div", cast_to(a, "float32"), cast_to(b, "float32"))
    return call("Div", *pair("Div", input, other))


@method()
def true_divide(dividend: Operand, divisor: Operand) -> Tensor:
    """dividend / divisor; two integer tensors give float32."""
    return div(dividend, divisor)


def addn(x: Sequence[Tensor]) -> Tensor:
    """The sum of all tensors of a sequence, of one shape."""
    if isinstance(x, Tensor) or not x:
        raise ArgumentTypeError("addn: x must be a tuple or list of at least one tensor", loc=user_loc())
    given: dict[str, Any] = {f"x[{k}]": each for k, each in enumerate(x)}
    require_alike("addn", **given)
    total = as_tensor(x[0], "addn: x[0]")
    for y in x[1:]:
        total = add(total, y)
    return total.value()


def bias_add(input_x: Tensor, bias: Tensor) -> Tensor:
    """input_x plus one number per channel (axis 1)."""
    return call("BiasAdd", input_x, bias)


@method()
def trunc(input: Operand) -> Tensor:
    """x without its fraction; integers as they are."""
    x = as_tensor(input)
    return x.value() if x.tensor_type.dtype in INTEGERS else call("Trunc", x)


@method()
def frac(x: Tensor) -> Tensor:
    """The fraction of x, with the sign of x."""
    return sub(x, trunc(x))


@method()
def deg2rad(x: Tensor) -> Tensor:
    """Degrees as radians."""
    return mul(x, math.pi / 180)


@method()
def rad2deg(x: Tensor) -> Tensor:
    """Radians as degrees."""
    return mul(x, 180 / math.pi)


@method()
def positive(input: Tensor) -> Tensor:
    """x as it is."""
    return input.value()


@method()
def nan_to_num(
    input: Tensor, nan: Operand | None = None, posinf: Operand | None = None, neginf: Operand | None = None
) -> Tensor:
    """x with NaN replaced (by 0) and infinities (by the largest finite numbers of its dtype)."""
    if input.tensor_type.dtype in ("bool", *INTEGERS):
        return input.value()
    most = greatest(input.tensor_type.part)
    x = select(equal(input, math.inf), most if posinf is None else posinf, input)
    x = select(equal(input, -math.inf), -most if neginf is None else neginf, x)
    return select(isnan(input), 0.0 if nan is None else nan, x)


def squared_difference(x: Operand, y: Operand) -> Tensor:
    """(x - y)^2."""
    return square(sub(x, y))


def div_no_nan(x: Operand, y: Operand) -> Tensor:
    """x / y, 0 where y is 0."""
    a, b = pair("div_no_nan", x, y)
    zero = equal(b, 0)
    return select(zero, 0.0, div(a, select(zero, 1, b)))


def mul_no_nan(x: Operand, y: Operand) -> Tensor:
    """x y, 0 where y is 0 even if x is infinite or NaN."""
    a, b = pair("mul_no_nan", x, y)
    none = equal(b, 0) if not a.tensor_type.is_float else logical_and(equal(b, 0), logical_not(isfinite(a)))
    return mul(select(none, 0, a), b)


def truncate_div(x: Operand, y: Operand) -> Tensor:
    """x / y without its fraction."""
    a, b = pair("truncate_div", x, y)
    if a.tensor_type.dtype not in INTEGERS:
        return trunc(div(a, b))
    floor = floor_div(a, b)
    return select(logical_and(less(floor, 0), not_equal(mul(floor, b), a)), add(floor, 1), floor)


@method()
def fmod(input: Operand, other: Operand) -> Tensor:
    """x - trunc(x / y) y: the remainder with the sign of x. A y without axes takes x's dtype, as in a quotient."""
    return _remainder(*pair("fmod", input, other))


def truncate_mod(x: Operand, y: Operand) -> Tensor:
    """x - trunc(x / y) y: the remainder with the sign of x."""
    return _remainder(*pair("TruncateMod", x, y))


def _remainder(a: Tensor, b: Tensor) -> Tensor:
    if not a.tensor_type.is_float:
        rest = floor_mod(a, b)
        return select(logical_and(not_equal(rest, 0), not_equal(less(a, 0), less(b, 0))), sub(rest, b), rest)
    # The sign as a factor: |x| has no gradient at 0.
    factor = select(less(a, 0), fill(a.dtype, (), -1), fill(a.dtype, (), 1))
    return mul(factor, floor_mod(mul(a, factor), abs_(b)))


@method()
def fmax(input: Operand, other: Operand) -> Tensor:
    """The larger one; NaN counts only where both are. On a tie the gradient goes to the first."""
    a, b = pair("fmax", input, other)
    return maximum(a, b) if not a.tensor_type.is_float else select(logical_or(greater_equal(a, b), isnan(b)), a, b)


@method()
def fmin(input: Operand, other: Operand) -> Tensor:
    """The smaller one; NaN counts only where both are. On a tie the gradient goes to the first."""
    a, b = pair("fmin", input, other)
    return minimum(a, b) if not a.tensor_type.is_float else select(logical_or(less_equal(a, b), isnan(b)), a, b)


def float_power(input: Operand, exponent: Operand) -> Tensor:
    """x to the power y in float64; in complex128 if one of them is complex."""
    operands = as_tensor(input), as_tensor(exponent)
    wide = "complex128" if any(x.tensor_type.is_complex for x in operands) else "float64"
    return pow_(cast_to(operands[0], wide), exponent if is_number(exponent) else cast_to(operands[1], wide))


def added(input: Operand, other: Operand, *, alpha: Operand = 1) -> Tensor:
    """input + alpha other."""
    return add(*_scaled("add", input, other, alpha))


def subtract(input: Operand, other: Operand, *, alpha: Operand = 1) -> Tensor:
    """input - alpha other."""
    return sub(*_scaled("subtract", input, other, alpha))


def _scaled(owner: str, input: Operand, other: Operand, alpha: Operand) -> tuple[Operand, Operand]:
    """input, and alpha other in the dtype that both have together."""
    if is_number(alpha) and alpha == 1:
        return input, other
    a, b = pair(owner, input, other)
    if isinstance(alpha, float) and a.tensor_type.dtype in INTEGERS:
        raise ArgumentTypeError(f"{owner}: alpha must be an int for integers, got {alpha}", loc=user_loc())
    return a, mul(b, alpha)


@method()
def inv(x: Operand) -> Tensor:
    """1 / x; of integers without its fraction."""
    return truncate_div(1, x) if as_tensor(x).tensor_type.dtype in INTEGERS else reciprocal(x)


def real_div(x: Operand, y: Operand) -> Tensor:
    """x / y; of integers without its fraction."""
    a, b = pair("RealDiv", x, y)
    return truncate_div(a, b) if a.tensor_type.dtype in INTEGERS else div(a, b)


@method()
def lerp(input: Tensor, end: Tensor, weight: Operand) -> Tensor:
    """start + weight (end - start)."""
    return add(input, mul(weight, sub(end, input)))


@method()
def addcmul(input: Tensor, tensor1: Tensor, tensor2: Tensor, value: Operand = 1) -> Tensor:
    """input + value tensor1 tensor2."""
    return add(input, mul(mul(tensor1, tensor2), value))


@method()
def addcdiv(input: Tensor, tensor1: Tensor, tensor2: Tensor, value: Operand = 1) -> Tensor:
    """input + value tensor1 / tensor2; of int64 tensors in int64, the quotient without its fraction, as value."""
    if all(as_tensor(x).tensor_type.dtype == "int64" for x in (input, tensor1, tensor2)):
        return add(input, mul(truncate_div(tensor1, tensor2), cast(value, "int64")))
    return add(input, mul(div(tensor1, tensor2), value))


@method()
def copysign(x: Operand, other: Operand) -> Tensor:
    """|x| with the sign of other, in x's dtype; of integers in float32."""
    magnitude = abs_(as_float(x))
    return select(signbit(as_tensor(other)), neg(magnitude), magnitude)


@method()
def heaviside(input: Tensor, values: Tensor) -> Tensor:
    """`values` where x is zero, 1 where it is positive, else 0, for NaN, too."""
    return select(equal(input, 0), values, select(greater(input, 0), ones_like(input), zeros_like(input)))


def rint(x: Tensor) -> Tensor:
    """The nearest integer, halves to the even one."""
    return round_(x)


def scalar_max(x: Any, y: Any) -> Any:
    """The larger of two numbers."""
    return maximum(x, y) if isinstance(x, Tensor) or isinstance(y, Tensor) else max(x, y)


def scalar_min(x: Any, y: Any) -> Any:
    """The smaller of two numbers."""
    return minimum(x, y) if isinstance(x, Tensor) or isinstance(y, Tensor) else min(x, y)


__all__ = [
    "addcdiv",
    "addcmul",
    "addn",
    "bias_add",
    "copysign",
    "deg2rad",
    "div",
    "div_no_nan",
    "float_power",
    "fmax",
    "fmin",
    "fmod",
    "frac",
    "heaviside",
    "lerp",
    "mul_no_nan",
    "nan_to_num",
    "positive",
    "rad2deg",
    "rint",
    "scalar_max",
    "scalar_min",
    "squared_difference",
    "true_divide",
    "trunc",
    "truncate_div",
    "truncate_mod",
]
