"""Images cut, turned, mirrored, framed and covered, nothing at random (MindSpore: mindspore.dataset.vision)."""

from __future__ import annotations

import math
from enum import IntEnum
from typing import Any

import numpy as np

from graphc.dataset.checks import INT32_MAX, integer, number, truth
from graphc.dataset.vision.affine import inverse_affine
from graphc.dataset.vision.base import (
    SIDE,
    Border,
    ByOpenCV,
    Inter,
    OfPillow,
    border_of,
    color_of,
    interpolation_of,
    padded,
    pillow,
    resample_of,
    size_of,
)
from graphc.dataset.vision.geometry import Turning
from graphc.dataset.vision.resample import as_dtype, resized
from graphc.dataset.vision.warping import warped
from graphc.errors import ArgumentTypeError, ArgumentValueError, DataError, user_loc
from graphc.validation.checks import member

Array = np.ndarray[Any, np.dtype[Any]]


class HorizontalFlip(ByOpenCV):
    """The image mirrored left to right. Takes many images [..., H, W, C], too."""

    axis, many = 1, True

    def __init__(self) -> None:
        pass

    def on_array(self, image: Array) -> Array:
        return np.flip(image, self.axis).copy()


class VerticalFlip(HorizontalFlip):
    """The image mirrored top to bottom. Takes many images [..., H, W, C], too."""

    axis = 0


def part_of(owner: str, image: Array, top: int, left: int, height: int, width: int) -> Array:
    """A part of an image; DataError if it does not lie inside."""
    have = image.shape[:2]
    if top + height > have[0] or left + width > have[1]:
        raise DataError(
            f"{owner}: the part of {height}x{width} from ({top}, {left}) does not lie in the image of {have[0]}x{have[1]}",
            code="GC201",
        )
    return image[top : top + height, left : left + width]


class Crop(ByOpenCV):
    """The part of the image from coordinates (top, left) on, (height, width) or an int for a square."""

    def __init__(self, coordinates: Any, size: Any) -> None:
        self.coordinates = _pair("Crop", "coordinates", coordinates)
        self.size = size_of("Crop", size)

    def on_array(self, image: Array) -> Array:
        return part_of("Crop", image, *self.coordinates, *self.size).copy()


class ResizedCrop(ByOpenCV):
    """The part of height x width from (top, left) on, resized to (height, width) or a square."""

    def __init__(
        self, top: int, left: int, height: int, width: int, size: Any, interpolation: Inter = Inter.BILINEAR
    ) -> None:
        self.part = _box("ResizedCrop", top, left, height, width)
        self.size = size_of("ResizedCrop", size)
        self.interpolation = interpolation_of("ResizedCrop", interpolation)

    def on_array(self, image: Array) -> Array:
        return resized(part_of("ResizedCrop", image, *self.part), *self.size, self.interpolation)


class Rotate(Turning, ByOpenCV):
    """The image turned counterclockwise by so many degrees. Takes many images [..., H, W, C], too.

    resample: Inter.NEAREST, BILINEAR, BICUBIC or AREA. expand: the result is large enough for all of the turned image. center:
    (x, y), by default the middle. fill_value: 0 .. 255, or three for RGB, what is outside.
    """

    many = True

    def __init__(
        self,
        degrees: float,
        resample: Inter = Inter.NEAREST,
        expand: bool = False,
        center: tuple[int, int] | None = None,
        fill_value: Any = 0,
    ) -> None:
        self.degrees = number("Rotate", "degrees", degrees)
        super().__init__(resample, expand, center, fill_value)

    def on_array(self, image: Array) -> Array:
        return self.turned(image, math.fmod(self.degrees, 360))


