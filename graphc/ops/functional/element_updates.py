"""Copies of tensors with other elements at places: of an index, a mask, a diagonal, an axis."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphc.errors import ArgumentTypeError, DTypeError, ShapeError, user_loc
from graphc.ops.declared.shape import check_axis
from graphc.ops.functional.bounds import as_index, in_bounds
from graphc.ops.functional.core import Number, Operand, cast_to, is_compared, is_number, shape_of
from graphc.ops.functional.cumulative import cumsum
from graphc.ops.functional.elementwise import less_equal, maximum, sub
from graphc.ops.functional.index import index_select, scattered, updated
from graphc.ops.functional.logic import select
from graphc.ops.functional.reduce import reduce_sum
from graphc.ops.functional.require import require
from graphc.ops.functional.scattering import with_elements
from graphc.ops.functional.shapes import broadcast_to, moveaxis, reshape
from graphc.ops.functional.slicing import getitem
from graphc.ops.tensor.methods import method
from graphc.ops.tensor.tensor import Tensor, as_tensor


@method()
def index_put(input: Tensor, indices: Any, values: Operand, accumulate: bool = False) -> Tensor:
    """A copy in which input[indices] are `values`, or with `accumulate` the sums of both (MindSpore: Tensor.index_put).

    indices: a tuple or list of integer or bool tensors; a bool one must be known where a Cell is compiled. Raises
    ArgumentTypeError, ShapeError.
    """
    if not isinstance(indices, (tuple, list)):
        raise ArgumentTypeError(
            f"index_put: indices must be a tuple or list of tensors, got {type(indices).__name__}", loc=user_loc()
        )
    return updated(input, tuple(indices), values, "add" if accumulate else "update")


@method()
def masked_scatter(input: Tensor, mask: Tensor, source: Tensor) -> Tensor:
    """A copy in which the elements where the mask holds are those of `source` in turn (MindSpore: Tensor.masked_scatter).

    mask: bool, broadcast to the tensor. source: its dtype, at least as many elements as places, else ArgumentValueError, in a
    compiled step when it has run. Raises DTypeError, ShapeError.
    """
    if source.tensor_type.dtype != input.tensor_type.dtype:
        raise DTypeError(
            f"masked_scatter: the tensor is {input.tensor_type}, source {source.tensor_type}", loc=user_loc()
        )
    if mask.tensor_type.dtype != "bool":
        raise DTypeError(f"masked_scatter: mask is {mask.tensor_type}, expected bool", loc=user_loc())
    there = reshape(broadcast_to(mask, input.shape), (-1,))
    if not input.size and not is_compared():
        return input.value()
    number = cumsum(cast_to(there, "int32"), 0)
    enough = less_equal(reduce_sum(cast_to(there, "int32")), source.size)
    require(enough, f"masked_scatter: source has {source.size} elements, the mask holds more often")
    if not source.size and not is_compared():
        return input.value()
    taken = index_select(reshape(source, (-1,)), 0, maximum(sub(number, 1), 0))
    return reshape(select(there, taken, reshape(input, (-1,))), input.shape)


def put(input: Tensor, index: Tensor, source: Tensor, accumulate: bool = False) -> Tensor:
    """A copy in which the elements at places of the flattened tensor are those of `source`, or the sums of both.

    index, source: as many elements, else ShapeError. Negative places count from the end.
    """
    if index.size != source.size:
        raise ShapeError(
            f"put_: index is {index.tensor_type}, source {source.tensor_type}: not as many elements", loc=user_loc()
        )
    if source.tensor_type.dtype != input.tensor_type.dtype:
        raise DTypeError(f"put_: the tensor is {input.tensor_type}, source {source.tensor_type}", loc=user_loc())
    places = in_bounds("put_", reshape(as_index(index), (-1,)), input.size)
    mode = "add" if accumulate else "update"
    return reshape(scattered(mode, reshape(input, (-1,)), places, reshape(source, (-1,))), input.shape)


@method()
def fill_diagonal(input: Tensor, fill_value: Number, wrap: bool = False) -> Tensor:
    """A copy with a number on the main diagonal (MindSpore: Tensor.fill_diagonal).

    input: a matrix, or more axes of one size. wrap: in a matrix with more rows than columns the diagonal goes on below, with
    a row between. Raises ShapeError, ArgumentTypeError.
    """
    shape = input.shape
    if len(shape) < 2 or (len(shape) > 2 and len(set(shape)) > 1):
        raise ShapeError(
            f"fill_diagonal: {input.tensor_type} is no matrix, nor are its axes of one size", loc=user_loc()
        )
    if not is_number(fill_value):
        raise ArgumentTypeError(
            f"fill_diagonal: fill_value must be a number, got {type(fill_value).__name__}", loc=user_loc()
        )
    if not input.size:
        return input.value()
    step = sum(int(np.prod(shape[k + 1 :])) for k in range(len(shape)))
    count = input.size if wrap or len(shape) > 2 else min(shape[0], shape[1]) * shape[1]
    return reshape(updated(reshape(input, (-1,)), slice(0, count, step), fill_value), shape)


@method()
def diagonal_scatter(input: Tensor, src: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    """A copy with `src` on a diagonal of two axes (MindSpore: ops.diagonal_scatter).

    src: the shape of `diagonal(input, offset, dim1, dim2)`, else ShapeError.
    """
    first, second = (check_axis("diagonal_scatter", d, input.ndim) for d in (dim1, dim2))
    if first == second:
        raise ShapeError(f"diagonal_scatter: dim1 and dim2 are both axis {first}", loc=user_loc())
    moved = moveaxis(input, (first, second), (-2, -1))
    rows, columns = moved.shape[-2:]
    down, right = max(-offset, 0), max(offset, 0)
    count = max(min(rows - down, columns - right), 0)
    if src.shape != (*moved.shape[:-2], count):
        raise ShapeError(
            f"diagonal_scatter: src is {src.tensor_type}, the diagonal of {input.tensor_type} has {count}",
            loc=user_loc(),
        )
    if not count:
        return input.value()
    along = np.arange(count, dtype=np.int32)
    made = updated(moved, (..., Tensor(along + down), Tensor(along + right)), src)
    return moveaxis(made, (-2, -1), (first, second))


# ---- along an axis


def index_copy(input: Tensor, dim: int, index: Tensor, tensor: Tensor) -> Tensor:
    """A copy in which entries of an axis are those of a tensor. Raises ShapeError, DTypeError."""
    at = check_axis("index_copy_", dim, input.ndim)
    if tensor.tensor_type.dtype != input.tensor_type.dtype:
        raise DTypeError(
            f"index_copy_: the tensor is {input.tensor_type}, the other {tensor.tensor_type}", loc=user_loc()
        )
    places = in_bounds("index_copy_", reshape(as_index(index), (-1,)), shape_of(input)[at])
    return scattered("update", input, places, tensor, at)


def scatter_reduced(
    input: Tensor, dim: int, index: Tensor, src: Any, reduce: str | None = None, *, name: str = "scatter_"
) -> Tensor:
    """A copy in which the elements at places along an axis are those of src, or a number; added or multiplied with `reduce`.

    reduce: None, "add" or "multiply". index may be shorter than the tensor along other axes, and src longer than index.
    """
    modes = {None: "update", "add": "add", "multiply": "mul"}
    if not isinstance(reduce, (str, type(None))) or reduce not in modes:
        raise ArgumentTypeError(f"{name}: reduce must be None, 'add' or 'multiply', got {reduce!r}", loc=user_loc())
    new = cast_to(as_tensor(src, f"{name}: src"), input.tensor_type.dtype)
    if new.ndim == 0:
        new = broadcast_to(new, index.shape)
    elif new.shape != index.shape:
        if new.ndim != index.ndim or any(a < b for a, b in zip(new.shape, index.shape, strict=True)):
            raise ShapeError(f"{name}: src is {new.tensor_type}, index {index.tensor_type}", loc=user_loc())
        new = getitem(new, tuple(slice(0, d) for d in index.shape))
    at = check_axis(name, dim, input.ndim)
    return with_elements(modes[reduce], input, at, index, new)


__all__ = [
    "diagonal_scatter",
]
