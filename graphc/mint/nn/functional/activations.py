"""Functions of each element, and along one axis."""

from __future__ import annotations

from typing import Any

from graphc import ops
from graphc.arguments import only
from graphc.mint.elementwise import npu_gelu
from graphc.ops import logsigmoid as _logsigmoid
from graphc.ops import prelu, sigmoid, tanh
from graphc.ops.tensor.tensor import Tensor


def _new(owner: str, inplace: bool) -> None:
    only(owner, "inplace", inplace, False)


def relu(input: Tensor, inplace: bool = False) -> Tensor:
    """max(input, 0)."""
    _new("relu", inplace)
    return ops.relu(input)


def relu6(input: Tensor, inplace: bool = False) -> Tensor:
    """min(max(input, 0), 6)."""
    _new("relu6", inplace)
    return ops.relu6(input)


def elu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """input where positive, else alpha (exp(input) - 1)."""
    _new("elu", inplace)
    return ops.where(input > 0, input, alpha * ops.expm1(ops.minimum(input, 0.0)))


def gelu(input: Tensor, *, approximate: str = "none") -> Tensor:
    """input * Phi(input), Phi the distribution of a standard normal; approximate "tanh" takes tanh for it."""
    return npu_gelu(input, approximate)


def glu(input: Tensor, dim: int = -1) -> Tensor:
    """a sigmoid(b), a and b the halves of input along an axis."""
    return ops.glu(input, dim)


def hardtanh(input: Tensor, min_val: Any = -1.0, max_val: Any = 1.0, inplace: bool = False) -> Tensor:
    """input held between two bounds."""
    _new("hardtanh", inplace)
    return ops.hardtanh(input, min_val, max_val)


def leaky_relu(input: Tensor, negative_slope: float = 0.01) -> Tensor:
    """input where positive, else negative_slope * input."""
    return ops.leaky_relu(input, negative_slope)


def logsigmoid(input: Tensor) -> Tensor:
    """log(sigmoid(input)), without overflow."""
    return _logsigmoid(input)


def silu(input: Tensor, inplace: bool = False) -> Tensor:
    """input * sigmoid(input)."""
    _new("silu", inplace)
    return ops.silu(input)


def threshold(input: Tensor, threshold: Any, value: Any, inplace: bool = False) -> Tensor:
    """input where it is greater than threshold, else value."""
    _new("threshold", inplace)
    return ops.threshold(input, threshold, value)


def softmax(input: Tensor, dim: int | None = None, dtype: Any = None) -> Tensor:
    """exp(input) over its sum along an axis, by default 0 for 0, 1 and 3 axes, else 1; dtype: what it is cast to before."""
    return ops.softmax(_cast(input, dtype), _axis(input, dim))


def log_softmax(input: Tensor, dim: int | None = None, dtype: Any = None) -> Tensor:
    """The logarithm of `softmax`."""
    return ops.log_softmax(_cast(input, dtype), _axis(input, dim))


def _cast(input: Tensor, dtype: Any) -> Tensor:
    return input if dtype is None else ops.cast(input, dtype)


def _axis(input: Tensor, dim: int | None) -> int:
    return dim if dim is not None else 0 if input.ndim in (0, 1, 3) else 1


__all__ = [
    "elu", "gelu", "glu", "hardtanh", "leaky_relu", "log_softmax", "logsigmoid", "prelu", "relu", "relu6", "sigmoid",
    "silu", "softmax", "tanh", "threshold",
]  # fmt: skip
