"""The primitives behind graphc.scipy (MindSpore: mindspore.scipy.ops)."""

from __future__ import annotations

from typing import Any

from graphc import ops
from graphc.errors import ShapeError, user_loc
from graphc.ops.functional.core import call
from graphc.ops.tensor.primitive import declare
from graphc.ops.tensor.tensor import Tensor
from graphc.scipy.checks import tensor
from graphc.scipy.linalg import factors, permutation, solve_triangular
from graphc.scipy.optimize.assigning import linear_sum_assignment
from graphc.validation.checks import boolean


def _solve_triangular(a: Tensor, b: Tensor, lower: bool, unit_diagonal: bool, trans: str) -> Tensor:
    """x with a x = b for triangular matrices; see scipy.linalg.solve_triangular."""
    return solve_triangular(a, b, trans, lower, unit_diagonal)


SolveTriangular = declare("SolveTriangular", _solve_triangular, lower=False, unit_diagonal=False, trans="N")


def _eig(a: Tensor, compute_v: bool) -> Any:
    """(the eigenvalues, their vectors), or the former alone unless `compute_v`; see ops.eig."""
    boolean("Eig", "compute_v", compute_v)
    made = ops.eig(a)
    return made if compute_v else made[0]


Eig = declare("Eig", _eig, compute_v=True)


def _lu(x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """(u with l below its diagonal, int32 exchanges of rows, the int32 matrix p with x = p l u) of [..., m, n], m <= n."""
    given = tensor("LU", "x", x, ("float16", "float32", "float64"))
    if given.ndim < 2 or given.shape[-2] > given.shape[-1]:
        raise ShapeError(
            f"LU: x is {given.tensor_type}, expected matrices with no more rows than columns", loc=user_loc()
        )
    packed, order = factors(given)
    return packed, call("Exchanges", order), permutation(order)


LU = declare("LU", _lu)


def _assignment(cost_matrix: Tensor, dimension_limit: Tensor, maximize: bool) -> tuple[Tensor, Tensor]:
    """(row, column) of the pairs with the least sum of costs; see scipy.optimize.linear_sum_assignment."""
    return linear_sum_assignment(cost_matrix, maximize, dimension_limit)


LinearSumAssignment = declare("LinearSumAssignment", _assignment)

__all__ = ["LU", "Eig", "LinearSumAssignment", "SolveTriangular"]
