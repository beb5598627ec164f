"""Gradients of `while` and of loops whose number of turns a tensor decides: exact for any number of turns, in fixed memory."""

from __future__ import annotations

import numpy as np

import graphc
from graphc import GRAPH_MODE, PYNATIVE_MODE, Parameter, Tensor, nn, ops
from graphc.ir import walk
from graphc.testing import agree_everywhere


def tensor(*values):
    return Tensor(np.asarray(values, np.float32))


class Looped(nn.Cell):
    """Loops in a loop, with a parameter, an integer counter, and as many turns as the values ask for."""

    def __init__(self):
        super().__init__()
        self.w = Parameter(Tensor([1.5, 0.5]), name="w")

    def construct(self, x, y):
        n = 0
        while ops.sum(x * x) < 40:
            step = x
            while ops.sum(ops.abs(step)) < 1.5:
                step = ops.sin(step) * self.w + x * y
                n = n + 1
            if step[0] > 2:
                x = x + step * y
            else:
                x = x * 1.5 + step
        return x * n


def test_gradient_through_while_loops():
    """As where Python runs the loops and the gradient is that of what it ran."""
    x, y = tensor(0.3, 0.4), tensor(1.25, 0.8)
    found = []
    for mode in (GRAPH_MODE, PYNATIVE_MODE):
        graphc.set_context(mode=mode)
        try:
            net = Looped()
            inputs, weights = ops.GradOperation(get_all=True, get_by_list=True)(net, [net.w])(x, y)
            found.append([g.asnumpy() for g in (*inputs, *weights)])
        finally:
            graphc.set_context(mode=GRAPH_MODE)
    for compiled, plain in zip(*found, strict=True):
        assert np.abs(plain).min() > 0.1
        np.testing.assert_allclose(compiled, plain, rtol=2e-4)


def turning(x, w, n):
    """n turns whose state the gradient needs, a sum that it does not, and a flag; an inner loop in every third turn."""
    i, total, odd = n * 0, x * 0, ops.sum(x) < -100
    while i < n:
        x = ops.sin(x * w + 0.3)
        if i % 3 == 0:
            j = i * 0
            while j < i % 2 + 1:
                x = ops.select(odd, x * w, x + 0.25 * w)
                j = j + 1
        total = total + x * x
        i, odd = i + 1, ops.logical_not(odd)
    return ops.sum(total * x)


def turning_by_hand(x, w, n):
    """The gradients of `turning` for x and w, by NumPy."""
    steps, odd, total = [], x.sum() < -100, np.zeros_like(x)
    for i in range(n):
        steps.append(("sin", x))
        x = np.sin(x * w + 0.3)
        for _ in range(i % 2 + 1 if i % 3 == 0 else 0):
            steps.append(("scale" if odd else "shift", x))
            x = x * w if odd else x + 0.25 * w
        steps.append(("sum", x))
        total, odd = total + x * x, not odd
    dx, dt, dw = total.copy(), x.copy(), np.zeros_like(w)
    for kind, at in reversed(steps):
        if kind == "sum":
            dx = dx + 2 * dt * at
        elif kind == "shift":
            dw = dw + 0.25 * dx
        else:
            d = dx * np.cos(at * w + 0.3) if kind == "sin" else dx
            dx, dw = d * w, dw + d * at
    return dx, dw


#: Around what the places for states hold (checkpoints.py): all turns, one run of each once more, two runs.
TURNS = (0, 1, 2, 31, 32, 33, 63, 64, 65, 129, 528, 529, 1100)


def test_gradient_of_a_while_is_exact_for_any_number_of_turns():
    x, w = np.array([0.3, 0.8]), np.array([0.9, 1.1])
    gradient = graphc.grad(turning, (0, 1))
    for n in TURNS:
        for got, wanted in zip(gradient(Tensor(x), Tensor(w), Tensor(n)), turning_by_hand(x, w, n), strict=True):
            np.testing.assert_allclose(got.asnumpy(), wanted, rtol=1e-11, atol=1e-13, err_msg=f"{n} turns")


def test_transforms_of_the_gradient_of_a_while_agree_with_differences():
    n = 40
    x, w, v = Tensor(np.array([0.3, 0.8])), Tensor(np.array([0.9, 1.1])), np.array([0.6, -0.7])
    gradient = graphc.grad(turning)
    _, forward = graphc.jvp(turning, (x, w, Tensor(n)), (Tensor(v), Tensor(v * 0), Tensor(0)))
    np.testing.assert_allclose(forward.asnumpy(), gradient(x, w, Tensor(n)).asnumpy() @ v, rtol=1e-10)
    ends = [gradient(Tensor(x.asnumpy() + s * v), w, Tensor(n)).asnumpy() for s in (1e-6, -1e-6)]
    wanted = (ends[0] - ends[1]) / 2e-6
    hessian = graphc.jacfwd(lambda x: gradient(x, w, Tensor(n)))(x).asnumpy()
    np.testing.assert_allclose(hessian @ v, wanted, rtol=1e-5, atol=1e-6)
    twice = graphc.grad(lambda x: ops.sum(gradient(x, w, Tensor(n)) * Tensor(v)))(x)
    np.testing.assert_allclose(twice.asnumpy(), wanted, rtol=1e-5, atol=1e-6)


class GradientOf(nn.Cell):
    def __init__(self, fn):
        super().__init__()
        self.fn = fn

    def construct(self, *inputs):
        return ops.grad(self.fn)(*inputs)


def test_the_gradient_of_a_while_runs_alike_everywhere():
    """Interpreter, checked mode, canaries and threads; numbers are small integers, so nothing is rounded."""

    def folding(x, n):
        i, total = n * 0, x * 0
        while i < n:
            x = 2 - x
            total = total + x * x
            i = i + 1
        return ops.sum(total * x)

    x = np.arange(3, dtype=np.float32) - 1
    step = graphc.compile(GradientOf(folding), Tensor(x), Tensor(0))
    for n in (0, 2, 34):
        agree_everywhere(step.graph, {k: v for k, v in zip(step.graph.inputs, (x, np.int64(n)), strict=True)})


def test_a_loop_keeps_fewer_states_where_they_are_large():
    def largest(size, dtype):
        def doubling(x):
            while x.max() < 3:
                x = ops.sin(x) + x
            return ops.sum(x)

        x = Tensor(np.full(size, 0.1), dtype)
        step = graphc.compile(GradientOf(doubling), x)
        graphc.set_context(mode=PYNATIVE_MODE)
        try:
            expected = GradientOf(doubling)(x).asnumpy()
        finally:
            graphc.set_context(mode=GRAPH_MODE)
        np.testing.assert_allclose(step(x).asnumpy().astype(float), expected.astype(float), rtol=2e-2)
        return max(t.nbytes for _, node in walk(step.graph) for t in node.types)

    assert largest(100, graphc.float32) == 32 * 400
    assert largest(100, graphc.float16) == 32 * 400  # In float32.
    assert largest(100_000, graphc.float32) == 8 * 400_000
    assert largest(1_000_000, graphc.float32) == 4 * 4_000_000


def test_gradient_of_integers_and_second_order_through_a_while_loop():
    def power(x, n):
        y, i = x * 0 + 1, n * 0
        while i < n:
            y, i = y * x, i + 1
        return y

    got = ops.GradOperation()(power)(Tensor(np.array(3, np.int32)), Tensor(np.array(4, np.int32)))
    assert got.dtype == graphc.int32
    assert got.asnumpy() == 4 * 3**3
    twice = ops.grad(ops.grad(power))(Tensor(2.0), Tensor(5))
    assert twice.asnumpy() == 20 * 2.0**3
