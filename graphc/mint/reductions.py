"""Functions along axes: sums, extremes, moments, scans."""

from __future__ import annotations

import builtins
import math
from typing import Any

from graphc import ops
from graphc.ops.declared.rules import normalize_axes
from graphc.ops.functional.core import shape_of
from graphc.ops.tensor.deferred import Deferred
from graphc.ops.tensor.tensor import Tensor

Axes = int | tuple[int, ...] | list[int] | None


def _cast(input: Tensor, dtype: Any) -> Tensor:
    return input if dtype is None else ops.cast(input, dtype)


def all(input: Tensor, dim: Axes = None, keepdim: bool = False) -> Tensor:
    """bool: whether all elements along axes, by default all of them, are not zero."""
    return ops.all(input, dim, keepdim)


def any(input: Tensor, dim: Axes = None, keepdim: bool = False) -> Tensor:
    """bool: whether an element along axes, by default all of them, is not zero."""
    return ops.any(input, dim, keepdim)


def amax(input: Tensor, dim: Axes = (), keepdim: bool = False) -> Tensor:
    """The greatest along axes; () are all of them."""
    return ops.amax(input, None if dim == () else dim, keepdim)


def amin(input: Tensor, dim: Axes = (), keepdim: bool = False) -> Tensor:
    """The least along axes; () are all of them."""
    return ops.amin(input, None if dim == () else dim, keepdim)


