"""Losses; reduction is "mean", "sum" or "none"."""

from __future__ import annotations

from typing import Any

from graphc.mint.nn import functional
from graphc.nn import checks
from graphc.nn.cell.cell import Cell
from graphc.nn.loss import BCELoss, CosineEmbeddingLoss, L1Loss, MSELoss, SoftMarginLoss
from graphc.ops.tensor.tensor import Tensor

_REDUCTIONS = ("mean", "sum", "none")


class BCEWithLogitsLoss(Cell):
    """Binary cross entropy of sigmoid(input): see functional.binary_cross_entropy_with_logits."""

    def __init__(self, weight: Tensor | None = None, reduction: str = "mean", pos_weight: Tensor | None = None) -> None:
        super().__init__()
        self.reduction = checks.one_of("BCEWithLogitsLoss", "reduction", reduction, _REDUCTIONS)
        self.weight, self.pos_weight = weight, pos_weight

    def construct(self, input: Any, target: Any) -> Tensor:
        return functional.binary_cross_entropy_with_logits(input, target, self.weight, self.reduction, self.pos_weight)


class NLLLoss(Cell):
    """-input[target] of log probabilities: see functional.nll_loss."""

    def __init__(self, weight: Tensor | None = None, ignore_index: int = -100, reduction: str = "mean") -> None:
        super().__init__()
        self.reduction = checks.one_of("NLLLoss", "reduction", reduction, _REDUCTIONS)
        self.weight, self.ignore_index = weight, ignore_index

    def construct(self, input: Any, target: Any) -> Tensor:
        return functional.nll_loss(input, target, self.weight, self.ignore_index, self.reduction)


class CrossEntropyLoss(Cell):
    """-log softmax(input)[target]: see functional.cross_entropy."""

    def __init__(
        self,
        weight: Tensor | None = None,
        ignore_index: int = -100,
        reduction: str = "mean",
        label_smoothing: float = 0.0,
    ) -> None:
        super().__init__()
        self.reduction = checks.one_of("CrossEntropyLoss", "reduction", reduction, _REDUCTIONS)
        self.weight, self.ignore_index, self.label_smoothing = weight, ignore_index, label_smoothing

    def construct(self, input: Any, target: Any) -> Tensor:
        return functional.cross_entropy(
            input, target, self.weight, self.ignore_index, self.reduction, self.label_smoothing
        )


class KLDivLoss(Cell):
    """target (log target - input): see functional.kl_div."""

    def __init__(self, reduction: str = "mean", log_target: bool = False) -> None:
        super().__init__()
        self.reduction = checks.one_of("KLDivLoss", "reduction", reduction, (*_REDUCTIONS, "batchmean"))
        self.log_target = checks.boolean("KLDivLoss", "log_target", log_target)

    def construct(self, input: Any, target: Any) -> Tensor:
        return functional.kl_div(input, target, self.reduction, self.log_target)


class SmoothL1Loss(Cell):
    """d**2 / (2 beta) where the distance d of input and target is below beta, else d - beta / 2."""

    def __init__(self, reduction: str = "mean", beta: float = 1.0) -> None:
        super().__init__()
        self.reduction = checks.one_of("SmoothL1Loss", "reduction", reduction, _REDUCTIONS)
        self.beta = checks.real("SmoothL1Loss", "beta", beta, least=0)

    def construct(self, input: Any, target: Any) -> Tensor:
        return functional.smooth_l1_loss(input, target, self.reduction, self.beta)


__all__ = [
    "BCELoss", "BCEWithLogitsLoss", "CosineEmbeddingLoss", "CrossEntropyLoss", "KLDivLoss", "L1Loss", "MSELoss",
    "NLLLoss", "SmoothL1Loss", "SoftMarginLoss",
]  # fmt: skip
