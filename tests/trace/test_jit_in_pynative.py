"""What `jit` marks is compiled in PYNATIVE_MODE, too: alone, and as one node of what is differentiated there op by op."""

from __future__ import annotations

from collections import Counter
from functools import partial

import numpy as np
import pytest

import graphc
from graphc import Parameter, Tensor, nn, ops
from graphc.compat.gradients import _no_grad
from graphc.debug import debug

RNG = np.random.default_rng(0)
X = RNG.standard_normal((3, 4)).astype(np.float32)

#: How often Python has run a function of this name.
RUNS: Counter[str] = Counter()


@pytest.fixture(autouse=True)
def _pynative(mode_again):
    graphc.set_context(mode=graphc.PYNATIVE_MODE)
    RUNS.clear()


def same(got, wanted, tolerance=1e-5):
    """Equal nests of tensors, within roundings."""
    if isinstance(wanted, (tuple, list)):
        assert type(got) is type(wanted)
        assert len(got) == len(wanted)
        for a, b in zip(got, wanted, strict=True):
            same(a, b, tolerance)
    elif isinstance(wanted, Tensor):
        assert got.shape == wanted.shape
        assert got.dtype == wanted.dtype
        np.testing.assert_allclose(got.asnumpy(), wanted.asnumpy(), rtol=tolerance, atol=tolerance)
    else:
        assert got == wanted


class Net(nn.Cell):
    """Normalizes with running statistics and draws."""

    def __init__(self):
        super().__init__()
        self.dense = nn.Dense(4, 6)
        self.norm = nn.BatchNorm1d(6)
        self.drop = nn.Dropout(p=0.4)

    def construct(self, x):
        RUNS["Net"] += 1
        return self.drop(ops.relu(self.norm(self.dense(x))))


class Marked(Net):
    @graphc.jit
    def construct(self, x):
        return Net.construct(self, x)


def trained(make, wrap=lambda f: f, steps=3):
    """Losses, parameters at the end and the output in evaluation; the training step is Python's unless it is wrapped."""
    graphc.set_seed(3)
    net = make().set_train()
    for p in net.get_parameters():
        if p.name.startswith("dense"):
            p.set_data(np.linspace(-1, 1, p.size).reshape(p.shape).astype(np.float32))
    optimizer = nn.Momentum(net.trainable_params(), 0.1, 0.9)

    def forward(x):
        made = net(x)
        return (made**2).mean(), made

    differentiate = graphc.value_and_grad(forward, None, optimizer.parameters, has_aux=True)

    def step(x):
        (loss, _), gradients = differentiate(x)
        optimizer(gradients)
        return loss

    step = wrap(step)
    losses = [step(Tensor(X * k)) for k in range(1, steps + 1)]
    net.set_train(False)
    return losses, [p.value().copy() for p in net.get_parameters()], net(Tensor(X))


@pytest.mark.parametrize("jit", [True, False])
@pytest.mark.parametrize("make", [Marked, lambda: graphc.jit(Net())], ids=["construct", "cell"])
def test_a_compiled_network_trains_in_a_step_of_python(make, jit):
    wanted = trained(Net)
    assert RUNS["Net"] == 4
    RUNS.clear()
    with debug(jit=jit, canary=jit):
        same(trained(make), wanted)
    assert RUNS["Net"] == 2  # In training, and in evaluation.


@pytest.mark.parametrize("make", [Net, Marked])
def test_a_compiled_step_calls_python_once(make):
    wanted = trained(Net)
    RUNS.clear()
    same(trained(make, graphc.jit), wanted)
    assert RUNS["Net"] == 2


w = Parameter(Tensor([0.5, -1.0, 2.0, 0.25], graphc.float32), name="w")
counted = Parameter(Tensor(0.0, graphc.float32), name="counted")


def several(x, y):
    return x * y + w, (x > 0, [ops.sin(y) * 2]), 3


def integers(x, y):
    return (x * y).sum(), ops.argmax(x, 1)


def halves(x, y):
    return ops.tanh(x.astype(graphc.bfloat16) * 2), y.astype(graphc.float16)


def complexes(x, y):
    return ops.abs(ops.fft(x) * y).sum(), ops.fft(x * y)


