"""Loops over the rows of tensors: one node each, which means what its turns mean one by one."""

from __future__ import annotations

import numpy as np
import pytest

import graphc
from graphc import Parameter, Tensor, nn, ops
from graphc.debug import debug
from graphc.errors import GraphcWarning
from graphc.lower import lower
from graphc.ops.declared import reference
from graphc.passes import autodiff
from graphc.testing import races
from tests.cells import Of

rng = np.random.default_rng(5)
W = rng.normal(size=(4, 4)).astype(np.float32) / 2
H = rng.normal(size=(3, 4)).astype(np.float32)
X = rng.normal(size=(6, 3, 4)).astype(np.float32)


def scans(step):
    return [n for n in step.graph if n.op.name == "Scan"]


def plain(h, x, w):
    h = ops.tanh(ops.matmul(h, w) + x)
    return h, h * x


def projected(h, x, w):
    """A product that needs no state, one that nobody waits for, and a state that is read by element."""
    h = ops.sigmoid(ops.matmul(x, w)) * h + ops.matmul(h, w)
    return h, ops.matmul(h, w)


def branching(h, x, w):
    h = ops.cond(ops.reduce_sum(x) > 0, lambda: ops.tanh(ops.matmul(h, w)), lambda: h * x)
    return h, ops.exp(-h)


def rising(h, x, w):
    """A loop in the loop."""
    h, made = ops.scan(lambda a, row: (ops.sin(a + row), a * row), h, ops.stack([x, x * 2, ops.matmul(x, w)]))
    return h, ops.reduce_sum(made, 0)


TURNS = [plain, projected, branching, rising]


def loss(turn, reverse):
    def fn(h, x, w):
        last, made = ops.scan(lambda h, x: turn(h, x, w), h, x, reverse=reverse)
        return ops.reduce_sum(last * last) + ops.reduce_sum(ops.sin(made))

    return fn


def one_by_one(turn, reverse):
    def fn(h, x, w):
        made = []
        for t in reversed(range(x.shape[0])) if reverse else range(x.shape[0]):
            h, y = turn(h, x[t], w)
            made.append(y)
        return ops.reduce_sum(h * h) + ops.reduce_sum(ops.sin(ops.stack(made[::-1] if reverse else made)))

    return fn


def compiled(fn, *args, **switches):
    with debug(**switches):
        step = graphc.compile(Of(fn), *map(Tensor, args))
        made = step(*map(Tensor, args))
    return step, [x.asnumpy() for x in (made if isinstance(made, tuple) else (made,))]


def gradients(fn):
    def both(*args):
        value, grads = ops.value_and_grad(fn, (0, 1, 2))(*args)
        return value, *grads

    return both


@pytest.mark.parametrize("reverse", [False, True], ids=["forward", "reverse"])
@pytest.mark.parametrize("turn", TURNS, ids=lambda t: t.__name__)
def test_a_loop_gives_what_its_turns_give(turn, reverse):
    step, made = compiled(gradients(loss(turn, reverse)), H, X, W)
    _, wanted = compiled(gradients(one_by_one(turn, reverse)), H, X, W, jit=False)
    assert scans(step)
    for a, b in zip(made, wanted, strict=True):
        np.testing.assert_allclose(a, b, rtol=2e-4, atol=2e-5)


@pytest.mark.parametrize("turn", TURNS, ids=lambda t: t.__name__)
def test_every_stage_means_the_same(turn):
    """Passes, lowering in checked mode and machine code with canaries, by the interpreter in float64."""
    fn = gradients(loss(turn, True))
    step, checked = compiled(fn, H, X, W, jit=False, verify=2)
    _, native = compiled(fn, H, X, W, canary=True)
    values = dict(zip(step.graph.inputs, (H, X, W), strict=True))
    wanted = reference.run(dict(step.passes)["autodiff"], values).results
    for results in (checked, native, reference.run(step.graph, values).results):
        for a, b in zip(results, wanted, strict=True):
            np.testing.assert_allclose(a, b, rtol=2e-4, atol=2e-5)


def test_nodes_do_not_grow_with_turns():
    sizes = set()
    for turns in (4, 40):
        step = graphc.compile(
            Of(gradients(loss(plain, False))), H, rng.normal(size=(turns, 3, 4)).astype(np.float32), W
        )
        sizes.add((len(step.graph), len(step.source)))
    assert len(sizes) == 1


def test_threads_meet_in_turns():
    """Products that threads share, in a loop and behind it."""
    x, h, w = (rng.normal(size=s).astype(np.float32) / 8 for s in ((5, 96, 128), (96, 128), (128, 128)))
    _, wanted = compiled(gradients(loss(projected, False)), h, x, w, threads=1)
    step, made = compiled(gradients(loss(projected, False)), h, x, w, threads=2)
    program = lower(step.graph, threads=2).program
    assert program.threads == 2
    assert not races(program)
    for a, b in zip(made, wanted, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-4)


