"""Tables of which a step uses a few rows: reading them, adding up what belongs to one, writing them."""

from __future__ import annotations

from typing import Any

from graphc import dispatch
from graphc.ops.functional.bounds import as_index
from graphc.ops.functional.core import call
from graphc.ops.functional.create import full, zeros
from graphc.ops.functional.elementwise import greater_equal, less, logical_and
from graphc.ops.functional.logic import select
from graphc.ops.functional.sorting import argsort, searchsorted
from graphc.ops.functional.state import assign_parameter
from graphc.ops.tensor.parameter import Parameter
from graphc.ops.tensor.row_tensor import RowTensor
from graphc.ops.tensor.tensor import Tensor


def gather_rows(table: Tensor, indices: Tensor) -> Tensor:
    """[..., width]: rows of a table, zeros for an index out of range. If nothing else reads it, its gradient is a RowTensor."""
    made: Tensor = call("Gather", table, as_index(indices), axis=0)
    active: Any = dispatch.recorder.get()
    if active is not None:
        active.row_reads.add(active.resolve(made))
    return made


def merged_rows(x: RowTensor) -> RowTensor:
    """The same tensor in the order of its rows, none twice: in place of the others stand zeros and an index out of range."""
    count, rows = x.indices.size, x.dense_shape[0]
    if x.is_merged or not count:
        return x
    order = argsort(x.indices)
    index = call("Gather", x.indices, order, axis=0)
    # Where the first of its kind stands.
    place = searchsorted(index, index, out_int32=True)
    inside = logical_and(greater_equal(index, 0), less(index, rows))
    at = call("Scatter", zeros((count,), "int32"), order, select(inside, place, count), axis=0, mode="update")
    unused = full((count,), rows, dtype=x.indices.dtype)
    made = RowTensor(
        call("Scatter", unused, place, select(inside, index, rows), axis=0, mode="update"),
        call("GatherGrad", x.values, at, shape=x.values.shape, axis=0),
        x.dense_shape,
    )
    made.is_merged = True
    return made


def assign_rows(table: Parameter, indices: Tensor, values: Tensor) -> Tensor:
    """Write rows of a table; those whose index is out of range are left out."""
    return assign_parameter(table, call("Scatter", table, indices, values, axis=0, mode="update"))
