"""Pooling of images [N, H, W, C] by windows of two sizes, whose borders are drawn (Graham, 2014)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from graphc.errors import ArgumentTypeError, ArgumentValueError, ShapeError, user_loc
from graphc.ir.types import FLOATS
from graphc.ops.functional.arithmetic import div, truncate_div
from graphc.ops.functional.core import call, cast, cast_to
from graphc.ops.functional.cumulative import cumsum
from graphc.ops.functional.elementwise import add, ceil, less, minimum, mul, sub
from graphc.ops.functional.extrema import arg_with_value
from graphc.ops.functional.joining import concat
from graphc.ops.functional.logic import select
from graphc.ops.functional.random import uniform_from
from graphc.ops.functional.reduce import reduce_sum
from graphc.ops.functional.shapes import expand_dims, reshape
from graphc.ops.functional.slicing import getitem
from graphc.ops.functional.sorting import argsort
from graphc.ops.tensor.seed import generator
from graphc.ops.tensor.tensor import Tensor

# ---- borders


def _borders(size: int, count: int, pseudo: bool, drawn: Tensor) -> Tensor:
    """int64 [count + 1]: where the windows of an axis begin, and its end; of numbers [count] that are uniform in [0, 1).

    Windows have size // count elements, or one more. They are in any order, or if `pseudo` spread evenly from a place on that is
    drawn.
    """
    if size == count:
        return Tensor(np.arange(count + 1))
    least = size // count
    if not pseudo:
        more = size - least * count
        # The numbers that are among the smallest make a window larger.
        places = argsort(argsort(drawn))
        widths = add(cast(less(places, more), "int64"), least)
        return concat((Tensor(np.zeros(1, np.int64)), cumsum(widths, 0)), 0)
    ratio = size / count
    most = min((least + 2) / ratio - 1, (size + 1 - least) / ratio - (count - 1))
    first = getitem(drawn, slice(0, 1))
    steps = add(Tensor(np.arange(1, count, dtype=np.float32)), mul(first, most))
    inner = sub(cast(ceil(mul(steps, ratio)), "int64"), 1)
    return concat((Tensor(np.zeros(1, np.int64)), inner, Tensor(np.array([size]))), 0)


def _all_borders(
    owner: str,
    sizes: tuple[int, int],
    counts: tuple[int, int],
    pseudo: bool,
    deterministic: bool,
    seeds: tuple[int, int],
) -> list[Tensor]:
    """The borders of rows and columns: the same ones always, of the seeds, or others each time."""
    if not deterministic:
        if any(seeds):
            raise ArgumentValueError(
                f"{owner}: seed and seed2 must be 0 unless deterministic, got {seeds}", loc=user_loc()
            )
        drawn = uniform_from(generator(None), (sum(counts),))
        parts = [getitem(drawn, slice(0, counts[0])), getitem(drawn, slice(counts[0], None))]
        return [_borders(s, c, pseudo, p) for s, c, p in zip(sizes, counts, parts, strict=True)]
    fixed = np.random.default_rng([s & 0xFFFFFFFFFFFFFFFF for s in seeds])
    return [_borders(s, c, pseudo, Tensor(fixed.random(c, np.float32))) for s, c in zip(sizes, counts, strict=True)]


# ---- pooling


def _seen(x: Tensor, axis: int, borders: Tensor, width: int, overlapping: bool) -> tuple[Tensor, Tensor]:
    """(what the windows of an axis see, `width` elements in an axis behind it; bool [count, width]: which of them there are)."""
    begins, ends = getitem(borders, slice(0, -1)), getitem(borders, slice(1, None))
    if overlapping:
        ends = minimum(add(ends, 1), x.shape[axis])
    places = add(expand_dims(begins, 1), Tensor(np.arange(width)))
    there = less(places, expand_dims(ends, 1))
    return call("Gather", x, select(there, places, 0), axis=axis), there


def _beside(there: Tensor, axis: int) -> Tensor:
    """bool [count, width] for windows of an axis of [N, H, W, C], which are behind it."""
    return reshape(there, (*[1] * axis, *there.shape, *[1] * (3 - axis)))


def fractional_pool(
    owner: str,
    x: Tensor,
    ratio: list[float],
    pseudo_random: bool,
    overlapping: bool,
    deterministic: bool,
    seeds: tuple[int, int],
    largest: bool,
) -> tuple[Tensor, Tensor, Tensor]:
    """(maxima or means of windows [N, H // ratio[1], W // ratio[2], C], int64: the borders of rows, and of columns).

    x: float32, float64, int32 or int64 [N, H, W, C]; ratio: [1.0, rows, columns, 1.0], at least 1. overlapping: a window has the
    first elements of the next one, too. Means of integers lose their fraction. Raises ShapeError, ArgumentTypeError,
    ArgumentValueError.
    """
    if not isinstance(ratio, (list, tuple)) or not all(type(r) is float for r in ratio):
        raise ArgumentTypeError(f"{owner}: pooling_ratio must be a list of floats, got {ratio!r}", loc=user_loc())
    if len(ratio) != 4 or ratio[0] != 1 or ratio[3] != 1 or min(ratio) < 1:
        raise ArgumentValueError(
            f"{owner}: pooling_ratio must be [1.0, rows, columns, 1.0], at least 1, got {ratio!r}", loc=user_loc()
        )
    dtype = x.tensor_type.dtype
    if x.ndim != 4 or dtype not in ("float32", "float64", "int32", "int64"):
        raise ShapeError(
            f"{owner}: x is {x.tensor_type}, expected [N, H, W, C] of float32, float64, int32 or int64", loc=user_loc()
        )
    sizes = (x.shape[1], x.shape[2])
    counts = (int(sizes[0] / ratio[1]), int(sizes[1] / ratio[2]))
    if min(counts) < 1:
        raise ArgumentValueError(f"{owner}: of {sizes} pixels pooling_ratio {ratio!r} leaves none", loc=user_loc())
    borders = _all_borders(owner, sizes, counts, pseudo_random, deterministic, seeds)
    more = (1 if pseudo_random else 0, 1 if overlapping else 0)
    widths = [
        min(-(-size // count) + (more[0] if size % count else 0) + more[1], size)
        for size, count in zip(sizes, counts, strict=True)
    ]
    return pooled_between(x, borders, widths, overlapping, largest), borders[0], borders[1]


def pooled_between(
    x: Tensor, borders: Sequence[Tensor], widths: Sequence[int], overlapping: bool, largest: bool
) -> Tensor:
    """Maxima or means of the windows of images [N, H, W, C] between borders of rows and of columns, int64[count + 1] each.

    widths: how many rows and columns the windows have at most.
    """
    dtype = x.tensor_type.dtype
    if largest:
        lowest = -float("inf") if dtype in FLOATS else int(np.iinfo(x.tensor_type.numpy).min)
        # Of equal elements the first in a window has the gradient: rows are looked through from the top.
        for axis in (2, 1):
            seen, there = _seen(x, axis, borders[axis - 1], widths[axis - 1], overlapping)
            x = arg_with_value(select(_beside(there, axis), seen, lowest), axis + 1, False, True)[1]
        return x
    made, shares = x, []
    for axis, width, ends in zip((1, 2), widths, borders, strict=True):
        made, there = _seen(made, axis, ends, width, overlapping)
        made = reduce_sum(select(_beside(there, axis), made, 0), axis + 1)
        shares.append(reduce_sum(cast(there, "int64"), 1))
    elements = mul(reshape(shares[0], (1, -1, 1, 1)), reshape(shares[1], (1, 1, -1, 1)))
    divided = div if dtype in FLOATS else truncate_div
    return divided(made, cast_to(elements, dtype))
