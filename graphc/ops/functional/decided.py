"""Numbers that a tensor decides: what stands for them while a Cell is traced."""

from __future__ import annotations

from typing import Any

from graphc import dispatch
from graphc.ops.functional.core import cast_to
from graphc.ops.functional.shapes import reshape
from graphc.ops.functional.state import stop_gradient
from graphc.ops.tensor.tensor import Tensor


def as_number(x: Tensor, dtype: str) -> Tensor:
    """A tensor of one element, in a dtype, as one that stands for a number."""
    made = reshape(cast_to(x, dtype), ())
    if made.array is not None:
        number = Tensor.wrap(made.array)
        number.is_number = True
    else:
        active: Any = dispatch.recorder.get()
        number = active.wrap(active.resolve(made), True)
    return number


def python_number(x: Tensor, dtype: str) -> Tensor:
    """What stands for the number that Python would make of x: a constant to every gradient, as that number is."""
    return as_number(stop_gradient(x) if x.tensor_type.is_float else x, dtype)


def item_of(x: Tensor) -> Tensor:
    """What `x.item()` is while x is traced, as `int(x)`, `float(x)` or `bool(x)` are: of one element, which is real."""
    dtype = x.tensor_type.dtype
    if dtype not in ("bool", "float64"):
        dtype = "float32" if x.tensor_type.is_float else "int64"
    return python_number(x, dtype)


__all__ = ["as_number", "item_of", "python_number"]
