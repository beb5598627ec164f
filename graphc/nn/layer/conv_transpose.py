"""Transposed convolution: the gradient of a convolution for its images, as a layer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from graphc import ops
from graphc.nn import checks
from graphc.nn.layer.conv import _Conv, in_one_row, padding_of
from graphc.ops.functional.conv import Pad, Pair, same_pad
from graphc.ops.tensor.tensor import Tensor, as_tensor


class Conv2dTranspose(_Conv):
    """Transposed convolution of images (MindSpore: nn.Conv2dTranspose).

    x is [N, in_channels, H, W]; `weight` is [in_channels, out_channels / group, kh, kw], `bias` [out_channels]. Arguments as
    for Conv2d. Rows of the result: "same" H stride; "valid" (H - 1) stride + reach with the reach dilation (kh - 1) + 1 of
    the window, at least H stride; "pad" (H - 1) stride + reach - top - bottom + output_padding.
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        pad_mode: str = "same",
        padding: Any = 0,
        output_padding: Any = 0,
        dilation: Any = 1,
        group: int = 1,
        has_bias: bool = False,
        weight_init: Any = None,
        bias_init: Any = None,
        dtype: Any = "float32",
    ) -> None:
        owner = type(self).__name__
        sizes = {"kernel_size": kernel_size, "stride": stride, "dilation": dilation}
        window, step, spread = (checks.pair(owner, n, v) for n, v in sizes.items())
        inits: dict[str, Any] = {"weight_init": weight_init, "bias_init": bias_init, "transposed": True, "dtype": dtype}
        super().__init__(in_channels, out_channels, window, step, pad_mode, padding, spread, group, has_bias, **inits)
        extra = (output_padding,) * 2 if checks.is_int(output_padding) else tuple(output_padding)
        self.output_padding = tuple(checks.integer(owner, "output_padding", p, least=0) for p in extra)
        if any(self.output_padding) and self.pad_mode != "pad":
            raise checks.wrong_value(owner, "output_padding", f"0 with pad_mode {pad_mode!r}", output_padding)
        below_steps(owner, self.output_padding, self.stride, self.dilation)

    def construct(self, x: Any) -> Tensor:
        x = as_tensor(x, "Conv2dTranspose: x")
        self._check(x, "[N, channels, H, W]")
        size, pads = self._placed((x.shape[2], x.shape[3]))
        shape = (x.shape[0], self.out_channels, *size)
        y = ops.conv2d_transpose(x, self.weight, shape, pads, self.stride, self.dilation, self.group)
        return y if not self.has_bias or self.bias is None else ops.bias_add(y, self.bias)

    def _placed(self, size: Pair) -> tuple[Pair, Pad]:
        """Height and width of the result, and the padding of the convolution that it is the gradient of."""
        reach = [d * (k - 1) + 1 for k, d in zip(self.kernel_size, self.dilation, strict=True)]
        if self.pad_mode == "same":
            made = (size[0] * self.stride[0], size[1] * self.stride[1])
            return made, same_pad(made, self.kernel_size, self.stride, self.dilation)
        total = [sum(self.ends[:2]), sum(self.ends[2:])]
        extra = list(self.output_padding)
        if self.pad_mode == "valid":
            extra = [max(s - r, 0) for s, r in zip(self.stride, reach, strict=True)]
        rows, columns = (
            (n - 1) * s + r - p + e for n, s, r, p, e in zip(size, self.stride, reach, total, extra, strict=True)
        )
        return (rows, columns), self.ends


def below_steps(owner: str, extra: Sequence[int], stride: Sequence[int], dilation: Sequence[int]) -> None:
    """ArgumentValueError unless output_padding is below the larger of stride and dilation along each axis, as in MindSpore."""
    most = tuple(map(max, stride, dilation))
    if any(p >= n for p, n in zip(extra, most, strict=True)):
        raise checks.wrong_value(
            owner, "output_padding", f"below {most}, the larger of stride and dilation", tuple(extra)
        )


class Conv1dTranspose(Conv2dTranspose):
    """Transposed convolution of sequences [N, in_channels, L] (MindSpore: nn.Conv1dTranspose).

    `weight` is [in_channels, out_channels / group, 1, kernel_size]; arguments are ints, as for Conv1d.
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int,
        stride: int = 1,
        pad_mode: str = "same",
        padding: int = 0,
        dilation: int = 1,
        group: int = 1,
        has_bias: bool = False,
        weight_init: Any = None,
        bias_init: Any = None,
        dtype: Any = "float32",
    ) -> None:
        sizes = {"kernel_size": kernel_size, "stride": stride, "dilation": dilation}
        window, step, spread = ((1, checks.integer("Conv1dTranspose", n, v)) for n, v in sizes.items())
        ends = (0, 0, *padding_of("Conv1dTranspose", padding, pad_mode, 2))
        inits: dict[str, Any] = {"weight_init": in_one_row(weight_init), "bias_init": bias_init, "dtype": dtype}
        super().__init__(in_channels, out_channels, window, step, pad_mode, ends, 0, spread, group, has_bias, **inits)

    def construct(self, x: Any) -> Tensor:
        return ops.squeeze(super().construct(ops.expand_dims(as_tensor(x, "Conv1dTranspose: x"), 2)), 2)


__all__ = [
    "Conv1dTranspose",
    "Conv2dTranspose",
]
