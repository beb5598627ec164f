"""Colours of images changed (MindSpore: mindspore.dataset.vision)."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphc.dataset.checks import number
from graphc.dataset.sample_rng import rng
from graphc.dataset.vision.base import ImageTransform, pillow, range_of
from graphc.dataset.vision.resample import as_dtype
from graphc.errors import DataError

Array = np.ndarray[Any, np.dtype[Any]]

#: Shares of red, green and blue in brightness (ITU-R BT.601).
_GRAY = np.array([0.299, 0.587, 0.114], np.float32)


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
            image = _pil_hue(image, amount) if name == "hue" else makers[name](image).enhance(amount)
        return image


def _factors(name: str, value: Any) -> tuple[float, float]:
    if isinstance(value, (list, tuple)):
        return range_of("RandomColorAdjust", name, value, 0)
    amount = number("RandomColorAdjust", name, value, 0)
    return max(0.0, 1 - amount), 1 + amount


def _gray(image: Array) -> Array:
    return as_dtype(image.astype(np.float32) @ _GRAY, image.dtype)


def _brightness(image: Array, factor: float) -> Array:
    return as_dtype(image.astype(np.float32) * np.float32(factor), image.dtype)


def _contrast(image: Array, factor: float) -> Array:
    mean = np.floor(_gray(image).mean() + 0.5) if image.dtype.kind in "iu" else _gray(image).mean()
    return as_dtype(image.astype(np.float32) * np.float32(factor) + np.float32(mean * (1 - factor)), image.dtype)


def _saturation(image: Array, factor: float) -> Array:
    gray = _gray(image)[..., None].astype(np.float32)
    return as_dtype(image.astype(np.float32) * np.float32(factor) + gray * np.float32(1 - factor), image.dtype)


def _hue(image: Array, part: float) -> Array:
    """Through HSV of 8 bits each as OpenCV keeps them: of hues there are 256 on the way there, 255 on the way back."""
    if image.dtype != np.uint8:
        raise DataError(f"RandomColorAdjust: hue is changed in uint8 images, got {image.dtype}", code="GC201")
    rgb = image.astype(np.float32)
    most, least = rgb.max(2), rgb.min(2)
    spread = most - least
    safe = np.where(spread == 0, 1, spread)
    r, g, b = (rgb[..., k] for k in range(3))
    hue = np.where(
        most == r, 60 * (g - b) / safe, np.where(most == g, 120 + 60 * (b - r) / safe, 240 + 60 * (r - g) / safe)
    )
    hue = np.rint(np.where(hue < 0, hue + 360, hue) * (256 / 360))
    saturation = np.rint(255 * spread / np.where(most == 0, 1, most)) / 255
    turned = (hue + int(part * 255)) % 256 * (6 / 255)
    sector = np.floor(turned)
    rest = turned - sector
    low, down, up = (
        most * (1 - saturation),
        most * (1 - saturation * rest),
        most * (1 - saturation * (1 - rest)),
    )
    cases = [(most, up, low), (down, most, low), (low, most, up), (low, down, most), (up, low, most), (most, low, down)]
    chosen = [np.choose(sector.astype(int) % 6, [case[k] for case in cases]) for k in range(3)]
    return as_dtype(np.stack(chosen, 2), np.uint8)


def _pil_hue(image: Any, part: float) -> Any:
    module = pillow()
    hue, saturation, value = image.convert("HSV").split()
    turned = (np.asarray(hue).astype(int) + int(part * 255)) % 256
    return module.merge("HSV", (module.fromarray(turned.astype(np.uint8)), saturation, value)).convert(image.mode)


_CHANGES = {"brightness": _brightness, "contrast": _contrast, "saturation": _saturation, "hue": _hue}
