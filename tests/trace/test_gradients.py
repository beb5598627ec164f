"""Gradients while tracing: one forward per step, and what the flags give."""

from __future__ import annotations

import numpy as np
import pytest

import graphc
from graphc import Parameter, Tensor, nn, ops
from graphc.ops.tensor.tree import flatten
from tests.trace.tracing import X, cell, count, traced, weight

# ---- gradients: one forward per step


def training(network, call):
    """A cell that differentiates `network` after whatever `call` does."""

    class Step(nn.Cell):
        def __init__(self):
            super().__init__(auto_prefix=False)
            self.network = network
            self.weights = tuple(network.trainable_params())
            self.grad = ops.GradOperation(get_by_list=True)

        def construct(self, x):
            return call(self, x)

    return Step()


def test_the_forward_of_a_gradient_is_the_call_made_before():
    def once(self, x):
        return self.network(x), self.grad(self.network, self.weights)(x)

    def only_gradient(self, x):
        return self.grad(self.network, self.weights)(x)

    for call in (once, only_gradient):
        assert count(traced(training(nn.Dense(3, 4), call), X), "MatMul") == 1


def test_two_plain_calls_are_two():
    def twice(self, x):
        return self.network(x) + self.network(x)

    assert count(traced(training(nn.Dense(3, 4), twice), X), "MatMul") == 2


def test_other_arguments_are_another_forward():
    def other(self, x):
        return self.network(x), self.grad(self.network, self.weights)(x + 1)

    assert count(traced(training(nn.Dense(3, 4), other), X), "MatMul") == 2


def test_a_weight_written_between_makes_another_forward():
    def written(self, x):
        y = self.network(x)
        ops.assign_sub(self.weights[0], ops.ones_like(self.weights[0]))
        return y, self.grad(self.network, self.weights)(x)

    assert count(traced(training(nn.Dense(3, 4), written), X), "MatMul") == 2


def test_another_mode_makes_another_forward():
    network = nn.Dense(3, 4)

    def modes(self, x):
        y = self.network(x)
        for _, c in network.cells_and_names():
            object.__setattr__(c, "training", True)
        return y, self.grad(self.network, self.weights)(x)

    assert count(traced(training(network, modes), X), "MatMul") == 2


def test_statistics_move_once():
    class Counter(nn.Cell):
        def __init__(self):
            super().__init__()
            self.seen = Parameter(Tensor(0.0), name="seen", requires_grad=False)
            self.fc = nn.Dense(3, 2)

        def construct(self, x):
            ops.assign_add(self.seen, 1.0)
            return self.fc(x) * self.seen

    def once(self, x):
        return self.network(x), self.grad(self.network, self.weights)(x)

    network = Counter()
    step = graphc.compile(training(network, once), X)
    step(X)
    step(X)
    assert network.seen.asnumpy() == 2
    assert count(step.graph, "MatMul") == 2  # The forward and its gradient.


def assigned(self, x, y):
    ops.assign(self.s, x * 2)
    return (self.s * y).sum()


def returned(self, x, y):
    return (ops.assign(self.s, self.w * x) * y).sum()


def added(self, x, y):
    self.s += x
    return (self.s * y).sum()


def one_element(self, x, y):
    self.s[0] = x[1]
    return (self.s * y).sum()


def read_before_and_after(self, x, y):
    before = (self.s * y).sum()
    ops.assign(self.s, x * 2)
    return before + (self.s * x).sum()


def on_one_way(self, x, y):
    if x.sum() > 0:
        ops.assign(self.s, x * 2)
    return (self.s * y).sum()


@pytest.mark.parametrize("mode", [graphc.GRAPH_MODE, graphc.PYNATIVE_MODE])
@pytest.mark.parametrize(
    ("body", "of_x", "of_s"),
    [
        (assigned, [0, 0, 0], [0.5, -1, 3]),
        (returned, [0, 0, 0], [0.5, -1, 3]),
        (added, [0, 0, 0], [0.5, -1, 3]),
        (one_element, [0, 0, 0], [0.5, -1, 3]),
        (read_before_and_after, [2, 4, -1], [1.5, 1, 2.5]),
        (on_one_way, [0, 0, 0], [0.5, -1, 3]),
    ],
)
def test_what_is_assigned_gets_no_gradient(body, of_x, of_s, mode, mode_again):
    """As in MindSpore, whose numbers these are: every read is one of the parameter, whatever it holds."""

    class Net(nn.Cell):
        def __init__(self):
            super().__init__()
            self.w = Parameter(Tensor([0.3, -0.2, 0.1]), name="w")
            self.s = Parameter(Tensor([1.0, 1.0, 1.0]), name="s")

        def construct(self, x, y):
            return body(self, x, y)

    net = Net()
    graphc.set_context(mode=mode)
    x, y = Tensor([1.0, 2.0, -0.5]), Tensor([0.5, -1.0, 3.0])
    dx, (dw, ds) = graphc.grad(net, 0, (net.w, net.s))(x, y)
    np.testing.assert_array_equal(dx.asnumpy(), of_x)
    np.testing.assert_array_equal(dw.asnumpy(), 0)
    np.testing.assert_array_equal(ds.asnumpy(), of_s)


