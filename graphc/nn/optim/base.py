"""What all optimizers share: parameters, learning rates, weight decay, step counter."""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from typing import Any

import numpy as np

from graphc import dispatch, ops
from graphc.errors import ArgumentTypeError, ArgumentValueError, user_loc
from graphc.ir import Region
from graphc.ir.types import numpy_dtype
from graphc.nn import checks
from graphc.nn.cell.cell import Cell
from graphc.nn.layer.container import CellList
from graphc.nn.optim.gradients import checked
from graphc.nn.optim.groups import Member, members
from graphc.nn.optim.mindspore_base import MindSporeBase
from graphc.nn.optim.places import EVERYWHERE, InRows, Place
from graphc.nn.optim.rates import FixedRate, Rate, RateList, as_decay, as_rate, held
from graphc.nn.optim.sharding import cuts, refuse_cut_layers
from graphc.nn.rates.schedules import LearningRateSchedule
from graphc.ops.functional import tensor_parts
from graphc.ops.functional.table_rows import merged_rows
from graphc.ops.tensor.dtype import to_name
from graphc.ops.tensor.parameter import Parameter, ParameterTuple
from graphc.ops.tensor.row_tensor import RowTensor
from graphc.ops.tensor.tensor import Tensor
from graphc.tracebacks import clean


