"""Pooling over windows of sequences, images and volumes."""

from __future__ import annotations

from typing import Any

from graphc import ops
from graphc.errors import ShapeError, user_loc
from graphc.nn import checks
from graphc.nn.cell.cell import Cell
from graphc.ops.functional.pooling import avg_windows, max_windows, max_windows_with_places
from graphc.ops.functional.sliding import same_ends, windows_over
from graphc.ops.tensor.tensor import Tensor, as_tensor
from graphc.validation.unused_arguments import only

Ends = tuple[tuple[int, int], ...]

_AXES = {1: "L", 2: "H, W", 3: "D, H, W"}


class _Pool(Cell):
    """Windows of a size and a stride over the last axes, padded as pad_mode says."""

    _axes = 2

    def __init__(self, kernel_size: Any, stride: Any, pad_mode: str, padding: Any, ceil_mode: bool) -> None:
        super().__init__()
        owner = type(self).__name__
        self.kernel_size, self.stride = self._sizes("kernel_size", kernel_size), self._sizes("stride", stride)
        self.pad_mode = checks.one_of(owner, "pad_mode", pad_mode, ("same", "valid", "pad"))
        self.padding = self._sizes("padding", padding, least=0)
        self.ceil_mode = checks.boolean(owner, "ceil_mode", ceil_mode)
        if self.pad_mode != "pad" and any(self._each(self.padding)):
            raise checks.wrong_value(owner, "padding", f"0 with pad_mode {pad_mode!r}", padding, 'use pad_mode="pad"')

    def _sizes(self, name: str, value: Any, least: int = 1) -> Any:
        """An int of a layer of sequences, else as many as axes."""
        owner = type(self).__name__
        if self._axes > 1:
            return checks.several(owner, name, value, self._axes, least)
        one = value[0] if isinstance(value, (tuple, list)) and len(value) == 1 else value
        return checks.integer(owner, name, one, least)

    def _each(self, sizes: Any) -> tuple[int, ...]:
        # They may have been set since.
        return tuple(sizes) if isinstance(sizes, (tuple, list)) else (sizes,) * self._axes

    def batch(self, x: Any) -> tuple[Tensor, bool]:
        """x with an axis for the batch, and whether it had none."""
        owner = type(self).__name__
        x, rank = as_tensor(x, f"{owner}: x"), self._axes + 2
        if x.ndim not in (rank - 1, rank):
            raise ShapeError(
                f"{owner}: x has {x.ndim} axes, expected {rank}: [N, channels, {_AXES[self._axes]}], or {rank - 1} without N",
                loc=user_loc(),
                details=[f"x: {x.tensor_type}"],
            )
        return (x, False) if x.ndim == rank else (ops.expand_dims(x, 0), True)

    def ends(self, sizes: tuple[int, ...]) -> Ends:
        """The padding (before, after) of each axis."""
        if self.pad_mode == "same":
            return tuple(same_ends(sizes, self._each(self.kernel_size), self._each(self.stride), 1, self._axes))
        return tuple((p, p) for p in self._each(self.padding))

    def extend_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, pad_mode={self.pad_mode}"


class _MaxPool(_Pool):
    def __init__(
        self,
        kernel_size: Any = 1,
        stride: Any = 1,
        pad_mode: str = "valid",
        padding: Any = 0,
        dilation: Any = 1,
        return_indices: bool = False,
        ceil_mode: bool = False,
    ) -> None:
        super().__init__(kernel_size, stride, pad_mode, padding, ceil_mode)
        owner = type(self).__name__
        self.dilation = self._sizes("dilation", dilation)
        self.return_indices = checks.boolean(owner, "return_indices", return_indices)
        if self.pad_mode != "pad":
            given = {"dilation": dilation, "return_indices": return_indices, "ceil_mode": ceil_mode}
            plain = {"dilation": set(self._each(self.dilation)) == {1}}
            for name, value in given.items():
                if not plain.get(name, value is False):
                    raise checks.wrong_value(
                        owner, name, f"the default with pad_mode {pad_mode!r}", value, 'use pad_mode="pad"'
                    )
        if any(2 * p > k for p, k in zip(self._each(self.padding), self._each(self.kernel_size), strict=True)):
            raise checks.wrong_value(owner, "padding", "at most half of the window", padding)

    def construct(self, x: Any) -> Any:
        batch, alone = self.batch(x)
        sizes = batch.shape[2:]
        kernel, stride = self._each(self.kernel_size), self._each(self.stride)
        dilation = self._each(self.dilation)
        w = windows_over(type(self).__name__, sizes, kernel, stride, self.ends(sizes), dilation, self.ceil_mode)
        if not self.return_indices:
            y = max_windows(batch, w)
            return ops.squeeze(y, 0) if alone else y
        both = max_windows_with_places(batch, w)
        return tuple(ops.squeeze(y, 0) for y in both) if alone else both


