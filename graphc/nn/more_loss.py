"""Further losses: of overlap, of rare classes, of several labels, of distributions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from graphc import ops
from graphc.errors import ShapeError, user_loc
from graphc.nn import checks
from graphc.nn.layer.activation import get_activation
from graphc.nn.loss import LossBase
from graphc.ops.tensor import Tensor, as_tensor


class DiceLoss(LossBase):
    """1 - (2 sum(p q) + smooth) / (sum(p^2) + sum(q^2) + smooth) of predictions p and labels q (Milletari et al., 2016)."""

    def __init__(self, smooth: float = 1e-5) -> None:
        super().__init__()
        self.smooth = checks.real("DiceLoss", "smooth", smooth, above=0)

    def construct(self, logits: Any, label: Any) -> Tensor:
        if logits.shape != label.shape:
            raise ShapeError(f"DiceLoss: predictions are {logits.type}, labels {label.type}", loc=user_loc())
        both = ops.reduce_sum(logits * label)
        each = ops.reduce_sum(logits * logits) + ops.reduce_sum(label * label)
        return 1 - (2 * both + self.smooth) / (each + self.smooth)


class MultiClassDiceLoss(LossBase):
    """The mean of DiceLoss over classes, which are axis 1 of predictions and labels.

    weights: [N, classes], times each class's loss. ignore_indiex: a class that is left out of the sum. activation: a name,
    applied to the predictions first, or None.
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
        return made if self.weights is None else ops.reduce_mean(made)


class FocalLoss(LossBase):
    """-(1 - p)^gamma log(p) with p the softmax at the label, reduced (Lin et al., 2017).

    logits [N, C] or [N, C, ...]; labels [N, 1] or [N, 1, ...] of class numbers, or in the logits' shape (then as weights of
    the classes). weight: one number per class. "mean" is over all places.
    """

    def __init__(self, weight: Any = None, gamma: float = 2.0, reduction: str = "mean") -> None:
        super().__init__(reduction)
        self.gamma = checks.real("FocalLoss", "gamma", gamma)
        if weight is not None and not isinstance(weight, Tensor):
            raise checks.wrong_type("FocalLoss", "weight", "a Tensor or None", weight)
        self.weight = weight

    def construct(self, logits: Any, labels: Any) -> Tensor:
        if logits.ndim != labels.ndim or logits.ndim < 2:
            raise ShapeError(f"FocalLoss: logits are {logits.type}, labels {labels.type}", loc=user_loc())
        classes = logits.shape[1]
        log_p = ops.log_softmax(logits, 1)
        if labels.shape[1] == 1:
            chosen = ops.one_hot(ops.squeeze(labels, 1), classes, Tensor(1.0, logits.dtype), Tensor(0.0, logits.dtype))
            labels = ops.moveaxis(chosen, -1, 1)
        loss = -ops.pow(1 - ops.exp(log_p), self.gamma) * log_p * labels
        if self.weight is not None:
            loss = loss * ops.reshape(self.weight, (1, classes, *[1] * (logits.ndim - 2)))
        return self.get_loss(ops.reduce_sum(loss, 1))


class GaussianNLLLoss(LossBase):
    """(log(v) + (labels - logits)^2 / v) / 2 with v = max(var, eps), plus log(2 pi) / 2 if full; reduced."""

    def __init__(self, *, full: bool = False, eps: float = 1e-6, reduction: str = "mean") -> None:
        super().__init__(reduction)
        self.full = checks.boolean("GaussianNLLLoss", "full", full)
        self.eps = checks.exact_float("GaussianNLLLoss", "eps", eps, above=0)

    def construct(self, logits: Any, labels: Any, var: Any) -> Tensor:  # type: ignore[override]
        var = as_tensor(var)
        # The bound is no part of the function that is differentiated.
        bounded = var + ops.stop_gradient(ops.maximum(var, self.eps) - var)
        if var.ndim == logits.ndim - 1:
            bounded = ops.expand_dims(bounded, -1)
        loss = 0.5 * (ops.log(bounded) + ops.square(labels - logits) / bounded)
        return self.get_loss(loss + 0.5 * math.log(2 * math.pi) if self.full else loss)


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


class MultiLabelSoftMarginLoss(LossBase):
    """The mean over classes of -target log sigmoid(x) - (1 - target) log sigmoid(-x), reduced over samples."""

    def __init__(self, weight: Any = None, reduction: str = "mean") -> None:
        super().__init__(reduction)
        self.weight = weight

    def construct(self, x: Any, target: Any) -> Tensor:
        loss = ops.relu(x) - x * target + ops.log1p(ops.exp(-ops.abs(x)))
        loss = loss if self.weight is None else loss * self.weight
        return self.get_loss(ops.reduce_mean(loss, -1))


