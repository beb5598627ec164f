"""Elementwise primitives, products and reductions."""

from __future__ import annotations

from typing import Any

from graphc.ops import functional as F
from graphc.ops.functional import extra_reduce
from graphc.ops.primitives.base import REQUIRED, declare
from graphc.ops.tensor import Tensor

# ---- one operand

Abs, Neg, Sign, Square = (
    declare(n, f) for n, f in (("Abs", F.abs_), ("Neg", F.neg), ("Sign", F.sign), ("Square", F.square))
)
Exp, Expm1, Log, Log1p = (
    declare("Exp", F.exp),
    declare("Expm1", F.expm1),
    declare("Log", F.log),
    declare("Log1p", F.log1p),
)
Sqrt, Rsqrt, Reciprocal = declare("Sqrt", F.sqrt), declare("Rsqrt", F.rsqrt), declare("Reciprocal", F.reciprocal)
Inv = declare("Inv", F.reciprocal)
Sin, Cos, Tan = declare("Sin", F.sin), declare("Cos", F.cos), declare("Tan", F.tan)
Asin, ACos, Atan = declare("Asin", F.asin), declare("ACos", F.acos), declare("Atan", F.atan)
Sinh, Cosh, Asinh = declare("Sinh", F.sinh), declare("Cosh", F.cosh), declare("Asinh", F.asinh)
Acosh, Atanh = declare("Acosh", F.acosh), declare("Atanh", F.atanh)
Erf, Erfc, Erfinv = declare("Erf", F.erf), declare("Erfc", F.erfc), declare("Erfinv", F.erfinv)
Floor, Ceil, Round = declare("Floor", F.floor), declare("Ceil", F.ceil), declare("Round", F.round_)
Rint, Trunc, Invert = declare("Rint", F.rint), declare("Trunc", F.trunc), declare("Invert", F.bitwise_not)
IsFinite, IsNan, IsInf = declare("IsFinite", F.isfinite), declare("IsNan", F.isnan), declare("IsInf", F.isinf)
LogicalNot = declare("LogicalNot", F.logical_not)

# ---- two operands

Add, Sub, Mul = declare("Add", F.add), declare("Sub", F.sub), declare("Mul", F.mul)
TensorAdd = declare("TensorAdd", F.add)
RealDiv, Div, DivNoNan = declare("RealDiv", F.div), declare("Div", F.div), declare("DivNoNan", F.div_no_nan)
MulNoNan, Xdivy, Xlogy = declare("MulNoNan", F.mul_no_nan), declare("Xdivy", F.xdivy), declare("Xlogy", F.xlogy)
FloorDiv, FloorMod, Mod = declare("FloorDiv", F.floor_div), declare("FloorMod", F.floor_mod), declare("Mod", F.fmod)
TruncateDiv, TruncateMod = declare("TruncateDiv", F.truncate_div), declare("TruncateMod", F.fmod)
Pow, Maximum, Minimum = declare("Pow", F.pow_), declare("Maximum", F.maximum), declare("Minimum", F.minimum)
Fmax, Fmin = declare("Fmax", F.maximum), declare("Fmin", F.minimum)
Atan2, SquaredDifference = declare("Atan2", F.atan2), declare("SquaredDifference", F.squared_difference)
Equal, NotEqual = declare("Equal", F.equal), declare("NotEqual", F.not_equal)
Less, LessEqual = declare("Less", F.less), declare("LessEqual", F.less_equal)
Greater, GreaterEqual = declare("Greater", F.greater), declare("GreaterEqual", F.greater_equal)
LogicalAnd, LogicalOr = declare("LogicalAnd", F.logical_and), declare("LogicalOr", F.logical_or)
LogicalXor = declare("LogicalXor", F.logical_xor)
BitwiseAnd, BitwiseOr = declare("BitwiseAnd", F.bitwise_and), declare("BitwiseOr", F.bitwise_or)
BitwiseXor = declare("BitwiseXor", F.bitwise_xor)
Lerp, Addcmul, Addcdiv = declare("Lerp", F.lerp), declare("Addcmul", F.addcmul), declare("Addcdiv", F.addcdiv)
ApproximateEqual = declare("ApproximateEqual", F.approximate_equal, tolerance=1e-5)
IsClose = declare("IsClose", F.isclose, rtol=1e-5, atol=1e-8, equal_nan=True)


