"""Functions of each element, or of each pair of elements: a line is an op, how its operands become what it takes, and a text.

`dtype` is that of the result, which is computed in its own dtype first. Operands are tensors, numbers and lists.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from graphc import ops
from graphc.errors import ArgumentValueError, DTypeError, user_loc
from graphc.numpy.convert import common, count, floats, name_of, promoted, result, tensor
from graphc.ops.functional.core import cast_to
from graphc.ops.tensor.tensor import Tensor


def unary(name: str, text: str, compute: Callable[[Tensor], Tensor], prepare: Any = None) -> Callable[..., Tensor]:
    """The function `name`: `compute` of an operand that `prepare` has made what the op takes."""

    def function(x: Any, dtype: Any = None) -> Tensor:
        given = tensor(name, x)
        return result(compute(given if prepare is None else prepare(given)), dtype)

    return _named(function, name, text)


def binary(
    name: str, text: str, compute: Callable[[Tensor, Tensor], Tensor], prepare: Any = promoted
) -> Callable[..., Tensor]:
    """The function `name`: `compute` of two operands that `prepare` has made what the op takes."""

    def function(x1: Any, x2: Any, dtype: Any = None) -> Tensor:
        given = prepare(tensor(name, x1, "x1"), tensor(name, x2, "x2"))
        return result(compute(*given), dtype)

    return _named(function, name, text)


def _named(function: Callable[..., Tensor], name: str, text: str) -> Callable[..., Tensor]:
    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"{text} `dtype` is the result's."
    return function


# ---- how operands become what an op takes

_SMALL = ("bool", "int8", "uint8")


def angle(x: Tensor) -> Tensor:
    """Floats as they are, integers of 8 bits and bools in float16, others in float32."""
    return x if x.tensor_type.is_float else cast_to(x, "float16" if x.tensor_type.dtype in _SMALL else "float32")


def _angles(x: Tensor, y: Tensor) -> tuple[Tensor, ...]:
    return promoted(angle(x), angle(y))


def _single(x: Tensor) -> Tensor:
    return cast_to(x, "float32")


def _at_least_single(x: Tensor) -> Tensor:
    return cast_to(x, common(x.tensor_type.dtype, "float32"))


def _counted(x: Tensor) -> Tensor:
    """Bools as integers."""
    return cast_to(x, "int32") if x.tensor_type.dtype == "bool" else x


def _compared(x: Tensor, y: Tensor) -> tuple[Tensor, ...]:
    return tuple(_counted(t) for t in promoted(x, y))


def _quotient(x: Tensor, y: Tensor) -> tuple[Tensor, ...]:
    """In float32 unless one of them is float16 or float32, as MindSpore has it: also two of float64."""
    kept = ("float16", "bfloat16", "float32")
    return promoted(x, y) if x.tensor_type.dtype in kept or y.tensor_type.dtype in kept else (_single(x), _single(y))


def _singles(x: Tensor, y: Tensor) -> tuple[Tensor, ...]:
    return _single(x), _single(y)


def _float_pair(x: Tensor, y: Tensor) -> tuple[Tensor, ...]:
    return tuple(floats(t) for t in promoted(x, y))


def _as_they_are(x: Tensor, y: Tensor) -> tuple[Tensor, ...]:
    return x, y


def _of_bools(compute: Callable[[Tensor, Tensor], Tensor]) -> Callable[[Tensor, Tensor], Tensor]:
    """The function, of two bools computed with 0 and 1 and made a bool again."""

    def computed(x: Tensor, y: Tensor) -> Tensor:
        if x.tensor_type.dtype != "bool":
            return compute(x, y)
        return cast_to(compute(cast_to(x, "int32"), cast_to(y, "int32")), "bool")

    return computed


def _kept(compute: Callable[[Tensor], Tensor]) -> Callable[[Tensor], Tensor]:
    """The function, of bools computed with 0 and 1 and made a bool again."""

    def computed(x: Tensor) -> Tensor:
        return cast_to(compute(_counted(x)), x.tensor_type.dtype)

    return computed


# ---- what is composed here


def _cube_root(x: Tensor) -> Tensor:
    """The sign times |x|^(1/3). MindSpore gives NaN for 0, here it is 0."""
    return ops.mul(ops.sign(x), ops.pow(ops.abs(x), 1.0 / 3.0))


def _reciprocal(x: Tensor) -> Tensor:
    if x.tensor_type.is_float:
        return ops.reciprocal(x)
    x = cast_to(x, "int64") if x.tensor_type.dtype == "bool" else x
    return ops.truncate_div(ops.ones_like(x), x)


def _step(x: Tensor, y: Tensor) -> Tensor:
    return ops.select(ops.less(x, 0), ops.zeros_like(y), ops.select(ops.greater(x, 0), ops.ones_like(y), y))


def _sign(x: Tensor) -> Tensor:
    if x.tensor_type.dtype == "bool":
        raise DTypeError("sign: x is a tensor of bools, expected numbers", loc=user_loc())
    return ops.sign(floats(x))


def _truncated(x: Tensor) -> Tensor:
    return ops.trunc(x if x.tensor_type.dtype in ("float16", "bfloat16") else _single(x))


def _with_sign(x: Tensor, y: Tensor) -> Tensor:
    if "bool" in (x.tensor_type.dtype, y.tensor_type.dtype):
        raise DTypeError("copysign: bools have no sign, expected numbers", loc=user_loc())
    size = ops.abs(x)
    return ops.select(ops.less(y, 0), ops.neg(size), size)


def _whole(name: str, compute: Callable[[Tensor, Tensor], Tensor]) -> Callable[[Tensor, Tensor], Tensor]:
    """A function of integers and bools; DTypeError for floats."""

    def computed(x: Tensor, y: Tensor) -> Tensor:
        if x.tensor_type.is_float:
            raise DTypeError(
                f"{name}: operands are {x.tensor_type} and {y.tensor_type}, expected integers", loc=user_loc()
            )
        return compute(x, y)

    return _of_bools(computed)


def _remainder(x: Tensor, y: Tensor) -> Tensor:
    return ops.floor_mod(x, y)


# ---- one operand

abs_ = absolute = unary("absolute", "|x|, in x's dtype.", _kept(ops.abs))
fabs = unary("fabs", "|x|, in x's dtype.", _kept(ops.abs))
arcsin = unary("arcsin", "The inverse sine.", ops.asin, angle)
arctan = unary("arctan", "The inverse tangent.", ops.atan, angle)
arcsinh = unary("arcsinh", "The inverse hyperbolic sine.", ops.asinh, angle)
arccosh = unary("arccosh", "The inverse hyperbolic cosine.", ops.acosh, angle)
arctanh = unary("arctanh", "The inverse hyperbolic tangent.", ops.atanh, angle)
sin = unary("sin", "The sine of an angle in radians.", ops.sin, angle)
cos = unary("cos", "The cosine of an angle in radians.", ops.cos, angle)
tan = unary("tan", "The tangent of an angle in radians.", ops.tan, angle)
sinh = unary("sinh", "The hyperbolic sine.", ops.sinh, angle)
cosh = unary("cosh", "The hyperbolic cosine.", ops.cosh, angle)
tanh = unary("tanh", "The hyperbolic tangent.", ops.tanh, angle)
deg2rad = unary("deg2rad", "Degrees as radians.", ops.deg2rad, floats)
radians = unary("radians", "Degrees as radians.", ops.deg2rad, floats)
rad2deg = unary("rad2deg", "Radians as degrees.", ops.rad2deg, floats)
exp = unary("exp", "e to the power x, of floats.", ops.exp)
expm1 = unary("expm1", "exp(x) - 1, of floats.", ops.expm1)
exp2 = unary("exp2", "2 to the power x, in x's dtype.", lambda x: ops.pow(2, x))
log = unary("log", "The natural logarithm, of floats.", ops.log)
log1p = unary("log1p", "log(1 + x), of floats.", ops.log1p)
log2 = unary("log2", "The logarithm to base 2.", ops.log2)
log10 = unary("log10", "The logarithm to base 10.", ops.log10)
sqrt = unary("sqrt", "The square root; of integers in float32.", ops.sqrt, floats)
cbrt = unary("cbrt", "The cube root, in float32 or float64.", _cube_root, _at_least_single)
square = unary("square", "x times x, in x's dtype.", _kept(ops.square))
reciprocal = unary("reciprocal", "1 / x; of integers without its fraction.", _reciprocal)
sign = unary("sign", "-1, 0 or 1; of integers in float32. DTypeError for bools.", _sign)
floor = unary("floor", "The largest integer that is not greater, of floats.", ops.floor)
ceil = unary("ceil", "The smallest integer that is not less, in float32.", ops.ceil, _single)
trunc = unary("trunc", "x without its fraction, in float32, halves in their own dtype.", _truncated)


def around(a: Any, decimals: int = 0) -> Tensor:
    """The nearest multiple of 10**-decimals, halves to the even one; integers as they are. decimals: 0 or more."""
    x, places = tensor("around", a, "a"), count("around", "decimals", decimals)
    return ops.round(x, decimals=places) if x.tensor_type.is_float else x.copy()


rint = unary("rint", "The nearest integer, halves to the even one, of floats.", ops.rint)
invert = unary("invert", "Every bit inverted; logical not of bools.", ops.bitwise_not)
bitwise_not = unary("bitwise_not", "Every bit inverted; logical not of bools.", ops.bitwise_not)
isfinite = unary("isfinite", "Whether x is neither infinite nor NaN.", ops.isfinite, floats)
isinf = unary("isinf", "Whether x is infinite.", ops.isinf, floats)
isnan = unary("isnan", "Whether x is NaN.", ops.isnan, floats)


def arccos(input: Any, dtype: Any = None) -> Tensor:
    """The inverse cosine. `dtype` is the result's."""
    return result(ops.acos(angle(tensor("arccos", input, "input"))), dtype)


