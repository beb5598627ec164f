"""Distributions on the whole line around a place: normal, logistic, Laplace, Cauchy, Student's t."""

from __future__ import annotations

import math
from typing import Any

from graphc import ops
from graphc.nn.probability.distribution.base import Distribution
from graphc.nn.probability.parameters import float_dtype, require
from graphc.ops.tensor.tensor import Tensor

_LOG_2PI = math.log(2 * math.pi)


class _Scaled(Distribution):
    """A distribution of a place and a scale, which is above 0."""

    def _setup(self, seed: int | None, dtype: Any, name: str, scale: str, given: dict[str, Any]) -> None:
        owner = type(self).__name__
        super().__init__(seed, float_dtype(owner, dtype), name, given)
        require(owner, scale, self.defaults[scale], "> 0")


class Normal(_Scaled):
    """The normal distribution of a mean and a standard deviation sd > 0."""

    def __init__(
        self, mean: Any = None, sd: Any = None, seed: int | None = None, dtype: Any = "float32", name: str = "Normal"
    ) -> None:
        self._setup(seed, dtype, name, "sd", {"mean": mean, "sd": sd})

    def _mean(self, p: tuple[Tensor, ...]) -> Tensor:
        mean, _ = p
        return mean

    _mode = _mean

    def _sd(self, p: tuple[Tensor, ...]) -> Tensor:
        _, sd = p
        return sd

    def _entropy(self, p: tuple[Tensor, ...]) -> Tensor:
        _, sd = p
        return ops.log(sd) + 0.5 * (1 + _LOG_2PI)

    def _log_prob(self, value: Tensor, mean: Tensor, sd: Tensor) -> Tensor:
        return -0.5 * ops.square((value - mean) / sd) - 0.5 * _LOG_2PI - ops.log(sd)

    def _cdf(self, value: Tensor, mean: Tensor, sd: Tensor) -> Tensor:
        return 0.5 * ops.erfc((mean - value) / (sd * math.sqrt(2)))

    def _survival_function(self, value: Tensor, mean: Tensor, sd: Tensor) -> Tensor:
        return 0.5 * ops.erfc((value - mean) / (sd * math.sqrt(2)))

    def _kl_loss(self, a: tuple[Tensor, ...], b: tuple[Tensor, ...]) -> Tensor:
        apart = ops.log(a[1]) - ops.log(b[1])
        return 0.5 * ops.square((a[0] - b[0]) / b[1]) + 0.5 * ops.expm1(2 * apart) - apart

    def _sample(self, shape: tuple[int, ...], mean: Tensor, sd: Tensor) -> Tensor:
        return ops.standard_normal(shape, seed=self.seed) * sd + mean


class Logistic(_Scaled):
    """The logistic distribution of a place loc and a scale > 0."""

    def __init__(
        self,
        loc: Any = None,
        scale: Any = None,
        seed: int | None = None,
        dtype: Any = "float32",
        name: str = "Logistic",
    ) -> None:
        self._setup(seed, dtype, name, "scale", {"loc": loc, "scale": scale})

    def _mean(self, p: tuple[Tensor, ...]) -> Tensor:
        loc, _ = p
        return loc

    _mode = _mean

    def _sd(self, p: tuple[Tensor, ...]) -> Tensor:
        _, scale = p
        return scale * (math.pi / math.sqrt(3))

    def _entropy(self, p: tuple[Tensor, ...]) -> Tensor:
        _, scale = p
        return ops.log(scale) + 2.0

    def _log_prob(self, value: Tensor, loc: Tensor, scale: Tensor) -> Tensor:
        size = ops.abs((value - loc) / scale)  # It is symmetric: exp of what is below 0 cannot overflow.
        return -size - 2.0 * ops.log1p(ops.exp(-size)) - ops.log(scale)

    def _cdf(self, value: Tensor, loc: Tensor, scale: Tensor) -> Tensor:
        return ops.sigmoid((value - loc) / scale)

    def _log_cdf(self, value: Tensor, loc: Tensor, scale: Tensor) -> Tensor:
        return _log_sigmoid((value - loc) / scale)

    def _survival_function(self, value: Tensor, loc: Tensor, scale: Tensor) -> Tensor:
        return ops.sigmoid((loc - value) / scale)

    def _log_survival(self, value: Tensor, loc: Tensor, scale: Tensor) -> Tensor:
        return _log_sigmoid((loc - value) / scale)

    def _sample(self, shape: tuple[int, ...], loc: Tensor, scale: Tensor) -> Tensor:
        u = self._unit(shape)
        return (ops.log(u) - ops.log1p(-u)) * scale + loc


