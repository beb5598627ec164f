"""Gray images, and images blended with others, as OpenCV computes them, whose results MindSpore's are."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphc.dataset.vision.resample import as_dtype

Array = np.ndarray[Any, np.dtype[Any]]

#: Shares of red, green and blue in brightness (ITU-R BT.601), and these of 2**15.
_SHARES = np.array([0.299, 0.587, 0.114], np.float32)
_PARTS = np.array([9798, 19235, 3735])


def gray(image: Array) -> Array:
    """The brightness [H, W] of an RGB image [H, W, 3], in its dtype."""
    if image.dtype.kind in "iu":
        brightness: Array = (image.astype(np.int64) @ _PARTS + (1 << 14)) >> 15
    else:
        brightness = image.astype(np.float32) @ _SHARES
    return brightness.astype(image.dtype)


def blended(image: Array, other: Array, share: float, image_last: bool = False) -> Array:
    """share * image + (1 - share) * other, in the image's dtype; share, from 0 on, may be above 1.

    The two are added up by one multiply-add, whose product is not rounded: that of `other`, or with image_last of the image.
    """
    own = np.float32(share)
    rest = np.float32(1 - float(own))
    if image.dtype == np.float64:
        return image * own + other * rest
    first, last = ((image, own), (other, rest)) if not image_last else ((other, rest), (image, own))
    rounded = first[0].astype(np.float32) * first[1]
    total = last[0].astype(np.float64) * float(last[1]) + rounded.astype(np.float64)
    return as_dtype(total.astype(np.float32), image.dtype)
