"""Linear systems solved: by factors of LU and of Cholesky's, by triangles, by least squares."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphc.errors import ArgumentTypeError, DTypeError, ShapeError, user_loc
from graphc.ops.functional.bounds import exchanges_in_bounds
from graphc.ops.functional.core import call, cast, cast_to, is_number
from graphc.ops.functional.create import eye
from graphc.ops.functional.diagonals import tril, triu
from graphc.ops.functional.elements import elements_at
from graphc.ops.functional.elementwise import add, equal, mul, sub
from graphc.ops.functional.products import broadcast_batches, matmul
from graphc.ops.functional.shapes import broadcast_to, expand_dims, swapaxes
from graphc.ops.functional.slicing import getitem
from graphc.ops.functional.solve import matrices, solved, whole
from graphc.ops.tensor.methods import method
from graphc.ops.tensor.tensor import Tensor


def _same_rows(owner: str, a: Tensor, b: Tensor) -> None:
    """ShapeError where right sides do not fit matrices."""
    if b.ndim < 2 or a.shape[-2] != b.shape[-2]:
        raise ShapeError(
            f"{owner}: {a.tensor_type} and right sides {b.tensor_type} have different rows", loc=user_loc()
        )


def _same_dtype(owner: str, **given: Tensor) -> None:
    """DTypeError where the dtypes differ."""
    if len({x.tensor_type.dtype for x in given.values()}) > 1:
        said = ", ".join(f"{name} is {x.tensor_type}" for name, x in given.items())
        raise DTypeError(f"{owner}: {said}, expected one dtype", loc=user_loc())


def _together(owner: str, a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
    """Matrices and right sides with the same leading axes. ShapeError where rows do not fit."""
    _same_rows(owner, a, b)
    lead = broadcast_batches(owner, a, b)
    return tuple(x if x.shape[:-2] == lead else broadcast_to(x, (*lead, *x.shape[-2:])) for x in (a, b))  # type: ignore[return-value]


def matrix_solve(matrix: Tensor, rhs: Tensor, adjoint: bool = False) -> Tensor:
    """x with matrix x = rhs, for matrices of right sides; adjoint: of the transposed matrices,
    of complex ones conjugate. By LU factors.

    Singular matrices give infinities and NaN.
    """
    matrices("matrix_solve", matrix, complexes=True)
    _same_rows("matrix_solve", matrix, rhs)
    _same_dtype("matrix_solve", matrix=matrix, rhs=rhs)
    return solved(matrix, rhs, bool(adjoint))


@method()
def triangular_solve(
    b: Tensor, A: Tensor, upper: bool = True, transpose: bool = False, unitriangular: bool = False
) -> tuple[Tensor, Tensor]:
    """(x with A x = b for triangular A, A). The other half of A counts as zero.

    transpose: with A transposed; unitriangular: the diagonal counts as ones.
    """
    return triangular(A, b, not upper, transpose, unitriangular), A.value()


def triangular(a: Tensor, b: Tensor, lower: bool, transpose: bool, unit: bool = False) -> Tensor:
    """x with a x = b for the lower or upper triangle of a, or its transpose."""
    matrices("triangular_solve", a)
    _same_dtype("triangular_solve", A=a, b=b)
    a, b = _together("triangular_solve", a, b)
    return call("SolveTriangular", a, b, lower=bool(lower), transposed=bool(transpose), unit=bool(unit))


# ---- factors of Cholesky's


@method()
def cholesky_solve(input: Tensor, input2: Tensor, upper: bool = False) -> Tensor:
    """x with a x = input, where input2 is Cholesky's factor of a: a = L L^T, or U^T U if `upper`."""
    inner = triangular(input2, input, not upper, upper)
    return triangular(input2, inner, not upper, not upper)


@method()
def cholesky_inverse(input_x: Tensor, upper: bool = False) -> Tensor:
    """The inverse of a matrix by its factor of Cholesky's."""
    n = matrices("cholesky_inverse", input_x)
    return cholesky_solve(eye(n, n, input_x.dtype), input_x, upper)


# ---- factors of LU


def row_order(owner: str, pivots: Tensor, count: int, size: int, first: int = 1) -> Tensor:
    """int32 [..., size]: which row comes to each place by exchanges, the first one first, of rows that are counted from `first`
    on. ShapeError unless there are `count`, IndexRangeError for a row that there is not.
    """
    if pivots.tensor_type.is_float or pivots.shape[-1:] != (count,):
        raise ShapeError(
            f"{owner}: pivots are {pivots.tensor_type}, expected {count} integers, from {first}", loc=user_loc()
        )
    places = cast_to(pivots, "int32") if not first else sub(cast_to(pivots, "int32"), first)
    return call("RowOrder", exchanges_in_bounds(owner, places, size), size=size)


