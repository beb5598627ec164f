"""Primitives of pooling: over windows of volumes, with places, to a given size, and back."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphc.errors import ArgumentValueError, user_loc
from graphc.ops import functional as F
from graphc.ops.functional.adaptive_pooling import adaptive_max
from graphc.ops.functional.conv import same_pad
from graphc.ops.functional.core import Extents, Ints
from graphc.ops.functional.fractional import fractional_pool
from graphc.ops.functional.pooling import max_pool, max_windows_with_places, pool3d
from graphc.ops.functional.sliding import windows_over
from graphc.ops.functional.unpooling import unpooled
from graphc.ops.primitives.network import pair_of
from graphc.ops.tensor.dtype import to_name
from graphc.ops.tensor.primitive import REQUIRED, Only, declare
from graphc.ops.tensor.tensor import Tensor
from graphc.validation.unused_arguments import refusal

# ---- over windows


def _max_pool3d(
    x: Tensor, kernel_size: Ints, strides: Ints, pad_mode: str, pad_list: Ints, ceil_mode: bool | None
) -> Tensor:
    """The largest element of each window of volumes [N, C, D, H, W]."""
    return pool3d(x, kernel_size, strides, pad_mode, pad_list, "max", ceil_mode)


MaxPool3D = declare(
    "MaxPool3D",
    _max_pool3d,
    kernel_size=1,
    strides=1,
    pad_mode="VALID",
    pad_list=0,
    ceil_mode=None,
    data_format=Only("NCDHW"),
)


def _avg_pool3d(
    x: Tensor,
    kernel_size: Ints,
    strides: Ints,
    pad_mode: str,
    pad: Ints,
    ceil_mode: bool,
    count_include_pad: bool,
    divisor_override: int,
) -> Tensor:
    """The mean of each window of volumes [N, C, D, H, W]."""
    return pool3d(x, kernel_size, strides, pad_mode, pad, "avg", ceil_mode, count_include_pad, divisor_override)


AvgPool3D = declare(
    "AvgPool3D",
    _avg_pool3d,
    kernel_size=1,
    strides=1,
    pad_mode="valid",
    pad=0,
    ceil_mode=False,
    count_include_pad=True,
    divisor_override=0,
    data_format=Only("NCDHW"),
)


def _with_argmax(x: Tensor, kernel_size: Ints, strides: Ints, pad_mode: str) -> tuple[Tensor, Tensor]:
    """(largest pixel of each window of [N, C, H, W], its int32 place in the flattened [C, H, W])."""
    kernel = pair_of("MaxPoolWithArgmax", "kernel_size", kernel_size)
    stride = pair_of("MaxPoolWithArgmax", "strides", strides)
    mode = pad_mode.lower()
    if mode not in ("same", "valid"):
        raise ArgumentValueError(
            f"MaxPoolWithArgmax: pad_mode must be 'same' or 'valid', got {pad_mode!r}", loc=user_loc()
        )
    pads = same_pad((x.shape[2], x.shape[3]), kernel, stride, (1, 1)) if mode == "same" else (0, 0, 0, 0)
    ends = (pads[:2], pads[2:])
    values, places = max_windows_with_places(x, windows_over("MaxPoolWithArgmax", x.shape[2:], kernel, stride, ends))
    planes = np.arange(x.shape[1], dtype=np.int32)[:, None, None] * (x.shape[2] * x.shape[3])
    return values, F.add(F.cast(places, "int32"), Tensor(planes))


MaxPoolWithArgmax = declare(
    "MaxPoolWithArgmax", _with_argmax, kernel_size=1, strides=1, pad_mode="valid", data_format=Only("NCHW")
)


def _places_as(owner: str, pooled: tuple[Tensor, Tensor], argmax_type: Any) -> tuple[Tensor, Tensor]:
    name = to_name(argmax_type)
    if name not in ("int32", "int64"):
        raise refusal(owner, "argmax_type", argmax_type, "int32", "int64")
    return pooled[0], F.cast(pooled[1], name)


def _with_argmax2(
    x: Tensor, kernel_size: Ints, strides: Ints, pads: Ints, dilation: Ints, ceil_mode: bool, argmax_type: Any
) -> tuple[Tensor, Tensor]:
    """(largest pixel of each window of [N, C, H, W], its place in the flattened plane)."""
    made = max_pool("MaxPoolWithArgmaxV2", x, 2, kernel_size, strides, pads, dilation, True, ceil_mode)
    return _places_as("MaxPoolWithArgmaxV2", made, argmax_type)


MaxPoolWithArgmaxV2 = declare(
    "MaxPoolWithArgmaxV2",
    _with_argmax2,
    kernel_size=REQUIRED,
    strides=None,
    pads=0,
    dilation=(1, 1),
    ceil_mode=False,
    argmax_type="int64",
)


def _with_argmax3(
    x: Tensor, ksize: Ints, strides: Ints, pads: Ints, dilation: Ints, ceil_mode: bool, argmax_type: Any
) -> tuple[Tensor, Tensor]:
    """(largest element of each window of [N, C, D, H, W], its place in the flattened volume)."""
    made = max_pool("MaxPool3DWithArgmax", x, 3, ksize, strides, pads, dilation, True, ceil_mode)
    return _places_as("MaxPool3DWithArgmax", made, argmax_type)


MaxPool3DWithArgmax = declare(
    "MaxPool3DWithArgmax",
    _with_argmax3,
    ksize=REQUIRED,
    strides=REQUIRED,
    pads=REQUIRED,
    dilation=(1, 1, 1),
    ceil_mode=False,
    data_format=Only("NCDHW"),
    argmax_type="int64",
)

# ---- to a given size

AdaptiveAvgPool2D = declare("AdaptiveAvgPool2D", F.adaptive_avg_pool2d, output_size=REQUIRED)

AdaptiveAvgPool3D = declare("AdaptiveAvgPool3D", F.adaptive_avg_pool3d, output_size=REQUIRED)

AdaptiveMaxPool2D = declare(
    "AdaptiveMaxPool2D",
    lambda input, output_size: F.adaptive_max_pool2d(input, output_size, True),
    "(maxima of parts of the last two axes, their int64 places in the flattened plane).",
    output_size=REQUIRED,
)


def _adaptive_max3(x: Tensor, output_size: Extents) -> Any:
    """(maxima of parts of the last three axes, their int32 places in the flattened volume)."""
    sizes: Any = output_size.asnumpy().tolist() if isinstance(output_size, Tensor) else output_size
    return adaptive_max(x, [int(s) for s in sizes], True, "int32")


AdaptiveMaxPool3D = declare("AdaptiveMaxPool3D", _adaptive_max3)

# ---- and back


def _max_unpool2d(x: Tensor, argmax: Tensor, ksize: Ints, strides: Ints, pads: Ints, output_shape: Ints) -> Tensor:
    """Images [N, C, H, W] with the elements of x at their places and zeros elsewhere."""
    return unpooled("MaxUnpool2D", x, argmax, 2, ksize, strides or None, pads, output_shape)


MaxUnpool2D = declare(
    "MaxUnpool2D", _max_unpool2d, ksize=REQUIRED, strides=0, pads=0, output_shape=(), data_format=Only("NCHW")
)


def _max_unpool3d(x: Tensor, argmax: Tensor, ksize: Ints, strides: Ints, pads: Ints, output_shape: Ints) -> Tensor:
    """Volumes [N, C, D, H, W] with the elements of x at their places and zeros elsewhere."""
    return unpooled("MaxUnpool3D", x, argmax, 3, ksize, strides or None, pads, output_shape)


MaxUnpool3D = declare(
    "MaxUnpool3D", _max_unpool3d, ksize=REQUIRED, strides=0, pads=0, output_shape=(), data_format=Only("NCDHW")
)


# ---- over windows placed at random


def _fractional2d(input_x: Tensor, random_samples: Tensor, ksize: Ints, output_shape: Ints) -> tuple[Tensor, Tensor]:
    """(the largest pixel of each window of images [N, C, H, W], its int64 place in the plane); random_samples: [N, C, 2]."""
    made: tuple[Tensor, Tensor] = F.fractional_max_pool2d(input_x, ksize, output_shape, None, True, random_samples)
    return made


FractionalMaxPoolWithFixedKsize = declare(
    "FractionalMaxPoolWithFixedKsize", _fractional2d, ksize=REQUIRED, output_shape=REQUIRED, data_format=Only("NCHW")
)


def _fractional3d(x: Tensor, random_samples: Tensor, ksize: Ints, output_shape: Ints) -> tuple[Tensor, Tensor]:
    """(the largest of each window of volumes [N, C, D, H, W], its int64 place in the volume); random_samples: [N, C, 3]."""
    made: tuple[Tensor, Tensor] = F.fractional_max_pool3d(x, ksize, output_shape, None, True, random_samples)
    return made


FractionalMaxPool3DWithFixedKsize = declare(
    "FractionalMaxPool3DWithFixedKsize", _fractional3d, ksize=REQUIRED, output_shape=REQUIRED, data_format=Only("NCDHW")
)

# ---- windows whose borders are drawn


def _fractional(name: str, largest: bool) -> Any:
    def run(
        x: Tensor,
        pooling_ratio: list[float],
        pseudo_random: bool,
        overlapping: bool,
        deterministic: bool,
        seed: int,
        seed2: int,
    ) -> tuple[Tensor, Tensor, Tensor]:
        return fractional_pool(
            name, x, pooling_ratio, pseudo_random, overlapping, deterministic, (seed, seed2), largest
        )

    run.__doc__ = (
        f"({'Maxima' if largest else 'Means'} of windows of images [N, H, W, C], the borders of rows and of columns)."
    )
    return run


FractionalMaxPool, FractionalAvgPool = (
    declare(
        name,
        _fractional(name, largest),
        pooling_ratio=REQUIRED,
        pseudo_random=False,
        overlapping=False,
        deterministic=False,
        seed=0,
        seed2=0,
    )
    for name, largest in (("FractionalMaxPool", True), ("FractionalAvgPool", False))
)
