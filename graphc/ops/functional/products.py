"""Products of vectors, matrices and tensors."""

from __future__ import annotations

import math
from collections.abc import Sequence

from graphc.errors import ShapeError, user_loc
from graphc.ir.types import INTEGERS
from graphc.ops.declared.rules import broadcast_shape, broadcast_shapes
from graphc.ops.declared.shape import check_axis
from graphc.ops.functional.core import Operand, call, cast_to
from graphc.ops.functional.elementwise import add, mul, sub
from graphc.ops.functional.joining import concat
from graphc.ops.functional.operand_checks import require_rank
from graphc.ops.functional.reduce import reduce_sum, sum_
from graphc.ops.functional.shapes import broadcast_to, expand_dims, reshape, swapaxes, transpose
from graphc.ops.functional.slicing import getitem
from graphc.ops.tensor.methods import method
from graphc.ops.tensor.tensor import Tensor


@method("matmul", "mm", "mv")
def matmul(input: Tensor, other: Tensor, transpose_a: bool = False, transpose_b: bool = False) -> Tensor:
    """Matrix product; leading axes are broadcast, and vectors are treated as NumPy does."""
    x, y = input, other
    if x.ndim == 0 or y.ndim == 0:
        raise ShapeError(
            f"matmul: operands are {x.tensor_type} and {y.tensor_type}, expected at least one axis", loc=user_loc()
        )
    if x.ndim == 1 or y.ndim == 1:
        a = expand_dims(x, 0) if x.ndim == 1 else x
        b = expand_dims(y, 1) if y.ndim == 1 else y
        product = matmul(a, b, transpose_a and x.ndim > 1, transpose_b and y.ndim > 1)
        shape = product.shape
        if y.ndim == 1:
            shape = shape[:-1]
        if x.ndim == 1:
            shape = (*shape[: product.ndim - 2], *shape[product.ndim - 1 :])
        return reshape(product, shape)
    if {x.tensor_type.dtype, y.tensor_type.dtype} <= {"bool", *INTEGERS}:
        return _integer_product(x, y, transpose_a, transpose_b)
    flags = {"transpose_a": bool(transpose_a), "transpose_b": bool(transpose_b)}
    if x.ndim == y.ndim == 2:
        return call("MatMul", x, y, **flags)
    if y.ndim == 2 and not transpose_a:
        # One product for all leading indices.
        product = call("MatMul", reshape(x, (math.prod(x.shape[:-1]), x.shape[-1])), y, **flags)
        return reshape(product, (*x.shape[:-1], product.shape[-1]))
    lead = broadcast_batches("matmul", x, y)
    x = x if x.shape[:-2] == lead else broadcast_to(x, (*lead, *x.shape[-2:]))
    y = y if y.shape[:-2] == lead else broadcast_to(y, (*lead, *y.shape[-2:]))
    return call("BatchMatMul", x, y, **flags)


def broadcast_batches(owner: str, x: Tensor, y: Tensor) -> tuple[int, ...]:
    """The shape that the leading axes of two batches of matrices are broadcast to; ShapeError GC102 for others."""
    return broadcast_shapes(owner, x.shape[:-2], y.shape[:-2], of=f"of the batches {x.tensor_type} and {y.tensor_type}")


def _integer_product(x: Tensor, y: Tensor, transpose_a: bool, transpose_b: bool) -> Tensor:
    """A matrix product as a sum of products: there is no matrix kernel for integers."""
    x = swapaxes(x, -1, -2) if transpose_a else x
    y = swapaxes(y, -1, -2) if transpose_b else y
    if x.shape[-1] != y.shape[-2]:
        raise ShapeError(
            f"matmul: {x.tensor_type} has rows of {x.shape[-1]}, {y.tensor_type} has columns of {y.shape[-2]}",
            loc=user_loc(),
        )
    return reduce_sum(mul(expand_dims(x, -1), expand_dims(y, -3)), -2)


@method()
def outer(input: Tensor, vec2: Tensor) -> Tensor:
    """x[i] y[j]."""
    return mul(reshape(input, (-1, 1)), reshape(vec2, (1, -1)))


@method()
def dot(input: Tensor, other: Tensor) -> Tensor:
    """Products over the last axis of x and the last but one of y."""
    if input.ndim <= 2 and other.ndim <= 2:
        return matmul(input, other)
    return tensor_dot(input, other, ([input.ndim - 1], [max(other.ndim - 2, 0)]))


@method()
def inner(input: Tensor, other: Tensor) -> Tensor:
    """Products over the last axes."""
    if not input.ndim or not other.ndim:
        return mul(input, other)
    return tensor_dot(input, other, ([input.ndim - 1], [other.ndim - 1]))


def tensor_dot(x1: Tensor, x2: Tensor, axes: int | Sequence[int | Sequence[int]]) -> Tensor:
    """Products over axes: the last n of x1 with the first n of x2, or the given pairs of lists."""
    if isinstance(axes, int):
        first, second = list(range(x1.ndim - axes, x1.ndim)), list(range(axes))
    else:
        first, second = ([a] if isinstance(a, int) else list(a) for a in axes)
    first = [check_axis("tensor_dot", a, x1.ndim) for a in first]
    second = [check_axis("tensor_dot", a, x2.ndim) for a in second]
    if [x1.shape[a] for a in first] != [x2.shape[a] for a in second]:
        raise ShapeError(
            f"tensor_dot: axes {first} of {x1.tensor_type} do not fit axes {second} of {x2.tensor_type}", loc=user_loc()
        )
    free1, free2 = ([i for i in range(x.ndim) if i not in a] for x, a in ((x1, first), (x2, second)))
    common = math.prod(x1.shape[a] for a in first)
    shape1, shape2 = (tuple(x.shape[i] for i in free) for x, free in ((x1, free1), (x2, free2)))
    left = reshape(transpose(x1, (*free1, *first)), (math.prod(shape1), common))
    right = reshape(transpose(x2, (*second, *free2)), (common, math.prod(shape2)))
    return reshape(matmul(left, right), (*shape1, *shape2))


