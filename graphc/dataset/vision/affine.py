"""Images turned, moved, scaled and sheared in one (MindSpore: mindspore.dataset.vision)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from graphc.dataset.checks import number
from graphc.dataset.sample_rng import rng
from graphc.dataset.vision.base import SIDE, ImageTransform, Inter, color_of, pillow, range_of, resample_of
from graphc.dataset.vision.geometry import pil_filter
from graphc.dataset.vision.warping import Matrix, warped
from graphc.errors import ArgumentTypeError, ArgumentValueError, user_loc

Array = np.ndarray[Any, np.dtype[Any]]
Range = tuple[float, float]


class RandomAffine(ImageTransform):
    """The image turned, moved, scaled and sheared at random about its middle.

    degrees: (min, max) of clockwise degrees, or from -degrees to degrees. translate: (min, max) of the move along x as a share of
    the width, or (min x, max x, min y, max y), from -1 to 1. scale: (min, max). shear: (min, max) degrees along x, or
    (min x, max x, min y, max y), or from -shear to shear along x. resample: Inter.NEAREST, BILINEAR, BICUBIC or AREA.
    fill_value: 0 .. 255, or three for RGB, what is outside.
    """

    def __init__(
        self,
        degrees: Any,
        translate: Any = None,
        scale: Any = None,
        shear: Any = None,
        resample: Inter = Inter.NEAREST,
        fill_value: Any = 0,
    ) -> None:
        owner = "RandomAffine"
        if isinstance(degrees, (list, tuple)):
            self.degrees = range_of(owner, "degrees", degrees, None)
        else:
            most = number(owner, "degrees", degrees, 0, SIDE)
            self.degrees = (-most, most)
        self.translate = _two_ranges("translate", (0, 0) if translate is None else translate, -1, 1)
        self.scale = (1.0, 1.0) if scale is None else range_of(owner, "scale", scale, 0, SIDE)
        if self.scale[1] == 0:
            raise ArgumentValueError(f"{owner}: scale must reach above 0, got {scale!r}", loc=user_loc())
        if shear is not None and not isinstance(shear, (list, tuple)):
            most = number(owner, "shear", shear, 0, SIDE)
            shear = (-most, most)
        self.shear = _two_ranges("shear", (0, 0) if shear is None else shear, None, None)
        self.resample = resample_of(owner, resample)
        self.fill_value = color_of(owner, fill_value)

    def _drawn(self, height: int, width: int) -> tuple[float, tuple[float, float], float, tuple[float, float]]:
        """Degrees, the move in pixels, the scale, degrees of shear."""
        random = rng()
        angle = float(random.uniform(*self.degrees))
        sides = zip(self.translate, (width, height), strict=True)
        x, y = (side * float(random.uniform(*bounds)) for bounds, side in sides)
        scale = float(random.uniform(*self.scale))
        shear_x, shear_y = (float(random.uniform(*bounds)) for bounds in self.shear)
        return angle, (x, y), scale, (shear_x, shear_y)

    def on_array(self, image: Array) -> Array:
        height, width = image.shape[:2]
        matrix = inverse_affine(((width - 1) / 2, (height - 1) / 2), *self._drawn(height, width))
        return warped(image, matrix, (height, width), self.resample, self.fill_value)

    def on_pil(self, image: Any) -> Any:
        angle, (x, y), scale, shear = self._drawn(image.height, image.width)
        center = image.width / 2 + 0.5, image.height / 2 + 0.5
        matrix = inverse_affine_both(center, angle, (round(x), round(y)), scale, shear)
        fill = self.fill_value[0] if len(image.getbands()) == 1 else self.fill_value
        how = pillow().Transform.AFFINE
        return image.transform(image.size, how, matrix, pil_filter(self.resample), fillcolor=fill)


def inverse_affine(
    center: tuple[float, float], degrees: float, move: tuple[float, float], scale: float, shear: tuple[float, float]
) -> Matrix:
    """Where the pixels come from, when an image is sheared, turned clockwise and scaled about `center`, and then moved."""
    turn, shear_x, shear_y = (math.radians(v) for v in (degrees, *shear))
    a = math.cos(turn - shear_y) / math.cos(shear_y)
    b = -a * math.tan(shear_x) - math.sin(turn)
    d = math.sin(turn - shear_y) / math.cos(shear_y)
    e = -d * math.tan(shear_x) + math.cos(turn)
    # Its determinant is 1 before the scale.
    return _about(center, move, e / scale, -b / scale, -d / scale, a / scale)


def inverse_affine_both(
    center: tuple[float, float], degrees: float, move: tuple[float, float], scale: float, shear: tuple[float, float]
) -> Matrix:
    """The same with each axis turned by its shear as well, as MindSpore does it to images of Pillow's."""
    first, second = math.radians(degrees + shear[0]), math.radians(degrees + shear[1])
    size = scale * math.cos(first - second)
    a, b, d, e = math.cos(first), math.sin(first), -math.sin(second), math.cos(second)
    return _about(center, move, a / size, b / size, d / size, e / size)


def _about(center: tuple[float, float], move: tuple[float, float], a: float, b: float, d: float, e: float) -> Matrix:
    x, y = center[0] + move[0], center[1] + move[1]
    return a, b, center[0] - a * x - b * y, d, e, center[1] - d * x - e * y


def _two_ranges(name: str, value: Any, low: float | None, high: float | None) -> tuple[Range, Range]:
    """(min, max) along x and y, of two numbers for x, or of four."""
    if not isinstance(value, (list, tuple)) or len(value) not in (2, 4):
        raise ArgumentTypeError(f"RandomAffine: {name} must be 2 or 4 numbers, got {value!r}", loc=user_loc())
    along_y = value[2:] if len(value) == 4 else (0, 0)
    return range_of("RandomAffine", name, value[:2], low, high), range_of("RandomAffine", name, along_y, low, high)
