"""Indexing as NumPy does it, reading and writing; entries of axes and at coordinates."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from graphc import dispatch
from graphc.errors import ArgumentTypeError, ArgumentValueError, ShapeError, TraceError, user_loc
from graphc.ir.types import numpy_dtype
from graphc.ops.declared.bounds import IndexKindError, IndexRangeError
from graphc.ops.declared.rules import broadcast_shapes
from graphc.ops.declared.shape import check_axis
from graphc.ops.functional.bounds import as_index, in_bounds
from graphc.ops.functional.core import (
    Number,
    Operand,
    as_bool,
    call,
    cast,
    cast_to,
    is_eager,
    pythons,
    shape_of,
)
from graphc.ops.functional.create import arange
from graphc.ops.functional.dynamic import columns_of, known_number, places_of
from graphc.ops.functional.dynamic_entries import numbers_first, numbers_of
from graphc.ops.functional.dynamic_slices import axes_of, without_open
from graphc.ops.functional.elementwise import add, equal, floor_mod, greater, maximum, minimum, mul, neg
from graphc.ops.functional.joining import stack
from graphc.ops.functional.logic import select
from graphc.ops.functional.operand_checks import require_rank
from graphc.ops.functional.shapes import broadcast_to, expand_dims, moveaxis, reshape
from graphc.ops.functional.slicing import getitem, one_ellipsis
from graphc.ops.functional.state import assign_parameter
from graphc.ops.tensor.arrays import note_write
from graphc.ops.tensor.deferred import Deferred
from graphc.ops.tensor.dtype import to_name
from graphc.ops.tensor.methods import method
from graphc.ops.tensor.parameter import Parameter
from graphc.ops.tensor.tensor import Tensor, as_tensor, require_array
from graphc.validation.checks import integer
from graphc.validation.unused_arguments import only

Indices = Tensor | Sequence[Any]


def _gathered(x: Tensor, indices: Tensor, axis: int) -> Tensor:
    """Rows along an axis, of any dtype."""
    if x.tensor_type.dtype == "bool":
        return as_bool(call("Gather", cast_to(x, "int32"), indices, axis=axis))
    return call("Gather", x, indices, axis=axis)


def scattered(mode: str, x: Tensor, indices: Tensor, updates: Tensor, axis: int = 0) -> Tensor:
    """x with rows along an axis combined with `updates`, which are cast to x's dtype. indices: int32 or int64."""
    updates = cast_to(updates, x.tensor_type.dtype)
    if mode == "sub":
        mode, updates = "add", neg(updates)
    return call("Scatter", x, indices, updates, axis=axis, mode=mode)


# ---- x[index]


def index_(x: Tensor, index: Any) -> Tensor:
    """x[index] for integers, slices, `...`, None, bools, lists, integer tensors, and tuples of them, as in NumPy.

    A list that holds more than numbers is a tuple of indices, as in MindSpore: x[[[0, 1], [1, 0]]] is x[[0, 1], [1, 0]]. What a
    bool tensor takes of x is counted while a compiled step runs (`graphc.steps.dynamic_sizes`).
    """
    if isinstance(index, list) and not all(isinstance(i, (bool, int, float, np.generic)) for i in index):
        index = tuple(index)
    items = [_plain(i) for i in (index if isinstance(index, tuple) else (index,))]
    if any(isinstance(i, Tensor) and i.is_number for i in items):
        for item, axis in zip(items, axes_of(x, items), strict=True):
            of_turn = getattr(item, "require_place", None)
            if of_turn is not None and axis < x.ndim:
                of_turn(shape_of(x)[axis])  # As soon as it is known, not only when a turn is run.
    if any(isinstance(i, (slice, Deferred)) for i in items):
        x, items = without_open(x, items, _gathered)
    if len(items) == 1 and _is_counted(items[0]):
        return _chosen(x, items[0])
    if len(items) == 1 and isinstance(items[0], Tensor) and items[0].tensor_type.dtype == "bool" and not items[0].shape:
        return getitem(getitem(x, None), slice(0, int(bool(items[0].array))))
    if any(isinstance(i, Tensor) and i.tensor_type.dtype == "bool" for i in items):
        _require_masks(x, items)
        items = [part for i in items for part in _places_of(i)]
    if not any(isinstance(i, Tensor) for i in items):
        return getitem(x, tuple(None if i is True else i for i in items))
    if any(i is True for i in items):
        # True walks a new axis of length 1, together with the tensors.
        x = getitem(x, tuple(_around_new(i) for i in items if i is not None))
        items = [Tensor.wrap(np.zeros(1, np.int32)) if i is True else i for i in items]
    made = _advanced(x, items)
    if is_eager():
        made.taken_of = x, index
    return made


