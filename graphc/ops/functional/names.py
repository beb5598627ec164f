"""Other names of the same functions: older ones, short ones, and those that hide Python's built-in functions."""

from __future__ import annotations

from graphc.ops.functional.activation import softshrink
from graphc.ops.functional.arithmetic import addn, div, floor_div, fmod, round_, trunc
from graphc.ops.functional.clipping import clamp
from graphc.ops.functional.create import range_, scalar_to_tensor
from graphc.ops.functional.describe import shape
from graphc.ops.functional.dynamic import nonzero
from graphc.ops.functional.elementwise import (
    abs_,
    acos,
    acosh,
    add,
    asin,
    asinh,
    atan,
    atan2,
    atanh,
    equal,
    exp,
    expm1,
    floor_mod,
    greater,
    greater_equal,
    less,
    less_equal,
    mul,
    neg,
    not_equal,
    pow_,
    reciprocal,
    sign,
    sub,
)
from graphc.ops.functional.extrema import max_, min_
from graphc.ops.functional.joining import unstack
from graphc.ops.functional.reduce import reduce_all, reduce_any, reduce_mean, sum_
from graphc.ops.functional.shapes import moveaxis, reshape, swapaxes
from graphc.ops.functional.slicing import gather, slice_, strided_slice
from graphc.ops.functional.sorting import in_top_k, topk

# ---- names of built-in functions

abs, pow, round, sum, max, min = abs_, pow_, round_, sum_, max_, min_
range, slice, all, any = range_, slice_, reduce_all, reduce_any

# ---- of one operand

absolute = abs_
arccos, arccosh, arcsin, arcsinh, arctan, arctanh = acos, acosh, asin, asinh, atan, atanh
fix, inv, negative, sgn = trunc, reciprocal, neg, sign
tensor_exp, tensor_expm1 = exp, expm1

# ---- of two operands

arctan2 = atan2
divide = true_divide = tensor_div = div
floor_divide = floordiv = tensor_floordiv = floor_div
floormod = mod = remainder = tensor_mod = floor_mod
multiply = tensor_mul = mul
pows = tensor_pow = pow_
subtract = tensor_sub = sub
tensor_add = add
truncate_mod = fmod
eq = tensor_eq = equal
ge = tensor_ge = greater_equal
gt = tensor_gt = greater
le = tensor_le = less_equal
lt = tensor_lt = less
ne = not_equal

# ---- of tensors

accumulate_n = addn
clip = clamp
embed = gather
intopk = in_top_k
mean = reduce_mean
movedim = moveaxis
reshape_ = reshape
shape_ = shape
soft_shrink = softshrink
swapdims = swapaxes
tensor_range = range_
argwhere = nonzero
scalar_to_array = scalar_to_tensor
tensor_slice = strided_slice
top_k = topk
unbind = unstack

__all__ = [
    "abs", "absolute", "accumulate_n", "all", "any", "arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctan2",
    "arctanh", "argwhere", "clip", "divide", "embed", "eq", "fix", "floor_divide", "floordiv", "floormod", "ge", "gt",
    "intopk", "inv", "le", "lt", "max", "mean", "min", "mod", "movedim", "multiply", "ne", "negative", "pow", "pows",
    "range", "remainder", "reshape_", "round", "scalar_to_array", "sgn", "shape_", "slice", "soft_shrink", "subtract",
    "sum", "swapdims", "tensor_add", "tensor_div", "tensor_eq", "tensor_exp", "tensor_expm1", "tensor_floordiv",
    "tensor_ge", "tensor_gt", "tensor_le", "tensor_lt", "tensor_mod", "tensor_mul", "tensor_pow", "tensor_range",
    "tensor_slice", "tensor_sub", "top_k", "true_divide", "truncate_mod", "unbind",
]  # fmt: skip
