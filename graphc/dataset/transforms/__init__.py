"""Transforms for `map` (MindSpore: mindspore.dataset.transforms); those of images are in graphc.dataset.vision."""

from graphc.dataset.transforms.arrays import (
    Concatenate,
    Duplicate,
    Fill,
    Mask,
    OneHot,
    PadEnd,
    Relational,
    TypeCast,
    Unique,
)
from graphc.dataset.transforms.compositions import Compose, RandomApply, RandomChoice, RandomOrder

__all__ = [
    "Compose", "Concatenate", "Duplicate", "Fill", "Mask", "OneHot", "PadEnd", "RandomApply", "RandomChoice", "RandomOrder",
    "Relational", "TypeCast", "Unique",
]  # fmt: skip
