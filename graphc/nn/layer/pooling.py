"""Pooling over windows of sequences and images."""

from __future__ import annotations

from typing import Any

from graphc import ops
from graphc.errors import ShapeError, user_loc
from graphc.nn import checks
from graphc.nn.cell.cell import Cell
from graphc.ops.functional.conv import Pad, same_pad
from graphc.ops.tensor.tensor import Tensor, as_tensor


class _Pool2d(Cell):
    def __init__(
        self,
        kernel_size: int | tuple[int, int] = 1,
        stride: int | tuple[int, int] = 1,
        pad_mode: str = "valid",
    ) -> None:
        super().__init__()
        owner = type(self).__name__
        self.kernel_size = checks.pair(owner, "kernel_size", kernel_size)
        self.stride = checks.pair(owner, "stride", stride)
        self.pad_mode = checks.one_of(owner, "pad_mode", pad_mode, ("same", "valid"))

    def images(self, x: Any) -> tuple[Tensor, Pad]:
        """x with an axis for the batch, and its padding."""
        owner = type(self).__name__
        x = as_tensor(x, f"{owner}: x")
        if x.ndim not in (3, 4):
            raise ShapeError(
                f"{owner}: x has {x.ndim} axes, expected 4: [N, channels, H, W], or 3 without N",
                loc=user_loc(),
                details=[f"x: {x.type}"],
            )
        pad: Pad = (0, 0, 0, 0)
        if self.pad_mode == "same":
            pad = same_pad((x.shape[-2], x.shape[-1]), self.kernel_size, self.stride, (1, 1))
        return (x if x.ndim == 4 else ops.expand_dims(x, 0)), pad

    def extend_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, pad_mode={self.pad_mode}"


class MaxPool2d(_Pool2d):
    """Largest pixel of each window (MindSpore: nn.MaxPool2d).

    x is [N, C, H, W] or [C, H, W]. kernel_size, stride: an int, or (vertical, horizontal); note that stride
    is 1 by default. pad_mode "valid" leaves out what does not fill a window; "same" gives ceil(H / stride)
    rows and leaves out the padding.
    Raises ArgumentTypeError or ArgumentValueError for arguments, ShapeError for other ranks and windows that
    do not fit.
    """

    def construct(self, x: Any) -> Tensor:
        images, pad = self.images(x)
        y = ops.max_pool2d(images, self.kernel_size, self.stride, pad)
        return y if x.ndim == 4 else ops.squeeze(y, 0)


class AvgPool2d(_Pool2d):
    """Mean of each window (MindSpore: nn.AvgPool2d); arguments as for MaxPool2d, padding does not count."""

    def construct(self, x: Any) -> Tensor:
        images, pad = self.images(x)
        y = ops.avg_pool2d(images, self.kernel_size, self.stride, pad, count_include_pad=False)
        return y if x.ndim == 4 else ops.squeeze(y, 0)


class _Pool1d(Cell):
    """A pool over images of one row."""

    _kind: type[_Pool2d]

    def __init__(self, kernel_size: int = 1, stride: int = 1, pad_mode: str = "valid") -> None:
        super().__init__()
        owner = type(self).__name__
        self.kernel_size = checks.integer(owner, "kernel_size", kernel_size)
        self.stride = checks.integer(owner, "stride", stride)
        pad_mode = pad_mode.lower() if isinstance(pad_mode, str) else pad_mode
        self.pad_mode = checks.one_of(owner, "pad_mode", pad_mode, ("same", "valid"))
        self.pool = type(self)._kind((1, self.kernel_size), (1, self.stride), self.pad_mode)

    def construct(self, x: Any) -> Tensor:
        x = as_tensor(x, f"{type(self).__name__}: x")
        if x.ndim not in (2, 3):
            raise ShapeError(
                f"{type(self).__name__}: x is {x.type}, expected [N, channels, L] or [channels, L]", loc=user_loc()
            )
        y: Tensor = ops.squeeze(self.pool(ops.expand_dims(x, -2)), -2)
        return y


class MaxPool1d(_Pool1d):
    """Largest element of each window of [N, C, L] or [C, L] (MindSpore: nn.MaxPool1d); arguments as for MaxPool2d."""

    _kind = MaxPool2d


class AvgPool1d(_Pool1d):
    """Mean of each window of [N, C, L] or [C, L] (MindSpore: nn.AvgPool1d); arguments as for AvgPool2d."""

    _kind = AvgPool2d


__all__ = ["AvgPool1d", "AvgPool2d", "MaxPool1d", "MaxPool2d"]
