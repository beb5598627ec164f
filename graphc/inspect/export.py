"""Graphs as pictures: Graphviz dot and Mermaid text. Regions are boxes, subgraphs boxes within, order edges dashed.

Names come from users and may hold anything: every label is escaped here, and nothing but node ids is written outside
labels.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from graphc.inspect.flow import captures
from graphc.ir import REGIONS, Graph, Node

_FILL = {"state": "#eeeeee", "forward": "#ddeeff", "backward": "#ffeedd", "overflow": "#ffdddd", "optimizer": "#ddffdd"}
_PLAIN = re.compile(r"[A-Za-z0-9 _.,:;%=*/+\-\[\]()@?!]")


def dot_label(text: str) -> str:
    """Text as a quoted dot label. `&`, `<` and `>` become entities, which Graphviz reads in labels; control
    characters are spelt out.
    """
    names = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "&": "&amp;", "<": "&lt;", ">": "&gt;"}
    return (
        '"' + "".join(names.get(c, c if c.isprintable() else _code_point(c).replace("\\", "\\\\")) for c in text) + '"'
    )


def mermaid_label(text: str) -> str:
    """Text as a quoted Mermaid label: whatever is not plainly harmless becomes a character code; a newline a line
    break.
    """
    return '"' + "".join("<br/>" if c == "\n" else c if _PLAIN.match(c) else _mermaid_char(c) for c in text) + '"'


def _mermaid_char(c: str) -> str:
    return (
        f"#{ord(c)};" if c.isprintable() else "".join(x if _PLAIN.match(x) else f"#{ord(x)};" for x in _code_point(c))
    )


def _code_point(c: str) -> str:
    return f"\\u{ord(c):04x}"


def to_dot(graph: Graph) -> str:
    """The graph in Graphviz's language."""
    lines = [
        f"digraph {dot_label(graph.name)} {{",
        '  node [shape=box, style=filled, fontname="monospace", fontsize=10];',
    ]
    lines += _dot_body(graph, "  ")
    for edge in _edges(graph):
        style = "" if edge.kind == "data" else " [style=dashed]"
        lines.append(f"  n{edge.source} -> n{edge.target}{style};")
    for number, result in enumerate(graph.results):
        lines.append(f"  r{number} [shape=ellipse, label={dot_label(_inline(result.name))}];")
        lines.append(f"  n{result.value.node} -> r{number};")
    return "\n".join([*lines, "}"])


def _dot_body(graph: Graph, indent: str) -> Iterator[str]:
    for region, nodes in _by_region(graph):
        yield f"{indent}subgraph cluster_{nodes[0].id}_{region} {{"
        yield f"{indent}  label={dot_label(region)};"
        for node in nodes:
            yield f"{indent}  n{node.id} [fillcolor={dot_label(_FILL[region])}, label={dot_label(_label(node))}];"
            for number, (attr, sub) in enumerate(node.graphs()):
                yield f"{indent}  subgraph cluster_{node.id}_sub{number} {{"
                yield f"{indent}    label={dot_label(f'%{node.id} {attr}')};"
                yield from _dot_body(sub, indent + "    ")
                yield f"{indent}  }}"
        yield f"{indent}}}"


def to_mermaid(graph: Graph) -> str:
    """The graph as a Mermaid flowchart."""
    lines = ["flowchart TD", *_mermaid_body(graph, "  ")]
    for edge in _edges(graph):
        lines.append(f"  n{edge.source} {'-->' if edge.kind == 'data' else '-.->'} n{edge.target}")
    for number, result in enumerate(graph.results):
        lines.append(f"  n{result.value.node} --> r{number}([{mermaid_label(_inline(result.name))}])")
    return "\n".join(lines)


def _mermaid_body(graph: Graph, indent: str) -> Iterator[str]:
    for region, nodes in _by_region(graph):
        yield f"{indent}subgraph c{nodes[0].id}_{region} [{mermaid_label(region)}]"
        for node in nodes:
            yield f"{indent}  n{node.id}[{mermaid_label(_label(node))}]"
            for number, (attr, sub) in enumerate(node.graphs()):
                yield f"{indent}  subgraph c{node.id}_sub{number} [{mermaid_label(f'%{node.id} {attr}')}]"
                yield from _mermaid_body(sub, indent + "    ")
                yield f"{indent}  end"
        yield f"{indent}end"


#: The forms that `graphc dump --as` prints besides text and json.
FORMS: dict[str, Callable[[Graph], str]] = {"dot": to_dot, "mermaid": to_mermaid}


class _Edge(NamedTuple):
    source: int
    target: int
    kind: str


def _edges(graph: Graph) -> Iterator[_Edge]:
    """Edges of the graph and its subgraphs; captures and results connect a subgraph with the node that holds it."""
    for node in graph:
        for p, kind in node.predecessors().items():
            yield _Edge(p, node.id, kind)
        for _, sub in node.graphs():
            yield from _edges(sub)
            for value, inner in captures(node, sub):
                yield _Edge(value.node, inner, "data")
            for producer in dict.fromkeys(r.value.node for r in sub.results):
                yield _Edge(producer, node.id, "data")


def _by_region(graph: Graph) -> Iterator[tuple[str, list[Node]]]:
    for region in REGIONS:
        nodes = [n for n in graph if n.region == region]
        if nodes:
            yield region, nodes


def _label(node: Node) -> str:
    parts = [f"%{node.id} {node.op.name}"]
    parts += [_inline(text) for text in (node.name, node.scope) if text]
    parts.append(", ".join(map(str, node.types)))
    return "\n".join(parts)


def _inline(name: str) -> str:
    """A user's name on one line: its own newlines are shown, not followed."""
    return name.replace("\\", "\\\\").replace("\n", "\\n")
