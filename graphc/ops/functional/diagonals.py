"""Triangles and diagonals of matrices."""

from __future__ import annotations

import math

import numpy as np

from graphc import dispatch
from graphc.errors import ArgumentTypeError, ShapeError, user_loc
from graphc.ir.types import INTEGERS
from graphc.ops.declared.shape import check_axis
from graphc.ops.functional.core import call, cast_to
from graphc.ops.functional.create import arange
from graphc.ops.functional.elementwise import add, equal, greater_equal, less_equal, mul
from graphc.ops.functional.joining import concat
from graphc.ops.functional.logic import select
from graphc.ops.functional.operand_checks import require_rank
from graphc.ops.functional.padding import bordered
from graphc.ops.functional.reduce import reduce_sum
from graphc.ops.functional.shapes import expand_dims, moveaxis, reshape, whole_numbers
from graphc.ops.functional.slicing import getitem
from graphc.ops.tensor.methods import method
from graphc.ops.tensor.tensor import Tensor

# ---- matrices


def triangle(x: Tensor, diagonal: int | Tensor, lower: bool) -> Tensor:
    """x with zeros above, or below, a diagonal of the last two axes, which a tensor of one integer may say."""
    owner = "tril" if lower else "triu"
    if isinstance(diagonal, Tensor) and dispatch.known_array(diagonal) is None:
        if diagonal.tensor_type.dtype not in INTEGERS or diagonal.size != 1:
            raise ArgumentTypeError(
                f"{owner}: diagonal is {diagonal.tensor_type}, expected one integer", loc=user_loc()
            )
        diagonal = cast_to(reshape(diagonal, ()), "int32")
    else:
        (diagonal,) = whole_numbers(owner, "diagonal", diagonal)
    rows = reshape(arange(0, x.shape[-2], dtype="int32"), (x.shape[-2], 1))
    columns = arange(0, x.shape[-1], dtype="int32")
    kept = (less_equal if lower else greater_equal)(columns, add(rows, diagonal))
    return select(kept, x, Tensor(0, x.dtype))


@method()
def tril(input: Tensor, diagonal: int | Tensor = 0) -> Tensor:
    """Zeros above a diagonal."""
    return triangle(input, diagonal, True)


@method()
def triu(input: Tensor, diagonal: int | Tensor = 0) -> Tensor:
    """Zeros below a diagonal."""
    return triangle(input, diagonal, False)


def diag(input: Tensor) -> Tensor:
    """[*S, *S] for a tensor of shape S: its elements where both places are the same, zeros elsewhere. Of a vector that is a
    matrix with the vector on its diagonal.
    """
    if input.ndim == 0:
        raise ShapeError(f"diag: input is {input.tensor_type}, expected at least one axis", loc=user_loc())
    places = arange(0, input.size, dtype="int32")
    made = select(equal(reshape(places, (-1, 1)), places), reshape(input, (-1,)), Tensor(0, input.dtype))
    return reshape(made, (*input.shape, *input.shape))


def diag_part(input: Tensor) -> Tensor:
    """[*S] for a tensor of shape [*S, *S]: what `diag` makes that of. Of a square matrix its diagonal. ShapeError for others."""
    shape = input.shape[: input.ndim // 2]
    if not input.ndim or input.shape != (*shape, *shape):
        raise ShapeError(f"diag_part: input is {input.tensor_type}, expected shape [*S, *S]", loc=user_loc())
    return reshape(diagonal(reshape(input, (math.prod(shape),) * 2)), shape)


def diagonal(input: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    """The diagonal of two axes, as a new last axis."""
    a, b = check_axis("diagonal", dim1, input.ndim), check_axis("diagonal", dim2, input.ndim)
    # Axes that follow each other are one of equal steps, so that in eager calls the diagonal has the tensor's memory.
    x, at = (input, a) if b == a + 1 else (moveaxis(input, (a, b), (-2, -1)), input.ndim - 2)
    rows, columns = x.shape[at : at + 2]
    count = max(0, min(rows, columns - offset) if offset >= 0 else min(rows + offset, columns))
    start = offset if offset >= 0 else -offset * columns
    flat = reshape(x, (*x.shape[:at], rows * columns, *x.shape[at + 2 :]))
    stop = start + (count - 1) * (columns + 1) + 1 if count else start
    return moveaxis(getitem(flat, (*(slice(None),) * at, slice(start, stop, columns + 1))), at, -1)


def trace(input: Tensor) -> Tensor:
    """The sum of the diagonal of a matrix."""
    require_rank("trace", "input", input, 2)
    return reduce_sum(diagonal(input), -1)


@method()
def diagflat(input: Tensor, offset: int = 0) -> Tensor:
    """The flattened tensor on a diagonal of a matrix of zeros."""
    (offset,) = whole_numbers("diagflat", "offset", offset)
    made = diag(reshape(input, (-1,)))
    pads = ((max(-offset, 0), max(offset, 0)), (max(offset, 0), max(-offset, 0)))
    return made if not offset else call("Pad", made, paddings=pads, value=0)


# ---- diagonals


def diag_embed(input: Tensor, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """The last axis as a diagonal of matrices over two new axes; the rest zeros."""
    if not input.ndim:
        raise ShapeError(f"diag_embed: input is {input.tensor_type}, expected at least one axis", loc=user_loc())
    n = input.shape[-1]
    size = n + abs(offset)
    before = (abs(offset) if offset < 0 else 0, offset if offset > 0 else 0)
    eye = Tensor(np.eye(n, dtype=input.tensor_type.numpy))
    square_ = mul(expand_dims(input, -1), eye)
    ends = [(0, 0)] * (input.ndim - 1) + [(b, size - n - b) for b in before]
    made = bordered(square_, ends)
    return moveaxis(made, (-2, -1), (dim1, dim2))


def block_diag(*inputs: Tensor) -> Tensor:
    """Matrices along the diagonal of a larger one, zeros elsewhere."""
    matrices = [reshape(x, (1,) * (2 - x.ndim) + x.shape) for x in inputs]
    columns = sum(m.shape[1] for m in matrices)
    rows, at = [], 0
    for m in matrices:
        rows.append(bordered(m, [(0, 0), (at, columns - at - m.shape[1])]))
        at += m.shape[1]
    return concat(rows, 0)


__all__ = [
    "block_diag",
    "diag",
    "diag_embed",
    "diagflat",
    "diagonal",
    "trace",
    "tril",
    "triu",
]
