"""Where threads meet: no byte that one writes is touched by another before they have met, in any turn of a loop."""

from __future__ import annotations

import numpy as np
import pytest

import graphc
from graphc import Tensor, nn, ops
from graphc.debug import debug
from graphc.lower.cost import Team
from graphc.lower.thread_plan import Plan, plan
from graphc.testing.lowered import races
from graphc_codegen.program import For, blocks
from tests.cells import Of


def meetings(body):
    return sum(stmt.wait + sum(map(meetings, blocks(stmt))) for stmt in body)


def steps(count):
    """A loop of short turns behind what two threads share."""

    def run(x, w):
        x = x * 2 + ops.sin(x)
        rows, total = ops.ones((4, 64), graphc.float32), ops.zeros((4, 64), graphc.float32)
        for k in range(count):
            rows = ops.tanh(ops.matmul(rows, w)) + x[k]
            total = total + rows * rows
        return total.sum() + x.sum()

    return run


def nested(x, w):
    total = x[0]
    for k in range(24):
        for _ in range(20):
            total = ops.tanh(ops.matmul(total, w))
        total = total + x[k]
    return total.sum()


def chosen(x, w):
    total = x[0]
    for k in range(24):
        total = ops.cond(total.sum() > k, lambda t: ops.matmul(t, w), lambda t: t * 2, total)
    return total.sum()


def until(x, w):
    x = ops.cos(x)
    return ops.while_loop(lambda t: t.sum() < 9, lambda t: ops.exp(t) + ops.matmul(t, w) + 1, x).sum()


def two_threads(meeting):
    """What chooses two threads, whose meeting takes so many nanoseconds, however little they gain."""

    def best_plan(body, costs, most, apart=None) -> Plan:
        return plan(body, costs, Team(2, 2.0, meeting))

    return best_plan


PROGRAMS = {"turns": steps(20), "nested": nested, "chosen": chosen, "until": until}


@pytest.mark.parametrize("meeting", [0.0, 1e3, 2e4, 1e9])
@pytest.mark.parametrize("name", [*PROGRAMS, "gru", "lstm"])
def test_nobody_touches_what_another_thread_writes(name: str, meeting: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """And a step of two threads gives what one of one thread gives, in checked mode, too."""
    rng = np.random.default_rng(3)
    x = Tensor(rng.standard_normal((24, 4, 64)).astype(np.float32))
    w = Tensor(0.1 * rng.standard_normal((64, 64)).astype(np.float32))
    if name in PROGRAMS:
        forward = Of(PROGRAMS[name])
    else:
        layer = {"gru": nn.GRU, "lstm": nn.LSTM}[name](64, 64)
        forward = Of(lambda x, w: layer(ops.matmul(x, w).reshape((24, 4, 64)))[0].sum())
    cell = Of(lambda x, w: ops.value_and_grad(forward, (0, 1))(x, w))
    want = graphc.compile(cell, x, w)(x, w)
    monkeypatch.setattr("graphc.lower.threads.best_plan", two_threads(meeting))
    for jit in (True, False):
        with debug(threads=2, jit=jit):
            step = graphc.compile(cell, x, w)
            found = step(x, w)
        np.testing.assert_allclose(found[0].asnumpy(), want[0].asnumpy(), rtol=2e-4)
        for a, b in zip(found[1], want[1], strict=True):
            np.testing.assert_allclose(a.asnumpy(), b.asnumpy(), rtol=2e-3, atol=2e-4 * np.abs(b.asnumpy()).max())
        program = step._lowered.program
        assert races(program) == []
        if meeting == 1e9 and name in ("turns", "nested", "gru", "lstm"):  # Nothing is shared.
            assert meetings(program.body) == 0


def test_threads_meet_once_before_turns_that_are_one_thread_s(monkeypatch: pytest.MonkeyPatch) -> None:
    x, w = Tensor(np.ones((400, 4, 64), np.float32)), Tensor(np.eye(64, dtype=np.float32))
    monkeypatch.setattr("graphc.lower.threads.best_plan", two_threads(5e3))
    with debug(threads=2):
        step = graphc.compile(Of(steps(40)), x, w)
    loops = [stmt for stmt in step._lowered.program.body if isinstance(stmt, For)]
    assert loops
    assert [loop.wait for loop in loops] == [True]
    assert not any(stmt.wait for loop in loops for stmt in loop.body)
    assert "turns(ctx, ~" in step.source
    np.testing.assert_allclose(step(x, w).asnumpy(), Of(steps(40))(x, w).asnumpy(), rtol=1e-4)
