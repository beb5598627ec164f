"""Schedules with a warm-up, and cosine annealing, as MindFormers has them (mindformers.core.lr).

Rates are numbers, counts of steps are ints; ArgumentTypeError or ArgumentValueError otherwise. Steps are counted from
0.
"""

from __future__ import annotations

import math
from typing import Any

from graphc import ops
from graphc.errors import ArgumentValueError, user_loc
from graphc.nn import checks
from graphc.nn.rates.schedules import LearningRateSchedule
from graphc.ops.tensor.tensor import Tensor


def _half_wave(cycles: float | Tensor) -> Tensor:
    """1 at 0, 0 at 1, along a cosine: (1 + cos(pi * cycles)) / 2, not below 0."""
    return ops.maximum(0.5 * (1.0 + ops.cos(math.pi * cycles)), 0.0)


class _WarmUp(LearningRateSchedule):
    """From warmup_lr_init to learning_rate in warmup_steps steps along a line; then what `after` says.

    warmup_ratio, a number between 0 and 1, gives warmup_steps as a part of total_steps.
    """

    def __init__(
        self,
        learning_rate: float,
        warmup_steps: int | None,
        warmup_lr_init: float,
        warmup_ratio: float | None,
        total_steps: int | None,
    ) -> None:
        super().__init__()
        owner = type(self).__name__
        self.learning_rate = checks.real(owner, "learning_rate", learning_rate)
        self.warmup_lr_init = checks.real(owner, "warmup_lr_init", warmup_lr_init)
        self.total_steps = None if total_steps is None else checks.integer(owner, "total_steps", total_steps, least=0)
        self.warmup_steps = _warmup_steps(owner, warmup_steps, warmup_ratio, self.total_steps)

    def construct(self, global_step: Tensor) -> Tensor:
        step = ops.cast(global_step, "float32")
        after = self.after(step)
        if self.warmup_steps == 0:
            return after
        start = self.warmup_lr_init
        line = start + (self.learning_rate - start) * (step / float(self.warmup_steps))
        return ops.select(step < float(self.warmup_steps), line, after)

    def after(self, step: Tensor) -> Tensor:
        """The rate behind the warm-up; step is float32."""
        raise NotImplementedError

    def rest(self) -> int:
        """The steps behind the warm-up, at least 1."""
        if self.total_steps is None:
            raise ArgumentValueError(f"{type(self).__name__}: total_steps must be given", loc=user_loc())
        return max(1, self.total_steps - self.warmup_steps)

    def extend_repr(self) -> str:
        return f"{self.learning_rate:g}, warmup_steps={self.warmup_steps}, total_steps={self.total_steps}"


def _warmup_steps(owner: str, steps: Any, ratio: Any, total: int | None) -> int:
    if ratio is None:
        return checks.integer(owner, "warmup_steps", steps, least=0)
    share = checks.real(owner, "warmup_ratio", ratio, least=0)
    if share > 1:
        raise checks.wrong_value(owner, "warmup_ratio", "between 0 and 1", ratio)
    if total is None:
        raise ArgumentValueError(f"{owner}: warmup_ratio needs total_steps", loc=user_loc())
    return int(total * share)


class ConstantWarmUpLR(_WarmUp):
    """learning_rate after a warm-up (MindFormers: ConstantWarmUpLR)."""

    def __init__(
        self,
        learning_rate: float,
        warmup_steps: int | None = None,
        warmup_lr_init: float = 0.0,
        warmup_ratio: float | None = None,
        total_steps: int | None = None,
    ) -> None:
        super().__init__(learning_rate, warmup_steps, warmup_lr_init, warmup_ratio, total_steps)

    def after(self, step: Tensor) -> Tensor:
        return ops.full(step.shape, self.learning_rate, dtype="float32")


class LinearWithWarmUpLR(_WarmUp):
    """A warm-up, then a line from learning_rate down to 0 at total_steps (MindFormers: LinearWithWarmUpLR)."""

    def __init__(
        self,
        learning_rate: float,
        total_steps: int,
        warmup_steps: int | None = None,
        warmup_lr_init: float = 0.0,
        warmup_ratio: float | None = None,
    ) -> None:
        super().__init__(learning_rate, warmup_steps, warmup_lr_init, warmup_ratio, total_steps)
        self.linear_steps = self.rest()

    def after(self, step: Tensor) -> Tensor:
        assert self.total_steps is not None
        left = (float(self.total_steps) - step) / float(self.linear_steps)
        return self.learning_rate * ops.maximum(left, 0.0)