def _around_new(item: Any) -> Any:
    return None if item is True else item if item is Ellipsis else slice(None)


def _plain(item: Any) -> Any:
    if isinstance(item, (list, tuple, np.ndarray)):
        if any(isinstance(i, Tensor) for i in item):
            return stack([as_tensor(i) for i in item])
        array = np.asarray(item)
        return Tensor.wrap(array if array.size else array.astype(np.int32))
    if isinstance(item, (bool, np.bool_)):
        if not item:
            raise IndexKindError("False is no index: it would take nothing", loc=user_loc())
        return True
    if isinstance(item, slice):
        return slice(*(_known(v) for v in (item.start, item.stop, item.step)))
    if isinstance(item, Tensor) and not item.shape and item.tensor_type.dtype != "bool" and type(item) is Tensor:
        return item.item()
    return item


def _known(bound: Any) -> Any:
    return int(bound.array.item()) if isinstance(bound, Tensor) and bound.array is not None else bound


def _places_of(item: Any) -> list[Any]:
    """A bool index as integer ones, one per axis."""
    if not isinstance(item, Tensor) or item.tensor_type.dtype != "bool":
        return [item]
    if item.array is None:
        if not item.shape:
            raise TraceError(
                "a bool tensor without axes beside other indices must be known when the Cell is compiled",
                code="GC120",
                loc=user_loc(),
                help="index with it alone: x[flag][index]",
            )
        return columns_of("an index", item)
    if not item.shape and item.array:
        return [True]
    if not item.shape:
        raise IndexKindError("False beside other indices would take nothing", loc=user_loc())
    return [Tensor.wrap(places) for places in np.nonzero(item.array)]


def _require_masks(x: Tensor, items: Sequence[Any]) -> None:
    """IndexRangeError where a mask has other sizes than the axes of x that it stands for."""
    for begin, item in zip(axes_of(x, items), items, strict=True):
        if _is_mask(item) and x.shape[begin : begin + item.ndim] != item.shape:
            raise IndexRangeError(f"the index {item.tensor_type} has other sizes than {x.tensor_type}", loc=user_loc())


def _is_mask(item: Any) -> bool:
    return isinstance(item, Tensor) and item.tensor_type.dtype == "bool"


def _is_counted(index: Any) -> bool:
    """Whether an index is a mask whose value is not known."""
    return _is_mask(index) and index.array is None


def _as_rows(x: Tensor, mask: Tensor) -> Tensor:
    """x with one axis in place of those that a mask has. IndexRangeError where they differ."""
    _require_masks(x, [mask])
    return reshape(x, (mask.size, *x.shape[mask.ndim :]))


def _chosen(x: Tensor, mask: Tensor) -> Tensor:
    """x[mask], counted."""
    return _gathered(_as_rows(x, mask), places_of("an index", reshape(mask, (-1,))), 0)


