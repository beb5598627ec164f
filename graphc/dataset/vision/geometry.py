"""Images cut, turned, mirrored, framed and resized (MindSpore: mindspore.dataset.vision)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from graphc.dataset.checks import chance, integer, number, truth
from graphc.dataset.sample_rng import rng
from graphc.dataset.vision.base import (
    SIDE,
    Border,
    ImageTransform,
    Inter,
    border_of,
    color_of,
    interpolation_of,
    padded,
    padding_of,
    pillow,
    range_of,
    resample_of,
    size_of,
)
from graphc.dataset.vision.coding import Decode
from graphc.dataset.vision.resample import resized
from graphc.dataset.vision.warping import rotated
from graphc.errors import ArgumentTypeError, ArgumentValueError, DataError, user_loc

Array = np.ndarray[Any, np.dtype[Any]]


def pil_filter(interpolation: Inter) -> Any:
    """Pillow's name of an interpolation; DataError where it has none."""
    filters = pillow().Resampling
    known = {
        Inter.NEAREST: filters.NEAREST,
        Inter.ANTIALIAS: filters.LANCZOS,
        Inter.BILINEAR: filters.BILINEAR,
        Inter.BICUBIC: filters.BICUBIC,
    }
    if interpolation not in known:
        raise DataError(f"Inter.{interpolation.name} is for arrays, not for images of Pillow's", code="GC201")
    return known[interpolation]


def _resized_pil(image: Any, height: int, width: int, interpolation: Inter) -> Any:
    return image.resize((width, height), pil_filter(interpolation))


class Resize(ImageTransform):
    """The image in another size: (height, width), or an int for its shorter side, the other one in proportion.

    Arrays are computed as OpenCV does, images of Pillow's as Pillow does, which smooths when it shrinks. Inter.AREA and
    Inter.PILCUBIC are for arrays, Inter.ANTIALIAS for images of Pillow's. Takes many images [..., H, W, C], too.
    """

    many = True

    def __init__(self, size: Any, interpolation: Inter = Inter.BILINEAR) -> None:
        self.size = size_of("Resize", size)
        self.shorter = not isinstance(size, (list, tuple))
        self.interpolation = interpolation_of("Resize", interpolation)

    def _target(self, height: int, width: int) -> tuple[int, int]:
        if not self.shorter:
            return self.size
        side = self.size[0]
        return (side, int(side * width / height)) if height <= width else (int(side * height / width), side)

    def on_array(self, image: Array) -> Array:
        return resized(image, *self._target(*image.shape[:2]), self.interpolation)

    def on_pil(self, image: Any) -> Any:
        return _resized_pil(image, *self._target(image.height, image.width), self.interpolation)


