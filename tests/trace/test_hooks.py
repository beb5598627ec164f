"""Hooks of cells, tensors and parameters."""

from __future__ import annotations

from contextlib import contextmanager

import numpy as np
import pytest

import graphc
from graphc import GRAPH_MODE, PYNATIVE_MODE, Parameter, Tensor, nn, ops

X = Tensor(np.array([1.0, -2.0, 3.0], np.float32))


@contextmanager
def mode(chosen):
    graphc.set_context(mode=chosen)
    try:
        yield
    finally:
        graphc.set_context(mode=GRAPH_MODE)


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.w = Parameter(Tensor([2.0, 3.0, 4.0]), name="w")
        self.relu = nn.ReLU()

    def construct(self, x):
        return self.relu(x * self.w) * 10


@pytest.mark.parametrize("chosen", [GRAPH_MODE, PYNATIVE_MODE])
def test_forward_hooks(chosen):
    net = Net()
    with mode(chosen):
        before = net.relu.register_forward_pre_hook(lambda cell, inputs: inputs[0] + 1)
        after = net.relu.register_forward_hook(lambda cell, inputs, output: output * 2)
        silent = net.relu.register_forward_hook(lambda cell, inputs, output: None)
        assert net(X).asnumpy().tolist() == [60, 0, 260]
        before.remove()
        silent.remove()
        silent.remove()
        assert net(X).asnumpy().tolist() == [40, 0, 240]
        after.remove()
        assert net(X).asnumpy().tolist() == [20, 0, 120]
    with pytest.raises(TypeError, match="the hook must be a function"):
        net.register_forward_hook(3)


def test_backward_hooks_see_values_in_pynative_mode():
    net, seen = Net(), []

    def look(cell, grad_input, grad_output):
        seen.append((type(cell).__name__, grad_input[0].asnumpy().tolist(), grad_output[0].asnumpy().tolist()))
        return (grad_input[0] * 3,)

    with mode(PYNATIVE_MODE):
        handle = net.relu.register_backward_hook(look)
        assert ops.grad(net)(X).asnumpy().tolist() == [60, 0, 120]
        assert seen == [("ReLU", [10, 0, 10], [10, 10, 10])]
        pre = net.relu.register_backward_pre_hook(lambda cell, given: given[0] * 0.5)
        assert ops.grad(net)(X).asnumpy().tolist() == [30, 0, 60]
        handle.remove()
        pre.remove()
        assert ops.grad(net)(X).asnumpy().tolist() == [20, 0, 40]


def test_backward_hooks_in_a_compiled_step():
    net = Net()
    net.relu.register_backward_pre_hook(lambda cell, given: given[0] * 0.5)
    assert ops.grad(net)(X).asnumpy().tolist() == [10, 0, 20]
    net.relu.register_backward_hook(lambda cell, grad_input, grad_output: None)
    with pytest.raises(graphc.GradientError, match="has a backward hook, which a compiled step cannot call"):
        ops.grad(net)(X)


@pytest.mark.parametrize("chosen", [GRAPH_MODE, PYNATIVE_MODE])
def test_hooks_of_tensors_and_parameters(chosen):
    net = Net()
    handle = net.w.register_hook(lambda gradient: gradient + 1)

    def function(x):
        y = x * 2
        y.register_hook(lambda gradient: gradient * 5)
        return net(y)

    with mode(chosen):
        by_input, (by_weight,) = ops.grad(function, 0, [net.w])(X)
        assert by_input.asnumpy().tolist() == [200, 0, 400]
        assert by_weight.asnumpy().tolist() == [21, 1, 61]
        handle.remove()
        assert ops.grad(net, None, [net.w])(X)[0].asnumpy().tolist() == [10, 0, 30]


def test_a_hook_keeps_the_shape():
    with mode(PYNATIVE_MODE), pytest.raises(graphc.GradientError, match="a hook returns"):
        ops.grad(lambda x: ops.HookBackward(lambda given: given[0].sum())(x * 2))(X)
