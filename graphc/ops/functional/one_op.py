"""Functions that are one op each, made in a line: the function, the primitive of that name and the methods of Tensor."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Protocol

from graphc.errors import DTypeError, user_loc
from graphc.ir.op import get_op
from graphc.ops.functional.core import Operand, as_bool, as_float, call, pair
from graphc.ops.functional.renaming import renamed
from graphc.ops.tensor.methods import install
from graphc.ops.tensor.primitive import Primitive, declare
from graphc.ops.tensor.tensor import Tensor, as_tensor

#: The functions and primitives that were made.
MADE: list[Any] = []


class Unary(Protocol):
    """A function of one operand."""

    def __call__(self, input: Operand) -> Tensor: ...


class Binary(Protocol):
    """A function of two operands."""

    def __call__(self, input: Operand, other: Operand) -> Tensor: ...


# ---- how operands become what the op takes


def floats(op: str, x: Operand) -> Tensor:
    """x as it is. DTypeError unless it is a float tensor, or a complex one, which not every op takes."""
    tensor = as_tensor(x, f"{op}: x")
    if not tensor.tensor_type.is_inexact:
        raise DTypeError(
            f"{op}: x is {tensor.tensor_type}, expected a float tensor",
            loc=user_loc(),
            help="ops.cast(x, graphc.float32)",
        )
    return tensor


def numbers(op: str, x: Operand) -> Tensor:
    """x as it is, of any dtype."""
    return as_tensor(x, f"{op}: x")


def promoted(op: str, x: Operand) -> Tensor:
    """x as it is if it is a float tensor, else in float32."""
    return as_float(x)


def truth(op: str, x: Operand) -> Tensor:
    """x as bool."""
    return as_bool(x)


def pair_of_truths(op: str, x: Operand, y: Operand) -> tuple[Tensor, Tensor]:
    """Both as bool."""
    return as_bool(x), as_bool(y)


def pair_of_floats(op: str, x: Operand, y: Operand) -> tuple[Tensor, Tensor]:
    """Both of the dtype in which MindSpore computes them, in float32 if that is none of floats."""
    a, b = pair(op, x, y)
    return as_float(a), as_float(b)


def pair_or_bools(op: str, x: Operand, y: Operand) -> tuple[Tensor, Tensor]:
    """Both as they are if they are bool, else of the dtype in which MindSpore computes them."""
    a, b = as_tensor(x), as_tensor(y)
    return (a, b) if a.tensor_type.dtype == b.tensor_type.dtype == "bool" else pair(op, x, y)


def pair_of_any(op: str, x: Operand, y: Operand) -> tuple[Tensor, Tensor]:
    """As `pair_or_bools`, and a tensor of bools beside a Python bool is one of two."""
    if isinstance(x, Tensor) and isinstance(y, float):
        return pair(op, x, y)
    a, b = as_tensor(x, f"{op}: x"), as_tensor(y, f"{op}: y")
    return (a, b) if a.tensor_type.dtype == b.tensor_type.dtype == "bool" else pair(op, x, y)


# ---- functions, primitives, methods


def unary(
    op: str,
    prepare: Callable[[str, Operand], Tensor] = floats,
    *,
    primitive: str = "",
    methods: str | None = None,
    parameter: str = "input",
) -> tuple[Unary, type[Primitive]]:
    """The function of one operand that is this op, and the primitive that is this function.

    prepare     how the operand becomes what the op takes
    primitive   the primitive's name, if it is not the op's
    methods     names of the methods of Tensor: by default the function's; "" for none
    parameter   what MindSpore calls the operand
    """

    def function(input: Operand) -> Tensor:
        return call(op, prepare(op, input))

    made = function if parameter == "input" else renamed("", function, parameter)
    return made, _named(op, made, primitive, methods)


def binary(
    op: str,
    prepare: Callable[[str, Operand, Operand], tuple[Tensor, Tensor]] = pair,
    *,
    primitive: str = "",
    methods: str | None = None,
    parameters: str = "input other",
) -> tuple[Binary, type[Primitive]]:
    """The function of two operands that is this op, broadcast, and the primitive that is this function; see `unary`."""

    def function(input: Operand, other: Operand) -> Tensor:
        return call(op, *prepare(op, input, other))

    made = function if parameters == "input other" else renamed("", function, *parameters.split())
    return made, _named(op, made, primitive, methods)


def _named(op: str, function: Any, primitive: str, methods: str | None) -> type[Primitive]:
    names = [re.sub(r"(?<=[a-z])(?=[A-Z])", "_", op).lower()] if methods is None else methods.split()
    function.__name__ = function.__qualname__ = names[0] if names else op.lower()
    function.__doc__ = f"Elementwise: {get_op(op).doc}."
    for name in names:
        install(name, function)
    made: type[Primitive] = declare(primitive or op, function)
    MADE.extend((function, made))
    return made
