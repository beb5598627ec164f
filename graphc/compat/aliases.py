"""MindFormers' modules of training steps, loss scales, optimizers and schedules, where MindFormers itself is not installed.

They have those of its names that graphc.nn has. Any other is an ImportError or AttributeError that says what there is.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from graphc import nn
from graphc.errors import printable
from graphc.errors.suggestions import imports_from

_STEPS = ("MFTrainOneStepCell",)
_SCALES = ("AdaptiveLossScaleUpdateCell",)
_CLIPPING = ("ClipGradNorm",)
_OPTIMIZERS = ("AdamW",)
_SCHEDULES = (
    "ConstantWarmUpLR", "CosineAnnealingLR", "CosineAnnealingWarmRestarts", "CosineWithRestartsAndWarmUpLR",
    "CosineWithWarmUpLR", "LearningRateWiseLayer", "LinearWithWarmUpLR", "PolynomialWithWarmUpLR",
)  # fmt: skip
_CORE = (*_CLIPPING, *_OPTIMIZERS, *_SCHEDULES)
#: MindFormers' module -> the names of graphc.nn that it has.
ALIASES: dict[str, tuple[str, ...]] = {
    "mindformers": (*_STEPS, *_CORE),
    "mindformers.wrapper": (*_STEPS, *_SCALES),
    "mindformers.wrapper.wrapper": _STEPS,
    "mindformers.wrapper.adaptive_loss_scale": _SCALES,
    "mindformers.core": _CORE,
    "mindformers.core.clip_grad": _CLIPPING,
    "mindformers.core.optim": _OPTIMIZERS,
    "mindformers.core.lr": _SCHEDULES,
    "mindformers.core.lr.lr_schedule": _SCHEDULES,
}


class Alias(ModuleType):
    """A module of MindFormers' name whose contents are graphc's."""

    def __init__(self, name: str) -> None:
        super().__init__(name, f"{name}, by graphc")
        self.__path__: list[str] = []

    def __getattr__(self, name: str) -> Any:
        if name in ALIASES[self.__name__]:
            return getattr(nn, name)
        message = (
            f"graphc has no {self.__name__}.{printable(name)}, and MindFormers is not installed;"
            f" there is: {', '.join(ALIASES[self.__name__])}"
        )
        if imports_from(sys._getframe(1)) and not name.startswith("__"):
            raise ImportError(message, name=self.__name__)
        raise AttributeError(message)

    def __dir__(self) -> list[str]:
        return sorted(ALIASES[self.__name__])

    @property
    def __all__(self) -> list[str]:
        return dir(self)


class AliasFinder(MetaPathFinder, Loader):
    """Makes the modules of ALIASES importable. It stands behind the other finders: a real package comes first."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        # Below a real package nothing is made up.
        if name not in ALIASES or not isinstance(sys.modules.get(name.partition(".")[0]), (Alias, type(None))):
            return None
        return ModuleSpec(name, self, is_package=True)

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return Alias(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Names are looked up when they are asked for."""
