"""Colours and tones changed by given amounts, or with a probability (MindSpore: mindspore.dataset.vision)."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphc.dataset.checks import chance, integer, number
from graphc.dataset.sample_rng import rng
from graphc.dataset.vision import color
from graphc.dataset.vision.base import SIDE, ByOpenCV, ImageTransform, OfPillow, pillow
from graphc.dataset.vision.blend import blended
from graphc.dataset.vision.resample import as_dtype
from graphc.dataset.vision.tones import AutoContrast, Equalize, Invert, smoothed
from graphc.errors import ArgumentTypeError, ArgumentValueError, DataError, user_loc

Array = np.ndarray[Any, np.dtype[Any]]


def _factor(owner: str, name: str, value: Any) -> float:
    return number(owner, name, value, 0, SIDE)


def _colours(owner: str, image: Array, *channels: int) -> Array:
    """The image, if it is [H, W, C] of so many channels, or for 1 of them [H, W]."""
    have = 1 if image.ndim == 2 else image.shape[2]
    if have not in channels:
        raise DataError(
            f"{owner}: an image must be [H, W, {' or '.join(map(str, channels))}], got {list(image.shape)}",
            code="GC201",
        )
    return image


class AdjustBrightness(ImageTransform):
    """Every value times a factor, 0 or more: an image [H, W], [H, W, 1] or [H, W, 3]."""

    def __init__(self, brightness_factor: float) -> None:
        self.factor = _factor("AdjustBrightness", "brightness_factor", brightness_factor)

    def on_array(self, image: Array) -> Array:
        return color.brightness(_colours("AdjustBrightness", image, 1, 3), self.factor)

    def on_pil(self, image: Any) -> Any:
        return pillow("PIL.ImageEnhance").Brightness(image).enhance(self.factor)


class AdjustContrast(ImageTransform):
    """An image [H, W, 3] blended with the mean of its gray image: 0 is that mean, 1 the image itself, more is more contrast."""

    def __init__(self, contrast_factor: float) -> None:
        self.factor = _factor("AdjustContrast", "contrast_factor", contrast_factor)

    def on_array(self, image: Array) -> Array:
        return color.contrast(_colours("AdjustContrast", image, 3), self.factor)

    def on_pil(self, image: Any) -> Any:
        return pillow("PIL.ImageEnhance").Contrast(image).enhance(self.factor)


class AdjustSaturation(ImageTransform):
    """An image [H, W, 3] blended with its gray image: 0 is gray, 1 the image itself, more is more colourful."""

    def __init__(self, saturation_factor: float) -> None:
        self.factor = _factor("AdjustSaturation", "saturation_factor", saturation_factor)

    def on_array(self, image: Array) -> Array:
        return color.saturation(_colours("AdjustSaturation", image, 3), self.factor)

    def on_pil(self, image: Any) -> Any:
        return pillow("PIL.ImageEnhance").Color(image).enhance(self.factor)


class AdjustHue(ImageTransform):
    """The hues of a uint8 image [H, W, 3] turned by a part of the circle, from -0.5 to 0.5."""

    def __init__(self, hue_factor: float) -> None:
        self.part = number("AdjustHue", "hue_factor", hue_factor, -0.5, 0.5)

    def on_array(self, image: Array) -> Array:
        return color.hue(_colours("AdjustHue", image, 3), self.part)

    def on_pil(self, image: Any) -> Any:
        return image if image.mode in ("L", "1", "I", "F") else color.pil_hue(image, self.part)


class AdjustSharpness(ByOpenCV):
    """The image blended with a smoother one: 0 is smooth, 1 the image itself, more is sharper."""

    def __init__(self, sharpness_factor: float) -> None:
        self.factor = _factor("AdjustSharpness", "sharpness_factor", sharpness_factor)

    def on_array(self, image: Array) -> Array:
        if self.factor == 1:
            return image.copy()
        return blended(image, smoothed(image), self.factor, image_last=True)


class AdjustGamma(ImageTransform):
    """gain * value ** gamma of bytes as shares of 255; of floats, which become float32, (gain * value) ** gamma from 0 to 1."""

    def __init__(self, gamma: float, gain: float = 1) -> None:
        self.gamma = _factor("AdjustGamma", "gamma", gamma)
        self.gain = number("AdjustGamma", "gain", gain, -SIDE, SIDE)

    def on_array(self, image: Array) -> Array:
        _colours("AdjustGamma", image, 1, 3)
        if image.dtype == np.uint8:
            changed: Array = self._table().clip(0, 255).astype(np.uint8)[image]
            return changed
        if image.dtype.kind != "f":
            raise DataError(f"AdjustGamma: an image must be uint8 or floats, got {image.dtype}", code="GC201")
        values = image.astype(np.float32) * np.float32(self.gain)
        shares: Array = values ** np.float32(self.gamma)
        return shares.clip(0, 1)

    def on_pil(self, image: Any) -> Any:
        if len(image.getbands()) not in (1, 3):
            return image
        return image.point(self._table().astype(int).tolist() * len(image.getbands()))

    def _table(self) -> Array:
        """What becomes of each byte, before it is cut to one."""
        table: Array = np.trunc((255 + 1 - 1e-3) * self.gain * (np.arange(256) / 255.0) ** self.gamma)
        return table


class Posterize(ByOpenCV):
    """Bytes with only their highest bits left, so many of them, from 0 to 8."""

    def __init__(self, bits: int) -> None:
        self.bits = integer("Posterize", "bits", bits, 0, 8)

    def on_array(self, image: Array) -> Array:
        if image.dtype != np.uint8:
            raise DataError(f"Posterize: an image must be uint8, got {image.dtype}", code="GC201")
        return image & np.uint8(255 << (8 - self.bits) & 255)


class Solarize(ByOpenCV):
    """255 - value where a value lies in threshold (min, max), both from 0 to 255; of one number, or of min = max, at it and
    above.
    """

    def __init__(self, threshold: Any) -> None:
        given = threshold if isinstance(threshold, (list, tuple)) else (threshold, threshold)
        if len(given) != 2:
            raise ArgumentTypeError(
                f"Solarize: threshold must be a number or (min, max), got {threshold!r}", loc=user_loc()
            )
        self.low, self.high = (number("Solarize", "threshold", value, 0, 255) for value in given)
        if self.low > self.high:
            raise ArgumentValueError(f"Solarize: threshold must be (min, max), got {threshold!r}", loc=user_loc())

    def on_array(self, image: Array) -> Array:
        _colours("Solarize", image, 1, 3)
        chosen = image >= self.low
        if self.low < self.high:
            chosen &= image <= self.high
        return np.where(chosen, as_dtype(255.0 - image, image.dtype), image)


class Grayscale(OfPillow):
    """An image of Pillow's in gray: in mode "L", or with num_output_channels 3 in "RGB"."""

    def __init__(self, num_output_channels: int = 1) -> None:
        self.channels = integer("Grayscale", "num_output_channels", num_output_channels)
        if self.channels not in (1, 3):
            raise ArgumentValueError(
                f"Grayscale: num_output_channels must be 1 or 3, got {num_output_channels}", loc=user_loc()
            )

    def on_pil(self, image: Any) -> Any:
        grayed = image.convert("L")
        return grayed if self.channels == 1 else grayed.convert("RGB")


