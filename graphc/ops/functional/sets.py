"""Equal elements and sequences: what is there once, what is left over, how far apart. Most results have shapes that depend
on values.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from graphc.errors import ArgumentTypeError, ArgumentValueError, DTypeError, ShapeError, user_loc
from graphc.ops.functional.core import call, cast, cast_to
from graphc.ops.functional.create import arange
from graphc.ops.functional.cumulative import cumsum
from graphc.ops.functional.dynamic import known_values, places_of
from graphc.ops.functional.elementwise import equal, greater_equal, less, logical_and, logical_not, sub
from graphc.ops.functional.extrema import place
from graphc.ops.functional.index import index_select
from graphc.ops.functional.logic import select
from graphc.ops.functional.reduce import reduce_any
from graphc.ops.functional.shapes import broadcast_to, expand_dims, reshape
from graphc.ops.functional.slicing import rows_at
from graphc.ops.tensor.dtype import int32, to_name
from graphc.ops.tensor.methods import method
from graphc.ops.tensor.tensor import Tensor, as_tensor


@method()
def unique_with_pad(x: Tensor, pad_num: int) -> tuple[Tensor, Tensor]:
    """(the distinct elements in order of appearance, then pad_num, as many as x has; the place of each element among them, in x's
    dtype) (MindSpore: ops.unique_with_pad). x: int32 or int64 [n]; takes the square of n in comparisons. DTypeError, ShapeError.
    """
    if x.tensor_type.dtype not in ("int32", "int64"):
        raise DTypeError(f"unique_with_pad: x is {x.tensor_type}, expected int32 or int64", loc=user_loc())
    if x.ndim != 1:
        raise ShapeError(f"unique_with_pad: x is {x.tensor_type}, expected one axis", loc=user_loc())
    if isinstance(pad_num, bool) or not isinstance(pad_num, (int, Tensor)):
        raise ArgumentTypeError(
            f"unique_with_pad: pad_num must be an int, got {type(pad_num).__name__}", loc=user_loc()
        )
    if not x.size:
        return x.value(), x.value()
    pad, every = cast(as_tensor(pad_num), x.dtype), arange(0, x.size, dtype="int32")
    same = equal(expand_dims(x, -1), expand_dims(x, -2))
    first = place(cast_to(same, "int32"), -1, False, True, "int32")
    fresh = equal(first, every)
    rank = sub(cumsum(cast_to(fresh, "int32"), 0), 1)
    # An index beyond the end writes nothing.
    target = select(fresh, rank, x.size)
    values = call("Scatter", broadcast_to(pad, x.shape), target, x, axis=0, mode="update")
    return values, cast_to(index_select(rank, 0, first), x.tensor_type.dtype)


def list_difference(x: Tensor, y: Tensor, out_idx: Any = int32) -> tuple[Tensor, Tensor]:
    """(the elements of x that y has not, in order; their places in x). x, y: [n] of one dtype."""
    if x.ndim != 1 or y.ndim != 1 or x.tensor_type.dtype != y.tensor_type.dtype:
        raise ShapeError(
            f"ListDiff: expected two tensors [n] of one dtype, got {x.tensor_type}, {y.tensor_type}", loc=user_loc()
        )
    name = to_name(out_idx)
    if name not in ("int32", "int64"):
        raise ArgumentTypeError(f"ListDiff: out_idx must be int32 or int64, got {name}", loc=user_loc())
    there = reduce_any(equal(expand_dims(x, -1), expand_dims(y, -2)), -1)
    places = places_of("ListDiff", logical_not(there))
    return rows_at(x, places), cast_to(places, name)


def within(x: Tensor, max_num: int, offset: int) -> tuple[Tensor, Tensor]:
    """(x - offset where it lies in 0 .. max_num - 1; the places of these in x, in its dtype)."""
    moved = reshape(sub(x, int(offset)), (-1,))
    places = places_of("SubAndFilter", logical_and(greater_equal(moved, 0), less(moved, int(max_num))))
    return rows_at(moved, places), cast_to(places, x.tensor_type.dtype)


# ---- sequences


def edit_distance(
    hypothesis_indices: Tensor,
    hypothesis_values: Tensor,
    hypothesis_shape: Tensor,
    truth_indices: Tensor,
    truth_values: Tensor,
    truth_shape: Tensor,
    normalize: bool = True,
) -> Tensor:
    """float32: Levenshtein's distances of sequences given as sparse tensors (places [n, axes], values [n], shape [axes]),
    whose last axis is the sequence. With `normalize` divided by the length of the truth: inf for a hypothesis of an empty
    one, 0 for two empty ones. Not in a compiled Cell. Raises ShapeError, ArgumentValueError for places outside of the shape.
    """
    heard = _sequences("EditDistance: hypothesis", hypothesis_indices, hypothesis_values, hypothesis_shape)
    true = _sequences("EditDistance: truth", truth_indices, truth_values, truth_shape)
    sizes = [known_values("EditDistance", s).tolist()[:-1] for s in (hypothesis_shape, truth_shape)]
    if len(sizes[0]) != len(sizes[1]):
        raise ShapeError("EditDistance: hypothesis and truth have not as many axes", loc=user_loc())
    made = np.zeros([max(pair) for pair in zip(*sizes, strict=True)], np.float32)
    for what, places in (("hypothesis", hypothesis_indices), ("truth", truth_indices)):
        array = known_values("EditDistance", places)
        if array.size and (array.min() < 0 or np.any(array[:, :-1] >= made.shape)):
            raise ArgumentValueError(f"EditDistance: a sequence of {what} lies outside of {made.shape}", loc=user_loc())
    for at in np.ndindex(made.shape):
        a, b = heard.get(at, []), true.get(at, [])
        far = float(_levenshtein(a, b))
        if normalize:
            far = far / len(b) if b else float("inf") if a else 0.0
        made[at] = far
    return Tensor(made)


def _sequences(what: str, indices: Tensor, values: Tensor, shape: Tensor) -> dict[tuple[int, ...], list[Any]]:
    places, items, sizes = (known_values(what, t) for t in (indices, values, shape))
    if places.ndim != 2 or items.shape != places.shape[:1] or sizes.shape != places.shape[1:]:
        raise ShapeError(
            f"{what}: places {indices.tensor_type}, values {values.tensor_type}, shape {shape.tensor_type}",
            loc=user_loc(),
        )
    made: dict[tuple[int, ...], list[Any]] = {}
    for k in np.lexsort(places.T[::-1]).tolist():
        made.setdefault(tuple(places[k, :-1].tolist()), []).append(items[k])
    return made


def _levenshtein(a: list[Any], b: list[Any]) -> int:
    """How many items are to be added, dropped or changed (Wagner and Fischer, 1974)."""
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        before, row[0] = row[0], i
        for j, y in enumerate(b, 1):
            before, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, before + (x != y))
    return row[-1]


def ragged_range(starts: Tensor, limits: Tensor, deltas: Tensor, Tsplits: Any) -> tuple[Tensor, Tensor]:
    """(where each range begins and the last ends [n + 1], of dtype Tsplits; start, start + delta, ... up to limit, one after
    another).

    starts, limits, deltas: [] or [n], of one dtype. Not in a compiled Cell. Raises ShapeError, ArgumentValueError for a delta
    of 0.
    """
    if len({t.tensor_type.dtype for t in (starts, limits, deltas)}) > 1 or any(
        t.ndim > 1 for t in (starts, limits, deltas)
    ):
        raise ShapeError(
            f"RaggedRange: expected [] or [n] of one dtype, got {starts.tensor_type}, {limits.tensor_type}, {deltas.tensor_type}",
            loc=user_loc(),
        )
    arrays = np.broadcast_arrays(*(np.atleast_1d(known_values("RaggedRange", t)) for t in (starts, limits, deltas)))
    if np.any(arrays[2] == 0):
        raise ArgumentValueError("RaggedRange: a delta is 0", loc=user_loc())
    parts = [np.arange(*bounds, dtype=starts.tensor_type.numpy) for bounds in zip(*arrays, strict=True)]
    splits = np.cumsum([0, *map(len, parts)]).astype(to_name(Tsplits))
    return Tensor(splits), Tensor(np.concatenate([np.zeros(0, starts.tensor_type.numpy), *parts]))


__all__ = [
    "unique_with_pad",
]
