"""Differences, integrals, interpolation and convolution along an axis."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from graphc import ops
from graphc.errors import ArgumentTypeError, ArgumentValueError, ShapeError, user_loc
from graphc.ir.types import COMPLEX, FLOATS
from graphc.numpy.convert import common, count, promoted, tensor, tensors
from graphc.numpy.histograms import searchsorted
from graphc.numpy.shapes import concatenate
from graphc.ops.declared.rules import normalize_axes
from graphc.ops.declared.shape import check_axis
from graphc.ops.functional.core import Axis, Operand, cast_to
from graphc.ops.tensor.tensor import Tensor
from graphc.validation.checks import one_of
from graphc.validation.unused_arguments import only


def diff(a: Any, n: int = 1, axis: int = -1, prepend: Any = None, append: Any = None) -> Tensor:
    """Differences of neighbours along an axis, n times. prepend, append: what stands before and after, broadcast.

    ArgumentValueError if nothing is left.
    """
    x = tensor("diff", a, "a")
    at = check_axis("diff", axis, x.ndim)
    times = count("diff", "n", n)
    if not times:
        return x.value()
    edge = tuple(1 if i == at else d for i, d in enumerate(x.shape))
    ends = [None if e is None else ops.broadcast_to(tensor("diff", e, "an end"), edge) for e in (prepend, append)]
    joined = concatenate([v for v in (ends[0], x, ends[1]) if v is not None], at)
    if times >= joined.shape[at]:
        raise ArgumentValueError(f"diff: {times} differences leave nothing of {joined.tensor_type}", loc=user_loc())
    if joined.tensor_type.dtype == "bool":
        return cast_to(ops.diff(cast_to(joined, "int32"), times, at), "bool")
    return ops.diff(joined, times, at)


def ediff1d(ary: Any, to_end: Any = None, to_begin: Any = None) -> Tensor:
    """Differences of neighbours of the flattened tensor, with others before and after them, in its dtype."""
    x = tensor("ediff1d", ary, "ary")

    def ends(given: Any) -> list[Tensor]:
        return [] if given is None else [cast_to(ops.ravel(tensor("ediff1d", given, "an end")), x.tensor_type.dtype)]

    return concatenate([*ends(to_begin), diff(ops.ravel(x)), *ends(to_end)])


def gradient(f: Any, *varargs: Any, axis: Axis = None, edge_order: int = 1) -> Any:
    """Slopes by differences of the neighbours on both sides, at the ends of one: float32, of float64 float64.

    varargs: the distance of neighbours, one number for all axes or one each; 1 by default. A list if there are several axes.
    ArgumentValueError GC112 for an edge_order other than 1.
    """
    only("gradient", "edge_order", edge_order, 1)
    x = tensor("gradient", f, "f")
    x = x if x.tensor_type.dtype == "float64" else cast_to(x, "float32")
    axes = normalize_axes("gradient", axis, x.ndim)
    steps = varargs or (1,)
    if len(steps) not in (1, len(axes)):
        raise ArgumentTypeError(f"gradient: {len(steps)} distances do not fit {len(axes)} axes", loc=user_loc())
    made = [_slope(x, at, step) for at, step in zip(axes, steps if len(steps) > 1 else steps * len(axes), strict=True)]
    return made[0] if len(made) == 1 else made


def _slope(x: Tensor, at: int, step: Any) -> Tensor:
    if x.shape[at] < 2:
        raise ShapeError(f"gradient: axis {at} of {x.tensor_type} has no neighbours", loc=user_loc())
    distance = tensor("gradient", step, "a distance")
    if distance.ndim:
        raise ArgumentValueError(
            f"gradient: a distance is {distance.tensor_type}, only one number is supported",
            code="GC112",
            loc=user_loc(),
        )
    before = (slice(None),) * at
    last, first = ops.diff(x, 1, at), x.shape[at] - 1
    parts = [last[(*before, slice(0, 1))], last[(*before, slice(first - 1, first))]]
    if first > 1:
        both = ops.sub(x[(*before, slice(2, None))], x[(*before, slice(0, -2))])
        parts.insert(1, ops.mul(both, 0.5))
    return ops.div(ops.concat(parts, at), cast_to(distance, x.tensor_type.dtype))


def trapz(y: Any, x: Any = None, dx: Operand = 1.0, axis: int = -1) -> Tensor:
    """The integral over an axis by the trapezoidal rule, at distances dx or places x; in float32, halves in their own dtype."""
    given = tensor("trapz", y, "y")
    given = given if given.tensor_type.dtype in ("float16", "bfloat16") else cast_to(given, "float32")
    at = check_axis("trapz", axis, given.ndim)
    widths = tensor("trapz", dx, "dx") if x is None else diff(tensor("trapz", x))
    if widths.ndim:
        widths = ops.reshape(widths, widths.shape + (1,) * (given.ndim - at - widths.ndim))
    before = (slice(None),) * at
    means = ops.mul(ops.add(given[(*before, slice(1, None))], given[(*before, slice(0, -1))]), 0.5)
    return ops.reduce_sum(ops.mul(means, cast_to(widths, given.tensor_type.dtype)), at)


def unwrap(p: Any, discont: float = math.pi, axis: int = -1) -> Tensor:
    """Angles in radians without jumps of more than `discont` along an axis, by multiples of 2 pi; of integers in float32."""
    if isinstance(discont, bool) or not isinstance(discont, (int, float)):
        raise ArgumentTypeError(f"unwrap: discont must be a number, got {type(discont).__name__}", loc=user_loc())
    x = tensor("unwrap", p, "p")
    x = cast_to(x, common(x.tensor_type.dtype, "float32"))
    at = check_axis("unwrap", axis, x.ndim)
    steps = ops.diff(x, 1, at)
    inside = ops.sub(ops.floor_mod(ops.add(steps, math.pi), 2 * math.pi), math.pi)
    turned = ops.logical_and(ops.equal(inside, -math.pi), ops.greater(steps, 0.0))
    inside = ops.select(turned, math.pi, inside)
    moved = ops.select(ops.less(ops.abs(steps), float(discont)), 0.0, ops.sub(inside, steps))
    before = (slice(None),) * at
    tail = ops.add(x[(*before, slice(1, None))], ops.cumsum(moved, at))
    return ops.concat((x[(*before, slice(0, 1))], tail), at)


def interp(x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None) -> Tensor:
    """The values at x of the line through the points (xp, fp), xp ascending: float32, of float64 float64.

    left, right: the values before the first and after the last point, by default those of these points.
    """
    at, places, values = tensor("interp", x), *(cast_to(v, "float32") for v in tensors("interp", xp, fp))
    if places.ndim != 1 or places.shape != values.shape:
        raise ShapeError(
            f"interp: xp is {places.tensor_type}, fp is {values.tensor_type}: expected vectors of one size",
            loc=user_loc(),
        )
    at = cast_to(at, common(at.tensor_type.dtype, "float32"))
    last = places.size - 1
    upper = ops.minimum(searchsorted(places, at), last)
    lower = ops.maximum(ops.sub(upper, 1), 0)
    x0, x1, y0, y1 = (v[i] for v in (places, values) for i in (lower, upper))
    width = ops.sub(x1, x0)
    none = ops.equal(width, 0.0)
    share = ops.div(ops.sub(at, x0), ops.select(none, 1.0, width))
    made = ops.select(none, y0, ops.add(y0, ops.mul(share, ops.sub(y1, y0))))
    ends = [values[k] if end is None else tensor("interp", end, "an end") for k, end in ((0, left), (last, right))]
    made = ops.select(ops.less(at, places[0]), cast_to(ends[0], made.tensor_type.dtype), made)
    return ops.select(ops.greater(at, places[last]), cast_to(ends[1], made.tensor_type.dtype), made)


# ---- convolution


def convolve(a: Any, v: Any, mode: str = "full") -> Tensor:
    """sum over k of a[k] v[n - k] of two vectors, in their common dtype; integers but int64 and halves are computed in float32.

    mode: "full" for all n, "same" for as many as the longer one has, "valid" for those that the shorter one fits in.
    """
    x, y = tensors("convolve", a, v)
    wanted = common(x.tensor_type.dtype, y.tensor_type.dtype)
    x, y = (cast_to(ops.reshape(t, (-1,)) if t.ndim == 0 else t, _summed_in(wanted)) for t in (x, y))
    if x.ndim != 1 or y.ndim != 1 or not x.size or not y.size:
        raise ShapeError(
            f"convolve: {x.tensor_type} and {y.tensor_type}, expected vectors with elements", loc=user_loc()
        )
    if x.size < y.size:
        x, y = y, x
    made = _slid(x, ops.flip(y, (0,)), *_borders("convolve", mode, y.size))
    return cast_to(made, wanted)


def correlate(a: Any, v: Any, mode: str = "valid") -> Tensor:
    """sum over k of a[n + k] v[k], of complex v the conjugate, of two vectors, in their common dtype; of integers in float32, of
    int64 in float64.

    mode as in `convolve`.
    """
    x, y = promoted(*tensors("correlate", a, v))
    if x.ndim != 1 or y.ndim != 1 or not x.size or not y.size:
        raise ShapeError(
            f"correlate: {x.tensor_type} and {y.tensor_type}, expected vectors with elements", loc=user_loc()
        )
    dtype = x.tensor_type.dtype
    x, y = (t if dtype in FLOATS else cast_to(t, _summed_in(dtype)) for t in (x, y))
    y = ops.conj(y)
    if x.size < y.size:
        # The shorter one slides, and what comes out runs the other way.
        return ops.flip(_slid(y, x, *_borders("correlate", mode, x.size)), (0,))
    return _slid(x, y, *_borders("correlate", mode, y.size))


def _summed_in(dtype: str) -> str:
    """The dtype in which products of two vectors are added up."""
    return dtype if dtype in (*COMPLEX, "float64") else "float64" if dtype == "int64" else "float32"


def _borders(owner: str, mode: str, size: int) -> tuple[int, int]:
    borders = {"full": (size - 1, size - 1), "same": (size // 2, size - size // 2 - 1), "valid": (0, 0)}
    return borders[one_of(owner, "mode", mode, borders)]


def _slid(x: Tensor, y: Tensor, before: int, after: int) -> Tensor:
    """sum over k of x[n + k] y[k], x continued with zeros."""
    ends = [ops.zeros((n,), x.dtype) for n in (before, after)]
    wide = ops.concat([t for t in (ends[0], x, ends[1]) if t.size], 0)
    size = wide.size - y.size + 1
    windows = ops.gather(wide, Tensor(np.add.outer(np.arange(y.size), np.arange(size))), 0)
    return ops.reduce_sum(ops.mul(windows, ops.expand_dims(y, 1)), 0)


__all__ = [
    "convolve", "correlate", "diff", "ediff1d", "gradient", "interp", "trapz", "unwrap",
]  # fmt: skip
