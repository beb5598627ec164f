"""Training steps that cannot train what they are given: a warning when they are compiled."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import graphc
from graphc import Parameter, Tensor, UntrainedWarning, nn, ops

X, Y = np.ones((2, 3), np.float32), np.ones((2, 1), np.float32)


class Net(nn.Cell):
    """Two layers that are used, one that is not."""

    def __init__(self) -> None:
        super().__init__()
        self.gate, self.body = nn.Dense(3, 4), nn.Dense(3, 4)
        self.head, self.spare = nn.Dense(4, 1), nn.Dense(2, 2)

    def through(self, g: Any) -> Any:
        return g

    def construct(self, x: Any, y: Any) -> Any:
        g = self.through(self.gate(x))
        return ops.reduce_mean(ops.square(self.head(self.body(x) * g) - y))


class Floor(Net):
    def through(self, g: Any) -> Any:
        return ops.floor(g)


class Compare(Net):
    def through(self, g: Any) -> Any:
        return ops.select(g > 0, 1.0, 2.0)


class Stopped(Net):
    def through(self, g: Any) -> Any:
        return ops.stop_gradient(g)


class StraightThrough(Net):
    def through(self, g: Any) -> Any:
        return g + ops.stop_gradient(ops.round(g) - g)


class Integers(Net):
    """A cast between numbers passes the gradient on, as in MindSpore."""

    def through(self, g: Any) -> Any:
        return ops.cast(ops.cast(g, "int32"), "float32")


class Argmax(Net):
    def construct(self, x: Any, y: Any) -> Any:
        best = ops.argmax(self.head(self.body(x)), 1)
        return ops.reduce_mean(ops.square(ops.cast(best, "float32") - y))


class Twice(nn.Cell):
    """Two gradients for the same parameters, of which one is zero."""

    def __init__(self) -> None:
        super().__init__()
        self.net, self.argmax = Net(), Argmax()
        self.optimizer = nn.SGD(self.net.head.trainable_params(), 0.1)
        self.weights = self.optimizer.parameters
        self.argmax.head = self.net.head
        self.grad = ops.GradOperation(get_by_list=True)

    def construct(self, x: Any, y: Any) -> Any:
        one, other = (self.grad(f, self.weights)(x, y) for f in (self.net, self.argmax))
        return self.optimizer(tuple(a + b for a, b in zip(one, other, strict=True)))


def warned(cell: Any) -> list[str]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        graphc.compile(cell, X, Y)
    assert all(w.filename == __file__ for w in caught)
    return [str(w.message) for w in caught if issubclass(w.category, UntrainedWarning)]


def trained(net: Any, parameters: Any = None) -> Any:
    return nn.TrainOneStepCell(net, nn.SGD(parameters or net.trainable_params(), 0.1))


@pytest.mark.parametrize("kind", [Net, Stopped, StraightThrough, Integers])
def test_no_warning(kind: Any) -> None:
    """One layer of four that is not used is nothing unusual, and stop_gradient is meant."""
    assert warned(trained(kind())) == []


@pytest.mark.parametrize(("kind", "op", "line"), [(Floor, "Floor", "ops.floor(g)"), (Compare, "Greater", "g > 0")])
def test_an_op_without_gradient_on_the_only_way(kind: Any, op: str, line: str) -> None:
    (text,) = warned(trained(kind()))
    assert text.startswith("[GC155] 2 of 8 parameters to be trained have gradients of zero")
    assert "gate.weight f32[4,3], gate.bias f32[4]" in text
    assert f"{op} at tests/nn/test_untrained.py:" in text
    assert line in text


@pytest.mark.parametrize(
    "make", [trained, lambda n: nn.TrainOneStepWithLossScaleCell(n, nn.Adam(n.trainable_params()), Tensor(8.0))]
)
def test_a_loss_through_argmax(make: Any) -> None:
    (text,) = warned(make(Argmax()))
    assert text.startswith("[GC155] all parameters to be trained have gradients of zero")
    assert "best = ops.argmax(self.head(self.body(x)), 1)" in text
    assert "gate.weight f32[4,3], gate.bias f32[4], body.weight f32[4,3]" in text
    assert "... and 3 more" in text


def test_the_optimizer_of_another_network() -> None:
    net, other = Net(), nn.Dense(3, 1)
    (text,) = warned(trained(net, other.trainable_params()))
    assert "all parameters to be trained have gradients of zero" in text
    assert "weight f32[1,3], bias f32[1]" in text
    assert (
        "help: the network does not use them: give the optimizer the parameters of the network that is trained" in text
    )


def test_a_gradient_that_another_one_makes_up_for() -> None:
    assert warned(Twice()) == []


class Listed(nn.Cell):
    """Layers in containers of Python's beside one that is registered."""

    def __init__(self, wrap: Any, frozen: bool = False) -> None:
        super().__init__()
        layer = nn.Dense(3, 3)
        layer.update_parameters_name("loose.")
        for p in layer.get_parameters():
            p.requires_grad = not frozen
        self.layers = wrap(layer)
        self.head = nn.Dense(3, 1)

    def construct(self, x: Any, y: Any) -> Any:
        layers: Any = self.layers
        while not isinstance(layers, nn.Dense):
            layers = next(iter(layers.values() if isinstance(layers, dict) else layers))
        return ops.reduce_mean(ops.square(self.head(layers(x)) - y))


