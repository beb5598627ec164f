"""Losses."""

from __future__ import annotations

from typing import Any

from graphc import ops
from graphc.errors import ArgumentTypeError
from graphc.nn import checks
from graphc.nn.cell import Cell
from graphc.ops.tensor import Parameter, Tensor, as_tensor


class LossBase(Cell):
    """Base of the losses (MindSpore: nn.LossBase).

    reduction: "mean", "sum" or "none". Raises ArgumentValueError for any other.
    """

    def __init__(self, reduction: str = "mean") -> None:
        super().__init__()
        self.reduction = checks.one_of(type(self).__name__, "reduction", reduction, ("mean", "sum", "none"))

    def get_axis(self, x: Tensor) -> tuple[int, ...]:
        """All axes of x."""
        return tuple(range(x.ndim))

    def get_loss(self, x: Tensor, weights: float | Tensor = 1.0) -> Tensor:
        """`x * weights` reduced, in x's dtype. float16 is multiplied and summed in float32."""
        narrow = x.type.dtype == "float16"
        y = ops.cast(x, "float32") if narrow else x
        if isinstance(weights, Tensor) or weights != 1.0:
            y = y * weights
        if self.reduction == "mean":
            y = ops.reduce_mean(y)
        elif self.reduction == "sum":
            y = ops.reduce_sum(y)
        return ops.cast(y, "float16") if narrow else y

    def construct(self, logits: Any, labels: Any) -> Tensor:
        raise ArgumentTypeError(f"{type(self).__name__} does not define construct")

    def extend_repr(self) -> str:
        return f"reduction={self.reduction}"


class L1Loss(LossBase):
    """|logits - labels|, reduced. The two are broadcast."""

    def construct(self, logits: Any, labels: Any) -> Tensor:
        return self.get_loss(ops.abs(logits - labels))


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


class SoftMarginLoss(LossBase):
    """log(1 + exp(-labels logits)), reduced; labels are 1 or -1."""

    def construct(self, logits: Any, labels: Any) -> Tensor:
        return self.get_loss(ops.soft_margin_loss(logits, labels, "none"))


class MarginRankingLoss(LossBase):
    """max(0, -labels (x1 - x2) + margin), reduced."""

    def __init__(self, margin: float = 0.0, reduction: str = "mean") -> None:
        super().__init__(reduction)
        self.margin = checks.real("MarginRankingLoss", "margin", margin)

    def construct(self, x1: Any, x2: Any, labels: Any) -> Tensor:  # type: ignore[override]
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

    def construct(self, logits_x1: Any, logits_x2: Any, labels: Any) -> Tensor:  # type: ignore[override]
        return self.get_loss(ops.cosine_embedding_loss(logits_x1, logits_x2, labels, self.margin, "none"))


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
    range gives NaN; otherwise probabilities [N, classes] of the logits' dtype. Labels get no gradient.
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
