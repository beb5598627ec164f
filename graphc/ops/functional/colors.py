"""Colors of images [..., 3]: red, green and blue, or hue, saturation and value, each in [0, 1]."""

from __future__ import annotations

from graphc.errors import DTypeError, ShapeError, user_loc
from graphc.ops.functional.arithmetic import div
from graphc.ops.functional.clipping import clamp
from graphc.ops.functional.core import Operand, cast, cast_to, halves_widened
from graphc.ops.functional.elementwise import add, equal, floor_mod, greater, less, minimum, mul, sub
from graphc.ops.functional.joining import stack
from graphc.ops.functional.logic import select
from graphc.ops.functional.reduce import reduce_max, reduce_mean, reduce_min
from graphc.ops.functional.slicing import getitem
from graphc.ops.tensor.tensor import Tensor


def _channels(owner: str, images: Tensor) -> list[Tensor]:
    if images.ndim < 1 or images.shape[-1] != 3 or not images.tensor_type.is_float:
        raise ShapeError(f"{owner}: the images are {images.tensor_type}, expected floats [..., 3]", loc=user_loc())
    return [getitem(images, (..., i)) for i in range(3)]


def rgb_to_hsv(images: Tensor) -> Tensor:
    """Hue, saturation and value of red, green and blue; grey has hue 0, black has saturation 0 (Smith, 1978)."""
    red, green, blue = _channels("RGBToHSV", images)
    value = reduce_max(images, -1)
    span = sub(value, reduce_min(images, -1))
    grey = equal(span, 0.0)
    sixth = mul(select(grey, 1.0, span), 6.0)
    hue = select(
        equal(red, value),
        div(sub(green, blue), sixth),
        select(equal(green, value), add(div(sub(blue, red), sixth), 2 / 6), add(div(sub(red, green), sixth), 4 / 6)),
    )
    hue = select(grey, 0.0, select(less(hue, 0.0), add(hue, 1.0), hue))
    lit = greater(value, 0.0)
    saturation = select(lit, div(span, select(lit, value, 1.0)), 0.0)
    return stack([hue, saturation, value], -1)


def hsv_to_rgb(images: Tensor) -> Tensor:
    """Red, green and blue of hue, saturation and value (Smith, 1978)."""
    hue, saturation, value = _channels("HSVToRGB", images)
    chroma = mul(saturation, value)
    made = []
    for offset in (5.0, 3.0, 1.0):
        turn = floor_mod(add(mul(hue, 6.0), offset), 6.0)
        made.append(sub(value, mul(chroma, clamp(minimum(turn, sub(4.0, turn)), 0.0, 1.0))))
    return stack(made, -1)


def adjust_hue(image: Tensor, delta: Operand) -> Tensor:
    """Images whose hues are turned by a share of a whole turn."""
    hue, saturation, value = _channels("AdjustHue", rgb_to_hsv(halves_widened(image)))
    turned = hsv_to_rgb(stack([floor_mod(add(hue, cast(delta, hue.dtype)), 1.0), saturation, value], -1))
    return cast_to(turned, image.tensor_type.dtype)


def adjust_saturation(image: Tensor, scale: Operand) -> Tensor:
    """Images whose saturations are multiplied by a number, and bounded by 1."""
    hue, saturation, value = _channels("AdjustSaturation", rgb_to_hsv(halves_widened(image)))
    changed = hsv_to_rgb(stack([hue, clamp(mul(saturation, scale), 0.0, 1.0), value], -1))
    return cast_to(changed, image.tensor_type.dtype)


def adjust_contrast(images: Tensor, contrast_factor: Tensor) -> Tensor:
    """Images [..., H, W, 3], float16 or float32, of each channel the distances from its mean in the image times a number.

    contrast_factor: float32, without axes. Raises ShapeError, DTypeError.
    """
    owner = "AdjustContrastv2"
    if images.ndim < 3 or images.shape[-1] != 3 or contrast_factor.ndim:
        raise ShapeError(
            f"{owner}: images are {images.tensor_type}, contrast_factor is {contrast_factor.tensor_type}, expected"
            " [..., H, W, 3] and one number",
            loc=user_loc(),
        )
    if images.tensor_type.dtype not in ("float16", "float32") or contrast_factor.tensor_type.dtype != "float32":
        raise DTypeError(
            f"{owner}: images are {images.tensor_type}, contrast_factor is {contrast_factor.tensor_type}, expected"
            " float16 or float32, and float32",
            loc=user_loc(),
        )
    wide = halves_widened(images)
    middle = reduce_mean(wide, (-3, -2), keep_dims=True)
    return cast_to(add(middle, mul(sub(wide, middle), contrast_factor)), images.tensor_type.dtype)
