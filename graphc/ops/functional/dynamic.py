"""Functions whose result's shape depends on values: they run outside compiled steps."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphc.errors import TraceError, user_loc
from graphc.ops.declared.shape import check_axis
from graphc.ops.functional.shapes import broadcast_to, reshape
from graphc.ops.functional.slicing import rows_at
from graphc.ops.tensor.methods import method
from graphc.ops.tensor.tensor import Tensor

# ---- results whose shape depends on values


def known_values(name: str, x: Tensor) -> Any:
    """The array; TraceError while a Cell is compiled."""
    if x.array is None:
        raise TraceError(
            f"the shape of what {name} returns depends on the values of {x.tensor_type}: a compiled step has fixed shapes",
            code="GC120",
            loc=user_loc(),
            help="call it outside the compiled Cell, or keep the shape with ops.select",
        )
    return x.array


@method("nonzero", "argwhere")
def nonzero(input: Tensor, *, as_tuple: bool = False) -> Any:
    """int64 [count, axes]: the places of what is not zero; as_tuple: a vector per axis. Not in a compiled Cell."""
    places = np.argwhere(known_values("nonzero", input))
    return tuple(Tensor(column.copy()) for column in places.T) if as_tuple else Tensor(places)


@method()
def masked_select(input: Tensor, mask: Tensor) -> Tensor:
    """The elements where the mask holds, as a vector, with a gradient. In a compiled Cell the mask must be a constant."""
    m = known_values("masked_select", mask)
    shape = np.broadcast_shapes(input.shape, m.shape)
    places = np.flatnonzero(np.broadcast_to(m, shape))
    return rows_at(reshape(broadcast_to(input, shape), (-1,)), Tensor(places))


def unique(input: Tensor) -> tuple[Tensor, Tensor]:
    """(the distinct elements in order of appearance, the place of each element among them: int64 for int64, else int32). Not in a
    compiled Cell. The gradient of an element is that of its first appearance.
    """
    array = known_values("unique", input)
    _, first, inverse = np.unique(array, return_index=True, return_inverse=True)
    order = np.argsort(first)
    places = np.empty_like(order)
    places[order] = np.arange(order.size)
    of_places = np.int64 if array.dtype == np.int64 else np.int32
    distinct = rows_at(reshape(input, (-1,)), Tensor(first[order]))
    return distinct, Tensor(places[inverse.reshape(array.shape)].astype(of_places))


def unique_sorted(input: Tensor, inverse: bool, counts: bool, dim: int | None) -> Any:
    """The distinct elements, or entries of an axis, in order; with `inverse` the int64 place of each among them, with `counts`
    how often each occurs. Not in a compiled Cell.
    """
    array = known_values("unique", input)
    axis = None if dim is None else check_axis("unique", dim, array.ndim)
    _, first, places, numbers = np.unique(array, return_index=True, return_inverse=True, return_counts=True, axis=axis)
    made = [rows_at(reshape(input, (-1,)), Tensor(first)) if axis is None else rows_at(input, Tensor(first), axis)]
    if inverse:
        made.append(Tensor(places.reshape(array.shape if axis is None else -1).astype(np.int64)))
    if counts:
        made.append(Tensor(numbers.astype(np.int64)))
    return tuple(made) if len(made) > 1 else made[0]


__all__ = [
    "masked_select",
    "nonzero",
    "unique",
]
