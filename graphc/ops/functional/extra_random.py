"""More random numbers, each drawn of the shared state or of that of a seed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from graphc.ops.dtype import to_name
from graphc.ops.functional.core import Operand, cast, cast_to
from graphc.ops.functional.extra_reduce import argsort
from graphc.ops.functional.math import abs_, add, cos, floor, less, log, minimum, mul, neg, select, sqrt, sub
from graphc.ops.functional.random import uniform_from
from graphc.ops.functional.shape import as_shape, gather
from graphc.ops.seed import generator
from graphc.ops.tensor import Tensor


def _unit(shape: Sequence[Any], seed: int | None) -> Tensor:
    return uniform_from(generator(seed or None), as_shape(shape))


def uniform(
    shape: Sequence[int], minval: Operand, maxval: Operand, seed: int | None = None, dtype: Any = "float32"
) -> Tensor:
    """Numbers, uniform from minval up to maxval: floats, or integers below maxval for an integer dtype."""
    if to_name(dtype) in ("int32", "int64"):
        return randint(minval, maxval, tuple(shape), seed, dtype=dtype)
    return cast(add(mul(_unit(shape, seed), sub(maxval, minval)), minval), dtype)


def standard_normal(shape: Sequence[int], seed: int | None = None) -> Tensor:
    """Standard normal float32 numbers (Box and Muller, 1958)."""
    first, second = _unit(shape, seed), _unit(shape, seed)
    return mul(sqrt(mul(log(sub(1.0, first)), -2.0)), cos(mul(second, 2 * math.pi)))


def normal(shape: Sequence[int], mean: Operand, stddev: Operand, seed: int | None = None) -> Tensor:
    """Normal float32 numbers of a mean and a standard deviation."""
    return add(mul(standard_normal(shape, seed), stddev), mean)


def randn(*size: int, dtype: Any = None, seed: int | None = None) -> Tensor:
    """Standard normal numbers; float32 by default."""
    return cast(standard_normal(as_shape(size), seed), dtype or "float32")


def randn_like(input: Tensor, seed: int | None = None, dtype: Any = None) -> Tensor:
    """Standard normal numbers in the shape, and by default the dtype, of a tensor."""
    return cast(standard_normal(input.shape, seed), dtype or input.dtype)


def rand_like(input: Tensor, seed: int | None = None, dtype: Any = None) -> Tensor:
    """Numbers, uniform in [0, 1), in the shape, and by default the dtype, of a tensor."""
    return cast(_unit(input.shape, seed), dtype or input.dtype)


def randint(low: Any, high: Any, size: Sequence[int], seed: int | None = None, *, dtype: Any = None) -> Tensor:
    """Integers from low up to, but without, high; int64 by default."""
    name = to_name(dtype) if dtype is not None else "int64"
    span = sub(high, low)
    steps = cast_to(floor(mul(_unit(tuple(size), seed), cast(span, "float32"))), name)
    return add(minimum(steps, sub(cast(span, name), 1)), cast(low, name))


def randint_like(input: Tensor, low: Any, high: Any, seed: int | None = None, *, dtype: Any = None) -> Tensor:
    """Integers from low up to, but without, high, in the shape of a tensor."""
    return randint(low, high, input.shape, seed, dtype=dtype)


def standard_laplace(shape: Sequence[int], seed: int | None = None) -> Tensor:
    """Laplace numbers of mean 0 and scale 1."""
    x = sub(_unit(shape, seed), 0.5)
    size = neg(log(sub(1.0, mul(abs_(x), 2.0))))
    return select(less(x, 0.0), neg(size), size)


def bernoulli(input: Tensor, p: Operand = 0.5, seed: int | None = None) -> Tensor:
    """1 with probability p, else 0, in the shape and dtype of a tensor."""
    return cast(less(_unit(input.shape, seed), p), input.dtype)


def randperm(n: int, seed: int | None = None, offset: int = 0, dtype: Any = "int64") -> Tensor:
    """The integers below n in random order."""
    return cast(argsort(_unit((n,), seed)), dtype)


def shuffle(x: Tensor, seed: int | None = None) -> Tensor:
    """The entries of axis 0 in random order."""
    return gather(x, randperm(x.shape[0], seed, dtype="int32"), 0)


__all__ = [
    "bernoulli",
    "normal",
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
]  # fmt: skip
