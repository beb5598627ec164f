"""Reductions of the same operands are one loop, also where something needs the first of them before the last is reached."""

from __future__ import annotations

import pytest

from graphc.lower import lower
from graphc.testing import agree_everywhere, calls, graph_of

HEAD = """\
graph @case {
  forward:
    %0 x: f32[16,2048] = Input()
    %1 y: f32[16,2048] = Input()
    %2 w: f32[16,1] = Input()
"""
FIRST = "%3: f32[16] = ReduceSum(%0) {axis=(1,)}\n%4: f32[] = ReduceSum(%3) {axis=(0,)}\n"

#: name -> (nodes, results, calls)
CASES = {
    "a sum of products after the first": (
        FIRST + "%5: f32[16,2048] = Mul(%0, %1)\n%6: f32[16] = ReduceSum(%5) {axis=(1,)}", "a=%4, b=%6", 2),
    "of what the other's loop makes": (
        "%3: f32[16,2048] = Mul(%0, %2)\n%4: f32[16] = ReduceSum(%3) {axis=(1,)}\n%5: f32[] = ReduceSum(%4) {axis=(0,)}"
        "\n%6: f32[16,2048] = Neg(%3)\n%7: f32[16] = ReduceMax(%6) {axis=(1,)}", "a=%5, b=%7", 2),
    "nothing shared": (
        FIRST + "%5: f32[16] = ReduceMax(%1) {axis=(1,)}", "a=%4, b=%5", 3),
    "other axes": (
        FIRST + "%5: f32[2048] = ReduceSum(%0) {axis=(0,)}", "a=%4, b=%5", 3),
    "one that needs the other": (
        "%3: f32[16] = ReduceMean(%0) {axis=(1,)}\n%4: f32[16,1] = Reshape(%3) {shape=(16, 1)}"
        "\n%5: f32[16,2048] = Sub(%0, %4)\n%6: f32[16] = ReduceMax(%5) {axis=(1,)}", "a=%6", 2),
    "one that needs what comes of the other": (
        FIRST + "%5: f32[16,2048] = Mul(%0, %4)\n%6: f32[16] = ReduceSum(%5) {axis=(1,)}", "a=%6", 3),
    "one that waits for what comes of the other": (
        FIRST + "%5: f32[16] = ReduceMax(%0) {axis=(1,)} after(%4)", "a=%4, b=%5", 3),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_one_sweep(case: str) -> None:
    nodes, results, count = CASES[case]
    body = "\n".join(f"    {line}" for line in nodes.split("\n"))
    graph = graph_of(f"{HEAD}{body}\n  return {results}\n}}")
    assert len(calls(lower(graph))) == count
    agree_everywhere(graph)
