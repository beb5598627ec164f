"""Pooling with torch's arguments (MindSpore: nn.AvgPool2dExt and the like, which are mint's layers)."""

from __future__ import annotations

from typing import Any

from graphc.nn import checks
from graphc.nn.cell.cell import Cell
from graphc.ops.functional.extended import avg_pool1d_ext, avg_pool2d_ext, avg_pool3d_ext, max_pool2d_ext
from graphc.ops.tensor.tensor import Tensor


class MaxPool2dExt(Cell):
    """The greatest of each window of [N, C, H, W] with torch's arguments; return_indices: also its int64 place in the plane."""

    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        dilation: Any = 1,
        return_indices: bool = False,
        ceil_mode: bool = False,
    ) -> None:
        super().__init__()
        self.kernel_size, self.stride, self.padding, self.dilation = kernel_size, stride, padding, dilation
        self.return_indices = checks.boolean("MaxPool2dExt", "return_indices", return_indices)
        self.ceil_mode = checks.boolean("MaxPool2dExt", "ceil_mode", ceil_mode)

    def construct(self, input: Any) -> Any:
        return max_pool2d_ext(
            input, self.kernel_size, self.stride, self.padding, self.dilation, ceil_mode=self.ceil_mode,
            return_indices=self.return_indices,
        )  # fmt: skip


class _AvgPoolExt(Cell):
    """What the means of windows have in common."""

    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
    ) -> None:
        super().__init__()
        owner = type(self).__name__
        self.kernel_size, self.stride, self.padding = kernel_size, stride, padding
        self.ceil_mode = checks.boolean(owner, "ceil_mode", ceil_mode)
        self.count_include_pad = checks.boolean(owner, "count_include_pad", count_include_pad)


class AvgPool1dExt(_AvgPoolExt):
    """The mean of each window of [N, C, L] or [C, L], with torch's arguments."""

    def construct(self, input: Any) -> Tensor:
        return avg_pool1d_ext(
            input, self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad
        )


class AvgPool2dExt(_AvgPoolExt):
    """The mean of each window of [N, C, H, W] or [C, H, W]; divisor_override: what the sum is divided by instead."""

    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> None:
        super().__init__(kernel_size, stride, padding, ceil_mode, count_include_pad)
        if divisor_override is not None:
            checks.integer(type(self).__name__, "divisor_override", divisor_override)
        self.divisor_override = divisor_override

    def construct(self, input: Any) -> Tensor:
        return avg_pool2d_ext(
            input, self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad,
            self.divisor_override,
        )  # fmt: skip


class AvgPool3dExt(AvgPool2dExt):
    """The mean of each window of [N, C, D, H, W] or [C, D, H, W]; see AvgPool2dExt."""

    def construct(self, input: Any) -> Tensor:
        return avg_pool3d_ext(
            input, self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad,
            self.divisor_override,
        )  # fmt: skip


__all__ = ["AvgPool1dExt", "AvgPool2dExt", "AvgPool3dExt", "MaxPool2dExt"]