def test_the_loss_scaled_step_has_one_forward():
    network = nn.WithLossCell(nn.Conv2d(1, 2, 3), cell(lambda self, y, label: (y * label).mean()))
    image = np.ones((1, 1, 8, 8), np.float32)
    optimizer = nn.SGD(network.trainable_params(), 0.1)
    step = nn.TrainOneStepWithLossScaleCell(network, optimizer, nn.DynamicLossScaleUpdateCell(2.0, 2, 10))
    graph = traced(step, image, np.ones((1, 2, 8, 8), np.float32))
    assert count(graph, "Conv2D") == 1


# ---- GradOperation


def quadratic(x, y):
    return x * x * y


FLAGS = [
    ({}, lambda gx, gy: gx),
    ({"get_all": True}, lambda gx, gy: (gx, gy)),
    ({"sens_param": True}, lambda gx, gy: 3 * gx),
    ({"get_all": True, "sens_param": True}, lambda gx, gy: (3 * gx, 3 * gy)),
]


@pytest.mark.parametrize(("flags", "wanted"), FLAGS)
def test_gradient_flags_for_inputs(flags, wanted):
    sens = (np.full((2, 3), 3, np.float32),) if flags.get("sens_param") else ()

    def construct(self, *args):
        return ops.GradOperation(**flags)(quadratic)(*args)

    args = (X, X + 1, *sens)
    made = graphc.compile(cell(construct), *args)(*args)
    want = wanted(2 * X * (X + 1), X * X)
    assert isinstance(made, tuple) == isinstance(want, tuple)
    for got, expected in zip(flatten(made)[0], want if isinstance(want, tuple) else (want,), strict=True):
        np.testing.assert_array_equal(got.asnumpy(), expected)


@pytest.mark.parametrize("as_tuple", [True, False])
@pytest.mark.parametrize("get_all", [True, False])
def test_gradient_flags_for_weights(as_tuple, get_all):
    net = cell(lambda self, x: x * self.w * 2, w=weight(3))

    def construct(self, x):
        weights = (self.net.w,) if as_tuple else self.net.w
        return ops.GradOperation(get_by_list=True, get_all=get_all)(self.net, weights)(x)

    made = graphc.compile(cell(construct, net=net), X)(X)
    by_list = made[1] if get_all else made
    if get_all:
        np.testing.assert_array_equal(made[0][0].asnumpy(), np.full((2, 3), 2))
    assert isinstance(by_list, tuple) == as_tuple
    np.testing.assert_array_equal((by_list[0] if as_tuple else by_list).asnumpy(), 2 * X.sum(0))


def test_gradients_of_integers_bools_and_unused_weights():
    def network(self, x, i, b):
        return ops.select(b, x * ops.cast(i, graphc.float32) * self.w, x)

    net = cell(network, w=weight(3), other=weight(2, name="other"))

    def construct(self, x, i, b):
        return ops.GradOperation(get_all=True, get_by_list=True)(self.net, (self.net.w, self.net.other))(x, i, b)

    args = X, np.full((2, 3), 2, np.int32), np.ones((2, 3), bool)
    (gx, gi, gb), (gw, go) = graphc.compile(cell(construct, net=net), *args)(*args)
    np.testing.assert_array_equal(gx.asnumpy(), np.full((2, 3), 2))
    np.testing.assert_array_equal(gi.asnumpy(), X.astype(np.int32))
    assert gi.dtype == graphc.int32
    assert not gb.asnumpy().any()
    np.testing.assert_array_equal(gw.asnumpy(), 2 * X.sum(0))
    assert go.asnumpy().tolist() == [0, 0]


def test_the_gradient_of_a_gradient():
    def construct(self, x):
        first = ops.GradOperation()(lambda v: v * v * v)
        return ops.GradOperation()(first)(x)

    np.testing.assert_array_equal(graphc.compile(cell(construct), X)(X).asnumpy(), 6 * X)


def test_a_gradient_through_cond():
    def construct(self, x):
        def loss(v):
            return ops.cond(v.sum() > 0, lambda: v * v, lambda: v * 5)

        return ops.GradOperation()(loss)(x)

    step = graphc.compile(cell(construct), X)
    np.testing.assert_array_equal(step(X).asnumpy(), 2 * X)
    np.testing.assert_array_equal(step(-X).asnumpy(), np.full((2, 3), 5))


def test_gradient_names():
    net = nn.Dense(3, 2)
    step = graphc.compile(training(net, lambda self, x: self.grad(self.network, self.weights)(x)), X)
    named = {n.name for n in step.graph if n.name.startswith("grad.")}
    assert named == {"grad.weight", "grad.bias"}
    assert all(n.region == "backward" for n in step.graph if n.name.startswith("grad."))