class Affine(ByOpenCV):
    """The image turned clockwise, moved, scaled and sheared about its middle.

    degrees: from -180 to 180. translate: (x, y) as shares of width and height, from -1 to 1. scale: above 0. shear: degrees along
    x, or (x, y), from -180 to 180. resample: Inter.NEAREST, BILINEAR, BICUBIC or AREA. fill_value: 0 .. 255, or three for RGB,
    what is outside.
    """

    def __init__(
        self,
        degrees: float,
        translate: Any,
        scale: float,
        shear: Any,
        resample: Inter = Inter.NEAREST,
        fill_value: Any = 0,
    ) -> None:
        self.degrees = number("Affine", "degrees", degrees, -180, 180)
        self.translate = _two("translate", translate, 1)
        self.scale = number("Affine", "scale", scale)
        if self.scale <= 0:
            raise ArgumentValueError(f"Affine: scale must be above 0, got {scale}", loc=user_loc())
        self.shear = _two("shear", shear if isinstance(shear, (list, tuple)) else (shear, 0), 180)
        self.resample = resample_of("Affine", resample)
        self.fill_value = color_of("Affine", fill_value)

    def on_array(self, image: Array) -> Array:
        height, width = image.shape[:2]
        move = self.translate[0] * width, self.translate[1] * height
        matrix = inverse_affine(((width - 1) / 2, (height - 1) / 2), self.degrees, move, self.scale, self.shear)
        return warped(image, matrix, (height, width), self.resample, self.fill_value)


class Erase(ByOpenCV):
    """An image [H, W, 3] with the part of height x width from (top, left) on set to a value, 0 .. 255, or to three.

    What of the part lies outside is left out. With inplace the array that is given is written itself.
    """

    def __init__(self, top: int, left: int, height: int, width: int, value: Any = 0.0, inplace: bool = False) -> None:
        self.part = _box("Erase", top, left, height, width)
        given = value if isinstance(value, tuple) else (value,) * 3
        if len(given) != 3:
            raise ArgumentTypeError(f"Erase: value must be a number or a tuple of 3, got {value!r}", loc=user_loc())
        self.value = [number("Erase", "value", v, 0, 255) for v in given]
        self.inplace = truth("Erase", "inplace", inplace)

    def on_array(self, image: Array) -> Array:
        if image.ndim != 3 or image.shape[2] != 3:
            raise DataError(f"Erase: an image must be [H, W, 3], got {list(image.shape)}", code="GC201")
        top, left, height, width = self.part
        if height > image.shape[0] or width > image.shape[1] or top > image.shape[0] or left > image.shape[1]:
            raise DataError(
                f"Erase: the part of {height}x{width} from ({top}, {left}) is no part of the image of {image.shape[0]}x"
                f"{image.shape[1]}",
                code="GC201",
            )
        result = image if self.inplace and image.flags.writeable else image.copy()
        result[top : top + height, left : left + width] = as_dtype(np.array(self.value), image.dtype)
        return result


