"""A Cell that computes what it is told, with what it is told: for tests that change all this; results compared."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from graphc import Tensor, nn, ops
from graphc.attached import KEY
from graphc.ops.tensor.tree import fixed_values, flatten
from graphc.steps.calls import Key

X = np.array([1.0, -2.0, 3.0], np.float32)


class Cfg:
    """A setting that does not tell by its text what it is."""

    default = 1.0

    def __init__(self, k: float) -> None:
        self.k = k

    def __repr__(self) -> str:
        return "Cfg"


class Net(nn.Cell):
    """Computes `compute(self, x)` with the attributes it is given."""

    factor = 2.0

    def __init__(self, compute: Callable[..., Any], **attributes: Any) -> None:
        super().__init__()
        self.compute = compute
        for name, value in attributes.items():
            setattr(self, name, value)

    def construct(self, x: Any, *args: Any) -> Any:
        return self.compute(self, x, *args)


def value(net: Callable[..., Any], *args: Any) -> list[Any]:
    """What a call computes: twice the same, as the second call takes the quick way."""
    first = net(Tensor(X), *args).asnumpy()
    np.testing.assert_array_equal(first, net(Tensor(X), *args).asnumpy())
    made: list[Any] = first.tolist()
    return made


def scaled(k: float) -> list[float]:
    return (X * np.float32(k)).tolist()


def relu(x: Any) -> Any:
    return ops.relu(x)


def compiled_for(net: nn.Cell) -> list[Key]:
    """What a cell has steps for."""
    kept: list[Key] = vars(net)[KEY].values["steps"].kept()
    return kept


def compiled_times(net: nn.Cell) -> int:
    """How many steps a cell has."""
    return len(compiled_for(net))


def close(a: Any, b: Any, tolerance: float = 2e-5) -> None:
    """Two nests of tensors, and of Python's numbers, are the same but for rounding."""
    (one, structure), (other, others) = flatten(a, whole=True), flatten(b, whole=True)
    numbers = [list(fixed_values(each)) for each in (structure, others)]
    assert numbers[0] == pytest.approx(numbers[1], rel=tolerance)
    assert [type(x) for x in numbers[0]] == [type(x) for x in numbers[1]]
    assert len(one) == len(other)
    assert one or numbers[0]
    for x, y in zip([x.asnumpy() for x in one], [y.asnumpy() for y in other], strict=True):
        assert (x.dtype, x.shape) == (y.dtype, y.shape)
        np.testing.assert_allclose(x, y, rtol=tolerance, atol=tolerance)
