"""Tensors filled with random numbers, in place or as new tensors of their shape.

In a compiled Cell the name stands for the new tensor, and a Parameter is assigned, as with every other method in place.
Numbers have 24 random bits, those of integers 63.
"""

from __future__ import annotations

import math
from typing import Any

from graphc.errors import ArgumentTypeError, ArgumentValueError, user_loc
from graphc.ops.functional.arithmetic import div
from graphc.ops.functional.core import Operand, cast, cast_to, real_only
from graphc.ops.functional.elementwise import add, exp, less, log, maximum, mul, neg, sub, tan
from graphc.ops.functional.index import write
from graphc.ops.functional.random import integers_from, normal_from, uniform_from
from graphc.ops.tensor.generator import stream
from graphc.ops.tensor.methods import method
from graphc.ops.tensor.tensor import Tensor

#: Up to which number all integers are numbers of a float dtype.
_WHOLE = {"float16": 1 << 11, "bfloat16": 1 << 8, "float32": 1 << 24, "float64": 1 << 53}
#: Bits of an integer dtype, without that of the sign; of uint64 as many as are drawn.
_BITS = {
    "bool": 1, "uint8": 8, "uint16": 16, "uint32": 32, "uint64": 63, "int8": 7, "int16": 15, "int32": 31, "int64": 63,
}  # fmt: skip


def _floats(owner: str, x: Tensor) -> None:
    if not x.tensor_type.is_float:
        raise ArgumentTypeError(f"{owner}: the tensor is {x.tensor_type}, expected floats", loc=user_loc())


def _held(x: Tensor, made: Tensor) -> Tensor:
    """x, holding other numbers."""
    write(x, ..., cast_to(made, x.tensor_type.dtype))
    return x


def _bounds(owner: str, low: Any, high: Any) -> None:
    known = [v for v in (low, high) if isinstance(v, (int, float))]
    if len(known) == 2 and not low <= high:
        raise ArgumentValueError(f"{owner}: from_ is {low}, which is more than to, {high}", loc=user_loc())


@method("uniform_")
def uniform_(input: Tensor, from_: Operand = 0, to: Operand = 1, *, generator: Any = None) -> Tensor:
    """The tensor, holding numbers uniform in [from_, to) (MindSpore: ops.uniform_).

    Of an integer dtype they are rounded towards zero. Raises ArgumentValueError for numbers in the wrong order.
    """
    _bounds("uniform_", from_, to)
    unit = uniform_from(stream("uniform_", generator), input.shape)
    return _held(input, add(mul(unit, sub(to, from_)), from_))


@method("normal_")
def normal_(input: Tensor, mean: Operand = 0, std: Operand = 1, *, generator: Any = None) -> Tensor:
    """The tensor, of floats, holding normal numbers of a mean and a standard deviation (MindSpore: ops.normal_)."""
    _floats("normal_", input)
    if isinstance(std, (int, float)) and not std >= 0:
        raise ArgumentValueError(f"normal_: std must not be negative, got {std}", loc=user_loc())
    return _held(input, add(mul(normal_from(stream("normal_", generator), input.shape), std), mean))


@method("random_")
def random_(input: Tensor, from_: int = 0, to: int | None = None, *, generator: Any = None) -> Tensor:
    """The tensor, holding integers from from_ up to, but without, `to` (MindSpore: ops.random_).

    to: by default one more than the largest number of an integer dtype, and one more than the number up to which a float dtype
    has all integers. Raises ArgumentTypeError for bounds that are no ints, ArgumentValueError if none lies between them.
    """
    real_only("random_", input)
    name = input.tensor_type.dtype
    for bound in (from_, *(() if to is None else (to,))):
        if isinstance(bound, bool) or not isinstance(bound, int):
            raise ArgumentTypeError(f"random_: bounds must be ints, got {type(bound).__name__}", loc=user_loc())
    end = to if to is not None else _WHOLE[name] + 1 if input.tensor_type.is_float else 1 << _BITS[name]
    limit = _WHOLE[name] + 1 if input.tensor_type.is_float else 1 << _BITS[name]
    if not -limit <= from_ < end <= limit:
        raise ArgumentValueError(f"random_: {name} has no range from {from_} to {end}", loc=user_loc())
    state = stream("random_", generator)
    return _held(input, integers_from(state, input.shape, from_, end, "int64"))


