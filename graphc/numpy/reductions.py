"""Sums, means, extrema and their like over axes. `dtype` is that of the result."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphc import ops
from graphc.errors import ArgumentTypeError, ArgumentValueError, DTypeError, user_loc
from graphc.ir.types import FLOATS
from graphc.numpy.convert import common, elements, floats, name_of, promoted, result, tensor
from graphc.ops.declared.rules import broadcast_shapes, normalize_axes, reduced_shape
from graphc.ops.declared.shape import check_axis
from graphc.ops.functional.core import Axis, cast_to
from graphc.ops.functional.extrema import place
from graphc.ops.tensor.dtype import to_name
from graphc.ops.tensor.tensor import Tensor

# ---- sums and means


def sum_(a: Any, axis: Axis = None, dtype: Any = None, keepdims: bool = False, initial: Any = None) -> Tensor:
    """The sum over axes plus `initial`, of integers and bools in int64 unless a dtype is given."""
    x = tensor("sum", a, "a")
    kept = normalize_axes("sum", axis, x.ndim)
    made = ops.sum(x, kept, bool(keepdims), dtype=None if dtype is None else name_of(dtype))
    return made if initial is None else ops.add(made, _number("sum", initial))


def _number(owner: str, initial: Any) -> Any:
    """A number, or a tensor without axes; ArgumentTypeError for other things."""
    _scalar(owner, initial)
    return initial


def _scalar(owner: str, initial: Any) -> Tensor:
    value = tensor(owner, initial, "initial")
    if value.ndim:
        raise ArgumentTypeError(f"{owner}: initial must be a number, got {value.tensor_type}", loc=user_loc())
    return value


def mean(a: Any, axis: Axis = None, keepdims: bool = False, dtype: Any = None) -> Tensor:
    """The mean over axes in the dtype of a, of integers without its fraction, as in MindSpore; NaN of no elements."""
    x = tensor("mean", a, "a")
    return result(_mean(x, normalize_axes("mean", axis, x.ndim), bool(keepdims)), dtype)


def _mean(x: Tensor, axes: tuple[int, ...], keepdims: bool) -> Tensor:
    if elements(x, axes) == 0:
        if not x.tensor_type.is_float:
            raise ArgumentValueError(f"mean: {x.tensor_type} has no elements, and an integer is no NaN", loc=user_loc())
        return ops.full(reduced_shape(x.shape, axes, keepdims), np.nan, dtype=x.dtype)
    if x.tensor_type.is_inexact:
        return ops.reduce_mean(x, axes, keepdims) if axes else x.value()
    total = ops.reduce_sum(cast_to(x, "int64"), axes, keepdims)
    return cast_to(ops.truncate_div(total, elements(x, axes)), x.tensor_type.dtype)


def var(x: Any, axis: Axis = None, ddof: int = 0, keepdims: bool = False) -> Tensor:
    """Sum of squared deviations from the mean over axes, divided by count - ddof; of integers in float32."""
    given = tensor("var", x)
    return ops.var(given, normalize_axes("var", axis, given.ndim), ddof, bool(keepdims))


def std(x: Any, axis: Axis = None, ddof: int = 0, keepdims: bool = False) -> Tensor:
    """The root of `var`."""
    return ops.sqrt(var(x, axis, ddof, keepdims))


def average(x: Any, axis: Axis = None, weights: Any = None, returned: bool = False) -> Any:
    """The mean over axes, weighted if `weights` are given; with `returned` (mean, sum of the weights).

    weights: of the shape of x, or a vector along the one axis. Of integers without its fraction, as in MindSpore.
    """
    given = tensor("average", x)
    axes = normalize_axes("average", axis, given.ndim)
    if weights is None:
        made = _mean(given, axes, False)
        total = ops.full_like(made, elements(given, axes))
    else:
        w = _weights(given, tensor("average", weights, "weights"), axis)
        products, w = ops.mul(*promoted(given, w)), cast_to(w, common(given.tensor_type.dtype, w.tensor_type.dtype))
        total = ops.reduce_sum(w, axes if w.shape == given.shape else normalize_axes("average", None, w.ndim))
        made = ops.reduce_sum(products, axes)
        made = ops.div(made, total) if made.tensor_type.is_float else ops.truncate_div(made, total)
    return (made, ops.broadcast_to(total, made.shape)) if returned else made


def _weights(x: Tensor, w: Tensor, axis: Any) -> Tensor:
    if w.shape == x.shape:
        return w
    if w.ndim != 1 or not isinstance(axis, int):
        raise ArgumentTypeError(
            f"average: weights are {w.tensor_type}, x is {x.tensor_type}: expected one shape, or a vector and one axis",
            loc=user_loc(),
        )
    at = check_axis("average", axis, x.ndim)
    return ops.reshape(w, tuple(w.size if i == at else 1 for i in range(x.ndim)))


def count_nonzero(x: Any, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """int32: how many elements over axes are neither 0 nor False."""
    given = tensor("count_nonzero", x)
    return ops.count_nonzero(given, normalize_axes("count_nonzero", axis, given.ndim), bool(keepdims))


# ---- extrema


def amax(a: Any, axis: Axis = None, keepdims: bool = False, initial: Any = None, where: Any = True) -> Tensor:
    """The largest element over axes, and not less than `initial`. where: a tensor of bools, the elements that count."""
    return _extremum("amax", a, axis, keepdims, initial, where, True)


def amin(a: Any, axis: Axis = None, keepdims: bool = False, initial: Any = None, where: Any = True) -> Tensor:
    """The smallest element over axes, and not more than `initial`. where: a tensor of bools, the elements that count."""
    return _extremum("amin", a, axis, keepdims, initial, where, False)


def _extremum(owner: str, a: Any, axis: Any, keepdims: Any, initial: Any, where: Any, largest: bool) -> Tensor:
    x = tensor(owner, a, "a")
    bound = None if initial is None else cast_to(_scalar(owner, initial), x.tensor_type.dtype)
    if where is not True:
        if bound is None:
            raise ArgumentValueError(f"{owner}: with `where` there must be `initial`", loc=user_loc())
        kept = ops.cast(tensor(owner, where, "where"), "bool")
        shape = broadcast_shapes(owner, x.shape, kept.shape)
        x = ops.select(kept, ops.broadcast_to(x, shape), bound)
    axes = normalize_axes(owner, axis, x.ndim)
    if 0 in x.shape and elements(x, axes) == 0:
        if bound is None:
            raise ArgumentValueError(
                f"{owner}: {x.tensor_type} has no elements, and no `initial` is given", loc=user_loc()
            )
        return ops.broadcast_to(bound, reduced_shape(x.shape, axes, bool(keepdims)))
    if x.tensor_type.dtype == "bool":
        made = (ops.reduce_any if largest else ops.reduce_all)(x, axes, bool(keepdims))
        return made if bound is None else (ops.logical_or if largest else ops.logical_and)(made, bound)
    made = (ops.reduce_max if largest else ops.reduce_min)(x, axes, bool(keepdims)) if axes else x.value()
    return made if bound is None else (ops.maximum if largest else ops.minimum)(made, bound)


def ptp(x: Any, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """The largest minus the smallest element over axes."""
    given = tensor("ptp", x)
    return ops.sub(amax(given, axis, keepdims), amin(given, axis, keepdims))


def argmax(a: Any, axis: int | None = None) -> Tensor:
    """int64: the place of the first largest element along an axis, or in the flattened tensor."""
    return _place("argmax", a, axis, True, "int64")


def argmin(a: Any, axis: int | None = None) -> Tensor:
    """int32: the place of the first smallest element along an axis, or in the flattened tensor."""
    return _place("argmin", a, axis, False, "int32")


def _place(owner: str, a: Any, axis: int | None, largest: bool, dtype: str) -> Tensor:
    x = tensor(owner, a, "a")
    return place(cast_to(x, "int32") if x.tensor_type.dtype == "bool" else x, axis, False, largest, dtype)


# ---- up to each element

_SMALL = ("bool", "int8", "int16")


def cumsum(a: Any, axis: int | None = None, dtype: Any = None) -> Tensor:
    """Sums up to each element along an axis, of the flattened tensor by default; of small integers in int32."""
    x = tensor("cumsum", a, "a")
    return x.cumsum(axis, None if dtype is None else name_of(dtype))


def cumprod(a: Any, axis: int | None = None, dtype: Any = None) -> Tensor:
    """Products up to each element along an axis, of the flattened tensor by default; of small integers in int32.

    Of uint8 in uint32. Computed in float32 or float64, as in MindSpore.
    """
    x = tensor("cumprod", a, "a")
    if not isinstance(a, Tensor) and x.tensor_type.dtype == "int32":
        x = cast_to(x, "int64")  # MindSpore keeps the 64 bits of lists here.
    kept = {**dict.fromkeys(_SMALL, "int32"), **dict.fromkeys(("uint8", "uint16"), "uint32")}
    wanted = to_name(kept.get(x.tensor_type.dtype, x.dtype)) if dtype is None else name_of(dtype)
    if axis is None:
        x, axis = ops.ravel(x), 0
    if x.tensor_type.dtype != "float64":
        x = cast_to(x, "float32")
    return cast_to(ops.cumprod(x, check_axis("cumprod", axis, x.ndim)), wanted)


# ---- without NaN


def _without_nan(x: Tensor, value: float) -> Tensor:
    return ops.select(ops.isnan(x), ops.full_like(x, value), x) if x.tensor_type.is_float else x


def nansum(a: Any, axis: Axis = None, dtype: Any = None, keepdims: bool = False) -> Tensor:
    """The sum of the elements that are not NaN, in the dtype of a; of bools whether one is True, as in MindSpore."""
    x = tensor("nansum", a, "a")
    made = ops.reduce_sum(_without_nan(x, 0.0), normalize_axes("nansum", axis, x.ndim), bool(keepdims))
    return result(cast_to(made, x.tensor_type.dtype), dtype)


def nancumsum(a: Any, axis: int | None = None, dtype: Any = None) -> Tensor:
    """`cumsum` with 0 for NaN."""
    return cumsum(_without_nan(tensor("nancumsum", a, "a"), 0.0), axis, dtype)


def nanmax(a: Any, axis: Axis = None, dtype: Any = None, keepdims: bool = False) -> Tensor:
    """The largest element that is not NaN; where there is none, -2**63, as in MindSpore (of float16 minus infinity)."""
    x = tensor("nanmax", a, "a")
    return result(amax(_without_nan(x, -float(2**63)), axis, keepdims), dtype)


def nanmin(a: Any, axis: Axis = None, dtype: Any = None, keepdims: bool = False) -> Tensor:
    """The smallest element that is not NaN; where there is none, 2**63, as in MindSpore (of float16 infinity)."""
    x = tensor("nanmin", a, "a")
    return result(amin(_without_nan(x, float(2**63)), axis, keepdims), dtype)


def _known(x: Tensor, axes: tuple[int, ...], keepdims: bool) -> Tensor:
    """How many elements are not NaN, in x's dtype if that is a float, else in float32."""
    y = floats(x)
    return ops.reduce_sum(ops.select(ops.isnan(y), ops.zeros_like(y), ops.ones_like(y)), axes, keepdims)


