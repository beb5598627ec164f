"""Random numbers of the global generator (`set_seed`)."""

from __future__ import annotations

from typing import Any

from graphc import ops
from graphc.errors import ArgumentTypeError, ArgumentValueError, user_loc
from graphc.numpy.convert import name_of, sizes
from graphc.numpy.creation import FLOAT, INT
from graphc.ops.functional.core import Extents
from graphc.ops.tensor.tensor import Tensor
from graphc.validation.checks import integer


def rand(*shape: Any, dtype: Any = FLOAT) -> Tensor:
    """Numbers, uniform in [0, 1), of a shape, (1,) by default; float32 or another float dtype."""
    return ops.cast(ops.rand(*_shape("rand", shape)), _one_of("rand", dtype, "float"))


def randn(*shape: Any, dtype: Any = FLOAT) -> Tensor:
    """Standard normal numbers of a shape, (1,) by default; float32 or another float dtype."""
    return ops.randn(*_shape("randn", shape), dtype=_one_of("randn", dtype, "float"))


def randint(minval: int, maxval: int | None = None, shape: Extents = None, dtype: Any = INT) -> Tensor:
    """Integers from minval up to, but without, maxval, or from 0 up to minval; of shape (1,) by default.

    ArgumentValueError unless there are such integers.
    """
    low, high = (0, integer("randint", "minval", minval)) if maxval is None else (
        integer("randint", "minval", minval),
        integer("randint", "maxval", maxval),
    )  # fmt: skip
    if low >= high:
        raise ArgumentValueError(f"randint: there are no integers from {low} up to {high}", loc=user_loc())
    size = (1,) if shape is None else sizes("randint", shape)
    return ops.randint(low, high, size, dtype=_one_of("randint", dtype, "int"))


def _shape(owner: str, shape: tuple[Any, ...]) -> tuple[int, ...]:
    if len(shape) == 1 and isinstance(shape[0], (tuple, list)):
        return sizes(owner, shape[0])
    if any(isinstance(d, (tuple, list)) for d in shape):
        raise ArgumentTypeError(f"{owner}: the shape must be integers or one tuple, got {shape}", loc=user_loc())
    return sizes(owner, shape) if shape else (1,)


def _one_of(owner: str, dtype: Any, kind: str) -> str:
    """The name of a dtype of that kind; ArgumentValueError for another."""
    name = name_of(dtype)
    if not name.startswith(kind):
        raise ArgumentValueError(f"{owner}: dtype must be one of {kind}s, got {name}", loc=user_loc())
    return name


__all__ = [
    "rand", "randint", "randn",
]  # fmt: skip
