"""Still further compositions: diagonals, blocks and windows of axes, gamma functions, searching, scattering into parts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from graphc.errors import ArgumentValueError, ShapeError, user_loc
from graphc.ops.functional.core import cast
from graphc.ops.functional.extra_index import gather_elements, updated
from graphc.ops.functional.extra_math import tan
from graphc.ops.functional.extra_shape import diagonal, moveaxis
from graphc.ops.functional.math import (
    abs_,
    add,
    div,
    exp,
    greater,
    less,
    less_equal,
    log,
    maximum,
    mul,
    pow_,
    select,
    sin,
    square,
    sub,
)
from graphc.ops.functional.network import matmul
from graphc.ops.functional.reduce import reduce_max, reduce_mean, reduce_sum
from graphc.ops.functional.shape import (
    broadcast_to,
    concat,
    cumsum,
    expand_dims,
    getitem,
    pad,
    reshape,
    stack,
    transpose,
)
from graphc.ops.functional.state import stop_gradient
from graphc.ops.shape import check_axis
from graphc.ops.tensor import Tensor


def ger(input: Tensor, vec2: Tensor) -> Tensor:
    """The outer product of two vectors."""
    return mul(expand_dims(input, 1), expand_dims(vec2, 0))


# ---- gamma functions

_SHIFT = 6


def lgamma(input: Tensor) -> Tensor:
    """log |gamma(x)|, by Stirling's series at x + 6; by reflection below 1/2."""
    low = less(input, 0.5)
    x = select(low, sub(1.0, input), input)
    product, z = x, add(x, float(_SHIFT))
    for k in range(1, _SHIFT):
        product = mul(product, add(x, float(k)))
    inverse = div(1.0, z)
    square_inverse = square(inverse)
    tail = mul(inverse, add(1 / 12, mul(square_inverse, sub(mul(square_inverse, 1 / 1260), 1 / 360))))
    value = add(sub(mul(sub(z, 0.5), log(z)), z), add(0.5 * math.log(2 * math.pi), tail))
    value = sub(value, log(product))
    safe = select(low, input, broadcast_to(Tensor(np.array(0.25, input.type.numpy)), input.shape))
    reflected = sub(math.log(math.pi), add(log(abs_(sin(mul(safe, math.pi)))), value))
    return select(low, reflected, value)


def digamma(input: Tensor) -> Tensor:
    """The derivative of log gamma(x), by its asymptotic series at x + 6; by reflection below 1/2."""
    low = less(input, 0.5)
    x = select(low, sub(1.0, input), input)
    z = add(x, float(_SHIFT))
    inverse = div(1.0, z)
    square_inverse = square(inverse)
    tail = mul(square_inverse, sub(1 / 12, mul(square_inverse, sub(1 / 120, mul(square_inverse, 1 / 252)))))
    value = sub(sub(log(z), mul(inverse, 0.5)), tail)
    for k in range(_SHIFT):
        value = sub(value, div(1.0, add(x, float(k))))
    safe = select(low, input, broadcast_to(Tensor(np.array(0.25, input.type.numpy)), input.shape))
    return select(low, sub(value, div(math.pi, tan(mul(safe, math.pi)))), value)


# ---- diagonals


