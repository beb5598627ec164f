"""Further compositions: sequences, similarity, resampling, dense and transposed layers as functions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from graphc.errors import ArgumentValueError, ShapeError, user_loc
from graphc.ops.functional.conv import spread
from graphc.ops.functional.core import Axis, Operand, call, cast
from graphc.ops.functional.extra_index import scattered
from graphc.ops.functional.extra_reduce import sort
from graphc.ops.functional.extra_shape import arange, diag, flip, moveaxis, tensor_split, unstack
from graphc.ops.functional.math import add, div, less, maximum, mul, neg, select, sqrt, square, sub
from graphc.ops.functional.network import matmul, softmax
from graphc.ops.functional.normalization import norm
from graphc.ops.functional.reduce import reduce_mean, reduce_sum
from graphc.ops.functional.shape import expand_dims, gather, getitem, pad, reshape, stack
from graphc.ops.shape import check_axis
from graphc.ops.tensor import Tensor


def softmin(x: Tensor, axis: int = -1) -> Tensor:
    """softmax of -x."""
    return softmax(neg(x), axis)


def msort(input: Tensor) -> Tensor:
    """Axis 0 sorted."""
    return sort(input, 0)[0]


def vector_norm(x: Tensor, ord: Any = 2, axis: Axis = None, keepdims: bool = False, *, dtype: Any = None) -> Tensor:
    """(sum |x|^ord)^(1/ord) over axes."""
    return norm(x, ord, axis, keepdims, dtype=dtype)


def vecdot(x: Tensor, y: Tensor, *, axis: int = -1) -> Tensor:
    """Products summed over an axis."""
    return reduce_sum(mul(x, y), axis)


def cosine_similarity(x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-8) -> Tensor:
    """x1 x2 / (|x1| |x2|) over an axis; the lengths are at least eps."""
    lengths = mul(maximum(norm(x1, None, dim), eps), maximum(norm(x2, None, dim), eps))
    return div(reduce_sum(mul(x1, x2), dim), lengths)


def hsplit(input: Tensor, indices_or_sections: Any) -> tuple[Tensor, ...]:
    """Pieces along axis 1, of a vector along axis 0."""
    return tensor_split(input, indices_or_sections, 0 if input.ndim == 1 else 1)


def vsplit(input: Tensor, indices_or_sections: Any) -> tuple[Tensor, ...]:
    """Pieces along axis 0."""
    return tensor_split(input, indices_or_sections, 0)


def dsplit(input: Tensor, indices_or_sections: Any) -> tuple[Tensor, ...]:
    """Pieces along axis 2."""
    return tensor_split(input, indices_or_sections, 2)


def diff(x: Tensor, n: int = 1, axis: int = -1) -> Tensor:
    """Differences of neighbours along an axis, n times."""
    at = check_axis("diff", axis, x.ndim)
    before = (slice(None),) * at
    for _ in range(n):
        x = sub(getitem(x, (*before, slice(1, None))), getitem(x, (*before, slice(0, -1))))
    return x


def trapz(y: Tensor, x: Tensor | None = None, *, dx: float = 1.0, dim: int = -1) -> Tensor:
    """The integral over an axis by the trapezoidal rule, at distances dx or places x."""
    at = check_axis("trapz", dim, y.ndim)
    before = (slice(None),) * at
    means = mul(add(getitem(y, (*before, slice(1, None))), getitem(y, (*before, slice(0, -1)))), 0.5)
    widths: Operand = dx if x is None else diff(x, 1, -1 if x.ndim == 1 and at == y.ndim - 1 else at)
    return reduce_sum(mul(means, widths), at)


def diagflat(input: Tensor, offset: int = 0) -> Tensor:
    """The flattened tensor on a diagonal of a matrix of zeros."""
    made = diag(reshape(input, (-1,)))
    pads = ((max(-offset, 0), max(offset, 0)), (max(offset, 0), max(-offset, 0)))
    return made if not offset else call("Pad", made, paddings=pads, value=0)


def sequence_mask(lengths: Tensor, maxlen: int | None = None) -> Tensor:
    """bool: along a new last axis, the places below each length. Without maxlen the lengths must be known."""
    if maxlen is None:
        from graphc.ops.functional.extra_index import known_values

        maxlen = int(np.max(known_values("sequence_mask", lengths)))
    return less(arange(0, maxlen, dtype=lengths.dtype), expand_dims(lengths, -1))


def reverse_sequence(x: Tensor, seq_lengths: Tensor, seq_dim: int, batch_dim: int = 0) -> Tensor:
    """The first seq_lengths[i] entries of axis seq_dim in reverse order, for each entry i of batch_dim."""
    moved = moveaxis(x, (batch_dim, seq_dim), (0, 1))
    size = moved.shape[1]
    lengths = expand_dims(cast(seq_lengths, "int32"), 1)
    places = arange(0, size, dtype="int32")
    index = select(less(places, lengths), sub(sub(lengths, 1), places), places)
    made = stack([gather(row, k, 0) for row, k in zip(unstack(moved), unstack(index), strict=True)])
    return moveaxis(made, (0, 1), (batch_dim, seq_dim))


def dense(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """x weight^T + bias."""
    y = matmul(input, weight, False, True)
    return y if bias is None else add(y, bias)


def swiglu(input: Tensor, dim: int = -1) -> Tensor:
    """silu(a) b of the halves a, b of an axis."""
    from graphc.ops.functional.activation import silu

    a, b = tensor_split(input, 2, dim)
    return mul(silu(a), b)


def rms_norm(x: Tensor, gamma: Tensor, epsilon: float = 1e-6) -> tuple[Tensor, Tensor]:
    """(x / sqrt(mean x^2 + epsilon) gamma, the factor) over the axes of gamma."""
    axes = tuple(range(x.ndim - gamma.ndim, x.ndim))
    factor = div(1.0, sqrt(add(reduce_mean(square(x), axes, True), epsilon)))
    return mul(mul(x, factor), gamma), factor


def mirror_pad(input_x: Tensor, paddings: Any, mode: str) -> Tensor:
    """x continued beyond its borders by its mirror image: SYMMETRIC repeats the border, REFLECT does not."""
    pads = np.asarray(paddings.asnumpy() if isinstance(paddings, Tensor) else paddings).tolist()
    for axis, pair in enumerate(pads):
        if any(pair):
            kind: Any = "symmetric" if mode == "SYMMETRIC" else "reflect"
            places = np.pad(np.arange(input_x.shape[axis], dtype=np.int32), pair, kind)
            input_x = gather(input_x, Tensor(places), axis)
    return input_x


def conv2d_transpose(
    dy: Tensor,
    weight: Tensor,
    shape: Sequence[int],
    pads: Sequence[int],
    stride: Sequence[int],
    dilation: Sequence[int],
) -> Tensor:
    """The gradient for the images of a convolution whose results have the gradient dy.

    The kernel has equal strides and dilations: others become zeros between the elements of dy and of the weight.
    """
    if dilation[0] != dilation[1]:
        weight, dilation = spread(weight, dilation[0], dilation[1]), (1, 1)
    if stride[0] != stride[1]:
        dy = spread(dy, stride[0], stride[1])
        reach = [d * (k - 1) + 1 for k, d in zip(weight.shape[2:], dilation, strict=True)]
        wanted = [n + sum(p) - r + 1 for n, p, r in zip(shape[2:], (pads[:2], pads[2:]), reach, strict=True)]
        ends = [(0, w - n) for w, n in zip(wanted, dy.shape[2:], strict=True)]
        dy, stride = pad(dy, [(0, 0), (0, 0), *ends]), (1, 1)
    attrs = {"pad": tuple(pads), "stride": tuple(stride), "dilation": tuple(dilation)}
    return call("Conv2DBackpropInput", dy, weight, shape=tuple(shape), **attrs)


def adaptive_avg_pool2d(input: Tensor, output_size: Any) -> Tensor:
    """Means of windows that divide [..., H, W] into `output_size` parts as equal as possible; None keeps a size."""
    sizes = (output_size, output_size) if isinstance(output_size, int) or output_size is None else tuple(output_size)
    for axis, wanted in zip((-2, -1), sizes, strict=True):
        size = input.shape[axis]
        if wanted is None or wanted == size:
            continue
        at = input.ndim + axis
        before = (slice(None),) * at
        bounds = [(i * size // wanted, -(-(i + 1) * size // wanted)) for i in range(wanted)]
        input = stack([reduce_mean(getitem(input, (*before, slice(a, b))), at) for a, b in bounds], at)
    return input


def resize_nearest_neighbor(input_x: Tensor, size: Sequence[int], align_corners: bool = False) -> Tensor:
    """[N, C, H, W] with another height and width: each pixel is the one at the same relative place."""
    for axis, wanted in zip((2, 3), size, strict=True):
        have = input_x.shape[axis]
        if align_corners and wanted > 1:
            places = np.floor(np.arange(wanted) * (have - 1) / (wanted - 1) + 0.5)
        else:
            places = np.floor(np.arange(wanted) * (have / wanted))
        input_x = gather(input_x, Tensor(np.minimum(places, have - 1).astype(np.int32)), axis)
    return input_x


def unsorted_segment_prod(input_x: Tensor, segment_ids: Tensor, num_segments: int) -> Tensor:
    """Products of the entries by segment; 1 for empty segments."""
    if input_x.shape[: segment_ids.ndim] != segment_ids.shape:
        raise ShapeError(
            f"segment_ids are {segment_ids.type}, which are no leading axes of {input_x.type}", loc=user_loc()
        )
    start = Tensor(np.ones((int(num_segments), *input_x.shape[segment_ids.ndim :]), input_x.type.numpy))
    return call("Scatter", start, segment_ids, input_x, axis=0, mode="mul")


def tensor_scatter_div(input_x: Tensor, indices: Any, updates: Tensor) -> Tensor:
    """x divided by `updates` at coordinates."""
    from graphc.ops.functional.extra_index import tensor_scatter_mul

    return tensor_scatter_mul(input_x, indices, div(1.0, updates))


def inplace_add(x: Tensor, v: Tensor, indices: Any) -> Tensor:
    """A copy of x with rows of v added at the indices."""
    return scattered("add", x, Tensor(np.atleast_1d(np.asarray(indices, np.int32))), v)


def inplace_sub(x: Tensor, v: Tensor, indices: Any) -> Tensor:
    """A copy of x with rows of v subtracted at the indices."""
    return scattered("sub", x, Tensor(np.atleast_1d(np.asarray(indices, np.int32))), v)


def inplace_update(x: Tensor, v: Tensor, indices: Any) -> Tensor:
    """A copy of x with rows of v at the indices."""
    return scattered("update", x, Tensor(np.atleast_1d(np.asarray(indices, np.int32))), v)


def shape_mul(shape: Sequence[int]) -> int:
    """The product of the sizes of a shape."""
    return math.prod(shape)


def logspace(start: float, end: float, steps: int, base: int = 10, *, dtype: Any = "float32") -> Tensor:
    """base to the power of `steps` numbers at equal distances."""
    return cast(Tensor(np.float32(base) ** np.linspace(start, end, steps).astype(np.float32)), dtype)


def tril_indices(row: int, col: int, offset: int = 0, *, dtype: Any = "int64") -> Tensor:
    """[2, count]: rows and columns on and below a diagonal."""
    return cast(Tensor(np.stack(np.tril_indices(row, offset, col))), dtype)


def triu_indices(row: int, col: int, offset: int = 0, *, dtype: Any = "int64") -> Tensor:
    """[2, count]: rows and columns on and above a diagonal."""
    return cast(Tensor(np.stack(np.triu_indices(row, offset, col))), dtype)


def reverse(x: Tensor, axis: Any) -> Tensor:
    """Axes in reverse order."""
    return flip(x, axis if isinstance(axis, int) else tuple(axis))


def interpolate(
    input: Tensor, size: Any = None, scale_factor: Any = None, mode: str = "nearest", align_corners: bool | None = None
) -> Tensor:
    """[N, C, H, W] with another height and width, by nearest neighbours. ArgumentValueError for another mode."""
    if mode != "nearest" or input.ndim != 4:
        raise ArgumentValueError(f"interpolate: mode {mode!r} of {input.type} is not supported", loc=user_loc())
    if size is None:
        factors = (scale_factor, scale_factor) if isinstance(scale_factor, (int, float)) else tuple(scale_factor)
        size = tuple(int(d * f) for d, f in zip(input.shape[2:], factors, strict=True))
    return resize_nearest_neighbor(input, (size, size) if isinstance(size, int) else size)


__all__ = [
    "adaptive_avg_pool2d", "conv2d_transpose", "cosine_similarity", "dense", "diagflat", "diff", "dsplit", "hsplit",
    "inplace_add", "inplace_sub", "inplace_update", "interpolate", "logspace", "mirror_pad", "msort",
    "resize_nearest_neighbor", "reverse", "reverse_sequence", "rms_norm", "sequence_mask", "shape_mul", "softmin", "swiglu",
    "tensor_scatter_div", "trapz", "tril_indices", "triu_indices", "unsorted_segment_prod", "vecdot", "vector_norm",
    "vsplit",
]  # fmt: skip
