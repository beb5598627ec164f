"""Transforms made of transforms: one after the other, some of them, in any order (MindSpore: mindspore.dataset.transforms)."""

from __future__ import annotations

from typing import Any

from graphc.dataset.checks import chance
from graphc.dataset.sample_rng import rng
from graphc.dataset.transforms.base import Transform
from graphc.errors import ArgumentTypeError, ArgumentValueError, user_loc


def _listed(owner: str, transforms: Any) -> list[Any]:
    if not isinstance(transforms, (list, tuple)):
        raise ArgumentTypeError(
            f"{owner}: transforms must be a list of callables, got {type(transforms).__name__}", loc=user_loc()
        )
    if not transforms:
        raise ArgumentValueError(f"{owner}: transforms is empty", loc=user_loc())
    for transform in transforms:
        if not callable(transform) or isinstance(transform, type):
            raise ArgumentValueError(
                f"{owner}: transforms must be callable objects, one is {transform!r}", loc=user_loc()
            )
    return list(transforms)


def through(transforms: list[Any], inputs: tuple[Any, ...]) -> Any:
    """What the inputs become, transform by transform; one value alone is no tuple."""
    for transform in transforms:
        result = transform(*inputs)
        inputs = result if isinstance(result, tuple) else (result,)
    return inputs[0] if len(inputs) == 1 else inputs


class Compose(Transform):
    """Transforms one after the other: results of one are the inputs of the next."""

    def __init__(self, transforms: list[Any]) -> None:
        self.transforms = self.parts = _listed("Compose", transforms)

    def __call__(self, *inputs: Any) -> Any:
        return through(self.transforms, inputs)


class RandomApply(Transform):
    """All of the transforms, one after the other, with probability `prob`; else none."""

    def __init__(self, transforms: list[Any], prob: float = 0.5) -> None:
        self.transforms, self.prob = _listed("RandomApply", transforms), chance("RandomApply", prob)

    def __call__(self, *inputs: Any) -> Any:
        return through(self.transforms if rng().random() < self.prob else [], inputs)


class RandomChoice(Transform):
    """One of the transforms, each as likely as the others."""

    def __init__(self, transforms: list[Any]) -> None:
        self.transforms = _listed("RandomChoice", transforms)

    def __call__(self, *inputs: Any) -> Any:
        return through([self.transforms[rng().integers(len(self.transforms))]], inputs)


class RandomOrder(Transform):
    """All of the transforms, in a random order."""

    def __init__(self, transforms: list[Any]) -> None:
        self.transforms = _listed("RandomOrder", transforms)

    def __call__(self, *inputs: Any) -> Any:
        return through([self.transforms[k] for k in rng().permutation(len(self.transforms))], inputs)
