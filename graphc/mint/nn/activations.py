"""Layers of each element, and along one axis."""

from __future__ import annotations

from typing import Any

from graphc import ops
from graphc.mint.nn import functional
from graphc.nn import checks
from graphc.nn.cell.cell import Cell
from graphc.nn.initializer import initializer
from graphc.nn.layer.activation import HShrink, LogSigmoid, ReLU, Sigmoid, SoftShrink, Tanh
from graphc.ops.tensor.parameter import Parameter
from graphc.ops.tensor.tensor import Tensor
from graphc.validation.unused_arguments import only


class Hardshrink(HShrink):
    """input where it lies outside -lambd to lambd, else 0."""


class Softshrink(SoftShrink):
    """input moved toward 0 by lambd, and 0 where it would pass it."""


class Hardsigmoid(Cell):
    """input / 6 + 1 / 2, held between 0 and 1."""

    def construct(self, input: Any) -> Tensor:
        return ops.hardsigmoid(input)


class Hardswish(Cell):
    """input times `Hardsigmoid`."""

    def construct(self, input: Any) -> Tensor:
        return ops.hardswish(input)


class SiLU(Cell):
    """input * sigmoid(input)."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        only("SiLU", "inplace", inplace, False)

    def construct(self, input: Any) -> Tensor:
        return functional.silu(input)


class ELU(Cell):
    """input where positive, else alpha (exp(input) - 1)."""

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        super().__init__()
        only("ELU", "inplace", inplace, False)
        self.alpha = checks.real("ELU", "alpha", alpha)

    def construct(self, input: Any) -> Tensor:
        return functional.elu(input, self.alpha)


class GELU(Cell):
    """input * Phi(input), Phi the distribution of a standard normal; approximate "tanh" takes tanh for it."""

    def __init__(self, approximate: str = "none") -> None:
        super().__init__()
        only("GELU", "approximate", approximate, "none", "tanh")
        self.approximate = approximate

    def construct(self, input: Any) -> Tensor:
        return functional.gelu(input, approximate=self.approximate)


class GLU(Cell):
    """a sigmoid(b), a and b the halves of input along an axis."""

    def __init__(self, dim: int = -1) -> None:
        super().__init__()
        self.dim = dim

    def construct(self, input: Any) -> Tensor:
        return functional.glu(input, self.dim)


class Hardtanh(Cell):
    """input held between two bounds."""

    def __init__(self, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> None:
        super().__init__()
        only("Hardtanh", "inplace", inplace, False)
        self.min_val, self.max_val = min_val, max_val

    def construct(self, input: Any) -> Tensor:
        return functional.hardtanh(input, self.min_val, self.max_val)


class ReLU6(Cell):
    """min(max(input, 0), 6)."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        only("ReLU6", "inplace", inplace, False)

    def construct(self, input: Any) -> Tensor:
        return functional.relu6(input)


class Mish(Cell):
    """input * tanh(log(1 + exp(input)))."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        only("Mish", "inplace", inplace, False)

    def construct(self, input: Any) -> Tensor:
        return ops.mish(input)


class SELU(Cell):
    """1.0507 input where positive, else 1.0507 * 1.67326 (exp(input) - 1) (Klambauer et al., 2017)."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        only("SELU", "inplace", inplace, False)

    def construct(self, input: Any) -> Tensor:
        return ops.selu(input)


class PReLU(Cell):
    """input where positive, else w * input. num_parameters: 1, or that of the channels (axis 1). Parameter: weight (init)."""

    def __init__(self, num_parameters: int = 1, init: float = 0.25, dtype: Any = None) -> None:
        super().__init__()
        count = checks.integer("PReLU", "num_parameters", num_parameters)
        filled = initializer(checks.real("PReLU", "init", init), (count,), "float32" if dtype is None else dtype)
        self.weight = Parameter(filled, name="weight")

    def construct(self, input: Any) -> Tensor:
        return functional.prelu(input, self.weight)


class Softmax(Cell):
    """exp(input) over its sum along an axis, by default 0 for 0, 1 and 3 axes, else 1."""

    def __init__(self, dim: int | None = None) -> None:
        super().__init__()
        self.dim = dim

    def construct(self, input: Any) -> Tensor:
        return functional.softmax(input, self.dim)


class LogSoftmax(Cell):
    """The logarithm of `Softmax`."""

    def __init__(self, dim: int | None = None) -> None:
        super().__init__()
        self.dim = dim

    def construct(self, input: Any) -> Tensor:
        return functional.log_softmax(input, self.dim)


class Threshold(Cell):
    """input where it is greater than threshold, else value."""

    def __init__(self, threshold: float, value: float, inplace: bool = False) -> None:
        super().__init__()
        only("Threshold", "inplace", inplace, False)
        self.threshold, self.value = threshold, value

    def construct(self, input: Any) -> Tensor:
        return functional.threshold(input, self.threshold, self.value)


__all__ = [
    "ELU", "GELU", "GLU", "SELU", "Hardshrink", "Hardsigmoid", "Hardswish", "Hardtanh", "LogSigmoid", "LogSoftmax",
    "Mish", "PReLU", "ReLU", "ReLU6", "SiLU", "Sigmoid", "Softmax", "Softshrink", "Tanh", "Threshold",
]  # fmt: skip
