"""A Python `for` over the rows of a tensor leaves equal turns in the graph: they become one Scan."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from graphc.ir import Builder, Graph, Node, Origin, TensorType, Value
from graphc.ir.builder import fresh
from graphc.ops.declared.scan import rows
from graphc.ops.declared.transforms import REQUESTS
from graphc.passes.scans.loop import is_product, key_of
from graphc.passes.tools import in_subgraphs

#: Fewer turns stay as they are; and loops of so few nodes without a product, which fuse to a kernel or two.
_LEAST_TURNS, _LEAST_NODES = 8, 256
#: Nodes that are the same wherever they stand.
_FIXED = frozenset({"Constant", "Fill"})


def roll_loops(graph: Graph) -> Graph:
    """Make one Scan of turns that do the same with one row of a tensor after the other, and with what the turn before made.

    before:  %3 = Slice(%0) {row 0}   %4 = Tanh(%3 + %1)   %5 = Slice(%0) {row 1}   %6 = Tanh(%5 + %4)   ...
    after:   %9 = Scan(%1, %0) {body: (h, x) -> tanh(x + h)}
    """
    if "Slice" not in graph.ops():
        return graph
    original = graph = in_subgraphs(graph, roll_loops)
    while True:
        loop = next(_found(graph), None)
        if loop is None:
            return graph
        graph = graph.copy() if graph is original else graph
        _Roller(graph, loop).run()
        graph.prune()


@dataclass(frozen=True)
class _Row:
    """A Slice of one place along an axis of a value."""

    source: Value
    axis: int
    at: int


@dataclass
class _Turns:
    """Equal turns: number t has nodes `nodes[t]`.

    `inputs[j]` says of each operand of node j of a turn where it comes from: ("same", k, slot) node k of the turn,
    ("before", k, slot) that of the turn before, ("row", ) a row, ("outer", value). `first` has what "before" is in turn 0.
    """

    nodes: list[list[Node]]
    inputs: list[list[tuple[Any, ...]]]
    step: int
    first: dict[tuple[int, int], Value] = field(default_factory=dict)


def _row(graph: Graph, node: Node) -> _Row | None:
    if node.op.name != "Slice" or set(node.attrs["step"]) != {1}:
        return None
    whole, part = graph.type(node.inputs[0]).shape, node.type.shape
    axes = [a for a, (n, m) in enumerate(zip(whole, part, strict=True)) if n != m]
    if len(axes) != 1 or part[axes[0]] != 1:
        return None
    return _Row(node.inputs[0], axes[0], node.attrs["begin"][axes[0]])


def _program_order(graph: Graph, node: Node) -> tuple[int, int]:
    """Where a node stands: a row of a loop's stack right before who reads it first."""
    first, back = node, 0
    while first.origin is not None and first.origin.made_by == "roll_loops" and first.op.name in ("Slice", "Reshape"):
        users = graph.users(first.id)
        if not users:
            break
        first, back = graph.node(min(users)), back - 1
    return first.id, back


def _found(graph: Graph) -> Iterator[_Turns]:
    """Loops that can be rolled."""
    rows = [row for node in graph.nodes() if (row := _row(graph, node)) is not None]
    if not rows or max(Counter((row.source, row.axis) for row in rows).values()) < _LEAST_TURNS:
        return
    sequence = sorted(graph.nodes(), key=lambda n: _program_order(graph, n))
    sequence = [n for n in sequence if n.op.name not in _FIXED and n.op.name not in ("Input", "Param")]
    places: dict[tuple[Value, int], dict[int, int]] = {}
    for position, node in enumerate(sequence):
        row = _row(graph, node)
        if row is not None:
            places.setdefault((row.source, row.axis), {}).setdefault(row.at, position)
    for found in places.values():
        for run in _runs(list(found.items())):
            for begin in (0, 1):  # The first turn may be another one.
                loop = _turns(graph, sequence, run[begin:])
                if loop is not None and _pays(graph, loop):
                    yield loop
                    break


