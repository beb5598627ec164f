"""Functions that change their operand: it holds their result afterwards, as after `Tensor.exp_`."""

from __future__ import annotations

from graphc.mint.nn.functional import activations
from graphc.ops.functional.core import Operand
from graphc.ops.functional.index import write
from graphc.ops.tensor.tensor import Tensor


def relu_(input: Tensor) -> Tensor:
    """input, holding `relu` of what it held."""
    return activations.relu(input, True)


def sigmoid_(input: Tensor) -> Tensor:
    """input, holding `sigmoid` of what it held."""
    write(input, ..., activations.sigmoid(input))
    return input


def elu_(input: Tensor, alpha: Operand = 1.0) -> Tensor:
    """input, holding `elu` of what it held."""
    return activations.elu(input, alpha, True)


def hardtanh_(input: Tensor, min_val: Operand = -1, max_val: Operand = 1) -> Tensor:
    """input, holding `hardtanh` of what it held."""
    return activations.hardtanh(input, min_val, max_val, True)


def threshold_(input: Tensor, threshold: Operand, value: Operand) -> Tensor:
    """input, holding `threshold` of what it held."""
    return activations.threshold(input, threshold, value, True)


__all__ = ["elu_", "hardtanh_", "relu_", "sigmoid_", "threshold_"]
