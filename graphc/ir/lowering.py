"""What lowering rules of ops are written against: operands, the expression builder `e` and the call builder `k`.

`graphc.lower` has the classes behind the two Protocols; a rule knows no more of the compiler than stands here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Concatenate, NamedTuple, NewType, Protocol

from graphc.ir.types import Array, TensorType

#: A scalar value while an expression is built: the position of the instruction that makes it.
Handle = NewType("Handle", int)


class ExpressionBuilder(Protocol):
    """`e`: each method adds one scalar instruction and gives its value.

    That has the dtype of the first operand, if nothing else is said.
    """

    def dtype(self, x: Handle) -> str: ...

    def number(self, value: float, dtype: str) -> Handle:
        """A constant of a dtype."""
        ...

    def constant(self, value: float, like: Handle) -> Handle:
        """A constant of the dtype of another value."""
        ...

    def iota(self, axis: int, like: Handle) -> Handle:
        """The index along an axis of the loop, in the dtype of another value."""
        ...

    # ---- arithmetic

    def apply(self, op: str, *args: Handle) -> Handle:
        """Any operation of the code generator's table by name. The methods below are names for some of them."""
        ...

    def add(self, x: Handle, y: Handle) -> Handle: ...
    def sub(self, x: Handle, y: Handle) -> Handle: ...
    def mul(self, x: Handle, y: Handle) -> Handle: ...
    def div(self, x: Handle, y: Handle) -> Handle: ...
    def floordiv(self, x: Handle, y: Handle) -> Handle: ...
    def mod(self, x: Handle, y: Handle) -> Handle: ...
    def pow(self, x: Handle, y: Handle) -> Handle: ...
    def max(self, x: Handle, y: Handle) -> Handle: ...
    def min(self, x: Handle, y: Handle) -> Handle: ...
    def neg(self, x: Handle) -> Handle: ...
    def abs(self, x: Handle) -> Handle: ...
    def sign(self, x: Handle) -> Handle: ...
    def exp(self, x: Handle) -> Handle: ...
    def log(self, x: Handle) -> Handle: ...
    def sqrt(self, x: Handle) -> Handle: ...
    def rsqrt(self, x: Handle) -> Handle: ...
    def tanh(self, x: Handle) -> Handle: ...
    def sigmoid(self, x: Handle) -> Handle: ...
    def erf(self, x: Handle) -> Handle: ...
    def sin(self, x: Handle) -> Handle: ...
    def cos(self, x: Handle) -> Handle: ...
    def floor(self, x: Handle) -> Handle: ...

    def round(self, x: Handle) -> Handle:
        """To the nearest integer, halves to the even one."""
        ...

    # ---- bits of integers

    def xor(self, x: Handle, y: Handle) -> Handle: ...
    def bit_and(self, x: Handle, y: Handle) -> Handle: ...
    def bit_or(self, x: Handle, y: Handle) -> Handle: ...

    def shift_right(self, x: Handle, bits: int) -> Handle:
        """x shifted right, zeros coming in."""
        ...

    # ---- comparison (the result is a bool) and choice

    def isfinite(self, x: Handle) -> Handle: ...
    def eq(self, x: Handle, y: Handle) -> Handle: ...
    def ne(self, x: Handle, y: Handle) -> Handle: ...
    def lt(self, x: Handle, y: Handle) -> Handle: ...
    def le(self, x: Handle, y: Handle) -> Handle: ...
    def gt(self, x: Handle, y: Handle) -> Handle: ...
    def ge(self, x: Handle, y: Handle) -> Handle: ...
    def logical_and(self, x: Handle, y: Handle) -> Handle: ...
    def logical_or(self, x: Handle, y: Handle) -> Handle: ...
    def logical_not(self, x: Handle) -> Handle: ...

    def select(self, condition: Handle, x: Handle, y: Handle) -> Handle:
        """x where the bool `condition` holds, else y."""
        ...

    def cast(self, x: Handle, dtype: str) -> Handle: ...


#: Scalar rules by their number of operands, and those that take none, or the op's attributes, too.
Unary = Callable[[ExpressionBuilder, Handle], Handle]
Binary = Callable[[ExpressionBuilder, Handle, Handle], Handle]
Ternary = Callable[[ExpressionBuilder, Handle, Handle, Handle], Handle]
WithAttributes = Callable[Concatenate[ExpressionBuilder, ...], Handle]
ScalarRule = Unary | Binary | Ternary | WithAttributes


