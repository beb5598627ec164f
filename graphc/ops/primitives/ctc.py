"""CTCLoss: connectionist temporal classification of logits, with labels that come one by one."""

from __future__ import annotations

import numpy as np

from graphc.errors import ShapeError, user_loc
from graphc.ops import functional as F
from graphc.ops.functional.require import require
from graphc.ops.gradients.reverse import grad
from graphc.ops.tensor.primitive import Hint, Only, declare
from graphc.ops.tensor.tensor import Tensor, as_tensor


def _ctc_of_logits(
    x: Tensor, labels_indices: Tensor, labels_values: Tensor, sequence_length: Tensor
) -> tuple[Tensor, Tensor]:
    """(loss [N], its gradient for x): connectionist temporal classification of logits [T, N, C], the last class blank.

    labels_indices: [L, 2], whose first column says to which of the N sequences a label belongs; labels_values: [L], in their
    order (MindSpore takes sorted indices). What is no class but the blank ends the labels of a sequence: ArgumentValueError for a
    class behind that, in a compiled step when it has run. sequence_length: [N], up to T. Labels that do not fit have the loss
    inf, without a gradient.
    """
    logits = as_tensor(x, "CTCLoss: x")
    places, values = (as_tensor(v, "CTCLoss: labels") for v in (labels_indices, labels_values))
    if logits.ndim != 3 or places.shape != (values.size, 2):
        raise ShapeError(
            f"CTCLoss: x is {logits.tensor_type}, labels_indices {places.tensor_type} and labels_values {values.tensor_type},"
            " expected [T, N, C], [L, 2] and [L]",
            loc=user_loc(),
        )
    labels = _in_rows(F.cast(places[:, 0], "int32"), F.cast(values, "int32"), logits.shape)
    known = F.cast(F.logical_and(F.greater_equal(labels, 0), F.less(labels, logits.shape[2] - 1)), "int32")
    inside = F.cumprod(known, 1)
    lengths = F.reduce_sum(inside, 1)
    whole = F.reduce_all(F.equal(F.reduce_sum(known, 1), lengths))
    require(whole, "CTCLoss: the labels of a sequence have a class behind one that is none, or the blank")
    given = (F.mul(labels, inside), sequence_length, lengths)
    return _losses(logits, *given), _gradient(F.stop_gradient(logits), *given)


def _losses(logits: Tensor, labels: Tensor, sequence_length: Tensor, lengths: Tensor) -> Tensor:
    blank = logits.shape[2] - 1
    loss: Tensor = F.ctc_loss(F.log_softmax(logits, -1), labels, sequence_length, lengths, blank, "none")[0]
    return loss


_gradient = grad(_losses)


def _in_rows(rows: Tensor, values: Tensor, shape: tuple[int, ...]) -> Tensor:
    """[N, S]: the values of each row in their order, then -1. S: as many as a row has, or one more than could ever fit."""
    steps, n, _ = shape
    count = rows.size
    before = F.cast(F.equal(F.expand_dims(rows, 1), F.expand_dims(rows, 0)), "int32")
    rank = F.reduce_sum(F.mul(before, Tensor(np.tri(count, k=-1, dtype=np.int32))), 1)
    most = min(count, steps + 1) if rank.array is None else int(rank.array.max(initial=0)) + 1
    empty = F.fill("int32", (n, most + 1), -1)
    return F.tensor_scatter_update(empty, F.stack((rows, F.minimum(rank, most)), 1), values)[:, :most]


CTCLoss = declare(
    "CTCLoss",
    _ctc_of_logits,
    preprocess_collapse_repeated=Only(False),
    ctc_merge_repeated=Only(True),
    ignore_longer_outputs_than_inputs=Hint(False),
)


__all__ = ["CTCLoss"]
