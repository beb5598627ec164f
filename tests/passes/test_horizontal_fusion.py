"""Equal loops on different operands are one call, where their order does not matter."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

import graphc
from graphc import nn
from graphc.ir import Graph
from graphc.lower import REWRITES, lower
from graphc.lower.horizontal_fusion import join_calls
from graphc.testing import agree_everywhere, calls, graph_of
from graphc_codegen.program import LoopKernel

HEAD = """graph @g {
  state:
    %0 p: f32[5] = Param()
    %1 q: f32[5] = Param()
  forward:
    %2 x: f32[5] = Input()
    %3 y: f32[5] = Input()
"""


def graph(nodes: str, results: str) -> Graph:
    body = "\n".join(f"    {line}" for line in nodes.splitlines())
    return graph_of(f"{HEAD}{body}\n  return {results}\n}}")


def times(made: Graph) -> list[int]:
    return [c.kernel.times for c in calls(lower(made)) if isinstance(c.kernel, LoopKernel)]


CASES = {
    "independent": ("%4: f32[] = ReduceSum(%2) {axis=(0,)}\n%5: f32[] = ReduceSum(%3) {axis=(0,)}", "a=%4, b=%5", [2]),
    "the second reads the first": (
        "%4: f32[] = ReduceMax(%2) {axis=(0,)}\n%5: f32[5] = Sub(%3, %4)\n%6: f32[] = ReduceMax(%5) {axis=(0,)}",
        "a=%6, b=%4",
        [1, 1],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", list(CASES))
def test_equal_loops(name: str) -> None:
    nodes, results, wanted = CASES[name]
    made = graph(nodes, results)
    agree_everywhere(made)
    assert times(made) == wanted


def train_cell(depth: int) -> nn.Cell:
    net = nn.SequentialCell(*[nn.Dense(8, 8, activation="relu") for _ in range(depth)])
    loss = nn.WithLossCell(net, nn.MSELoss())
    cell = nn.TrainOneStepCell(loss, nn.Adam(net.trainable_params(), 0.01))
    cell.set_train()
    return cell


def test_all_parameters_of_a_shape_are_updated_by_one_call() -> None:
    x = np.ones((4, 8), np.float32)
    deep, shallow = (graphc.compile(train_cell(depth), x, x) for depth in (9, 3))
    assert max(c.kernel.times for c in deep._lowered.program.calls() if isinstance(c.kernel, LoopKernel)) == 9
    assert len(deep._lowered.program.kernels()) <= len(shallow._lowered.program.kernels()) + 2


def test_updates_joined_or_not_give_the_same_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.random.default_rng(0).standard_normal((4, 8)).astype(np.float32)

    def losses() -> list[float]:
        graphc.set_seed(5)
        step = graphc.compile(train_cell(4), x, x)
        return [float(step(x, x)) for _ in range(5)]

    joined = losses()
    apart = [rewrite for rewrite in REWRITES if rewrite is not join_calls]
    monkeypatch.setattr("graphc.steps.compiled_step.lower", partial(lower, rewrites=apart))
    assert losses() == joined
