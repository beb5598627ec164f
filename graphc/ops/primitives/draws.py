"""Primitives that draw random numbers. Each pair of seeds has a stream of its own, both 0 is the one that all share."""

from __future__ import annotations

from typing import Any

from graphc.errors import ArgumentTypeError, ArgumentValueError, ShapeError, user_loc
from graphc.ops import functional as F
from graphc.ops.functional.candidates import pair_of_seeds
from graphc.ops.functional.core import Extents
from graphc.ops.functional.distributions import sizes
from graphc.ops.functional.filling import cauchy_numbers, log_normal_like
from graphc.ops.functional.random import uniform_from
from graphc.ops.functional.truncated import truncated_normal
from graphc.ops.tensor.dtype import int32, int64, to_name
from graphc.ops.tensor.primitive import REQUIRED, declare
from graphc.ops.tensor.seed import generator
from graphc.ops.tensor.tensor import Tensor


def _bernoulli(x: Tensor, p: Any, seed: int, offset: int) -> Tensor:
    """1 with probability p, else 0, in the shape and dtype of x."""
    return F.bernoulli(x, p, pair_of_seeds(seed, offset))


Bernoulli = declare("Bernoulli", _bernoulli, seed=-1, offset=0)


def _gamma(shape: Extents, alpha: Tensor, beta: Tensor, seed: int, seed2: int) -> Tensor:
    """Gamma numbers of shapes alpha and rates beta, which are broadcast with `shape`."""
    return F.gamma(shape, alpha, beta, pair_of_seeds(seed, seed2))


def _random_gamma(shape: Extents, alpha: Tensor, seed: int, seed2: int) -> Tensor:
    """[*shape, *alpha.shape]: gamma numbers of shapes alpha and scale 1."""
    return F.random_gamma(shape, alpha, pair_of_seeds(seed, seed2))


Gamma, RandomGamma = declare("Gamma", _gamma, seed=0, seed2=0), declare("RandomGamma", _random_gamma, seed=0, seed2=0)


def _poisson(shape: Extents, mean: Tensor, seed: int, seed2: int) -> Tensor:
    """int32 Poisson numbers of means that are broadcast with `shape`."""
    return F.cast(F.poisson(shape, mean, pair_of_seeds(seed, seed2)), "int32")


def _random_poisson(shape: Extents, rate: Tensor, seed: int, seed2: int, dtype: Any) -> Tensor:
    """[*shape, *rate.shape]: Poisson numbers."""
    return F.random_poisson(shape, rate, pair_of_seeds(seed, seed2), dtype)


Poisson = declare("Poisson", _poisson, seed=0, seed2=0)

RandomPoisson = declare("RandomPoisson", _random_poisson, seed=0, seed2=0, dtype=int64)


def _between(shape: Extents, mean: Tensor, stdevs: Tensor, min: Tensor, max: Tensor, seed: int, seed2: int) -> Tensor:
    """Normal numbers of means and deviations, between bounds: [batch, ...], the parameters numbers or [batch], of one dtype."""
    return truncated_normal(
        sizes("ParameterizedTruncatedNormal", shape), (mean, stdevs, min, max), pair_of_seeds(seed, seed2)
    )


ParameterizedTruncatedNormal = declare("ParameterizedTruncatedNormal", _between, seed=0, seed2=0)


def _standard_laplace(shape: Extents, seed: int, seed2: int) -> Tensor:
    """Laplace numbers of mean 0 and scale 1."""
    return F.standard_laplace(sizes("StandardLaplace", shape), pair_of_seeds(seed, seed2))


StandardLaplace = declare("StandardLaplace", _standard_laplace, seed=0, seed2=0)

Cauchy = declare(
    "Cauchy",
    lambda size, median, sigma: cauchy_numbers(sizes("Cauchy", size), median, sigma),
    cauchy_numbers.__doc__,
    size=REQUIRED,
    median=0.0,
    sigma=1.0,
)

LogNormalReverse = declare("LogNormalReverse", log_normal_like, mean=1.0, std=2.0)


def _with_replacement(x: Tensor, seed: Any, offset: Any, numsamples: int, replacement: bool) -> Tensor:
    """int64: indices drawn with the probabilities in a row."""
    return F.multinomial_with_replacement(x, int(seed), int(offset), numsamples, replacement)


MultinomialWithReplacement = declare(
    "MultinomialWithReplacement", _with_replacement, numsamples=REQUIRED, replacement=False
)


def _choice(input_x: Tensor, count: int, seed: int, seed2: int) -> tuple[Tensor, Tensor]:
    """(places where a mask holds, in random order; which of them there are)."""
    return F.choice_with_mask(input_x, count, pair_of_seeds(seed, seed2))


RandomChoiceWithMask = declare("RandomChoiceWithMask", _choice, count=256, seed=0, seed2=0)


def _randperm(n: Tensor, max_length: int, pad: int, dtype: Any) -> Tensor:
    """[max_length]: the integers below n in random order, then `pad`. n may be known only when a step runs."""
    if n.size != 1 or n.tensor_type.dtype not in ("int32", "int64"):
        raise ShapeError(f"Randperm: n is {n.tensor_type}, expected one int32 or int64", loc=user_loc())
    if n.array is not None and not 0 <= int(n.array.item()) <= max_length:
        raise ArgumentValueError(f"Randperm: n is {n.array.item()}, beyond max_length {max_length}", loc=user_loc())
    places = F.arange(0, max_length, dtype="int32")
    inside = F.less(places, F.cast(F.reshape(n, ()), "int32"))
    # What lies beyond n comes last.
    keys = F.select(inside, uniform_from(generator(), (max_length,)), 2.0)
    return F.cast(F.select(inside, F.argsort(keys), pad), dtype)


Randperm = declare("Randperm", _randperm, max_length=1, pad=-1, dtype=int32)

RandpermV2 = declare(
    "RandpermV2",
    lambda n, seed, offset, dtype: F.randperm(int(n), pair_of_seeds(seed, offset), dtype=dtype),
    F.randperm.__doc__,
    seed=0,
    offset=0,
    dtype=int64,
)

LogUniformCandidateSampler = declare(
    "LogUniformCandidateSampler",
    F.log_uniform_candidate_sampler,
    num_true=1,
    num_sampled=5,
    unique=True,
    range_max=5,
    seed=0,
)

UniformCandidateSampler = declare(
    "UniformCandidateSampler",
    F.uniform_candidate_sampler,
    num_true=REQUIRED,
    num_sampled=REQUIRED,
    unique=REQUIRED,
    range_max=REQUIRED,
    seed=0,
    remove_accidental_hits=False,
)


def _whole_range(shape: Extents, dtype: Any) -> Tensor:
    """Integers of the whole range of a dtype, int32 or int64, in a shape."""
    name = to_name(dtype)
    if name not in ("int32", "int64"):
        raise ArgumentTypeError(f"NonDeterministicInts: dtype must be int32 or int64, got {name}", loc=user_loc())
    wanted = sizes("NonDeterministicInts", shape)
    made = F.randint(0, 1 << (31 if name == "int32" else 63), wanted, dtype=name)
    return F.select(F.less(uniform_from(generator(), wanted), 0.5), made, F.sub(-1, made))


NonDeterministicInts = declare("NonDeterministicInts", _whole_range, dtype=int64)
