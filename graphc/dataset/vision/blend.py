"""Gray images, and images blended with others, as OpenCV computes them, whose results MindSpore's are."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphc.dataset.vision.resample import as_dtype

Array = np.ndarray[Any, np.dtype[Any]]

#: Shares of red, green and blue in brightness (ITU-R BT.601), and these of 2**15.
_SHARES = np.array([0.299, 0.587, 0.114], np.float32)
_PARTS = (9798, 19235, 3735)

#: Numbers that are blended at a time.
_PIXELS = 1 << 16


def gray(image: Array) -> Array:
    """The brightness [H, W] of an RGB image [H, W, 3], in its dtype."""
    if image.dtype.kind in "iu":
        wide: np.dtype[Any] = np.dtype(np.int32 if image.dtype.itemsize == 1 else np.int64)
        red, green, blue = (image[..., k].astype(wide) * part for k, part in enumerate(_PARTS))
        brightness: Array = (red + green + blue + (1 << 14)) >> 15
    else:
        brightness = image.astype(np.float32) @ _SHARES
    return brightness.astype(image.dtype)


def blended(image: Array, other: Array, share: float, image_last: bool = False) -> Array:
    """share * image + (1 - share) * other, in the image's dtype; share, from 0 on, may be above 1. other: an image, or one number
    as an array without axes.

    The two are added up by one multiply-add, whose product is not rounded: that of `other`, or with image_last of the image.
    """
    own = np.float32(share)
    rest = np.float32(1 - float(own))
    if image.dtype == np.float64:
        return image * own + other * rest
    # Some rows at a time, so that what is computed in between stays in the cache.
    result = np.empty_like(image)
    step = max(_PIXELS * image.shape[0] // max(image.size, 1), 1)
    for k in range(0, image.shape[0], step):
        row = slice(k, k + step)
        here = other[row] if other.ndim else other
        first, last = ((image[row], own), (here, rest)) if not image_last else ((here, rest), (image[row], own))
        total = last[0].astype(np.float64) * float(last[1]) + first[0].astype(np.float32) * first[1]
        result[row] = as_dtype(total.astype(np.float32), image.dtype)
    return result
