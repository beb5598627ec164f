"""Functions whose result's shape depends on values: in compiled steps places are counted, or they run outside of these."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphc import dispatch
from graphc.errors import ShapeError, TraceError, user_loc
from graphc.ops.declared.rules import broadcast_shapes
from graphc.ops.functional.arithmetic import floor_div
from graphc.ops.functional.core import cast_to
from graphc.ops.functional.elementwise import floor_mod, not_equal
from graphc.ops.functional.joining import stack
from graphc.ops.functional.shapes import broadcast_to, reshape
from graphc.ops.functional.slicing import rows_at
from graphc.ops.tensor.methods import method
from graphc.ops.tensor.tensor import Tensor

# ---- results whose shape depends on values


def known_values(name: str, x: Tensor) -> Any:
    """The array; TraceError while a Cell is compiled."""
    array = dispatch.known_array(x)
    if array is None:
        raise TraceError(
            f"the shape of what {name} returns depends on the values of {x.tensor_type}: a compiled step has fixed shapes",
            code="GC120",
            loc=user_loc(),
            help="call it outside the compiled Cell, or keep the shape with ops.select",
        )
    return array


def known_number(name: str, x: Tensor) -> int:
    """The integer that a tensor of one element holds. ShapeError for more elements; TraceError while a Cell is compiled."""
    array = known_values(name, x)
    if array.size != 1:
        raise ShapeError(f"{name}: a number is {x.tensor_type}, expected one element", loc=user_loc())
    return int(array.item())


def places_of(name: str, mask: Tensor) -> Tensor:
    """The places of the true elements of a vector, in order: int64 of one that is known, else int32, counted by the step."""
    if mask.array is not None:
        return Tensor(np.flatnonzero(mask.array))
    active: Any = dispatch.recorder.get()
    places: Tensor = active.found(mask, name)
    return places


def columns_of(name: str, mask: Tensor) -> list[Tensor]:
    """For each axis of a bool tensor where the true elements are along it, in order, as `places_of`."""
    places, made = places_of(name, reshape(mask, (-1,))), []
    for size in mask.shape[:0:-1]:
        made.append(floor_mod(places, size))
        places = floor_div(places, size)
    return [places, *made[::-1]]


@method("nonzero", "argwhere")
def nonzero(input: Tensor, *, as_tuple: bool = False) -> Any:
    """int64 [count, axes]: the places of what is not zero; as_tuple: a vector per axis."""
    if input.array is None and input.ndim:
        mask = input if input.tensor_type.dtype == "bool" else not_equal(input, 0)
        columns = [cast_to(c, "int64") for c in columns_of("nonzero", mask)]
        return tuple(columns) if as_tuple else stack(columns, 1)
    places = np.argwhere(known_values("nonzero", input))
    return tuple(Tensor(column.copy()) for column in places.T) if as_tuple else Tensor(places)


@method()
def masked_select(input: Tensor, mask: Tensor) -> Tensor:
    """The elements where the mask holds, as a vector, with a gradient."""
    shape = broadcast_shapes("masked_select", input.shape, mask.shape)
    places = places_of("masked_select", reshape(broadcast_to(mask, shape), (-1,)))
    return rows_at(reshape(broadcast_to(input, shape), (-1,)), places)


__all__ = [
    "masked_select",
    "nonzero",
]
