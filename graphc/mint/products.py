"""Products of vectors, matrices and batches of them."""

from __future__ import annotations

import math
from typing import Any

from graphc import ops
from graphc.ops import addmm, dot, einsum, inverse, mm
from graphc.ops.functional.core import Axis, Operand
from graphc.ops.functional.index import write
from graphc.ops.functional.norms import only_floats
from graphc.ops.functional.operand_checks import require_rank
from graphc.ops.tensor.tensor import Tensor
from graphc.validation.unused_arguments import only, refusal

#: How torch may compute distances: graphc takes differences, the exact way, whatever is asked for.
_MODES = "use_mm_for_euclid_dist_if_necessary", "use_mm_for_euclid_dist", "donot_use_mm_for_euclid_dist"


def addr_(input: Tensor, vec1: Tensor, vec2: Tensor, beta: Operand = 1, alpha: Operand = 1) -> Tensor:
    """input, holding beta * what it held + alpha * the outer product of vec1 and vec2."""
    write(input, ..., ops.addr(input, vec1, vec2, beta=beta, alpha=alpha))
    return input


def addmv(input: Tensor, mat: Tensor, vec: Tensor, *, beta: Operand = 1, alpha: Operand = 1) -> Tensor:
    """beta * input + alpha * mat @ vec."""
    return ops.addmv(input, mat, vec, beta=beta, alpha=alpha)


def addbmm(input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: Operand = 1, alpha: Operand = 1) -> Tensor:
    """beta input + alpha times the sum of the products of the batch, in the dtype of input."""
    require_rank("addbmm", "batch1", batch1, 3)
    require_rank("addbmm", "batch2", batch2, 3)
    return ops.cast(ops.addbmm(input, batch1, batch2, beta=beta, alpha=alpha), input.dtype)


def baddbmm(input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: Operand = 1, alpha: Operand = 1) -> Tensor:
    """beta * input + alpha * batch1 @ batch2, of batches of matrices."""
    require_rank("baddbmm", "batch1", batch1, 3)
    require_rank("baddbmm", "batch2", batch2, 3)
    return ops.baddbmm(input, batch1, batch2, beta=beta, alpha=alpha)


def bmm(input: Tensor, mat2: Tensor) -> Tensor:
    """Products of two batches of matrices, [b, n, k] and [b, k, m]."""
    require_rank("bmm", "input", input, 3)
    require_rank("bmm", "mat2", mat2, 3)
    return ops.bmm(input, mat2)


def outer(input: Tensor, vec2: Tensor) -> Tensor:
    """The outer product of two vectors."""
    return ops.ger(input, vec2)


def matmul(input: Tensor, other: Tensor) -> Tensor:
    """Matrix product, broadcast over leading axes; of vectors the dot product."""
    return ops.matmul(input, other)


def triangular_solve(
    b: Tensor, A: Tensor, upper: bool = True, transpose: bool = False, unitriangular: bool = False
) -> tuple[Tensor, Tensor]:
    """(x of A x = b, A) for a triangular A, of which the other triangle, and with unitriangular the diagonal, is not read."""
    made: tuple[Tensor, Tensor] = b.triangular_solve(A, upper, transpose, unitriangular)
    return made


def vdot(input: Tensor, other: Tensor) -> Tensor:
    """The dot product of two vectors of real numbers."""
    return ops.dot(input, other)


def norm(
    input: Tensor, p: float | str | None = "fro", dim: Axis = None, keepdim: bool = False, *, dtype: Any = None
) -> Tensor:
    """(sum of |x|**p)**(1 / p) along axes, by default over all elements; "fro" is 2, inf and -inf the greatest and least."""
    chosen = 2.0 if p == "fro" else p
    if isinstance(chosen, str):
        raise refusal("norm", "p", p, "fro")
    made = input if dtype is None else ops.cast(input, only_floats("norm", dtype))
    shape = tuple(1 for _ in input.shape)
    if dim is None:
        flat = ops.norm(ops.reshape(made, (-1,)), chosen)
        return ops.reshape(flat, shape) if keepdim else flat
    axes = (dim,) if isinstance(dim, int) else tuple(dim)
    if len(axes) == 1:
        return ops.norm(made, chosen, axes[0], keepdim)
    kept = [axis for axis in range(input.ndim) if axis not in {a % input.ndim for a in axes}]
    moved = ops.transpose(made, (*kept, *(a % input.ndim for a in axes)))
    over = math.prod(input.shape[a] for a in axes)
    flat = ops.norm(ops.reshape(moved, (*(input.shape[axis] for axis in kept), over)), chosen, -1)
    final = tuple(n if axis in kept else 1 for axis, n in enumerate(input.shape))
    return ops.reshape(flat, final) if keepdim else flat


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
    "addbmm", "addmm", "addmv", "addr_", "baddbmm", "bmm", "cdist", "cross", "dot", "einsum", "inverse", "matmul", "mm", "mv",
    "norm", "outer", "triangular_solve", "vdot",
]  # fmt: skip