def _equal_count(x: Tensor, y: Tensor) -> Tensor:
    """How many elements are equal: one number of x's dtype, shape [1]."""
    return F.reshape(F.reduce_sum(F.cast(F.equal(x, y), x.dtype)), (1,))


EqualCount = declare("EqualCount", _equal_count)
AddN, AccumulateNV2 = declare("AddN", F.addn), declare("AccumulateNV2", F.addn)

# ---- products

MatMul = declare("MatMul", F.matmul, transpose_a=False, transpose_b=False)
BatchMatMul = declare("BatchMatMul", F.matmul, transpose_a=False, transpose_b=False)
Ger, Einsum = (
    declare("Ger", F.outer),
    declare("Einsum", lambda operands, equation: F.einsum(equation, operands), equation=REQUIRED),
)
TensorDot = declare("TensorDot", F.tensor_dot)

# ---- reductions


def _over(function: Any) -> Any:
    def reduction(x: Tensor, axis: Any = (), keep_dims: bool = False) -> Tensor:
        if isinstance(axis, Tensor):
            axis = tuple(int(a) for a in axis.asnumpy().reshape(-1))
        return function(x, tuple(axis) if isinstance(axis, list) else axis, keep_dims)  # type: ignore[no-any-return]

    reduction.__doc__ = function.__doc__
    return reduction


ReduceSum = declare("ReduceSum", _over(F.reduce_sum), keep_dims=False, skip_mode=False)
ReduceMean = declare("ReduceMean", _over(F.reduce_mean), keep_dims=False)
ReduceMax, ReduceMin = (
    declare(n, _over(f), keep_dims=False) for n, f in (("ReduceMax", F.reduce_max), ("ReduceMin", F.reduce_min))
)
ReduceAll, ReduceAny = (
    declare(n, _over(f), keep_dims=False) for n, f in (("ReduceAll", F.reduce_all), ("ReduceAny", F.reduce_any))
)
ReduceProd = declare("ReduceProd", _over(F.prod), keep_dims=False)


def _reduce_std(x: Tensor, axis: Any, unbiased: bool, keep_dims: bool) -> tuple[Tensor, Tensor]:
    """(standard deviation, mean) over axes."""
    axes = tuple(axis) if isinstance(axis, (list, tuple)) else axis
    return F.std(x, axes, int(unbiased), keep_dims), F.reduce_mean(x, axes, keep_dims)


ReduceStd = declare("ReduceStd", _reduce_std, axis=(), unbiased=True, keep_dims=False)


def _lp_norm(x: Tensor, axis: Any, p: float, keep_dims: bool, epsilon: float) -> Tensor:
    """(sum |x|^p)^(1/p) over axes."""
    return F.norm(x, p, tuple(axis) if isinstance(axis, list) else axis, keep_dims)


LpNorm = declare("LpNorm", _lp_norm, axis=REQUIRED, p=2, keep_dims=False, epsilon=1e-12)


