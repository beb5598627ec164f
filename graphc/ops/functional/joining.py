"""Tensors joined, split and repeated along axes."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from graphc import dispatch
from graphc.errors import ArgumentTypeError, ArgumentValueError, ShapeError, user_loc
from graphc.ops.declared.shape import check_axis
from graphc.ops.functional.core import Ints, Shape, call
from graphc.ops.functional.shapes import (
    as_shape,
    atleast_1d,
    atleast_2d,
    atleast_3d,
    broadcast_to,
    expand_dims,
    moveaxis,
    ravel,
    reshape,
    whole_numbers,
)
from graphc.ops.functional.slicing import getitem, select_at
from graphc.ops.tensor.deferred import Stacked
from graphc.ops.tensor.methods import method
from graphc.ops.tensor.tensor import Tensor
from graphc.validation.checks import integer

#: What no program can mean.
_MOST_PIECES = 2**20


def concat(tensors: Sequence[Tensor], axis: int = 0) -> Tensor:
    """Tensors one after the other along an axis."""
    if isinstance(tensors, Stacked):
        return _merged(stack(tensors, axis), check_axis("concat", axis, tensors.tensor.ndim - 1))
    if isinstance(tensors, Tensor):
        raise ArgumentTypeError(
            "concat: tensors must be a tuple or list of Tensors, got a Tensor",
            loc=user_loc(),
            help="concat((x, y), axis)",
        )
    if not tensors:
        raise _of_none()
    return call("Concat", *tensors, axis=check_axis("concat", axis, tensors[0].ndim))


def _of_none() -> ArgumentValueError:
    return ArgumentValueError("concat needs at least one tensor", loc=user_loc())


def _merged(x: Tensor, axis: int) -> Tensor:
    """An axis and the next as one."""
    return reshape(x, (*x.shape[:axis], x.shape[axis] * x.shape[axis + 1], *x.shape[axis + 2 :]))


cat = concat


def stack(tensors: Sequence[Tensor], axis: int = 0) -> Tensor:
    """Tensors of one shape along a new axis."""
    if isinstance(tensors, Stacked):
        if tensors.are_numbers:
            raise ArgumentTypeError("stack: tensors must be Tensors, got numbers", loc=user_loc())
        if not tensors.tensor.shape[0]:
            dispatch.refuse(_of_none())
        return moveaxis(tensors.tensor, 0, axis)
    types = [x.tensor_type for x in tensors if isinstance(x, Tensor)]
    if len({t.shape for t in types}) > 1:
        raise ShapeError(f"stack: tensors are {', '.join(map(str, types))}, expected equal shapes", loc=user_loc())
    return concat([expand_dims(x, axis) for x in tensors], axis)


def split(tensor: Tensor, split_size_or_sections: int | Sequence[int], axis: int = 0) -> tuple[Tensor, ...]:
    """Pieces of a size (the last may be smaller), or of the given sizes, along an axis."""
    x = tensor
    at = check_axis("split", axis, x.ndim)
    total = x.shape[at]
    if isinstance(split_size_or_sections, int):
        each = split_size_or_sections
        if each < 1:
            raise ArgumentValueError(f"split: the size of a piece must be positive, got {each}", loc=user_loc())
        sizes = [min(each, total - i) for i in range(0, max(total, 1), each)]
    else:
        sizes = list(split_size_or_sections)
        if sum(sizes) != total:
            raise ArgumentValueError(
                f"split: sizes {sizes} do not add up to {total} of {x.tensor_type}", loc=user_loc()
            )
    pieces, start = [], 0
    for size in sizes:
        begin = tuple(start if i == at else 0 for i in range(x.ndim))
        shape = tuple(size if i == at else d for i, d in enumerate(x.shape))
        pieces.append(call("Slice", x, begin=begin, size=shape, step=(1,) * x.ndim))
        start += size
    return tuple(pieces)


@method()
def chunk(input: Tensor, chunks: int, axis: int = 0) -> tuple[Tensor, ...]:
    """At most `chunks` pieces of equal size along an axis; the last may be smaller."""
    if chunks < 1:
        raise ArgumentValueError(f"chunk: chunks must be positive, got {chunks}", loc=user_loc())
    return split(input, max(1, -(-input.shape[check_axis("chunk", axis, input.ndim)] // chunks)), axis)


def tile(input: Tensor, dims: Sequence[int]) -> Tensor:
    """input repeated `dims[i]` times along axis i; leading axes of size 1 are added where `dims` is longer."""
    times = as_shape(dims if isinstance(dims, (tuple, list)) else (dims,))
    if any(t < 0 for t in times):
        raise ArgumentValueError(f"tile: repetitions must not be negative, got {times}", loc=user_loc())
    rank = max(len(times), input.ndim)
    sizes = (1,) * (rank - input.ndim) + input.shape
    times = (1,) * (rank - len(times)) + times
    spread = reshape(input, tuple(n for d in sizes for n in (1, d)))
    spread = broadcast_to(spread, tuple(n for t, d in zip(times, sizes, strict=True) for n in (t, d)))
    return reshape(spread, tuple(t * d for t, d in zip(times, sizes, strict=True)))


# ---- joining and repeating


@method("unbind")
def unstack(input_x: Tensor, axis: int = 0) -> tuple[Tensor, ...]:
    """The entries of an axis as tensors of their own."""
    at = check_axis("unstack", axis, input_x.ndim)
    return tuple(select_at(input_x, at, i) for i in range(input_x.shape[at]))


def repeat_elements(x: Tensor, rep: int, axis: int = 0) -> Tensor:
    """Every entry of an axis `rep` times in a row."""
    at = check_axis("repeat_elements", axis, x.ndim)
    integer("repeat_elements", "rep", rep)
    if rep < 0:
        raise ArgumentValueError(f"repeat_elements: rep must not be negative, got {rep}", loc=user_loc())
    spread = expand_dims(x, at + 1)
    spread = broadcast_to(spread, (*x.shape[: at + 1], rep, *x.shape[at + 1 :]))
    return reshape(spread, (*x.shape[:at], x.shape[at] * rep, *x.shape[at + 1 :]))


def repeat_interleave(input: Tensor, repeats: Shape, axis: int | None = None) -> Tensor:
    """Every entry of an axis (of the flattened tensor by default) as often as `repeats` says: one number, or one each."""
    x = ravel(input) if axis is None else input
    at = check_axis("repeat_interleave", 0 if axis is None else axis, x.ndim)
    counts = list(whole_numbers("repeat_interleave", "repeats", repeats))
    if len(counts) == 1:
        return repeat_elements(x, counts[0], at)
    if len(counts) != x.shape[at] or min(counts, default=0) < 0:
        raise ArgumentValueError(
            f"repeat_interleave: repeats must be {x.shape[at]} numbers, none negative, got {counts}", loc=user_loc()
        )
    index = np.repeat(np.arange(x.shape[at]), counts).astype(np.int32)
    return call("Gather", x, Tensor.wrap(index), axis=at)


def meshgrid(*inputs: Any, indexing: str = "xy") -> tuple[Tensor, ...]:
    """Vectors as coordinates of a grid: with "ij" input k varies along axis k, with "xy" the first two are swapped."""
    vectors = tuple(inputs[0]) if len(inputs) == 1 and isinstance(inputs[0], (tuple, list)) else inputs
    order = list(range(len(vectors)))
    if indexing == "xy" and len(order) > 1:
        order[0], order[1] = 1, 0
    elif indexing not in ("xy", "ij"):
        raise ArgumentValueError(f"meshgrid: indexing must be 'xy' or 'ij', got {indexing!r}", loc=user_loc())
    sizes = tuple(vectors[k].size for k in order)
    made = []
    for k, v in enumerate(vectors):
        own = tuple(v.size if order[i] == k else 1 for i in range(len(order)))
        made.append(broadcast_to(reshape(v, own), sizes))
    return tuple(made)


def hstack(tensors: Sequence[Tensor]) -> Tensor:
    """Tensors side by side: along axis 1, vectors along axis 0."""
    if isinstance(tensors, Stacked):
        return concat(tensors, 1 if tensors.tensor.ndim > 2 else 0) if tensors.tensor.ndim > 1 else tensors.tensor
    made = [atleast_1d(x) for x in tensors]
    return concat(made, 0 if made[0].ndim == 1 else 1)


def vstack(inputs: Sequence[Tensor]) -> Tensor:
    """Tensors below each other, along axis 0; vectors as rows."""
    if isinstance(inputs, Stacked):
        rows = inputs.tensor
        return concat(inputs, 0) if rows.ndim > 2 else rows if rows.ndim > 1 else expand_dims(rows, 1)
    return concat([atleast_2d(x) for x in inputs], 0)


def dstack(tensors: Sequence[Tensor]) -> Tensor:
    """Tensors along axis 2."""
    return concat([atleast_3d(x) for x in tensors], 2)


def column_stack(tensors: Sequence[Tensor]) -> Tensor:
    """Vectors as the columns of a matrix; matrices side by side."""
    return concat([expand_dims(x, 1) if x.ndim == 1 else x for x in tensors], 1)


@method()
def tensor_split(input: Tensor, indices_or_sections: Ints, axis: int = 0) -> tuple[Tensor, ...]:
    """n pieces as equal as possible, the larger ones first, or pieces that end before the given places."""
    at = check_axis("tensor_split", axis, input.ndim)
    size = input.shape[at]
    places = whole_numbers("tensor_split", "indices_or_sections", indices_or_sections)
    if not isinstance(indices_or_sections, (tuple, list)):
        if len(places) != 1 or not 1 <= places[0] <= _MOST_PIECES:
            raise ArgumentValueError(
                f"tensor_split: the number of pieces must be positive, and at most {_MOST_PIECES},"
                f" got {indices_or_sections}",
                loc=user_loc(),
            )
        count = places[0]
        each, larger = divmod(size, count)
        ends = np.cumsum([each + 1] * larger + [each] * (count - larger)).tolist()[:-1]
    else:
        ends = list(places)
    before = (slice(None),) * at
    bounds = [0, *ends, size]
    return tuple(getitem(input, (*before, slice(a, b))) for a, b in itertools.pairwise(bounds))


@method()
def hsplit(input: Tensor, indices_or_sections: Ints) -> tuple[Tensor, ...]:
    """Pieces along axis 1, of a vector along axis 0."""
    return tensor_split(input, indices_or_sections, 0 if input.ndim == 1 else 1)


@method()
def vsplit(input: Tensor, indices_or_sections: Ints) -> tuple[Tensor, ...]:
    """Pieces along axis 0."""
    return tensor_split(input, indices_or_sections, 0)


@method()
def dsplit(input: Tensor, indices_or_sections: Ints) -> tuple[Tensor, ...]:
    """Pieces along axis 2."""
    return tensor_split(input, indices_or_sections, 2)


__all__ = [
    "cat",
    "chunk",
    "column_stack",
    "concat",
    "dsplit",
    "dstack",
    "hsplit",
    "hstack",
    "meshgrid",
    "repeat_elements",
    "repeat_interleave",
    "split",
    "stack",
    "tensor_split",
    "tile",
    "unstack",
    "vsplit",
    "vstack",
]
