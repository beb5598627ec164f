"""Distributions on a part of the line: exponential, gamma, beta, uniform, half normal."""

from __future__ import annotations

import math
from typing import Any

from graphc import ops
from graphc.errors import ArgumentValueError, user_loc
from graphc.nn.layer.functions import log_beta
from graphc.nn.probability.distribution.base import Distribution
from graphc.nn.probability.parameters import float_dtype, require
from graphc.ops.tensor.tensor import Tensor, as_tensor


def _outside(x: Tensor, where: Tensor, instead: float) -> Tensor:
    """x, another number where a condition holds."""
    return ops.select(where, ops.zeros_like(x) + instead, x)


class Exponential(Distribution):
    """The exponential distribution of a rate > 0."""

    def __init__(
        self, rate: Any = None, seed: int | None = None, dtype: Any = "float32", name: str = "Exponential"
    ) -> None:
        super().__init__(seed, float_dtype("Exponential", dtype), name, {"rate": rate})
        require("Exponential", "rate", self.defaults["rate"], "> 0")

    def _mean(self, p: tuple[Tensor, ...]) -> Tensor:
        (rate,) = p
        return 1.0 / rate

    _sd = _mean

    def _mode(self, p: tuple[Tensor, ...]) -> Tensor:
        (rate,) = p
        return ops.zeros_like(rate)

    def _entropy(self, p: tuple[Tensor, ...]) -> Tensor:
        (rate,) = p
        return 1.0 - ops.log(rate)

    def _log_prob(self, value: Tensor, rate: Tensor) -> Tensor:
        made = ops.log(rate) - rate * value
        return _outside(made, ops.broadcast_to(value < 0, made.shape), -math.inf)

    def _cdf(self, value: Tensor, rate: Tensor) -> Tensor:
        return -ops.expm1(-rate * ops.maximum(value, 0.0))

    def _log_survival(self, value: Tensor, rate: Tensor) -> Tensor:
        return -rate * ops.maximum(value, 0.0)

    def _kl_loss(self, a: tuple[Tensor, ...], b: tuple[Tensor, ...]) -> Tensor:
        return ops.log(a[0]) - ops.log(b[0]) + b[0] / a[0] - 1.0

    def _sample(self, shape: tuple[int, ...], rate: Tensor) -> Tensor:
        return -ops.log(self._unit(shape)) / rate


class Gamma(Distribution):
    """The gamma distribution of a concentration > 0 and a rate > 0. Its `cdf` is `ops.igamma`."""

    def __init__(
        self,
        concentration: Any = None,
        rate: Any = None,
        seed: int | None = None,
        dtype: Any = "float32",
        name: str = "Gamma",
    ) -> None:
        given = {"concentration": concentration, "rate": rate}
        super().__init__(seed, float_dtype("Gamma", dtype), name, given)
        for n in given:
            require("Gamma", n, self.defaults[n], "> 0")

    def _mean(self, p: tuple[Tensor, ...]) -> Tensor:
        concentration, rate = p
        return concentration / rate

    def _var(self, p: tuple[Tensor, ...]) -> Tensor:
        concentration, rate = p
        return concentration / ops.square(rate)

    def _mode(self, p: tuple[Tensor, ...]) -> Tensor:
        concentration, rate = p
        made = (concentration - 1.0) / rate
        return _outside(made, ops.broadcast_to(concentration <= 1.0, made.shape), math.nan)

    def _entropy(self, p: tuple[Tensor, ...]) -> Tensor:
        concentration, rate = p
        slope = (1.0 - concentration) * ops.digamma(concentration)
        return concentration - ops.log(rate) + ops.lgamma(concentration) + slope

    def _log_prob(self, value: Tensor, concentration: Tensor, rate: Tensor) -> Tensor:
        whole = ops.lgamma(concentration) - concentration * ops.log(rate)
        return (concentration - 1.0) * ops.log(value) - rate * value - whole

    def _cdf(self, value: Tensor, concentration: Tensor, rate: Tensor) -> Tensor:
        return ops.igamma(concentration, rate * value)

    def _survival_function(self, value: Tensor, concentration: Tensor, rate: Tensor) -> Tensor:
        return ops.igammac(concentration, rate * value)

    def _kl_loss(self, a: tuple[Tensor, ...], b: tuple[Tensor, ...]) -> Tensor:
        shapes = (a[0] - b[0]) * ops.digamma(a[0]) + ops.lgamma(b[0]) - ops.lgamma(a[0])
        return shapes + b[0] * (ops.log(a[1]) - ops.log(b[1])) + a[0] * (b[1] / a[1] - 1.0)

    def _sample(self, shape: tuple[int, ...], concentration: Tensor, rate: Tensor) -> Tensor:
        return ops.gamma(shape, concentration, rate, seed=self.seed)


