"""More products of vectors, matrices and tensors."""

from __future__ import annotations

import math
from typing import Any

from graphc.errors import ArgumentValueError, ShapeError, user_loc
from graphc.ops.functional.core import Number
from graphc.ops.functional.math import add, mul, sub
from graphc.ops.functional.network import matmul
from graphc.ops.functional.normalization import norm
from graphc.ops.functional.reduce import reduce_sum
from graphc.ops.functional.shape import broadcast_to, concat, expand_dims, getitem, reshape, transpose
from graphc.ops.rules import broadcast_shape
from graphc.ops.shape import check_axis
from graphc.ops.tensor import Tensor


def outer(input: Tensor, vec2: Tensor) -> Tensor:
    """x[i] y[j]."""
    return mul(reshape(input, (-1, 1)), reshape(vec2, (1, -1)))


def dot(input: Tensor, other: Tensor) -> Tensor:
    """Products over the last axis of x and the last but one of y."""
    if input.ndim <= 2 and other.ndim <= 2:
        return matmul(input, other)
    return tensor_dot(input, other, ([input.ndim - 1], [max(other.ndim - 2, 0)]))


def inner(input: Tensor, other: Tensor) -> Tensor:
    """Products over the last axes."""
    if not input.ndim or not other.ndim:
        return mul(input, other)
    return tensor_dot(input, other, ([input.ndim - 1], [other.ndim - 1]))


def tensor_dot(x1: Tensor, x2: Tensor, axes: Any) -> Tensor:
    """Products over axes: the last n of x1 with the first n of x2, or the given pairs of lists."""
    if isinstance(axes, int):
        first, second = list(range(x1.ndim - axes, x1.ndim)), list(range(axes))
    else:
        first, second = ([a] if isinstance(a, int) else list(a) for a in axes)
    first = [check_axis("tensor_dot", a, x1.ndim) for a in first]
    second = [check_axis("tensor_dot", a, x2.ndim) for a in second]
    if [x1.shape[a] for a in first] != [x2.shape[a] for a in second]:
        raise ShapeError(f"tensor_dot: axes {first} of {x1.type} do not fit axes {second} of {x2.type}", loc=user_loc())
    free1, free2 = ([i for i in range(x.ndim) if i not in a] for x, a in ((x1, first), (x2, second)))
    common = math.prod(x1.shape[a] for a in first)
    left = reshape(transpose(x1, (*free1, *first)), (-1, common))
    right = reshape(transpose(x2, (*second, *free2)), (common, -1))
    return reshape(matmul(left, right), (*(x1.shape[i] for i in free1), *(x2.shape[i] for i in free2)))


def mm(input: Tensor, mat2: Tensor) -> Tensor:
    """Product of two matrices."""
    return matmul(input, mat2)


def addmm(input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: Number = 1, alpha: Number = 1) -> Tensor:
    """beta input + alpha mat1 mat2; also for batches and vectors (baddbmm, addmv)."""
    return add(mul(input, beta), mul(matmul(mat1, mat2), alpha))


def addr(x: Tensor, vec1: Tensor, vec2: Tensor, *, beta: Number = 1, alpha: Number = 1) -> Tensor:
    """beta x + alpha times the outer product."""
    return add(mul(x, beta), mul(outer(vec1, vec2), alpha))


def addbmm(input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: Number = 1, alpha: Number = 1) -> Tensor:
    """beta input + alpha times the sum of the products of the batch."""
    return add(mul(input, beta), mul(reduce_sum(matmul(batch1, batch2), 0), alpha))


def kron(input: Tensor, other: Tensor) -> Tensor:
    """Kronecker product."""
    n = max(input.ndim, other.ndim)
    a, b = ((1,) * (n - x.ndim) + x.shape for x in (input, other))
    left = reshape(input, tuple(d for s in a for d in (s, 1)))
    right = reshape(other, tuple(d for s in b for d in (1, s)))
    return reshape(mul(left, right), tuple(s * t for s, t in zip(a, b, strict=True)))


