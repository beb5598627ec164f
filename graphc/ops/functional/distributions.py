"""Draws from gamma, Poisson, Laplace and Gumbel distributions.

A `seed` names a stream of its own, as in the other random functions: None and 0 mean the one that all share.
"""

from __future__ import annotations

from typing import Any

from graphc.errors import ArgumentTypeError, DTypeError, ShapeError, user_loc
from graphc.ops.declared.rules import broadcast_shapes
from graphc.ops.declared.shape import check_axis
from graphc.ops.functional.activation import softmax
from graphc.ops.functional.arithmetic import div
from graphc.ops.functional.core import Extents, Operand, call, cast, cast_to
from graphc.ops.functional.dynamic import known_values
from graphc.ops.functional.elementwise import (
    add,
    equal,
    greater,
    greater_equal,
    less,
    log,
    logical_and,
    maximum,
    mul,
    neg,
    pow_,
    sqrt,
    sub,
)
from graphc.ops.functional.extrema import arange_along, place
from graphc.ops.functional.logic import select
from graphc.ops.functional.random import next_key, normal_from, standard_laplace, uniform_from
from graphc.ops.functional.reduce import reduce_all
from graphc.ops.functional.require import require
from graphc.ops.functional.scalars import scalar
from graphc.ops.functional.shapes import broadcast_to
from graphc.ops.functional.state import stop_gradient
from graphc.ops.tensor.dtype import float32, to_name
from graphc.ops.tensor.parameter import Parameter
from graphc.ops.tensor.seed import generator
from graphc.ops.tensor.tensor import Tensor, as_tensor
from graphc.validation.checks import boolean

#: Of 12 candidates at least one is taken but with probability 2e-16.
_CANDIDATES = 12


def sizes(owner: str, shape: Any) -> tuple[int, ...]:
    """A shape given as a tuple, a list, or a tensor of known integers [axes]."""
    if isinstance(shape, Tensor):
        array = known_values(owner, shape)
        if array.ndim != 1 or array.dtype.kind not in "iu":
            raise ShapeError(f"{owner}: shape is {shape.tensor_type}, expected integers with one axis", loc=user_loc())
        shape = array.tolist()
    if not isinstance(shape, (tuple, list)) or not all(type(d) is int and d >= 0 for d in shape):
        raise ArgumentTypeError(f"{owner}: shape must be a tuple of sizes, got {shape!r}", loc=user_loc())
    return tuple(shape)


def _common(owner: str, shape: tuple[int, ...], *parameters: Tensor) -> tuple[int, ...]:
    """The shape that a shape and tensors are broadcast to."""
    return broadcast_shapes(owner, shape, *(p.shape for p in parameters))


def _float(owner: str, name: str, x: Any) -> Tensor:
    tensor = as_tensor(x, f"{owner}: {name}")
    if not tensor.tensor_type.is_float:
        raise DTypeError(f"{owner}: {name} is {tensor.tensor_type}, expected floats", loc=user_loc())
    return tensor


# ---- gamma


def gamma_numbers(alpha: Tensor, state: Parameter) -> Tensor:
    """Gamma numbers of shapes alpha and scale 1, one for each element, in its dtype.

    Candidates of Marsaglia and Tsang ("A simple method for generating gamma variables", 2000), of which any that passes the
    test is taken; below 1 those of alpha + 1, times a power of a uniform number. The gradient for alpha is that of the number
    at which the distribution function has the same value; compiled steps do not know it.
    """
    shape, dtype = alpha.shape, alpha.tensor_type.dtype
    a = stop_gradient(alpha if dtype == "float64" else cast_to(alpha, "float32"))
    small = less(a, 1.0)
    d = sub(select(small, add(a, 1.0), a), 1 / 3)
    c = div(1.0, sqrt(mul(d, 9.0)))
    made = d
    for _ in range(_CANDIDATES):
        x = normal_from(state, shape)
        root = add(mul(c, x), 1.0)
        v = mul(mul(root, root), root)
        inside = maximum(v, 1e-30)
        bound = add(mul(mul(x, x), 0.5), mul(d, add(sub(1.0, v), log(inside))))
        taken = less(log(sub(1.0, uniform_from(state, shape))), bound)
        made = select(logical_and(greater(v, 0.0), taken), mul(d, v), made)
    unit = sub(1.0, uniform_from(state, shape))
    made = cast_to(select(small, mul(made, pow_(unit, div(1.0, a))), made), dtype)
    return call("GammaPath", alpha, stop_gradient(made))


def _positive(owner: str, name: str, x: Tensor) -> None:
    # A comparison with NaN is False.
    message = f"{owner}: {name} must be finite, and above 0"
    require(reduce_all(logical_and(greater(x, 0.0), less(x, float("inf")))), message)


