"""A graph folded for drawing: one box per region and Cell down to a depth, with the number of values between them.

Parameters are one box, constants belong to who uses them first, what a branch takes to the node that holds the branch. Outside
a chosen scope each region is one box, and only those that the scope has to do with are there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from graphc.errors import ArgumentValueError
from graphc.errors.suggestions import nearest, question
from graphc.inspect.flow import captures
from graphc.ir import REGIONS, Graph, Node, walk

#: So many boxes are drawn when no depth is asked for.
MOST = 60

#: (whether outside the scope, region, path or node): what nodes have in common that share a box.
_Key = tuple[bool, str, str | int]


class Edge(NamedTuple):
    """An edge between nodes, "data" or "order"."""

    source: int
    target: int
    kind: str


class Box(NamedTuple):
    """Nodes that are drawn as one. outside: of the scope."""

    region: str
    label: str
    nodes: tuple[int, ...]
    outside: bool


class Folded(NamedTuple):
    """What is drawn: boxes, (source, target, kind) with the number of edges, and results by name with their box."""

    name: str
    boxes: list[Box]
    edges: dict[tuple[int, int, str], int]
    results: list[tuple[str, int]]


def edges(graph: Graph) -> Iterator[Edge]:
    """Edges of the graph and its subgraphs; captures and results connect a subgraph with the node that holds it."""
    for node in graph:
        for p, kind in node.predecessors().items():
            yield Edge(p, node.id, kind)
        for _, sub in node.graphs():
            yield from edges(sub)
            for value, inner in captures(node, sub):
                yield Edge(value.node, inner, "data")
            for producer in dict.fromkeys(r.value.node for r in sub.results):
                yield Edge(producer, node.id, "data")


def fold(graph: Graph, scope: str = "", depth: int | None = None) -> Folded:
    """Fold a graph. scope: a Cell path; what is not below it is outside. depth: so many names of a path below the scope make a
    box of their own; more than any path has: every node is one; None: the deepest with at most 60 boxes.

    Raises ArgumentValueError where nothing is in the scope.
    """
    nodes = [n for _, n in walk(graph)]
    inside = [n for n in nodes if _is_below(n.scope, scope)]
    if not inside:
        near = question(nearest(scope, sorted({n.scope for n in nodes if n.scope}), 3))
        raise ArgumentValueError(f"no node of the graph is in scope {scope!r}", help=near)
    if depth is not None:
        return _folded(graph, nodes, scope, depth)
    deepest = max(len(_below(n.scope, scope)) for n in inside) + 1
    for depth in range(deepest, 0, -1):
        made = _folded(graph, nodes, scope, depth)
        if len(made.boxes) <= MOST:
            return made
    return _folded(graph, nodes, scope, 0)


def _is_below(path: str, scope: str) -> bool:
    return not scope or path == scope or path.startswith(f"{scope}.")


def _below(path: str, scope: str) -> list[str]:
    rest = path[len(scope) :].lstrip(".")
    return rest.split(".") if rest else []


def _folded(graph: Graph, nodes: list[Node], scope: str, depth: int) -> Folded:
    deepest = max((len(_below(n.scope, scope)) for n in nodes if _is_below(n.scope, scope)), default=0)
    keys = _keys(graph, nodes, scope, depth, depth > deepest)
    groups: dict[_Key, list[Node]] = {}
    for region in REGIONS:
        for n in nodes:
            if keys[n.id][1] == region:
                groups.setdefault(keys[n.id], []).append(n)
    counts = Counter((keys[e.source], keys[e.target], e.kind) for e in edges(graph) if keys[e.source] != keys[e.target])
    results = [(r.name, keys[r.value.node]) for r in graph.results]
    # What is outside and only has to do with what is outside, too, is left out.
    counts = Counter({k: n for k, n in counts.items() if not (k[0][0] and k[1][0])})
    near = {key for a, b, _ in counts for key in (a, b)}
    kept = [key for key in groups if not key[0] or key in near]
    index = {key: i for i, key in enumerate(kept)}
    return Folded(
        graph.name,
        [
            Box(key[1], _label(key, groups[key], scope or graph.name), tuple(n.id for n in groups[key]), key[0])
            for key in kept
        ],
        {(index[a], index[b], kind): n for (a, b, kind), n in counts.items()},
        [(name, index[key]) for name, key in results if key in index],
    )


def _keys(graph: Graph, nodes: list[Node], scope: str, depth: int, every: bool) -> dict[int, _Key]:
    """For each node what it shares its box by."""
    keys: dict[int, _Key] = {}
    for n in nodes:
        if not _is_below(n.scope, scope):
            keys[n.id] = (True, n.region, "")
        elif every:
            keys[n.id] = (False, n.region, n.id)
        elif n.op.name == "Param":
            keys[n.id] = (False, n.region, "parameters")
        else:
            keys[n.id] = (False, n.region, ".".join(_below(n.scope, scope)[:depth]))
    if not every:
        users: dict[int, int] = {}
        for edge in edges(graph):
            users.setdefault(edge.source, edge.target)
        for n in nodes:
            if n.op.name == "Constant" and n.id in users:
                keys[n.id] = keys[users[n.id]]
            for _, sub in n.graphs():  # Outer nodes come first.
                keys |= dict.fromkeys(sub.inputs, keys[n.id])
    return keys


def _label(key: _Key, nodes: list[Node], root: str) -> str:
    """What a box of several nodes is called, `root` where their path ends; one of a single node says which it is."""
    outside, region, path = key
    if len(nodes) == 1 and not outside:
        return ""
    count = f"{len(nodes)} nodes"
    if outside:
        return f"outside: {region}\n{count}"
    return f"{path or root}\n{count}"