def assigns(x, y):
    ops.assign(counted, counted + x.sum())
    return x * counted + y


def lists(x, y):
    return [a * b for a, b in zip(x, y, strict=True)]


def number(x, y, k=2.0, *, also=None):
    return x**k + (y if also is None else y * also)


def loops(x, y):
    total = x * 0
    while total.sum() < 10:
        total = total + x * x + y * y
    return total


def inner_gradient(x, y):
    return graphc.grad(lambda a: (ops.sin(a) * y).sum())(x)


def nothing_to_compute(x, y):
    return x, y


def counted_places(x, y):
    return x[x > 0] * 2, y


FUNCTIONS = [
    several, integers, halves, complexes, assigns, lists, number, loops, inner_gradient, nothing_to_compute, counted_places,
]  # fmt: skip


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_values_and_gradients_are_those_of_the_function(function):
    """Of the first result that can be differentiated, inputs and parameter; alone, and between other ops."""
    jitted = graphc.jit(function)
    inputs = Tensor(X), Tensor(X[::-1].copy() + 0.5)

    def loss_of(fn):
        def loss(x, y):
            made = [
                t for t in nest(fn(ops.sin(x), y + 1)) if t.dtype in (graphc.float32, graphc.bfloat16, graphc.float16)
            ]
            return sum((ops.cos(t.astype(graphc.float32) + w.sum()).sum() for t in made), Tensor(0.0))

        return loss

    def outcome(fn):
        counted.set_data(Tensor(0.0, graphc.float32))
        values = fn(*inputs)
        after = float(counted)
        gradients = graphc.grad(loss_of(fn), (0, 1), [w])(*inputs)
        return values, Tensor(after), gradients, counted.value().copy()

    same(outcome(jitted), outcome(function), 2e-2 if function is halves else 2e-5)


def nest(made):
    return (
        [t for x in made for t in nest(x)]
        if isinstance(made, (tuple, list))
        else [made]
        if isinstance(made, Tensor)
        else []
    )


def test_gradients_of_gradients_tangents_and_maps():
    def cubed(x):
        RUNS["cubed"] += 1
        return ops.sin(x) * x**2

    jitted = graphc.jit(cubed)
    x = Tensor(X)
    second = graphc.grad(lambda f, x: graphc.grad(lambda x: f(x).sum())(x).sum(), 1)
    third = graphc.grad(lambda f, x: second(f, x).sum(), 1)
    for transform in (
        second,
        third,
        lambda f, x: graphc.jvp(f, x, x * 2),
        lambda f, x: graphc.vjp(f, x)[1](x),
        lambda f, x: graphc.vmap(lambda row: f(row).sum())(x),
        lambda f, x: graphc.grad(lambda x: graphc.vmap(f)(x).sum())(x),
    ):
        same(transform(jitted, x), transform(cubed, x), 1e-4)
    jitted(x)
    RUNS.clear()
    same(second(jitted, x), second(cubed, x), 1e-4)
    assert RUNS["cubed"] == 1  # The plain one.


def test_a_call_of_other_shapes_and_values_is_another_step():
    @graphc.jit
    def power(x, k):
        RUNS["power"] += 1
        return x**k

    def gradient(x, k):
        return graphc.grad(lambda x: power(x, k).sum())(x).asnumpy()

    for k, rows in ((2, 1), (3, 1), (3, 3), (2, 1)):
        np.testing.assert_allclose(gradient(Tensor(X[:rows]), k), k * X[:rows] ** (k - 1), rtol=1e-5)
    assert RUNS["power"] == 3


def test_numbers_of_a_call_are_taken_as_they_are():
    @graphc.jit
    def scaled(x, k):
        RUNS["scaled"] += 1
        return x * k, k + 1

    for k in (2.0, 3.0):
        made, more = scaled(Tensor(X), graphc.mutable(k))
        np.testing.assert_allclose(made.asnumpy(), X * k, rtol=1e-6)
        assert more == k + 1
        gradient = graphc.grad(lambda x, k=k: scaled(x, graphc.mutable(k))[0].sum())(Tensor(X))
        np.testing.assert_allclose(gradient.asnumpy(), np.full_like(X, k), rtol=1e-6)


