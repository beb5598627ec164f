"""Where nodes stand in the program, whatever passes have put in their place."""

from __future__ import annotations

from typing import Protocol

from graphc.ir import Graph, Node


class Places(Protocol):
    """Where nodes stand, each behind its operands. `near`: what stands before a value has no part in its gradient."""

    @property
    def near(self) -> bool: ...
    def __call__(self, id: int) -> tuple[float, ...]: ...


class Order:
    """Where the nodes of a graph stand in the program: by their ids, as the tracer gave them; but what a pass has made stands
    where that stood which it replaces, or else before who reads it first.
    """

    near = True

    def __init__(self, graph: Graph) -> None:
        self._places: dict[int, tuple[float, ...]] = {}
        for each in graph.ids.log:
            source = max(each.sources, default=-1)
            for id in each.made:
                if id > source >= 0 and id in graph:
                    self._places.setdefault(id, (*self(source), id))
        late = [p for id in graph.nx for p in graph.edges_into(id) if p > id]
        for id in dict.fromkeys(late):
            self._put_before_readers(graph, id)

    def __call__(self, id: int) -> tuple[float, ...]:
        return self._places.get(id) or (id,)

    def nodes(self, graph: Graph) -> list[Node]:
        """The nodes of a graph in this order."""
        ids = sorted(graph.nx, key=self) if self._places else sorted(graph.nx)
        return [graph.node(id) for id in ids]

    def put(self, ids: range, at: int) -> None:
        """New nodes stand where node `at` does."""
        place = self(at)
        for id in ids:
            self._places[id] = (*place, id)

    def _put_before_readers(self, graph: Graph, id: int) -> None:
        late, stack = [], [id]
        while stack:
            id = stack.pop()
            users = graph.users(id)
            if id not in self._places and users and min(users) < id:
                late.append(id)
                stack += [u for u in users if u > id]
        for id in reversed(late):
            *rest, last = min(map(self, graph.users(id)))
            self._places.setdefault(id, (*rest, last - 0.5, id))


class Topological:
    """The places of nodes in a graph's own order. With stages, what another process sends has a part in gradients."""

    near = False

    def __init__(self, graph: Graph) -> None:
        self._places = {id: (k,) for k, id in enumerate(graph.order())}

    def __call__(self, id: int) -> tuple[float, ...]:
        return self._places[id]