@pytest.mark.parametrize("wrap", [lambda c: [c], lambda c: (c,), lambda c: {"a": c}, lambda c: [[c]]])
def test_layers_in_a_plain_list(wrap: Any) -> None:
    (text,) = warned(trained(Listed(wrap)))
    kind = type(wrap(None)).__name__
    assert text.startswith(
        f"[GC142] self.network.layers holds layers in a plain {kind}: their parameters are not trained"
    )
    assert "loose.weight f32[3,3], loose.bias f32[3]" in text
    assert "help: hold them in nn.CellList or nn.SequentialCell" in text


def test_layers_that_are_trained_or_are_not_to_be() -> None:
    assert warned(trained(Listed(lambda c: [c], frozen=True))) == []
    assert warned(trained(Listed(lambda c: nn.CellList([c])))) == []
    net = Listed(lambda c: [c])
    assert warned(trained(net, [*net.trainable_params(), *net.layers[0].trainable_params()])) == []
    assert warned(net) == []


def test_gradients_that_nothing_is_trained_by() -> None:
    class Ask(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.net, self.p = Net(), Parameter(Tensor([1.0]), name="p")
            self.grad = ops.GradOperation(get_by_list=True)

        def construct(self, x: Any, y: Any) -> Any:
            return self.grad(self.net, (self.p,))(x, y)

    assert warned(Ask()) == []


def test_a_parameter_without_requires_grad_is_trained_if_it_is_given() -> None:
    """As in MindSpore's graph mode: requires_grad says what trainable_params() gives. Its PyNative mode trains it not."""
    net = Net()
    net.body.weight.requires_grad = False
    step = trained(net, [*net.body.get_parameters()])
    (text,) = warned(step)
    assert text.startswith("[GC142] parameters with requires_grad=False are trained, because the optimizer holds them")
    assert "body.weight f32[4,3]\n" in text
    before = net.body.weight.asnumpy()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        step(Tensor(X), Tensor(Y))
    assert not np.array_equal(before, net.body.weight.asnumpy())


def test_state_in_the_hands_of_an_optimizer_is_nothing_unusual() -> None:
    net = nn.SequentialCell(nn.Dense(3, 4), nn.BatchNorm1d(4), nn.Dense(4, 1))
    assert warned(trained(nn.WithLossCell(net, nn.MSELoss()), list(net.get_parameters()))) == []


class Rename(nn.Optimizer):
    """Gives names to new weights, and writes them only where it is told to."""

    def __init__(self, params: Any, writes: bool) -> None:
        super().__init__(0.1, params)
        self.writes = writes
        self.moments = self.parameters.clone(prefix="moments", init="zeros")

    def construct(self, grads: Any) -> Any:
        for p, g, m in zip(self.parameters, grads, self.moments, strict=True):
            ops.assign(m, g)
            if self.writes:
                ops.assign(p, p - 0.1 * g)
            else:
                p = p - 0.1 * g
        return True


def test_an_optimizer_that_writes_no_parameter() -> None:
    net = Net()
    assert warned(nn.TrainOneStepCell(net, Rename(net.body.trainable_params(), True))) == []
    (text,) = warned(nn.TrainOneStepCell(net, Rename(net.body.trainable_params(), False)))
    assert text.startswith("[GC155] Rename: construct writes none of the parameters that it is to train")
    assert "body.weight f32[4,3], body.bias f32[4]" in text


def test_gradients_asked_for_by_themselves() -> None:
    """Somebody else is to train by them, so that nothing is written where they are computed."""
    net = Net()
    kept = graphc.value_and_grad(lambda x, y: net(x, y), None, net.trainable_params())
    lost = graphc.value_and_grad(lambda x, y: float(net(x, y)), None, net.trainable_params())
    kept(Tensor(X), Tensor(Y))
    with pytest.warns(UntrainedWarning, match="gradients of zero: nothing differentiable leads to them from the loss"):
        lost(Tensor(X), Tensor(Y))