def _advanced(x: Tensor, items: list[Any]) -> Tensor:
    """An index with integer tensors: slices first, then one gather over the axes that tensors walk."""
    used = sum(1 for i in items if i is not None and i is not Ellipsis)
    if used > x.ndim:
        raise IndexRangeError(f"too many indices ({used}) for {x.tensor_type}", loc=user_loc())
    one_ellipsis(items)
    at = next((k for k, i in enumerate(items) if i is Ellipsis), len(items))
    kinds = (Tensor, int, np.integer)
    # As in NumPy: what stands between two such indices sends their axes to the front, even `...` for no axes.
    parted = any(isinstance(i, kinds) for i in items[:at]) and any(isinstance(i, kinds) for i in items[at + 1 :])
    items[at : at + 1] = [slice(None)] * (x.ndim - used)
    walked = [isinstance(i, kinds) for i in items]
    x = getitem(x, tuple(slice(None) if w else i for i, w in zip(items, walked, strict=True)))
    axes = [k for k, w in enumerate(walked) if w]
    indices = [as_index(items[k]) for k in axes]
    if not parted and any(isinstance(shape_of(x)[k], Deferred) for k in axes[1:]):
        x, axes, indices = numbers_first(x, axes, indices, _gathered)
    if not axes:
        return x
    shape = broadcast_shapes("indexing", *(i.shape for i in indices))
    flat: Tensor | None = None
    for axis, index in zip(axes, indices, strict=True):
        step = in_bounds("", index, shape_of(x)[axis])
        flat = step if flat is None else add(mul(flat, x.shape[axis]), step)
    assert flat is not None
    if flat.shape != shape:
        flat = broadcast_to(flat, shape)
    first = axes[0] if axes == list(range(axes[0], axes[-1] + 1)) and not parted else 0
    x = moveaxis(x, tuple(axes), tuple(range(first, first + len(axes))))
    lead, rest = x.shape[:first], x.shape[first + len(axes) :]
    return _gathered(reshape(x, (*lead, math.prod(x.shape[first : first + len(axes)]), *rest)), flat, first)


# ---- x[index] = value


def updated(x: Tensor, index: Any, value: Operand | Sequence[Any], mode: str = "update") -> Tensor:
    """A copy of x in which x[index] is `value`, broadcast and cast to x's dtype; with mode "add" the sum of both."""
    if isinstance(index, (bool, np.bool_)) and not index:
        return x.value()
    new = cast_to(value if isinstance(value, Tensor) else _numbers(x, value), x.tensor_type.dtype)
    if index is Ellipsis:
        whole = _as_large(new, x.shape)
        return whole.value() if mode == "update" else add(x, whole)
    chosen = _put_back(x, index, new, mode)
    if chosen is not None:
        return chosen
    numbers = numbers_of(x, index, _plain)
    if numbers is not None:
        return _at_numbers(x, numbers, new, mode)
    if _is_mask(index) and (index.array is None or new.size == 1):
        new = reshape(new, ()) if new.size == 1 else new
        mask = reshape(index, index.shape + (1,) * (x.ndim - index.ndim))
        return select(mask, new if mode == "update" else add(x, new), x)
    active = dispatch.recorder.get()
    if x.size == 0 and not (active is not None and active.compared):
        return x.value()
    places = index_(reshape(arange(0, x.size, dtype="int32"), x.shape), index)
    new = _as_large(new, places.shape)
    flat = scattered(mode, reshape(x, (-1,)), reshape(places, (-1,)), reshape(new, (-1,)))
    return reshape(flat, x.shape)


def _at_numbers(x: Tensor, numbers: dict[int, Any], new: Tensor, mode: str) -> Tensor:
    """x with what single numbers of some axes take of it replaced, one axis after the other."""
    first, *rest = numbers
    place = (*[slice(None)] * first, numbers[first])
    row = index_(x, place)
    if rest:
        others = tuple(numbers.get(k, slice(None)) for k in range(x.ndim) if k != first)
        new = updated(row, others, new, mode)
    else:
        new = _as_large(new, row.shape)
        new = new if mode == "update" else add(row, new)
    at = numbers[first]
    at = at.tensor() if isinstance(at, Deferred) else at
    return scattered(
        "update",
        x,
        reshape(in_bounds("", as_index(at), shape_of(x)[first]), (1,)),
        expand_dims(new, first),
        first,
    )


