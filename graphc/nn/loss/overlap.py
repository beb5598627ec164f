"""Losses of overlap, for segmentation."""

from __future__ import annotations

from typing import Any

from graphc import ops
from graphc.errors import ShapeError, user_loc
from graphc.nn import checks
from graphc.nn.layer.activation import get_activation
from graphc.nn.loss.base import LossBase
from graphc.ops.tensor.tensor import Tensor


class DiceLoss(LossBase):
    """1 - 2 sum(p q) / (sum(p^2) + sum(q^2) + smooth) of predictions p and labels q (Milletari et al., 2016)."""

    def __init__(self, smooth: float = 1e-5) -> None:
        super().__init__()
        self.smooth = checks.real("DiceLoss", "smooth", smooth, above=0)

    def construct(self, logits: Any, label: Any) -> Tensor:
        if logits.shape != label.shape:
            raise ShapeError(
                f"DiceLoss: predictions are {logits.tensor_type}, labels {label.tensor_type}", loc=user_loc()
            )
        both = ops.reduce_sum(logits * label)
        each = ops.reduce_sum(logits * logits) + ops.reduce_sum(label * label)
        return 1 - 2 * both / (each + self.smooth)


class MultiClassDiceLoss(LossBase):
    """The mean of DiceLoss over classes, which are axis 1 of predictions and labels.

    weights: [classes, n], n numbers for each class that its loss is multiplied by; the result is [n] then. ignore_indiex: a
    class that is left out of the sum. activation: a name, applied to the predictions first, or None.
    """

    def __init__(self, weights: Any = None, ignore_indiex: int | None = None, activation: Any = "softmax") -> None:
        super().__init__()
        self.weights = weights
        self.ignore_indiex = ignore_indiex
        if ignore_indiex is not None and not checks.is_int(ignore_indiex):
            raise checks.wrong_type("MultiClassDiceLoss", "ignore_indiex", "an int or None", ignore_indiex)
        if weights is not None and (not isinstance(weights, Tensor) or weights.ndim != 2):
            raise checks.wrong_type("MultiClassDiceLoss", "weights", "a Tensor of two axes or None", weights)
        self.activation = get_activation(activation) if isinstance(activation, str) else activation
        self.dice = DiceLoss()

    def construct(self, logits: Any, label: Any) -> Tensor:
        predictions = logits if self.activation is None else self.activation(logits)
        total: Any = 0.0
        for i in range(label.shape[1]):
            if i != self.ignore_indiex:
                loss = self.dice(predictions[:, i], label[:, i])
                total = total + (loss if self.weights is None else loss * self.weights[i])
        made: Tensor = total / label.shape[1]
        return made


__all__ = ["DiceLoss", "MultiClassDiceLoss"]
