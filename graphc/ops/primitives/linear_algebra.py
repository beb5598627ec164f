"""Linear algebra as primitives: small systems, decompositions, norms."""

from __future__ import annotations

from graphc.errors import DTypeError, ShapeError, user_loc
from graphc.ops import functional as F
from graphc.ops.functional.core import Axis, call
from graphc.ops.functional.linear_systems import least_squares, triangular
from graphc.ops.functional.norms import nuclear
from graphc.ops.tensor.primitive import REQUIRED, Hint, declare
from graphc.ops.tensor.tensor import Tensor

# ---- systems


def _inverse(x: Tensor, adjoint: bool) -> Tensor:
    """The inverse of square matrices, or of their transposes."""
    return F.inverse(F.swapaxes(x, -1, -2) if adjoint else x)


MatrixInverse = declare("MatrixInverse", _inverse, adjoint=False)

MatrixDeterminant = declare("MatrixDeterminant", F.det)

LogMatrixDeterminant = declare("LogMatrixDeterminant", F.slogdet)

MatrixSolve = declare("MatrixSolve", F.matrix_solve, adjoint=False)

MatrixSolveLs = declare("MatrixSolveLs", least_squares, fast=True)


def _triangular_solve(matrix: Tensor, rhs: Tensor, lower: bool, adjoint: bool) -> Tensor:
    """x with matrix x = rhs for the lower or upper triangle of square matrices, or its transpose."""
    return triangular(matrix, rhs, lower, adjoint)


MatrixTriangularSolve = declare("MatrixTriangularSolve", _triangular_solve, lower=True, adjoint=False)

Cholesky = declare("Cholesky", F.cholesky, upper=False)

CholeskyInverse = declare("CholeskyInverse", F.cholesky_inverse, upper=False)


def _cholesky_solve(x1: Tensor, x2: Tensor, upper: bool) -> Tensor:
    """x with a x = x1, where x2 is Cholesky's factor of a."""
    return F.cholesky_solve(x1, x2, upper)


CholeskySolve = declare("CholeskySolve", _cholesky_solve, upper=False)


def _lu_solve(x: Tensor, lu_data: Tensor, lu_pivots: Tensor) -> Tensor:
    """x with a x = b, by the factors of a and the exchanges of its rows."""
    return F.lu_solve(x, lu_data, lu_pivots)


LuSolve = declare("LuSolve", _lu_solve)

LuUnpack = declare("LuUnpack", F.lu_unpack, unpack_data=True, unpack_pivots=True)


def _lstsq(x: Tensor, a: Tensor, fast: bool, l2_regularizer: float) -> Tensor:
    """The solution of least squares; `fast` with `l2_regularizer` times the sum of its squares, else the one of least norm."""
    right = a if a.ndim == 2 else F.expand_dims(a, 1)
    return least_squares(x, right, l2_regularizer, True) if fast and l2_regularizer else F.lstsq(x, a)


Lstsq = declare("Lstsq", _lstsq, fast=True, l2_regularizer=0.0)


def _tridiagonal(superdiag: Tensor, maindiag: Tensor, subdiag: Tensor, rhs: Tensor) -> Tensor:
    """The product of tridiagonal matrices and rhs [..., m, n].

    Diagonals are [..., 1, m]; the last element of the one above, and the first of the one below, count for nothing.
    """
    m = rhs.shape[-2]
    for x in (superdiag, maindiag, subdiag):
        if x.shape[-2:] != (1, m) or x.shape[:-2] != rhs.shape[:-2]:
            raise ShapeError(
                f"TridiagonalMatMul: a diagonal is {x.tensor_type}, the matrix {rhs.tensor_type}", loc=user_loc()
            )
    above, middle, below = (F.swapaxes(x, -1, -2) for x in (superdiag, maindiag, subdiag))
    none = F.zeros_like(rhs[..., :1, :])
    up = F.concat((rhs[..., 1:, :], none), -2)
    down = F.concat((none, rhs[..., : m - 1, :]), -2)
    return F.add(F.add(F.mul(above, up), F.mul(middle, rhs)), F.mul(below, down))


TridiagonalMatMul = declare("TridiagonalMatMul", _tridiagonal)


