"""What a loop would store for a later one is computed again where that is cheaper."""

from __future__ import annotations

from collections.abc import Iterator
from unittest.mock import patch

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from graphc.ir import Graph
from graphc.lower import lower, recompute
from graphc.passes import run
from graphc.testing import agree, agree_everywhere, calls, graph_of, seeded_graph, small_integers
from graphc_codegen.program import LoopKernel


@pytest.fixture(autouse=True)
def small_loops_count() -> Iterator[None]:
    with patch.object(recompute, "SMALLEST", 1):
        yield


def graph(nodes: str, results: str) -> Graph:
    """A loop, a product that separates it from what follows, and another loop."""
    lines = "\n".join(f"    {line}" for line in nodes.splitlines())
    return graph_of(f"""graph @g {{
  state:
    %0 p: f32[8,8] = Param()
  forward:
    %1 x: f32[8,8] = Input()
    %2 m: f32[8] = Input()
    %20: f32[] = Fill() {{dtype="float32", shape=(), value=3.0}}
{lines}
  {results}
}}""")


def loops(of: Graph) -> list[tuple[int, int]]:
    """The number of inputs and outputs of every loop."""
    agree_everywhere(of)
    kernels = [c.kernel for c in calls(lower(of)) if isinstance(c.kernel, LoopKernel) and c.note != "copy"]
    return [(len(k.inputs), len(k.outputs)) for k in kernels]


#: Takes no loop as its epilogue.
BOTH = "{transpose_a=True, transpose_b=True}"
PRODUCT = f"%9: f32[8,8] = MatMul(%4, %4) {BOTH}\n"

