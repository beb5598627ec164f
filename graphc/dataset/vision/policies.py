"""What policies of augmentation choose from: changes of images by name, how strong each may be, and learned pairs of them."""

from __future__ import annotations

import math
from collections.abc import Callable
from enum import StrEnum
from typing import Any

import numpy as np

from graphc.dataset.vision.adjust import (
    AdjustBrightness,
    AdjustContrast,
    AdjustSaturation,
    AdjustSharpness,
    Posterize,
    Solarize,
)
from graphc.dataset.vision.affine import inverse_affine
from graphc.dataset.vision.base import Inter
from graphc.dataset.vision.tones import AutoContrast, Equalize, Invert
from graphc.dataset.vision.warping import rotated, warped

Array = np.ndarray[Any, np.dtype[Any]]
Color = tuple[int, int, int]
Pair = tuple[float, float]


class AutoAugmentPolicy(StrEnum):
    """The data set whose policy was learned: 25 pairs of changes, each with a probability and a magnitude."""

    IMAGENET = "imagenet"
    CIFAR10 = "cifar10"
    SVHN = "svhn"


#: The pairs of each policy (E. Cubuk et al., CVPR 2019), as name probability magnitude, the magnitude where there is one.
_PAIRS = {
    AutoAugmentPolicy.IMAGENET: """
        Posterize .4 8, Rotate .6 9; Solarize .6 5, AutoContrast .6; Equalize .8, Equalize .6; Posterize .6 7, Posterize .6 6;
        Equalize .4, Solarize .2 4; Equalize .4, Rotate .8 8; Solarize .6 3, Equalize .6; Posterize .8 5, Equalize 1;
        Rotate .2 3, Solarize .6 8; Equalize .6, Posterize .4 6; Rotate .8 8, Color .4 0; Rotate .4 9, Equalize .6;
        Equalize 0, Equalize .8; Invert .6, Equalize 1; Color .6 4, Contrast 1 8; Rotate .8 8, Color 1 2;
        Color .8 8, Solarize .8 7; Sharpness .4 7, Invert .6; ShearX .6 5, Equalize 1; Color .4 0, Equalize .6;
        Equalize .4, Solarize .2 4; Solarize .6 5, AutoContrast .6; Invert .6, Equalize 1; Color .6 4, Contrast 1 8;
        Equalize .8, Equalize .6""",
    AutoAugmentPolicy.CIFAR10: """
        Invert .1, Contrast .2 6; Rotate .7 2, TranslateX .3 9; Sharpness .8 1, Sharpness .9 3; ShearY .5 8, TranslateY .7 9;
        AutoContrast .5, Equalize .9; ShearY .2 7, Posterize .3 7; Color .4 3, Brightness .6 7; Sharpness .3 9, Brightness .7 9;
        Equalize .6, Equalize .5; Contrast .6 7, Sharpness .6 5; Color .7 7, TranslateX .5 8; Equalize .3, AutoContrast .4;
        TranslateY .4 3, Sharpness .2 6; Brightness .9 6, Color .2 8; Solarize .5 2, Invert 0; Equalize .2, AutoContrast .6;
        Equalize .2, Equalize .6; Color .9 9, Equalize .6; AutoContrast .8, Solarize .2 8; Brightness .1 3, Color .7 0;
        Solarize .4 5, AutoContrast .9; TranslateY .9 9, TranslateY .7 9; AutoContrast .9, Solarize .8 3; Equalize .8, Invert .1;
        TranslateY .7 9, AutoContrast .9""",
    AutoAugmentPolicy.SVHN: """
        ShearX .9 4, Invert .2; ShearY .9 8, Invert .7; Equalize .6, Solarize .6 6; Invert .9, Equalize .6;
        Equalize .6, Rotate .9 3; ShearX .9 4, AutoContrast .8; ShearY .9 8, Invert .4; ShearY .9 5, Solarize .2 6;
        Invert .9, AutoContrast .8; Equalize .6, Rotate .9 3; ShearX .9 4, Solarize .3 3; ShearY .8 8, Invert .7;
        Equalize .9, TranslateY .6 6; Invert .9, Equalize .6; Contrast .3 3, Rotate .8 4; Invert .8, TranslateY 0 2;
        ShearY .7 6, Solarize .4 8; Invert .6, Rotate .8 4; ShearY .3 7, TranslateX .9 3; ShearX .1 6, Invert .6;
        Solarize .7 2, TranslateY .6 7; ShearY .8 4, Invert .8; ShearX .7 9, TranslateY .8 3; ShearY .8 5, AutoContrast .7;
        ShearX .7 2, Invert .1""",
}  # fmt: skip


