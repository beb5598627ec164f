"""`return` within branches on tensors, results that differ in an axis of length 1, and writes through `depend`."""

from __future__ import annotations

from contextlib import contextmanager

import numpy as np
import pytest

import graphc
from graphc import Parameter, Tensor, nn, ops
from graphc.debug import debug


def results(net, *calls):
    """What a cell gives natively, in checked mode, and op by op: all the same."""
    ways = []
    for mode, jit in ((graphc.GRAPH_MODE, True), (graphc.GRAPH_MODE, False), (graphc.PYNATIVE_MODE, True)):
        graphc.set_context(mode=mode)
        try:
            with debug(jit=jit):
                ways.append([np.asarray(net(*args)).tolist() for args in calls])
        finally:
            graphc.set_context(mode=graphc.GRAPH_MODE)
    assert ways[0] == ways[1] == ways[2]
    return ways[0]


def test_a_name_that_is_set_on_the_ways_that_go_on():
    class Net(nn.Cell):
        def construct(self, x):
            if x > 4:
                return x * 100
            elif x > 2:
                y = x * 10
            else:
                if x < 0:
                    return x - x
                y, extra = x + 0.5, [x, x]
                y = y + extra[0] * 0
            return y + 1

    calls = [(Tensor(v),) for v in (5.0, 3.0, 1.0, -1.0)]
    assert results(Net(), *calls) == [500.0, 31.0, 2.5, 0.0]


def test_a_name_that_is_missing_where_it_is_used_is_still_refused():
    class Net(nn.Cell):
        def construct(self, x):
            if x > 4:
                pass
            else:
                y = x
            return y

    with pytest.raises(graphc.TraceError, match="'y' is not set in the `if` branch") as caught:
        Net()(Tensor(1.0))
    assert "return y" in str(caught.value)  # The line of the use.


def test_a_name_that_some_ways_leave_without_a_value_need_not_be_used():
    @contextmanager
    def lines():
        yield [1.0, 2.0]

    class Net(nn.Cell):
        used = False

        def construct(self, x):
            if x > 4:
                y = x
                with lines() as line:
                    x = x + line[0]
            while x > 9:
                z = x
                x = z / 2
            with lines() as line:
                x = x + line[1]
            if self.used:
                x = x + y + z
            for z in (1.0, 2.0):
                x = x * z
            return x

    assert results(Net(), (Tensor(1.0),), (Tensor(5.0),), (Tensor(20.0),)) == [6.0, 16.0, 14.5]
    Net.used = True
    with pytest.raises(UnboundLocalError, match="'y' is not set in the `else` branch"):
        Net()(Tensor(1.0))


def test_gradients_of_early_returns():
    class Net(nn.Cell):
        def construct(self, x):
            if x > 1:
                return x * 3
            y = x * x
            return y

    for value, slope in ((2.0, 3.0), (0.5, 1.0)):
        assert float(ops.grad(Net())(Tensor(value))) == slope


def test_one_element_with_and_without_an_axis():
    class Net(nn.Cell):
        def construct(self, x, flag):
            if flag:
                y = x * 2
            else:
                y = x.sum()
            return y

    calls = [(Tensor([3.0]), Tensor(v)) for v in (True, False)]
    net = Net()
    assert [np.reshape(net(*c), ()).item() for c in calls] == [6.0, 3.0]
    assert net(*calls[1]).shape == (1,)
    with pytest.raises(graphc.ShapeError, match="different shapes"):
        net(Tensor([1.0, 2.0]), Tensor(True))


def test_what_depend_makes_of_a_parameter_can_be_assigned():
    class Net(nn.Cell):
        def __init__(self):
            super().__init__()
            self.total = Parameter(Tensor([1.0, 2.0]), name="total")

        def construct(self, x):
            taken = ops.depend(self.total, x) * x
            written = ops.assign(ops.depend(self.total, taken), ops.zeros_like(self.total))
            return ops.depend(taken, written)

    net = Net()
    np.testing.assert_array_equal(net(Tensor([5.0, 6.0])), [5, 12])
    np.testing.assert_array_equal(net.total, [0, 0])
    graph = graphc.compile(net, Tensor([5.0, 6.0])).graph
    (assign,) = (n for n in graph if n.op.name == "Assign")
    (product,) = (n for n in graph if n.op.name == "Mul")
    assert product.id < assign.id


def test_the_value_of_a_parameter_is_a_snapshot():
    class Net(nn.Cell):
        def __init__(self):
            super().__init__()
            self.n = Parameter(Tensor(1.0), name="n")

        def construct(self):
            before = self.n.value()
            ops.assign(self.n, self.n + 1)
            return before, self.n.value(), (self.n * 1).value()

    net = Net()
    assert [float(x) for x in net()] == [1, 2, 2]
    assert [float(x) for x in net()] == [2, 3, 3]


def test_a_weight_of_one_element_for_a_loss_without_axes():
    gradient = ops.GradOperation(sens_param=True)

    class Net(nn.Cell):
        def construct(self, x, s):
            return gradient(lambda v: (v * v).sum())(x, s)

    for s in (Tensor(2.0), Tensor([2.0])):
        np.testing.assert_array_equal(Net()(Tensor([3.0, 4.0]), s), [12, 16])
    with pytest.raises(graphc.ShapeError, match="the sens of a gradient"):
        Net()(Tensor([3.0, 4.0]), Tensor([2.0, 2.0]))


def test_a_name_that_has_no_value_yet_is_pythons_error():
    """At the user's line: nothing in graphc has failed."""

    class Early(nn.Cell):
        def construct(self, x):
            if x.sum() > 0:
                y = x * y  # noqa: F821
                x = x + y
            return x

    with pytest.raises(UnboundLocalError, match=r"^'y' is used before assignment$") as caught:
        Early()(Tensor(1.0))
    assert not isinstance(caught.value, graphc.GraphcError)
    assert caught.traceback[-1].path.name == "test_early_returns.py"
