"""Products and choices of the elements of vectors; powers in columns; distances of pairs."""

from __future__ import annotations

import itertools
import math

import numpy as np

from graphc.errors import ArgumentTypeError, ArgumentValueError, ShapeError, user_loc
from graphc.ir.types import INTEGERS
from graphc.ops.declared.shape import check_axis
from graphc.ops.functional.core import Axis, call, cast_to
from graphc.ops.functional.create import ones_like
from graphc.ops.functional.elementwise import abs_, add, mul, sub
from graphc.ops.functional.joining import meshgrid, stack, vstack
from graphc.ops.functional.norms import distance
from graphc.ops.functional.operand_checks import require_at_least, require_rank
from graphc.ops.functional.products import matmul
from graphc.ops.functional.reduce import reduce_sum, sum_
from graphc.ops.functional.renaming import renamed
from graphc.ops.functional.shapes import expand_dims, moveaxis, ravel, reshape, whole_numbers
from graphc.ops.functional.slicing import getitem
from graphc.ops.tensor.tensor import Tensor
from graphc.validation.checks import exact_int

row_stack = renamed("row_stack", vstack, "tensors")


def _vector(owner: str, x: Tensor) -> Tensor:
    if x.ndim != 1:
        raise ShapeError(f"{owner}: {x.tensor_type} is no vector", loc=user_loc())
    return x


def cartesian_prod(*inputs: Tensor) -> Tensor:
    """[count, number of vectors]: every choice of an element of each vector."""
    vectors = [_vector("cartesian_prod", x) for x in inputs]
    return stack([ravel(x) for x in meshgrid(*vectors, indexing="ij")], -1)


def combinations(input: Tensor, r: int = 2, with_replacement: bool = False) -> Tensor:
    """[count, r]: every choice of r elements of a vector in its order; with_replacement: also the same one again."""
    exact_int("combinations", "r", r)
    if r < 0:
        raise ArgumentValueError(f"combinations: r must be at least 0, got {r}", loc=user_loc())
    chosen = itertools.combinations_with_replacement if with_replacement else itertools.combinations
    every = list(chosen(range(_vector("combinations", input).size), r))
    places = np.array(every, np.int32).reshape(len(every), r)
    return call("Gather", input, Tensor.wrap(places), axis=0)


def vander(x: Tensor, N: int | None = None) -> Tensor:
    """[n, N]: powers of the elements of a vector, N - 1 first, down to 0; N is n by default. Those of integers are int64."""
    if N is not None and (isinstance(N, bool) or not isinstance(N, int)):
        raise ArgumentTypeError(f"vander: N must be an int, got {type(N).__name__}", loc=user_loc())
    size = _vector("vander", x).size
    count = size if N is None else N
    if count < 0:
        raise ArgumentValueError(f"vander: N must be at least 0, got {count}", loc=user_loc())
    x = cast_to(x, "int64") if x.tensor_type.dtype in (*INTEGERS, "bool") else x
    powers = [ones_like(x)]
    while len(powers) < count:
        powers.append(mul(powers[-1], x))
    return stack(powers[::-1], 1) if count else getitem(expand_dims(x, 1), (..., slice(0, 0)))


def batch_dot(x1: Tensor, x2: Tensor, axes: Axis = None) -> Tensor:
    """Products over an axis of each for every entry of axis 0; the axes that are left behind it follow one another.

    axes: one axis, or one of each; by default the last of x1, and the last but one of x2, or its last where it has two.
    """
    if x1.ndim < 2 or x2.ndim < 2 or x1.shape[0] != x2.shape[0]:
        raise ShapeError(
            f"batch_dot: {x1.tensor_type} and {x2.tensor_type} have no common batch and axes behind it", loc=user_loc()
        )
    given = (x1.ndim - 1, max(x2.ndim - 2, 1)) if axes is None else whole_numbers("batch_dot", "axes", axes)
    given = given * 2 if len(given) == 1 else given
    if len(given) != 2:
        raise ArgumentValueError(f"batch_dot: axes must be one axis or two, got {axes!r}", loc=user_loc())
    first, second = (check_axis("batch_dot", a, x.ndim) for a, x in zip(given, (x1, x2), strict=True))
    if 0 in (first, second) or x1.shape[first] != x2.shape[second]:
        raise ShapeError(
            f"batch_dot: axes {tuple(given)} of {x1.tensor_type} and {x2.tensor_type} do not go together",
            loc=user_loc(),
        )
    left, right = moveaxis(x1, first, -1), moveaxis(x2, second, 1)
    made = matmul(
        reshape(left, (left.shape[0], math.prod(left.shape[1:-1]), left.shape[-1])),
        reshape(right, (*right.shape[:2], math.prod(right.shape[2:]))),
    )
    shape = (*left.shape[:-1], *right.shape[2:])
    return reshape(made, shape if len(shape) > 1 else (*shape, 1))


def pdist(input: Tensor, p: float = 2.0) -> Tensor:
    """[n (n - 1) / 2]: the p-norms of the differences of each row of a matrix and every later one, p >= 0."""
    require_rank("pdist", "input", input, 2)
    require_at_least("pdist", "p", p, 0)
    rows, others = (Tensor.wrap(i.astype(np.int32)) for i in np.triu_indices(input.shape[0], 1))
    difference = sub(call("Gather", input, rows, axis=0), call("Gather", input, others, axis=0))
    return reduce_sum(abs_(difference), -1) if p == 1 else distance(difference, p, -1)


def bidense(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """y[..., o] = input1^T weight[o] input2 + bias[o]; weight [out, features of input1, features of input2].

    Of integers in int64, as `sum`.
    """
    if weight.ndim != 3 or input1.shape[-1:] != weight.shape[1:2] or input2.shape[-1:] != weight.shape[2:]:
        raise ShapeError(
            f"bidense: {input1.tensor_type}, {input2.tensor_type} and weight {weight.tensor_type} do not fit",
            loc=user_loc(),
        )
    count, first, second = weight.shape
    across = reshape(moveaxis(weight, 0, 1), (first, count * second))
    left = matmul(input1, across)
    made = sum_(mul(reshape(left, (*input1.shape[:-1], count, second)), expand_dims(input2, -2)), -1)
    return made if bias is None else add(made, bias)


__all__ = [
    "batch_dot",
    "bidense",
    "cartesian_prod",
    "combinations",
    "pdist",
    "row_stack",
    "vander",
]