def nanmean(a: Any, axis: Axis = None, dtype: Any = None, keepdims: bool = False) -> Tensor:
    """The mean of the elements that are not NaN, in a float dtype if given, else float32 or the wider one of a; NaN of none.

    With another dtype it is MindSpore's: the sum in that dtype, divided in the one that it has together with a's, of integers
    without its fraction. Raises DTypeError for bool of bools.
    """
    x = tensor("nanmean", a, "a")
    axes, wanted = normalize_axes("nanmean", axis, x.ndim), "float32" if dtype is None else name_of(dtype)
    count = _known(x, axes, bool(keepdims))
    if wanted in FLOATS:
        made = ops.div(*promoted(floats(nansum(floats(x), axes, wanted, keepdims)), count))
        return made if dtype is None else cast_to(made, wanted)
    kind = common(wanted, x.tensor_type.dtype)
    if kind == "bool":
        raise DTypeError(f"nanmean: {x.tensor_type} has no mean in bool", loc=user_loc())
    # Of bools MindSpore's sum is whether one is True, and so is its count.
    count = cast_to(cast_to(count, "bool"), kind) if x.tensor_type.dtype == "bool" else cast_to(count, kind)
    total = cast_to(nansum(x, axes, wanted, keepdims), kind)
    return ops.div(total, count) if kind in FLOATS else ops.truncate_div(total, count)


