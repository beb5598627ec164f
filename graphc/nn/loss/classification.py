"""Losses of classes and of probabilities."""

from __future__ import annotations

import math
from typing import Any

from graphc import ops
from graphc.errors import ShapeError, user_loc
from graphc.nn import checks
from graphc.nn.loss.base import LossBase
from graphc.ops.tensor.parameter import Parameter
from graphc.ops.tensor.tensor import Tensor, as_tensor


class SoftMarginLoss(LossBase):
    """log(1 + exp(-labels logits)), reduced; labels are 1 or -1."""

    def construct(self, logits: Any, labels: Any) -> Tensor:
        return self.get_loss(ops.soft_margin_loss(logits, labels, "none"))


class KLDivLoss(LossBase):
    """labels (log labels - logits), 0 where labels are not positive; reduced. "batchmean" divides the sum by axis 0."""

    def __init__(self, reduction: str = "mean") -> None:
        super().__init__("none")
        self.reduction = checks.one_of("KLDivLoss", "reduction", reduction, ("none", "mean", "batchmean", "sum"))

    def construct(self, logits: Any, labels: Any) -> Tensor:
        return ops.kl_div(logits, labels, self.reduction)


class BCELoss(LossBase):
    """-weight (labels log p + (1 - labels) log(1 - p)) of probabilities p, reduced. weight: a Tensor or None."""

    def __init__(self, weight: Tensor | None = None, reduction: str = "mean") -> None:
        super().__init__(reduction)
        self.weight = weight

    def construct(self, logits: Any, labels: Any) -> Tensor:
        return self.get_loss(ops.binary_cross_entropy(logits, labels, self.weight, "none"))


class BCEWithLogitsLoss(LossBase):
    """BCELoss of sigmoid(input), without overflow; pos_weight multiplies the part of label 1.

    weight, pos_weight: None, or Tensors that broadcast; ArgumentTypeError for a Parameter.
    """

    def __init__(self, reduction: str = "mean", weight: Tensor | None = None, pos_weight: Tensor | None = None) -> None:
        super().__init__(reduction)
        for name, given in (("weight", weight), ("pos_weight", pos_weight)):
            if isinstance(given, Parameter):
                raise checks.wrong_type("BCEWithLogitsLoss", name, "a Tensor or None", given)
        self.weight, self.pos_weight = weight, pos_weight

    def construct(self, input: Any, target: Any) -> Tensor:
        loss = ops.binary_cross_entropy_with_logits(input, target, self.weight, self.pos_weight, "none")
        return self.get_loss(loss)


class _Classes(LossBase):
    def __init__(self, weight: Tensor | None, ignore_index: int, reduction: str) -> None:
        super().__init__(reduction)
        owner = type(self).__name__
        if not checks.is_int(ignore_index):
            raise checks.wrong_type(owner, "ignore_index", "an int", ignore_index)
        if weight is not None and not isinstance(weight, Tensor):
            raise checks.wrong_type(owner, "weight", "a Tensor or None", weight)
        self.weight, self.ignore_index = weight, ignore_index


class CrossEntropyLoss(_Classes):
    """-log softmax(logits)[label] along the class axis, with labels that are class numbers or probabilities (MindSpore:
    nn.CrossEntropyLoss); see `ops.cross_entropy`.
    """

    def __init__(
        self,
        weight: Tensor | None = None,
        ignore_index: int = -100,
        reduction: str = "mean",
        label_smoothing: float = 0.0,
    ) -> None:
        super().__init__(weight, ignore_index, reduction)
        if not isinstance(label_smoothing, float):
            raise checks.wrong_type("CrossEntropyLoss", "label_smoothing", "a float", label_smoothing)
        if not 0 <= label_smoothing <= 1:
            raise checks.wrong_value("CrossEntropyLoss", "label_smoothing", "in [0, 1]", label_smoothing)
        self.label_smoothing = label_smoothing

    def construct(self, logits: Any, labels: Any) -> Tensor:
        options = (self.weight, self.ignore_index, self.reduction, self.label_smoothing)
        return ops.cross_entropy(as_tensor(logits, "logits"), as_tensor(labels, "labels"), *options)


class NLLLoss(_Classes):
    """-logits[label] along the class axis of log probabilities; see `ops.nll_loss`."""

    def __init__(self, weight: Tensor | None = None, ignore_index: int = -100, reduction: str = "mean") -> None:
        super().__init__(weight, ignore_index, reduction)

    def construct(self, logits: Any, labels: Any) -> Tensor:
        options = (self.weight, self.ignore_index, self.reduction)
        return ops.nll_loss(as_tensor(logits, "logits"), as_tensor(labels, "labels"), *options)


