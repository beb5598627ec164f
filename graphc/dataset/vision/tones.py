"""Tones of images: inverted, stretched, cut to fewer, blended with gray ones (MindSpore: mindspore.dataset.vision)."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphc.dataset.checks import integer, number
from graphc.dataset.sample_rng import rng
from graphc.dataset.vision.base import ImageTransform, pillow, range_of
from graphc.dataset.vision.blend import blended, gray
from graphc.dataset.vision.resample import as_dtype
from graphc.errors import ArgumentTypeError, ArgumentValueError, DataError, user_loc

Array = np.ndarray[Any, np.dtype[Any]]


class OnBytes(ImageTransform):
    """A transform of uint8 images [H, W, 3]; with `channels`, of other numbers of channels too, with `gray` of [H, W]."""

    channels: tuple[int, ...] = (3,)
    gray = False

    def on_array(self, image: Array) -> Array:
        if self.gray and image.ndim == 2 and image.dtype == np.uint8:
            return self.on_bytes(image[..., None])[..., 0]
        if image.ndim != 3 or image.shape[2] not in self.channels or image.dtype != np.uint8:
            raise DataError(
                f"{type(self).__name__}: an image must be uint8 [H, W, {' or '.join(map(str, self.channels))}], got"
                f" {image.dtype} {list(image.shape)}",
                code="GC201",
            )
        return self.on_bytes(image)

    def on_bytes(self, image: Array) -> Array:
        """The transformed image, uint8 [H, W, C]."""
        raise NotImplementedError


class Invert(OnBytes):
    """255 - value: an image [H, W, 3], or of uint8 [H, W, 1]; for integers the nearest number that they have."""

    channels = (3, 1)

    def on_array(self, image: Array) -> Array:
        if image.ndim == 3 and image.shape[2] == 3 and image.dtype.kind in "iuf" and image.dtype != np.uint8:
            return as_dtype(255 - image.astype(np.float64), image.dtype)
        return super().on_array(image)

    def on_bytes(self, image: Array) -> Array:
        return 255 - image


class AutoContrast(OnBytes):
    """Each channel stretched so that its darkest value becomes 0 and its lightest 255.

    cutoff: percents of the pixels that are left out at either end, from 0 to below 50. ignore: a value, or values, from 0 to 255
    that do not count as pixels.
    """

    channels = (3, 1)
    gray = True

    def __init__(self, cutoff: float = 0.0, ignore: Any = None) -> None:
        self.cutoff = number("AutoContrast", "cutoff", cutoff, 0, 50)
        if self.cutoff == 50:
            raise ArgumentValueError("AutoContrast: cutoff must be below 50, got 50", loc=user_loc())
        given = [] if ignore is None else ignore if isinstance(ignore, (list, tuple)) else [ignore]
        self.ignore = [integer("AutoContrast", "ignore", value, 0, 255) for value in given]

    def on_bytes(self, image: Array) -> Array:
        return np.stack([self._table(image[..., c])[image[..., c]] for c in range(image.shape[2])], 2)

    def on_pil(self, image: Any) -> Any:
        return pillow("PIL.ImageOps").autocontrast(image, self.cutoff, self.ignore)

    def _table(self, channel: Array) -> Array:
        """What becomes of each value."""
        counts = np.bincount(channel.ravel(), minlength=256)
        counts[self.ignore] = 0
        cut = int(counts.sum() * self.cutoff / 100)
        low = _cut_off(counts, cut)
        high = 255 - _cut_off(counts[::-1], cut)
        places = np.arange(256)
        if high <= low:
            return places.astype(np.uint8)
        scale = np.float32(255.0) / np.float32(high - low)
        stretched = places.astype(np.float32) * scale - np.float32(low) * scale
        table: Array = np.clip(stretched.astype(int), 0, 255).astype(np.uint8)
        return table


def _cut_off(counts: Array, cut: int) -> int:
    """The first value that is left when `cut` pixels are taken from the front, 255 if none is."""
    left = np.nonzero(np.cumsum(counts) > cut)[0]
    return int(left[0]) if left.size else 255


class Equalize(OnBytes):
    """Each channel with its values spread so that about as many pixels have each: arrays as OpenCV does it."""

    channels = (3, 1)
    gray = True

    def on_bytes(self, image: Array) -> Array:
        return np.stack([_equalized(image[..., c])[image[..., c]] for c in range(image.shape[2])], 2)

    def on_pil(self, image: Any) -> Any:
        return pillow("PIL.ImageOps").equalize(image)


def _equalized(channel: Array) -> Array:
    """What becomes of each value: its place among the pixels that are not the darkest."""
    counts = np.bincount(channel.ravel(), minlength=256)
    darkest = int(np.nonzero(counts)[0][0])
    others = channel.size - counts[darkest]
    if not others:
        return np.full(256, darkest, np.uint8)
    scale = np.float32(255) / np.float32(others)
    return as_dtype((np.cumsum(counts) - counts[darkest]).clip(0).astype(np.float32) * scale, np.uint8)


class RandomSolarize(OnBytes):
    """Values between two random ones of (min, max) inverted, both ends with them; of min = max, that value and above."""

    channels = (3, 1)
    gray = True

    def __init__(self, threshold: tuple[int, int] = (0, 255)) -> None:
        if not isinstance(threshold, tuple) or len(threshold) != 2:
            raise ArgumentTypeError(f"RandomSolarize: threshold must be (min, max), got {threshold!r}", loc=user_loc())
        low, high = (integer("RandomSolarize", "threshold", value, 0, 255) for value in threshold)
        if low > high:
            raise ArgumentValueError(f"RandomSolarize: threshold must be (min, max), got {threshold}", loc=user_loc())
        self.threshold = low, high

    def on_bytes(self, image: Array) -> Array:
        low, high = self.threshold
        first, second = sorted(int(v) for v in rng().integers(low, high + 1, 2))
        chosen = image >= first if first == second else (image >= first) & (image <= second)
        solarized: Array = np.where(chosen, 255 - image, image)
        return solarized


class RandomPosterize(OnBytes):
    """Values with only their highest bits left, a random number of (min, max) of them, or `bits`, from 1 to 8."""

    channels = (3, 1)
    gray = True

    def __init__(self, bits: Any = (8, 8)) -> None:
        given = bits if isinstance(bits, (list, tuple)) else (bits, bits)
        if len(given) != 2:
            raise ArgumentTypeError(f"RandomPosterize: bits must be an int or (min, max), got {bits!r}", loc=user_loc())
        low, high = (integer("RandomPosterize", "bits", value, 1, 8) for value in given)
        if low > high:
            raise ArgumentValueError(f"RandomPosterize: bits must be (min, max), got {bits!r}", loc=user_loc())
        self.bits = low, high

    def on_bytes(self, image: Array) -> Array:
        kept = int(rng().integers(self.bits[0], self.bits[1] + 1))
        return image & np.uint8(255 << (8 - kept) & 255)


class _Blended(OnBytes):
    """A random share of the image, the rest of another one made of it: above 1 it is pushed away from that."""

    #: The class of PIL.ImageEnhance that does it to images of Pillow's.
    enhancer: str

    def __init__(self, degrees: Any = (0.1, 1.9)) -> None:
        self.degrees = range_of(type(self).__name__, "degrees", degrees, 0)

    def on_bytes(self, image: Array) -> Array:
        share = np.float32(rng().uniform(*self.degrees))
        return image.copy() if share == 1 else blended(image, self.other(image), float(share), image_last=True)

    def on_pil(self, image: Any) -> Any:
        enhance = getattr(pillow("PIL.ImageEnhance"), self.enhancer)
        return enhance(image).enhance(float(rng().uniform(*self.degrees)))

    def other(self, image: Array) -> Array:
        """The image that it is blended with."""
        raise NotImplementedError


class RandomColor(_Blended):
    """The image blended with its gray one: 0 is gray, 1 the image itself, more is more colourful. degrees: (min, max)."""

    enhancer = "Color"

    def other(self, image: Array) -> Array:
        return gray(image)[..., None]


class RandomSharpness(_Blended):
    """The image blended with a smoother one: 0 is smooth, 1 the image itself, more is sharper. degrees: (min, max)."""

    enhancer = "Sharpness"

    def other(self, image: Array) -> Array:
        return smoothed(image)


def smoothed(image: Array) -> Array:
    """Each pixel 5 times, its 8 neighbours once, by 13; pixels at the edge as they are."""
    smooth = image.astype(np.float32)
    height, width = image.shape[:2]
    if height > 2 and width > 2:
        work = smooth.copy()
        total = 4 * work[1:-1, 1:-1]
        for y in range(3):
            for x in range(3):
                total = total + work[y : height - 2 + y, x : width - 2 + x]
        smooth[1:-1, 1:-1] = total / 13
    return as_dtype(smooth, image.dtype)
