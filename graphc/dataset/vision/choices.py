"""Transforms of images that choose at random among others (MindSpore: mindspore.dataset.vision)."""

from __future__ import annotations

from typing import Any

from graphc.dataset.checks import integer, number
from graphc.dataset.sample_rng import rng
from graphc.dataset.transforms.base import Transform
from graphc.dataset.transforms.compositions import through
from graphc.dataset.vision.base import Inter, arrays_of, is_pil, size_of
from graphc.dataset.vision.geometry import Resize
from graphc.errors import ArgumentTypeError, ArgumentValueError, user_loc


class RandomResize(Transform):
    """Resize of arrays with a random one of Inter.BILINEAR, NEAREST, BICUBIC and AREA. An image of Pillow's becomes an array."""

    def __init__(self, size: Any) -> None:
        size_of(type(self).__name__, size)  # Whose name the error has.
        ways = (Inter.BILINEAR, Inter.NEAREST, Inter.BICUBIC, Inter.AREA)
        self.resizes = [Resize(size, interpolation) for interpolation in ways]

    def __call__(self, *inputs: Any) -> Any:
        return self.resizes[int(rng().integers(len(self.resizes)))](*arrays_of(inputs))


class UniformAugment(Transform):
    """num_ops of the transforms, chosen at random, each of them done with probability 1/2 (T. C. LingChen et al., 2020).

    They come in their order in the list; for an image of Pillow's, or with functions of the user's among them, in a random one.
    """

    def __init__(self, transforms: list[Any], num_ops: int = 2) -> None:
        if not isinstance(transforms, (list, tuple)):
            raise ArgumentTypeError(
                f"UniformAugment: transforms must be a list, got {type(transforms).__name__}", loc=user_loc()
            )
        self.num_ops = integer("UniformAugment", "num_ops", num_ops, 1)
        if self.num_ops > len(transforms):
            raise ArgumentValueError(
                f"UniformAugment: num_ops is {num_ops}, there are {len(transforms)} transforms", loc=user_loc()
            )
        self.transforms = [_operation("UniformAugment", "transforms", transform) for transform in transforms]
        self.mixed = not all(isinstance(transform, Transform) for transform in transforms)

    def __call__(self, *inputs: Any) -> Any:
        random = rng()
        chosen = random.permutation(len(self.transforms))[: self.num_ops].tolist()
        if not self.mixed and not any(map(is_pil, inputs)):
            chosen.sort()
        return through([self.transforms[k] for k in chosen if random.random() < 0.5], inputs)


class RandomSelectSubpolicy(Transform):
    """One of the lists in `policy`, each as likely as the others: its transforms one after the other, each with its probability.

    policy: lists of (transform, probability). An image of Pillow's becomes an array before that.
    """

    def __init__(self, policy: list[list[tuple[Any, float]]]) -> None:
        self.policy = [[_with_chance(pair) for pair in _filled(sub)] for sub in _filled(policy)]

    def __call__(self, *inputs: Any) -> Any:
        random = rng()
        chosen = self.policy[int(random.integers(len(self.policy)))]
        return through([transform for transform, prob in chosen if random.random() < prob], arrays_of(inputs))


def _filled(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise ArgumentTypeError(
            f"RandomSelectSubpolicy: policy must be a list of lists, got {type(value).__name__}", loc=user_loc()
        )
    if not value:
        raise ArgumentValueError("RandomSelectSubpolicy: a list in policy is empty", loc=user_loc())
    return value


def _with_chance(pair: Any) -> tuple[Any, float]:
    owner = "RandomSelectSubpolicy"
    if not isinstance(pair, tuple) or len(pair) != 2:
        raise ArgumentValueError(
            f"{owner}: policy must be lists of (transform, probability), got {pair!r}", loc=user_loc()
        )
    return _operation(owner, "policy", pair[0]), number(owner, "a probability", pair[1], 0, 1)


def _operation(owner: str, name: str, transform: Any) -> Any:
    if not callable(transform):
        raise ArgumentTypeError(f"{owner}: {name} must have callable objects, one is {transform!r}", loc=user_loc())
    if isinstance(transform, type):
        raise ArgumentValueError(
            f"{owner}: {name} must have callable objects, one is the class {transform.__name__}", loc=user_loc()
        )
    return transform
