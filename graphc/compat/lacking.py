"""Classes that published trainers import at their top, and that graphc lacks: making one says what to use instead."""

from __future__ import annotations

from typing import Any

from graphc.errors import ArgumentTypeError, user_loc
from graphc.errors.unsupported import instead


class _Lacking:
    """A class of MindSpore's that graphc lacks. Making one is ArgumentTypeError; nothing is an instance."""

    _part = "graphc"

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        name = type(self).__name__
        raise ArgumentTypeError(f"graphc has no {name}", loc=user_loc(), help=instead(self._part, name))


class Symbol(_Lacking):
    __doc__ = _Lacking.__doc__


class _Kind(type):
    """The class of classes whose instances are graphc's own sources by what they hold: sources load when they are used."""

    #: What of a source's `holds` makes it one; None: all sources are.
    what: str | None = None

    def __instancecheck__(cls, instance: object) -> bool:
        return issubclass(type(instance), cls)

    def __subclasscheck__(cls, other: type) -> bool:
        held = getattr(other, "holds", None)
        return cls in other.__mro__ or (isinstance(held, frozenset) and (cls.what is None or cls.what in held))


class VisionBaseDataset(metaclass=_Kind):
    """MindSpore's base of data sets of images, for isinstance: graphc's sources of images are instances."""

    what = "images"


class TextBaseDataset(metaclass=_Kind):
    """MindSpore's base of data sets of texts, for isinstance: graphc's sources of texts are instances."""

    what = "texts"


class SourceDataset(metaclass=_Kind):
    """MindSpore's base of data sets that come first, for isinstance: all of graphc's sources are instances."""


__all__ = [
    "SourceDataset", "Symbol", "TextBaseDataset", "VisionBaseDataset",
]  # fmt: skip