def pairs(policy: AutoAugmentPolicy) -> list[list[tuple[str, float, int | None]]]:
    """25 times two of (name, probability, magnitude or None)."""
    return [[_change(*change.split()) for change in pair.split(",")] for pair in _PAIRS[policy].split(";")]


def _change(name: str, probability: str, magnitude: str | None = None) -> tuple[str, float, int | None]:
    return name, float(probability), None if magnitude is None else int(magnitude)


def _evenly(start: float, end: float, bins: int) -> Array:
    first = np.float32(start)
    values: Array = first + np.arange(bins, dtype=np.float32) * ((np.float32(end) - first) / np.float32(bins - 1))
    return values


def magnitudes(
    bins: int, shear: float, moves: Pair, degrees: float, share: float, bits: int, top: float
) -> dict[str, Array]:
    """float32 [bins] for each change that has magnitudes, from the weakest on: shares of shear, pixels along x and y, degrees,
    shares of brightness and the like, bits from 8 down to 8 - `bits`, and thresholds from `top` down.
    """
    left = np.rint(_evenly(0, bins - 1, bins) * np.float32(-bits / (bins - 1)) + np.float32(8))
    even = {name: _evenly(0, share, bins) for name in ("Brightness", "Color", "Contrast", "Sharpness")}
    return even | {
        "ShearX": _evenly(0, shear, bins),
        "ShearY": _evenly(0, shear, bins),
        "TranslateX": _evenly(0, moves[0], bins),
        "TranslateY": _evenly(0, moves[1], bins),
        "Rotate": _evenly(0, degrees, bins),
        "Posterize": left,
        "Solarize": _evenly(top, 0, bins),
    }


#: Changes whose magnitudes may be negative.
SIGNED = frozenset(
    ("ShearX", "ShearY", "TranslateX", "TranslateY", "Rotate", "Brightness", "Color", "Contrast", "Sharpness")
)
#: What a share of 1 + magnitude is taken of.
_ADJUSTED = {
    "Brightness": AdjustBrightness, "Color": AdjustSaturation, "Contrast": AdjustContrast, "Sharpness": AdjustSharpness,
}  # fmt: skip
_PLAIN: dict[str, Callable[[Array], Array]] = {
    "AutoContrast": AutoContrast().on_array,
    "Equalize": Equalize().on_array,
    "Invert": Invert().on_array,
    "Identity": lambda image: image,
}


def changed(image: Array, name: str, magnitude: float, interpolation: Inter, fill: Color) -> Array:
    """A uint8 image [H, W, 3] changed; what comes from outside is `fill`."""
    if name in _PLAIN:
        return _PLAIN[name](image)
    if name in _ADJUSTED:
        adjusted: Array = _ADJUSTED[name](float(1 + np.float32(magnitude))).on_array(image)
        return adjusted
    if name == "Posterize":
        return Posterize(int(magnitude)).on_array(image)
    if name == "Solarize":
        return Solarize(magnitude).on_array(image)
    if name == "Rotate":
        return rotated(image, magnitude, interpolation, False, None, fill)
    height, width = image.shape[:2]
    along = (magnitude, 0.0) if name.endswith("X") else (0.0, magnitude)
    if name.startswith("Shear"):
        move, shear = (0.0, 0.0), (math.degrees(along[0]), math.degrees(along[1]))
    else:
        move, shear = (int(along[0]), int(along[1])), (0.0, 0.0)
    matrix = inverse_affine(((width - 1) / 2, (height - 1) / 2), 0, move, 1, shear)
    return warped(image, matrix, (height, width), interpolation, fill)
