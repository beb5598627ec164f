"""Metrics of numbers: mean errors, the loss, perplexity, Dice's coefficient, similarity of rows."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from graphc.nn import checks
from graphc.nn.metrics.base import Array, Metric, TwoInputs, counted, measured, misfit, rearrange_inputs


class _MeanError(TwoInputs):
    """The sum of errors over the number of samples (axis 0), not of elements."""

    def __init__(self) -> None:
        super().__init__()
        self.clear()

    def clear(self) -> None:
        """Forget everything."""
        self._sum, self._samples_num = 0.0, 0

    def _errors(self, difference: Array) -> Array:
        raise NotImplementedError

    @rearrange_inputs
    def update(self, *inputs: Any) -> None:
        """Take in predictions and truths of as many elements. ArgumentValueError if they do not fit."""
        y_pred, y = self._pair(inputs)
        if y_pred.size != y.size or not y.ndim:
            raise misfit(
                type(self).__name__, f"truths {y.shape} do not have as many elements as predictions {y_pred.shape}"
            )
        difference = y.reshape(y_pred.shape).astype(np.float64) - y_pred
        self._sum += float(self._errors(difference).sum())
        self._samples_num += y.shape[0]

    def eval(self) -> float:
        """The mean over samples; MetricError before the first one."""
        measured(type(self).__name__, self._samples_num)
        return self._sum / self._samples_num


class MAE(_MeanError):
    """Sum of |truth - prediction| over all elements, divided by the number of samples (MindSpore: train.MAE)."""

    def _errors(self, difference: Array) -> Array:
        return np.abs(difference)


class MSE(_MeanError):
    """Sum of (truth - prediction)^2 over all elements, divided by the number of samples (MindSpore: train.MSE)."""

    def _errors(self, difference: Array) -> Array:
        return np.square(difference)


class Loss(Metric):
    """The mean of the losses of all batches, each a number or a vector that counts by its mean (MindSpore: train.Loss)."""

    def __init__(self) -> None:
        super().__init__()
        self.clear()

    def clear(self) -> None:
        """Forget everything."""
        self._sum_loss, self._total_num = 0.0, 0

    @rearrange_inputs
    def update(self, *inputs: Any) -> None:
        """Take in the loss of a batch, of no axis or one. ArgumentValueError for more."""
        loss = self._convert_data(*counted("Loss", inputs, "loss"))
        if loss.ndim > 1:
            raise misfit("Loss", f"the loss must have at most one axis, got shape {loss.shape}")
        self._sum_loss += float(loss.mean(dtype=np.float64))
        self._total_num += 1

    def eval(self) -> float:
        """The mean over batches; MetricError before the first one."""
        measured("Loss", self._total_num)
        return self._sum_loss / self._total_num


class Perplexity(TwoInputs):
    """exp of the mean of -log(probability of the label) (MindSpore: train.Perplexity).

    Probabilities [..., classes] and labels [...]; probabilities below 1e-10 count as that. Labels equal to ignore_label,
    an int or None, do not count. Raises ArgumentTypeError for another one.
    """

    def __init__(self, ignore_label: int | None = None) -> None:
        super().__init__()
        if ignore_label is not None and not checks.is_int(ignore_label):
            raise checks.wrong_type("Perplexity", "ignore_label", "an int or None", ignore_label)
        self.ignore_label = ignore_label
        self.clear()

    def clear(self) -> None:
        """Forget everything."""
        self._sum_metric, self._num_inst = 0.0, 0

    @rearrange_inputs
    def update(self, *inputs: Any) -> None:
        """Take in probabilities and labels. ArgumentValueError if they do not fit."""
        probabilities, labels = self._pair(inputs)
        if probabilities.ndim == 0 or labels.size * probabilities.shape[-1] != probabilities.size:
            raise misfit("Perplexity", f"there are labels {labels.shape} for probabilities {probabilities.shape}")
        flat, labels = probabilities.reshape(-1, probabilities.shape[-1]), labels.reshape(-1).astype(np.int64)
        kept = labels != self.ignore_label if self.ignore_label is not None else np.full(labels.shape, True)
        flat, labels = flat[kept], labels[kept]
        if labels.size and (labels.min() < 0 or labels.max() >= flat.shape[1]):
            raise misfit(
                "Perplexity",
                f"labels must lie in 0 to {flat.shape[1] - 1}, got {labels.min()} to {labels.max()}",
            )
        chosen = flat[np.arange(labels.size), labels].astype(np.float64)
        self._sum_metric -= float(np.log(np.maximum(1e-10, chosen)).sum())
        self._num_inst += labels.size

    def eval(self) -> float:
        """The perplexity; MetricError before the first label that counts."""
        measured("Perplexity", self._num_inst)
        return math.exp(self._sum_metric / self._num_inst)


class Dice(TwoInputs):
    """Dice's coefficient: 2 a.b / (a.a + b.b + smooth) of each batch, summed, over the samples (MindSpore: train.Dice).

    Prediction and truth have one shape. smooth: a float > 0. Raises ArgumentTypeError or ArgumentValueError.
    """

    def __init__(self, smooth: float = 1e-5) -> None:
        super().__init__()
        self.smooth = checks.exact_float("Dice", "smooth", smooth, above=0)
        self.clear()

    def clear(self) -> None:
        """Forget everything."""
        self._dice_coeff_sum, self._samples_num = 0.0, 0

    @rearrange_inputs
    def update(self, *inputs: Any) -> None:
        """Take in predictions and truths. ArgumentValueError if their shapes differ."""
        y_pred, y = self._pair(inputs)
        if y_pred.shape != y.shape or not y.ndim:
            raise misfit("Dice", f"prediction and truth must have one shape, got {y_pred.shape} and {y.shape}")
        a, b = (x.reshape(-1).astype(np.float64) for x in (y_pred, y))
        self._dice_coeff_sum += float(2 * (a @ b) / (a @ a + b @ b + self.smooth))
        self._samples_num += y.shape[0]

    def eval(self) -> float:
        """The sum over batches divided by the number of samples; MetricError before the first one."""
        measured("Dice", self._samples_num)
        return self._dice_coeff_sum / self._samples_num


class CosineSimilarity(Metric):
    """Similarity of every row to every other, of the last batch (MindSpore: train.CosineSimilarity).

    Input [n, features]. similarity: "cosine" or "dot"; reduction over the last axis: "none" (the matrix [n, n]), "sum" or
    "mean" ([n]); zero_diagonal sets a row's similarity to itself to 0. Raises ArgumentTypeError or ArgumentValueError.
    """

    def __init__(self, similarity: str = "cosine", reduction: str = "none", zero_diagonal: bool = True) -> None:
        super().__init__()
        owner = "CosineSimilarity"
        self.similarity = checks.one_of(owner, "similarity", similarity, ("dot", "cosine"))
        self.reduction = checks.one_of(owner, "reduction", reduction, ("none", "sum", "mean"))
        self.zero_diagonal = checks.boolean(owner, "zero_diagonal", zero_diagonal)
        self.clear()

    def clear(self) -> None:
        """Forget everything."""
        self.sqr_mtx_res: Array | None = None

    @rearrange_inputs
    def update(self, *inputs: Any) -> None:
        """Take in rows [n, features], in place of those before. ArgumentValueError for another number of axes."""
        rows = self._convert_data(*counted("CosineSimilarity", inputs, "rows"))
        if rows.ndim != 2:
            raise misfit("CosineSimilarity", f"the input must have the shape (n, features), got {rows.shape}")
        if self.similarity == "cosine":
            rows = rows / np.linalg.norm(rows, axis=1, keepdims=True)
        self.sqr_mtx_res = rows @ rows.T

    def eval(self) -> Array:
        """The matrix, or its reduction; MetricError before the first batch."""
        measured("CosineSimilarity", self.sqr_mtx_res is not None)
        found = np.array(self.sqr_mtx_res)
        if self.zero_diagonal:
            np.fill_diagonal(found, 0)
        if self.reduction == "none":
            return found
        return np.asarray(found.mean(axis=-1) if self.reduction == "mean" else found.sum(axis=-1))


__all__ = ["MAE", "MSE", "CosineSimilarity", "Dice", "Loss", "Perplexity"]