class _DecayToEnd(_WarmUp):
    """lr_end from step `decay_steps` (default: total_steps) on, be the warm-up over or not."""

    def __init__(
        self,
        learning_rate: float,
        warmup_steps: int | None,
        total_steps: int | None,
        num_cycles: float,
        lr_end: float,
        warmup_lr_init: float,
        warmup_ratio: float | None,
        decay_steps: int | None,
    ) -> None:
        super().__init__(learning_rate, warmup_steps, warmup_lr_init, warmup_ratio, total_steps)
        owner = type(self).__name__
        self.num_cycles = checks.real(owner, "num_cycles", num_cycles)
        self.lr_end = checks.real(owner, "lr_end", lr_end)
        self.cosine_steps = self.rest()
        end = self.total_steps if decay_steps is None else checks.integer(owner, "decay_steps", decay_steps, least=0)
        self.decay_steps = max(1, end or 0)

    def construct(self, global_step: Tensor) -> Tensor:
        rate = super().construct(global_step)
        step = ops.cast(global_step, "float32")
        return ops.select(step >= float(self.decay_steps), self.lr_end, rate)

    def progress(self, step: Tensor) -> Tensor:
        """0 when the warm-up ends, 1 at total_steps."""
        return (step - float(self.warmup_steps)) / float(self.cosine_steps)

    def between(self, share: Tensor) -> Tensor:
        """learning_rate at 1, lr_end at 0."""
        return self.lr_end + (self.learning_rate - self.lr_end) * share


class CosineWithWarmUpLR(_DecayToEnd):
    """A warm-up, then num_cycles cosine waves between learning_rate and lr_end until total_steps (MindFormers:
    CosineWithWarmUpLR). From decay_steps (default: total_steps) on lr_end.
    """

    def __init__(
        self,
        learning_rate: float,
        warmup_steps: int = 0,
        total_steps: int | None = None,
        num_cycles: float = 0.5,
        lr_end: float = 0.0,
        warmup_lr_init: float = 0.0,
        warmup_ratio: float | None = None,
        decay_steps: int | None = None,
    ) -> None:
        super().__init__(
            learning_rate, warmup_steps, total_steps, num_cycles, lr_end, warmup_lr_init, warmup_ratio, decay_steps
        )

    def after(self, step: Tensor) -> Tensor:
        return self.between(_half_wave(2.0 * self.num_cycles * self.progress(step)))


class CosineWithRestartsAndWarmUpLR(_DecayToEnd):
    """A warm-up, then num_cycles times half a cosine wave from learning_rate down to lr_end until total_steps
    (MindFormers: CosineWithRestartsAndWarmUpLR). From total_steps on 0, from decay_steps (default: total_steps) on
    lr_end.
    """

    def __init__(
        self,
        learning_rate: float,
        warmup_steps: int | None = None,
        total_steps: int | None = None,
        num_cycles: float = 1.0,
        lr_end: float = 0.0,
        warmup_lr_init: float = 0.0,
        warmup_ratio: float | None = None,
        decay_steps: int | None = None,
    ) -> None:
        super().__init__(
            learning_rate, warmup_steps, total_steps, num_cycles, lr_end, warmup_lr_init, warmup_ratio, decay_steps
        )

    def after(self, step: Tensor) -> Tensor:
        progress = self.progress(step)
        cycles = self.num_cycles * progress
        wave = self.between(_half_wave(cycles - ops.floor(cycles)))
        return ops.select(progress < 1.0, wave, 0.0)


class PolynomialWithWarmUpLR(_WarmUp):
    """A warm-up, then (learning_rate - lr_end) * (1 - p)**power + lr_end with p = (step - warmup_steps) /
    decay_steps, and lr_end behind total_steps (MindFormers: PolynomialWithWarmUpLR). decay_steps defaults to the
    steps behind the warm-up; if it is smaller, 1 - p becomes negative. learning_rate must be greater than lr_end.
    """

    def __init__(
        self,
        learning_rate: float,
        total_steps: int,
        warmup_steps: int | None = None,
        lr_end: float = 1e-7,
        power: float = 1.0,
        warmup_lr_init: float = 0.0,
        warmup_ratio: float | None = None,
        decay_steps: int | None = None,
    ) -> None:
        super().__init__(learning_rate, warmup_steps, warmup_lr_init, warmup_ratio, total_steps)
        owner = type(self).__name__
        self.lr_end = checks.real(owner, "lr_end", lr_end)
        self.power = checks.real(owner, "power", power)
        if not learning_rate > lr_end:
            raise checks.wrong_value(owner, "lr_end", f"smaller than learning_rate={learning_rate!r}", lr_end)
        rest = self.rest()
        self.decay_steps = rest if decay_steps is None else max(1, checks.integer(owner, "decay_steps", decay_steps, 0))

    def after(self, step: Tensor) -> Tensor:
        assert self.total_steps is not None
        left = 1.0 - (step - float(self.warmup_steps)) / float(self.decay_steps)
        rate = (self.learning_rate - self.lr_end) * ops.pow(left, self.power) + self.lr_end
        return ops.select(step > float(self.total_steps), self.lr_end, rate)


