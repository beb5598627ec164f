"""Linear maps: Dense, Linear, BiDense, Identity."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from graphc import ops
from graphc.errors import DTypeError, ShapeError, user_loc
from graphc.nn import checks
from graphc.nn.cell.cell import Cell
from graphc.nn.initializer.distributions import HeUniform, Uniform
from graphc.nn.initializer.make import initializer
from graphc.nn.layer import cut_layers
from graphc.nn.layer.activation import get_activation
from graphc.nn.layer.cut_layers import COLUMNS, ROWS
from graphc.nn.layer.inner import Inner
from graphc.ops.functional import tensor_parts
from graphc.ops.tensor import autocast
from graphc.ops.tensor.parameter import Parameter
from graphc.ops.tensor.tensor import Tensor, as_tensor
from graphc.processes import MODEL


def check_dtypes(owner: str, x: Tensor, weight: Parameter) -> None:
    """x cannot be multiplied with a weight of another dtype: MindSpore promotes no operands of products."""
    if autocast.meet(x, weight):
        return
    raise DTypeError(
        f"{owner}: x has dtype {x.tensor_type.dtype}, the layer's weight {weight.tensor_type.dtype}",
        loc=user_loc(),
        details=[f"x: {x.tensor_type}", f"weight: {checks.named(weight)}"],
        help=f"cast the input: ops.cast(x, graphc.{weight.tensor_type.dtype})",
    )


class Dense(Cell):
    """y = activation(x weight^T + bias) over the last axis (MindSpore: nn.Dense).

    x is [..., in_channels], y [..., out_channels]; `weight` is [out_channels, in_channels] and `bias`
    [out_channels]. weight_init, bias_init: whatever `initializer` takes; by default HeUniform(sqrt(5)) and
    uniform within 1 / sqrt(in_channels). activation: a name, or anything callable on a tensor.
    dtype: that of the parameters. shard, graphc's own: with the setting model_parallel=m each of m processes in a row holds a
    part of the layer. "columns": of out_channels, and gives these alone, [..., out_channels / m]; "rows": of in_channels,
    takes these alone, [..., in_channels / m], and gives y whole. Without the setting it means nothing. docs/parallel.md.
    Raises ArgumentTypeError, ArgumentValueError or ShapeError for arguments; ShapeError or DTypeError for an
    x that does not fit the weight.
    """

    matmul = Inner(lambda layer: ops.MatMul(transpose_b=True))
    bias_add = Inner(lambda layer: ops.BiasAdd() if layer.has_bias else None)

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        weight_init: Any = None,
        bias_init: Any = None,
        has_bias: bool = True,
        activation: str | Callable[[Tensor], Tensor] | None = None,
        dtype: Any = "float32",
        *,
        shard: str | None = None,
    ) -> None:
        super().__init__()
        owner = type(self).__name__
        self.in_channels = checks.integer(owner, "in_channels", in_channels)
        self.out_channels = checks.integer(owner, "out_channels", out_channels)
        self.has_bias = checks.boolean(owner, "has_bias", has_bias)
        shape = (self.out_channels, self.in_channels)
        init = HeUniform(math.sqrt(5)) if weight_init is None else weight_init
        count = cut_layers.parts_of(owner, shard)
        self._columns, self._rows = (count if shard == name else 1 for name in (COLUMNS, ROWS))
        self._own_out = cut_layers.own_size(owner, "out_channels", self.out_channels, self._columns)
        self._own_in = cut_layers.own_size(owner, "in_channels", self.in_channels, self._rows)
        self.weight = cut_layers.parameter(initializer(init, shape, dtype), "weight", int(shard == ROWS), count)
        self.bias: Parameter | None = None
        if self.has_bias:
            init = Uniform(1 / math.sqrt(self.in_channels)) if bias_init is None else bias_init
            self.bias = cut_layers.parameter(initializer(init, shape[:1], dtype), "bias", 0, self._columns)
        self.activation = get_activation(activation) if isinstance(activation, str) else activation
        if self.activation is not None and not callable(self.activation):
            raise checks.wrong_type(owner, "activation", "a name or a Cell", activation)

    @property
    def activation_flag(self) -> bool:
        """Whether there is an activation."""
        return self.activation is not None

    def construct(self, x: Any) -> Tensor:
        x = as_tensor(x, f"{type(self).__name__}: x")
        self._check(x)
        if self._columns > 1:
            x = tensor_parts.shared(x, MODEL)
        y = self.matmul(ops.reshape(x, (-1, self._own_in)), self.weight)
        if self._rows > 1:
            y = tensor_parts.summed(y, MODEL)
        if self.has_bias and self.bias is not None:
            y = self.bias_add(y, self.bias)
        if self.activation is not None:
            y = self.activation(y)
        return ops.reshape(y, (*x.shape[:-1], self._own_out))

    def _check(self, x: Tensor) -> None:
        if x.ndim == 0 or x.shape[-1] != self._own_in:
            has = f"the last axis of x has {x.shape[-1]} features" if x.ndim else "x has no axes"
            raise ShapeError(
                f"{type(self).__name__}: {has}, the layer expects {self._own_in}",
                loc=user_loc(),
                details=[f"x: {x.tensor_type}", f"weight: {checks.named(self.weight)}"],
                help=f"make the layer nn.{type(self).__name__}({x.shape[-1]}, {self.out_channels}), or reshape x"
                if x.ndim
                else "give x an axis: ops.reshape(x, (1, 1))",
            )
        check_dtypes(type(self).__name__, x, self.weight)

    def extend_repr(self) -> str:
        return f"input_channels={self.in_channels}, output_channels={self.out_channels}, has_bias={self.has_bias}"


class Linear(Dense):
    """y = x weight^T + bias over the last axis: Dense by its other name and without activation (MindSpore: nn.Linear).

    in_features, out_features, bias and dtype are what Dense calls in_channels, out_channels, has_bias and dtype; None is
    float32.
    """

    def __init__(
        self,
        in_features: int,
        out_features: int,
        bias: bool = True,
        weight_init: Any = None,
        bias_init: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(
            in_features, out_features, weight_init, bias_init, bias, dtype="float32" if dtype is None else dtype
        )
        self.in_features, self.out_features = self.in_channels, self.out_channels

    def extend_repr(self) -> str:
        return f"input_features={self.in_features}, output_features={self.out_features}, has_bias={self.has_bias}"


class BiDense(Cell):
    """y[o] = x1^T weight[o] x2 + bias[o] (MindSpore: nn.BiDense).

    weight is [out_channels, in1_channels, in2_channels]; weight and bias are uniform within 1 / sqrt(in1_channels).
    """

    def __init__(
        self,
        in1_channels: int,
        in2_channels: int,
        out_channels: int,
        weight_init: Any = None,
        bias_init: Any = None,
        has_bias: bool = True,
        dtype: Any = "float32",
    ) -> None:
        super().__init__()
        self.in1_channels = checks.integer("BiDense", "in1_channels", in1_channels)
        self.in2_channels = checks.integer("BiDense", "in2_channels", in2_channels)
        self.out_channels = checks.integer("BiDense", "out_channels", out_channels)
        self.has_bias = checks.boolean("BiDense", "has_bias", has_bias)
        near = Uniform(1 / math.sqrt(in1_channels))
        shape = (out_channels, in1_channels, in2_channels)
        init = near if weight_init is None else weight_init
        self.weight = Parameter(initializer(init, shape, dtype), name="weight")
        self.bias: Parameter | None = None
        if has_bias:
            init = near if bias_init is None else bias_init
            self.bias = Parameter(initializer(init, (out_channels,), dtype), name="bias")

    def construct(self, input1: Any, input2: Any) -> Tensor:
        a = ops.reshape(input1, (-1, self.in1_channels))
        b = ops.reshape(input2, (-1, self.in2_channels))
        rows = ops.reshape(ops.transpose(self.weight, (1, 0, 2)), (self.in1_channels, -1))
        half = ops.reshape(ops.matmul(a, rows), (-1, self.out_channels, self.in2_channels))
        y = ops.reduce_sum(half * ops.expand_dims(b, 1), 2)
        y = y if not self.has_bias or self.bias is None else ops.bias_add(y, self.bias)
        return ops.reshape(y, (*input1.shape[:-1], self.out_channels))

    def extend_repr(self) -> str:
        channels = f"in1_channels={self.in1_channels}, in2_channels={self.in2_channels}"
        return f"{channels}, output_channels={self.out_channels}, has_bias={self.has_bias}"


class Identity(Cell):
    """x itself. Arguments are ignored."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()

    def construct(self, x: Any) -> Any:
        return ops.identity(x)


__all__ = ["BiDense", "Dense", "Identity", "Linear"]
