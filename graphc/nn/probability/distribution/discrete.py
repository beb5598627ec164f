"""Distributions of whole numbers: Bernoulli, categorical, geometric, Poisson."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from graphc import ops
from graphc.errors import ArgumentValueError, ShapeError, user_loc
from graphc.nn.probability.distribution.base import Distribution
from graphc.nn.probability.parameters import common_shape, require
from graphc.ops.tensor.tensor import Tensor


def _xlogy(x: Tensor, y: Tensor) -> Tensor:
    """x log y; 0 where x is."""
    none = ops.logical_and(ops.equal(x, 0.0), ops.equal(y, y))
    return ops.select(none, ops.zeros_like(x * y), x * ops.log(ops.select(none, ops.ones_like(x * y), y + 0.0 * x)))


def _at_least_zero(made: Tensor, value: Tensor) -> Tensor:
    """A probability, 0 for values below 0."""
    return ops.select(ops.broadcast_to(value < 0, made.shape), ops.zeros_like(made), made)


def _whole(value: Tensor, like: Tensor) -> Tensor:
    """The greatest whole number that is not above, in the dtype of a parameter: published programs call `_log_prob`, `_cdf` and
    the like themselves, with integers.
    """
    return ops.floor(ops.cast(value, like.dtype))


class Bernoulli(Distribution):
    """1 with a probability probs in (0, 1), else 0."""

    def __init__(
        self, probs: Any = None, seed: int | None = None, dtype: Any = "int32", name: str = "Bernoulli"
    ) -> None:
        super().__init__(seed, dtype, name, {"probs": probs})
        require("Bernoulli", "probs", self.defaults["probs"], "in (0, 1)")

    def _mean(self, p: tuple[Tensor, ...]) -> Tensor:
        (probs,) = p
        return probs

    def _mode(self, p: tuple[Tensor, ...]) -> Tensor:
        (probs,) = p
        return ops.cast(probs > 0.5, self._dtype)

    def _var(self, p: tuple[Tensor, ...]) -> Tensor:
        (probs,) = p
        return probs * (1.0 - probs)

    def _entropy(self, p: tuple[Tensor, ...]) -> Tensor:
        (probs,) = p
        return -_xlogy(1.0 - probs, 1.0 - probs) - _xlogy(probs, probs)

    def _log_prob(self, value: Tensor, probs: Tensor) -> Tensor:
        return _xlogy(value, probs) + _xlogy(1.0 - value, 1.0 - probs)

    def _cdf(self, value: Tensor, probs: Tensor) -> Tensor:
        value = _whole(value, probs) + 0.0 * probs
        made = ops.select(value < 1, 1.0 - probs + 0.0 * value, ops.ones_like(value))
        return _at_least_zero(made, value)

    def _kl_loss(self, a: tuple[Tensor, ...], b: tuple[Tensor, ...]) -> Tensor:
        return _xlogy(a[0], a[0] / b[0]) + _xlogy(1.0 - a[0], (1.0 - a[0]) / (1.0 - b[0]))

    def _sample(self, shape: tuple[int, ...], probs: Tensor) -> Tensor:
        return ops.less(self._unit(shape), probs)


class Geometric(Distribution):
    """How many failures come before the first success, whose probability is probs in (0, 1)."""

    def __init__(
        self, probs: Any = None, seed: int | None = None, dtype: Any = "int32", name: str = "Geometric"
    ) -> None:
        super().__init__(seed, dtype, name, {"probs": probs})
        require("Geometric", "probs", self.defaults["probs"], "in (0, 1)")

    def _mean(self, p: tuple[Tensor, ...]) -> Tensor:
        (probs,) = p
        return (1.0 - probs) / probs

    def _mode(self, p: tuple[Tensor, ...]) -> Tensor:
        (probs,) = p
        return ops.cast(ops.zeros_like(probs), self._dtype)

    def _var(self, p: tuple[Tensor, ...]) -> Tensor:
        (probs,) = p
        return (1.0 - probs) / ops.square(probs)

    def _entropy(self, p: tuple[Tensor, ...]) -> Tensor:
        (probs,) = p
        return (-_xlogy(1.0 - probs, 1.0 - probs) - _xlogy(probs, probs)) / probs

    def _log_prob(self, value: Tensor, probs: Tensor) -> Tensor:
        value = _whole(value, probs)
        made = ops.log1p(-probs) * value + ops.log(probs)
        return ops.select(ops.broadcast_to(value < 0, made.shape), ops.zeros_like(made) - math.inf, made)

    def _cdf(self, value: Tensor, probs: Tensor) -> Tensor:
        value = _whole(value, probs)
        return _at_least_zero(-ops.expm1((value + 1.0) * ops.log1p(-probs)), value)

    def _kl_loss(self, a: tuple[Tensor, ...], b: tuple[Tensor, ...]) -> Tensor:
        return ops.log(a[0] / b[0]) + (1.0 - a[0]) / a[0] * ops.log((1.0 - a[0]) / (1.0 - b[0]))

    def _sample(self, shape: tuple[int, ...], probs: Tensor) -> Tensor:
        return ops.floor(ops.log(self._unit(shape)) / ops.log1p(-probs))


class Poisson(Distribution):
    """How often something comes that comes `rate` > 0 times on average. Its `cdf` is `ops.igammac`."""

    def __init__(
        self, rate: Any = None, seed: int | None = None, dtype: Any = "float32", name: str = "Poisson"
    ) -> None:
        super().__init__(seed, dtype, name, {"rate": rate})
        require("Poisson", "rate", self.defaults["rate"], "> 0")

    def _mean(self, p: tuple[Tensor, ...]) -> Tensor:
        (rate,) = p
        return rate

    _var = _mean

    def _mode(self, p: tuple[Tensor, ...]) -> Tensor:
        (rate,) = p
        return ops.floor(rate)

    def _log_prob(self, value: Tensor, rate: Tensor) -> Tensor:
        below = value < 0
        safe = ops.select(below, ops.zeros_like(value), value)
        made = _xlogy(safe, rate) - ops.lgamma(safe + 1.0) - rate
        return ops.select(ops.broadcast_to(below, made.shape), ops.zeros_like(made) - math.inf, made)

    def _cdf(self, value: Tensor, rate: Tensor) -> Tensor:
        made = ops.igammac(ops.maximum(_whole(value, rate), 0.0) + 1.0, rate)
        return _at_least_zero(made, value)

    def _survival_function(self, value: Tensor, rate: Tensor) -> Tensor:
        made = ops.igamma(ops.maximum(_whole(value, rate), 0.0) + 1.0, rate)
        return ops.select(ops.broadcast_to(value < 0, made.shape), ops.ones_like(made), made)

    def _sample(self, shape: tuple[int, ...], rate: Tensor) -> Tensor:
        return ops.poisson(shape, rate, seed=self.seed)


class Categorical(Distribution):
    """The number of a class, 0, 1, ..., by their probabilities probs [..., classes], which add up to 1.

    mean, var and sd are [..., 1], the other numbers [...].
    """

    one_each = False

    def __init__(
        self, probs: Any = None, seed: int | None = None, dtype: Any = "int32", name: str = "Categorical"
    ) -> None:
        super().__init__(seed, dtype, name, {"probs": probs})
        given = self.defaults["probs"]
        if given is None:
            return
        if given.ndim < 1:
            raise ShapeError("Categorical: probs needs an axis for the classes", loc=user_loc())
        require("Categorical", "probs", given, "in (0, 1)")
        sums = given.asnumpy().astype(np.float64).sum(-1)
        rounding = {"float16": 2**-11, "bfloat16": 2**-8}.get(given.tensor_type.dtype, 1e-6)
        if not np.allclose(sums, 1, atol=rounding * given.shape[-1] + 1e-5):
            raise ArgumentValueError(f"Categorical: probs must add up to 1, not {sums.flat[0]:g}", loc=user_loc())

    def _mean(self, p: tuple[Tensor, ...]) -> Tensor:
        (probs,) = p
        return ops.reduce_sum(self._classes(probs) * probs, -1, True)

    def _mode(self, p: tuple[Tensor, ...]) -> Tensor:
        (probs,) = p
        return ops.cast(ops.argmax(probs, -1), self._dtype)

    def _var(self, p: tuple[Tensor, ...]) -> Tensor:
        (probs,) = p
        apart = self._classes(probs) - self._mean(p)
        return ops.reduce_sum(ops.square(apart) * probs, -1, True)

    def _classes(self, probs: Tensor) -> Tensor:
        return ops.cast(ops.arange(0, probs.shape[-1]), probs.dtype)

    def _entropy(self, p: tuple[Tensor, ...]) -> Tensor:
        (probs,) = p
        return -ops.reduce_sum(_xlogy(probs, probs), -1)

    def _hits(self, value: Tensor, probs: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """The whole numbers of values, whether each class is at most that, and the number of classes, all with one shape."""
        value = ops.select(ops.logical_and(value < 0, value > -1), ops.zeros_like(value), value)
        value = _whole(value, probs)
        shape = common_shape("Categorical", (*value.shape, 1), (*probs.shape[:-1], 1))
        whole = ops.broadcast_to(ops.expand_dims(value, -1), (*shape[:-1], probs.shape[-1]))
        return whole, self._classes(probs) + 0.0 * whole, probs + 0.0 * whole

    def _log_prob(self, value: Tensor, probs: Tensor) -> Tensor:
        whole, classes, chances = self._hits(value, probs)
        hit = ops.equal(classes, whole)
        made = ops.reduce_sum(ops.select(hit, ops.log(chances), ops.zeros_like(chances)), -1)
        found = ops.reduce_any(hit, -1)
        return ops.select(found, made, ops.zeros_like(made) + math.nan)

    def _cdf(self, value: Tensor, probs: Tensor) -> Tensor:
        whole, classes, chances = self._hits(value, probs)
        return ops.reduce_sum(ops.select(classes <= whole, chances, ops.zeros_like(chances)), -1)

    def _kl_loss(self, a: tuple[Tensor, ...], b: tuple[Tensor, ...]) -> Tensor:
        first, second = (ops.log_softmax(ops.log(p[0]), -1) for p in (a, b))
        return ops.reduce_sum(ops.exp(first) * (first - second), -1)

    def sample(self, shape: tuple[int, ...] = (), *args: Any, **kwargs: Any) -> Tensor:
        """[*shape, *shape of the parameters without the classes]: random classes, in `dtype`."""
        (probs,) = self.get_dist_args(*args, **kwargs)
        classes = probs.shape[-1]
        # A race of exponential clocks, as in ops.multinomial: the first to ring is drawn.
        times = -ops.log(self._unit((*shape, *probs.shape[:-1], classes))) / probs
        return ops.cast(ops.argmax(-times, -1), self._dtype)


__all__ = ["Bernoulli", "Categorical", "Geometric", "Poisson"]
