"""Pixels between those of an image, by tables of weights for 32nds of a pixel: as OpenCV finds them, whose results MindSpore's
are.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from graphc.dataset.vision.base import Inter
from graphc.dataset.vision.resample import as_dtype, cubic

Array = np.ndarray[Any, np.dtype[Any]]

#: Places between two pixels that have weights of their own, 2**5.
PARTS = 32
#: What the weights of a pixel are whole parts of, for bytes, 2**15.
_WHOLE = 1 << 15


def sampled(image: Array, at_y: Array, at_x: Array, interpolation: Inter, fill: Any = 0) -> Array:
    """The pixels [H', W'(, C)] at places [H', W'] of an image [H, W(, C)]; around it is `fill`, a number or one for each channel.

    at_y, at_x: int64, in pixels for Inter.NEAREST, else in 32nds of one. Other ways than NEAREST and BICUBIC are BILINEAR.
    Bytes are sums of whole 2**15ths, rounded up from the middle on; other integers are computed in float32, those of 32 bits and
    more in float64, rounded to even and clipped.
    """
    shape = (*at_y.shape, *image.shape[2:])
    if interpolation is Inter.NEAREST:
        framed = _framed(image, 1, image.dtype, fill)
        return framed[:, _rows(at_y, at_x, image, 1)].T.reshape(shape)
    table = _shares(interpolation is Inter.BICUBIC, image.dtype == np.uint8)
    taps = 4 if interpolation is Inter.BICUBIC else 2
    pixels = _framed(image, taps, np.result_type(image.dtype, table.dtype), fill)
    places = _rows(at_y >> 5, at_x >> 5, image, taps)
    which = ((at_y & 31) << 5 | at_x & 31).ravel()
    shares = [of_tap.take(which) for of_tap in table]
    result = np.empty((len(places), len(pixels)), image.dtype)
    for channel, plane in enumerate(pixels):
        result[:, channel] = _summed(plane, places, shares, image.shape[1] + 2 * taps, image.dtype)
    return result.reshape(shape)


def _summed(plane: Array, places: Array, shares: list[Array], width: int, dtype: Any) -> Array:
    """The sums of the pixels about these places in one channel, in rows of `width`, times their shares."""
    taps = 2 if len(shares) == 4 else 4
    total, row = np.zeros(len(places), plane.dtype), np.empty(len(places), plane.dtype)
    picked = np.empty_like(row)
    for tap, share in enumerate(shares):
        if tap % taps == 0:
            row[...] = 0
        beside = (tap // taps + 1 - taps // 2) * width + tap % taps + 1 - taps // 2
        plane.take(places + beside, out=picked, mode="clip")
        picked *= share
        row += picked
        if tap % taps == taps - 1:
            total += row
    if dtype == np.uint8:
        return ((total + _WHOLE // 2) >> 15).clip(0, 255)
    return as_dtype(total, dtype)


def _framed(image: Array, frame: int, dtype: Any, fill: Any) -> Array:
    """[channels, pixels] of the image in a frame of `fill`."""
    height, width, channels = (*image.shape, 1)[:3]
    result = np.empty((channels, height + 2 * frame, width + 2 * frame), dtype)
    result[...] = np.reshape(np.asarray(fill).astype(image.dtype), (-1, 1, 1))
    result[:, frame:-frame, frame:-frame] = image.reshape(height, width, channels).transpose(2, 0, 1)
    return result.reshape(channels, -1)


def _rows(y: Array, x: Array, image: Array, frame: int) -> Array:
    """Which pixels of the framed image these places are: those outside of it are in the frame, as far out as it goes."""
    height, width = image.shape[:2]
    before, after = frame // 2 + 1, max(frame // 2 - 1, 0)
    y, x = y.clip(-before, height + after), x.clip(-before, width + after)
    rows: Array = ((y + frame) * (width + 2 * frame) + x + frame).ravel()
    return rows


@cache
def _shares(is_cubic: bool, of_bytes: bool) -> Array:
    """[taps * taps, PARTS * PARTS]: products of weights along y and x. For bytes whole parts, whose sum is all of them: what
    lacks is added to the largest of the four in the middle, what is too much taken from the smallest.
    """
    part = np.arange(PARTS, dtype=np.float32) / np.float32(PARTS)
    weights = cubic(part) if is_cubic else np.stack([1 - part, part], 1)
    taps = weights.shape[1]
    products = (weights[:, None, :, None] * weights[None, :, None, :]).reshape(-1, taps, taps)
    if of_bytes:
        products = np.rint(products * np.float32(_WHOLE)).astype(np.int32)
        over = products.sum((1, 2)) - _WHOLE
        middle = products[:, taps // 2 :, taps // 2 :].reshape(len(products), -1)
        chosen = np.where(over < 0, middle.argmax(1), middle.argmin(1))
        side = taps - taps // 2
        products[np.arange(len(products)), taps // 2 + chosen // side, taps // 2 + chosen % side] -= over
    return np.ascontiguousarray(products.reshape(len(products), -1).T)