def test_each_place_of_a_tensor_has_its_own_gradient():
    """The same tensor given twice, or given and held by the function, in one graph."""

    class Net(nn.Cell):
        def construct(self, x):
            both = graphc.grad(lambda a, b: a * b * b, (0, 1))
            held = graphc.grad(lambda a: a * x)
            nested = graphc.grad(lambda a: graphc.grad(lambda b: a * b * b)(a))
            return both(x, x), both(Tensor(2.0), Tensor(2.0)), held(x), nested(x)

    x = np.array([2.0, 3.0], np.float32)
    for mode in (graphc.GRAPH_MODE, graphc.PYNATIVE_MODE):
        before = graphc.get_context("mode")
        graphc.set_context(mode=mode)
        try:
            (a, b), numbers, held, nested = Net()(Tensor(x))
        finally:
            graphc.set_context(mode=before)
        np.testing.assert_allclose(a.asnumpy(), x * x)
        np.testing.assert_allclose(b.asnumpy(), 2 * x * x)
        assert [float(n) for n in numbers] == [4.0, 8.0]
        np.testing.assert_allclose(held.asnumpy(), x)
        # d/da of 2 a b at b = a, where b moves with a, too.
        np.testing.assert_allclose(nested.asnumpy(), 4 * x)


def test_nests_of_what_a_graph_computes_have_gradients():
    """Those that are arguments of the whole graph, or hold constants alone, have none, as in MindSpore."""

    def loss(pair, x):
        return (pair[0] * x).sum() + (pair[1] * x * x).sum()

    def of_dict(pair, x):
        return loss((pair["a"], pair["b"]), x)

    def construct(self, x, given):
        a, b = x * 1.0, x * 2.0
        first = graphc.grad(loss, 0)
        both = graphc.grad(loss, (0, 1))((a, b), x)
        return (
            first((a, b), x),
            first([a, a], x),
            graphc.grad(of_dict, 0)({"a": a, "b": b}, x),
            first((a, 2.0), x),
            first((self.w, b), x),
            both,
            ops.GradOperation(get_all=True)(loss)((a, b), x),
            graphc.value_and_grad(loss, 0)((a, b), x)[1],
            (first(given, x), first((self.known, self.known), x)),
        )

    x = np.array([1.0, 2.0, 3.0], np.float32)
    net = cell(construct, w=weight(3), known=Tensor(x))
    made = graphc.compile(net, x, (x, x))(x, (x, x))
    pair, whole = (x, x * x), x + 4 * x * x
    for place in (0, 7):
        np.testing.assert_allclose(np.stack([g.asnumpy() for g in made[place]]), pair)
    assert isinstance(made[1], list)
    np.testing.assert_allclose(np.stack([g.asnumpy() for g in made[1]]), pair)
    np.testing.assert_allclose(made[2]["b"].asnumpy(), x * x)
    np.testing.assert_allclose(made[3][0].asnumpy(), x)
    assert made[3][1] == 0.0
    np.testing.assert_allclose(made[4][1].asnumpy(), x * x)
    for place in (5, 6):
        nest, dx = made[place]
        np.testing.assert_allclose(np.stack([g.asnumpy() for g in nest]), pair)
        np.testing.assert_allclose(dx.asnumpy(), whole)
    assert made[8] == ((), ())


def test_steps_inside_of_a_step_are_differentiated():
    """A loss after a gradient step on a nest of weights: meta-learning."""

    def loss(w, x):
        return ((ops.tanh(x * w[0]) * w[1]) ** 2).sum()

    def after(u, v, x):
        w = (u * 1.0, v * 1.0)
        for _ in range(2):
            w = tuple(a - 0.1 * g for a, g in zip(w, graphc.grad(loss, 0)(w, x), strict=True))
        return loss(w, x)

    x, u, v = (np.float32(k) for k in ([0.3, 0.7], [1.0, 2.0], [0.5, -1.0]))
    found = graphc.jit(lambda u, v, x: graphc.grad(after, (0, 1))(u, v, x))(Tensor(u), Tensor(v), Tensor(x))

    def exact(u, v):
        for _ in range(2):
            t = np.tanh(x * u)
            u, v = u - 0.1 * 2 * t * v * v * (1 - t * t) * x, v - 0.1 * 2 * t * t * v
        return ((np.tanh(x * u) * v) ** 2).sum()

    u, v, x = (k.astype(np.float64) for k in (u, v, x))
    for k in range(2):
        e = np.eye(2)[k] * 1e-5
        assert float(found[0][k]) == pytest.approx((exact(u + e, v) - exact(u - e, v)) / 2e-5, rel=1e-4)
        assert float(found[1][k]) == pytest.approx((exact(u, v + e) - exact(u, v - e)) / 2e-5, rel=1e-4)
