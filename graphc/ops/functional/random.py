"""Random functions. Each draw reads a state, a Parameter of one int64, and moves it on by one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from graphc.errors import ArgumentTypeError, ArgumentValueError, user_loc
from graphc.ops.functional.core import Operand, call, cast, cast_to, real_only
from graphc.ops.functional.elementwise import (
    abs_,
    add,
    floor,
    floor_mod,
    less,
    log,
    maximum,
    minimum,
    mul,
    neg,
    sub,
)
from graphc.ops.functional.in_place import assign_add
from graphc.ops.functional.logic import select
from graphc.ops.functional.shapes import as_shape
from graphc.ops.functional.slicing import gather
from graphc.ops.functional.sorting import argsort
from graphc.ops.tensor.dtype import float32, int64, to_name
from graphc.ops.tensor.parameter import Parameter
from graphc.ops.tensor.seed import drawing, generator
from graphc.ops.tensor.tensor import Tensor
from graphc.validation.unused_arguments import only


def uniform_from(state: Parameter, shape: Sequence[int]) -> Tensor:
    """float32 numbers, uniform in [0, 1), of a state, which moves on."""
    return _drawn("RandomUniform", state, shape)


def next_key(state: Parameter) -> Tensor:
    """What the next numbers are made of; the state moves on. One draw at a time: threads get different ones."""
    with drawing:
        key = call("RandomKey", state)
        assign_add(state, 1)
    return key


def _drawn(op: str, state: Parameter, shape: Sequence[int]) -> Tensor:
    return call(op, next_key(state), shape=as_shape(shape))


def rand(*size: int, dtype: Any = None, seed: int | None = None) -> Tensor:
    """Numbers uniform in [0, 1), float32 or rounded to a dtype, of the global generator, or of that of a seed."""
    made = uniform_from(generator(seed), size)
    return made if dtype is None else cast(made, dtype)


def drop(x: Tensor, keep_prob: float, state: Parameter) -> Tensor:
    """x / keep_prob where a fresh random number is below keep_prob, else 0."""
    kept = less(uniform_from(state, x.shape), keep_prob)
    return select(kept, mul(x, 1.0 / keep_prob), 0.0)


def dropout(input: Tensor, p: float = 0.5, training: bool = True, seed: int | None = None) -> Tensor:
    """Zeros with probability p, the other elements divided by 1 - p; x itself unless `training`.

    (MindSpore: ops.dropout.)
    The mask comes of the global generator (`graphc.set_seed`), or of that of `seed`; forward and gradient share it.
    """
    real_only("dropout", input)
    if isinstance(p, bool) or not isinstance(p, (int, float)):
        raise ArgumentTypeError(f"dropout: p must be a number, got {type(p).__name__}", loc=user_loc())
    if not 0 <= p <= 1:
        raise ArgumentValueError(f"dropout: p must lie in [0, 1], got {p}", loc=user_loc())
    if not training or p == 0:
        return input.twin() if training else input.value()
    if p == 1:
        return mul(input, 0.0)
    return drop(input, 1.0 - p, generator(seed))


def _unit(shape: Sequence[Any], seed: int | None) -> Tensor:
    return uniform_from(generator(seed or None), as_shape(shape))


def uniform(
    shape: Sequence[int], minval: Operand, maxval: Operand, seed: int | None = None, dtype: Any = float32
) -> Tensor:
    """Numbers, uniform from minval up to maxval: floats, or integers below maxval for an integer dtype."""
    if to_name(dtype) in ("int32", "int64"):
        return randint(minval, maxval, tuple(shape), seed, dtype=dtype)
    return cast(add(mul(_unit(shape, seed), sub(maxval, minval)), minval), dtype)


def standard_normal(shape: Sequence[int], seed: int | None = None) -> Tensor:
    """Standard normal float32 numbers, by the inverse of the distribution."""
    return normal_from(generator(seed or None), as_shape(shape))


def normal_from(state: Parameter, shape: Sequence[int]) -> Tensor:
    """Standard normal float32 numbers of a state, which moves on."""
    return _drawn("RandomNormal", state, shape)


def normal(shape: Sequence[int], mean: Operand, stddev: Operand, seed: int | None = None) -> Tensor:
    """Normal float32 numbers of a mean and a standard deviation."""
    return add(mul(standard_normal(shape, seed), stddev), mean)


def randn(*size: int, dtype: Any = None, seed: int | None = None) -> Tensor:
    """Standard normal numbers; float32 by default."""
    return cast(standard_normal(as_shape(size), seed), "float32" if dtype is None else dtype)


def randn_like(input: Tensor, seed: int | None = None, dtype: Any = None) -> Tensor:
    """Standard normal numbers in the shape, and by default the dtype, of a tensor."""
    real_only("randn_like", input)
    return cast(standard_normal(input.shape, seed), input.dtype if dtype is None else dtype)


def rand_like(input: Tensor, seed: int | None = None, dtype: Any = None) -> Tensor:
    """Numbers, uniform in [0, 1), in the shape, and by default the dtype, of a tensor."""
    real_only("rand_like", input)
    return cast(_unit(input.shape, seed), input.dtype if dtype is None else dtype)


def randint(low: Operand, high: Operand, size: Sequence[int], seed: int | None = None, *, dtype: Any = None) -> Tensor:
    """Integers from low up to, but without, high; int64 by default."""
    name = to_name(dtype) if dtype is not None else "int64"
    if isinstance(low, int) and isinstance(high, int) and high - low > 1 << 24:
        return integers_from(generator(seed or None), tuple(size), low, high, name)
    if isinstance(low, int) and isinstance(high, int) and high <= low:
        raise ArgumentValueError(f"randint: there is no integer from {low} up to, but without, {high}", loc=user_loc())
    span = sub(high, low)
    steps = cast_to(floor(mul(_unit(tuple(size), seed), cast(span, "float32"))), "int64")
    return cast(add(minimum(steps, sub(cast(span, "int64"), 1)), cast(low, "int64")), name)


def integers_from(state: Parameter, shape: Sequence[int], low: int, high: int, dtype: str) -> Tensor:
    """Integers from low up to, but without, high, of 63 random bits; ArgumentValueError for bounds that are no range of int64."""
    span = high - low
    if not 0 < span <= 1 << 63 or not -(1 << 63) <= low < high <= 1 << 63:
        raise ArgumentValueError(
            f"random integers from {low} up to, but without, {high}: there are none, or too many", loc=user_loc()
        )
    bits: Operand = 0
    for width in (24, 24, 15):
        part = cast_to(floor(mul(uniform_from(state, shape), float(1 << width))), "int64")
        bits = add(mul(bits, 1 << width), part)
    return cast_to(add(bits if span == 1 << 63 else floor_mod(bits, span), low), dtype)


def randint_like(input: Tensor, low: Operand, high: Operand, seed: int | None = None, *, dtype: Any = None) -> Tensor:
    """Integers from low up to, but without, high, in the shape of a tensor."""
    real_only("randint_like", input)
    return randint(low, high, input.shape, seed, dtype=dtype)


def standard_laplace(shape: Sequence[int], seed: int | None = None) -> Tensor:
    """Laplace numbers of mean 0 and scale 1."""
    x = sub(_unit(shape, seed), 0.5)
    # The least number is -0.5 itself, which would be infinite.
    size = neg(log(maximum(sub(1.0, mul(abs_(x), 2.0)), 2.0**-24)))
    return select(less(x, 0.0), neg(size), size)


def bernoulli(input: Tensor, p: Operand = 0.5, seed: int | None = None) -> Tensor:
    """1 with probability p, else 0, in the shape and dtype of a tensor. ArgumentValueError for a number p outside [0, 1]."""
    if isinstance(p, (int, float)) and not 0 <= p <= 1:
        raise ArgumentValueError(f"bernoulli: p must lie in [0, 1], got {p}", loc=user_loc())
    real_only("bernoulli", input)
    return cast(less(_unit(input.shape, seed), p), input.dtype)


def randperm(n: int, seed: int | None = None, offset: int = 0, dtype: Any = int64) -> Tensor:
    """The integers below n in random order. ArgumentValueError GC112 for an offset: streams are told apart by seeds."""
    only("randperm", "offset", offset, 0)
    return cast(argsort(_unit((n,), seed)), dtype)


def shuffle(x: Tensor, seed: int | None = None) -> Tensor:
    """The entries of axis 0 in random order; a tensor without axes as it is."""
    return x.value() if not x.ndim else gather(x, randperm(x.shape[0], seed, dtype="int32"), 0)


__all__ = [
    "bernoulli",
    "drop",
    "dropout",
    "normal",
    "rand",
    "rand_like",
    "randint",
    "randint_like",
    "randn",
    "randn_like",
    "randperm",
    "shuffle",
    "standard_laplace",
    "standard_normal",
    "uniform",
    "uniform_from",
]
