"""Functions that are one op each. A line gives the function, the primitive and the methods of Tensor."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphc.ops.functional.one_op import (
    MADE,
    binary,
    numbers,
    pair_of_any,
    pair_of_floats,
    pair_of_truths,
    pair_or_bools,
    promoted,
    truth,
    unary,
)

# ---- one operand

abs_, Abs = unary("Abs", numbers, methods="abs absolute")
neg, Neg = unary("Neg", numbers, methods="neg negative")
sign, Sign = unary("Sign", numbers, methods="sign")
square, Square = unary("Square", numbers)
relu, ReLU = unary("ReLU", numbers, methods="relu")
floor, Floor = unary("Floor")
ceil, Ceil = unary("Ceil")

exp, Exp = unary("Exp")
expm1, Expm1 = unary("Expm1")
log, Log = unary("Log")
log1p, Log1p = unary("Log1p")
sqrt, Sqrt = unary("Sqrt", promoted, parameter="x")
rsqrt, Rsqrt = unary("Rsqrt")
reciprocal, Reciprocal = unary("Reciprocal", promoted, methods="reciprocal")
tanh, Tanh = unary("Tanh")
sigmoid, Sigmoid = unary("Sigmoid")
erf, Erf = unary("Erf")
erfc, Erfc = unary("Erfc", promoted)

sin, Sin = unary("Sin")
cos, Cos = unary("Cos")
tan, Tan = unary("Tan", promoted)
asin, Asin = unary("Asin", promoted, methods="asin arcsin")
acos, ACos = unary("Acos", promoted, primitive="ACos", methods="acos arccos")
atan, Atan = unary("Atan", promoted, methods="atan arctan")
sinh, Sinh = unary("Sinh", promoted)
cosh, Cosh = unary("Cosh", promoted)
asinh, Asinh = unary("Asinh", promoted, methods="asinh arcsinh")
acosh, Acosh = unary("Acosh", promoted, methods="acosh arccosh")
atanh, Atanh = unary("Atanh", promoted, methods="atanh arctanh")

isfinite, IsFinite = unary("IsFinite", promoted, methods="isfinite")
isnan, IsNan = unary("IsNan", promoted, methods="isnan")
isinf, IsInf = unary("IsInf", methods="isinf")
logical_not, LogicalNot = unary("LogicalNot", truth)

# ---- two operands

add, Add = binary("Add", methods="")
sub, Sub = binary("Sub", methods="")
mul, Mul = binary("Mul", pair_of_any, methods="mul")
pow_, Pow = binary("Pow", parameters="input exponent")
floor_mod, FloorMod = binary("FloorMod", methods="remainder", parameters="x y")
maximum, Maximum = binary("Maximum", pair_of_any, methods="maximum")
minimum, Minimum = binary("Minimum", pair_of_any, methods="minimum")
atan2, Atan2 = binary("Atan2", pair_of_floats, methods="atan2 arctan2")

equal, Equal = binary("Equal", pair_or_bools, methods="equal eq")
not_equal, NotEqual = binary("NotEqual", pair_or_bools, methods="not_equal ne")
less, Less = binary("Less", pair_or_bools, methods="less lt")
less_equal, LessEqual = binary("LessEqual", pair_or_bools, methods="less_equal le")
greater, Greater = binary("Greater", pair_or_bools, methods="greater gt")
greater_equal, GreaterEqual = binary("GreaterEqual", pair_or_bools, methods="greater_equal ge")

logical_and, LogicalAnd = binary("LogicalAnd", pair_of_truths)
logical_or, LogicalOr = binary("LogicalOr", pair_of_truths)
logical_xor, LogicalXor = binary("LogicalXor", pair_of_truths)

if not TYPE_CHECKING:
    #: All of the above, so that a line is all that a function needs. Those with an underscore are in `names` without it.
    __all__ = [n for n, v in globals().items() if v in MADE and not n.endswith("_")]