#: name -> (nodes, results, (inputs, outputs) of the loops)
CASES = {
    "a cheap value": (
        "%3: f32[8,8] = Mul(%1, %1)\n%4: f32[8,8] = Abs(%3)\n" + PRODUCT + "%10: f32[8,8] = Mul(%9, %3)\n"
        "%11: f32[8,8] = Mul(%10, %1)", "return y=%11", [(1, 1), (2, 1)]
    ),
    "one that is dear": (
        "%3: f32[8,8] = FloorMod(%1, %20)\n%4: f32[8,8] = Neg(%3)\n" + PRODUCT + "%10: f32[8,8] = Mul(%9, %3)",
        "return y=%10", [(1, 2), (2, 1)]
    ),
    "one that follows what is dear": (
        "%3: f32[8,8] = FloorMod(%1, %20)\n%5: f32[8,8] = Neg(%3)\n%4: f32[8,8] = Mul(%5, %1)\n" + PRODUCT +
        "%10: f32[8,8] = Mul(%9, %5)\n%11: f32[8,8] = Add(%10, %3)", "return y=%11", [(1, 2), (2, 1)]
    ),
    "a result": (
        "%3: f32[8,8] = Neg(%1)\n%4: f32[8,8] = Abs(%3)\n" + PRODUCT + "%10: f32[8,8] = Mul(%9, %3)\n"
        "%11: f32[8,8] = Mul(%10, %1)", "return y=%11, z=%3", [(1, 2), (3, 1)]
    ),
    "one that a kernel reads": (
        f"%3: f32[8,8] = Neg(%1)\n%4: f32[8,8] = Abs(%3)\n%9: f32[8,8] = MatMul(%4, %3) {BOTH}\n%10: f32[8,8] = Mul(%9, %3)\n"
        "%11: f32[8,8] = Mul(%10, %1)", "return y=%11", [(1, 2), (3, 1)]
    ),
    "of an operand and a row": (
        "%3: f32[8,8] = Sub(%1, %2)\n%4: f32[8,8] = Abs(%3)\n" + PRODUCT + "%10: f32[8,8] = Mul(%9, %3)",
        "return y=%10", [(2, 1), (3, 1)]
    ),
    "of two operands": (
        "%3: f32[8,8] = Sub(%1, %0)\n%4: f32[8,8] = Abs(%3)\n" + PRODUCT + "%10: f32[8,8] = Mul(%9, %3)",
        "return y=%10", [(2, 1), (3, 1)]
    ),
    "of what is kept instead, for two loops": (
        "%3: f32[8,8] = FloorMod(%1, %20)\n%5: f32[8,1] = ReduceMax(%3) {axis=(1,), keep_dims=True}\n%6: f32[8,8] = Sub(%3, %5)\n"
        "%4: f32[8,8] = Abs(%6)\n" + PRODUCT + "%7: f32[8,8] = Mul(%9, %6)\n%10: f32[8,8] = Sign(%7)\n"
        f"%11: f32[8,8] = MatMul(%10, %10) {BOTH}\n%12: f32[8,8] = Mul(%11, %6)",
        "return y=%12", [(1, 2), (2, 1), (3, 1), (3, 1)]
    ),
    "of two operands, for three loops": (
        "%3: f32[8,8] = Sub(%1, %0)\n%4: f32[8,8] = Sign(%3)\n" + PRODUCT +
        "%7: f32[8,8] = Mul(%9, %3)\n%10: f32[8,8] = Sign(%7)\n"
        f"%11: f32[8,8] = MatMul(%10, %10) {BOTH}\n%8: f32[8,8] = Mul(%11, %3)\n%12: f32[8,8] = Sign(%8)\n"
        f"%13: f32[8,8] = MatMul(%12, %12) {BOTH}\n%14: f32[8,8] = Mul(%13, %3)",
        "return y=%14", [(2, 2), (2, 1), (2, 1), (2, 1)]
    ),
    "of a parameter that changes later": (
        "%3: f32[8,8] = Mul(%1, %0)\n%4: f32[8,8] = Abs(%3)\n" + PRODUCT + "%10: f32[8,8] = Mul(%9, %3)\n"
        f"%8: f32[8,8] = MatMul(%10, %9) {BOTH}\n%5: f32[8,8] = Add(%0, %8)",
        "return y=%10\n  update %0 = %5  ; p", [(2, 1), (3, 1), (2, 1)]
    ),
    "of a parameter that changes in between": (
        "%3: f32[8,8] = Neg(%0)\n%4: f32[8,8] = Abs(%3)\n" + PRODUCT + "%5: f32[8,8] = Add(%0, %9)\n"
        f"%8: f32[8,8] = MatMul(%5, %9) {BOTH}\n%10: f32[8,8] = Mul(%8, %3)",
        "return y=%10\n  update %0 = %5  ; p", [(1, 2), (2, 1), (2, 1)]
    ),
    "read elsewhere": (
        "%3: f32[8,8] = Neg(%1)\n%4: f32[8,8] = Abs(%3)\n" + PRODUCT +
        "%10: f32[8,8] = Transpose(%3) {perm=(1, 0)}\n%11: f32[8,8] = Mul(%9, %10)",
        "return y=%11", None
    ),
    "after a reduction, and before one": (
        "%3: f32[8,1] = ReduceMax(%1) {axis=(1,), keep_dims=True}\n%5: f32[8,8] = Sub(%1, %3)\n"
        "%4: f32[8,8] = Abs(%5)\n" + PRODUCT + "%10: f32[8,8] = Mul(%9, %5)\n%11: f32[8] = ReduceSum(%10) {axis=(1,)}",
        "return y=%11", [(1, 1), (2, 1), (3, 1)]
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", list(CASES))
def test_what_loops_read_and_store(name: str) -> None:
    nodes, results, wanted = CASES[name]
    found = loops(graph(nodes, results))
    assert wanted is None or found == wanted


@pytest.mark.parametrize(("near", "wanted"), [(8, [(2, 1), (3, 1)]), (0, [(2, 2), (2, 1)])])
def test_the_result_of_a_product_is_kept_for_a_while_only(near: int, wanted: list[tuple[int, int]]) -> None:
    nodes = f"%3: f32[8,8] = MatMul(%1, %1) {BOTH}\n%5: f32[8,8] = Sub(%3, %2)\n%4: f32[8,8] = Abs(%5)\n{PRODUCT}"
    with patch.object(recompute, "_NEAR", near):
        assert loops(graph(nodes + "%10: f32[8,8] = Mul(%9, %5)", "return y=%10")) == wanted


@pytest.mark.parametrize("last", ["Mul(%61, %3)", "Neg(%61)"])
def test_a_loop_that_nobody_needs_any_more_is_gone(last: str) -> None:
    """A square is wanted long after it could have been made."""
    nodes = "%3: f32[8,8] = FloorMod(%1, %20)\n%5: f32[8,8] = MatMul(%3, %3)\n%6: f32[8,8] = Square(%3)\n"
    nodes += "\n".join(f"%{i}: f32[8,{i}] = BroadcastTo(%30) {{shape=(8, {i})}}" for i in range(40, 47)).join(
        ["%30: f32[8,1] = ReduceSum(%5) {axis=(1,), keep_dims=True}\n", "\n%60: f32[8,8] = MatMul(%5, %5)\n"]
    )
    nodes += "%61: f32[8,8] = Mul(%60, %6)\n%62: f32[8,8] = " + last
    results = ", ".join(f"r{i}=%{i}" for i in range(40, 47))
    of = graph(nodes, f"return y=%62, {results}")
    agree_everywhere(of)
    assert not any(c.note == "%6 Square" for c in calls(lower(of)))


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.integers(0, 10**6), st.booleans())
def test_random_graphs(seed: int, checked: bool) -> None:
    of = run(seeded_graph(seed, 30))[-1].graph
    agree(of, small_integers(of), checked=checked, canary=not checked)


def test_large_loops_only() -> None:
    nodes, results, _ = CASES["a cheap value"]
    with patch.object(recompute, "SMALLEST", 65):
        assert loops(graph(nodes, results)) == [(1, 2), (3, 1)]


def test_float32_of_halves_alone_is_made_again_beside_what_is_read_anyway() -> None:
    """The second loop reads the half operand for the cast; the tanh of it costs no more reading, and is not kept either."""
    of = graph_of("""graph @halves {
  forward:
    %0 x: bf16[64,64] = Input()
    %1: f32[64,64] = Cast(%0) {dtype="float32"}
    %2: f32[64,64] = Tanh(%1)
    %3: f32[64,64] = Mul(%1, %2)
    %4: bf16[64,64] = Cast(%3) {dtype="bfloat16"}
    %5: bf16[64,64] = MatMul(%4, %4) {transpose_a=True, transpose_b=True}
    %6: f32[64,64] = Cast(%5) {dtype="float32"}
    %7: f32[64,64] = Mul(%6, %2)
    %8: f32[64,64] = Mul(%7, %1)
  return y=%8
}""")
    first, *_ = [c.kernel for c in calls(lower(of)) if isinstance(c.kernel, LoopKernel) and "Tanh" in c.note]
    assert [o.access.dtype for o in first.outputs] == ["bfloat16"]
