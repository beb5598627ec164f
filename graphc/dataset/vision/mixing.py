"""Images of a batch mixed with each other, and their labels (MindSpore: mindspore.dataset.vision)."""

from __future__ import annotations

from enum import IntEnum
from typing import Any

import numpy as np

from graphc.dataset.checks import chance, integer, number, truth
from graphc.dataset.core.rows import to_array
from graphc.dataset.sample_rng import rng
from graphc.dataset.transforms.base import Transform
from graphc.dataset.vision.base import SIDE
from graphc.errors import ArgumentValueError, DataError, user_loc
from graphc.validation.checks import member
from graphc.validation.unused_arguments import refusal

Array = np.ndarray[Any, np.dtype[Any]]


class ImageBatchFormat(IntEnum):
    """Where the channels of a batch of images are: at the end, or before height and width."""

    NHWC = 0
    NCHW = 1


def _above_0(owner: str, value: Any, most: float | None = None) -> float:
    alpha = number(owner, "alpha", value, high=most)
    if alpha <= 0:
        raise ArgumentValueError(f"{owner}: alpha must be above 0, got {value}", loc=user_loc())
    return alpha


def _two(owner: str, inputs: tuple[Any, ...]) -> tuple[Array, Array]:
    if len(inputs) != 2:
        raise DataError(f"{owner} takes images and labels, got {len(inputs)} values", code="GC201")
    return to_array(inputs[0]), to_array(inputs[1])


class CutMixBatch(Transform):
    """In each image of a batch, with probability `prob`, a random rectangle from another one of it; labels mixed by area
    (S. Yun et al., ICCV 2019).

    alpha: above 0; the share that stays is drawn from Beta(alpha, alpha), and what of the rectangle lies outside is left out.
    Takes images [N, H, W, C] or [N, C, H, W], as image_batch_format says, of 1 or 3 channels, and one-hot labels [N, classes] or
    [N, labels, classes]; images keep their dtype, labels become float32.
    """

    def __init__(self, image_batch_format: ImageBatchFormat, alpha: float = 1.0, prob: float = 1.0) -> None:
        member("CutMixBatch", "image_batch_format", image_batch_format, ImageBatchFormat)
        self.format = image_batch_format
        self.alpha, self.prob = _above_0("CutMixBatch", alpha, SIDE), chance("CutMixBatch", prob)

    def __call__(self, *inputs: Any) -> tuple[Array, Array]:
        images, labels = _two("CutMixBatch", inputs)
        last = self.format is ImageBatchFormat.NHWC
        if images.ndim != 4 or images.shape[-1 if last else 1] not in (1, 3) or images.dtype.kind not in "biuf":
            raise DataError(
                f"CutMixBatch: images must be numbers {'[N, H, W, C]' if last else '[N, C, H, W]'} of 1 or 3 channels, got"
                f" {images.dtype} {list(images.shape)}",
                code="GC201",
                help="batch first",
            )
        if labels.ndim not in (2, 3) or labels.dtype.kind not in "biuf" or len(labels) != len(images):
            raise DataError(
                f"CutMixBatch: labels must be one-hot [N, classes] or [N, labels, classes], got {labels.dtype}"
                f" {list(labels.shape)} of {len(images)} images",
                code="GC201",
                help="OneHot them before the batch",
            )
        mixed = (images if last else images.transpose(0, 2, 3, 1)).copy()
        source, wide, targets = mixed.copy(), labels.astype(np.float32), labels.astype(np.float32)
        height, width = mixed.shape[1:3]
        random = rng()
        for place, other in enumerate(random.permutation(len(images))):
            if random.random() >= self.prob:
                continue
            top, left, down, across = self._rectangle(height, width)
            part = slice(top, top + down), slice(left, left + across)
            mixed[place][part] = source[other][part]
            share = np.float32(1) - np.float32(down * across) / np.float32(height * width)
            targets[place] = share * wide[place] + (1 - share) * wide[other]
        return mixed if last else np.ascontiguousarray(mixed.transpose(0, 3, 1, 2)), targets

    def _rectangle(self, height: int, width: int) -> tuple[int, int, int, int]:
        """(top, left, height, width): about a random place, at least one pixel and all but one row and column at most."""
        random = rng()
        cut = np.sqrt(np.float32(1) - np.float32(random.beta(self.alpha, self.alpha)))
        sides = []
        for length in (height, width):
            half, middle = int(np.float32(length) * cut) // 2, int(random.integers(length + 1))
            start, end = (min(max(at, 0), length - 1) for at in (middle - half, middle + half))
            sides.append((start, max(min(end - start, length - 1), 1)))
        (top, down), (left, across) = sides
        return top, left, down, across


class MixUp(Transform):
    """Each image of a batch of batch_size mixed with the next one, the last with the first: share * own + (1 - share) * next;
    labels alike, both float64.

    alpha: above 0; each image's share is drawn from Beta(alpha, alpha) (H. Zhang et al., ICLR 2018). Takes images
    [batch_size, H, W, C] or [batch_size, C, H, W], and one-hot labels [batch_size, classes]. is_single: True; with False
    MindSpore mixes with the batch that the transform saw before, which depends on the order in which batches are worked on.
    """

    def __init__(self, batch_size: int, alpha: float, is_single: bool = True) -> None:
        self.batch_size = integer("MixUp", "batch_size", batch_size, 1, SIDE)
        self.alpha = _above_0("MixUp", alpha)
        if not truth("MixUp", "is_single", is_single):
            raise refusal("MixUp", "is_single", is_single, True)

    def __call__(self, *inputs: Any) -> tuple[Array, Array]:
        images, labels = _two("MixUp", inputs)
        if images.ndim != 4 or labels.ndim != 2 or not len(images) == len(labels) == self.batch_size:
            raise ArgumentValueError(
                f"MixUp: images must be [{self.batch_size}, H, W, C] and labels one-hot [{self.batch_size}, classes], got"
                f" {list(images.shape)} and {list(labels.shape)}",
                loc=user_loc(),
            )
        shares = rng().beta(self.alpha, self.alpha, self.batch_size)
        return _with_next(images, shares), _with_next(labels, shares)


def _with_next(values: Array, shares: Array) -> Array:
    mixed = np.empty(values.shape)
    for place, share in enumerate(shares):  # One image at a time stays in the cache.
        np.multiply(values[place], share, out=mixed[place])
        mixed[place] += values[(place + 1) % len(values)] * (1 - share)
    return mixed