def test_gradients_of_gradients_tangents_and_batches():
    def f(h):
        last, made = ops.scan(lambda h, x: (ops.sin(h * x), h), h, Tensor(X))
        return ops.reduce_sum(last) + ops.reduce_sum(made * made)

    def g(h):
        made = []
        for t in range(6):
            made.append(h)
            h = ops.sin(h * Tensor(X)[t])
        return ops.reduce_sum(h) + ops.reduce_sum(ops.stack(made) * ops.stack(made))

    def second(f):
        return lambda h: ops.grad(lambda h: ops.reduce_sum(ops.grad(f)(h) ** 2))(h)

    def tangent(f):
        return lambda h: ops.jvp(f, h, h * 2)[1]

    def batched(f):
        return lambda h: ops.vmap(ops.grad(f))(ops.stack([h, h + 1]))

    for transform in (second, tangent, batched):
        (made,), (wanted,) = compiled(transform(f), H)[1], compiled(transform(g), H)[1]
        np.testing.assert_allclose(made, wanted, rtol=2e-4, atol=2e-5)


def test_parameters_that_turns_write():
    class Counting(nn.Cell):
        def __init__(self):
            super().__init__()
            self.count = Parameter(np.zeros((), np.float32), name="count", requires_grad=False)

        def construct(self, x):
            def turn(h, row):
                self.count = self.count + 1
                return h + row * self.count, self.count + 0

            return ops.scan(turn, x[0], x)

    cell = Counting()
    step = graphc.compile(cell, X)
    last, made = step(X)
    assert scans(step)
    np.testing.assert_array_equal(made.asnumpy(), np.arange(1, 7))
    assert cell.count.asnumpy() == 6
    np.testing.assert_allclose(last.asnumpy(), X[0] + (X * np.arange(1, 7)[:, None, None]).sum(0), rtol=1e-5)


def test_turns_that_are_no_one_body_are_compiled_one_by_one():
    def grow(h, row):
        return ops.concat([h, row[:1]]), ops.reduce_sum(h)

    with pytest.warns(GraphcWarning, match="compiled one by one"):
        step, (last, made) = compiled(lambda x: ops.scan(grow, x[0], x), X)
    assert not scans(step)
    assert last.shape == (9, 4)
    np.testing.assert_allclose(made[0], X[0].sum(), rtol=1e-5)


def test_what_scan_refuses():
    with pytest.raises(graphc.errors.ArgumentValueError, match="length 7 is more"):
        ops.scan(lambda h, x: (h, x), Tensor(H), Tensor(X), length=7)
    with pytest.raises(graphc.errors.ArgumentValueError, match="axes 0 of one length"):
        ops.scan(lambda h, x: (h, h), Tensor(H), (Tensor(X), Tensor(H)))


# ---- Python's own loops

LONG = rng.normal(size=(11, 11, 4)).astype(np.float32)
G = rng.normal(size=(11, 4)).astype(np.float32)


def forwards(h, x, w):
    made = []
    for t in range(11):
        h = ops.tanh(ops.matmul(h, w) + x[t])
        made.append(h * 2)
    return ops.stack(made), h


def backwards(h, x, w):
    made = []
    for t in reversed(range(11)):
        h = ops.tanh(ops.matmul(h, w) * x[t])
        made.append(h)
    return ops.stack(made[::-1]), ops.stack(made)


def columns(h, x, w):
    """Along the second axis, with a first turn of its own, and single results besides."""
    made, state = [], None
    for t in range(11):
        row = x[:, t]
        state = ops.matmul(row, w) if state is None else ops.sin(ops.matmul(state, w) + h * row)
        made.append(state)
    return ops.stack(made, 1), made[3] + made[-2], ops.concat(made, 0)


def two(h, x, w):
    """Two loops, one over what the other makes; the first row every time."""
    first, second, g = [], [], h
    for t in range(11):
        h = ops.cos(ops.matmul(h, w) + x[t] * x[0])
        first.append(h)
    for t in range(10, -1, -1):
        g = ops.matmul(g + first[t], w)
        second.append(g)
    return ops.concat(second, 0), h


@pytest.mark.parametrize("loop", [forwards, backwards, columns, two], ids=lambda f: f.__name__)
def test_a_python_loop_over_rows_is_rolled(loop):
    def fn(h, x, w):
        return sum(ops.reduce_sum(ops.sin(y * (k + 1))) for k, y in enumerate(loop(h, x, w)))

    step, made = compiled(gradients(fn), G, LONG, W)
    graph = dict(step.passes)["trace"]
    values = dict(zip(graph.inputs, (G, LONG, W), strict=True))
    wanted = reference.run(autodiff(graph), values).results
    assert len([n for n in dict(step.passes)["roll_loops"] if n.op.name == "Scan"]) == 1 + (loop is two)
    for results in (made, reference.run(step.graph, values).results):
        for a, b in zip(results, wanted, strict=True):
            np.testing.assert_allclose(a, b, rtol=2e-4, atol=2e-4)


def test_what_is_differentiated_inside_stays_unrolled():
    """A gradient with respect to a state in the middle: the loop's turns are not one node."""

    def fn(h, x, w):
        for t in range(11):
            h = ops.tanh(ops.matmul(h, w) + x[t])
        return ops.grad(lambda h: ops.reduce_sum(ops.matmul(h, w) * h))(h)

    step, (made,) = compiled(fn, G, LONG, W)
    values = dict(zip(step.graph.inputs, (G, LONG, W), strict=True))
    (wanted,) = reference.run(autodiff(dict(step.passes)["trace"]), values).results
    np.testing.assert_allclose(made, wanted, rtol=2e-4, atol=2e-5)
