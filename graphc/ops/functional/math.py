"""Elementwise functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from graphc.errors import ArgumentTypeError, ArgumentValueError, DTypeError, user_loc
from graphc.ir.types import FLOATS
from graphc.ops.functional.core import Operand, as_bool, call, cast_to, number, pair
from graphc.ops.tensor import Tensor, as_tensor


def _unary(op: str, integers: bool = False) -> Callable[[Operand], Tensor]:
    def function(x: Operand) -> Tensor:
        tensor = as_tensor(x, f"{op}: x")
        if not integers and tensor.type.dtype not in FLOATS:
            raise DTypeError(
                f"{op}: x is {tensor.type}, expected a float tensor",
                loc=user_loc(),
                help="ops.cast(x, graphc.float32)",
            )
        return call(op, tensor)

    function.__name__ = op.lower()
    function.__doc__ = f"Elementwise {op}."
    return function


neg, abs_, sign, square, relu = (_unary(n, True) for n in ("Neg", "Abs", "Sign", "Square", "ReLU"))

exp, log, sqrt, rsqrt = (_unary(n) for n in ("Exp", "Log", "Sqrt", "Rsqrt"))
_reciprocal = _unary("Reciprocal")


def reciprocal(x: Operand) -> Tensor:
    """Elementwise 1 / x; integers are taken as float32."""
    tensor = as_tensor(x, "Reciprocal: x")
    return _reciprocal(tensor if tensor.type.dtype in FLOATS else cast_to(tensor, "float32"))


tanh, sigmoid, erf, floor = (_unary(n) for n in ("Tanh", "Sigmoid", "Erf", "Floor"))

isfinite, isnan, isinf = (_unary(n) for n in ("IsFinite", "IsNan", "IsInf"))

sin, cos, ceil, log1p, expm1 = (_unary(n) for n in ("Sin", "Cos", "Ceil", "Log1p", "Expm1"))

_round = _unary("Round")


def round_(input: Operand, *, decimals: int = 0) -> Tensor:
    """The nearest multiple of 10**-decimals, halves to the even one."""
    return _round(input) if decimals == 0 else div(_round(mul(input, 10.0**decimals)), 10.0**decimals)


def _binary(op: str) -> Callable[[Operand, Operand], Tensor]:
    def function(x: Operand, y: Operand) -> Tensor:
        return call(op, *pair(op, x, y))

    function.__name__ = op.lower()
    function.__doc__ = f"Elementwise {op} with broadcasting."
    return function


add, sub, mul = (_binary(n) for n in ("Add", "Sub", "Mul"))

floor_mod, pow_ = _binary("FloorMod"), _binary("Pow")


def floor_div(x: Operand, y: Operand) -> Tensor:
    """x / y rounded down; x / 0 is 0 for integers. A bool tensor and a Python bool give bool, as in MindSpore."""
    a, b = pair("FloorDiv", x, y)
    if a.type.dtype == "bool":
        return cast_to(call("FloorDiv", cast_to(a, "int32"), cast_to(b, "int32")), "bool")
    return call("FloorDiv", a, b)


maximum, minimum = _binary("Maximum"), _binary("Minimum")

less, less_equal, greater, greater_equal = (_binary(n) for n in ("Less", "LessEqual", "Greater", "GreaterEqual"))


def div(x: Operand, y: Operand) -> Tensor:
    """x / y; two integer tensors give float32."""
    a, b = as_tensor(x), as_tensor(y)
    if a.type.dtype not in FLOATS and b.type.dtype not in FLOATS:
        return call("Div", cast_to(a, "float32"), cast_to(b, "float32"))
    return call("Div", *pair("Div", x, y))


def _equality(op: str) -> Callable[[Operand, Operand], Tensor]:
    def function(x: Operand, y: Operand) -> Tensor:
        a, b = as_tensor(x), as_tensor(y)
        if a.type.dtype == b.type.dtype == "bool":
            return call(op, a, b)
        return call(op, *pair(op, x, y))

    function.__name__ = op.lower()
    function.__doc__ = f"Elementwise {op} with broadcasting."
    return function


equal, not_equal = _equality("Equal"), _equality("NotEqual")


def logical_not(x: Operand) -> Tensor:
    """not x."""
    return call("LogicalNot", as_bool(x))


def logical_and(x: Operand, y: Operand) -> Tensor:
    """x and y, elementwise."""
    return call("LogicalAnd", as_bool(x), as_bool(y))


def logical_or(x: Operand, y: Operand) -> Tensor:
    """x or y, elementwise."""
    return call("LogicalOr", as_bool(x), as_bool(y))


def logical_xor(input: Operand, other: Operand) -> Tensor:
    """Whether just one of the two holds, elementwise."""
    return call("LogicalXor", as_bool(input), as_bool(other))


def select(condition: Operand, x: Operand, y: Operand) -> Tensor:
    """x where the condition holds, else y, elementwise with broadcasting."""
    if isinstance(x, Tensor) and isinstance(y, Tensor) and x.type.dtype == y.type.dtype:
        return call("Select", as_bool(condition), x, y)
    return call("Select", as_bool(condition), *pair("Select", x, y))


where = select


def masked_fill(input_x: Tensor, mask: Tensor, value: Operand) -> Tensor:
    """value where the mask holds, else input_x."""
    filled = value if isinstance(value, Tensor) else number(value, input_x.type.dtype)
    return call("Select", as_bool(mask), cast_to(filled, input_x.type.dtype), input_x)


def addn(x: Sequence[Tensor]) -> Tensor:
    """The sum of all tensors of a sequence."""
    if isinstance(x, Tensor) or not x:
        raise ArgumentTypeError("addn: x must be a tuple or list of at least one tensor", loc=user_loc())
    total = as_tensor(x[0], "addn: x[0]")
    for y in x[1:]:
        total = add(total, y)
    return total


def clip_by_value(x: Tensor, clip_value_min: Operand | None = None, clip_value_max: Operand | None = None) -> Tensor:
    """x held between two bounds; NaN stays NaN."""
    if clip_value_min is None and clip_value_max is None:
        raise ArgumentValueError("clip_by_value needs a lower or an upper bound", loc=user_loc())
    if clip_value_min is not None:
        x = maximum(x, clip_value_min)
    if clip_value_max is not None:
        x = minimum(x, clip_value_max)
    return x


def bias_add(input_x: Tensor, bias: Tensor) -> Tensor:
    """input_x plus one number per channel (axis 1)."""
    return call("BiasAdd", input_x, bias)
