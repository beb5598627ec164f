"""Primitives of MindSpore's `_inner_ops` that run on a CPU and mean something outside of its own machinery."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest
from typing import Any

import numpy as np

from graphc import ops
from graphc.compat.primitives import mixed_precision_cast
from graphc.errors import ArgumentTypeError, DTypeError, ShapeError, user_loc
from graphc.ops.declared.rules import broadcast_shapes
from graphc.ops.functional.shapes import whole_numbers
from graphc.ops.primitives.pull import numbers
from graphc.ops.tensor.primitive import declare
from graphc.ops.tensor.tensor import Tensor


def _clip_by_norm(x: Tensor, clip_norm: Tensor, axis: Any) -> Tensor:
    """float32: x, where the root of the sum of squares along the axes, by default all, is greater than clip_norm scaled to it.

    Along single axes MindSpore's kernel sums other elements than those.
    """
    for name, given in (("x", x), ("clip_norm", clip_norm)):
        if not isinstance(given, Tensor):
            raise ArgumentTypeError(f"ClipByNorm: {name} must be a Tensor, got {type(given).__name__}", loc=user_loc())
        if given.tensor_type.dtype not in ("float16", "float32"):
            raise DTypeError(f"ClipByNorm: {name} is {given.tensor_type}, expected float16 or float32", loc=user_loc())
    if broadcast_shapes("ClipByNorm", x.shape, clip_norm.shape) != x.shape:
        raise ShapeError(
            f"ClipByNorm: clip_norm is {clip_norm.tensor_type}, which cannot be broadcast to {x.tensor_type}",
            loc=user_loc(),
        )
    x, clip = ops.cast(x, "float32"), ops.cast(clip_norm, "float32")
    norm = ops.sqrt(ops.reduce_sum(ops.square(x), () if axis is None else axis, True))
    made: Tensor = ops.DivNoNan()(x * clip, ops.maximum(norm, clip))
    return made


ClipByNorm = declare("ClipByNorm", _clip_by_norm, axis=None)
DynamicBroadcastTo = declare(
    "DynamicBroadcastTo",
    lambda x, shape: ops.broadcast_to(
        x, whole_numbers("DynamicBroadcastTo", "shape", numbers("DynamicBroadcastTo", shape))
    ),
    "x in a shape, of which the value is known.",
)


def _broadcast_axes(x_shape: Any, y_shape: Any) -> tuple[Tensor, Tensor]:
    """int64: the axes along which gradients of two operands of these shapes, which are broadcast together, are summed."""
    owner = "DynamicBroadcastGradientArgs"
    shapes = [whole_numbers(owner, n, numbers(owner, s)) for n, s in (("x_shape", x_shape), ("y_shape", y_shape))]
    broadcast_shapes(owner, *shapes)
    return _summed(*shapes), _summed(*shapes[::-1])


def _summed(own: Sequence[int], other: Sequence[int]) -> Tensor:
    """The axes of the common shape that `own` has not, or has with the size 1 where the other has more."""
    rank = max(len(own), len(other))
    pairs = list(zip_longest(own[::-1], other[::-1]))[::-1]
    missing = rank - len(own)
    return Tensor(
        np.array([k for k, (a, b) in enumerate(pairs) if k < missing or (a == 1 and b not in (1, None))], np.int64)
    )


DynamicBroadcastGradientArgs = declare("DynamicBroadcastGradientArgs", _broadcast_axes)
MixedPrecisionCast = declare("MixedPrecisionCast", mixed_precision_cast)


def _same(x: Tensor, y: Tensor) -> Tensor:
    """x, of the dtype and the shape of y; else ArgumentTypeError, DTypeError or ShapeError."""
    for name, given in (("x", x), ("y", y)):
        if not isinstance(given, Tensor):
            raise ArgumentTypeError(
                f"SameTypeShape: {name} must be a Tensor, got {type(given).__name__}", loc=user_loc()
            )
    if x.tensor_type != y.tensor_type:
        kind = DTypeError if x.dtype != y.dtype else ShapeError
        raise kind(f"SameTypeShape: x is {x.tensor_type}, y {y.tensor_type}", loc=user_loc())
    return x


SameTypeShape = declare("SameTypeShape", _same)
#: An object of it, as MindSpore has it.
same_type_shape_ = SameTypeShape()

__all__ = [
    "ClipByNorm",
    "DynamicBroadcastGradientArgs",
    "DynamicBroadcastTo",
    "MixedPrecisionCast",
    "SameTypeShape",
    "same_type_shape_",
]