class MultiMarginLoss(LossBase):
    """sum over the other classes j of max(0, margin - x[target] + x[j])^p, divided by the number of classes, reduced.

    x [N, C], target [N]; weight: one number per class, for that of the target. p is 1 or 2.
    """

    def __init__(self, p: int = 1, margin: float = 1.0, reduction: str = "mean", weight: Any = None) -> None:
        super().__init__(reduction)
        if p not in (1, 2):
            raise checks.wrong_value("MultiMarginLoss", "p", "1 or 2", p)
        self.p, self.margin, self.weight = p, checks.real("MultiMarginLoss", "margin", margin), weight

    def construct(self, x: Any, target: Any, weight: Any = None) -> Tensor:
        weight = self.weight if weight is None else weight
        own = ops.one_hot(target, x.shape[1], Tensor(1.0, x.dtype), Tensor(0.0, x.dtype))
        at_target = ops.reduce_sum(x * own, 1, keep_dims=True)
        loss = ops.relu(self.margin - at_target + x)
        loss = (loss if self.p == 1 else ops.square(loss)) * (1 - own)
        if weight is not None:
            loss = loss * ops.expand_dims(ops.gather(weight, target, 0), 1)
        return self.get_loss(ops.reduce_sum(loss, 1) / x.shape[1])


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

    def construct(self, x: Any, positive: Any, negative: Any, margin: Any = None) -> Tensor:  # type: ignore[override]
        far = self._distance(x, negative)
        if self.swap:
            far = ops.minimum(far, self._distance(positive, negative))
        margin = self.margin if margin is None else margin
        return self.get_loss(ops.relu(self._distance(x, positive) - far + margin))

    def _distance(self, a: Tensor, b: Tensor) -> Tensor:
        difference = ops.abs(a - b + self.eps)
        return ops.pow(ops.reduce_sum(ops.pow(difference, self.p), -1), 1 / self.p)


class SampledSoftmaxLoss(LossBase):
    """Softmax cross entropy over the label and a sample of num_sampled other classes (Jean et al., 2015).

    construct(weights [classes, d], biases [classes], labels [N] or [N, 1], inputs [N, d]). sampled_values: (classes,
    expected counts of the labels, expected counts of the classes); drawn log-uniformly when the cell is made if None.
    remove_accidental_hits leaves out sampled classes that are the sample's label. num_true must be 1.
    """

    def __init__(
        self,
        num_sampled: int,
        num_classes: int,
        num_true: int = 1,
        sampled_values: Any = None,
        remove_accidental_hits: bool = True,
        seed: int = 0,
        reduction: str = "none",
    ) -> None:
        super().__init__(reduction)
        self.num_sampled = checks.integer("SampledSoftmaxLoss", "num_sampled", num_sampled)
        self.num_classes = checks.integer("SampledSoftmaxLoss", "num_classes", num_classes)
        if num_true != 1:
            raise checks.wrong_value("SampledSoftmaxLoss", "num_true", "1", num_true)
        if num_sampled > num_classes:
            raise checks.wrong_value("SampledSoftmaxLoss", "num_sampled", f"at most {num_classes}", num_sampled)
        self.remove_accidental_hits = checks.boolean(
            "SampledSoftmaxLoss", "remove_accidental_hits", remove_accidental_hits
        )
        ranks = np.arange(num_classes)
        share = np.log((ranks + 2) / (ranks + 1)) / np.log(num_classes + 1)
        self.share = Tensor(share.astype(np.float32))
        if sampled_values is None:
            drawn = np.random.default_rng(seed).choice(num_classes, num_sampled, replace=False, p=share)
            sampled_values = (
                Tensor(drawn.astype(np.int32)),
                None,
                Tensor((share[drawn] * num_sampled).astype("float32")),
            )
        self.sampled, self.true_expected, self.sampled_expected = sampled_values

    def construct(self, weights: Any, biases: Any, labels: Any, inputs: Any) -> Tensor:  # type: ignore[override]
        labels = ops.cast(ops.reshape(labels, (-1,)), "int32")
        expected = self.true_expected
        if expected is None:
            expected = ops.gather(self.share, labels, 0) * self.num_sampled
        own = ops.reduce_sum(ops.gather(weights, labels, 0) * inputs, 1) + ops.gather(biases, labels, 0)
        own = ops.expand_dims(own - ops.log(ops.reshape(expected, (-1,))), 1)
        rest = ops.matmul(inputs, ops.gather(weights, self.sampled, 0), transpose_b=True)
        rest = rest + ops.gather(biases, self.sampled, 0) - ops.log(self.sampled_expected)
        if self.remove_accidental_hits:
            hit = ops.equal(ops.expand_dims(labels, 1), ops.expand_dims(ops.cast(self.sampled, "int32"), 0))
            rest = ops.select(hit, ops.full_like(rest, -1e37), rest)
        return self.get_loss(-ops.log_softmax(ops.concat((own, rest), 1), 1)[:, 0])


__all__ = [
    "DiceLoss", "FocalLoss", "GaussianNLLLoss", "MultiClassDiceLoss", "MultiLabelSoftMarginLoss", "MultiMarginLoss",
    "PoissonNLLLoss", "SampledSoftmaxLoss", "TripletMarginLoss",
]  # fmt: skip