class PadToSize(ByOpenCV):
    """The image in a frame that makes it (height, width), or a square.

    offset: pixels at (top, left), or one number for both; by default the image is in the middle. fill_value: 0 .. 255, or
    three for RGB, for Border.CONSTANT.
    """

    def __init__(
        self, size: Any, offset: Any = None, fill_value: Any = 0, padding_mode: Border = Border.CONSTANT
    ) -> None:
        self.size = size_of("PadToSize", size)
        if isinstance(offset, (list, tuple)) and not offset:
            offset = None
        self.offset = None if offset is None else _pair("PadToSize", "offset", offset)
        self.fill_value, self.mode = color_of("PadToSize", fill_value), border_of("PadToSize", padding_mode)

    def on_array(self, image: Array) -> Array:
        (height, width), (have, wide) = self.size, image.shape[:2]
        top, left = self.offset or ((height - have) // 2, (width - wide) // 2)
        bottom, right = height - have - top, width - wide - left
        if min(top, left, bottom, right) < 0:
            raise DataError(
                f"PadToSize: the image of {have}x{wide} at ({top}, {left}) does not fit into {height}x{width}",
                code="GC201",
            )
        return padded(image, (left, top, right, bottom), self.fill_value, self.mode)


class SliceMode(IntEnum):
    """What becomes of an image that does not divide evenly: it is filled up, or its rest is left out."""

    PAD = 0
    DROP = 1


class SlicePatches(ByOpenCV):
    """num_height x num_width parts of one size, row by row; one part alone is no tuple. fill_value: of SliceMode.PAD."""

    def __init__(
        self, num_height: int = 1, num_width: int = 1, slice_mode: SliceMode = SliceMode.PAD, fill_value: int = 0
    ) -> None:
        self.numbers = (
            integer("SlicePatches", "num_height", num_height, 1, INT32_MAX),
            integer("SlicePatches", "num_width", num_width, 1, INT32_MAX),
        )
        member("SlicePatches", "slice_mode", slice_mode, SliceMode)
        self.mode, self.fill_value = slice_mode, integer("SlicePatches", "fill_value", fill_value, 0, 255)

    def on_array(self, image: Array) -> Any:
        (down, across), (have, wide) = self.numbers, image.shape[:2]
        if down > have or across > wide:
            raise DataError(f"SlicePatches: {down}x{across} parts of an image of {have}x{wide}", code="GC201")
        height, width = have // down, wide // across
        if self.mode is SliceMode.PAD:
            height, width = -(-have // down), -(-wide // across)
            frame = (0, 0, width * across - wide, height * down - have)
            image = padded(image, frame, (self.fill_value,) * 3, Border.CONSTANT)
        corners = [(y * height, x * width) for y in range(down) for x in range(across)]
        parts = tuple(image[top : top + height, left : left + width].copy() for top, left in corners)
        return parts[0] if len(parts) == 1 else parts


class _Crops(OfPillow):
    """Several parts of an image of Pillow's."""

    def __init__(self, size: Any) -> None:
        self.size = size_of(type(self).__name__, size)

    def on_pil(self, image: Any) -> tuple[Any, ...]:
        return self.corners(image)

    def corners(self, image: Any) -> tuple[Any, ...]:
        """Its parts at the four corners and in the middle."""
        (height, width), (have, wide) = self.size, (image.height, image.width)
        if height > have or width > wide:
            raise DataError(
                f"{type(self).__name__}: the image is {have}x{wide}, smaller than {height}x{width}", code="GC201"
            )
        places = [(0, 0), (0, wide - width), (have - height, 0), (have - height, wide - width)]
        places.append((round((have - height) / 2), round((wide - width) / 2)))
        return tuple(image.crop((left, top, left + width, top + height)) for top, left in places)


class FiveCrop(_Crops):
    """The parts of an image of Pillow's at its corners, the upper ones first, and in its middle: (height, width) or a square."""


class TenCrop(_Crops):
    """FiveCrop of an image of Pillow's, and of the image mirrored: left to right, or with use_vertical_flip top to bottom."""

    def __init__(self, size: Any, use_vertical_flip: bool = False) -> None:
        super().__init__(size)
        self.use_vertical_flip = truth("TenCrop", "use_vertical_flip", use_vertical_flip)

    def on_pil(self, image: Any) -> tuple[Any, ...]:
        flips = pillow().Transpose
        flip = flips.FLIP_TOP_BOTTOM if self.use_vertical_flip else flips.FLIP_LEFT_RIGHT
        return self.corners(image) + self.corners(image.transpose(flip))


def _pair(owner: str, name: str, value: Any) -> tuple[int, int]:
    """(y, x) of a sequence of two ints, for offsets of one int as well."""
    if isinstance(value, int) and name == "offset":
        value = (value, value)
    if not isinstance(value, (list, tuple)) or len(value) != 2:
        raise ArgumentTypeError(f"{owner}: {name} must be two ints, got {value!r}", loc=user_loc())
    return integer(owner, name, value[0], 0, INT32_MAX), integer(owner, name, value[1], 0, INT32_MAX)


def _box(owner: str, top: Any, left: Any, height: Any, width: Any) -> tuple[int, int, int, int]:
    return (
        integer(owner, "top", top, 0, INT32_MAX),
        integer(owner, "left", left, 0, INT32_MAX),
        integer(owner, "height", height, 1, SIDE),
        integer(owner, "width", width, 1, SIDE),
    )


def _two(name: str, value: Any, most: float) -> tuple[float, float]:
    if not isinstance(value, (list, tuple)) or len(value) != 2:
        raise ArgumentTypeError(f"Affine: {name} must be two numbers, got {value!r}", loc=user_loc())
    return number("Affine", name, value[0], -most, most), number("Affine", name, value[1], -most, most)
