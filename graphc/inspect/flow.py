"""Questions about a program's order and extent: the whole program as one networkx graph, slices of it, the overflow
order, counts.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import networkx as nx

from graphc.errors import ArgumentValueError
from graphc.ir import REGIONS, Graph, Node, Value, walk


class Place(NamedTuple):
    """A node of a program and where it stands: () for the outer graph, else ((owner id, attribute), ...) from outside
    in.
    """

    node: Node
    path: tuple[tuple[int, str], ...]


def places(graph: Graph, path: tuple[tuple[int, str], ...] = ()) -> Iterator[Place]:
    """Every node of a program in the order of the text IR, outer before inner."""
    inputs = set(graph.inputs)
    for node in (*map(graph.node, graph.inputs), *(n for n in graph if n.id not in inputs)):
        yield Place(node, path)
        for attr, sub in node.graphs():
            yield from places(sub, (*path, (node.id, attr)))


def flatten(graph: Graph) -> nx.DiGraph[int]:
    """The program as one DiGraph of node ids, subgraphs included; edge attribute `kind` is "data", "order" or "branch".

    A subgraph's inputs are fed by the trailing operands of the node that holds it (its captures). The operands before
    them (an If's condition) and the nodes it runs after come before every node of the subgraph. What a subgraph
    returns flows to its holder.
    """
    flat: nx.DiGraph[int] = nx.DiGraph()
    for owner, node in walk(graph):
        flat.add_node(node.id)
        for p, kind in node.predecessors().items():
            flat.add_edge(p, node.id, kind=kind)
        for _, sub in node.graphs():
            _splice(flat, owner.node(node.id), sub)
    return flat


def _splice(flat: nx.DiGraph[int], holder: Node, sub: Graph) -> None:
    captured = captures(holder, sub)
    gates = [v.node for v in holder.inputs[: len(holder.inputs) - len(captured)]] + list(holder.after)
    for source in (n.id for n in sub if not n.predecessors()):
        flat.add_edges_from((gate, source, {"kind": "branch"}) for gate in gates)
    flat.add_edges_from((value.node, inner, {"kind": "data"}) for value, inner in captured)
    for result in sub.results:
        flat.add_edge(result.value.node, holder.id, kind="data")


def captures(holder: Node, sub: Graph) -> list[tuple[Value, int]]:
    """(operand, input of the subgraph that it feeds): the trailing operands of the node that holds it."""
    first = max(len(holder.inputs) - len(sub.inputs), 0)
    return list(zip(holder.inputs[first:], sub.inputs, strict=False))


def shown(name: str) -> str:
    """A user's name as messages show it: as it is where it is plain, else quoted and escaped."""
    return name if re.fullmatch(r"[\w.\-]+", name, re.ASCII) else json.dumps(name)


@dataclass(frozen=True)
class Selection:
    """What to show of a program; None where anything will do.

    region: region name. scope: a Cell path, which includes what is below it. op: op name. start, end: node ids: only
    what depends on `start`, and what `end` depends on, both included, through data and order edges.
    """

    region: str | None = None
    scope: str | None = None
    op: str | None = None
    start: int | None = None
    end: int | None = None

    @property
    def everything(self) -> bool:
        return self == Selection()

    def __str__(self) -> str:
        parts = [
            f"region {self.region}" if self.region else "",
            f"scope {shown(self.scope)}" if self.scope else "",
            f"op {shown(self.op)}" if self.op else "",
            f"from %{self.start}" if self.start is not None else "",
            f"to %{self.end}" if self.end is not None else "",
        ]
        return ", ".join(filter(None, parts))


def select(graph: Graph, wanted: Selection) -> list[Place]:
    """The places of a program that a selection asks for, in the order of the text IR. ArgumentValueError for an
    unknown id.
    """
    reached: set[int] | None = None
    if wanted.start is not None or wanted.end is not None:
        flat = flatten(graph)
        for id in (wanted.start, wanted.end):
            if id is not None and id not in flat:
                raise ArgumentValueError(f"there is no node %{id} in graph @{shown(graph.name)}")
        reached = set(flat)
        if wanted.start is not None:
            reached &= nx.descendants(flat, wanted.start) | {wanted.start}
        if wanted.end is not None:
            reached &= nx.ancestors(flat, wanted.end) | {wanted.end}
    return [p for p in places(graph) if _wanted(p.node, wanted) and (reached is None or p.node.id in reached)]


def _wanted(node: Node, wanted: Selection) -> bool:
    scope = wanted.scope
    return (
        (wanted.region is None or node.region == wanted.region)
        and (wanted.op is None or node.op.name == wanted.op)
        and (scope is None or node.scope == scope or node.scope.startswith(scope + "."))
    )


# ---- the overflow order


class Step(NamedTuple):
    """A station of the overflow order. `link`: how the one before leads here ("data", "order", "start", or "path"
    when other nodes stand between, counted by region in `between`).
    """

    node: Node
    link: str
    between: dict[str, int]
    note: str


def overflow_order(graph: Graph) -> list[list[Step]]:
    """For every GetFloatStatus: what runs before the status is cleared, the ClearFloatStatus, what it holds back, the
    check, the update that depends on it, and what waits for the update. Subgraphs count as part of the node that
    holds them.
    """
    return [_spine(graph, node) for node in graph if node.op.name == "GetFloatStatus" and _cleared_by(graph, node)]


def _cleared_by(graph: Graph, check: Node) -> Node | None:
    """The ClearFloatStatus of a check, behind Depend."""
    node = graph.node(check.inputs[0].node)
    while node.op.name == "Depend":
        node = graph.node(node.inputs[0].node)
    return node if node.op.name == "ClearFloatStatus" else None


def _spine(graph: Graph, check: Node) -> list[Step]:
    clear = _cleared_by(graph, check)
    assert clear is not None
    count = len(check.inputs) - 1
    checked = f"tests {count} value{'' if count == 1 else 's'}"
    steps = [Step(graph.node(p), "start", {}, "computed before the status is cleared") for p in clear.after]
    steps.append(Step(clear, "order" if clear.after else "start", {}, ""))
    after: set[int] = nx.descendants(graph.nx, clear.id)
    before: set[int] = nx.ancestors(graph.nx, check.id)
    inside = after & before
    held = [n for i in sorted(inside) if clear.id in (n := graph.node(i)).after]
    steps += [Step(n, "order", {}, "waits for the cleared status") for n in held]
    steps.append(Step(check, "path" if inside else "data", _regions(graph, inside), checked))
    return steps + _after_check(graph, check)


def _after_check(graph: Graph, check: Node) -> list[Step]:
    """The conditionals that depend on the check, with what leads there, and the Depends that wait for them."""
    after = nx.descendants(graph.nx, check.id)
    branches = [i for i in graph.order() if i in after and graph.node(i).op.name == "If"]
    steps: dict[int, Step] = {}
    for branch in branches:
        path = nx.shortest_path(graph.nx, check.id, branch)
        for p, i in pairwise(path):
            steps.setdefault(i, _linked(graph, p, i))
    for last in branches or [check.id]:
        for user in sorted(graph.users(last)):
            if graph.node(user).op.name == "Depend":
                steps.setdefault(user, _linked(graph, last, user, "waits for the update"))
    return list(steps.values())


def _linked(graph: Graph, before: int, id: int, note: str = "") -> Step:
    node = graph.node(id)
    subs = [f"{attr}: {sub.count()} nodes" for attr, sub in node.graphs()]
    return Step(node, graph.nx.edges[before, id]["kind"], {}, note or ", ".join(subs))


def _regions(graph: Graph, ids: set[int]) -> dict[str, int]:
    counts = Counter(graph.node(i).region for i in ids)
    return {r: counts[r] for r in REGIONS if counts[r]}


# ---- counts


def stats(graph: Graph) -> dict[str, Any]:
    """Node counts of a program, subgraphs included: total, edges by kind, by region, by op (most frequent first) per
    region; parameters and their bytes.
    """
    nodes = [n for _, n in walk(graph)]
    edges = Counter(kind for n in nodes for kind in n.predecessors().values())
    by_region: dict[str, dict[str, int]] = {}
    for region in REGIONS:
        ops = Counter(n.op.name for n in nodes if n.region == region)
        if ops:
            by_region[region] = dict(sorted(ops.items(), key=lambda item: (-item[1], item[0])))
    params = [n for n in graph if n.op.name == "Param"]
    return {
        "graph": graph.name,
        "nodes": len(nodes),
        "edges": {kind: edges[kind] for kind in ("data", "order")},
        "regions": by_region,
        "parameters": len(params),
        "parameter_bytes": sum(p.type.nbytes for p in params),
    }
