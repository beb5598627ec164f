"""Elements chosen by conditions and by places, and functions applied along axes."""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from graphc import ops
from graphc.errors import ArgumentTypeError, ArgumentValueError, DTypeError, ShapeError, user_loc
from graphc.numpy.convert import promoted, sizes, tensor, tensors
from graphc.numpy.elementwise import maximum, minimum
from graphc.numpy.shapes import broadcast_arrays, stack
from graphc.ops.declared.shape import check_axis
from graphc.ops.functional.core import Extents, Ints, cast_to
from graphc.ops.tensor.tensor import Tensor
from graphc.validation.checks import one_of
from graphc.validation.unused_arguments import only

# ---- by conditions


def where(condition: Any, x: Any = None, y: Any = None) -> Tensor:
    """x where the condition holds, else y, in their common dtype. ArgumentTypeError unless both are given."""
    if x is None or y is None:
        raise ArgumentTypeError(
            "where: x and y must both be given", loc=user_loc(), help="argwhere gives the places of a condition"
        )
    chosen = ops.cast(tensor("where", condition, "condition"), "bool")
    return ops.select(chosen, *promoted(tensor("where", x), tensor("where", y, "y")))


def select(condlist: Any, choicelist: Any, default: Any = 0) -> Tensor:
    """Of several choices, for each element that of the first condition that holds, else `default`; in the choices' dtype.

    Conditions and choices stand along the first axis.
    """
    conditions, choices = tensor("select", condlist, "condlist"), tensor("select", choicelist, "choicelist")
    if not conditions.ndim or not choices.ndim or conditions.shape[0] != choices.shape[0]:
        raise ShapeError(
            f"select: conditions are {conditions.tensor_type}, choices {choices.tensor_type}: expected as many of both",
            loc=user_loc(),
        )
    made = cast_to(tensor("select", default, "default"), choices.tensor_type.dtype)
    rows = list(zip(ops.unstack(ops.cast(conditions, "bool")), ops.unstack(choices), strict=True))
    for condition, choice in reversed(rows):
        made = ops.select(condition, choice, made)
    return made


def piecewise(x: Any, condlist: Any, funclist: Any, *args: Any, **kw: Any) -> Tensor:
    """`select` of the numbers in funclist, or of what its functions make of x, args and kw; one more is the default."""
    given = tensor("piecewise", x)
    choices = list(funclist) if isinstance(funclist, (tuple, list)) else [funclist]
    conditions = list(condlist) if isinstance(condlist, (tuple, list)) else [condlist]
    made = [tensor("piecewise", f(given, *args, **kw) if callable(f) else f, "funclist") for f in choices]
    default: Any = 0
    if len(made) == len(conditions) + 1:
        default = made.pop()
    if len(made) != len(conditions):
        raise ArgumentValueError(
            f"piecewise: {len(conditions)} conditions do not fit {len(choices)} functions", loc=user_loc()
        )
    return select(
        stack([tensor("piecewise", c, "condlist") for c in conditions]), stack(broadcast_arrays(*made)), default
    )


# ---- by places


def take(a: Any, indices: Any, axis: int | None = None, mode: str = "clip") -> Tensor:
    """Entries of an axis, of the flattened tensor by default.

    mode: "clip" takes for a number beyond the ends the end, "wrap" counts on from the other. ArgumentValueError GC112 for
    "raise".
    """
    return ops.take(tensor("take", a, "a"), tensor("take", indices, "indices"), axis, mode)


def take_along_axis(arr: Any, indices: Any, axis: int | None) -> Tensor:
    """The elements at places along an axis, of the flattened tensor for None; other axes are broadcast."""
    x, places = tensor("take_along_axis", arr, "arr"), tensor("take_along_axis", indices, "indices")
    if axis is None:
        x, axis = ops.ravel(x), 0
    if x.ndim != places.ndim:
        raise ShapeError(f"take_along_axis: arr is {x.tensor_type}, indices are {places.tensor_type}", loc=user_loc())
    at = check_axis("take_along_axis", axis, x.ndim)
    shape = tuple(p if i == at else max(d, p) for i, (d, p) in enumerate(zip(x.shape, places.shape, strict=True)))
    own = tuple(x.shape[i] if i == at else d for i, d in enumerate(shape))
    return ops.gather_elements(ops.broadcast_to(x, own), at, ops.broadcast_to(places, shape))


def choose(a: Any, choices: Any, mode: str = "clip") -> Tensor:
    """For each element of a that of the choices whose number it is; all are broadcast.

    choices: a list of array-likes, or a tensor of them along the first axis. mode as in `take`; ArgumentValueError GC112 for
    "raise".
    """
    only("choose", "mode", mode, "clip", "wrap")
    number = tensor("choose", a, "a")
    if number.tensor_type.is_float or number.tensor_type.dtype == "bool":
        raise DTypeError(f"choose: a is {number.tensor_type}, expected integers", loc=user_loc())
    given = (
        list(choices) if isinstance(choices, (tuple, list)) else list(ops.unstack(tensor("choose", choices, "choices")))
    )
    number, *made = broadcast_arrays(number, *promoted(*tensors("choose", *given)))
    return number.choose(made, mode)


