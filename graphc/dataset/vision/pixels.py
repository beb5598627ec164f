"""Values of pixels: scaled, normalized, moved, mixed and cut out (MindSpore: mindspore.dataset.vision)."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphc.dataset.checks import integer, number, truth
from graphc.dataset.core.rows import to_array
from graphc.dataset.sample_rng import rng
from graphc.dataset.schema import numpy_dtype
from graphc.dataset.transforms.base import Transform, WholeTransform
from graphc.dataset.vision.base import SIDE, ImageTransform, is_pil
from graphc.errors import ArgumentTypeError, ArgumentValueError, DataError, DataKindError, user_loc

Array = np.ndarray[Any, np.dtype[Any]]


class _OnPixels(WholeTransform):
    """Images of Pillow's are taken as arrays."""

    def __call__(self, *inputs: Any) -> Any:
        return super().__call__(*(np.asarray(v) if is_pil(v) else v for v in inputs))


def _axes(owner: str, values: Array, *allowed: int) -> None:
    if values.ndim - 1 not in allowed or values.dtype.kind not in "biuf":
        wanted = " or ".join(map(str, allowed))
        raise DataKindError(
            f"{owner}: an image must be numbers with {wanted} axes, got {values.dtype} {list(values.shape[1:])}",
            code="GC201",
        )


class Rescale(_OnPixels):
    """float32: value * rescale + shift."""

    def __init__(self, rescale: float, shift: float) -> None:
        self.rescale, self.shift = number("Rescale", "rescale", rescale), number("Rescale", "shift", shift)

    def whole(self, values: Array) -> Array:
        _axes("Rescale", values, 2, 3, 4)
        result = values.astype(np.float32)
        result *= np.float32(self.rescale)
        if self.shift:
            result += np.float32(self.shift)
        return result


class Normalize(_OnPixels):
    """float32: (value - mean) / std for each channel, the last axis, or the first without is_hwc. mean, std: one per channel,
    from 0 to 255 as MindSpore has it, std above 0.

    One mean and std serve all channels. An image [H, W] is one channel.
    """

    def __init__(self, mean: Any, std: Any, is_hwc: bool = True) -> None:
        owner = type(self).__name__
        self.mean = _per_channel(owner, "mean", mean)
        self.std = _per_channel(owner, "std", std)
        if len(self.mean) != len(self.std):
            raise ArgumentValueError(
                f"{owner}: mean has {len(self.mean)} values, std has {len(self.std)}", loc=user_loc()
            )
        if min(self.std) == 0:
            raise ArgumentValueError(f"{owner}: std must be above 0, one is 0", loc=user_loc())
        self.is_hwc = truth(owner, "is_hwc", is_hwc)

    def whole(self, values: Array) -> Array:
        owner = type(self).__name__
        _axes(owner, values, 2, 3, 4)
        channels = 1 if values.ndim == 3 else values.shape[-1 if self.is_hwc else -3]
        if len(self.mean) not in (1, channels):
            raise DataError(f"{owner}: the image has {channels} channels, mean {len(self.mean)} values", code="GC201")
        shape = (len(self.mean),) if self.is_hwc or values.ndim == 3 else (len(self.mean), 1, 1)
        mean, std = (np.array(v, np.float32).reshape(shape) for v in (self.mean, self.std))
        result = values.astype(np.float32)
        result -= mean
        result /= std
        return result


def _per_channel(owner: str, name: str, value: Any) -> list[float]:
    if not isinstance(value, (list, tuple)):
        raise ArgumentTypeError(f"{owner}: {name} must be a sequence of numbers, got {value!r}", loc=user_loc())
    if not value:
        raise ArgumentValueError(f"{owner}: {name} is empty", loc=user_loc())
    return [number(owner, name, v, 0, 255) for v in value]


class HWC2CHW(_OnPixels):
    """An image [H, W, C] as [C, H, W]; one of [H, W] stays."""

    def whole(self, values: Array) -> Array:
        _axes("HWC2CHW", values, 2, 3)
        if values.ndim == 3:
            return values
        if values.shape[3] == 1:
            return values.reshape(len(values), 1, *values.shape[1:3])
        return np.ascontiguousarray(values.transpose(0, 3, 1, 2))


