"""Random draws; `generator` is a graphc.Generator, None for the stream that random functions share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from graphc import ops
from graphc.errors import ArgumentTypeError, ArgumentValueError, user_loc
from graphc.ops.functional.core import Extents, Ints, Operand
from graphc.ops.functional.random import integers_from, normal_from, uniform_from
from graphc.ops.functional.sampling import multinomial_from
from graphc.ops.functional.shapes import as_shape
from graphc.ops.tensor.dtype import to_name
from graphc.ops.tensor.generator import stream
from graphc.ops.tensor.tensor import Tensor
from graphc.validation.checks import exact_int
from graphc.validation.unused_arguments import only


def _size(owner: str, size: tuple[Any, ...]) -> tuple[int, ...]:
    """Of `rand(2, 3)` and `rand((2, 3))`."""
    if not size or not isinstance(size[0], (tuple, list)):
        return tuple(as_shape(size))
    if len(size) > 1:
        more = ", ".join(map(str, size[1:]))
        raise ArgumentTypeError(
            f"{owner}: behind the sizes nothing is given by position, got {more}",
            loc=user_loc(),
            help="dtype=... by name",
        )
    return tuple(as_shape(size[0]))


def rand(*size: Ints, generator: Any = None, dtype: Any = None, device: str | None = None) -> Tensor:
    """Uniform numbers from 0 up to 1, float32 by default."""
    only("rand", "device", device, None, "CPU")
    return ops.cast(uniform_from(stream("rand", generator), _size("rand", size)), "float32" if dtype is None else dtype)


def randn(*size: Ints, generator: Any = None, dtype: Any = None, device: str | None = None) -> Tensor:
    """Standard normal numbers, float32 by default."""
    only("randn", "device", device, None, "CPU")
    return ops.cast(
        normal_from(stream("randn", generator), _size("randn", size)), "float32" if dtype is None else dtype
    )


def rand_like(input: Tensor, *, dtype: Any = None, device: str | None = None) -> Tensor:
    """`rand` in the shape and dtype of a tensor."""
    return rand(*input.shape, dtype=input.dtype if dtype is None else dtype, device=device)


def randn_like(input: Tensor, *, dtype: Any = None, device: str | None = None) -> Tensor:
    """`randn` in the shape and dtype of a tensor."""
    return randn(*input.shape, dtype=input.dtype if dtype is None else dtype, device=device)


def randint(*args: Any, generator: Any = None, dtype: Any = None, device: str | None = None) -> Tensor:
    """randint(high, size), randint(low, high, size): integers from low (0) up to, but without, high; int64 by default."""
    only("randint", "device", device, None, "CPU")
    if len(args) not in (2, 3):
        raise ArgumentTypeError(
            f"randint takes (high, size) or (low, high, size), got {len(args)} arguments", loc=user_loc()
        )
    low, high = args[:-1] if len(args) == 3 else (0, args[0])
    return _integers("randint", low, high, args[-1], stream("randint", generator), "int64" if dtype is None else dtype)


def randint_like(input: Tensor, *args: Any, dtype: Any = None, device: str | None = None) -> Tensor:
    """randint_like(input, high), randint_like(input, low, high): `randint` in the shape and dtype of a tensor."""
    only("randint_like", "device", device, None, "CPU")
    if len(args) not in (1, 2):
        raise ArgumentTypeError("randint_like takes (input, high) or (input, low, high)", loc=user_loc())
    low, high = args if len(args) == 2 else (0, args[0])
    return _integers(
        "randint_like", low, high, input.shape, stream("randint_like", None), input.dtype if dtype is None else dtype
    )


def _integers(owner: str, low: Any, high: Any, size: Sequence[int], state: Any, dtype: Any) -> Tensor:
    for name, value in (("low", low), ("high", high)):
        exact_int(owner, name, value)
    return ops.cast(integers_from(state, as_shape(size), low, high, "int64"), to_name(dtype))


def randperm(n: int, *, generator: Any = None, dtype: Any = "int64") -> Tensor:
    """The integers below n in random order."""
    if isinstance(n, bool) or not isinstance(n, int) or n < 0:
        raise ArgumentValueError(f"randperm: n must be an int >= 0, got {n!r}", loc=user_loc())
    return ops.cast(ops.argsort(uniform_from(stream("randperm", generator), (n,))), dtype)


def normal(mean: Operand = 0.0, std: Operand = 1.0, size: Extents = None, generator: Any = None) -> Tensor:
    """Normal numbers, float32: one for each mean and deviation where these are tensors, else `size` of them."""
    shape = [x.shape for x in (mean, std) if isinstance(x, Tensor)]
    if bool(shape) == (size is not None):
        raise ArgumentValueError("normal: size is given where mean and std are numbers, and only there", loc=user_loc())
    places = tuple(as_shape(size)) if size is not None else ops.add(mean, std).shape
    return ops.add(ops.mul(normal_from(stream("normal", generator), places), std), mean)


def bernoulli(input: Tensor, *, generator: Any = None) -> Tensor:
    """1 with the probability that each element is, else 0, in its dtype."""
    return ops.bernoulli_ext(input, generator=generator)


def multinomial(input: Tensor, num_samples: int, replacement: bool = False, *, generator: Any = None) -> Tensor:
    """int64: indices drawn with the probabilities in a row, [n] or [rows, n]; see `ops.multinomial`."""
    return ops.cast(multinomial_from(stream("multinomial", generator), input, num_samples, replacement), "int64")


__all__ = [
    "bernoulli", "multinomial", "normal", "rand", "rand_like", "randint", "randint_like", "randn", "randn_like",
    "randperm",
]  # fmt: skip