@method()
def lu_solve(b: Tensor, LU_data: Tensor, LU_pivots: Tensor) -> Tensor:
    """x with a x = b, by the factors of a and the exchanges of its rows, numbered from 1, as LAPACK gives them."""
    n = matrices("lu_solve", LU_data)
    factors, right = _together("lu_solve", LU_data, b)
    order = expand_dims(row_order("lu_solve", LU_pivots, n, n), -1)
    right = elements_at(right, -2, broadcast_to(order, right.shape))
    inner = call("SolveTriangular", factors, right, unit=True)
    return call("SolveTriangular", factors, inner, lower=False)


def lu_unpack(
    LU_data: Tensor, LU_pivots: Tensor, unpack_data: bool = True, unpack_pivots: bool = True
) -> tuple[Tensor, ...]:
    """(P, L, U) with a = P L U of the packed factors of a; those that are asked for."""
    if LU_data.ndim < 2:
        raise ShapeError(f"lu_unpack: LU_data is {LU_data.tensor_type}, expected matrices", loc=user_loc())
    rows, columns = LU_data.shape[-2:]
    least = min(rows, columns)
    made = []
    if unpack_pivots:
        order = expand_dims(row_order("lu_unpack", LU_pivots, least, rows), -2)
        chosen = equal(order, Tensor(np.arange(rows, dtype=np.int32)[:, None]))
        made.append(cast_to(chosen, LU_data.tensor_type.dtype))
    if unpack_data:
        below = tril(getitem(LU_data, (..., slice(0, least))), -1)
        made += [
            add(below, eye(rows, least, LU_data.dtype)),
            triu(getitem(LU_data, (..., slice(0, least), slice(None)))),
        ]
    return tuple(made)


# ---- least squares


def pinv(x: Tensor, *, atol: Any = None, rtol: Any = None, hermitian: bool = False) -> Tensor:
    """The Moore-Penrose inverse. Singular values up to max(atol, rtol times the largest) count as zero.

    atol        0 by default
    rtol        by default the larger size times the dtype's epsilon, or 0 where atol is given
    hermitian   x is symmetric: only its lower triangle is read
    """
    if x.ndim < 2:
        raise ShapeError(f"pinv: {x.tensor_type} has less than two axes", loc=user_loc())
    bounds = []
    for name, value in (("atol", atol), ("rtol", rtol)):
        if isinstance(value, Tensor) and value.size == 1 and value.array is not None:
            value = value.item()
        if value is not None and not is_number(value):
            raise ArgumentTypeError(f"pinv: {name} must be a number, got {type(value).__name__}", loc=user_loc())
        bounds.append(None if value is None else float(value))
    if bounds[1] is None:
        epsilon = float(np.finfo("float64" if x.tensor_type.dtype == "float64" else "float32").eps)
        bounds[1] = 0.0 if bounds[0] else max(x.shape[-2:]) * epsilon
    if hermitian:
        matrices("pinv", x)
        x = add(tril(x), swapaxes(tril(x, -1), -1, -2))
    return call("Pinv", x, atol=bounds[0] or 0.0, rtol=bounds[1])


@method()
def lstsq(input: Tensor, A: Tensor) -> Tensor:
    """x [n, k] with the least |input x - A|, of the least norm where that leaves a choice; input [m, n], A [m] or [m, k]."""
    if input.ndim != 2 or A.ndim not in (1, 2) or A.shape[0] != input.shape[0]:
        raise ShapeError(
            f"lstsq: {input.tensor_type} and {A.tensor_type} are no matrices with the same rows", loc=user_loc()
        )
    if not input.tensor_type.is_float:
        raise DTypeError(f"lstsq: input is {input.tensor_type}, expected floats", loc=user_loc())
    _same_dtype("lstsq", input=input, A=A)
    return cast(matmul(pinv(whole(input)), whole(A if A.ndim == 2 else expand_dims(A, 1))), A.dtype)


def least_squares(matrix: Tensor, rhs: Tensor, l2_regularizer: Any, fast: bool) -> Tensor:
    """x with the least |matrix x - rhs|^2 + l2 |x|^2; not `fast`: without l2, and of any rank."""
    if matrix.ndim < 2 or matrix.shape[:-1] != rhs.shape[:-1] or rhs.ndim < 2:
        raise ShapeError(
            f"MatrixSolveLs: {matrix.tensor_type} and {rhs.tensor_type} are no matrices [..., m, n] and [..., m, k]",
            loc=user_loc(),
        )
    if not fast:
        return matmul(pinv(matrix), rhs)
    rows, columns = matrix.shape[-2:]
    l2 = l2_regularizer if is_number(l2_regularizer) else cast_to(l2_regularizer, matrix.tensor_type.dtype)
    across = swapaxes(matrix, -1, -2)
    least = min(rows, columns)
    square = matmul(across, matrix) if rows >= columns else matmul(matrix, across)
    square = add(square, mul(eye(least, least, matrix.dtype), l2))
    if rows >= columns:
        return matrix_solve(square, matmul(across, rhs))
    return matmul(across, matrix_solve(square, rhs))


__all__ = [
    "cholesky_inverse",
    "cholesky_solve",
    "lstsq",
    "lu_solve",
    "lu_unpack",
    "matrix_solve",
    "pinv",
]
