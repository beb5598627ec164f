"""What passes share."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from graphc.ir import Graph, Value


def in_subgraphs(graph: Graph, transform: Callable[[Graph], Graph]) -> Graph:
    """The graph with every subgraph (of If, ...) transformed; the graph itself if nothing changed."""
    owners = {node.id: node for node in graph.owners()}
    changed: Graph | None = None
    # In program order, which is that of the ids of new nodes.
    for id in [i for i in graph.order() if i in owners] if owners else []:
        for name, sub in owners[id].graphs():
            new = transform(sub)
            if new is not sub:
                changed = changed or graph.copy()
                current = changed.node(id)
                changed.set_node(id, attrs={**current.attrs, name: new.freeze()})
    return changed or graph


class Ancestors:
    """Which of some chosen nodes come (transitively) before a node. One sweep of the graph answers for all nodes.

    Each chosen node is one bit; a node's set is an integer: the union of those of its predecessors.
    """

    def __init__(self, graph: Graph, chosen: Iterable[int]) -> None:
        self._bits = {id: 1 << i for i, id in enumerate(dict.fromkeys(chosen))}
        self._sets: dict[int, int] = {}
        for id in graph.order():
            self._sets[id] = self._union(graph, id)

    def __call__(self, id: int, ancestor: int) -> bool:
        """Whether the chosen node `ancestor` comes before node `id`. False for a node and itself."""
        return bool(self._sets[id] & self._bits[ancestor])

    def update(self, graph: Graph, id: int) -> None:
        """Take note that node `id` has got more predecessors in `graph`."""
        stack = [id]
        while stack:
            node = stack.pop()
            found = self._union(graph, node)
            if found != self._sets[node]:
                self._sets[node] = found
                stack += graph.users(node)

    def _union(self, graph: Graph, id: int) -> int:
        found = 0
        for p in graph.nx.predecessors(id):
            found |= self._sets[p] | self._bits.get(p, 0)
        return found


def is_entry(graph: Graph, value: Value) -> bool:
    """Whether a value comes from outside: an Input or Param."""
    return graph.node(value.node).op.name in ("Input", "Param")
