"""Parameters as optimizers take them: a list, or groups with their own learning rates and weight decays."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from graphc.errors import ArgumentTypeError, ArgumentValueError, user_loc
from graphc.errors.suggestions import nearest_argument, question
from graphc.nn import checks
from graphc.nn.cell.cell import Cell
from graphc.nn.optim.rates import Decay, Rate, as_decay, as_rate
from graphc.ops.tensor.parameter import Parameter

KEYS = ("params", "lr", "weight_decay", "grad_centralization", "order_params")


class GroupKeyError(ArgumentValueError, KeyError):
    """A group of parameters with an unknown key, or without "params" (MindSpore: KeyError)."""


class RepeatedParameterError(ArgumentValueError, RuntimeError):
    """A parameter in two groups (MindSpore: RuntimeError)."""


class Member(NamedTuple):
    """A parameter and what holds for it: `rate` None is the optimizer's own; `group` counts the groups from 0."""

    parameter: Parameter
    rate: Rate | None
    decay: Decay
    centralize: bool = False
    group: int = 0


def members(owner: str, parameters: Any, rate: Rate, decay: Decay) -> tuple[list[Member], bool, bool]:
    """(the parameters in the optimizer's order, whether they come in groups, whether "order_params" orders them).

    `rate` and `decay` are the optimizer's. Raises what `Optimizer` documents.
    """
    listed = _list(owner, "parameters", parameters)
    groups = [x for x in listed if isinstance(x, dict)]
    if not groups:
        for p in listed:
            _check_parameter(owner, p)
        return [Member(p, None, decay) for p in listed], False, False
    if len(groups) != len(listed):
        raise ArgumentTypeError(
            f"{owner}: parameters must be all Parameters or all groups (dicts), not both", loc=user_loc()
        )
    made: list[Member] = []
    order: list[Parameter] | None = None
    for index, group in enumerate(groups):
        if "order_params" in group:
            order = _order(owner, index, group)
        else:
            made += _group(owner, index, group, decay)
    _check_rates(owner, rate, made)
    _check_repeats(owner, made)
    if not made:
        raise ArgumentValueError(f"{owner}: no group has parameters to optimize", loc=user_loc())
    return (made if order is None else _ordered(owner, made, order)), True, order is not None


def _list(owner: str, name: str, parameters: Any) -> list[Any]:
    if parameters is None:
        raise ArgumentValueError(f"{owner}: {name} must not be None", loc=user_loc(), help="net.trainable_params()")
    if isinstance(parameters, (Parameter, Cell, str, dict)) or not isinstance(parameters, Iterable):
        raise ArgumentTypeError(
            f"{owner}: {name} must be a list of Parameters, got {type(parameters).__name__}",
            loc=user_loc(),
            help="net.trainable_params()",
        )
    made = list(parameters)
    if not made:
        raise ArgumentValueError(
            f"{owner}: there are no parameters to optimize",
            loc=user_loc(),
            help="net.trainable_params() has the Parameters of Cells that are attributes, in nn.CellList where there are"
            " several, but for those with requires_grad=False",
        )
    return made


def _check_parameter(owner: str, p: Any) -> None:
    if not isinstance(p, Parameter):
        raise ArgumentTypeError(f"{owner}: parameters must be Parameters, got {type(p).__name__}", loc=user_loc())
    checks.trained(owner, p)


def _group(owner: str, index: int, group: dict[str, Any], decay: Decay) -> list[Member]:
    unknown = [key for key in group if key not in KEYS]
    if unknown:
        raise GroupKeyError(
            f"{owner}: group {index} has the key {unknown[0]!r}, known are {', '.join(KEYS)}",
            loc=user_loc(),
            help=question(nearest_argument(unknown[0], KEYS)) if isinstance(unknown[0], str) else None,
        )
    if "params" not in group:
        raise GroupKeyError(f"{owner}: group {index} has no 'params'", loc=user_loc())
    params = _list(owner, f"'params' of group {index}", group["params"])
    rate = as_rate(owner, group["lr"]) if "lr" in group else None
    own_decay = as_decay(owner, group["weight_decay"]) if "weight_decay" in group else decay
    centralize = checks.boolean(owner, "grad_centralization", group.get("grad_centralization", False))
    for p in params:
        _check_parameter(owner, p)
    return [Member(p, rate, own_decay, centralize, index) for p in params]


def _order(owner: str, index: int, group: dict[str, Any]) -> list[Parameter]:
    if len(group) > 1:
        raise ArgumentValueError(
            f"{owner}: 'order_params' must be alone in its group, group {index} has {', '.join(map(str, group))}",
            loc=user_loc(),
        )
    return _list(owner, "'order_params'", group["order_params"])


def _ordered(owner: str, made: list[Member], order: list[Parameter]) -> list[Member]:
    by_name = {m.parameter.name: m for m in made}
    names = [getattr(p, "name", None) for p in order]
    if sorted(map(str, names)) != sorted(by_name):
        missing = [n for n in by_name if n not in names]
        raise ArgumentValueError(
            f"{owner}: 'order_params' must hold each of the {len(made)} parameters of the groups once, it has "
            f"{len(order)}",
            loc=user_loc(),
            details=[f"not in it: {', '.join(missing[:6])}"] if missing else (),
        )
    return [by_name[str(n)] for n in names]


def _check_rates(owner: str, rate: Rate, made: list[Member]) -> None:
    """Lists of rates must be of one length."""
    lengths = {r.size for r in (rate, *(m.rate for m in made)) if isinstance(r, np.ndarray)}
    if len(lengths) > 1:
        raise ArgumentValueError(
            f"{owner}: the lists of learning rates differ in length: {', '.join(map(str, sorted(lengths)))}",
            loc=user_loc(),
            help="each lists one rate per step",
        )


def _check_repeats(owner: str, made: list[Member]) -> None:
    seen: dict[str, int] = {}
    for m in made:
        name = m.parameter.name
        if name in seen:
            raise RepeatedParameterError(
                f"{owner}: parameter {name!r} is in group {seen[name]} and in group {m.group}", loc=user_loc()
            )
        seen[name] = m.group
