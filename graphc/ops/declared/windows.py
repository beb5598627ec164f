"""Windows of images: the size of what they give, and views of them."""

from __future__ import annotations

import numpy as np

from graphc.errors import ArgumentValueError, ShapeError
from graphc.ir.op import Attrs
from graphc.ops.declared.rules import Array

Pair = tuple[int, int]


def output_size(op_name: str, size: int, pad: int, kernel: int, stride: int, dilation: int, what: str) -> int:
    reach = dilation * (kernel - 1) + 1
    if size + pad < reach:
        raise ShapeError(
            f"{op_name}: the window does not fit: {what} is {size} + {pad} padding, the window reaches over {reach}",
            code="GC104",
            help="use a smaller kernel or dilation, more padding (pad_mode='same'), or a larger input",
        )
    return (size + pad - reach) // stride + 1


def output_plane(op_name: str, plane: tuple[int, ...], kernel: Pair, attrs: Attrs) -> Pair:
    pad, stride, dilation = attrs["pad"], attrs["stride"], attrs.get("dilation", (1, 1))
    if min(stride) < 1 or min(dilation) < 1 or min(kernel) < 1 or min(pad) < 0:
        raise ArgumentValueError(
            f"{op_name}: kernel {kernel}, stride {stride} and dilation {dilation} must be positive, pad {pad} not negative"
        )
    return (
        output_size(op_name, plane[0], pad[0] + pad[1], kernel[0], stride[0], dilation[0], "height"),
        output_size(op_name, plane[1], pad[2] + pad[3], kernel[1], stride[1], dilation[1], "width"),
    )


def windows(x: Array, kernel: Pair, attrs: Attrs, value: float = 0.0) -> Array:
    """View [N, C, OH, OW, kh, kw] of the padded image."""
    top, bottom, left, right = attrs["pad"]
    (sh, sw), (dh, dw) = attrs["stride"], attrs.get("dilation", (1, 1))
    padded = np.pad(x, ((0, 0), (0, 0), (top, bottom), (left, right)), constant_values=value)
    reach = (dh * (kernel[0] - 1) + 1, dw * (kernel[1] - 1) + 1)
    seen = np.lib.stride_tricks.sliding_window_view(padded, reach, axis=(2, 3))
    return seen[:, :, ::sh, ::sw, ::dh, ::dw]
