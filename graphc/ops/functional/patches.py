"""What windows see of images and volumes: all windows of a grid, and one window per image."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np

from graphc.errors import ArgumentValueError, ShapeError, user_loc
from graphc.ops.functional.core import call, cast
from graphc.ops.functional.elementwise import add, greater_equal, less, logical_and, mul, sub
from graphc.ops.functional.joining import stack
from graphc.ops.functional.logic import select
from graphc.ops.functional.padding import bordered
from graphc.ops.functional.shapes import expand_dims, reshape
from graphc.ops.functional.slicing import getitem
from graphc.ops.functional.sliding import Sizes, same_ends, windows_over
from graphc.ops.tensor.tensor import Tensor


def patches(owner: str, x: Tensor, kernel: Sizes, stride: Sizes, dilation: Sizes, padding: str) -> Tensor:
    """The windows of [N, C, ...], each a vector at its place: [N, taps C, ...], the channels of the first tap first.

    kernel, stride, dilation: one per axis behind the channels. padding: "valid", or "same", which pads by zeros, an odd one at
    the end. ShapeError where the axes are not as many, or a window does not fit.
    """
    if padding.lower() not in ("same", "valid"):
        raise ArgumentValueError(f"{owner}: padding must be 'same' or 'valid', got {padding!r}", loc=user_loc())
    if x.ndim != len(kernel) + 2:
        raise ShapeError(f"{owner}: x is {x.tensor_type}, expected {len(kernel) + 2} axes, [N, C, ...]", loc=user_loc())
    n, channels, *sizes = x.shape
    ends = (
        same_ends(sizes, kernel, stride, dilation, len(kernel)) if padding.lower() == "same" else [(0, 0)] * len(kernel)
    )
    w = windows_over(owner, sizes, kernel, stride, ends, dilation)
    taps = [bordered(x, [(0, 0), (0, 0), *w.ends])]
    for i in range(len(kernel)):
        taps = list(itertools.chain.from_iterable(w.seen(tap, 2 + i, i) for tap in taps))
    return reshape(stack(taps, 1), (n, channels * len(taps), *w.counts))


def glimpses(
    x: Tensor, size: Sequence[int], offsets: Tensor, centered: bool, normalized: bool, outside: Tensor | float
) -> Tensor:
    """[N, height, width, C]: one window of each image [N, H, W, C], and `outside` where it reaches beyond the image.

    size: height and width. offsets: [N, 2], the middles of the windows, down and across, from the corner, or if `centered` twice
    their distances from the image's middle; in pixels, or if `normalized` in sizes of the image.
    """
    n, *image, channels = x.shape
    places, inside = [], []
    for i, (whole, part) in enumerate(zip(image, size, strict=True)):
        at = getitem(offsets, (slice(None), i))
        at = mul(at, float(whole)) if normalized else at
        at = add(mul(at, 0.5), whole / 2) if centered else at
        begin = cast(sub(at, part / 2), "int32")
        place = add(expand_dims(begin, 1), Tensor(np.arange(part, dtype=np.int32)))
        there = logical_and(greater_equal(place, 0), less(place, whole))
        places.append(select(there, place, 0))
        inside.append(there)
    images = Tensor(np.arange(n, dtype=np.int32)[:, None, None] * (image[0] * image[1]))
    flat = add(add(mul(expand_dims(places[0], 2), image[1]), expand_dims(places[1], 1)), images)
    seen = call("Gather", reshape(x, (-1, channels)), flat, axis=0)
    there = logical_and(expand_dims(inside[0], 2), expand_dims(inside[1], 1))
    return select(expand_dims(there, 3), seen, outside)
