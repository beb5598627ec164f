"""Layers of images: their middles, their slopes, and how alike two are."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from graphc import ops
from graphc.errors import DTypeError, ShapeError, user_loc
from graphc.ir.types import COMPLEX, DTYPES, INTEGERS
from graphc.nn import checks
from graphc.nn.cell.cell import Cell
from graphc.ops.functional.padding import bordered
from graphc.ops.tensor.tensor import Tensor, as_tensor


class CentralCrop(Cell):
    """The middle of images [N, C, H, W] or [C, H, W], a fraction of their height and width (MindSpore: nn.CentralCrop)."""

    def __init__(self, central_fraction: float) -> None:
        super().__init__()
        self.central_fraction = checks.exact_float("CentralCrop", "central_fraction", central_fraction, above=0, most=1)

    def construct(self, image: Any) -> Tensor:
        x = as_tensor(image, "CentralCrop: image")
        if x.ndim not in (3, 4):
            raise ShapeError(
                f"CentralCrop: the image is {x.tensor_type}, expected [N, C, H, W] or [C, H, W]", loc=user_loc()
            )
        cuts = [int((size - size * self.central_fraction) / 2) for size in x.shape[-2:]]
        return x[(..., *(slice(cut, size - cut) for cut, size in zip(cuts, x.shape[-2:], strict=True)))]


class ImageGradients(Cell):
    """(dy, dx): the next pixel less each one, downwards and to the right, 0 at the ends, of images [N, C, H, W] (MindSpore:
    nn.ImageGradients).
    """

    def construct(self, images: Any) -> tuple[Tensor, Tensor]:
        x = _images("ImageGradients", images)
        down = bordered(x[:, :, 1:] - x[:, :, :-1], [(0, 0), (0, 0), (0, 1), (0, 0)], 0)
        right = bordered(x[..., 1:] - x[..., :-1], [(0, 0), (0, 0), (0, 0), (0, 1)], 0)
        return down, right


def _images(owner: str, x: Any) -> Tensor:
    tensor = as_tensor(x, f"{owner}: images")
    if tensor.ndim != 4:
        raise ShapeError(f"{owner}: the images are {tensor.tensor_type}, expected [N, C, H, W]", loc=user_loc())
    return tensor


class _Alike(Cell):
    """What measures of two images share: both, and the largest value, in float32, divided by the most that integers have."""

    _dtypes: tuple[str, ...] = ("float32", "float16", "float64", "uint8")

    def __init__(self, max_val: float = 1.0) -> None:
        super().__init__()
        self.max_val = checks.real(type(self).__name__, "max_val", max_val, above=0)

    def pair(self, img1: Any, img2: Any) -> tuple[Tensor, Tensor, float]:
        owner = type(self).__name__
        first, second = _images(owner, img1), _images(owner, img2)
        if first.tensor_type != second.tensor_type:
            raise ShapeError(
                f"{owner}: the images are {first.tensor_type} and {second.tensor_type}, expected one shape and dtype",
                loc=user_loc(),
            )
        if first.tensor_type.dtype not in self._dtypes:
            raise DTypeError(
                f"{owner}: the images are {first.tensor_type}, expected one of {', '.join(self._dtypes)}",
                loc=user_loc(),
            )
        whole = first.tensor_type.dtype in INTEGERS
        scale = 1 / float(np.iinfo(first.tensor_type.numpy).max) if whole else 1.0
        images = (ops.cast(x, "float32") for x in (first, second))
        one, two = (x if scale == 1.0 else x * scale for x in images)
        return one, two, self.max_val * scale


class _Structure(_Alike):
    """SSIM's window and its two maps."""

    def __init__(self, max_val: float, filter_size: int, filter_sigma: float, k1: float, k2: float) -> None:
        super().__init__(max_val)
        owner = type(self).__name__
        self.filter_size = checks.integer(owner, "filter_size", filter_size)
        self.filter_sigma = checks.exact_float(owner, "filter_sigma", filter_sigma, above=0)
        self.k1, self.k2 = checks.exact_float(owner, "k1", k1), checks.exact_float(owner, "k2", k2)
        places = np.arange(-filter_size // 2 + 1, filter_size // 2 + 1, dtype=np.float64) ** 2
        window = np.exp(-(places[:, None] + places) / (2 * self.filter_sigma**2))
        self.window = Tensor((window / window.sum()).astype(np.float32)[None, None])

    def _smoothed(self, x: Tensor) -> Tensor:
        n, channels, h, w = x.shape
        y = ops.conv2d(ops.reshape(x, (n * channels, 1, h, w)), self.window)
        return ops.reshape(y, (n, channels, *y.shape[2:]))

    def compared(self, a: Tensor, b: Tensor, most: float) -> tuple[Tensor, Tensor]:
        """[N, C]: the means of likeness, and of contrast and structure alone (Wang et al., 2004)."""
        if min(a.shape[2:]) < self.filter_size:
            raise ShapeError(
                f"{type(self).__name__}: images of {a.shape[2]} x {a.shape[3]} pixels are smaller than the window,"
                f" {self.filter_size} x {self.filter_size}",
                loc=user_loc(),
            )
        first, second = (self.k1 * most) ** 2, (self.k2 * most) ** 2
        mean_a, mean_b = self._smoothed(a), self._smoothed(b)
        squares = mean_a * mean_a + mean_b * mean_b
        variances = self._smoothed(a * a) + self._smoothed(b * b) - squares
        covariance = self._smoothed(a * b) - mean_a * mean_b
        structure = (2 * covariance + second) / (variances + second)
        likeness = (2 * mean_a * mean_b + first) / (squares + first) * structure
        return ops.reduce_mean(likeness, (2, 3)), ops.reduce_mean(structure, (2, 3))


class SSIM(_Structure):
    """[N]: the structural similarity of images [N, C, H, W], float32 or float16 (Wang et al., 2004; MindSpore: nn.SSIM).

    max_val: the largest value a pixel may have; filter_size, filter_sigma: a window of normal weights; k1, k2: what keeps
    quotients small. Raises ShapeError, DTypeError, ArgumentTypeError, ArgumentValueError.
    """

    _dtypes = ("float32", "float16")

    def __init__(
        self,
        max_val: float = 1.0,
        filter_size: int = 11,
        filter_sigma: float = 1.5,
        k1: float = 0.01,
        k2: float = 0.03,
    ) -> None:
        super().__init__(max_val, filter_size, filter_sigma, k1, k2)

    def construct(self, img1: Any, img2: Any) -> Tensor:
        likeness, _ = self.compared(*self.pair(img1, img2))
        return ops.reduce_mean(likeness, -1)


class MSSSIM(_Structure):
    """[N]: the structural similarity of images [N, C, H, W] at several scales, each half the one before (Wang et al., 2003;
    MindSpore: nn.MSSSIM).

    power_factors: one exponent for each scale; other arguments as for SSIM. Images: float16, float32, float64 or uint8.
    """

    def __init__(
        self,
        max_val: float = 1.0,
        power_factors: Any = (0.0448, 0.2856, 0.3001, 0.2363, 0.1333),
        filter_size: int = 11,
        filter_sigma: float = 1.5,
        k1: float = 0.01,
        k2: float = 0.03,
    ) -> None:
        super().__init__(max_val, filter_size, filter_sigma, k1, k2)
        if not isinstance(power_factors, (tuple, list)):
            raise checks.wrong_type("MSSSIM", "power_factors", "a tuple or list", power_factors)
        self.power_factors = tuple(checks.real("MSSSIM", "power_factors", p) for p in power_factors)
        if not self.power_factors:
            raise checks.wrong_value("MSSSIM", "power_factors", "at least one number", power_factors)

    def construct(self, img1: Any, img2: Any) -> Tensor:
        a, b, most = self.pair(img1, img2)
        parts = []
        for i, power in enumerate(self.power_factors):
            last = i == len(self.power_factors) - 1
            likeness, structure = self.compared(a, b, most)
            parts.append(ops.pow(ops.relu(likeness if last else structure), power))
            if not last:
                a, b = (ops.avg_pool2d(x, 2, 2) for x in (a, b))
        made = parts[0]
        for part in parts[1:]:
            made = made * part
        return ops.reduce_mean(made, -1)


class PSNR(_Alike):
    """[N]: the peak signal-to-noise ratio of images [N, C, H, W] in decibels, 10 log10(max_val^2 / mean squared error)
    (MindSpore: nn.PSNR). Images are of floats, integers or bools.
    """

    _dtypes = tuple(d for d in DTYPES if d not in COMPLEX)

    def construct(self, img1: Any, img2: Any) -> Tensor:
        a, b, most = self.pair(img1, img2)
        error = ops.reduce_mean(ops.square(a - b), (1, 2, 3))
        made: Tensor = ops.log(most**2 / error) * (10 / math.log(10))
        return made


__all__ = ["MSSSIM", "PSNR", "SSIM", "CentralCrop", "ImageGradients"]
