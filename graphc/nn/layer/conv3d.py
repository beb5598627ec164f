"""Convolution of volumes, and its transpose."""

from __future__ import annotations

from typing import Any

from graphc import ops
from graphc.errors import ShapeError, user_loc
from graphc.nn import checks
from graphc.nn.layer.conv import _Conv
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


class Conv3d(_Conv):
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
        sizes = {"kernel_size": kernel_size, "stride": stride, "dilation": dilation}
        window, step, spread = (_triple(n, v) for n, v in sizes.items())
        inits: dict[str, Any] = {"weight_init": weight_init, "bias_init": bias_init, "data_format": data_format}
        super().__init__(
            in_channels, out_channels, window, step, pad_mode, padding, spread, group, has_bias, **inits, dtype=dtype
        )

    def construct(self, x: Any) -> Tensor:
        x = as_tensor(x, "Conv3d: x")
        if x.ndim != 5 or x.shape[1] != self.in_channels:
            raise ShapeError(
                f"Conv3d: x is {x.tensor_type}, expected five axes and {self.in_channels} channels (axis 1)",
                loc=user_loc(),
            )
        bias = self.bias if self.has_bias else None
        return ops.conv3d(x, self.weight, bias, self.stride, self.pad_mode, self.ends, self.dilation, self.group)


class Conv3dTranspose(_Conv):
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
        owner = "Conv3dTranspose"
        sizes = {"kernel_size": kernel_size, "stride": stride, "dilation": dilation}
        window, step, spread = (checks.several(owner, n, v, 3) for n, v in sizes.items())
        inits: dict[str, Any] = {"weight_init": weight_init, "bias_init": bias_init, "data_format": data_format}
        inits |= {"transposed": True, "dtype": dtype}
        super().__init__(in_channels, out_channels, window, step, pad_mode, padding, spread, group, has_bias, **inits)
        self.output_padding = checks.several(owner, "output_padding", output_padding, 3, least=0)
        if any(self.output_padding) and self.pad_mode != "pad":
            raise checks.wrong_value(owner, "output_padding", f"0 with pad_mode {pad_mode!r}", output_padding)
        below_steps(owner, self.output_padding, self.stride, self.dilation)

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


__all__ = [
    "Conv3d",
    "Conv3dTranspose",
]
