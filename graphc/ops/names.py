"""MindSpore's further names of functions: older ones, short ones, and those that hide Python's built-in functions."""

from __future__ import annotations

from graphc.ops import functional as F
from graphc.ops.functional import extra_reduce, extra_shape

# ---- names of built-in functions

max, min, argmax = extra_reduce.max_, extra_reduce.min_, extra_reduce.argmax_
range, slice, all, any = extra_shape.range_, extra_shape.slice_, F.all_, F.any_

# ---- other names of the same functions

tensor_add, tensor_sub, tensor_mul, tensor_div, tensor_floordiv = F.add, F.sub, F.mul, F.div, F.floor_div
tensor_mod, tensor_pow, tensor_exp, tensor_expm1 = F.floor_mod, F.pow_, F.exp, F.expm1
tensor_eq, tensor_lt, tensor_le, tensor_gt, tensor_ge = F.equal, F.less, F.less_equal, F.greater, F.greater_equal
floordiv, floormod, pows, mod = F.floor_div, F.floor_mod, F.pow_, F.floor_mod
tensor_slice, tensor_range = F.strided_slice, extra_shape.range_
swapdims, top_k, tensor_dot, soft_shrink = F.swapaxes, F.topk, F.tensor_dot, F.softshrink
reshape_, shape_, accumulate_n, embed = F.reshape, F.shape, F.addn, F.gather

__all__ = [
    "accumulate_n", "all", "any", "argmax", "embed", "floordiv", "floormod", "max", "min", "mod", "pows", "range",
    "reshape_", "shape_", "slice", "soft_shrink", "swapdims", "tensor_add", "tensor_div", "tensor_dot", "tensor_eq",
    "tensor_exp", "tensor_expm1", "tensor_floordiv", "tensor_ge", "tensor_gt", "tensor_le", "tensor_lt", "tensor_mod",
    "tensor_mul", "tensor_pow", "tensor_range", "tensor_slice", "tensor_sub", "top_k",
]  # fmt: skip