def diag_embed(input: Tensor, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """The last axis as a diagonal of matrices over two new axes; the rest zeros."""
    n = input.shape[-1]
    size = n + abs(offset)
    before = (abs(offset) if offset < 0 else 0, offset if offset > 0 else 0)
    eye = Tensor(np.eye(n, dtype=input.type.numpy))
    square_ = mul(expand_dims(input, -1), eye)
    ends = [(0, 0)] * (input.ndim - 1) + [(b, size - n - b) for b in before]
    made = pad(square_, ends)
    rank = made.ndim
    return moveaxis(made, (-2, -1), (dim1 % rank, dim2 % rank))


def matrix_diag(x: Tensor) -> Tensor:
    """The last axis as the main diagonal of square matrices."""
    return diag_embed(x)


def matrix_diag_part(x: Tensor) -> Tensor:
    """The main diagonals of the last two axes."""
    return diagonal(x, 0, -2, -1)


def matrix_set_diag(x: Tensor, diagonal: Tensor) -> Tensor:
    """x with other main diagonals of its last two axes."""
    rows, columns = x.shape[-2:]
    mask = np.eye(rows, columns, dtype=bool)
    square_ = mul(expand_dims(diagonal, -1), Tensor(np.eye(diagonal.shape[-1], dtype=x.type.numpy)))
    ends = [(0, 0)] * (x.ndim - 2) + [(0, n - diagonal.shape[-1]) for n in (rows, columns)]
    return select(Tensor(np.broadcast_to(mask, x.shape).copy()), pad(square_, ends), x)


def block_diag(*inputs: Tensor) -> Tensor:
    """Matrices along the diagonal of a larger one, zeros elsewhere."""
    matrices = [reshape(x, (1,) * (2 - x.ndim) + x.shape) for x in inputs]
    columns = sum(m.shape[1] for m in matrices)
    rows, at = [], 0
    for m in matrices:
        rows.append(pad(m, [(0, 0), (at, columns - at - m.shape[1])]))
        at += m.shape[1]
    return concat(rows, 0)


# ---- parts of a tensor replaced


def select_scatter(input: Tensor, src: Tensor, axis: int, index: int) -> Tensor:
    """input with the entry `index` of an axis replaced."""
    at = check_axis("select_scatter", axis, input.ndim)
    i = index % input.shape[at]
    return slice_scatter(input, expand_dims(src, at), at, i, i + 1)


def slice_scatter(
    input: Tensor, src: Tensor, axis: int = 0, start: int | None = None, end: int | None = None, step: int = 1
) -> Tensor:
    """input with the entries start:end:step of an axis replaced."""
    at = check_axis("slice_scatter", axis, input.ndim)
    return updated(input, (*[slice(None)] * at, slice(start, end, step)), src)


# ---- blocks and windows


def space_to_batch_nd(input_x: Tensor, block_size: Any, paddings: Any) -> Tensor:
    """Blocks of the padded axes behind the second as entries of axis 0 (MindSpore: ops.space_to_batch_nd)."""
    blocks, n = _blocks(input_x, block_size)
    x = pad(input_x, [(0, 0)] * (input_x.ndim - len(blocks)) + [(int(a), int(b)) for a, b in paddings])
    lead, spatial = x.shape[:n], x.shape[n:]
    if any(s % b for s, b in zip(spatial, blocks, strict=True)):
        raise ShapeError(f"space_to_batch_nd: blocks {blocks} do not divide {spatial}", loc=user_loc())
    parts = tuple(d for s, b in zip(spatial, blocks, strict=True) for d in (s // b, b))
    x = reshape(x, (*lead, *parts))
    inner = [n + 2 * i + 1 for i in range(len(blocks))]
    outer = [n + 2 * i for i in range(len(blocks))]
    x = transpose(x, (*inner, *range(n), *outer))
    return reshape(x, (math.prod(blocks) * lead[0], *lead[1:], *parts[::2]))


def batch_to_space_nd(input_x: Tensor, block_shape: Any, crops: Any) -> Tensor:
    """The reverse of space_to_batch_nd; (before, after) elements of each axis are taken away at the end."""
    blocks, n = _blocks(input_x, block_shape)
    batch, lead, spatial = input_x.shape[0] // math.prod(blocks), input_x.shape[1:n], input_x.shape[n:]
    x = reshape(input_x, (*blocks, batch, *lead, *spatial))
    k = len(blocks)
    order = [*range(k, k + n)]
    for i in range(k):
        order += [k + n + i, i]
    sizes = tuple(s * b for s, b in zip(spatial, blocks, strict=True))
    x = reshape(transpose(x, tuple(order)), (batch, *lead, *sizes))
    cut = tuple(slice(int(a), s - int(b)) for (a, b), s in zip(crops, sizes, strict=True))
    return getitem(x, (*[slice(None)] * n, *cut))


def _blocks(x: Tensor, block: Any) -> tuple[tuple[int, ...], int]:
    """Sizes of a block, and how many axes stand before those that are divided."""
    blocks = tuple(block) if isinstance(block, (tuple, list)) else (block,) * (x.ndim - 2)
    if len(blocks) >= x.ndim or any(b < 1 for b in blocks):
        raise ArgumentValueError(f"blocks of {blocks} do not fit {x.type}", loc=user_loc())
    return blocks, x.ndim - len(blocks)


def _two(value: Any) -> tuple[int, int]:
    sizes = tuple(value) if isinstance(value, (tuple, list)) else (value, value)
    return (sizes[0], sizes[-1])


def unfold(input: Tensor, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> Tensor:
    """The windows of [N, C, H, W] as columns: [N, C kh kw, number of windows]."""
    (kh, kw), (dh, dw), (ph, pw), (sh, sw) = map(_two, (kernel_size, dilation, padding, stride))
    x = pad(input, [(0, 0), (0, 0), (ph, ph), (pw, pw)])
    n, c, h, w = x.shape
    oh, ow = (h - dh * (kh - 1) - 1) // sh + 1, (w - dw * (kw - 1) - 1) // sw + 1
    every = (slice(None), slice(None))
    parts = [
        getitem(
            x, (*every, slice(i * dh, i * dh + (oh - 1) * sh + 1, sh), slice(j * dw, j * dw + (ow - 1) * sw + 1, sw))
        )
        for i in range(kh)
        for j in range(kw)
    ]
    return reshape(stack(parts, 2), (n, c * kh * kw, oh * ow))


def fold(
    input: Tensor, output_size: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1
) -> Tensor:
    """Columns [N, C kh kw, number of windows] added up where their windows lie: [N, C, H, W]."""
    (kh, kw), (dh, dw), (ph, pw), (sh, sw) = map(_two, (kernel_size, dilation, padding, stride))
    height, width = _two(output_size)
    h, w = height + 2 * ph, width + 2 * pw
    oh, ow = (h - dh * (kh - 1) - 1) // sh + 1, (w - dw * (kw - 1) - 1) // sw + 1
    n, c = input.shape[0], input.shape[1] // (kh * kw)
    x = reshape(input, (n, c, kh, kw, oh, ow))
    total: Any = None
    for i in range(kh):
        for j in range(kw):
            part = _apart(_apart(getitem(x, (slice(None), slice(None), i, j)), 2, sh), 3, sw)
            rest = (h - i * dh - part.shape[2], w - j * dw - part.shape[3])
            part = pad(part, [(0, 0), (0, 0), (i * dh, rest[0]), (j * dw, rest[1])])
            total = part if total is None else add(total, part)
    return getitem(total, (slice(None), slice(None), slice(ph, ph + height), slice(pw, pw + width)))


def _apart(x: Tensor, axis: int, step: int) -> Tensor:
    """x with step - 1 zeros between the entries of an axis."""
    if step == 1:
        return x
    shape = x.shape
    spread = pad(expand_dims(x, axis + 1), [(0, step - 1) if i == axis + 1 else (0, 0) for i in range(x.ndim + 1)])
    joined = reshape(spread, (*shape[:axis], shape[axis] * step, *shape[axis + 1 :]))
    return getitem(joined, (*[slice(None)] * axis, slice(0, (shape[axis] - 1) * step + 1)))


def lrn(
    x: Tensor,
    depth_radius: int = 5,
    bias: float = 1.0,
    alpha: float = 1.0,
    beta: float = 0.5,
    norm_region: str = "ACROSS_CHANNELS",
) -> Tensor:
    """x / (bias + alpha sum of squares)^beta, the sum over depth_radius channels on either side (Krizhevsky et al., 2012)."""
    if norm_region != "ACROSS_CHANNELS":
        raise ArgumentValueError(f"lrn: norm_region must be 'ACROSS_CHANNELS', got {norm_region!r}", loc=user_loc())
    channels = x.shape[1]
    squares = pad(square(x), [(0, 0), (depth_radius, depth_radius), *[(0, 0)] * (x.ndim - 2)])
    total = getitem(squares, (slice(None), slice(0, channels)))
    for i in range(1, 2 * depth_radius + 1):
        total = add(total, getitem(squares, (slice(None), slice(i, i + channels))))
    return mul(x, pow_(add(mul(total, alpha), bias), -beta))


# ---- searching and sums


def searchsorted(
    sorted_sequence: Tensor,
    values: Tensor,
    *,
    out_int32: bool = False,
    right: bool = False,
    side: str | None = None,
    sorter: Tensor | None = None,
) -> Tensor:
    """How many elements along the last axis are less than each value (right: not greater)."""
    if sorter is not None:
        sorted_sequence = gather_elements(sorted_sequence, -1, sorter)
    strict = not (right or side == "right")
    if sorted_sequence.ndim == 1:
        table: Tensor = sorted_sequence
    else:
        table = expand_dims(sorted_sequence, -2)
    below = less(table, expand_dims(values, -1)) if strict else less_equal(table, expand_dims(values, -1))
    return cast(reduce_sum(cast(below, "int32"), -1), "int32" if out_int32 else "int64")


def bucketize(input: Tensor, boundaries: Sequence[float], *, right: bool = False) -> Tensor:
    """How many boundaries are less than each element (right: not greater): int32."""
    edges = Tensor(np.asarray(boundaries, np.float32))
    return searchsorted(edges, cast(input, "float32"), out_int32=True, right=right)


def logcumsumexp(input: Tensor, axis: int) -> Tensor:
    """log of the cumulative sum of exp(x) along an axis."""
    top = stop_gradient(reduce_max(input, axis, keep_dims=True))
    return add(log(cumsum(exp(sub(input, top)), axis)), top)


def dist(input: Tensor, other: Tensor, p: float = 2) -> Tensor:
    """The p-norm of input - other."""
    difference = abs_(sub(input, other))
    if p == math.inf:
        return reduce_max(difference)
    return pow_(reduce_sum(pow_(difference, p)), 1 / p)


def cov(input: Tensor, *, correction: int = 1, fweights: Any = None, aweights: Any = None) -> Tensor:
    """The covariances of the rows of a matrix, whose columns are observations with weights."""
    x = input if input.ndim == 2 else reshape(input, (1, -1))
    n = x.shape[1]
    weights: Any = None
    for given in (fweights, aweights):
        if given is not None:
            weights = cast(given, x.dtype) if weights is None else mul(weights, given)
    if weights is None:
        centred = sub(x, reduce_mean(x, 1, keep_dims=True))
        total: Any = float(n - correction)
        right = centred
    else:
        whole = reduce_sum(weights)
        centred = sub(x, div(reduce_sum(mul(x, weights), 1, keep_dims=True), whole))
        right = mul(centred, weights)
        spread = whole if aweights is None else div(reduce_sum(mul(weights, aweights)), whole)
        total = sub(whole, mul(spread, float(correction)))
    made = div(matmul(centred, right, False, True), total)
    return made if input.ndim == 2 else reshape(made, ())


def adaptive_avg_pool1d(input: Tensor, output_size: int) -> Tensor:
    """Means of windows that divide the last axis into output_size parts as equal as possible."""
    return adaptive(input, (output_size,), reduce_mean)


def adaptive_max_pool1d(input: Tensor, output_size: int) -> Tensor:
    """Maxima of windows that divide the last axis into output_size parts as equal as possible."""
    return adaptive(input, (output_size,), reduce_max)


def adaptive_max_pool2d(input: Tensor, output_size: Any) -> Tensor:
    """Maxima of windows that divide the last two axes into output_size parts as equal as possible."""
    return adaptive(input, _two(output_size), reduce_max)


def adaptive(x: Tensor, sizes: Sequence[int | None], reduce: Any) -> Tensor:
    """The last axes divided into parts as equal as possible, each part reduced; None keeps an axis."""
    for axis, wanted in enumerate(sizes, x.ndim - len(sizes)):
        size = x.shape[axis]
        if wanted is not None and wanted != size:
            before = (slice(None),) * axis
            bounds = [(i * size // wanted, -(-(i + 1) * size // wanted)) for i in range(wanted)]
            x = stack([reduce(getitem(x, (*before, slice(a, b))), axis) for a, b in bounds], axis)
    return x


def renorm(input: Tensor, p: float, axis: int, maxnorm: float) -> Tensor:
    """Each entry of an axis scaled down to the p-norm maxnorm if it is larger."""
    at = check_axis("renorm", axis, input.ndim)
    others = tuple(i for i in range(input.ndim) if i != at)
    norm = pow_(reduce_sum(pow_(abs_(input), p), others, keep_dims=True), 1 / p)
    scale = div(maxnorm, add(maximum(norm, maxnorm), 1e-7))
    return select(broadcast_to(greater(norm, maxnorm), input.shape), mul(input, scale), input)


def tail(sequence: Sequence[Any]) -> tuple[Any, ...]:
    """All items but the first."""
    return tuple(sequence[1:])


def zip_operation(*sequences: Any) -> tuple[Any, ...]:
    """The items of sequences in groups: the first of each, the second of each, ... up to the shortest."""
    return tuple(zip(*sequences, strict=False))


__all__ = [
    "adaptive_avg_pool1d", "adaptive_max_pool1d", "adaptive_max_pool2d", "batch_to_space_nd", "block_diag", "bucketize", "cov",
    "diag_embed", "digamma", "dist", "fold", "ger", "lgamma", "logcumsumexp", "lrn", "matrix_diag", "matrix_diag_part",
    "matrix_set_diag", "renorm", "searchsorted", "select_scatter", "slice_scatter", "space_to_batch_nd", "tail", "unfold",
    "zip_operation",
]  # fmt: skip
