"""Python's own loops, of turns that are not quite alike: one Scan each, which means what the turns mean one by one."""

from __future__ import annotations

import numpy as np
import pytest

import graphc
from graphc import Tensor, nn, ops
from graphc.debug import debug
from graphc.passes.scans import roll
from tests.cells import Of

rng = np.random.default_rng(3)
TURNS = 20


def array(*shape):
    return rng.normal(size=shape).astype(np.float32) / 2


W, H, X = array(4, 4), array(3, 4), array(TURNS, 3, 4)
WIDE = array(3, 4 * TURNS, 4)
LIST = rng.normal(size=TURNS).tolist()


def no_rows(h, x, w):
    for _ in range(TURNS):
        h = ops.tanh(ops.matmul(h, w)) * 0.5 + h
    return (h * x[0]).sum()


def numbers(h, x, w):
    """Numbers of a list, of the number of the turn, and a power that is one number in all."""
    for t, c in enumerate(LIST):
        h = ops.tanh(h - ops.pow(ops.matmul(h, w), 2) * (t / TURNS) + c * x[1])
    return h.sum()


def times(h, x, w):
    ends = Tensor(np.linspace(0, 1, TURNS + 1).astype(np.float32))
    made = [h]
    for t in range(TURNS):
        h = h + (ends[t + 1] - ends[t]) * ops.sin(ops.matmul(h, w) + ends[t] * x[2])
        made.append(h)
    return (ops.stack(made) ** 2).sum()


def both_ends(h, x, w):
    """Rows from either end, read where they are used, and stacks of both."""
    g, first, second = h, [], []
    for t in range(TURNS):
        h = ops.tanh(ops.matmul(h, w) + x[t])
        g = ops.cos(ops.matmul(g, w) * x[TURNS - 1 - t])
        first.append(h)
        second.append(g)
    return (ops.concat([ops.stack(first, 1), ops.stack(second[::-1], 1)], 2) ** 3).sum()


def backwards(h, x, w):
    for t in range(TURNS - 1, -1, -1):
        h = ops.tanh(ops.matmul(h, w) + x[t]) * LIST[t]
    return h.sum()


def taken_apart(h, x, w):
    """Rows that stand before the loop; every second one, in the other direction."""
    rows, wide = ops.unstack(x, 0), ops.concat([x, x * 2.0])
    for t, row in enumerate(rows):
        h = ops.sin(ops.matmul(h, w) + row * wide[2 * TURNS - 1 - 2 * t])
    return h.sum()


def parts(h, x, w):
    """Four columns at a time, upwards and downwards."""
    wide = ops.reshape(ops.concat([x] * 4), (3, 4 * TURNS, 4))
    for t in range(TURNS):
        back = 4 * (TURNS - 1 - t)
        h = ops.tanh(ops.matmul(h, w) + wide[:, 4 * t : 4 * t + 4].mean(1) * wide[:, back : back + 3].sum(1))
    return h.sum()


def three_back(h, x, w):
    a = b = c = h
    for t in range(TURNS):
        a, b, c = ops.sin(ops.matmul(a, w) + b * x[t] - c), a, b
    return (a * b * c).sum()


def first_and_last(h, x, w):
    made, state = [], None
    for t in range(TURNS):
        state = ops.matmul(x[t], w) if t == 0 else ops.matmul(state, w) + x[t]
        if t < TURNS - 1:
            state = ops.relu(state)
        made.append(state)
    return (ops.stack(made) * h).sum()


def gradients_inside(h, x, w):
    def energy(h, row):
        return (ops.tanh(ops.matmul(h, w)) * row).sum()

    velocity = ops.zeros_like(h)
    for t in range(TURNS):
        velocity = 0.9 * velocity + ops.grad(energy)(h, x[t])
        h = h - 0.1 * velocity
    return (h * h).sum()


def of_gradients(h, x, w):
    """A gradient of a gradient in each turn."""

    def penalty(h, row):
        slope = ops.grad(lambda v: (ops.tanh(ops.matmul(v, w)) * row).sum())(h)
        return (slope * slope).sum()

    for t in range(TURNS):
        h = h - 0.1 * ops.grad(penalty)(h, x[t])
    return (h * h).sum()


def loops_in_turns(h, x, w):
    for t in range(TURNS):
        for _ in range(9):
            h = ops.tanh(ops.matmul(h, w))
        h = h * x[t]
    return h.sum()


def written(h, x, w):
    out = ops.zeros((3, TURNS, 4))
    for t in range(TURNS):
        h = ops.tanh(ops.matmul(h, w) + x[t])
        out[:, t] = h
    return (out * out).sum()


