"""Least values under inequalities, by augmented Lagrangians: rounds of steps of Adam, after each of which multipliers or the
penalty change (Nocedal and Wright, "Numerical Optimization", 1999, 17.4).
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from graphc import ops
from graphc.errors import ArgumentTypeError, ArgumentValueError, ShapeError, user_loc
from graphc.ops.functional.core import cast_to, is_number
from graphc.ops.gradients.reverse import value_and_grad
from graphc.ops.tensor.tensor import Tensor, as_tensor
from graphc.scipy.optimize.functions import called, number
from graphc.scipy.optimize.search import State, chosen
from graphc.validation.unused_arguments import only

_OWNER = "minimize"
_ALPHA, _BETA, _RHO = 0.1, 0.9, 1.1
_BETAS, _EPSILON = (0.9, 0.999), 1e-8

Function = Callable[..., Any]


class LagrangeResults(NamedTuple):
    """What `minimize` has found by LAGRANGE: NumPy's arrays, as MindSpore gives them; inside a Cell tensors.

    succeeded       whether all constraints held somewhere where the function was less than at first
    best_value      where it was least of these places
    object_value    the function there
    loss_value      the constraints there
    """

    succeeded: bool
    best_value: Any
    object_value: Any
    loss_value: Any


class Problem(NamedTuple):
    """func, constraints and what both are given beside x; bounds of x; how many rounds of how many steps."""

    func: Function
    constraints: tuple[Function, ...]
    tol: tuple[float, ...]
    obj_weight: float = 1.0
    lower: Any = None
    upper: Any = None
    learning_rate: float = 0.1
    coincide_fun: Function | None = None
    rounds: int = 10
    steps: int = 1000


def problem(x: Tensor, func: Function, constraints: Sequence[Function], tol: Any, options: dict[str, Any]) -> Problem:
    """The arguments of `minimize` for this method, looked at."""
    given = dict(options)
    only(_OWNER, "log_sw", given.pop("log_sw", False), False)
    if "coincide_func" in given:
        given["coincide_fun"] = given.pop("coincide_func")
    names = Problem._fields[3:]
    for name in given:
        if name not in names:
            text = f"{_OWNER}: {name!r} is no option of LAGRANGE, but {', '.join(names)}; tol is an argument"
            raise ArgumentTypeError(text, loc=user_loc())
    held = tuple(constraints)
    for each in held:
        called(_OWNER, "a constraint", each)
    if not held:
        raise ArgumentValueError(f"{_OWNER}: LAGRANGE needs constraints", loc=user_loc())
    bounds = (1.0,) * len(held) if tol is None else tuple(float(t) for t in tol)
    if len(bounds) != len(held):
        raise ArgumentValueError(f"{_OWNER}: tol has {len(bounds)} numbers for {len(held)} constraints", loc=user_loc())
    made = Problem(func, held, bounds, **given)
    if made.coincide_fun is not None:
        called(_OWNER, "coincide_fun", made.coincide_fun)
    for name in ("rounds", "steps"):
        value = getattr(made, name)
        if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 1:
            raise ArgumentValueError(f"{_OWNER}: {name} must be an int from 1 on, got {value!r}", loc=user_loc())
    for name in ("obj_weight", "learning_rate"):
        if not is_number(getattr(made, name)):
            raise ArgumentTypeError(f"{_OWNER}: {name} must be a number", loc=user_loc())
    return made._replace(lower=_bound(x, "lower", made.lower), upper=_bound(x, "upper", made.upper))


def _bound(x: Tensor, name: str, given: Any) -> Tensor | None:
    if given is None:
        return None
    made = cast_to(as_tensor(given), x.tensor_type.dtype)
    if made.shape != x.shape:
        raise ShapeError(f"{_OWNER}: {name} is {made.tensor_type}, x0 {x.tensor_type}", loc=user_loc())
    return made


def _inside(p: Problem, x: Tensor) -> Tensor:
    """x as a place between the bounds."""
    if p.lower is None:
        return x if p.upper is None else ops.sub(p.upper, x * x)
    return ops.add(p.lower, x * x if p.upper is None else (p.upper - p.lower) * ops.sigmoid(x))


def _values(p: Problem, x: Tensor) -> tuple[Tensor, Tensor]:
    """The function and the constraints at a place."""
    dtype = x.tensor_type.dtype
    both = () if p.coincide_fun is None else (p.coincide_fun(x),)
    losses = [number(_OWNER, each(x, *both), dtype) for each in p.constraints]
    return number(_OWNER, p.func(x, *both), dtype), ops.stack(losses)


def found(p: Problem, x0: Tensor) -> tuple[Tensor, ...]:
    """(succeeded, the best place, the function there, the constraints there)"""
    dtype = x0.tensor_type.dtype
    one = Tensor(np.ones((), x0.tensor_type.numpy))
    ones = ops.ones((len(p.constraints),), x0.dtype)

    def augmented(x: Tensor, multipliers: Tensor, sigma: Tensor) -> tuple[Tensor, ...]:
        place = _inside(p, x)
        value, losses = _values(p, place)
        shares = multipliers / sigma
        penalty = ops.reduce_sum(ops.square(ops.relu(shares + losses)) - ops.square(shares))
        return value * p.obj_weight + sigma * penalty / 2.0, value, losses, place

    differentiated = value_and_grad(augmented, has_aux=True)
    tolerances = Tensor(np.array(p.tol, x0.tensor_type.numpy))

    def step(s: State) -> State:
        (_, value, losses, place), gradient = differentiated(s["x"], s["multipliers"], s["sigma"])
        first = ops.where(s["begun"], s["value"], value)
        holds = ops.less(ops.reduce_max(losses - tolerances), 0.0)
        better = ops.logical_and(holds, ops.less(value, first))
        made = chosen(better, {"best": place, "losses": losses, "value": value}, {**s, "value": first})
        m, v = (
            old * b + change * (1 - b)
            for old, change, b in zip((s["m"], s["v"]), (gradient, ops.square(gradient)), _BETAS, strict=True)
        )
        powers = [s[name] * b for name, b in zip(("power1", "power2"), _BETAS, strict=True)]
        rate = ops.sqrt(1.0 - powers[1]) * p.learning_rate / (1.0 - powers[0])
        return {
            **made,
            "x": s["x"] - m * rate / (ops.sqrt(v) + _EPSILON),
            "m": m,
            "v": v,
            "power1": powers[0],
            "power2": powers[1],
            "last": losses,
            "begun": Tensor(True),
            "succeeded": ops.logical_or(s["succeeded"], better),
            "turn": s["turn"] + 1,
        }

    def changed(s: State) -> State:
        """Multipliers after a round that has kept to the constraints well enough, else the penalty."""
        sigma, multipliers = s["sigma"], s["multipliers"]
        broken = ops.sqrt(ops.reduce_sum(ops.square(ops.maximum(s["last"], ops.neg(multipliers) / sigma))))
        kept = ops.less_equal(broken, s["epsilon"])
        next_epsilon = ops.minimum(s["epsilon"] / ops.pow(sigma, _BETA), _largest(dtype))
        more = sigma * _RHO
        return {
            **s,
            "multipliers": ops.where(kept, ops.relu(multipliers + sigma * s["last"]), multipliers),
            "sigma": ops.where(kept, sigma, more),
            "epsilon": ops.where(kept, next_epsilon, 1.0 / ops.pow(more, _ALPHA)),
        }

    def round(s: State) -> State:
        none = {**s, "turn": s["turn"] * 0}
        return {**changed(ops.while_loop(lambda t: ops.less(t["turn"], p.steps), step, none)), "round": s["round"] + 1}

    count = cast_to(Tensor(0), "int32")
    start = {
        "x": x0, "m": ops.zeros_like(x0), "v": ops.zeros_like(x0), "power1": one, "power2": one,
        "multipliers": ones, "sigma": one, "epsilon": one, "last": ones,
        "best": x0, "value": one, "losses": ones, "succeeded": Tensor(False), "begun": Tensor(False),
        "turn": count, "round": count,
    }  # fmt: skip
    end = ops.while_loop(lambda s: ops.less(s["round"], p.rounds), round, start)
    return end["succeeded"], end["best"], end["value"], end["losses"]


def _largest(dtype: str) -> float:
    return sys.float_info.max if dtype == "float64" else float(np.finfo(np.float32).max)
