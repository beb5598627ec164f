"""Linear maps, embeddings, convolutions, dropout, windows."""

from __future__ import annotations

import math
from typing import Any

from graphc.errors import ArgumentValueError, ShapeError, user_loc
from graphc.mint.nn import functional
from graphc.nn import checks
from graphc.nn.cell.cell import Cell
from graphc.nn.initializer import HeUniform, Normal, Uniform, initializer
from graphc.nn.layer.linear import Identity
from graphc.ops.tensor.parameter import Parameter
from graphc.ops.tensor.tensor import Tensor
from graphc.validation.unused_arguments import only


def biased(length: int, fan_in: int, dtype: Any, init: Any = None) -> Parameter:
    """Uniform within one over the root of the number of inputs, as torch starts them."""
    bound = 1 / math.sqrt(fan_in) if fan_in else 0.0
    chosen = (Uniform(bound) if bound else "zeros") if init is None else init
    return Parameter(initializer(chosen, (length,), "float32" if dtype is None else dtype), name="bias")


class Linear(Cell):
    """input [..., in_features] times weight [out_features, in_features] transposed, plus bias.

    weight_init, bias_init: an initializer, its name, or a number; by default uniform within one over the root of in_features.
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
        super().__init__()
        self.in_features = checks.integer("Linear", "in_features", in_features)
        self.out_features = checks.integer("Linear", "out_features", out_features)
        init = HeUniform(math.sqrt(5)) if weight_init is None else weight_init
        self.weight = Parameter(
            initializer(init, (out_features, in_features), "float32" if dtype is None else dtype), name="weight"
        )
        with_bias = checks.boolean("Linear", "bias", bias)
        self.bias = biased(out_features, in_features, dtype, bias_init) if with_bias else None

    def construct(self, input: Any) -> Tensor:
        return functional.linear(input, self.weight, self.bias)

    def extend_repr(self) -> str:
        return f"{self.in_features}, {self.out_features}, bias={self.bias is not None}"


class Embedding(Cell):
    """Rows of a table [num_embeddings, embedding_dim] at the indices; row padding_idx starts with zeros and gets no gradient.

    Parameter: weight, of standard normal numbers, or `_weight`. max_norm, norm_type: as for functional.embedding.
    scale_grad_by_freq is refused.
    """

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        _weight: Tensor | None = None,
        _freeze: bool = False,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        rows, width = (
            checks.integer("Embedding", n, v)
            for n, v in (("num_embeddings", num_embeddings), ("embedding_dim", embedding_dim))
        )
        self.max_norm = None if max_norm is None else checks.real("Embedding", "max_norm", max_norm, least=0)
        self.norm_type = checks.real("Embedding", "norm_type", norm_type)
        only("Embedding", "scale_grad_by_freq", scale_grad_by_freq, False)
        if (
            padding_idx is not None
            and not -rows <= checks.integer("Embedding", "padding_idx", padding_idx, -rows) < rows
        ):
            raise checks.wrong_value("Embedding", "padding_idx", f"below {rows}", padding_idx)
        self.num_embeddings, self.embedding_dim, self.padding_idx = rows, width, padding_idx
        if _weight is None:
            table = initializer(Normal(1.0), (rows, width), "float32" if dtype is None else dtype).asnumpy().copy()
            if padding_idx is not None:
                table[padding_idx] = 0
            _weight = Tensor(table)
        elif _weight.shape != (rows, width):
            raise ShapeError(f"Embedding: _weight is {_weight.tensor_type}, expected [{rows}, {width}]", loc=user_loc())
        self.weight = Parameter(
            _weight, name="weight", requires_grad=not checks.boolean("Embedding", "_freeze", _freeze)
        )

    def construct(self, input: Any) -> Tensor:
        return functional.embedding(input, self.weight, self.padding_idx, self.max_norm, self.norm_type)


class _Conv(Cell):
    """A convolution of `_axes` axes; weight [out, in / groups, ...] and bias start as torch's."""

    _axes = 2

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        dtype: Any = None,
    ) -> None:
        super().__init__()
        owner = type(self).__name__
        for name, value in (("in_channels", in_channels), ("out_channels", out_channels), ("groups", groups)):
            checks.integer(owner, name, value)
        if in_channels % groups or out_channels % groups:
            raise checks.wrong_value(owner, "groups", f"a divisor of {in_channels} and {out_channels}", groups)
        only(owner, "padding_mode", padding_mode, "zeros", "reflect", "replicate", "circular")
        self.kernel_size = self._each("kernel_size", kernel_size)
        self.stride, self.dilation = self._each("stride", stride), self._each("dilation", dilation)
        self.padding = padding if isinstance(padding, str) else self._each("padding", padding, 0)
        if isinstance(padding, str):
            checks.one_of(owner, "padding", padding, ("valid", "same"))
        if padding == "same" and any(s != 1 for s in self.stride):
            raise ArgumentValueError(f"{owner}: padding 'same' needs stride 1", loc=user_loc())
        self.groups, self.padding_mode = groups, padding_mode
        shape = (out_channels, in_channels // groups, *self.kernel_size)
        self.weight = Parameter(
            initializer(HeUniform(math.sqrt(5)), shape, "float32" if dtype is None else dtype), name="weight"
        )
        fan_in = math.prod(shape[1:])
        self.bias = biased(out_channels, fan_in, dtype) if checks.boolean(owner, "bias", bias) else None

    def _each(self, name: str, value: Any, least: int = 1) -> tuple[int, ...]:
        owner = type(self).__name__
        given = (value,) * self._axes if checks.is_int(value) else tuple(value)
        if len(given) != self._axes:
            raise checks.wrong_value(owner, name, f"an int or {self._axes} of them", value)
        return tuple(checks.integer(owner, name, v, least) for v in given)

    def construct(self, input: Any) -> Tensor:
        padding: Any = self.padding
        if self.padding_mode != "zeros" and padding != "valid":
            input, padding = functional.pad(input, self._border(), self.padding_mode), 0
        convolution = (functional.conv1d, functional.conv2d, functional.conv3d)[self._axes - 1]
        return convolution(input, self.weight, self.bias, self.stride, padding, self.dilation, self.groups)

    def _border(self) -> tuple[int, ...]:
        """(before, after) from the last axis on."""
        border: list[int] = []
        for axis in reversed(range(self._axes)):
            if self.padding == "same":
                total = self.dilation[axis] * (self.kernel_size[axis] - 1)
                border += [total // 2, total - total // 2]
            else:
                border += [int(self.padding[axis])] * 2
        return tuple(border)


class Conv2d(_Conv):
    """Cross-correlation of images [N, C, H, W]. padding: numbers, "valid" or "same"; padding_mode: what stands there.

    kernel_size, stride, padding, dilation: an int, or two. Parameters: weight [out, in / groups, kh, kw], bias [out].
    """


class Conv3d(_Conv):
    """Cross-correlation of volumes [N, C, D, H, W]: see Conv2d, with three numbers for two."""

    _axes = 3


class Conv1d(_Conv):
    """Cross-correlation of sequences [N, C, L]: see Conv2d, with one number for two."""

    _axes = 1


class Dropout(Cell):
    """Zeros with probability p, the other elements over 1 - p, in training mode; input itself in evaluation mode."""

    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        super().__init__()
        only("Dropout", "inplace", inplace, False)
        self.p = checks.real("Dropout", "p", p, least=0)
        if p > 1:
            raise checks.wrong_value("Dropout", "p", "from 0 to 1", p)

    def construct(self, input: Any) -> Tensor:
        return functional.dropout(input, self.p, self.training)


class Flatten(Cell):
    """The axes from start_dim to end_dim as one."""

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        super().__init__()
        self.start_dim, self.end_dim = start_dim, end_dim

    def construct(self, input: Any) -> Tensor:
        return functional.flatten(input, self.start_dim, self.end_dim)


class Fold(Cell):
    """Columns [N, C kh kw, windows] added up where their windows lie: [N, C, *output_size]."""

    def __init__(
        self, output_size: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1
    ) -> None:
        super().__init__()
        self.output_size, self.kernel_size = output_size, kernel_size
        self.dilation, self.padding, self.stride = dilation, padding, stride

    def construct(self, input: Any) -> Tensor:
        return functional.fold(input, self.output_size, self.kernel_size, self.dilation, self.padding, self.stride)


class Unfold(Cell):
    """The windows of images [N, C, H, W] as columns: [N, C kh kw, windows]."""

    def __init__(self, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> None:
        super().__init__()
        self.kernel_size, self.dilation, self.padding, self.stride = kernel_size, dilation, padding, stride

    def construct(self, input: Any) -> Tensor:
        return functional.unfold(input, self.kernel_size, self.dilation, self.padding, self.stride)


class PixelShuffle(Cell):
    """[N, C r**2, H, W] as [N, C, H r, W r]: channels become the pixels between."""

    def __init__(self, upscale_factor: int) -> None:
        super().__init__()
        self.upscale_factor = checks.integer("PixelShuffle", "upscale_factor", upscale_factor)

    def construct(self, input: Any) -> Tensor:
        return functional.pixel_shuffle(input, self.upscale_factor)


class AdaptiveAvgPool1d(Cell):
    """Means of windows that divide the last axis of [N, C, L] into output_size parts as equal as possible."""

    def __init__(self, output_size: Any) -> None:
        super().__init__()
        self.output_size = output_size

    def construct(self, input: Any) -> Tensor:
        return functional.adaptive_avg_pool1d(input, self.output_size)


class AdaptiveAvgPool2d(Cell):
    """Means of windows that divide the last two axes of [N, C, H, W] into output_size parts as equal as possible."""

    def __init__(self, output_size: Any) -> None:
        super().__init__()
        self.output_size = output_size

    def construct(self, input: Any) -> Tensor:
        return functional.adaptive_avg_pool2d(input, self.output_size)


__all__ = [
    "AdaptiveAvgPool1d", "AdaptiveAvgPool2d", "Conv1d", "Conv2d", "Conv3d", "Dropout", "Embedding", "Flatten", "Fold",
    "Identity", "Linear", "PixelShuffle", "Unfold",
]  # fmt: skip