def _tridiagonal_solve(diagonals: Tensor, rhs: Tensor) -> Tensor:
    """x [..., m, n] with the product of a tridiagonal matrix and x equal to rhs [..., m, n].

    diagonals [..., 3, m]: those above the main one, of which the last element counts for nothing, the main one, and those below,
    of which the first counts for nothing. Solved as a dense matrix, with pivots in any case. Raises ShapeError, DTypeError.
    """
    owner = "TridiagonalSolve"
    if diagonals.tensor_type.dtype not in ("float32", "float64") or rhs.dtype != diagonals.dtype:
        raise DTypeError(
            f"{owner}: diagonals are {diagonals.tensor_type}, rhs is {rhs.tensor_type}: expected both float32 or float64",
            loc=user_loc(),
        )
    if (
        rhs.ndim < 2
        or diagonals.ndim != rhs.ndim
        or diagonals.shape[-2:] != (3, rhs.shape[-2])
        or diagonals.shape[:-2] != rhs.shape[:-2]
    ):
        raise ShapeError(
            f"{owner}: diagonals are {diagonals.tensor_type}, rhs is {rhs.tensor_type}: expected [..., 3, m], [..., m, n]",
            loc=user_loc(),
        )
    above, middle, below = (diagonals[..., k, :] for k in range(3))
    matrix = F.diag_embed(middle)
    if rhs.shape[-2] > 1:
        matrix = matrix + F.diag_embed(above[..., :-1], 1) + F.diag_embed(below[..., 1:], -1)
    return F.matrix_solve(matrix, rhs)


TridiagonalSolve = declare("TridiagonalSolve", _tridiagonal_solve, partial_pivoting=Hint(True))

# ---- decompositions and functions

Qr = declare(
    "Qr",
    lambda x, full_matrices: F.qr(x, "complete" if full_matrices else "reduced"),
    F.qr.__doc__,
    full_matrices=False,
)


def _svd(x: Tensor, full_matrices: bool, compute_uv: bool) -> tuple[Tensor, ...]:
    """(s, u, v) with x = u diag(s) v^T; without `compute_uv` u and v are [0]."""
    if compute_uv:
        made: tuple[Tensor, ...] = F.svd(x, full_matrices)
        return made
    return F.svd(x, compute_uv=False), F.zeros(1, x.dtype), F.zeros(1, x.dtype)


Svd = declare("Svd", _svd, full_matrices=False, compute_uv=True)

Geqrf, Orgqr = declare("Geqrf", F.geqrf), declare("Orgqr", F.orgqr)

Ormqr = declare("Ormqr", F.ormqr, left=True, transpose=False)

MatrixExp = declare("MatrixExp", F.matrix_exp)

MatrixLogarithm = declare(
    "MatrixLogarithm",
    lambda x: call("MatrixLogarithm", x),
    "The principal logarithm of complex square matrices, by SciPy; not in a compiled Cell.",
)

MatrixPower = declare("MatrixPower", F.matrix_power, n=REQUIRED)

# ---- norms and distances

NuclearNorm = declare("NuclearNorm", nuclear, dim=None, keepdim=False)


def _euclidean_norm(x: Tensor, axes: Axis = None, keep_dims: bool = False) -> Tensor:
    """The root of the sum of squares over axes, all by default."""
    if isinstance(axes, Tensor):
        axes = tuple(int(a) for a in axes.asnumpy().reshape(-1))
    return F.norm(x, None, tuple(axes) if isinstance(axes, list) else axes, keep_dims)


EuclideanNorm = declare("EuclideanNorm", _euclidean_norm, keep_dims=False)

Pdist = declare("Pdist", F.pdist, p=2.0)


def _eig(x: Tensor, compute_v: bool) -> tuple[Tensor, Tensor]:
    """(the eigenvalues, their vectors; a zero without axes in their place unless compute_v); see ops.eig."""
    values, vectors = F.eig(x)
    return values, vectors if compute_v else F.zeros((), values.dtype)


Eig = declare("Eig", _eig, compute_v=False)


def _self_adjoint_eig(x: Tensor, compute_v: bool) -> tuple[Tensor, Tensor]:
    """(the eigenvalues [..., m], ascending, their vectors as columns [..., m, m]) of symmetric matrices, of which the lower
    triangles are read; unless compute_v zeros are the vectors. Raises ShapeError, DTypeError.
    """
    if x.tensor_type.dtype not in ("float32", "float64"):
        raise DTypeError(f"SelfAdjointEig: x is {x.tensor_type}, expected float32 or float64", loc=user_loc())
    values, vectors = call("Eigh", x, lower=True)
    return values, vectors if compute_v else F.zeros_like(x)


SelfAdjointEig = declare("SelfAdjointEig", _self_adjoint_eig, compute_v=True)
