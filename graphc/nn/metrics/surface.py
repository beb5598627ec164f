"""Distances between the surfaces of two regions of an image."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphc.nn import checks
from graphc.nn.metrics.base import Array, Metric, counted, measured, misfit, rearrange_inputs

DISTANCES = ("euclidean", "chessboard", "taxicab")
#: Distances that are held in memory at a time.
_CHUNK = 1 << 20


def surface(region: Array) -> Array:
    """int64 [points, axes]: the elements of a region that have a neighbour along an axis outside of it, or of the image."""
    inside = region.copy()
    padded = np.pad(region, 1)
    for axis in range(region.ndim):
        for shift in (-1, 1):
            moved = np.roll(padded, shift, axis)
            inside &= moved[(slice(1, -1),) * region.ndim]
    return np.argwhere(region & ~inside)


def nearest(start: Array, goal: Array, metric: str) -> Array:
    """float64 [points of start]: how far the nearest point of goal is; infinity if goal has none."""
    found = np.full(len(start), np.inf)
    if not len(goal):
        return found
    size = max(1, _CHUNK // len(goal))
    for begin in range(0, len(start), size):
        apart = np.abs(start[begin : begin + size, None] - goal[None])
        if metric == "euclidean":
            shortest = np.sqrt(np.square(apart).sum(axis=-1).min(axis=1))
        else:
            shortest = (apart.max(axis=-1) if metric == "chessboard" else apart.sum(axis=-1)).min(axis=1)
        found[begin : begin + size] = shortest
    return found


class _SurfaceMetric(Metric):
    """The surfaces of one label's region in a prediction and in the truth, of the last batch.

    Inputs: prediction and truth, images of labels or of bools and of one shape, and the label, a number.
    """

    def __init__(self, distance_metric: str) -> None:
        super().__init__()
        self.distance_metric = checks.one_of(type(self).__name__, "distance_metric", distance_metric, DISTANCES)
        self.clear()

    def clear(self) -> None:
        """Forget everything."""
        self._surfaces: tuple[Array, Array] | None = None

    @rearrange_inputs
    def update(self, *inputs: Any) -> None:
        """Take in prediction, truth and label, in place of those before. ArgumentValueError if they do not fit."""
        owner = type(self).__name__
        prediction, truth, label = counted(owner, inputs, "prediction", "truth", "label")
        y_pred, y = self._convert_data(prediction), self._convert_data(truth)
        if not checks.is_number(label):
            raise misfit(owner, f"the label must be a number, got {type(label).__name__}")
        if y_pred.size == 0 or y_pred.shape != y.shape:
            raise misfit(owner, f"the images must have one shape and elements, got {y_pred.shape} and {y.shape}")
        regions = [a if a.dtype == bool else a == label for a in (y_pred, y)]
        if not (y_pred == label).any() and not (y == label).any():
            raise misfit(owner, f"label {label} is in neither image")
        self._surfaces = surface(regions[0]), surface(regions[1])

    def _distances(self) -> tuple[Array, Array]:
        """From every point of the predicted surface to the true one, and the other way round. MetricError if there are none."""
        measured(type(self).__name__, self._surfaces is not None)
        assert self._surfaces is not None
        predicted, true = self._surfaces
        return nearest(predicted, true, self.distance_metric), nearest(true, predicted, self.distance_metric)


class MeanSurfaceDistance(_SurfaceMetric):
    """The mean distance from the predicted surface to the true one (MindSpore: train.MeanSurfaceDistance).

    symmetric: the mean of that and of the way back. distance_metric: "euclidean", "chessboard" or "taxicab". A region
    without elements is infinitely far. Inputs: prediction, truth, label. Raises ArgumentTypeError or ArgumentValueError.
    """

    def __init__(self, symmetric: bool = False, distance_metric: str = "euclidean") -> None:
        super().__init__(distance_metric)
        self.symmetric = checks.boolean("MeanSurfaceDistance", "symmetric", symmetric)

    def eval(self) -> float:
        """The distance in elements; MetricError before the first batch."""
        there, back = self._distances()
        ways = (there, back) if self.symmetric else (there,)
        return float(np.mean([d.mean() if d.size else np.inf for d in ways]))


class RootMeanSquareDistance(_SurfaceMetric):
    """The root of the mean squared distance from the predicted surface to the true one (MindSpore:
    train.RootMeanSquareDistance, which leaves out the root unless symmetric).

    symmetric: the root of the mean of both ways' mean squares. Otherwise as MeanSurfaceDistance.
    """

    def __init__(self, symmetric: bool = False, distance_metric: str = "euclidean") -> None:
        super().__init__(distance_metric)
        self.symmetric = checks.boolean("RootMeanSquareDistance", "symmetric", symmetric)

    def eval(self) -> float:
        """The distance in elements; MetricError before the first batch."""
        there, back = self._distances()
        ways = (there, back) if self.symmetric else (there,)
        return float(np.sqrt(np.mean([np.square(d).mean() if d.size else np.inf for d in ways])))


class HausdorffDistance(_SurfaceMetric):
    """The greatest distance from a point of one surface to the other surface (MindSpore: train.HausdorffDistance).

    percentile: a float in 0 to 100 that is taken instead of the greatest. directed: only from the predicted surface to the
    true one. crop: surfaces are those within the smallest box that holds both regions: what touches its sides counts as
    surface either way, so the value is the same. Otherwise as MeanSurfaceDistance.
    """

    def __init__(
        self,
        distance_metric: str = "euclidean",
        percentile: float | None = None,
        directed: bool = False,
        crop: bool = True,
    ) -> None:
        super().__init__(distance_metric)
        owner = "HausdorffDistance"
        if percentile is not None:
            percentile = checks.exact_float(owner, "percentile", percentile, least=0, most=100)
        self.percentile = percentile
        self.directed = checks.boolean(owner, "directed", directed)
        self.crop = checks.boolean(owner, "crop", crop)

    def eval(self) -> float:
        """The distance in elements; MetricError before the first batch."""
        there, back = self._distances()
        return max(self._greatest(d) for d in ((there,) if self.directed else (there, back)))

    def _greatest(self, distances: Array) -> float:
        if not distances.size:
            return float(np.inf)
        return float(np.percentile(distances, self.percentile) if self.percentile else distances.max())


__all__ = ["HausdorffDistance", "MeanSurfaceDistance", "RootMeanSquareDistance"]
