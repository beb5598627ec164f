"""Tensors of one number."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from graphc.ops.dtype import to_name
from graphc.ops.functional.core import Number, call
from graphc.ops.tensor import Tensor
from graphc.ops.tree import map_tensors


def fill(type: Any, shape: Sequence[int], value: Number) -> Tensor:
    """A tensor filled with one number."""
    return call("Fill", dtype=to_name(type), shape=tuple(shape), value=value)


def full(size: Sequence[int], fill_value: Number, *, dtype: Any = None) -> Tensor:
    """A tensor filled with one number; its dtype is the number's unless given."""
    return fill(dtype if dtype is not None else type(fill_value), size, fill_value)


def zeros(shape: int | Sequence[int], dtype: Any = "float32") -> Tensor:
    return fill(dtype, (shape,) if isinstance(shape, int) else shape, 0)


def ones(shape: int | Sequence[int], dtype: Any = "float32") -> Tensor:
    return fill(dtype, (shape,) if isinstance(shape, int) else shape, 1)


def zeros_like(x: Any, dtype: Any = None) -> Tensor:
    """Zeros in the shape and dtype of a tensor, or of each tensor of a nest."""
    made: Tensor = _like(x, 0, dtype)
    return made


def ones_like(x: Any, dtype: Any = None) -> Tensor:
    """Ones in the shape and dtype of a tensor, or of each tensor of a nest."""
    made: Tensor = _like(x, 1, dtype)
    return made


def _like(x: Any, value: Number, dtype: Any) -> Any:
    if isinstance(x, (tuple, list, dict)):
        return map_tensors(lambda t: fill(dtype or t.dtype, t.shape, value), x)
    return fill(dtype or x.dtype, x.shape, value)
