"""The receiver operating characteristic, and the area under a curve."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphc.nn import checks
from graphc.nn.metrics.base import Array, TwoInputs, measured, misfit, rearrange_inputs


class ROC(TwoInputs):
    """False positive rates, true positive rates and thresholds of the last batch (MindSpore: train.ROC).

    Two classes: scores and labels of one shape; pos_label is the label that counts as positive, 1 by default. Several:
    scores [n, classes, ...], labels [n, ...], class_num classes, each against the others; pos_label must be None.
    Raises ArgumentTypeError or ArgumentValueError.
    """

    def __init__(self, class_num: int | None = None, pos_label: int | None = None) -> None:
        super().__init__()
        for name, value in (("class_num", class_num), ("pos_label", pos_label)):
            if value is not None and not checks.is_int(value):
                raise checks.wrong_type("ROC", name, "an int or None", value)
        self.class_num, self.pos_label = class_num, pos_label
        self.clear()

    def clear(self) -> None:
        """Forget everything."""
        self.y_pred: Array | None = None
        self.y: Array | None = None

    @rearrange_inputs
    def update(self, *inputs: Any) -> None:
        """Take in scores and labels, in place of those before. ArgumentValueError if they do not fit."""
        y_pred, y = self._pair(inputs)
        if y_pred.ndim == y.ndim:
            if self.class_num not in (None, 1):
                raise misfit("ROC", f"scores and labels of one shape have one class, class_num is {self.class_num}")
            y_pred = y_pred.reshape(-1)
        elif y_pred.ndim == y.ndim + 1 and y.ndim:
            if self.pos_label is not None:
                raise misfit("ROC", f"with several classes each is positive in turn, pos_label is {self.pos_label}")
            if self.class_num != y_pred.shape[1]:
                raise misfit("ROC", f"the scores have {y_pred.shape[1]} classes, class_num is {self.class_num}")
            y_pred = np.moveaxis(y_pred, 1, -1).reshape(-1, y_pred.shape[1])
        if len(y_pred) != y.size or y.size == 0:
            raise misfit("ROC", f"labels {y.shape} do not fit scores {inputs[0].shape}")
        self.y_pred, self.y = y_pred, y.reshape(-1)

    def eval(self) -> tuple[Any, Any, Any]:
        """(false positive rates, true positive rates, thresholds): float64 arrays, or lists of them by class.

        MetricError before the first batch; ArgumentValueError if there are no positive, or no negative, samples.
        """
        measured("ROC", self.y is not None)
        assert self.y is not None
        assert self.y_pred is not None
        if self.y_pred.ndim == 1:
            return _curve(self.y_pred, self.y == (1 if self.pos_label is None else self.pos_label))
        classes = [_curve(self.y_pred[:, c], self.y == c) for c in range(self.y_pred.shape[1])]
        rates, hits, thresholds = zip(*classes, strict=True)
        return list(rates), list(hits), list(thresholds)


def _curve(scores: Array, positive: Array) -> tuple[Array, Array, Array]:
    """The curve from (0, 0): one point per distinct score, from the greatest on."""
    order = np.argsort(-scores, kind="stable")
    scores, positive = scores[order], positive[order]
    ends = np.append(np.flatnonzero(np.diff(scores)), len(scores) - 1)
    hits = np.append(0, np.cumsum(positive)[ends])
    misses = np.append(0, 1 + ends) - hits
    for kind, counts in (("negative", misses), ("positive", hits)):
        if counts[-1] == 0:
            raise misfit("ROC", f"there is no {kind} sample, the rate means nothing")
    return misses / misses[-1], hits / hits[-1], np.append(scores[0] + 1, scores[ends])


def auc(x: Array, y: Array, reorder: bool = False) -> float:
    """The area under the curve through the points (x, y), by the trapezoidal rule (MindSpore: train.auc).

    x, y: arrays of one length of at least 2, of one axis or [n, 1]; x must rise or fall, unless reorder sorts it.
    Raises ArgumentTypeError or ArgumentValueError.
    """
    checks.boolean("auc", "reorder", reorder)
    for name, value in (("x", x), ("y", y)):
        if not isinstance(value, np.ndarray):
            raise checks.wrong_type("auc", name, "an array", value)
        if not (value.ndim == 1 or (value.ndim == 2 and value.shape[1] == 1)):
            raise misfit("auc", f"{name} must have the shape (n,) or (n, 1), got {value.shape}")
    x, y = x.reshape(-1), y.reshape(-1)
    if len(x) != len(y) or len(x) < 2:
        raise misfit("auc", f"x and y must have one length of at least 2, got {len(x)} and {len(y)}")
    if reorder:
        order = np.lexsort((y, x))
        x, y = x[order], y[order]
    steps = np.diff(x)
    if (steps < 0).any() and (steps > 0).any():
        raise misfit("auc", "x neither rises nor falls; reorder=True sorts the points")
    area = float((steps * (y[1:] + y[:-1])).sum() / 2.0)
    return -area if (steps < 0).any() else area


__all__ = ["ROC", "auc"]
