"""Confusion matrices, and the numbers that are made of one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from graphc.errors import ArgumentValueError, user_loc
from graphc.nn import checks
from graphc.nn.metrics.base import Array, TwoInputs, is_binary, labels_within, measured, misfit, rearrange_inputs

_NORMALIZE = ("no_norm", "target", "prediction", "all")
_DECREASE = ("none", "mean", "sum", "mean_batch", "sum_batch", "mean_channel", "sum_channel")


class ConfusionMatrix(TwoInputs):
    """float64 [classes, classes]: how often class i (row) was taken for class j (MindSpore: train.ConfusionMatrix).

    Labels [n, ...]; predictions [n, classes, ...] of scores, or [n, ...] of classes, or, for two classes, of float scores
    that count as class 1 from threshold on. normalize: "no_norm", or each row ("target"), column ("prediction") or the
    whole ("all") sums up to 1; rows and columns of nothing are 0. num_classes: an int; threshold: a float.
    Raises ArgumentTypeError or ArgumentValueError.
    """

    def __init__(self, num_classes: int, normalize: str = "no_norm", threshold: float = 0.5) -> None:
        super().__init__()
        owner = "ConfusionMatrix"
        self.num_classes = checks.integer(owner, "num_classes", num_classes)
        if normalize not in _NORMALIZE:
            raise checks.wrong_value(owner, "normalize", f"one of {', '.join(map(repr, _NORMALIZE))}", normalize)
        self.normalize = normalize
        self.threshold = checks.exact_float(owner, "threshold", threshold)
        self.clear()

    def clear(self) -> None:
        """Forget everything."""
        self.confusion_matrix = np.zeros((self.num_classes, self.num_classes))
        self._is_update = False

    @rearrange_inputs
    def update(self, *inputs: Any) -> None:
        """Take in predictions and labels. ArgumentValueError if they do not fit."""
        owner = "ConfusionMatrix"
        y_pred, y = self._pair(inputs)
        if y_pred.ndim == y.ndim + 1:
            y_pred = y_pred.argmax(axis=1)
        elif y_pred.dtype.kind == "f":
            y_pred = (y_pred >= self.threshold).astype(np.int64)
        if y_pred.shape != y.shape:
            raise misfit(owner, f"labels {y.shape} do not fit the predictions, which are of shape {y_pred.shape}")
        truth, prediction = (labels_within(owner, a, self.num_classes) for a in (y, y_pred))
        counts = np.bincount(truth * self.num_classes + prediction, minlength=self.num_classes**2)
        self.confusion_matrix = self.confusion_matrix + counts.reshape(self.confusion_matrix.shape)
        self._is_update = True

    def eval(self) -> Array:
        """The matrix; MetricError before the first batch."""
        measured("ConfusionMatrix", self._is_update)
        matrix: Array = self.confusion_matrix.copy()
        axis = {"target": 1, "prediction": 0, "all": None}
        if self.normalize != "no_norm":
            total = matrix.sum(axis=axis[self.normalize], keepdims=True)
            matrix = np.asarray(np.divide(matrix, total, out=np.zeros_like(matrix), where=total != 0))
        return matrix


def _ratio(above: Array, below: Array) -> Array:
    """above / below, NaN where below is 0."""
    return np.asarray(np.divide(above, below, out=np.full(np.shape(above), np.nan), where=below != 0))


def _threshold(tp: Array, fp: Array, tn: Array, fn: Array) -> Array:
    tpr, tnr = _ratio(tp, tp + fn), _ratio(tn, tn + fp)
    return _ratio(np.sqrt(tpr * (1.0 - tnr)) + tnr - 1.0, tpr + tnr - 1.0)


def _matthews(tp: Array, fp: Array, tn: Array, fn: Array) -> Array:
    return _ratio(tp * tn - fp * fn, np.sqrt((tp + fp) * (tp + fn) * (tn + fp) * (tn + fn)))


#: (names, formula of true positives, false positives, true negatives, false negatives).
FORMULAS: tuple[tuple[str, Callable[[Array, Array, Array, Array], Array]], ...] = (
    ("sensitivity recall hit_rate true_positive_rate tpr", lambda tp, fp, tn, fn: _ratio(tp, tp + fn)),
    ("specificity selectivity true_negative_rate tnr", lambda tp, fp, tn, fn: _ratio(tn, tn + fp)),
    ("precision positive_predictive_value ppv", lambda tp, fp, tn, fn: _ratio(tp, tp + fp)),
    ("negative_predictive_value npv", lambda tp, fp, tn, fn: _ratio(tn, tn + fn)),
    ("miss_rate false_negative_rate fnr", lambda tp, fp, tn, fn: _ratio(fn, tp + fn)),
    ("fall_out false_positive_rate fpr", lambda tp, fp, tn, fn: _ratio(fp, tn + fp)),
    ("false_discovery_rate fdr", lambda tp, fp, tn, fn: _ratio(fp, tp + fp)),
    ("false_omission_rate for", lambda tp, fp, tn, fn: _ratio(fn, tn + fn)),
    ("prevalence_threshold pt", _threshold),
    ("threat_score critical_success_index ts csi", lambda tp, fp, tn, fn: _ratio(tp, tp + fn + fp)),
    ("accuracy acc", lambda tp, fp, tn, fn: _ratio(tp + tn, tp + fn + fp + tn)),
    ("balanced_accuracy ba", lambda tp, fp, tn, fn: (_ratio(tp, tp + fn) + _ratio(tn, tn + fp)) / 2.0),
    ("f1_score f1", lambda tp, fp, tn, fn: _ratio(2.0 * tp, 2.0 * tp + fn + fp)),
    ("matthews_correlation_coefficient mcc", _matthews),
    ("fowlkes_mallows_index fm", lambda tp, fp, tn, fn: np.sqrt(_ratio(tp, tp + fp) * _ratio(tp, tp + fn))),
    (
        "informedness bookmaker_informedness bm",
        lambda tp, fp, tn, fn: _ratio(tp, tp + fn) + _ratio(tn, tn + fp) - 1.0,
    ),
    ("markedness deltap mk", lambda tp, fp, tn, fn: _ratio(tp, tp + fp) + _ratio(tn, tn + fn) - 1.0),
)
_BY_NAME = {name: formula for names, formula in FORMULAS for name in names.split()}


class UnknownMetricError(ArgumentValueError, NotImplementedError):
    """A number that no confusion matrix gives (MindSpore: NotImplementedError)."""


class ConfusionMatrixMetric(TwoInputs):
    """A number made of true and false positives and negatives (MindSpore: train.ConfusionMatrixMetric).

    Predictions and truths [n, classes, ...] of zeros and ones; without skip_channel class 0 does not count.
    metric_name: see the table in docs/training.md, "sensitivity" for example. With calculation_method the number is
    computed for every sample and class, reduced as `decrease` says ("none", "mean", "sum", "mean_batch", "sum_batch",
    "mean_channel", "sum_channel"; numbers that do not exist do not count) and averaged over batches, which needs a
    reduction to one number; without, counts are added up first, and the result is float64 [1].
    Raises ArgumentTypeError, ArgumentValueError, UnknownMetricError (a NotImplementedError).
    """

    def __init__(
        self,
        skip_channel: bool = True,
        metric_name: str = "sensitivity",
        calculation_method: bool = False,
        decrease: str = "mean",
    ) -> None:
        super().__init__()
        owner = "ConfusionMatrixMetric"
        self.skip_channel = checks.boolean(owner, "skip_channel", skip_channel)
        if not isinstance(metric_name, str):
            raise checks.wrong_type(owner, "metric_name", "a string", metric_name)
        self.metric_name = metric_name.replace(" ", "_").lower()
        if self.metric_name not in _BY_NAME:
            raise UnknownMetricError(
                f"{owner}: there is no metric_name {metric_name!r}",
                loc=user_loc(),
                help=f"one of {', '.join(names.split()[0] for names, _ in FORMULAS)}",
            )
        self.calculation_method = checks.boolean(owner, "calculation_method", calculation_method)
        self.decrease = checks.one_of(owner, "decrease", decrease, _DECREASE)
        self.clear()

    def clear(self) -> None:
        """Forget everything."""
        self._total, self._numbers = 0.0, 0
        self._counts: Array | None = None

    @rearrange_inputs
    def update(self, *inputs: Any) -> None:
        """Take in predictions and truths. ArgumentValueError if they do not fit."""
        owner = "ConfusionMatrixMetric"
        y_pred, y = self._pair(inputs)
        if y_pred.shape != y.shape or y.ndim < 2:
            raise misfit(owner, f"both inputs must have one shape (n, classes, ...), got {y_pred.shape} and {y.shape}")
        if not is_binary(y) or not is_binary(y_pred):
            raise misfit(owner, "predictions and truths are zeros and ones")
        counts = _counts(y_pred, y, self.skip_channel)
        # One element per sample and class has no number of its own.
        if self.calculation_method and not (y.ndim == 2 or (y.ndim == 3 and y.shape[-1] == 1)):
            value, known = _decreased(_BY_NAME[self.metric_name](*counts), self.decrease)
            if value.size != 1:
                raise misfit(owner, f"decrease={self.decrease!r} leaves {value.size} numbers, one is needed")
            self._total += float(value.item() * known.item())
            self._numbers += int(known.item())
        else:
            summed = counts.sum(axis=(1, 2))
            self._counts = summed if self._counts is None else self._counts + summed

    def eval(self) -> Any:
        """The number, a float, or float64 [1] of counts that were added up. MetricError before the first batch."""
        measured("ConfusionMatrixMetric", self._counts is not None or self._numbers)
        if self._counts is None:
            return self._total / self._numbers
        return _BY_NAME[self.metric_name](*self._counts[:, None])


def _counts(y_pred: Array, y: Array, skip_channel: bool) -> Array:
    """float64 [4, n, classes]: true positives, false positives, true negatives, false negatives."""
    if not skip_channel and y.shape[1] > 1:
        y, y_pred = y[:, 1:], y_pred[:, 1:]
    truth, said = (a.reshape(*a.shape[:2], -1).astype(bool) for a in (y, y_pred))
    pairs = ((truth & said), (~truth & said), (~truth & ~said), (truth & ~said))
    return np.stack([p.sum(axis=2).astype(float) for p in pairs])


def _decreased(numbers: Array, decrease: str) -> tuple[Array, Array]:
    """Numbers [n, classes] reduced, and how many of them exist; those that do not are NaN."""
    known = (~np.isnan(numbers)).astype(float)
    numbers = np.where(known > 0, numbers, 0.0)

    def mean(values: Array, counts: Array, axis: int) -> tuple[Array, Array]:
        count = counts.sum(axis=axis)
        return np.divide(values.sum(axis=axis), count, out=np.zeros(count.shape), where=count > 0), count

    if decrease == "none":
        return numbers, known
    if decrease == "sum":
        return numbers.sum(axis=(0, 1)), known.sum(axis=(0, 1))
    axis = 0 if decrease.endswith("batch") else 1
    if decrease.startswith("sum"):
        return numbers.sum(axis=axis), known.sum(axis=axis)
    value, count = mean(numbers, known, axis)
    return mean(value, (count > 0).astype(float), 0) if decrease == "mean" else (value, count)


__all__ = ["ConfusionMatrix", "ConfusionMatrixMetric"]