class SoftmaxCrossEntropyWithLogits(LossBase):
    """-sum(labels * log softmax(logits)) of each row, reduced (MindSpore: nn.SoftmaxCrossEntropyWithLogits).

    logits are [N, classes]. With `sparse` labels are class numbers [N], int32 or int64, and a number out of
    range is an IndexError; otherwise probabilities [N, classes] of the logits' dtype. Labels get no gradient.
    Raises ShapeError or DTypeError (GC111) for other labels.
    """

    def __init__(self, sparse: bool = False, reduction: str = "none") -> None:
        super().__init__(reduction)
        self.sparse = checks.boolean("SoftmaxCrossEntropyWithLogits", "sparse", sparse)

    def construct(self, logits: Any, labels: Any) -> Tensor:
        if self.sparse:
            loss, _ = ops.sparse_softmax_cross_entropy_with_logits(logits, labels)
        else:
            loss, _ = ops.softmax_cross_entropy_with_logits(logits, labels)
        return self.get_loss(loss)

    def extend_repr(self) -> str:
        return f"sparse={self.sparse}, reduction={self.reduction}"


class FocalLoss(LossBase):
    """-(1 - p)^gamma log(p) with p the softmax at the label, reduced (Lin et al., 2017).

    logits [N, C] or [N, C, ...]; labels [N, 1] or [N, 1, ...] of class numbers, or in the logits' shape, as weights of the
    classes. weight: one number per class. What is reduced are the means over all axes behind the second: [N] for class numbers,
    else [N, C], so that "mean" divides by the classes, too, as in MindSpore.
    """

    def __init__(self, weight: Any = None, gamma: float = 2.0, reduction: str = "mean") -> None:
        super().__init__(reduction)
        self.gamma = checks.real("FocalLoss", "gamma", gamma)
        if weight is not None and not isinstance(weight, Tensor):
            raise checks.wrong_type("FocalLoss", "weight", "a Tensor or None", weight)
        self.weight = weight

    def construct(self, logits: Any, labels: Any) -> Tensor:
        if logits.ndim != labels.ndim or logits.ndim < 2:
            raise ShapeError(f"FocalLoss: logits are {logits.tensor_type}, labels {labels.tensor_type}", loc=user_loc())
        samples, classes = logits.shape[:2]
        log_p = ops.reshape(ops.log_softmax(logits, 1), (samples, classes, math.prod(logits.shape[2:])))
        one_class = labels.shape[1] == 1
        if one_class:
            numbers = ops.reshape(labels, (samples, math.prod(labels.shape[1:])))
            chosen = ops.one_hot(numbers, classes, Tensor(1.0, logits.dtype), Tensor(0.0, logits.dtype))
            labels = ops.moveaxis(chosen, -1, 1)
        wanted = ops.reshape(labels, (samples, classes, math.prod(labels.shape[2:])))
        loss = -ops.pow(1 - ops.exp(log_p), self.gamma) * log_p * wanted
        if self.weight is not None:
            loss = loss * ops.reshape(self.weight, (1, classes, 1))
        return self.get_loss(ops.reduce_mean(ops.reduce_sum(loss, 1) if one_class else loss, -1))


class MultiLabelSoftMarginLoss(LossBase):
    """The mean over classes of -target log sigmoid(x) - (1 - target) log sigmoid(-x), reduced over samples."""

    def __init__(self, weight: Any = None, reduction: str = "mean") -> None:
        super().__init__(reduction)
        self.weight = weight

    def construct(self, x: Any, target: Any) -> Tensor:
        loss = ops.softplus(x) - x * target
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
        return self.get_loss(ops.multi_margin_loss(x, target, self.p, self.margin, weight, "none"))


class MultilabelMarginLoss(LossBase):
    """sum over the labels l and the other classes j of max(0, 1 - x[l] + x[j]), divided by the number of classes; reduced.

    x [N, C] or [C]; target: int32 of the same shape, a row's labels up to the first negative number.
    """

    def construct(self, input: Any, target: Any) -> Tensor:
        return self.get_loss(ops.multilabel_margin_loss(input, target, "none"))


class CTCLoss(LossBase):
    """-log of the probability of all alignments of labels to a longer sequence (Graves et al., 2006; MindSpore: nn.CTCLoss).

    construct(log_probs [T, N, C] or [T, C], targets [N, S] or [S], input_lengths [N], target_lengths [N]); see `ops.ctc_loss`.
    """

    def __init__(self, blank: int = 0, reduction: str = "mean", zero_infinity: bool = False) -> None:
        super().__init__(reduction)
        self.blank = checks.integer("CTCLoss", "blank", blank, least=0)
        self.zero_infinity = checks.boolean("CTCLoss", "zero_infinity", zero_infinity)

    def construct(self, log_probs: Any, targets: Any, input_lengths: Any, target_lengths: Any) -> Tensor:
        alone = log_probs.ndim == 2
        if alone:
            log_probs = ops.expand_dims(log_probs, 1)
            targets = ops.expand_dims(targets, 0) if targets.ndim == 1 else targets
            input_lengths, target_lengths = (
                ops.reshape(n, (-1,)) if isinstance(n, Tensor) else n for n in (input_lengths, target_lengths)
            )
        options = (self.blank, self.reduction, self.zero_infinity)
        loss, _ = ops.ctc_loss(log_probs, targets, input_lengths, target_lengths, *options)
        return ops.squeeze(loss, 0) if alone and loss.ndim else loss


