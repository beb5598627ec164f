"""Where lowering puts values: each case runs three ways, and takes as many copies as it must, no more."""

from __future__ import annotations

import numpy as np
import pytest

from graphc.errors import Loc, LoweringError
from graphc.ir import Graph, TensorType
from graphc.lower import lower
from graphc.ops.declared import reference
from graphc.passes import run
from graphc.testing import agree, agree_everywhere, calls, copies, graph_of, small_integers
from graphc_codegen import compile_program

HEAD = """\
graph @case {
  state:
    %0 p: f32[3,3] = Param()
    %1 q: f32[3,3] = Param()
  forward:
    %2 x: f32[3,3] = Input()
    %3 flag: b1[] = Input()
"""

#: name -> (nodes, results, updates, copies at the least)
CASES = {
    "in place": ("%4: f32[3,3] = Add(%0, %2)", "", {0: 4}, 0),
    "in place through Assign": ("%4: f32[3,3] = Add(%0, %2)\n%5: f32[3,3] = Assign(%0, %4)", "", {0: 5}, 0),
    "unchanged": ("", "", {0: 0}, 0),
    "exchange": ("%4: f32[3,3] = Assign(%0, %1)\n%5: f32[3,3] = Assign(%1, %0)", "", {0: 4, 1: 5}, 4),
    "exchange, directly": ("", "", {0: 1, 1: 0}, 4),
    "exchange with arithmetic": ("%4: f32[3,3] = Neg(%1)\n%5: f32[3,3] = Abs(%0)", "", {0: 4, 1: 5}, 1),
    "exchange inside one loop": ("%4: f32[3,3] = Add(%0, %1)\n%5: f32[3,3] = Sub(%0, %1)", "", {0: 4, 1: 5}, 0),
    "an input becomes the parameter": ("", "", {0: 2}, 1),
    "one value for two": ("%4: f32[3,3] = Neg(%2)", "", {0: 4, 1: 4}, 1),
    "read before": ("%4: f32[3,3] = Neg(%0)\n%5: f32[3,3] = Mul(%4, %2)", "a=%4", {0: 5}, 0),
    "read before and after": (
        "%4: f32[3,3] = Neg(%0)\n%5: f32[3,3] = Mul(%4, %2)\n%6: f32[3,3] = MatMul(%5, %0)", "a=%6", {0: 5}, 1),
    "read after, by the same loop": ("%4: f32[3,3] = Mul(%0, %2)\n%5: f32[3,3] = Add(%4, %0)", "a=%5", {0: 4}, 0),
    "old and new returned": ("%4: f32[3,3] = Add(%0, %2)", "old=%0, new=%4, again=%0", {0: 4}, 2),
    "inputs returned": ("", "x=%2, x2=%2, flag=%3", {}, 2),
    "a parameter nobody writes is returned": ("", "p=%0", {}, 0),
    "transposed self": ("%4: f32[3,3] = Transpose(%0) {perm=(1, 0)}", "", {0: 4}, 1),
    "axes left alone": ("%4: f32[3,3] = Transpose(%0) {perm=(0, 1)}", "", {0: 4}, 0),
    "reversed self": ("%4: f32[3,3] = Slice(%0) {begin=(2, 0), size=(3, 3), step=(-1, 1)}", "", {0: 4}, 1),
    "self and transposed self": (
        "%4: f32[3,3] = Transpose(%0) {perm=(1, 0)}\n%5: f32[3,3] = Add(%4, %0)", "", {0: 5}, 1),
    "the product with itself": ("%4: f32[3,3] = MatMul(%0, %0)", "", {0: 4}, 1),
    "a product of others": ("%4: f32[3,3] = MatMul(%1, %2)", "", {0: 4}, 0),
    "a row of itself": (
        "%4: f32[1,3] = Slice(%0) {begin=(1, 0), size=(1, 3), step=(1, 1)}\n%5: f32[3,3] = Add(%0, %4)", "", {0: 5}, 0),
    "a row of itself, spread": (
        "%4: f32[1,3] = Slice(%0) {begin=(1, 0), size=(1, 3), step=(1, 1)}"
        "\n%5: f32[3,3] = BroadcastTo(%4) {shape=(3, 3)}", "", {0: 5}, 0),
    "reduced self": (
        "%4: f32[3,1] = ReduceSum(%0) {axis=(1,), keep_dims=True}\n%5: f32[3,3] = Sub(%0, %4)", "s=%4", {0: 5}, 0),
    "through other shapes": (
        "%4: f32[9] = Reshape(%0) {shape=(9,)}\n%5: f32[9] = Neg(%4)\n%6: f32[3,3] = Reshape(%5) {shape=(3, 3)}",
        "flat=%5", {0: 6}, 0),
    "written flat, read in rows": (
        "%4: f32[9] = Reshape(%2) {shape=(9,)}\n%5: f32[9] = Neg(%4)\n%6: f32[3,3] = Reshape(%5) {shape=(3, 3)}"
        "\n%7: f32[3,3] = MatMul(%6, %0)", "y=%7", {0: 6}, 1),
    "a constant": (
        "%4: f32[3,3] = Constant() {value=<f32[3,3] 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0>}",
        "c=%4", {0: 4, 1: 4}, 2),
    "one number everywhere": ('%4: f32[3,3] = Fill() {dtype="float32", shape=(3, 3), value=2.0}', "c=%4", {0: 4}, 1),
    "a version between": (
        "%4: f32[3,3] = Neg(%0)\n%5: f32[3,3] = Assign(%0, %4)"
        "\n%6: f32[3,3] = Add(%5, %2)\n%7: f32[3,3] = Assign(%5, %6)",
        "between=%5", {0: 7}, 0),
    "rows of itself": (
        "%4: i32[2] = Constant() {value=<i32[2] 2, 0>}\n%5: f32[2,3] = Gather(%0, %4)\n%6: f32[2,3] = Neg(%5)"
        '\n%7: f32[3,3] = Scatter(%0, %4, %6) {mode="update"}', "", {0: 7}, 0),
    "rows of itself, twice": (
        "%4: i32[2] = Constant() {value=<i32[2] 2, 0>}\n%5: f32[2,3] = Gather(%2, %4)"
        '\n%6: f32[3,3] = Scatter(%0, %4, %5) {mode="update"}\n%7: f32[3,3] = Assign(%0, %6)'
        '\n%8: f32[3,3] = Scatter(%7, %4, %5) {mode="update"}', "", {0: 8}, 0),
    "rows added to itself": (
        "%4: i32[3] = Constant() {value=<i32[3] 2, 0, 2>}"
        '\n%5: f32[3,3] = Scatter(%0, %4, %2) {mode="add"}', "", {0: 5}, 1),
    "itself as rows of itself": (
        "%4: i32[3] = Constant() {value=<i32[3] 2, 0, 1>}"
        '\n%5: f32[3,3] = Scatter(%0, %4, %0) {mode="update"}', "", {0: 5}, 1),
    "rows, old and new returned": (
        "%4: i32[2] = Constant() {value=<i32[2] 2, 0>}\n%5: f32[2,3] = Gather(%2, %4)"
        '\n%6: f32[3,3] = Scatter(%0, %4, %5) {mode="update"}', "old=%0, new=%6", {0: 6}, 2),
    "two in a row": (
        "%4: f32[3,3] = MatMul(%0, %2)\n%5: f32[3,3] = Assign(%0, %4)\n%6: f32[3,3] = MatMul(%5, %1)",
        "", {0: 5, 1: 6}, 2),
}  # fmt: skip


