"""Losses of pairs and triplets: which of them are near, which comes first."""

from __future__ import annotations

from typing import Any

from graphc import ops
from graphc.nn import checks
from graphc.nn.loss.base import LossBase
from graphc.ops.tensor.tensor import Tensor


class MarginRankingLoss(LossBase):
    """max(0, -labels (x1 - x2) + margin), reduced."""

    def __init__(self, margin: float = 0.0, reduction: str = "mean") -> None:
        super().__init__(reduction)
        self.margin = checks.real("MarginRankingLoss", "margin", margin)

    def construct(self, x1: Any, x2: Any, labels: Any) -> Tensor:
        return self.get_loss(ops.margin_ranking_loss(x1, x2, labels, self.margin, "none"))


class HingeEmbeddingLoss(LossBase):
    """logits where the label is 1, max(0, margin - logits) where it is -1, reduced."""

    def __init__(self, margin: float = 1.0, reduction: str = "mean") -> None:
        super().__init__(reduction)
        self.margin = checks.real("HingeEmbeddingLoss", "margin", margin)

    def construct(self, logits: Any, labels: Any) -> Tensor:
        return self.get_loss(ops.hinge_embedding_loss(logits, labels, self.margin, "none"))


class CosineEmbeddingLoss(LossBase):
    """1 - cos(x1, x2) where the label is 1, max(0, cos - margin) where it is -1, along axis 1; reduced.

    margin: a float in [-1, 1].
    """

    def __init__(self, margin: float = 0.0, reduction: str = "mean") -> None:
        super().__init__(reduction)
        if not isinstance(margin, float):
            raise checks.wrong_type("CosineEmbeddingLoss", "margin", "a float", margin)
        if not -1 <= margin <= 1:
            raise checks.wrong_value("CosineEmbeddingLoss", "margin", "in [-1, 1]", margin)
        self.margin = margin

    def construct(self, logits_x1: Any, logits_x2: Any, labels: Any) -> Tensor:
        return self.get_loss(ops.cosine_embedding_loss(logits_x1, logits_x2, labels, self.margin, "none"))


class TripletMarginLoss(LossBase):
    """max(0, d(x, positive) - d(x, negative) + margin), reduced, with d the p-norm of the difference plus eps along the last
    axis; swap takes the smaller of d(x, negative) and d(positive, negative) (Balntas et al., 2016).
    """

    def __init__(
        self, p: int = 2, swap: bool = False, eps: float = 1e-6, reduction: str = "mean", margin: float = 1.0
    ) -> None:
        super().__init__(reduction)
        if not checks.is_int(p):
            raise checks.wrong_type("TripletMarginLoss", "p", "an int", p)
        self.p, self.swap = p, checks.boolean("TripletMarginLoss", "swap", swap)
        self.eps = checks.exact_float("TripletMarginLoss", "eps", eps)
        self.margin = margin

    def construct(self, x: Any, positive: Any, negative: Any, margin: Any = None) -> Tensor:
        margin = self.margin if margin is None else margin
        return self.get_loss(
            ops.triplet_margin_loss(x, positive, negative, margin, self.p, self.eps, self.swap, "none")
        )


class TripletMarginWithDistanceLoss(LossBase):
    """max(0, d(x, positive) - d(x, negative) + margin), reduced, with a distance function d of two tensors; by default the 2-norm
    of their difference along axis 1. swap: the smaller of d(x, negative) and d(positive, negative).
    """

    def __init__(
        self, distance_function: Any = None, swap: bool = False, reduction: str = "mean", margin: float = 1.0
    ) -> None:
        super().__init__(reduction)
        owner = "TripletMarginWithDistanceLoss"
        self.swap, self.margin = checks.boolean(owner, "swap", swap), checks.exact_float(owner, "margin", margin)
        if distance_function is not None and not callable(distance_function):
            raise checks.wrong_type(owner, "distance_function", "a function or None", distance_function)
        self.distance_function = distance_function or self._distance

    def construct(self, x: Any, positive: Any, negative: Any) -> Tensor:
        far = self.distance_function(x, negative)
        if self.swap:
            far = ops.minimum(far, self.distance_function(positive, negative))
        return self.get_loss(ops.relu(self.distance_function(x, positive) - far + self.margin))

    def _distance(self, a: Tensor, b: Tensor) -> Tensor:
        made: Tensor = ops.LpNorm(axis=1, p=2)(ops.abs(a - b))
        return made


__all__ = [
    "CosineEmbeddingLoss",
    "HingeEmbeddingLoss",
    "MarginRankingLoss",
    "TripletMarginLoss",
    "TripletMarginWithDistanceLoss",
]
