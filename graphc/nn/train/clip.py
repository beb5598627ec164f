"""Clipping of gradients as Cells."""

from __future__ import annotations

from typing import Any

from graphc import ops
from graphc.errors import ArgumentValueError, user_loc
from graphc.nn import checks
from graphc.nn.cell.cell import Cell
from graphc.ops.functional.clipping import global_norm
from graphc.ops.tensor.tensor import Tensor


class ClipByNorm(Cell):
    """clip_norm * x / norm where the 2-norm of x is greater than clip_norm, else x, also where the norm is NaN
    (MindSpore: nn.ClipByNorm).

    axis: the axes over which the norm is taken, an int or a tuple of them; None for all. Called with x, a float
    tensor, and clip_norm, a tensor that broadcasts against x; returns float32 of x's shape. Raises ArgumentTypeError
    for another axis.
    """

    def __init__(self, axis: int | tuple[int, ...] | None = None) -> None:
        super().__init__()
        axes = axis if isinstance(axis, tuple) else (axis,)
        if axis is not None and not all(map(checks.is_int, axes)):
            raise checks.wrong_type("ClipByNorm", "axis", "an int, a tuple of ints or None", axis)
        self.axis = axis

    def construct(self, x: Tensor, clip_norm: Any) -> Tensor:
        if not isinstance(x, Tensor) or not x.tensor_type.is_float:
            raise checks.wrong_type("ClipByNorm", "x", "a float Tensor", x)
        x = ops.cast(x, "float32")
        limit = ops.cast(clip_norm, "float32")
        norm = ops.sqrt(ops.reduce_sum(ops.square(x), self.axis, keep_dims=True))
        return x * limit / ops.select(norm > limit, norm, limit)

    def extend_repr(self) -> str:
        return f"axis={self.axis}"


class ClipGradNorm(Cell):
    """(x scaled down to the norm max_norm, the norm before) (MindFormers: ClipGradNorm).

    norm = sqrt(sum of all squares); each tensor is multiplied by min(max_norm / (max(norm, max_norm) + 1e-6), 1) in
    float32 and keeps its dtype. Squares, and the sum over one tensor, are taken in its own dtype: float16 may
    overflow, which makes the result 0. Called with a tuple or list of float tensors; returns (tuple of tensors,
    float32[1]). max_norm: a number > 0; use_norm: None. Raises ArgumentTypeError, ArgumentValueError.
    """

    def __init__(self, max_norm: float = 1.0, use_norm: None = None) -> None:
        super().__init__()
        if use_norm is not None:
            raise ArgumentValueError(f"ClipGradNorm: use_norm must be None, got {use_norm!r}", loc=user_loc())
        self.max_norm = checks.real("ClipGradNorm", "max_norm", max_norm, above=0)

    def construct(self, x: Any) -> tuple[tuple[Tensor, ...], Tensor]:
        if not isinstance(x, (tuple, list)) or not x or not all(isinstance(t, Tensor) for t in x):
            raise checks.wrong_type("ClipGradNorm", "x", "a tuple of Tensors", x)
        norm = global_norm(x)
        # NaN is not >= max_norm: x then stays as it is, up to the 1e-6.
        factor = self.max_norm / (ops.select(norm >= self.max_norm, norm, self.max_norm) + 1e-6)
        factor = ops.minimum(factor, 1.0)
        clipped = tuple(ops.cast(ops.cast(t, "float32") * factor, t.dtype) for t in x)
        return clipped, ops.reshape(norm, (1,))

    def extend_repr(self) -> str:
        return f"max_norm={self.max_norm:g}"


__all__ = ["ClipByNorm", "ClipGradNorm"]