def no_state(h, x, w):
    return ops.stack([ops.matmul(ops.tanh(ops.matmul(x[t], w)), w) * h for t in range(TURNS)]).sum()


def until(h, x, w):
    t = 0
    while t < TURNS:
        h = ops.softmax(ops.matmul(h, w) + x[t], -1)
        t += 1
    return h[:, 0].sum()


LOOPS = [
    no_rows, numbers, times, both_ends, backwards, taken_apart, parts, three_back, first_and_last, gradients_inside,
    of_gradients, loops_in_turns, written, no_state, until,
]  # fmt: skip


def run(fn, monkeypatch, rolled, **switches):
    """The step, and values and gradients."""
    with monkeypatch.context() as patch, debug(**switches):
        if not rolled:
            patch.setattr(roll, "_pays", lambda graph, loop: False)
        graphc.set_seed(1)
        args = tuple(map(Tensor, (H, X, W)))
        step = graphc.compile(Of(lambda *args: ops.value_and_grad(fn, (0, 1, 2))(*args)), *args)
        value, grads = step(*args)
    return step, [y.asnumpy() for y in (value, *grads)]


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("loop", LOOPS, ids=lambda f: f.__name__)
def test_a_loop_gives_what_its_turns_give(loop, threads, monkeypatch):
    one, wanted = run(loop, monkeypatch, False, threads=threads)
    step, made = run(loop, monkeypatch, True, threads=threads)
    assert step.graph.count() < one.graph.count() / 2
    for a, b in zip(made, wanted, strict=True):
        np.testing.assert_allclose(a, b, rtol=2e-4, atol=2e-5 * np.abs(b).max())


@pytest.mark.parametrize("loop", [three_back, both_ends, gradients_inside], ids=lambda f: f.__name__)
def test_every_stage_means_the_same(loop, monkeypatch):
    _, wanted = run(loop, monkeypatch, False)
    _, made = run(loop, monkeypatch, True, jit=False, verify=2)
    for a, b in zip(made, wanted, strict=True):
        np.testing.assert_allclose(a, b, rtol=2e-4, atol=2e-5 * np.abs(b).max())


def test_nodes_do_not_grow_with_turns():
    def loop(turns):
        def fn(h, w):
            for t in range(turns):
                h = h + ops.tanh(ops.matmul(h, w)) * (t / turns) - ops.grad(lambda h: (h * h).sum())(h)
            return h.sum()

        return graphc.compile(Of(lambda *args: ops.grad(fn, (0, 1))(*args)), Tensor(H), Tensor(W)).graph.count()

    assert len({loop(turns) for turns in (16, 40)}) == 1


class Dropped(nn.Cell):
    def __init__(self):
        super().__init__()
        self.cell, self.drop = nn.RNNCell(4, 4), nn.Dropout(p=0.4)

    def construct(self, h, x, w):
        for t in range(TURNS):
            h = self.drop(self.cell(x[t], h)) + ops.standard_normal((3, 4))
        return (h * w[0]).sum()


def test_random_numbers_in_turns(monkeypatch):
    """Those that the turns one by one draw, in the first step and in the next one."""
    found = []
    for rolled in (False, True):
        with monkeypatch.context() as patch:
            if not rolled:
                patch.setattr(roll, "_pays", lambda graph, loop: False)
            graphc.set_seed(1)
            net = Dropped().set_train()
            step = graphc.compile(Of(lambda *args: ops.value_and_grad(net)(*args)), H, X, W)  # noqa: B023
            found.append([y.asnumpy() for _ in range(2) for y in step(H, X, W)])
    assert any(n.op.name == "Scan" for n in step.graph)
    for a, b in zip(*found, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)
    assert not np.allclose(found[0][0], found[0][2])


def test_large_sums_by_element_stay_one_kernel():
    def fn(x):
        y = x
        for _ in range(TURNS):
            y = 0.5 * (y + x / y)
        return y.sum()

    small, large = (
        graphc.compile(Of(lambda x: ops.grad(fn)(x)), Tensor(np.ones(n, np.float32))) for n in (64, 1 << 15)
    )
    assert [any(n.op.name == "Scan" for n in step.graph) for step in (small, large)] == [True, False]


@pytest.mark.parametrize("of", ["geqrf", "convolve"])
def test_functions_that_are_loops(of):
    """Reflections of columns, windows of vectors: no more nodes for more of them."""
    fn = {"geqrf": lambda x: ops.geqrf(x)[0], "convolve": lambda x: graphc.numpy.convolve(x[0], x[1])}[of]
    steps = [graphc.compile(Of(ops.grad(lambda x: fn(x).sum())), Tensor(array(n, n))) for n in (12, 24)]
    assert len({step.graph.count() for step in steps}) == 1