class RandomGrayscale(Grayscale):
    """An image of Pillow's in gray, in as many channels as it has, with probability `prob`."""

    def __init__(self, prob: float = 0.1) -> None:
        self.prob = chance("RandomGrayscale", prob)

    def on_pil(self, image: Any) -> Any:
        if rng().random() >= self.prob:
            return image
        return image.convert("L") if image.mode == "L" else image.convert("L").convert("RGB")


class _Sometimes(ByOpenCV):
    """A transform with probability `prob`; else the image as it is."""

    transform: ImageTransform
    prob: float

    def on_array(self, image: Array) -> Array:
        changed: Array = self.transform.on_array(image) if rng().random() < self.prob else image
        return changed


class RandomAutoContrast(_Sometimes):
    """AutoContrast(cutoff, ignore) with probability `prob`."""

    def __init__(self, cutoff: float = 0.0, ignore: Any = None, prob: float = 0.5) -> None:
        self.transform, self.prob = AutoContrast(cutoff, ignore), chance("RandomAutoContrast", prob)


class RandomEqualize(_Sometimes):
    """Equalize with probability `prob`."""

    def __init__(self, prob: float = 0.5) -> None:
        self.transform, self.prob = Equalize(), chance("RandomEqualize", prob)


class RandomInvert(_Sometimes):
    """Invert with probability `prob`."""

    def __init__(self, prob: float = 0.5) -> None:
        self.transform, self.prob = Invert(), chance("RandomInvert", prob)


class RandomAdjustSharpness(_Sometimes):
    """AdjustSharpness(degree) with probability `prob`."""

    def __init__(self, degree: float, prob: float = 0.5) -> None:
        self.transform = AdjustSharpness(number("RandomAdjustSharpness", "degree", degree, 0, SIDE))
        self.prob = chance("RandomAdjustSharpness", prob)
