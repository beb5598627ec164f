"""More elementwise functions: trigonometry, logic, and compositions of the basic ones."""

from __future__ import annotations

import math
from typing import Any

from graphc.errors import ArgumentValueError, user_loc
from graphc.ir.types import FLOATS
from graphc.ops.functional.core import Operand, as_bool, call, cast, cast_to, is_number, pair
from graphc.ops.functional.create import ones_like, zeros_like
from graphc.ops.functional.math import (
    abs_,
    add,
    div,
    equal,
    exp,
    floor_div,
    floor_mod,
    greater,
    greater_equal,
    isfinite,
    isnan,
    less,
    less_equal,
    log,
    log1p,
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
    select,
    sign,
    sin,
    square,
    sub,
)
from graphc.ops.tensor import Tensor, as_tensor

# ---- one operand


def as_float(x: Operand) -> Tensor:
    """x itself if it is a float tensor, else in float32."""
    tensor = as_tensor(x)
    return tensor if tensor.type.dtype in FLOATS else cast_to(tensor, "float32")


def tan(input: Operand) -> Tensor:
    """Tangent of radians."""
    return call("Tan", as_float(input))


def asin(input: Operand) -> Tensor:
    """Inverse of the sine, in [-pi/2, pi/2]."""
    return call("Asin", as_float(input))


def acos(input: Operand) -> Tensor:
    """Inverse of the cosine, in [0, pi]."""
    return call("Acos", as_float(input))


def atan(input: Operand) -> Tensor:
    """Inverse of the tangent, in (-pi/2, pi/2)."""
    return call("Atan", as_float(input))


def sinh(input: Operand) -> Tensor:
    """Hyperbolic sine."""
    return call("Sinh", as_float(input))


def cosh(input: Operand) -> Tensor:
    """Hyperbolic cosine."""
    return call("Cosh", as_float(input))


def asinh(input: Operand) -> Tensor:
    """Inverse of the hyperbolic sine."""
    return call("Asinh", as_float(input))


def acosh(input: Operand) -> Tensor:
    """Inverse of the hyperbolic cosine."""
    return call("Acosh", as_float(input))


def atanh(input: Operand) -> Tensor:
    """Inverse of the hyperbolic tangent."""
    return call("Atanh", as_float(input))


def erfc(input: Operand) -> Tensor:
    """1 - erf(x)."""
    return call("Erfc", as_float(input))


def trunc(input: Operand) -> Tensor:
    """x without its fraction; integers as they are."""
    x = as_tensor(input)
    return call("Trunc", x) if x.type.is_float else x


def frac(x: Tensor) -> Tensor:
    """The fraction of x, with the sign of x."""
    return sub(x, trunc(x))


def exp2(input: Operand) -> Tensor:
    """2 to the power x."""
    return exp(mul(as_float(input), math.log(2)))


def log2(input: Operand) -> Tensor:
    """Logarithm to base 2."""
    return mul(log(as_float(input)), 1 / math.log(2))


def log10(input: Operand) -> Tensor:
    """Logarithm to base 10."""
    return mul(log(as_float(input)), 1 / math.log(10))


def sinc(input: Operand) -> Tensor:
    """sin(pi x) / (pi x), 1 at zero."""
    x = mul(as_float(input), math.pi)
    zero = equal(x, 0.0)
    return select(zero, 1.0, div(sin(x), select(zero, 1.0, x)))


def logit(input: Tensor, eps: float | None = None) -> Tensor:
    """log(x / (1 - x)), x first held within [eps, 1 - eps] if eps is given."""
    x = input if eps is None else minimum(maximum(input, eps), 1 - eps)
    return log(div(x, sub(1.0, x)))


def deg2rad(x: Tensor) -> Tensor:
    """Degrees as radians."""
    return mul(x, math.pi / 180)


def rad2deg(x: Tensor) -> Tensor:
    """Radians as degrees."""
    return mul(x, 180 / math.pi)


def positive(input: Tensor) -> Tensor:
    """x itself."""
    return input


def nan_to_num(
    input: Tensor, nan: float | None = None, posinf: float | None = None, neginf: float | None = None
) -> Tensor:
    """x with NaN replaced (by 0) and infinities (by the largest finite numbers of its dtype)."""
    import numpy as np

    name = input.type.dtype
    most = float(np.finfo(name).max) if name != "bfloat16" else 3.3895313892515355e38
    x = select(isnan(input), 0.0 if nan is None else nan, input)
    x = select(equal(x, math.inf), most if posinf is None else posinf, x)
    return select(equal(x, -math.inf), -most if neginf is None else neginf, x)


