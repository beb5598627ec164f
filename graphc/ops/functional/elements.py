"""Elements at places along an axis."""

from __future__ import annotations

from typing import Any

from graphc.errors import ShapeError, user_loc
from graphc.ops.declared.shape import check_axis
from graphc.ops.functional.bounds import as_index, in_bounds
from graphc.ops.functional.core import call, shape_of
from graphc.ops.functional.slicing import getitem
from graphc.ops.tensor.methods import method
from graphc.ops.tensor.tensor import Tensor


@method()
def gather_elements(input: Tensor, dim: int, index: Tensor) -> Tensor:
    """y[i][j][k] = x[i][index[i][j][k]][k] for dim 1, and so on: x's elements at places along an axis.

    IndexRangeError for a place that the axis does not have.
    """
    axis = check_axis("gather_elements", dim, input.ndim)
    places = element_places("gather_elements", input, axis, index)
    return elements_at(input, axis, in_bounds("gather_elements", places, shape_of(input)[axis]))


def elements_at(x: Tensor, axis: int, places: Tensor) -> Tensor:
    """As `gather_elements`, with zeros for an index out of range."""
    axis = check_axis("gather_elements", axis, x.ndim)
    return call("GatherElements", beside(x, axis, places), places, axis=axis)


def gather_d(x: Tensor, dim: int, index: Tensor) -> Tensor:
    """As gather_elements."""
    return gather_elements(x, dim, index)


def element_places(name: str, x: Tensor, axis: int, index: Any) -> Tensor:
    """An index of x's elements along an axis, which has x's axes and no more along the others; ShapeError for one that has."""
    places = as_index(index)
    others = [k for k in range(x.ndim) if k != axis]
    if places.ndim != x.ndim or any(places.shape[k] > x.shape[k] for k in others):
        raise ShapeError(
            f"{name}: the index is {places.tensor_type}, expected {x.ndim} axes, and along all but axis {axis} no more than"
            f" x {x.tensor_type} has",
            loc=user_loc(),
        )
    return places


def beside(x: Tensor, axis: int, places: Tensor) -> Tensor:
    """The part of x that an index along an axis means: its first rows along the others, as many as the index has."""
    sizes = [x.shape[k] if k == axis else n for k, n in enumerate(places.shape)]
    return x if sizes == list(x.shape) else getitem(x, tuple(slice(0, n) for n in sizes))


__all__ = [
    "gather_d",
    "gather_elements",
]
