"""Learning rates that follow a formula of the step (MindSpore: nn.learning_rate_schedule)."""

from __future__ import annotations

import math

from graphc import ops
from graphc.errors import ArgumentTypeError
from graphc.nn import checks
from graphc.nn.cell.cell import Cell
from graphc.ops.tensor.tensor import Tensor


class LearningRateSchedule(Cell):
    """Base of the schedules: a Cell that gives the learning rate of a step (MindSpore: nn.LearningRateSchedule).

    schedule(global_step): an int32 tensor, shape () or (1,), the number of steps made so far. Returns the rate,
    float32 of the same shape. Subclasses define `construct`.
    """

    def construct(self, global_step: Tensor) -> Tensor:
        raise ArgumentTypeError(f"{type(self).__name__} does not define construct(global_step)")


class _Decay(LearningRateSchedule):
    """learning_rate, decay_rate: floats > 0. decay_steps: an int > 0. is_stair: whether only whole multiples of
    decay_steps count.
    """

    def __init__(self, learning_rate: float, decay_rate: float, decay_steps: int, is_stair: bool = False) -> None:
        super().__init__()
        owner = type(self).__name__
        self.learning_rate = checks.exact_float(owner, "learning_rate", learning_rate, above=0)
        self.decay_rate = checks.exact_float(owner, "decay_rate", decay_rate, above=0)
        self.decay_steps = checks.integer(owner, "decay_steps", decay_steps)
        self.is_stair = checks.boolean(owner, "is_stair", is_stair)

    def progress(self, global_step: Tensor) -> Tensor:
        """global_step / decay_steps, rounded down with is_stair."""
        p = ops.cast(global_step, "float32") / self.decay_steps
        return ops.floor(p) if self.is_stair else p

    def extend_repr(self) -> str:
        return f"{self.learning_rate:g}, {self.decay_rate:g}, {self.decay_steps}, is_stair={self.is_stair}"


class ExponentialDecayLR(_Decay):
    """learning_rate * decay_rate ** p with p = step / decay_steps, rounded down with is_stair (MindSpore:
    nn.ExponentialDecayLR). learning_rate, decay_rate: floats > 0; decay_steps: an int > 0.
    """

    def construct(self, global_step: Tensor) -> Tensor:
        return self.learning_rate * ops.pow(self.decay_rate, self.progress(global_step))


class NaturalExpDecayLR(_Decay):
    """learning_rate * exp(-decay_rate * step); with is_stair the step is rounded down to a multiple of decay_steps,
    which means nothing otherwise (MindSpore: nn.NaturalExpDecayLR). learning_rate, decay_rate: floats > 0;
    decay_steps: an int > 0.
    """

    def construct(self, global_step: Tensor) -> Tensor:
        step = self.progress(global_step) * self.decay_steps if self.is_stair else ops.cast(global_step, "float32")
        return self.learning_rate * ops.exp(-self.decay_rate * step)


class InverseDecayLR(_Decay):
    """learning_rate / (1 + decay_rate * p) with p = step / decay_steps, rounded down with is_stair (MindSpore:
    nn.InverseDecayLR). learning_rate, decay_rate: floats > 0; decay_steps: an int > 0.
    """

    def construct(self, global_step: Tensor) -> Tensor:
        return self.learning_rate / (1.0 + self.decay_rate * self.progress(global_step))


class CosineDecayLR(LearningRateSchedule):
    """From max_lr down to min_lr along half a cosine wave of decay_steps steps, then min_lr (MindSpore:
    nn.CosineDecayLR). min_lr: a float >= 0; max_lr: a larger float; decay_steps: an int > 0.
    """

    def __init__(self, min_lr: float, max_lr: float, decay_steps: int) -> None:
        super().__init__()
        self.min_lr = checks.exact_float("CosineDecayLR", "min_lr", min_lr, least=0)
        self.max_lr = checks.exact_float("CosineDecayLR", "max_lr", max_lr, above=0)
        self.decay_steps = checks.integer("CosineDecayLR", "decay_steps", decay_steps)
        if min_lr >= max_lr:
            raise checks.wrong_value("CosineDecayLR", "max_lr", f"greater than min_lr={min_lr!r}", max_lr)

    def construct(self, global_step: Tensor) -> Tensor:
        p = ops.cast(ops.minimum(global_step, self.decay_steps), "float32") / self.decay_steps
        return self.min_lr + 0.5 * (self.max_lr - self.min_lr) * (1.0 + ops.cos(math.pi * p))

    def extend_repr(self) -> str:
        return f"{self.min_lr:g}, {self.max_lr:g}, {self.decay_steps}"


class PolynomialDecayLR(LearningRateSchedule):
    """(learning_rate - end_learning_rate) * (1 - p)**power + end_learning_rate with p = step / decay_steps (MindSpore:
    nn.PolynomialDecayLR).

    The step is held at decay_steps; with update_decay_steps decay_steps grows instead, to its next multiple.
    learning_rate, power: floats > 0; end_learning_rate: a float >= 0; decay_steps: an int > 0.
    """

    def __init__(
        self,
        learning_rate: float,
        end_learning_rate: float,
        decay_steps: int,
        power: float,
        update_decay_steps: bool = False,
    ) -> None:
        super().__init__()
        owner = "PolynomialDecayLR"
        self.learning_rate = checks.exact_float(owner, "learning_rate", learning_rate, above=0)
        self.end_learning_rate = checks.exact_float(owner, "end_learning_rate", end_learning_rate, least=0)
        self.decay_steps = checks.integer(owner, "decay_steps", decay_steps)
        self.power = checks.exact_float(owner, "power", power, above=0)
        self.update_decay_steps = checks.boolean(owner, "update_decay_steps", update_decay_steps)

    def construct(self, global_step: Tensor) -> Tensor:
        p = ops.cast(global_step, "float32") / self.decay_steps
        # ceil(p), at least 1, is the number of periods begun.
        p = p / ops.maximum(-ops.floor(-p), 1.0) if self.update_decay_steps else ops.minimum(p, 1.0)
        span = self.learning_rate - self.end_learning_rate
        return span * ops.pow(1.0 - p, self.power) + self.end_learning_rate

    def extend_repr(self) -> str:
        return f"{self.learning_rate:g}, {self.end_learning_rate:g}, {self.decay_steps}, power={self.power:g}"


class WarmUpLR(LearningRateSchedule):
    """learning_rate * step / warmup_steps, then learning_rate (MindSpore: nn.WarmUpLR). learning_rate: a float >= 0;
    warmup_steps: an int > 0.
    """

    def __init__(self, learning_rate: float, warmup_steps: int) -> None:
        super().__init__()
        self.learning_rate = checks.exact_float("WarmUpLR", "learning_rate", learning_rate, least=0)
        self.warmup_steps = checks.integer("WarmUpLR", "warmup_steps", warmup_steps)

    def construct(self, global_step: Tensor) -> Tensor:
        step = ops.cast(ops.minimum(global_step, self.warmup_steps), "float32")
        return self.learning_rate * (step / self.warmup_steps)

    def extend_repr(self) -> str:
        return f"{self.learning_rate:g}, {self.warmup_steps}"


__all__ = [
    "CosineDecayLR",
    "ExponentialDecayLR",
    "InverseDecayLR",
    "LearningRateSchedule",
    "NaturalExpDecayLR",
    "PolynomialDecayLR",
    "WarmUpLR",
]
