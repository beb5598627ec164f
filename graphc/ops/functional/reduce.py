"""Reductions over axes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from graphc.ir.types import INTEGERS, numpy_dtype
from graphc.ops.declared.rules import normalize_axes
from graphc.ops.functional.arithmetic import truncate_div
from graphc.ops.functional.core import Axis, Operand, as_bool, call, cast, cast_to, real_only
from graphc.ops.functional.elementwise import abs_, add, equal, exp, isnan, log, mul, not_equal, sub
from graphc.ops.functional.logic import select
from graphc.ops.functional.shapes import as_shape, reshape
from graphc.ops.functional.state import stop_gradient
from graphc.ops.tensor.dtype import int32, to_name
from graphc.ops.tensor.methods import method
from graphc.ops.tensor.tensor import Tensor, as_tensor


def _reduction(op: str, x: Tensor, axis: Axis, keep_dims: bool) -> Tensor:
    return call(op, x, axis=normalize_axes(op, axis, x.ndim), keep_dims=bool(keep_dims))


def reduce_sum(x: Tensor, axis: Axis = (), keep_dims: bool = False) -> Tensor:
    """Sum over axes (all by default) in the dtype of x; bool tensors are counted in int64."""
    return _reduction("ReduceSum", cast_to(x, "int64") if x.tensor_type.dtype == "bool" else x, axis, keep_dims)


def sum_(input: Tensor, dim: Axis = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """Sum over axes (all by default); of integers and bools in int64, unless a dtype is given: of bools whether any is True."""
    x = summand(input, dtype)
    return reduce_any(x, dim, keepdim) if x.tensor_type.dtype == "bool" else reduce_sum(x, dim, keepdim)


def summand(x: Tensor, dtype: Any) -> Tensor:
    """x in the dtype in which its sum or product is taken: the one given, else int64 for integers and bools."""
    if dtype is not None:
        return cast(x, dtype)
    tensor = as_tensor(x)
    return tensor if tensor.tensor_type.is_inexact else cast_to(tensor, "int64")


def widened(x: Tensor, dtype: Any) -> Tensor:
    """x in a dtype that has all its values, else as it is: what is computed of it is cast then."""
    name = x.tensor_type.dtype if dtype is None else to_name(dtype)
    return cast_to(x, name) if np.can_cast(x.tensor_type.numpy, numpy_dtype(name)) else x


def reduce_mean(x: Tensor, axis: Axis = (), keep_dims: bool = False) -> Tensor:
    """Mean over axes (all by default); of integers without its fraction."""
    if x.tensor_type.dtype not in INTEGERS:
        return _reduction("ReduceMean", x, axis, keep_dims)
    total = _reduction("ReduceSum", cast_to(x, "int64"), axis, keep_dims)
    return cast_to(truncate_div(total, x.size // max(total.size, 1)), x.tensor_type.dtype)


def reduce_max(x: Tensor, axis: Axis = (), keep_dims: bool = False) -> Tensor:
    """Largest element over axes (all by default)."""
    return _reduction("ReduceMax", x, axis, keep_dims)


def reduce_min(x: Tensor, axis: Axis = (), keep_dims: bool = False) -> Tensor:
    """Smallest element over axes (all by default)."""
    return _reduction("ReduceMin", x, axis, keep_dims)


@method("all")
def reduce_all(input: Tensor, axis: Axis = None, keep_dims: bool = False) -> Tensor:
    """Logical and over axes (all by default)."""
    return _reduction("ReduceAll", as_bool(input), axis, keep_dims)


@method("any")
def reduce_any(input: Tensor, axis: Axis = None, keep_dims: bool = False) -> Tensor:
    """Logical or over axes (all by default)."""
    return _reduction("ReduceAny", as_bool(input), axis, keep_dims)


@method()
def prod(input: Tensor, axis: Axis = None, keep_dims: bool = False, dtype: Any = None) -> Tensor:
    """The product over axes; of integers and bools in int64, unless a dtype is given: of bools whether all are True."""
    x = summand(input, dtype)
    return reduce_all(x, axis, keep_dims) if x.tensor_type.dtype == "bool" else reduce_prod(x, axis, keep_dims)


def reduce_prod(x: Tensor, axis: Axis = None, keep_dims: bool = False) -> Tensor:
    """Product over axes (all by default) in the dtype of x; bool tensors as int64."""
    return _reduction("ReduceProd", cast_to(x, "int64") if x.tensor_type.dtype == "bool" else x, axis, keep_dims)


@method()
def logsumexp(input: Tensor, dim: Axis = None, keepdim: bool = False) -> Tensor:
    """log(sum(exp(x))) over axes, without overflow."""
    most = stop_gradient(reduce_max(input, dim, True))
    most = select(equal(abs_(most), math.inf), 0.0, most)
    made = add(log(reduce_sum(exp(sub(input, most)), dim, True)), most)
    return made if keepdim else reduce_sum(made, dim, False)


@method()
def count_nonzero(x: Tensor, axis: Axis = (), keep_dims: bool = False, dtype: Any = int32) -> Tensor:
    """How many elements are not zero; as a bool whether any is."""
    return sum_(not_equal(x, 0) if x.tensor_type.dtype != "bool" else x, axis, keep_dims, dtype=to_name(dtype))


@method()
def nansum(input: Tensor, axis: Axis = None, keepdims: bool = False, *, dtype: Any = None) -> Tensor:
    """The sum of the elements that are not NaN, cast to a dtype if given."""
    real_only("nansum", input)
    x = select(isnan(input), 0.0, input) if input.tensor_type.is_float else input
    made = reduce_sum(widened(x, dtype), axis, keepdims)
    return made if dtype is None else cast(made, dtype)


def l2_loss(x: Operand) -> Tensor:
    """Half the sum of squares."""
    real_only("l2_loss", x)
    return mul(reduce_sum(mul(x, x)), 0.5)


@method()
def sum_to_size(x: Tensor, *size: Any) -> Tensor:
    """x summed over the axes along which a shape would have to be repeated."""
    shape = as_shape(size)
    lead = x.ndim - len(shape)
    axes = (*range(lead), *(i + lead for i, d in enumerate(shape) if d == 1 and x.shape[i + lead] != 1))
    return reshape(sum_(x, axes), shape) if axes else x.value()


__all__ = [
    "count_nonzero",
    "l2_loss",
    "logsumexp",
    "nansum",
    "prod",
    "reduce_all",
    "reduce_any",
    "reduce_max",
    "reduce_mean",
    "reduce_min",
    "reduce_sum",
    "sum_to_size",
]
