"""Turned, moved and sheared images, by NumPy: as OpenCV computes them, whose results MindSpore's are."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from graphc.dataset.vision.base import Inter
from graphc.dataset.vision.sampler import sampled

Array = np.ndarray[Any, np.dtype[Any]]
#: (a, b, c, d, e, f): the pixel at (x, y) of the result is the one at (a x + b y + c, d x + e y + f).
Matrix = tuple[float, float, float, float, float, float]


def rotated(
    image: Array,
    degrees: float,
    interpolation: Inter,
    expand: bool,
    center: tuple[float, float] | None,
    color: tuple[int, int, int],
) -> Array:
    """The image [H, W] or [H, W, C] turned counterclockwise about center (x, y), by default its middle.

    expand: the result is as large as the turned image, else as the image. Outside is `color`.
    """
    height, width = image.shape[:2]
    x0, y0 = ((width - 1) / 2, (height - 1) / 2) if center is None else center
    cos, sin = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
    if expand:
        around = abs(width * cos) + abs(height * sin), abs(width * sin) + abs(height * cos)
    else:
        around = width, height
    new_width, new_height = map(round, around)
    shift_x, shift_y = x0 + (around[0] - width) / 2, y0 + (around[1] - height) / 2
    matrix = (cos, -sin, x0 - cos * shift_x + sin * shift_y, sin, cos, y0 - sin * shift_x - cos * shift_y)
    return warped(image, matrix, (new_height, new_width), interpolation, color)


def warped(
    image: Array, matrix: Matrix, size: tuple[int, int], interpolation: Inter, color: tuple[int, int, int]
) -> Array:
    """An image of size (height, width) whose pixels are those that the matrix says. Outside is `color`."""
    if image.dtype == np.bool_:
        return warped(image.astype(np.uint8), matrix, size, interpolation, color).astype(np.bool_)
    a, b, c, d, e, f = matrix
    y, x = np.ogrid[0.0 : size[0], 0.0 : size[1]]
    # In 1024ths of a pixel, each product rounded, of which weights keep 32nds: as OpenCV's warpAffine does it.
    at_y, at_x = (np.rint(p * x * 1024) + np.rint((q * y + r) * 1024) for p, q, r in ((d, e, f), (a, b, c)))
    half, shift = (512, 10) if interpolation is Inter.NEAREST else (16, 5)
    rows, columns = ((at.astype(np.int64) + half) >> shift for at in (at_y, at_x))
    # Of four channels and more each four are filled alike, the fourth by 0.
    fill: Any = color[0] if image.ndim == 2 else np.resize((*color, 0), image.shape[2])
    return sampled(image, rows, columns, interpolation, fill)
