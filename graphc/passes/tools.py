"""What passes share."""

from __future__ import annotations

from collections.abc import Callable

from graphc.ir import Graph, Value


def in_subgraphs(graph: Graph, transform: Callable[[Graph], Graph]) -> Graph:
    """The graph with every subgraph (of If, ...) transformed; the graph itself if nothing changed."""
    changed: Graph | None = None
    for node in graph:
        for name, sub in node.graphs():
            new = transform(sub)
            if new is not sub:
                changed = changed or graph.copy()
                current = changed.node(node.id)
                changed.set_node(node.id, attrs={**current.attrs, name: new.freeze()})
    return changed or graph


def depends_on(graph: Graph, start: int, targets: set[int]) -> bool:
    """Whether node `start` comes (transitively) after any of the targets."""
    stack, seen = [start], {start}
    while stack:
        for p in graph.nx.pred[stack.pop()]:
            if p in targets:
                return True
            if p not in seen:
                seen.add(p)
                stack.append(p)
    return False


def is_entry(graph: Graph, value: Value) -> bool:
    """Whether a value comes from outside: an Input or Param."""
    return graph.node(value.node).op.name in ("Input", "Param")
