"""What the functions of graphc.scipy ask of their arguments, as MindSpore does."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from graphc.errors import ArgumentTypeError, DTypeError, ShapeError, user_loc
from graphc.ops.functional.core import cast_to
from graphc.ops.tensor.tensor import Tensor
from graphc.validation.checks import boolean

REAL = ("int32", "int64", "float32", "float64")


def flags(owner: str, **given: Any) -> None:
    """ArgumentTypeError for what is no bool."""
    for name, value in given.items():
        boolean(owner, name, value)


def tensor(owner: str, name: str, x: Any, dtypes: Sequence[str]) -> Tensor:
    """A tensor of one of the dtypes. ArgumentTypeError, DTypeError."""
    if not isinstance(x, Tensor):
        raise ArgumentTypeError(f"{owner}: {name} must be a Tensor, got {type(x).__name__}", loc=user_loc())
    if x.tensor_type.dtype not in dtypes:
        raise DTypeError(f"{owner}: {name} is {x.tensor_type}, expected dtype {' or '.join(dtypes)}", loc=user_loc())
    return x


def whole(x: Tensor) -> Tensor:
    """Integers in float64."""
    return x if x.tensor_type.is_inexact else cast_to(x, "float64")


def square(owner: str, name: str, x: Any, dtypes: Sequence[str] = REAL) -> Tensor:
    """A square matrix, of integers in float64. ShapeError."""
    made = tensor(owner, name, x, dtypes)
    if made.ndim != 2 or made.shape[0] != made.shape[1]:
        raise ShapeError(f"{owner}: {name} is {made.tensor_type}, expected a square matrix", loc=user_loc())
    return whole(made)


def system(owner: str, names: tuple[str, str], a: Any, b: Any) -> tuple[Tensor, Tensor]:
    """A square matrix and right sides of its dtype, a vector or the columns of a matrix."""
    for name, x in zip(names, (a, b), strict=True):
        tensor(owner, name, x, REAL)
    same_dtype(owner, names, a, b)
    made = square(owner, names[0], a)
    if b.ndim not in (1, 2) or b.shape[0] != made.shape[0]:
        raise ShapeError(
            f"{owner}: {names[0]} is {a.tensor_type}, {names[1]} {b.tensor_type}, expected as many rows", loc=user_loc()
        )
    return made, whole(b)


def same_dtype(owner: str, names: tuple[str, str], a: Tensor, b: Tensor) -> None:
    """DTypeError for different dtypes."""
    if a.tensor_type.dtype != b.tensor_type.dtype:
        raise DTypeError(
            f"{owner}: {names[0]} is {a.tensor_type}, {names[1]} {b.tensor_type}, expected one dtype", loc=user_loc()
        )
