"""Methods of Tensor that mean something else than the function of their name, or have none."""

from __future__ import annotations

import math
from typing import Any

from graphc.errors import ArgumentTypeError, ShapeError, user_loc
from graphc.ops.declared.rules import broadcast_shapes
from graphc.ops.functional.arithmetic import div, float_power, floor_div, round_
from graphc.ops.functional.clipping import clamp
from graphc.ops.functional.core import Extents, Ints, Operand, Shape, cast, cast_to
from graphc.ops.functional.create import full, full_like, ones, zeros
from graphc.ops.functional.diagonals import diagonal
from graphc.ops.functional.elements import gather_elements
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
    mul,
    neg,
    not_equal,
    pow_,
    sub,
)
from graphc.ops.functional.in_place import assign
from graphc.ops.functional.index import index_, set_item, updated, write
from graphc.ops.functional.integers import bitwise_and, bitwise_left_shift, bitwise_or, bitwise_right_shift, bitwise_xor
from graphc.ops.functional.joining import concat, stack
from graphc.ops.functional.logic import approximate_equal, select
from graphc.ops.functional.overloads import Overloads
from graphc.ops.functional.products import matmul
from graphc.ops.functional.reduce import sum_
from graphc.ops.functional.shapes import (
    as_shape,
    broadcast_to,
    expand,
    expand_dims,
    ravel,
    reshape,
    squeeze,
    swapaxes,
    transpose,
)
from graphc.ops.functional.slicing import getitem
from graphc.ops.functional.state import stop_gradient
from graphc.ops.functional.traced_numbers import item_of, list_of
from graphc.ops.tensor.autocast import marked
from graphc.ops.tensor.methods import install
from graphc.ops.tensor.operators import functions
from graphc.ops.tensor.tensor import Tensor
from graphc.validation.unused_arguments import only


class Methods(Overloads):
    """Given to Tensor, member by member."""

    @property
    def T(self: Any) -> Tensor:
        """The axes reversed."""
        return transpose(self)

    @property
    def mT(self: Any) -> Tensor:
        """The last two axes swapped."""
        return swapaxes(self, -1, -2)

    def trace(self: Any, offset: Any = 0, axis1: Any = 0, axis2: Any = 1, dtype: Any = None) -> Tensor:
        """The sum of a diagonal of two axes, in a dtype if given, else of integers in int64."""
        return sum_(diagonal(self, offset, axis1, axis2), -1, dtype=dtype)

    def diagonal(self: Any, offset: Any = 0, axis1: Any = 0, axis2: Any = 1) -> Tensor:
        """A diagonal of two axes, as a new last axis."""
        return diagonal(self, offset, axis1, axis2)

    def multiply(self: Any, value: Operand) -> Tensor:
        """The product with a tensor or number."""
        return mul(self, value)

    def approximate_equal(self: Any, other: Any, tolerance: Any = 1e-5) -> Tensor:
        """|this - other| < tolerance."""
        return approximate_equal(self, other, tolerance)

    def float_power(self: Any, other: Any) -> Tensor:
        """This to a power, in floats; see ops.float_power."""
        return float_power(self, other)

    def astype(self: Any, dtype: Any, copy: bool = True) -> Tensor:
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

    def reshape(self: Any, *sizes: Ints, shape: Extents = None) -> Tensor:
        """The same elements under another shape; one size may be -1."""
        return reshape(self, as_shape(sizes if shape is None else (shape,)))

    def view_as(self: Any, other: Tensor) -> Tensor:
        """The same elements under the shape of another tensor."""
        return reshape(self, other.shape)

    def reshape_as(self: Any, other: Tensor) -> Tensor:
        """The same elements under the shape of another tensor."""
        return reshape(self, other.shape)

    def resize(self: Any, *shape: Ints) -> Tensor:
        """Another shape: elements left out at the end, or zeros added."""
        wanted = as_shape(shape)
        flat, count = ravel(self), math.prod(wanted)
        kept = getitem(flat, slice(0, count))
        if count > flat.size:
            kept = concat((kept, zeros((count - flat.size,), self.dtype)))
        return reshape(kept, wanted)

    def expand(self: Any, *size: Ints) -> Tensor:
        """This tensor repeated to a shape; -1 keeps a size."""
        return expand(self, as_shape(size))

    def where(self: Any, condition: Any, y: Any) -> Tensor:
        """This where the condition holds, else y."""
        return select(condition, self, y)

    def fill(self: Any, value: Operand) -> Tensor:
        """One number in this shape and dtype."""
        return full_like(self, value)

    def new_zeros(self: Any, size: Shape, dtype: Any = None) -> Tensor:
        """Zeros of this dtype."""
        return zeros(size, self.dtype if dtype is None else dtype)

    def new_ones(self: Any, size: Shape, dtype: Any = None) -> Tensor:
        """Ones of this dtype."""
        return ones(size, self.dtype if dtype is None else dtype)

    def copy(self: Any) -> Tensor:
        """A copy."""
        made: Tensor = self.twin()
        return made

    clone = copy

    def contiguous(self: Any) -> Tensor:
        """The tensor itself where its elements lie in order, else a copy."""
        return reshape(self if self.is_contiguous() else reshape(self, (-1,)), self.shape)

    def choose(self: Any, choices: Any, mode: str = "clip") -> Tensor:
        """For each element that of the choices whose number it is; all are broadcast. mode "clip", or "wrap"."""
        only("choose", "mode", mode, "clip", "wrap")
        given = [x if isinstance(x, Tensor) else Tensor(x) for x in choices]
        shape = broadcast_shapes("choose", self.shape, *(x.shape for x in given))
        stacked = stack([broadcast_to(x, shape) for x in given])
        number, count = broadcast_to(cast(self, "int32"), shape), stacked.shape[0]
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

    def assign_value(self: Any, value: Tensor) -> Any:
        """This tensor, holding the values of another of its shape and dtype: a tensor keeps its memory."""
        if value.tensor_type != self.tensor_type:
            raise ShapeError(
                f"assign_value: the tensor is {self.tensor_type}, the value {value.tensor_type}",
                loc=user_loc(),
                help="make a new tensor of it, or cast it first",
            )
        write(self, ..., value)
        return self

    def new_full(self: Any, size: Shape, fill_value: Operand, dtype: Any = None) -> Tensor:
        """One number in a shape, in this dtype."""
        return full(size, fill_value, dtype=self.dtype if dtype is None else dtype)


for _name, _member in vars(Methods).items():
    if not _name.startswith("_"):
        install(_name, _member)


functions.update(
    abs_=abs_,
    add=add,
    assign=assign,
    bitwise_and=bitwise_and,
    bitwise_left_shift=bitwise_left_shift,
    bitwise_or=bitwise_or,
    bitwise_right_shift=bitwise_right_shift,
    bitwise_xor=bitwise_xor,
    cast_to=cast_to,
    div=div,
    equal=equal,
    floor_div=floor_div,
    floor_mod=floor_mod,
    greater=greater,
    greater_equal=greater_equal,
    index_=index_,
    item_of=item_of,
    less=less,
    less_equal=less_equal,
    list_of=list_of,
    logical_not=logical_not,
    matmul=marked(matmul),
    mul=mul,
    neg=neg,
    not_equal=not_equal,
    pow_=marked(pow_),
    round_=round_,
    set_item=set_item,
    stop_gradient=stop_gradient,
    sub=sub,
)