class MaxPool2d(_MaxPool):
    """Largest pixel of each window (MindSpore: nn.MaxPool2d).

    x is [N, C, H, W] or [C, H, W]. kernel_size, stride, padding, dilation: an int, or (vertical, horizontal); note that stride
    is 1 by default. pad_mode "valid" leaves out what does not fill a window; "same" gives ceil(H / stride)
    rows and leaves out the padding; "pad" pads by `padding`, which is left out, too, and takes dilation, ceil_mode (a last
    window may reach beyond the end) and return_indices (also the int64 places in the flattened plane).
    Raises ArgumentTypeError or ArgumentValueError for arguments, ShapeError for other ranks and windows that
    do not fit.
    """

    def __init__(
        self,
        kernel_size: Any = 1,
        stride: Any = 1,
        pad_mode: str = "valid",
        padding: Any = 0,
        dilation: Any = 1,
        return_indices: bool = False,
        ceil_mode: bool = False,
        data_format: str = "NCHW",
    ) -> None:
        only("MaxPool2d", "data_format", data_format, "NCHW")
        super().__init__(kernel_size, stride, pad_mode, padding, dilation, return_indices, ceil_mode)


class MaxPool1d(_MaxPool):
    """Largest element of each window of [N, C, L] or [C, L] (MindSpore: nn.MaxPool1d); arguments as for MaxPool2d."""

    _axes = 1


class MaxPool3d(_MaxPool):
    """Largest element of each window of [N, C, D, H, W] or [C, D, H, W] (MindSpore: nn.MaxPool3d); arguments as for MaxPool2d."""

    _axes = 3


