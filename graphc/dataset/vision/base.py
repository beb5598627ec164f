"""What transforms of images share: arrays [H, W] or [H, W, C], or images of Pillow's."""

from __future__ import annotations

from enum import IntEnum, StrEnum
from importlib import import_module
from typing import Any, Self

import numpy as np

from graphc.dataset.checks import integer, number
from graphc.dataset.core.rows import to_array
from graphc.dataset.transforms.base import Transform
from graphc.errors import ArgumentTypeError, ArgumentValueError, DataError, DataKindError, MissingPackageError, user_loc
from graphc.validation.checks import member
from graphc.validation.unused_arguments import only, refusal

Array = np.ndarray[Any, np.dtype[Any]]

#: The largest side of an image that MindSpore's checks let through.
SIDE = 2**24


class Inter(IntEnum):
    """How pixels between pixels are found."""

    NEAREST = 0
    ANTIALIAS = 1
    BILINEAR = LINEAR = 2
    BICUBIC = CUBIC = 3
    AREA = 4
    PILCUBIC = 5


class Border(StrEnum):
    """What lies outside of an image: one value, its edge, its mirror image without the edge, or with it."""

    CONSTANT = "constant"
    EDGE = "edge"
    REFLECT = "reflect"
    SYMMETRIC = "symmetric"


def pillow(module: str = "PIL.Image") -> Any:
    """A module of Pillow's; MissingPackageError, an ImportError, that names the extra."""
    try:
        return import_module(module)
    except ImportError as error:
        raise MissingPackageError(
            "images are read, written and transformed by Pillow, which is not installed",
            loc=user_loc(),
            help="pip install 'graphc[vision]'",
        ) from error


def is_pil(value: Any) -> bool:
    """Whether a value is an image of Pillow's."""
    return type(value).__module__.startswith("PIL.")


class OnDevice(Transform):
    """A transform that MindSpore runs on a CPU or on an NPU."""

    def device(self, device_target: str = "CPU") -> Self:
        """This transform; ArgumentValueError for another device than "CPU"."""
        only(f"{type(self).__name__}.device", "device_target", device_target, "CPU")
        return self


class ImageTransform(OnDevice):
    """A transform of one image: `on_array` for an array, `on_pil` for an image of Pillow's."""

    #: Whether it takes [..., H, W, C] as well, many images of one size.
    many = False

    def __call__(self, *inputs: Any) -> Any:
        if not inputs:
            raise ArgumentTypeError(f"{type(self).__name__} needs an image", loc=user_loc())
        results = tuple(self._one(value) for value in inputs)
        return results[0] if len(results) == 1 else results

    def _one(self, value: Any) -> Any:
        if is_pil(value):
            return self.on_pil(value)
        array = to_array(value)
        if self.many and array.ndim > 3 and array.size and array.dtype.kind in "biuf":
            images = np.stack([self.on_array(image) for image in array.reshape(-1, *array.shape[-3:])])
            return images.reshape(*array.shape[:-3], *images.shape[1:])
        if array.ndim not in (2, 3) or array.dtype.kind not in "biuf":
            raise DataKindError(
                f"{type(self).__name__}: an image must be numbers [H, W] or [H, W, C], got {array.dtype} "
                f"{list(array.shape)}",
                code="GC201",
                help="Decode() for encoded images" if array.ndim == 1 else None,
            )
        if not array.size:
            raise DataError(f"{type(self).__name__}: an image {list(array.shape)} has no pixels", code="GC201")
        return self.on_array(array)

    def on_array(self, image: Array) -> Any:
        """The transformed image, numbers [H, W] or [H, W, C]."""
        raise NotImplementedError

    def on_pil(self, image: Any) -> Any:
        """The transformed image of Pillow's."""
        return pillow().fromarray(self.on_array(np.asarray(image)))


def size_of(owner: str, size: Any) -> tuple[int, int]:
    """(height, width) of an int, for a square, or a sequence of two."""
    if isinstance(size, (list, tuple)):
        if len(size) != 2:
            raise ArgumentTypeError(f"{owner}: size must be an int or (height, width), got {size!r}", loc=user_loc())
        return integer(owner, "size", size[0], 1, SIDE), integer(owner, "size", size[1], 1, SIDE)
    side = integer(owner, "size", size, 1, SIDE)
    return side, side