def negative(a: Any, dtype: Any = None) -> Tensor:
    """-a. `dtype` is the result's."""
    return result(ops.neg(tensor("negative", a, "a")), dtype)


def positive(a: Any, dtype: Any = None) -> Tensor:
    """a as it is. `dtype` is the result's."""
    return result(ops.positive(tensor("positive", a, "a")), dtype)


def logical_not(a: Any, dtype: Any = None) -> Tensor:
    """Whether a is 0 or False. `dtype` is the result's."""
    return result(ops.logical_not(tensor("logical_not", a, "a")), dtype)


def signbit(x: Any, dtype: Any = None) -> Tensor:
    """Whether x is less than 0: as in MindSpore, minus zero is not. DTypeError for a `dtype` other than bool."""
    if dtype is not None and name_of(dtype) != "bool":
        raise DTypeError(f"signbit: dtype must be bool, got {name_of(dtype)}", loc=user_loc())
    return ops.less(_counted(tensor("signbit", x)), 0)


def fix(x: Any) -> Tensor:
    """x without its fraction, in float32, halves in their own dtype."""
    return _truncated(tensor("fix", x))


# ---- two operands

add = binary("add", "x1 + x2.", ops.add)
subtract = binary("subtract", "x1 - x2.", ops.sub)
multiply = binary("multiply", "x1 x2.", _of_bools(ops.mul))
divide = binary("divide", "x1 / x2, in float32 unless one is float16 or float32.", ops.div, _quotient)
true_divide = binary("true_divide", "As divide.", ops.div, _quotient)
power = binary("power", "x1 to the power x2.", ops.pow)
float_power = binary("float_power", "x1 to the power x2, in float32.", ops.pow, _singles)
floor_divide = binary("floor_divide", "x1 / x2 rounded down.", _of_bools(ops.floor_div))
remainder = binary("remainder", "x1 - floor(x1 / x2) x2; 0 where x2 is the integer 0.", _of_bools(_remainder))
mod = binary("mod", "As remainder.", _of_bools(_remainder))
fmod = binary("fmod", "x1 - trunc(x1 / x2) x2: the remainder with the sign of x1.", _of_bools(ops.fmod))
hypot = binary("hypot", "sqrt(x1^2 + x2^2); of integers in float32.", ops.hypot, _float_pair)
arctan2 = binary("arctan2", "The angle of the point (x2, x1).", ops.atan2, _angles)
logaddexp = binary("logaddexp", "log(e^x1 + e^x2), of floats.", ops.logaddexp, _float_pair)
logaddexp2 = binary("logaddexp2", "log2(2^x1 + 2^x2), of floats.", ops.logaddexp2, _float_pair)
heaviside = binary("heaviside", "0 where x1 < 0, 1 where x1 > 0, x2 elsewhere.", _of_bools(_step))
copysign = binary("copysign", "|x1|, negative where x2 < 0, in the dtype of x1.", _with_sign, _as_they_are)
gcd = binary("gcd", "The greatest common divisor of integers.", _whole("gcd", ops.gcd))
lcm = binary("lcm", "The least common multiple of integers.", _whole("lcm", ops.lcm))
bitwise_and = binary("bitwise_and", "The bits that both have; logical and of bools.", ops.bitwise_and)
bitwise_or = binary("bitwise_or", "The bits that either has; logical or of bools.", ops.bitwise_or)
bitwise_xor = binary("bitwise_xor", "The bits that differ; exclusive or of bools.", ops.bitwise_xor)
equal = binary("equal", "Whether x1 = x2.", ops.equal, _compared)
not_equal = binary("not_equal", "Whether x1 is not x2.", ops.not_equal, _compared)
less = binary("less", "Whether x1 < x2.", ops.less, _compared)
less_equal = binary("less_equal", "Whether x1 <= x2.", ops.less_equal, _compared)
greater = binary("greater", "Whether x1 > x2.", ops.greater, _compared)
greater_equal = binary("greater_equal", "Whether x1 >= x2.", ops.greater_equal, _compared)
logical_and = binary("logical_and", "Whether both are neither 0 nor False.", ops.logical_and, _as_they_are)
logical_or = binary("logical_or", "Whether one is neither 0 nor False.", ops.logical_or, _as_they_are)
logical_xor = binary("logical_xor", "Whether one of both is 0 or False.", ops.logical_xor, _as_they_are)


