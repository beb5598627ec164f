"""Several Python threads, all of them the first to use graphc: what is imported and made late is made once, and whole.

Calls of one cell take turns, whatever becomes of them: each returns what it has computed itself.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graphc
from graphc import Parameter, Tensor, nn, ops
from graphc.debug import debug
from graphc.ops.tensor import seed
from graphc.steps import calls, compiled_step, jit
from graphc_codegen.run.checked import CheckedBound
from graphc_codegen.run.native import NativeBound
from tests.at_once import at_once

_WAYS = """
import numpy as np
import graphc
from graphc import Tensor, nn, ops

class Net(nn.Cell):
    def construct(self, x):
        if x.sum() > 0:
            return x * 3
        return x

def branching(x):
    if x.sum() > 0:
        return x * 3
    return x

x = Tensor(np.arange(6, dtype=np.float32).reshape(2, 3))
ways = {
    "step": lambda: graphc.compile(Net(), x)(x),
    "cell": lambda: Net()(x),
    "jit": lambda: graphc.jit(branching)(x),
    "grad": lambda: x * graphc.grad(branching)(x),
    "operation": lambda: x * ops.GradOperation()(branching)(x),
    "plain": lambda: x * 3,
}

def check(name):
    assert (ways[name]().asnumpy() == x.asnumpy() * 3).all(), name

tasks = [lambda name=name: check(name) for name in ways]
"""

_ONE_CELL = """
import numpy as np
from graphc import Parameter, Tensor, nn

class Count(nn.Cell):
    def __init__(self):
        super().__init__()
        self.total = Parameter(Tensor(np.float32(0)), name="total")

    def construct(self, x):
        self.total += x
        return self.total

count, seen = Count(), []

def work():
    for _ in range(25):
        seen.append(int(count(Tensor(np.float32(1)))))
    if len(seen) == 100:
        assert sorted(seen) == list(range(1, 101)), seen

tasks = [work] * 4
"""


@pytest.mark.parametrize("interval", [1e-5, 1e-4, 1e-3, 5e-3])
def test_every_way_in_at_the_same_time(tmp_path: Path, interval: float) -> None:
    at_once(tmp_path, _WAYS, interval)


@pytest.mark.parametrize("interval", [1e-5, 5e-3])
def test_calls_of_one_cell_take_turns(tmp_path: Path, interval: float) -> None:
    at_once(tmp_path, _ONE_CELL, interval)


# ---- two calls that are made to meet where they would disturb each other

#: Seconds within which a thread comes to where the other one waits, and how long it waits where the other cannot come.
_SOON, _NEVER = 10, 0.3


class Meeting:
    """Two threads leave together, or each alone where the other does not come."""

    def __init__(self, seconds: float) -> None:
        self._barrier = threading.Barrier(2, timeout=seconds)

    def __call__(self) -> None:
        with suppress(threading.BrokenBarrierError):
            self._barrier.wait()


class Count(nn.Cell):
    """Adds to a total and returns it. The threads that run `construct`, traced or plainly, meet halfway."""

    def __init__(self, meet: Callable[[], None]) -> None:
        super().__init__()
        self.total = Parameter(Tensor(np.float32(0)), name="total")
        self.meet = meet

    def construct(self, x: Tensor) -> Any:
        total = self.total + x.sum()
        self.meet()
        self.total = total
        return self.total

    @graphc.jit
    def method(self, x: Tensor) -> Any:
        return self.construct(x)


def _wrap(monkeypatch: pytest.MonkeyPatch, owner: Any, name: str, before: Any = None, after: Any = None) -> None:
    original = getattr(owner, name)

    def wrapped(*args: Any, **kwargs: Any) -> Any:
        if before is not None:
            before()
        result = original(*args, **kwargs)
        if after is not None:
            after()
        return result

    monkeypatch.setattr(owner, name, wrapped)


def _parts(count: int) -> Tensor:
    return Tensor(np.full(count, 1 / count, np.float32))


@pytest.mark.parametrize(
    ("way", "sizes"),
    [
        ("cell", (1, 1)),
        ("cell", (1, 2)),
        ("checked", (1, 1)),
        ("plain", (1, 1)),
        ("step", (1, 1)),
        ("gradient", (1, 1)),
        ("method", (1, 1)),
    ],
)
def test_a_call_returns_its_own_results(monkeypatch: pytest.MonkeyPatch, way: str, sizes: tuple[int, int]) -> None:
    count = Count((lambda: None) if way == "step" else Meeting(_NEVER if way == "plain" else _SOON))
    ways: dict[str, Callable[[Tensor], Any]] = {
        "gradient": lambda x: graphc.value_and_grad(count)(x)[0],
        "method": count.method,
    }
    call = graphc.compile(count, _parts(1)) if way == "step" else ways.get(way, count)
    # Both look for the cell of a function before one has made it; both are about to run; one has run, but not returned.
    _wrap(monkeypatch, calls.GradientCell, "__init__", before=Meeting(_SOON))
    _wrap(monkeypatch, jit.FunctionCell, "__init__", before=Meeting(_SOON))
    _wrap(monkeypatch, compiled_step.CompiledStep, "run", before=Meeting(_SOON))
    ran = Meeting(_NEVER)
    _wrap(monkeypatch, NativeBound, "run", after=ran)
    _wrap(monkeypatch, CheckedBound, "run", after=ran)
    if way == "plain":
        graphc.set_context(mode=graphc.PYNATIVE_MODE)
    try:
        with debug(jit=way != "checked"), ThreadPoolExecutor(2) as pool:
            results = [int(r) for r in pool.map(call, map(_parts, sizes))]
    finally:
        graphc.set_context(mode=graphc.GRAPH_MODE)
    assert sorted(results) == [1, 2]
    assert int(count.total) == 2


def test_a_call_keeps_its_step_when_another_thread_needs_a_different_one(monkeypatch: pytest.MonkeyPatch) -> None:
    relu, others = nn.ReLU(), [Tensor(np.zeros(1, np.float32))]
    x = Tensor(np.arange(4, dtype=np.float32))
    relu(x)
    # Another call comes between the look at the inputs and the run.
    _wrap(monkeypatch, compiled_step.CompiledStep, "plain_arrays", after=lambda: others and relu(others.pop()))
    assert (relu(x).asnumpy() == x.asnumpy()).all()
    assert not others


def test_a_hook_may_call_what_it_is_called_from() -> None:
    relu, seen = nn.ReLU(), []
    x = Tensor(np.ones(1, np.float32))

    def hook(*_: Any) -> None:
        handle.remove()
        seen.append(ops.grad(relu)(x).asnumpy().tolist())

    handle = relu.register_backward_hook(hook)
    graphc.set_context(mode=graphc.PYNATIVE_MODE)
    try:
        caller = threading.Thread(target=ops.grad(relu), args=(x,), daemon=True)
        caller.start()
        caller.join(_SOON)
    finally:
        graphc.set_context(mode=graphc.GRAPH_MODE)
    assert seen == [[1]]


def test_threads_share_the_generator_of_a_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(seed, "_generators", {})
    _wrap(monkeypatch, seed, "_start", after=Meeting(_SOON))
    with ThreadPoolExecutor(2) as pool:
        one, other = pool.map(seed.generator, [7, 7])
    assert one is other
