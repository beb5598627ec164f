"""Layers that rearrange, select or combine elements."""

from __future__ import annotations

import math
from typing import Any

from graphc import ops
from graphc.arguments import only
from graphc.nn.cell import checks
from graphc.nn.cell.cell import Cell
from graphc.nn.initializer.distributions import Uniform
from graphc.nn.initializer.make import initializer
from graphc.nn.layer.activation import Softmax
from graphc.ops.tensor.tensor import Parameter, Tensor, as_tensor


class Unflatten(Cell):
    """An axis as several, of the sizes unflattened_size (MindSpore: nn.Unflatten)."""

    def __init__(self, axis: int, unflattened_size: Any) -> None:
        super().__init__()
        if not checks.is_int(axis):
            raise checks.wrong_type("Unflatten", "axis", "an int", axis)
        if not isinstance(unflattened_size, (tuple, list)):
            raise checks.wrong_type("Unflatten", "unflattened_size", "a tuple or list", unflattened_size)
        self.axis, self.unflattened_size = axis, tuple(unflattened_size)

    def construct(self, input_x: Any) -> Tensor:
        x = as_tensor(input_x, "Unflatten: input_x")
        at = self.axis % x.ndim
        return ops.reshape(x, (*x.shape[:at], *self.unflattened_size, *x.shape[at + 1 :]))


class PixelShuffle(Cell):
    """Channels as blocks of upscale_factor x upscale_factor pixels (Shi et al., 2016; MindSpore: nn.PixelShuffle)."""

    def __init__(self, upscale_factor: int) -> None:
        super().__init__()
        self.upscale_factor = checks.integer("PixelShuffle", "upscale_factor", upscale_factor)

    def construct(self, input: Any) -> Tensor:
        return ops.pixel_shuffle(input, self.upscale_factor)


class PixelUnshuffle(Cell):
    """Blocks of downscale_factor x downscale_factor pixels as channels (MindSpore: nn.PixelUnshuffle)."""

    def __init__(self, downscale_factor: int) -> None:
        super().__init__()
        self.downscale_factor = checks.integer("PixelUnshuffle", "downscale_factor", downscale_factor)

    def construct(self, input: Any) -> Tensor:
        return ops.pixel_unshuffle(input, self.downscale_factor)


class ChannelShuffle(Cell):
    """The channels of each of the groups, one of each group in turn (Zhang et al., 2018; MindSpore: nn.ChannelShuffle)."""

    def __init__(self, groups: int) -> None:
        super().__init__()
        self.groups = checks.integer("ChannelShuffle", "groups", groups)

    def construct(self, x: Any) -> Tensor:
        x = as_tensor(x, "ChannelShuffle: x")
        n, channels, *rest = x.shape
        if channels % self.groups:
            raise checks.wrong_value("ChannelShuffle", "groups", f"a divisor of {channels} channels", self.groups)
        parts = ops.reshape(x, (n, self.groups, channels // self.groups, *rest))
        return ops.reshape(ops.swapaxes(parts, 1, 2), x.shape)


class Upsample(Cell):
    """Images [N, C, H, W] in another size, by nearest neighbours (MindSpore: nn.Upsample; other modes are refused)."""

    def __init__(
        self,
        size: Any = None,
        scale_factor: Any = None,
        mode: str = "nearest",
        align_corners: bool | None = None,
        recompute_scale_factor: bool | None = None,
    ) -> None:
        super().__init__()
        only("Upsample", "align_corners", align_corners, None)
        only("Upsample", "recompute_scale_factor", recompute_scale_factor, None, False)
        self.size, self.scale_factor = size, scale_factor
        self.mode = checks.one_of("Upsample", "mode", mode, ("nearest",))

    def construct(self, x: Any) -> Tensor:
        return ops.interpolate(x, self.size, self.scale_factor, self.mode)


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
        y = y if self.bias is None else ops.bias_add(y, self.bias)
        return ops.reshape(y, (*input1.shape[:-1], self.out_channels))


class Softmax2d(Softmax):
    """Softmax over the channels of [N, C, H, W] (MindSpore: nn.Softmax2d)."""

    def __init__(self) -> None:
        super().__init__(axis=-3)


class EmbeddingLookup(Cell):
    """Rows of a trainable table at the given numbers (MindSpore: nn.EmbeddingLookup on one device).

    target, sparse: how, not what; gradients are dense. One device has no other slice_mode, no manual_shapes (GC112).
    """

    def __init__(
        self,
        vocab_size: int,
        embedding_size: int,
        param_init: Any = "normal",
        target: str = "CPU",
        slice_mode: str = "batch_slice",
        manual_shapes: Any = None,
        max_norm: float | None = None,
        sparse: bool = True,
        dtype: Any = "float32",
    ) -> None:
        super().__init__()
        self.vocab_size = checks.integer("EmbeddingLookup", "vocab_size", vocab_size)
        self.embedding_size = checks.integer("EmbeddingLookup", "embedding_size", embedding_size)
        only("EmbeddingLookup", "slice_mode", slice_mode, "batch_slice")
        only("EmbeddingLookup", "manual_shapes", manual_shapes, None)
        self.sparse = checks.boolean("EmbeddingLookup", "sparse", sparse)
        self.target = checks.one_of("EmbeddingLookup", "target", target, ("cpu", "device"))
        self.max_norm = None if max_norm is None else checks.real("EmbeddingLookup", "max_norm", max_norm, above=0)
        table = initializer(param_init, (vocab_size, embedding_size), dtype)
        self.embedding_table = Parameter(table, name="embedding_table")

    def construct(self, indices: Any) -> Tensor:
        rows = ops.gather(self.embedding_table, indices, 0)
        if self.max_norm is None:
            return rows
        norms = ops.sqrt(ops.reduce_sum(ops.square(rows), -1, keep_dims=True))
        return rows * (self.max_norm / ops.maximum(norms, self.max_norm))


class L1Regularizer(Cell):
    """scale times the sum of absolute values (MindSpore: nn.L1Regularizer)."""

    def __init__(self, scale: float) -> None:
        super().__init__()
        self.scale = checks.real("L1Regularizer", "scale", scale, above=0)

    def construct(self, weights: Any) -> Tensor:
        return ops.reduce_sum(ops.abs(weights)) * self.scale


class ParameterUpdate(Cell):
    """Assigns its input to a parameter, and returns it (MindSpore: nn.ParameterUpdate). ArgumentTypeError for no Parameter."""

    def __init__(self, param: Parameter) -> None:
        super().__init__(auto_prefix=False)
        if not isinstance(param, Parameter):
            raise checks.wrong_type("ParameterUpdate", "param", "a Parameter", param)
        self._param = param

    def construct(self, x: Any) -> Tensor:
        made: Tensor = ops.depend(x, ops.assign(self._param, x))
        return made


__all__ = [
    "BiDense", "ChannelShuffle", "EmbeddingLookup", "L1Regularizer", "ParameterUpdate", "PixelShuffle", "PixelUnshuffle",
    "Softmax2d", "Unflatten", "Upsample",
]  # fmt: skip
