"""Graphs as pictures: Graphviz dot and Mermaid text. Regions are boxes, subgraphs boxes within, order edges dashed.

Names come from users and may hold anything: every label is escaped here, and nothing but node ids is written outside
labels.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from graphc.inspect.folding import MOST, Box, Folded, edges, fold
from graphc.ir import REGIONS, Graph, Node, walk

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
    for edge in edges(graph):
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


def to_node_link(graph: Graph) -> dict[str, Any]:
    """The nodes, those of subgraphs among them, and edges as `networkx.node_link_graph` reads them: a MultiDiGraph whose nodes
    are the ids, with op, name, types, region, cell, loc, and whose edges have a `kind`, "data" or "order".
    """
    nodes = [
        {
            "id": n.id, "op": n.op.name, "name": n.name, "types": list(map(str, n.types)), "region": n.region, "cell": n.scope,
            "loc": str(n.loc) if n.loc else "",
        }
        for _, n in walk(graph)
    ]  # fmt: skip
    links = [{"source": e.source, "target": e.target, "key": k, "kind": e.kind} for k, e in enumerate(edges(graph))]
    return {"directed": True, "multigraph": True, "graph": {"name": graph.name}, "nodes": nodes, "edges": links}


def to_mermaid(graph: Graph) -> str:
    """The graph as a Mermaid flowchart."""
    lines = ["flowchart TD", *_mermaid_body(graph, "  ")]
    for edge in edges(graph):
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


def folded_to_dot(graph: Graph, folded: Folded) -> str:
    """A folded graph in Graphviz's language: an edge says how many it stands for."""
    lines = [
        f"digraph {dot_label(folded.name)} {{",
        '  node [shape=box, style=filled, fontname="monospace", fontsize=10];',
    ]
    for region, boxes in _boxes(graph, folded):
        lines += [f"  subgraph cluster_{region} {{", f"    label={dot_label(region)};"]
        for i, label, box in boxes:
            style = ", style=dashed" if box.outside else ""
            lines.append(f"    b{i} [fillcolor={dot_label(_FILL[region])}, label={dot_label(label)}{style}];")
        lines.append("  }")
    for (source, target, kind), count in folded.edges.items():
        parts = [f"label={dot_label(str(count))}"] if count > 1 else []
        parts += ["style=dashed"] if kind == "order" else []
        style = f" [{', '.join(parts)}]" if parts else ""
        lines.append(f"  b{source} -> b{target}{style};")
    for number, (name, source) in enumerate(folded.results):
        lines.append(f"  r{number} [shape=ellipse, label={dot_label(_inline(name))}];")
        lines.append(f"  b{source} -> r{number};")
    return "\n".join([*lines, "}"])


def folded_to_mermaid(graph: Graph, folded: Folded) -> str:
    """A folded graph as a Mermaid flowchart: an edge says how many it stands for."""
    lines = ["flowchart TD"]
    for region, boxes in _boxes(graph, folded):
        lines.append(f"  subgraph c_{region} [{mermaid_label(region)}]")
        lines += [f"    b{i}[{mermaid_label(label)}]" for i, label, _ in boxes]
        lines.append("  end")
    for (source, target, kind), count in folded.edges.items():
        label = f"|{count}|" if count > 1 else ""
        lines.append(f"  b{source} {'-->' if kind == 'data' else '-.->'}{label} b{target}")
    for number, (name, box) in enumerate(folded.results):
        lines.append(f"  b{box} --> r{number}([{mermaid_label(_inline(name))}])")
    return "\n".join(lines)


def _boxes(graph: Graph, folded: Folded) -> Iterator[tuple[str, list[tuple[int, str, Box]]]]:
    """(number, label, box) of every box, by region."""
    nodes = {n.id: n for _, n in walk(graph)}
    for region in REGIONS:
        found = [(i, box) for i, box in enumerate(folded.boxes) if box.region == region]
        if found:
            yield region, [(i, _inline_lines(b.label) if b.label else _label(nodes[b.nodes[0]]), b) for i, b in found]


def _inline_lines(label: str) -> str:
    """A label whose last line is graphc's own, the rest a user's path."""
    path, _, count = label.rpartition("\n")
    return f"{_inline(path)}\n{count}"


_DRAWN: dict[str, tuple[Callable[[Graph], str], Callable[[Graph, Folded], str]]] = {
    "dot": (to_dot, folded_to_dot),
    "mermaid": (to_mermaid, folded_to_mermaid),
}


def draw(graph: Graph, form: str, scope: str = "", depth: int | None = None) -> str:
    """A graph as "dot" or "mermaid". scope, depth: as `graphc.inspect.folding.fold` takes them; a graph that is small enough is
    drawn node by node where neither is given, and at a depth that no path has. Raises ArgumentValueError for an unknown scope.
    """
    whole, folded = _DRAWN[form]
    nodes = [n for _, n in walk(graph)]
    deepest = max((n.scope.count(".") + 1 for n in nodes if n.scope), default=0)
    if not scope and (len(nodes) <= MOST if depth is None else depth > deepest):
        return whole(graph)
    return folded(graph, fold(graph, scope, depth))


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
