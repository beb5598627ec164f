"""Images of other sizes, by NumPy: as OpenCV computes them, whose results MindSpore's are."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from graphc.dataset.vision.base import Inter, pillow
from graphc.errors import DataError

Array = np.ndarray[Any, np.dtype[Any]]


def resized(image: Array, height: int, width: int, interpolation: Inter) -> Array:
    """The image [H, W] or [H, W, C] as [height, width(, C)]; pixels are squares, edges are continued."""
    if image.shape[:2] == (height, width):
        return image.copy()
    if image.dtype == np.bool_:
        return resized(image.astype(np.uint8), height, width, interpolation).astype(np.bool_)
    if interpolation is Inter.ANTIALIAS:
        raise DataError("Resize: Inter.ANTIALIAS is for images of Pillow's", code="GC201", help="ToPIL() makes one")
    if interpolation is Inter.PILCUBIC:
        if image.dtype != np.uint8 or image.ndim != 3 or image.shape[2] != 3:
            raise DataError("Resize: Inter.PILCUBIC is for uint8 [H, W, 3]", code="GC201")
        module = pillow()
        # Rows first, as MindSpore: of a whole image later versions of Pillow begin with what is cheaper.
        rows = module.fromarray(image).resize((width, image.shape[0]), module.Resampling.BICUBIC)
        return np.asarray(rows.resize((width, height), module.Resampling.BICUBIC))
    if interpolation is Inter.NEAREST:
        picked: Array = image[_nearest(image.shape[0], height)][:, _nearest(image.shape[1], width)]
        return picked
    shrinks = height <= image.shape[0] and width <= image.shape[1]
    if interpolation is Inter.AREA and image.shape[:2] == (2 * height, 2 * width) and image.dtype.kind in "iu":
        whole = image.astype(np.int64)
        fours: Array = whole[::2, ::2] + whole[::2, 1::2] + whole[1::2, ::2] + whole[1::2, 1::2]
        means: Array = (fours + 2) >> 2
        return means.astype(image.dtype)
    columns = _taps(interpolation, image.shape[1], width, shrinks)
    rows = _taps(interpolation, image.shape[0], height, shrinks)
    if image.dtype == np.uint8 and not (interpolation is Inter.AREA and shrinks):
        return _resized_bytes(image, columns, rows)
    work = image.astype(np.float64 if image.dtype == np.float64 else np.float32)
    return as_dtype(_along(_along(work, *columns, axis=1), *rows, axis=0), image.dtype)


def _resized_bytes(image: Array, columns: tuple[Array, Array], rows: tuple[Array, Array]) -> Array:
    """By weights of 11 bits each way. Of two rows each product loses its lowest bits before they are added up."""
    (places, weights), (lines, shares) = (
        (i, np.rint(w * np.float32(2048)).astype(np.int32)) for i, w in (columns, rows)
    )
    work = _along(image.astype(np.int32), places, weights, axis=1)
    if lines.shape[1] > 2:
        total: Array = (_along(work, lines, shares, axis=0) + (1 << 21)) >> 22
    else:
        work >>= 4
        upper, lower = (_along(work, lines[:, k : k + 1], shares[:, k : k + 1], axis=0) >> 16 for k in (0, 1))
        total = (upper + lower + 2) >> 2
    return total.clip(0, 255).astype(np.uint8)


def as_dtype(values: Array, dtype: Any) -> Array:
    """Rounded and clipped for integers."""
    dtype = np.dtype(dtype)
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        values = np.clip(np.rint(values), limits.min, limits.max)
    converted: Array = values.astype(dtype)
    return converted


def _nearest(source: int, target: int) -> Array:
    places: Array = np.floor(np.arange(target) * (1 / (target / source))).astype(int)
    return np.minimum(places, source - 1)


def _along(image: Array, indices: Array, weights: Array, axis: int) -> Array:
    """Sum over taps t of weights[:, t] * image[indices[:, t]] along an axis."""
    shape = [1] * image.ndim
    shape[axis] = -1
    total: Array | None = None
    for tap in range(indices.shape[1]):
        part = image.take(indices[:, tap], axis=axis) * weights[:, tap].astype(image.dtype).reshape(shape)
        total = part if total is None else total + part
    assert total is not None
    return total


def _taps(interpolation: Inter, source: int, target: int, shrinks: bool) -> tuple[Array, Array]:
    """int [target, taps] and float [target, taps]: which pixels make a new one, and with which weights."""
    scale = 1 / (target / source)
    place = np.arange(target)
    if interpolation is Inter.AREA and shrinks:
        return _boxes(source, target)
    if interpolation is Inter.AREA:
        low = np.floor(place * scale).astype(int)
        part = ((place + 1) - (low + 1) / scale).astype(np.float32)
        part = np.where(part <= 0, 0, part - np.floor(part))
        return _two(low, part, source)
    center = ((place + 0.5) * scale - 0.5).astype(np.float32)
    low = np.floor(center).astype(int)
    part = center - low.astype(np.float32)
    if interpolation is Inter.BILINEAR:
        return _two(low, part, source)
    return np.clip(low[:, None] + np.arange(-1, 3), 0, source - 1), cubic(part)


def cubic(part: Array) -> Array:
    """[..., 4]: the weights of the pixels at -1, 0, 1 and 2 for a place in between: Keys' cubic convolution with a = -0.75 (IEEE
    Transactions on Acoustics 29, 1981).
    """
    a = np.float32(-0.75)
    first = ((a * (part + 1) - 5 * a) * (part + 1) + 8 * a) * (part + 1) - 4 * a
    second = ((a + 2) * part - (a + 3)) * part * part + 1
    third = ((a + 2) * (1 - part) - (a + 3)) * (1 - part) * (1 - part) + 1
    return np.stack([first, second, third, 1 - first - second - third], -1)


def _two(low: Array, part: Array, source: int) -> tuple[Array, Array]:
    return np.clip(np.stack([low, low + 1], 1), 0, source - 1), np.stack([1 - part, part], 1)


def _boxes(source: int, target: int) -> tuple[Array, Array]:
    """Each new pixel is the mean of the old ones that it covers, parts of pixels included."""
    scale = source / target
    start, end = np.arange(target) * scale, (np.arange(target) + 1) * scale
    taps = math.ceil(scale) + 1
    indices = np.floor(start).astype(int)[:, None] + np.arange(taps)
    covered = np.minimum(indices + 1, end[:, None]) - np.maximum(indices, start[:, None])
    weights = np.clip(covered, 0, 1)
    return np.minimum(indices, source - 1), weights / weights.sum(1, keepdims=True)
