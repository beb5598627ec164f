"""Elements in reverse or turned order, and parts of axes."""

from __future__ import annotations

from collections.abc import Sequence

from graphc.errors import ArgumentValueError, ShapeError, user_loc
from graphc.ops.declared.rules import normalize_axes
from graphc.ops.declared.shape import check_axis
from graphc.ops.functional.core import Ints, cast
from graphc.ops.functional.create import arange
from graphc.ops.functional.elementwise import less, sub
from graphc.ops.functional.joining import concat, stack, unstack
from graphc.ops.functional.logic import select
from graphc.ops.functional.operand_checks import require_at_least
from graphc.ops.functional.shapes import expand_dims, moveaxis, reshape, whole_numbers
from graphc.ops.functional.slicing import gather, getitem
from graphc.ops.tensor.methods import method
from graphc.ops.tensor.tensor import Tensor


@method()
def flip(input: Tensor, dims: Ints) -> Tensor:
    """Axes in reverse order."""
    axes = () if dims == () else normalize_axes("flip", (dims,) if dims is None else dims, input.ndim)
    turned = getitem(input, tuple(slice(None, None, -1) if i in axes else slice(None) for i in range(input.ndim)))
    return turned.twin()


@method()
def fliplr(input: Tensor) -> Tensor:
    """Axis 1 in reverse order."""
    return flip(input, (1,))


@method()
def flipud(input: Tensor) -> Tensor:
    """Axis 0 in reverse order."""
    return flip(input, (0,))


@method()
def rot90(input: Tensor, k: int, dims: Sequence[int]) -> Tensor:
    """The plane of two axes rotated k times by 90 degrees, from the first axis towards the second."""
    a, b = dims
    if k % 4 == 2:
        return flip(input, (a, b))
    if k % 4 == 0:
        return input.value()
    swapped = moveaxis(input, (a, b), (b, a))
    return flip(swapped, (a,)) if k % 4 == 1 else flip(swapped, (b,))


@method()
def roll(input: Tensor, shifts: Ints, dims: Ints | None = None) -> Tensor:
    """Elements moved along axes, those beyond the end coming in at the beginning; flattened without axes."""
    if dims is None:
        return reshape(roll(reshape(input, (-1,)), shifts, 0), input.shape)
    moves, axes = whole_numbers("roll", "shifts", shifts), whole_numbers("roll", "dims", dims)
    if len(moves) != len(axes):
        raise ArgumentValueError(
            f"roll: shifts are {len(moves)} and dims {len(axes)}, expected as many of both", loc=user_loc()
        )
    x = input
    for by, axis in zip(moves, axes, strict=True):
        at = check_axis("roll", axis, x.ndim)
        cut = -by % x.shape[at] if x.shape[at] else 0
        if cut:
            before = (slice(None),) * at
            x = concat((getitem(x, (*before, slice(cut, None))), getitem(x, (*before, slice(0, cut)))), at)
    return x.twin() if x is input else x


@method()
def reverse_sequence(x: Tensor, seq_lengths: Tensor, seq_dim: int, batch_dim: int = 0) -> Tensor:
    """The first seq_lengths[i] entries of axis seq_dim in reverse order, for each entry i of batch_dim."""
    require_at_least("reverse_sequence", "seq_dim", seq_dim, 0)
    require_at_least("reverse_sequence", "batch_dim", batch_dim, 0)
    moved = moveaxis(x, (batch_dim, seq_dim), (0, 1))
    count, size = moved.shape[:2]
    if seq_lengths.shape != (count,):
        raise ShapeError(
            f"reverse_sequence: seq_lengths are {seq_lengths.tensor_type} for {count} entries of axis {batch_dim} of"
            f" {x.tensor_type}",
            loc=user_loc(),
        )
    if not count:
        return x.value()
    lengths = expand_dims(cast(seq_lengths, "int32"), 1)
    places = arange(0, size, dtype="int32")
    index = select(less(places, lengths), sub(sub(lengths, 1), places), places)
    made = stack([gather(row, k, 0) for row, k in zip(unstack(moved), unstack(index), strict=True)])
    return moveaxis(made, (0, 1), (batch_dim, seq_dim))


@method()
def reverse(x: Tensor, axis: Ints) -> Tensor:
    """Axes in reverse order."""
    return flip(x, axis)


__all__ = [
    "flip",
    "fliplr",
    "flipud",
    "reverse",
    "reverse_sequence",
    "roll",
    "rot90",
]