def maximum(x1: Any, x2: Any, dtype: Any = None) -> Tensor:
    """The larger one; NaN if one is. Beside an operand without axes the result has the dtype of the other, else `dtype`."""
    return _extremum("maximum", ops.maximum, x1, x2, dtype)


def minimum(x1: Any, x2: Any, dtype: Any = None) -> Tensor:
    """The smaller one; NaN if one is. Beside an operand without axes the result has the dtype of the other, else `dtype`."""
    return _extremum("minimum", ops.minimum, x1, x2, dtype)


def _extremum(name: str, compute: Any, x1: Any, x2: Any, dtype: Any) -> Tensor:
    a, b = tensor(name, x1, "x1"), tensor(name, x2, "x2")
    if (a.ndim == 0) != (b.ndim == 0):
        dtype = (b if a.ndim == 0 else a).dtype
    return result(_of_bools(compute)(*promoted(a, b)), dtype)


def divmod_(x1: Any, x2: Any, dtype: Any = None) -> tuple[Tensor, Tensor]:
    """(floor_divide, remainder)."""
    return floor_divide(x1, x2, dtype), remainder(x1, x2, dtype)


def clip(x: Any, xmin: Any, xmax: Any, dtype: Any = None) -> Tensor:
    """x held between two bounds, of which one may be None, by `maximum` and `minimum`. ArgumentValueError if both are."""
    if xmin is None and xmax is None:
        raise ArgumentValueError("clip: xmin or xmax must be given", loc=user_loc())
    made = tensor("clip", x)
    if xmin is not None:
        made = maximum(made, xmin, dtype)
    return made if xmax is None else minimum(made, xmax, dtype)


