"""Where a graph repeats itself: turns of equal nodes, one behind the other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from graphc.ir import Graph, Node, Value
from graphc.ops.declared.transforms import REQUESTS
from graphc.passes.node_places import Order
from graphc.passes.scans.leaves import Leaves, can_stack, path_of, window_of

#: Fewer turns stay as they are.
LEAST_TURNS = 8
#: So many turns back a turn may look; so many operands are compared before turns are.
_BACK, _OPERANDS = 3, 4
#: More results than a node has; mixes numbers.
_SLOTS, _PRIME = 1 << 10, 0x100000001B3
#: So many places are tried where the first turn may begin before the rest of a turn is given up.
_TRIES = 4


@dataclass
class Turns:
    """Equal turns: number t has nodes `nodes[t]`.

    `inputs[j]` says of each operand of node j of a turn where it comes from: ("same", k, slot) node k of the turn,
    ("back", n, k, slot) that of n turns before, ("known", type) and ("window", ...) a leaf, in each turn another one,
    ("outer", value). `first[n, k, slot]` is what "back" is where there is no such turn.
    """

    nodes: list[list[Node]]
    inputs: list[list[tuple[Any, ...]]]
    first: dict[tuple[int, int, int], Value] = field(default_factory=dict)

    def leaves(self) -> Iterator[tuple[int, int]]:
        """Operands that are leaves: the node of a turn, and which of its operands."""
        for j, origins in enumerate(self.inputs):
            for i, origin in enumerate(origins):
                if origin[0] in ("known", "window"):
                    yield j, i

    def values(self, j: int, i: int) -> list[Value]:
        """Operand i of node j of all turns."""
        return [nodes[j].inputs[i] for nodes in self.nodes]


def attributes(node: Node, graphs: dict[int, Any]) -> Any:
    """What is equal for attributes that mean the same; `graphs` remembers subgraphs."""
    if not node.attrs:
        return ()
    return tuple(
        [
            (k, repr(v) if isinstance(v, float) else _meaning(v, graphs) if isinstance(v, Graph) else v)
            for k, v in node.attrs.items()
        ]
    )


def _meaning(graph: Graph, graphs: dict[int, Any]) -> Any:
    """A subgraph without its ids."""
    if id(graph) not in graphs:
        number = {n: k for k, n in enumerate(dict.fromkeys((*graph.inputs, *graph.order())))}
        nodes = tuple([
            (
                number[n.id], n.op.name, n.types, attributes(n, graphs), tuple([(number[v.node], v.slot) for v in n.inputs]),
                tuple([number[i] for i in n.after]),
            )
            for n in map(graph.node, number)
        ])  # fmt: skip
        ends = tuple([(number[r.value.node], r.value.slot) for r in graph.results])
        updates = tuple([(number[u.param], number[u.value.node], u.value.slot) for u in graph.updates])
        # The graph is kept, so that its address stays its own.
        graphs[id(graph)] = graph, (len(graph.inputs), nodes, ends, updates)
    return graphs[id(graph)][1]


class Course:
    """The nodes of a graph as the program has them, without what needs no place in a turn."""

    def __init__(self, graph: Graph, order: Order) -> None:
        self.graph = graph
        self.graphs: dict[int, Any] = {}
        self._keys: dict[int, Any] = {}
        nodes = order.nodes(graph)
        inputs = {n.id for n in nodes if n.op.name in ("Input", "Param")}
        kinds = {n.id: (n.op.name, n.types) for n in nodes if n.id not in inputs}
        counts = Counter(kinds.values())
        alike = {id: counts[kind] for id, kind in kinds.items()}
        self.leaves = Leaves(nodes, alike, LEAST_TURNS)
        self.ids = [n.id for n in nodes if n.id not in self.leaves and n.id not in inputs]
        self.at = {id: k for k, id in enumerate(self.ids)}
        # What a turn reads from before the loop all turns read.
        readers = [users for id in inputs if len(users := graph.users(id)) < LEAST_TURNS]
        breaks = sorted({self.at[user] for users in readers for user in users if user in self.at})
        #: Places that may lie in turns: those of so many nodes of one kind in a row that there may be enough turns.
        self.near = [
            p
            for begin, end in pairwise([-1, *breaks, len(self.ids)])
            if max(Counter(kinds[id] for id in self.ids[begin + 1 : end]).values(), default=0) >= LEAST_TURNS - 2
            for p in range(begin + 1, end)
        ]

    def key(self, id: int) -> Any:
        """What is equal for nodes of one kind."""
        if id not in self._keys:
            n = self.graph.node(id)
            self._keys[id] = n.op.name, attributes(n, self.graphs), n.types, len(n.inputs)
        return self._keys[id]

    def runs(self) -> Iterator[tuple[int, int, int]]:
        """(begin, end, size): from begin to end the nodes are equal to those `size` further back, but for the first `size`."""
        count = len(self.ids)
        if not self.near:
            return
        kinds, values, ways = self._tables()
        for size in self._sizes(kinds, values, ways):
            if (LEAST_TURNS - 1) * size > count:
                continue
            equal = kinds[:-size] == kinds[size:]
            for value, way in zip(values, ways, strict=True):
                equal &= (value[:-size] == value[size:]) | (way[:-size] == way[size:])
            edges = np.flatnonzero(np.diff(equal, prepend=False, append=False))
            for begin, end in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True):
                if end - begin >= (LEAST_TURNS - 2) * size:
                    yield begin, end + size, size

    def _tables(self) -> tuple[Any, list[Any], list[Any]]:
        """Of each node a number for its kind, and of its operands numbers for which they are, and how far back they are made."""
        numbers: dict[Any, int] = {}
        count, graph, at = len(self.ids), self.graph, self.at
        kinds = list(range(-1, -1 - count, -1))
        for p in self.near:
            kinds[p] = numbers.setdefault(self.key(self.ids[p]), len(numbers))
        values = [[-1] * count for _ in range(_OPERANDS)]
        ways = [[-1] * count for _ in range(_OPERANDS)]
        leaves: dict[Any, int] = {}
        for p in self.near:
            for i, v in enumerate(graph.node(self.ids[p]).inputs[:_OPERANDS]):
                number = v.node * _SLOTS + v.slot
                place = at.get(v.node)
                if place is None:
                    leaf = self.leaf(v)
                    if leaf is not None:
                        number = -2 - leaves.setdefault(leaf, len(leaves))
                    ways[i][p] = -2 - number if number >= 0 else number
                else:
                    ways[i][p] = (p - place) * _SLOTS + v.slot
                values[i][p] = number
        return np.array(kinds), [np.array(v) for v in values], [np.array(w) for w in ways]

    def leaf(self, value: Value) -> tuple[Any, ...] | None:
        """What is equal for leaves of which turns may have different ones."""
        if value.node in self.leaves.known:
            return "known", self.graph.type(value)
        if value.node in self.leaves.windows:
            return "window", *window_of(self.graph, value)._replace(begin=())
        return None

    def _sizes(self, kinds: Any, values: list[Any], ways: list[Any]) -> list[int]:
        """How many nodes a turn may have: how far apart nodes are that are alike."""
        found: Counter[int] = Counter()
        for table in ((kinds,), (kinds, *values), (kinds, *ways)):
            mixed = np.zeros(len(kinds), np.int64)
            for column in table:
                mixed = mixed * _PRIME + column
            order = np.argsort(mixed, kind="stable")
            gaps = np.diff(order)[np.diff(mixed[order]) == 0]
            sizes, often = np.unique(gaps, return_counts=True)
            found.update(dict(zip(sizes.tolist(), often.tolist(), strict=True)))
        return sorted(size for size, often in found.items() if often >= LEAST_TURNS - 2)

    # ---- turns

    def begins(self, begin: int, end: int, size: int) -> list[int]:
        """Where the first turn of a run may begin: where most turns are whole, and least must be carried."""
        live, always = np.zeros(2 * size + 1, np.int64), 0
        middle = begin + (end - begin) // size // 2 * size
        for p in range(middle, min(middle + size, end)):
            users = [self.at[u] for u in self.graph.users(self.ids[p]) if u in self.at and self.at[u] < end]
            far = max(users, default=p) - p
            # A border at any place behind p, as far as p's last user, has it cross.
            always += far // size
            low = (p + 1 - begin) % size
            live[low] += 1
            live[low + far % size] -= 1
        borders = np.cumsum(live[:-1])
        crossing = borders[:size] + borders[size:] + always
        # What the first turns have from before the loop is elsewhere than what others have: their nodes are of one kind.
        first = begin
        while first > max(begin - _BACK * size, 0) and self._are_alike(first - 1, first - 1 + size):
            first -= 1

        def cost(s: int) -> tuple[int, int, int]:
            return -((end - s) // size), int(crossing[(s - begin) % size]), s

        return [*sorted(range(first, begin), key=cost)[:_TRIES], *sorted(range(begin, begin + size), key=cost)[:1]]

    def _are_alike(self, p: int, q: int) -> bool:
        return bool(self.key(self.ids[p]) == self.key(self.ids[q]))

    def turns(self, graph: Graph, begin: int, end: int, size: int) -> Turns | None:
        """The turns from `begin` on, as many as are equal; None if they are too few. `graph` may have changed elsewhere."""
        count = (end - begin) // size
        if count < LEAST_TURNS:
            return None
        ids = self.ids[begin : begin + count * size]
        if not all(id in graph for id in ids):
            return None
        windows = [[graph.node(id) for id in ids[t * size : (t + 1) * size]] for t in range(count)]
        finder = _Finder(self, graph, windows)
        wanted = [[finder.origin(_BACK, v) for v in node.inputs] for node in windows[_BACK]]
        if any(origin is None for origins in wanted for origin in origins):
            return None
        loop = Turns([], wanted)  # type: ignore[arg-type]
        for t, nodes in enumerate(windows):
            if not all(
                finder.fits(loop, t, node, like, want)
                for node, like, want in zip(nodes, windows[_BACK], wanted, strict=True)
            ):
                break
            loop.nodes.append(nodes)
        if len(loop.nodes) < LEAST_TURNS or _is_seen(graph, loop):
            return None
        return loop if all(_moves(graph, loop, j, i) for j, i in loop.leaves()) else None


class _Finder:
    def __init__(self, course: Course, graph: Graph, windows: list[list[Node]]) -> None:
        self.course, self.graph, self.windows = course, graph, windows
        self.place = {n.id: (t, j) for t, nodes in enumerate(windows) for j, n in enumerate(nodes)}

    def origin(self, t: int, value: Value) -> tuple[Any, ...] | None:
        """Where an operand of a node of turn t comes from; None for what no turn can have."""
        turn, k = self.place.get(value.node, (-1, 0))
        if turn == t:
            return ("same", k, value.slot)
        if 0 <= turn < t:
            return ("back", t - turn, k, value.slot) if t - turn <= _BACK else None
        if turn > t:
            return None
        leaf = self.course.leaf(value) if value.node in self.course.leaves and value.node in self.graph else None
        if leaf is not None and leaf[0] == "window" and window_of(self.graph, value).source.node in self.place:
            return None
        return leaf or ("outer", value)

    def fits(self, loop: Turns, t: int, node: Node, like: Node, wanted: Sequence[Any]) -> bool:
        """Whether a node of turn t does what the one `like` it does, whose operands come from where it is `wanted`."""
        if node.after or node.op.name in REQUESTS or self.course.key(node.id) != self.course.key(like.id):
            return False
        if node.op.effect and not _may_repeat(node, wanted):
            return False
        for value, want in zip(node.inputs, wanted, strict=True):
            if want[0] == "back" and t < want[1]:
                if not self._before(loop, t, want, value):
                    return False
            elif self.origin(t, value) != want:
                return False
        return True

    def _before(self, loop: Turns, t: int, want: tuple[Any, ...], value: Value) -> bool:
        """Whether a value from before the loop can be what a turn that is not there would have made."""
        _, n, k, slot = want
        type = self.windows[_BACK][k].types[slot]
        if value.node in self.place or self.graph.type(value) != type:
            return False
        return loop.first.setdefault((n - t, k, slot), value) == value


def _may_repeat(node: Node, wanted: Sequence[tuple[Any, ...]]) -> bool:
    """Whether a node with an effect can be in a loop: a new version of what the turn before has written."""
    return node.op.name == "Assign" and wanted[0][0] in ("back", "same")


def _moves(graph: Graph, loop: Turns, j: int, i: int) -> bool:
    """Whether a loop can have what its turns have as operand i of node j."""
    values = loop.values(j, i)
    if loop.inputs[j][i][0] == "known":
        return can_stack(graph, values)
    windows = [window_of(graph, v) for v in values]
    return path_of(windows, graph.type(windows[0].source).shape) is not None


def _is_seen(graph: Graph, loop: Turns) -> bool:
    """Whether a node waits for a turn, or a gradient or another transform is taken with respect to something that one makes."""
    inside = {n.id for nodes in loop.nodes for n in nodes}
    for node in graph.nodes():
        if not inside.isdisjoint(node.after):
            return True
        if node.op.name in REQUESTS and any(v.node in inside for v in node.inputs[node.attrs.get("ys", 0) :]):
            return True
    return False
