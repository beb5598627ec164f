"""Pooling and resizing."""

from __future__ import annotations

import math
from typing import Any

from graphc.mint.nn import functional
from graphc.mint.nn.layers import biased
from graphc.nn import AvgPool1dExt as AvgPool1d
from graphc.nn import AvgPool2dExt as AvgPool2d
from graphc.nn import AvgPool3dExt as AvgPool3d
from graphc.nn import MaxPool2dExt as MaxPool2d
from graphc.nn import checks
from graphc.nn.cell.cell import Cell
from graphc.nn.initializer import HeUniform, initializer
from graphc.ops.tensor.parameter import Parameter
from graphc.ops.tensor.tensor import Tensor
from graphc.validation.unused_arguments import only


class MaxUnpool2d(Cell):
    """The reverse of MaxPool2d: maxima at their places in planes of zeros."""

    def __init__(self, kernel_size: Any, stride: Any = None, padding: Any = 0) -> None:
        super().__init__()
        self.kernel_size, self.stride, self.padding = kernel_size, stride, padding

    def construct(self, input: Any, indices: Any, output_size: Any = None) -> Tensor:
        return functional.max_unpool2d(input, indices, self.kernel_size, self.stride, self.padding, output_size)


class AdaptiveAvgPool3d(Cell):
    """Means of windows that divide the last three axes into output_size parts as equal as possible."""

    def __init__(self, output_size: Any) -> None:
        super().__init__()
        self.output_size = output_size

    def construct(self, input: Any) -> Tensor:
        return functional.adaptive_avg_pool3d(input, self.output_size)


class AdaptiveMaxPool1d(Cell):
    """Maxima of windows that divide the last axis into output_size parts as equal as possible."""

    def __init__(self, output_size: Any, return_indices: bool = False) -> None:
        super().__init__()
        self.output_size = output_size
        self.return_indices = checks.boolean("AdaptiveMaxPool1d", "return_indices", return_indices)

    def construct(self, input: Any) -> Any:
        return functional.adaptive_max_pool1d(input, self.output_size, self.return_indices)


class AdaptiveMaxPool2d(Cell):
    """Maxima of windows that divide the last two axes into output_size parts as equal as possible."""

    def __init__(self, output_size: Any, return_indices: bool = False) -> None:
        super().__init__()
        self.output_size = output_size
        self.return_indices = checks.boolean("AdaptiveMaxPool2d", "return_indices", return_indices)

    def construct(self, input: Any) -> Any:
        return functional.adaptive_max_pool2d(input, self.output_size, self.return_indices)


class Upsample(Cell):
    """Tensors [N, C, ...] in another size; see functional.interpolate."""

    def __init__(
        self,
        size: Any = None,
        scale_factor: Any = None,
        mode: str = "nearest",
        align_corners: bool | None = None,
        recompute_scale_factor: bool | None = None,
    ) -> None:
        super().__init__()
        self.size, self.scale_factor, self.mode = size, scale_factor, mode
        self.align_corners, self.recompute_scale_factor = align_corners, recompute_scale_factor

    def construct(self, input: Any) -> Tensor:
        return functional.interpolate(
            input, self.size, self.scale_factor, self.mode, self.align_corners, self.recompute_scale_factor
        )


class UpsamplingNearest2d(Upsample):
    """Images [N, C, H, W] in another size by their nearest pixels."""

    def __init__(self, size: Any = None, scale_factor: Any = None) -> None:
        super().__init__(size, scale_factor)


class UpsamplingBilinear2d(Upsample):
    """Images [N, C, H, W] in another size, between their pixels in proportion; corners stay where they are."""

    def __init__(self, size: Any = None, scale_factor: Any = None) -> None:
        super().__init__(size, scale_factor, "bilinear", True)


class Dropout2d(Cell):
    """Whole channels zero with probability p, the others over 1 - p, in training mode."""

    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        super().__init__()
        only("Dropout2d", "inplace", inplace, False)
        self.p = checks.real("Dropout2d", "p", p, least=0)
        if p > 1:
            raise checks.wrong_value("Dropout2d", "p", "from 0 to 1", p)

    def construct(self, input: Any) -> Tensor:
        return functional.dropout2d(input, self.p, self.training)


def _pair(value: Any) -> tuple[int, int]:
    return (value, value) if checks.is_int(value) else tuple(value)


class ConvTranspose2d(Cell):
    """The transpose of Conv2d: images [N, in_channels, H, W] with windows [in_channels, out_channels / groups, kh, kw].

    Of the heights and widths that Conv2d makes this input of, output_size names one, alone or behind the other axes, in place of
    output_padding; ArgumentValueError for others.
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        output_padding: Any = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: Any = 1,
        padding_mode: str = "zeros",
        dtype: Any = None,
    ) -> None:
        super().__init__()
        for name, value in (("in_channels", in_channels), ("out_channels", out_channels), ("groups", groups)):
            checks.integer("ConvTranspose2d", name, value)
        if in_channels % groups or out_channels % groups:
            raise checks.wrong_value(
                "ConvTranspose2d", "groups", f"a divisor of {in_channels} and {out_channels}", groups
            )
        only("ConvTranspose2d", "padding_mode", padding_mode, "zeros")
        self.stride, self.padding, self.output_padding = stride, padding, output_padding
        self.groups, self.dilation = groups, dilation
        self.kernel_size = checks.pair("ConvTranspose2d", "kernel_size", kernel_size)
        shape = (in_channels, out_channels // groups, *self.kernel_size)
        self.weight = Parameter(
            initializer(HeUniform(math.sqrt(5)), shape, "float32" if dtype is None else dtype), name="weight"
        )
        with_bias = checks.boolean("ConvTranspose2d", "bias", bias)
        self.bias = biased(out_channels, math.prod(shape[1:]), dtype) if with_bias else None

    def construct(self, input: Any, output_size: Any = None) -> Tensor:
        output_padding = self.output_padding if output_size is None else self._missing(input, output_size)
        return functional.conv_transpose2d(
            input, self.weight, self.bias, self.stride, self.padding, output_padding, self.groups, self.dilation
        )

    def _missing(self, input: Any, output_size: Any) -> tuple[int, ...]:
        """The output_padding that gives this size."""
        sizes = tuple(output_size)
        if len(sizes) not in (2, input.ndim):
            raise checks.wrong_value("ConvTranspose2d", "output_size", f"2 or {input.ndim} sizes", output_size)
        steps, borders, spread = (_pair(v) for v in (self.stride, self.padding, self.dilation))
        least = tuple(
            (n - 1) * step - 2 * border + d * (k - 1) + 1
            for n, step, border, d, k in zip(input.shape[-2:], steps, borders, spread, self.kernel_size, strict=True)
        )
        missing = tuple(size - low for size, low in zip(sizes[-2:], least, strict=True))
        if not all(0 <= more < step for more, step in zip(missing, steps, strict=True)):
            most = tuple(low + step - 1 for low, step in zip(least, steps, strict=True))
            raise checks.wrong_value("ConvTranspose2d", "output_size", f"from {least} to {most}", sizes[-2:])
        return missing


__all__ = [
    "AdaptiveAvgPool3d", "AdaptiveMaxPool1d", "AdaptiveMaxPool2d", "AvgPool1d", "AvgPool2d", "AvgPool3d",
    "ConvTranspose2d", "Dropout2d", "MaxPool2d", "MaxUnpool2d", "Upsample", "UpsamplingBilinear2d",
    "UpsamplingNearest2d",
]  # fmt: skip
