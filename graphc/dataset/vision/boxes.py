"""Images changed together with the boxes in them (MindSpore: mindspore.dataset.vision).

Boxes are float32 [boxes, 4 or more]: x and y of the upper left corner, width, height, and what else they have, which stays.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from graphc.dataset.checks import chance, truth
from graphc.dataset.core.rows import to_array
from graphc.dataset.sample_rng import rng
from graphc.dataset.transforms.base import Transform
from graphc.dataset.vision.base import (
    Border,
    Inter,
    OfPillow,
    arrays_of,
    border_of,
    color_of,
    interpolation_of,
    padded,
    padding_of,
    size_of,
)
from graphc.dataset.vision.choices import RandomResize
from graphc.dataset.vision.geometry import RandomResizedCrop, Resize
from graphc.dataset.vision.resample import resized
from graphc.errors import ArgumentTypeError, DataError, user_loc

Array = np.ndarray[Any, np.dtype[Any]]


class _WithBoxes(Transform):
    """A transform of an image, of Pillow's or an array, and its boxes: both change together, and the image becomes an array."""

    def __call__(self, *inputs: Any) -> Any:
        owner = type(self).__name__
        if len(inputs) != 2:
            raise DataError(f"{owner} takes an image and its boxes, got {len(inputs)} values", code="GC201")
        image, boxes = map(to_array, arrays_of(inputs))
        if image.ndim not in (2, 3) or image.dtype.kind not in "biuf":
            raise DataError(
                f"{owner}: an image must be numbers [H, W] or [H, W, C], got {image.dtype} {list(image.shape)}",
                code="GC201",
            )
        if boxes.ndim != 2 or boxes.shape[1] < 4 or not len(boxes) or boxes.dtype != np.float32:
            raise DataError(
                f"{owner}: boxes must be float32 [boxes, 4 or more], got {boxes.dtype} {list(boxes.shape)}",
                code="GC201",
            )
        (x, y, width, height), sides = boxes[:, :4].T, image.shape[1::-1]
        outside = (x < 0) | (y < 0) | (x + width > sides[0]) | (y + height > sides[1])
        if outside.any():
            box = boxes[outside][0, :4].tolist()
            raise DataError(
                f"{owner}: the box (x, y, width, height) {box} does not lie in the image of {sides[1]}x{sides[0]}",
                code="GC201",
            )
        return self.boxed(image, boxes.copy())

    def boxed(self, image: Array, boxes: Array) -> tuple[Array, Array]:
        """The image and boxes, which may be written, changed."""
        raise NotImplementedError


def _scaled(boxes: Array, old: tuple[int, ...], new: tuple[int, ...]) -> Array:
    """Boxes of an image of (height, width) `old` in one of `new`."""
    boxes[:, [0, 2]] *= np.float32(new[1] / old[1])
    boxes[:, [1, 3]] *= np.float32(new[0] / old[0])
    return boxes


def _cut(boxes: Array, top: int, left: int, height: int, width: int) -> Array:
    """What of the boxes is in a part of the image; those that do not touch it are left out."""
    starts = boxes[:, :2] - np.array([left, top], np.float32)
    ends = starts + boxes[:, 2:4]
    sides = np.array([width, height], np.float32)
    kept = ((starts <= sides) & (ends >= 0)).all(1)
    starts, ends = starts[kept].clip(0, None), np.minimum(ends[kept], sides)
    return np.concatenate([starts, ends - starts, boxes[kept, 4:]], 1)


class RandomHorizontalFlipWithBBox(_WithBoxes):
    """An image and its boxes mirrored left to right, with probability `prob`."""

    axis = 1

    def __init__(self, prob: float = 0.5) -> None:
        self.prob = chance(type(self).__name__, prob)

    def boxed(self, image: Array, boxes: Array) -> tuple[Array, Array]:
        if rng().random() >= self.prob:
            return image, boxes
        along, side = 1 - self.axis, np.float32(image.shape[self.axis])
        boxes[:, along] = side - boxes[:, along] - boxes[:, along + 2]
        return np.flip(image, self.axis).copy(), boxes


class RandomVerticalFlipWithBBox(RandomHorizontalFlipWithBBox):
    """An image and its boxes mirrored top to bottom, with probability `prob`."""

    axis = 0