def _runs(rows: list[tuple[int, int]]) -> Iterator[list[tuple[int, int]]]:
    """Of (row, position): those of rows next to each other, upwards or downwards, at equal distances."""
    start = 0
    while start + _LEAST_TURNS <= len(rows):
        (a, p), (b, q) = rows[start : start + 2]
        end = start + 1
        while end < len(rows) and (rows[end][0] - rows[end - 1][0], rows[end][1] - rows[end - 1][1]) == (b - a, q - p):
            end += 1
        if abs(b - a) == 1 and end - start >= _LEAST_TURNS:
            yield rows[start:end]
        start = max(end - 1, start + 1)


def _turns(graph: Graph, sequence: Sequence[Node], run: Sequence[tuple[int, int]]) -> _Turns | None:
    """The turns that begin with these rows, as many as are equal; None if they are too few."""
    if len(run) < _LEAST_TURNS:
        return None
    step, size = run[1][0] - run[0][0], run[1][1] - run[0][1]
    windows = [list(sequence[p : p + size]) for _, p in run]
    windows = windows if len(windows[-1]) == size else windows[:-1]
    place = {n.id: (t, j) for t, nodes in enumerate(windows) for j, n in enumerate(nodes)}
    wanted = [[_origin(graph, place, 1, node, v) for v in node.inputs] for node in windows[1]]
    loop = _Turns([], wanted, step)
    for t, nodes in enumerate(windows):
        if not all(_fits(graph, place, loop, t, node, windows[1][j], wanted[j]) for j, node in enumerate(nodes)):
            break
        loop.nodes.append(nodes)
    return loop if len(loop.nodes) >= _LEAST_TURNS and not _is_seen(graph, loop) else None


def _origin(graph: Graph, place: dict[int, tuple[int, int]], t: int, node: Node, value: Value) -> tuple[Any, ...]:
    """Where an operand of a node of turn t comes from."""
    turn, k = place.get(value.node, (-1, 0))
    if turn == t:
        return ("same", k, value.slot)
    if turn == t - 1 and t > 0:
        return ("before", k, value.slot)
    maker = graph.node(value.node)
    return ("outer", key_of(maker, []), value.slot) if maker.op.name in _FIXED else ("outer", value)


def _fits(
    graph: Graph, place: dict[int, tuple[int, int]], loop: _Turns, t: int, node: Node, like: Node, wanted: list[Any]
) -> bool:
    """Whether a node of turn t does what one of turn 1 does."""
    if node.op is not like.op or node.op.effect or node.after or node.types != like.types or node.op.name in REQUESTS:
        return False
    row, other = _row(graph, node), _row(graph, like)
    if row is not None and other is not None and row.at - other.at == (t - 1) * loop.step:
        return (row.source, row.axis) == (other.source, other.axis) and row.source.node not in place
    if key_of(node, []) != key_of(like, []) or len(node.inputs) != len(wanted):
        return False
    for value, carried, want in zip(node.inputs, like.inputs, wanted, strict=True):
        have = _origin(graph, place, t, node, value)
        if t == 0 and want[0] == "before":
            if value.node in place or loop.first.setdefault(want[1:], value) != value:
                return False
            if graph.type(value) != graph.type(carried):
                return False
        elif have != want:
            return False
    return True


def _is_seen(graph: Graph, loop: _Turns) -> bool:
    """Whether a node waits for a turn, or a gradient or another transform is taken with respect to something that one makes."""
    inside = {n.id for nodes in loop.nodes for n in nodes}
    for node in graph.nodes():
        if not inside.isdisjoint(node.after):
            return True
        if node.op.name in REQUESTS and any(v.node in inside for v in node.inputs[node.attrs.get("ys", 0) :]):
            return True
    return False


