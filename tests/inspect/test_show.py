"""Slices, the overflow order, counts, differences, colours."""

from __future__ import annotations

import re

import networkx as nx
import pytest

from graphc.errors import ArgumentValueError
from graphc.inspect.flow import Selection, find, overflow_order, select, shown, stats, why_order
from graphc.inspect.listing import backwards, edges, reached, read_listing, shortest
from graphc.inspect.show import order_text, paint, slice_text, stats_text, why_order_text
from graphc.ir import parse, to_text


def _read(graph):
    return read_listing(to_text(graph))


def _ids(graph, **wanted):
    return [line.id for line in select(_read(graph), Selection(**wanted))]


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
    flat = edges(_read(step_graph))
    assert set(flat) == set(range(20))
    assert flat[12][13] == "branch"
    assert flat[10][14] == "data"
    assert flat[15][18] == "data"
    for whole in (False, True):
        following = edges(_read(step_graph), whole=whole)
        assert all(id not in reached(following, id) for id in following)


def test_slices_by_gradient_line_and_dtype(step_graph):
    assert _ids(step_graph, grad_of=4) == [9]
    assert _ids(step_graph, at="model.py:41") == [4, 5, 9]
    assert _ids(step_graph, at="model.py") == [4, 5, 9]
    assert _ids(step_graph, at="model.py:4") == _ids(step_graph, at="del.py:41") == []
    assert _ids(step_graph, dtype="int64") == _ids(step_graph, dtype="i64") == [3]
    assert _ids(step_graph, dtype="bool", region="overflow") == [11, 12]
    assert str(Selection(grad_of=4, at="a b.py:3", dtype="f16")) == 'gradient of %4, at "a b.py:3", dtype f16'


def test_the_gradient_of_a_parameter(step_graph):
    named = step_graph.copy()
    named.set_node(9, name="grad.fc.weight")
    assert _ids(named, grad_of=0) == [9]
    assert _ids(step_graph, grad_of=0) == []


def test_a_node_is_found_by_id_and_by_name(step_graph, hostile_graph):
    listing = _read(step_graph)
    assert [find(listing, r) for r in ("%4", "4", "loss", "fc.weight")] == [4, 4, 6, 0]
    with pytest.raises(ArgumentValueError, match=r"is called 'fc\.wieght'(.|\n)*did you mean fc\.weight"):
        find(listing, "fc.wieght")
    with pytest.raises(ArgumentValueError, match="2 nodes are called"):
        find(_read(hostile_graph), hostile_graph.node(0).name)


def test_slice_text_names_the_places(step_graph):
    wanted, listing = Selection(region="optimizer"), _read(step_graph)
    text = slice_text(listing, select(listing, wanted), wanted)
    assert text.startswith("# 3 of 20 nodes of graph @step: region optimizer\n  optimizer:\n    %18")
    assert "\n  in then of %18\n    optimizer:\n      %15: " in text


def test_names_in_other_scripts_stay_as_they_are(step_graph):
    step_graph.set_node(4, scope="netz.größe", name="層")
    text = to_text(step_graph)
    assert '%4 "層": ' in text
    assert '; "netz.größe" @ model.py:41' in text
    listing = _read(step_graph)
    assert (listing[4].name, listing[4].scope) == ("層", "netz.größe")
    assert to_text(parse(text)) == text
    assert (shown("netz.größe"), shown("a b"), shown("x\u202ey")) == ("netz.größe", '"a b"', '"x\\u202ey"')


def test_overflow_order(step_graph):
    listing = _read(step_graph)
    (spine,) = overflow_order(listing)
    assert [(s.node.id, s.link) for s in spine] == [
        (6, "start"), (7, "order"), (8, "order"), (11, "path"), (12, "data"), (18, "data"), (19, "order"),
    ]  # fmt: skip
    assert spine[3].between == {"backward": 1, "overflow": 2}
    lines = order_text(listing, [spine]).split("\n")
    assert [line.split()[2] for line in lines if re.match(r"\s+\d", line)] == [
        "loss:", "i32[8]", "f32[4,3]", "b1[]", "b1[]", "f32[4,3]", "f32[]",
    ]  # fmt: skip
    assert "       | through 3 nodes (1 backward, 2 overflow)" in lines
    assert "then: 3 nodes, else: 2 nodes" in order_text(listing, [spine])


