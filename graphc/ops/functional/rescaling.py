"""Images that are scaled and moved, by one of several filters."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from graphc.errors import ShapeError, user_loc
from graphc.ops.functional.arithmetic import div
from graphc.ops.functional.core import Extents, cast
from graphc.ops.functional.distributions import sizes
from graphc.ops.functional.elementwise import (
    abs_,
    add,
    equal,
    exp,
    greater,
    greater_equal,
    less,
    less_equal,
    logical_and,
    maximum,
    mul,
    sin,
    square,
    sub,
)
from graphc.ops.functional.logic import select
from graphc.ops.functional.products import matmul
from graphc.ops.functional.reduce import reduce_sum
from graphc.ops.functional.shapes import expand_dims, reshape
from graphc.ops.functional.slicing import getitem
from graphc.ops.tensor.tensor import Tensor, as_tensor
from graphc.validation.checks import one_of

Filter = Callable[[Tensor], Tensor]

# ---- filters: weights of distances x >= 0


def _lanczos(radius: float) -> Filter:
    def weights(x: Tensor) -> Tensor:
        turns = mul(maximum(x, 1e-3), math.pi)
        wave = div(mul(mul(sin(turns), sin(div(turns, radius))), radius), square(turns))
        return select(greater(x, radius), 0.0, select(less_equal(x, 1e-3), 1.0, wave))

    return weights


def _gaussian(x: Tensor) -> Tensor:
    return select(greater_equal(x, 1.5), 0.0, exp(mul(square(x), -2.0)))


def _box(x: Tensor) -> Tensor:
    return select(less(x, 0.5), 1.0, select(equal(x, 0.5), 0.5, 0.0))


def _triangle(x: Tensor) -> Tensor:
    return maximum(sub(1.0, x), 0.0)


def _polynomial(x: Tensor, factors: tuple[float, ...]) -> Tensor:
    """By Horner's rule, the highest power first."""
    made: Any = factors[0]
    for factor in factors[1:]:
        made = add(mul(x, made), factor)
    return made  # type: ignore[no-any-return]


def _cubic(near: tuple[float, ...], far: tuple[float, ...]) -> Filter:
    def weights(x: Tensor) -> Tensor:
        return select(greater_equal(x, 2.0), 0.0, select(less(x, 1.0), _polynomial(x, near), _polynomial(x, far)))

    return weights


#: Name -> the distance up to which a filter reaches, and its weights.
FILTERS: dict[str, tuple[float, Filter]] = {
    "lanczos1": (1.0, _lanczos(1.0)),
    "lanczos3": (3.0, _lanczos(3.0)),
    "lanczos5": (5.0, _lanczos(5.0)),
    "gaussian": (1.5, _gaussian),
    "box": (0.5, _box),
    "triangle": (1.0, _triangle),
    "keyscubic": (2.0, _cubic((1.5, -2.5, 0.0, 1.0), (-0.5, 2.5, -4.0, 2.0))),
    "mitchellcubic": (2.0, _cubic((7 / 6, -2.0, 0.0, 8 / 9), (-7 / 18, 2.0, -10 / 3, 16 / 9))),
}


def _weights(count: int, wanted: int, scale: Tensor, translation: Tensor, kernel: str, antialias: bool) -> Tensor:
    """[wanted, count]: of each new place the weights of the old ones; zeros where it lies beyond the image."""
    radius, filter_ = FILTERS[kernel]
    inverse = div(1.0, scale)
    spread = maximum(inverse, 1.0) if antialias else as_tensor(np.float32(1))
    at = mul(sub(Tensor(np.arange(wanted, dtype=np.float32) + np.float32(0.5)), translation), inverse)
    middles = Tensor(np.arange(count, dtype=np.float32) + np.float32(0.5))
    apart = abs_(sub(middles, expand_dims(at, 1)))
    near = less_equal(apart, mul(spread, radius))
    raw = select(near, filter_(div(apart, spread)), 0.0)
    total = reduce_sum(raw, 1, True)
    inside = logical_and(greater_equal(at, 0.0), less_equal(at, float(count)))
    usable = logical_and(expand_dims(inside, 1), greater(abs_(total), 1e-35))
    return select(usable, div(raw, select(usable, total, 1.0)), 0.0)


def scale_and_translate(
    images: Tensor, size: Extents, scale: Any, translation: Any, kernel_type: str, antialias: bool
) -> Tensor:
    """float32 [N, height, width, C]: images [N, H, W, C] multiplied in size by `scale`, then moved by `translation`.

    size: height and width, known; scale, translation: [2], down and across. What lies beyond the image is zero. antialias:
    filters are as wide as the pixels of a smaller image. Raises ShapeError, ArgumentValueError.
    """
    owner = "ScaleAndTranslate"
    one_of(owner, "kernel_type", kernel_type, FILTERS)
    plane = sizes(owner, size)
    factors, moves = (as_tensor(x, f"{owner}: {n}") for n, x in (("scale", scale), ("translation", translation)))
    if images.ndim != 4 or len(plane) != 2 or min(plane) < 1 or factors.shape != (2,) or moves.shape != (2,):
        raise ShapeError(
            f"{owner}: images are {images.tensor_type}, size is {plane}, scale {factors.tensor_type}, translation"
            f" {moves.tensor_type}, expected [N, H, W, C] and two numbers each",
            loc=user_loc(),
        )
    n, height, width, channels = images.shape
    down, across = (
        _weights(old, new, getitem(factors, i), getitem(moves, i), kernel_type, antialias)
        for i, (old, new) in enumerate(zip((height, width), plane, strict=True))
    )
    rows = matmul(down, reshape(cast(images, "float32"), (n, height, width * channels)))
    columns = matmul(across, reshape(rows, (n * plane[0], width, channels)))
    return reshape(columns, (n, *plane, channels))