def isclose(input: Tensor, other: Tensor, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> Tensor:
    """|x - y| <= atol + rtol |y|, or both the same infinity, or both NaN if `equal_nan`."""
    near = less_equal(abs_(sub(input, other)), add(mul(abs_(other), rtol), atol))
    if input.type.is_float:
        near = logical_or(equal(input, other), logical_and(near, logical_and(isfinite(input), isfinite(other))))
        if equal_nan:
            near = logical_or(near, logical_and(isnan(input), isnan(other)))
    return near


def isneginf(input: Tensor) -> Tensor:
    """Whether x is minus infinity."""
    return equal(input, -math.inf)


def isposinf(input: Tensor) -> Tensor:
    """Whether x is plus infinity."""
    return equal(input, math.inf)


def signbit(input: Tensor) -> Tensor:
    """Whether x is negative; minus zero too."""
    x = as_tensor(input)
    if not x.type.is_float:
        return less(x, 0)
    return logical_or(less(x, 0.0), logical_and(equal(x, 0.0), less(reciprocal(x), 0.0)))


def erfinv(input: Tensor) -> Tensor:
    """Inverse of the error function (M. Giles, "Approximating the erfinv function", single precision), with one step of
    Newton's method that gives the gradient too.
    """
    from graphc.ops.functional.math import erf, sqrt
    from graphc.ops.functional.state import stop_gradient

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


# ---- two operands


def atan2(input: Operand, other: Operand) -> Tensor:
    """The angle of the point (other, input), in [-pi, pi]."""
    y, x = pair("Atan2", input, other)
    return call("Atan2", as_float(y), as_float(x))


def hypot(input: Tensor, other: Tensor) -> Tensor:
    """sqrt(x^2 + y^2)."""
    from graphc.ops.functional.math import sqrt

    return sqrt(add(square(input), square(other)))


def logaddexp(input: Tensor, other: Tensor) -> Tensor:
    """log(e^x + e^y), without overflow."""
    most = maximum(input, other)
    return add(most, log1p(exp(neg(abs_(sub(input, other))))))


def logaddexp2(input: Tensor, other: Tensor) -> Tensor:
    """log2(2^x + 2^y), without overflow."""
    scale = math.log(2)
    return mul(logaddexp(mul(input, scale), mul(other, scale)), 1 / scale)


def squared_difference(x: Operand, y: Operand) -> Tensor:
    """(x - y)^2."""
    return square(sub(x, y))


def xlogy(input: Operand, other: Operand) -> Tensor:
    """x log(y), 0 where x is 0 and y is not NaN."""
    x, y = pair("xlogy", input, other)
    zero = logical_and(equal(x, 0.0), logical_not(isnan(y)))
    return select(zero, 0.0, mul(x, log(select(zero, 1.0, y))))


def xdivy(x: Operand, y: Operand) -> Tensor:
    """x / y, 0 where x is 0."""
    a, b = pair("xdivy", x, y)
    zero = equal(a, 0.0)
    return select(zero, 0.0, div(a, select(zero, 1.0, b)))


def div_no_nan(x: Operand, y: Operand) -> Tensor:
    """x / y, 0 where y is 0."""
    a, b = pair("div_no_nan", x, y)
    zero = equal(b, 0)
    return select(zero, 0.0, div(a, select(zero, 1, b)))


def mul_no_nan(x: Operand, y: Operand) -> Tensor:
    """x y, 0 where y is 0 even if x is infinite or NaN."""
    a, b = pair("mul_no_nan", x, y)
    zero = equal(b, 0)
    return select(zero, 0, mul(select(zero, 0, a), b))


def truncate_div(x: Operand, y: Operand) -> Tensor:
    """x / y without its fraction."""
    a, b = pair("truncate_div", x, y)
    if a.type.is_float:
        return trunc(div(a, b))
    quotient = floor_div(abs_(a), abs_(b))
    return mul(quotient, mul(sign(a), sign(b)))


def fmod(input: Operand, other: Operand) -> Tensor:
    """x - trunc(x / y) y: the remainder with the sign of x."""
    a, b = pair("fmod", input, other)
    rest = floor_mod(abs_(a), abs_(b))
    return select(less(a, 0), neg(rest), rest)


def float_power(input: Operand, exponent: Operand) -> Tensor:
    """x to the power y in float32; the dtype is float64 in MindSpore."""
    return pow_(as_float(input), exponent if is_number(exponent) else as_float(exponent))


def lerp(input: Tensor, end: Tensor, weight: Operand) -> Tensor:
    """start + weight (end - start)."""
    return add(input, mul(weight, sub(end, input)))


def addcmul(input: Tensor, tensor1: Tensor, tensor2: Tensor, value: Operand = 1) -> Tensor:
    """input + value tensor1 tensor2."""
    return add(input, mul(mul(tensor1, tensor2), value))


def addcdiv(input: Tensor, tensor1: Tensor, tensor2: Tensor, value: Operand = 1) -> Tensor:
    """input + value tensor1 / tensor2."""
    return add(input, mul(div(tensor1, tensor2), value))


def copysign(x: Operand, other: Operand) -> Tensor:
    """|x| with the sign of other."""
    a, b = pair("copysign", x, other)
    magnitude = abs_(as_float(a))
    return select(signbit(b), neg(magnitude), magnitude)


def heaviside(input: Tensor, values: Tensor) -> Tensor:
    """0 where x is negative, `values` where it is zero, else 1."""
    return select(equal(input, 0), values, select(less(input, 0), zeros_like(input), ones_like(input)))


def ldexp(x: Tensor, other: Tensor) -> Tensor:
    """x 2^other."""
    return mul(as_float(x), exp2(other))


def approximate_equal(x: Tensor, y: Tensor, tolerance: float = 1e-5) -> Tensor:
    """|x - y| < tolerance."""
    return less(abs_(sub(x, y)), tolerance)


# ---- bounds


def clamp(input: Any, min: Operand | None = None, max: Operand | None = None) -> Any:
    """x held between two bounds, of which one may be missing; tuples and lists item by item."""
    from graphc.ops.functional.math import clip_by_value

    if isinstance(input, (tuple, list)):
        return type(input)(clamp(x, min, max) for x in input)
    if min is None and max is None:
        raise ArgumentValueError("clamp needs a lower or an upper bound", loc=user_loc())
    return clip_by_value(input, min, max)


def bool_(x: Operand) -> Tensor:
    """x in dtype bool."""
    return as_bool(x)


def rint(x: Tensor) -> Tensor:
    """The nearest integer, halves to the even one."""
    from graphc.ops.functional.math import round_

    return round_(x)


def type_as(input: Tensor, other: Tensor) -> Tensor:
    """x in the dtype of another tensor."""
    return cast(input, other.dtype)


def scalar_max(x: Any, y: Any) -> Any:
    """The larger of two numbers."""
    return maximum(x, y) if isinstance(x, Tensor) or isinstance(y, Tensor) else max(x, y)


def scalar_min(x: Any, y: Any) -> Any:
    """The smaller of two numbers."""
    return minimum(x, y) if isinstance(x, Tensor) or isinstance(y, Tensor) else min(x, y)


absolute, arccos, arccosh, arcsin, arcsinh, arctan = abs_, acos, acosh, asin, asinh, atan
arctan2, arctanh, inv = atan2, atanh, reciprocal
clip, divide, true_divide, floor_divide, multiply, subtract, negative = clamp, div, div, floor_div, mul, sub, neg
remainder, fix, sgn, fmax, fmin, truncate_mod = floor_mod, trunc, sign, maximum, minimum, fmod
eq, ne, gt, ge, lt, le = equal, not_equal, greater, greater_equal, less, less_equal

__all__ = [
    "absolute",
    "acos",
    "acosh",
    "addcdiv",
    "addcmul",
    "approximate_equal",
    "arccos",
    "arccosh",
    "arcsin",
    "arcsinh",
    "arctan",
    "arctan2",
    "arctanh",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "clamp",
    "clip",
    "copysign",
    "cosh",
    "deg2rad",
    "div_no_nan",
    "divide",
    "eq",
    "erfc",
    "erfinv",
    "exp2",
    "fix",
    "float_power",
    "floor_divide",
    "fmax",
    "fmin",
    "fmod",
    "frac",
    "ge",
    "gt",
    "heaviside",
    "hypot",
    "inv",
    "isclose",
    "isneginf",
    "isposinf",
    "ldexp",
    "le",
    "lerp",
    "log2",
    "log10",
    "logaddexp",
    "logaddexp2",
    "logit",
    "lt",
    "mul_no_nan",
    "multiply",
    "nan_to_num",
    "ne",
    "negative",
    "positive",
    "rad2deg",
    "remainder",
    "rint",
    "sgn",
    "signbit",
    "sinc",
    "sinh",
    "squared_difference",
    "subtract",
    "tan",
    "true_divide",
    "trunc",
    "truncate_div",
    "truncate_mod",
    "type_as",
    "xdivy",
    "xlogy",
]  # fmt: skip