def text_of(nodes: str, results: str, updates: dict[int, int]) -> str:
    lines = [f"    {line}" for line in nodes.split("\n") if line]
    lines.append(f"  return {results}".rstrip())
    lines += [f"  update %{p} = %{v}  ; {'pq'[p]}" for p, v in updates.items()]
    return HEAD + "\n".join(lines) + "\n}"


@pytest.mark.parametrize("name", CASES)
def test_writes(name):
    nodes, results, updates, least = CASES[name]
    graph = graph_of(text_of(nodes, results, updates))
    lowered = agree_everywhere(graph)
    assert copies(lowered) == least, [(c.note, c.args) for c in calls(lowered)]
    agree_everywhere(run(graph)[-1].graph)


BRANCHES = {
    "exchange": ("", "p=%6, q=%5", "", "p=%8, q=%9"),
    "one computes, one leaves": ("%20: f32[3,3] = MatMul(%5, %6)", "p=%20, q=%6", "", "p=%8, q=%9"),
    "both compute": ("%20: f32[3,3] = Add(%5, %7)", "p=%20, q=%20", "%30: f32[3,3] = Neg(%9)", "p=%30, q=%8"),
    "a constant": (
        '%20: f32[3,3] = Fill() {dtype="float32", shape=(3, 3), value=1.0}', "p=%20, q=%20", "", "p=%10, q=%10"),
    "rows": (
        "%20: i32[3] = Constant() {value=<i32[3] 2, 5, 0>}"
        '\n%21: f32[3,3] = Scatter(%5, %20, %7) {mode="update"}', "p=%21, q=%6", "", "p=%9, q=%9"),
    "transposed": ("%20: f32[3,3] = Transpose(%5) {perm=(1, 0)}", "p=%20, q=%5", "", "p=%9, q=%9"),
    "new before old": (
        "%20: f32[3,3] = Neg(%6)\n%21: f32[3,3] = Assign(%5, %20)\n%22: f32[3,3] = MatMul(%21, %5)", "p=%21, q=%22", "",
        "p=%8, q=%9"),
}  # fmt: skip


