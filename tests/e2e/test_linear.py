"""The time of compiling is proportional to the size of a program, in each of its stages. Counted, not timed."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import wraps

import numpy as np
import pytest

from graphc import Parameter, Tensor, nn, ops, passes
from graphc.debug import debug
from graphc.guards.state import State
from graphc.guards.walk import Names, walk
from graphc.ir import verify
from graphc.lower import REWRITES, lower, thread_plan
from graphc.nn.cell.cell import Cell
from graphc.ops.tensor.tree import flatten
from graphc.trace import trace
from graphc_codegen.target import host
from graphc_codegen.text.render import render
from graphc_codegen.validate import validate
from tests.counting import calls

#: Layers of the smaller program, and how much more the one of twice as many may cost. What is constant makes it less than 2.
SMALL, MOST = 4, 2.2

#: How many functions are called for each node more, by program and part; and how many times as many may be. Who looks at every
#: node twice as often as before sees it here.
CALLS = {
    "training": {"key": 16, "trace": 100, "verify": 15, "passes": 47, "fuse": 88, "rewrites": 81, "text": 21},
    "layers": {"key": 22, "trace": 114, "verify": 8, "passes": 53, "fuse": 83, "rewrites": 61, "text": 13},
    "parameters": {"key": 15, "trace": 96, "verify": 8, "passes": 58, "fuse": 76, "rewrites": 33, "text": 4},
    "branches": {"key": 0, "trace": 134, "verify": 20, "passes": 50, "fuse": 88, "rewrites": 206, "text": 65},
}
ALLOWED = 1.4
PARTS = {
    **{transform.__name__: "passes" for transform in passes.PIPELINE},
    **{rewrite.__name__: "rewrites" for rewrite in REWRITES},
    **dict.fromkeys(("render", "source", "validate"), "text"),
}


class Block(nn.Cell):
    """What nets are made of: products, grouped convolutions, pooling, norms, activations, a residual sum."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(4, 4, 3, group=2)
        self.norm, self.act, self.pool = nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2, 2)
        self.widen, self.dense, self.last = nn.Conv2d(4, 4, 3, has_bias=True), nn.Dense(16, 16), nn.LayerNorm((16,))

    def construct(self, x):
        pooled = self.pool(self.act(self.widen(x)))
        x = x + self.act(self.norm(self.conv(x)))
        rows = x.reshape((-1, 16))
        return (rows + ops.tanh(self.dense(self.last(rows)))).reshape(x.shape) + pooled.mean()


class Layer(nn.SequentialCell):
    def __init__(self) -> None:
        super().__init__(nn.Dense(8, 8), nn.Tanh())


class Blocks(nn.Cell):
    def __init__(self, count: int, kind: type[nn.Cell] = Block) -> None:
        super().__init__()
        self.blocks = nn.SequentialCell([kind() for _ in range(count)])

    def construct(self, x, y):
        return ((self.blocks(x) - y) ** 2).mean()


class Guarded(nn.Cell):
    """A loss scale, an overflow check, clipping by the norm of all gradients, and two moments for each parameter."""

    def __init__(self, network: nn.Cell) -> None:
        super().__init__(auto_prefix=False)
        self.network, self.weights = network, network.trainable_params()
        self.optimizer = nn.Adam(self.weights)
        self.gradient = ops.GradOperation(get_by_list=True, sens_param=True)(network, self.weights)

    def construct(self, x, y):
        loss = self.network(x, y)
        status = ops.clear_float_status()
        found = self.gradient(ops.depend(x, status), y, Tensor(1024.0))
        overflow = ops.get_float_status(status, found)
        found = ops.clip_by_global_norm(tuple(g / 1024.0 for g in found), 1.0)
        return loss, ops.cond(overflow, lambda: loss, lambda: ops.depend(loss, self.optimizer(found)))


class Parameters(nn.Cell):
    """Many parameters of one shape."""

    def __init__(self, count: int) -> None:
        super().__init__()
        for k in range(count):
            self.insert_param_to_cell(f"p{k}", Parameter(Tensor(np.full(4, k, np.float32))))

    def construct(self, x, y):
        for p in self.get_parameters():
            x = x * p
        return ((x - y) ** 2).mean()


class Branches(nn.Cell):
    """Many branches and loops, and a state that they write."""

    def __init__(self, count: int) -> None:
        super().__init__()
        self.count, self.state = count, Parameter(Tensor(np.zeros(4, np.float32)), name="state")

    def _added(self, x):
        ops.assign(self.state, self.state + x)
        return x + self.state

    def construct(self, x, y):
        for _ in range(self.count):
            x = ops.cond(x.sum() > 0, lambda x: self._added(x), lambda x: x * y, x)
            x = ops.while_loop(lambda x: x.sum() < 3, lambda x: x + 1.0, x)
        return x


def trained(network: nn.Cell) -> nn.Cell:
    return nn.TrainOneStepCell(network, nn.Adam(network.trainable_params()))


PROGRAMS: dict[str, tuple[Callable[[int], Cell], tuple[int, ...]]] = {
    "training": (lambda n: Guarded(Blocks(n)), (2, 4, 8, 8)),
    "layers": (lambda n: trained(Blocks(8 * n, Layer)), (4, 8)),
    "parameters": (lambda n: trained(Parameters(32 * n)), (4,)),
    "branches": (lambda n: Branches(8 * n), (4,)),
}


def counted(make: Callable[[int], Cell], size: int, shape: tuple[int, ...]) -> tuple[dict[str, int], int]:
    """The calls of functions by stage, and how many nodes the graph has in the end."""
    cell, x = make(size), Tensor(np.ones(shape, np.float32))
    count: dict[str, int] = {}
    made: dict[str, object] = {}

    def stage(name: str, action: Callable[[], object]) -> object:
        def run() -> None:
            made[name] = action()

        count[name] = count.get(name, 0) + calls(run)
        return made[name]

    def each(transforms):
        def watched(transform):
            @wraps(transform)
            def run(*args):
                return stage(transform.__name__, lambda: transform(*args))

            return run

        return tuple(map(watched, transforms))

    stage("key", lambda: State(walk(Names(), [("self", cell)])))
    traced = stage("trace", lambda: trace(cell, *flatten(((x, x), {}))))
    graph = passes.run(traced.graph, each(passes.PIPELINE))[-1].graph
    stage("verify", lambda: verify(graph))
    # What is counted inside counts there alone.
    program = stage("fuse", lambda: lower(graph, threads=2, rewrites=each(REWRITES))).program
    rendered = stage("render", lambda: render(program, host()))
    stage("source", lambda: rendered.source)
    stage("validate", lambda: validate(program))
    return count, graph.count()


@pytest.mark.parametrize("name", PROGRAMS)
def test_twice_the_size_takes_twice_the_work_and_a_node_more_a_few_calls(name, monkeypatch):
    # However little there is to share.
    monkeypatch.setattr(thread_plan, "_WORTH", math.inf)
    make, shape = PROGRAMS[name]
    with debug(verify=0):
        counted(make, 1, shape)  # What is only done once in a process.
        (small, few), (large, many) = (counted(make, size, shape) for size in (SMALL, 2 * SMALL))
    ratios = {stage: large[stage] / small[stage] for stage in small}
    assert {stage: ratio for stage, ratio in ratios.items() if ratio > MOST} == {}
    more = dict.fromkeys(CALLS[name], 0.0)
    for stage in small:
        more[PARTS.get(stage, stage)] += (large[stage] - small[stage]) / (many - few)
    assert {part: calls for part, calls in more.items() if calls > ALLOWED * CALLS[name][part]} == {}
