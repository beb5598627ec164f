"""Which parts of an image a classification depends on."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphc.nn import checks
from graphc.nn.cell.cell import Cell
from graphc.nn.metrics.base import Array, Metric, MetricError, counted, measured, misfit, rearrange_inputs
from graphc.ops.tensor.tensor import Tensor


class OcclusionSensitivity(Metric):
    """How much the score of a label falls when a box around a pixel is covered (MindSpore: train.OcclusionSensitivity;
    Zeiler and Fergus, 2014).

    Inputs: a Cell that gives scores [n, classes]; an image [1, ...]; its label, an int or an array of one. The result has
    the image's shape without axis 0, or that of b_box. pad_val: what covers; margin: an int, the box reaches from
    pixel - margin to pixel + margin, which is outside, along every axis; n_batch: images per call of the Cell; b_box: a
    list [first, last] per axis of the pixels to look at, a last of -1 is the end. One compilation per batch size: all but
    the last batch have n_batch images. Raises ArgumentTypeError or ArgumentValueError; MetricError (a RuntimeError) for
    more than one image.
    """

    def __init__(
        self, pad_val: float = 0.0, margin: int = 2, n_batch: int = 128, b_box: list[int] | None = None
    ) -> None:
        super().__init__()
        owner = "OcclusionSensitivity"
        self.pad_val = checks.exact_float(owner, "pad_val", pad_val)
        self.margin = checks.integer(owner, "margin", margin)
        self.n_batch = checks.integer(owner, "n_batch", n_batch)
        if b_box is not None and not isinstance(b_box, list):
            raise checks.wrong_type(owner, "b_box", "a list or None", b_box)
        self.b_box = b_box
        self.clear()

    def clear(self) -> None:
        """Forget everything."""
        self._sensitivity: Array | None = None

    @rearrange_inputs
    def update(self, *inputs: Any) -> None:
        """Take in the Cell, an image and its label, in place of those before. ArgumentValueError if they do not fit."""
        owner = "OcclusionSensitivity"
        model, image, label = counted(owner, inputs, "model", "image", "label")
        if not isinstance(model, Cell):
            raise checks.wrong_type(owner, "model", "a Cell", model)
        image = self._convert_data(image)
        label = np.asarray(label) if checks.is_int(label) else self._convert_data(label)
        if image.shape[0] != 1 or label.size != 1:
            raise MetricError(f"{owner}: one image and one label are needed, got {image.shape} and {label.shape}")
        shape = image.shape[1:]
        first, last = self._box(shape)
        baseline = float(model(Tensor(image)).asnumpy()[0, label.item()])
        places = list(np.ndindex(*(last - first + 1)))
        scores = []
        for begin in range(0, len(places), self.n_batch):
            chosen = places[begin : begin + self.n_batch]
            covered = np.repeat(image, len(chosen), axis=0)
            for each, place in zip(covered, chosen, strict=True):
                middle = first + place
                box = zip(np.maximum(0, middle - self.margin), np.minimum(shape, middle + self.margin), strict=True)
                each[tuple(slice(low, high) for low, high in box)] = self.pad_val
            scores.append(model(Tensor(covered)).asnumpy()[:, label.item()])
        self._sensitivity = np.squeeze(baseline - np.concatenate(scores).reshape(last - first + 1))

    def _box(self, shape: tuple[int, ...]) -> tuple[Array, Array]:
        """First and last pixel along every axis."""
        if self.b_box is None:
            return np.zeros(len(shape), int), np.array(shape) - 1
        owner = "OcclusionSensitivity"
        if len(self.b_box) != 2 * len(shape):
            raise misfit(owner, f"b_box needs two numbers for each of {len(shape)} axes, got {len(self.b_box)}")
        first, last = np.maximum(self.b_box[::2], 0), np.array(self.b_box[1::2])
        last = np.where(last < 0, np.array(shape) - 1, last)
        if (last >= shape).any() or (first > last).any():
            raise misfit(owner, f"b_box {self.b_box} does not lie within an image of shape {shape}")
        return first, last

    def eval(self) -> Array:
        """The score of the whole image less that of the covered one, by pixel; MetricError before the first image."""
        measured("OcclusionSensitivity", self._sensitivity is not None)
        assert self._sensitivity is not None
        return self._sensitivity.copy()


__all__ = ["OcclusionSensitivity"]
