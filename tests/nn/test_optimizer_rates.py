"""Optimizers with learning rates that change: lists, schedules, what an overflow does to them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import graphc
from graphc import Parameter, Tensor, nn, ops

RNG = np.random.default_rng(8)

W, B = RNG.normal(size=(6, 21)).astype(np.float32), RNG.normal(size=5).astype(np.float32)

STEPS = 10

GRADS = [
    (RNG.normal(size=W.shape).astype(np.float32), RNG.normal(size=B.shape).astype(np.float32)) for _ in range(STEPS)
]


def make_params(names: tuple[str, str] = ("fc.weight", "fc.bias")) -> list[Parameter]:
    return [Parameter(Tensor(v), name=n) for v, n in zip((W, B), names, strict=True)]


def sgd_steps(learning_rate: Any, steps: int) -> list[float]:
    """How far each step of SGD moves a parameter with gradient 1."""
    (p,) = params = [Parameter(Tensor([0.0]), name="w")]
    optimizer = nn.SGD(params, learning_rate)
    moved = []
    for _ in range(steps):
        before = float(p)
        optimizer((Tensor([1.0]),))
        moved.append(before - float(p))
    return moved


@pytest.mark.parametrize(
    "rates",
    [
        [0.5, 0.25, 1.0],
        (0.5, 0.25, 1),
        np.array([0.5, 0.25, 1.0]),
        Tensor([0.5, 0.25, 1.0]),
        (x for x in [0.5, 0.25, 1.0]),
    ],
    ids=["list", "tuple", "array", "tensor", "iterator"],
)
def test_listed_rates(rates: Any) -> None:
    assert sgd_steps(rates, 3) == [0.5, 0.25, 1.0]


def test_fixed_rates() -> None:
    for rate in (0.25, Tensor(0.25), np.float32(0.25), np.array(0.25)):
        assert sgd_steps(rate, 2) == [0.25, 0.25]
    assert sgd_steps(True, 1) == [1.0]
    assert sgd_steps(0, 1) == [0.0]


def test_a_list_that_is_too_short_changes_nothing() -> None:
    (p,) = params = [Parameter(Tensor([0.0]), name="w")]
    optimizer = nn.SGD(params, [0.5, 0.25])
    for _ in range(2):
        optimizer((Tensor([1.0]),))
    with pytest.raises(RuntimeError, match="SGD: step 2 has no learning rate: learning_rate lists 2") as caught:
        optimizer((Tensor([1.0]),))
    assert isinstance(caught.value, graphc.ArgumentValueError)
    assert float(p) == -0.75
    assert optimizer.global_step.asnumpy().tolist() == [2]
    for step in (graphc.compile(optimizer, (Tensor([1.0]),)), graphc.jit(lambda grads: optimizer(grads))):
        with pytest.raises(RuntimeError, match="SGD: step 2 has no learning rate"):
            step((Tensor([1.0]),))
    assert float(p) == -0.75
    assert optimizer.global_step.asnumpy().tolist() == [2]


@pytest.mark.parametrize("way", ["call", "compile", "jit"])
def test_a_training_step_behind_the_list(way: str) -> None:
    net = nn.Dense(1, 1, weight_init="ones", has_bias=False)
    groups = [{"params": net.trainable_params(), "lr": [0.5, 0.25]}]
    step = nn.TrainOneStepCell(nn.WithLossCell(net, nn.MSELoss()), nn.SGD(groups, 0.1)).set_train()
    x = Tensor([[1.0]])
    ways: dict[str, Any] = {
        "call": lambda: step,
        "compile": lambda: graphc.compile(step, x, x),
        "jit": lambda: graphc.jit(lambda a, b: step(a, b)),
    }
    run = ways[way]()
    run(x, x)
    run(x, x)
    before = net.weight.asnumpy()
    with pytest.raises(RuntimeError, match="step 2 has no learning rate"):
        run(x, x)
    assert net.weight.asnumpy() == before
    np.testing.assert_array_equal(graphc.jit(lambda a: net(a))(x).asnumpy(), before)  # No step, no rate.


def test_the_rate_is_that_of_the_steps_made_before() -> None:
    optimizer = nn.Adam(make_params(), [0.5, 0.25, 0.125])
    seen = []
    for grads in GRADS[:3]:
        seen.append(float(optimizer.get_lr()))
        optimizer(tuple(map(Tensor, grads)))
    assert seen == [0.5, 0.25, 0.125]
    assert nn.SGD(make_params(), nn.WarmUpLR(0.5, 2)).get_lr().shape == ()


def test_the_list_can_be_assigned() -> None:
    (p,) = params = [Parameter(Tensor([0.0]), name="w")]
    optimizer = nn.SGD(params, [0.5, 0.5])
    optimizer((Tensor([1.0]),))
    optimizer.get_lr_parameter(p).set_data(np.array([0.25, 0.125], np.float32))
    optimizer((Tensor([1.0]),))
    assert float(p) == -0.625


def test_an_overflow_step_uses_up_no_rate() -> None:
    class Line(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.w = Parameter(Tensor([0.0]), name="w")

        def construct(self, x: Tensor) -> Tensor:
            return ops.reduce_sum(self.w * x)

    for make in (lambda p: nn.SGD(p, [0.5, 0.25, 0.125]), lambda p: nn.SGD([{"params": p, "lr": [0.5, 0.25, 0.125]}])):
        net = Line()
        optimizer = make(net.trainable_params())
        cell = nn.TrainOneStepWithLossScaleCell(net, optimizer, Tensor(16.0))
        values, steps = [], []
        for x in (1.0, np.inf, 1.0, np.nan, np.inf, 1.0):
            cell(Tensor([x]))
            values.append(float(net.w))
            steps.append(int(optimizer.global_step.asnumpy()[0]))
        assert values == [-0.5, -0.5, -0.75, -0.75, -0.75, -0.875]
        assert steps == [1, 1, 2, 2, 2, 3]
