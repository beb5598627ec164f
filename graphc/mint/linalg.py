"""Norms, the inverse and the QR decomposition (MindSpore: mindspore.mint.linalg)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from graphc import ops
from graphc.internal_errors import doors
from graphc.ops.functional.core import Axis
from graphc.ops.tensor.autocast import mark
from graphc.ops.tensor.tensor import Tensor


def inv(input: Tensor) -> Tensor:
    """The inverses of square matrices [..., n, n]."""
    return ops.inverse(input)


def vector_norm(
    x: Tensor, ord: float | str | None = 2, dim: Axis = None, keepdim: bool = False, *, dtype: Any = None
) -> Tensor:
    """(sum of |x|**ord)**(1 / ord) along axes, by default over all elements; inf and -inf the greatest and least, 0 how many
    are not zero.
    """
    return ops.vector_norm(x, ord, dim, keepdim, dtype=dtype)


def matrix_norm(
    A: Tensor,
    ord: float | str | None = "fro",
    dim: Sequence[int] = (-2, -1),
    keepdim: bool = False,
    *,
    dtype: Any = None,
) -> Tensor:
    """The norm of matrices in two axes: "fro", "nuc", and 1, -1, 2, -2, inf or -inf."""
    return ops.matrix_norm(A, ord, dim, keepdim, dtype=dtype)


def norm(
    A: Tensor, ord: float | str | None = None, dim: Axis = None, keepdim: bool = False, *, dtype: Any = None
) -> Tensor:
    """`vector_norm` for one axis, and of all elements without ord and dim; `matrix_norm` for two."""
    return ops.norm(A, ord, dim, keepdim, dtype=dtype)


def qr(A: Tensor, mode: str = "reduced") -> tuple[Tensor, Tensor]:
    """(Q, R), Q orthogonal and R upper triangular, whose product is A; mode "complete" makes Q square, "r" leaves it empty."""
    if mode == "r":
        return ops.zeros((0,), A.dtype), ops.qr(A)[1]
    return ops.qr(A, mode)


__all__ = ["inv", "matrix_norm", "norm", "qr", "vector_norm"]

mark(globals(), __all__)
doors(globals(), __all__, __name__)