def mm(input: Tensor, mat2: Tensor) -> Tensor:
    """Product of two matrices."""
    require_rank("mm", "input", input, 2)
    require_rank("mm", "mat2", mat2, 2)
    return matmul(input, mat2)


@method()
def bmm(input_x: Tensor, mat2: Tensor) -> Tensor:
    """Products of the matrices of two batches."""
    return matmul(input_x, mat2)


def mv(mat: Tensor, vec: Tensor) -> Tensor:
    """Product of a matrix and a vector."""
    require_rank("mv", "mat", mat, 2)
    require_rank("mv", "vec", vec, 1)
    return matmul(mat, vec)


def _plus(input: Tensor, product: Tensor, beta: Operand, alpha: Operand) -> Tensor:
    return add(mul(input, beta), mul(product, alpha))


@method("addmm")
def addmm(input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: Operand = 1, alpha: Operand = 1) -> Tensor:
    """beta input + alpha mat1 mat2."""
    require_rank("addmm", "mat1", mat1, 2)
    require_rank("addmm", "mat2", mat2, 2)
    return _plus(input, matmul(mat1, mat2), beta, alpha)


@method()
def baddbmm(input: Tensor, batch1: Tensor, batch2: Tensor, beta: Operand = 1, alpha: Operand = 1) -> Tensor:
    """beta input + alpha batch1 batch2, of batches of matrices."""
    return _plus(input, matmul(batch1, batch2), beta, alpha)


@method()
def addmv(input: Tensor, mat: Tensor, vec: Tensor, beta: Operand = 1, alpha: Operand = 1) -> Tensor:
    """beta input + alpha mat vec, of a matrix and a vector."""
    require_rank("addmv", "mat", mat, 2)
    require_rank("addmv", "vec", vec, 1)
    return _plus(input, matmul(mat, vec), beta, alpha)


def addr(x: Tensor, vec1: Tensor, vec2: Tensor, *, beta: Operand = 1, alpha: Operand = 1) -> Tensor:
    """beta x + alpha times the outer product."""
    return _plus(x, outer(vec1, vec2), beta, alpha)


@method()
def addbmm(input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: Operand = 1, alpha: Operand = 1) -> Tensor:
    """beta input + alpha times the sum of the products of the batch; of integers in int64, as `sum`."""
    return _plus(input, sum_(matmul(batch1, batch2), 0), beta, alpha)


def kron(input: Tensor, other: Tensor) -> Tensor:
    """Kronecker product."""
    n = max(input.ndim, other.ndim)
    a, b = ((1,) * (n - x.ndim) + x.shape for x in (input, other))
    left = reshape(input, tuple(d for s in a for d in (s, 1)))
    right = reshape(other, tuple(d for s in b for d in (1, s)))
    return reshape(mul(left, right), tuple(s * t for s, t in zip(a, b, strict=True)))


@method()
def cross(input: Tensor, other: Tensor, dim: int | None = None) -> Tensor:
    """The vector product along an axis of size 3, the first such axis by default."""
    x, y = broadcast_to_each_other(input, other)
    found = [i for i, d in enumerate(x.shape) if d == 3] if dim is None else [check_axis("cross", dim, x.ndim)]
    if not found or x.shape[found[0]] != 3:
        raise ShapeError(
            f"cross: {input.tensor_type} and {other.tensor_type} have no such axis of size 3", loc=user_loc()
        )
    before = (slice(None),) * found[0]
    a, b = ([getitem(v, (*before, slice(k, k + 1))) for k in range(3)] for v in (x, y))
    parts = [sub(mul(a[i], b[j]), mul(a[j], b[i])) for i, j in ((1, 2), (2, 0), (0, 1))]
    return concat(parts, found[0])


def broadcast_to_each_other(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    """Both in their common shape."""
    shape = broadcast_shape("broadcast", (x.tensor_type, y.tensor_type))
    return broadcast_to(x, shape), broadcast_to(y, shape)


@method()
def ger(input: Tensor, vec2: Tensor) -> Tensor:
    """The outer product of two vectors."""
    require_rank("ger", "input", input, 1)
    require_rank("ger", "vec2", vec2, 1)
    return mul(expand_dims(input, 1), expand_dims(vec2, 0))


def vecdot(x: Tensor, y: Tensor, *, axis: int = -1) -> Tensor:
    """Products summed over an axis; those of integers in int64."""
    products = mul(x, y) if x.tensor_type.is_float or y.tensor_type.is_float else mul(cast_to(x, "int64"), y)
    return reduce_sum(products, axis)


def dense(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """x weight^T + bias."""
    y = matmul(input, weight, False, True)
    return y if bias is None else add(y, bias)


__all__ = [
    "addbmm",
    "addmm",
    "addmv",
    "addr",
    "baddbmm",
    "bmm",
    "cross",
    "dense",
    "dot",
    "ger",
    "inner",
    "kron",
    "matmul",
    "mm",
    "mv",
    "outer",
    "tensor_dot",
    "vecdot",
]
