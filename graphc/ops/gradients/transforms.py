"""What a function transform asks for: the options of `vmap`, `jvp`, Jacobians and Taylor series. The tracer carries them out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from graphc.ops.gradients.reverse import GradFunction

#: An axis for each tensor: one for all of them, None for none, or a tuple in the structure of what holds them.
Axes = int | None | tuple[Any, ...]


@dataclass(frozen=True)
class Transform:
    """A function transform; called with a function it gives the transformed one."""

    #: What the transformed function is called: the `noun` of fn.
    noun = "transform"

    def __call__(self, fn: Callable[..., Any], weights: Any = None) -> GradFunction:
        return GradFunction(fn, weights, self)


@dataclass(frozen=True)
class Mapping(Transform):
    """fn for each index of an axis of its arguments."""

    in_axes: Axes = 0
    out_axes: Axes = 0
    noun = "vmap"


@dataclass(frozen=True)
class Tangents(Transform):
    """(fn(*inputs), tangents): the first `count` arguments are the inputs, the rest their tangents."""

    count: int = 1
    has_aux: bool = False
    noun = "tangents"


@dataclass(frozen=True)
class Jacobian(Transform):
    """The Jacobian of fn's outputs for the arguments at `positions`."""

    positions: tuple[int, ...] = (0,)
    forward: bool = False
    has_aux: bool = False
    noun = "Jacobian"


@dataclass(frozen=True)
class Series(Transform):
    """Derivatives of fn along a curve: the first `count` arguments are where it is, the rest the curve's derivatives there."""

    count: int = 1
    noun = "series"


TRANSFORMS = (Mapping, Tangents, Jacobian, Series)
