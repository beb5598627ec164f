"""Functions of the bits of integers."""

from __future__ import annotations

from graphc.errors import DTypeError, user_loc
from graphc.ops.functional.core import Operand, call, pair
from graphc.ops.functional.math import (
    floor_div,
    logical_and,
    logical_not,
    logical_or,
    logical_xor,
    mul,
    pow_,
    sub,
)
from graphc.ops.tensor import Tensor, as_tensor


def _integers(op: str, x: Operand, y: Operand) -> tuple[Tensor, Tensor]:
    a, b = as_tensor(x), as_tensor(y)
    if a.type.dtype == b.type.dtype == "bool":
        return a, b
    a, b = pair(op, x, y)
    if a.type.is_float:
        raise DTypeError(f"{op}: operands are {a.type} and {b.type}, expected integers or bools", loc=user_loc())
    return a, b


def bitwise_and(input: Operand, other: Operand) -> Tensor:
    """The bits that both have; logical and of bools."""
    x, y = _integers("BitwiseAnd", input, other)
    return logical_and(x, y) if x.type.dtype == "bool" else call("BitwiseAnd", x, y)


def bitwise_or(input: Operand, other: Operand) -> Tensor:
    """The bits that either has; logical or of bools."""
    x, y = _integers("BitwiseOr", input, other)
    return logical_or(x, y) if x.type.dtype == "bool" else call("BitwiseOr", x, y)


def bitwise_xor(input: Operand, other: Operand) -> Tensor:
    """The bits that differ; exclusive or of bools."""
    x, y = _integers("BitwiseXor", input, other)
    return logical_xor(x, y) if x.type.dtype == "bool" else call("BitwiseXor", x, y)


def bitwise_not(input: Tensor) -> Tensor:
    """Every bit inverted; logical not of bools."""
    x = as_tensor(input)
    return logical_not(x) if x.type.dtype == "bool" else sub(-1, x)


def bitwise_left_shift(input: Operand, other: Operand) -> Tensor:
    """x 2^other of integers."""
    a, b = _integers("bitwise_left_shift", input, other)
    return mul(a, pow_(2, b))


def bitwise_right_shift(input: Operand, other: Operand) -> Tensor:
    """floor(x / 2^other) of integers."""
    a, b = _integers("bitwise_right_shift", input, other)
    return floor_div(a, pow_(2, b))


invert = bitwise_not

__all__ = [
    "bitwise_and",
    "bitwise_left_shift",
    "bitwise_not",
    "bitwise_or",
    "bitwise_right_shift",
    "bitwise_xor",
    "invert",
]
