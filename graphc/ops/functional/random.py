"""Random functions. Each draw reads a state, a Parameter of one int64, and moves it on by one."""

from __future__ import annotations

from collections.abc import Sequence

from graphc.errors import ArgumentTypeError, ArgumentValueError, user_loc
from graphc.ops.functional.core import call
from graphc.ops.functional.math import less, mul, select
from graphc.ops.functional.shape import as_shape
from graphc.ops.functional.state import assign_add
from graphc.ops.seed import generator
from graphc.ops.tensor import Parameter, Tensor


def uniform_from(state: Parameter, shape: Sequence[int]) -> Tensor:
    """float32 numbers, uniform in [0, 1), of a state, which moves on."""
    key = call("RandomKey", state)
    assign_add(state, 1)
    return call("RandomUniform", key, shape=as_shape(shape))


def rand(*size: int, seed: int | None = None) -> Tensor:
    """float32 numbers, uniform in [0, 1), of the global generator, or of that of a seed."""
    return uniform_from(generator(seed), size)


def drop(x: Tensor, keep_prob: float, state: Parameter) -> Tensor:
    """x / keep_prob where a fresh random number is below keep_prob, else 0."""
    kept = less(uniform_from(state, x.shape), keep_prob)
    return select(kept, mul(x, 1.0 / keep_prob), 0.0)


def dropout(input: Tensor, p: float = 0.5, training: bool = True, seed: int | None = None) -> Tensor:
    """Zeros with probability p, the other elements divided by 1 - p; x itself unless `training`.

    (MindSpore: ops.dropout.)
    The mask comes of the global generator (`graphc.set_seed`), or of that of `seed`; forward and gradient share it.
    """
    if isinstance(p, bool) or not isinstance(p, (int, float)):
        raise ArgumentTypeError(f"dropout: p must be a number, got {type(p).__name__}", loc=user_loc())
    if not 0 <= p <= 1:
        raise ArgumentValueError(f"dropout: p must lie in [0, 1], got {p}", loc=user_loc())
    if not training or p == 0:
        return input
    if p == 1:
        return mul(input, 0.0)
    return drop(input, 1.0 - p, generator(seed))


__all__ = ["drop", "dropout", "rand", "uniform_from"]
