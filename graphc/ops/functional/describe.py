"""What is known of a tensor without computing it: shape, rank, size, dtype."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from graphc.errors import ArgumentValueError, user_loc
from graphc.ops.functional.core import shape_of
from graphc.ops.tensor.dtype import DType
from graphc.ops.tensor.methods import method
from graphc.ops.tensor.tensor import Tensor, as_tensor

# ---- what a tensor is


def shape(input_x: Tensor) -> tuple[int, ...]:
    """The shape, a tuple of Python integers."""
    return shape_of(as_tensor(input_x))


@method("ndimension", "dim")
def rank(input_x: Tensor) -> int:
    """The number of axes."""
    return as_tensor(input_x).ndim


@method("numel", "nelement")
def numel(input: Tensor) -> int:
    """The number of elements."""
    return math.prod(shape_of(as_tensor(input)))


def dtype(x: Tensor) -> DType:
    """The dtype."""
    return as_tensor(x).dtype


def dyn_shape(input_x: Tensor) -> Tensor:
    """The shape as an int64 vector."""
    return Tensor(np.array(as_tensor(input_x).shape, np.int64))


def is_tensor(obj: Any) -> bool:
    """Whether it is a Tensor."""
    return isinstance(obj, Tensor)


@method()
def is_floating_point(input: Tensor) -> bool:
    """Whether the dtype is a float."""
    return input.tensor_type.is_float


@method()
def is_complex(input: Tensor) -> bool:
    """Whether the dtype is a complex one."""
    return as_tensor(input).tensor_type.is_complex


@method()
def is_signed(input: Tensor) -> bool:
    """Whether the dtype has negative numbers (MindSpore: Tensor.is_signed)."""
    return input.tensor_type.dtype != "bool" and not input.tensor_type.dtype.startswith("uint")


def size(input_x: Tensor) -> int:
    """The number of elements."""
    return math.prod(shape_of(as_tensor(input_x)))


def shape_mul(input_data: Sequence[int]) -> int:
    """The product of the sizes of a shape."""
    return math.prod(input_data)


def is_nonzero(input: Tensor) -> bool:
    """Whether the one element of a tensor, whose value is known, is not zero. ArgumentValueError for more or fewer elements."""
    x = as_tensor(input)
    if x.size != 1:
        raise ArgumentValueError(f"is_nonzero: {x.tensor_type} has not one element", loc=user_loc())
    return bool(x)


__all__ = [
    "dtype",
    "dyn_shape",
    "is_complex",
    "is_floating_point",
    "is_nonzero",
    "is_tensor",
    "numel",
    "rank",
    "shape",
    "shape_mul",
    "size",
]
