"""Transforms for `map` (MindSpore: mindspore.dataset.transforms); those of images are in graphc.dataset.vision."""

from typing import TYPE_CHECKING, Any

from graphc.dataset.transforms.arrays import (
    Concatenate,
    Duplicate,
    Fill,
    Mask,
    OneHot,
    PadEnd,
    Relational,
    Slice,
    TypeCast,
    Unique,
)
from graphc.dataset.transforms.base import not_random
from graphc.dataset.transforms.compositions import Compose, RandomApply, RandomChoice, RandomOrder
from graphc.errors.suggestions import no_member
from graphc.tracebacks import clean
from graphc.validation.signatures import accept

__all__ = [
    "Compose", "Concatenate", "Duplicate", "Fill", "Mask", "OneHot", "PadEnd", "RandomApply", "RandomChoice", "RandomOrder",
    "Relational", "Slice", "TypeCast", "Unique", "not_random",
]  # fmt: skip

accept(globals(), __all__, __name__)

if not TYPE_CHECKING:  # For type checkers the module has its names and no others.

    def __getattr__(name: str) -> Any:
        try:
            return no_member("graphc.dataset.transforms", name, __all__)
        except (AttributeError, ImportError) as error:
            clean(error)
            raise
