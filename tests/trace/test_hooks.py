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


class Two(nn.Cell):
    def construct(self, x, y):
        return x * y, x + y


class Hooked(nn.Cell):
    def __init__(self):
        super().__init__()
        self.w = Parameter(Tensor([2.0, 3.0, 4.0]), name="w")
        self.two = Two()

    def construct(self, x):
        a, b = self.two(x * self.w, x * 3)
        return a * 2 + b * 5


def of_both(cell, grad_input, grad_output):
    return grad_input[0] * 10, grad_input[1] + grad_output[0] + grad_output[1]


@pytest.mark.parametrize("chosen", [GRAPH_MODE, PYNATIVE_MODE])
def test_backward_hooks(chosen):
    """The numbers are MindSpore's, of its graph mode."""
    net = Hooked()
    with mode(chosen):
        net.two.register_backward_hook(lambda cell, grad_input, grad_output: None)
        handle = net.two.register_backward_hook(of_both)
        by_input, (by_weight,) = ops.grad(net, 0, [net.w])(X)
        assert by_input.asnumpy().tolist() == [268, -210, 1028]
        assert by_weight.asnumpy().tolist() == [110, 140, 690]
        net.two.register_backward_hook(of_both)
        assert ops.grad(net)(X).asnumpy().tolist() == [2269, -2079, 9329]
        handle.remove()
        net.two.register_backward_pre_hook(lambda cell, given: (given[0] * 2, given[1] * 3))
        # The hook behind sees what the one before has made of the gradients of the results.
        assert ops.grad(net)(X).asnumpy().tolist() == [666, -240, 2286]


@pytest.mark.parametrize("chosen", [GRAPH_MODE, PYNATIVE_MODE])
def test_gradients_that_users_write_print_values_behind_what_else_is_printed(chosen, capsys):
    class Cube(nn.Cell):
        def construct(self, x):
            return x * x * x

        def bprop(self, x, out, dout):
            print("bprop", out, dout)
            print("at", x)
            return (dout * 7,)

    class Outer(nn.Cell):
        def __init__(self):
            super().__init__()
            self.cube = Cube()

        def construct(self, x):
            print("forward")
            i = Tensor(0)
            while i < 2:
                x, i = self.cube(ops.InsertGradientOf(look)(x)), i + 1
            print("end")
            return x

    def look(gradient):
        print("inserted", gradient)
        return gradient + 1

    net = Outer()
    net.cube.register_backward_hook(lambda cell, given, come: print("hook", given[0], come[0]))
    with mode(chosen):
        assert float(ops.grad(net)(Tensor(2.0))) == 57
        said = capsys.readouterr().out.replace("\n", " ").replace("(", "").replace(")", "").split()
        turns = [
            "bprop", 512, 1, "at", 8, "hook", 7, 1, "inserted", 7,
            "bprop", 8, 8, "at", 2, "hook", 56, 8, "inserted", 56,
        ]  # fmt: skip
        assert [w if w.isalpha() else float(w) for w in said] == ["forward", "end", *turns]
        assert float(net(Tensor(2.0))) == 512
        assert capsys.readouterr().out.split() == ["forward", "end"]


def test_backward_hooks_in_compiled_loops_and_under_vmap():
    net = Hooked()
    net.two.register_backward_hook(of_both)
    rows = graphc.vmap(ops.grad(net))(ops.stack([X, X * 2])).asnumpy()
    assert rows.tolist() == [ops.grad(net)(x).asnumpy().tolist() for x in (X, X * 2)]

    class Loop(nn.Cell):
        def construct(self, x):
            i = Tensor(0)
            while i < 2:
                a, b = net.two(x, net.w)
                x, i = a + b, i + 1
            return x

    by_input, (by_weight,) = ops.grad(Loop(), 0, [net.w])(X)
    assert by_input.asnumpy().tolist() == [900, 1600, 2500]  # Each turn has ten times w + 1.
    assert by_weight.asnumpy().tolist() == [128, 38, 322]


def test_a_backward_hook_branches_on_a_tensor_and_uses_nothing_that_the_cell_computes():
    net, kept = nn.ReLU(), []
    net.register_backward_hook(lambda cell, given, come: (given[0] if come[0].sum() > 0 else come[0] * 100,))
    assert ops.grad(net)(X).asnumpy().tolist() == [1, 0, 1]
    assert ops.grad(lambda x: -net(x))(X).asnumpy().tolist() == [-100, -100, -100]
    other = nn.ReLU()
    other.register_forward_hook(lambda cell, inputs, output: kept.insert(0, output))
    other.register_backward_hook(lambda cell, given, come: (given[0] * kept[0],))
    with pytest.raises(graphc.GradientError, match="the backward hook of ReLU uses what the cell computes"):
        ops.grad(other)(X)


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