def gamma(shape: Extents, alpha: Tensor, beta: Tensor, seed: int | None = None) -> Tensor:
    """Gamma numbers of shapes alpha and rates beta, which are broadcast with `shape`, float32 (MindSpore: ops.gamma).

    Gradients reach alpha (not in compiled steps) and beta. Raises ShapeError, DTypeError; ArgumentValueError for parameters
    that are not above 0, in a compiled step when it has run.
    """
    a, b = _float("gamma", "alpha", alpha), _float("gamma", "beta", beta)
    _positive("gamma", "alpha", a)
    _positive("gamma", "beta", b)
    wanted = _common("gamma", sizes("gamma", shape), a, b)
    drawn = gamma_numbers(broadcast_to(cast_to(a, "float32"), wanted), generator(seed or None))
    return div(drawn, cast_to(b, "float32"))


def random_gamma(shape: Extents, alpha: Tensor, seed: int | None = None) -> Tensor:
    """[*shape, *alpha.shape]: gamma numbers of shapes alpha and scale 1, in alpha's dtype (MindSpore: ops.random_gamma).

    shape: a tuple, or integers [axes] that are known. Raises as `gamma` does.
    """
    a = _float("random_gamma", "alpha", alpha)
    _positive("random_gamma", "alpha", a)
    wanted = (*sizes("random_gamma", shape), *a.shape)
    return gamma_numbers(broadcast_to(a, wanted), generator(seed or None))


# ---- Poisson


def _poisson_numbers(owner: str, rate: Tensor, shape: tuple[int, ...], seed: int | None) -> Tensor:
    """int64 numbers of rates broadcast to a shape, which is not compiled."""
    fair = logical_and(greater_equal(rate, 0.0), less(rate, 1e18))
    require(reduce_all(fair), f"{owner}: rates must be finite and not negative")
    state = generator(seed or None)
    return call("RandomPoisson", next_key(state), stop_gradient(broadcast_to(rate, shape)))


def poisson(shape: Extents, mean: Tensor, seed: int | None = None) -> Tensor:
    """Poisson numbers of means that are broadcast with `shape`, float32 (MindSpore: ops.poisson). Not in a compiled Cell.

    Raises ShapeError, DTypeError, ArgumentValueError for negative or infinite means.
    """
    rate = _float("poisson", "mean", mean)
    wanted = _common("poisson", sizes("poisson", shape), rate)
    return cast_to(_poisson_numbers("poisson", rate, wanted, seed), "float32")


def random_poisson(shape: Extents, rate: Tensor, seed: int | None = None, dtype: Any = float32) -> Tensor:
    """[*shape, *rate.shape]: Poisson numbers (MindSpore: ops.random_poisson). Not in a compiled Cell.

    shape: a tuple, or integers [axes] that are known. dtype: float16, float32, float64, int32 or int64. Raises as `poisson` does.
    """
    if to_name(dtype) not in ("float16", "float32", "float64", "int32", "int64"):
        raise ArgumentTypeError(
            f"random_poisson: dtype must be a float or int32, int64, got {to_name(dtype)}", loc=user_loc()
        )
    tensor = _float(
        "random_poisson", "rate", cast(rate, "float32") if not as_tensor(rate).tensor_type.is_float else rate
    )
    wanted = (*sizes("random_poisson", shape), *tensor.shape)
    return cast_to(_poisson_numbers("random_poisson", tensor, wanted, seed), to_name(dtype))


# ---- Laplace, Gumbel


def laplace(shape: Extents, mean: Operand, lambda_param: Operand, seed: int | None = None) -> Tensor:
    """Laplace numbers of means and scales, which are broadcast with `shape`, float32 (MindSpore: ops.laplace).

    Gradients reach mean and lambda_param. Raises ShapeError.
    """
    centre, scale = as_tensor(mean, "laplace: mean"), as_tensor(lambda_param, "laplace: lambda_param")
    wanted = _common("laplace", sizes("laplace", shape), centre, scale)
    return cast(add(mul(standard_laplace(wanted, seed), scale), centre), "float32")


def gumbel_softmax(logits: Tensor, tau: Operand = 1.0, hard: bool = False, dim: int = -1) -> Tensor:
    """softmax((logits + Gumbel numbers) / tau) along an axis (MindSpore: ops.gumbel_softmax; Jang, Gu, Poole, 2017).

    logits: floats, unnormalized logarithms of probabilities. hard: 1 for the largest, 0 for the others, with the gradient of the
    softmax. Raises DTypeError, ArgumentTypeError, ArgumentValueError for tau that is not above 0.
    """
    x = _float("gumbel_softmax", "logits", logits)
    tau = scalar("gumbel_softmax", "tau", tau, (">", 0), wanted="be above 0")
    boolean("gumbel_softmax", "hard", hard)
    at = check_axis("gumbel_softmax", dim, x.ndim)
    unit = maximum(uniform_from(generator(), x.shape), 2.0**-25)
    drawn = neg(log(neg(log(unit))))
    soft = softmax(cast_to(div(add(x, drawn), tau), x.tensor_type.dtype), at)
    if not hard:
        return soft
    chosen = equal(arange_along(soft, at, "int32"), place(soft, at, True, True, "int32"))
    # In this order the difference is exactly zero.
    return add(sub(soft, stop_gradient(soft)), cast_to(chosen, x.tensor_type.dtype))


__all__ = [
    "gamma",
    "gumbel_softmax",
    "laplace",
    "poisson",
    "random_gamma",
    "random_poisson",
]
