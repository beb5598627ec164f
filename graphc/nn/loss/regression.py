"""Losses of numbers: distances between predictions and targets."""

from __future__ import annotations

import math
from typing import Any

from graphc import ops
from graphc.nn import checks
from graphc.nn.loss.base import LossBase
from graphc.ops.tensor.tensor import Tensor


class L1Loss(LossBase):
    """|logits - labels|, reduced. The two are broadcast."""

    def construct(self, logits: Any, labels: Any) -> Tensor:
        return self.get_loss(ops.abs(logits - labels))


class L1LossExt(L1Loss):
    """L1Loss by its other name (MindSpore: nn.L1LossExt)."""


class MSELoss(LossBase):
    """(logits - labels)**2, reduced. The two are broadcast."""

    def construct(self, logits: Any, labels: Any) -> Tensor:
        return self.get_loss(ops.square(logits - labels))


class SmoothL1Loss(LossBase):
    """d^2 / (2 beta) where |d| < beta, else |d| - beta / 2, with d = logits - labels; reduced, by default not."""

    def __init__(self, beta: float = 1.0, reduction: str = "none") -> None:
        super().__init__(reduction)
        self.beta = checks.real("SmoothL1Loss", "beta", beta, above=0)

    def construct(self, logits: Any, labels: Any) -> Tensor:
        return self.get_loss(ops.smooth_l1_loss(logits, labels, self.beta, "none"))


class HuberLoss(LossBase):
    """d^2 / 2 where |d| <= delta, else delta (|d| - delta / 2), with d = logits - labels; reduced."""

    def __init__(self, reduction: str = "mean", delta: float = 1.0) -> None:
        super().__init__(reduction)
        self.delta = checks.real("HuberLoss", "delta", delta, above=0)

    def construct(self, logits: Any, labels: Any) -> Tensor:
        return self.get_loss(ops.huber_loss(logits, labels, "none", self.delta))


class MAELoss(L1Loss):
    """|logits - labels|, reduced."""


class RMSELoss(LossBase):
    """Root of the mean of (logits - labels)^2."""

    def __init__(self) -> None:
        super().__init__("mean")

    def construct(self, logits: Any, labels: Any) -> Tensor:
        return ops.sqrt(self.get_loss(ops.square(logits - labels)))


class GaussianNLLLoss(LossBase):
    """(log(v) + (labels - logits)^2 / v) / 2 with v = max(var, eps), plus log(2 pi) / 2 if full; reduced."""

    def __init__(self, *, full: bool = False, eps: float = 1e-6, reduction: str = "mean") -> None:
        super().__init__(reduction)
        self.full = checks.boolean("GaussianNLLLoss", "full", full)
        self.eps = checks.exact_float("GaussianNLLLoss", "eps", eps, above=0)

    def construct(self, logits: Any, labels: Any, var: Any) -> Tensor:
        return ops.gaussian_nll_loss(logits, labels, var, self.full, self.eps, self.reduction)


class PoissonNLLLoss(LossBase):
    """exp(input) - target input if log_input, else input - target log(input + eps); reduced. full adds Stirling's
    approximation of log(target!) where target > 1.
    """

    def __init__(self, log_input: bool = True, full: bool = False, eps: float = 1e-8, reduction: str = "mean") -> None:
        super().__init__(reduction)
        self.log_input = checks.boolean("PoissonNLLLoss", "log_input", log_input)
        self.full = checks.boolean("PoissonNLLLoss", "full", full)
        self.eps = checks.real("PoissonNLLLoss", "eps", eps, above=0)

    def construct(self, input: Any, target: Any) -> Tensor:
        if self.log_input:
            loss = ops.exp(input) - target * input
        else:
            loss = input - target * ops.log(input + self.eps)
        if self.full:
            above = ops.maximum(target, 1.0)
            stirling = target * ops.log(above) - target + 0.5 * ops.log(2 * math.pi * above)
            loss = loss + ops.select(target > 1, stirling, ops.zeros_like(loss))
        return self.get_loss(loss)


__all__ = [
    "GaussianNLLLoss",
    "HuberLoss",
    "L1Loss",
    "L1LossExt",
    "MAELoss",
    "MSELoss",
    "PoissonNLLLoss",
    "RMSELoss",
    "SmoothL1Loss",
]
