"""Primitives of losses: margins, triplets, connectionist temporal classification."""

from __future__ import annotations

from typing import Any

from graphc.ops import functional as F
from graphc.ops.functional.core import Operand
from graphc.ops.functional.loss import reduced
from graphc.ops.functional.margin_losses import label_margins, labels_of
from graphc.ops.tensor.primitive import declare
from graphc.ops.tensor.tensor import Tensor


def _multi_margin(
    x: Tensor, target: Tensor, weight: Tensor | None = None, *, p: int, margin: float, reduction: str
) -> Tensor:
    """sum over the other classes j of max(0, margin - x[target] + x[j])^p, divided by the number of classes; reduced."""
    return F.multi_margin_loss(x, target, p, margin, weight, reduction)


MultiMarginLoss = declare("MultiMarginLoss", _multi_margin, p=1, margin=1.0, reduction="mean")


def _multilabel_margin(x: Tensor, target: Tensor, reduction: str) -> tuple[Tensor, Tensor]:
    """(multilabel_margin_loss, int32: 1 for the classes that are labels)."""
    rows, labels, alone = labels_of("MultilabelMarginLoss", x, target)
    loss, labelled = label_margins(rows, labels)
    marks = F.cast(labelled, "int32")
    if alone:
        loss, marks = F.squeeze(loss, 0), F.squeeze(marks, 0)
    return reduced("MultilabelMarginLoss", loss, reduction), marks


MultilabelMarginLoss = declare("MultilabelMarginLoss", _multilabel_margin, reduction="mean")


def _triplet_margin(
    x: Tensor, positive: Tensor, negative: Tensor, margin: Operand, p: int, swap: bool, eps: float, reduction: str
) -> Tensor:
    """max(0, d(x, positive) - d(x, negative) + margin), reduced."""
    return F.triplet_margin_loss(x, positive, negative, margin, p, eps, swap, reduction)


TripletMarginLoss = declare("TripletMarginLoss", _triplet_margin, p=2, swap=False, eps=1e-6, reduction="mean")


def _ctc(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Any,
    target_lengths: Any,
    blank: int,
    reduction: str,
    zero_infinity: bool,
) -> tuple[Tensor, Tensor]:
    """(loss, log_alpha) of ctc_loss."""
    return F.ctc_loss(log_probs, targets, input_lengths, target_lengths, blank, reduction, zero_infinity)


CTCLossV2 = declare("CTCLossV2", _ctc, blank=0, reduction="none", zero_infinity=False)

CTCGreedyDecoder = declare(
    "CTCGreedyDecoder",
    lambda inputs, sequence_length, merge_repeated: F.ctc_greedy_decoder(inputs, sequence_length, merge_repeated),
    F.ctc_greedy_decoder.__doc__,
    merge_repeated=True,
)
