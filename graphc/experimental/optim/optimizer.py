"""What optimizers of groups share: the groups, their rates, and state for each parameter."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

import numpy as np

from graphc import ops
from graphc.errors import ArgumentTypeError, ArgumentValueError, user_loc
from graphc.ir import Region
from graphc.nn import checks
from graphc.nn.cell.cell import Cell
from graphc.nn.optim.gradients import checked
from graphc.ops.tensor.parameter import Parameter, ParameterTuple
from graphc.ops.tensor.tensor import Tensor

#: What a group may hold beside what the optimizer has a default for: the schedulers' rate to begin with.
_KEYS = ("params", "lr", "weight_decay", "initial_lr")


class Optimizer(Cell):
    """Base of the optimizers of groups (MindSpore: mindspore.experimental.optim.Optimizer).

    params: Parameters, or groups: dicts with "params" and whatever differs from `defaults`, a dict of options.
    `param_groups` is the list of these dicts, completed: "params" is a list, "weight_decay" a float, and "lr" a float32
    Parameter without axes, "learning_rate_group_K", that schedulers write; a float in its place is taken at the next step.
    `parameters` holds all Parameters in the order of the groups, that of the gradients; `lrs` the rates; group K begins at
    `group_start_id[K]`. `add_param_group` adds one more, with state of its own. `state` holds what subclasses keep for a
    parameter, a dict for each: Parameters that `__init__` makes, or, in PYNATIVE_MODE, whatever `construct` puts there.

    optimizer(gradients): a tuple with the gradient of each parameter. Subclasses define `construct`.
    Raises ArgumentTypeError or ArgumentValueError for arguments; ShapeError for gradients that do not fit.
    """

    region: Region | None = "optimizer"
    #: Whether the keys of groups are those of `defaults` and no others.
    closed = False
    #: Whether updates treat real and imaginary parts alike, so that complex parameters may be trained; None: anything may be.
    linear: bool | None = None

    def __init__(self, params: Any, defaults: dict[str, Any]) -> None:
        super().__init__(auto_prefix=False)
        owner = type(self).__name__
        if not isinstance(defaults, dict):
            raise checks.wrong_type(owner, "defaults", "a dict", defaults)
        self.defaults = defaults
        self.state: dict[Any, dict[str, Any]] = defaultdict(dict)
        self.param_groups: list[dict[str, Any]] = []
        self.group_start_id = [0]
        self.lrs = self.parameters = ParameterTuple(())
        self._kept: dict[str, tuple[float, bool]] = {}
        for group in _as_groups(owner, params):
            self.add_param_group(group)

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add a group: a dict with "params", a Parameter or a list of them that no group holds yet."""
        owner, number = type(self).__name__, len(self.param_groups)
        if not isinstance(param_group, dict):
            raise checks.wrong_type(owner, "param_group", "a dict", param_group)
        made = {**self.defaults, "weight_decay": self.defaults.get("weight_decay", 0.0), **param_group}
        members = made["params"] = _members(owner, made.get("params"), self.parameters)
        if self.linear is not None:
            for p in members:
                checks.trained(owner, p, complex_numbers=self.linear)
        if self.closed and (unknown := [k for k in made if k not in self.defaults and k not in _KEYS]):
            raise ArgumentValueError(
                f"{owner}: a group has {unknown[0]!r}, which is no option of it",
                loc=user_loc(),
                help=f"options: {', '.join(self.defaults)}",
            )
        made["weight_decay"] = checks.real(owner, "weight_decay", made["weight_decay"], least=0)
        rate = _rate(owner, made.get("lr"))
        self.check(made)
        made["lr"] = Parameter(Tensor(rate, "float32"), name=f"learning_rate_group_{number}", requires_grad=False)
        place = self._place()
        self._put_under("")  # What is added has the names that a cell would find it by.
        self.lrs = ParameterTuple((*self.lrs, made["lr"]))
        self.parameters = ParameterTuple((*self.parameters, *members))
        self.group_start_id = [*self.group_start_id, self.group_start_id[-1] + len(members)]
        self.param_groups.append(made)
        for name in self._kept:
            setattr(self, name, ParameterTuple((*getattr(self, name), *(self._state(name, p) for p in members))))
        self._put_under(place)

    def check(self, group: dict[str, Any]) -> None:
        """Refuse the options of a group that mean nothing to the optimizer; for subclasses."""

    def keep(self, name: str, fill: float = 0.0, scalar: bool = False) -> None:
        """Make attribute `name`: for each parameter a Parameter of its shape, "name.<parameter>", or without axes,
        "name_<parameter>".
        """
        self._kept[name] = (fill, scalar)
        setattr(self, name, ParameterTuple(self._state(name, p) for p in self.parameters))

    def _state(self, name: str, p: Parameter) -> Parameter:
        fill, scalar = self._kept[name]
        data = Tensor(fill, "float32") if scalar else Tensor(np.full(p.shape, fill), p.dtype)
        return Parameter(data, name=f"{name}{'_' if scalar else '.'}{p.name}", requires_grad=False)

    def _members(self, held: ParameterTuple) -> Iterable[Parameter]:
        """State that is kept in tuples: the parameters that are trained belong to the network."""
        trained = set(map(id, self.parameters))
        return (p for p in held if id(p) not in trained)

    def _place(self) -> str:
        """What cells have put before the paths of the state."""
        names = self.parameters_and_names()
        return next((p.name.removesuffix(path) for path, p in names if p.name.endswith(path)), "")

    def construct(self, gradients: Any) -> Any:
        raise ArgumentTypeError(f"{type(self).__name__} does not define construct(gradients)")

    def __repr__(self) -> str:
        lines = [f"{type(self).__name__} ("]
        for k, group in enumerate(self.param_groups):
            lines.append(f"Parameter Group {k}")
            shown = {name: value for name, value in group.items() if name != "params"}
            lines += [f"    {name}: {_shown(shown[name])}" for name in sorted(shown)]
        return "\n".join([*lines, ")"])


