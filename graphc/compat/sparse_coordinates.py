"""Sparse tensors as places, values and a shape, each a tensor: MindSpore's primitives of `ops.operations.sparse_ops`.

indices are int64 [n, axes] (where MindSpore has it int32 too), values [n], a shape int64 [axes]. What has as many elements as
values say a compiled step counts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from graphc import ops
from graphc.errors import ArgumentTypeError, ArgumentValueError, DTypeError, ShapeError, user_loc
from graphc.ops.functional.arithmetic import floor_div
from graphc.ops.functional.dynamic import known_values, places_of
from graphc.ops.functional.elementwise import floor_mod
from graphc.ops.functional.index import scattered
from graphc.ops.functional.require import require
from graphc.ops.functional.scattering import tensor_scatter
from graphc.ops.functional.shapes import whole_numbers
from graphc.ops.functional.slicing import rows_at
from graphc.ops.functional.sorting import sorting_places
from graphc.ops.functional.sparse_parts import coo_product, in_order, summed
from graphc.ops.functional.unique import Runs
from graphc.ops.primitives.pull import numbers
from graphc.ops.tensor.primitive import declare
from graphc.ops.tensor.tensor import Tensor


def _parts(owner: str, indices: Any, values: Any, shape: Any) -> tuple[Tensor, Tensor, Tensor]:
    """The parts of a sparse tensor. ArgumentTypeError, DTypeError, ShapeError for what is none."""
    given = {"indices": indices, "values": values, "the shape": shape}
    for name, x in given.items():
        if not isinstance(x, Tensor):
            raise ArgumentTypeError(f"{owner}: {name} must be a Tensor, got {type(x).__name__}", loc=user_loc())
    kinds = {name: x.tensor_type for name, x in given.items()}
    for name in ("indices", "the shape"):
        if kinds[name].dtype not in ("int32", "int64"):
            raise DTypeError(f"{owner}: {name}: {kinds[name]}, expected int64", loc=user_loc())
    if indices.ndim != 2 or values.shape != indices.shape[:1] or shape.shape != indices.shape[1:]:
        said = ", ".join(f"{name} {kind}" for name, kind in kinds.items())
        raise ShapeError(f"{owner}: {said}: expected [n, axes], [n] and [axes]", loc=user_loc())
    return indices, values, shape


def _alike(owner: str, *values: Tensor) -> None:
    if len({x.dtype for x in values}) > 1:
        said = ", ".join(str(x.tensor_type) for x in values)
        raise DTypeError(f"{owner}: the values are {said}: expected one dtype", loc=user_loc())


def _column(indices: Tensor, axis: int) -> Tensor:
    column: Tensor = indices[:, axis]
    return column


def _within(owner: str, indices: Tensor, shape: Tensor) -> tuple[Tensor, Tensor]:
    """Both as int64; ArgumentValueError for places beyond the shape, in a compiled step when it has run."""
    wide, sizes = ops.cast(indices, "int64"), ops.cast(shape, "int64")
    inside = ops.logical_and(wide >= 0, wide < ops.expand_dims(sizes, 0))
    require(ops.reduce_all(inside), f"{owner}: indices must lie within the shape")
    return wide, sizes


def _flat(owner: str, indices: Tensor, shape: Tensor, axes: int | None = None) -> Tensor:
    """[n]: where places are in the flattened tensor, of so many axes of it."""
    wide, sizes = _within(owner, indices, shape)
    key = ops.zeros(indices.shape[:1], "int64")
    for axis in range(indices.shape[1] if axes is None else axes):
        key = key * sizes[axis] + _column(wide, axis)
    return key


def _reorder(indices: Tensor, values: Tensor, shape: Tensor) -> tuple[Tensor, Tensor]:
    """(indices, values) in order of the places."""
    places, held, sizes = _parts("SparseReorder", indices, values, shape)
    _, *ordered = in_order(_flat("SparseReorder", places, sizes), places, held)
    return ordered[0], ordered[1]


def _reshape(indices: Tensor, shape: Tensor, new_shape: Tensor) -> tuple[Tensor, Tensor]:
    """(indices, shape) of the same elements in another shape, of which one size may be -1, which follows from the others."""
    owner = "SparseReshape"
    places, _, sizes = _parts(owner, indices, ops.zeros(indices.shape[:1], "int64"), shape)
    if new_shape.ndim != 1 or new_shape.tensor_type.dtype not in ("int32", "int64"):
        raise ShapeError(f"{owner}: new_shape is {new_shape.tensor_type}, expected int64 [axes]", loc=user_loc())
    key, asked = _flat(owner, places, sizes), ops.cast(new_shape, "int64")
    count = ops.prod(ops.cast(sizes, "int64"))
    unknown = asked == -1
    others = ops.prod(ops.select(unknown, ops.ones_like(asked), asked))
    wanted = ops.select(unknown, floor_div(count, ops.maximum(others, 1)), asked)
    fits = ops.logical_and(ops.reduce_sum(ops.cast(unknown, "int64")) <= 1, ops.prod(wanted) == count)
    require(fits, f"{owner}: new_shape must have as many elements as the shape, and -1 once at most")
    columns: list[Tensor] = []
    for axis in reversed(range(new_shape.shape[0])):
        columns.insert(0, floor_mod(key, wanted[axis]))
        key = floor_div(key, wanted[axis])
    return ops.stack(columns, 1), wanted


def _softmax(indices: Tensor, values: Tensor, shape: Tensor) -> Tensor:
    """[n]: the softmax of the values along the last axis; what is not held counts for nothing. float32 or float64."""
    owner = "SparseSoftmax"
    places, held, sizes = _parts(owner, indices, values, shape)
    if held.tensor_type.dtype not in ("float32", "float64"):
        raise DTypeError(f"{owner}: values are {held.tensor_type}, expected float32 or float64", loc=user_loc())
    if places.shape[1] < 2:
        raise ShapeError(f"{owner}: indices are {places.tensor_type}, expected two axes or more", loc=user_loc())
    key = _flat(owner, places, sizes, places.shape[1] - 1)
    order = sorting_places(key)
    ordered, count = rows_at(held, order), key.shape[0]
    rows = Runs(rows_at(key, order), False).numbers
    least = ops.zeros((count,), held.dtype) - float("inf")
    most = rows_at(scattered("max", least, rows, ops.stop_gradient(ordered)), rows)
    powers = ops.exp(ordered - most)
    sums = rows_at(scattered("add", ops.zeros((count,), held.dtype), rows, powers), rows)
    return ops.tensor_scatter_elements(ops.zeros((count,), held.dtype), order, powers / sums, 0)


def _cwise(name: str, of: Callable[[Tensor, Tensor], Tensor], said: str) -> type[Any]:
    owner = f"SparseDenseCwise{name}"

    def run(x1_indices: Tensor, x1_values: Tensor, x1_shape: Tensor, x2: Tensor) -> Tensor:
        places, held, sizes = _parts(owner, x1_indices, x1_values, x1_shape)
        _alike(owner, held, x2)
        axes = places.shape[1]
        if x2.ndim > axes:
            raise ShapeError(f"{owner}: x2 is {x2.tensor_type}, for a sparse tensor of {axes} axes", loc=user_loc())
        wide, whole = _within(owner, places, sizes)
        dense = ops.reshape(x2, (1,) * (axes - x2.ndim) + x2.shape)
        repeated = Tensor(np.array(dense.shape, np.int64) == 1)
        fits = ops.logical_or(repeated, whole == Tensor(np.array(dense.shape, np.int64)))
        require(ops.reduce_all(fits), f"{owner}: x2 of shape {x2.shape} must be one that is broadcast to x1_shape")
        return of(held, ops.gather_nd(dense, ops.select(repeated, ops.zeros_like(wide), wide)))

    run.__doc__ = (
        f"[n]: the values of a sparse tensor {said} what stands there in a dense one, which is broadcast to its shape."
    )
    return declare(owner, run)


def _quotient(x: Tensor, y: Tensor) -> Tensor:
    return ops.div(x, y) if x.tensor_type.is_float else ops.truncate_div(x, y)


SparseDenseCwiseAdd = _cwise("Add", ops.add, "plus")
SparseDenseCwiseMul = _cwise("Mul", ops.mul, "times")
SparseDenseCwiseDiv = _cwise("Div", _quotient, "over")


def _joined(owner: str, parts: Sequence[Any]) -> tuple[Tensor, Tensor, list[Tensor], Tensor]:
    """Of two sparse tensors: places, flat places, the values and the shape."""
    first, second = _parts(owner, *parts[:3]), _parts(owner, *parts[3:6])
    _alike(owner, first[1], second[1])
    if first[2].shape != second[2].shape:
        raise ShapeError(
            f"{owner}: shapes are {first[2].tensor_type} and {second[2].tensor_type}, expected alike", loc=user_loc()
        )
    require(ops.reduce_all(first[2] == second[2]), f"{owner}: the shapes must be equal")
    keys = ops.concat([_flat(owner, x, sizes) for x, _, sizes in (first, second)])
    return ops.concat((first[0], second[0])), keys, [first[1], second[1]], first[2]


def _extreme(name: str, of: Callable[[Tensor, Tensor], Tensor]) -> type[Any]:
    owner = f"SparseSparse{name}"

    def run(
        x1_indices: Tensor,
        x1_values: Tensor,
        x1_shape: Tensor,
        x2_indices: Tensor,
        x2_values: Tensor,
        x2_shape: Tensor,
    ) -> tuple[Tensor, Tensor]:
        places, keys, values, _ = _joined(owner, (x1_indices, x1_values, x1_shape, x2_indices, x2_values, x2_shape))
        none = [ops.zeros_like(x) for x in values]
        sides = (ops.concat((values[0], none[1])), ops.concat((none[0], values[1])))
        key, ordered, *held = in_order(keys, places, *sides)
        runs = Runs(key, False)
        sums = [scattered("add", ops.zeros_like(x), runs.numbers, x) for x in held]
        kept = places_of(owner, runs.fresh)
        return rows_at(ordered, kept), rows_at(of(*sums), rows_at(runs.numbers, kept))

    run.__doc__ = f"""(indices, values): the {name.lower()} of two sparse tensors of one shape, where either holds a value; what
    one of them does not hold counts as zero."""
    return declare(owner, run)


SparseSparseMaximum, SparseSparseMinimum = _extreme("Maximum", ops.maximum), _extreme("Minimum", ops.minimum)


def _add(
    x1_indices: Tensor,
    x1_values: Tensor,
    x1_shape: Tensor,
    x2_indices: Tensor,
    x2_values: Tensor,
    x2_shape: Tensor,
    thresh: Tensor,
) -> tuple[Tensor, Tensor, Tensor]:
    """(indices, values, shape) of the sum. Where both hold a value, it is left out if its absolute value is less than thresh, a
    number; what one of them holds alone stays."""
    places, keys, values, shape = _joined(
        "SparseAdd", (x1_indices, x1_values, x1_shape, x2_indices, x2_values, x2_shape)
    )
    if not isinstance(thresh, Tensor) or thresh.ndim:
        raise ShapeError(f"SparseAdd: thresh must be a Tensor without axes, got {thresh!r}", loc=user_loc())
    sides = ops.concat([ops.full(x.shape, k, dtype="int32") for k, x in enumerate(values)])
    made, sums = summed(keys, places, ops.concat(values), sides, thresh)
    return made, sums, shape


def _add_grad(
    backprop_val_grad: Tensor, x1_indices: Tensor, x2_indices: Tensor, sum_indices: Tensor
) -> tuple[Tensor, Tensor]:
    """The gradients of SparseAdd for the values of both, from that of the values of the sum: zero for what it has left out."""
    given = [ops.cast(x, "int64") for x in (x1_indices, x2_indices, sum_indices)]
    sizes = ops.reduce_max(ops.concat(given), 0) + 1
    keys = [_flat("SparseAddGrad", x, sizes) for x in given]
    made, count = [], sum_indices.shape[0]
    for key in keys[:2]:
        at = ops.minimum(ops.cast(ops.searchsorted(keys[2], key), "int32"), count - 1)
        flow = ops.gather(backprop_val_grad, at, 0)
        made.append(ops.select(ops.gather(keys[2], at, 0) == key, flow, ops.zeros_like(flow)))
    return made[0], made[1]


def _concat(
    sp_input_indices: Any, sp_input_values: Any, sp_input_shapes: Any, concat_dim: int
) -> tuple[Tensor, Tensor, Tensor]:
    """(indices, values, shape) of sparse tensors one behind the other along an axis, in order of the places.

    sp_input_indices, sp_input_values, sp_input_shapes: as many tensors each, of two sparse tensors or more.
    """
    owner = "SparseConcat"
    given = (sp_input_indices, sp_input_values, sp_input_shapes)
    if any(not isinstance(x, (tuple, list)) or len(x) != len(given[0]) or len(x) < 2 for x in given):
        raise ArgumentTypeError(f"{owner}: expected three tuples of as many tensors, two or more", loc=user_loc())
    parts = [_parts(owner, *each) for each in zip(*given, strict=True)]
    axes = parts[0][0].shape[1]
    if not -axes <= concat_dim < axes:
        raise ArgumentValueError(f"{owner}: concat_dim must be in [-{axes}, {axes}), got {concat_dim}", loc=user_loc())
    along = Tensor(np.arange(axes) == concat_dim % axes)
    begun, moved = ops.zeros((axes,), "int64"), []
    for places, _, shape in parts:
        wide, sizes = _within(owner, places, shape)
        own = ops.select(along, ops.zeros_like(sizes), sizes)
        first = ops.select(along, ops.zeros_like(sizes), ops.cast(parts[0][2], "int64"))
        require(ops.reduce_all(own == first), f"{owner}: shapes may differ along axis {concat_dim} alone")
        moved.append(wide + begun)
        begun = begun + ops.select(along, sizes, ops.zeros_like(sizes))
    whole = ops.select(along, begun, ops.cast(parts[0][2], "int64"))
    joined = ops.concat(moved)
    _, *ordered = in_order(_flat(owner, joined, whole), joined, ops.concat([x for _, x, _ in parts]))
    return ordered[0], ordered[1], whole


def _to_dense_v2(
    indices: Tensor, output_shape: Any, values: Tensor, default_value: Tensor, validate_indices: bool
) -> Tensor:
    """A tensor of a shape with values at places [n, axes], [n] of one axis, or one of one axis; default_value elsewhere.

    validate_indices: whether places that are known must be in ascending order, and none twice.
    """
    owner = "SparseToDenseV2"
    sizes = whole_numbers(owner, "output_shape", numbers(owner, output_shape))
    places = ops.reshape(indices, (-1, len(sizes))) if indices.ndim < 2 else indices
    _alike(owner, values, default_value)
    if places.tensor_type.dtype not in ("int32", "int64") or default_value.ndim or values.ndim > 1:
        raise DTypeError(
            f"{owner}: indices are {indices.tensor_type}, values {values.tensor_type}, default_value is"
            f" {default_value.tensor_type}: expected int32 or int64, [n] and one number",
            loc=user_loc(),
        )
    held = ops.broadcast_to(values, places.shape[:1])
    known = places.array if validate_indices else None
    if known is not None and (np.diff(np.ravel_multi_index(tuple(known.T), sizes, mode="clip")) <= 0).any():
        raise ArgumentValueError(f"{owner}: indices must be in ascending order, none twice", loc=user_loc())
    return tensor_scatter("update", ops.broadcast_to(default_value, sizes), places, held, owner)


def _addmm(
    indices: Tensor,
    values: Tensor,
    sparse_shape: Tensor,
    x2_dense: Tensor,
    x3_dense: Tensor,
    alpha: Tensor,
    beta: Tensor,
) -> Tensor:
    """alpha times a sparse matrix times x2_dense, plus beta times x3_dense; alpha and beta are tensors of one number."""
    owner = "SparseAddmm"
    places, held, sizes = _parts(owner, indices, values, sparse_shape)
    _alike(owner, held, x2_dense, x3_dense)
    wanted = (x2_dense.shape[0], x3_dense.shape[0])[::-1] if x2_dense.ndim == x3_dense.ndim == 2 else ()
    if len(wanted) != 2 or places.shape[1] != 2 or x2_dense.shape[1] != x3_dense.shape[1]:
        raise ShapeError(
            f"{owner}: x2_dense is {x2_dense.tensor_type}, x3_dense {x3_dense.tensor_type}, indices {places.tensor_type}",
            loc=user_loc(),
        )
    if alpha.size != 1 or beta.size != 1:
        raise ShapeError(f"{owner}: alpha is {alpha.tensor_type}, beta {beta.tensor_type}", loc=user_loc())
    wide, whole = _within(owner, places, sizes)
    require(ops.reduce_all(whole == Tensor(np.array(wanted, np.int64))), f"{owner}: sparse_shape must be {wanted}")
    product = coo_product(_column(wide, 0), _column(wide, 1), held, x2_dense, wanted[0])
    made: Tensor = product * ops.reshape(alpha, ()) + x3_dense * ops.reshape(beta, ())
    return ops.cast(made, held.dtype)


def _fill_empty_rows(
    indices: Tensor, values: Tensor, dense_shape: Tensor, default_value: Tensor
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """(indices, values, bool [rows]: which rows were empty, int64 [n]: where each element stands now) of a sparse tensor with
    default_value at the beginning of rows that hold nothing. Places and shape are known where a Cell is compiled."""
    owner = "SparseFillEmptyRows"
    places, held, shape = _parts(owner, indices, values, dense_shape)
    _alike(owner, held, default_value)
    _within(owner, places, shape)
    at, rows = known_values(owner, places), int(known_values(owner, shape)[0])
    empty = np.setdiff1d(np.arange(rows), at[:, 0])
    added = np.zeros((empty.size, at.shape[1]), at.dtype)
    added[:, 0] = empty
    whole = np.concatenate((at, added))
    order = np.argsort(whole[:, 0], kind="stable")
    both = ops.concat((held, ops.broadcast_to(ops.reshape(default_value, (-1,)), (empty.size,))))
    back = np.argsort(order)[: len(at)].astype(np.int64)
    mask = Tensor(np.isin(np.arange(rows), empty))
    return Tensor(whole[order]), rows_at(both, Tensor(order)), mask, Tensor(back)


SparseReorder = declare("SparseReorder", _reorder)
SparseReshape = declare("SparseReshape", _reshape)
SparseSoftmax = declare("SparseSoftmax", _softmax)
SparseAdd, SparseAddGrad = declare("SparseAdd", _add), declare("SparseAddGrad", _add_grad)
SparseConcat = declare("SparseConcat", _concat, concat_dim=0)
SparseToDenseV2 = declare("SparseToDenseV2", _to_dense_v2, validate_indices=True)
SparseAddmm = declare("SparseAddmm", _addmm)
SparseFillEmptyRows = declare("SparseFillEmptyRows", _fill_empty_rows)

__all__ = [
    "SparseAdd", "SparseAddGrad", "SparseAddmm", "SparseConcat", "SparseDenseCwiseAdd", "SparseDenseCwiseDiv",
    "SparseDenseCwiseMul", "SparseFillEmptyRows", "SparseReorder", "SparseReshape", "SparseSoftmax", "SparseSparseMaximum",
    "SparseSparseMinimum", "SparseToDenseV2",
]  # fmt: skip