TALKING = """graph @talking {
  forward:
    %0 x: f32[4] = Input()
  overflow:
    %1: i32[8] = ClearFloatStatus()
  backward:
    %3: f32[4] = Neg(%0) after(%1)
    %4: (f32[4], i64[1]) = AllReduceStart(%3) {reduction="sum", group="all", size=2}
    %5: f32[4] = AllReduceWait(%4, %4#1) {size=2}
  overflow:
    %6: b1[] = GetFloatStatus(%1, %5)
    %7: i32[] = Cast(%6) {dtype="int32"}
    %8: i32[] = AllReduce(%7) {reduction="max", size=2} after(%4)
    %9: b1[] = Cast(%8) {dtype="bool"}
    %10: f32[4] = If(%9, %5) {then=graph, else=graph}
      then = graph @then {
        takes %11 g: f32[4]
        forward:
          %12: f32[2] = TakePart(%11) {size=2}
          %13: (f32[4], i64[1]) = AllGatherStart(%12) {group="all", size=2}
          %14: f32[4] = AllGatherWait(%13, %13#1) {size=2}
        return "0"=%14
      }
      else = graph @else {
        takes %15 g: f32[4]
        return "0"=%15
      }
  return y=%10
}
"""


def test_what_processes_say_to_each_other_stands_in_the_overflow_order():
    listing = read_listing(TALKING)
    (spine,) = overflow_order(listing)
    assert [(s.node.op, s.link, s.note) for s in spine[1:]] == [
        ("Neg", "order", "waits for the cleared status"),
        ("AllReduceStart", "data", "begun for 1 value"),
        ("AllReduceWait", "data", "waited for here"),
        ("GetFloatStatus", "data", "tests 1 value"),
        ("Cast", "data", ""),
        ("AllReduce", "data", "all processes together"),
        ("Cast", "data", ""),
        ("If", "data", "then: 4 nodes, else: 1 nodes"),
        ("AllGatherStart", "branch", "begun for 1 value"),
        ("AllGatherWait", "branch", "waited for here"),
    ]
    # One process has nobody to wait for.
    (alone,) = overflow_order(read_listing(TALKING.replace("size=2", "size=1")))
    assert [s.node.op for s in alone] == [
        "ClearFloatStatus",
        "Neg",
        "GetFloatStatus",
        "Cast",
        "AllReduce",
        "Cast",
        "If",
    ]


def test_a_graph_without_overflow_check_says_so(hostile_graph):
    listing = _read(hostile_graph)
    assert overflow_order(listing) == []
    assert order_text(listing, []).endswith("checks no float status")


# ---- what comes before what


def _path(graph, first, second):
    return [(link.line.id, link.link) for link in why_order(_read(graph), first, second)]


def test_why_order_shows_the_path(step_graph):
    assert _path(step_graph, 6, 9) == [(6, "start"), (7, "order"), (8, "order"), (9, "data")]
    # All of a branch runs where its If does: after what the If reads, before what waits for it.
    assert _path(step_graph, 10, 15) == [(10, "start"), (14, "data"), (15, "data")]
    assert _path(step_graph, 11, 16) == [(11, "start"), (12, "data"), (16, "branch")]
    assert _path(step_graph, 10, 16) == [(10, "start"), (16, "branch")]
    assert _path(step_graph, 17, 19) == [(17, "start"), (18, "branch"), (19, "order")]
    for first, second in ((9, 6), (4, 3), (15, 16), (4, 4)):
        assert _path(step_graph, first, second) == []


def test_whatever_is_ordered_is_so_in_every_order_that_the_edges_allow(step_graph):
    """The answer agrees with the closure of the edges, which networkx computes."""
    following = edges(_read(step_graph), whole=True)
    flat = nx.DiGraph([(a, b) for a, after in following.items() for b in after])
    flat.add_nodes_from(following)
    for a in following:
        assert reached(following, a) == nx.descendants(flat, a)
        assert reached(backwards(following), a) == nx.ancestors(flat, a)
        for b in following:
            path = shortest(following, a, b)
            assert bool(path) == nx.has_path(flat, a, b)
            assert not path or len(path) == nx.shortest_path_length(flat, a, b) + 1


def test_why_order_in_words(step_graph):
    listing = _read(step_graph)
    text = why_order_text(listing, 6, 9, why_order(listing, 6, 9), back=False)
    assert text.startswith(
        "%6 runs before %9: 3 edges\n  %6 loss: f32[] = ReduceSum(%5)  ; network.loss\n       | order"
    )
    assert "not ordered: nothing guarantees that %4 runs before %3; they may run in either order" in why_order_text(
        listing, 4, 3, [], back=False
    )
    assert "%6 is guaranteed to run before %9" in why_order_text(listing, 9, 6, [], back=True)


def test_stats_count_subgraphs_too(step_graph):
    found = stats(_read(step_graph))
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