class Stepping(Optimizer):
    """An optimizer that updates one parameter after the other, by `update`, with numbers of its group made by `prepare`."""

    closed = True
    linear: bool | None = False
    #: The Parameter that counts steps; None: none does.
    counter: str | None = "step_t"

    def __init__(self, params: Any, defaults: dict[str, Any]) -> None:
        super().__init__(params, defaults)
        if self.counter is not None:
            setattr(self, self.counter, Parameter(Tensor(0, "int32"), name=self.counter, requires_grad=False))

    def construct(self, gradients: Any) -> Any:
        grads = checked(type(self).__name__, self.parameters, gradients)
        step = None
        if self.counter is not None:
            held = getattr(self, self.counter)
            ops.assign_add(held, 1)
            step = ops.cast(held, "float32")
        written: list[Any] = []
        for k, group in enumerate(self.param_groups):
            rate = group["lr"]
            numbers = self.prepare(group, rate if isinstance(rate, Tensor) else Tensor(rate, "float32"), step)
            for index in range(self.group_start_id[k], self.group_start_id[k + 1]):
                gradient = -grads[index] if group.get("maximize") else grads[index]
                decay = self.decays(group)
                if decay:
                    weight = self.parameters[index]
                    gradient = gradient + ops.cast(weight * decay, gradient.dtype)
                written.append(self.update(index, gradient, group, numbers))
        return ops.depend(Tensor(True), tuple(written))

    def decays(self, group: dict[str, Any]) -> float:
        """What times the parameter is added to its gradient."""
        return float(group["weight_decay"])

    def prepare(self, group: dict[str, Any], lr: Tensor, step: Any) -> Any:
        """Numbers of the step, for `update`: the rate, as it is, unless a subclass makes more of it."""
        return lr

    def update(self, index: int, gradient: Tensor, group: dict[str, Any], numbers: Any) -> Any:
        """Write parameter `index` and its state. Returns the results of the assignments."""
        raise ArgumentTypeError(f"{type(self).__name__} does not define update")


def power(base: float, exponent: Any) -> Any:
    """base ** exponent for a float32 tensor."""
    return ops.pow(Tensor(base, "float32"), exponent)


def checked_betas(owner: str, group: dict[str, Any]) -> None:
    """Two numbers from 0 to below 1."""
    betas = group["betas"]
    if not isinstance(betas, (tuple, list)) or len(betas) != 2:
        raise checks.wrong_value(owner, "betas", "a tuple of two numbers", betas)
    for k, beta in enumerate(betas):
        if checks.real(owner, f"betas[{k}]", beta, least=0) >= 1:
            raise checks.wrong_value(owner, f"betas[{k}]", "below 1", beta)


def _as_groups(owner: str, params: Any) -> list[dict[str, Any]]:
    if params is None or isinstance(params, (Parameter, dict, str)) or not isinstance(params, Iterable):
        raise checks.wrong_type(owner, "params", "a list of Parameters, or of dicts", params)
    if isinstance(params, (set, frozenset)):
        raise ArgumentTypeError(
            f"{owner}: params is a set, which has no order for the gradients", loc=user_loc(), help="give a list"
        )
    given = list(params)
    if not given:
        raise ArgumentValueError(f"{owner}: params is empty", loc=user_loc())
    return given if isinstance(given[0], dict) else [{"params": given}]


def _members(owner: str, given: Any, known: Iterable[Parameter]) -> list[Parameter]:
    if isinstance(given, (set, frozenset)):
        raise ArgumentTypeError(f"{owner}: params is a set, which has no order", loc=user_loc(), help="give a list")
    members = [given] if isinstance(given, Parameter) else list(given) if isinstance(given, Iterable) else []
    if not members:
        raise ArgumentValueError(f"{owner}: a group has no params", loc=user_loc())
    seen = set(map(id, known))
    for p in members:
        if not isinstance(p, Parameter):
            raise checks.wrong_type(owner, "params", "Parameters", p)
        if id(p) in seen:
            raise ArgumentValueError(f"{owner}: {checks.named(p)} is given more than once", loc=user_loc())
        seen.add(id(p))
    return members


def _rate(owner: str, value: Any) -> float:
    if isinstance(value, Tensor):
        if value.ndim:
            raise checks.wrong_value(owner, "lr", "a number or a tensor without axes", value)
        value = float(value.asnumpy())
    return checks.real(owner, "lr", value, least=0)


def _shown(value: Any) -> str:
    return str(value.asnumpy()) if isinstance(value, Tensor) else str(value)


__all__ = ["Optimizer"]