def nanvar(a: Any, axis: Axis = None, dtype: Any = None, ddof: int = 0, keepdims: bool = False) -> Tensor:
    """The variance of the elements that are not NaN, their count less `ddof` as divisor; float32 by default."""
    return result(_nanvar("nanvar", a, axis, ddof, keepdims), "float32" if dtype is None else dtype)


def nanstd(a: Any, axis: Axis = None, dtype: Any = None, ddof: int = 0, keepdims: bool = False) -> Tensor:
    """The root of `nanvar`."""
    return result(ops.sqrt(_nanvar("nanstd", a, axis, ddof, keepdims)), "float32" if dtype is None else dtype)


def _nanvar(owner: str, a: Any, axis: Any, ddof: float, keepdims: Any) -> Tensor:
    x = tensor(owner, a, "a")
    x = cast_to(x, common(x.tensor_type.dtype, "float32"))
    axes = normalize_axes(owner, axis, x.ndim)
    centred = ops.sub(x, ops.div(ops.nansum(x, axes, True), _known(x, axes, True)))
    total = ops.nansum(ops.square(centred), axes, bool(keepdims))
    return ops.div(total, ops.sub(_known(x, axes, bool(keepdims)), float(ddof)))


__all__ = [
    "amax", "amin", "argmax", "argmin", "average", "count_nonzero", "cumprod", "cumsum", "mean", "nancumsum",
    "nanmax", "nanmean", "nanmin", "nanstd", "nansum", "nanvar", "ptp", "std", "sum_", "var",
]  # fmt: skip