def branch(name: str, ids: tuple[int, int, int], nodes: str, results: str) -> list[str]:
    lines = [f"      {name} = graph @{name} {{"]
    lines.append(f"        takes %{ids[0]} p: f32[3,3], %{ids[1]} q: f32[3,3], %{ids[2]} x: f32[3,3]")
    if nodes:
        lines += ["        forward:", *(f"          {line}" for line in nodes.split("\n"))]
    return [*lines, f"        return {results}", "      }"]


@pytest.mark.parametrize("after", ["", "%41: f32[3,3] = MatMul(%0, %40#1)", "%41: f32[3,3] = Add(%1, %0)"])
@pytest.mark.parametrize("flag", [False, True])
@pytest.mark.parametrize("name", BRANCHES)
def test_writes_in_branches(name, flag, after):
    """Parameters as operands and results of an If, alone and with readers of the old values behind it."""
    then, then_results, orelse, else_results = BRANCHES[name]
    lines = ["    %40: (f32[3,3], f32[3,3]) = If(%3, %0, %1, %2) {then=graph, else=graph}"]
    lines += branch("then", (5, 6, 7), then, then_results) + branch("else", (8, 9, 10), orelse, else_results)
    lines += [f"    {after}"] if after else []
    lines += [f"  return old=%0{', y=%41' if after else ''}", "  update %0 = %40  ; p", "  update %1 = %40#1  ; q", "}"]
    graph = graph_of(HEAD + "\n".join(lines))
    inputs = {**small_integers(graph), 3: np.asarray(flag)}
    agree_everywhere(graph, inputs)
    agree_everywhere(run(graph)[-1].graph, inputs)


def test_a_branch_not_taken_writes_nothing():
    then, then_results, orelse, else_results = BRANCHES["one computes, one leaves"]
    lines = ["    %40: (f32[3,3], f32[3,3]) = If(%3, %0, %1, %2) {then=graph, else=graph}"]
    lines += branch("then", (5, 6, 7), then, then_results) + branch("else", (8, 9, 10), orelse, else_results)
    lines += ["  return", "  update %0 = %40  ; p", "  update %1 = %40#1  ; q", "}"]
    (conditional,) = lower(graph_of(HEAD + "\n".join(lines))).program.body
    assert len(conditional.then) == 2  # The product, and its copy into p, which it reads.
    assert conditional.orelse == ()


