"""More functions that make and rearrange tensors."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from graphc.errors import ArgumentTypeError, ArgumentValueError, ShapeError, user_loc
from graphc.ops.dtype import DType, to_name
from graphc.ops.functional.core import Number, Operand, call, cast
from graphc.ops.functional.create import full
from graphc.ops.functional.math import add, equal, greater_equal, less_equal, select
from graphc.ops.functional.reduce import reduce_sum
from graphc.ops.functional.shape import (
    as_shape,
    broadcast_to,
    concat,
    expand_dims,
    getitem,
    reshape,
    transpose,
)
from graphc.ops.rules import normalize_axes
from graphc.ops.shape import check_axis
from graphc.ops.tensor import Tensor, as_tensor

# ---- making


def _number(x: Any) -> Any:
    if isinstance(x, Tensor):
        return x.item()
    return x.item() if isinstance(x, np.generic) else x


def arange(start: Any = 0, end: Any = None, step: Any = 1, *, dtype: Any = None) -> Tensor:
    """start, start + step, ... before end; int64, or float32 if a float is among them. The numbers are known when compiling."""
    first, last, by = (_number(v) for v in ((0, start, step) if end is None else (start, end, step)))
    if by == 0:
        raise ArgumentValueError("arange: step must not be 0", loc=user_loc())
    if dtype is None:
        dtype = "float32" if any(isinstance(v, float) for v in (first, last, by)) else "int64"
    return Tensor.wrap(np.arange(first, last, by).astype(to_name(dtype)))


def range_(start: Any, end: Any = None, step: Any = 1, maxlen: int = 1000000, *, dtype: Any = None) -> Tensor:
    """start, start + step, ... before end."""
    return arange(start, end, step, dtype=dtype)


def linspace(start: Any, end: Any, steps: int, *, dtype: Any = None) -> Tensor:
    """`steps` numbers at equal distances from start to end; float32 by default."""
    made = np.linspace(_number(start), _number(end), _number(steps))
    return Tensor.wrap(made.astype(to_name(dtype) if dtype is not None else "float32"))


def eye(n: int, m: int | None = None, dtype: Any = None) -> Tensor:
    """Ones on the diagonal of n rows and m columns; float32 by default."""
    return Tensor.wrap(np.eye(n, m, dtype=to_name(dtype) if dtype is not None else "float32"))


def full_like(input: Tensor, fill_value: Number, *, dtype: Any = None) -> Tensor:
    """One number in the shape, and by default the dtype, of a tensor."""
    return full(input.shape, fill_value, dtype=dtype if dtype is not None else input.dtype)


def fills(x: Tensor, value: Operand) -> Tensor:
    """One number in the shape and dtype of a tensor."""
    return broadcast_to(cast(value, x.dtype), x.shape)


def scalar_to_tensor(input_x: Number, dtype: Any = "float32") -> Tensor:
    """A number as a tensor without axes; float32 by default, also for integers."""
    return Tensor(input_x, dtype)


def tuple_to_array(input_x: Sequence[Number]) -> Tensor:
    """Numbers of one type as a vector: int32 or float32."""
    if len({type(x) for x in input_x}) != 1:
        raise ArgumentTypeError(f"tuple_to_array needs numbers of one type, got {input_x}", loc=user_loc())
    return Tensor(list(input_x), "int32" if isinstance(input_x[0], int) else "float32")


# ---- what a tensor is


def shape(input_x: Tensor) -> tuple[int, ...]:
    """The shape, a tuple of Python integers."""
    return as_tensor(input_x).shape


def rank(input_x: Tensor) -> int:
    """The number of axes."""
    return as_tensor(input_x).ndim


def numel(input: Tensor) -> int:
    """The number of elements."""
    return as_tensor(input).size


def dtype(input_x: Tensor) -> DType:
    """The dtype."""
    return as_tensor(input_x).dtype


def dyn_shape(input_x: Tensor) -> Tensor:
    """The shape as an int64 vector."""
    return Tensor(np.array(as_tensor(input_x).shape, np.int64))


def is_tensor(obj: Any) -> bool:
    """Whether it is a Tensor."""
    return isinstance(obj, Tensor)


def is_floating_point(input: Tensor) -> bool:
    """Whether the dtype is a float."""
    return input.type.is_float


# ---- moving axes


def permute(input: Tensor, *axis: Any) -> Tensor:
    """Axes in another order."""
    return transpose(input, *axis)


def moveaxis(x: Tensor, source: Any, destination: Any) -> Tensor:
    """Axes moved to other places; the others keep their order."""
    sources, targets = ((a,) if isinstance(a, int) else tuple(a) for a in (source, destination))
    if len(sources) != len(targets):
        raise ArgumentValueError(f"moveaxis: {len(sources)} axes cannot go to {len(targets)} places", loc=user_loc())
    given = [check_axis("moveaxis", a, x.ndim) for a in sources]
    wanted = dict(zip((check_axis("moveaxis", a, x.ndim) for a in targets), given, strict=True))
    rest = iter(i for i in range(x.ndim) if i not in given)
    perm = tuple(wanted[i] if i in wanted else next(rest) for i in range(x.ndim))
    return x if perm == tuple(range(x.ndim)) else transpose(x, perm)


def t(input: Tensor) -> Tensor:
    """A matrix transposed; less than two axes as they are."""
    if input.ndim > 2:
        raise ShapeError(f"t: {input.type} has more than two axes", loc=user_loc())
    return transpose(input) if input.ndim == 2 else input


def flip(input: Tensor, dims: Any) -> Tensor:
    """Axes in reverse order."""
    axes = normalize_axes("flip", (dims,) if isinstance(dims, int) else tuple(dims), input.ndim) if dims != () else ()
    return getitem(input, tuple(slice(None, None, -1) if i in axes else slice(None) for i in range(input.ndim)))


def fliplr(input: Tensor) -> Tensor:
    """Axis 1 in reverse order."""
    return flip(input, (1,))


def flipud(input: Tensor) -> Tensor:
    """Axis 0 in reverse order."""
    return flip(input, (0,))


def rot90(input: Tensor, k: int, dims: Sequence[int]) -> Tensor:
    """The plane of two axes rotated k times by 90 degrees, from the first axis towards the second."""
    a, b = dims
    if k % 4 == 2:
        return flip(input, (a, b))
    if k % 4 == 0:
        return input
    swapped = moveaxis(input, (a, b), (b, a))
    return flip(swapped, (a,)) if k % 4 == 1 else flip(swapped, (b,))


def roll(input: Tensor, shifts: Any, dims: Any = None) -> Tensor:
    """Elements moved along axes, those beyond the end coming in at the beginning; flattened without axes."""
    if dims is None:
        return reshape(roll(reshape(input, (-1,)), shifts, 0), input.shape)
    moves, axes = ((v,) if isinstance(v, int) else tuple(v) for v in (shifts, dims))
    for by, axis in zip(moves, axes, strict=True):
        at = check_axis("roll", axis, input.ndim)
        cut = -by % input.shape[at] if input.shape[at] else 0
        if cut:
            before = (slice(None),) * at
            input = concat((getitem(input, (*before, slice(cut, None))), getitem(input, (*before, slice(0, cut)))), at)
    return input


def ravel(input: Tensor) -> Tensor:
    """All elements as a vector."""
    return reshape(input, (-1,))


def narrow(input: Tensor, axis: int, start: int, length: int) -> Tensor:
    """`length` entries of an axis from `start`."""
    at = check_axis("narrow", axis, input.ndim)
    return getitem(input, (*(slice(None),) * at, slice(start, start + length)))


def select_at(input: Tensor, dim: int, index: int) -> Tensor:
    """One entry of an axis, which goes away."""
    return getitem(input, (*(slice(None),) * check_axis("select", dim, input.ndim), index))


def slice_(input_x: Tensor, begin: Sequence[int], size: Sequence[int]) -> Tensor:
    """`size` entries of each axis from `begin`; -1 takes what is left."""
    last = [b + n if n != -1 else d for b, n, d in zip(begin, size, input_x.shape, strict=True)]
    for b, e, d in zip(begin, last, input_x.shape, strict=True):
        if not 0 <= b <= e <= d:
            raise ArgumentValueError(f"slice: begin {begin} with size {size} leaves {input_x.type}", loc=user_loc())
    return getitem(input_x, tuple(slice(b, e) for b, e in zip(begin, last, strict=True)))


def strided_slice(
    input_x: Tensor,
    begin: Sequence[int],
    end: Sequence[int],
    strides: Sequence[int],
    begin_mask: int = 0,
    end_mask: int = 0,
    ellipsis_mask: int = 0,
    new_axis_mask: int = 0,
    shrink_axis_mask: int = 0,
) -> Tensor:
    """x[begin:end:strides]. Bit i of a mask says of axis i: no begin, no end, `...`, a new axis, an index that removes it."""
    items: list[Any] = []
    for i, (b, e, s) in enumerate(zip(begin, end, strides, strict=True)):
        if ellipsis_mask >> i & 1:
            items.append(Ellipsis)
        elif new_axis_mask >> i & 1:
            items.append(None)
        elif shrink_axis_mask >> i & 1:
            items.append(int(b))
        else:
            items.append(slice(None if begin_mask >> i & 1 else int(b), None if end_mask >> i & 1 else int(e), int(s)))
    return getitem(input_x, tuple(items))


# ---- joining and repeating


def unstack(input_x: Tensor, axis: int = 0) -> tuple[Tensor, ...]:
    """The entries of an axis as tensors of their own."""
    at = check_axis("unstack", axis, input_x.ndim)
    return tuple(select_at(input_x, at, i) for i in range(input_x.shape[at]))


def expand(input_x: Tensor, size: Any) -> Tensor:
    """x repeated to a shape; -1 keeps a size."""
    return broadcast_to(input_x, as_shape(size if isinstance(size, (tuple, list)) else (size,)))


def expand_as(input: Tensor, other: Tensor) -> Tensor:
    """x repeated to the shape of another tensor."""
    return broadcast_to(input, other.shape)


def repeat_elements(x: Tensor, rep: int, axis: int = 0) -> Tensor:
    """Every entry of an axis `rep` times in a row."""
    at = check_axis("repeat_elements", axis, x.ndim)
    spread = expand_dims(x, at + 1)
    spread = broadcast_to(spread, (*x.shape[: at + 1], rep, *x.shape[at + 1 :]))
    return reshape(spread, (*x.shape[:at], x.shape[at] * rep, *x.shape[at + 1 :]))


def repeat_interleave(input: Tensor, repeats: Any, axis: int | None = None) -> Tensor:
    """Every entry of an axis (of the flattened tensor by default) as often as `repeats` says: one number, or one each."""
    x = ravel(input) if axis is None else input
    at = check_axis("repeat_interleave", 0 if axis is None else axis, x.ndim)
    if isinstance(repeats, int):
        return repeat_elements(x, repeats, at)
    counts = [int(n) for n in (repeats.asnumpy() if isinstance(repeats, Tensor) else repeats)]
    if len(counts) == 1:
        return repeat_elements(x, counts[0], at)
    index = np.repeat(np.arange(x.shape[at]), counts).astype(np.int32)
    return call("Gather", x, Tensor.wrap(index), axis=at)


def meshgrid(*inputs: Any, indexing: str = "xy") -> tuple[Tensor, ...]:
    """Vectors as coordinates of a grid: with "ij" input k varies along axis k, with "xy" the first two are swapped."""
    vectors = tuple(inputs[0]) if len(inputs) == 1 and isinstance(inputs[0], (tuple, list)) else inputs
    order = list(range(len(vectors)))
    if indexing == "xy" and len(order) > 1:
        order[0], order[1] = 1, 0
    elif indexing not in ("xy", "ij"):
        raise ArgumentValueError(f"meshgrid: indexing must be 'xy' or 'ij', got {indexing!r}", loc=user_loc())
    sizes = tuple(vectors[k].size for k in order)
    made = []
    for k, v in enumerate(vectors):
        own = tuple(v.size if order[i] == k else 1 for i in range(len(order)))
        made.append(broadcast_to(reshape(v, own), sizes))
    return tuple(made)


def hstack(tensors: Sequence[Tensor]) -> Tensor:
    """Tensors side by side: along axis 1, vectors along axis 0."""
    made = [atleast_1d(x) for x in tensors]
    return concat(made, 0 if made[0].ndim == 1 else 1)


def vstack(inputs: Sequence[Tensor]) -> Tensor:
    """Tensors below each other, along axis 0; vectors as rows."""
    return concat([atleast_2d(x) for x in inputs], 0)


def dstack(inputs: Sequence[Tensor]) -> Tensor:
    """Tensors along axis 2."""
    return concat([atleast_3d(x) for x in inputs], 2)


def column_stack(tensors: Sequence[Tensor]) -> Tensor:
    """Vectors as the columns of a matrix; matrices side by side."""
    return concat([expand_dims(x, 1) if x.ndim == 1 else x for x in tensors], 1)


def atleast_1d(inputs: Any) -> Any:
    """With at least one axis."""
    if isinstance(inputs, (tuple, list)):
        return tuple(atleast_1d(x) for x in inputs)
    return inputs if inputs.ndim else reshape(inputs, (1,))


def atleast_2d(inputs: Any) -> Any:
    """With at least two axes, new ones in front."""
    if isinstance(inputs, (tuple, list)):
        return tuple(atleast_2d(x) for x in inputs)
    return inputs if inputs.ndim > 1 else reshape(inputs, (1, inputs.size))


def atleast_3d(inputs: Any) -> Any:
    """With at least three axes."""
    if isinstance(inputs, (tuple, list)):
        return tuple(atleast_3d(x) for x in inputs)
    if inputs.ndim < 2:
        return reshape(inputs, (1, inputs.size, 1))
    return expand_dims(inputs, 2) if inputs.ndim == 2 else inputs


def tensor_split(input: Tensor, indices_or_sections: Any, axis: int = 0) -> tuple[Tensor, ...]:
    """n pieces as equal as possible, the larger ones first, or pieces that end before the given places."""
    at = check_axis("tensor_split", axis, input.ndim)
    size = input.shape[at]
    if isinstance(indices_or_sections, int):
        count = indices_or_sections
        if count < 1:
            raise ArgumentValueError(
                f"tensor_split: the number of pieces must be positive, got {count}", loc=user_loc()
            )
        each, larger = divmod(size, count)
        ends = np.cumsum([each + 1] * larger + [each] * (count - larger)).tolist()[:-1]
    else:
        ends = list(indices_or_sections)
    before = (slice(None),) * at
    bounds = [0, *ends, size]
    return tuple(getitem(input, (*before, slice(a, b))) for a, b in itertools.pairwise(bounds))


# ---- matrices


def triangle(x: Tensor, diagonal: int, lower: bool) -> Tensor:
    """x with zeros above, or below, a diagonal of the last two axes."""
    rows = reshape(arange(0, x.shape[-2], dtype="int32"), (x.shape[-2], 1))
    columns = arange(0, x.shape[-1], dtype="int32")
    kept = (less_equal if lower else greater_equal)(columns, add(rows, diagonal))
    return select(kept, x, Tensor(0, x.dtype))


def tril(input: Tensor, diagonal: int = 0) -> Tensor:
    """Zeros above a diagonal."""
    return triangle(input, diagonal, True)


def triu(input: Tensor, diagonal: int = 0) -> Tensor:
    """Zeros below a diagonal."""
    return triangle(input, diagonal, False)


def diag(input: Tensor) -> Tensor:
    """A vector on the diagonal of a matrix of zeros, or the diagonal of a matrix."""
    if input.ndim == 1:
        hit = equal(reshape(arange(0, input.size, dtype="int32"), (-1, 1)), arange(0, input.size, dtype="int32"))
        return select(hit, input, Tensor(0, input.dtype))
    return diagonal(input)


def diagonal(input: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    """The diagonal of two axes, as a new last axis."""
    x = moveaxis(input, (dim1, dim2), (-2, -1))
    rows, columns = x.shape[-2:]
    count = max(0, min(rows, columns - offset) if offset >= 0 else min(rows + offset, columns))
    start = offset if offset >= 0 else -offset * columns
    flat = reshape(x, (*x.shape[:-2], rows * columns))
    places = Tensor.wrap((start + np.arange(count) * (columns + 1)).astype(np.int32))
    return call("Gather", flat, places, axis=flat.ndim - 1)


def trace(input: Tensor) -> Tensor:
    """The sum of the diagonal of a matrix."""
    return reduce_sum(diagonal(input), -1)


# ---- images


def depth_to_space(x: Tensor, block_size: int) -> Tensor:
    """Channels of [N, C, H, W] spread into blocks of pixels."""
    n, c, h, w = x.shape
    split = reshape(x, (n, block_size, block_size, c // block_size**2, h, w))
    return reshape(transpose(split, (0, 3, 4, 1, 5, 2)), (n, c // block_size**2, h * block_size, w * block_size))


def space_to_depth(x: Tensor, block_size: int) -> Tensor:
    """Blocks of pixels of [N, C, H, W] as channels."""
    n, c, h, w = x.shape
    split = reshape(x, (n, c, h // block_size, block_size, w // block_size, block_size))
    return reshape(transpose(split, (0, 3, 5, 1, 2, 4)), (n, c * block_size**2, h // block_size, w // block_size))


def pixel_shuffle(input: Tensor, upscale_factor: int) -> Tensor:
    """Channels of [..., C r r, H, W] spread into r x r pixels."""
    *lead, c, h, w = input.shape
    r, k = upscale_factor, len(lead)
    split = reshape(input, (*lead, c // r**2, r, r, h, w))
    moved = transpose(split, (*range(k), k, k + 3, k + 1, k + 4, k + 2))
    return reshape(moved, (*lead, c // r**2, h * r, w * r))


def pixel_unshuffle(input: Tensor, downscale_factor: int) -> Tensor:
    """r x r pixels of [..., C, H, W] as channels."""
    *lead, c, h, w = input.shape
    r, k = downscale_factor, len(lead)
    split = reshape(input, (*lead, c, h // r, r, w // r, r))
    moved = transpose(split, (*range(k), k, k + 2, k + 4, k + 1, k + 3))
    return reshape(moved, (*lead, c * r**2, h // r, w // r))


def sum_to_size(x: Tensor, *size: Any) -> Tensor:
    """x summed over the axes along which a shape would have to be repeated."""
    shape = as_shape(size)
    lead = x.ndim - len(shape)
    axes = (*range(lead), *(i + lead for i, d in enumerate(shape) if d == 1 and x.shape[i + lead] != 1))
    return reshape(reduce_sum(x, axes), shape) if axes else x


def same_shape(input: Tensor, other: Tensor) -> Tensor:
    """x under the shape of another tensor."""
    return reshape(input, other.shape)


movedim, unbind = moveaxis, unstack

__all__ = [
    "arange", "atleast_1d", "atleast_2d", "atleast_3d", "column_stack", "depth_to_space", "diag", "diagonal",
    "dstack", "dtype", "dyn_shape", "expand", "expand_as", "eye", "fills", "flip", "fliplr", "flipud", "full_like", "hstack",
    "is_floating_point", "is_tensor", "linspace", "meshgrid", "moveaxis", "movedim", "narrow", "numel", "permute",
    "pixel_shuffle", "pixel_unshuffle", "rank", "ravel", "repeat_elements", "repeat_interleave", "roll", "rot90",
    "scalar_to_tensor", "shape", "space_to_depth", "strided_slice", "sum_to_size", "t", "tensor_split", "trace", "tril", "triu",
    "tuple_to_array", "unbind", "unstack", "vstack",
]  # fmt: skip
