"""What is made of factors of square matrices: inverse and determinant by those of LU; Cholesky's factor."""

from __future__ import annotations

import numpy as np

from graphc.errors import ShapeError, user_loc
from graphc.ir.types import HALVES, INTEGERS
from graphc.ops.functional.core import call, cast
from graphc.ops.functional.create import eye
from graphc.ops.functional.diagonals import diagonal
from graphc.ops.functional.elementwise import abs_, less, log, mul, neg, sign
from graphc.ops.functional.joining import concat
from graphc.ops.functional.logic import select
from graphc.ops.functional.products import broadcast_batches
from graphc.ops.functional.reduce import reduce_prod, reduce_sum
from graphc.ops.functional.shapes import broadcast_to
from graphc.ops.functional.slicing import getitem
from graphc.ops.tensor.methods import method
from graphc.ops.tensor.tensor import Tensor

# ---- linear algebra


def matrices(owner: str, x: Tensor, integers: bool = False, complexes: bool = False) -> int:
    """The size of square matrices of floats, or integers, or complex numbers. ShapeError for anything else."""
    type = x.tensor_type
    known = type.is_float or (integers and type.dtype in INTEGERS) or (complexes and type.is_complex)
    if x.ndim < 2 or x.shape[-1] != x.shape[-2] or not known:
        kinds = "float or complex" if complexes else "float"
        raise ShapeError(f"{owner}: x is {type}, expected square {kinds} matrices", loc=user_loc())
    return x.shape[-1]


def whole(x: Tensor) -> Tensor:
    """What a decomposition is computed of: halves in float32, everything else as it is."""
    return cast(x, "float32") if x.tensor_type.dtype in HALVES else x


def of_parts(x: Tensor) -> Tensor:
    """[[re, -im], [im, re]]: products of such matrices are those of the complex ones."""
    re, im = call("Real", x), call("Imag", x)
    return concat((concat((re, neg(im)), -1), concat((im, re), -1)), -2)


def solved(a: Tensor, b: Tensor, transposed: bool = False) -> Tensor:
    """x with a x = b, or with a's conjugate transpose, for matrices of right sides; leading axes are broadcast.

    Factors are made before that: a compiled step makes those of one matrix once. Complex systems are real ones of twice the size.
    """
    if a.tensor_type.is_complex:
        size = a.shape[-1]
        made = solved(of_parts(a), concat((call("Real", b), call("Imag", b)), -2), transposed)
        parts = (getitem(made, (..., part, slice(None))) for part in (slice(0, size), slice(size, None)))
        return call("Complex", *parts)
    packed, order, _ = call("LU", a)
    lead = broadcast_batches("solve", a, b)
    axes = ((a, 2), (b, 2), (packed, 2), (order, 1))
    operands = (x if x.shape[:-own] == lead else broadcast_to(x, (*lead, *x.shape[-own:])) for x, own in axes)
    return call("SolveLU", *operands, transposed=transposed)


@method()
def inverse(input: Tensor) -> Tensor:
    """The inverse of square matrices, by LU factors; infinities and NaN where there is none."""
    return solved(input, eye(matrices("inverse", input, complexes=True), dtype=input.dtype))


def _pivots(owner: str, x: Tensor) -> tuple[Tensor, Tensor, tuple[Tensor, ...]]:
    """The diagonal of the upper factor of square matrices, the sign of the order of rows, and what `Det` is made of."""
    matrices(owner, x)
    packed, order, sign = call("LU", x)
    return diagonal(packed, 0, -2, -1), sign, (x, packed, order, sign)


@method("det", "matrix_determinant")
def det(input: Tensor) -> Tensor:
    """The determinant of square matrices, by LU factors. The gradient is that of the polynomial, the cofactors, also where it is
    zero.
    """
    pivots, exchanges, factors = _pivots("det", input)
    return call("Det", mul(reduce_prod(pivots, -1), exchanges), *factors)


matrix_determinant = det


@method("slogdet", "log_matrix_determinant")
def slogdet(input: Tensor) -> tuple[Tensor, Tensor]:
    """(the sign of the determinant, the logarithm of its absolute value); 0 and minus infinity where it is zero."""
    pivots, exchanges, factors = _pivots("slogdet", input)
    size = call("Det", reduce_sum(log(abs_(pivots)), -1), *factors, log=True)
    return mul(reduce_prod(sign(pivots), -1), exchanges), size


log_matrix_determinant = slogdet


@method()
def logdet(input: Tensor) -> Tensor:
    """The logarithm of the determinant: minus infinity for 0, NaN for negative ones."""
    turned, size = slogdet(input)
    return select(less(turned, 0.0), np.nan, size)


@method()
def cholesky(input_x: Tensor, upper: bool = False) -> Tensor:
    """The lower triangular L with L L^T the given symmetric positive definite matrices; upper: its transpose.

    Only the lower triangle is read. NaN where a matrix is not positive definite. The gradient is symmetric.
    """
    matrices("cholesky", input_x)
    return call("Cholesky", input_x, upper=bool(upper))


__all__ = [
    "cholesky",
    "det",
    "inverse",
    "log_matrix_determinant",
    "logdet",
    "matrix_determinant",
    "slogdet",
]