def loop(carried: str, operands: str, takes: str, body: str, results: str, more: str) -> str:
    """A While that counts to 3 and carries more; body and condition take the same values under ids 5.. and 25.."""
    second = takes.replace("%", "%2")
    count = carried.count("[") - carried.count(",[")
    return "\n".join(
        [
            "    %41: i32[] = Constant() {value=<i32[] 0>}",
            "    %42: i32[] = Constant() {value=<i32[] 3>}",
            f"    %40: ({carried}) = While(%41, {operands}) {{carried={count}, cond=graph, body=graph}}",
            "      cond = graph @cond {",
            f"        takes {second}",
            "        forward:",
            f"          %60: b1[] = Less(%25, %2{more})",
            "        return more=%60",
            "      }",
            "      body = graph @body {",
            f"        takes {takes}",
            "        forward:",
            "          %50: i32[] = Constant() {value=<i32[] 1>}",
            "          %51: i32[] = Add(%5, %50)",
            *(f"          {line}" for line in body.split("\n") if line),
            f"        return n=%51, {results}",
            "      }",
        ]
    )


LOOPS = {
    "exchange": ("%0, %1, %42", "%5: i32[], %6: f32[3,3], %7: f32[3,3], %8: i32[]", "", "p=%7, q=%6", "8"),
    "begins exchanged": ("%1, %0, %42", "%5: i32[], %6: f32[3,3], %7: f32[3,3], %8: i32[]", "", "p=%6, q=%7", "8"),
    "reads what it writes": (
        "%0, %1, %42, %0", "%5: i32[], %6: f32[3,3], %7: f32[3,3], %8: i32[], %9: f32[3,3]",
        "%52: f32[3,3] = Sub(%6, %9)", "p=%52, q=%9", "8"),
    "products": (
        "%0, %1, %42", "%5: i32[], %6: f32[3,3], %7: f32[3,3], %8: i32[]",
        "%52: f32[3,3] = Transpose(%6) {perm=(1, 0)}\n%53: f32[3,3] = Sub(%52, %6)", "p=%53, q=%6", "8"),
    "one value twice": (
        "%0, %0, %42, %2", "%5: i32[], %6: f32[3,3], %7: f32[3,3], %8: i32[], %9: f32[3,3]",
        "%52: f32[3,3] = Maximum(%6, %9)", "p=%52, q=%52", "8"),
}  # fmt: skip


@pytest.mark.parametrize("after", ["", "%43: f32[3,3] = MatMul(%0, %40#2)"])
@pytest.mark.parametrize("name", LOOPS)
def test_writes_in_loops(name, after):
    operands, takes, body, results, more = LOOPS[name]
    text = HEAD + loop("i32[], f32[3,3], f32[3,3]", operands, takes, body, results, more)
    text += f"\n    {after}" if after else ""
    text += f"\n  return n=%40{', y=%43' if after else ''}\n  update %0 = %40#1  ; p\n  update %1 = %40#2  ; q\n}}"
    graph = graph_of(text)
    agree_everywhere(graph)
    agree_everywhere(run(graph)[-1].graph)


def test_what_a_loop_reads_stays_alive_through_all_its_turns():
    """A value made before the loop and read first in its body must not be overwritten later in the body."""
    takes = "%5: i32[], %6: f32[3,3], %7: i32[], %8: f32[3,3]"
    body = [
        "%52: f32[3,3] = MatMul(%8, %6)",
        "%53: f32[3,3] = MatMul(%52, %6)",
        "%54: f32[3,3] = MatMul(%53, %52)",
        "%55: f32[3,3] = Sign(%54)",
    ]
    nodes = "    %44: f32[3,3] = MatMul(%2, %2)\n    %45: f32[3,3] = Sign(%44)\n"
    text = HEAD + nodes + loop("i32[], f32[3,3]", "%2, %42, %45", takes, "\n".join(body), "y=%55", "7")
    agree_everywhere(graph_of(text + "\n  return y=%40#1\n}"))


# ---- memory


