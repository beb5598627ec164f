"""Other names of the same functions: older ones, short ones, and those that hide Python's built-in functions."""

from __future__ import annotations

from graphc.ops.functional.activation import softshrink
from graphc.ops.functional.arithmetic import addn, div, float_power, inv, real_div, round_, subtract, trunc
from graphc.ops.functional.arithmetic import floor_div as rounded_down
from graphc.ops.functional.clipping import clamp
from graphc.ops.functional.core import Operand
from graphc.ops.functional.create import range_, scalar_to_tensor
from graphc.ops.functional.cumulative import diff
from graphc.ops.functional.describe import shape
from graphc.ops.functional.dynamic import nonzero
from graphc.ops.functional.einsum import einsum
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
    isnan,
    less,
    less_equal,
    mul,
    neg,
    not_equal,
    pow_,
    sub,
)
from graphc.ops.functional.elementwise import relu as rectified
from graphc.ops.functional.extrema import max_, min_
from graphc.ops.functional.index import write
from graphc.ops.functional.integers import bitwise_not
from graphc.ops.functional.joining import unstack
from graphc.ops.functional.products import baddbmm
from graphc.ops.functional.reduce import reduce_all, reduce_any, reduce_mean, sum_
from graphc.ops.functional.renaming import renamed
from graphc.ops.functional.shapes import moveaxis, reshape, same_shape, swapaxes
from graphc.ops.functional.slicing import gather, slice_
from graphc.ops.functional.sorting import in_top_k, topk
from graphc.ops.tensor.methods import install
from graphc.ops.tensor.tensor import Tensor

# ---- names of built-in functions

abs, pow, round, sum, max, min = abs_, pow_, round_, sum_, max_, min_
range, slice, all, any = range_, slice_, reduce_all, reduce_any

# ---- of one operand

absolute = abs_
arccos, arccosh, arcsinh, arctan, arctanh = acos, acosh, asinh, atan, atanh
arcsin = renamed("arcsin", asin, "x")
fix, negative = trunc, neg
invert = renamed("invert", bitwise_not, "x")
tensor_exp, tensor_expm1 = exp, expm1

# ---- of two operands

arctan2 = atan2
divide = div
tensor_div = renamed("tensor_div", real_div, "x", "y")
floor_divide = floordiv = tensor_floordiv = rounded_down
floor_div = renamed("floor_div", rounded_down, "x", "y")
mod = floor_mod
remainder = renamed("remainder", floor_mod, "input", "other")
floormod, tensor_mod = (renamed(name, floor_mod, "x", "y") for name in ("floormod", "tensor_mod"))
multiply = tensor_mul = mul
pows = tensor_pow = pow_
tensor_sub = sub
tensor_add = add


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
mean = reduce_mean
movedim = moveaxis
reshape_ = reshape
shape_ = renamed("shape_", shape, "x")
soft_shrink = softshrink
swapdims = renamed("swapdims", swapaxes, "input", "dim0", "dim1")
install("swapdims", swapdims)
tensor_range = range_
scalar_to_array = scalar_to_tensor
view_as = same_shape

# ---- of MindSpore's extended functions

baddbmm_ext, einsum_ext, float_power_ext = baddbmm, einsum, float_power
diff_ext = renamed("diff_ext", diff, "input", "n", "dim")
intopk, isnan_ext = in_top_k, renamed("isnan_ext", isnan, "tensor")
tensor_muls = mul
tensor_slice = renamed("tensor_slice", slice_, "input")


def relu(input: Operand, inplace: bool = False) -> Tensor:
    """max(x, 0); with `inplace` the tensor itself, holding it."""
    made = rectified(input)
    if not inplace or not isinstance(input, Tensor):
        return made
    write(input, ..., made)
    return made if input.is_parameter else input


def argwhere(input: Tensor) -> Tensor:
    """int64 [count, axes]: the places of what is not zero."""
    made: Tensor = nonzero(input)
    return made


def top_k(input_x: Tensor, k: int, sorted: bool = True) -> tuple[Tensor, Tensor]:
    """(the k largest elements of the last axis in descending order, their int32 places)."""
    return topk(input_x, k, sorted=sorted)


unbind = renamed("unbind", unstack, "input", "dim")

__all__ = [
    "abs", "absolute", "accumulate_n", "all", "any", "arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctan2",
    "arctanh", "argwhere", "baddbmm_ext", "clip", "diff_ext", "divide", "einsum_ext", "embed", "eq", "fix",
    "float_power_ext", "floor_div", "floor_divide", "floordiv", "floormod", "ge", "gt", "intopk", "inv", "invert",
    "isnan_ext", "le", "lt", "max", "mean", "min", "mod", "movedim", "multiply", "ne", "negative", "pow", "pows", "range",
    "relu", "remainder", "reshape_", "round", "scalar_to_array", "shape_", "slice", "soft_shrink", "subtract",
    "sum", "swapdims", "tensor_add", "tensor_div", "tensor_eq", "tensor_exp", "tensor_expm1", "tensor_floordiv",
    "tensor_ge", "tensor_gt", "tensor_le", "tensor_lt", "tensor_mod", "tensor_mul", "tensor_muls", "tensor_pow",
    "tensor_range", "tensor_slice", "tensor_sub", "top_k", "unbind", "view_as",
]  # fmt: skip
