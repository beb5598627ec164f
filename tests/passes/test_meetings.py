"""Where threads meet: no byte that one writes is touched by another before they have met, in any turn of a loop."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pytest

import graphc
from graphc import Tensor, nn, ops
from graphc.debug import debug
from graphc.lower.cost import Team
from graphc_codegen.program import Call, For, If, Program, Stmt, While, exchanges, written
from tests.cells import Of

#: (first byte, the one behind the last, whether it is written, whether all threads touch it and not only the first one)
Touch = tuple[int, int, bool, bool]


@dataclass
class Walk:
    """Runs a program's statements in their order, loops for three turns, and notes what touches what."""

    program: Program

    def __post_init__(self) -> None:
        self.buffers = {b.id: b for b in self.program.buffers}
        self.since: list[Touch] = []
        self.races: list[str] = []
        self.met = 0

    def run(self, body: Sequence[Stmt]) -> None:
        for stmt in body:
            if stmt.wait:
                self.meet()
            if isinstance(stmt, Call):
                self.touch(stmt.note, list(self.touches(stmt)))
            elif isinstance(stmt, For):
                for _ in range(min(stmt.count, 3)):
                    self.run(stmt.body)
            elif isinstance(stmt, While):
                for turn in range(3):
                    if turn:
                        self.run(stmt.body)
                    self.run(stmt.condition)
                    self.meet()  # Before they read whether there is another turn.
            else:
                self.branch(stmt)

    def branch(self, stmt: If) -> None:
        self.touch(stmt.note, [(*self.place(stmt.pred), False, True)])
        before = list(self.since)
        self.run(stmt.then)
        after, self.since = self.since, before
        self.run(stmt.orelse)
        self.since += after

    def meet(self) -> None:
        self.since = []
        self.met += 1

    def touch(self, note: str, touches: list[Touch]) -> None:
        for start, end, writes, everybody in touches:
            for other_start, other_end, other_writes, other_everybody in self.since:
                meets = start < other_end and other_start < end
                if meets and (writes or other_writes) and (everybody or other_everybody):
                    self.races.append(note)
        self.since += touches

    def touches(self, call: Call) -> Iterator[Touch]:
        everybody, first = call.kernel.threads > 1, len(call.args) - written(call.kernel)
        for k, buffer in enumerate(call.args):
            if self.buffers[buffer].space not in ("input", "const"):
                yield *self.place(buffer), k >= first, everybody
        if everybody and exchanges(call.kernel):
            yield -2, -1, True, True

    def place(self, buffer: int) -> tuple[int, int]:
        found = self.buffers[buffer]
        while found.space == "window":
            found = self.buffers[found.position]
        start = found.position if found.space == "arena" else (1 << 50) + (found.position << 40)
        return start, start + found.nbytes


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
    monkeypatch.setattr("graphc.lower.threads.best_team", lambda calls, most, apart=None: Team(2, 2.0, meeting))
    for jit in (True, False):
        with debug(threads=2, jit=jit):
            step = graphc.compile(cell, x, w)
            found = step(x, w)
        np.testing.assert_allclose(found[0].asnumpy(), want[0].asnumpy(), rtol=2e-4)
        for a, b in zip(found[1], want[1], strict=True):
            np.testing.assert_allclose(a.asnumpy(), b.asnumpy(), rtol=2e-3, atol=2e-4 * np.abs(b.asnumpy()).max())
        walk = Walk(step._lowered.program)
        walk.run(walk.program.body)
        assert walk.races == []
        if meeting == 1e9 and name in ("turns", "nested", "gru", "lstm"):  # Nothing is shared.
            assert walk.met == 0


def test_threads_meet_once_before_turns_that_are_one_thread_s(monkeypatch: pytest.MonkeyPatch) -> None:
    x, w = Tensor(np.ones((400, 4, 64), np.float32)), Tensor(np.eye(64, dtype=np.float32))
    monkeypatch.setattr("graphc.lower.threads.best_team", lambda calls, most, apart=None: Team(2, 2.0, 2e4))
    with debug(threads=2):
        step = graphc.compile(Of(steps(40)), x, w)
    loops = [stmt for stmt in step._lowered.program.body if isinstance(stmt, For)]
    assert loops
    assert [loop.wait for loop in loops] == [True]
    assert not any(stmt.wait for loop in loops for stmt in loop.body)
    assert "turns(ctx, ~" in step.source
    np.testing.assert_allclose(step(x, w).asnumpy(), Of(steps(40))(x, w).asnumpy(), rtol=1e-4)