@method("exponential_")
def exponential_(input: Tensor, lambd: Operand = 1, *, generator: Any = None) -> Tensor:
    """The tensor, of floats, holding numbers of the density lambd exp(-lambd x) (MindSpore: ops.exponential_)."""
    _floats("exponential_", input)
    if isinstance(lambd, (int, float)) and not lambd > 0:
        raise ArgumentValueError(f"exponential_: lambd must be above 0, got {lambd}", loc=user_loc())
    return _held(input, div(_waits(stream("exponential_", generator), input), lambd))


def _waits(state: Any, x: Tensor) -> Tensor:
    """Exponential numbers of mean 1 in the shape of x."""
    return neg(log(sub(1.0, uniform_from(state, x.shape))))


@method("bernoulli_")
def bernoulli_(input: Tensor, p: Operand = 0.5, *, generator: Any = None) -> Tensor:
    """The tensor, holding 1 with probability p, else 0 (MindSpore: ops.bernoulli_). ArgumentValueError for a number p that
    is none.
    """
    if isinstance(p, (int, float)) and not 0 <= p <= 1:
        raise ArgumentValueError(f"bernoulli_: p must lie in [0, 1], got {p}", loc=user_loc())
    return _held(input, less(uniform_from(stream("bernoulli_", generator), input.shape), p))


@method("bernoulli")
def bernoulli_ext(input: Tensor, *, generator: Any = None) -> Tensor:
    """1 with the probability that each element is, else 0, in its dtype (MindSpore: ops.bernoulli_ext)."""
    _floats("bernoulli", input)
    return cast_to(less(uniform_from(stream("bernoulli", generator), input.shape), input), input.tensor_type.dtype)


# ---- new tensors


@method("uniform")
def uniform_like(input: Tensor, from_: Operand = 0.0, to: Operand = 1.0, generator: Any = None) -> Tensor:
    """Numbers uniform in [from_, to) in the shape and dtype of a tensor of floats (MindSpore: Tensor.uniform)."""
    _floats("uniform", input)
    _bounds("uniform", from_, to)
    unit = uniform_from(stream("uniform", generator), input.shape)
    return cast_to(add(mul(unit, sub(to, from_)), from_), input.tensor_type.dtype)


@method("log_normal")
def log_normal_like(input: Tensor, mean: float = 1.0, std: float = 2.0) -> Tensor:
    """exp of normal numbers, in the shape and dtype of a tensor of floats (MindSpore: Tensor.log_normal)."""
    _floats("log_normal", input)
    made = exp(add(mul(normal_from(stream("log_normal", None), input.shape), std), mean))
    return cast_to(made, input.tensor_type.dtype)


@method("cauchy")
def cauchy_like(input: Tensor, median: float = 0.0, sigma: float = 1.0) -> Tensor:
    """Cauchy numbers in the shape and dtype of a tensor (MindSpore: Tensor.cauchy)."""
    return cast(cauchy_numbers(input.shape, median, sigma), input.dtype)


def cauchy_numbers(shape: Any, median: float = 0.0, sigma: float = 1.0) -> Tensor:
    """float32 numbers of the density sigma / (pi ((x - median)^2 + sigma^2)), by the inverse of the distribution function."""
    if not isinstance(sigma, (int, float)) or not sigma > 0:
        raise ArgumentValueError(f"cauchy: sigma must be a number above 0, got {sigma!r}", loc=user_loc())
    unit = maximum(uniform_from(stream("cauchy", None), shape), 2.0**-25)
    return add(mul(tan(mul(sub(unit, 0.5), math.pi)), sigma), median)


__all__ = [
    "bernoulli_",
    "bernoulli_ext",
    "exponential_",
    "normal_",
    "random_",
    "uniform_",
]
