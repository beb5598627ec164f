"""Channels of images in another order, with an alpha, or as gray ones (MindSpore: mindspore.dataset.vision)."""

from __future__ import annotations

from enum import IntEnum
from typing import Any

import numpy as np

from graphc.dataset.vision.base import ByOpenCV
from graphc.dataset.vision.blend import gray
from graphc.errors import DataError
from graphc.validation.checks import member

Array = np.ndarray[Any, np.dtype[Any]]


class ConvertMode(IntEnum):
    """From which channels to which, in their order."""

    COLOR_BGR2BGRA = COLOR_RGB2RGBA = 0
    COLOR_BGRA2BGR = COLOR_RGBA2RGB = 1
    COLOR_BGR2RGBA = COLOR_RGB2BGRA = 2
    COLOR_RGBA2BGR = COLOR_BGRA2RGB = 3
    COLOR_BGR2RGB = COLOR_RGB2BGR = 4
    COLOR_BGRA2RGBA = COLOR_RGBA2BGRA = 5
    COLOR_BGR2GRAY = 6
    COLOR_RGB2GRAY = 7
    COLOR_GRAY2BGR = COLOR_GRAY2RGB = 8
    COLOR_GRAY2BGRA = COLOR_GRAY2RGBA = 9
    COLOR_BGRA2GRAY = 10
    COLOR_RGBA2GRAY = 11


#: Where red, green and blue of a gray image come from; the channels of the others.
_GRAYED = {6: (2, 1, 0), 7: (0, 1, 2), 10: (2, 1, 0), 11: (0, 1, 2)}
_ORDERS = {
    0: (0, 1, 2, 3), 1: (0, 1, 2), 2: (2, 1, 0, 3), 3: (2, 1, 0), 4: (2, 1, 0), 5: (2, 1, 0, 3), 8: (0, 1, 2), 9: (0, 1, 2, 3),
}  # fmt: skip


class ConvertColor(ByOpenCV):
    """The channels of an image in another order, by a ConvertMode; [H, W] to gray.

    Channels that a mode speaks of and the image lacks: three that are the gray one, and an alpha that is the largest value of the
    dtype, for floats 1.
    """

    def __init__(self, convert_mode: ConvertMode) -> None:
        member("ConvertColor", "convert_mode", convert_mode, ConvertMode)
        self.mode = convert_mode

    def on_array(self, image: Array) -> Array:
        have = 1 if image.ndim == 2 else image.shape[2]
        wanted = (3, 4) if self.mode in _GRAYED else (1,) if "GRAY2" in self.mode.name else (1, 3, 4)
        if have not in wanted:
            raise DataError(
                f"ConvertColor: {self.mode.name} needs {' or '.join(map(str, wanted))} channels, got an image"
                f" {list(image.shape)}",
                code="GC201",
            )
        if self.mode in _GRAYED:
            return gray(image[..., _GRAYED[self.mode]])
        if have == 1:
            image = np.repeat(image.reshape(*image.shape[:2], 1), 3, 2)
        if image.shape[2] == 3:
            opaque = np.iinfo(image.dtype).max if image.dtype.kind in "iu" else 1
            image = np.concatenate([image, np.full_like(image[..., :1], opaque)], 2)
        return np.ascontiguousarray(image[..., _ORDERS[self.mode]])
