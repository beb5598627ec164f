"""What passes share."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Container, Iterable
from typing import NamedTuple

from graphc.ir import Graph, Node, Value


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


def only_reader(graph: Graph, node: Node, dead: Container[int]) -> Node | None:
    """The only reader of a node, to whom it gives one operand; None if there are others, or something waits for it.

    Nodes that are `dead` read nothing.
    """
    users = [graph.node(u) for u in graph.users(node.id) if u not in dead]
    if node.id in graph.ends or node.after or len(users) != 1 or node.id in users[0].after:
        return None
    return users[0] if sum(v.node == node.id for v in users[0].inputs) == 1 else None


class _Landmark(NamedTuple):
    """A node far from both ends of a way that was found: all that comes before it, and all that comes after it."""

    before: set[int]
    after: set[int]


class Ancestors:
    """Which nodes come (transitively) before others, in a graph that gets more edges meanwhile.

    A question is answered by a search from both ends at once, within what lies between them in topological order: it ends as
    soon as either side is at its end, so what has little to do with the rest of the graph costs little. Where a way is long
    others mostly lead through its middle. That is remembered whenever searches have taken about as long as remembering does.
    """

    #: Landmarks that are remembered.
    _MOST = 16

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._place = {id: k for k, id in enumerate(graph.order())}
        self._landmarks: list[_Landmark] = []
        self._looked_at = 0  # By searches since the last landmark.

    def __call__(self, id: int, ancestor: int) -> bool:
        """Whether node `ancestor` comes before node `id`. False for a node and itself."""
        if self._place[ancestor] >= self._place[id]:
            return False
        return any(ancestor in m.before and id in m.after for m in self._landmarks) or self._search(ancestor, id)

    def update(self, graph: Graph, id: int) -> None:
        """Take note that node `id` has got more predecessors, in `graph`."""
        self._graph = graph
        if any(self._place[p] > self._place[id] for p in graph.edges_into(id)):
            self._place = {id: k for k, id in enumerate(graph.order())}

    def _search(self, first: int, last: int) -> bool:
        low, high = self._place[first], self._place[last]
        down, up = {first}, {last}
        below, above = deque(down), deque(up)
        while below and above:
            for id in self._graph.users(below.popleft()):
                if id in up:
                    return self._found(id, down, up)
                if id not in down and self._place[id] < high:
                    down.add(id)
                    below.append(id)
            for id in self._graph.edges_into(above.popleft()):
                if id in down:
                    return self._found(id, down, up)
                if id not in up and self._place[id] > low:
                    up.add(id)
                    above.append(id)
        return False

    def _found(self, middle: int, down: set[int], up: set[int]) -> bool:
        self._looked_at += len(down) + len(up)
        if 4 * self._looked_at > len(self._graph):
            self._looked_at = 0
            mark = _Landmark(_all(self._graph.edges_into, middle), _all(self._graph.users, middle))
            self._landmarks = [mark, *self._landmarks[: self._MOST - 1]]
        return True


def _all(neighbours: Callable[[int], Iterable[int]], start: int) -> set[int]:
    """A node and all that can be reached from it."""
    seen = {start}
    stack = [start]
    while stack:
        for id in neighbours(stack.pop()):
            if id not in seen:
                seen.add(id)
                stack.append(id)
    return seen


def is_entry(graph: Graph, value: Value) -> bool:
    """Whether a value comes from outside: an Input or Param."""
    return graph.node(value.node).op.name in ("Input", "Param")


def redirect(graph: Graph, change: Callable[[Value], Value], id: int) -> None:
    """Let all users of node `id` use other values in place of its results."""
    for user in graph.users(id):
        node = graph.node(user)
        new = [change(v) for v in node.inputs]
        if new != list(node.inputs):
            graph.set_node(user, inputs=new)
    if id in graph.ends:
        results = [(name, change(v)) for name, v in graph.results]
        graph.set_results(results, [(p, change(v)) for p, v in graph.updates])
