"""Colours of images changed (MindSpore: mindspore.dataset.vision)."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphc.dataset.checks import number
from graphc.dataset.sample_rng import rng
from graphc.dataset.vision.base import ImageTransform, pillow, range_of
from graphc.dataset.vision.blend import blended, gray
from graphc.dataset.vision.resample import as_dtype
from graphc.errors import DataError

Array = np.ndarray[Any, np.dtype[Any]]


class RandomColorAdjust(ImageTransform):
    """Brightness, contrast, saturation and hue of an RGB image changed, in a random order, each by a random amount.

    brightness, contrast, saturation: a factor of (min, max), both 0 or more, or from max(0, 1 - value) to 1 + value. hue: a part
    of the circle of (min, max), both from -0.5 to 0.5, or from -value to value.
    """

    def __init__(
        self, brightness: Any = (1, 1), contrast: Any = (1, 1), saturation: Any = (1, 1), hue: Any = (0, 0)
    ) -> None:
        self.factors = {
            "brightness": _factors("brightness", brightness),
            "contrast": _factors("contrast", contrast),
            "saturation": _factors("saturation", saturation),
        }
        if isinstance(hue, (list, tuple)):
            self.hue = range_of("RandomColorAdjust", "hue", hue, -0.5, 0.5)
        else:
            most = number("RandomColorAdjust", "hue", hue, 0, 0.5)
            self.hue = (-most, most)

    def _drawn(self) -> list[tuple[str, float]]:
        """What is to be changed, in order, and by how much."""
        random = rng()
        wanted = [(name, float(random.uniform(*bounds))) for name, bounds in self.factors.items() if bounds != (1, 1)]
        if self.hue != (0, 0):
            wanted.append(("hue", float(random.uniform(*self.hue))))
        return [wanted[k] for k in random.permutation(len(wanted))]

    def on_array(self, image: Array) -> Array:
        if image.ndim != 3 or image.shape[2] != 3:
            raise DataError(f"RandomColorAdjust: an image must be [H, W, 3], got {list(image.shape)}", code="GC201")
        for name, amount in self._drawn():
            image = _CHANGES[name](image, amount)
        return image

    def on_pil(self, image: Any) -> Any:
        enhance = pillow("PIL.ImageEnhance")
        makers = {"brightness": enhance.Brightness, "contrast": enhance.Contrast, "saturation": enhance.Color}
        for name, amount in self._drawn():
            image = pil_hue(image, amount) if name == "hue" else makers[name](image).enhance(amount)
        return image


def _factors(name: str, value: Any) -> tuple[float, float]:
    if isinstance(value, (list, tuple)):
        return range_of("RandomColorAdjust", name, value, 0)
    amount = number("RandomColorAdjust", name, value, 0)
    return max(0.0, 1 - amount), 1 + amount


def brightness(image: Array, factor: float) -> Array:
    """Every value times a factor."""
    # The factor has the digits of float32 for every dtype.
    wide = np.result_type(image.dtype, np.float32)
    return as_dtype(image.astype(wide) * wide.type(np.float32(factor)), image.dtype)


def contrast(image: Array, factor: float) -> Array:
    """Blended with the mean of its gray image, a whole number for integers."""
    mean = gray(image).mean(dtype=np.float64)
    return blended(image, np.array(np.rint(mean) if image.dtype.kind in "iu" else mean, image.dtype), factor)


def saturation(image: Array, factor: float) -> Array:
    """Blended with its gray image."""
    return blended(image, gray(image)[..., None], factor)


def hue(image: Array, part: float) -> Array:
    """Turned by a part of the circle, through HSV of 8 bits each as OpenCV keeps them: of hues there are 256 on the way there,
    255 on the way back, where OpenCV rounds some pixels and cuts others, by which of its loops they are in.
    """
    if image.dtype != np.uint8:
        raise DataError(f"hue is changed in uint8 images, got {image.dtype}", code="GC201")
    turned, share, value = _hsv(image)
    at = ((turned + int(part * 255)) % 256).astype(np.float32) * np.float32(6 / 255)
    sector = np.floor(at)
    rest = np.where(sector > 5, 0, at - sector)
    sector = np.where(sector > 5, 0, sector).astype(int)
    share, most = share.astype(np.float32) / 255, value.astype(np.float32)
    low, down, up = most * (1 - share), most * (1 - share * rest), most * (1 - share * (1 - rest))
    cases = [(most, up, low), (down, most, low), (low, most, up), (low, down, most), (up, low, most), (most, low, down)]
    chosen = [np.choose(sector, [case[k] for case in cases]) for k in range(3)]
    return as_dtype(np.stack(chosen, 2), np.uint8)


def _hsv(image: Array) -> tuple[Array, Array, Array]:
    """Hue, saturation and value of bytes, integers from 0 to 255: divisions are products of 12 bits."""
    r, g, b = (image[..., k].astype(np.int64) for k in range(3))
    value = image.max(2).astype(np.int64)
    spread = value - image.min(2)
    parts = np.maximum(np.arange(256), 1)
    turns = np.where(value == r, g - b, np.where(value == g, b - r + 2 * spread, r - g + 4 * spread))
    turned = (turns * np.rint((256 << 12) / (6 * parts)).astype(np.int64)[spread] + 2048) >> 12
    share = (spread * np.rint((255 << 12) / parts).astype(np.int64)[value] + 2048) >> 12
    return turned % 256, share, value


def pil_hue(image: Any, part: float) -> Any:
    """Turned by a part of the circle: an image of Pillow's."""
    module = pillow()
    hue, saturation, value = image.convert("HSV").split()
    turned = (np.asarray(hue).astype(int) + int(part * 255)) % 256
    return module.merge("HSV", (module.fromarray(turned.astype(np.uint8)), saturation, value)).convert(image.mode)


_CHANGES = {"brightness": brightness, "contrast": contrast, "saturation": saturation, "hue": hue}