def _as_large(new: Tensor, shape: tuple[int, ...]) -> Tensor:
    """A value that is written to elements of this shape. ShapeError where it cannot be."""
    lead = max(new.ndim - len(shape), 0)
    if any(d != 1 for d in new.shape[:lead]):
        raise ShapeError(f"a value {new.tensor_type} cannot be written to elements of shape {shape}", loc=user_loc())
    return broadcast_to(reshape(new, new.shape[lead:]), shape)


def _numbers(x: Tensor, value: Any) -> Tensor:
    """Numbers, also an array or nested list of them and of tensors, as a tensor for elements of x. Raises ArgumentTypeError."""
    if isinstance(value, (list, tuple)) and value and any(isinstance(v, (Tensor, list, tuple)) for v in value):
        parts = [v if isinstance(v, Tensor) else _numbers(x, v) for v in value]
        if len({p.shape for p in parts}) == 1:
            return stack([cast_to(p, x.tensor_type.dtype) for p in parts])
    try:
        array = np.asarray(value)
    except ValueError:
        array = np.asarray(None)  # Lists of several lengths.
    if array.dtype.kind in "OUSMm":
        shown = f"the list {value!r}" if isinstance(value, (list, tuple)) else type(value).__name__
        raise ArgumentTypeError(
            f"what is written to elements of a tensor must be a Tensor, a number or a list of numbers, got {shown}",
            loc=user_loc(),
        )
    return Tensor(array) if array.dtype.kind == "c" else Tensor(array.astype(x.tensor_type.numpy))


def _put_back(x: Tensor, mask: Any, new: Tensor, mode: str) -> Tensor | None:
    """x with its elements, or rows, where a mask holds replaced, if `new` is of as many as x[mask] has, as counted; else None."""
    if not _is_counted(mask) or new.ndim != x.ndim - mask.ndim + 1:
        return None
    active: Any = dispatch.recorder.get()
    ranks = active.ranks(reshape(mask, (-1,)), new.shape[0])
    if ranks is None:
        return None
    rows, flat = _as_rows(x, mask), reshape(mask, (mask.size,) + (1,) * (x.ndim - mask.ndim))
    new = _gathered(new, ranks, 0)
    return reshape(select(flat, new if mode == "update" else add(rows, new), rows), x.shape)


def write(x: Tensor, index: Any, value: Any) -> None:
    """x[index] = value in place. In a compiled Cell the name stands for the new tensor; a Parameter is assigned.

    ArgumentTypeError for a RowTensor, which is made anew from its parts whenever it is read.
    """
    if x.is_rows:
        raise ArgumentTypeError(
            "a RowTensor cannot be changed in place",
            loc=user_loc(),
            help="change its values, or the tensor that it stands for: ops.add(x, 0)",
        )
    if x.view_of is not None:
        x, made = _written_through(x, index, value)
    else:
        made = updated(x, index, value)
    if isinstance(x, Parameter):
        assign_parameter(x, made)
    elif dispatch.recorder.get() is None:
        write_now(x, made.asnumpy())
    else:
        replace(x, made)


def set_item(x: Tensor, index: Any, value: Any) -> None:
    """`x[index] = value`: in eager calls what x was taken of by tensors or lists holds it, too: x[[0, 2]][0] = v writes x[0]."""
    write(x, index, value)
    if x.taken_of is not None and is_eager():
        set_item(*x.taken_of, x)


def _written_through(x: Any, index: Any, value: Any) -> tuple[Tensor, Tensor]:
    """The tensor that a view has the memory of, and what that holds when x[index] is `value`."""
    root, lies = x.places()
    token = dispatch.recorder.set(None)
    try:
        places = index_(Tensor.wrap(lies), index)
    finally:
        dispatch.recorder.reset(token)
    new = cast_to(value if isinstance(value, Tensor) else _numbers(x, value), x.tensor_type.dtype)
    new = reshape(_as_large(new, places.shape), (-1,))
    flat = scattered("update", reshape(root.value(), (-1,)), Tensor.wrap(require_array(places).reshape(-1)), new)
    return root, reshape(flat, root.shape)


