"""Metrics by name."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from typing import Any

from graphc.errors import ArgumentTypeError, ArgumentValueError, user_loc
from graphc.nn.metrics.base import Metric
from graphc.nn.metrics.bleu import BleuScore
from graphc.nn.metrics.classification import (
    F1,
    Accuracy,
    Precision,
    Recall,
    Top1CategoricalAccuracy,
    Top5CategoricalAccuracy,
    TopKCategoricalAccuracy,
)
from graphc.nn.metrics.confusion import ConfusionMatrix, ConfusionMatrixMetric
from graphc.nn.metrics.curves import ROC, auc
from graphc.nn.metrics.numbers import MAE, MSE, CosineSimilarity, Dice, Loss, Perplexity
from graphc.nn.metrics.occlusion import OcclusionSensitivity
from graphc.nn.metrics.surface import HausdorffDistance, MeanSurfaceDistance, RootMeanSquareDistance

_BY_NAME: dict[str, Callable[..., Any]] = {
    "accuracy": Accuracy,
    "acc": Accuracy,
    "precision": Precision,
    "recall": Recall,
    "F1": F1,
    "dice": Dice,
    "roc": ROC,
    "auc": auc,
    "bleu_score": BleuScore,
    "cosine_similarity": CosineSimilarity,
    "occlusion_sensitivity": OcclusionSensitivity,
    "topk": TopKCategoricalAccuracy,
    "hausdorff_distance": HausdorffDistance,
    "top_1_accuracy": Top1CategoricalAccuracy,
    "top_5_accuracy": Top5CategoricalAccuracy,
    "mae": MAE,
    "mse": MSE,
    "loss": Loss,
    "mean_surface_distance": MeanSurfaceDistance,
    "root_mean_square_distance": RootMeanSquareDistance,
    "perplexity": Perplexity,
    "confusion_matrix": ConfusionMatrix,
    "confusion_matrix_metric": ConfusionMatrixMetric,
}


class UnknownNameError(ArgumentValueError, KeyError):
    """A metric's name that does not exist (MindSpore: KeyError)."""


def names() -> list[str]:
    """The names of the metrics, sorted (MindSpore: train.names)."""
    return sorted(_BY_NAME)


def get_metric_fn(name: str, *args: Any, **kwargs: Any) -> Any:
    """The metric of a name, made with the other arguments (MindSpore: train.get_metric_fn). UnknownNameError, a KeyError."""
    if name not in _BY_NAME:
        near = difflib.get_close_matches(str(name), _BY_NAME, n=3)
        raise UnknownNameError(
            f"get_metric_fn: there is no metric {name!r}",
            loc=user_loc(),
            help=f"the nearest there is: {', '.join(near)}" if near else f"one of {', '.join(names())}",
        )
    return _BY_NAME[name](*args, **kwargs)


def get_metrics(metrics: Any) -> dict[str, Metric] | None:
    """Metrics by name: a dict of them as it is, those of a set of names as they are by default, None for None.

    ArgumentTypeError for anything else, a dict whose values are no Metric among them.
    """
    if metrics is None:
        return None
    if isinstance(metrics, dict):
        for name, metric in metrics.items():
            if not isinstance(name, str) or not isinstance(metric, Metric):
                made = f"{metric.__name__}()" if isinstance(metric, type) and issubclass(metric, Metric) else None
                raise ArgumentTypeError(
                    f"metrics: {name!r} must be a name with a Metric, got {type(metric).__name__}",
                    loc=user_loc(),
                    help=f"give an instance: {made}" if made else None,
                )
        return metrics
    if isinstance(metrics, set):
        return {name: get_metric_fn(name) for name in sorted(metrics, key=str)}
    raise ArgumentTypeError(
        f"metrics must be a dict of metrics, a set of names or None, got {type(metrics).__name__}",
        loc=user_loc(),
        help='metrics={"acc"}, or metrics={"accuracy": nn.Accuracy()}',
    )


__all__ = ["get_metric_fn", "get_metrics", "names"]
