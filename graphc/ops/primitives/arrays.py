"""Primitives that make, ask about, rearrange and index tensors."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from graphc.errors import ArgumentTypeError, ArgumentValueError, user_loc
from graphc.ops import functional as F
from graphc.ops.functional.blocks import batch_to_space_nd, space_to_batch_nd
from graphc.ops.functional.core import Axis
from graphc.ops.functional.create import range_
from graphc.ops.functional.diagonals import diag_part
from graphc.ops.functional.index import marked, scattered
from graphc.ops.functional.padding import bordered
from graphc.ops.functional.slicing import rows_at, slice_
from graphc.ops.tensor.primitive import REQUIRED, Hint, Only, declare
from graphc.ops.tensor.tensor import Tensor

# ---- making

Fill = declare("Fill", F.fill)

FillV2 = declare(
    "FillV2",
    F.full,
    "A tensor filled with one number.",
)

Zeros = declare("Zeros", lambda size, dtype=None: F.zeros(size, "float32" if dtype is None else dtype), "Zeros.")

Ones = declare("Ones", lambda shape, dtype=None: F.ones(shape, "float32" if dtype is None else dtype), "Ones.")

ZerosLike, OnesLike, Eye = declare("ZerosLike", F.zeros_like), declare("OnesLike", F.ones_like), declare("Eye", F.eye)

Range = declare("Range", range_, maxlen=Hint(1000000))

LinSpace = declare("LinSpace", F.linspace)

ScalarToTensor, ScalarToArray = (
    declare("ScalarToTensor", F.scalar_to_tensor),
    declare("ScalarToArray", F.scalar_to_tensor),
)

TupleToArray, ScalarCast = declare("TupleToArray", F.tuple_to_array), declare("ScalarCast", F.scalar_cast)

# ---- what a tensor is

Shape, TensorShape, DynamicShape = (
    declare("Shape", F.shape),
    declare("TensorShape", F.dyn_shape),
    declare("DynamicShape", F.dyn_shape, dtype=Only(9)),
)

Size, Rank, DType = declare("Size", F.size), declare("Rank", F.rank), declare("DType", F.dtype)

# ---- rearranging


def _identity(x: Any) -> Any:
    """What x holds; of a tensor as one of its own."""
    return x.twin() if isinstance(x, Tensor) else x


Identity, Cast, Reshape = declare("Identity", _identity), declare("Cast", F.cast), declare("Reshape", F.reshape)

Transpose, ExpandDims = declare("Transpose", F.transpose), declare("ExpandDims", F.expand_dims)


def _conjugate_transpose(x: Tensor, perm: Axis) -> Tensor:
    """The conjugates of x's elements, with its axes in the order of perm."""
    return F.conj(F.transpose(x, perm))


ConjugateTranspose = declare("ConjugateTranspose", _conjugate_transpose)

Squeeze = declare("Squeeze", lambda x, axis: F.squeeze(x, None if axis == () else axis), F.squeeze.__doc__, axis=())


def _rows(input_x: Tensor) -> Tensor:
    """All axes but the first as one; a vector becomes a column."""
    return F.reshape(input_x, (input_x.shape[0], math.prod(input_x.shape[1:]))).twin()


Flatten, Tile = declare("Flatten", _rows), declare("Tile", F.tile)

BroadcastTo = declare("BroadcastTo", F.broadcast_to, shape=REQUIRED)

Concat = declare("Concat", F.concat, axis=0)

Stack, Pack = declare("Stack", F.stack, axis=0), declare("Pack", F.stack, axis=0)


def _unstack(x: Tensor, axis: int, num: int | None) -> tuple[Tensor, ...]:
    """The entries of an axis as tensors of their own; there are `num`, if that is given."""
    if num is not None and num != x.shape[axis]:
        raise ArgumentValueError(
            f"Unstack: num is {num}, axis {axis} of {x.tensor_type} has {x.shape[axis]} entries", loc=user_loc()
        )
    return F.unstack(x, axis)