def test_what_is_computed_around_a_function_is_no_constant_of_it():
    def around(x):
        y = ops.sin(x)

        @graphc.jit
        def inner(z):
            return z * y

        return inner(x * 2).sum()

    got = graphc.grad(around)(Tensor(X)).asnumpy()
    np.testing.assert_allclose(got, 2 * np.sin(X) + 2 * X * np.cos(X), rtol=1e-5, atol=1e-6)


def test_without_gradients():
    @graphc.jit
    def squared(x):
        return x * x

    def loss(x, free):
        if free:
            with _no_grad():
                made = squared(x)
            return (made * x).sum()
        return (squared(x) * x).sum()

    for free in (True, False, True):
        got = graphc.grad(loss)(Tensor(X), free).asnumpy()
        np.testing.assert_allclose(got, X * X if free else 3 * X * X, rtol=1e-5)


def test_what_is_printed_is_printed_once(capfd):
    @graphc.jit
    def shown(x):
        print("the sum is", x.sum())
        return x * 2

    graphc.grad(lambda x: shown(x).sum())(Tensor([1.0, 2.0]))
    assert capfd.readouterr().out.count("the sum is") == 1


def test_rows_of_a_table_are_still_rows():
    class Lookup(nn.Cell):
        def __init__(self):
            super().__init__()
            self.table = nn.EmbeddingLookup(10, 3, sparse=True)

        @graphc.jit
        def construct(self, ids):
            return self.table(ids)

    net = Lookup()
    ids = Tensor([1, 5, 1], graphc.int32)
    (gradient,) = graphc.grad(lambda ids: net(ids).sum(), None, net.trainable_params())(ids)
    assert type(gradient).__name__ == "RowTensor"
    assert set(gradient.indices.asnumpy().tolist()) >= {1, 5}


def test_hooks_of_a_marked_cell_are_called_by_python():
    net, seen = graphc.jit(Net()), []
    net.register_forward_hook(lambda cell, inputs, output: seen.append(output.asnumpy().shape))
    net(Tensor(X))
    assert seen == [(3, 6)]


def test_an_index_out_of_range_is_said_at_the_call():
    @graphc.jit
    def at(x, k):
        n = 0
        while n < k:
            n += 1
        return x[n] * 2

    with pytest.raises(IndexError):
        graphc.grad(lambda x: at(x, Tensor(7)).sum())(Tensor(X))
    np.testing.assert_array_equal(at(Tensor(X), Tensor(2)).asnumpy(), X[2] * 2)


def test_what_cannot_be_traced_says_so():
    @graphc.jit
    def plain(x):
        return np.sin(x.asnumpy())

    with pytest.raises(graphc.GraphcError) as caught:
        plain(Tensor(X))
    assert caught.value.loc.line == plain.__wrapped__.__code__.co_firstlineno + 2
    np.testing.assert_allclose(plain.__wrapped__(Tensor(X)), np.sin(X))


def grown(v):
    while v.sum() < 5:
        v = v + 1
    return v


class Grower:
    def grow(self, v):
        return grown(v)


class Marked(nn.Cell):
    """Whose construct decides nothing by tensors itself."""

    def grow(self, v):
        return grown(v)

    @graphc.jit
    def construct(self, x):
        return self.grow(x)


class Given(nn.Cell):
    def construct(self, held, x):
        return held["grower"].grow(x) if isinstance(held, dict) else held(x)


class Named(Marked):
    def construct(self, x):
        return getattr(self, "grow")(x)  # noqa: B009


@graphc.jit
def applied(held, x):
    return held(x)


@graphc.jit
def asked(held, x):
    return held[0].grow(x)


@pytest.mark.parametrize("mode", [graphc.GRAPH_MODE, graphc.PYNATIVE_MODE])
def test_what_is_called_decides_by_tensors_wherever_it_is_from(mode, mode_again):
    graphc.set_context(mode=mode)
    x = Tensor([1.0, 1.0])
    calls = [
        Marked(), Named(), partial(Given(), grown), partial(Given(), {"grower": Grower()}), partial(applied, grown),
        partial(applied, Grower().grow), partial(asked, [Grower()]), partial(asked, (Marked(),)),
    ]  # fmt: skip
    assert [call(x).asnumpy().tolist() for call in calls] == [[3.0, 3.0]] * len(calls)
