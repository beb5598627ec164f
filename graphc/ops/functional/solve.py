"""What is made of factors of square matrices: inverse and determinant by those of LU; Cholesky's factor."""

from __future__ import annotations

import numpy as np

from graphc.errors import ShapeError, user_loc
from graphc.ir.types import HALVES, INTEGERS
from graphc.ops.functional.core import call, cast
from graphc.ops.functional.create import eye, ones, zeros_like
from graphc.ops.functional.diagonals import diagonal
from graphc.ops.functional.elementwise import abs_, atan2, cos, equal, less, log, mul, neg, sin
from graphc.ops.functional.elementwise import sign as sign_of
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


def _pivots(x: Tensor) -> tuple[Tensor, Tensor]:
    """The diagonal of the upper factor of real square matrices, and the sign of the order of rows."""
    packed, _, sign = call("LU", x)
    return diagonal(packed, 0, -2, -1), sign


def _complex_pivots(x: Tensor) -> tuple[Tensor, Tensor]:
    """Complex numbers whose product is the determinant of complex square matrices, and the products without each of them."""
    form = call("DiagonalForm", call("Real", x), call("Imag", x))
    return call("Complex", *form[4:6]), call("Complex", *form[6:8])


@method("det", "matrix_determinant")
def det(input: Tensor) -> Tensor:
    """The determinant of square matrices. The gradient is that of the polynomial, the cofactors, and so is the gradient of this,
    also where it is zero.
    """
    size = matrices("det", input, complexes=True)
    if input.tensor_type.is_complex:
        pivots, without = _complex_pivots(input)
        value = getitem(mul(pivots, without), (..., 0)) if size else ones(input.shape[:-2], input.dtype)
        return call("Det", value, input)
    pivots, exchanges = _pivots(input)
    return call("Det", mul(reduce_prod(pivots, -1), exchanges), input)


matrix_determinant = det


@method("slogdet", "log_matrix_determinant")
def slogdet(input: Tensor) -> tuple[Tensor, Tensor]:
    """(the sign of the determinant, the logarithm of its absolute value); 0 and minus infinity where it is zero.

    Of complex matrices both are complex, the sign the determinant divided by its absolute value.
    """
    matrices("slogdet", input, complexes=True)
    if input.tensor_type.is_complex:
        size, turn = _complex_log(input)
        sign = select(equal(size, -np.inf), 0.0, call("Complex", cos(turn), sin(turn)))
        return sign, call("Complex", size, zeros_like(size))
    pivots, exchanges = _pivots(input)
    size = call("Det", reduce_sum(log(abs_(pivots)), -1), input, log=True)
    return mul(reduce_prod(sign_of(pivots), -1), exchanges), size


log_matrix_determinant = slogdet


def _complex_log(x: Tensor) -> tuple[Tensor, Tensor]:
    """The parts of the logarithm of the determinant of complex square matrices, the second within pi; 0 where there is none."""
    pivots, _ = _complex_pivots(x)
    re, im = call("Real", pivots), call("Imag", pivots)
    turn = reduce_sum(atan2(im, re), -1)
    made = call("Det", call("Complex", reduce_sum(log(abs_(pivots)), -1), atan2(sin(turn), cos(turn))), x, log=True)
    return call("Real", made), call("Imag", made)


@method()
def logdet(input: Tensor) -> Tensor:
    """The logarithm of the determinant: minus infinity for 0, NaN for negative ones, of complex matrices the complex one."""
    if input.tensor_type.is_complex:
        matrices("logdet", input, complexes=True)
        return call("Complex", *_complex_log(input))
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
