"""Metrics of classes: accuracy, precision, recall, F, the k most likely."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from graphc.nn import checks
from graphc.nn.metrics.base import (
    Array,
    EvaluationBase,
    TwoInputs,
    indices,
    labels_within,
    measured,
    misfit,
    rearrange_inputs,
    same_classes,
)

#: Keeps a class that was never predicted, or never there, from dividing by zero.
_EPSILON = sys.float_info.min


def one_hot(labels: Array, classes: int) -> Array:
    """float64 [n, classes]."""
    return np.eye(classes)[labels]


class Accuracy(EvaluationBase):
    """The share of samples that are right, a float (MindSpore: train.Accuracy).

    "classification": where the greatest of the scores [n, classes, ...] stands at the label. "multilabel": samples [n]
    whose labels are all right. See EvaluationBase for the inputs and errors.
    """

    def __init__(self, eval_type: str = "classification") -> None:
        super().__init__(eval_type)
        self.clear()

    def clear(self) -> None:
        """Forget everything."""
        self._correct_num = self._total_num = self._class_num = 0

    @rearrange_inputs
    def update(self, *inputs: Any) -> None:
        """Take in predictions and labels. ArgumentValueError if they do not fit."""
        y_pred, y = self._checked(inputs)
        if self._type == "classification":
            right = y_pred.argmax(axis=1) == y
        else:
            right = np.moveaxis(y_pred == y, 1, -1).reshape(-1, self._class_num).all(axis=1)
        self._correct_num += int(right.sum())
        self._total_num += right.size

    def eval(self) -> float:
        """The share; MetricError before the first sample."""
        measured("Accuracy", self._total_num)
        return self._correct_num / self._total_num


class _Share(EvaluationBase):
    """True positives by class over something: what precision and recall share."""

    def __init__(self, eval_type: str = "classification") -> None:
        super().__init__(eval_type)
        self.clear()

    def clear(self) -> None:
        """Forget everything."""
        self._class_num = 0
        self._true_positives, self._of = np.zeros(0), np.zeros(0)

    def _count(self, prediction: Array, truth: Array) -> Array:
        """What true positives are divided by, from prediction and truth [n, classes]."""
        raise NotImplementedError

    @rearrange_inputs
    def update(self, *inputs: Any) -> None:
        """Take in predictions and labels. ArgumentValueError if they do not fit."""
        y_pred, y = self._checked(inputs)
        if self._type == "classification":
            truth = one_hot(labels_within(type(self).__name__, y, self._class_num), self._class_num)
            prediction = one_hot(y_pred.argmax(axis=1).reshape(-1), self._class_num)
            if not self._of.size:
                self._true_positives, self._of = np.zeros(self._class_num), np.zeros(self._class_num)
            self._true_positives = self._true_positives + (truth * prediction).sum(axis=0)
            self._of = self._of + self._count(prediction, truth)
        else:  # Of every sample: each has its own number.
            prediction, truth = (a.swapaxes(1, 0).reshape(self._class_num, -1).astype(float) for a in (y_pred, y))
            self._true_positives = np.concatenate((self._true_positives, (truth * prediction).sum(axis=0)))
            self._of = np.concatenate((self._of, self._count(prediction, truth)))

    def eval(self, average: bool = False) -> Any:
        """float64 [classes], or [samples] for "multilabel"; with average the mean of these, a float.

        MetricError before the first batch, ArgumentTypeError unless average is a bool.
        """
        checks.boolean(type(self).__name__, "average", average)
        measured(type(self).__name__, self._class_num)
        found = self._true_positives / (self._of + _EPSILON)
        return float(found.mean()) if average else found


class Precision(_Share):
    """True positives over all that is predicted, by class (MindSpore: train.Precision). Inputs: see EvaluationBase."""

    def _count(self, prediction: Array, truth: Array) -> Array:
        counted: Array = prediction.sum(axis=0)
        return counted


class Recall(_Share):
    """True positives over all that is true, by class (MindSpore: train.Recall). Inputs: see EvaluationBase."""

    def _count(self, prediction: Array, truth: Array) -> Array:
        counted: Array = truth.sum(axis=0)
        return counted


class Fbeta(TwoInputs):
    """(1 + beta^2) tp / (beta^2 * true + predicted), by class (MindSpore: train.Fbeta).

    Predictions [n, classes, ...], labels [n, ...] or one-hot. beta: a number > 0, else ArgumentValueError.
    """

    def __init__(self, beta: float) -> None:
        super().__init__()
        self.beta = checks.real("Fbeta", "beta", beta, above=0)
        self.clear()

    def clear(self) -> None:
        """Forget everything."""
        self._class_num = 0
        self._true_positives: Any = 0.0
        self._actual_positives: Any = 0.0
        self._positives: Any = 0.0

    @rearrange_inputs
    def update(self, *inputs: Any) -> None:
        """Take in predictions and labels. ArgumentValueError if they do not fit."""
        y_pred, y = self._pair(inputs)
        owner = type(self).__name__
        if y_pred.ndim < 2:
            raise misfit(owner, f"predictions must have the shape (n, classes, ...), got {y_pred.shape}")
        y = indices(y_pred, y)
        classes = self._class_num = same_classes(owner, self._class_num, y_pred)
        truth = one_hot(labels_within(owner, y, classes), classes)
        prediction = one_hot(y_pred.argmax(axis=1).reshape(-1), classes)
        if truth.shape != prediction.shape:
            raise misfit(owner, f"there are {len(truth)} labels for {len(prediction)} predictions")
        self._positives = self._positives + prediction.sum(axis=0)
        self._actual_positives = self._actual_positives + truth.sum(axis=0)
        self._true_positives = self._true_positives + (truth * prediction).sum(axis=0)

    def eval(self, average: bool = False) -> Any:
        """float64 [classes]; with average their mean, a float. MetricError before the first batch."""
        checks.boolean(type(self).__name__, "average", average)
        measured(type(self).__name__, self._class_num)
        squared = self.beta**2
        below = squared * self._actual_positives + self._positives + _EPSILON
        found = (1.0 + squared) * self._true_positives / below
        return float(found.mean()) if average else found


class F1(Fbeta):
    """Fbeta with beta 1 (MindSpore: train.F1)."""

    def __init__(self) -> None:
        super().__init__(1.0)


class TopKCategoricalAccuracy(TwoInputs):
    """The share of labels among the k greatest scores (MindSpore: train.TopKCategoricalAccuracy).

    Scores [n, classes]; labels [n], or one-hot [n, classes]. Equal scores count in the order of the classes. k: an int of
    at least 1. Raises ArgumentTypeError or ArgumentValueError.
    """

    def __init__(self, k: int) -> None:
        super().__init__()
        self.k = checks.integer(type(self).__name__, "k", k)
        self.clear()

    def clear(self) -> None:
        """Forget everything."""
        self._correct_num = self._samples_num = 0

    @rearrange_inputs
    def update(self, *inputs: Any) -> None:
        """Take in scores and labels. ArgumentValueError if they do not fit."""
        scores, y = self._pair(inputs)
        y = indices(scores, y).reshape(-1)
        if scores.ndim != 2 or len(scores) != len(y):
            raise misfit(
                type(self).__name__,
                f"scores must have the shape (n, classes), labels (n,); got {scores.shape} and {len(y)} labels",
            )
        best = np.argsort(-scores, axis=1, kind="stable")[:, : self.k]
        self._correct_num += int((best == y[:, None]).sum())
        self._samples_num += len(y)

    def eval(self) -> float:
        """The share; MetricError before the first sample."""
        measured(type(self).__name__, self._samples_num)
        return self._correct_num / self._samples_num


class Top1CategoricalAccuracy(TopKCategoricalAccuracy):
    """TopKCategoricalAccuracy with k = 1 (MindSpore: train.Top1CategoricalAccuracy)."""

    def __init__(self) -> None:
        super().__init__(1)


class Top5CategoricalAccuracy(TopKCategoricalAccuracy):
    """TopKCategoricalAccuracy with k = 5 (MindSpore: train.Top5CategoricalAccuracy)."""

    def __init__(self) -> None:
        super().__init__(5)


__all__ = [
    "F1",
    "Accuracy",
    "Fbeta",
    "Precision",
    "Recall",
    "Top1CategoricalAccuracy",
    "Top5CategoricalAccuracy",
    "TopKCategoricalAccuracy",
]