class View(NamedTuple):
    """Elements `offset + sum(index * strides)` of a buffer of `size`. An axis of size 1 has stride 0."""

    size: int
    offset: int
    strides: tuple[int, ...]


class Operand(NamedTuple):
    """A buffer under the type that a node sees, which a reshape may have changed. Contiguous, unless it has a view.

    Only matrix products, attention and Concat get operands with a view.
    """

    buffer: int
    type: TensorType
    view: View | None = None

    @property
    def room(self) -> int:
        """How many elements its buffer has."""
        return self.type.size if self.view is None else self.view.size


class Walk(NamedTuple):
    """How a loop walks an operand: element `offset + sum(index * strides)` of its buffer, a stride for each axis of the loop."""

    operand: Operand
    offset: int
    strides: tuple[int, ...]


class Geometry(NamedTuple):
    """How a convolution walks its images: (top, bottom, left, right) rows and columns of zeros around them, steps (y, x).

    Channels are divided into `groups`, which see nothing of each other.
    """

    pad: tuple[int, int, int, int]
    stride: tuple[int, int]
    dilation: tuple[int, int]
    groups: int = 1


class CallBuilder(Protocol):
    """`k`: each method adds calls that write the operand it names last, or `outputs`."""

    def temp(self, type: TensorType) -> Operand:
        """Scratch memory."""
        ...

    def pairs(self, *operands: Operand) -> bool:
        """Whether all of these are bfloat16 in memory, and a product multiplies them as pairs."""
        ...

    def temp_like(self, source: Operand, shape: tuple[int, ...]) -> Operand:
        """Scratch memory of float32 for elements of a source that only move to where a product reads them: as they are in memory,
        if `pairs` says so of the source.
        """
        ...

    def table(self, array: Array) -> Operand:
        """A constant array, which must not change; a step has one of each."""
        ...

    def holds(self, whole: Operand, part: Operand) -> bool:
        """Whether an operand of a Concat was made where it belongs in the result."""
        ...

    def call(self, name: str, inputs: Sequence[Operand], outputs: Sequence[Operand], **params: Any) -> None:
        """A kernel of the code generator by name. Where an operand is empty, nothing is written or zeros are."""
        ...

    def custom(
        self,
        name: str,
        function: Callable[..., object],
        returns: bool,
        constants: tuple[Any, ...],
        inputs: Sequence[Operand],
        outputs: Sequence[Operand],
        python: int = 0,
    ) -> None:
        """A user's own function, of an op of this name; it returns its results, or writes into its last arguments.

        python: the number of one that is called back as plain Python.
        """
        ...

    def fill(self, target: Operand, value: float) -> None:
        """One number everywhere."""
        ...

    def elementwise(self, fn: ScalarRule, inputs: Sequence[Operand], target: Operand) -> None:
        """target = fn(e, *inputs), all of one shape."""
        ...

    def loop(
        self,
        fn: ScalarRule,
        inputs: Sequence[Walk],
        target: Walk,
        domain: Sequence[int],
        *,
        combine: str | None = None,
        axes: Sequence[int] = (),
    ) -> None:
        """target = fn(e, *inputs) at every index of the domain; "sum", "max" or "min" of it over `axes`, where target's
        strides are 0. A sum of nothing is zero.
        """
        ...

    def copy(
        self,
        source: Operand,
        target: Operand,
        domain: Sequence[int],
        source_offset: int,
        source_strides: Sequence[int],
        target_offset: int,
        target_strides: Sequence[int],
    ) -> None:
        """target[offset + index * strides] = source[...] for every index of the domain, in elements."""
        ...

    def duplicate(self, source: Operand, target: Operand) -> None:
        """Copy a whole buffer."""
        ...

    def convolve(self, x: Operand, weight: Operand, out: Operand, geometry: Geometry) -> None:
        """out [N, out, OH, OW] = the convolution of images x [N, in, H, W] with weight [out, in / groups, kh, kw]."""
        ...

    def convolve_input(self, dy: Operand, weight: Operand, dx: Operand, geometry: Geometry) -> None:
        """dx [N, in, H, W] = the gradient of such a convolution for its images, from that of its result."""
        ...

    def weight_gradient(self, dy: Operand, x: Operand, dw: Operand, geometry: Geometry) -> None:
        """dw [out, in, kh, kw] = the gradient of such a convolution for its weights, from that of its result."""
        ...
