"""Pixels by linear maps: normalized with a channel more, multiplied by a matrix, lit (MindSpore: mindspore.dataset.vision)."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphc.dataset.checks import number
from graphc.dataset.sample_rng import rng
from graphc.dataset.transforms.base import Transform
from graphc.dataset.vision.base import SIDE, ImageTransform, arrays_only, pillow
from graphc.dataset.vision.pixels import Normalize
from graphc.dataset.vision.resample import as_dtype
from graphc.errors import ArgumentTypeError, ArgumentValueError, DataError, user_loc
from graphc.validation.checks import string

Array = np.ndarray[Any, np.dtype[Any]]

#: How much of red, green and blue each of the three main directions of ImageNet's colours is: its standard deviation times the
#: direction (A. Krizhevsky et al., NIPS 2012).
_LIGHT = np.array([
    [55.46 * -0.5675, 4.794 * 0.7192, 1.148 * 0.4009],
    [55.46 * -0.5808, 4.794 * -0.0045, 1.148 * -0.8140],
    [55.46 * -0.5836, 4.794 * -0.6948, 1.148 * 0.4203],
])  # fmt: skip


class NormalizePad(Normalize):
    """Normalize, with one more channel, of zeros, at the end, in dtype "float32" or "float16"; [H, W] becomes [H, W, 2]."""

    def __init__(self, mean: Any, std: Any, dtype: str = "float32", is_hwc: bool = True) -> None:
        super().__init__(mean, std, is_hwc)
        string("NormalizePad", "dtype", dtype)
        if dtype not in ("float32", "float16"):
            raise ArgumentValueError(
                f'NormalizePad: dtype must be "float32" or "float16", got {dtype!r}', loc=user_loc()
            )
        self.dtype = np.dtype(dtype)

    def whole(self, values: Array) -> Array:
        if values.ndim not in (3, 4):
            raise DataError(f"NormalizePad: an image must have 2 or 3 axes, got {list(values.shape[1:])}", code="GC201")
        if values.ndim == 3 and not self.is_hwc:
            raise DataError("NormalizePad: an image [H, W] has no channels to come first: is_hwc", code="GC201")
        normalized = super().whole(values[..., None] if values.ndim == 3 else values)
        before = (..., slice(0, -1)) if self.is_hwc else (slice(None), slice(0, -1))
        shape = list(normalized.shape)
        shape[-1 if self.is_hwc else -3] += 1
        result = np.zeros(shape, self.dtype)
        with np.errstate(over="ignore"):
            result[before] = normalized
        return result


class LinearTransformation(Transform):
    """The values of an array, in a row, less mean_vector [D], times transformation_matrix [D, D], in the array's shape."""

    def __init__(self, transformation_matrix: Array, mean_vector: Array) -> None:
        for name, value in (("transformation_matrix", transformation_matrix), ("mean_vector", mean_vector)):
            if not isinstance(value, np.ndarray):
                raise ArgumentTypeError(
                    f"LinearTransformation: {name} must be an array of NumPy's, got {type(value).__name__}",
                    loc=user_loc(),
                )
        have, means = transformation_matrix.shape, mean_vector.shape
        if len(have) != 2 or have[0] != have[1] or means != have[:1]:
            raise ArgumentValueError(
                f"LinearTransformation: transformation_matrix must be [D, D] and mean_vector [D], got {list(have)} and"
                f" {list(means)}",
                loc=user_loc(),
            )
        self.matrix, self.mean = transformation_matrix, mean_vector

    def __call__(self, *inputs: Any) -> Any:
        return super().__call__(*arrays_only("LinearTransformation", inputs))

    def apply(self, value: Array) -> Array:
        if value.size != len(self.mean):
            raise ArgumentValueError(
                f"LinearTransformation: the image {list(value.shape)} has {value.size} values, the matrix {len(self.mean)}",
                loc=user_loc(),
            )
        product: Array = np.dot(value.reshape(1, -1) - self.mean, self.matrix)
        return product.reshape(value.shape)


class RandomLighting(ImageTransform):
    """A uint8 image [H, W, 3] in another light: each main direction of the colours of photographs added, times a normal random
    number of standard deviation `alpha`. An image of Pillow's becomes one in RGB.
    """

    def __init__(self, alpha: float = 0.05) -> None:
        self.alpha = number("RandomLighting", "alpha", alpha, 0, SIDE)

    def on_array(self, image: Array) -> Array:
        if image.dtype != np.uint8 or image.ndim != 3 or image.shape[2] != 3:
            raise DataError(
                f"RandomLighting: an image must be uint8 [H, W, 3], got {image.dtype} {list(image.shape)}", code="GC201"
            )
        return as_dtype(image + self._light().astype(np.float32), np.uint8)

    def on_pil(self, image: Any) -> Any:
        # Cut, where arrays are rounded: as MindSpore does it.
        lit = np.asarray(image.convert("RGB")) + self._light()
        return pillow().fromarray(lit.clip(0, 255).astype(np.uint8))

    def _light(self) -> Array:
        """What is added to red, green and blue."""
        amounts: Array = _LIGHT @ rng().normal(0, self.alpha, 3)
        return amounts
