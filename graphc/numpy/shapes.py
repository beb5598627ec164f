"""The same elements under another shape or order; tensors joined, split and repeated."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

from graphc import ops
from graphc.errors import ArgumentTypeError, ArgumentValueError, user_loc
from graphc.numpy.convert import promoted, tensor, tensors
from graphc.ops.declared.rules import broadcast_shapes, normalize_axes
from graphc.ops.declared.shape import check_axis
from graphc.ops.functional.core import Axis, Ints
from graphc.ops.functional.joining import repeat_interleave
from graphc.ops.functional.shapes import whole_numbers
from graphc.ops.tensor.tensor import Tensor
from graphc.validation.checks import integer

# ---- one tensor


def reshape(x: Any, new_shape: Ints) -> Tensor:
    """The same elements under another shape; one size may be -1."""
    return ops.reshape(tensor("reshape", x), new_shape)


def ravel(x: Any) -> Tensor:
    """All elements as a vector."""
    return ops.ravel(tensor("ravel", x))


def transpose(a: Any, axes: Axis = None) -> Tensor:
    """Axes in another order; reversed by default."""
    return ops.transpose(tensor("transpose", a, "a"), axes)


def expand_dims(a: Any, axis: Axis) -> Tensor:
    """a with new axes of size 1: a number, or a tuple or list of numbers of the result's axes."""
    x = tensor("expand_dims", a, "a")
    if isinstance(axis, int):
        return ops.expand_dims(x, axis)
    if not isinstance(axis, (tuple, list)):
        raise ArgumentTypeError(
            f"expand_dims: axis must be an int, tuple or list, got {type(axis).__name__}", loc=user_loc()
        )
    for at in normalize_axes("expand_dims", tuple(axis), x.ndim + len(axis)) if axis else ():
        x = ops.expand_dims(x, at)
    return x


def squeeze(a: Any, axis: Axis = None) -> Tensor:
    """a without axes of size 1: all, or those of `axis`, which must be of that size."""
    x = tensor("squeeze", a, "a")
    axes = () if axis is None else normalize_axes("squeeze", tuple(axis) if isinstance(axis, list) else axis, x.ndim)
    if axis is not None and axis != () and any(x.shape[k] != 1 for k in axes):
        raise ArgumentValueError(
            f"squeeze: {x.tensor_type} has an axis among {axes} whose size is not 1", loc=user_loc()
        )
    return ops.squeeze(x, axis)


def moveaxis(a: Any, source: Ints, destination: Ints) -> Tensor:
    """Axes moved to other places; the others keep their order."""
    return ops.moveaxis(tensor("moveaxis", a, "a"), source, destination)


def rollaxis(x: Any, axis: int, start: int = 0) -> Tensor:
    """An axis moved to stand before the axis `start`, from minus the rank to the rank."""
    given = tensor("rollaxis", x)
    at = check_axis("rollaxis", axis, given.ndim)
    before = integer("rollaxis", "start", start)
    if not -given.ndim <= before <= given.ndim:
        raise ArgumentValueError(
            f"rollaxis: start must lie from {-given.ndim} to {given.ndim}, got {before}", loc=user_loc()
        )
    before += given.ndim if before < 0 else 0
    return ops.moveaxis(given, at, before - 1 if before > at else before)


def swapaxes(x: Any, axis1: int, axis2: int) -> Tensor:
    """Two axes in each other's place."""
    return ops.swapaxes(tensor("swapaxes", x), axis1, axis2)


def flip(m: Any, axis: Axis = None) -> Tensor:
    """Axes in reverse order, all by default."""
    x = tensor("flip", m, "m")
    return ops.flip(x, normalize_axes("flip", axis, x.ndim))


def flipud(m: Any) -> Tensor:
    """Axis 0 in reverse order."""
    return flip(m, 0)


def fliplr(m: Any) -> Tensor:
    """Axis 1 in reverse order."""
    return flip(m, 1)


def rot90(a: Any, k: int = 1, axes: Axis = (0, 1)) -> Tensor:
    """The plane of two axes rotated k times by 90 degrees, from the first axis towards the second."""
    x = tensor("rot90", a, "a")
    if not isinstance(axes, (tuple, list)):
        raise ArgumentTypeError(f"rot90: axes must be a tuple or list, got {type(axes).__name__}", loc=user_loc())
    plane = [check_axis("rot90", axis, x.ndim) for axis in axes]
    if len(plane) != 2 or plane[0] == plane[1]:
        raise ArgumentValueError(f"rot90: axes must be two different ones, got {axes}", loc=user_loc())
    return ops.rot90(x, integer("rot90", "k", k), plane)


