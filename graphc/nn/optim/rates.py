"""Learning rates and weight decays as optimizers take them: numbers, lists, schedules."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from graphc import ops
from graphc.errors import ArgumentTypeError, ArgumentValueError, KindError, user_loc
from graphc.nn import checks
from graphc.nn.cell.cell import Cell
from graphc.nn.rates.schedules import LearningRateSchedule
from graphc.ops.functional.slicing import rows_at
from graphc.ops.tensor.parameter import Parameter
from graphc.ops.tensor.tensor import Array, Tensor

#: A learning rate as checked: one number, one per step, or a formula.
Rate = float | Array | LearningRateSchedule
#: A weight decay as checked: a number, or a Cell of the step.
Decay = float | Cell


class RateListExhausted(ArgumentValueError, RuntimeError):
    """A step was asked for behind the end of a list of learning rates (MindSpore: RuntimeError)."""


class RateList(LearningRateSchedule):
    """rates[step], from Parameter `learning_rate` (float32[n]). Steps behind the end are refused before they run, see `check`."""

    def __init__(self, rates: Array, name: str) -> None:
        super().__init__()
        self.learning_rate = Parameter(Tensor(rates), name=name, requires_grad=False)

    def construct(self, global_step: Tensor) -> Tensor:
        found = rows_at(self.learning_rate, global_step)
        return ops.select(global_step < self.learning_rate.size, found, math.nan)

    def check(self, owner: str, step: int) -> int:
        """How many steps from `step` on have a rate; RateListExhausted if there is none for it."""
        count = self.learning_rate.size
        if step >= count:
            raise RateListExhausted(
                f"{owner}: step {step} has no learning rate: {self.learning_rate.name} lists {count}",
                loc=user_loc(),
                help="give one rate per step, or a schedule such as nn.CosineDecayLR; nothing has been changed",
            )
        return count - step


class FixedRate(LearningRateSchedule):
    """The same rate at every step, among others that change: Parameter `learning_rate`, float32[]."""

    def __init__(self, rate: Parameter) -> None:
        super().__init__()
        self.learning_rate = rate

    def construct(self, global_step: Tensor) -> Tensor:
        return self.learning_rate


def as_rate(owner: str, value: Any) -> Rate:
    """A learning rate, checked.

    Numbers, bools and tensors without axes are fixed; lists, tensors with one axis and other iterables hold one rate
    per step; a LearningRateSchedule stays. ArgumentTypeError for anything else, ArgumentValueError for rates that are
    negative or not finite, for no rates, and for more than one axis.
    """
    if isinstance(value, LearningRateSchedule):
        return value
    if isinstance(value, bool):
        return float(value)
    if isinstance(value, (Tensor, np.ndarray)) and value.ndim == 0:
        value = value.item()
    if checks.is_number(value):
        return checks.real(owner, "learning_rate", value, least=0)
    if isinstance(value, (str, bytes, Mapping, Cell)) or not isinstance(value, (Tensor, Iterable)):
        expected = "a number, a Tensor, a list of numbers or a LearningRateSchedule"
        raise (KindError if isinstance(value, (str, bytes)) else ArgumentTypeError)(
            f"{owner}: learning_rate must be {expected}, got {type(value).__name__}", loc=user_loc()
        )
    return _listed(owner, value)


def _listed(owner: str, value: Any) -> Array:
    each = value.asnumpy() if isinstance(value, Tensor) else list(value)
    try:
        if any(isinstance(x, (str, bytes, Parameter)) for x in each):
            raise TypeError
        rates = np.asarray(each, np.float32)
    except (TypeError, ValueError):
        held = next((type(x).__name__ for x in each if not checks.is_number(x)), "something else")
        raise ArgumentTypeError(
            f"{owner}: learning_rate must list one number per step, the {type(value).__name__} holds {held}",
            loc=user_loc(),
            help="an Optimizer takes learning_rate first: super().__init__(learning_rate, parameters)"
            if held == "Parameter"
            else None,
        ) from None
    if rates.ndim != 1 or not rates.size:
        raise ArgumentValueError(
            f"{owner}: learning_rate must have one axis with a rate per step, it has shape {rates.shape}",
            loc=user_loc(),
        )
    wrong = np.flatnonzero(~(np.isfinite(rates) & (rates >= 0)))
    if wrong.size:
        at = int(wrong[0])
        raise checks.wrong_value(owner, f"learning_rate[{at}]", "a finite number >= 0", float(rates[at]))
    return rates


def held(rate: Rate, name: str) -> Parameter | LearningRateSchedule:
    """A rate as an optimizer holds it: a Parameter if it is fixed, else a schedule."""
    if isinstance(rate, LearningRateSchedule):
        return rate
    if isinstance(rate, np.ndarray):
        return RateList(rate, name)
    return Parameter(Tensor(rate, "float32"), name=name, requires_grad=False)


def as_decay(owner: str, value: Any) -> Decay:
    """A weight decay, checked: a finite number >= 0, or a Cell of the step."""
    if isinstance(value, Cell):
        return value
    if not checks.is_number(value):
        raise checks.wrong_type(owner, "weight_decay", "a number or a Cell", value)
    return checks.real(owner, "weight_decay", value, least=0)