def interpolation_of(owner: str, value: Any, name: str = "interpolation") -> Inter:
    """One of Inter."""
    return member(owner, name, value, Inter)


def resample_of(owner: str, value: Any, name: str = "resample") -> Inter:
    """One of Inter that images are turned and moved by; Inter.AREA is Inter.BILINEAR there, as in OpenCV."""
    known = (Inter.NEAREST, Inter.BILINEAR, Inter.BICUBIC, Inter.AREA)
    if interpolation_of(owner, value, name) not in known:
        raise refusal(owner, name, value, *known)
    found: Inter = value
    return found


def border_of(owner: str, value: Any) -> Border:
    """One of Border."""
    return member(owner, "padding_mode", value, Border)


def color_of(owner: str, value: Any) -> tuple[int, int, int]:
    """Three values from 0 to 255 of one, or of a tuple of three."""
    given = value if isinstance(value, tuple) else (value,)
    if len(given) not in (1, 3):
        raise ArgumentTypeError(f"{owner}: fill_value must be an int or a tuple of 3, got {value!r}", loc=user_loc())
    colors = [integer(owner, "fill_value", v, 0, 255) for v in given]
    r, g, b = colors * 3 if len(colors) == 1 else colors
    return r, g, b


def range_of(owner: str, name: str, value: Any, low: float | None, high: float | None = None) -> tuple[float, float]:
    """(min, max), with min <= max, both within low and high."""
    if not isinstance(value, (list, tuple)) or len(value) != 2:
        raise ArgumentTypeError(f"{owner}: {name} must be (min, max), got {value!r}", loc=user_loc())
    least, most = (number(owner, name, v, low, high) for v in value)
    if least > most:
        raise ArgumentValueError(f"{owner}: {name} must be (min, max), got {value!r}", loc=user_loc())
    return least, most


class ByOpenCV(ImageTransform):
    """A transform that makes arrays of images of Pillow's, too."""

    def on_pil(self, image: Any) -> Array:
        result: Array = self.on_array(np.asarray(image))
        return result


class OfPillow(ImageTransform):
    """A transform of images of Pillow's alone."""

    def on_array(self, image: Array) -> Any:
        raise DataKindError(
            f"{type(self).__name__} is for images of Pillow's, got an array {list(image.shape)}",
            code="GC201",
            help="ToPIL() makes one",
        )


def arrays_only(owner: str, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
    """The values, none of them an image of Pillow's."""
    if any(map(is_pil, inputs)):
        raise ArgumentTypeError(f"{owner} is for arrays, got an image of Pillow's", loc=user_loc(), help="ToNumpy()")
    return inputs


def arrays_of(inputs: tuple[Any, ...]) -> tuple[Any, ...]:
    """The values, images of Pillow's as arrays."""
    return tuple(np.asarray(value) if is_pil(value) else value for value in inputs)


def padding_of(owner: str, value: Any) -> tuple[int, int, int, int]:
    """Pixels at (left, top, right, bottom) of an int, (left and right, top and bottom) or all four."""
    several = isinstance(value, (list, tuple))
    given = value if several else (value,)
    if several and len(given) not in (2, 4):
        raise ArgumentValueError(
            f"{owner}: padding must be an int or a sequence of 2 or 4 ints, got {value!r}", loc=user_loc()
        )
    sides = [integer(owner, "padding", v, 0, 2**31 - 1) for v in given]
    left, top, right, bottom = sides * (4 // len(sides))
    return left, top, right, bottom


def padded(image: Array, padding: tuple[int, int, int, int], color: tuple[int, int, int], mode: Border) -> Array:
    """The image [H, W] or [H, W, C] with so many pixels at (left, top, right, bottom)."""
    left, top, right, bottom = padding
    around = ((top, bottom), (left, right), (0, 0))[: image.ndim]
    if mode is not Border.CONSTANT:
        how: Any = {Border.EDGE: "edge", Border.REFLECT: "reflect", Border.SYMMETRIC: "symmetric"}[mode]
        return np.pad(image, around, mode=how)
    shape = (image.shape[0] + top + bottom, image.shape[1] + left + right, *image.shape[2:])
    result = np.empty(shape, image.dtype)
    result[...] = color[0] if image.ndim == 2 or image.shape[2] != 3 else color
    result[top : top + image.shape[0], left : left + image.shape[1]] = image
    return result
