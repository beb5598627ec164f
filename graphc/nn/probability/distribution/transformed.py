"""Distributions of what a bijector makes of another one's values: TransformedDistribution, log-normal, Gumbel."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from graphc import ops
from graphc.errors import ArgumentTypeError, NoFormulaError, user_loc
from graphc.nn.probability.bijector.base import Bijector
from graphc.nn.probability.distribution.base import Distribution
from graphc.nn.probability.distribution.bell import Normal
from graphc.nn.probability.parameters import float_dtype, require
from graphc.ops.tensor.tensor import Tensor


class TransformedDistribution(Distribution):
    """The distribution of bijector.forward(x), x drawn from a distribution of floats.

    Calls take the parameters of that distribution. `mean` is known where the bijector is linear. Raises ArgumentTypeError.
    """

    def __init__(
        self, bijector: Any, distribution: Any, seed: int | None = None, name: str = "transformed_distribution"
    ) -> None:
        if not isinstance(bijector, Bijector):
            raise ArgumentTypeError(
                f"{name}: bijector must be a Bijector, got {type(bijector).__name__}", loc=user_loc()
            )
        if not isinstance(distribution, Distribution):
            raise ArgumentTypeError(
                f"{name}: distribution must be a Distribution, got {type(distribution).__name__}", loc=user_loc()
            )
        super().__init__(seed, float_dtype(name, distribution.dtype), name, distribution.parameters)
        self.bijector, self.distribution = bijector, distribution

    @property
    def is_linear_transformation(self) -> bool:
        """Whether means are means of what they are made of."""
        return self.bijector.is_constant_jacobian

    def _log_prob(self, value: Tensor, *parameters: Tensor) -> Tensor:
        inside = self.distribution.log_prob(self.bijector.inverse(value), *parameters)
        slope = self.bijector.inverse_log_jacobian(value)
        made = inside + slope
        # Where the density is 0 an infinite slope makes no difference.
        nothing = ops.logical_and(ops.equal(inside + 0.0 * made, -math.inf), ops.not_equal(made, made))
        return ops.select(nothing, ops.zeros_like(made) - math.inf, made)

    def _cdf(self, value: Tensor, *parameters: Tensor) -> Tensor:
        return self.distribution.cdf(self.bijector.inverse(value), *parameters)

    def _mean(self, p: tuple[Tensor, ...]) -> Tensor:
        if not self.is_linear_transformation:
            raise NoFormulaError(f"{self.name}: there is no mean in closed form", loc=user_loc())
        return self.bijector.forward(self.distribution.mean(*p))

    def sample(self, shape: tuple[int, ...] = (), *args: Any, **kwargs: Any) -> Tensor:
        """Random values, in `dtype`."""
        return ops.cast(self.bijector.forward(self.distribution.sample(shape, *args, **kwargs)), self._dtype)


class LogNormal(Distribution):
    """The distribution of exp(x), x normal with mean loc and standard deviation scale > 0."""

    def __init__(
        self,
        loc: Any = None,
        scale: Any = None,
        seed: int | None = 0,
        dtype: Any = "float32",
        name: str = "LogNormal",
    ) -> None:
        super().__init__(seed, float_dtype("LogNormal", dtype), name, {"loc": loc, "scale": scale})
        require("LogNormal", "scale", self.defaults["scale"], "> 0")
        self.distribution = Normal(loc, scale, seed, dtype)

    def _mean(self, p: tuple[Tensor, ...]) -> Tensor:
        loc, scale = p
        return ops.exp(loc + 0.5 * ops.square(scale))

    def _mode(self, p: tuple[Tensor, ...]) -> Tensor:
        loc, scale = p
        return ops.exp(loc - ops.square(scale))

    def _var(self, p: tuple[Tensor, ...]) -> Tensor:
        loc, scale = p
        return ops.expm1(ops.square(scale)) * ops.exp(2.0 * loc + ops.square(scale))

    def _entropy(self, p: tuple[Tensor, ...]) -> Tensor:
        loc, scale = p
        return loc + 0.5 + ops.log(scale) + 0.5 * math.log(2 * math.pi)

    def _log_prob(self, value: Tensor, loc: Tensor, scale: Tensor) -> Tensor:
        return self.distribution.log_prob(ops.log(value), loc, scale) - ops.log(value)

    def _cdf(self, value: Tensor, loc: Tensor, scale: Tensor) -> Tensor:
        inside = value > 0
        made = self.distribution.cdf(ops.log(ops.select(inside, value, ops.ones_like(value))), loc, scale)
        return ops.select(ops.broadcast_to(inside, made.shape), made, ops.zeros_like(made))

    def _survival_function(self, value: Tensor, loc: Tensor, scale: Tensor) -> Tensor:
        inside = value > 0
        made = self.distribution.survival_function(ops.log(ops.select(inside, value, ops.ones_like(value))), loc, scale)
        return ops.select(ops.broadcast_to(inside, made.shape), made, ops.ones_like(made))

    def _kl_loss(self, a: tuple[Tensor, ...], b: tuple[Tensor, ...]) -> Tensor:
        return self.distribution.kl_loss("Normal", *b, *a)

    def _sample(self, shape: tuple[int, ...], loc: Tensor, scale: Tensor) -> Tensor:
        return ops.exp(ops.standard_normal(shape, seed=self.seed) * scale + loc)


class Gumbel(Distribution):
    """The Gumbel distribution of a place loc and a scale > 0, both given to the constructor."""

    def __init__(
        self, loc: Any, scale: Any, seed: int | None = 0, dtype: Any = "float32", name: str = "Gumbel"
    ) -> None:
        super().__init__(seed, float_dtype("Gumbel", dtype), name, {"loc": loc, "scale": scale})
        for n in ("loc", "scale"):
            if self.defaults[n] is None:
                raise ArgumentTypeError(f"Gumbel: {n} must be a number or a Tensor, got None", loc=user_loc())
        require("Gumbel", "scale", self.defaults["scale"], "> 0")

    def _mean(self, p: tuple[Tensor, ...]) -> Tensor:
        loc, scale = p
        return loc + scale * float(np.euler_gamma)

    def _mode(self, p: tuple[Tensor, ...]) -> Tensor:
        loc, _ = p
        return loc

    def _sd(self, p: tuple[Tensor, ...]) -> Tensor:
        _, scale = p
        return scale * (math.pi / math.sqrt(6))

    def _entropy(self, p: tuple[Tensor, ...]) -> Tensor:
        _, scale = p
        return 1.0 + ops.log(scale) + float(np.euler_gamma)

    def _log_prob(self, value: Tensor, loc: Tensor, scale: Tensor) -> Tensor:
        z = (value - loc) / scale
        return -(z + ops.exp(-z)) - ops.log(scale)

    def _cdf(self, value: Tensor, loc: Tensor, scale: Tensor) -> Tensor:
        return ops.exp(-ops.exp((loc - value) / scale))

    def _log_cdf(self, value: Tensor, loc: Tensor, scale: Tensor) -> Tensor:
        return -ops.exp((loc - value) / scale)

    def _survival_function(self, value: Tensor, loc: Tensor, scale: Tensor) -> Tensor:
        return -ops.expm1(-ops.exp((loc - value) / scale))

    def _kl_loss(self, a: tuple[Tensor, ...], b: tuple[Tensor, ...]) -> Tensor:
        ratio = a[1] / b[1]
        linear = float(np.euler_gamma) * (ratio - 1.0) + (a[0] - b[0]) / b[1] - ops.log(ratio)
        return linear + ops.expm1((b[0] - a[0]) / b[1] + ops.lgamma(ratio + 1.0))

    def _sample(self, shape: tuple[int, ...], loc: Tensor, scale: Tensor) -> Tensor:
        return loc - scale * ops.log(-ops.log(self._unit(shape)))


__all__ = ["Gumbel", "LogNormal", "TransformedDistribution"]
