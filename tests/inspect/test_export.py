"""dot and mermaid: well formed whatever the names are."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphc.inspect.export import dot_label, mermaid_label, to_dot, to_mermaid

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


@given(st.text(st.characters(codec="utf-8"), max_size=30))
def test_labels_cannot_be_left(text):
    dot, mermaid = dot_label(text), mermaid_label(text)
    assert re.fullmatch(_DOT_STRING, dot)
    assert re.fullmatch(_MERMAID_STRING, mermaid)
    for label in (dot, mermaid):
        assert label.isprintable()
        assert "</" not in label.replace("<br/>", "")
    assert "<" not in dot


def test_labels_say_the_text():
    assert dot_label('a"b\n<c>\\') == '"a\\"b\\n&lt;c&gt;\\\\"'
    assert mermaid_label('a"b#\n<c>') == '"a#34;b#35;<br/>#60;c#62;"'
    assert dot_label("\x1b") == '"\\\\u001b"'
    assert mermaid_label("é") == '"#233;"'
