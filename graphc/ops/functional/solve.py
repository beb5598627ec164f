"""Small linear systems: inverse and determinant by elimination in a fixed number of steps, Cholesky's factor."""

from __future__ import annotations

import numpy as np

from graphc.errors import ShapeError, user_loc
from graphc.ops.functional.arithmetic import div
from graphc.ops.functional.core import call
from graphc.ops.functional.create import ones, zeros
from graphc.ops.functional.elementwise import abs_, add, equal, less, log, mul, sign, sub
from graphc.ops.functional.joining import stack
from graphc.ops.functional.logic import select
from graphc.ops.functional.reduce import reduce_max, reduce_sum
from graphc.ops.functional.shapes import expand_dims
from graphc.ops.functional.slicing import getitem
from graphc.ops.tensor.methods import method
from graphc.ops.tensor.tensor import Tensor

# ---- linear algebra


def matrices(owner: str, x: Tensor) -> int:
    """The size of square float matrices. ShapeError for anything else."""
    if x.ndim < 2 or x.shape[-1] != x.shape[-2] or not x.tensor_type.is_float:
        raise ShapeError(f"{owner}: x is {x.tensor_type}, expected square float matrices", loc=user_loc())
    return x.shape[-1]


def eliminated(x: Tensor, right: Tensor | None) -> tuple[list[Tensor], list[Tensor], Tensor | None]:
    """Gauss and Jordan's elimination with the largest pivot of each column: pivots, signs of the exchanges, solution."""
    n = x.shape[-1]
    rows = np.arange(n)
    pivots, signs = [], []
    for k in range(n):
        column = abs_(getitem(x, (..., k)))
        below = Tensor(np.where(rows >= k, 0, -np.inf).astype(x.tensor_type.numpy))
        candidates = add(column, below)
        largest = equal(candidates, reduce_max(candidates, -1, keep_dims=True))
        # The first of equal ones.
        order = select(largest, Tensor((n - rows).astype(np.int32)), Tensor(np.zeros(n, np.int32)))
        chosen = expand_dims(equal(order, reduce_max(order, -1, keep_dims=True)), -1)
        here = Tensor((rows == k)[:, None])
        signs.append(
            select(
                getitem(chosen, (..., k, 0)),
                Tensor(np.array(1, x.tensor_type.numpy)),
                Tensor(np.array(-1, x.tensor_type.numpy)),
            )
        )
        x = exchanged(x, chosen, here)
        pivot = getitem(x, (..., slice(k, k + 1), slice(k, k + 1)))
        pivots.append(getitem(pivot, (..., 0, 0)))
        # A column of zeros leaves nothing to eliminate; its gradient is NaN.
        factors = select(equal(pivot, 0.0), 0.0, div(getitem(x, (..., slice(k, k + 1))), pivot))
        factors = select(here, Tensor(np.zeros(1, x.tensor_type.numpy)), factors)
        if right is not None:
            right = exchanged(right, chosen, here)
            right = sub(right, mul(factors, getitem(right, (..., slice(k, k + 1), slice(None)))))
        x = sub(x, mul(factors, getitem(x, (..., slice(k, k + 1), slice(None)))))
    return pivots, signs, right


def exchanged(x: Tensor, chosen: Tensor, here: Tensor) -> Tensor:
    """x with two rows exchanged."""
    zero = Tensor(np.zeros((), x.tensor_type.numpy))
    first = reduce_sum(select(here, x, zero), -2, keep_dims=True)
    second = reduce_sum(select(chosen, x, zero), -2, keep_dims=True)
    return select(here, second, select(chosen, first, x))


@method()
def inverse(input: Tensor) -> Tensor:
    """The inverse of square matrices, by elimination; infinities and NaN where there is none."""
    n = matrices("inverse", input)
    if not n:
        return input.value()
    eye = Tensor(np.broadcast_to(np.eye(n, dtype=input.tensor_type.numpy), input.shape).copy())
    pivots, _, made = eliminated(input, eye)
    assert made is not None
    return div(made, expand_dims(stack(pivots, -1), -1))


@method("det", "matrix_determinant")
def det(input: Tensor) -> Tensor:
    """The determinant of square matrices, by elimination. The gradient is NaN where it is zero."""
    n = matrices("det", input)
    if not n:
        return ones(input.shape[:-2], input.dtype)
    pivots, signs, _ = eliminated(input, None)
    value = mul(pivots[0], signs[0])
    for k in range(1, n):
        value = mul(value, mul(pivots[k], signs[k]))
    return value


matrix_determinant = det


@method("slogdet", "log_matrix_determinant")
def slogdet(input: Tensor) -> tuple[Tensor, Tensor]:
    """(the sign of the determinant, the logarithm of its absolute value); 0 and minus infinity where it is zero."""
    n = matrices("slogdet", input)
    if not n:
        return ones(input.shape[:-2], input.dtype), zeros(input.shape[:-2], input.dtype)
    pivots, signs, _ = eliminated(input, None)
    turned, size = sign(pivots[0]), log(abs_(pivots[0]))
    for pivot in pivots[1:]:
        turned, size = mul(turned, sign(pivot)), add(size, log(abs_(pivot)))
    for exchange in signs:
        turned = mul(turned, exchange)
    return turned, size


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
