"""Images seen from another side: four of their points moved to four others (MindSpore: mindspore.dataset.vision)."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphc.dataset.checks import INT32_MAX, chance, integer, number
from graphc.dataset.sample_rng import rng
from graphc.dataset.vision.base import ImageTransform, Inter, OfPillow, interpolation_of, pillow
from graphc.dataset.vision.geometry import pil_filter
from graphc.dataset.vision.sampler import PARTS, sampled
from graphc.errors import ArgumentTypeError, DataError, user_loc

Array = np.ndarray[Any, np.dtype[Any]]
Points = list[tuple[int, int]]

_DTYPES = ("uint8", "int16", "uint16", "float32", "float64")


class Perspective(ImageTransform):
    """The image in a perspective that moves four points (x, y) to four others; outside is 0.

    start_points, end_points: four (x, y), ints. interpolation: of arrays all but Inter.ANTIALIAS, AREA and PILCUBIC as BILINEAR;
    of images of Pillow's all but AREA and PILCUBIC.
    """

    def __init__(self, start_points: Any, end_points: Any, interpolation: Inter = Inter.BILINEAR) -> None:
        self.start, self.end = _points("start_points", start_points), _points("end_points", end_points)
        self.interpolation = interpolation_of("Perspective", interpolation)

    def on_array(self, image: Array) -> Array:
        if self.interpolation is Inter.ANTIALIAS:
            raise ArgumentTypeError(
                "Perspective: Inter.ANTIALIAS is for images of Pillow's", loc=user_loc(), help="ToPIL()"
            )
        image = image.astype(np.uint8) if image.dtype == bool else image
        dtypes = (*_DTYPES, *(("int8", "int32") if self.interpolation is Inter.NEAREST else ()))
        if image.dtype.name not in dtypes:
            raise DataError(f"Perspective: an image must be {', '.join(dtypes)}, got {image.dtype}", code="GC201")
        if self.interpolation is Inter.BICUBIC and image.ndim == 3 and image.shape[2] > 4:
            raise DataError(f"Perspective: Inter.BICUBIC takes up to 4 channels, got {image.shape[2]}", code="GC201")
        return _projected(image, _matrix(self.start, self.end), self.interpolation)

    def on_pil(self, image: Any) -> Any:
        if self.interpolation in (Inter.AREA, Inter.PILCUBIC):
            raise ArgumentTypeError(
                f"Perspective: Inter.{self.interpolation.name} is for arrays, not for images of Pillow's",
                loc=user_loc(),
            )
        return _projected_pil(image, self.start, self.end, self.interpolation)


class RandomPerspective(OfPillow):
    """An image of Pillow's, with probability `prob` in a random perspective: each corner moved inwards, by up to
    distortion_scale, from 0 to 1, times half of its width and height.
    """

    def __init__(self, distortion_scale: float = 0.5, prob: float = 0.5, interpolation: Inter = Inter.BICUBIC) -> None:
        for name, value in (("distortion_scale", distortion_scale), ("prob", prob)):
            if not isinstance(value, float):
                raise ArgumentTypeError(
                    f"RandomPerspective: {name} must be a float, got {type(value).__name__}", loc=user_loc()
                )
        self.distortion_scale = number("RandomPerspective", "distortion_scale", distortion_scale, 0, 1)
        self.prob = chance("RandomPerspective", prob)
        self.interpolation = interpolation_of("RandomPerspective", interpolation)

    def on_pil(self, image: Any) -> Any:
        if rng().random() >= self.prob:
            return image
        right, bottom = image.width - 1, image.height - 1
        corners = [(0, 0), (right, 0), (right, bottom), (0, bottom)]
        moves = [(self._inwards(image.width), self._inwards(image.height)) for _ in corners]
        ends = [(abs(x - dx), abs(y - dy)) for (x, y), (dx, dy) in zip(corners, moves, strict=True)]
        return _projected_pil(image, corners, ends, self.interpolation)

    def _inwards(self, side: int) -> int:
        return int(rng().integers(int(side / 2 * self.distortion_scale) + 1))


def _points(name: str, value: Any) -> Points:
    """Four (x, y) of a sequence of four sequences of two ints."""
    fitting = isinstance(value, (list, tuple)) and len(value) == 4
    if not fitting or not all(isinstance(point, (list, tuple)) and len(point) == 2 for point in value):
        raise ArgumentTypeError(f"Perspective: {name} must be four (x, y), got {value!r}", loc=user_loc())
    x_y = [[integer("Perspective", name, v, -INT32_MAX - 1, INT32_MAX) for v in point] for point in value]
    return [(x, y) for x, y in x_y]


def _equations(start: Points, end: Points) -> Array:
    """[8, 8]: what of the places `start` and of their products with those of `end` the places `end` are."""
    rows = []
    for (x, y), (u, v) in zip(start, end, strict=True):
        rows += [[x, y, 1, 0, 0, 0, -u * x, -u * y], [0, 0, 0, x, y, 1, -v * x, -v * y]]
    return np.array(rows, float)


def _projected_pil(image: Any, start: Points, end: Points, interpolation: Inter) -> Any:
    # Where pixels of the result come from; the least squares of points that fix no perspective.
    factors = np.linalg.lstsq(_equations(end, start), np.array(start, float).reshape(8), rcond=None)[0]
    return image.transform(image.size, pillow().Transform.PERSPECTIVE, factors.tolist(), pil_filter(interpolation))


def _matrix(start: Points, end: Points) -> Array:
    """[3, 3]: from places (x, y, 1) of the result to those of the image, times a number. 0 of points that fix none."""
    try:
        factors = np.linalg.solve(_equations(start, end), np.array(end, float).reshape(8))
        return np.linalg.inv(np.append(factors, 1.0).reshape(3, 3))
    except np.linalg.LinAlgError:
        return np.zeros((3, 3))


def _projected(image: Array, matrix: Array, interpolation: Inter) -> Array:
    """The image with the pixel at each place that of the place times the matrix, as OpenCV's warpPerspective finds it."""
    y, x = np.ogrid[: image.shape[0], : image.shape[1]]
    depth, down, across = (row[0] * x + row[1] * y + row[2] for row in matrix[[2, 1, 0]])
    parts = 1 if interpolation is Inter.NEAREST else PARTS
    with np.errstate(divide="ignore", invalid="ignore"):
        by = np.where(depth == 0, 0, parts / depth)
    at_y, at_x = (np.rint(np.clip(over * by, -INT32_MAX - 1, INT32_MAX)).astype(np.int64) for over in (down, across))
    return sampled(image, at_y, at_x, interpolation)
