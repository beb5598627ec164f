"""Linear algebra with SciPy's names (MindSpore: mindspore.scipy.linalg).

`overwrite_a`, `overwrite_b`, `check_finite`, `turbo` and `debug` say how, not what: they have no effect, as in MindSpore.
Integers are computed in float64. What is singular has infinities or NaN, as in graphc.ops.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from graphc import ops
from graphc.errors import ArgumentTypeError, ArgumentValueError, ShapeError, user_loc
from graphc.internal_errors import doors
from graphc.numpy.convert import promoted, tensors
from graphc.ops.functional.core import call, cast_to
from graphc.ops.functional.elements import elements_at
from graphc.ops.functional.linear_systems import row_order, triangular
from graphc.ops.functional.products import broadcast_batches
from graphc.ops.functional.solve import of_parts
from graphc.ops.tensor.call import call as call_op
from graphc.ops.tensor.tensor import Tensor
from graphc.scipy.checks import REAL, flags, same_dtype, square, system, tensor, whole
from graphc.validation.checks import exact_int
from graphc.validation.unused_arguments import only, refusal

_INTEGERS = {"int8": "float32", "int16": "float32", "int32": "float32", "int64": "float64"}
_TRANSPOSED = {0: False, 1: True, 2: True, "N": False, "T": True, "C": True}
_DRIVERS = ("gels", "gelsy", "gelss", "gelsd")

# ---- triangular systems


def solve_triangular(
    a: Tensor,
    b: Tensor,
    trans: int | str = 0,
    lower: bool = False,
    unit_diagonal: bool = False,
    overwrite_b: bool = False,
    debug: Any = None,
    check_finite: bool = True,
) -> Tensor:
    """x with a x = b for triangular matrices a [..., m, m] and b [..., m] or [..., m, n]; the other triangle is not read.

    trans: 0 or "N"; 1 or "T" for a transposed; 2 or "C" for its conjugate, too. unit_diagonal: the diagonal counts as ones.
    """
    owner = "solve_triangular"
    if isinstance(trans, bool) or not isinstance(trans, (int, str)) or trans not in _TRANSPOSED:
        raise ArgumentValueError(f"{owner}: trans must be 0, 1, 2, 'N', 'T' or 'C', got {trans!r}", loc=user_loc())
    flags(owner, lower=lower, unit_diagonal=unit_diagonal)
    dtypes = ("float16", "float32", "float64", "complex64", "complex128", *_INTEGERS)
    a, b = tensor(owner, "a", a, dtypes), tensor(owner, "b", b, dtypes)
    same_dtype(owner, ("a", "b"), a, b)
    if a.tensor_type.dtype in _INTEGERS:
        a, b = (cast_to(x, _INTEGERS[x.tensor_type.dtype]) for x in (a, b))
    if a.ndim < 2 or a.shape[-1] != a.shape[-2]:
        raise ShapeError(f"{owner}: a is {a.tensor_type}, expected square matrices", loc=user_loc())
    vectors = b.ndim == a.ndim - 1
    if b.shape != a.shape[:-1] if vectors else b.shape[:-1] != a.shape[:-1]:
        raise ShapeError(
            f"{owner}: a is {a.tensor_type}, b {b.tensor_type}, expected [..., m] or [..., m, n]", loc=user_loc()
        )
    solve = _complex_triangular if a.tensor_type.is_complex else triangular
    if trans in (2, "C"):
        a = ops.conj(a)
    return _columns(b, vectors, lambda x: solve(a, x, lower, _TRANSPOSED[trans], unit_diagonal))


def _columns(b: Tensor, vectors: bool, solve: Callable[[Tensor], Tensor]) -> Tensor:
    """A solution for columns, of right sides that may be vectors."""
    return ops.squeeze(solve(ops.expand_dims(b, -1)), -1) if vectors else solve(b)


def _complex_triangular(a: Tensor, b: Tensor, lower: bool, transposed: bool, unit: bool) -> Tensor:
    """By real numbers: with ones on its diagonal a matrix is still triangular where each element is a block of four parts."""
    if transposed:
        a, lower = ops.swapaxes(a, -1, -2), not lower
    *lead, size, columns = b.shape
    if not b.size:
        return b.value()
    # What is not read may be anything.
    half = ops.tril(a, -1) if lower else ops.triu(a, 1)
    if not unit:
        diagonal = ops.expand_dims(ops.diagonal(a, 0, -2, -1), -1)
        half, b = ops.div(half, diagonal), ops.div(b, diagonal)
    re, im = ops.real(half), ops.imag(half)
    rows = ops.stack((ops.stack((re, ops.neg(im)), -1), ops.stack((im, re), -1)), -3)
    sides = ops.reshape(ops.stack((ops.real(b), ops.imag(b)), -2), (*lead, 2 * size, columns))
    made = triangular(ops.reshape(rows, (*lead, 2 * size, 2 * size)), sides, lower, False, True)
    made = ops.reshape(made, (*lead, size, 2, columns))
    return call("Complex", made[..., 0, :], made[..., 1, :])


# ---- matrices of blocks, inverse, determinant


def block_diag(*arrs: Tensor) -> Tensor:
    """Matrices along the diagonal of one, in their common dtype, zeros elsewhere; a number is [1, 1], a vector a row.

    Without any it is float32 [1, 0].
    """
    if not arrs:
        return ops.zeros((1, 0), "float32")
    given = promoted(*tensors("block_diag", *arrs))
    for x in given:
        if x.ndim > 2:
            raise ShapeError(f"block_diag: {x.tensor_type} has more than two axes", loc=user_loc())
    return ops.block_diag(*given)


def inv(a: Tensor, overwrite_a: bool = False, check_finite: bool = True) -> Tensor:
    """The inverse of a matrix [m, m]."""
    flags("inv", overwrite_a=overwrite_a, check_finite=check_finite)
    return ops.inverse(square("inv", "a", a))


def det(a: Tensor, overwrite_a: bool = False, check_finite: bool = True) -> Tensor:
    """The determinant of a matrix [m, m]."""
    flags("det", overwrite_a=overwrite_a, check_finite=check_finite)
    return ops.det(square("det", "a", a))


# ---- factors of Cholesky's


def cholesky(a: Tensor, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True) -> Tensor:
    """The upper triangular u with u^T u = a for a symmetric positive definite a, or with `lower` l with l l^T = a.

    The lower triangle of a is read; NaN where a is not positive definite.
    """
    flags("cholesky", lower=lower, overwrite_a=overwrite_a, check_finite=check_finite)
    return ops.cholesky(square("cholesky", "a", a), not lower)


def cho_factor(
    a: Tensor, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> tuple[Tensor, bool]:
    """(`cholesky`, lower), for `cho_solve`; the other triangle is zeros."""
    flags("cho_factor", lower=lower, overwrite_a=overwrite_a, check_finite=check_finite)
    return ops.cholesky(square("cho_factor", "a", a), not lower), lower


def cho_solve(
    c_and_lower: tuple[Tensor, bool], b: Tensor, overwrite_b: bool = False, check_finite: bool = True
) -> Tensor:
    """x with a x = b, [m] or [m, n], by what `cho_factor` makes of a."""
    c, lower = _pair("cho_solve", "c_and_lower", c_and_lower)
    flags("cho_solve", overwrite_b=overwrite_b, check_finite=check_finite, lower=lower)
    factor, right = system("cho_solve", ("c", "b"), c, b)
    return _columns(right, b.ndim == 1, lambda x: ops.cholesky_solve(x, factor, not lower))


def _pair(owner: str, name: str, given: Any) -> tuple[Any, Any]:
    if not isinstance(given, (tuple, list)) or len(given) != 2:
        raise ArgumentTypeError(f"{owner}: {name} must be a pair, got {type(given).__name__}", loc=user_loc())
    return given[0], given[1]


# ---- factors of LU


def factors(a: Tensor) -> tuple[Tensor, Tensor]:
    """(u with l below its diagonal, the rows of a in their order) of matrices [..., m, n], m <= n."""
    rows, columns = a.shape[-2:]
    first = a[..., :rows]
    packed, order, _ = call_op("LU", first)
    packed = call("LUFactors", packed, first, order)
    if columns > rows:
        rest = a[..., rows:]
        rest = elements_at(rest, -2, ops.broadcast_to(ops.expand_dims(order, -1), rest.shape))
        packed = ops.concat((packed, triangular(packed, rest, True, False, True)), -1)
    return packed, order


def permutation(order: Tensor) -> Tensor:
    """int32 [..., m, m]: p for which p l u is a matrix whose rows `order` are l u."""
    places = Tensor(np.arange(order.shape[-1], dtype=np.int32)[:, None])
    return cast_to(ops.equal(ops.expand_dims(order, -2), places), "int32")


def lu_factor(a: Tensor, overwrite_a: bool = False, check_finite: bool = True) -> tuple[Tensor, Tensor]:
    """(u with l below its diagonal, int32 with which row each was exchanged) for a matrix [m, m]; for `lu_solve`."""
    flags("lu_factor", overwrite_a=overwrite_a, check_finite=check_finite)
    packed, order = factors(square("lu_factor", "a", a))
    return packed, call("Exchanges", order)


def lu(a: Tensor, permute_l: bool = False, overwrite_a: bool = False, check_finite: bool = True) -> tuple[Tensor, ...]:
    """(p, l, u) with a = p l u for a matrix [m, n], m <= n: p int32 [m, m] of zeros and ones, l [m, m] with ones on its
    diagonal, u [m, n]. With `permute_l` (p l, u).
    """
    flags("lu", permute_l=permute_l, overwrite_a=overwrite_a, check_finite=check_finite)
    a = whole(tensor("lu", "a", a, REAL))
    if a.ndim != 2 or a.shape[0] > a.shape[1]:
        raise ShapeError(f"lu: a is {a.tensor_type}, expected a matrix with no more rows than columns", loc=user_loc())
    packed, order = factors(a)
    rows = a.shape[0]
    lower = ops.add(ops.tril(packed[:, :rows], -1), ops.eye(rows, rows, a.dtype))
    if permute_l:
        return ops.gather(lower, _inverse(order), 0), ops.triu(packed)
    return permutation(order), lower, ops.triu(packed)


def _inverse(order: Tensor) -> Tensor:
    """Where each row has come to."""
    return cast_to(ops.sort(order)[1], "int32")


def lu_solve(
    lu_and_piv: tuple[Tensor, Tensor], b: Tensor, trans: int = 0, overwrite_b: bool = False, check_finite: bool = True
) -> Tensor:
    """x with a x = b, [m] or [m, n], by what `lu_factor` makes of a. trans: 0; 1 or 2 for a transposed."""
    owner = "lu_solve"
    packed, exchanges = _pair(owner, "lu_and_piv", lu_and_piv)
    flags(owner, overwrite_b=overwrite_b, check_finite=check_finite)
    if isinstance(trans, bool) or trans not in (0, 1, 2):
        raise ArgumentValueError(f"{owner}: trans must be 0, 1 or 2, got {trans!r}", loc=user_loc())
    factors, right = system(owner, ("lu", "b"), packed, b)
    size = factors.shape[0]
    exchanges = tensor(owner, "piv", exchanges, ("int32",))
    order = row_order(owner, exchanges, size, size, first=0)

    def solve(x: Tensor) -> Tensor:
        if not trans:
            x = ops.gather(x, order, 0)
        for lower in (True, False) if not trans else (False, True):
            x = triangular(factors, x, lower, bool(trans), lower)
        return ops.gather(x, _inverse(order), 0) if trans else x

    return _columns(right, b.ndim == 1, solve)


# ---- eigenvalues


def eigh(
    a: Tensor,
    b: Tensor | None = None,
    lower: bool = True,
    eigvals_only: bool = False,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    turbo: bool = True,
    eigvals: Any = None,
    type: int = 1,
    check_finite: bool = True,
) -> Any:
    """(w, v) of a symmetric or Hermitian matrix [m, m], of which one triangle is read: the eigenvalues, ascending, and as columns
    their vectors; w alone with `eigvals_only`. Complex ones not in a compiled Cell; w is complex, too.

    The first element of a vector that is at least half as large as the largest is positive. b and eigvals must be None; `type`
    is for b.
    """
    owner = "eigh"
    flags(
        owner, lower=lower, eigvals_only=eigvals_only, overwrite_a=overwrite_a, overwrite_b=overwrite_b, turbo=turbo,
        check_finite=check_finite,
    )  # fmt: skip
    exact_int(owner, "type", type)
    x = square(owner, "a", a, (*REAL, "complex64", "complex128"))
    for name, value in (("b", b), ("eigvals", eigvals)):
        if value is not None:
            raise refusal(owner, name, value, None)
    values, vectors = call_op("EighComplex" if x.tensor_type.is_complex else "Eigh", x, lower=lower)
    return values if eigvals_only else (values, vectors)


# ---- least squares


def lstsq(
    A: Tensor, B: Tensor, rcond: float | None = None, driver: str | None = None
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """(x, residual, rank, values): x [..., n, k] with the least |A x - B| for A [..., m, n] and B [..., m, k] or [..., m], of the
    least norm where A has not full rank; by singular values. Rank and values not in a compiled Cell.

    residual    |A x - B|^2 by column, where m > n and the driver is "gels", "gelss" or "gelsd"
    rank        int64, unless the driver is "gels"
    values      the singular values of A, where the driver is "gelss" or "gelsd"

    What a driver does not give is empty; without one it is "gelsy". rcond must be None.
    """
    owner = "lstsq"
    only(owner, "rcond", rcond, None)
    if driver is not None and driver not in _DRIVERS:
        raise refusal(owner, "driver", driver, None, *_DRIVERS)
    dtypes = ("float16", "float32", "float64", "complex64", "complex128")
    a, b = tensor(owner, "A", A, dtypes), tensor(owner, "B", B, dtypes)
    same_dtype(owner, ("A", "B"), a, b)
    vectors = b.ndim == a.ndim - 1
    if a.ndim < 2 or b.ndim < 1 or b.shape[-1 if vectors else -2] != a.shape[-2]:
        raise ShapeError(f"{owner}: A is {a.tensor_type}, B {b.tensor_type}, expected as many rows", loc=user_loc())
    halves = a.tensor_type.dtype == "float16"
    a, b = (cast_to(x, "float32") if halves else x for x in (a, b))
    sides = ops.expand_dims(b, -1) if vectors else b
    broadcast_batches(owner, a, sides)
    made, rank, values = _least(a, sides)
    rows, columns = a.shape[-2:]
    empty = Tensor(np.zeros(0, values.tensor_type.numpy))
    residual = empty
    if driver in ("gels", "gelss", "gelsd") and rows > columns:
        rest = ops.sub(ops.matmul(a, made), sides)
        residual = ops.reduce_sum(_squares(rest), -2)
    values = values if driver in ("gelss", "gelsd") else empty
    rank = Tensor(np.zeros(0, np.int64)) if driver == "gels" else rank
    made = ops.squeeze(made, -1) if vectors else made
    if halves:
        made, residual, values = (cast_to(x, "float16") for x in (made, residual, values))
    return made, residual, rank, values


def _squares(x: Tensor) -> Tensor:
    """|x|^2 of each element, real."""
    if not x.tensor_type.is_complex:
        return ops.square(x)
    return ops.add(ops.square(ops.real(x)), ops.square(ops.imag(x)))


def _least(a: Tensor, b: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The solution of least squares, the rank, the singular values; of complex matrices by real ones of twice the size."""
    if a.tensor_type.is_complex:
        made, rank, values = _least(of_parts(a), ops.concat((ops.real(b), ops.imag(b)), -2))
        size = a.shape[-1]
        solution = call("Complex", made[..., :size, :], made[..., size:, :])
        return solution, ops.floor_divide(rank, 2), values[..., ::2]
    epsilon = float(np.finfo(a.tensor_type.numpy).eps) * min(a.shape[-2:])
    values = ops.svd(a, compute_uv=False)
    largest = ops.reduce_max(values, -1, True) if values.shape[-1] else values
    rank = ops.reduce_sum(cast_to(ops.greater(values, ops.mul(largest, epsilon)), "int64"), -1)
    return ops.matmul(ops.pinv(a, rtol=epsilon), b), rank, values


__all__ = [
    "block_diag",
    "cho_factor",
    "cho_solve",
    "cholesky",
    "det",
    "eigh",
    "inv",
    "lstsq",
    "lu",
    "lu_factor",
    "lu_solve",
    "solve_triangular",
]

doors(globals(), __all__, __name__)
