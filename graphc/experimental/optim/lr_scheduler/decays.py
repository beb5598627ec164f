"""Schedulers that multiply the rates by factors of the epoch."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from typing import Any

from graphc.experimental.optim.lr_scheduler.base import LRScheduler, checked_optimizer
from graphc.nn import checks


class StepLR(LRScheduler):
    """Times gamma every step_size epochs."""

    def __init__(self, optimizer: Any, step_size: int, gamma: float = 0.1, last_epoch: int = -1) -> None:
        self.step_size = checks.integer("StepLR", "step_size", step_size)
        self.gamma = checks.exact_float("StepLR", "gamma", gamma)
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        factor = 1.0 if self._epoch == 0 or self._epoch % self.step_size else self.gamma
        return [rate * factor for rate in self._last_lr]

    def _get_closed_form_lr(self) -> list[Any]:
        return [rate * self.gamma ** (self._epoch // self.step_size) for rate in self.base_lrs]


class MultiStepLR(LRScheduler):
    """Times gamma at each of the epochs in milestones, a list of ints."""

    def __init__(self, optimizer: Any, milestones: list[int], gamma: float = 0.1, last_epoch: int = -1) -> None:
        if not isinstance(milestones, list):
            raise checks.wrong_type("MultiStepLR", "milestones", "a list of ints", milestones)
        self.milestones = Counter(checks.integer("MultiStepLR", "milestones", m, 0) for m in milestones)
        self.gamma = checks.real("MultiStepLR", "gamma", gamma)
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        return [rate * self.gamma ** self.milestones[int(self._epoch)] for rate in self._last_lr]

    def _get_closed_form_lr(self) -> list[Any]:
        passed = bisect_right(sorted(self.milestones.elements()), self._epoch)
        return [rate * self.gamma**passed for rate in self.base_lrs]


class ConstantLR(LRScheduler):
    """Times factor, from 0 to 1, until epoch total_iters."""

    def __init__(self, optimizer: Any, factor: float = 1.0 / 3, total_iters: int = 5, last_epoch: int = -1) -> None:
        self.factor = share("ConstantLR", "factor", factor)
        self.total_iters = checks.integer("ConstantLR", "total_iters", total_iters, 0)
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        if self._epoch == 0:
            return [rate * self.factor for rate in self._last_lr]
        if self._epoch != self.total_iters:
            return [rate * 1.0 for rate in self._last_lr]
        return [rate / self.factor for rate in self._last_lr]

    def _get_closed_form_lr(self) -> list[Any]:
        factor = 1.0 if self._epoch >= self.total_iters else self.factor
        return [rate * factor for rate in self.base_lrs]


class LinearLR(LRScheduler):
    """Times a factor that goes from start_factor, above 0, to end_factor, both at most 1, in total_iters epochs."""

    def __init__(
        self,
        optimizer: Any,
        start_factor: float = 1.0 / 3,
        end_factor: float = 1.0,
        total_iters: int = 5,
        last_epoch: int = -1,
    ) -> None:
        self.start_factor = share("LinearLR", "start_factor", start_factor)
        if self.start_factor == 0:
            raise checks.wrong_value("LinearLR", "start_factor", "greater than 0", start_factor)
        self.end_factor = share("LinearLR", "end_factor", end_factor)
        self.total_iters = checks.integer("LinearLR", "total_iters", total_iters)
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        if self._epoch == 0:
            return [rate * self.start_factor for rate in self._last_lr]
        if self._epoch > self.total_iters:
            return [rate * 1.0 for rate in self._last_lr]
        way = self.end_factor - self.start_factor
        factor = 1.0 + way / (self.total_iters * self.start_factor + (self._epoch - 1) * way)
        return [rate * factor for rate in self._last_lr]

    def _get_closed_form_lr(self) -> list[Any]:
        way = self.end_factor - self.start_factor
        factor = self.start_factor + way * min(self.total_iters, self._epoch) / self.total_iters
        return [rate * factor for rate in self.base_lrs]


class ExponentialLR(LRScheduler):
    """Times gamma every epoch."""

    def __init__(self, optimizer: Any, gamma: float, last_epoch: int = -1) -> None:
        self.gamma = checks.exact_float("ExponentialLR", "gamma", gamma)
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        return [rate * (1.0 if self._epoch == 0 else self.gamma) for rate in self._last_lr]

    def _get_closed_form_lr(self) -> list[Any]:
        return [rate * self.gamma**self._epoch for rate in self.base_lrs]


class PolynomialLR(LRScheduler):
    """base * (1 - epoch / total_iters)**power until total_iters, then 0."""

    def __init__(self, optimizer: Any, total_iters: int = 5, power: float = 1.0, last_epoch: int = -1) -> None:
        self.total_iters = checks.integer("PolynomialLR", "total_iters", total_iters)
        self.power = checks.exact_float("PolynomialLR", "power", power, least=0)
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        epoch = self._epoch
        if epoch == 0 or epoch > self.total_iters:
            return [rate * 1.0 for rate in self._last_lr]
        factor = ((1.0 - epoch / self.total_iters) / (1.0 - (epoch - 1) / self.total_iters)) ** self.power
        return [rate * factor for rate in self._last_lr]

    def _get_closed_form_lr(self) -> list[Any]:
        left = 1.0 - min(self.total_iters, self._epoch) / self.total_iters
        return [rate * left**self.power for rate in self.base_lrs]


class _Functions(LRScheduler):
    """A function of the epoch (the Parameter last_epoch) for all groups, or a list of one per group."""

    def __init__(self, optimizer: Any, lr_lambda: Any, last_epoch: int = -1) -> None:
        owner = type(self).__name__
        groups = len(checked_optimizer(owner, optimizer).param_groups)
        self.lr_lambdas = list(lr_lambda) if isinstance(lr_lambda, (list, tuple)) else [lr_lambda] * groups
        if len(self.lr_lambdas) != groups:
            raise checks.wrong_value(owner, "lr_lambda", f"a function for each of {groups} groups", lr_lambda)
        if not all(map(callable, self.lr_lambdas)):
            raise checks.wrong_type(owner, "lr_lambda", "a function, or a list of functions", lr_lambda)
        super().__init__(optimizer, last_epoch)


class LambdaLR(_Functions):
    """base * lr_lambda(epoch)."""

    def get_lr(self) -> list[Any]:
        return [rate * f(self.last_epoch) for f, rate in zip(self.lr_lambdas, self.base_lrs, strict=True)]


class MultiplicativeLR(_Functions):
    """Times lr_lambda(epoch) every epoch."""

    def get_lr(self) -> list[Any]:
        if self._epoch > 0:
            return [rate * f(self.last_epoch) for f, rate in zip(self.lr_lambdas, self._last_lr, strict=True)]
        return [rate * 1.0 for rate in self._last_lr]


def share(owner: str, name: str, value: Any) -> float:
    if checks.real(owner, name, value, least=0) > 1:
        raise checks.wrong_value(owner, name, "at most 1", value)
    return float(value)