class CosineAnnealingLR(LearningRateSchedule):
    """A cosine wave between base_lr and eta_min whose half is t_max steps long (MindFormers: CosineAnnealingLR)."""

    def __init__(self, base_lr: float, t_max: int, eta_min: float = 0.0) -> None:
        super().__init__()
        self.base_lr = checks.real("CosineAnnealingLR", "base_lr", base_lr)
        self.t_max = checks.integer("CosineAnnealingLR", "t_max", t_max)
        self.eta_min = checks.real("CosineAnnealingLR", "eta_min", eta_min)

    def construct(self, global_step: Tensor) -> Tensor:
        share = _half_wave(ops.cast(global_step, "float32") / float(self.t_max))
        return self.eta_min + (self.base_lr - self.eta_min) * share

    def extend_repr(self) -> str:
        return f"{self.base_lr:g}, {self.t_max}, {self.eta_min:g}"


class CosineAnnealingWarmRestarts(LearningRateSchedule):
    """Half a cosine wave from base_lr down to eta_min in t_0 steps, again and again, each time t_mult times longer
    (MindFormers: CosineAnnealingWarmRestarts).
    """

    def __init__(self, base_lr: float, t_0: int, t_mult: int = 1, eta_min: float = 0.0) -> None:
        super().__init__()
        owner = "CosineAnnealingWarmRestarts"
        self.base_lr = checks.real(owner, "base_lr", base_lr)
        self.t_0 = checks.integer(owner, "t_0", t_0)
        self.t_mult = checks.integer(owner, "t_mult", t_mult)
        self.eta_min = checks.real(owner, "eta_min", eta_min)

    def construct(self, global_step: Tensor) -> Tensor:
        step = ops.cast(global_step, "float32")
        first = float(self.t_0)
        if self.t_mult == 1:
            share = step / first - ops.floor(step / first)
        else:
            # Period n starts after t_0 * (1 + q + ... + q**(n-1)) steps, q = t_mult, and is t_0 * q**n long. Rounding
            # may give a neighbour of n near the ends of a period: the starts themselves decide.
            q = float(self.t_mult)
            n = ops.floor(ops.log(step / first * (q - 1.0) + 1.0) / math.log(q))
            guess = ops.floor(ops.pow(q, n) + 0.5)
            late, early = step >= self._start(q * guess), step < self._start(guess)
            longer = ops.select(late, q * guess, ops.select(early, guess / q, guess))
            later = (step - self._start(longer)) / (first * longer)
            share = ops.select(step < first, step / first, later)
        return self.eta_min + (self.base_lr - self.eta_min) * _half_wave(share)

    def _start(self, longer: Tensor) -> Tensor:
        """The step at which the period begins that is t_0 * longer long."""
        return self.t_0 * ops.floor((longer - 1.0) / (self.t_mult - 1.0) + 0.5)

    def extend_repr(self) -> str:
        return f"{self.base_lr:g}, t_0={self.t_0}, t_mult={self.t_mult}, {self.eta_min:g}"


class LearningRateWiseLayer(LearningRateSchedule):
    """lr_scale * base_lr(step) (MindFormers: LearningRateWiseLayer). base_lr: a schedule; lr_scale: a number."""

    def __init__(self, base_lr: LearningRateSchedule, lr_scale: float) -> None:
        super().__init__()
        if not isinstance(base_lr, LearningRateSchedule):
            raise checks.wrong_type("LearningRateWiseLayer", "base_lr", "a LearningRateSchedule", base_lr)
        self.base_lr = base_lr
        self.lr_scale = checks.real("LearningRateWiseLayer", "lr_scale", lr_scale)

    def construct(self, global_step: Tensor) -> Tensor:
        rate: Tensor = self.lr_scale * self.base_lr(global_step)
        return rate


__all__ = [
    "ConstantWarmUpLR",
    "CosineAnnealingLR",
    "CosineAnnealingWarmRestarts",
    "CosineWithRestartsAndWarmUpLR",
    "CosineWithWarmUpLR",
    "LearningRateWiseLayer",
    "LinearWithWarmUpLR",
    "PolynomialWithWarmUpLR",
]