class CenterCrop(ImageTransform):
    """The middle of the image, (height, width) or an int for a square; where it is smaller it is framed in 0. Takes many images
    [..., H, W, C], too.
    """

    many = True

    def __init__(self, size: Any) -> None:
        self.size = size_of("CenterCrop", size)

    def on_array(self, image: Array) -> Array:
        for axis, wanted in enumerate(self.size):
            have = image.shape[axis]
            if have > wanted:
                start = (have - wanted) // 2
                image = image.take(np.arange(start, start + wanted), axis=axis)
            elif have < wanted:
                around = [(0, 0)] * image.ndim
                around[axis] = ((wanted - have + 1) // 2, (wanted - have) // 2)
                image = np.pad(image, around)
        return image

    def on_pil(self, image: Any) -> Any:
        height, width = self.size
        left, top = round((image.width - width) / 2), round((image.height - height) / 2)
        return image.crop((left, top, left + width, top + height))


class Pad(ImageTransform):
    """The image in a frame: so many pixels on all sides, (left and right, top and bottom) or (left, top, right, bottom).

    fill_value: 0 .. 255, or three for RGB, for Border.CONSTANT.
    """

    def __init__(self, padding: Any, fill_value: Any = 0, padding_mode: Border = Border.CONSTANT) -> None:
        self.padding = padding_of("Pad", padding)
        self.fill_value, self.mode = color_of("Pad", fill_value), border_of("Pad", padding_mode)

    def on_array(self, image: Array) -> Array:
        return padded(image, self.padding, self.fill_value, self.mode)


class RandomCrop(ImageTransform):
    """A part of the image, (height, width) or an int for a square, at a random place.

    padding: a frame before that, as in Pad; pad_if_needed: a frame where the image is smaller, else a DataError.
    """

    def __init__(
        self,
        size: Any,
        padding: Any = None,
        pad_if_needed: bool = False,
        fill_value: Any = 0,
        padding_mode: Border = Border.CONSTANT,
    ) -> None:
        self.size = size_of("RandomCrop", size)
        self.padding = None if padding is None else padding_of("RandomCrop", padding)
        self.pad_if_needed = truth("RandomCrop", "pad_if_needed", pad_if_needed)
        self.fill_value, self.mode = color_of("RandomCrop", fill_value), border_of("RandomCrop", padding_mode)

    def on_array(self, image: Array) -> Array:
        height, width = self.size
        if self.padding is not None:
            image = padded(image, self.padding, self.fill_value, self.mode)
        if self.pad_if_needed:
            x, y = max(width - image.shape[1], 0), max(height - image.shape[0], 0)
            if x or y:
                image = padded(image, (x, y, x, y), self.fill_value, self.mode)
        if image.shape[0] < height or image.shape[1] < width:
            raise DataError(
                f"RandomCrop: the image is {image.shape[0]}x{image.shape[1]}, smaller than {height}x{width}",
                code="GC201",
                help="pad_if_needed=True frames it",
            )
        top = int(rng().integers(image.shape[0] - height + 1))
        left = int(rng().integers(image.shape[1] - width + 1))
        return image[top : top + height, left : left + width].copy()


class RandomResizedCrop(ImageTransform):
    """A random part of the image, resized to (height, width) or a square.

    scale: (min, max) of the part's share of the area; ratio: (min, max) of its width by its height. After max_attempts parts
    that do not fit it is the largest one in the middle with an allowed ratio.
    """

    def __init__(
        self,
        size: Any,
        scale: tuple[float, float] = (0.08, 1.0),
        ratio: tuple[float, float] = (3.0 / 4.0, 4.0 / 3.0),
        interpolation: Inter = Inter.BILINEAR,
        max_attempts: int = 10,
    ) -> None:
        owner = type(self).__name__
        self.size = size_of(owner, size)
        self.scale = range_of(owner, "scale", scale, 0, SIDE)
        self.ratio = range_of(owner, "ratio", ratio, 0, SIDE)
        if self.scale[1] == 0 or self.ratio[0] == 0:
            raise ArgumentValueError(f"{owner}: scale[1] and ratio must be above 0", loc=user_loc())
        self.interpolation = interpolation_of(owner, interpolation)
        self.max_attempts = integer(owner, "max_attempts", max_attempts, 1)

    def _part(self, height: int, width: int) -> tuple[int, int, int, int]:
        """(top, left, height, width)."""
        random = rng()
        for _ in range(self.max_attempts):
            area = height * width * random.uniform(*self.scale)
            ratio = math.exp(random.uniform(math.log(self.ratio[0]), math.log(self.ratio[1])))
            w, h = round(math.sqrt(area * ratio)), round(math.sqrt(area / ratio))
            if 0 < w <= width and 0 < h <= height:
                return int(random.integers(height - h + 1)), int(random.integers(width - w + 1)), h, w
        ratio = min(max(width / height, self.ratio[0]), self.ratio[1])
        w, h = min(width, max(1, round(height * ratio))), min(height, max(1, round(width / ratio)))
        return (height - h) // 2, (width - w) // 2, h, w

    def on_array(self, image: Array) -> Array:
        top, left, h, w = self._part(*image.shape[:2])
        return resized(image[top : top + h, left : left + w], *self.size, self.interpolation)

    def on_pil(self, image: Any) -> Any:
        top, left, h, w = self._part(image.height, image.width)
        return _resized_pil(image.crop((left, top, left + w, top + h)), *self.size, self.interpolation)


class RandomCropDecodeResize(RandomResizedCrop):
    """RandomResizedCrop of the image in the bytes of a file, uint8 [n] or bytes: uint8 [height, width, 3]."""

    def __call__(self, *inputs: Any) -> Any:
        if not inputs:
            raise ArgumentTypeError("RandomCropDecodeResize needs the bytes of an image", loc=user_loc())
        results = tuple(self.on_array(Decode()(value)) for value in inputs)
        return results[0] if len(results) == 1 else results


class RandomHorizontalFlip(ImageTransform):
    """The image mirrored left to right, with probability `prob`."""

    axis, transpose = 1, "FLIP_LEFT_RIGHT"

    def __init__(self, prob: float = 0.5) -> None:
        self.prob = chance(type(self).__name__, prob)

    def on_array(self, image: Array) -> Array:
        return np.flip(image, self.axis).copy() if rng().random() < self.prob else image

    def on_pil(self, image: Any) -> Any:
        flip = getattr(pillow().Transpose, self.transpose)
        return image.transpose(flip) if rng().random() < self.prob else image


class RandomVerticalFlip(RandomHorizontalFlip):
    """The image mirrored top to bottom, with probability `prob`."""

    axis, transpose = 0, "FLIP_TOP_BOTTOM"


class Turning(ImageTransform):
    """What rotations share: how pixels are found, what is outside, about which place."""

    def __init__(self, resample: Any, expand: Any, center: Any, fill_value: Any) -> None:
        owner = type(self).__name__
        self.resample = resample_of(owner, resample)
        self.expand = truth(owner, "expand", expand)
        if center is not None:
            if not isinstance(center, tuple) or len(center) != 2:
                raise ArgumentValueError(f"{owner}: center must be (x, y), got {center!r}", loc=user_loc())
            for value in center:
                number(owner, "center", value)
        self.center, self.fill_value = center, color_of(owner, fill_value)

    def turned(self, image: Array, degrees: float) -> Array:
        """The image turned counterclockwise."""
        return rotated(image, degrees, self.resample, self.expand, self.center, self.fill_value)


class RandomRotation(Turning):
    """The image turned counterclockwise by a random angle: of (min, max) degrees, or from -degrees to degrees.

    resample: Inter.NEAREST, BILINEAR, BICUBIC or AREA. expand: the result is large enough for all of the turned image. center:
    (x, y), by default the middle. fill_value: 0 .. 255, or three for RGB, what is outside.
    """

    def __init__(
        self,
        degrees: Any,
        resample: Inter = Inter.NEAREST,
        expand: bool = False,
        center: tuple[int, int] | None = None,
        fill_value: Any = 0,
    ) -> None:
        owner = "RandomRotation"
        if isinstance(degrees, (list, tuple)):
            self.degrees = range_of(owner, "degrees", degrees, -360, 360)
        else:
            most = number(owner, "degrees", degrees, 0, SIDE)
            self.degrees = (-most, most)
        super().__init__(resample, expand, center, fill_value)

    def on_array(self, image: Array) -> Array:
        return self.turned(image, float(rng().uniform(*self.degrees)))

    def on_pil(self, image: Any) -> Any:
        angle = float(rng().uniform(*self.degrees))
        fill = self.fill_value[0] if len(image.getbands()) == 1 else self.fill_value
        return image.rotate(angle, pil_filter(self.resample), self.expand, self.center, fillcolor=fill)
