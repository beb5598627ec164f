"""Gradients of functions of rows, matrices, boxes and sequences as primitives of their own."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import numpy as np

from graphc.errors import ArgumentValueError, ShapeError, user_loc
from graphc.ops import functional as F
from graphc.ops.functional.core import Ints, call
from graphc.ops.functional.linear_systems import least_squares
from graphc.ops.functional.shapes import whole_numbers
from graphc.ops.primitives.images import ScaleAndTranslate
from graphc.ops.primitives.pull import numbers, pulled
from graphc.ops.primitives.recurrent import LSTM
from graphc.ops.primitives.sampling import ROIAlign
from graphc.ops.tensor.primitive import REQUIRED, declare
from graphc.ops.tensor.tensor import Tensor

# ---- special functions and distances

IgammaGradA = declare(
    "IgammaGradA", lambda a, x: call("IgammaGradA", a, x), "The derivative of Igamma for its first operand."
)
MvlgammaGrad = pulled(
    "MvlgammaGrad", "dy x", "x", lambda x, p: F.mvlgamma(x, p), "The gradient of Mvlgamma, from dy and x", p=REQUIRED
)
PdistGrad = pulled(
    "PdistGrad", "dy x y", "x", lambda x, p: F.pdist(x, p), "The gradient of Pdist, from dy, x and its result", p=2.0
)
CdistGrad = pulled(
    "CdistGrad",
    "dy x1 x2 dist",
    "x1",
    lambda x1, x2, p: F.cdist(x1, x2, p),
    "The gradient of Cdist for its first operand, from dy, both operands and its result",
    p=2.0,
)

# ---- matrices

LstsqV2Grad = pulled(
    "LstsqV2Grad",
    "dy a b",
    "a b",
    lambda a, b: least_squares(a, b, 0.0, True),
    "The gradients of the least squares solution of a x = b for a and b, from dy, a and b",
)


def _lu_unpack_grad(dl: Tensor, du: Tensor, x: Tensor, L_grad_flag: bool, U_grad_flag: bool) -> tuple[Tensor, Tensor]:
    """The gradients of LuUnpack's two factors for the matrices x that hold both: what is below the diagonal, and what is not.
    As in MindSpore both are given, whatever the flags say."""
    rows, columns = x.shape[-2:]
    least, lead = min(rows, columns), x.shape[:-2]
    for name, made, shape in (("L_grad", dl, (*lead, rows, least)), ("U_grad", du, (*lead, least, columns))):
        if x.ndim < 2 or made.shape != shape:
            raise ShapeError(
                f"LuUnpackGrad: {name} is {made.tensor_type}, expected {shape} for {x.tensor_type}", loc=user_loc()
            )

    def placed(made: Tensor) -> Tensor:
        ends = [(0, a - b) for a, b in zip(x.shape[-2:], made.shape[-2:], strict=True)]
        return F.pad(made, [*[(0, 0)] * (x.ndim - 2), *ends]) if any(b for _, b in ends) else made

    return placed(F.tril(dl, -1)), placed(F.triu(du))


LuUnpackGrad = declare("LuUnpackGrad", _lu_unpack_grad, L_grad_flag=REQUIRED, U_grad_flag=REQUIRED)


def _trace_grad(dy: Tensor, x_shape: Any) -> Tensor:
    """The gradient of Trace, from dy and the shape of x: dy on the diagonal."""
    sizes = whole_numbers("TraceGrad", "x_shape", numbers("TraceGrad", x_shape))
    if len(sizes) != 2 or dy.size != 1:
        raise ShapeError(
            f"TraceGrad: dy is {dy.tensor_type}, the shape {sizes}, expected a number and two sizes", loc=user_loc()
        )
    return F.eye(*sizes, dy.dtype) * F.reshape(dy, ())


TraceGrad = declare("TraceGrad", _trace_grad)
TraceV2Grad = pulled(
    "TraceV2Grad",
    "dy x_shape offset? axis1? axis2?",
    "x",
    lambda x, offset, axis1, axis2: F.reduce_sum(
        F.diagonal(x, *(d if v is None else v for v, d in ((offset, 0), (axis1, 1), (axis2, 0)))), -1
    ),
    "The gradient of the sum of a diagonal, from dy, the shape of x, and which diagonal: of axes 1 and 0 by default",
)


def _median_grad(
    dy: Tensor, x: Tensor, y: Tensor, indices: Tensor, global_median: bool, axis: int, keep_dims: bool
) -> Tensor:
    """The gradient of Median: dy where the median stands, zero elsewhere; float64 for x of float64, else float32."""
    flow = F.cast(dy, "float64" if x.dtype == F.zeros((), "float64").dtype else "float32")
    if global_median:
        here = F.cast(F.equal(x, y), flow.dtype)
        return flow * here / F.reduce_sum(here)
    if not x.ndim:
        return flow
    if not keep_dims:
        flow, indices = F.expand_dims(flow, axis), F.expand_dims(indices, axis)
    wanted = tuple(1 if k == axis % x.ndim else n for k, n in enumerate(x.shape))
    if flow.shape != wanted or indices.shape != wanted:
        raise ShapeError(
            f"MedianGrad: dy is {dy.tensor_type}, x {x.tensor_type}: that is not the median along axis {axis}",
            loc=user_loc(),
        )
    return F.tensor_scatter_elements(F.zeros(x.shape, flow.dtype), indices, flow, axis)


MedianGrad = declare("MedianGrad", _median_grad, global_median=False, axis=0, keep_dims=False)


def _concat_offset(tensors: Sequence[Tensor], N: int, axis: int) -> Tensor:
    """int64[N, rank]: where each of the tensors begins in their concatenation along an axis."""
    if len(tensors) != N:
        raise ArgumentValueError(f"ConcatOffset: got {len(tensors)} tensors, N is {N}", loc=user_loc())
    rank = tensors[0].ndim
    if not -rank <= axis < rank:
        raise ArgumentValueError(f"ConcatOffset: axis must be in [-{rank}, {rank}), got {axis}", loc=user_loc())
    along = axis % rank
    made = np.zeros((N, rank), np.int64)
    made[:, along] = [0, *accumulate(x.shape[along] for x in tensors[:-1])]
    return Tensor(made)


ConcatOffset = declare("ConcatOffset", _concat_offset, N=2, axis=0)

# ---- rows of sparse tensors


def _fill_empty_rows_grad(reverse_index_map: Tensor, dy: Tensor) -> tuple[Tensor, Tensor]:
    """The gradients of SparseFillEmptyRows for the values and for the number that fills: of which elements of dy are whose."""
    own = F.unsorted_segment_sum(F.ones_like(reverse_index_map), reverse_index_map, dy.shape[0])
    return F.gather(dy, reverse_index_map, 0), F.reduce_sum(F.select(own > 0, F.zeros_like(dy), dy))


SparseFillEmptyRowsGrad = declare("SparseFillEmptyRowsGrad", _fill_empty_rows_grad)


def _one(owner: str, output_dim0: Any) -> int:
    rows = whole_numbers(owner, "output_dim0", output_dim0)
    if len(rows) != 1:
        raise ShapeError(f"{owner}: output_dim0 is {rows}, expected one number", loc=user_loc())
    return rows[0]


def _segment_grad(name: str, doc: str, root: bool) -> type[Any]:
    """The primitive for segments whose sums are divided by how many rows they have, or by its root."""

    def forward(x: Tensor, dy: Tensor, indices: Tensor, segment_ids: Tensor) -> Tensor:
        if dy.ndim < 1 or indices.ndim != 1 or indices.shape != segment_ids.shape:
            raise ShapeError(
                f"{name}: dy is {dy.tensor_type}, indices {indices.tensor_type}, segment_ids {segment_ids.tensor_type},"
                " expected an axis or more, and one of the same size each",
                loc=user_loc(),
            )
        count = dy.shape[0]
        sums = F.unsorted_segment_sum(F.gather(x, indices, 0), segment_ids, count)
        sizes = F.maximum(F.unsorted_segment_sum(F.ones(segment_ids.shape, x.dtype), segment_ids, count), 1.0)
        return sums / F.reshape(F.sqrt(sizes) if root else sizes, (-1, *[1] * (x.ndim - 1)))

    return pulled(
        name,
        "dy indices segment_ids output_dim0",
        "x",
        forward,
        doc,
        known="output_dim0",
        shape=lambda dy, output_dim0: (_one(name, output_dim0), *dy.shape[1:]),
    )


SparseSegmentMeanGrad = _segment_grad(
    "SparseSegmentMeanGrad",
    "The gradient of means of rows by segment, from dy, the rows taken, their segments, and how many rows there were",
    False,
)
SparseSegmentSqrtNGrad = _segment_grad(
    "SparseSegmentSqrtNGrad",
    "As SparseSegmentMeanGrad, of sums divided by the root of how many rows a segment has",
    True,
)


def _slice_grad(dy: Tensor, indices: Tensor, start: Tensor, new_indices: Tensor) -> Tensor:
    """The gradient of SparseSlice for the values: dy of the elements that the slice has kept, zero for others.

    indices: int64[n, axes], sorted; new_indices: int64[m, axes], the kept ones, counted from `start`; dy: [m].
    """
    if indices.ndim != 2 or new_indices.ndim != 2 or dy.ndim != 1 or new_indices.shape[0] != dy.shape[0]:
        raise ShapeError(
            f"SparseSliceGrad: dy is {dy.tensor_type}, indices {indices.tensor_type}, new_indices {new_indices.tensor_type},"
            " expected [m], [n, axes] and [m, axes]",
            loc=user_loc(),
        )
    if not dy.shape[0] or not indices.shape[0]:
        return F.zeros((indices.shape[0],), dy.dtype)
    kept = new_indices + F.reshape(start, (1, -1))
    # Each place as one number: the place in a row of all.
    sizes = F.maximum(F.reduce_max(indices, 0), F.reduce_max(kept, 0)) + 1
    steps = F.flip(F.cumprod(F.concat((F.ones((1,), sizes.dtype), F.flip(sizes[1:], (0,))), 0), 0), (0,))
    every, those = (F.reduce_sum(x * steps, 1) for x in (indices, kept))
    at = F.minimum(F.searchsorted(those, every), dy.shape[0] - 1)
    return F.select(F.equal(F.gather(those, at, 0), every), F.gather(dy, at, 0), F.zeros_like(every).astype(dy.dtype))


SparseSliceGrad = declare("SparseSliceGrad", _slice_grad)

# ---- boxes and images

ROIAlignGrad = pulled(
    "ROIAlignGrad",
    "dy rois x_shape",
    "x",
    lambda x, rois, pooled_height, pooled_width, spatial_scale, sample_num: ROIAlign(
        pooled_height, pooled_width, spatial_scale, sample_num
    )(x, rois),
    "The gradient of ROIAlign for the features, from dy, the boxes and the shape of the features",
    pooled_height=REQUIRED,
    pooled_width=REQUIRED,
    spatial_scale=REQUIRED,
    sample_num=2,
)


def _covered(first: Tensor, last: Tensor, parts: int, size: int, scale: float) -> Tensor:
    """bool [boxes, parts, size]: the pixels of each part of boxes along an axis, whose ends are rounded away from zero."""
    begin, end = (F.sign(x) * F.floor(F.abs(x) * scale + 0.5) for x in (first, last))
    length = F.maximum(end - begin, 0.1) / parts
    steps = Tensor(np.arange(parts, dtype=np.float32))
    low, high = (F.reshape(begin, (-1, 1)) + (steps + k) * F.reshape(length, (-1, 1)) for k in (0, 1))
    low, high = (F.expand_dims(F.clamp(x, 0, size), 2) for x in (F.floor(low), F.ceil(high)))
    pixels = Tensor(np.arange(size, dtype=np.float32))
    return F.logical_and(low <= pixels, pixels < high)


def _position_sensitive(
    dy: Tensor, rois: Tensor, input_size: Ints, spatial_scale: float, group_size: int, output_dim: int
) -> Tensor:
    """The gradient of PSROIPooling for images [N, output_dim group_size^2, H, W], of the size input_size.

    dy: [N boxes, output_dim, group_size, group_size], float32; rois: [N, 5, boxes], the image's number and (x1, y1, x2, y2).
    """
    height, width = (input_size, input_size) if isinstance(input_size, int) else input_size
    count = rois.shape[0] * rois.shape[-1]
    wanted = (count, output_dim, group_size, group_size)
    if rois.ndim != 3 or rois.shape[1] != 5 or dy.shape != wanted:
        raise ShapeError(
            f"PSROIPoolingGrad: dy is {dy.tensor_type}, rois {rois.tensor_type}, expected {wanted} and [N, 5, boxes]",
            loc=user_loc(),
        )
    image, left, top, right, bottom = (F.reshape(rois[:, k], (-1,)) for k in range(5))
    down, across = (
        F.cast(_covered(a, b, group_size, size, spatial_scale), dy.dtype)
        for a, b, size in ((top, bottom, height), (left, right, width))
    )
    pixels = F.reshape(F.reduce_sum(down, 2), (-1, 1, group_size, 1)) * F.reshape(
        F.reduce_sum(across, 2), (-1, 1, 1, group_size)
    )
    share = F.select(pixels > 0, dy / F.maximum(pixels, 1.0), F.zeros_like(dy))
    whose = F.cast(
        F.equal(F.expand_dims(F.cast(image, "int32"), 1), Tensor(np.arange(rois.shape[0], dtype=np.int32))), dy.dtype
    )
    made = F.einsum("rn,rcij,rih,rjw->ncijhw", whose, share, down, across)
    return F.reshape(made, (rois.shape[0], output_dim * group_size * group_size, height, width))


PSROIPoolingGrad = declare(
    "PSROIPoolingGrad",
    _position_sensitive,
    input_size=REQUIRED,
    spatial_scale=REQUIRED,
    group_size=REQUIRED,
    output_dim=REQUIRED,
)
ScaleAndTranslateGrad = pulled(
    "ScaleAndTranslateGrad",
    "dy images scale translation",
    "images",
    lambda images, dy, scale, translation, kernel_type, antialias: ScaleAndTranslate(kernel_type, antialias)(
        images, dy.shape[1:3], scale, translation
    ),
    "The gradient of ScaleAndTranslate for the images, from dy, the images, scale and translation",
    kernel_type="lanczos3",
    antialias=True,
)

# ---- sequences

LSTMGrad = pulled(
    "LSTMGrad",
    "x hx cx w y hy cy dy dhy dcy reserve",
    "x hx cx w",
    lambda x, hx, cx, w, input_size, hidden_size, num_layers, has_bias, bidirectional: LSTM(
        input_size, hidden_size, num_layers, has_bias, bidirectional
    )(x, hx, cx, w)[:3],
    "The gradients of LSTM for x, h, c and w, from its operands, its results and what flows into these",
    flows="dy dhy dcy",
    **LSTM.attributes,
)
