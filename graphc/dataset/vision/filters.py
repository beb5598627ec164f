"""Images smoothed, and parts of them erased (MindSpore: mindspore.dataset.vision)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from graphc.dataset.checks import chance, integer, number, truth
from graphc.dataset.sample_rng import rng
from graphc.dataset.vision.base import SIDE, ImageTransform, range_of
from graphc.dataset.vision.resample import as_dtype
from graphc.errors import ArgumentTypeError, ArgumentValueError, DataError, user_loc
from graphc.validation.unused_arguments import refusal

Array = np.ndarray[Any, np.dtype[Any]]


class GaussianBlur(ImageTransform):
    """The image convolved with a Gaussian; at the edges it is mirrored.

    kernel_size: (width, height) or an int, odd. sigma: its standard deviation along x and y, or one for both; where it is 0 that
    along y is that along x, which is 0.15 width + 0.35. An image of Pillow's becomes an array. Bytes and uint16 are those that
    OpenCV makes, by whole numbers.
    """

    def __init__(self, kernel_size: Any, sigma: Any = None) -> None:
        sizes = kernel_size if isinstance(kernel_size, (list, tuple)) else (kernel_size, kernel_size)
        sigmas = (0.0, 0.0) if sigma is None else sigma if isinstance(sigma, (list, tuple)) else (sigma, sigma)
        if len(sizes) not in (1, 2) or len(sigmas) not in (1, 2):
            raise ArgumentTypeError(
                f"GaussianBlur: kernel_size and sigma must be one or two, got {kernel_size!r}, {sigma!r}",
                loc=user_loc(),
            )
        widths = [integer("GaussianBlur", "kernel_size", value, 1, SIDE) for value in sizes]
        if any(width % 2 == 0 for width in widths):
            raise ArgumentValueError(f"GaussianBlur: kernel_size must be odd, got {kernel_size!r}", loc=user_loc())
        spreads = [number("GaussianBlur", "sigma", value, 0) for value in sigmas]
        # MindSpore holds them in float32.
        along_x = np.float32(spreads[0]) or np.float32(widths[0]) * np.float32(0.15) + np.float32(0.35)
        along_y = np.float32(spreads[-1]) or along_x
        self.x, self.y = _gaussian(widths[0], float(along_x)), _gaussian(widths[-1], float(along_y))

    def on_array(self, image: Array) -> Array:
        if image.dtype in (np.uint8, np.uint16):
            return self._on_whole(image)
        work = image.astype(np.float64 if image.dtype == np.float64 else np.float32)
        return as_dtype(_convolved(_convolved(work, self.x, 1), self.y, 0), image.dtype)

    def _on_whole(self, image: Array) -> Array:
        """Weights are whole numbers whose sum is 2^8, or 2^16, and the sum of products is rounded once."""
        bits, wide = 8 * image.itemsize, np.int32 if image.itemsize == 1 else np.int64
        along_x, along_y = (_in_whole(kernel, bits) for kernel in (self.x, self.y))
        total = _convolved(_convolved(image.astype(wide), along_x, 1), along_y, 0)
        total += 1 << (2 * bits - 1)
        return np.asarray((total >> (2 * bits)).astype(image.dtype))

    def on_pil(self, image: Any) -> Any:
        return self.on_array(np.asarray(image))


def _in_whole(kernel: Array, bits: int) -> Array:
    """Symmetric weights as whole numbers: from the ends on, each with what the ones before were rounded off; the middle has the
    rest.
    """
    made, half, error = np.zeros(len(kernel), np.int64), len(kernel) // 2, 0.0
    for k in range(half):
        wanted = kernel[k] * (1 << bits) + error
        made[k] = made[-1 - k] = round(wanted)
        error = wanted - made[k]
    made[half] = (1 << bits) - made.sum()
    return made


def _gaussian(size: int, sigma: float) -> Array:
    """Its values at `size` places, of sum 1."""
    places = np.arange(size) - (size - 1) / 2
    values = np.exp(-(places**2) / (2 * sigma * sigma))
    shares: Array = values / values.sum()
    return shares


def _convolved(image: Array, kernel: Array, axis: int) -> Array:
    """Along an axis; the image goes on mirrored, without its edge twice."""
    half, length = len(kernel) // 2, image.shape[axis]
    period = max(2 * (length - 1), 1)
    places = np.abs(np.arange(-half, length + half)) % period
    mirrored = np.where(places >= length, period - places, places)
    total = np.zeros_like(image)
    for k, weight in enumerate(kernel):
        total += image.take(mirrored[k : k + length], axis=axis) * image.dtype.type(weight)
    return total


class RandomErasing(ImageTransform):
    """With probability `prob` a random part of an image [C, H, W] set to `value`.

    scale: (min, max) of the part's share of the area; ratio: (min, max) of its width by its height. value: a number from 0 to
    255, one for each channel, or "random" for normal numbers in each place. inplace: the image itself is changed. After
    max_attempts parts that do not fit the image stays.
    """

    def __init__(
        self,
        prob: float = 0.5,
        scale: tuple[float, float] = (0.02, 0.33),
        ratio: tuple[float, float] = (0.3, 3.3),
        value: Any = 0,
        inplace: bool = False,
        max_attempts: int = 10,
    ) -> None:
        owner = "RandomErasing"
        self.prob = chance(owner, prob)
        self.scale, self.ratio = range_of(owner, "scale", scale, 0, SIDE), range_of(owner, "ratio", ratio, 0, SIDE)
        if self.scale[1] == 0 or self.ratio[0] == 0:
            raise ArgumentValueError(f"{owner}: scale[1] and ratio must be above 0", loc=user_loc())
        if isinstance(value, str):
            if value != "random":
                raise refusal(owner, "value", value, 0, "random")
            self.value: str | list[int] = value
        else:
            given = value if isinstance(value, (list, tuple)) else [value]
            self.value = [integer(owner, "value", v, 0, 255) for v in given]
        self.inplace = truth(owner, "inplace", inplace)
        self.max_attempts = integer(owner, "max_attempts", max_attempts, 1)

    def on_array(self, image: Array) -> Array:
        if image.ndim != 3:
            raise DataError(f"RandomErasing: an image must be [C, H, W], got {list(image.shape)}", code="GC201")
        if not isinstance(self.value, str) and len(self.value) not in (1, image.shape[0]):
            raise DataError(
                f"RandomErasing: the image has {image.shape[0]} channels, value {len(self.value)} numbers", code="GC201"
            )
        random = rng()
        part = self._part(*image.shape[1:]) if random.random() < self.prob else None
        if part is None:
            return image
        top, left, height, width = part
        result = image if self.inplace else image.copy()
        shape = (image.shape[0], height, width)
        filling = random.standard_normal(shape) if isinstance(self.value, str) else np.reshape(self.value, (-1, 1, 1))
        result[:, top : top + height, left : left + width] = filling
        return result

    def _part(self, height: int, width: int) -> tuple[int, int, int, int] | None:
        """(top, left, height, width), smaller than the image both ways; None if none is found."""
        random = rng()
        for _ in range(self.max_attempts):
            area, ratio = height * width * random.uniform(*self.scale), random.uniform(*self.ratio)
            w = round(math.sqrt(area * ratio))
            h = round(w / ratio)
            if h < height and w < width:
                return int(random.integers(height - h + 1)), int(random.integers(width - w + 1)), h, w
        return None

    def on_pil(self, image: Any) -> Any:
        raise DataError("RandomErasing: is for arrays [C, H, W], not for images of Pillow's", code="GC201")