def unravel_index(indices: Any, shape: Extents, order: str = "C") -> Any:
    """The places along each axis of a shape that flat places mean; those beyond the ends are the first and the last.

    order: "C" if the last axis runs fastest, "F" if the first does.
    """
    one_of("unravel_index", "order", order, ("C", "F"))
    dims = sizes("unravel_index", shape)
    if not dims:
        raise ArgumentValueError("unravel_index: shape has no axes", loc=user_loc())
    places = tensor("unravel_index", indices, "indices")
    total = int(np.prod(dims))
    if places.tensor_type.dtype in ("bool", "int8", "uint8", "int16"):
        places = cast_to(places, "int32")
    places = ops.floor_mod(ops.minimum(ops.maximum(places, -total), total - 1), total)
    inner = dims[::-1] if order == "C" else dims
    steps = list(itertools.accumulate((1, *inner[:-1]), operator.mul))
    made = [ops.floor_mod(ops.floor_div(places, step), size) for step, size in zip(steps, inner, strict=True)]
    if len(made) == 1 and not places.ndim:
        return ops.ravel(made[0])
    return tuple(made[::-1] if order == "C" else made)


def ravel_multi_index(multi_index: Any, dims: Ints, mode: str = "clip", order: str = "C") -> Tensor:
    """float32, as in MindSpore: the flat places that places along each axis of a shape mean.

    mode: "clip" takes the ends for places beyond them, "wrap" counts on from the other end; ArgumentValueError GC112 for
    "raise". order: "C" if the last axis runs fastest, "F" if the first does.
    """
    only("ravel_multi_index", "mode", mode, "clip", "wrap")
    one_of("ravel_multi_index", "order", order, ("C", "F"))
    shape = sizes("ravel_multi_index", dims)
    places = tensor("ravel_multi_index", multi_index, "multi_index")
    if places.tensor_type.is_float:
        raise DTypeError(f"ravel_multi_index: multi_index is {places.tensor_type}, expected integers", loc=user_loc())
    if not places.ndim or places.shape[0] != len(shape):
        raise ShapeError(
            f"ravel_multi_index: multi_index is {places.tensor_type}, expected {len(shape)} entries", loc=user_loc()
        )
    inner = shape[::-1] if order == "C" else shape
    steps = list(itertools.accumulate((1, *inner[:-1]), operator.mul))
    made = Tensor(np.zeros(places.shape[1:], np.float32))
    for row, size, step in zip(ops.unstack(places), shape, steps[::-1] if order == "C" else steps, strict=True):
        index = ops.cast(row, "int32")
        inside = ops.floor_mod(index, size) if mode == "wrap" else minimum(maximum(index, 0), size - 1)
        made = ops.add(made, ops.mul(ops.cast(inside, "float32"), float(step)))
    return made


# ---- functions along axes


def apply_along_axis(func1d: Callable[..., Any], axis: int, arr: Any, *args: Any, **kwargs: Any) -> Tensor:
    """What a function makes of each vector along an axis, in the place of that axis."""
    x = tensor("apply_along_axis", arr, "arr")
    at = check_axis("apply_along_axis", axis, x.ndim)
    moved = ops.moveaxis(x, at, -1)
    rows = ops.unstack(ops.reshape(moved, (math.prod(moved.shape[:-1]), moved.shape[-1])))
    made = stack([tensor("apply_along_axis", func1d(row, *args, **kwargs), "the result") for row in rows])
    shaped = ops.reshape(made, (*moved.shape[:-1], *made.shape[1:]))
    lead, new = x.ndim - 1, made.ndim - 1
    return ops.moveaxis(shaped, tuple(range(lead, lead + new)), tuple(range(at, at + new))) if new else shaped


def apply_over_axes(func: Callable[..., Any], a: Any, axes: Ints) -> Tensor:
    """func(x, axis=axis) for each axis in turn; an axis that it takes away comes back with size 1."""
    x = tensor("apply_over_axes", a, "a")
    made = x
    for axis in (axes,) if isinstance(axes, int) else tuple(axes):
        made = func(made, axis=axis)
        made = ops.expand_dims(made, axis) if made.ndim != x.ndim else made
        if made.ndim != x.ndim:
            raise ShapeError(
                f"apply_over_axes: the function gave {made.tensor_type} of {x.tensor_type}", loc=user_loc()
            )
    return made


__all__ = [
    "apply_along_axis", "apply_over_axes", "choose", "piecewise", "ravel_multi_index", "select", "take",
    "take_along_axis", "unravel_index", "where",
]  # fmt: skip