def argmax(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Tensor:
    """int64: where the greatest is along an axis, of all elements by default."""
    return ops.argmax(input, dim, keepdim)


def argmin(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Tensor:
    """int64: where the least is along an axis, of all elements by default."""
    return ops.cast(ops.argmin(input, dim, keepdim), "int64")


def allclose(input: Tensor, other: Tensor, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> bool:
    """Whether each |input - other| is at most atol + rtol |other|. Eager calls only."""
    return bool(ops.all(ops.isclose(input, other, rtol, atol, equal_nan)))


def equal(input: Tensor, other: Tensor) -> bool:
    """Whether two tensors have the same shape and equal elements. Eager calls only."""
    return input.shape == other.shape and bool(ops.all(ops.equal(input, other)))


def kthvalue(input: Tensor, k: int, dim: int = -1, keepdim: bool = False) -> tuple[Tensor, Tensor]:
    """(the k-th least along an axis, counted from 1, int64 where it is)."""
    values, indices = ops.kthvalue(input, k, dim, keepdim)
    return values, ops.cast(indices, "int64")


def histc(input: Tensor, bins: int = 100, min: float = 0, max: float = 0) -> Tensor:
    """How many elements lie in each of `bins` parts of the range from min to max, by default of their own."""
    return ops.cast(ops.histc(input, bins, float(min), float(max)), input.dtype)


def bincount(input: Tensor, weights: Tensor | None = None, minlength: int = 0) -> Tensor:
    """How often each number is there, int64, or the sum of its weights; at least minlength of them. Eager calls only."""
    counted = ops.bincount(input, weights, minlength)
    return ops.cast(counted, "int64") if weights is None else counted


def max(input: Tensor, dim: int | Tensor | None = None, keepdim: bool = False) -> Any:
    """The greatest of all; along an axis (values, int64 indices); of two tensors `maximum`."""
    return _extreme(ops.max, ops.maximum, input, dim, keepdim)


def min(input: Tensor, dim: int | Tensor | None = None, keepdim: bool = False) -> Any:
    """The least of all; along an axis (values, int64 indices); of two tensors `minimum`."""
    return _extreme(ops.min, ops.minimum, input, dim, keepdim)


def _extreme(reduce: Any, of_two: Any, input: Tensor, dim: Any, keepdim: bool) -> Any:
    if isinstance(dim, Tensor):
        return of_two(input, dim)
    values, indices = reduce(input, dim, keepdim)
    return values if dim is None else (values, ops.cast(indices, "int64"))


def median(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Any:
    """The middle one, of two the lower, of all; along an axis (values, int64 indices)."""
    if dim is None:
        return ops.median(ops.reshape(input, (-1,)), 0)[0]
    values, indices = ops.median(input, dim, keepdim)
    return values, ops.cast(indices, "int64")


def count_nonzero(input: Tensor, dim: Axes = None) -> Tensor:
    """int64: how many elements along axes, by default all of them, are not zero."""
    return ops.count_nonzero(input, () if dim is None else dim, False, "int64")


def sum(input: Tensor, dim: Axes = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """The sum along axes, by default all of them; of integers in int64, unless dtype says otherwise."""
    return ops.sum(input, dim, keepdim, dtype=dtype)


def nansum(input: Tensor, dim: Axes = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """The sum of what is not NaN."""
    return ops.nansum(input, dim, keepdim, dtype=dtype)


def mean(input: Tensor, dim: Axes = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """The mean along axes, by default all of them; dtype: what it is cast to before."""
    return ops.mean(_cast(input, dtype), dim, keepdim)


def prod(input: Tensor, dim: Axes = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """The product along axes, by default all of them; of integers in int64, unless dtype says otherwise."""
    return ops.prod(input, dim, keepdim, dtype)


def var(input: Tensor, dim: Axes = None, *, correction: int = 1, keepdim: bool = False) -> Tensor:
    """The sum of squared distances from the mean, over their number less correction, or over 0."""
    return ops.var(input, dim, _correction(input, dim, correction), keepdim)


def std(input: Tensor, dim: Axes = None, *, correction: int = 1, keepdim: bool = False) -> Tensor:
    """The root of `var`."""
    return ops.std(input, dim, _correction(input, dim, correction), keepdim)


def _correction(input: Tensor, dim: Axes, correction: int) -> int:
    """No more than the number of elements that a result is made of, where that is known."""
    sizes = [shape_of(input)[a] for a in normalize_axes("var", dim, input.ndim)]
    return (
        correction
        if builtins.any(isinstance(n, Deferred) for n in sizes)
        else builtins.min(correction, math.prod(sizes))
    )


def var_mean(input: Tensor, dim: Axes = None, *, correction: int = 1, keepdim: bool = False) -> tuple[Tensor, Tensor]:
    """(`var`, `mean`)."""
    return var(input, dim, correction=correction, keepdim=keepdim), mean(input, dim, keepdim)


def std_mean(input: Tensor, dim: Axes = None, *, correction: int = 1, keepdim: bool = False) -> tuple[Tensor, Tensor]:
    """(`std`, `mean`)."""
    return std(input, dim, correction=correction, keepdim=keepdim), mean(input, dim, keepdim)


def logsumexp(input: Tensor, dim: Axes, keepdim: bool = False) -> Tensor:
    """log of the sum of exp along axes, without overflow."""
    return ops.logsumexp(input, dim, keepdim)


def cumsum(input: Tensor, dim: int, dtype: Any = None) -> Tensor:
    """Sums of all up to each element along an axis; of integers in int64, unless dtype says otherwise."""
    whole = dtype is None and not ops.is_floating_point(input)
    return ops.cumsum(_cast(input, "int64" if whole else dtype), dim)


def cumprod(input: Tensor, dim: int, dtype: Any = None) -> Tensor:
    """Products of all up to each element along an axis; dtype: what it is cast to before."""
    return ops.cumprod(input, dim, dtype)


def cummax(input: Tensor, dim: int) -> tuple[Tensor, Tensor]:
    """(greatest up to each element along an axis, int64 where it is; the last of equal ones)."""
    return ops.cummax(input, dim)


def cummin(input: Tensor, dim: int) -> tuple[Tensor, Tensor]:
    """(least up to each element along an axis, int64 where it is; the last of equal ones)."""
    values, indices = ops.cummin(input, dim)
    return values, ops.cast(indices, "int64")


def diff(
    input: Tensor, n: int = 1, dim: int = -1, prepend: Tensor | None = None, append: Tensor | None = None
) -> Tensor:
    """Differences of neighbours along an axis, n times; prepend, append: put before and behind input first."""
    return ops.diff(input, n, dim, prepend, append)


__all__ = [
    "all", "allclose", "amax", "amin", "any", "argmax", "argmin", "bincount", "count_nonzero", "cummax", "cummin",
    "cumprod", "cumsum", "diff", "equal", "histc", "kthvalue", "logsumexp", "max", "mean", "median", "min", "nansum", "prod",
    "std", "std_mean", "sum", "var", "var_mean",
]  # fmt: skip
