"""dot and mermaid: well formed whatever the names are."""

from __future__ import annotations

import json
import re
from collections import Counter

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphc.errors import ArgumentValueError
from graphc.inspect.export import dot_label, draw, mermaid_label, to_dot, to_mermaid, to_node_link
from graphc.inspect.folding import MOST, edges, fold
from graphc.ir import Data, Graph, TensorType, walk

_DOT_STRING = r'"(?:[^"\\]|\\.)*"'
_DOT_LINES = [
    rf"digraph {_DOT_STRING} \{{",
    r"node \[shape=box, style=filled, fontname=\"monospace\", fontsize=10\];",
    r"subgraph cluster_\w+ \{",
    rf"label={_DOT_STRING};",
    rf"n\d+ \[fillcolor={_DOT_STRING}, label={_DOT_STRING}\];",
    r"n\d+ -> [nr]\d+(?: \[style=dashed\])?;",
    rf"r\d+ \[shape=ellipse, label={_DOT_STRING}\];",
    r"\}",
]
_MERMAID_STRING = r'"(?:[^"<>`\\]|<br/>)*"'
_MERMAID_LINES = [
    r"flowchart TD",
    rf"subgraph c\w+ \[{_MERMAID_STRING}\]",
    rf"n\d+\[{_MERMAID_STRING}\]",
    r"n\d+ (?:-->|-\.->) n\d+",
    rf"n\d+ --> r\d+\(\[{_MERMAID_STRING}\]\)",
    r"end",
]


def _check(text: str, forms: list[str]) -> None:
    for line in text.split("\n"):
        assert any(re.fullmatch(form, line.strip()) for form in forms), line


@pytest.mark.parametrize("which", ["step_graph", "hostile_graph"])
def test_every_line_has_a_known_form(request, which):
    graph = request.getfixturevalue(which)
    _check(to_dot(graph), _DOT_LINES)
    _check(to_mermaid(graph), _MERMAID_LINES)


def test_order_edges_are_dashed_and_captures_drawn(step_graph):
    dot, mermaid = to_dot(step_graph), to_mermaid(step_graph)
    assert "  n6 -> n7 [style=dashed];" in dot
    assert "  n10 -> n14;" in dot
    assert "  n6 -.-> n7" in mermaid
    assert "  n15 --> n18" in mermaid
    assert dot.count("{") == dot.count("}")
    assert len(re.findall(r"^ *subgraph ", mermaid, re.M)) == len(re.findall(r"^ *end$", mermaid, re.M))


_FOLDED = {
    "dot": [
        *_DOT_LINES[:2],
        r"subgraph cluster_\w+ \{",
        *_DOT_LINES[3:4],
        rf"b\d+ \[fillcolor={_DOT_STRING}, label={_DOT_STRING}(?:, style=dashed)?\];",
        r"b\d+ -> [br]\d+(?: \[(?:label=\"\d+\")?(?:, )?(?:style=dashed)?\])?;",
        *_DOT_LINES[6:],
    ],
    "mermaid": [
        r"flowchart TD",
        rf"subgraph c_\w+ \[{_MERMAID_STRING}\]",
        rf"b\d+\[{_MERMAID_STRING}\]",
        r"b\d+ (?:-->|-\.->)(?:\|\d+\|)? b\d+",
        rf"b\d+ --> r\d+\(\[{_MERMAID_STRING}\]\)",
        r"end",
    ],
}


@pytest.mark.parametrize("form", _FOLDED)
@pytest.mark.parametrize("which", ["step_graph", "hostile_graph"])
@pytest.mark.parametrize("depth", [0, 1, 2])
def test_every_folded_line_has_a_known_form(request, form, which, depth):
    graph = request.getfixturevalue(which)
    scope = next(n.scope for n in graph if n.scope)
    for chosen in ("", scope.partition(".")[0] if which == "step_graph" else scope):
        _check(draw(graph, form, chosen, depth), _FOLDED[form] + (_DOT_LINES if form == "dot" else _MERMAID_LINES))


