"""A loss scale that stays at its floor while gradients overflow says so, and raises if asked."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import graphc
from graphc import LossScaleError, LossScaleWarning, Parameter, Tensor, nn, ops

X, Y = np.ones((2, 3), np.float32), np.ones((2, 1), np.float32)
BAD = X * np.float32(np.inf)


class Own(nn.Cell):
    """A wrapper of the user's own, which hands its Parameter to the manager."""

    def __init__(self, network: Any, optimizer: Any, manager: Any) -> None:
        super().__init__()
        self.network, self.optimizer, self.manager = network, optimizer, manager
        self.weights = optimizer.parameters
        self.loss_scale = Parameter(
            Tensor([manager.get_loss_scale()], "float32"), name="loss_scale", requires_grad=False
        )
        self.grad = ops.GradOperation(get_by_list=True, sens_param=True)

    def construct(self, x: Any, y: Any) -> Any:
        loss = self.network(x, y)
        grads = self.grad(self.network, self.weights)(x, y, ops.ones_like(loss) * self.loss_scale.reshape(()))
        overflow = ops.logical_not(ops.all_finite(grads))
        if not self.manager(self.loss_scale, overflow):
            loss = ops.depend(loss, self.optimizer(grads))
        return loss, overflow


def made(
    kind: Any = nn.TrainOneStepWithLossScaleCell, weight: float = 1.0, loss_scale: float = 4.0, **options: Any
) -> Any:
    net = nn.WithLossCell(nn.Dense(3, 1, weight_init=Tensor(np.full((1, 3), weight, np.float32))), nn.MSELoss())
    manager = nn.DynamicLossScaleUpdateCell(loss_scale, 2, 1000, **options)
    return kind(net, nn.SGD(net.trainable_params(), 0.01), manager)


def warned(step: Any, inputs: Any) -> list[tuple[int, str]]:
    """The steps that warn, and how."""
    found = []
    for k, x in enumerate(inputs):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            step(x, Y)
        found += [(k, str(w.message)) for w in caught if issubclass(w.category, LossScaleWarning)]
    return found


@pytest.mark.parametrize("kind", [nn.TrainOneStepWithLossScaleCell, nn.MFTrainOneStepCell, Own])
def test_it_warns_once_after_a_hundred(kind: Any) -> None:
    if kind is nn.MFTrainOneStepCell:
        step = made(lambda n, o, m: kind(n, o, scale_sense=m))
    else:
        step = made(kind)
    step = graphc.compile(step, X, Y)
    # Two overflows bring the scale from 4 to 1, at the second it is at its floor.
    (found,) = warned(step, [BAD] * 250)
    assert found[0] == 100
    assert "[GC154] the gradients have overflowed in 100 steps in a row with the loss scale at its floor, 1" in found[1]
    assert "every step since the first has overflowed: the loss itself is not finite" in found[1]
    assert "tests/nn/test_floor.py:" in found[1]


def test_a_good_step_begins_the_count_anew() -> None:
    step = graphc.compile(made(), X, Y)
    assert warned(step, [BAD] * 100 + [X] + [BAD] * 99 + [X]) == []
    (found,) = warned(step, [BAD] * 100)
    assert found[0] == 99
    assert "every step since the first" not in found[1]


def test_a_scale_that_grows_leaves_the_floor() -> None:
    net = nn.WithLossCell(nn.Dense(3, 1), nn.MSELoss())
    manager = nn.DynamicLossScaleUpdateCell(1.0, 2, 1, floor_warning=2)
    step = graphc.compile(nn.TrainOneStepWithLossScaleCell(net, nn.SGD(net.trainable_params(), 0.01), manager), X, Y)
    assert warned(step, [X, BAD] * 20) == []
    assert warned(step, [BAD] * 3)


def test_the_first_step_is_no_overflow() -> None:
    step = graphc.compile(made(floor_warning=1), X, Y)
    step.cell.scale_sense.set_data(Tensor(1.0))
    assert warned(step, [X] * 3) == []


def test_what_is_not_finite_is_named() -> None:
    step = graphc.compile(made(weight=np.nan, floor_warning=3), X, Y)
    step.cell.scale_sense.set_data(Tensor(1.0))
    (found,) = warned(step, [X] * 5)
    assert found[0] == 2
    assert "parameter 'weight' holds infinities or NaN" in found[1]
    step = graphc.compile(made(floor_warning=3), X, Y)
    step.cell.scale_sense.set_data(Tensor(1.0))
    assert "every step since the first has overflowed: the loss itself is not finite" in warned(step, [BAD] * 3)[0][1]


@pytest.mark.parametrize("mode", [graphc.GRAPH_MODE, graphc.PYNATIVE_MODE])
def test_it_raises_if_asked(mode: int) -> None:
    graphc.set_context(mode=mode)
    try:
        step = made(floor_warning=2, floor_error=4)
        assert [k for k, _ in warned(step, [BAD] * 4)] == [2]
        step(X, Y)
        step.scale_sense.set_data(Tensor(1.0))
        warned(step, [BAD] * 3)
        with pytest.raises(RuntimeError, match="overflowed in 4 steps in a row") as caught:
            step(BAD, Y)
    finally:
        graphc.set_context(mode=graphc.GRAPH_MODE)
    assert isinstance(caught.value, LossScaleError)
    assert caught.value.code == "GC154"


@pytest.mark.parametrize("options", [{"floor_warning": 0}, {"floor_error": 1.5}, {"floor_warning": True}])
def test_bad_limits(options: dict[str, Any]) -> None:
    with pytest.raises((TypeError, ValueError), match=next(iter(options))):
        made(**options)


@pytest.mark.parametrize("length", [30, 400])
def test_steps_in_one_loop_are_counted(length: int) -> None:
    """The first sink that ends at the floor is not looked into; from then on every step counts."""
    step = graphc.compile(made(), X, Y)
    queue = [np.tile(BAD, (length, 1, 1)), np.tile(Y, (length, 1, 1))]

    def sinks(_: object, __: object) -> None:
        for _ in range(2 + 200 // length):
            step.run_many(queue)

    ((_, text),) = warned(sinks, [BAD])
    assert "100 steps in a row" in text


def test_a_loop_at_the_floor_without_overflow_is_not_cut() -> None:
    step = graphc.compile(made(loss_scale=1.0), X, Y)
    step(X, Y)
    assert [watch.limit() for watch in step._watches] == [None]
