"""More elements at the ends of axes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from graphc import ops
from graphc.errors import ArgumentTypeError, ArgumentValueError, user_loc
from graphc.numpy.choosing import apply_along_axis
from graphc.numpy.convert import tensor
from graphc.numpy.creation import linspace
from graphc.numpy.reductions import amax, amin, mean
from graphc.numpy.shapes import concatenate, tile
from graphc.ops.functional.core import Extents, cast_to
from graphc.ops.functional.padding import continued
from graphc.ops.tensor.tensor import Tensor
from graphc.validation.checks import one_of
from graphc.validation.unused_arguments import refusal

Pairs = tuple[tuple[Any, Any], ...]

#: Modes that repeat elements, by NumPy's names of them.
_REPEATED = ("edge", "wrap", "symmetric", "reflect")
_STATISTICS: dict[str, Callable[..., Tensor]] = {"maximum": amax, "minimum": amin, "mean": mean}
_MODES = ("constant", "empty", "linear_ramp", *_REPEATED, *_STATISTICS)


def pad(
    arr: Any,
    pad_width: Extents,
    mode: Any = "constant",
    stat_length: Any = None,
    constant_values: Any = 0,
    end_values: Any = 0,
    reflect_type: str = "even",
    **kwargs: Any,
) -> Tensor:
    """arr with more elements before and after along each axis, in its dtype.

    pad_width: how many, one number, or (before, after) for all axes or one each; so may be the values, too.
    mode: "constant" (constant_values), "empty" (zeros), "linear_ramp" (to end_values), "edge", "wrap", "symmetric",
    "reflect" ("odd" by reflect_type: the border's double less the mirror image), "maximum", "minimum" and "mean" (of
    stat_length elements at that end, by default all); or a function of (vector, (before, after), axis, kwargs) that gives the
    vector with its new elements, which are 0. ArgumentValueError GC112 for "median".
    """
    x = tensor("pad", arr, "arr")
    if not x.ndim:
        return x.value()
    widths = _pairs("pad_width", pad_width, x.ndim)
    if any(isinstance(w, bool) or not isinstance(w, int) or w < 0 for pair in widths for w in pair):
        raise ArgumentValueError(f"pad: pad_width must be numbers of elements, got {pad_width!r}", loc=user_loc())
    if callable(mode):
        return _by_function(x, widths, mode, kwargs)
    if mode == "median":
        raise refusal("pad", "mode", mode, *_MODES)
    one_of("pad", "mode", mode, _MODES)
    odd = one_of("pad", "reflect_type", reflect_type, ("even", "odd")) == "odd"
    if mode in ("constant", "empty"):
        return _constant(x, widths, _pairs("constant_values", 0 if mode == "empty" else constant_values, x.ndim))
    if mode == "linear_ramp":
        return _ramp(x, widths, _pairs("end_values", end_values, x.ndim))
    if mode in _STATISTICS:
        lengths = _pairs("stat_length", max(x.shape) if stat_length is None else stat_length, x.ndim)
        return _statistic(x, widths, lengths, _STATISTICS[mode])
    return _repeated(x, widths, mode, odd and mode in ("symmetric", "reflect"))


def _pairs(name: str, given: Any, rank: int) -> Pairs:
    """(before, after) for each axis."""
    try:
        array = np.broadcast_to(np.asarray(given), (rank, 2))
    except ValueError:
        raise ArgumentTypeError(
            f"pad: {name} must be a number, a pair, or {rank} pairs, got {given!r}", loc=user_loc()
        ) from None
    return tuple((a, b) for a, b in array.tolist())


def _before(axis: int, *part: slice) -> tuple[slice, ...]:
    return (slice(None),) * axis + part


def _constant(x: Tensor, widths: Pairs, values: Pairs) -> Tensor:
    for axis, (counts, numbers) in enumerate(zip(widths, values, strict=True)):
        ends = [
            ops.full(tuple(n if i == axis else d for i, d in enumerate(x.shape)), v, dtype=x.dtype)
            for n, v in zip(counts, numbers, strict=True)
        ]
        x = _with_ends(ends[0], x, ends[1], axis)
    return x


def _with_ends(first: Tensor, x: Tensor, last: Tensor, axis: int) -> Tensor:
    return concatenate([t for t in (first, x, last) if t is x or t.size], axis)


def _ramp(x: Tensor, widths: Pairs, values: Pairs) -> Tensor:
    for axis, ((before, after), (low, high)) in enumerate(zip(widths, values, strict=True)):
        first, last = x[_before(axis, slice(0, 1))], x[_before(axis, slice(x.shape[axis] - 1, None))]
        made = [x]
        if before:
            ramp = linspace(low, first, before, endpoint=False, dtype=x.dtype, axis=axis)
            made.insert(0, ops.squeeze(ramp, axis + 1))
        if after:
            ramp = ops.squeeze(linspace(last, high, after + 1, dtype=x.dtype, axis=axis), axis + 1)
            made.append(ramp[_before(axis, slice(1, None))])
        x = concatenate(made, axis)
    return x


def _statistic(x: Tensor, widths: Pairs, lengths: Pairs, of: Callable[..., Tensor]) -> Tensor:
    for axis, (counts, parts) in enumerate(zip(widths, lengths, strict=True)):
        size = x.shape[axis]
        first, last = (min(int(n), size) for n in parts)
        sides = (slice(0, first), slice(size - last, size))
        ends = [
            tile(of(x[_before(axis, side)], axis=axis, keepdims=True), _times(x.ndim, axis, n))
            for side, n in zip(sides, counts, strict=True)
        ]
        x = _with_ends(ends[0], x, ends[1], axis)
    return x


def _times(rank: int, axis: int, times: int) -> tuple[int, ...]:
    return tuple(times if i == axis else 1 for i in range(rank))


def _repeated(x: Tensor, widths: Pairs, mode: Any, odd: bool) -> Tensor:
    if not odd:
        return continued(x, widths, mode, again=True)
    for axis, pair in enumerate(widths):
        size = x.shape[axis]
        if pair == (0, 0):
            continue
        # Each new element is a sum of old ones: the rows of a matrix say which.
        rows = np.pad(np.eye(size, dtype=np.int64), (pair, (0, 0)), mode, reflect_type="odd")
        factors = cast_to(Tensor(rows), x.tensor_type.dtype)
        x = ops.moveaxis(ops.tensor_dot(factors, x, ([1], [axis])), 0, axis)
    return x.value()


def _by_function(x: Tensor, widths: Pairs, function: Callable[..., Any], options: dict[str, Any]) -> Tensor:
    x = _constant(x, widths, _pairs("constant_values", 0, x.ndim))
    for axis, pair in enumerate(widths):
        x = apply_along_axis(function, axis, x, pair, axis, options)
    return x


__all__ = [
    "pad",
]  # fmt: skip
