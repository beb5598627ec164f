"""Schedulers that come back: cosines and triangles."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from graphc.experimental.optim.lr_scheduler.base import (
    LRScheduler,
    between_steps,
    checked_optimizer,
    held_rates,
    per_group,
)
from graphc.nn import checks
from graphc.ops.tensor.tensor import Tensor


class CosineAnnealingLR(LRScheduler):
    """eta_min + (base - eta_min) * (1 + cos(pi * epoch / T_max)) / 2 (Loshchilov and Hutter, 2017), from rate to rate."""

    def __init__(self, optimizer: Any, T_max: int, eta_min: float = 0.0, last_epoch: int = -1) -> None:
        self.T_max = checks.integer("CosineAnnealingLR", "T_max", T_max)
        self.eta_min = checks.real("CosineAnnealingLR", "eta_min", eta_min)
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        epoch = self._epoch
        if epoch == 0:
            return [rate * 1.0 for rate in self._last_lr]
        if (epoch - 1 - self.T_max) % (2 * self.T_max) == 0:
            rise = (1 - cosine(1 / self.T_max)) / 2
            pairs = zip(self.base_lrs, self._last_lr, strict=True)
            return [rate + (base - self.eta_min) * rise for base, rate in pairs]
        factor = (1 + cosine(epoch / self.T_max)) / (1 + cosine((epoch - 1) / self.T_max))
        return [factor * (rate - self.eta_min) + self.eta_min for rate in self._last_lr]

    def _get_closed_form_lr(self) -> list[Any]:
        factor = (1 + cosine(self._epoch / self.T_max)) / 2
        return [self.eta_min + (rate - self.eta_min) * factor for rate in self.base_lrs]


class CosineAnnealingWarmRestarts(LRScheduler):
    """A cosine from the base to eta_min in T_0 epochs, then anew, T_mult times as long each time (Loshchilov and Hutter, 2017).

    `step(epoch)` takes a share of an epoch, too.
    """

    def __init__(self, optimizer: Any, T_0: int, T_mult: int = 1, eta_min: float = 0, last_epoch: int = -1) -> None:
        owner = "CosineAnnealingWarmRestarts"
        self.T_0, self.T_mult = checks.integer(owner, "T_0", T_0), checks.integer(owner, "T_mult", T_mult)
        self.eta_min = checks.real(owner, "eta_min", eta_min)
        self.T_i, self.T_cur = float(self.T_0), float(checks.integer(owner, "last_epoch", last_epoch, -1))
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        factor = (1 + cosine(self.T_cur / self.T_i)) / 2
        return [self.eta_min + (rate - self.eta_min) * factor for rate in self.base_lrs]

    def step(self, epoch: Any = None) -> None:  # type: ignore[override]
        """Go to the next epoch, or to `epoch`, a number >= 0, and write its rates."""
        between_steps(self)
        if epoch is None and self._epoch < 0:
            epoch = 0
        if epoch is None:
            epoch = self._epoch + 1
            self.T_cur += 1
            if self.T_cur >= self.T_i:
                self.T_cur, self.T_i = self.T_cur - self.T_i, self.T_i * self.T_mult
        else:
            epoch = float(epoch)
            if epoch < 0:
                raise checks.wrong_value("CosineAnnealingWarmRestarts", "epoch", "at least 0", epoch)
            self._restart(epoch)
        self.last_epoch.set_data(Tensor(math.floor(epoch), "float32"))
        for rate, value in zip(self._last_lr, self.get_lr(), strict=True):
            rate.set_data(value)

    def _restart(self, epoch: float) -> None:
        """Find the cycle that an epoch lies in."""
        if epoch < self.T_0:
            self.T_i, self.T_cur = float(self.T_0), epoch
        elif self.T_mult == 1:
            self.T_i, self.T_cur = float(self.T_0), epoch % self.T_0
        else:
            begin, self.T_i = 0.0, float(self.T_0)
            while epoch - begin >= self.T_i:
                begin, self.T_i = begin + self.T_i, self.T_i * self.T_mult
            self.T_cur = epoch - begin


class CyclicLR(LRScheduler):
    """From base_lr to max_lr, each a number or one per group, in step_size_up steps, and back in step_size_down (Smith, 2017).

    mode: "triangular", "triangular2" (half as high every cycle), or "exp_range" (times gamma**step). scale_fn: a function of
    the cycle or, with scale_mode="iterations", of the step, in place of mode.
    """

    def __init__(
        self,
        optimizer: Any,
        base_lr: Any,
        max_lr: Any,
        step_size_up: int = 2000,
        step_size_down: int | None = None,
        mode: str = "triangular",
        gamma: float = 1.0,
        scale_fn: Callable[[Any], Any] | None = None,
        scale_mode: str = "cycle",
        last_epoch: int = -1,
    ) -> None:
        checked_optimizer("CyclicLR", optimizer)
        bases, tops = (per_group("CyclicLR", n, v, optimizer) for n, v in (("base_lr", base_lr), ("max_lr", max_lr)))
        up = checks.real("CyclicLR", "step_size_up", step_size_up, above=0)
        down = up if step_size_down is None else checks.real("CyclicLR", "step_size_down", step_size_down, above=0)
        self.total_step_size, self.step_up_ratio = up + down, up / (up + down)
        self.mode, self.gamma = mode, checks.real("CyclicLR", "gamma", gamma)
        self.scale_mode = checks.one_of("CyclicLR", "scale_mode", scale_mode, ("cycle", "iterations"))
        if scale_fn is None:
            checks.one_of("CyclicLR", "mode", mode, ("triangular", "triangular2", "exp_range"))
            self.scale_mode = "iterations" if mode == "exp_range" else "cycle"
        self._scale_fn = scale_fn
        self.max_lrs = [Tensor(rate, "float32") for rate in tops]
        if last_epoch == -1:
            for rate, base in zip(held_rates(optimizer), bases, strict=True):
                rate.set_data(Tensor(base, "float32"))
        self._bases = [Tensor(rate, "float32") for rate in bases]
        super().__init__(optimizer, last_epoch)
        self.base_lrs = self._bases

    def scale_fn(self, x: Any) -> Any:
        """How high the cycle, or step, x is, of 1."""
        if self._scale_fn is not None:
            return self._scale_fn(x)
        return {"triangular": 1.0, "triangular2": 0.5 ** (x - 1), "exp_range": self.gamma**x}[self.mode]

    def get_lr(self) -> list[Any]:
        cycle = math.floor(1 + self._epoch / self.total_step_size)
        x = 1.0 + self._epoch / self.total_step_size - cycle
        height = x / self.step_up_ratio if x <= self.step_up_ratio else (x - 1) / (self.step_up_ratio - 1)
        scale = height * self.scale_fn(float(cycle) if self.scale_mode == "cycle" else self._epoch)
        return [base + (top - base) * scale for base, top in zip(self._bases, self.max_lrs, strict=True)]


def cosine(turns: float) -> float:
    """cos(pi * turns), computed in float32 as MindSpore does."""
    return float(np.cos(np.float32(math.pi * turns)))
