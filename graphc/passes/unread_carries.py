"""What a While carries though nothing but itself reads it: a sum that nobody asks for, a state that no gradient needs."""

from __future__ import annotations

from collections.abc import Iterable

from graphc.ir import Graph, Node, Value
from graphc.passes.tools import redirect


def narrow_loops(graph: Graph) -> Graph:
    """Take away what a While carries to no use, and captures that this leaves unread, in a graph without dead nodes.

    Inner loops are for `in_subgraphs`.

    before:  %5 = While(%1, %2, %3) {carried=2, body: (a, b, c) -> (tanh(a), b + a)}   return %5
    after:   %5 = While(%1) {carried=1, body: (a) -> tanh(a)}   return %5
    """
    loops = [node for node in graph.owners() if node.op.name == "While"]
    if not loops:
        return graph
    demand = _Demand(graph)
    demand.add(value for _, value in (*graph.results, *graph.updates))
    demand.close()
    changed: Graph | None = None
    place = {id: k for k, id in enumerate(graph.order())}
    # Readers first: one may carry to no use what another makes for it.
    for node in sorted(loops, key=lambda n: -place[n.id]):
        alive = demand.carried.get(node.id)
        if changed is not None and node.id not in changed:
            continue  # Only what is gone has read it.
        if alive is not None and (len(alive) < node.attrs["carried"] or _has_unread_captures(node)):
            changed = changed or graph.copy()
            _narrow(changed, changed.node(node.id), sorted(alive))
            # What stands between two loops may have read what the first one need not carry any more.
            changed.prune()
    return changed or graph


class _Demand:
    """The values of a graph that are computed from; of a While only what it carries to some use (`carried`, by node)."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.carried: dict[int, set[int]] = {}
        self.found: set[Value] = set()
        self._stack: list[Value] = []

    def add(self, values: Iterable[Value]) -> None:
        self._stack += values

    def close(self) -> None:
        """All that is behind what has been added."""
        while self._stack:
            value = self._stack.pop()
            if value in self.found:
                continue
            self.found.add(value)
            node = self.graph.node(value.node)
            for before in node.after:
                self.add(self.graph.node(before).outputs)
            if node.op.name != "While":
                self.add(node.inputs)
                continue
            alive = _alive(node, self.carried.get(node.id, set()) | {value.slot})
            self.carried[node.id] = alive
            self.add(node.inputs[k] for k in alive)
            self.add(node.inputs[node.attrs["carried"] :])


def _alive(node: Node, read: set[int]) -> set[int]:
    """What a While must carry for these results."""
    body, count = node.attrs["body"], node.attrs["carried"]
    alive = set(read)
    inputs = body.inputs[:count]
    cond = _Demand(node.attrs["cond"])
    cond.add(r.value for r in cond.graph.results)
    cond.close()
    alive |= {k for k, id in enumerate(cond.graph.inputs[:count]) if Value(id) in cond.found}
    turn = _Demand(body)
    done: set[int] = set()
    while alive - done:
        turn.add(body.results[k].value for k in alive - done)
        done |= alive
        turn.close()
        alive |= {k for k, id in enumerate(inputs) if Value(id) in turn.found}
    return alive


def _is_read(graph: Graph, place: int) -> bool:
    id = graph.inputs[place]
    return bool(graph.users(id)) or id in graph.ends


def _has_unread_captures(node: Node) -> bool:
    parts = [sub for _, sub in node.graphs()]
    return not all(any(_is_read(g, k) for g in parts) for k in range(node.attrs["carried"], len(node.inputs)))


def _narrow(graph: Graph, node: Node, alive: list[int]) -> None:
    count = node.attrs["carried"]
    parts = {name: sub.copy() for name, sub in node.graphs()}
    parts["body"].set_results(parts["body"].results[k] for k in alive)
    for sub in parts.values():
        sub.prune()
    captures = range(count, len(node.inputs))
    keep = [*alive, *(k for k in captures if any(_is_read(sub, k) for sub in parts.values()))]
    for sub in parts.values():
        sub.inputs = [sub.inputs[k] for k in keep]
        sub.prune()
        sub.freeze()
    place = {k: n for n, k in enumerate(alive)}
    graph.set_node(
        node.id,
        inputs=[node.inputs[k] for k in keep],
        types=tuple(node.types[k] for k in alive),
        attrs={**node.attrs, "carried": len(alive), **parts},
    )
    redirect(graph, lambda v: Value(v.node, place[v.slot]) if v.node == node.id else v, node.id)