class _AvgPool(_Pool):
    #: Whether padding of pad_mode "same" counts by default: MindSpore has one kernel for volumes, and another for the others.
    _same_counts = False

    def __init__(
        self,
        kernel_size: Any = 1,
        stride: Any = 1,
        pad_mode: str = "valid",
        padding: Any = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> None:
        super().__init__(kernel_size, stride, pad_mode, padding, ceil_mode)
        owner = type(self).__name__
        self.count_include_pad = checks.boolean(owner, "count_include_pad", count_include_pad)
        if divisor_override is not None:
            divisor_override = checks.integer(owner, "divisor_override", divisor_override)
        self.divisor_override = divisor_override

    def construct(self, x: Any) -> Tensor:
        batch, alone = self.batch(x)
        sizes = batch.shape[2:]
        kernel, ends = self._each(self.kernel_size), self.ends(sizes)
        ceil = self.ceil_mode and self.pad_mode != "same"
        w = windows_over(type(self).__name__, sizes, kernel, self._each(self.stride), ends, None, ceil)
        special = self.ceil_mode or self.divisor_override is not None
        counts = self.count_include_pad and (self.pad_mode != "same" or self._same_counts or special)
        y = avg_windows(batch, w, ends, counts, self.divisor_override or 0)
        return ops.squeeze(y, 0) if alone else y


class AvgPool2d(_AvgPool):
    """Mean of each window (MindSpore: nn.AvgPool2d); arguments as for MaxPool2d.

    Padding of pad_mode "same" does not count, that of "pad" does unless count_include_pad is False. divisor_override: what sums
    are divided by instead of the window's size.
    """

    def __init__(
        self,
        kernel_size: Any = 1,
        stride: Any = 1,
        pad_mode: str = "valid",
        padding: Any = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
        data_format: str = "NCHW",
    ) -> None:
        only("AvgPool2d", "data_format", data_format, "NCHW")
        super().__init__(kernel_size, stride, pad_mode, padding, ceil_mode, count_include_pad, divisor_override)


class AvgPool1d(_AvgPool):
    """Mean of each window of [N, C, L] or [C, L] (MindSpore: nn.AvgPool1d); arguments as for AvgPool2d."""

    _axes = 1

    def __init__(
        self,
        kernel_size: Any = 1,
        stride: Any = 1,
        pad_mode: str = "valid",
        padding: Any = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
    ) -> None:
        super().__init__(kernel_size, stride, pad_mode, padding, ceil_mode, count_include_pad)


class AvgPool3d(_AvgPool):
    """Mean of each window of [N, C, D, H, W] or [C, D, H, W] (MindSpore: nn.AvgPool3d); arguments as for AvgPool2d, but padding
    of pad_mode "same" counts.
    """

    _axes, _same_counts = 3, True


class _MaxUnpool(Cell):
    """What the three reverses of max pooling share."""

    _axes = 2

    def __init__(self, kernel_size: Any, stride: Any = None, padding: Any = 0) -> None:
        super().__init__()
        self.kernel_size, self.stride, self.padding = kernel_size, stride, padding

    def construct(self, x: Any, indices: Any, output_size: Any = None) -> Tensor:
        unpool = (ops.max_unpool1d, ops.max_unpool2d, ops.max_unpool3d)[self._axes - 1]
        return unpool(x, indices, self.kernel_size, self.stride, self.padding, output_size)

    def extend_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class MaxUnpool1d(_MaxUnpool):
    """The reverse of max pooling of [N, C, L] or [C, L], as `ops.max_unpool1d` (MindSpore: nn.MaxUnpool1d)."""

    _axes = 1


class MaxUnpool2d(_MaxUnpool):
    """The reverse of max pooling of [N, C, H, W] or [C, H, W], as `ops.max_unpool2d` (MindSpore: nn.MaxUnpool2d)."""


class MaxUnpool3d(_MaxUnpool):
    """The reverse of max pooling of [N, C, D, H, W] or [C, D, H, W], as `ops.max_unpool3d` (MindSpore: nn.MaxUnpool3d)."""

    _axes = 3


class FractionalMaxPool2d(Cell):
    """Maxima of windows placed at random, as `ops.fractional_max_pool2d` (Graham, 2014; MindSpore: nn.FractionalMaxPool2d)."""

    def __init__(
        self,
        kernel_size: Any,
        output_size: Any = None,
        output_ratio: Any = None,
        return_indices: bool = False,
        _random_samples: Any = None,
    ) -> None:
        super().__init__()
        self.kernel_size, self.output_size, self.output_ratio = kernel_size, output_size, output_ratio
        self.return_indices = checks.boolean(type(self).__name__, "return_indices", return_indices)
        self.random_samples = _random_samples

    def construct(self, input: Any) -> Any:
        sizes = (self.kernel_size, self.output_size, self.output_ratio)
        return ops.fractional_max_pool2d(input, *sizes, self.return_indices, self.random_samples)


class FractionalMaxPool3d(FractionalMaxPool2d):
    """Maxima of windows of volumes placed at random, as `ops.fractional_max_pool3d` (MindSpore: nn.FractionalMaxPool3d)."""

    def construct(self, input: Any) -> Any:
        sizes = (self.kernel_size, self.output_size, self.output_ratio)
        return ops.fractional_max_pool3d(input, *sizes, self.return_indices, self.random_samples)


class LPPool1d(Cell):
    """(sum of x^p)^(1/p) of each window of [N, C, L] or [C, L], with p = norm_type (MindSpore: nn.LPPool1d)."""

    def __init__(self, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False) -> None:
        super().__init__()
        owner = type(self).__name__
        self.norm_type = checks.real(owner, "norm_type", norm_type)
        if self.norm_type == 0:
            raise checks.wrong_value(owner, "norm_type", "a number other than 0", norm_type)
        self.kernel_size, self.stride = kernel_size, stride
        self.ceil_mode = checks.boolean(owner, "ceil_mode", ceil_mode)

    def construct(self, x: Any) -> Tensor:
        return ops.lp_pool1d(x, self.norm_type, self.kernel_size, self.stride, self.ceil_mode)


class LPPool2d(LPPool1d):
    """(sum of x^p)^(1/p) of each window of [N, C, H, W] or [C, H, W], with p = norm_type (MindSpore: nn.LPPool2d)."""

    def construct(self, x: Any) -> Tensor:
        return ops.lp_pool2d(x, self.norm_type, self.kernel_size, self.stride, self.ceil_mode)


__all__ = [
    "AvgPool1d", "AvgPool2d", "AvgPool3d", "FractionalMaxPool2d", "FractionalMaxPool3d", "LPPool1d", "LPPool2d", "MaxPool1d",
    "MaxPool2d", "MaxPool3d", "MaxUnpool1d", "MaxUnpool2d", "MaxUnpool3d",
]  # fmt: skip
