"""Parameters of distributions and bijectors: numbers or tensors, made tensors of one float dtype and checked."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphc.errors import ArgumentTypeError, ArgumentValueError, user_loc
from graphc.ops.declared.rules import broadcast_shapes
from graphc.ops.functional.core import cast
from graphc.ops.tensor.dtype import to_name
from graphc.ops.tensor.parameter import Parameter
from graphc.ops.tensor.tensor import Tensor


def parameter(owner: str, name: str, value: Any, dtype: str) -> Tensor | None:
    """A parameter given to a constructor; None where it is to be given at each call."""
    if value is None:
        return None
    if isinstance(value, Parameter):
        return value
    if isinstance(value, Tensor):
        return cast(value, dtype)
    if isinstance(value, bool) or not isinstance(value, (int, float, list, tuple, np.ndarray, np.generic)):
        raise ArgumentTypeError(
            f"{owner}: {name} must be a number, a list, an array or a Tensor, got {type(value).__name__}",
            loc=user_loc(),
        )
    return cast(Tensor(np.asarray(value, np.float64).astype(np.float32)), dtype)


def require(owner: str, name: str, value: Tensor | None, holds: str) -> None:
    """ArgumentValueError unless all elements of a parameter are "> 0", ">= 0" or "in (0, 1)"."""
    if value is None:
        return
    x = value.asnumpy().astype(np.float64)
    fits = {"> 0": x > 0, ">= 0": x >= 0, "in (0, 1)": (x > 0) & (x < 1)}[holds]
    if not fits.all():
        raise ArgumentValueError(f"{owner}: {name} must be {holds}, got {x[~fits].flat[0]:g}", loc=user_loc())


def float_dtype(owner: str, dtype: Any) -> str:
    """The name of a float dtype; ArgumentTypeError for another."""
    name = to_name(dtype)
    if "float" not in name:
        raise ArgumentTypeError(f"{owner}: dtype must be a float, got {name}", loc=user_loc())
    return name


def common_shape(owner: str, *shapes: tuple[int, ...]) -> tuple[int, ...]:
    """What shapes are broadcast to; ShapeError if they do not go together."""
    return broadcast_shapes(owner, *shapes)


__all__ = ["common_shape", "float_dtype", "parameter", "require"]