def _square_sums(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    """The sum of squares of each operand."""
    return F.reduce_sum(F.square(x)), F.reduce_sum(F.square(y))


SquareSumAll, L2Loss = declare("SquareSumAll", _square_sums), declare("L2Loss", F.l2_loss)


def _arg(largest: bool) -> Any:
    def find(x: Tensor, axis: int, output_type: Any) -> Tensor:
        from graphc.ops.dtype import to_name

        return extra_reduce.place(x, axis, False, largest, to_name(output_type))

    find.__doc__ = f"The place of the first {'largest' if largest else 'smallest'} element along an axis."
    return find


def _arg_value(largest: bool) -> Any:
    def find(x: Tensor, axis: int, keep_dims: bool) -> tuple[Tensor, Tensor]:
        return extra_reduce.arg_with_value(x, axis, keep_dims, largest)

    find.__doc__ = f"(place, value) of the first {'largest' if largest else 'smallest'} element along an axis."
    return find


Argmax, Argmin = (declare(n, _arg(b), axis=-1, output_type="int32") for n, b in (("Argmax", True), ("Argmin", False)))
ArgMaxWithValue, ArgMinWithValue = (
    declare(n, _arg_value(b), axis=0, keep_dims=False)
    for n, b in (("ArgMaxWithValue", True), ("ArgMinWithValue", False))
)


def _cumulative(scan: Any, neutral: float) -> Any:
    def run(x: Tensor, axis: int, exclusive: bool, reverse: bool) -> Tensor:
        at = axis % x.ndim
        if reverse:
            x = F.flip(x, (at,))
        if exclusive:
            before = (slice(None),) * at
            lead = F.full_like(x[(*before, slice(0, 1))], neutral)
            x = F.concat((lead, x[(*before, slice(0, x.shape[at] - 1))]), at)
        made: Tensor = scan(x, at)
        return F.flip(made, (at,)) if reverse else made

    run.__doc__ = scan.__doc__
    return run


CumSum = declare("CumSum", _cumulative(F.cumsum, 0), exclusive=False, reverse=False)
CumProd = declare("CumProd", _cumulative(F.cumprod, 1), exclusive=False, reverse=False)
Cummax, Cummin = declare("Cummax", F.cummax, axis=REQUIRED), declare("Cummin", F.cummin, axis=REQUIRED)
TopK = declare("TopK", lambda x, k, sorted: F.topk(x, k), F.topk.__doc__, sorted=True)
Sort = declare("Sort", F.sort, axis=-1, descending=False)
InTopK = declare("InTopK", F.in_top_k, k=REQUIRED)

__all__ = [
    "ACos", "Abs", "AccumulateNV2", "Acosh", "Add", "AddN", "Addcdiv", "Addcmul", "ApproximateEqual",
    "ArgMaxWithValue", "ArgMinWithValue", "Argmax", "Argmin", "Asin", "Asinh", "Atan", "Atan2", "Atanh",
    "BatchMatMul", "BitwiseAnd", "BitwiseOr", "BitwiseXor", "Ceil", "Cos", "Cosh", "CumProd", "CumSum", "Cummax",
    "Cummin", "Div", "DivNoNan", "Einsum", "Equal", "EqualCount", "Erf", "Erfc", "Erfinv", "Exp", "Expm1", "Floor",
    "FloorDiv", "FloorMod", "Fmax", "Fmin", "Ger", "Greater", "GreaterEqual", "InTopK", "Inv", "Invert", "IsClose",
    "IsFinite", "IsInf", "IsNan", "L2Loss", "Lerp", "Less", "LessEqual", "Log", "Log1p", "LogicalAnd", "LogicalNot",
    "LogicalOr", "LogicalXor", "LpNorm", "MatMul", "Maximum", "Minimum", "Mod", "Mul", "MulNoNan", "Neg", "NotEqual",
    "Pow", "RealDiv", "Reciprocal", "ReduceAll", "ReduceAny", "ReduceMax", "ReduceMean", "ReduceMin", "ReduceProd",
    "ReduceStd", "ReduceSum", "Rint", "Round", "Rsqrt", "Sign", "Sin", "Sinh", "Sort", "Sqrt", "Square",
    "SquareSumAll", "SquaredDifference", "Sub", "Tan", "TensorAdd", "TensorDot", "TopK", "Trunc", "TruncateDiv",
    "TruncateMod", "Xdivy", "Xlogy",
]  # fmt: skip