def test_memory_is_used_again():
    nodes = "\n".join(f"%{k + 1}: f32[3,3] = MatMul(%{k}, %2)" for k in range(4, 12))
    graph = graph_of(text_of(f"%4: f32[3,3] = Sign(%2)\n{nodes}", "y=%12", {}))
    assert lower(graph).memory["arena"] == 2 * 64
    apart = lower(graph, canary=True)
    assert apart.memory["arena"] == 9 * 128
    positions = [b.position for b in apart.program.buffers if b.space == "arena"]
    assert len(set(positions)) == 9
    assert lower(graph).memory["lower_bound"] == 2 * 64


def test_every_buffer_is_said_to_be_dead_once_and_not_used_after():
    nodes = "\n".join(f"%{k + 1}: f32[3,3] = MatMul(%{k}, %2)" for k in range(4, 12))
    lowered = lower(graph_of(text_of(f"%4: f32[3,3] = Sign(%2)\n{nodes}", "y=%12", {})))
    dead: set[int] = set()
    for call in lowered.program.body:
        assert not dead & set(call.args)
        assert not dead & set(call.dead)
        dead |= set(call.dead)
    arena = {b.id for b in lowered.program.buffers if b.space == "arena"}
    assert arena - dead == {lowered.results[0][0]}


# ---- fusion


def kernels(text: str) -> list[str]:
    return [c.note for c in calls(lower(graph_of(text)))]


def test_elementwise_nodes_share_a_loop():
    nodes = "%4: f32[3,3] = Neg(%2)\n%5: f32[3,3] = Exp(%4)\n%6: f32[3,3] = Mul(%5, %4)"
    assert kernels(text_of(nodes, "y=%6", {})) == ["%4 Neg, %5 Exp, %6 Mul"]


def test_a_reduction_ends_a_loop_and_its_result_is_read_by_the_next():
    nodes = "%4: f32[3,3] = Neg(%2)\n%5: f32[3] = ReduceSum(%4) {axis=(1,)}\n%6: f32[3,3] = Add(%4, %5)"
    assert kernels(text_of(nodes, "y=%6", {})) == ["%4 Neg, %5 ReduceSum", "%6 Add"]


def test_reductions_over_other_axes_do_not_share_a_loop():
    nodes = "%4: f32[3] = ReduceSum(%2) {axis=(1,)}\n%5: f32[3] = ReduceSum(%2) {axis=(0,)}"
    nodes += "\n%6: f32[3] = ReduceMax(%2) {axis=(1,)}"
    assert kernels(text_of(nodes, "a=%4, b=%5, c=%6", {})) == ["%4 ReduceSum, %6 ReduceMax", "%5 ReduceSum"]


def test_what_moves_elements_reads_finished_memory():
    nodes = "%4: f32[3,3] = Neg(%2)\n%5: f32[3,3] = Transpose(%4) {perm=(1, 0)}\n%6: f32[3,3] = Exp(%5)"
    assert kernels(text_of(nodes, "y=%6", {})) == ["%4 Neg", "%5 Transpose, %6 Exp"]


def test_an_order_edge_keeps_two_loops_apart():
    nodes = "%4: f32[3,3] = Neg(%2)\n%5: f32[3,3] = Abs(%2) after(%4)"
    assert kernels(text_of(nodes, "a=%4, b=%5", {})) == ["%4 Neg", "%5 Abs"]
    assert kernels(text_of(nodes.replace(" after(%4)", ""), "a=%4, b=%5", {})) == ["%4 Neg, %5 Abs"]


def test_two_loops_never_wait_for_each_other():
    """Neg and Tanh would fit one loop, but Tanh needs a product that needs Neg."""
    nodes = (
        "%4: f32[3,3] = Neg(%2)\n%5: f32[3,3] = MatMul(%4, %2)\n%6: f32[3,3] = Mul(%5, %2)\n%7: f32[3,3] = Add(%6, %4)"
    )
    assert kernels(text_of(nodes, "y=%7", {})) == ["%4 Neg", "%5 MatMul, %6 Mul, %7 Add"]


