"""Reductions."""

from __future__ import annotations

from typing import Any

from graphc.ops.dtype import to_name
from graphc.ops.functional.core import Axis, as_bool, call, cast_to
from graphc.ops.rules import normalize_axes
from graphc.ops.shape import check_axis
from graphc.ops.tensor import Tensor


def _reduction(op: str, x: Tensor, axis: Axis, keep_dims: bool) -> Tensor:
    axes = normalize_axes(op, axis, x.ndim)
    return call(op, x, axis=axes, keep_dims=bool(keep_dims))


def reduce_sum(x: Tensor, axis: Axis = None, keep_dims: bool = False) -> Tensor:
    """Sum over axes (all by default); bool tensors are counted in int64."""
    return _reduction("ReduceSum", cast_to(x, "int64") if x.type.dtype == "bool" else x, axis, keep_dims)


def reduce_mean(x: Tensor, axis: Axis = None, keep_dims: bool = False) -> Tensor:
    """Mean over axes (all by default)."""
    return _reduction("ReduceMean", x, axis, keep_dims)


def reduce_max(x: Tensor, axis: Axis = None, keep_dims: bool = False) -> Tensor:
    """Largest element over axes (all by default)."""
    return _reduction("ReduceMax", x, axis, keep_dims)


def reduce_min(x: Tensor, axis: Axis = None, keep_dims: bool = False) -> Tensor:
    """Smallest element over axes (all by default)."""
    return _reduction("ReduceMin", x, axis, keep_dims)


def reduce_all(x: Tensor, axis: Axis = None, keep_dims: bool = False) -> Tensor:
    """Logical and over axes (all by default)."""
    return _reduction("ReduceAll", as_bool(x), axis, keep_dims)


def reduce_any(x: Tensor, axis: Axis = None, keep_dims: bool = False) -> Tensor:
    """Logical or over axes (all by default)."""
    return _reduction("ReduceAny", as_bool(x), axis, keep_dims)


sum_, mean, all_, any_ = reduce_sum, reduce_mean, reduce_all, reduce_any


def argmax(x: Tensor, axis: int = -1, output_type: Any = "int32") -> Tensor:
    """Index of the first largest element along an axis."""
    return call("Argmax", x, axis=check_axis("Argmax", axis, x.ndim), dtype=to_name(output_type))
