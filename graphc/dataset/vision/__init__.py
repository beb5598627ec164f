"""Transforms of images, over NumPy and Pillow (MindSpore: mindspore.dataset.vision). Pillow comes with graphc[vision]."""

from graphc.dataset.vision.base import Border, Inter
from graphc.dataset.vision.coding import Decode, ToPIL
from graphc.dataset.vision.color import RandomColorAdjust
from graphc.dataset.vision.geometry import (
    CenterCrop,
    Pad,
    RandomCrop,
    RandomHorizontalFlip,
    RandomResizedCrop,
    RandomRotation,
    Resize,
)
from graphc.dataset.vision.pixels import HWC2CHW, CutOut, MixUpBatch, Normalize, Rescale, ToTensor

__all__ = [
    "HWC2CHW",
    "Border",
    "CenterCrop",
    "CutOut",
    "Decode",
    "Inter",
    "MixUpBatch",
    "Normalize",
    "Pad",
    "RandomColorAdjust",
    "RandomCrop",
    "RandomHorizontalFlip",
    "RandomResizedCrop",
    "RandomRotation",
    "Rescale",
    "Resize",
    "ToPIL",
    "ToTensor",
]  # fmt: skip