def test_long_chains_and_many_operands_are_cut():
    graph = Graph("long")
    type = TensorType("float32", (5,))
    inputs = [graph.add("Input", types=(type,)).outputs[0] for _ in range(40)]
    y = inputs[0]
    for x in inputs[1:]:
        y = graph.add("Maximum", [y, x]).outputs[0]
    for k in range(130):
        y = graph.add(("Neg", "Abs", "Sub", "Add")[k % 4], [y] if k % 4 < 2 else [y, inputs[0]]).outputs[0]
    graph.set_results([("y", y)])
    lowered = agree_everywhere(graph)
    assert 6 <= len(calls(lowered)) <= 10


def test_many_open_loops():
    graph = Graph("many")
    results = []
    for n in range(1, 13):
        x = graph.add("Input", types=(TensorType("float32", (n,)),)).outputs[0]
        results.append(graph.add("Neg", [graph.add("Abs", [x]).outputs[0]]).outputs[0])
    sums = [graph.add("ReduceSum", [v], {"axis": (0,)}).outputs[0] for v in results]
    total = sums[0]
    for s in sums[1:]:
        total = graph.add("Add", [total, s]).outputs[0]
    graph.set_results([("total", total), *((f"r{i}", v) for i, v in enumerate(results))])
    agree_everywhere(graph)


# ---- sizes of zero, one number everywhere, special numbers


EMPTY = {
    "sums": ("%1: f32[3] = ReduceSum(%0) {axis=(0,)}\n%2: f32[] = ReduceSum(%0) {axis=(0, 1)}", "a=%1, b=%2"),
    "sum of nothing along the other axis": ("%1: f32[0] = ReduceSum(%0) {axis=(1,)}", "a=%1"),
    "maximum": ("%1: f32[0] = ReduceMax(%0) {axis=(1,)}", "a=%1"),
    "loops": ("%1: f32[0,3] = Neg(%0)\n%2: f32[3,0] = Transpose(%1) {perm=(1, 0)}", "a=%1, b=%2, x=%0"),
    "products": (
        "%1: f32[3,3] = MatMul(%0, %0) {transpose_a=True}\n%2: f32[0,0] = MatMul(%0, %0) {transpose_b=True}",
        "a=%1, b=%2"),
    "pieces": (
        "%1: f32[2,3] = Pad(%0) {paddings=((1, 1), (0, 0)), value=3.0}\n%2: f32[0,3] = Concat(%0, %0) {axis=0}",
        "a=%1, b=%2"),
    "finite": ("%1: b1[] = AllFinite(%0)\n%2: f32[0,3] = Softmax(%0)", "a=%1, b=%2"),
}  # fmt: skip


@pytest.mark.parametrize("name", EMPTY)
def test_tensors_without_elements(name):
    nodes, results = EMPTY[name]
    lines = [f"    {line}" for line in nodes.split("\n")]
    text = "graph @empty {\n  forward:\n    %0 x: f32[0,3] = Input()\n" + "\n".join(lines) + f"\n  return {results}\n}}"
    agree_everywhere(graph_of(text))


UNIFORM = {
    "rounded to its dtype": ([("int32", (3,), 1.5), ("int64", (), -1.5), ("bool", (2,), 2), ("bool", (), 0.3)], ()),
    "bounds": ([("int32", (), 2**31 - 1), ("int64", (2,), -(2**63)), ("float32", (), 2**24 + 1)], ()),
    "fractions": ([("float32", (2,), 0.1), ("float32", (), 1e-30), ("float32", (), True)], ()),
}


@pytest.mark.parametrize("name", UNIFORM)
def test_one_number_everywhere(name):
    graph = Graph("uniform")
    wanted, _ = UNIFORM[name]
    made = [graph.add("Fill", attrs={"dtype": d, "shape": s, "value": v}).outputs[0] for d, s, v in wanted]
    graph.set_results((f"r{i}", v) for i, v in enumerate(made))
    for checked in (True, False):
        lowered = lower(graph)
        step = compile_program(lowered.program, cache_dir=None, checked=checked).bind([], list(lowered.constants))
        step.run([])
        wanted_arrays = reference.run(graph, {}, exact=False).results
        for (buffer, type), want in zip(lowered.results, wanted_arrays, strict=True):
            np.testing.assert_array_equal(step.read(buffer).reshape(type.shape), want)


