"""Convolution."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from graphc import ops
from graphc.errors import ShapeError, user_loc
from graphc.nn import checks
from graphc.nn.cell.cell import Cell
from graphc.nn.initializer.distributions import HeUniform, Uniform, fans
from graphc.nn.initializer.make import initializer
from graphc.nn.layer.inner import Inner
from graphc.nn.layer.linear import check_dtypes
from graphc.ops.tensor.parameter import Parameter
from graphc.ops.tensor.tensor import Tensor, as_tensor


def make(layer: Any, shape: tuple[int, ...], outputs: int, inits: tuple[Any, Any], dtype: Any) -> None:
    """Give a convolution its weight and bias, and the attributes that say what these begin with."""
    weight, bias = inits
    layer.weight_init = HeUniform(math.sqrt(5)) if weight is None else weight
    layer.weight = Parameter(initializer(layer.weight_init, shape, dtype), name="weight")
    layer.bias_init = Uniform(1 / math.sqrt(fans(shape)[0])) if bias is None and layer.has_bias else bias
    layer.bias = Parameter(initializer(layer.bias_init, (outputs,), dtype), name="bias") if layer.has_bias else None


PAD_MODES = ("same", "valid", "pad")


class _Conv(Cell):
    """What convolutions share. Sequences are images of one row."""

    kernel_size: Any
    stride: Any
    #: As it was given.
    padding: Any
    #: Zeros before and after each axis.
    ends: Any
    dilation: Any
    conv2d = Inner(lambda layer: layer._primitive())
    bias_add = Inner(lambda layer: ops.BiasAdd())
    weight: Parameter
    bias: Parameter | None

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Sequence[int],
        stride: Sequence[int],
        pad_mode: str,
        padding: Any,
        dilation: Sequence[int],
        group: int,
        has_bias: bool,
        weight_init: Any,
        bias_init: Any,
        data_format: str = "NCHW",
        transposed: bool = False,
        dtype: Any = "float32",
    ) -> None:
        """The arguments of MindSpore's base, from which layers of scripts derive: a number for each axis of the window."""
        super().__init__()
        owner = type(self).__name__
        self.in_channels = checks.integer(owner, "in_channels", in_channels)
        self.out_channels = checks.integer(owner, "out_channels", out_channels)
        self.kernel_size, self.stride, self.dilation = kernel_size, stride, dilation
        self.pad_mode = checks.one_of(owner, "pad_mode", pad_mode, PAD_MODES)
        self.group = checks.integer(owner, "group", group)
        for name, count in (("in_channels", in_channels), ("out_channels", out_channels)):
            if count % self.group:
                raise checks.wrong_value(owner, name, f"a multiple of group = {group}", count)
        self.has_bias = checks.boolean(owner, "has_bias", has_bias)
        order = "NCHW" if len(kernel_size) == 2 else "NCDHW"
        if data_format != order:
            raise checks.wrong_value(owner, "data_format", repr(order), data_format)
        self.padding, self.data_format = padding, data_format
        self.ends = padding_of(owner, padding, self.pad_mode, 2 * len(kernel_size))
        counts = (self.in_channels, self.out_channels) if transposed else (self.out_channels, self.in_channels)
        shape = (counts[0], counts[1] // self.group, *kernel_size)
        make(self, shape, self.out_channels, (weight_init, bias_init), dtype)

    def _primitive(self) -> ops.Primitive:
        """The convolution that this layer computes."""
        window = (self.pad_mode, self.ends, self.stride, self.dilation)
        made: ops.Primitive = ops.Conv2D(self.out_channels, self.kernel_size, 1, *window, self.group)
        return made

    def _convolve(self, x: Tensor) -> Tensor:
        y: Tensor = self.conv2d(x, self.weight)
        if self.has_bias and self.bias is not None:
            y = self.bias_add(y, self.bias)
        return y

    def _check(self, x: Tensor, axes: str) -> None:
        owner, rank = type(self).__name__, axes.count(",") + 1
        details = [f"x: {x.tensor_type}", f"weight: {checks.named(self.weight)}"]
        if x.ndim != rank:
            raise ShapeError(
                f"{owner}: x has {x.ndim} axes, expected {rank}: {axes}",
                loc=user_loc(),
                details=details,
                help="add the axes of batch or channels with ops.expand_dims(x, axis)" if x.ndim < rank else None,
            )
        if x.shape[1] != self.in_channels:
            order = (0, rank - 1, *range(1, rank - 1))
            raise ShapeError(
                f"{owner}: x has {x.shape[1]} channels (axis 1), the layer expects {self.in_channels}",
                loc=user_loc(),
                details=details,
                help=f"bring channels to axis 1: ops.transpose(x, {order})"
                if x.shape[-1] == self.in_channels
                else f"make the layer nn.{owner}({x.shape[1]}, {self.out_channels}, ...)",
            )
        check_dtypes(owner, x, self.weight)

    def extend_repr(self) -> str:
        """In MindSpore's words."""
        shown = ("kernel_size", "stride", "pad_mode", "padding", "dilation", "group", "has_bias")
        channels = f"input_channels={self.in_channels}, output_channels={self.out_channels}"
        return ", ".join((channels, *(f"{name}={getattr(self, name)}" for name in shown)))


class Conv2d(_Conv):
    """Cross-correlation of images with windows (MindSpore: nn.Conv2d).

    x is [N, in_channels, H, W]; `weight` is [out_channels, in_channels / group, kh, kw], `bias` [out_channels].
    kernel_size, stride, dilation: an int, or (vertical, horizontal). pad_mode: "same" gives ceil(H / stride)
    rows, "valid" pads nothing, "pad" adds `padding` zeros (an int, or top, bottom, left, right). group: channels
    are divided into so many groups, and each output channel sees the inputs of its group. Defaults:
    HeUniform(sqrt(5)), and for the bias uniform within 1 / sqrt(in_channels / group * kh * kw).
    Raises ArgumentTypeError or ArgumentValueError for arguments (data_format must be "NCHW"); ShapeError or DTypeError
    for an x that does not fit.
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
        dtype: Any = "float32",
    ) -> None:
        sizes = {"kernel_size": kernel_size, "stride": stride, "dilation": dilation}
        window, step, spread = (checks.pair("Conv2d", n, v) for n, v in sizes.items())
        inits = (weight_init, bias_init, data_format)
        super().__init__(
            in_channels, out_channels, window, step, pad_mode, padding, spread, group, has_bias, *inits, dtype=dtype
        )

    def construct(self, x: Any) -> Tensor:
        x = as_tensor(x, "Conv2d: x")
        self._check(x, "[N, channels, H, W]")
        return self._convolve(x)


class Conv1d(_Conv):
    """Cross-correlation of sequences with windows (MindSpore: nn.Conv1d).

    x is [N, in_channels, L]; `weight` is [out_channels, in_channels / group, 1, kernel_size]. Arguments as for Conv2d,
    ints all: padding is added at both ends. A tensor as weight_init has three axes, or these four. The attributes kernel_size,
    stride, padding and dilation are those of an image of one row, (1, kernel_size) and so on.
    """

    expand_dims = Inner(lambda layer: ops.ExpandDims())
    squeeze = Inner(lambda layer: ops.Squeeze(2))

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
        window, step, spread = ((1, checks.integer("Conv1d", n, v)) for n, v in sizes.items())
        mode = checks.one_of("Conv1d", "pad_mode", pad_mode, PAD_MODES)
        ends = (0, 0, *padding_of("Conv1d", checks.integer("Conv1d", "padding", padding, least=0), mode, 2))
        inits = (in_one_row(weight_init), bias_init)
        super().__init__(
            in_channels, out_channels, window, step, mode, ends, spread, group, has_bias, *inits, dtype=dtype
        )

    def construct(self, x: Any) -> Tensor:
        x = as_tensor(x, "Conv1d: x")
        self._check(x, "[N, channels, L]")
        y: Tensor = self.squeeze(self._convolve(self.expand_dims(x, 2)))
        return y


def in_one_row(init: Any) -> Any:
    """What windows of sequences are to hold, where it is a tensor [m, n, k]: as windows of images of one row, [m, n, 1, k]."""
    return init.expand_dims(2) if isinstance(init, Tensor) and init.ndim == 3 else init


def padding_of(owner: str, padding: Any, pad_mode: str, sides: int) -> tuple[int, ...]:
    """Zeros before and after each axis; any only with pad_mode "pad"."""
    sizes = (padding,) * sides if checks.is_int(padding) else padding
    if not isinstance(sizes, (tuple, list)):
        raise checks.wrong_type(owner, "padding", f"an int or a tuple of {sides} ints", padding)
    if len(sizes) != sides:
        raise checks.wrong_value(owner, "padding", f"an int or {sides} ints, two for each axis", padding)
    found = tuple(checks.integer(owner, "padding", p, least=0) for p in sizes)
    if pad_mode != "pad" and any(found):
        raise checks.wrong_value(owner, "padding", f"0 with pad_mode {pad_mode!r}", padding, 'use pad_mode="pad"')
    return found


__all__ = ["Conv1d", "Conv2d"]