class SampledSoftmaxLoss(LossBase):
    """Softmax cross entropy over the labels and a sample of num_sampled classes (Jean et al., 2015).

    construct(weights [classes, d], biases [classes], labels [N, num_true], or [N], inputs [N, d]): the mean over the labels of a
    row. sampled_values: (classes, expected counts of the labels, expected counts of the classes); where it is None each call
    draws different classes, all equally likely, anew. remove_accidental_hits: none that is a label of the batch is drawn (where
    too few are left, fewer are), and given ones do not count in rows whose label they are. seed: of the stream of draws.
    Raises ArgumentTypeError or ArgumentValueError for arguments.
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
        owner = "SampledSoftmaxLoss"
        self.num_classes = checks.integer(owner, "num_classes", num_classes)
        self.num_sampled = checks.integer(owner, "num_sampled", num_sampled)
        self.num_true = checks.integer(owner, "num_true", num_true)
        for name, count in (("num_sampled", num_sampled), ("num_true", num_true)):
            if count > num_classes:
                raise checks.wrong_value(owner, name, f"at most {num_classes}", count)
        self.remove_accidental_hits = checks.boolean(owner, "remove_accidental_hits", remove_accidental_hits)
        self.seed = checks.integer(owner, "seed", seed, least=0)
        if sampled_values is not None and not isinstance(sampled_values, (list, tuple)):
            raise checks.wrong_type(owner, "sampled_values", "a list or a tuple", sampled_values)
        if sampled_values is not None and len(sampled_values) != 3:
            raise checks.wrong_value(owner, "sampled_values", "three tensors", sampled_values)
        self.sampled_values: Any = sampled_values

    def construct(self, weights: Any, biases: Any, labels: Any, inputs: Any) -> Tensor:
        labels = ops.cast(ops.reshape(labels, (-1, self.num_true)), "int32")
        own = ops.reduce_sum(ops.gather(weights, labels, 0) * ops.expand_dims(inputs, 1), -1) + ops.gather(
            biases, labels, 0
        )
        sampled, counts = self._drawn(labels) if self.sampled_values is None else self._given(labels)
        rest = ops.matmul(inputs, ops.gather(weights, sampled, 0), transpose_b=True) + ops.gather(biases, sampled, 0)
        if self.sampled_values is not None:
            # Classes that are drawn all equally likely are expected equally often: there this would cancel out.
            own = own - ops.log(ops.reshape(self.sampled_values[1], own.shape))
            rest = rest - ops.log(self.sampled_values[2])
        rest = ops.select(ops.broadcast_to(counts, rest.shape), rest, ops.full_like(rest, -1e37))
        shares = ops.log_softmax(ops.concat((own, rest), 1), 1)[:, : self.num_true]
        return self.get_loss(-ops.reduce_mean(shares, 1))

    def _drawn(self, labels: Any) -> tuple[Tensor, Tensor]:
        """(classes int32 [num_sampled], bool [num_sampled]: which of them there are)."""
        free = ops.ones((self.num_classes,), "int32")
        if self.remove_accidental_hits:
            free = ops.index_fill(free, 0, ops.reshape(labels, (-1,)), 0)
        places, there = ops.choice_with_mask(ops.cast(free, "bool"), self.num_sampled, self.seed)
        return ops.reshape(places, (-1,)), there

    def _given(self, labels: Any) -> tuple[Tensor, Tensor]:
        """(classes int32 [num_sampled], bool [N, num_sampled]: which of them count in a row)."""
        sampled = ops.cast(self.sampled_values[0], "int32")
        if not self.remove_accidental_hits:
            return sampled, ops.ones((labels.shape[0], sampled.shape[0]), "bool")
        return sampled, ops.reduce_all(ops.not_equal(ops.expand_dims(labels, 2), ops.reshape(sampled, (1, 1, -1))), 1)


__all__ = [
    "BCELoss",
    "BCEWithLogitsLoss",
    "CTCLoss",
    "CrossEntropyLoss",
    "FocalLoss",
    "KLDivLoss",
    "MultiLabelSoftMarginLoss",
    "MultiMarginLoss",
    "MultilabelMarginLoss",
    "NLLLoss",
    "SampledSoftmaxLoss",
    "SoftMarginLoss",
    "SoftmaxCrossEntropyWithLogits",
]
