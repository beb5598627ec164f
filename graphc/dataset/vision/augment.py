"""Images changed by policies: changes chosen at random, learned ones or any (MindSpore: mindspore.dataset.vision)."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphc.dataset.checks import integer
from graphc.dataset.sample_rng import rng
from graphc.dataset.vision.base import SIDE, ByOpenCV, Inter, color_of, resample_of
from graphc.dataset.vision.policies import SIGNED, AutoAugmentPolicy, changed, magnitudes, pairs
from graphc.errors import DataError
from graphc.validation.checks import member

Array = np.ndarray[Any, np.dtype[Any]]

#: What RandAugment and TrivialAugmentWide choose from.
_CHANGES = (
    "AutoContrast", "Brightness", "Color", "Contrast", "Equalize", "Identity", "Posterize", "Rotate", "Sharpness", "ShearX",
    "ShearY", "Solarize", "TranslateX", "TranslateY",
)  # fmt: skip
#: The largest move, as a share of a side.
_MOVE = float(np.float32(150) / np.float32(331))


def _drawn(count: int) -> int:
    """A number from 0 to count - 1; 0 twice as often as each of the others, as MindSpore draws it."""
    return int(rng().integers(count + 1)) % count


class _Augment(ByOpenCV):
    """What they share: uint8 images [H, W, 3], how pixels are found where images are turned, and what is outside."""

    def __init__(self, interpolation: Any, fill_value: Any) -> None:
        owner = type(self).__name__
        self.interpolation = resample_of(owner, interpolation, "interpolation")
        self.fill_value = color_of(owner, fill_value)

    def on_array(self, image: Array) -> Array:
        if image.dtype != np.uint8 or image.ndim != 3 or image.shape[2] != 3:
            raise DataError(
                f"{type(self).__name__}: an image must be uint8 [H, W, 3], got {image.dtype} {list(image.shape)}",
                code="GC201",
            )
        return self.augmented(image)

    def augmented(self, image: Array) -> Array:
        """The changed image."""
        raise NotImplementedError

    def changed(self, image: Array, name: str, magnitude: float, negative: bool) -> Array:
        """The image with one change."""
        signed = -magnitude if negative and name in SIGNED else magnitude
        return changed(image, name, float(signed), self.interpolation, self.fill_value)


class RandAugment(_Augment):
    """num_ops changes, each any of 14, with the magnitude of that number among num_magnitude_bins (E. Cubuk et al., 2020).

    magnitude: from 0 to num_magnitude_bins - 1. interpolation: Inter.NEAREST, BILINEAR, BICUBIC or AREA. fill_value: 0 .. 255, or
    three for RGB, what is outside. Takes uint8 images [H, W, 3].
    """

    def __init__(
        self,
        num_ops: int = 2,
        magnitude: int = 9,
        num_magnitude_bins: int = 31,
        interpolation: Inter = Inter.NEAREST,
        fill_value: Any = 0,
    ) -> None:
        self.num_ops = integer("RandAugment", "num_ops", num_ops, 0, SIDE)
        self.bins = integer("RandAugment", "num_magnitude_bins", num_magnitude_bins, 2, SIDE)
        self.magnitude = integer("RandAugment", "magnitude", magnitude, 0, self.bins - 1)
        super().__init__(interpolation, fill_value)

    def augmented(self, image: Array) -> Array:
        height, width = image.shape[:2]
        known = magnitudes(self.bins, 0.3, (_MOVE * width, _MOVE * height), 30, 0.9, 4, 255)
        for _ in range(self.num_ops):
            name = _CHANGES[_drawn(len(_CHANGES))]
            magnitude = known[name][self.magnitude] if name in known else 0.0
            image = self.changed(image, name, magnitude, negative=_drawn(2) == 1)
        return image


class TrivialAugmentWide(_Augment):
    """One change, any of 14, with any of num_magnitude_bins magnitudes (S. Müller and F. Hutter, ICCV 2021).

    interpolation: Inter.NEAREST, BILINEAR, BICUBIC or AREA. fill_value: 0 .. 255, or three for RGB, what is outside. Takes uint8
    images [H, W, 3].
    """

    def __init__(self, num_magnitude_bins: int = 31, interpolation: Inter = Inter.NEAREST, fill_value: Any = 0) -> None:
        self.bins = integer("TrivialAugmentWide", "num_magnitude_bins", num_magnitude_bins, 2, SIDE)
        super().__init__(interpolation, fill_value)

    def augmented(self, image: Array) -> Array:
        known = magnitudes(self.bins, 0.99, (32, 32), 135, 0.99, 6, 255)
        name = _CHANGES[_drawn(len(_CHANGES))]
        magnitude = known[name][_drawn(self.bins)] if name in known else 0.0
        return self.changed(image, name, magnitude, negative=_drawn(2) == 1)


class AutoAugment(_Augment):
    """One of 25 learned pairs of changes, each of the two with its probability (E. Cubuk et al., CVPR 2019).

    policy: an AutoAugmentPolicy. interpolation: Inter.NEAREST, BILINEAR, BICUBIC or AREA. fill_value: 0 .. 255, or three for RGB,
    what is outside. Takes uint8 images [H, W, 3].
    """

    def __init__(
        self,
        policy: AutoAugmentPolicy = AutoAugmentPolicy.IMAGENET,
        interpolation: Inter = Inter.NEAREST,
        fill_value: Any = 0,
    ) -> None:
        member("AutoAugment", "policy", policy, AutoAugmentPolicy)
        self.pairs = pairs(policy)
        super().__init__(interpolation, fill_value)

    def augmented(self, image: Array) -> Array:
        height, width = image.shape[:2]
        known = magnitudes(10, 0.3, (_MOVE * width, _MOVE * height), 30, 0.9, 4, 256)
        random = rng()
        for name, probability, bin_ in self.pairs[int(random.integers(len(self.pairs)))]:
            negative = bool(random.integers(2))
            if random.random() < probability:
                magnitude = 0.0 if bin_ is None else known[name][bin_]
                image = self.changed(image, name, magnitude, negative)
        return image
