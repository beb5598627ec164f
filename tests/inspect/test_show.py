"""Slices, the overflow order, counts, differences, colours."""

from __future__ import annotations

import re

import networkx as nx
import pytest

from graphc.errors import ArgumentValueError
from graphc.inspect.diff import compare, diff_text
from graphc.inspect.flow import Selection, flatten, overflow_order, select, stats
from graphc.inspect.show import order_text, paint, slice_text, stats_text
from graphc.ir import Graph, TensorType, Value, to_text


def _ids(graph, **wanted):
    return [p.node.id for p in select(graph, Selection(**wanted))]


def test_slices(step_graph):
    assert _ids(step_graph, region="backward") == [9]
    assert _ids(step_graph, region="optimizer") == [18, 15, 19]
    assert _ids(step_graph, scope="network") == [3, 4, 5, 6]
    assert _ids(step_graph, scope="network.f") == []
    assert _ids(step_graph, op="Mul") == [4, 9, 10]
    assert _ids(step_graph, op="Mul", region="overflow") == [10]
    assert _ids(step_graph, end=9) == [0, 1, 2, 4, 5, 6, 7, 8, 9]
    assert _ids(step_graph, start=11) == [11, 12, 18, 13, 14, 15, 16, 17, 19]
    assert _ids(step_graph, start=7, end=11) == [7, 8, 9, 10, 11]
    assert _ids(step_graph, start=19, end=0) == []


def test_slices_reach_into_and_out_of_branches(step_graph):
    assert _ids(step_graph, start=10, end=15) == [10, 11, 12, 13, 14, 15]
    assert _ids(step_graph, start=15) == [18, 15, 19]
    assert _ids(step_graph, start=16, end=15) == []


def test_an_unknown_node_is_an_error(step_graph):
    for wanted in ({"start": 99}, {"end": 99}):
        with pytest.raises(ArgumentValueError, match="there is no node %99 in graph @step"):
            _ids(step_graph, **wanted)


def test_the_flat_program_is_acyclic_and_complete(step_graph):
    flat = flatten(step_graph)
    assert set(flat) == set(range(20))
    assert nx.is_directed_acyclic_graph(flat)
    assert flat.edges[12, 13]["kind"] == "branch"
    assert flat.edges[10, 14]["kind"] == "data"
    assert flat.edges[15, 18]["kind"] == "data"


def test_slice_text_names_the_places(step_graph):
    wanted = Selection(region="optimizer")
    text = slice_text(step_graph, select(step_graph, wanted), wanted, 20)
    assert text.startswith("# 3 of 20 nodes of graph @step: region optimizer\n  optimizer:\n    %18")
    assert "\n  in then of %18\n    optimizer:\n      %15: " in text


def test_overflow_order(step_graph):
    (spine,) = overflow_order(step_graph)
    assert [(s.node.id, s.link) for s in spine] == [
        (6, "start"), (7, "order"), (8, "order"), (11, "path"), (12, "data"), (18, "data"), (19, "order"),
    ]  # fmt: skip
    assert spine[3].between == {"backward": 1, "overflow": 2}
    lines = order_text(step_graph, [spine]).split("\n")
    assert [line.split()[2] for line in lines if re.match(r"\s+\d", line)] == [
        "loss:", "i32[8]", "f32[4,3]", "b1[]", "b1[]", "f32[4,3]", "f32[]",
    ]  # fmt: skip
    assert "       | through 3 nodes (1 backward, 2 overflow)" in lines


def test_a_graph_without_overflow_check_says_so(hostile_graph):
    assert overflow_order(hostile_graph) == []
    assert order_text(hostile_graph, []).endswith("checks no float status")


def test_stats_count_subgraphs_too(step_graph):
    found = stats(step_graph)
    assert (found["nodes"], found["parameters"], found["parameter_bytes"]) == (20, 1, 48)
    assert found["edges"] == {"data": 19, "order": 3}
    assert found["regions"]["optimizer"] == {"Depend": 1, "If": 1, "Sub": 1}
    assert next(iter(found["regions"]["forward"])) == "Constant"
    assert sum(sum(ops.values()) for ops in found["regions"].values()) == 20
    assert "  backward                        1" in stats_text(found)


def test_paint_adds_colours_and_nothing_else(step_graph, hostile_graph):
    for graph in (step_graph, hostile_graph):
        painted = paint(to_text(graph))
        assert "\x1b[36m%0\x1b[0m" in painted
        assert re.sub(r"\x1b\[\d*m", "", painted) == to_text(graph)


# ---- diff


def test_no_difference(step_graph, hostile_graph):
    for graph in (step_graph, hostile_graph):
        assert not compare(graph, graph.copy())
    assert diff_text(compare(step_graph, step_graph.copy())) == "the structure is the same"


def test_differences_by_id(step_graph):
    other = step_graph.copy()
    other.set_node(5, inputs=[Value(4), Value(4)])
    new = other.add("Neg", [Value(6)])
    other.set_results([("loss", new.outputs[0])], step_graph.updates)
    other.prune()
    diff = compare(step_graph, other)
    # The pruned nodes: the Depend that was the loss and the unused table.
    assert set(diff.removed) == {3, 19}
    assert set(diff.added) == {new.id}
    assert set(diff.changed) == {5}
    assert len(diff.structure) == 1
    text = diff_text(diff)
    assert "2 nodes removed, 1 added, 1 changed" in text
    assert "- %5: f32[4,3] = Add(%4, %2)" in text
    assert "+ %5: f32[4,3] = Add(%4, %4)" in text
    assert diff.to_json()["changed"]["%5"]["before"].startswith("%5")


def test_names_places_and_regions_are_no_difference(step_graph):
    other = step_graph.copy()
    other.set_node(5, name="sum", scope='a"  ; b', region="backward")
    diff = compare(step_graph, other)
    assert not diff
    assert diff.remarks == 1
    assert "1 nodes differ in name" in diff_text(diff)


def test_attributes_order_edges_and_branches_are_differences(step_graph):
    changed = step_graph.copy()
    changed.set_node(9, after=[7])
    assert set(compare(step_graph, changed).changed) == {9}
    t = TensorType("float32", (2, 2))
    a, b = Graph("g"), Graph("g")
    for graph, axis in ((a, 0), (b, 1)):
        x = graph.add("Input", types=(t,))
        graph.add("ReduceSum", [x.outputs[0]], {"axis": (axis,), "keep_dims": False})
    assert set(compare(a, b).changed) == {1}


def test_a_change_inside_a_branch_is_found(step_graph):
    text = to_text(step_graph).replace("%15: f32[4,3] = Sub", "%15: f32[4,3] = Add")
    from graphc.ir import parse

    diff = compare(step_graph, parse(text))
    assert set(diff.changed) == {15}
    swapped = to_text(step_graph).replace("return w=%15", "return w=%13")
    diff = compare(step_graph, parse(swapped))
    assert not diff.changed
    assert diff.structure == [('then of %18 returns "w"=%15', 'then of %18 returns "w"=%13')]
