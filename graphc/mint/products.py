"""Products of vectors, matrices and batches of them."""

from __future__ import annotations

from typing import Any

from graphc import ops
from graphc.arguments import only
from graphc.ops import addbmm, addmm, baddbmm, dot, einsum, inverse, mm, outer
from graphc.ops.tensor.tensor import Tensor

#: How torch may compute distances: graphc takes differences, the exact way, whatever is asked for.
_MODES = "use_mm_for_euclid_dist_if_necessary", "use_mm_for_euclid_dist", "donot_use_mm_for_euclid_dist"


def addmv(input: Tensor, mat: Tensor, vec: Tensor, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """beta * input + alpha * mat @ vec."""
    return ops.addmv(input, mat, vec, beta=beta, alpha=alpha)


def bmm(input: Tensor, mat2: Tensor) -> Tensor:
    """Products of two batches of matrices, [b, n, k] and [b, k, m]."""
    return ops.bmm(input, mat2)


def matmul(input: Tensor, other: Tensor) -> Tensor:
    """Matrix product, broadcast over leading axes; of vectors the dot product."""
    return ops.matmul(input, other)


def mv(input: Tensor, vec: Tensor) -> Tensor:
    """A matrix [n, k] times a vector [k]."""
    return ops.mv(input, vec)


def cross(input: Tensor, other: Tensor, dim: int | None = None) -> Tensor:
    """Cross products of vectors along an axis of length 3, by default the first such."""
    return ops.cross(input, other, dim)


def cdist(x1: Tensor, x2: Tensor, p: float = 2.0, compute_mode: str = "use_mm_for_euclid_dist_if_necessary") -> Tensor:
    """[..., n, m]: distances of the rows of x1 from those of x2, by the p-norm of their differences. compute_mode says how."""
    only("cdist", "compute_mode", compute_mode, *_MODES)
    return ops.cdist(x1, x2, float(p))


__all__ = [
    "addbmm", "addmm", "addmv", "baddbmm", "bmm", "cdist", "cross", "dot", "einsum", "inverse", "matmul", "mm", "mv", "outer",
]  # fmt: skip
