"""A graph as JSON (node-link form) and back. For other tools; the text IR is the form for people.

Document: {"schema": "graphc.graph", "version": 1, "text": the text IR, "graph": GRAPH, ...}. GRAPH: name, inputs
(node ids), results [{name, value}], updates [{param, value}], nodes, links [{source, target, kind}], kind being
"data" or "order". A node: id, op, name, types, inputs (values, "%3" or "%3#1"), after (node ids), scope, loc
({file, line} or null), region, fwd, origin ({made_by, rule, sources} or null), attrs (as the text IR writes them),
graphs (subgraphs by attribute). Nodes stand in the order of the text IR. Reading uses the text alone, so that there
is one grammar.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from graphc.errors import ParseError
from graphc.inspect.plainjson import dumps as dumps
from graphc.ir import Graph, Node, parse, to_text
from graphc.ir.text import attr_text

SCHEMA, VERSION = "graphc.graph", 1


def to_document(graph: Graph, **more: Any) -> dict[str, Any]:
    """The whole JSON document of a graph; `more` are further keys at the top."""
    return {"schema": SCHEMA, "version": VERSION, "text": to_text(graph), "graph": graph_json(graph), **more}


def graph_json(graph: Graph) -> dict[str, Any]:
    """A graph and its subgraphs as plain data."""
    inputs = set(graph.inputs)
    nodes = [*map(graph.node, graph.inputs), *(n for n in graph if n.id not in inputs)]
    return {
        "name": graph.name,
        "inputs": list(graph.inputs),
        "results": [{"name": r.name, "value": str(r.value)} for r in graph.results],
        "updates": [{"param": u.param, "value": str(u.value)} for u in graph.updates],
        "nodes": [node_json(n) for n in nodes],
        "links": [{"source": p, "target": n.id, "kind": kind} for n in nodes for p, kind in n.predecessors().items()],
    }


def node_json(node: Node) -> dict[str, Any]:
    """A node as plain data."""
    origin = node.origin
    return {
        "id": node.id,
        "op": node.op.name,
        "name": node.name,
        "types": [str(t) for t in node.types],
        "inputs": [str(v) for v in node.inputs],
        "after": list(node.after),
        "scope": node.scope,
        "loc": {"file": node.loc.file, "line": node.loc.line} if node.loc else None,
        "region": node.region,
        "fwd": node.fwd,
        "origin": {"made_by": origin.made_by, "rule": origin.rule, "sources": list(origin.sources)} if origin else None,
        "attrs": {k: attr_text(v) for k, v in node.attrs.items()},
        "graphs": {k: graph_json(g) for k, g in node.graphs()},
    }


def from_document(document: Any, constants: Mapping[str, np.ndarray[Any, Any]] | None = None) -> Graph:
    """The graph of a JSON document, from its `text`. ParseError if it is none, or of another version."""
    if not isinstance(document, dict) or document.get("schema") != SCHEMA:
        raise ParseError("this JSON is no graph of graphc", help=f'expected {{"schema": "{SCHEMA}", ...}}')
    if document.get("version") != VERSION:
        raise ParseError(
            f"this graph has version {document.get('version')!r} of the JSON form, only {VERSION} can be read"
        )
    if not isinstance(document.get("text"), str):
        raise ParseError("this JSON graph is damaged: it has no text")
    return parse(document["text"], constants)
