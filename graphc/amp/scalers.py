"""Loss scaling in functions: scale the loss, unscale the gradients, adapt the scale. Works traced and outside."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from graphc import ops
from graphc.errors import ArgumentTypeError, user_loc
from graphc.nn import checks
from graphc.ops.tensor.parameter import Parameter
from graphc.ops.tensor.tensor import Tensor
from graphc.ops.tensor.tree import map_values


class LossScaler(ABC):
    """Base of the scalers (MindSpore: amp.LossScaler)."""

    @abstractmethod
    def scale(self, inputs: Any) -> Any:
        """The loss, or a nest of tensors, times the scale."""

    @abstractmethod
    def unscale(self, inputs: Any) -> Any:
        """Gradients over the scale."""

    @abstractmethod
    def adjust(self, grads_finite: Any) -> bool:
        """Adapt the scale. Returns whether this scaler adapts it at all."""


def _grad_scale_map(scale: Parameter, inputs: Any) -> Any:
    return map_values(lambda x: x * ops.cast(scale, x.dtype), inputs)


def _grad_unscale_map(scale: Parameter, inputs: Any) -> Any:
    return map_values(lambda x: x * ops.cast(ops.reciprocal(scale), x.dtype), inputs)


class StaticLossScaler(LossScaler):
    """A scale that stays: Parameter "scale_value", float32 (MindSpore: amp.StaticLossScaler).

    scale_value: a number >= 1. Raises ArgumentTypeError or ArgumentValueError.
    """

    def __init__(self, scale_value: float) -> None:
        value = checks.real("StaticLossScaler", "scale_value", scale_value, least=1)
        self.scale_value = Parameter(Tensor(value, "float32"), name="scale_value")

    def scale(self, inputs: Any) -> Any:
        """Every tensor of a nest times the scale, in its own dtype."""
        return _grad_scale_map(self.scale_value, inputs)

    def unscale(self, inputs: Any) -> Any:
        """Every tensor of a nest over the scale, in its own dtype."""
        return _grad_unscale_map(self.scale_value, inputs)

    def adjust(self, grads_finite: Any) -> bool:
        """False: the scale stays."""
        return False


class DynamicLossScaler(LossScaler):
    """A scale that adapts: Parameters "scale_value", float32, and "counter", int32 (MindSpore: amp.DynamicLossScaler).

    adjust(finite): finite gradients are counted, and every scale_window-th in a row multiplies the scale by scale_factor,
    unless that is no finite number any more; others divide it, down to 1, and start the count again.
    scale_value: a number >= 1, scale_factor: an int >= 2, scale_window: an int >= 1. Raises ArgumentTypeError or
    ArgumentValueError.
    """

    def __init__(self, scale_value: float, scale_factor: int, scale_window: int) -> None:
        owner = "DynamicLossScaler"
        value = checks.real(owner, "scale_value", scale_value, least=1)
        self.scale_factor = checks.integer(owner, "scale_factor", scale_factor, 2)
        self.scale_window = checks.integer(owner, "scale_window", scale_window)
        self.scale_value = Parameter(Tensor(value, "float32"), name="scale_value")
        self.counter = Parameter(Tensor(0, "int32"), name="counter")

    def scale(self, inputs: Any) -> Any:
        """Every tensor of a nest times the scale, in its own dtype."""
        return _grad_scale_map(self.scale_value, inputs)

    def unscale(self, inputs: Any) -> Any:
        """Every tensor of a nest over the scale, in its own dtype."""
        return _grad_unscale_map(self.scale_value, inputs)

    def adjust(self, grads_finite: Any) -> bool:
        """Adapt the scale; grads_finite is a bool of one element, as `all_finite` gives it. Returns True."""
        finite = ops.reshape(ops.cast(grads_finite, "bool"), ())
        larger = self.scale_value * self.scale_factor
        grows = ops.logical_and(ops.equal(self.counter, self.scale_window - 1), ops.isfinite(larger))
        smaller = ops.maximum(self.scale_value / self.scale_factor, 1.0)
        scale = ops.select(finite, ops.select(grows, larger, self.scale_value), smaller)
        count = ops.select(finite, (self.counter + 1) % self.scale_window, 0)
        ops.assign(self.scale_value, scale)
        ops.assign(self.counter, count)
        return True


def all_finite(inputs: Any) -> Tensor:
    """bool without axes: every element of every tensor is finite (MindSpore: amp.all_finite).

    inputs: a tuple or list of float tensors. ArgumentTypeError for anything else.
    """
    if not isinstance(inputs, (tuple, list)) or not all(isinstance(x, Tensor) for x in inputs):
        raise ArgumentTypeError(
            f"all_finite: inputs must be a tuple of Tensors, got {type(inputs).__name__}", loc=user_loc()
        )
    return ops.all_finite(inputs)


__all__ = ["DynamicLossScaler", "LossScaler", "StaticLossScaler", "all_finite"]
