"""Layers around other layers: convolution or Dense with normalization and activation, a layer over time."""

from __future__ import annotations

import math
from typing import Any

from graphc import ops
from graphc.errors import ArgumentValueError, ShapeError, user_loc
from graphc.nn import checks
from graphc.nn.cell.cell import Cell
from graphc.nn.layer.activation import LeakyReLU, get_activation
from graphc.nn.layer.conv import Conv2d
from graphc.nn.layer.linear import Dense
from graphc.nn.layer.normalization import BatchNorm1d, BatchNorm2d
from graphc.ops.tensor.primitive import Primitive
from graphc.ops.tensor.tensor import Tensor


class _Combined(Cell):
    """A layer, then `batchnorm` if asked for, then `activation`."""

    batchnorm: Cell

    def _finish(self, batchnorm: Cell, has_bn: bool, activation: Any, alpha: float, after_fake: bool) -> None:
        owner = type(self).__name__
        self.has_bn = checks.boolean(owner, "has_bn", has_bn)
        # How MindSpore inserts fake quantization nodes: there are none.
        self.after_fake = checks.boolean(owner, "after_fake", after_fake)
        if has_bn:
            self.batchnorm = batchnorm
        self.has_act = activation is not None
        if activation == "leakyrelu":
            self.activation: Any = LeakyReLU(checks.real(owner, "alpha", alpha))
        else:
            self.activation = get_activation(activation, owner) if isinstance(activation, str) else activation
        if self.has_act and not isinstance(self.activation, (Cell, Primitive)):
            raise checks.wrong_type(owner, "activation", "a name, a Cell or a Primitive", activation)

    def _finished(self, x: Tensor) -> Tensor:
        x = self.batchnorm(x) if self.has_bn else x
        x = self.activation(x) if self.has_act else x
        return x


class Conv2dBnAct(_Combined):
    """Conv2d, BatchNorm2d if has_bn, an activation (MindSpore: nn.Conv2dBnAct).

    momentum and eps are those of the normalization, alpha is the slope of "leakyrelu" below 0; the rest as for Conv2d.
    after_fake is accepted: there is no fake quantization. Raises ArgumentTypeError or ArgumentValueError.
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
        weight_init: Any = "normal",
        bias_init: Any = "zeros",
        has_bn: bool = False,
        momentum: float = 0.997,
        eps: float = 1e-5,
        activation: str | Cell | Primitive | None = None,
        alpha: float = 0.2,
        after_fake: bool = True,
    ) -> None:
        super().__init__()
        sizes = (in_channels, out_channels, kernel_size, stride, pad_mode, padding, dilation, group)
        self.conv = Conv2d(*sizes, has_bias, weight_init, bias_init)
        self._finish(BatchNorm2d(out_channels, eps, momentum), has_bn, activation, alpha, after_fake)

    def construct(self, x: Any) -> Tensor:
        return self._finished(self.conv(x))


class DenseBnAct(_Combined):
    """Dense, BatchNorm1d if has_bn, an activation (MindSpore: nn.DenseBnAct). Arguments as for Conv2dBnAct."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        weight_init: Any = "normal",
        bias_init: Any = "zeros",
        has_bias: bool = True,
        has_bn: bool = False,
        momentum: float = 0.9,
        eps: float = 1e-5,
        activation: str | Cell | Primitive | None = None,
        alpha: float = 0.2,
        after_fake: bool = True,
    ) -> None:
        super().__init__()
        self.dense = Dense(in_channels, out_channels, weight_init, bias_init, has_bias)
        self._finish(BatchNorm1d(out_channels, eps, momentum), has_bn, activation, alpha, after_fake)

    def construct(self, x: Any) -> Tensor:
        return self._finished(self.dense(x))


class TimeDistributed(Cell):
    """A layer applied to every slice along time_axis (MindSpore: nn.TimeDistributed).

    x has at least three axes. With reshape_with_axis the time axis is merged with that axis, which must be next to it in
    what the layer sees, usually the batch, and the layer is called once; without, once per slice. Raises ArgumentTypeError
    for arguments, ArgumentValueError for an axis that x has not, ShapeError for another x.
    """

    def __init__(self, layer: Cell | Primitive, time_axis: int, reshape_with_axis: int | None = None) -> None:
        super().__init__()
        if not isinstance(layer, (Cell, Primitive)):
            raise checks.wrong_type("TimeDistributed", "layer", "a Cell or a Primitive", layer)
        for name, axis in (("time_axis", time_axis), ("reshape_with_axis", reshape_with_axis)):
            if axis is not None and not checks.is_int(axis):
                raise checks.wrong_type("TimeDistributed", name, "an int", axis)
        self.layer: Any = layer
        self.time_axis, self.reshape_with_axis = time_axis, reshape_with_axis

    def construct(self, inputs: Any) -> Tensor:
        if inputs.ndim < 3:
            raise ShapeError(f"TimeDistributed: x needs at least 3 axes, it is {inputs.tensor_type}", loc=user_loc())
        time = self._axis(inputs, self.time_axis)
        if self.reshape_with_axis is None:
            return ops.stack([self.layer(x) for x in ops.unbind(inputs, time)], time)
        other = self._axis(inputs, self.reshape_with_axis)
        if other == time:
            raise ArgumentValueError("TimeDistributed: reshape_with_axis is the time axis itself", loc=user_loc())
        return self._merged(inputs, time, other)

    def _merged(self, x: Tensor, time: int, other: int) -> Tensor:
        """The time axis moved next to the other one, both as one axis, and apart again."""
        last = x.ndim - 1
        beside = last - 1 if other == last else other + 1 if time > other else other - 1
        at = min(beside, other)
        moved = ops.moveaxis(x, time, beside)
        pair = moved.shape[at : at + 2]
        made = self.layer(ops.reshape(moved, (*moved.shape[:at], math.prod(pair), *moved.shape[at + 2 :])))
        if made.ndim <= at or made.shape[at] != pair[0] * pair[1]:
            raise ShapeError(
                f"TimeDistributed: the layer's result {made.tensor_type} has not kept axis {at}, of size {pair[0] * pair[1]}",
                loc=user_loc(),
            )
        return ops.reshape(made, (*made.shape[:at], *pair, *made.shape[at + 1 :]))

    def _axis(self, x: Tensor, axis: int) -> int:
        if not -x.ndim <= axis < x.ndim:
            raise ArgumentValueError(
                f"TimeDistributed: {axis} is no axis of x, which is {x.tensor_type}", loc=user_loc()
            )
        return axis % x.ndim


__all__ = ["Conv2dBnAct", "DenseBnAct", "TimeDistributed"]
