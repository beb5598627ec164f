"""Loops over the same rows become one kernel, where each row of what they exchange stays in its row."""

from __future__ import annotations

from collections.abc import Iterator
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import graphc
from graphc import nn
from graphc.ir import Graph
from graphc.lower import chains, lower
from graphc.passes import run
from graphc.testing import agree, agree_everywhere, calls, graph_of, seeded_graph, small_integers
from graphc_codegen.program import ChainKernel


@pytest.fixture(autouse=True)
def small_loops_count() -> Iterator[None]:
    with patch.multiple(chains, SMALLEST=1, _LEAST_ROWS=1, _SHORTEST=1):
        yield


def graph(nodes: str, results: str) -> Graph:
    lines = "\n".join(f"    {line}" for line in nodes.splitlines())
    return graph_of(f"""graph @g {{
  state:
    %0 p: f32[5,5,7] = Param()
  forward:
    %1 x: f32[5,5,7] = Input()
    %2 m: f32[7] = Input()
{lines}
  return {results}
}}""")


def found(of: Graph) -> list[tuple[int, int, int]]:
    """Rows, loops and private operands of every chain."""
    agree_everywhere(of)
    kernels = [c.kernel for c in calls(lower(of)) if isinstance(c.kernel, ChainKernel)]
    return [(k.rows, len(k.loops), k.private) for k in kernels]


