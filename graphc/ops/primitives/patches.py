"""Primitives that take windows out of images and volumes."""

from __future__ import annotations

from typing import Any

from graphc.errors import ArgumentTypeError, ArgumentValueError, ShapeError, user_loc
from graphc.ops.functional.core import Extents, Ints
from graphc.ops.functional.distributions import sizes
from graphc.ops.functional.patches import glimpses, patches
from graphc.ops.functional.random import normal_from, uniform_from
from graphc.ops.functional.sliding import per_axis
from graphc.ops.tensor.primitive import REQUIRED, declare
from graphc.ops.tensor.seed import generator
from graphc.ops.tensor.tensor import Tensor, as_tensor

# ---- all windows of a grid


def _of_four(owner: str, name: str, value: Any, axes: int) -> tuple[int, ...]:
    """One int per axis: of an int, of as many ints, or of these behind two ones."""
    if isinstance(value, (tuple, list)) and len(value) == axes + 2:
        if tuple(value[:2]) != (1, 1):
            raise ArgumentValueError(f"{owner}: {name} must begin with 1, 1, got {value}", loc=user_loc())
        value = value[2:]
    return per_axis(owner, name, value, axes)


def _image_patches(input_x: Tensor, ksizes: Ints, strides: Ints, rates: Ints, padding: str) -> Tensor:
    """The windows of images [N, C, H, W], each a vector at its place: [N, kh kw C, rows, columns], channels of a tap together.

    ksizes, strides, rates: [1, 1, vertical, horizontal]. padding: "valid", or "same", which pads by zeros.
    """
    owner = "ExtractImagePatches"
    kernel, stride, rate = (
        _of_four(owner, name, v, 2) for name, v in (("ksizes", ksizes), ("strides", strides), ("rates", rates))
    )
    return patches(owner, input_x, kernel, stride, rate, padding)


ExtractImagePatches = declare(
    "ExtractImagePatches", _image_patches, ksizes=REQUIRED, strides=REQUIRED, rates=REQUIRED, padding="VALID"
)


def _volume_patches(input_x: Tensor, kernel_size: Ints, strides: Ints, padding: str) -> Tensor:
    """The windows of volumes [N, C, D, H, W], each a vector at its place: [N, kd kh kw C, ...], channels of a tap together.

    kernel_size, strides: an int, three, or these behind 1, 1. padding: "valid", or "same", which pads by zeros.
    """
    owner = "ExtractVolumePatches"
    kernel, stride = (_of_four(owner, n, v, 3) for n, v in (("kernel_size", kernel_size), ("strides", strides)))
    return patches(owner, input_x, kernel, stride, (1, 1, 1), padding)


ExtractVolumePatches = declare(
    "ExtractVolumePatches", _volume_patches, kernel_size=REQUIRED, strides=REQUIRED, padding=REQUIRED
)

# ---- one window of each image


def _glimpse(
    x: Tensor, size: Extents, offsets: Tensor, centered: bool, normalized: bool, uniform_noise: bool, noise: str
) -> Tensor:
    """[N, height, width, C]: a window of each image [N, H, W, C], whose middle lies at `offsets` [N, 2], down and across.

    size: its height and width, known. normalized: offsets are in sizes of the image, else in pixels; centered: they are twice
    the distances from its middle, else distances from its corner. What lies outside is noise, uniform in [-1, 1), "gaussian" of
    mean 10 and deviation 0.5, as MindSpore's, or "zero".
    """
    owner = "ExtractGlimpse"
    if noise not in ("uniform", "gaussian", "zero") or (uniform_noise and noise != "uniform"):
        raise ArgumentValueError(
            f"{owner}: noise must be 'uniform', or without uniform_noise 'gaussian' or 'zero', got {noise!r}",
            loc=user_loc(),
        )
    plane, at = sizes(owner, size), as_tensor(offsets, f"{owner}: offsets")
    if len(plane) != 2 or min(plane) < 1:
        raise ArgumentValueError(
            f"{owner}: size must be a height and a width of at least 1, got {plane}", loc=user_loc()
        )
    if x.ndim != 4 or at.shape != (x.shape[0], 2):
        raise ShapeError(
            f"{owner}: x is {x.tensor_type} and offsets {at.tensor_type}, expected [N, H, W, C] and [N, 2]",
            loc=user_loc(),
        )
    if x.tensor_type.dtype != "float32" or at.tensor_type.dtype != "float32":
        raise ArgumentTypeError(
            f"{owner}: x is {x.tensor_type} and offsets {at.tensor_type}, expected float32", loc=user_loc()
        )
    shape = (x.shape[0], *plane, x.shape[3])
    outside: Any = 0.0
    if noise == "uniform":
        outside = uniform_from(generator(None), shape) * 2.0 - 1.0
    elif noise == "gaussian":
        outside = normal_from(generator(None), shape) * 0.5 + 10.0
    return glimpses(x, plane, at, centered, normalized, outside)


ExtractGlimpse = declare(
    "ExtractGlimpse", _glimpse, centered=True, normalized=True, uniform_noise=True, noise="uniform"
)