Unstack, Unpack = declare("Unstack", _unstack, axis=0, num=None), declare("Unpack", _unstack, axis=0, num=None)


def _split(x: Tensor, axis: int, output_num: int) -> tuple[Tensor, ...]:
    """An axis divided into equal pieces."""
    size = x.shape[axis]
    if output_num < 1 or size % output_num:
        raise ArgumentValueError(
            f"Split: axis {axis} of {x.tensor_type} cannot be divided into {output_num} pieces", loc=user_loc()
        )
    return F.split(x, size // output_num, axis)


Split = declare("Split", _split, axis=0, output_num=1)

SplitWithSize = declare(
    "SplitWithSize",
    lambda input, split_size, dim=0: F.split(input, list(split_size), dim),
    "Pieces of the given sizes along an axis.",
)


def _tensor_to_scalar(input_tensor: Tensor) -> Any:
    """The number in a tensor without axes; while a Cell is compiled the tensor itself."""
    if not isinstance(input_tensor, Tensor):
        raise ArgumentTypeError(
            f"TensorToScalar: input_tensor must be a Tensor, got {type(input_tensor).__name__}", loc=user_loc()
        )
    if input_tensor.ndim:
        raise ArgumentValueError(
            f"TensorToScalar: input_tensor must have no axes, it is {input_tensor.tensor_type}", loc=user_loc()
        )
    return input_tensor.value() if input_tensor.array is None else input_tensor.item()


TensorToScalar = declare("TensorToScalar", _tensor_to_scalar)

SplitV = declare(
    "SplitV",
    lambda x, size_splits, split_dim, num_split: F.split(x, list(size_splits), split_dim),
    F.split.__doc__,
    size_splits=REQUIRED,
    split_dim=0,
    num_split=None,
)

Slice = declare("Slice", slice_)

StridedSlice = declare(
    "StridedSlice",
    F.strided_slice,
    begin_mask=0,
    end_mask=0,
    ellipsis_mask=0,
    new_axis_mask=0,
    shrink_axis_mask=0,
)

ReverseV2 = declare(
    "ReverseV2",
    lambda x, axis: F.flip(x, axis if isinstance(axis, int) else tuple(axis)),
    F.flip.__doc__,
    axis=REQUIRED,
)

Roll = declare("Roll", F.roll, shifts=REQUIRED, dims=None)

Meshgrid = declare(
    "Meshgrid", lambda vectors, indexing: F.meshgrid(*vectors, indexing=indexing), F.meshgrid.__doc__, indexing="xy"
)

Tril, Triu = declare("Tril", F.tril, diagonal=0), declare("Triu", F.triu, diagonal=0)

Diag, DiagPart, Trace = declare("Diag", F.diag), declare("DiagPart", diag_part), declare("Trace", F.trace)

MatrixDiagV3 = declare("MatrixDiagV3", F.matrix_diag, align="RIGHT_LEFT")

MatrixDiagPartV3 = declare("MatrixDiagPartV3", F.matrix_diag_part, align="RIGHT_LEFT")

MatrixSetDiagV3 = declare("MatrixSetDiagV3", F.matrix_set_diag, align="RIGHT_LEFT")

MatrixBandPart = declare("MatrixBandPart", F.matrix_band_part)

DepthToSpace = declare("DepthToSpace", F.depth_to_space, block_size=REQUIRED)

SpaceToDepth = declare("SpaceToDepth", F.space_to_depth, block_size=REQUIRED)

Pad = declare(
    "Pad", lambda x, paddings: bordered(x, paddings), "x with (before, after) more zeros per axis.", paddings=REQUIRED
)

MirrorPad = declare("MirrorPad", F.mirror_pad, mode="REFLECT")


def _invert_permutation(x: tuple[int, ...]) -> tuple[int, ...]:
    """The permutation that undoes a permutation."""
    return tuple(sorted(range(len(x)), key=x.__getitem__))


InvertPermutation = declare("InvertPermutation", _invert_permutation)

# ---- choosing

Select, MaskedFill = declare("Select", F.select), declare("MaskedFill", F.masked_fill)

MaskedSelect, NonZero, Unique = (
    declare("MaskedSelect", F.masked_select),
    declare("NonZero", F.nonzero),
    declare("Unique", F.unique),
)

OneHot = declare("OneHot", marked, axis=-1)


Gather, GatherV2 = declare("Gather", F.gather, batch_dims=0), declare("GatherV2", F.gather, batch_dims=0)

SparseGatherV2 = declare("SparseGatherV2", F.gather, batch_dims=0)

GatherD, GatherNd = declare("GatherD", F.gather_elements), declare("GatherNd", F.gather_nd)


def _embedding_lookup(x: Tensor, indices: Tensor, offset: int) -> Tensor:
    """Rows at indices - offset; an index out of range gives zeros."""
    return rows_at(x, F.sub(indices, offset))


EmbeddingLookup = declare("EmbeddingLookup", _embedding_lookup)

ScatterNd = declare("ScatterNd", F.scatter_nd)

TensorScatterUpdate, TensorScatterAdd = (
    declare("TensorScatterUpdate", F.tensor_scatter_update),
    declare("TensorScatterAdd", F.tensor_scatter_add),
)

TensorScatterSub, TensorScatterMul = (
    declare("TensorScatterSub", F.tensor_scatter_sub),
    declare("TensorScatterMul", F.tensor_scatter_mul),
)

TensorScatterMax, TensorScatterMin = (
    declare("TensorScatterMax", F.tensor_scatter_max),
    declare("TensorScatterMin", F.tensor_scatter_min),
)

TensorScatterElements = declare("TensorScatterElements", F.tensor_scatter_elements, axis=0, reduction="none")


def _scatter(input: Tensor, dim: int, index: Tensor, src: Tensor, reduce: str = "none") -> Tensor:
    """input with the elements at places along an axis replaced, or added to (`reduce` "none", "add")."""
    return F.tensor_scatter_elements(input, index, src, dim, reduce)


Scatter = declare("Scatter", _scatter)

UnsortedSegmentSum = declare("UnsortedSegmentSum", F.unsorted_segment_sum)

UnsortedSegmentMax, UnsortedSegmentMin = (
    declare("UnsortedSegmentMax", F.unsorted_segment_max),
    declare("UnsortedSegmentMin", F.unsorted_segment_min),
)


IndexAdd = declare("IndexAdd", F.index_add, axis=REQUIRED, use_lock=Hint(True), check_index_bound=Hint(True))

IndexFill = declare("IndexFill", F.index_fill)


def _inplace(mode: str) -> Any:
    def run(x: Tensor, v: Tensor, indices: Any) -> Tensor:
        rows = Tensor(np.atleast_1d(np.asarray(indices, np.int32)))
        return scattered(mode, x, rows, v)

    run.__doc__ = f"x with rows combined with those of v ({mode})."
    return run


InplaceUpdate, InplaceAdd, InplaceSub = (
    declare(n, _inplace(m), indices=REQUIRED)
    for n, m in (("InplaceUpdate", "update"), ("InplaceAdd", "add"), ("InplaceSub", "sub"))
)

Expand, UnsortedSegmentProd = declare("Expand", F.expand), declare("UnsortedSegmentProd", F.unsorted_segment_prod)

TensorScatterDiv = declare("TensorScatterDiv", F.tensor_scatter_div)

ReverseSequence = declare("ReverseSequence", F.reverse_sequence, seq_dim=REQUIRED, batch_dim=0)

SpaceToBatchND = declare(
    "SpaceToBatchND",
    lambda x, block_shape, paddings: space_to_batch_nd(x, block_shape, paddings),
    space_to_batch_nd.__doc__,
    block_shape=REQUIRED,
    paddings=REQUIRED,
)

BatchToSpaceND = declare("BatchToSpaceND", batch_to_space_nd, block_shape=REQUIRED, crops=REQUIRED)
