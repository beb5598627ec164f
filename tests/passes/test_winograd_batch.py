"""Which convolutions have images as lanes, what memory they get, and that whole programs with them are right."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphc.ir import Graph
from graphc.lower import lower
from graphc.lower.convolution import batch, choice
from graphc.lower.convolution.sizes import Sizes, meetings
from graphc.testing import calls, close_to_reference, graph_of, races
from graphc_codegen.kernels.winograd.batch import Plan
from graphc_codegen.kernels.winograd.batch_filter_grad import GradientPlan
from graphc_codegen.program import NamedKernel

#: LeNet-5's second convolution with all its gradients.
LAYER = """graph @g {
  forward:
    %0 x: f32[48,6,14,14] = Input()
    %1 w: f32[16,6,5,5] = Input()
    %2 dy: f32[48,16,10,10] = Input()
    %3: f32[48,16,10,10] = Conv2D(%0, %1)
    %4: f32[48,16,10,10] = ReLU(%3)
    %5: f32[16,6,5,5] = Conv2DBackpropFilter(%2, %0) {shape=(16, 6, 5, 5)}
    %6: f32[48,6,14,14] = Conv2DBackpropInput(%2, %1) {shape=(48, 6, 14, 14)}
  return a=%4, b=%5, c=%6
}"""
LENET = Sizes(256, 6, 16, 14, 14, 5, 5, 10, 10, 0, 0)


def names(graph: Graph) -> list[str]:
    return [c.kernel.name for c in calls(lower(graph)) if isinstance(c.kernel, NamedKernel)]


@pytest.mark.parametrize("threads", [1, 3])
def test_programs_agree_with_the_interpreter(threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRAPHC_NUM_THREADS", str(threads))
    graph = graph_of(LAYER)
    assert sorted(names(graph)) == ["conv2d_batch_winograd"] * 2 + ["conv2d_filter_grad_batch_winograd"]
    lowered = lower(graph, canary=threads == 1, threads=threads)
    assert races(lowered.program) == []
    close_to_reference(graph, lowered)


@pytest.mark.parametrize(
    ("sizes", "threads"),
    [
        (Sizes(8, 6, 16, 14, 14, 5, 5, 10, 10, 0, 0), 1),
        (LENET, 64),
        (Sizes(256, 6, 16, 140, 140, 5, 5, 136, 136, 0, 0), 1),
        (Sizes(256, 6, 16, 14, 14, 8, 8, 7, 7, 0, 0), 1),
        (Sizes(256, 6, 16, 14, 14, 1, 5, 14, 10, 0, 0), 1),
        (Sizes(256, 6, 16, 14, 14, 5, 5, 8, 10, -1, 0), 1),
    ],
    ids=["few images", "threads without images", "large images", "high kernel", "flat kernel", "cut"],
)
def test_others_stay_direct(sizes: Sizes, threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRAPHC_NUM_THREADS", str(threads))
    assert choice.kernel(sizes, transposed=False) == "conv2d"
    assert choice.gradient_kernel(sizes) == "conv2d_filter_grad"


def test_one_channel_is_worth_it_for_the_weights_and_with_pooling() -> None:
    first = Sizes(256, 1, 6, 32, 32, 5, 5, 28, 28, 0, 0)
    assert choice.pools(first, (2, 2), 1)
    assert choice.pools(first, (2, 2), 0)
    assert choice.pools(LENET, (2, 2), 0)
    assert not choice.pools(first, (7, 7), 1)
    assert not choice.pools(replace(first, n=4), (2, 2), 1)
    assert not choice.pools(replace(first, kh=1, oh=32), (2, 2), 1)
    assert choice.kernel(first, transposed=False) == "conv2d"
    assert choice.gradient_kernel(first) == "conv2d_filter_grad_batch_winograd"


@given(
    sizes=st.builds(
        Sizes, n=st.integers(1, 70), ci=st.integers(1, 9), co=st.integers(1, 9), h=st.integers(1, 20), w=st.integers(1, 20),
        kh=st.integers(2, 7), kw=st.integers(2, 6), oh=st.integers(1, 20), ow=st.integers(1, 20), top=st.integers(0, 4),
        left=st.integers(0, 4),
    )
)  # fmt: skip
def test_memory_is_what_the_kernels_need(sizes: Sizes) -> None:
    for transposed in (False, True):
        if batch.points(sizes, transposed=transposed):
            more = batch.params(sizes, transposed=transposed)
            plan = Plan.of(sizes.params() | more | {"transposed": transposed})
            assert more["scratch"] == plan.fixed + more["parts"] * plan.region
    if batch.gradient_points(sizes):
        more = batch.gradient_params(sizes)
        gradient = GradientPlan.of(sizes.params() | more)
        assert more["scratch"] == more["parts"] * gradient.region


def test_eight_points_are_for_high_kernels_and_long_sums() -> None:
    assert batch.points(LENET, transposed=False) == 8
    assert batch.gradient_points(LENET) == 8
    few, low, high = (replace(LENET, **changed) for changed in ({"ci": 2}, {"kh": 3}, {"kh": 7, "oh": 8}))
    for sizes, count in ((few, 6), (low, 6), (high, 8), (replace(high, ci=2), 0)):
        assert batch.points(sizes, transposed=False) == count


def test_taps_that_meet_pixels() -> None:
    assert meetings(10, 6, 5, 0) == 30
    assert meetings(10, 14, 5, 4) == 50
    assert meetings(1, 3, 1, 3) == 0
