"""Functions of integers: bits, shifts, common divisors."""

from __future__ import annotations

import numpy as np

from graphc.errors import DTypeError, user_loc
from graphc.ir.types import INTEGERS, UNSIGNED
from graphc.ops.functional.arithmetic import floor_div
from graphc.ops.functional.control import while_loop
from graphc.ops.functional.core import Operand, call, cast, cast_to, pair, real_only
from graphc.ops.functional.elementwise import (
    abs_,
    add,
    equal,
    floor_mod,
    greater,
    less,
    logical_and,
    logical_not,
    logical_or,
    logical_xor,
    maximum,
    mul,
    neg,
    pow_,
    sub,
)
from graphc.ops.functional.logic import select
from graphc.ops.functional.reduce import reduce_any
from graphc.ops.tensor.methods import method
from graphc.ops.tensor.tensor import Tensor, as_tensor


def _integers(op: str, x: Operand, y: Operand) -> tuple[Tensor, Tensor]:
    a, b = as_tensor(x), as_tensor(y)
    if a.tensor_type.dtype == b.tensor_type.dtype == "bool":
        return a, b
    a, b = pair(op, x, y)
    if a.tensor_type.dtype not in INTEGERS:
        raise DTypeError(
            f"{op}: operands are {a.tensor_type} and {b.tensor_type}, expected integers or bools", loc=user_loc()
        )
    return a, b


@method()
def bitwise_and(input: Operand, other: Operand) -> Tensor:
    """The bits that both have; logical and of bools."""
    x, y = _integers("BitwiseAnd", input, other)
    return logical_and(x, y) if x.tensor_type.dtype == "bool" else call("BitwiseAnd", x, y)


@method()
def bitwise_or(input: Operand, other: Operand) -> Tensor:
    """The bits that either has; logical or of bools."""
    x, y = _integers("BitwiseOr", input, other)
    return logical_or(x, y) if x.tensor_type.dtype == "bool" else call("BitwiseOr", x, y)


@method()
def bitwise_xor(input: Operand, other: Operand) -> Tensor:
    """The bits that differ; exclusive or of bools."""
    x, y = _integers("BitwiseXor", input, other)
    return logical_xor(x, y) if x.tensor_type.dtype == "bool" else call("BitwiseXor", x, y)


@method("bitwise_not", "invert")
def bitwise_not(input: Tensor) -> Tensor:
    """Every bit inverted; logical not of bools."""
    x = as_tensor(input)
    if x.tensor_type.dtype == "bool":
        return logical_not(x)
    if x.tensor_type.dtype not in INTEGERS:
        raise DTypeError(f"bitwise_not: input is {x.tensor_type}, expected integers or bools", loc=user_loc())
    return sub(int(np.iinfo(x.tensor_type.numpy).max) if x.tensor_type.dtype in UNSIGNED else -1, x)


@method()
def bitwise_left_shift(input: Operand, other: Operand) -> Tensor:
    """x 2^other of integers."""
    a, b = _integers("bitwise_left_shift", input, other)
    return mul(a, pow_(2, b))


@method()
def bitwise_right_shift(input: Operand, other: Operand) -> Tensor:
    """floor(x / 2^other) of integers."""
    a, b = _integers("bitwise_right_shift", input, other)
    moved = floor_div(a, pow_(2, b))
    if a.tensor_type.dtype in UNSIGNED:
        return moved
    # The power that is the sign's bit is negative.
    last = a.tensor_type.numpy.itemsize * 8 - 1
    return select(less(b, last), moved, neg(cast_to(less(a, 0), a.tensor_type.dtype)))


# ---- integers


@method()
def gcd(input: Tensor, other: Tensor) -> Tensor:
    """The greatest common divisor of integers, by Euclid's algorithm."""
    x, y = _integers("gcd", input, other)
    a, b = abs_(add(x, mul(y, 0))), abs_(add(y, mul(x, 0)))
    if not a.size:
        return a

    def step(a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
        done = equal(b, 0)
        return select(done, a, b), select(done, b, floor_mod(a, maximum(b, 1)))

    made: tuple[Tensor, Tensor] = while_loop(lambda _, b: reduce_any(greater(b, 0)), step, a, b)
    return made[0]


@method()
def lcm(input: Tensor, other: Tensor) -> Tensor:
    """The least common multiple of integers; 0 with a zero."""
    x, y = _integers("lcm", input, other)
    return mul(abs_(floor_div(x, maximum(gcd(x, y), 1))), abs_(y))


def population_count(input_x: Tensor) -> Tensor:
    """How many bits of each integer are set: uint8."""
    real_only("population_count", input_x)
    width = input_x.tensor_type.numpy.itemsize * 8
    wide = cast(input_x, "int64" if width == 64 else "int32")
    one = Tensor(np.ones((), wide.tensor_type.numpy))
    total = bitwise_and(wide, one)
    for k in range(1, width):
        shifted = bitwise_right_shift(wide, Tensor(np.full((), k, wide.tensor_type.numpy)))
        total = add(total, bitwise_and(shifted, one))
    return cast(total, "uint8")


__all__ = [
    "bitwise_and",
    "bitwise_left_shift",
    "bitwise_not",
    "bitwise_or",
    "bitwise_right_shift",
    "bitwise_xor",
    "gcd",
    "lcm",
    "population_count",
]
