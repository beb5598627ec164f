"""Max pooling and its gradient become part of convolutions, and only where that changes nothing."""

from __future__ import annotations

import numpy as np
import pytest

from graphc.ir import Graph
from graphc.lower import lower
from graphc.ops.declared import reference
from graphc.passes import pool_before_relu
from graphc.testing import calls, close_to_reference, graph_of, races
from graphc_codegen.run.executable import compile_program

#: A layer of a network and the gradients that training needs of it.
HEAD = """graph @g {
  forward:
    %0 x: f32[20,2,9,8] = Input()
    %1 w: f32[3,2,5,3] = Input()
    %2 b: f32[3] = Input()
    %3 g: f32[20,3,2,3] = Input()
    %4: f32[20,3,5,6] = Conv2D(%0, %1)
"""
BIAS = "%5: f32[20,3,5,6] = BiasAdd(%4, %2)"
POOL = "%6: f32[20,3,2,3] = MaxPool({}) {{kernel=(2, 2), stride=(2, 2)}}"
GRADIENT = "%7: f32[20,3,5,6] = MaxPoolGrad({}, %3) {{kernel=(2, 2), stride=(2, 2)}}"
FILTER = "%8: f32[3,2,5,3] = Conv2DBackpropFilter(%7, %0) {shape=(3, 2, 5, 3)}"
IMAGES = "%9: f32[20,2,9,8] = Conv2DBackpropInput(%7, %1) {shape=(20, 2, 9, 8)}"
SUM = "%10: f32[3] = ReduceSum(%7) {axis=(0, 2, 3)}"