def isneginf(x: Any) -> Tensor:
    """Whether x is minus infinity."""
    return ops.equal(floats(tensor("isneginf", x)), -math.inf)


def isposinf(x: Any) -> Tensor:
    """Whether x is plus infinity."""
    return ops.equal(floats(tensor("isposinf", x)), math.inf)


def isscalar(element: Any) -> bool:
    """Whether it is a number or a text of Python's."""
    return isinstance(element, (bool, int, float, str))


__all__ = [
    "abs_", "absolute", "add", "arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctan2", "arctanh", "around",
    "bitwise_and", "bitwise_not", "bitwise_or", "bitwise_xor", "cbrt", "ceil", "clip", "copysign", "cos", "cosh",
    "deg2rad", "divide", "divmod_", "equal", "exp", "exp2", "expm1", "fabs", "fix", "float_power", "floor",
    "floor_divide", "fmod", "gcd", "greater", "greater_equal", "heaviside", "hypot", "invert", "isfinite", "isinf",
    "isnan", "isneginf", "isposinf", "isscalar", "lcm", "less", "less_equal", "log", "log1p", "log2", "log10",
    "logaddexp", "logaddexp2", "logical_and", "logical_not", "logical_or", "logical_xor", "maximum", "minimum",
    "mod", "multiply", "negative", "not_equal", "positive", "power", "rad2deg", "radians", "reciprocal", "remainder",
    "rint", "sign", "signbit", "sin", "sinh", "sqrt", "square", "subtract", "tan", "tanh", "true_divide", "trunc",
]  # fmt: skip
