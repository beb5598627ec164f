"""Activations as Cells."""

from __future__ import annotations

from typing import Any

from graphc import ops
from graphc.nn import checks
from graphc.nn.cell import Cell
from graphc.ops.tensor import Tensor


class ReLU(Cell):
    """max(x, 0); NaN stays NaN."""

    def construct(self, x: Any) -> Tensor:
        return ops.relu(x)


class Tanh(Cell):
    """tanh(x) of a float tensor."""

    def construct(self, x: Any) -> Tensor:
        return ops.tanh(x)


class Sigmoid(Cell):
    """1 / (1 + exp(-x)) of a float tensor."""

    def construct(self, x: Any) -> Tensor:
        return ops.sigmoid(x)


class _Over(Cell):
    """An activation along one axis."""

    def __init__(self, axis: int = -1) -> None:
        super().__init__()
        if not checks.is_int(axis):
            raise checks.wrong_type(type(self).__name__, "axis", "an int", axis)
        self.axis = int(axis)

    def extend_repr(self) -> str:
        return f"axis={self.axis}"


class Softmax(_Over):
    """exp(x) / sum exp(x) along an axis."""

    def construct(self, x: Any) -> Tensor:
        return ops.softmax(x, self.axis)


class LogSoftmax(_Over):
    """log of softmax along an axis."""

    def construct(self, x: Any) -> Tensor:
        return ops.log_softmax(x, self.axis)


_BY_NAME: dict[str, type[Cell]] = {
    "relu": ReLU,
    "tanh": Tanh,
    "sigmoid": Sigmoid,
    "softmax": Softmax,
    "logsoftmax": LogSoftmax,
}


def get_activation(name: str | None) -> Cell | None:
    """A new activation by its name; None for None. ArgumentValueError for an unknown name (MindSpore:
    KeyError).
    """
    if name is None:
        return None
    return _BY_NAME[checks.one_of("get_activation", "name", name, tuple(_BY_NAME))]()
