"""Transforms made of transforms: one after the other, some of them, in any order (MindSpore: mindspore.dataset.transforms)."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphc.dataset.checks import chance
from graphc.dataset.core.rows import to_array
from graphc.dataset.sample_rng import rng
from graphc.dataset.transforms.base import Transform
from graphc.errors import ArgumentTypeError, ArgumentValueError, KindError, user_loc


def _listed(owner: str, transforms: Any) -> list[Any]:
    if not isinstance(transforms, (list, tuple)):
        raise ArgumentTypeError(
            f"{owner}: transforms must be a list of callables, got {type(transforms).__name__}", loc=user_loc()
        )
    if not transforms:
        raise ArgumentValueError(f"{owner}: transforms is empty", loc=user_loc())
    for transform in transforms:
        if not callable(transform) or isinstance(transform, type):
            raise KindError(f"{owner}: transforms must be callable objects, one is {transform!r}", loc=user_loc())
    return list(transforms)


def through(transforms: list[Any], inputs: tuple[Any, ...]) -> Any:
    """What the inputs become, transform by transform; one value alone is no tuple."""
    for transform in transforms:
        result = transform(*inputs)
        inputs = result if isinstance(result, tuple) else (result,)
    return inputs[0] if len(inputs) == 1 else inputs


def _as_arrays(values: tuple[Any, ...]) -> tuple[Any, ...]:
    """Numbers, texts, lists and tensors as arrays, which the transforms behind are written for; images and dicts as they are."""
    kinds = (list, tuple, bool, int, float, str, bytes, np.generic)
    return tuple(to_array(v) if isinstance(v, kinds) or hasattr(v, "asnumpy") else v for v in values)


class _OfArrays(Transform):
    """A composition whose inputs and results are arrays, as in a pipeline, wherever it is called."""

    def __call__(self, *inputs: Any) -> Any:
        result = through(self.chosen(), _as_arrays(inputs))
        return _as_arrays(result) if isinstance(result, tuple) else _as_arrays((result,))[0]

    def chosen(self) -> list[Any]:
        """The transforms that this call goes through."""
        raise NotImplementedError


class Compose(_OfArrays):
    """Transforms one after the other: results of one are the inputs of the next."""

    def __init__(self, transforms: list[Any]) -> None:
        self.transforms = self.parts = _listed("Compose", transforms)

    def chosen(self) -> list[Any]:
        return self.transforms


class RandomApply(_OfArrays):
    """All of the transforms, one after the other, with probability `prob`; else none."""

    def __init__(self, transforms: list[Any], prob: float = 0.5) -> None:
        self.transforms, self.prob = _listed("RandomApply", transforms), chance("RandomApply", prob)

    def chosen(self) -> list[Any]:
        return self.transforms if rng().random() < self.prob else []


class RandomChoice(_OfArrays):
    """One of the transforms, each as likely as the others."""

    def __init__(self, transforms: list[Any]) -> None:
        self.transforms = _listed("RandomChoice", transforms)

    def chosen(self) -> list[Any]:
        return [self.transforms[rng().integers(len(self.transforms))]]


class RandomOrder(Transform):
    """All of the transforms, in a random order."""

    def __init__(self, transforms: list[Any]) -> None:
        self.transforms = _listed("RandomOrder", transforms)

    def __call__(self, *inputs: Any) -> Any:
        return through([self.transforms[k] for k in rng().permutation(len(self.transforms))], inputs)