class Optimizer(MindSporeBase, Cell):
    """Base of the optimizers (MindSpore: nn.Optimizer).

    learning_rate: a number >= 0 or a tensor without axes, kept as the float32 Parameter "learning_rate"; or a list (any
    iterable, a tensor with one axis) whose i-th value is the rate of step i, kept as the float32[n] Parameter
    "learning_rate"; or a LearningRateSchedule. A step for which the list has no rate raises RateListExhausted, a
    RuntimeError, before anything is changed.
    parameters: float Parameters with distinct names, or groups: dicts with "params" (a list of Parameters) and, if they
    differ from the optimizer's own, "lr", "weight_decay" and "grad_centralization"; one dict may hold "order_params",
    all parameters in the order in which the optimizer takes gradients (otherwise that of the groups).
    weight_decay: a number >= 0, or a Cell called with the step; `weight_decay * parameter` is added to the gradient,
    without groups only for parameters that have neither "beta" nor "gamma" in their names. grad_centralization
    subtracts from a gradient its mean over all axes but the first, as MindSpore where axis 1 is a multiple of 16.
    loss_scale: a number > 0 that gradients are divided by.

    State: `global_step` (int32[1]), counted by every call, and what subclasses own; it keeps the names it has,
    whatever cell holds the optimizer. Rates and decays of a step are looked up with the steps made before it.

    optimizer(gradients): a tuple with the gradient of each parameter. Returns a tuple of True, one per parameter.
    Subclasses define `update`, and `advance` for state that changes once per step; or `construct`.
    Raises ArgumentTypeError or ArgumentValueError for arguments, among them GroupKeyError (a KeyError) for the keys of
    a group and RepeatedParameterError (a RuntimeError); ShapeError for gradients that do not fit.
    """

    region: Region | None = "optimizer"
    #: The method that updates one parameter: of it `graphc.nn.optim.sharding` wants to know whether it goes by elements.
    updates_by = "update"
    #: Whether of a parameter with a RowTensor as its gradient only those rows move, and the states that belong to them.
    lazy = False

    def __init__(self, learning_rate: Any, parameters: Any, weight_decay: Any = 0.0, loss_scale: float = 1.0) -> None:
        super().__init__(auto_prefix=False)
        owner = type(self).__name__
        self.loss_scale = checks.real(owner, "loss_scale", loss_scale, above=0)
        rate = as_rate(owner, learning_rate)
        made, self.is_group, self.is_group_params_ordered = members(
            owner, parameters, rate, as_decay(owner, weight_decay)
        )
        self.parameters = ParameterTuple(m.parameter for m in made)
        self.cuts = cuts(self, self.parameters)
        self.global_step = Parameter(Tensor([0], "int32"), name="global_step", requires_grad=False)
        self.is_group_lr = any(m.rate is not None for m in made)
        self.dynamic_lr = any(not isinstance(r, float) for r in (rate, *(m.rate for m in made)) if r is not None)
        rates = self._rates(rate, made)
        if isinstance(rates, tuple):
            # Where they come among the optimizer's parameters: before its state, in the order of their first use.
            self.group_rates = ParameterTuple(dict.fromkeys(rates))
        self.learning_rate = rates
        self._hold_decays(weight_decay, made)
        self._prepare_base()

    def _rates(self, rate: Rate, made: list[Member]) -> Any:
        """One holder for all parameters; or a tuple of Parameters, or a CellList of schedules, one per parameter."""
        if not self.is_group_lr:
            return held(rate, "learning_rate")
        by_group: dict[int | None, Parameter | LearningRateSchedule] = {}
        for m in made:
            key = None if m.rate is None else m.group
            if key not in by_group:
                name = "learning_rate" if m.rate is None else f"learning_rate_group_{m.group}"
                one = held(rate if m.rate is None else m.rate, name)
                by_group[key] = FixedRate(one) if self.dynamic_lr and isinstance(one, Parameter) else one
        holders = [by_group[None if m.rate is None else m.group] for m in made]
        if self.dynamic_lr:
            return CellList(holders, auto_prefix=False)
        return tuple(holders)

    def _hold_decays(self, weight_decay: Any, made: list[Member]) -> None:
        decays = [m.decay for m in made]
        self.dynamic_weight_decay = any(isinstance(d, Cell) for d in decays)
        if self.is_group:
            self.decay_flags = tuple(isinstance(d, Cell) or d > 0 for d in decays)
            cells = {id(d): d for d in decays if isinstance(d, Cell)}
            self.decay_cells = CellList(list(cells.values()), auto_prefix=False)
            self.weight_decay: Any = tuple(decays)
        else:
            self.decay_flags = tuple("beta" not in p.name and "gamma" not in p.name for p in self.parameters)
            self.weight_decay = decays[0]
        self.grad_centralization_flags = tuple(m.centralize for m in made)
        if any(self.grad_centralization_flags):
            refuse_cut_layers(self, "grad_centralization", [m.parameter for m in made if m.centralize])
        self.exec_weight_decay = any(isinstance(d, Cell) or d > 0 for d in decays)

    def _own(self, parameters: Any) -> None:
        for p in parameters:
            self._params[p.name] = p

    def check_once(self) -> None:
        """ArgumentValueError (GC141) for a parameter that is there twice: so would be its state, and two states have one name."""
        names: set[str] = set()
        for p in self.parameters:
            if p.name in names:
                raise ArgumentValueError(
                    f"{type(self).__name__}: parameter {p.name!r} is given twice",
                    code="GC141",
                    loc=user_loc(),
                    help="give each once: trainable_params() of a Cell has those of the Cells in it, too",
                )
            names.add(p.name)

    def state(self, prefix: str, init: str | float = "zeros", dtype: Any = None) -> ParameterTuple:
        """A state tensor like each parameter, named `prefix.<parameter>`, filled with "zeros", "ones" or a number.

        Of a parameter whose updates are shared out it is this process's part.
        """
        self.check_once()
        value = np.asarray({"zeros": 0.0, "ones": 1.0}[init] if isinstance(init, str) else init)
        made = []
        for p, cut in zip(self.parameters, self.cuts, strict=True):
            one = value.astype(numpy_dtype(to_name(dtype or p.dtype)))
            array = np.broadcast_to(one, p.shape if cut is None else cut.length)
            made.append(Parameter(array, name=f"{prefix}.{p.name}", requires_grad=False))
            made[-1].cut = cut or p.cut
        self._own(made)
        return ParameterTuple(made)

    def update_parameters_name(self, prefix: str = "", recurse: bool = True) -> None:
        """Put a prefix before the names of the state, and of the parameters that are optimized, as MindSpore does.

        So that two optimizers fit into one training step, whose parameters must have names of their own.
        """
        for p in self.parameters:
            p.name, p.is_named = prefix + p.name, True
        super().update_parameters_name(prefix, recurse)

    def _put_under(self, prefix: str) -> None:
        """Name the state alone: what is optimized belongs to the network."""
        super().update_parameters_name(prefix)

    # ---- one step

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        try:
            if dispatch.recorder.get() is None:
                self.check_step()
            return super().__call__(*args, **kwargs)
        except BaseException as error:
            if dispatch.recorder.get() is None:
                clean(error)
            raise

    def check_step(self) -> int | None:
        """How many steps the lists of learning rates have rates for, None without lists.

        RateListExhausted if there is none for the next step.
        """
        holders = [self.learning_rate] if not self.is_group_lr else list(self.learning_rate)
        owner, step = type(self).__name__, int(self.global_step.storage[0])
        return min((h.check(owner, step) for h in holders if isinstance(h, RateList)), default=None)

    def check_before(self, written: Set[Parameter]) -> Callable[[], int | None] | None:
        """What to call before a compiled step that writes these parameters: `check_step`, if it steps and rates are listed."""
        holders = list(self.learning_rate) if self.is_group_lr else [self.learning_rate]
        listed = any(isinstance(holder, RateList) for holder in holders)
        return self.check_step if listed and self.global_step in written else None

    def construct(self, gradients: Any) -> Any:
        return self.step(gradients)

    def step(self, gradients: Any) -> tuple[Tensor, ...]:
        """Decay, centralize and scale the gradients, count the step, update every parameter."""
        grads = self.decay_weight(self.checked(gradients))
        grads = self.parts(self.scale_grad(self.gradients_centralization(grads)))
        rates = self.parameter_rates()
        ops.assign_add(self.global_step, 1)
        self.advance()
        # Once for all parameters of one rate.
        effective = {key: self.effective_rate(rate) for key, rate in {id(rate): rate for rate in rates}.items()}
        updates = (self.update(i, g, effective[id(rates[i])]) for i, g in enumerate(grads))
        return tuple(ops.depend(Tensor(True), written) for written in updates)

    def advance(self) -> None:
        """Write the state that changes once per step; called when global_step has been counted."""

    def effective_rate(self, lr: Tensor) -> Tensor:
        """What `update` gets for a learning rate: what the state that changes once per step makes of it."""
        return lr

    def place(self, gradient: Tensor) -> tuple[Place, Tensor]:
        """Where a gradient moves its parameter, and the gradient there: everywhere, or where the optimizer is `lazy` and the
        gradient a RowTensor only in its rows.
        """
        if not (self.lazy and isinstance(gradient, RowTensor)):
            return EVERYWHERE, gradient
        gradient = merged_rows(gradient)
        return InRows(gradient.indices), gradient.values

    def update(self, index: int, gradient: Tensor, lr: Tensor) -> Tensor | tuple[Tensor, ...]:
        """Write parameter `index` and its state. `lr` is the effective rate. Returns the results of the assignments.

        Numbers without axes computed first and assignments made last leave the rest to one loop over the parameter. One that
        is marked `by_element` can be shared out among processes.
        """
        raise ArgumentTypeError(f"{type(self).__name__} does not define update(index, gradient, lr)")

    def parts(self, gradients: Sequence[Tensor]) -> tuple[Tensor, ...]:
        """The gradients, of parameters whose updates are shared out this process's parts."""
        pairs = zip(gradients, self.cuts, strict=True)
        return tuple(g if cut is None else tensor_parts.take_part(g) for g, cut in pairs)

    def weight(self, index: int, place: Place = EVERYWHERE) -> Tensor:
        """Parameter `index` as `update` reads it: what stands at the place, or this process's part of the whole."""
        p = self.parameters[index]
        return place.read(p) if self.cuts[index] is None else tensor_parts.take_part(p)

    def write(self, index: int, value: Tensor, place: Place = EVERYWHERE) -> Tensor:
        """Write what `update` has made of `weight(index, place)`: everybody's parts become the parameter."""
        p, cut = self.parameters[index], self.cuts[index]
        if cut is None:
            return place.write(p, value)
        return ops.assign(p, tensor_parts.join_parts(ops.cast(value, p.dtype), cut.shape))

    # ---- rates and decays

    def get_lr(self) -> Any:
        """The learning rate of the step about to be made, float32 without axes; with rates of groups a tuple of them,
        one per parameter.
        """
        if not self.is_group_lr:
            return self._rate_now(self.learning_rate)
        now = {id(r): self._rate_now(r) for r in self.learning_rate}
        return tuple(now[id(r)] for r in self.learning_rate)

    def _rate_now(self, rate: Any) -> Tensor:
        if isinstance(rate, Parameter):
            return rate
        if not isinstance(rate, Cell):
            raise ArgumentTypeError(
                f"{type(self).__name__}: learning_rate is {rate!r} now, it has been a Parameter or a schedule",
                loc=user_loc(),
                help="write a new rate into it: optimizer.learning_rate.set_data(graphc.Tensor(0.1))",
            )
        return ops.cast(ops.reshape(rate(self.global_step), ()), "float32")

    def parameter_rates(self) -> tuple[Tensor, ...]:
        """`get_lr()` for each parameter."""
        rates = self.get_lr()
        return rates if self.is_group_lr else (rates,) * len(self.parameters)

    def get_lr_parameter(self, param: Any) -> Any:
        """What holds the learning rate of a parameter: a Parameter, or a schedule. For a list of parameters a list.

        ArgumentTypeError for anything else, ArgumentValueError for parameters of another optimizer.
        """
        if isinstance(param, list):
            return [self.get_lr_parameter(p) for p in param]
        owner = type(self).__name__
        if not isinstance(param, Parameter):
            raise ArgumentTypeError(
                f"{owner}.get_lr_parameter: param must be a Parameter or a list of them, got {type(param).__name__}",
                loc=user_loc(),
            )
        at = next((i for i, p in enumerate(self.parameters) if p is param), None)
        if at is None:
            raise ArgumentValueError(
                f"{owner}.get_lr_parameter: {checks.named(param)} does not belong to this optimizer", loc=user_loc()
            )
        holder = self.learning_rate[at] if self.is_group_lr else self.learning_rate
        return holder.learning_rate if isinstance(holder, (RateList, FixedRate)) else holder

    def get_weight_decay(self) -> Any:
        """weight_decay * loss_scale for the step about to be made, float32 without axes; with groups a tuple of them,
        one per parameter.
        """
        if not self.is_group:
            return _as_rate_tensor(self._decay_now(self.weight_decay))
        return tuple(_as_rate_tensor(d) for d in self.parameter_decays())

    def parameter_decays(self) -> tuple[Tensor | float, ...]:
        """weight_decay * loss_scale for each parameter, 0 for those that are spared."""
        decays = self.weight_decay if self.is_group else (self.weight_decay,) * len(self.parameters)
        now = {id(d): self._decay_now(d) for d in decays}
        return tuple(now[id(d)] if flag else 0.0 for d, flag in zip(decays, self.decay_flags, strict=True))

    def _decay_now(self, decay: Any) -> Tensor | float:
        if not isinstance(decay, Cell):
            return float(decay * self.loss_scale)
        return ops.cast(ops.reshape(decay(self.global_step), ()), "float32") * self.loss_scale

    # ---- gradients

    def checked(self, gradients: Any) -> tuple[Tensor, ...]:
        """The gradients, if there is one of the right shape for each parameter."""
        return checked(type(self).__name__, self.parameters, gradients)

    def decay_weight(self, gradients: Sequence[Tensor]) -> tuple[Tensor, ...]:
        """gradient + weight_decay * loss_scale * parameter: `scale_grad` divides both by the loss scale."""
        if not self.exec_weight_decay:
            return tuple(gradients)
        made = []
        for g, p, decay in zip(gradients, self.parameters, self.parameter_decays(), strict=True):
            if isinstance(decay, Tensor):
                decay = ops.cast(decay, p.dtype)
            made.append(g if isinstance(decay, float) and decay == 0 else _decayed(g, p, decay))
        return tuple(made)

    def gradients_centralization(self, gradients: Sequence[Tensor]) -> tuple[Tensor, ...]:
        """Gradients of groups with grad_centralization without their mean over all axes but the first."""
        pairs = zip(gradients, self.grad_centralization_flags, strict=True)
        return tuple(_centralized(g) if flag else g for g, flag in pairs)

    def scale_grad(self, gradients: Sequence[Tensor]) -> tuple[Tensor, ...]:
        """gradient * (1 / loss_scale)."""
        if self.loss_scale == 1.0:
            return tuple(gradients)
        return tuple(g * (1.0 / self.loss_scale) for g in gradients)

    def extend_repr(self) -> str:
        decays = self.weight_decay if self.is_group else (self.weight_decay,)
        shown = ", ".join(dict.fromkeys(type(d).__name__ if isinstance(d, Cell) else f"{d:g}" for d in decays))
        return f"{len(self.parameters)} parameters, weight_decay={shown}, loss_scale={self.loss_scale:g}"


def _as_rate_tensor(x: Tensor | float) -> Tensor:
    return x if isinstance(x, Tensor) else Tensor(x, "float32")


def _decayed(gradient: Tensor, parameter: Parameter, decay: Tensor | float) -> Tensor:
    if isinstance(gradient, RowTensor):
        gradient = merged_rows(gradient)
        rows = InRows(gradient.indices).read(parameter)
        return gradient.with_values(gradient.values + ops.cast(rows * decay, gradient.dtype))
    return gradient + ops.cast(parameter * decay, gradient.dtype)


def _centralized(gradient: Tensor) -> Tensor:
    if gradient.ndim < 2 or gradient.shape[1] % 16:
        return gradient
    return gradient - ops.reduce_mean(gradient, tuple(range(1, gradient.ndim)), keep_dims=True)


__all__ = ["Optimizer"]
