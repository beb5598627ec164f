"""Classes that published trainers import at their top, and that graphc lacks: making one says what to use instead."""

from __future__ import annotations

from enum import Enum
from typing import Any

from graphc.errors import ArgumentTypeError, user_loc
from graphc.instead import instead


class _Lacking:
    """A class of MindSpore's that graphc lacks. Making one is ArgumentTypeError; nothing is an instance."""

    _part = "graphc"

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        name = type(self).__name__
        raise ArgumentTypeError(f"graphc has no {name}", loc=user_loc(), help=instead(self._part, name))


class Profiler(_Lacking):
    __doc__ = _Lacking.__doc__


class Symbol(_Lacking):
    __doc__ = _Lacking.__doc__


class ProfilerLevel(Enum):
    """How much a Profiler records: levels that scripts name."""

    LevelNone = "LevelNone"
    Level0 = "Level0"
    Level1 = "Level1"
    Level2 = "Level2"


class ProfilerActivity(Enum):
    """What a Profiler records: devices that scripts name."""

    NPU = "NPU"
    GPU = "GPU"
    CPU = "CPU"


#: The sources of images, and those that MindSpore counts as such, by name.
_VISION = frozenset((
    "Cifar100Dataset", "Cifar10Dataset", "CSVDataset", "DigitsDataset", "GeneratorDataset", "ImageFolderDataset",
    "MindDataset", "MnistDataset", "NumpySlicesDataset", "TFRecordDataset",
))  # fmt: skip


class _Kind(type):
    """The class of classes whose instances are those of graphc's own data sets by name: sources load when they are used."""

    members: frozenset[str] = frozenset()

    def __instancecheck__(cls, instance: object) -> bool:
        return issubclass(type(instance), cls)

    def __subclasscheck__(cls, other: type) -> bool:
        return any(
            c is cls or (c.__module__.startswith("graphc.dataset.") and c.__name__ in cls.members)
            for c in other.__mro__
        )


class VisionBaseDataset(metaclass=_Kind):
    """MindSpore's base of data sets of images, for isinstance: graphc's sources of images are instances."""

    members = _VISION


class TextBaseDataset(metaclass=_Kind):
    """MindSpore's base of data sets of texts, for isinstance: graphc's sources of texts are instances."""

    members = frozenset(("CSVDataset", "GeneratorDataset", "MindDataset", "TFRecordDataset", "TextFileDataset"))


class SourceDataset(metaclass=_Kind):
    """MindSpore's base of data sets that come first, for isinstance: all of graphc's sources are instances."""

    members = frozenset(("MappableDataset",))


__all__ = [
    "Profiler", "ProfilerActivity", "ProfilerLevel", "SourceDataset", "Symbol", "TextBaseDataset",
    "VisionBaseDataset",
]  # fmt: skip