def _log_sigmoid(x: Tensor) -> Tensor:
    return ops.minimum(x, 0.0) - ops.log1p(ops.exp(-ops.abs(x)))


class Laplace(_Scaled):
    """The Laplace distribution of a mean and a scale sd > 0; densities only, as in MindSpore."""

    def __init__(
        self, mean: Any = None, sd: Any = None, seed: int | None = None, dtype: Any = "float32", name: str = "Laplace"
    ) -> None:
        self._setup(seed, dtype, name, "sd", {"mean": mean, "sd": sd})

    def _log_prob(self, value: Tensor, mean: Tensor, sd: Tensor) -> Tensor:
        return -ops.abs((value - mean) / sd) - ops.log(2.0 * sd)


class Cauchy(_Scaled):
    """The Cauchy distribution of a place loc and a scale > 0. It has no mean and no variance: NoFormulaError."""

    def __init__(
        self, loc: Any = None, scale: Any = None, seed: int | None = None, dtype: Any = "float32", name: str = "Cauchy"
    ) -> None:
        self._setup(seed, dtype, name, "scale", {"loc": loc, "scale": scale})

    def _mode(self, p: tuple[Tensor, ...]) -> Tensor:
        loc, _ = p
        return loc

    def _entropy(self, p: tuple[Tensor, ...]) -> Tensor:
        _, scale = p
        return ops.log(scale) + math.log(4 * math.pi)

    def _log_prob(self, value: Tensor, loc: Tensor, scale: Tensor) -> Tensor:
        return -ops.log1p(ops.square((value - loc) / scale)) - ops.log(math.pi * scale)

    def _cdf(self, value: Tensor, loc: Tensor, scale: Tensor) -> Tensor:
        # By the angle from the other side, which is exact for small probabilities, too.
        return ops.atan2(scale, loc - value) / math.pi

    def _survival_function(self, value: Tensor, loc: Tensor, scale: Tensor) -> Tensor:
        return ops.atan2(scale, value - loc) / math.pi

    def _kl_loss(self, a: tuple[Tensor, ...], b: tuple[Tensor, ...]) -> Tensor:
        apart = ops.square(a[1] + b[1]) + ops.square(a[0] - b[0])
        return ops.log(apart) - math.log(4) - ops.log(a[1]) - ops.log(b[1])

    def _sample(self, shape: tuple[int, ...], loc: Tensor, scale: Tensor) -> Tensor:
        return loc + scale * ops.tan(math.pi * (self._unit(shape) - 0.5))


class StudentT(Distribution):
    """Student's t distribution of df > 0 degrees of freedom, a mean and a scale sd > 0; densities only, as in MindSpore."""

    def __init__(
        self,
        df: Any = None,
        mean: Any = None,
        sd: Any = None,
        seed: int | None = None,
        dtype: Any = "float32",
        name: str = "StudentT",
    ) -> None:
        super().__init__(seed, float_dtype("StudentT", dtype), name, {"df": df, "mean": mean, "sd": sd})
        for n in ("df", "sd"):
            require("StudentT", n, self.defaults[n], "> 0")

    def _log_prob(self, value: Tensor, df: Tensor, mean: Tensor, sd: Tensor) -> Tensor:
        spread = -0.5 * (df + 1.0) * ops.log1p(ops.square((value - mean) / sd) / df)
        whole = ops.log(sd) + 0.5 * ops.log(df * math.pi) + ops.lgamma(0.5 * df) - ops.lgamma(0.5 * (df + 1.0))
        return spread - whole


__all__ = ["Cauchy", "Laplace", "Logistic", "Normal", "StudentT"]
