"""The overflow check of a product's result is in the product, where nothing changes the result afterwards."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from graphc.ir import Graph
from graphc.lower import lower
from graphc.testing import agree_everywhere, calls, graph_of, small_integers
from graphc_codegen import compile_program
from graphc_codegen.program import NamedKernel

HEAD = """graph @g {
  state:
    %0 p: f32[20,20] = Param()
  forward:
    %1 x: f32[20,20] = Input()
    %3: i32[8] = ClearFloatStatus()
    %4: f32[20,20] = Depend(%1) after(%3)
    %5: f32[20,20] = MatMul(%4, %0) {transpose_a=True}
"""

#: name -> (nodes, results, whether the product marks each output that is checked, how many arrays each check reads)
CASES = {
    "the result": ("%9: b1[] = GetFloatStatus(%3, %5)", "y=%5, bad=%9", [1], [1]),
    "what an epilogue makes of it": (
        "%6: f32[20,20] = Div(%5, %1)\n%9: b1[] = GetFloatStatus(%3, %6)", "y=%6, bad=%9", [1], [1]
    ),
    "one of two results": (
        "%6: f32[20,20] = Div(%5, %1)\n%9: b1[] = GetFloatStatus(%3, %6)", "y=%6, z=%5, bad=%9", [1], [1]
    ),
    "the other one": (
        "%6: f32[20,20] = Div(%5, %1)\n%9: b1[] = GetFloatStatus(%3, %5)", "y=%6, z=%5, bad=%9", [1], [1]
    ),
    "both of them, by one check": (
        "%6: f32[20,20] = Div(%5, %1)\n%9: b1[] = GetFloatStatus(%3, %5, %6)", "y=%6, z=%5, bad=%9", [1], [2]
    ),
    "something else beside it": (
        "%6: f32[20] = ReduceSum(%4) {axis=(0,)}\n%9: b1[] = GetFloatStatus(%3, %6, %5)", "y=%5, bad=%9", [1], [2]
    ),
    "twice": (
        "%8: b1[] = GetFloatStatus(%3, %5)\n%9: b1[] = GetFloatStatus(%3, %5, %4)", "y=%8, bad=%9", [1], [1, 2]
    ),
    "two products": (
        "%6: f32[20,20] = MatMul(%4, %4)\n%9: b1[] = GetFloatStatus(%3, %5, %6)", "y=%5, bad=%9", [1, 1], [2]
    ),
    "a product that takes no epilogue": (
        "%6: f32[20,20] = MatMul(%4, %4) {transpose_a=True, transpose_b=True}\n%9: b1[] = GetFloatStatus(%3, %6)",
        "y=%5, bad=%9", [0, 0], [1],
    ),
    "AllFinite": ("%9: b1[] = AllFinite(%5)", "y=%5, bad=%9", [1], [1]),
    "reshaped": (
        "%6: f32[400] = Reshape(%5) {shape=(400,)}\n%9: b1[] = GetFloatStatus(%3, %6)", "y=%6, bad=%9", [1], [1]
    ),
    "part of it": (
        "%6: f32[10,20] = Slice(%5) {begin=(0, 0), size=(10, 20), step=(1, 1)}\n%9: b1[] = GetFloatStatus(%3, %6)",
        "y=%6, bad=%9", [0], [1],
    ),
}  # fmt: skip


def text(nodes: str, results: str) -> Graph:
    return graph_of(HEAD + "\n".join(f"    {line}" for line in nodes.splitlines()) + f"\n  return {results}\n}}")


def marked(graph: Graph) -> tuple[list[int], list[int]]:
    """For every product whether it marks something; for every check how many arrays it reads."""
    kernels = [c.kernel for c in calls(lower(graph, threads=2)) if isinstance(c.kernel, NamedKernel)]
    products = [int("marks" in dict(k.params)) for k in kernels if k.name == "gemm"]
    return products, [len(dict(k.params)["sizes"]) for k in kernels if k.name == "float_status"]  # type: ignore[arg-type]


@pytest.mark.parametrize("name", list(CASES))
def test_where_overflow_is_checked(name: str) -> None:
    nodes, results, products, checks = CASES[name]
    graph = text(nodes, results)
    assert marked(graph) == (products, checks)
    agree_everywhere(graph, _positive(graph))
    for value, place in itertools.product((np.inf, -np.inf, np.nan), ((0, 0), (19, 19))):
        inputs = _positive(graph)
        inputs[1][place] = value
        agree_everywhere(graph, inputs)


def _positive(graph: Graph) -> dict[int, np.ndarray]:
    """Powers of two: quotients are exact."""
    inputs = small_integers(graph)
    inputs[1] = np.exp2(np.abs(inputs[1]) // 2)
    return inputs


@pytest.mark.parametrize("checked", [False, True])
def test_a_result_that_overflows_in_the_product(checked: bool) -> None:
    """All operands are finite, in float64 the result is too."""
    lowered = lower(text("%9: b1[] = GetFloatStatus(%3, %5)", "bad=%9"))
    large = np.full((20, 20), 2.0**62, np.float32)
    step = compile_program(lowered.program, cache_dir=None, checked=checked).bind([large], [])
    found = []
    for x in (large / 8, large * 8, large / 8):
        step.run([x])
        found.append(bool(step.read(lowered.results[0][0])))
    assert found == [False, True, False]


def test_what_is_written_over_the_result_is_checked_not_the_result() -> None:
    """The sum stands where the gradient stood: its place may not be marked by the product."""
    graph = text(
        "%6: f32[20] = ReduceSum(%5) {axis=(0,)}\n%7: f32[20,20] = Add(%5, %6)\n"
        "%9: b1[] = GetFloatStatus(%3, %7)", "y=%7, bad=%9",
    )  # fmt: skip
    assert marked(graph) == ([0], [1])
    agree_everywhere(graph)