def roll(a: Any, shift: Ints, axis: Axis = None) -> Tensor:
    """Elements moved along axes, those beyond the end coming in at the beginning; flattened without axes.

    shift, axis: numbers, or tuples of one length; one of them may be a single number for all of the other.
    """
    x = tensor("roll", a, "a")
    if axis is None:
        flat = ops.ravel(x)
        for by in (shift,) if isinstance(shift, int) else tuple(shift):
            flat = ops.roll(flat, by, 0)
        return ops.reshape(flat, x.shape)
    moves, axes = ((v,) if isinstance(v, int) else tuple(v) for v in (shift, axis))
    if len(moves) != len(axes) and 1 not in (len(moves), len(axes)):
        raise ArgumentValueError(f"roll: {len(moves)} shifts do not fit {len(axes)} axes", loc=user_loc())
    longer = max(len(moves), len(axes))
    return ops.roll(x, moves * (longer // len(moves)), axes * (longer // len(axes)))


def broadcast_to(array: Any, shape: Sequence[int]) -> Tensor:
    """array repeated to a shape."""
    return ops.broadcast_to(tensor("broadcast_to", array, "array"), shape)


def broadcast_arrays(*args: Any) -> list[Tensor]:
    """Tensors in their common shape."""
    given = tensors("broadcast_arrays", *args)
    shape = common_shape("broadcast_arrays", *given)
    return [ops.broadcast_to(x, shape) for x in given]


def common_shape(owner: str, *given: Tensor) -> tuple[int, ...]:
    """The shape that tensors are broadcast to. ShapeError if there is none."""
    return broadcast_shapes(owner, *(x.shape for x in given))


def atleast_1d(*arys: Any) -> Any:
    """Each with at least one axis: a tensor for one, a list for more."""
    return _each(lambda x: _led(x, 1), tensors("atleast_1d", *arys))


def atleast_2d(*arys: Any) -> Any:
    """Each with at least two axes, new ones in front: a tensor for one, a list for more."""
    return _each(lambda x: _led(x, 2), tensors("atleast_2d", *arys))


def atleast_3d(*arys: Any) -> Any:
    """Each with at least three axes: a tensor for one, a list for more."""
    return _each(ops.atleast_3d, tensors("atleast_3d", *arys))


def _led(x: Tensor, rank: int) -> Tensor:
    """x with axes of size 1 in front."""
    return x.value() if x.ndim >= rank else ops.reshape(x, (1,) * (rank - x.ndim) + x.shape)


def _each(function: Callable[[Tensor], Tensor], given: Sequence[Tensor]) -> Any:
    made = [function(x) for x in given]
    return made[0] if len(made) == 1 else made


def tile(a: Any, reps: Ints) -> Tensor:
    """a repeated as often as `reps` says along each axis; new axes in front where `reps` is longer."""
    x = tensor("tile", a, "a")
    times = whole_numbers("tile", "reps", reps)
    if 0 in times or 0 in x.shape:
        rank = max(len(times), x.ndim)
        shape = (1,) * (rank - x.ndim) + x.shape
        times = (1,) * (rank - len(times)) + times
        return ops.zeros(tuple(t * d for t, d in zip(times, shape, strict=True)), x.dtype)
    return ops.tile(x, times)


def repeat(a: Any, repeats: Ints, axis: int | None = None) -> Tensor:
    """Every entry of an axis (of the flattened tensor by default) as often as `repeats` says: one number, or one each."""
    return repeat_interleave(tensor("repeat", a, "a"), repeats, axis)


def size(a: Any, axis: int | None = None) -> int:
    """The number of elements, of all or along an axis."""
    x = tensor("size", a, "a")
    return x.size if axis is None else x.shape[check_axis("size", axis, x.ndim)]


def array_str(a: Tensor) -> str:
    """The elements as text. ArgumentTypeError for what is no tensor."""
    if not isinstance(a, Tensor):
        raise ArgumentTypeError(f"array_str: a must be a Tensor, got {type(a).__name__}", loc=user_loc())
    return str(a)


# ---- joined


def concatenate(arrays: Any, axis: int | None = 0) -> Tensor:
    """Tensors one after the other along an axis, flattened ones for None, in their common dtype.

    arrays: a tuple or list, or a tensor for the entries of its first axis.
    """
    if isinstance(arrays, Tensor):
        if axis is None:
            return ops.ravel(arrays)
        given: Sequence[Tensor] = ops.unstack(arrays)
    else:
        given = _several("concatenate", arrays)
    if axis is None:
        given, axis = [ops.ravel(x) for x in given], 0
    # As in MindSpore, a single tensor is given back.
    return _joined(given, check_axis("concatenate", axis, given[0].ndim))


def _joined(given: Sequence[Tensor], axis: int) -> Tensor:
    return given[0].value() if len(given) == 1 else ops.concat(promoted(*given), axis)


def _several(owner: str, arrays: Any) -> tuple[Tensor, ...]:
    if not isinstance(arrays, (tuple, list)):
        raise ArgumentTypeError(
            f"{owner}: expected a Tensor, or a tuple or list of them, got {type(arrays).__name__}", loc=user_loc()
        )
    if not arrays:
        raise ArgumentValueError(f"{owner}: there must be at least one tensor", loc=user_loc())
    return tensors(owner, *arrays)


def append(arr: Any, values: Any, axis: int | None = None) -> Tensor:
    """values after arr along an axis, both flattened by default."""
    return concatenate((tensor("append", arr, "arr"), tensor("append", values, "values")), axis)


def stack(arrays: Any, axis: int = 0) -> Tensor:
    """Tensors of one shape along a new axis, in their common dtype; of a tensor, its first axis moved there."""
    if isinstance(arrays, Tensor):
        return ops.moveaxis(arrays, 0, axis)
    return ops.stack(promoted(*_several("stack", arrays)), axis)


def hstack(tup: Any) -> Tensor:
    """Tensors side by side: along axis 1, vectors along axis 0. A tensor is given back."""
    if isinstance(tup, Tensor):
        return tup.value()
    given = [_led(x, 1) for x in _several("hstack", tup)]
    return ops.concat(promoted(*given), 0 if given[0].ndim == 1 else 1)


def vstack(tup: Any) -> Tensor:
    """Tensors below each other, along axis 0; vectors as rows. A tensor is given back."""
    if isinstance(tup, Tensor):
        return tup.value()
    return ops.concat(promoted(*(_led(x, 2) for x in _several("vstack", tup))), 0)


def dstack(tup: Any) -> Tensor:
    """Tensors along axis 2. A tensor is given back."""
    if isinstance(tup, Tensor):
        return tup.value()
    return ops.concat(promoted(*(ops.atleast_3d(x) for x in _several("dstack", tup))), 2)


def column_stack(tup: Any) -> Tensor:
    """Vectors as the columns of a matrix; matrices side by side. A tensor is given back."""
    if isinstance(tup, Tensor):
        return tup.value()
    columns = [ops.reshape(x, (x.size, 1)) if x.ndim < 2 else x for x in _several("column_stack", tup)]
    return ops.concat(promoted(*columns), 1)


# ---- split


def split(x: Any, indices_or_sections: Ints, axis: int = 0) -> Any:
    """Equal pieces of an axis, or pieces that end before the given places; none may be empty: ArgumentValueError."""
    return _split("split", x, indices_or_sections, axis)


def array_split(x: Any, indices_or_sections: Ints, axis: int = 0) -> Any:
    """As `split`, but a number of pieces need not divide the axis: the first ones are larger by one."""
    return _split("array_split", x, indices_or_sections, axis)


def hsplit(x: Any, indices_or_sections: Ints) -> Any:
    """`split` along axis 1."""
    return _split("hsplit", x, indices_or_sections, 1)


def vsplit(x: Any, indices_or_sections: Ints) -> Any:
    """`split` along axis 0."""
    return _split("vsplit", x, indices_or_sections, 0)


def dsplit(x: Any, indices_or_sections: Ints) -> Any:
    """`split` along axis 2."""
    return _split("dsplit", x, indices_or_sections, 2)


def _split(owner: str, x: Any, places: Any, axis: int) -> Any:
    """A list of pieces between places, a tuple of equal ones, as in MindSpore."""
    given = tensor(owner, x)
    at = check_axis(owner, axis, given.ndim)
    length = given.shape[at]
    if isinstance(places, (tuple, list)):
        places = [integer(owner, "each place", p) for p in places]
        places = [p + length if p < 0 else p for p in places]
        ends = [0, *places, length]
        if any(a >= b for a, b in itertools.pairwise(ends)):
            raise ArgumentValueError(f"{owner}: a piece between the places {ends} would be empty", loc=user_loc())
        return list(ops.tensor_split(given, places, at))
    number = integer(owner, "indices_or_sections", places)
    if not 0 < number <= length or (owner != "array_split" and length % number):
        raise ArgumentValueError(
            f"{owner}: axis {at} of {given.tensor_type} has no {number} equal pieces", loc=user_loc()
        )
    return ops.tensor_split(given, number, at)


__all__ = [
    "append", "array_split", "array_str", "atleast_1d", "atleast_2d", "atleast_3d", "broadcast_arrays",
    "broadcast_to", "column_stack", "concatenate", "dsplit", "dstack", "expand_dims", "flip", "fliplr", "flipud",
    "hsplit", "hstack", "moveaxis", "ravel", "repeat", "reshape", "roll", "rollaxis", "rot90", "size", "split",
    "squeeze", "stack", "swapaxes", "tile", "transpose", "vsplit", "vstack",
]  # fmt: skip
