"""Products read and write rearranged tensors where they lie: each case runs three ways, in as few calls as it can."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from graphc.ir import Graph, verify
from graphc.ir.lowering import View
from graphc.lower import lower
from graphc.lower.views import Views
from graphc.ops.declared import reference
from graphc.testing import agree, agree_everywhere, calls, graph_of, small_integers
from graphc_codegen import compile_program

HEAD = """\
graph @case {
  state:
    %0 p: f32[4,6] = Param()
  forward:
    %1 x: f32[2,4,6] = Input()
    %2 y: f32[2,6,5] = Input()
    %3 wide: f32[2,4,12] = Input()
"""

#: name -> (nodes, results, updates, calls)
CASES = {
    "a transposed operand": (
        "%4: f32[6,4] = Transpose(%0) {perm=(1, 0)}\n%5: f32[6,6] = MatMul(%4, %0)", "a=%5", {}, 1),
    "both operands are one": (
        "%4: f32[6,4] = Transpose(%0) {perm=(1, 0)}"
        "\n%5: f32[6,6] = MatMul(%4, %4) {transpose_b=True}", "a=%5", {}, 1),
    "a transposed result": (
        "%4: f32[2,4,5] = BatchMatMul(%1, %2)\n%5: f32[2,5,4] = Transpose(%4) {perm=(0, 2, 1)}", "a=%5", {}, 1),
    "a result with the batch inside": (
        "%4: f32[2,4,5] = BatchMatMul(%1, %2)\n%5: f32[4,2,5] = Transpose(%4) {perm=(1, 0, 2)}"
        "\n%6: f32[4,10] = Reshape(%5) {shape=(4, 10)}", "a=%6", {}, 1),
    "a result whose matrices are scattered": (
        "%4: f32[2,4,5] = BatchMatMul(%1, %2)\n%5: f32[4,5,2] = Transpose(%4) {perm=(1, 2, 0)}", "a=%5", {}, 2),
    "a transposed result and itself": (
        "%4: f32[2,4,5] = BatchMatMul(%1, %2)\n%5: f32[2,5,4] = Transpose(%4) {perm=(0, 2, 1)}", "a=%5, b=%4", {}, 2),
    "a transposed result, used by a loop": (
        "%4: f32[2,4,5] = BatchMatMul(%1, %2)\n%5: f32[2,5,4] = Transpose(%4) {perm=(0, 2, 1)}"
        "\n%6: f32[2,5,4] = Neg(%5)", "a=%6", {}, 2),
    "a result turned and turned again": (
        "%4: f32[2,4,5] = BatchMatMul(%1, %2)\n%5: f32[2,5,4] = Transpose(%4) {perm=(0, 2, 1)}"
        "\n%6: f32[4,2,5] = Transpose(%5) {perm=(2, 0, 1)}", "a=%6", {}, 1),
    "a result turned, and once more than can be written": (
        "%4: f32[2,4,5] = BatchMatMul(%1, %2)\n%5: f32[2,5,4] = Transpose(%4) {perm=(0, 2, 1)}"
        "\n%6: f32[5,4,2] = Transpose(%5) {perm=(1, 2, 0)}", "a=%6", {}, 2),
    "results side by side": (
        "%4: f32[2,4,5] = BatchMatMul(%1, %2)\n%5: f32[2,6,6] = BatchMatMul(%1, %1) {transpose_a=True}"
        "\n%6: f32[2,5,4] = Transpose(%4) {perm=(0, 2, 1)}\n%7: f32[2,9,4] = Reshape(%5) {shape=(2, 9, 4)}"
        "\n%8: f32[2,14,4] = Concat(%6, %7) {axis=1}", "a=%8", {}, 2),
    "a result beside what is none": (
        "%4: f32[2,4,5] = BatchMatMul(%1, %2)\n%5: f32[2,4,17] = Concat(%3, %4) {axis=2}", "a=%5", {}, 2),
    "a result twice": (
        "%4: f32[2,4,5] = BatchMatMul(%1, %2)\n%5: f32[4,4,5] = Concat(%4, %4) {axis=0}", "a=%5", {}, 3),
    "a result beside itself, turned": (
        "%4: f32[4,4] = MatMul(%0, %0) {transpose_b=True}\n%5: f32[4,4] = Transpose(%4) {perm=(1, 0)}"
        "\n%6: f32[8,4] = Concat(%4, %5) {axis=0}", "a=%6", {}, 3),
    "parts of an input and its rows backwards, side by side": (
        "%4: f32[2,4,2] = Slice(%3) {begin=(0, 0, 6), size=(2, 4, 2), step=(1, 1, 1)}"
        "\n%5: f32[2,4,12] = Slice(%3) {begin=(0, 3, 0), size=(2, 4, 12), step=(1, -1, 1)}"
        "\n%6: f32[8,2] = Reshape(%4) {shape=(8, 2)}\n%7: f32[8,12] = Reshape(%5) {shape=(8, 12)}"
        "\n%8: f32[8,14] = Concat(%6, %7) {axis=1}", "a=%8", {}, 3),
    "parts side by side, one of them read by a loop": (
        "%4: f32[2,4,2] = Slice(%3) {begin=(0, 0, 6), size=(2, 4, 2), step=(1, 1, 1)}"
        "\n%5: f32[2,4,1] = Slice(%3) {begin=(0, 0, 3), size=(2, 4, 1), step=(1, 1, 1)}"
        "\n%6: f32[2,4,3] = Concat(%4, %5) {axis=2}\n%7: f32[2,4,1] = Neg(%5)", "a=%6, b=%7", {}, 4),
    "side by side, and a result by itself": (
        "%4: f32[4,4] = MatMul(%0, %0) {transpose_b=True}\n%5: f32[4,10] = Concat(%0, %4) {axis=1}",
        "a=%5, b=%4", {}, 3),
    "side by side, in a parameter that they read": (
        "%4: f32[4,4] = MatMul(%0, %0) {transpose_b=True}\n%5: f32[4,2] = Slice(%0) {begin=(0, 0), size=(4, 2), step=(1, 1)}"
        "\n%6: f32[4,6] = Concat(%4, %5) {axis=1}", "", {0: 6}, 3),
    "heads side by side": (
        "%4: f32[2,4,6] = Slice(%3) {begin=(0, 0, 6), size=(2, 4, 6), step=(1, 1, 1)}"
        "\n%5: f32[2,4,2,3] = Reshape(%4) {shape=(2, 4, 2, 3)}"
        "\n%6: f32[2,2,4,3] = Transpose(%5) {perm=(0, 2, 1, 3)}"
        "\n%7: f32[2,2,4,4] = BatchMatMul(%6, %6) {transpose_b=True}"
        "\n%8: f32[2,2,4,3] = BatchMatMul(%7, %6)"
        "\n%9: f32[2,2,3,4] = BatchMatMul(%6, %7) {transpose_a=True}"
        "\n%10: f32[2,4,2,3] = Transpose(%8) {perm=(0, 2, 1, 3)}"
        "\n%11: f32[2,2,4,3] = Transpose(%9) {perm=(0, 1, 3, 2)}"
        "\n%12: f32[2,4,2,3] = Transpose(%11) {perm=(0, 2, 1, 3)}"
        "\n%13: f32[2,4,6] = Reshape(%10) {shape=(2, 4, 6)}\n%14: f32[2,4,6] = Reshape(%12) {shape=(2, 4, 6)}"
        "\n%15: f32[2,4,12] = Concat(%13, %14) {axis=2}"
        .replace("", ""), "a=%15", {}, 3),
    "a part of the columns": (
        "%4: f32[2,4,6] = Slice(%3) {begin=(0, 0, 5), size=(2, 4, 6), step=(1, 1, 1)}"
        "\n%5: f32[2,4,5] = BatchMatMul(%4, %2)", "a=%5", {}, 1),
    "every second column": (
        "%4: f32[2,4,6] = Slice(%3) {begin=(0, 0, 1), size=(2, 4, 6), step=(1, 1, 2)}"
        "\n%5: f32[2,4,5] = BatchMatMul(%4, %2)", "a=%5", {}, 2),
    "rows backwards": (
        "%4: f32[2,4,6] = Slice(%1) {begin=(0, 3, 0), size=(2, 4, 6), step=(1, -1, 1)}"
        "\n%5: f32[2,4,5] = BatchMatMul(%4, %2)", "a=%5", {}, 2),
    "one row and one column": (
        "%4: f32[2,1,6] = Slice(%3) {begin=(0, 2, 3), size=(2, 1, 6), step=(1, 1, 1)}"
        "\n%5: f32[2,6,1] = Slice(%2) {begin=(0, 0, 3), size=(2, 6, 1), step=(1, 1, 1)}"
        "\n%6: f32[2,1,1] = BatchMatMul(%4, %5)", "a=%6", {}, 1),
    "heads": (
        "%4: f32[2,4,6] = Slice(%3) {begin=(0, 0, 6), size=(2, 4, 6), step=(1, 1, 1)}"
        "\n%5: f32[2,4,2,3] = Reshape(%4) {shape=(2, 4, 2, 3)}"
        "\n%6: f32[2,2,4,3] = Transpose(%5) {perm=(0, 2, 1, 3)}"
        "\n%7: f32[2,2,3,4] = Transpose(%5) {perm=(0, 2, 3, 1)}"
        "\n%8: f32[2,2,4,4] = BatchMatMul(%6, %7)"
        "\n%9: f32[2,2,4,3] = BatchMatMul(%8, %6)"
        "\n%10: f32[2,4,2,3] = Transpose(%9) {perm=(0, 2, 1, 3)}"
        "\n%11: f32[2,4,6] = Reshape(%10) {shape=(2, 4, 6)}", "a=%11", {}, 2),
    "a shape that strides cannot tell": (
        "%4: f32[2,6,4] = Transpose(%1) {perm=(0, 2, 1)}\n%5: f32[2,4,6] = Reshape(%4) {shape=(2, 4, 6)}"
        "\n%6: f32[2,4,5] = BatchMatMul(%5, %2)", "a=%6", {}, 2),
    "an operand that a loop reads too": (
        "%4: f32[6,4] = Transpose(%0) {perm=(1, 0)}\n%5: f32[6,6] = MatMul(%4, %0)\n%6: f32[6,4] = Neg(%4)",
        "a=%5, b=%6", {}, 3),
    "an operand that is a result": (
        "%4: f32[6,4] = Transpose(%0) {perm=(1, 0)}\n%5: f32[6,6] = MatMul(%4, %0)", "a=%5, b=%4", {}, 2),
    "an operand that is a result in another shape": (
        "%4: f32[6,4] = Transpose(%0) {perm=(1, 0)}\n%5: f32[24] = Reshape(%4) {shape=(24,)}"
        "\n%6: f32[6,6] = MatMul(%4, %0)", "a=%6, b=%5", {}, 2),
    "the old parameter, after it was assigned": (
        "%4: f32[6,4] = Transpose(%0) {perm=(1, 0)}\n%5: f32[4,6] = Neg(%0)"
        "\n%6: f32[4,6] = Assign(%0, %5) after(%4)\n%7: f32[4,6] = Abs(%6)\n%8: f32[4,6] = Add(%7, %6)"
        "\n%9: f32[6,6] = MatMul(%4, %8)", "a=%9", {0: 6}, 4),
    "a parameter, from a part of an input": (
        "%4: f32[1,6,4] = Slice(%2) {begin=(1, 0, 1), size=(1, 6, 4), step=(1, 1, 1)}"
        "\n%5: f32[6,4] = Reshape(%4) {shape=(6, 4)}\n%6: f32[6,6] = MatMul(%0, %0) {transpose_a=True}"
        "\n%7: f32[6,4] = MatMul(%6, %5)\n%8: f32[4,6] = Transpose(%7) {perm=(1, 0)}", "", {0: 8}, 2),
    "a parameter, from itself": (
        "%4: f32[6,6] = MatMul(%0, %0) {transpose_a=True}\n%5: f32[6,4] = MatMul(%4, %0) {transpose_b=True}"
        "\n%6: f32[4,6] = Transpose(%5) {perm=(1, 0)}", "", {0: 6}, 3),
    "nothing": (
        "%4: f32[0,6] = Slice(%0) {begin=(0, 0), size=(0, 6), step=(1, 1)}\n%5: f32[6,0] = Reshape(%4) {shape=(6, 0)}"
        "\n%6: f32[6,6] = MatMul(%5, %4)\n%7: f32[0,6] = MatMul(%4, %6)", "a=%6, b=%7", {}, 1),
    "a constant": (
        "%4: f32[2,3] = Constant() {value=<f32[2,3] 1.0, 2.0, 3.0, 4.0, 5.0, 6.0>}"
        "\n%5: f32[3,2] = Transpose(%4) {perm=(1, 0)}\n%6: f32[2,2] = MatMul(%4, %5)", "a=%6", {}, 1),
    "one number everywhere": (
        '%4: f32[6,3] = Fill() {dtype="float32", shape=(6, 3), value=2.0}'
        "\n%5: f32[3,6] = Transpose(%4) {perm=(1, 0)}\n%6: f32[4,3] = MatMul(%0, %5) {transpose_b=True}",
        "a=%6", {}, 2),
}  # fmt: skip


def text_of(nodes: str, results: str, updates: dict[int, int]) -> str:
    lines = [f"    {line}" for line in nodes.split("\n")]
    lines.append(f"  return {results}".rstrip())
    lines += [f"  update %{p} = %{v}  ; p" for p, v in updates.items()]
    return HEAD + "\n".join(lines) + "\n}"


@pytest.mark.parametrize("case", CASES)
def test_views(case: str) -> None:
    nodes, results, updates, count = CASES[case]
    lowered = agree_everywhere(graph_of(text_of(nodes, results, updates)))
    assert len(calls(lowered)) == count


@st.composite
def chains(draw: st.DrawFn) -> Graph:
    """An input, rearranged a few times; a product of what comes of it; that rearranged, too, perhaps beside another."""
    shape = draw(st.lists(st.integers(1, 4), min_size=3, max_size=4))
    lines = [f"%0 x: {_type(shape)} = Input()"]

    def add(op: str, shape: list[int], attrs: str) -> list[int]:
        lines.append(f"%{len(lines)}: {_type(shape)} = {op}(%{len(lines) - 1}) {{{attrs}}}")
        return shape

    def turn(shape: list[int]) -> list[int]:
        perm = draw(st.permutations(range(len(shape))))
        return add("Transpose", [shape[i] for i in perm], f"perm={tuple(perm)}")

    def cut(shape: list[int]) -> list[int]:
        begin = [draw(st.integers(0, n - 1)) for n in shape]
        size = [draw(st.integers(1, n - b)) for n, b in zip(shape, begin, strict=True)]
        return add("Slice", size, f"begin={tuple(begin)}, size={tuple(size)}, step={(1,) * len(shape)}")

    def reshape(shape: list[int]) -> list[int]:
        axis = draw(st.integers(0, len(shape) - 1))
        inner = draw(st.sampled_from([n for n in range(1, shape[axis] + 1) if shape[axis] % n == 0]))
        new = [*shape[:axis], shape[axis] // inner, inner, *shape[axis + 1 :]]
        if draw(st.booleans()) and len(shape) > 3:
            at = draw(st.integers(0, len(shape) - 2))
            new = [*shape[:at], shape[at] * shape[at + 1], *shape[at + 2 :]]
        return add("Reshape", new, f"shape={tuple(new)}")

    for _ in range(draw(st.integers(1, 4))):
        shape = draw(st.sampled_from([turn, cut, reshape]))(shape)
    x, flags = len(lines) - 1, ("transpose_a=True", "transpose_b=True")
    side = draw(st.integers(0, 1))
    made = [*shape[:-2], *[shape[side - 2]] * 2]
    lines.append(f"%{x + 1}: {_type(made)} = BatchMatMul(%{x}, %{x}) {{{flags[1 - side]}}}")
    for _ in range(draw(st.integers(0, 3))):
        made = draw(st.sampled_from([turn, reshape]))(made)
    if draw(st.booleans()):
        first, after = len(lines) - 1, lines[x + 1 :]
        # Another product that is rearranged in the same way, and both together.
        for k, line in enumerate(after):
            lines.append(
                line.replace(f"%{x + 1 + k}:", f"%{len(lines)}:").replace(f"(%{x + k})", f"(%{len(lines) - 1})")
            )
        axis = draw(st.integers(0, len(made) - 1))
        made = [2 * n if i == axis else n for i, n in enumerate(made)]
        lines.append(f"%{len(lines)}: {_type(made)} = Concat(%{first}, %{len(lines) - 1}) {{axis={axis}}}")
    text = "\n".join(f"    {line}" for line in lines)
    graph = graph_of(f"graph @chain {{\n  forward:\n{text}\n  return y=%{len(lines) - 1}\n}}")
    verify(graph)
    return graph


def _type(shape: list[int]) -> str:
    return f"f32[{','.join(map(str, shape))}]"


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(chains())
def test_chains(graph: Graph) -> None:
    inputs = small_integers(graph)
    agree(graph, inputs, checked=True)
    if len(calls(lower(graph))) <= 2:
        agree(graph, inputs, checked=False, canary=True)


def test_products_read_half_types_where_they_are() -> None:
    """Transposed, and without copies in float32."""
    nodes = "%4: f32[6,4] = Transpose(%0) {perm=(1, 0)}\n%5: f32[6,6] = MatMul(%4, %0)"
    text = text_of(nodes, "a=%5", {}).replace("f32", "f16")
    assert len(calls(agree_everywhere(graph_of(text)))) == 1


HEADS = """\
    %{k}: bf16[2,5,8] = Slice(%1) {{begin=(0, 0, {at}), size=(2, 5, 8), step=(1, 1, 1)}}
"""
ATTENTION_OF_PARTS = f"""\
graph @parts {{
  forward:
    %0 x: f32[2,5,24] = Input()
    %1: bf16[2,5,24] = Cast(%0) {{dtype="bfloat16"}}
{"".join(HEADS.format(k=k, at=at) for k, at in ((2, 0), (3, 8), (4, 16)))}
    %5: (bf16[2,5,8], f32[2,5], f32[2,5]) = Attention(%2, %3, %4) {{scale=0.5, ahead=1}}
    %6: bf16[2,5,32] = Concat(%5, %1) {{axis=2}}
    %7: f32[2,5,32] = Cast(%6) {{dtype="float32"}}
  return y=%7
}}"""
ATTENTION_GRAD_OF_TURNED_ROWS = """\
graph @rows {
  forward:
    %0 q: f32[2,5,6] = Input()
    %1 k: f32[2,5,6] = Input()
    %2 v: f32[2,5,6] = Input()
    %3 y: f32[2,5,6] = Input()
    %4 dy: f32[2,5,6] = Input()
    %5 top: f32[5,2] = Input()
    %6 total: f32[2,7] = Input()
    %7: f32[2,5] = Transpose(%5) {perm=(1, 0)}
    %8: f32[2,5] = Slice(%6) {begin=(0, 1), size=(2, 5), step=(1, 1)}
    %9: (f32[2,5,6], f32[2,5,6], f32[2,5,6]) = AttentionGrad(%0, %1, %2, %3, %7, %8, %4)
  return a=%9, b=%9#1, c=%9#2
}"""


@pytest.mark.parametrize("checked", [False, True])
@pytest.mark.parametrize(("text", "within"), [(ATTENTION_OF_PARTS, 1e-2), (ATTENTION_GRAD_OF_TURNED_ROWS, 1e-5)])
def test_attention_reads_parts_of_tensors(text: str, within: float, checked: bool) -> None:
    """Of halves, which it has as float32, as well; greatest scores and sums are read as they lie."""
    graph = graph_of(text)
    feed = {
        i: np.random.default_rng(i).standard_normal(graph.node(i).type.shape).astype(np.float32) for i in graph.inputs
    }
    lowered = lower(graph, canary=not checked)
    step = compile_program(lowered.program, cache_dir=None, checked=checked).bind([], list(lowered.constants))
    step.run([feed[i] for i in lowered.inputs])
    step.check_canaries()
    for (buffer, type), want in zip(lowered.results, reference.run(graph, feed).results, strict=True):
        got = step.read(buffer, type.shape, type.dtype)
        np.testing.assert_allclose(got, want, rtol=0, atol=within * np.abs(want).max())


def test_what_views_say() -> None:
    """Numbers that can be checked by hand: heads of 3 columns in the second half of 12."""
    nodes, results, updates, _ = CASES["heads"]
    graph = graph_of(text_of(nodes, results, updates))
    views = Views(graph, {r.value for r in graph.results})
    assert views.nodes == {4, 6, 7, 10}
    query, key = graph.node(8).inputs
    assert views.read(query) == View(96, 6, (48, 3, 12, 1))
    assert views.read(key) == View(96, 6, (48, 3, 1, 12))
    assert views.written(graph.node(9).outputs[0]) == View(48, 0, (24, 3, 6, 1))
    assert views.written(graph.node(8).outputs[0]) is None
