"""What tensors may be made of: numbers where a number is asked for, arrays without a mask."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import graphc
from graphc import Parameter, Tensor, nn, ops

MASKED = np.ma.array(np.ones(3, np.float32), mask=[0, 1, 0])
PLAIN = np.ma.array(np.ones(3, np.float32))


class Twice(nn.Cell):
    def construct(self, x: Any) -> Any:
        return x * 2


@pytest.mark.parametrize(
    "make",
    [
        lambda x: Tensor(x),
        lambda x: Tensor([x, x]),
        lambda x: Parameter(x),
        lambda x: Parameter(Tensor([1.0, 2.0, 3.0])).set_data(x),
        lambda x: Twice()(x),
        lambda x: ops.add(Tensor([1.0, 2.0, 3.0]), x),
        lambda x: graphc.compile(Twice(), x),
    ],
)
def test_a_mask_is_not_lost(make: Any) -> None:
    with pytest.raises(TypeError, match="a tensor has no mask: 1 of 3 elements of the array are masked"):
        make(MASKED)
    make(PLAIN)


@pytest.mark.parametrize("value", [2, 2.5, True, np.float32(2.5), Tensor(2.5), Tensor([2.5])])
def test_fill_and_full(value: Any) -> None:
    number = float(value)
    for made in (ops.fill(graphc.float32, (2, 1), value), ops.full((2, 1), value, dtype=graphc.float32)):
        assert made.dtype == graphc.float32
        assert made.asnumpy().tolist() == [[number], [number]]
    kept = Tensor(value).dtype
    assert ops.full((1,), value).dtype == (kept if isinstance(value, Tensor) else ops.full((1,), type(value)(1)).dtype)


@pytest.mark.parametrize("value", [None, "x", [1.0], Tensor([1.0, 2.0]), object()])
def test_what_is_no_number_is_named(value: Any) -> None:
    kind = "a tensor f32[2]" if isinstance(value, Tensor) else type(value).__name__
    for name, make in (
        ("fill: value", lambda: ops.fill(graphc.float32, (2,), value)),
        ("full: fill_value", lambda: ops.full((2,), value)),
    ):
        with pytest.raises(TypeError) as caught:
            make()
        assert f"{name} must be a number, got {kind}" in str(caught.value)


class Filled(nn.TrainOneStepCell):
    """A subclass that fills the gradient of the loss itself."""

    def construct(self, *inputs: Any) -> Any:
        loss = self.network(*inputs)
        sens = ops.fill(loss.dtype, loss.shape, self.sens)
        grads = self.grad(self.network, self.weights)(*inputs, sens)
        return ops.depend(loss, self.optimizer(grads)), sens


def test_sens_is_one_unless_given() -> None:
    net = nn.WithLossCell(nn.Dense(2, 1), nn.MSELoss())
    x, y = Tensor(np.ones((3, 2), np.float32)), Tensor(np.ones((3, 1), np.float32))
    optimizer = nn.SGD(net.trainable_params(), 0.1)
    assert Filled(net, optimizer).sens == 1.0
    assert float(Filled(net, optimizer)(x, y)[1]) == 1.0
    assert float(Filled(net, optimizer, 8)(x, y)[1]) == 8.0
