"""MindSpore's further names of functions: older ones, short ones, and those that hide Python's built-in functions."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphc.errors import ArgumentValueError, user_loc
from graphc.ops import functional as F
from graphc.ops import primitives
from graphc.ops.functional import extra_reduce, extra_shape
from graphc.ops.tensor import Tensor, as_tensor

_range = range

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


def one_hot(indices: Tensor, depth: int, on_value: Any = 1, off_value: Any = 0, axis: int = -1) -> Tensor:
    """on_value at the index along a new axis, off_value elsewhere; int64 by default."""
    made: Tensor = primitives.OneHot(axis)(indices, depth, as_tensor(on_value), as_tensor(off_value))
    return made


def pad(input_x: Tensor, padding: Any, mode: str = "constant", value: Any = None) -> Tensor:
    """x with a border: `padding` is (before, after) of the last axis, then of the one before it, and so on.

    mode: "constant" (`value`, 0 by default), "reflect" or "replicate" (the last elements again). Pairs, one per axis from
    the first, are taken too.
    """
    if isinstance(padding, Tensor):
        padding = padding.asnumpy().tolist()
    if padding and isinstance(padding[0], (tuple, list)):
        pairs = [tuple(p) for p in padding]
    else:
        given = [tuple(padding[i : i + 2]) for i in _range(0, len(padding), 2)]
        pairs = [(0, 0)] * (input_x.ndim - len(given)) + given[::-1]
    if mode == "constant":
        return F.pad(input_x, pairs, 0 if value is None else value)
    kinds = {"reflect": "reflect", "replicate": "edge", "circular": "wrap"}
    if mode not in kinds:
        raise ArgumentValueError(f"pad: mode must be constant, {', '.join(kinds)}, got {mode!r}", loc=user_loc())
    for axis, pair in enumerate(pairs):
        if pair != (0, 0):
            kind: Any = kinds[mode]
            input_x = F.gather(
                input_x, Tensor(np.pad(np.arange(input_x.shape[axis], dtype=np.int32), pair, kind)), axis
            )
    return input_x


__all__ = [
    "accumulate_n", "all", "any", "argmax", "embed", "floordiv", "floormod", "max", "min", "mod", "one_hot", "pad", "pows",
    "range", "reshape_", "shape_", "slice", "soft_shrink", "swapdims", "tensor_add", "tensor_div", "tensor_dot", "tensor_eq",
    "tensor_exp", "tensor_expm1", "tensor_floordiv", "tensor_ge", "tensor_gt", "tensor_le", "tensor_lt", "tensor_mod",
    "tensor_mul", "tensor_pow", "tensor_range", "tensor_slice", "tensor_sub", "top_k",
]  # fmt: skip