def write_now(x: Tensor, elements: Any) -> None:
    """Write elements into the memory of a tensor."""
    array = require_array(x)
    if array.flags.writeable:
        array[...] = elements
        note_write(array)
    else:  # Elements that stand for several, as those of a broadcast.
        x._array = elements.copy()
        x.moves += 1
    dispatch.touch()  # It may be a constant of a compiled step.


def replace(x: Tensor, made: Tensor) -> None:
    """Let the object x stand for another tensor of its type. In PYNATIVE_MODE a tensor from outside of the call is written."""
    active: Any = dispatch.recorder.get()
    if not hasattr(made, "handle"):
        made = active.wrap(active.resolve(made))
    if not hasattr(x, "handle") and active.immediate:
        active.note_written(x, made)
        write_now(x, made.array)
        return
    if not hasattr(x, "handle"):
        active.writes_constant(x)
        raise TraceError(
            "a tensor that is a constant of the compiled Cell cannot be changed",
            code="GC133",
            loc=user_loc(),
            help="make a copy first, x = x + 0, or hold the state in a Parameter",
        )
    active.overwrite(x, made)
    if x.taken_of is not None and (x.taken_of[1] is ... or not active.immediate):
        write(*x.taken_of, x)


# ---- along an axis


@method()
def index_select(input: Tensor, axis: int, index: Tensor) -> Tensor:
    """Entries of an axis, which the numbers in `index`, one or a vector of them, name."""
    places = as_index(index)
    require_rank("index_select", "index", places, 0, 1)
    return _entries("index_select", input, places, check_axis("index_select", axis, input.ndim))


def _entries(owner: str, x: Tensor, places: Tensor, axis: int) -> Tensor:
    return _gathered(x, in_bounds(owner, places, shape_of(x)[axis]), axis)


@method()
def take(input: Tensor, index: Any, axis: int | None = None, mode: str = "clip") -> Tensor:
    """Entries of an axis, of the flattened tensor by default. A number beyond the ends is that of the end it passed, or with
    mode "wrap" counted on from the other; ArgumentValueError GC112 for mode "raise", which a compiled step cannot.
    """
    only("take", "mode", mode, "clip", "wrap")
    x = reshape(input, (-1,)) if axis is None else input
    at = 0 if axis is None else axis
    size = x.shape[at]
    places = as_index(index)
    inside = floor_mod(places, size) if mode == "wrap" else minimum(maximum(places, -size), size - 1)
    return _entries("take", x, inside, check_axis("take", at, x.ndim))


def index_add(
    x: Tensor, indices: Indices, y: Tensor, axis: int, use_lock: bool = True, check_index_bound: bool = True
) -> Tensor:
    """x with entries of y added to those of an axis; a Parameter is assigned.

    use_lock and check_index_bound say how, not what: no step writes twice at a time, and an index out of range is an error.
    """
    made = added_at(x, indices, y, axis)
    return assign_parameter(x, made) if isinstance(x, Parameter) else made


def added_at(x: Tensor, indices: Indices, y: Tensor, axis: int) -> Tensor:
    """A copy of x with entries of y added to those of an axis."""
    at = check_axis("index_add", axis, x.ndim)
    return scattered("add", x, in_bounds("index_add", as_index(indices), shape_of(x)[at]), y, at)


@method()
def index_fill(x: Tensor, axis: int, index: Any, value: Operand) -> Tensor:
    """x with entries of an axis filled with a number."""
    at = check_axis("index_fill", axis, x.ndim)
    where = as_index(index)
    require_rank("index_fill", "index", where, 0, 1)
    where = reshape(where, (-1,))
    shape = (*x.shape[:at], where.size, *x.shape[at + 1 :])
    return scattered(
        "update", x, in_bounds("index_fill", where, shape_of(x)[at]), broadcast_to(cast(value, x.dtype), shape), at
    )


