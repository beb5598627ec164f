"""Functions of each element, and along one axis."""

from __future__ import annotations

from typing import Any

from graphc import ops
from graphc.mint.elementwise import npu_gelu
from graphc.ops import logsigmoid as _logsigmoid
from graphc.ops import prelu, sigmoid, tanh
from graphc.ops.functional.core import Operand
from graphc.ops.functional.index import write
from graphc.ops.tensor.tensor import Tensor
from graphc.validation.unused_arguments import only


def _result(owner: str, input: Tensor, made: Tensor, inplace: bool) -> Tensor:
    """What is made of input; inplace: input itself, which holds it then."""
    only(owner, "inplace", inplace, False, True)
    if not inplace:
        return made
    write(input, ..., made)
    return input


def relu(input: Tensor, inplace: bool = False) -> Tensor:
    """max(input, 0); inplace: input holds it afterwards, as for all functions here."""
    return _result("relu", input, ops.relu(input), inplace)


def relu6(input: Tensor, inplace: bool = False) -> Tensor:
    """min(max(input, 0), 6)."""
    return _result("relu6", input, ops.relu6(input), inplace)


def elu(input: Tensor, alpha: Operand = 1.0, inplace: bool = False) -> Tensor:
    """input where positive, else alpha (exp(input) - 1)."""
    return _result("elu", input, ops.elu(input, alpha), inplace)


def gelu(input: Tensor, *, approximate: str = "none") -> Tensor:
    """input * Phi(input), Phi the distribution of a standard normal; approximate "tanh" takes tanh for it."""
    return npu_gelu(input, approximate)


def glu(input: Tensor, dim: int = -1) -> Tensor:
    """a sigmoid(b), a and b the halves of input along an axis."""
    return ops.glu(input, dim)


def hardshrink(input: Tensor, lambd: Operand = 0.5) -> Tensor:
    """input where it lies outside -lambd to lambd, else 0."""
    return ops.hardshrink(input, lambd)


def hardsigmoid(input: Tensor, inplace: bool = False) -> Tensor:
    """input / 6 + 1 / 2, held between 0 and 1."""
    return _result("hardsigmoid", input, ops.hardsigmoid(input), inplace)


def hardswish(input: Tensor, inplace: bool = False) -> Tensor:
    """input times `hardsigmoid`."""
    return _result("hardswish", input, ops.hardswish(input), inplace)


def hardtanh(input: Tensor, min_val: Operand = -1.0, max_val: Operand = 1.0, inplace: bool = False) -> Tensor:
    """input held between two bounds."""
    return _result("hardtanh", input, ops.hardtanh(input, min_val, max_val), inplace)


def leaky_relu(input: Tensor, negative_slope: Operand = 0.01) -> Tensor:
    """input where positive, else negative_slope * input."""
    return ops.leaky_relu(input, negative_slope)


def logsigmoid(input: Tensor) -> Tensor:
    """log(sigmoid(input)), without overflow."""
    return _logsigmoid(input)


def mish(input: Tensor, inplace: bool = False) -> Tensor:
    """input * tanh(log(1 + exp(input)))."""
    return _result("mish", input, ops.mish(input), inplace)


def selu(input: Tensor, inplace: bool = False) -> Tensor:
    """1.0507 input where positive, else 1.0507 * 1.67326 (exp(input) - 1) (Klambauer et al., 2017)."""
    return _result("selu", input, ops.selu(input), inplace)


def silu(input: Tensor, inplace: bool = False) -> Tensor:
    """input * sigmoid(input)."""
    return _result("silu", input, ops.silu(input), inplace)


def softplus(input: Tensor, beta: Operand = 1, threshold: Operand = 20) -> Tensor:
    """log(1 + exp(beta input)) / beta; input itself where beta input is greater than threshold."""
    return ops.softplus(input, beta, threshold)


def softshrink(input: Tensor, lambd: Operand = 0.5) -> Tensor:
    """input moved toward 0 by lambd, and 0 where it would pass it."""
    return ops.softshrink(input, lambd)


def threshold(input: Tensor, threshold: Operand, value: Operand, inplace: bool = False) -> Tensor:
    """input where it is greater than threshold, or NaN, else value."""
    kept = ops.logical_not(ops.less_equal(input, threshold))
    return _result("threshold", input, ops.where(kept, input, ops.cast(value, input.dtype)), inplace)


def softmax(input: Tensor, dim: int | None = None, dtype: Any = None) -> Tensor:
    """exp(input) over its sum along an axis, by default 0 for 0, 1 and 3 axes, else 1; dtype: what it is cast to before."""
    return _along(ops.softmax, _cast(input, dtype), dim)


def log_softmax(input: Tensor, dim: int | None = None, dtype: Any = None) -> Tensor:
    """The logarithm of `softmax`."""
    return _along(ops.log_softmax, _cast(input, dtype), dim)


def _cast(input: Tensor, dtype: Any) -> Tensor:
    return input if dtype is None else ops.cast(input, dtype)


def _along(function: Any, input: Tensor, dim: int | None) -> Tensor:
    """A function along an axis; a tensor without axes is one of one element."""
    axis = dim if dim is not None else 0 if input.ndim in (0, 1, 3) else 1
    made: Tensor = function(input if input.ndim else ops.reshape(input, (1,)), axis)
    return made if input.ndim else ops.reshape(made, ())


__all__ = [
    "elu", "gelu", "glu", "hardshrink", "hardsigmoid", "hardswish", "hardtanh", "leaky_relu", "log_softmax", "logsigmoid",
    "mish", "prelu", "relu", "relu6", "selu", "sigmoid", "silu", "softmax", "softplus", "softshrink", "tanh", "threshold",
]  # fmt: skip