def test_uniform_values_are_read_by_every_kind_of_op():
    graph = Graph("uniform")
    x = graph.add("Input", types=(TensorType("float32", (3,)),)).outputs[0]

    def fill(value, dtype="float32", shape=()):
        return graph.add("Fill", attrs={"dtype": dtype, "shape": shape, "value": value}).outputs[0]

    made = [
        graph.add("Select", [fill(True, "bool"), x, fill(0.0)]),
        graph.add("ReduceSum", [fill(1.0, shape=(4, 5))], {"axis": (0,)}),
        graph.add("Add", [fill(1.0), fill(2.0, shape=(2, 2))]),
        graph.add("MatMul", [fill(1.0, shape=(2, 3)), fill(2.0, shape=(3, 2))]),
        graph.add("Transpose", [fill(1.0, shape=(2, 3))], {"perm": (1, 0)}),
        graph.add("Slice", [fill(3.0, shape=(4,))], {"begin": (0,), "size": (2,), "step": (1,)}),
        graph.add("Argmax", [fill(1.0, shape=(4,))], {"axis": 0}),
        graph.add("Reshape", [fill(1.0, shape=(4,))], {"shape": (2, 2)}),
        graph.add("Depend", [fill(5.0)], after=[x.node]),
    ]
    graph.set_results((f"r{i}", n.outputs[0]) for i, n in enumerate(made))
    agree_everywhere(graph)
    agree_everywhere(run(graph)[-1].graph)


def test_infinities_and_nan_as_numbers_in_a_loop():
    graph = Graph("special")
    x = graph.add("Input", types=(TensorType("float32", (3,)),)).outputs[0]

    def fill(value):
        return graph.add("Fill", attrs={"dtype": "float32", "shape": (), "value": value}).outputs[0]

    nan, inf = fill(float("nan")), fill(float("inf"))
    made = [
        graph.add("IsFinite", graph.add("Add", [x, nan]).outputs),
        graph.add("Equal", [inf, graph.add("Maximum", [x, inf]).outputs[0]]),
        graph.add("Less", [fill(float("-inf")), x]),
        graph.add("Less", [x, nan]),
        graph.add("Maximum", [x, nan]),
        graph.add("Select", [graph.add("NotEqual", [x, nan]).outputs[0], x, inf]),
    ]
    graph.set_results((f"r{i}", n.outputs[0]) for i, n in enumerate(made))
    agree(graph, small_integers(graph), checked=True)
    agree(graph, small_integers(graph), checked=False)


# ---- dtypes without kernels


def test_a_dtype_without_a_kernel_is_refused_with_the_line():
    graph = Graph("wide")
    x = graph.add("Input", types=(TensorType("complex64", (3, 3)),)).outputs[0]
    flag = graph.add("Input", types=(TensorType("bool", ()),)).outputs[0]
    subs = {}
    for name in ("then", "else"):
        subs[name] = Graph(name, graph.ids)
        taken = subs[name].add("Input", types=(graph.type(x),), region="state").outputs[0]
        made = subs[name].add("MatMul", [taken, taken], loc=Loc("model.py", 8))
        subs[name].set_results([("0", made.outputs[0])])
    graph.set_results([("y", graph.add("If", [flag, x], subs).outputs[0])])
    with pytest.raises(LoweringError, match="MatMul has no kernel for complex64") as caught:
        lower(graph)
    assert caught.value.code == "GC181"
    assert caught.value.loc == Loc("model.py", 8)


def test_an_op_without_lowering_is_refused_with_the_line():
    graph = Graph("grad")
    x = graph.add("Input", types=(TensorType("float32", (3,)),)).outputs[0]
    made = graph.add("Grad", [x, x, x], {"ys": 1, "wrt": (0,)}, loc=Loc("model.py", 9))
    graph.set_results([("y", made.outputs[0])])
    with pytest.raises(LoweringError, match="Grad has no kernel") as caught:
        lower(graph)
    assert caught.value.code == "GC182"
    assert caught.value.loc == Loc("model.py", 9)
    assert caught.value.nodes == (made.id,)