def einsum(equation: str, *operands: Any) -> Tensor:
    """Einstein's sum over named axes, by products and sums; no repeated name within an operand."""
    tensors = list(operands[0]) if len(operands) == 1 and isinstance(operands[0], (tuple, list)) else list(operands)
    left, arrow, right = equation.replace(" ", "").partition("->")
    terms = left.split(",")
    if len(terms) != len(tensors) or any(
        len(s) != x.ndim or len(set(s)) != len(s) for s, x in zip(terms, tensors, strict=False)
    ):
        types = ", ".join(str(x.type) for x in tensors)
        raise ArgumentValueError(f"einsum: {equation!r} does not fit operands {types}", loc=user_loc())
    if not arrow:
        right = "".join(sorted(c for c in set("".join(terms)) if "".join(terms).count(c) == 1))
    names, value = terms[0], tensors[0]
    for i, (term, x) in enumerate(zip(terms[1:], tensors[1:], strict=True), 1):
        later = set("".join(terms[i + 1 :])) | set(right)
        names, value = _contracted(names, value, term, x, later)
    gone = tuple(k for k, c in enumerate(names) if c not in right)
    if gone:
        value, names = reduce_sum(value, gone), "".join(c for c in names if c in right)
    return transpose(value, tuple(names.index(c) for c in right)) if right != names else value


def _contracted(a: str, x: Tensor, b: str, y: Tensor, later: set[str]) -> tuple[str, Tensor]:
    """Two operands of an einsum as one: a product of matrices per shared index that stays."""
    batch = [c for c in a if c in b and c in later]
    common = [c for c in a if c in b and c not in later]
    mine, yours = [c for c in a if c not in b], [c for c in b if c not in a]
    size = {**dict(zip(a, x.shape, strict=True)), **dict(zip(b, y.shape, strict=True))}

    def arranged(names: str, value: Tensor, order: list[list[str]]) -> Tensor:
        moved = transpose(value, tuple(names.index(c) for group in order for c in group))
        return reshape(moved, tuple(math.prod(size[c] for c in group) for group in order))

    product = matmul(arranged(a, x, [batch, mine, common]), arranged(b, y, [batch, common, yours]))
    names = [*batch, *mine, *yours]
    return "".join(names), reshape(product, tuple(size[c] for c in names))


def cross(input: Tensor, other: Tensor, dim: int | None = None) -> Tensor:
    """The vector product along an axis of size 3, the first such axis by default."""
    x, y = broadcast_to_each_other(input, other)
    found = [i for i, d in enumerate(x.shape) if d == 3] if dim is None else [check_axis("cross", dim, x.ndim)]
    if not found or x.shape[found[0]] != 3:
        raise ShapeError(f"cross: {input.type} and {other.type} have no such axis of size 3", loc=user_loc())
    before = (slice(None),) * found[0]
    a, b = ([getitem(v, (*before, slice(k, k + 1))) for k in range(3)] for v in (x, y))
    parts = [sub(mul(a[i], b[j]), mul(a[j], b[i])) for i, j in ((1, 2), (2, 0), (0, 1))]
    return concat(parts, found[0])


def broadcast_to_each_other(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    """Both in their common shape."""
    shape = broadcast_shape("broadcast", (x.type, y.type))
    return broadcast_to(x, shape), broadcast_to(y, shape)


def cdist(x1: Tensor, x2: Tensor, p: float = 2.0) -> Tensor:
    """The p-norms of all differences of a row of x1 and a row of x2."""
    return norm(sub(expand_dims(x1, -2), expand_dims(x2, -3)), p, -1)


bmm, mv, baddbmm, addmv = matmul, matmul, addmm, addmm

__all__ = [
    "addbmm", "addmm", "addmv", "addr", "baddbmm", "bmm", "cdist", "cross", "dot", "einsum", "inner", "kron", "mm", "mv", "outer",
    "tensor_dot",
]  # fmt: skip