class Beta(Distribution):
    """The beta distribution of concentration1 > 0 and concentration0 > 0: x**(concentration1 - 1) (1 - x)**(concentration0 - 1)
    but for a factor.
    """

    def __init__(
        self,
        concentration1: Any = None,
        concentration0: Any = None,
        seed: int | None = None,
        dtype: Any = "float32",
        name: str = "Beta",
    ) -> None:
        given = {"concentration1": concentration1, "concentration0": concentration0}
        super().__init__(seed, float_dtype("Beta", dtype), name, given)
        for n in given:
            require("Beta", n, self.defaults[n], "> 0")

    def _mean(self, p: tuple[Tensor, ...]) -> Tensor:
        one, zero = p
        return one / (one + zero)

    def _var(self, p: tuple[Tensor, ...]) -> Tensor:
        one, zero = p
        total = one + zero
        return one * zero / (ops.square(total) * (total + 1.0))

    def _mode(self, p: tuple[Tensor, ...]) -> Tensor:
        one, zero = p
        made = (one - 1.0) / (one + zero - 2.0)
        return _outside(made, ops.logical_or(one <= 1.0, zero <= 1.0), math.nan)

    def _entropy(self, p: tuple[Tensor, ...]) -> Tensor:
        one, zero = p
        total = one + zero
        own = (one - 1.0) * ops.digamma(one) + (zero - 1.0) * ops.digamma(zero)
        return log_beta(one, zero) - own + (total - 2.0) * ops.digamma(total)

    def _log_prob(self, value: Tensor, one: Tensor, zero: Tensor) -> Tensor:
        return (one - 1.0) * ops.log(value) + (zero - 1.0) * ops.log1p(-value) - log_beta(one, zero)

    def _kl_loss(self, a: tuple[Tensor, ...], b: tuple[Tensor, ...]) -> Tensor:
        whole = log_beta(*b) - log_beta(*a) + ops.digamma(a[0] + a[1]) * (b[0] + b[1] - a[0] - a[1])
        return whole - ops.digamma(a[0]) * (b[0] - a[0]) - ops.digamma(a[1]) * (b[1] - a[1])

    def _sample(self, shape: tuple[int, ...], one: Tensor, zero: Tensor) -> Tensor:
        rate = as_tensor(1.0)
        first, second = (ops.gamma(shape, c, ops.cast(rate, "float32"), seed=self.seed) for c in (one, zero))
        return first / (first + second)


class Uniform(Distribution):
    """The uniform distribution from low up to high, which is above low."""

    def __init__(
        self, low: Any = None, high: Any = None, seed: int | None = None, dtype: Any = "float32", name: str = "Uniform"
    ) -> None:
        super().__init__(seed, float_dtype("Uniform", dtype), name, {"low": low, "high": high})
        first, last = self.defaults["low"], self.defaults["high"]
        if first is not None and last is not None and not (first.asnumpy() < last.asnumpy()).all():
            raise ArgumentValueError("Uniform: low must be less than high", loc=user_loc())

    def _mean(self, p: tuple[Tensor, ...]) -> Tensor:
        low, high = p
        return (low + high) / 2.0

    def _var(self, p: tuple[Tensor, ...]) -> Tensor:
        low, high = p
        return ops.square(high - low) / 12.0

    def _entropy(self, p: tuple[Tensor, ...]) -> Tensor:
        low, high = p
        return ops.log(high - low)

    def _prob(self, value: Tensor, low: Tensor, high: Tensor) -> Tensor:
        return _outside(1.0 / (high - low) + 0.0 * value, ops.logical_or(value < low, value > high), 0.0)

    def _cdf(self, value: Tensor, low: Tensor, high: Tensor) -> Tensor:
        return ops.minimum(ops.maximum((value - low) / (high - low), 0.0), 1.0)

    def _kl_loss(self, a: tuple[Tensor, ...], b: tuple[Tensor, ...]) -> Tensor:
        made = ops.log(b[1] - b[0]) - ops.log(a[1] - a[0])
        return _outside(made, ops.logical_or(a[0] < b[0], b[1] < a[1]), math.inf)

    def _sample(self, shape: tuple[int, ...], low: Tensor, high: Tensor) -> Tensor:
        return (high - low) * self._unit(shape) + low


class HalfNormal(Distribution):
    """Twice the normal density from the mean on, 0 below it; densities only, as in MindSpore. sd > 0."""

    def __init__(
        self,
        mean: Any = None,
        sd: Any = None,
        seed: int | None = None,
        dtype: Any = "float32",
        name: str = "HalfNormal",
    ) -> None:
        super().__init__(seed, float_dtype("HalfNormal", dtype), name, {"mean": mean, "sd": sd})
        require("HalfNormal", "sd", self.defaults["sd"], "> 0")

    def _log_prob(self, value: Tensor, mean: Tensor, sd: Tensor) -> Tensor:
        made = 0.5 * math.log(2 / math.pi) - ops.log(sd) - 0.5 * ops.square((value - mean) / sd)
        return _outside(made, ops.broadcast_to(value < mean, made.shape), -math.inf)


__all__ = ["Beta", "Exponential", "Gamma", "HalfNormal", "Uniform"]