@pytest.mark.parametrize("chosen", [GRAPH_MODE, PYNATIVE_MODE])
def test_hooks_before_others_and_with_keyword_arguments(chosen):
    class Add(nn.Cell):
        def construct(self, x, y=0.0):
            return x + y

    cell, said = Add(), []
    cell.register_forward_pre_hook(lambda cell, args: said.append("later"))
    cell.register_forward_pre_hook(lambda cell, args: said.append("sooner"), prepend=True)
    more = cell.register_forward_pre_hook(lambda cell, args, kwargs: (args, {"y": kwargs["y"] + 1}), with_kwargs=True)
    cell.register_forward_hook(lambda cell, args, kwargs, out: out * kwargs["y"], with_kwargs=True)
    with mode(chosen):
        assert cell(X, y=1.0).asnumpy().tolist() == [6, 0, 10]
        assert said[:2] == ["sooner", "later"]
        more.remove()
        assert cell(X, y=1.0).asnumpy().tolist() == [2, -1, 4]
        cell.register_forward_pre_hook(lambda cell, args, kwargs: args, with_kwargs=True)
        with pytest.raises(TypeError, match=r"must return None or \(args, kwargs\)"):
            cell(X, y=1.0)
    with pytest.raises(TypeError, match="prepend must be a bool"):
        cell.register_forward_hook(print, prepend=1)


@pytest.mark.parametrize("chosen", [GRAPH_MODE, PYNATIVE_MODE])
def test_hooks_that_are_called_always(chosen):
    class Failing(nn.Cell):
        def construct(self, x):
            raise ValueError("no result")

    cell, said = Failing(), []
    cell.register_forward_hook(lambda cell, args, out: said.append("never"))
    cell.register_forward_hook(lambda cell, args, out: said.append(out), always_call=True)
    with mode(chosen), pytest.raises(ValueError, match="no result"):
        cell(X)
    assert said == [None]
    cell.register_forward_hook(lambda cell, args, out: 1 / 0, always_call=True)
    with (
        mode(chosen),
        pytest.warns(UserWarning, match="division by zero"),
        pytest.raises(ValueError, match="no result"),
    ):
        cell(X)


def test_a_hook_may_branch_on_a_tensor():
    def flip(cell, inputs, output):
        if output.sum() > 0:
            return output * 2
        return output

    net = nn.ReLU()
    net.register_forward_hook(flip)
    assert net(X).asnumpy().tolist() == [2, 0, 6]
    assert net(-X * 0).asnumpy().tolist() == [0, 0, 0]


def test_the_same_hook_twice():
    net = nn.ReLU()

    def double(cell, inputs, output):
        return output * 2

    first, second = net.register_forward_hook(double), net.register_forward_hook(double)
    assert net(X).asnumpy().tolist() == [4, 0, 12]
    first.remove()
    first.remove()
    assert net(X).asnumpy().tolist() == [2, 0, 6]
    second.remove()
    assert net(X).asnumpy().tolist() == [1, 0, 3]


class Outer(nn.Cell):
    def __init__(self):
        super().__init__()
        self.net = Net()
        self.v = Parameter(Tensor([1.0, 1.0, 1.0]), name="v")

    def construct(self, x):
        return self.net(x) + self.v


@pytest.mark.parametrize("chosen", [GRAPH_MODE, PYNATIVE_MODE])
def test_hooks_of_parameters(chosen):
    outer = Outer()
    outer.register_parameter_forward_hook([{"params": [outer.net.w], "hook": lambda w: w * 10}])
    with mode(chosen):
        assert outer(X).asnumpy().tolist() == [201, 1, 1201]
        (dw,) = graphc.grad(outer, None, [outer.net.w])(X)
        assert dw.asnumpy().tolist() == [100, 0, 300]
        outer.register_parameter_forward_hook(lambda p: p + 1)
        assert outer(X).asnumpy().tolist() == [212, 2, 1232]
    assert outer.net.w.asnumpy().tolist() == [2, 3, 4]
    with pytest.raises(ValueError, match='keys "params" and "hook"'):
        outer.register_parameter_forward_hook([{"params": []}])
    with pytest.raises(TypeError, match='"params" has a int'):
        outer.register_parameter_forward_hook([{"params": [3], "hook": print}])
    with pytest.raises(ValueError, match="'v' is not a parameter of this cell"):
        outer.net.register_parameter_forward_hook([{"params": [outer.v], "hook": print}])
    with pytest.raises(TypeError, match="a function or a list of dicts"):
        outer.register_parameter_forward_hook(3)


def test_whether_there_are_backward_hooks():
    net = nn.ReLU()
    assert not net.enable_backward_hook
    handle = net.register_backward_pre_hook(lambda cell, gradient: None)
    assert net.enable_backward_hook
    handle.remove()
    assert not net.enable_backward_hook