class ResizeWithBBox(_WithBoxes):
    """Resize of an image as an array, and of its boxes."""

    def __init__(self, size: Any, interpolation: Inter = Inter.BILINEAR) -> None:
        owner = type(self).__name__
        size_of(owner, size)  # Whose name the error has.
        self.resize: Transform = Resize(size, interpolation_of(owner, interpolation))

    def boxed(self, image: Array, boxes: Array) -> tuple[Array, Array]:
        changed = self.resize(image)
        return changed, _scaled(boxes, image.shape, changed.shape)


class RandomResizeWithBBox(ResizeWithBBox):
    """RandomResize of an image as an array, and of its boxes."""

    def __init__(self, size: Any) -> None:
        size_of("RandomResizeWithBBox", size)
        self.resize = RandomResize(size)


class RandomCropWithBBox(_WithBoxes):
    """RandomCrop of an image, and its boxes cut to what of them is in the part; those that do not touch it are left out."""

    def __init__(
        self,
        size: Any,
        padding: Any = None,
        pad_if_needed: bool = False,
        fill_value: Any = 0,
        padding_mode: Border = Border.CONSTANT,
    ) -> None:
        owner = "RandomCropWithBBox"
        self.size = size_of(owner, size)
        self.padding = padding_of(owner, 0 if padding is None else padding)
        self.pad_if_needed = truth(owner, "pad_if_needed", pad_if_needed)
        self.fill_value, self.mode = color_of(owner, fill_value), border_of(owner, padding_mode)

    def boxed(self, image: Array, boxes: Array) -> tuple[Array, Array]:
        height, width = self.size
        image = self._framed(image, boxes, self.padding)
        x, y = max(width - image.shape[1], 0), max(height - image.shape[0], 0)
        if x or y:
            if not self.pad_if_needed:
                raise DataError(
                    f"RandomCropWithBBox: the image is {image.shape[0]}x{image.shape[1]}, smaller than {height}x{width}",
                    code="GC201",
                    help="pad_if_needed=True frames it",
                )
            image = self._framed(image, boxes, (x, y, x, y))
        top, left = (int(rng().integers(have - want + 1)) for have, want in zip(image.shape, self.size, strict=False))
        return image[top : top + height, left : left + width].copy(), _cut(boxes, top, left, height, width)

    def _framed(self, image: Array, boxes: Array, frame: tuple[int, int, int, int]) -> Array:
        """The image in a frame, its boxes moved."""
        boxes[:, :2] += np.array(frame[:2], np.float32)
        return padded(image, frame, self.fill_value, self.mode)


class RandomResizedCropWithBBox(_WithBoxes, RandomResizedCrop):
    """RandomResizedCrop of an image as an array, and its boxes cut to what of them is in the part, and resized."""

    def boxed(self, image: Array, boxes: Array) -> tuple[Array, Array]:
        top, left, height, width = self._part(*image.shape[:2])
        part = image[top : top + height, left : left + width]
        kept = _cut(boxes, top, left, height, width)
        return resized(part, *self.size, self.interpolation), _scaled(kept, (height, width), self.size)


class BoundingBoxAugment(_WithBoxes):
    """A transform done to what is in the boxes of an image, to each with probability `ratio`; boxes stay.

    transform: one of graphc's, of arrays; a result of another size is resized into the box.
    """

    def __init__(self, transform: Transform, ratio: float = 0.3) -> None:
        if not isinstance(transform, Transform) or isinstance(transform, OfPillow):
            raise ArgumentTypeError(
                f"BoundingBoxAugment: transform must be a transform of arrays, got {transform!r}", loc=user_loc()
            )
        self.transform, self.ratio = transform, chance("BoundingBoxAugment", ratio, "ratio")

    def boxed(self, image: Array, boxes: Array) -> tuple[Array, Array]:
        image = image.copy()
        for left, top, width, height in boxes[:, :4].astype(int):
            if rng().random() >= self.ratio:
                continue
            if not width or not height:
                raise DataError(f"BoundingBoxAugment: a box of {height}x{width} has no pixels", code="GC201")
            place = slice(top, top + height), slice(left, left + width)
            changed = to_array(self.transform(image[place].copy()))
            if changed.ndim != image.ndim or changed.dtype != image.dtype or changed.shape[2:] != image.shape[2:]:
                raise DataError(
                    f"BoundingBoxAugment: {type(self.transform).__name__} made {changed.dtype} {list(changed.shape)} of the part"
                    f" of an image that is {image.dtype} {list(image.shape)}",
                    code="GC201",
                )
            image[place] = resized(changed, int(height), int(width), Inter.BILINEAR)
        return image, boxes