def test_folding_keeps_every_node_and_counts_every_edge(step_graph):
    whole = fold(step_graph, depth=99)
    nodes = {n.id for _, n in walk(step_graph)}
    assert sorted(i for b in whole.boxes for i in b.nodes) == sorted(nodes)
    assert sum(whole.edges.values()) == len(list(edges(step_graph)))
    for depth in (0, 1, 2):
        folded = fold(step_graph, depth=depth)
        box = {i: k for k, b in enumerate(folded.boxes) for i in b.nodes}
        assert set(box) == nodes
        counted = Counter((box[e.source], box[e.target], e.kind) for e in edges(step_graph))
        assert folded.edges == {k: n for k, n in counted.items() if k[0] != k[1]}
    assert [b.label.split("\n")[0] for b in fold(step_graph, depth=1).boxes if b.region == "forward"]


def test_a_scope_keeps_only_what_it_has_to_do_with(step_graph):
    folded = fold(step_graph, "network.fc", 9)
    inside = {i for b in folded.boxes if not b.outside for i in b.nodes}
    assert inside == {n.id for n in step_graph if n.scope == "network.fc"}
    touched = {k for a, b, _ in folded.edges for k in (a, b)}
    assert all(k in touched for k, b in enumerate(folded.boxes) if b.outside)
    assert not any(folded.boxes[a].outside and folded.boxes[b].outside for a, b, _ in folded.edges)
    with pytest.raises(ArgumentValueError, match=r"did you mean network\.fc"):
        fold(step_graph, "network.fx")


def test_a_gpt_is_drawn_with_at_most_sixty_boxes():
    graph = Graph("gpt")
    x = graph.add("Input", types=(TensorType("float32", (2,)),), name="x").outputs[0]
    for region in ("forward", "backward"):
        for block in range(24):
            for layer in ("norm1", "attention.qkv", "attention.out", "norm2", "mlp.up", "mlp.down"):
                for op in ("Exp", "Neg", "Tanh"):
                    x = graph.add(op, [x], scope=f"network.blocks.{block}.{layer}", region=region).outputs[0]
    graph.set_results([("y", x)])
    boxes = fold(graph).boxes
    assert 48 <= len(boxes) <= MOST
    assert "network.blocks.23\n18 nodes" in [b.label for b in boxes]
    two = graph.add("Fill", attrs={"dtype": "float32", "shape": (2,), "value": 2.0}, scope="network.head").outputs[0]
    held = Data(np.ones(2, np.float32), type=TensorType("float32", (2,)))
    one = graph.add("Constant", types=(held.type,), attrs={"value": held}).outputs[0]
    graph.set_results([("y", graph.add("Add", [two, one], scope="network.head").outputs[0])])
    head = next(b for b in fold(graph, depth=2).boxes if b.label.startswith("network.head"))
    assert one.node in head.nodes, "a constant belongs to who uses it"
    assert draw(graph, "mermaid").count("-->") <= 60
    assert draw(graph, "mermaid", depth=99).count("-->") == 867


@given(st.text(st.characters(codec="utf-8"), max_size=30))
def test_labels_cannot_be_left(text):
    dot, mermaid = dot_label(text), mermaid_label(text)
    assert re.fullmatch(_DOT_STRING, dot)
    assert re.fullmatch(_MERMAID_STRING, mermaid)
    for label in (dot, mermaid):
        assert label.isprintable()
        assert "</" not in label.replace("<br/>", "")
    assert "<" not in dot


def test_networkx_reads_node_link_json(step_graph, hostile_graph):
    for graph in (step_graph, hostile_graph):
        read = nx.node_link_graph(json.loads(json.dumps(to_node_link(graph))), edges="edges")
        assert set(read.nodes) == {n.id for _, n in walk(graph)}
        assert {id: data["op"] for id, data in read.nodes(data=True)} == {n.id: n.op.name for _, n in walk(graph)}
        assert nx.is_directed_acyclic_graph(read)
        found = [(a, b, kind) for a, b, kind in read.edges(data="kind")]
        assert sorted(found) == sorted(edges(graph))


def test_labels_say_the_text():
    assert dot_label('a"b\n<c>\\') == '"a\\"b\\n&lt;c&gt;\\\\"'
    assert mermaid_label('a"b#\n<c>') == '"a#34;b#35;<br/>#60;c#62;"'
    assert dot_label("\x1b") == '"\\\\u001b"'
    assert mermaid_label("é") == '"#233;"'
