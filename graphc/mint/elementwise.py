"""Functions of each element: those of graphc.ops that mean the same, and those that take more here."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from graphc import ops
from graphc.errors import ArgumentValueError, user_loc
from graphc.ir.types import INTEGERS
from graphc.ops import (
    abs,
    acos,
    acosh,
    addcdiv,
    addcmul,
    arccos,
    arccosh,
    arcsinh,
    arctan,
    arctan2,
    arctanh,
    asin,
    asinh,
    atan,
    atan2,
    atanh,
    bitwise_and,
    bitwise_not,
    bitwise_or,
    bitwise_xor,
    ceil,
    clamp,
    cosh,
    erfc,
    erfinv,
    exp2,
    float_power,
    floor,
    fmod,
    gcd,
    greater,
    greater_equal,
    imag,
    isclose,
    isfinite,
    isinf,
    isneginf,
    less,
    less_equal,
    log2,
    log10,
    logaddexp,
    logaddexp2,
    logical_and,
    logical_not,
    logical_or,
    logical_xor,
    maximum,
    minimum,
    mul,
    nan_to_num,
    neg,
    negative,
    not_equal,
    polar,
    real,
    reciprocal,
    remainder,
    sign,
    sinc,
    sinh,
    square,
    tan,
    trunc,
    xlogy,
)
from graphc.ops.functional.arithmetic import added, subtract
from graphc.ops.functional.core import Operand, as_float
from graphc.ops.tensor.tensor import Tensor
from graphc.validation.unused_arguments import only

clip, fix = clamp, trunc
eq, ne, gt, ge, lt, le = ops.equal, not_equal, greater, greater_equal, less, less_equal


def _of_any(function: Callable[[Tensor], Tensor]) -> Callable[[Any], Tensor]:
    """The function, of integers and bools in float32."""

    @wraps(function)
    def made(input: Any) -> Tensor:
        return function(as_float(input))

    return made


cos, sin, tanh, erf, sigmoid = map(_of_any, (ops.cos, ops.sin, ops.tanh, ops.erf, ops.sigmoid))
exp, expm1, log, log1p, rsqrt = map(_of_any, (ops.exp, ops.expm1, ops.log, ops.log1p, ops.rsqrt))


def arcsin(x: Tensor) -> Tensor:
    """The arc sine, in radians; NaN beyond -1 and 1."""
    return ops.asin(x)


def isnan(tensor: Tensor) -> Tensor:
    """bool: which elements are NaN."""
    return ops.isnan(tensor)


def frac(input: Tensor) -> Tensor:
    """What is left of a number without its whole part; it has the number's sign."""
    return ops.frac(input)


def sqrt(input: Tensor) -> Tensor:
    """The square root; NaN of negative numbers."""
    return ops.sqrt(as_float(input))


def round(input: Tensor, *, decimals: int = 0) -> Tensor:
    """The nearest multiple of 10**-decimals, halves to the even one; integers as they are."""
    if input.tensor_type.dtype in INTEGERS and decimals >= 0:
        return input
    return ops.round(input, decimals=decimals)


def pow(input: Any, exponent: Any) -> Tensor:
    """input ** exponent; one of them may be a number."""
    return ops.pow(input, exponent)


def add(input: Any, other: Any, *, alpha: Operand = 1) -> Tensor:
    """input + alpha * other."""
    return added(input, other, alpha=alpha)


def sub(input: Any, other: Any, *, alpha: Operand = 1) -> Tensor:
    """input - alpha * other."""
    return subtract(input, other, alpha=alpha)


def div(input: Any, other: Any, *, rounding_mode: str | None = None) -> Tensor:
    """input / other; rounding_mode "floor" rounds down, "trunc" toward zero, and keeps integers."""
    if rounding_mode is None:
        return ops.true_divide(input, other)
    if rounding_mode == "floor":
        return ops.floor_divide(input, other)
    if rounding_mode == "trunc":
        return ops.truncate_div(input, other)
    raise ArgumentValueError(
        f"div: rounding_mode must be None, 'floor' or 'trunc', got {rounding_mode!r}", loc=user_loc()
    )


def divide(input: Any, other: Any, *, rounding_mode: str | None = None) -> Tensor:
    """`div`."""
    return div(input, other, rounding_mode=rounding_mode)


def floor_divide(input: Any, other: Any) -> Tensor:
    """input / other rounded down."""
    return ops.floor_divide(input, other)


def lerp(input: Tensor, end: Tensor, weight: Any) -> Tensor:
    """input + weight * (end - input)."""
    return ops.lerp(input, end, weight)


def softmax(input: Tensor, dim: int, *, dtype: Any = None) -> Tensor:
    """exp(input) over its sum along an axis; dtype: what it is cast to before."""
    return ops.softmax(input if dtype is None else ops.cast(input, dtype), dim)


def npu_gelu(input: Tensor, approximate: str = "none") -> Tensor:
    """input * Phi(input), Phi the distribution of a standard normal; approximate "tanh" takes tanh for it."""
    only("npu_gelu", "approximate", approximate, "none", "tanh")
    return ops.gelu(input, approximate)


def where(condition: Tensor, input: Any, other: Any) -> Tensor:
    """input where condition, else other."""
    return ops.where(condition, input, other)


__all__ = [
    "abs", "acos", "acosh", "add", "addcdiv", "addcmul", "arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctan2", "arctanh",
    "asin", "asinh", "atan", "atan2", "atanh", "bitwise_and", "bitwise_not", "bitwise_or", "bitwise_xor", "ceil",
    "clamp", "clip", "cos", "cosh", "div", "divide", "eq", "erf", "erfc", "erfinv", "exp", "exp2", "expm1", "fix", "float_power",
    "floor", "floor_divide", "fmod", "frac", "gcd", "ge", "greater", "greater_equal", "gt", "imag", "isclose",
    "isfinite", "isinf", "isnan", "isneginf", "le", "lerp", "less", "less_equal", "log", "log1p", "log2", "log10",
    "logaddexp", "logaddexp2", "logical_and", "logical_not", "logical_or", "logical_xor", "lt", "maximum", "minimum",
    "mul", "nan_to_num", "ne", "neg", "negative", "not_equal", "npu_gelu", "polar", "pow", "real", "reciprocal",
    "remainder", "round", "rsqrt", "sigmoid", "sign", "sin", "sinc", "sinh", "softmax", "sqrt", "square", "sub", "tan",
    "tanh", "trunc", "where", "xlogy",
]  # fmt: skip
