"""Primitives that count, order, search, and put elements at places."""

from __future__ import annotations

from typing import Any

from graphc.errors import ArgumentTypeError, user_loc
from graphc.ops import functional as F
from graphc.ops.declared.shape import check_axis
from graphc.ops.functional.blocks import batch_to_space_nd, space_to_batch_nd
from graphc.ops.functional.core import Ints
from graphc.ops.functional.counting import bincount_of_size, confusion_matrix, histogram_fixed_width, segment_rows
from graphc.ops.functional.dynamic import known_values
from graphc.ops.functional.element_updates import fill_diagonal, index_put, masked_scatter
from graphc.ops.functional.quantiles import median_of, nth_element
from graphc.ops.functional.scattering import with_elements
from graphc.ops.functional.sets import edit_distance, list_difference, ragged_range, within
from graphc.ops.tensor.dtype import int32, to_name
from graphc.ops.tensor.primitive import REQUIRED, declare
from graphc.ops.tensor.tensor import Tensor
from graphc.validation.unused_arguments import only

# ---- order


def _quantile(input: Tensor, q: Any, dim: int | None, keep_dims: bool, ignore_nan: bool) -> Tensor:
    """The q-th quantiles along an axis, between two elements linear."""
    return (F.nanquantile if ignore_nan else F.quantile)(input, q, dim, keep_dims)


Quantile = declare("Quantile", _quantile, dim=None, keep_dims=False, ignore_nan=False)

Median = declare("Median", median_of, global_median=False, axis=0, keep_dims=False, ignore_nan=False)

NthElement = declare("NthElement", nth_element, reverse=False)


def _bound(right: bool) -> Any:
    def find(sorted_x: Tensor, values: Tensor, out_type: Any) -> Tensor:
        name = to_name(out_type)
        if name not in ("int32", "int64"):
            raise ArgumentTypeError(f"out_type must be int32 or int64, got {name}", loc=user_loc())
        return F.searchsorted(sorted_x, values, out_int32=name == "int32", right=right)

    find.__doc__ = f"How many elements of a sorted row are {'not greater' if right else 'less'} than each value."
    return find


LowerBound, UpperBound = (
    declare(n, _bound(r), out_type=int32) for n, r in (("LowerBound", False), ("UpperBound", True))
)

# ---- counts

Histogram = declare("Histogram", F.histc, bins=100, min=0.0, max=0.0)

HistogramFixedWidth = declare("HistogramFixedWidth", histogram_fixed_width, nbins=REQUIRED, dtype="int32")

Bincount = declare("Bincount", bincount_of_size)

ConfusionMatrix = declare("ConfusionMatrix", confusion_matrix, num_classes=REQUIRED, dtype="int32")

UniqueConsecutive = declare(
    "UniqueConsecutive", F.unique_consecutive, return_inverse=False, return_counts=False, dim=None
)

UniqueWithPad, ListDiff = (
    declare("UniqueWithPad", F.unique_with_pad),
    declare("ListDiff", list_difference, out_idx=int32),
)

EditDistance = declare("EditDistance", edit_distance, normalize=True)

SubAndFilter = declare(
    "SubAndFilter", lambda input_x, max_num, offset: within(input_x, max_num, offset), within.__doc__
)


def _segments(mode: str, what: str) -> Any:
    def run(input_x: Tensor, segment_ids: Tensor) -> Tensor:
        return segment_rows(mode, input_x, segment_ids)

    run.__doc__ = f"[last id + 1, ...]: {what} of the rows of each segment; the ids are known, in ascending order."
    return run


SegmentSum, SegmentMean = (
    declare(f"Segment{n}", _segments(m, w)) for n, m, w in (("Sum", "add", "sums"), ("Mean", "mean", "means"))
)

SegmentMax, SegmentMin, SegmentProd = (
    declare(f"Segment{n}", _segments(m, w))
    for n, m, w in (("Max", "max", "the largest"), ("Min", "min", "the smallest"), ("Prod", "mul", "products"))
)

# ---- places


def _index_put(x1: Tensor, x2: Tensor, indices: Any, accumulate: int) -> Tensor:
    """A copy of x1 in which x1[indices] are x2, or with accumulate=1 the sums of both."""
    only("IndexPut", "accumulate", accumulate, 0, 1)
    return index_put(x1, indices, x2, bool(accumulate))


IndexPut = declare("IndexPut", _index_put, accumulate=0)

FillDiagonal = declare("FillDiagonal", fill_diagonal, fill_value=REQUIRED, wrap=False)

MaskedScatter = declare("MaskedScatter", masked_scatter)


def _add_along(input_x: Tensor, indices: Tensor, update: Tensor, axis: int) -> Tensor:
    """x with `update` added to the elements at places along an axis."""
    return with_elements("add", input_x, check_axis("ScatterAddWithAxis", axis, input_x.ndim), indices, update)


ScatterAddWithAxis = declare("ScatterAddWithAxis", _add_along, axis=0)

InplaceIndexAdd = declare("InplaceIndexAdd", F.inplace_index_add, axis=REQUIRED)

InplaceUpdateV2 = declare(
    "InplaceUpdateV2", lambda x, indices, v: F.inplace_update(x, v, indices), F.inplace_update.__doc__
)

RaggedRange = declare("RaggedRange", ragged_range, Tsplits=REQUIRED)

TrilIndices, TriuIndices = (
    declare(n, lambda f=f, **given: f(**given), f.__doc__, row=REQUIRED, col=REQUIRED, offset=0, dtype=int32)
    for n, f in (("TrilIndices", F.tril_indices), ("TriuIndices", F.triu_indices))
)

# ---- others

Fills, Eps = declare("Fills", F.fills), declare("Eps", F.eps)

SpaceToBatch = declare(
    "SpaceToBatch",
    lambda x, block_size, paddings: space_to_batch_nd(x, block_size, paddings),
    space_to_batch_nd.__doc__,
    block_size=REQUIRED,
    paddings=REQUIRED,
)

BatchToSpace = declare(
    "BatchToSpace",
    lambda x, block_size, crops: batch_to_space_nd(x, block_size, crops),
    batch_to_space_nd.__doc__,
    block_size=REQUIRED,
    crops=REQUIRED,
)


def _known_blocks(input_x: Tensor, block_shape: Ints, crops: Ints) -> Tensor:
    """The reverse of SpaceToBatchND, with sizes given as operands that are known."""
    block, cut = (
        known_values("BatchToSpaceNDV2", v).tolist() if isinstance(v, Tensor) else v for v in (block_shape, crops)
    )
    return batch_to_space_nd(input_x, block, cut)


BatchToSpaceNDV2 = declare("BatchToSpaceNDV2", _known_blocks)

TensorToTuple = declare(
    "TensorToTuple",
    lambda x: tuple(known_values("TensorToTuple", x).tolist()),
    "The entries of axis 0 of a tensor [n] as Python numbers. Not in a compiled Cell.",
)
