"""Rows of tensors added up by segment, as MindSpore's primitives: sums, means, sums over the root of how many rows there are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from graphc import ops
from graphc.errors import ArgumentTypeError, ArgumentValueError, DTypeError, ShapeError, user_loc
from graphc.ops.functional.bounds import in_bounds
from graphc.ops.functional.dynamic import known_number, known_values
from graphc.ops.tensor.primitive import declare
from graphc.ops.tensor.tensor import Tensor

#: What sums of segments are divided by, of how many rows these have.
_SHARES: dict[str, Callable[[Tensor], Tensor] | None] = {"Sum": None, "Mean": lambda n: n, "SqrtN": ops.sqrt}


def _check(owner: str, x: Tensor, indices: Tensor, segment_ids: Tensor) -> None:
    kinds = [t.tensor_type for t in (x, indices, segment_ids)]
    if not owner.startswith("SparseSegmentSum") and not kinds[0].is_float:
        raise DTypeError(f"{owner}: x is {kinds[0]}, expected floats", loc=user_loc())
    if any(k.dtype not in ("int32", "int64") for k in kinds[1:]):
        raise DTypeError(
            f"{owner}: indices are {kinds[1]}, segment_ids {kinds[2]}, expected int32 or int64", loc=user_loc()
        )
    if not x.ndim or indices.ndim != 1 or indices.shape != segment_ids.shape:
        raise ShapeError(
            f"{owner}: x is {kinds[0]}, indices {kinds[1]}, segment_ids {kinds[2]}: expected an axis or more, and one of the"
            " same size each",
            loc=user_loc(),
        )


def _segments(owner: str, kind: str, x: Tensor, indices: Tensor, segment_ids: Tensor, count: int) -> Tensor:
    ids = segment_ids.array
    if ids is not None and ids.size and (ids[0] < 0 or np.any(np.diff(ids) < 0) or ids[-1] >= count):
        raise ArgumentValueError(f"{owner}: segment_ids must be ascending, from 0 to {count - 1}", loc=user_loc())
    rows = ops.gather(x, in_bounds(owner, indices, x.shape[0]), 0)
    wide = ops.cast(rows, "float32") if x.tensor_type.dtype == "float16" else rows
    made = ops.unsorted_segment_sum(wide, segment_ids, count)
    share = _SHARES[kind]
    if share is not None:
        sizes = ops.unsorted_segment_sum(ops.ones(segment_ids.shape, wide.dtype), segment_ids, count)
        made = made / ops.reshape(share(ops.maximum(sizes, 1.0)), (-1, *[1] * (x.ndim - 1)))
    return ops.cast(made, x.dtype)


def _plain(kind: str) -> type[Any]:
    owner = f"SparseSegment{kind}"

    def run(x: Tensor, indices: Tensor, segment_ids: Tensor) -> Tensor:
        _check(owner, x, indices, segment_ids)
        ids = known_values(owner, segment_ids)
        # MindSpore's means may leave segments out, the others not.
        if kind != "Mean" and ids.size and (ids[0] != 0 or np.any(np.diff(ids) > 1)):
            raise ArgumentValueError(f"{owner}: segment_ids must begin with 0 and leave none out", loc=user_loc())
        return _segments(owner, kind, x, indices, segment_ids, int(ids[-1]) + 1 if ids.size else 0)

    run.__doc__ = f"""[segments, ...]: {_SAID[kind]} of the rows of x at indices, by segment.

    indices, segment_ids: int32 or int64 [n], the latter ascending, known where a Cell is compiled. Raises ShapeError,
    DTypeError, ArgumentValueError; IndexRangeError for rows that there are not.
    """
    return declare(owner, run)


def _counted(kind: str) -> type[Any]:
    owner = f"SparseSegment{kind}WithNumSegments"

    def run(x: Tensor, indices: Tensor, segment_ids: Tensor, num_segments: Any) -> Tensor:
        _check(owner, x, indices, segment_ids)
        if not isinstance(num_segments, Tensor):
            raise ArgumentTypeError(f"{owner}: num_segments must be a Tensor, got {num_segments!r}", loc=user_loc())
        return _segments(owner, kind, x, indices, segment_ids, known_number(owner, num_segments))

    run.__doc__ = f"""[num_segments, ...]: as SparseSegment{kind}; segments may be left out, which are 0.

    num_segments: int32 or int64, one number, known where a Cell is compiled. Raises ArgumentTypeError as well.
    """
    return declare(owner, run)


_SAID = {"Sum": "the sums", "Mean": "the means", "SqrtN": "the sums, over the roots of how many there are,"}

SparseSegmentSum, SparseSegmentMean, SparseSegmentSqrtN = map(_plain, _SHARES)
SparseSegmentSumWithNumSegments, SparseSegmentMeanWithNumSegments, SparseSegmentSqrtNWithNumSegments = map(
    _counted, _SHARES
)

__all__ = [
    "SparseSegmentMean", "SparseSegmentMeanWithNumSegments", "SparseSegmentSqrtN", "SparseSegmentSqrtNWithNumSegments",
    "SparseSegmentSum", "SparseSegmentSumWithNumSegments",
]  # fmt: skip
