"""Initial values that are constant or drawn, bit for bit those of MindSpore 2.10."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from graphc.errors import ShapeError, user_loc
from graphc.nn import checks
from graphc.nn.initializer.base import Initializer, named
from graphc.nn.initializer.draws import Shape, normal, truncated_normal, uniform
from graphc.ops.tensor.tensor import Array


def fans(shape: Shape) -> tuple[int, int]:
    """(inputs, outputs) of one unit of a weight [out, in, *window]; ShapeError below two axes."""
    if len(shape) < 2:
        raise ShapeError(f"fan-in and fan-out need a weight [out, in, ...], the shape is {shape}", loc=user_loc())
    window = math.prod(shape[2:])
    return shape[1] * window, shape[0] * window


def gain(nonlinearity: str, negative_slope: float) -> float:
    """Gain of a nonlinearity for He's initialization (He et al., 2015)."""
    gains = {
        "linear": 1.0,
        "sigmoid": 1.0,
        "tanh": 5.0 / 3,
        "relu": math.sqrt(2.0),
        "leaky_relu": math.sqrt(2.0 / (1 + negative_slope**2)),
    }
    return gains[checks.one_of("initializer", "nonlinearity", nonlinearity, tuple(gains))]


class Constant(Initializer):
    """Every element is `value`."""

    def __init__(self, value: float) -> None:
        self.value = value

    def values(self, shape: Shape) -> Array:
        return np.full(shape, self.value)


@named("zeros", "zero")
class Zero(Constant):
    """Zeros."""

    def __init__(self) -> None:
        super().__init__(0)


@named("ones", "one")
class One(Constant):
    """Ones."""

    def __init__(self) -> None:
        super().__init__(1)


@named("uniform")
class Uniform(Initializer):
    """Uniform in [-scale, scale)."""

    def __init__(self, scale: float = 0.07) -> None:
        self.scale = checks.real("Uniform", "scale", scale)

    def values(self, shape: Shape) -> Array:
        return uniform(shape, -self.scale, self.scale)


@named("normal")
class Normal(Initializer):
    """Normal with standard deviation sigma around mean."""

    def __init__(self, sigma: float = 0.01, mean: float = 0.0) -> None:
        self.sigma = checks.real("Normal", "sigma", sigma, least=0)
        self.mean = checks.real("Normal", "mean", mean)

    def values(self, shape: Shape) -> Array:
        return normal(shape, self.mean, self.sigma)


@named("truncated_normal", "truncatednormal")
class TruncatedNormal(Initializer):
    """Normal with standard deviation sigma around mean, between a and b. The bounds are values, not multiples
    of sigma.
    """

    def __init__(self, sigma: float = 0.01, mean: float = 0.0, a: float = -2.0, b: float = 2.0) -> None:
        self.sigma = checks.real("TruncatedNormal", "sigma", sigma, above=0)
        self.mean = checks.real("TruncatedNormal", "mean", mean)
        self.a, self.b = checks.real("TruncatedNormal", "a", a), checks.real("TruncatedNormal", "b", b)
        if not self.a < self.b:
            raise checks.wrong_value("TruncatedNormal", "b", f"greater than a = {a}", b)

    def values(self, shape: Shape) -> Array:
        return truncated_normal(shape, self.a, self.b, self.mean, self.sigma)


@named("xavier_uniform", "xavieruniform")
class XavierUniform(Initializer):
    """Uniform within gain * sqrt(6 / (fan_in + fan_out)) (Glorot and Bengio, 2010)."""

    def __init__(self, gain: float = 1) -> None:
        self.gain = checks.real("XavierUniform", "gain", gain)

    def values(self, shape: Shape) -> Array:
        bound = self.gain * math.sqrt(6.0 / sum(fans(shape)))
        return uniform(shape, -bound, bound)


class _He(Initializer):
    def __init__(self, negative_slope: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu") -> None:
        owner = type(self).__name__
        self.negative_slope = checks.real(owner, "negative_slope", negative_slope)
        self.mode = checks.one_of(owner, "mode", mode, ("fan_in", "fan_out"))
        self.nonlinearity = nonlinearity
        gain(nonlinearity, self.negative_slope)

    def deviation(self, shape: Shape) -> float:
        """Standard deviation: gain / sqrt(fan)."""
        return gain(self.nonlinearity, self.negative_slope) / math.sqrt(fans(shape)[self.mode == "fan_out"])


@named("he_uniform", "heuniform")
class HeUniform(_He):
    """Uniform within sqrt(3) * gain / sqrt(fan) (He et al., 2015)."""

    def values(self, shape: Shape) -> Array:
        bound = math.sqrt(3.0) * self.deviation(shape)
        return uniform(shape, -bound, bound)


@named("he_normal", "henormal")
class HeNormal(_He):
    """Normal with standard deviation gain / sqrt(fan) (He et al., 2015)."""

    def values(self, shape: Shape) -> Array:
        return normal(shape, 0.0, self.deviation(shape))


def _assignment(array: Array, values: Any) -> Array:
    """Write values into an array: the name that user-defined initializers call."""
    array[...] = values
    return array


_calculate_fan_in_and_fan_out = fans


@named("xavier_normal", "xaviernormal")
class XavierNormal(Initializer):
    """Normal with standard deviation gain * sqrt(2 / (fan_in + fan_out)) (Glorot and Bengio, 2010)."""

    def __init__(self, gain: float = 1) -> None:
        self.gain = checks.real("XavierNormal", "gain", gain)

    def values(self, shape: Shape) -> Array:
        return normal(shape, 0.0, self.gain * math.sqrt(2.0 / sum(fans(shape))))


@named("variance_scaling", "variancescaling")
class VarianceScaling(Initializer):
    """Variance scale / fan, with the fan of `mode` ("fan_in", "fan_out", "fan_avg"), drawn by `distribution`
    ("uniform", "truncated_normal", "untruncated_normal").
    """

    def __init__(self, scale: float = 1.0, mode: str = "fan_in", distribution: str = "truncated_normal") -> None:
        self.scale = checks.real("VarianceScaling", "scale", scale, above=0)
        self.mode = checks.one_of("VarianceScaling", "mode", mode, ("fan_in", "fan_out", "fan_avg"))
        kinds = ("uniform", "truncated_normal", "untruncated_normal")
        self.distribution = checks.one_of("VarianceScaling", "distribution", distribution, kinds)

    def values(self, shape: Shape) -> Array:
        fan_in, fan_out = fans(shape)
        fan = {"fan_in": fan_in, "fan_out": fan_out, "fan_avg": (fan_in + fan_out) / 2}[self.mode]
        variance = self.scale / max(1.0, fan)
        if self.distribution == "uniform":
            bound = math.sqrt(3.0 * variance)
            return uniform(shape, -bound, bound)
        if self.distribution == "untruncated_normal":
            return normal(shape, 0.0, math.sqrt(variance))
        # What is cut off at two standard deviations leaves this much of the deviation.
        sigma = math.sqrt(variance) / 0.87962566103423978
        return truncated_normal(shape, -2 * sigma, 2 * sigma, 0.0, sigma)


__all__ = [
    "Constant",
    "HeNormal",
    "HeUniform",
    "Normal",
    "One",
    "TruncatedNormal",
    "Uniform",
    "VarianceScaling",
    "XavierNormal",
    "XavierUniform",
    "Zero",
]
