"""Images from red, green and blue to hue, saturation and value, and back (MindSpore: mindspore.dataset.vision)."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphc.dataset.checks import truth
from graphc.dataset.transforms.base import WholeTransform
from graphc.dataset.vision.base import arrays_only
from graphc.errors import ArgumentTypeError, ArgumentValueError, DataError, user_loc

Array = np.ndarray[Any, np.dtype[Any]]


class _OfColours(WholeTransform):
    """Three channels computed of three, all float64, however the images are kept."""

    def __init__(self, is_hwc: bool = False) -> None:
        self.is_hwc = truth(type(self).__name__, "is_hwc", is_hwc)

    def __call__(self, *inputs: Any) -> Any:
        return super().__call__(*arrays_only(type(self).__name__, inputs))

    def whole(self, values: Array) -> Array:
        owner, axis = type(self).__name__, -1 if self.is_hwc else -3
        if values.ndim not in (4, 5) or values.shape[axis] != 3 or values.dtype.kind not in "iuf":
            wanted = "[H, W, 3] or [N, H, W, 3]" if self.is_hwc else "[3, H, W] or [N, 3, H, W]"
            raise ArgumentTypeError(
                f"{owner}: an image must be numbers {wanted}, got {values.dtype} {list(values.shape[1:])}",
                loc=user_loc(),
            )
        if not values.size:
            raise ArgumentValueError(f"{owner}: the image {list(values.shape[1:])} is empty", loc=user_loc())
        first, second, third = np.moveaxis(values.astype(np.float64), axis, 0)
        return np.stack(self.channels(first, second, third), axis)

    def channels(self, first: Array, second: Array, third: Array) -> tuple[Array, Array, Array]:
        """The new channels of the old ones, float64 of one shape."""
        raise NotImplementedError


class RgbToHsv(_OfColours):
    """Images [3, H, W] or [N, 3, H, W] of red, green and blue as hue, saturation and value, float64; with is_hwc
    [H, W, 3] or [N, H, W, 3].

    Hue is a part of the circle from 0 to 1, saturation from 0 to 1, value the largest of the three.
    """

    def channels(self, first: Array, second: Array, third: Array) -> tuple[Array, Array, Array]:
        value = np.maximum(np.maximum(first, second), third)
        spread = value - np.minimum(np.minimum(first, second), third)
        gray = spread == 0
        if ((value == 0) & ~gray).any():
            raise DataError("RgbToHsv: a pixel of negative values has no saturation: its largest is 0", code="GC201")
        share, apart = np.where(gray, 1, value), np.where(gray, 1, spread)
        red, green, blue = ((value - c) / apart for c in (first, second, third))
        turns = np.where(first == value, blue - green, np.where(second == value, 2.0 + red - blue, 4.0 + green - red))
        return np.where(gray, 0, (turns / 6.0) % 1.0), np.where(gray, 0, spread / share), value


class HsvToRgb(_OfColours):
    """Images [3, H, W] or [N, 3, H, W] of hue, saturation and value as red, green and blue, float64; with is_hwc
    [H, W, 3] or [N, H, W, 3].
    """

    def channels(self, first: Array, second: Array, third: Array) -> tuple[Array, Array, Array]:
        hue, share, value = np.where(second == 0, 0, first), second, third
        if not np.isfinite(hue).all():
            raise DataError("HsvToRgb: a hue is no finite number", code="GC201")
        sector = np.trunc(hue * 6.0)
        part = hue * 6.0 - sector
        low = value * (1.0 - share)
        down, up = value * (1.0 - share * part), value * (1.0 - share * (1.0 - part))
        gray = share == 0
        cases = [
            (value, up, low), (down, value, low), (low, value, up), (low, down, value), (up, low, value), (value, low, down),
        ]  # fmt: skip
        which = (sector % 6).astype(int)
        red, green, blue = (np.where(gray, value, np.choose(which, [case[k] for case in cases])) for k in range(3))
        return red, green, blue
