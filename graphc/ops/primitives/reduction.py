"""Reductions, scans and sorting as primitives."""

from __future__ import annotations

from typing import Any

from graphc.ops import functional as F
from graphc.ops.declared.shape import check_axis
from graphc.ops.functional.core import Axis, Count, greatest
from graphc.ops.functional.cumulative import logcumsumexp
from graphc.ops.functional.dynamic import known_number
from graphc.ops.functional.extrema import arg_with_value, place
from graphc.ops.functional.operand_checks import require_alike
from graphc.ops.functional.reduce import reduce_prod
from graphc.ops.functional.sorting import bucketize, searchsorted
from graphc.ops.functional.statistics import renorm
from graphc.ops.tensor.dtype import int32, int64, to_name
from graphc.ops.tensor.primitive import REQUIRED, declare
from graphc.ops.tensor.tensor import Tensor

# ---- reductions


def _over(function: Any) -> Any:
    def reduction(x: Tensor, axis: Axis = (), keep_dims: bool = False) -> Tensor:
        if isinstance(axis, Tensor):
            axis = tuple(int(a) for a in axis.asnumpy().reshape(-1))
        return function(x, tuple(axis) if isinstance(axis, list) else axis, keep_dims)  # type: ignore[no-any-return]

    reduction.__doc__ = function.__doc__
    return reduction


def _sum(x: Tensor, axis: Axis = (), keep_dims: bool = False, skip_mode: bool = False) -> Tensor:
    """The sum over axes, of no axis over all; with skip_mode over none."""
    return x if skip_mode and isinstance(axis, (tuple, list)) and not axis else _over(F.reduce_sum)(x, axis, keep_dims)


ReduceSum = declare("ReduceSum", _sum, keep_dims=False, skip_mode=False)

ReduceMean = declare("ReduceMean", _over(F.reduce_mean), keep_dims=False)

ReduceMax, ReduceMin = (
    declare(n, _over(f), keep_dims=False) for n, f in (("ReduceMax", F.reduce_max), ("ReduceMin", F.reduce_min))
)

ReduceAll, ReduceAny = (
    declare(n, _over(f), keep_dims=False) for n, f in (("ReduceAll", F.reduce_all), ("ReduceAny", F.reduce_any))
)

ReduceProd = declare("ReduceProd", _over(reduce_prod), keep_dims=False)


def _reduce_std(x: Tensor, axis: Axis, unbiased: bool, keep_dims: bool) -> tuple[Tensor, Tensor]:
    """(standard deviation, mean) over axes."""
    axes = tuple(axis) if isinstance(axis, (list, tuple)) else axis
    return F.std(x, axes, int(unbiased), keep_dims), F.reduce_mean(x, axes, keep_dims)


ReduceStd = declare("ReduceStd", _reduce_std, axis=(), unbiased=True, keep_dims=False)


def _lp_norm(x: Tensor, axis: Axis, p: float, keep_dims: bool, epsilon: float) -> Tensor:
    """(sum |x|^p)^(1/p) over axes, at least epsilon."""
    made = F.vector_norm(x, p, tuple(axis) if isinstance(axis, list) else axis, keep_dims)
    return F.maximum(made, epsilon)


LpNorm = declare("LpNorm", _lp_norm, axis=REQUIRED, p=2, keep_dims=False, epsilon=1e-12)


def _square_sums(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    """The sum of squares of each operand."""
    require_alike("SquareSumAll", x=x, y=y)
    return F.reduce_sum(F.square(x)), F.reduce_sum(F.square(y))


SquareSumAll, L2Loss = declare("SquareSumAll", _square_sums), declare("L2Loss", F.l2_loss)


def _arg(largest: bool) -> Any:
    def find(x: Tensor, axis: int, output_type: Any) -> Tensor:
        return place(x, axis, False, largest, to_name(output_type))

    find.__doc__ = f"The place of the first {'largest' if largest else 'smallest'} element along an axis."
    return find


def _arg_value(largest: bool) -> Any:
    def find(x: Tensor, axis: int, keep_dims: bool) -> tuple[Tensor, Tensor]:
        return arg_with_value(x, axis, keep_dims, largest)

    find.__doc__ = f"(place, value) of the first {'largest' if largest else 'smallest'} element along an axis."
    return find


Argmax, Argmin = (declare(n, _arg(b), axis=-1, output_type=int32) for n, b in (("Argmax", True), ("Argmin", False)))

ArgMaxWithValue, ArgMinWithValue = (
    declare(n, _arg_value(b), axis=0, keep_dims=False)
    for n, b in (("ArgMaxWithValue", True), ("ArgMinWithValue", False))
)


def _cumulative(name: str, scan: Any, neutral: Any) -> Any:
    """A scan from either end, with or without the element itself; `neutral` of a dtype is what comes before the first."""

    def run(x: Tensor, axis: Count, exclusive: bool, reverse: bool) -> Tensor:
        at = check_axis(name, known_number(name, axis) if isinstance(axis, Tensor) else axis, x.ndim)
        if reverse:
            x = F.flip(x, (at,))
        if exclusive:
            before = (slice(None),) * at
            lead = F.full_like(x[(*before, slice(0, 1))], neutral(x.tensor_type.dtype))
            x = F.concat((lead, x[(*before, slice(0, x.shape[at] - 1))]), at)
        made: Tensor = scan(x, at)
        return F.flip(made, (at,)) if reverse else made

    run.__doc__ = scan.__doc__
    return run


CumSum = declare("CumSum", _cumulative("CumSum", F.cumsum, lambda _: 0), exclusive=False, reverse=False)

CumProd = declare(
    "CumProd",
    _cumulative("CumProd", lambda x, axis: F.cumprod(x, axis, x.dtype), lambda _: 1),
    F.cumprod.__doc__,
    exclusive=False,
    reverse=False,
)

Cummax, Cummin = declare("Cummax", F.cummax, axis=REQUIRED), declare("Cummin", F.cummin, axis=REQUIRED)

TopK = declare("TopK", lambda x, k, sorted: F.topk(x, k), F.topk.__doc__, sorted=True)

Sort = declare("Sort", F.sort, axis=-1, descending=False)

InTopK = declare("InTopK", F.in_top_k, k=REQUIRED)

CountNonZero = declare("CountNonZero", lambda x, dims: F.count_nonzero(x, dims), F.count_nonzero.__doc__, dims=None)

Renorm = declare(
    "Renorm",
    lambda x, p, dim, maxnorm: renorm(x, p, dim, maxnorm),
    renorm.__doc__,
    p=REQUIRED,
    dim=REQUIRED,
    maxnorm=REQUIRED,
)

Bucketize = declare(
    "Bucketize",
    lambda x, boundaries: bucketize(x, boundaries, right=True),
    bucketize.__doc__,
    boundaries=REQUIRED,
)


def _search(sequence: Tensor, values: Tensor, sorter: Any = None, *, dtype: Any, right: bool) -> Tensor:
    """How many elements along the last axis are less than each value (right: not greater)."""
    return F.cast(searchsorted(sequence, values, right=right, sorter=sorter), dtype)


SearchSorted = declare("SearchSorted", _search, dtype=int64, right=False)

CumulativeLogsumexp = declare(
    "CumulativeLogsumexp",
    _cumulative("CumulativeLogsumexp", logcumsumexp, lambda dtype: -greatest(dtype)),
    logcumsumexp.__doc__,
    exclusive=False,
    reverse=False,
)