def _pays(graph: Graph, loop: _Turns) -> bool:
    nodes = loop.nodes[0]
    return bool(loop.first) and (any(map(is_product, nodes)) or len(nodes) * len(loop.nodes) >= _LEAST_NODES)


class _Roller:
    """Puts a Scan in the place of turns."""

    def __init__(self, graph: Graph, loop: _Turns) -> None:
        self.graph, self.loop = graph, loop
        self.turns = len(loop.nodes)
        first = loop.nodes[0][0]
        origin = Origin("roll_loops", sources=(first.id,))
        self.b = Builder(graph, first.region, first.scope, first.loc, origin=origin)
        self.inside = {n.id: (t, j) for t, nodes in enumerate(loop.nodes) for j, n in enumerate(nodes)}

    def run(self) -> None:
        carried = list(self.loop.first)
        used = self._used_outside()
        stacked = [key for key, turns in used.items() if key not in carried or turns != {self.turns - 1}]
        body, operands, scanned = self._body(carried, stacked)
        attrs = {
            "length": self.turns, "carried": len(carried), "scanned": scanned,
            "stacks": tuple(range(len(carried), len(carried) + len(stacked))), "reverse": self.loop.step < 0, "body": body,
        }  # fmt: skip
        made = self.b.node("Scan", *operands, attrs=attrs).outputs
        final = dict(zip(carried, made, strict=False))
        stacks = dict(zip(stacked, made[len(carried) :], strict=True))
        self._replace_stacks(stacks)
        self._replace(final, stacks)

    def _body(self, carried: list[tuple[int, int]], stacked: list[tuple[int, int]]) -> tuple[Graph, list[Value], int]:
        """The body, the operands of the loop, and how many of these are scanned."""
        graph, nodes = self.graph, self.loop.nodes[1]
        body = Graph("turn", graph.ids)

        def add(type: TensorType) -> Value:
            return body.add("Input", types=(type,), region="state").outputs[0]

        at: dict[Any, Value] = {("before", *key): add(graph.type(v)) for key, v in self.loop.first.items()}
        operands = list(self.loop.first.values())
        inner: dict[int, Value] = {}
        for j, node in enumerate(nodes):
            row = self._moving(j)
            if row is not None:
                operands.append(self._scanned(row, self.loop.nodes[0][j], self.loop.nodes[-1][j]))
                shape = graph.type(operands[-1]).shape[1:]
                inner[j] = add(TensorType(node.type.dtype, shape))
        scanned = len(inner)
        made: dict[tuple[int, int], Value] = {}
        for j, node in enumerate(nodes):
            b = Builder(body, node.region, node.scope, node.loc)
            if j in inner:
                made[j, 0] = b.Reshape(inner[j], shape=node.type.shape)
                continue
            inputs = []
            for value, origin in zip(node.inputs, self.loop.inputs[j], strict=True):
                if origin[0] == "same":
                    inputs.append(made[origin[1:]])
                    continue
                key = origin if origin[0] == "before" else value
                if key not in at:
                    at[key] = add(graph.type(value))
                    operands.append(value)
                inputs.append(at[key])
            new = b.node(node.op.name, *inputs, attrs=self._attrs(node))
            made |= {(j, slot): v for slot, v in enumerate(new.outputs)}
        body.set_results((str(k), made[key]) for k, key in enumerate([*carried, *stacked]))
        body.prune()
        return body.freeze(), operands, scanned

    def _attrs(self, node: Node) -> dict[str, Any]:
        return {k: fresh(v, self.graph.ids) if isinstance(v, Graph) else v for k, v in node.attrs.items()}

    def _moving(self, j: int) -> _Row | None:
        """The row that node j of turn 1 takes, if the other turns take others."""
        one, two = (_row(self.graph, self.loop.nodes[t][j]) for t in (1, 2))
        return one if one is not None and two is not None and one.at != two.at else None

    def _scanned(self, row: _Row, first: Node, last: Node) -> Value:
        """All rows that the turns take, along a first axis in place of their own."""
        ends = [r.at for r in (_row(self.graph, first), _row(self.graph, last)) if r is not None]
        shape = self.graph.type(row.source).shape
        x = row.source
        if row.axis:
            x = self.b.Transpose(x, perm=(row.axis, *(a for a in range(len(shape)) if a != row.axis)))
        return x if self.turns == shape[row.axis] else rows(self.b, x, min(ends), self.turns)

    # ---- what stands outside

    def _used_outside(self) -> dict[tuple[int, int], set[int]]:
        """Of what nodes of a turn make, in which turns it is used outside."""
        used: dict[tuple[int, int], set[int]] = {}

        def note(value: Value) -> None:
            if value.node in self.inside:
                t, j = self.inside[value.node]
                used.setdefault((j, value.slot), set()).add(t)

        for node in self.graph.nodes():
            if node.id not in self.inside:
                for v in node.inputs:
                    note(v)
        for v in [*(r.value for r in self.graph.results), *(u.value for u in self.graph.updates)]:
            note(v)
        return used

    def _place(self, turn: int) -> int:
        return turn if self.loop.step > 0 else self.turns - 1 - turn

    def _replace_stacks(self, stacks: dict[tuple[int, int], Value]) -> None:
        """A Concat of what all turns made, one behind the other, is their stack."""
        for node in [n for n in self.graph.nodes() if n.op.name == "Concat" and len(n.inputs) == self.turns]:
            makers = [self.graph.node(v.node) for v in node.inputs]
            spread = all(m.op.name == "Reshape" for m in makers) and makers[0].id not in self.inside
            values = [m.inputs[0] for m in makers] if spread else list(node.inputs)
            keys = {(self.inside[v.node][1], v.slot) if v.node in self.inside else None for v in values}
            key = next(iter(keys))
            if len(keys) != 1 or key is None or key not in stacks:
                continue
            if [self._place(self.inside[v.node][0]) for v in values] != list(range(self.turns)):
                continue
            axis, shape = node.attrs["axis"], self.graph.type(values[0]).shape
            if spread and all(m.type.shape == (*shape[:axis], 1, *shape[axis:]) for m in makers):
                order = (*range(1, axis + 1), 0, *range(axis + 1, len(shape) + 1))
                made = self.b.Transpose(stacks[key], perm=order) if axis else stacks[key]
                self.graph.replace_node(node.id, [made])
            elif not spread and axis == 0:
                self.graph.replace_node(node.id, [self.b.Reshape(stacks[key], shape=node.type.shape)])

    def _replace(self, final: dict[tuple[int, int], Value], stacks: dict[tuple[int, int], Value]) -> None:
        """Let what stands outside use the loop's results."""
        for id, (t, j) in sorted(self.inside.items()):
            users = [u for u in self.graph.users(id) if u not in self.inside]
            if not users and id not in self.graph.ends:
                continue
            node = self.graph.node(id)
            values = []
            for slot, type in enumerate(node.types):
                key = (j, slot)
                if t == self.turns - 1 and key in final:
                    values.append(final[key])
                elif key in stacks:
                    values.append(self.b.Reshape(rows(self.b, stacks[key], self._place(t), 1), shape=type.shape))
                else:
                    values.append(Value(id, slot))
            if values != list(node.outputs):
                self._swap(id, users, values)

    def _swap(self, id: int, users: list[int], values: list[Value]) -> None:
        for user in users:
            node = self.graph.node(user)
            self.graph.set_node(user, inputs=[values[v.slot] if v.node == id else v for v in node.inputs])
        if id in self.graph.ends:
            results = [(n, values[v.slot] if v.node == id else v) for n, v in self.graph.results]
            updates = [(p, values[v.slot] if v.node == id else v) for p, v in self.graph.updates]
            self.graph.set_results(results, updates)
