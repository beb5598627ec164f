"""Convolution."""

from __future__ import annotations

import math
from typing import Any

from graphc import ops
from graphc.errors import ArgumentValueError, ShapeError, user_loc
from graphc.nn import checks
from graphc.nn.cell import Cell
from graphc.nn.initializer import HeUniform, Uniform, fans, initializer
from graphc.nn.layer.basic import input_dtype_error
from graphc.nn.layer.window import Pad, same_pad
from graphc.ops.tensor import Parameter, Tensor, as_tensor


class Conv2d(Cell):
    """Cross-correlation of images with windows (MindSpore: nn.Conv2d).

    x is [N, in_channels, H, W]; `weight` is [out_channels, in_channels, kh, kw], `bias` [out_channels].
    kernel_size, stride, dilation: an int, or (vertical, horizontal). pad_mode: "same" gives ceil(H / stride)
    rows, "valid" pads nothing, "pad" adds `padding` zeros (an int, or top, bottom, left, right). Defaults:
    HeUniform(sqrt(5)), and for the bias uniform within 1 / sqrt(in_channels * kh * kw).
    Raises ArgumentTypeError or ArgumentValueError for arguments (group other than 1 is not supported yet;
    data_format must be "NCHW"); ShapeError or DTypeError for an x that does not fit.
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int | tuple[int, int],
        stride: int | tuple[int, int] = 1,
        pad_mode: str = "same",
        padding: int | tuple[int, int, int, int] = 0,
        dilation: int | tuple[int, int] = 1,
        group: int = 1,
        has_bias: bool = False,
        weight_init: Any = None,
        bias_init: Any = None,
        data_format: str = "NCHW",
    ) -> None:
        super().__init__()
        self.in_channels = checks.integer("Conv2d", "in_channels", in_channels)
        self.out_channels = checks.integer("Conv2d", "out_channels", out_channels)
        self.kernel_size = checks.pair("Conv2d", "kernel_size", kernel_size)
        self.stride = checks.pair("Conv2d", "stride", stride)
        self.dilation = checks.pair("Conv2d", "dilation", dilation)
        self.pad_mode = checks.one_of("Conv2d", "pad_mode", pad_mode, ("same", "valid", "pad"))
        self.padding = _padding(padding, self.pad_mode)
        self.group = checks.integer("Conv2d", "group", group)
        if self.group != 1:
            raise ArgumentValueError(
                f"Conv2d: group = {group}, but convolution in groups is not supported yet",
                loc=user_loc(),
                help="use group=1, or one Conv2d per group on ops.split(x, sizes, axis=1) and ops.concat",
            )
        if data_format != "NCHW":
            raise checks.wrong_value("Conv2d", "data_format", "'NCHW'", data_format)
        shape = (self.out_channels, self.in_channels, *self.kernel_size)
        init = HeUniform(math.sqrt(5)) if weight_init is None else weight_init
        self.weight = Parameter(initializer(init, shape), name="weight")
        self.has_bias = checks.boolean("Conv2d", "has_bias", has_bias)
        self.bias: Parameter | None = None
        if self.has_bias:
            init = Uniform(1 / math.sqrt(fans(shape)[0])) if bias_init is None else bias_init
            self.bias = Parameter(initializer(init, shape[:1]), name="bias")

    def construct(self, x: Any) -> Tensor:
        x = as_tensor(x, "Conv2d: x")
        self._check(x)
        pad = self.padding
        if self.pad_mode == "same":
            pad = same_pad((x.shape[2], x.shape[3]), self.kernel_size, self.stride, self.dilation)
        y = ops.conv2d(x, self.weight, pad, self.stride, self.dilation)
        return y if self.bias is None else ops.bias_add(y, self.bias)

    def _check(self, x: Tensor) -> None:
        details = [f"x: {x.type}", f"weight: {checks.named(self.weight)}"]
        if x.ndim != 4:
            raise ShapeError(
                f"Conv2d: x has {x.ndim} axes, expected 4: [N, channels, H, W]",
                loc=user_loc(),
                details=details,
                help="add the axes of batch or channels with ops.expand_dims(x, axis)" if x.ndim < 4 else None,
            )
        if x.shape[1] != self.in_channels:
            last = x.shape[3] == self.in_channels
            raise ShapeError(
                f"Conv2d: x has {x.shape[1]} channels (axis 1), the layer expects {self.in_channels}",
                loc=user_loc(),
                details=details,
                help="bring channels to axis 1: ops.transpose(x, (0, 3, 1, 2))"
                if last
                else f"make the layer nn.Conv2d({x.shape[1]}, {self.out_channels}, ...)",
            )
        if x.type.dtype != self.weight.type.dtype:
            raise input_dtype_error("Conv2d", x, self.weight)

    def extend_repr(self) -> str:
        return (
            f"in_channels={self.in_channels}, out_channels={self.out_channels}"
            f", kernel_size={self.kernel_size}, stride={self.stride}"
            f", pad_mode={self.pad_mode}, padding={self.padding}, dilation={self.dilation}, has_bias={self.has_bias}"
        )


def _padding(padding: Any, pad_mode: str) -> Pad:
    """(top, bottom, left, right); anything but zeros only with pad_mode "pad"."""
    sizes = (padding,) * 4 if checks.is_int(padding) else padding
    if not isinstance(sizes, (tuple, list)):
        raise checks.wrong_type("Conv2d", "padding", "an int or a tuple of four", padding)
    if len(sizes) != 4:
        raise checks.wrong_value("Conv2d", "padding", "an int or (top, bottom, left, right)", padding)
    top, bottom, left, right = (checks.integer("Conv2d", "padding", p, least=0) for p in sizes)
    if pad_mode != "pad" and (top or bottom or left or right):
        raise checks.wrong_value("Conv2d", "padding", f"0 with pad_mode {pad_mode!r}", padding, 'use pad_mode="pad"')
    return top, bottom, left, right