@pytest.fixture(autouse=True)
def small_ones_are_worth_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rather few and small images."""
    monkeypatch.setattr("graphc.lower.convolution.choice._WORTH_BATCH", 0.1)


def text(nodes: list[str], results: str) -> Graph:
    return graph_of(HEAD + "\n".join(f"    {line}" for line in nodes) + f"\n  return {results}\n}}")


CONV, WEIGHTS = "conv2d_batch_winograd", "conv2d_filter_grad_batch_winograd"
PLAIN = [POOL.format("%4"), GRADIENT.format("%4"), FILTER]
CASES = {
    "no gradient": ([POOL.format("%4")], "y=%6", [CONV]),
    "weights": (PLAIN, "y=%6, dw=%8", [CONV, WEIGHTS]),
    "weights and images": ([*PLAIN, IMAGES], "y=%6, dw=%8, dx=%9", [CONV, CONV, WEIGHTS]),
    "bias": (
        [BIAS, POOL.format("%5"), GRADIENT.format("%5"), FILTER, SUM], "y=%6, dw=%8, db=%10", [CONV, WEIGHTS, "reduce"]
    ),
    "the bias is a mean": (
        [*PLAIN, "%10: f32[3] = ReduceMean(%7) {axis=(0, 2, 3)}"], "y=%6, dw=%8, db=%10", [CONV, WEIGHTS, "reduce"]
    ),
    "an epilogue": (
        [*PLAIN, "%11: f32[20,3,2,3] = ReLU(%6)"], "y=%11, dw=%8", [CONV, WEIGHTS]
    ),
    "activation": (
        ["%5: f32[20,3,5,6] = ReLU(%4)", POOL.format("%5"), GRADIENT.format("%5"),
         "%10: f32[20,3,5,6] = ReluGrad(%7, %5)", FILTER.replace("(%7", "(%10")],
        "y=%6, dw=%8", [CONV, WEIGHTS],
    ),
    "the image is read": ([POOL.format("%4")], "y=%6, z=%4", [CONV, "max_pool"]),
    "the gradient is read": (PLAIN, "y=%6, dw=%8, d=%7", [CONV, WEIGHTS, "max_pool", "max_pool_grad"]),
    "maxima of the gradient": (
        [*PLAIN, "%10: f32[3] = ReduceMax(%7) {axis=(0, 2, 3)}"], "y=%6, dw=%8, m=%10",
        [CONV, WEIGHTS, "max_pool", "max_pool_grad", "reduce"],
    ),
    "sums of rows": (
        [*PLAIN, "%10: f32[20,3,5] = ReduceSum(%7) {axis=(3,)}"], "y=%6, dw=%8, m=%10",
        [CONV, WEIGHTS, "max_pool", "max_pool_grad", "reduce"],
    ),
    "the gradient is the image": (
        [POOL.format("%4"), GRADIENT.format("%4"),
         "%8: f32[3,3,1,1] = Conv2DBackpropFilter(%7, %7) {shape=(3, 3, 1, 1)}"],
        "y=%6, dw=%8", [CONV, "conv2d_filter_grad", "max_pool", "max_pool_grad"],
    ),
    "windows overlap": (
        ["%6: f32[20,3,4,5] = MaxPool(%4) {kernel=(2, 2), stride=(1, 1)}"], "y=%6", [CONV, "max_pool"]
    ),
    "windows are padded": (
        ["%6: f32[20,3,3,3] = MaxPool(%4) {kernel=(2, 2), stride=(2, 2), pad=(1, 0, 0, 0)}"], "y=%6", [CONV, "max_pool"]
    ),
    "another operand for the bias": (
        ["%5: f32[20,3,5,6] = Add(%4, %4)", POOL.format("%5")], "y=%6", [CONV, "max_pool"]
    ),
    "two poolings": (
        [POOL.format("%4"), "%7: f32[20,3,1,2] = MaxPool(%4) {kernel=(3, 3), stride=(3, 3)}"], "y=%6, z=%7",
        [CONV, "max_pool", "max_pool"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", list(CASES))
def test_a_convolution_and_its_pooling(name: str) -> None:
    nodes, results, wanted = CASES[name]
    graph = pool_before_relu(text(nodes, results))
    for canary in (False, True):
        lowered = lower(graph, canary=canary)
        close_to_reference(graph, lowered)
        assert sorted(c.kernel.family for c in calls(lowered)) == wanted


@pytest.mark.parametrize("dtype", ["f16", "bf16"])
def test_halves_pool_too(dtype: str) -> None:
    nodes, results, wanted = CASES["bias"]
    graph = graph_of(
        (HEAD + "\n".join(f"    {line}" for line in nodes) + f"\n  return {results}\n}}").replace("f32[", f"{dtype}[")
    )
    assert sorted(c.kernel.family for c in calls(lower(graph))) == wanted


def test_the_checked_mode_agrees() -> None:
    nodes, results, _ = CASES["bias"]
    graph = text(nodes, results)
    lowered = lower(graph)
    rng = np.random.default_rng(1)
    feed = {i: rng.standard_normal(graph.node(i).type.shape).astype(np.float32) for i in graph.inputs}
    step = compile_program(lowered.program, cache_dir=None, checked=True).bind([], list(lowered.constants))
    step.run([feed[i] for i in lowered.inputs])
    for (buffer, type), want in zip(lowered.results, reference.run(graph, feed).results, strict=True):
        np.testing.assert_allclose(step.read(buffer).reshape(type.shape), want, rtol=0, atol=1e-6 * np.abs(want).max())


def test_threads_do_not_race(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRAPHC_NUM_THREADS", "3")
    graph = graph_of("""graph @g {
  forward:
    %0 x: f32[70,1,32,32] = Input()
    %1 w: f32[6,1,5,5] = Input()
    %2 g: f32[70,6,14,14] = Input()
    %3: f32[70,6,28,28] = Conv2D(%0, %1)
    %4: f32[70,6,14,14] = MaxPool(%3) {kernel=(2, 2), stride=(2, 2)}
    %5: f32[70,6,14,14] = ReLU(%4)
    %6: f32[70,6,28,28] = MaxPoolGrad(%3, %2) {kernel=(2, 2), stride=(2, 2)}
    %7: f32[6,1,5,5] = Conv2DBackpropFilter(%6, %0) {shape=(6, 1, 5, 5)}
  return y=%5, dw=%7
}""")
    lowered = lower(graph, threads=3)
    assert [c.kernel.family for c in calls(lowered)] == [CONV, WEIGHTS]
    assert lowered.program.threads == 3
    assert races(lowered.program) == []
    close_to_reference(graph, lowered)


def test_a_bias_that_changes_after_the_convolution_is_added_where_it_has() -> None:
    graph = graph_of("""graph @g {
  state:
    %0 b: f32[3] = Param()
  forward:
    %1 x: f32[20,2,9,8] = Input()
    %2 w: f32[3,2,5,3] = Input()
    %3 d: f32[3] = Input()
    %4: f32[20,3,5,6] = Conv2D(%1, %2)
    %5: f32[3] = Add(%0, %3)
    %6: f32[3] = Assign(%0, %5)
    %7: f32[20,3,5,6] = BiasAdd(%4, %6)
    %8: f32[20,3,2,3] = MaxPool(%7) {kernel=(2, 2), stride=(2, 2)}
  return y=%8
  update %0 = %6  ; b
}""")
    lowered = lower(graph, canary=True)
    assert [c.kernel.family for c in calls(lowered)] == ["map", CONV]
    rng = np.random.default_rng(0)
    feed = {i: rng.standard_normal(graph.node(i).type.shape).astype(np.float32) for i in graph.inputs}
    step = compile_program(lowered.program, cache_dir=None).bind(
        [feed[i].copy() for i in lowered.params], list(lowered.constants)
    )
    step.run([feed[i] for i in lowered.inputs])
    step.check_canaries()
    (want,) = reference.run(graph, feed).results
    got = step.read(lowered.results[0][0]).reshape(want.shape)
    np.testing.assert_allclose(got, want, rtol=0, atol=2e-6 * np.abs(want).max())


def test_inside_branches() -> None:
    graph = graph_of("""graph @g {
  forward:
    %0 x: f32[20,1,9,8] = Input()
    %1 w: f32[2,1,5,5] = Input()
    %2 flag: b1[] = Input()
    %9: f32[20,2,2,2] = If(%2, %0, %1) {then=graph, else=graph}
      then = graph @then {
        takes %3 x: f32[20,1,9,8], %4 w: f32[2,1,5,5]
        forward:
          %5: f32[20,2,5,4] = Conv2D(%3, %4)
          %6: f32[20,2,2,2] = MaxPool(%5) {kernel=(2, 2), stride=(2, 2)}
        return "0"=%6
      }
      else = graph @else {
        takes %7 x: f32[20,1,9,8], %8 w: f32[2,1,5,5]
        forward:
          %10: f32[20,2,5,4] = Conv2D(%7, %8)
          %11: f32[20,2,2,2] = MaxPool(%10) {kernel=(2, 2), stride=(2, 2)}
          %12: f32[20,2,2,2] = Neg(%11)
        return "0"=%12
      }
  return y=%9
}""")
    lowered = lower(graph)
    close_to_reference(graph, lowered)
    assert [c.kernel.family for c in calls(lowered) if c.kernel.family != "map"] == [CONV, CONV]
