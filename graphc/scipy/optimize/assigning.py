"""`linear_sum_assignment`: rows and columns in pairs."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from graphc import dispatch, ops
from graphc.errors import ArgumentTypeError, DTypeError, KernelError, ShapeError, user_loc
from graphc.ops.functional.core import cast_to
from graphc.ops.tensor.call import call as call_op
from graphc.ops.tensor.tensor import Tensor
from graphc.validation.checks import boolean

_DTYPES = (
    "float16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "bool",
)  # fmt: skip
_OWNER = "linear_sum_assignment"


def linear_sum_assignment(
    cost_matrix: Tensor, maximize: bool, dimension_limit: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """(row, column) int64 of the pairs with the least sum of costs [m, n], or with `maximize` the greatest, as many as there are
    rows or columns, in the order of rows (MindSpore: mindspore.scipy.optimize.linear_sum_assignment).

    dimension_limit: an int64 tensor, only so many columns count; where that leaves fewer pairs, there is -1 behind them. Costs
    are compared in float64. Where a limit is no number of columns, a cost is NaN or infinite on the better side, or all sums are
    infinite, it is a KernelError (a RuntimeError).
    """
    if not isinstance(cost_matrix, Tensor):
        raise ArgumentTypeError(
            f"{_OWNER}: cost_matrix must be a Tensor, got {type(cost_matrix).__name__}", loc=user_loc()
        )
    if cost_matrix.tensor_type.dtype not in _DTYPES:
        raise DTypeError(
            f"{_OWNER}: cost_matrix is {cost_matrix.tensor_type}, expected dtype {' or '.join(_DTYPES)}", loc=user_loc()
        )
    if cost_matrix.ndim != 2:
        raise ShapeError(f"{_OWNER}: cost_matrix is {cost_matrix.tensor_type}, expected a matrix", loc=user_loc())
    boolean(_OWNER, "maximize", maximize)
    cost, limits = cast_to(cost_matrix, "float64"), _limits(dimension_limit)
    if dispatch.recorder.get() is None and cost.size:
        _look(cost, limits, maximize)
    row, column = call_op("Assignment", cost, *limits, maximize=maximize)
    if dispatch.recorder.get() is None and row.size and row.asnumpy()[0] < 0:
        raise _failed("found infinite sums alone")
    return row, column


def _limits(given: Any) -> tuple[Tensor, ...]:
    """The number of columns, if there is one: the largest integer is none, as in MindSpore."""
    if given is None:
        return ()
    if not isinstance(given, Tensor) or given.tensor_type.dtype != "int64" or given.size != 1:
        found = given.tensor_type if isinstance(given, Tensor) else repr(given)
        raise ArgumentTypeError(
            f"{_OWNER}: dimension_limit must be an int64 Tensor of one element, got {found}", loc=user_loc()
        )
    if given.array is not None and int(given.array.item()) == sys.maxsize:
        return ()
    return (ops.reshape(given, ()),)


def _failed(problem: str) -> KernelError:
    return KernelError(f"the kernel of {_OWNER} {problem}", loc=user_loc())


def _look(cost: Tensor, limits: tuple[Tensor, ...], maximize: bool) -> None:
    """KernelError for what no assignment can be found of."""
    columns = cost.shape[1]
    end = int(limits[0].asnumpy()) if limits else columns
    if not 1 <= end <= columns:
        raise _failed(f"met dimension_limit {end} for {columns} columns")
    costs = cost.asnumpy()[:, :end]
    if not ((costs < np.inf) if maximize else (costs > -np.inf)).all():
        raise _failed("met a cost that is NaN, or infinite on the better side")
