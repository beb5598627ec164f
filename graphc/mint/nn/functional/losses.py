"""Losses."""

from __future__ import annotations

from graphc import ops
from graphc.ops import cross_entropy, l1_loss, mse_loss, soft_margin_loss
from graphc.ops.functional.core import Operand, as_float
from graphc.ops.functional.loss import cosine_loss, reduced
from graphc.ops.tensor.tensor import Tensor


def binary_cross_entropy(
    input: Tensor, target: Tensor, weight: Tensor | None = None, reduction: str = "mean"
) -> Tensor:
    """-weight (target log p + (1 - target) log(1 - p)) of probabilities p, reduced ("mean", "sum", "none")."""
    return ops.binary_cross_entropy(input, target, weight, reduction)


def binary_cross_entropy_with_logits(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    reduction: str = "mean",
    pos_weight: Tensor | None = None,
) -> Tensor:
    """`binary_cross_entropy` of sigmoid(input), without overflow; pos_weight: a factor for the first term."""
    return ops.binary_cross_entropy_with_logits(input, target, weight, pos_weight, reduction)


def cosine_embedding_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: Operand = 0.0, reduction: str = "mean"
) -> Tensor:
    """1 - cos where the target is 1, max(0, cos - margin) where it is -1, with the cosine along axis 1, or the only one; reduced.

    That of a zero vector is 0.
    """
    axis = 1 if input1.ndim > 1 else 0
    return cosine_loss(as_float(input1), as_float(input2), target, margin, reduction, axis, 1e-12)


def kl_div(input: Tensor, target: Tensor, reduction: str = "mean", log_target: bool = False) -> Tensor:
    """target (log target - input), reduced ("mean", "sum", "none", "batchmean"). log_target: target is a logarithm itself."""
    if not log_target:
        return ops.kl_div(input, target, reduction)
    loss = ops.exp(target) * (target - input)
    if reduction == "batchmean":
        return ops.reduce_sum(loss) / input.shape[0]
    return reduced("kl_div", loss, reduction)


def smooth_l1_loss(input: Tensor, target: Tensor, reduction: str = "mean", beta: float = 1.0) -> Tensor:
    """d**2 / (2 beta) where the distance d of input and target is below beta, else d - beta / 2; reduced."""
    return l1_loss(input, target, reduction) if beta == 0 else ops.smooth_l1_loss(input, target, beta, reduction)


def nll_loss(
    input: Tensor, target: Tensor, weight: Tensor | None = None, ignore_index: int = -100, reduction: str = "mean"
) -> Tensor:
    """-input[target] along the class axis (1, or the only one) of log probabilities. weight: one number per class."""
    return ops.nll_loss(input, target, weight, ignore_index, reduction)


__all__ = [
    "binary_cross_entropy", "binary_cross_entropy_with_logits", "cosine_embedding_loss", "cross_entropy", "kl_div",
    "l1_loss", "mse_loss", "nll_loss", "smooth_l1_loss", "soft_margin_loss",
]  # fmt: skip