# ---- by coordinates


def coordinates(owner: str, shape: tuple[int, ...], indices: Indices) -> tuple[Tensor, int]:
    """Flat places of coordinates (the last axis of `indices`), and how many axes they name."""
    index = as_index(indices)
    depth = index.shape[-1] if index.ndim else 1
    if not index.ndim or depth > len(shape):
        raise ShapeError(f"coordinates are {index.tensor_type}, shape {shape} has {len(shape)} axes", loc=user_loc())
    flat: Operand = 0
    for k in range(depth):
        step = in_bounds(owner, getitem(index, (..., k)), shape[k])
        flat = step if k == 0 else add(mul(flat, shape[k]), step)
    return as_tensor(flat), depth


@method()
def gather_nd(input_x: Tensor, indices: Indices) -> Tensor:
    """The slices of x at coordinates."""
    flat, depth = coordinates("gather_nd", input_x.shape, indices)
    if not depth:
        return broadcast_to(input_x, (*shape_of(as_index(indices))[:-1], *input_x.shape))
    return _gathered(reshape(input_x, (math.prod(input_x.shape[:depth]), *input_x.shape[depth:])), flat, 0)


def one_hot_rows(
    indices: Tensor, depth: int, on_value: Number = 1.0, off_value: Number = 0.0, dtype: Any = "float32"
) -> Tensor:
    """on_value at the index along a new last axis, off_value elsewhere."""
    if isinstance(depth, Tensor) and not depth.tensor_type.is_float:
        depth = known_number("one_hot", depth)
    integer("one_hot", "the number of classes", depth)
    if isinstance(depth, Deferred):
        here = equal(expand_dims(indices, indices.ndim), cast_to(arange(depth), indices.tensor_type.dtype))
        return select(here, *(Tensor(np.array(x, numpy_dtype(to_name(dtype)))) for x in (on_value, off_value)))
    return call("OneHot", indices, depth=int(depth), on=on_value, off=off_value, dtype=to_name(dtype))


def marked(indices: Tensor, depth: int, on_value: Operand, off_value: Operand, axis: int = -1) -> Tensor:
    """on_value at the index along a new axis, off_value elsewhere; of their dtype."""
    made = select(greater(one_hot_rows(indices, depth, 1, 0, "int32"), 0), on_value, off_value)
    return made if axis == -1 else moveaxis(made, -1, axis)


def one_hot(indices: Tensor, depth: int, on_value: Operand = 1, off_value: Operand = 0, axis: int = -1) -> Tensor:
    """on_value at the index along a new axis, off_value elsewhere; int64 by default."""
    return marked(indices, depth, as_tensor(pythons(on_value)), as_tensor(pythons(off_value)), axis)


@method()
def select_scatter(input: Tensor, src: Tensor, axis: int, index: int) -> Tensor:
    """input with the entry `index` of an axis replaced."""
    at = check_axis("select_scatter", axis, input.ndim)
    if not -input.shape[at] <= index < input.shape[at]:
        raise ArgumentValueError(
            f"select_scatter: index {index} is out of range for axis {at} of {input.tensor_type}", loc=user_loc()
        )
    i = index % input.shape[at]
    return slice_scatter(input, expand_dims(src, at), at, i, i + 1)


@method()
def slice_scatter(
    input: Tensor, src: Tensor, axis: int = 0, start: int | None = None, end: int | None = None, step: int = 1
) -> Tensor:
    """input with the entries start:end:step of an axis replaced."""
    at = check_axis("slice_scatter", axis, input.ndim)
    if step == 0:
        raise ArgumentValueError("slice_scatter: step must not be 0", loc=user_loc())
    return updated(input, (*[slice(None)] * at, slice(start, end, step)), src)


__all__ = [
    "gather_nd",
    "index_add",
    "index_fill",
    "index_select",
    "one_hot",
    "select_scatter",
    "slice_scatter",
    "take",
]
