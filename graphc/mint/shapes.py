"""Making, joining, cutting and reordering tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from graphc import ops
from graphc.errors import ArgumentTypeError, user_loc
from graphc.ops import eye, hstack, masked_select, ravel, t, tril, triu
from graphc.ops.functional.core import Axis, Ints, Number, Operand, Real, Shape
from graphc.ops.functional.index import added_at
from graphc.ops.functional.operand_checks import require_rank
from graphc.ops.functional.unique import unique_sorted
from graphc.ops.tensor.tensor import Tensor
from graphc.validation.unused_arguments import only

# ---- making


def arange(start: Real = 0, end: Real | None = None, step: Real = 1, *, dtype: Any = None) -> Tensor:
    """Numbers from start, step by step, below end; one argument alone is end. int64, or float32 if one of them is a float."""
    return ops.arange(start, end, step, dtype=dtype)


def linspace(start: Operand, end: Operand, steps: int, *, dtype: Any = None) -> Tensor:
    """`steps` numbers at equal distances from start to end, float32 by default."""
    return ops.linspace(start, end, steps, dtype="float32" if dtype is None else dtype)


def zeros(size: Shape, *, dtype: Any = None) -> Tensor:
    """Zeros in a shape, float32 by default."""
    return ops.zeros(size, "float32" if dtype is None else dtype)


def ones(size: Shape, *, dtype: Any = None) -> Tensor:
    """Ones in a shape, float32 by default."""
    return ops.ones(size, "float32" if dtype is None else dtype)


def full(size: Shape, fill_value: Operand, *, dtype: Any = None) -> Tensor:
    """One value in a shape."""
    return ops.full(size, fill_value, dtype=dtype)


def zeros_like(input: Tensor, *, dtype: Any = None) -> Tensor:
    """Zeros in the shape of a tensor."""
    return ops.zeros_like(input, dtype=dtype)


def ones_like(input: Tensor, *, dtype: Any = None) -> Tensor:
    """Ones in the shape of a tensor."""
    return ops.ones_like(input, dtype=dtype)


def full_like(input: Tensor, fill_value: Operand, *, dtype: Any = None) -> Tensor:
    """One value in the shape of a tensor."""
    return ops.full_like(input, fill_value, dtype=dtype)


def clone(input: Tensor) -> Tensor:
    """A copy, through which gradients pass."""
    return input.copy()


def empty(*size: Any, dtype: Any = None, device: Any = None) -> Tensor:
    """A tensor of a shape, whose contents nobody should rely on: zeros. device: None or "CPU"."""
    only("empty", "device", device, None, "CPU")
    given = size[0] if len(size) == 1 and isinstance(size[0], (tuple, list)) else size
    return zeros(tuple(given), dtype=dtype)


def empty_like(input: Tensor, *, dtype: Any = None, device: Any = None) -> Tensor:
    """`empty` in the shape of a tensor."""
    only("empty_like", "device", device, None, "CPU")
    return zeros_like(input, dtype=dtype)


# ---- joining and cutting


def cat(tensors: Any, dim: int = 0) -> Tensor:
    """Tensors joined along an axis."""
    return ops.concat(tensors, dim)


def concat(tensors: Any, dim: int = 0) -> Tensor:
    """Tensors joined along an axis."""
    return ops.concat(tensors, dim)


def stack(tensors: Any, dim: int = 0) -> Tensor:
    """Tensors joined along a new axis."""
    return ops.stack(tensors, dim)


def dstack(tensors: Any) -> Tensor:
    """Tensors joined along axis 2, with axes of length 1 where they have fewer."""
    return ops.dstack(tensors)


def item(input: Tensor) -> Any:
    """The only element as a Python number."""
    return input.item()


def trace(input: Tensor) -> Tensor:
    """The sum of the diagonal of a matrix; of integers in int64."""
    require_rank("trace", "input", input, 2)
    return ops.sum(ops.diagonal(input), -1)


def chunk(input: Tensor, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:
    """At most `chunks` parts along an axis, as equal as they can be, the last one smaller; as many of an empty one."""
    pieces: tuple[Tensor, ...] = ops.chunk(input, chunks, dim)
    return pieces if input.shape[dim] else pieces * chunks


def split(tensor: Tensor, split_size_or_sections: Ints, dim: int = 0) -> tuple[Tensor, ...]:
    """Parts of one size along an axis, the last one smaller, or of the sizes in a list."""
    return ops.split(tensor, split_size_or_sections, dim)


def unbind(input: Tensor, dim: int = 0) -> tuple[Tensor, ...]:
    """The slices along an axis."""
    parts: tuple[Tensor, ...] = ops.unbind(input, dim)
    return parts


def narrow(input: Tensor, dim: int, start: int | Tensor, length: int) -> Tensor:
    """`length` slices from `start` on along an axis."""
    return ops.narrow(input, dim, start, length)


def select(input: Tensor, dim: int, index: int | Tensor) -> Tensor:
    """Slice `index`, which may be a tensor of one element, along an axis, without the axis."""
    if isinstance(index, bool) or not isinstance(index, (int, Tensor)):
        raise ArgumentTypeError(f"select: index must be an int or a Tensor, got {type(index).__name__}", loc=user_loc())
    return ops.squeeze(ops.narrow(input, dim, index, 1), dim)


# ---- reordering


def flatten(input: Tensor, start_dim: int = 0, end_dim: int = -1) -> Tensor:
    """The axes from start_dim to end_dim as one."""
    return ops.flatten(input, start_dim=start_dim, end_dim=end_dim)


def reshape(input: Tensor, shape: Ints) -> Tensor:
    """The same elements in another shape; one length may be -1."""
    return ops.reshape(input, shape)


def broadcast_to(input: Tensor, shape: Sequence[int]) -> Tensor:
    """Repeated along new axes and those of length 1; -1 keeps a length."""
    return ops.broadcast_to(input, shape)


def permute(input: Tensor, dims: Ints) -> Tensor:
    """The axes in another order."""
    return ops.permute(input, dims)


def transpose(input: Tensor, dim0: int, dim1: int) -> Tensor:
    """Two axes exchanged."""
    return ops.swapaxes(input, dim0, dim1)


def swapaxes(input: Tensor, axis0: int, axis1: int) -> Tensor:
    """Two axes exchanged."""
    return ops.swapaxes(input, axis0, axis1)


def squeeze(input: Tensor, dim: Axis = None) -> Tensor:
    """Without axes of length 1: all, or those that are named; a named one that is longer stays."""
    if dim is None:
        return ops.squeeze(input)
    named = (dim,) if isinstance(dim, int) else tuple(dim)
    shorter = tuple(d for d in named if input.shape[d] == 1)
    return ops.squeeze(input, shorter) if shorter else input.value()


def unsqueeze(input: Tensor, dim: int) -> Tensor:
    """With a new axis of length 1."""
    return ops.unsqueeze(input, dim)


def flip(input: Tensor, dims: Ints) -> Tensor:
    """Backwards along axes."""
    return ops.flip(input, dims)


def roll(input: Tensor, shifts: Ints, dims: Ints | None = None) -> Tensor:
    """Moved along axes; what leaves at one end comes in at the other. Without axes as if there were only one."""
    return ops.roll(input, shifts, dims)


def tile(input: Tensor, dims: Sequence[int]) -> Tensor:
    """Repeated as a whole along each axis."""
    return ops.tile(input, dims)


def repeat_interleave(
    input: Tensor, repeats: Shape, dim: int | None = None, *, output_size: int | None = None
) -> Tensor:
    """Each element, or slice along an axis, repeated. output_size, the length that this gives, is checked."""
    made = ops.repeat_interleave(
        ops.reshape(input, (-1,)) if dim is None else input, repeats, 0 if dim is None else dim
    )
    if output_size is not None:
        only("repeat_interleave", "output_size", output_size, made.shape[0 if dim is None else dim])
    return made


def diag(input: Tensor, diagonal: int = 0) -> Tensor:
    """A square matrix with a vector on a diagonal; or that diagonal of a matrix."""
    require_rank("diag", "input", input, 1, 2)
    return ops.diagflat(input, diagonal) if input.ndim == 1 else ops.diagonal(input, diagonal)


def meshgrid(*tensors: Any, indexing: str | None = None) -> tuple[Tensor, ...]:
    """Vectors as grids: the first along axis 0 ("ij", the default), or along axis 1 ("xy")."""
    given = tensors[0] if len(tensors) == 1 and isinstance(tensors[0], (tuple, list)) else tensors
    return ops.meshgrid(*given, indexing=indexing or "ij")


# ---- by index


def gather(input: Tensor, dim: int, index: Tensor) -> Tensor:
    """The elements at the places along an axis that index says, in its shape."""
    return ops.gather_elements(input, dim, index)


def index_select(input: Tensor, dim: int, index: Tensor) -> Tensor:
    """The slices along an axis that index, a vector, names."""
    return ops.index_select(input, dim, index)


def index_add(input: Tensor, dim: int, index: Tensor, source: Tensor, *, alpha: Number = 1) -> Tensor:
    """input with alpha * source added to the slices along an axis that index, a vector, names; repeated ones add up."""
    return added_at(input, index, source if alpha == 1 else source * alpha, dim)


def scatter(input: Tensor, dim: int, index: Tensor, src: Any) -> Tensor:
    """input with src, or one number, written to the places along an axis that index says."""
    return ops.scatter(
        input, dim, index, src if isinstance(src, Tensor) else ops.full(index.shape, src, dtype=input.dtype)
    )


def scatter_add(input: Tensor, dim: int, index: Tensor, src: Tensor) -> Tensor:
    """input with src added to the places along an axis that index says; repeated ones add up."""
    return ops.tensor_scatter_elements(input, index, src, dim, "add")


def take(input: Tensor, index: Tensor) -> Tensor:
    """The elements at places counted over the whole tensor; from the end, if negative."""
    flat = ops.reshape(input, (-1,))
    return ops.gather(flat, ops.where(index < 0, index + flat.shape[0], index), 0)


def nonzero(input: Tensor, *, as_tuple: bool = False) -> Any:
    """int64 [n, rank]: the places of what is not zero; as_tuple: one vector per axis."""
    return ops.nonzero(input, as_tuple=as_tuple)


def searchsorted(
    sorted_sequence: Tensor,
    values: Any,
    *,
    out_int32: bool = False,
    right: bool = False,
    side: str | None = None,
    sorter: Tensor | None = None,
) -> Tensor:
    """Where values go so that a sequence, sorted along its last axis, stays sorted: before equal ones, or behind them (right)."""
    return ops.searchsorted(sorted_sequence, values, out_int32=out_int32, right=right, side=side, sorter=sorter)


def unique_consecutive(
    input: Tensor, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> Any:
    """Without neighbours that are equal to the one before; with places, and counts, if asked for."""
    return ops.unique_consecutive(input, return_inverse, return_counts, dim)


def unique(
    input: Tensor,
    sorted: bool = True,
    return_inverse: bool = False,
    return_counts: bool = False,
    dim: int | None = None,
) -> Any:
    """The distinct elements, or entries of an axis, in order; with the int64 place of each of the input's, and how many there
    were of it, if asked for. In order whatever sorted says; NaN differs from NaN. No gradient. Entries of an axis
    in eager calls only.
    """
    only("unique", "sorted", sorted, False, True)
    return ops.stop_gradient(unique_sorted(input, return_inverse, return_counts, dim, equal_nan=False))


# ---- sorting


def sort(input: Tensor, *, dim: int = -1, descending: bool = False, stable: bool = False) -> tuple[Tensor, Tensor]:
    """(values in order along an axis, int64 where they were). Equal ones keep their order, whatever stable says."""
    only("sort", "stable", stable, False, True)
    values, indices = ops.sort(input, dim, descending)
    return values, ops.cast(indices, "int64")


def argsort(input: Tensor, dim: int = -1, descending: bool = False, stable: bool = False) -> Tensor:
    """int64: the places of the elements in order along an axis. Equal ones keep their order, whatever stable says."""
    only("argsort", "stable", stable, False, True)
    return ops.cast(ops.argsort(input, dim, descending), "int64")


def topk(input: Tensor, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> tuple[Tensor, Tensor]:
    """(the k greatest, or least, along an axis, int64 where they are)."""
    values, indices = ops.topk(input, k, dim, largest, sorted)
    return values, ops.cast(indices, "int64")


__all__ = [
    "arange", "argsort", "broadcast_to", "cat", "chunk", "clone", "concat", "diag", "dstack", "empty", "empty_like",
    "eye", "flatten", "flip", "full", "full_like", "gather", "hstack", "index_add", "index_select",
    "item", "linspace", "masked_select",
    "meshgrid", "narrow", "nonzero", "ones", "ones_like", "permute", "ravel", "repeat_interleave", "reshape", "roll",
    "scatter", "scatter_add", "searchsorted", "select", "sort", "split", "squeeze", "stack", "swapaxes", "t", "take",
    "tile", "topk", "trace", "transpose", "tril", "triu", "unbind", "unique", "unique_consecutive", "unsqueeze", "zeros",
    "zeros_like",
]  # fmt: skip
