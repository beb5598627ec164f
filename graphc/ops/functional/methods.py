"""Methods of Tensor that mean something else than the function of their name, or have none."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from graphc.arguments import only
from graphc.errors import ArgumentTypeError, user_loc
from graphc.ops.functional.arithmetic import div, float_power, floor_div
from graphc.ops.functional.clipping import clamp
from graphc.ops.functional.core import cast
from graphc.ops.functional.create import full, full_like, ones, zeros
from graphc.ops.functional.cumulative import cumsum
from graphc.ops.functional.diagonals import diagonal
from graphc.ops.functional.elementwise import (
    abs_,
    add,
    equal,
    floor_mod,
    greater,
    greater_equal,
    less,
    less_equal,
    logical_not,
    logical_or,
    mul,
    neg,
    not_equal,
    pow_,
    sub,
)
from graphc.ops.functional.extrema import amax, amin, arg_with_value, argmax, max_, min_
from graphc.ops.functional.index import gather_elements, index_, index_add, updated, write
from graphc.ops.functional.integers import bitwise_and, bitwise_or, bitwise_xor
from graphc.ops.functional.joining import concat, repeat_interleave, split, stack
from graphc.ops.functional.logic import approximate_equal, select
from graphc.ops.functional.products import matmul
from graphc.ops.functional.reduce import reduce_sum, sum_
from graphc.ops.functional.shapes import (
    as_shape,
    expand,
    expand_dims,
    flatten,
    ravel,
    reshape,
    squeeze,
    swapaxes,
    transpose,
)
from graphc.ops.functional.slicing import gather, getitem, select_at
from graphc.ops.functional.state import assign
from graphc.ops.tensor.methods import install
from graphc.ops.tensor.operators import functions
from graphc.ops.tensor.tensor import Tensor


def _extremum(
    both: Callable[..., Any],
    alone: Callable[..., Any],
    x: Tensor,
    dim: tuple[Any, ...],
    axis: Any,
    keep: bool,
    places: bool,
    more: dict[str, Any],
) -> Any:
    if dim:
        axis, keep = dim[0], dim[1] if len(dim) > 1 else keep
        places = places or isinstance(axis, int)
    return (both if places and axis is not None else alone)(x, axis, keep, **more)


def _with_places_last(x: Tensor, axis: int, keep_dims: bool, largest: bool) -> tuple[Tensor, Tensor]:
    places, values = arg_with_value(x, axis, keep_dims, largest)
    return values, cast(places, "int64")


class Methods:
    """Given to Tensor, member by member."""

    @property
    def T(self: Any) -> Tensor:
        """The axes reversed."""
        return transpose(self)

    @property
    def mT(self: Any) -> Tensor:
        """The last two axes swapped."""
        return swapaxes(self, -1, -2)

    def sum(self: Any, axis: Any = None, dtype: Any = None, keepdims: bool = False, initial: Any = None) -> Tensor:
        """The sum over axes plus `initial`, in a dtype if given, else of integers in int64. sum(axis, True) keeps the axes."""
        if isinstance(dtype, bool):
            dtype, keepdims = None, dtype
        made = sum_(self, axis, keepdims, dtype=dtype)
        return made if initial is None else add(made, initial)

    def trace(self: Any, offset: Any = 0, axis1: Any = 0, axis2: Any = 1, dtype: Any = None) -> Tensor:
        """The sum of a diagonal of two axes, in a dtype if given."""
        chosen = diagonal(self, offset, axis1, axis2)
        return reduce_sum(chosen if dtype is None else cast(chosen, dtype), -1)

    def diagonal(self: Any, offset: Any = 0, axis1: Any = 0, axis2: Any = 1) -> Tensor:
        """A diagonal of two axes, as a new last axis."""
        return diagonal(self, offset, axis1, axis2)

    def multiply(self: Any, value: Any) -> Tensor:
        """The product with a tensor or number."""
        return mul(self, value)

    def approximate_equal(self: Any, other: Any, tolerance: Any = 1e-5) -> Tensor:
        """|this - other| < tolerance."""
        return approximate_equal(self, other, tolerance)

    def float_power(self: Any, other: Any) -> Tensor:
        """This to a power, in floats; see ops.float_power."""
        return float_power(self, other)

    def cumsum(self: Any, axis: int | None = None, dtype: Any = None) -> Tensor:
        """Sums up to each element along an axis, of the flattened tensor by default; of small integers in int32."""
        if dtype is None and self.tensor_type.dtype in ("bool", "int8", "int16", "uint8", "uint16"):
            dtype = "int32"
        return cumsum(self if axis is not None else ravel(self), axis or 0, dtype)

    def max(
        self: Any, *dim: Any, axis: Any = None, keepdims: bool = False, return_indices: bool = False, **more: Any
    ) -> Any:
        """The largest element over `axis`. max(1), with the axis by position, and return_indices add its places."""
        return _extremum(max_, amax, self, dim, axis, keepdims, return_indices, more)

    def min(
        self: Any, *dim: Any, axis: Any = None, keepdims: bool = False, return_indices: bool = False, **more: Any
    ) -> Any:
        """The smallest element over `axis`. min(1), with the axis by position, and return_indices add its places."""
        return _extremum(min_, amin, self, dim, axis, keepdims, return_indices, more)

    def argmax(self: Any, axis: Any = None, keepdims: bool = False) -> Tensor:
        """int64: the place of the first largest element along an axis, or in the flattened tensor."""
        return argmax(self, axis, keepdims)

    def argmax_with_value(self: Any, axis: int = 0, keep_dims: bool = False) -> tuple[Tensor, Tensor]:
        """(values, int64 places) of the largest elements along an axis; the primitive ArgMaxWithValue gives places first."""
        return _with_places_last(self, axis, keep_dims, True)

    def argmin_with_value(self: Any, axis: int = 0, keep_dims: bool = False) -> tuple[Tensor, Tensor]:
        """(values, int64 places) of the smallest elements along an axis."""
        return _with_places_last(self, axis, keep_dims, False)

    def astype(self: Any, dtype: Any, copy: bool = True) -> Tensor:
        """This tensor in another dtype."""
        return cast(self, dtype)

    def to(self: Any, dtype: Any) -> Tensor:
        """This tensor in another dtype."""
        return cast(self, dtype)

    def type(self: Any, dtype: Any = None) -> Any:
        """This tensor in `dtype`; without it the name of the dtype it has, such as "Float32"."""
        return str(self.dtype) if dtype is None else self.astype(dtype)

    def type_as(self: Any, other: Tensor) -> Tensor:
        """This tensor in the dtype of another."""
        return cast(self, other.dtype)

    def float(self: Any) -> Tensor:
        """This tensor in float32."""
        return cast(self, "float32")

    def half(self: Any) -> Tensor:
        """This tensor in float16."""
        return cast(self, "float16")

    def bfloat16(self: Any) -> Tensor:
        """This tensor in bfloat16."""
        return cast(self, "bfloat16")

    def int(self: Any) -> Tensor:
        """This tensor in int32."""
        return cast(self, "int32")

    def long(self: Any) -> Tensor:
        """This tensor in int64."""
        return cast(self, "int64")

    def bool(self: Any) -> Tensor:
        """This tensor in bool."""
        return cast(self, "bool")

    def double(self: Any) -> Tensor:
        """This tensor in float64, which compiled steps do not know."""
        return cast(self, "float64")

    def reshape(self: Any, *shape: Any) -> Tensor:
        """The same elements under another shape; one size may be -1."""
        return reshape(self, as_shape(shape))

    def view(self: Any, *shape: Any) -> Tensor:
        """The same elements under another shape; one size may be -1."""
        return reshape(self, as_shape(shape))

    def view_as(self: Any, other: Tensor) -> Tensor:
        """The same elements under the shape of another tensor."""
        return reshape(self, other.shape)

    def reshape_as(self: Any, other: Tensor) -> Tensor:
        """The same elements under the shape of another tensor."""
        return reshape(self, other.shape)

    def resize(self: Any, *shape: Any) -> Tensor:
        """Another shape: elements left out at the end, or zeros added."""
        wanted = as_shape(shape)
        flat, count = ravel(self), math.prod(wanted)
        kept = getitem(flat, slice(0, count))
        if count > flat.size:
            kept = concat((kept, zeros((count - flat.size,), self.dtype)))
        return reshape(kept, wanted)

    def transpose(self: Any, *perm: Any) -> Tensor:
        """Axes in another order; reversed by default."""
        return transpose(self, *perm)

    def permute(self: Any, *axis: Any) -> Tensor:
        """Axes in another order."""
        return transpose(self, *axis)

    def flatten(self: Any, order: str = "C", *, start_dim: Any = 0, end_dim: Any = -1) -> Tensor:
        """Axes from start_dim to end_dim as one; all by default."""
        return flatten(self, order, start_dim=start_dim, end_dim=end_dim)

    def expand(self: Any, *size: Any) -> Tensor:
        """This tensor repeated to a shape; -1 keeps a size."""
        return expand(self, as_shape(size))

    def repeat(self: Any, *repeats: Any, axis: Any = None) -> Tensor:
        """Every element (of an axis) as often as said, as NumPy's `repeat`."""
        count = repeats[0] if len(repeats) == 1 else list(repeats)
        return repeat_interleave(self, count, axis)

    def split(self: Any, split_size_or_sections: Any, axis: Any = 0) -> tuple[Tensor, ...]:
        """Pieces of a size, or of the given sizes, along an axis."""
        return split(self, split_size_or_sections, axis)

    def gather(self: Any, *args: Any, **kwargs: Any) -> Tensor:
        """gather(indices, axis): entries of an axis; gather(axis, index): elements at places along an axis."""
        if "dim" in kwargs or (args and not hasattr(args[0], "asnumpy")):
            return gather_elements(self, *args, **kwargs)
        return gather(self, *args, **kwargs)

    def select(self: Any, *args: Any) -> Tensor:
        """select(axis, index): one entry of an axis; select(condition, y): this where the condition holds, else y."""
        if len(args) == 2 and not hasattr(args[0], "asnumpy"):
            return select_at(self, *args)
        return select(args[0], self, *args[1:])

    def where(self: Any, condition: Any, y: Any) -> Tensor:
        """This where the condition holds, else y."""
        return select(condition, self, y)

    def index_add(self: Any, dim: Any, index: Any, source: Any, *, alpha: Any = 1) -> Tensor:
        """A copy with entries of `source`, times alpha, added to those of an axis."""
        return index_add(add(self, 0), index, source if alpha == 1 else mul(source, alpha), dim)

    def fill(self: Any, value: Any) -> Tensor:
        """One number in this shape and dtype."""
        return full_like(self, value)

    def new_zeros(self: Any, size: Any, dtype: Any = None) -> Tensor:
        """Zeros of this dtype."""
        return zeros(size, dtype or self.dtype)

    def new_ones(self: Any, size: Any, dtype: Any = None) -> Tensor:
        """Ones of this dtype."""
        return ones(size, dtype or self.dtype)

    def copy(self: Any) -> Tensor:
        """A copy."""
        return logical_or(self, False) if str(self.dtype) == "Bool" else add(self, 0)

    clone = contiguous = copy

    def choose(self: Any, choices: Any, mode: str = "clip") -> Tensor:
        """Of tensors of one shape, for each element the one whose number this tensor holds; mode "clip", or "wrap"."""
        only("choose", "mode", mode, "clip", "wrap")
        stacked = stack(list(choices))
        number, count = cast(self, "int32"), stacked.shape[0]
        index = floor_mod(number, count) if mode == "wrap" else clamp(number, 0, count - 1)
        return squeeze(gather_elements(stacked, 0, expand_dims(index, 0)), 0)

    def itemset(self: Any, *args: Any) -> Tensor:
        """A copy with one element replaced: itemset(index, value), with the index into the flattened tensor or a tuple."""
        if len(args) < 2:
            raise ArgumentTypeError("itemset takes an index and a value", loc=user_loc())
        index: Any = args[0] if len(args) == 2 else tuple(args[:-1])
        if isinstance(index, tuple) or self.ndim == 1:
            return updated(self, index, args[-1])
        return updated(self.reshape(-1), index, args[-1]).reshape(self.shape)

    def assign_value(self: Any, value: Any) -> Any:
        """This tensor, holding another's values."""
        write(self, ..., value)
        return self

    def new_full(self: Any, size: Any, fill_value: Any, dtype: Any = None) -> Tensor:
        """One number in a shape, in this dtype."""
        return full(size, fill_value, dtype=dtype or self.dtype)


for _name, _member in vars(Methods).items():
    if not _name.startswith("_"):
        install(_name, _member)


functions.update(
    abs_=abs_,
    add=add,
    assign=assign,
    bitwise_and=bitwise_and,
    bitwise_or=bitwise_or,
    bitwise_xor=bitwise_xor,
    div=div,
    equal=equal,
    floor_div=floor_div,
    floor_mod=floor_mod,
    greater=greater,
    greater_equal=greater_equal,
    index_=index_,
    less=less,
    less_equal=less_equal,
    logical_not=logical_not,
    matmul=matmul,
    mul=mul,
    neg=neg,
    not_equal=not_equal,
    pow_=pow_,
    sub=sub,
    write=write,
)