class ToTensor(_OnPixels):
    """An image [H, W, C] or [H, W] of 0 .. 255 as [C, H, W] of 0 .. 1, in output_type."""

    def __init__(self, output_type: Any = np.float32) -> None:
        self.output_type = numpy_dtype("ToTensor", output_type)

    def whole(self, values: Array) -> Array:
        _axes("ToTensor", values, 2, 3)
        if values.ndim == 3:
            values = values[..., None]
        scaled = values.astype(np.float32)
        scaled *= np.float32(1 / 255)
        return np.ascontiguousarray(scaled.transpose(0, 3, 1, 2)).astype(self.output_type, copy=False)


class CutOut(ImageTransform):
    """num_patches squares of `length` pixels a side set to 0, around random places: parts of them may lie outside.

    is_hwc: the image is [H, W, C], else [C, H, W].
    """

    def __init__(self, length: int, num_patches: int = 1, is_hwc: bool = True) -> None:
        self.length = integer("CutOut", "length", length, 1, SIDE)
        self.num_patches = integer("CutOut", "num_patches", num_patches, 1, SIDE)
        self.is_hwc = truth("CutOut", "is_hwc", is_hwc)

    def on_array(self, image: Array) -> Array:
        if image.ndim != 3:
            raise DataError(f"CutOut: an image must have 3 axes, got shape {list(image.shape)}", code="GC201")
        result = image.copy() if self.is_hwc else image.transpose(1, 2, 0).copy()
        height, width = result.shape[:2]
        if self.length > height or self.length > width:
            raise DataError(f"CutOut: length is {self.length}, the image is only {height}x{width}", code="GC201")
        for _ in range(self.num_patches):
            y, x = (int(rng().integers(n)) - self.length // 2 for n in (height, width))
            result[max(y, 0) : max(y + self.length, 0), max(x, 0) : max(x + self.length, 0)] = 0
        return result if self.is_hwc else np.ascontiguousarray(result.transpose(2, 0, 1))

    def on_pil(self, image: Any) -> Array:
        return self.on_array(np.asarray(image))


class MixUpBatch(Transform):
    """Each image of a batch mixed with another one of it, labels alike: share * own + (1 - share) * other.

    alpha: above 0; the share, one for the batch, is drawn from Beta(alpha, alpha) (H. Zhang et al., ICLR 2018). Takes images
    [N, H, W, C] or [N, C, H, W], and one-hot labels [N, classes] or [N, labels, classes]; images keep their dtype, labels
    become float32.
    """

    def __init__(self, alpha: float = 1.0) -> None:
        self.alpha = number("MixUpBatch", "alpha", alpha)
        if self.alpha <= 0:
            raise ArgumentValueError(f"MixUpBatch: alpha must be above 0, got {alpha}", loc=user_loc())

    def __call__(self, *inputs: Any) -> tuple[Array, Array]:
        if len(inputs) != 2:
            raise DataError(f"MixUpBatch takes images and labels, got {len(inputs)} values", code="GC201")
        images, labels = map(to_array, inputs)
        if images.ndim != 4 or labels.ndim not in (2, 3) or len(images) != len(labels):
            raise DataError(
                f"MixUpBatch: images must be [N, H, W, C] and labels one-hot [N, classes], got {list(images.shape)} and "
                f"{list(labels.shape)}",
                code="GC201",
                help="batch first, and OneHot the labels before that",
            )
        random = rng()
        share = np.float32(random.beta(self.alpha, self.alpha))
        other = random.permutation(len(images))
        mixed = share * images.astype(np.float32) + (1 - share) * images[other].astype(np.float32)
        targets = share * labels.astype(np.float32) + (1 - share) * labels[other].astype(np.float32)
        kept = np.rint(mixed) if images.dtype.kind in "iu" else mixed
        return kept.astype(images.dtype), targets.astype(np.float32)