CENTRED = "%3: f32[5,5,1] = ReduceMax(%1) {axis=(2,), keep_dims=True}\n%4: f32[5,5,7] = Sub(%1, %3)\n"
#: name -> (nodes, results, chains)
CASES = {
    "centred rows": (CENTRED, "y=%4", [(2, 2, 1)]),
    "rows whose maximum is wanted": (CENTRED, "y=%4, max=%3", [(2, 2, 0)]),
    "sums of centred rows, and what they divide": (
        CENTRED + "%5: f32[5,5,1] = ReduceSum(%4) {axis=(2,), keep_dims=True}\n%6: f32[5,5,1] = Abs(%5)\n"
        "%7: f32[5,5,7] = Mul(%4, %6)\n%8: f32[5,5,7] = Add(%7, %2)", "y=%8", [(2, 4, 4)]
    ),
    "two axes of each row reduced": (
        "%3: f32[5,1,1] = ReduceSum(%1) {axis=(1, 2), keep_dims=True}\n%4: f32[5,5,7] = Sub(%1, %3)", "y=%4", [(1, 2, 1)]
    ),
    "rows of rows": (
        "%3: f32[5,5] = ReduceMax(%1) {axis=(2,)}\n%4: f32[5] = ReduceSum(%3) {axis=(1,)}\n"
        "%5: f32[5,5] = Neg(%3)", "y=%4, z=%5", [(1, 2, 1)]
    ),
    "reductions of one array over different axes": (
        "%3: f32[5,5] = ReduceMax(%1) {axis=(2,)}\n%4: f32[5] = ReduceSum(%1) {axis=(1, 2)}", "y=%3, z=%4", [(1, 2, 0)]
    ),
    "sums of columns": (
        "%3: f32[5,7] = ReduceSum(%1) {axis=(0,)}\n%4: f32[5,5,7] = Sub(%1, %3)", "y=%4", []
    ),
    "rows in another order": (
        CENTRED + "%5: f32[5,5] = ReduceSum(%4) {axis=(2,)}\n%6: f32[5,5,7] = Transpose(%4) {perm=(1, 0, 2)}\n"
        "%7: f32[5,5,7] = Add(%6, %1)", "y=%7, z=%5", [(2, 2, 1)]
    ),
    "rows turned inside": (
        CENTRED + "%6: f32[5,7,5] = Transpose(%4) {perm=(0, 2, 1)}\n%7: f32[5,7,5] = Neg(%6)\n"
        "%8: f32[5,7] = ReduceSum(%7) {axis=(2,)}", "y=%7, z=%8", [(1, 3, 2)]
    ),
    "rows beside each other": (
        "%3: f32[5,7,5] = Transpose(%1) {perm=(0, 2, 1)}\n%4: f32[5,7,1] = ReduceSum(%3) {axis=(2,), keep_dims=True}\n"
        "%5: f32[5,7,5] = Sub(%3, %4)", "y=%5", [(1, 2, 2)]
    ),
    "a product between them": (
        "%3: f32[5,5,1] = ReduceMax(%1) {axis=(2,), keep_dims=True}\n%5: f32[5,5] = Reshape(%3) {shape=(5, 5)}\n"
        "%6: f32[5,5] = MatMul(%5, %5)\n%7: f32[5,5,1] = Reshape(%6) {shape=(5, 5, 1)}\n"
        "%4: f32[5,5,7] = Sub(%1, %3)\n%8: f32[5,5,7] = Add(%4, %7)", "y=%8", []
    ),
    "a parameter changed in place": (
        "%3: f32[5,5,1] = ReduceMax(%0) {axis=(2,), keep_dims=True}\n%4: f32[5,5,7] = Sub(%0, %3)\n"
        "%5: f32[5,5,7] = Assign(%0, %4)", "y=%3\n  update %0 = %5  ; p", []
    ),
    "other sizes": (
        CENTRED + "%6: f32[5,5,14] = Concat(%4, %1) {axis=2}\n%7: f32[5,5,14] = Neg(%6)", "y=%7", None
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", list(CASES))
def test_chains(name: str) -> None:
    nodes, results, wanted = CASES[name]
    got = found(graph(nodes, results))
    assert wanted is None or got == wanted


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.integers(0, 10**6), st.booleans())
def test_random_graphs(seed: int, checked: bool) -> None:
    of = run(seeded_graph(seed, 30))[-1].graph
    agree(of, small_integers(of), checked=checked, canary=not checked)
    agree(of, small_integers(of), checked=False, threads=3)


def test_long_rows_need_a_large_second_cache() -> None:
    """Those of pairs are no rows: what is summed up is read for each."""
    size = 5000
    norm = graph_of(f"""graph @g {{
  forward:
    %0 x: f32[20,{size}] = Input()
    %1: f32[20,1] = ReduceMax(%0) {{axis=(1,), keep_dims=True}}
    %2: f32[20,{size}] = Sub(%0, %1)
  return y=%2
}}""")
    pairs = graph_of("""graph @g {
  forward:
    %0 x: f32[20,1,50] = Input()
    %1 y: f32[1,100,50] = Input()
    %2: f32[20,100,50] = Sub(%0, %1)
    %3: f32[20,100] = ReduceMax(%2) {axis=(2,)}
    %4: f32[20,1] = ReduceMax(%3) {axis=(1,), keep_dims=True}
    %5: f32[20,100] = Sub(%3, %4)
  return y=%5
}""")
    found = [len(list(calls(lower(norm, cache=lambda size=size: size)))) for size in (0, 1 << 20, 1 << 21)]
    assert found == [2, 2, 1]
    assert len(list(calls(lower(pairs, cache=lambda: 1 << 21)))) == 2
    agree_everywhere(norm)


def blocks(depth: int) -> nn.Cell:
    layers = [layer for _ in range(depth) for layer in (nn.LayerNorm((24,)), nn.Dense(24, 24))]
    loss = nn.WithLossCell(nn.SequentialCell(*layers, nn.LayerNorm((24,))), nn.MSELoss())
    cell = nn.TrainOneStepCell(loss, nn.SGD(loss.trainable_params(), 0.01))
    cell.set_train()
    return cell


def steps(depth: int) -> tuple[list[ChainKernel], list[float]]:
    """The chains of a few training steps, and their losses."""
    x = np.random.default_rng(0).standard_normal((30, 24)).astype(np.float32)
    graphc.set_seed(5)
    step = graphc.compile(blocks(depth), x, x)
    found = [c.kernel for c in step._lowered.program.calls() if isinstance(c.kernel, ChainKernel)]
    return found, [float(step(x, x)) for _ in range(4)]


def test_equal_layers_share_their_chains() -> None:
    few, many = steps(6)[0], steps(10)[0]
    assert len(many) >= len(few) + 8
    assert len(set(many)) == len(set(few))


def test_chains_or_not_the_losses_are_the_same() -> None:
    found, losses = steps(2)
    with patch.object(chains, "SMALLEST", 1 << 20):
        none, others = steps(2)
    assert found
    assert not none
    np.testing.assert_allclose(losses, others, rtol=1e-5)
