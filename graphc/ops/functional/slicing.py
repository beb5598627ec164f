"""Parts of axes: ranges, single entries."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from graphc import dispatch
from graphc.errors import ArgumentValueError, ShapeError, user_loc
from graphc.ops.declared.bounds import IndexKindError, IndexRangeError
from graphc.ops.declared.shape import check_axis
from graphc.ops.functional.bounds import as_index, in_bounds
from graphc.ops.functional.core import call, cast, shape_of
from graphc.ops.functional.elementwise import add, less
from graphc.ops.functional.logic import select
from graphc.ops.functional.operand_checks import require_at_least
from graphc.ops.functional.shapes import reshape
from graphc.ops.tensor.methods import method
from graphc.ops.tensor.tensor import Tensor


def getitem(x: Tensor, index: Any) -> Tensor:
    """x[index] for integers, slices, `...` and None. IndexRangeError, IndexKindError for anything else."""
    items = list(index) if isinstance(index, tuple) else [index]
    one_ellipsis(items)
    used = sum(1 for i in items if i is not None and i is not Ellipsis)
    if used > x.ndim:
        raise IndexRangeError(f"too many indices ({used}) for {x.tensor_type}", loc=user_loc())
    at = items.index(Ellipsis) if Ellipsis in items else len(items)
    items[at : at + 1] = [slice(None)] * (x.ndim - used)
    begin, size, step, shape = [], [], [], []
    axis = 0
    for item in items:
        if item is None:
            shape.append(1)
            continue
        extent = x.shape[axis]
        if isinstance(item, slice):
            if item.step == 0:
                raise ArgumentValueError("an index has a slice with the step 0", loc=user_loc())
            start, stop, by = item.indices(extent)
            count = len(range(start, stop, by))
            shape.append(count)
        elif isinstance(item, (int, np.integer)) and not isinstance(item, bool):
            if not -extent <= item < extent:
                dispatch.refuse(
                    IndexRangeError(f"index {item} is out of range for axis {axis} of shape {x.shape}", loc=user_loc())
                )
            start, count, by = int(item) if item >= extent else int(item) % max(extent, 1), 1, 1
        else:
            raise IndexKindError(f"cannot index a tensor with {type(item).__name__}", loc=user_loc())
        begin.append(start if count else 0)
        size.append(count)
        step.append(by)
        axis += 1
    if tuple(size) != x.shape or any(s != 1 for s in step) or _may_cut(items):
        x = call("Slice", x, begin=tuple(begin), size=tuple(size), step=tuple(step))
    return reshape(x, tuple(shape))


def _may_cut(items: Sequence[Any]) -> bool:
    """Whether bounds that cut nothing may cut where an axis has another size: of one that is counted, or varies."""
    active: Any = dispatch.recorder.get()
    varies = active is not None and (active.counts or active.compared)
    return varies and any(i is not None and i != slice(None) for i in items)


def one_ellipsis(items: Sequence[Any]) -> None:
    """IndexRangeError for an index with several `...`."""
    if sum(item is Ellipsis for item in items) > 1:
        raise IndexRangeError("an index may hold one `...` only", loc=user_loc())


@method()
def narrow(input: Tensor, axis: int, start: int | Tensor, length: int) -> Tensor:
    """`length` entries of an axis from `start`, which may count from its end, and may be a tensor of one element.
    ArgumentValueError where it has not so many, IndexRangeError where only the run tells that.
    """
    at = check_axis("narrow", axis, input.ndim)
    size = input.shape[at]
    known = dispatch.known_array(start) if isinstance(start, Tensor) else start
    if known is None and isinstance(start, Tensor):
        return _from_where(input, at, start, operator.index(length))
    start = operator.index(start)
    start = start + size if isinstance(start, int) and start < 0 else start
    if all(isinstance(v, int) for v in (start, length, size)) and not 0 <= start <= start + length <= size:
        raise ArgumentValueError(
            f"narrow: axis {at} of {input.tensor_type} has no {length} entries from {start} on", loc=user_loc()
        )
    return getitem(input, (*(slice(None),) * at, slice(start, start + length)))


def _from_where(x: Tensor, axis: int, start: Tensor, length: int) -> Tensor:
    """Entries of an axis from a place on that only the run tells."""
    first = reshape(as_index(start), ())
    first = select(less(first, 0), add(first, x.shape[axis]), first)
    places = add(Tensor(np.arange(length, dtype=np.int32)), cast(first, "int32"))
    # What begins in front of the axis does not begin at its end.
    places = select(less(places, 0), x.shape[axis], places)
    return rows_at(x, in_bounds("narrow", places, shape_of(x)[axis]), axis)


def select_at(input: Tensor, dim: int, index: int) -> Tensor:
    """One entry of an axis, which goes away."""
    return getitem(input, (*(slice(None),) * check_axis("select", dim, input.ndim), index))


def slice_(input_x: Tensor, begin: Sequence[int | Tensor], size: Sequence[int]) -> Tensor:
    """`size` entries of each axis from `begin`, of which tensors may be some; -1 takes what is left."""
    if not len(begin) == len(size) == input_x.ndim:
        raise ArgumentValueError(
            f"slice: begin {begin} and size {size} are not one number for each axis of {input_x.tensor_type}",
            loc=user_loc(),
        )
    for axis, (b, n) in enumerate(zip(begin, size, strict=True)):
        if isinstance(b, Tensor) and dispatch.known_array(b) is None and n != -1:
            input_x = narrow(input_x, axis, b, n)
            begin = (*begin[:axis], 0, *begin[axis + 1 :])
    last = [b + n if n != -1 else d for b, n, d in zip(begin, size, input_x.shape, strict=True)]
    for b, e, d in zip(begin, last, input_x.shape, strict=True):
        if not 0 <= b <= e <= d:
            raise ArgumentValueError(
                f"slice: begin {begin} with size {size} leaves {input_x.tensor_type}", loc=user_loc()
            )
    return getitem(input_x, tuple(slice(b, e) for b, e in zip(begin, last, strict=True)))


def strided_slice(
    input_x: Tensor,
    begin: Sequence[int],
    end: Sequence[int],
    strides: Sequence[int],
    begin_mask: int = 0,
    end_mask: int = 0,
    ellipsis_mask: int = 0,
    new_axis_mask: int = 0,
    shrink_axis_mask: int = 0,
) -> Tensor:
    """x[begin:end:strides]. Bit i of a mask says of axis i: no begin, no end, `...`, a new axis, an index that removes it."""
    items: list[Any] = []
    if not len(begin) == len(end) == len(strides) or 0 in [int(s) for s in strides]:
        raise ArgumentValueError(
            f"strided_slice: begin {begin}, end {end} and strides {strides} must be equally long, no stride 0",
            loc=user_loc(),
        )
    masks = {"begin_mask": begin_mask, "end_mask": end_mask, "ellipsis_mask": ellipsis_mask}
    masks |= {"new_axis_mask": new_axis_mask, "shrink_axis_mask": shrink_axis_mask}
    for name, mask in masks.items():
        require_at_least("strided_slice", name, mask, 0)
    for i, (b, e, s) in enumerate(zip(begin, end, strides, strict=True)):
        if ellipsis_mask >> i & 1:
            items.append(Ellipsis)
        elif new_axis_mask >> i & 1:
            items.append(None)
        elif shrink_axis_mask >> i & 1:
            items.append(int(b))
        else:
            items.append(slice(None if begin_mask >> i & 1 else int(b), None if end_mask >> i & 1 else int(e), int(s)))
    return getitem(input_x, tuple(items))


def rows_at(x: Tensor, indices: Tensor, axis: int = 0) -> Tensor:
    """Rows at the indices along an axis; an index out of range, a negative one too, gives zeros."""
    return call("Gather", x, indices, axis=axis)


def gather(input_params: Tensor, input_indices: Tensor, axis: int = 0, batch_dims: int = 0) -> Tensor:
    """Rows at the indices along an axis; a negative index counts from its end. IndexRangeError for one out of range.

    With batch_dims the leading axes of both go together: the result is the rows of each entry of these axes. A negative number
    of them counts from the number of axes of the indices.
    """
    x, indices = input_params, as_index(input_indices)
    at = check_axis("gather", axis, x.ndim)
    indices = in_bounds("gather", indices, shape_of(x)[at])
    lead = batch_dims + indices.ndim if batch_dims < 0 else batch_dims
    if not 0 <= lead <= indices.ndim:
        raise ArgumentValueError(
            f"gather: batch_dims is {batch_dims}, the indices are {indices.tensor_type}", loc=user_loc()
        )
    if not lead:
        return rows_at(x, indices, at)
    if x.shape[:lead] != indices.shape[:lead] or at < lead:
        raise ShapeError(
            f"gather: {lead} leading axes of {x.tensor_type} and {indices.tensor_type} do not go together, or axis"
            f" {axis} is one of them",
            loc=user_loc(),
        )
    batch, size = x.shape[:lead], x.shape[at]
    order = (*range(lead), at, *(i for i in range(lead, x.ndim) if i != at))
    rows = call("Transpose", x, perm=order)
    rest = rows.shape[lead + 1 :]
    first = Tensor(np.arange(math.prod(batch)).reshape(*batch, *(1,) * (indices.ndim - lead)) * size)
    flat = add(cast(indices, "int64"), first)
    made = call("Gather", reshape(rows, (math.prod(batch) * size, *rest)), flat, axis=0)
    # [batch, indices, axes before, axes behind] with the indices where the axis was.
    counted, before = indices.ndim - lead, at - lead
    back = (*range(lead), *(lead + counted + i for i in range(before)), *(lead + i for i in range(counted)))
    return call("Transpose", made, perm=(*back, *range(len(back), made.ndim)))


__all__ = [
    "gather",
    "narrow",
    "strided_slice",
]
