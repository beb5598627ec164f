"""What zoos' own initializers take from the inside of `mindspore.common.initializer`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from graphc.nn import checks
from graphc.nn.initializer.base import BY_NAME, Initializer
from graphc.nn.initializer.distributions import fans, gain
from graphc.nn.initializer.draws import Shape, normal, truncated_normal, uniform
from graphc.ops.tensor.tensor import Array

#: Classes by the names under which `initializer` knows them.
_INITIALIZER_ALIAS = BY_NAME

C = TypeVar("C", bound=Callable[..., Initializer])


def _register(*aliases: str) -> Callable[[C], C]:
    """A decorator: `initializer` knows the class by its own name in small letters and by these, as far as they are free."""

    def registered(maker: C) -> C:
        for name in (maker.__name__.lower(), *aliases):
            BY_NAME.setdefault(name, maker)
        return maker

    return registered


def _calculate_correct_fan(shape: Shape, mode: str) -> int:
    """The inputs ("fan_in") or outputs ("fan_out") of one unit of a weight [out, in, *window]."""
    chosen = checks.one_of("_calculate_correct_fan", "mode", mode.lower(), ("fan_in", "fan_out"))
    return fans(shape)[0 if chosen == "fan_in" else 1]


def _calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """The gain of a nonlinearity; param: the slope of a leaky_relu, 0.01 by default."""
    return gain(nonlinearity, 0.01 if param is None else param)


def _init_random_uniform(a: float, b: float, shape: Shape) -> Array:
    """float32 numbers, uniform from a to b."""
    return uniform(shape, a, b)


def _init_random_normal(mean: float, sigma: float, shape: Shape) -> Array:
    """float32 normal numbers."""
    return normal(shape, mean, sigma)


def _init_truncated_normal(a: float, b: float, mean: float, sigma: float, shape: Shape) -> Array:
    """float32 normal numbers between a and b."""
    return truncated_normal(shape, a, b, mean, sigma)


__all__ = ["_INITIALIZER_ALIAS"]
