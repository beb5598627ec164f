"""A scheduler that waits for a metric."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from graphc import ops
from graphc.experimental.optim.lr_scheduler.base import between_steps, checked_optimizer, held_rates, per_group
from graphc.nn import checks
from graphc.ops.tensor.parameter import Parameter
from graphc.ops.tensor.tensor import Tensor


class ReduceLROnPlateau:
    """Times factor, below 1, when a metric has not become better for more than `patience` epochs.

    mode: "min" or "max", what is better; by more than threshold, a share of the best ("rel") or as it is ("abs": threshold_mode).
    cooldown: epochs after a reduction that do not count. min_lr: a number, or one per group; a change of eps at most is not made.
    """

    def __init__(
        self,
        optimizer: Any,
        mode: str = "min",
        factor: float = 0.1,
        patience: int = 10,
        threshold: float = 1e-4,
        threshold_mode: str = "rel",
        cooldown: int = 0,
        min_lr: Any = 0,
        eps: float = 1e-8,
    ) -> None:
        owner = "ReduceLROnPlateau"
        self.optimizer = checked_optimizer(owner, optimizer)
        self.factor = checks.real(owner, "factor", factor)
        if self.factor >= 1:
            raise checks.wrong_value(owner, "factor", "below 1", factor)
        self.mode = checks.one_of(owner, "mode", mode, ("min", "max"))
        self.threshold_mode = checks.one_of(owner, "threshold_mode", threshold_mode, ("rel", "abs"))
        self.patience, self.cooldown = (
            checks.integer(owner, "patience", patience, 0),
            checks.integer(owner, "cooldown", cooldown, 0),
        )
        self.threshold, self.eps = checks.real(owner, "threshold", threshold), checks.real(owner, "eps", eps)
        self.min_lrs = [np.float32(rate) for rate in per_group(owner, "min_lr", min_lr, optimizer)]
        self.best = math.inf if self.mode == "min" else -math.inf
        self.wait = self.cooldown_counter = 0
        self.last_epoch = Parameter(Tensor(0, "int32"), name=f"last_epoch_{owner}", requires_grad=False)
        self._last_lr = held_rates(optimizer)

    def step(self, metrics: Any) -> bool:
        """Go to the next epoch, whose metric is a number or a tensor without axes."""
        between_steps(self)
        current = np.float32(metrics.asnumpy() if isinstance(metrics, Tensor) else metrics).item()
        ops.assign_add(self.last_epoch, 1)
        if self._is_better(current):
            self.best, self.wait = current, 0
        else:
            self.wait += 1
        if self.in_cooldown():
            self.cooldown_counter, self.wait = self.cooldown_counter - 1, 0
        if self.wait > self.patience:
            self._reduce()
            self.cooldown_counter, self.wait = self.cooldown, 0
        return True

    def in_cooldown(self) -> bool:
        """Whether epochs do not count now."""
        return self.cooldown_counter > 0

    def get_last_lr(self) -> list[Tensor]:
        """The rates that are set, one per group."""
        return [rate.value() for rate in self._last_lr]

    def _is_better(self, current: float) -> bool:
        if self.threshold_mode == "rel":
            bound = self.best * (1.0 - self.threshold if self.mode == "min" else 1.0 + self.threshold)
        else:
            bound = self.best - self.threshold if self.mode == "min" else self.best + self.threshold
        return current < bound if self.mode == "min" else current > bound

    def _reduce(self) -> None:
        for rate, least in zip(self._last_lr, self.min_lrs, strict=True):
            old = np.float32(rate.asnumpy())
            new = max(old * np.float32(self.factor), least)
            if old > new + np.float32(self.eps):
                rate.set_data(Tensor(new, "float32"))
