"""Convolution of volumes, and its transpose."""

from __future__ import annotations

from typing import Any

from graphc import ops
from graphc.errors import ShapeError, user_loc
from graphc.nn import checks
from graphc.nn.cell.cell import Cell
from graphc.nn.layer.conv import described, make, padding_of
from graphc.nn.layer.conv_transpose import below_steps
from graphc.ops.tensor.tensor import Tensor, as_tensor

Triple = tuple[int, int, int]


def _triple(name: str, value: Any, least: int = 1) -> Triple:
    sizes = (value,) * 3 if checks.is_int(value) else value
    if not isinstance(sizes, (tuple, list)):
        raise checks.wrong_type("Conv3d", name, "an int or a tuple of three", value)
    if len(sizes) != 3:
        raise checks.wrong_value("Conv3d", name, "an int or three ints", value)
    a, b, c = (checks.integer("Conv3d", name, s, least) for s in sizes)
    return a, b, c


class Conv3d(Cell):
    """Cross-correlation of volumes with windows (MindSpore: nn.Conv3d).

    x is [N, in_channels, D, H, W]; `weight` is [out_channels, in_channels / group, kd, kh, kw], `bias` [out_channels]. Arguments
    as for Conv2d: kernel_size, stride, dilation are ints or (depth, vertical, horizontal); padding an int or (front, back, top,
    bottom, left, right).
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        pad_mode: str = "same",
        padding: Any = 0,
        dilation: Any = 1,
        group: int = 1,
        has_bias: bool = False,
        weight_init: Any = None,
        bias_init: Any = None,
        data_format: str = "NCDHW",
        dtype: Any = "float32",
    ) -> None:
        super().__init__()
        self.in_channels = checks.integer("Conv3d", "in_channels", in_channels)
        self.out_channels = checks.integer("Conv3d", "out_channels", out_channels)
        self.kernel_size, self.stride = _triple("kernel_size", kernel_size), _triple("stride", stride)
        self.dilation = _triple("dilation", dilation)
        self.pad_mode = checks.one_of("Conv3d", "pad_mode", pad_mode, ("same", "valid", "pad"))
        self.group = checks.integer("Conv3d", "group", group)
        self.has_bias = checks.boolean("Conv3d", "has_bias", has_bias)
        if data_format != "NCDHW":
            raise checks.wrong_value("Conv3d", "data_format", "'NCDHW'", data_format)
        for name, count in (("in_channels", in_channels), ("out_channels", out_channels)):
            if count % group:
                raise checks.wrong_value("Conv3d", name, f"a multiple of group = {group}", count)
        self.padding, self.data_format = padding, data_format
        self.ends = padding_of("Conv3d", padding, self.pad_mode, 6)
        shape = (out_channels, in_channels // group, *self.kernel_size)
        make(self, shape, out_channels, (weight_init, bias_init), dtype)

    def construct(self, x: Any) -> Tensor:
        x = as_tensor(x, "Conv3d: x")
        if x.ndim != 5 or x.shape[1] != self.in_channels:
            raise ShapeError(
                f"Conv3d: x is {x.tensor_type}, expected five axes and {self.in_channels} channels (axis 1)",
                loc=user_loc(),
            )
        bias = self.bias if self.has_bias else None
        return ops.conv3d(x, self.weight, bias, self.stride, self.pad_mode, self.ends, self.dilation, self.group)

    def extend_repr(self) -> str:
        return described(self)


class Conv3dTranspose(Cell):
    """Transposed convolution of volumes (MindSpore: nn.Conv3dTranspose).

    x is [N, in_channels, D, H, W]; `weight` is [in_channels, out_channels / group, kd, kh, kw], `bias` [out_channels]. Arguments
    and sizes of the result as for `ops.conv3d_transpose`.
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        pad_mode: str = "same",
        padding: Any = 0,
        dilation: Any = 1,
        group: int = 1,
        output_padding: Any = 0,
        has_bias: bool = False,
        weight_init: Any = None,
        bias_init: Any = None,
        data_format: str = "NCDHW",
        dtype: Any = "float32",
    ) -> None:
        super().__init__()
        owner = "Conv3dTranspose"
        self.in_channels = checks.integer(owner, "in_channels", in_channels)
        self.out_channels = checks.integer(owner, "out_channels", out_channels)
        self.kernel_size, self.stride = (
            checks.several(owner, name, value, 3) for name, value in (("kernel_size", kernel_size), ("stride", stride))
        )
        self.dilation = checks.several(owner, "dilation", dilation, 3)
        self.output_padding = checks.several(owner, "output_padding", output_padding, 3, least=0)
        self.pad_mode = checks.one_of(owner, "pad_mode", pad_mode, ("same", "valid", "pad"))
        self.group, self.has_bias = checks.integer(owner, "group", group), checks.boolean(owner, "has_bias", has_bias)
        if data_format != "NCDHW":
            raise checks.wrong_value(owner, "data_format", "'NCDHW'", data_format)
        for name, count in (("in_channels", in_channels), ("out_channels", out_channels)):
            if count % group:
                raise checks.wrong_value(owner, name, f"a multiple of group = {group}", count)
        if any(self.output_padding) and self.pad_mode != "pad":
            raise checks.wrong_value(owner, "output_padding", f"0 with pad_mode {pad_mode!r}", output_padding)
        below_steps(owner, self.output_padding, self.stride, self.dilation)
        self.padding, self.data_format = padding, data_format
        self.ends = padding_of(owner, padding, self.pad_mode, 6)
        shape = (in_channels, out_channels // group, *self.kernel_size)
        make(self, shape, out_channels, (weight_init, bias_init), dtype)

    def construct(self, x: Any) -> Tensor:
        x = as_tensor(x, "Conv3dTranspose: x")
        if x.ndim != 5 or x.shape[1] != self.in_channels:
            raise ShapeError(
                f"Conv3dTranspose: x is {x.tensor_type}, expected five axes and {self.in_channels} channels (axis 1)",
                loc=user_loc(),
            )
        steps = (self.stride, self.dilation, self.group, self.output_padding)
        y = ops.conv3d_transpose(x, self.weight, self.pad_mode, self.ends, *steps)
        return y if not self.has_bias or self.bias is None else y + ops.reshape(self.bias, (1, -1, 1, 1, 1))

    def extend_repr(self) -> str:
        return described(self)


__all__ = [
    "Conv3d",
    "Conv3dTranspose",
]
