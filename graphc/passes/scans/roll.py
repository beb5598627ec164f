"""What a Python `for` or `while` leaves in the graph, equal turns, becomes one Scan."""

from __future__ import annotations

from collections import Counter
from typing import Any

from graphc.ir import Builder, Graph, Node, Origin, TensorType, Value
from graphc.ir.builder import fresh
from graphc.ir.op import Scalar
from graphc.ops.declared.scan import rows
from graphc.ops.declared.transforms import REQUESTS
from graphc.passes.autodiff import expand, without_requests
from graphc.passes.node_places import Order
from graphc.passes.scans.leaves import path_of, stacked_known, stacked_windows, window_of
from graphc.passes.scans.loop import is_product, rearranges
from graphc.passes.scans.turns import LEAST_TURNS, Course, Turns
from graphc.passes.tools import in_subgraphs

#: Loops without a product of fewer nodes stay: they fuse to a kernel or two. So do longer ones that by element alone change
#: more elements than are near: one kernel keeps what turns would read and write.
_LEAST_NODES, _LEAST_SCALARS, _LARGE = 64, 2048, 1 << 14


def roll_loops(graph: Graph) -> Graph:
    """Make one Scan of turns that do the same: with the next rows of tensors, other numbers, and what turns before have made.

    before:  %3 = Slice(%0) {row 0}   %4 = Tanh(%3 + %1)   %5 = Slice(%0) {row 1}   %6 = Tanh(%5 + %4)   ...
    after:   %9 = Scan(%1, %0) {body: (h, x) -> tanh(x + h)}

    Where turns take gradients, these are expanded first.
    """
    graph = in_subgraphs(graph, roll_loops)
    # A turn has a node of a kind, and of the first ones some may be of another.
    if max(Counter([(n.op.name, n.types) for n in graph.nodes()]).values(), default=0) < LEAST_TURNS - 2:
        return graph
    order = Order(graph)
    graph = _rolled(graph, order)
    inner = _inner_requests(graph, order)
    if inner:
        graph = in_subgraphs(graph, without_requests).copy()
        for id in inner:
            first = graph.ids.next
            expand(graph, id, order)
            order.put(range(first, graph.ids.next), id)
        graph.prune()
        graph = _rolled(graph, order)
    return graph


def _rolled(graph: Graph, order: Order) -> Graph:
    found = True
    while found:
        found = False
        course = Course(graph, order)
        for begin, end, size in course.runs():
            for start in course.begins(begin, end, size):
                loop = course.turns(graph, start, end, size)
                if loop is not None and _pays(graph, loop):
                    # The course keeps the graph that it has seen.
                    graph = graph if found else graph.copy()
                    _Roller(graph, loop, order).run()
                    graph.prune()
                    found = True
                if loop is not None:
                    break
    return graph


def _inner_requests(graph: Graph, order: Order) -> list[int]:
    """Requests for gradients and the like, in order, up to the last of those of which there is one in each turn of a loop."""
    if "Receive" in graph.ops():
        return []  # See `Places.near`.
    requests = sorted((n for n in graph.nodes() if n.op.name in REQUESTS), key=lambda n: order(n.id))
    kinds = [(n.op.name, n.types, n.attrs.get("wrt"), len(n.inputs)) for n in requests]
    often = Counter(kinds)
    last = max((k for k, kind in enumerate(kinds) if often[kind] >= LEAST_TURNS), default=-1)
    return [n.id for n in requests[: last + 1]]


def _pays(graph: Graph, loop: Turns) -> bool:
    nodes, leaves = loop.nodes[0], [loop.inputs[j][i][0] for j, i in loop.leaves()]
    if any(map(is_product, nodes)):
        return True
    by_element = "window" not in leaves and all(isinstance(n.lower, Scalar) or rearranges(n) for n in nodes)
    large = sum(graph.type(v).size for v in loop.first.values()) > _LARGE
    # A leaf is a node or two of each turn.
    count = len(loop.nodes) * (len(nodes) + 2 * len(leaves))
    return count >= (_LEAST_SCALARS if by_element and large else _LEAST_NODES)


class _Roller:
    """Puts a Scan in the place of turns."""

    def __init__(self, graph: Graph, loop: Turns, order: Order) -> None:
        self.graph, self.loop, self.order = graph, loop, order
        self.turns = len(loop.nodes)
        first = loop.nodes[0][0]
        origin = Origin("roll_loops", sources=(first.id,))
        self.b = Builder(graph, first.region, first.scope, first.loc, origin=origin)
        self.inside = {n.id: (t, j) for t, nodes in enumerate(loop.nodes) for j, n in enumerate(nodes)}
        self.paths = {(j, i): self._path(j, i) for j, i in loop.leaves() if loop.inputs[j][i][0] == "window"}
        moves = [path.by for path in self.paths.values() if path.by]
        self.reverse = bool(moves) and max(moves) < 0

    def run(self) -> None:
        before = self.graph.ids.next
        carried = sorted(self.loop.first)
        used = self._used_outside()
        kept = set(carried)
        stacked = [key for key, turns in used.items() if not all((self.turns - t, *key) in kept for t in turns)]
        body, operands, scanned = self._body(carried, stacked)
        attrs = {
            "length": self.turns, "carried": len(carried), "scanned": scanned,
            "stacks": tuple(range(len(carried), len(carried) + len(stacked))), "reverse": self.reverse, "body": body,
        }  # fmt: skip
        made = self.b.node("Scan", *operands, attrs=attrs).outputs
        final = dict(zip(carried, made, strict=False))
        stacks = dict(zip(stacked, made[len(carried) :], strict=True))
        self._replace_stacks(stacks)
        self._replace(final, stacks)
        self.order.put(range(before, self.graph.ids.next), self.loop.nodes[0][0].id)

    def _path(self, j: int, i: int) -> Any:
        windows = [window_of(self.graph, v) for v in self.loop.values(j, i)]
        return path_of(windows, self.graph.type(windows[0].source).shape)

    def _body(
        self, carried: list[tuple[int, int, int]], stacked: list[tuple[int, int]]
    ) -> tuple[Graph, list[Value], int]:
        """The body, the operands of the loop, and how many of these are scanned."""
        graph, nodes = self.graph, self.loop.nodes[1]
        body = Graph("turn", graph.ids)

        def add(type: TensorType) -> Value:
            return body.add("Input", types=(type,), region="state").outputs[0]

        at: dict[Any, Value] = {("back", *key): add(graph.type(self.loop.first[key])) for key in carried}
        operands = [self.loop.first[key] for key in carried]
        # Equal rows are scanned once; what they are as operands, a Reshape makes of them.
        seen: dict[Value, Value] = {}
        moving: dict[tuple[int, int], Value] = {}
        for j, i in self.loop.leaves():
            stack = self._stacked(j, i)
            if stack is not None:
                if stack not in seen:
                    type = graph.type(stack)
                    seen[stack] = add(TensorType(type.dtype, type.shape[1:]))
                    operands.append(stack)
                moving[j, i] = seen[stack]
        made: dict[tuple[int, int], Value] = {}
        for j, node in enumerate(nodes):
            b = Builder(body, node.region, node.scope, node.loc)
            inputs = []
            for i, (value, origin) in enumerate(zip(node.inputs, self.loop.inputs[j], strict=True)):
                if (j, i) in moving:
                    inputs.append(self._shaped(b, moving[j, i], graph.type(value)))
                elif origin[0] == "same":
                    inputs.append(made[origin[1:]])
                elif self._is_number(value, origin):
                    inputs.append(self._again(body, value))
                else:
                    key = origin if origin[0] == "back" else value
                    if key not in at:
                        at[key] = add(graph.type(value))
                        operands.append(value)
                    inputs.append(at[key])
            new = b.node(node.op.name, *inputs, attrs=self._attrs(node))
            made |= {(j, slot): v for slot, v in enumerate(new.outputs)}
        states = [made[k, slot] if n == 1 else at["back", n - 1, k, slot] for n, k, slot in carried]
        body.set_results((str(k), v) for k, v in enumerate([*states, *(made[key] for key in stacked)]))
        body.prune()
        return body.freeze(), operands, len(seen)

    def _attrs(self, node: Node) -> dict[str, Any]:
        return {k: fresh(v, self.graph.ids) if isinstance(v, Graph) else v for k, v in node.attrs.items()}

    def _shaped(self, b: Builder, x: Value, type: TensorType) -> Value:
        made: Value = x if b.type(x) == type else b.Reshape(x, shape=type.shape)
        return made

    def _is_number(self, value: Value, origin: tuple[Any, ...]) -> bool:
        """Whether an operand is one known number: ops that have it as a constant can do more."""
        return origin[0] == "known" and self.graph.type(value).size == 1

    def _again(self, body: Graph, value: Value) -> Value:
        """A known value, made again in a body."""
        node = self.graph.node(value.node)
        inputs = [self._again(body, v) for v in node.inputs]
        return body.add(
            node.op, inputs, node.attrs, types=node.types, scope=node.scope, loc=node.loc, region=node.region
        ).outputs[value.slot]

    def _stacked(self, j: int, i: int) -> Value | None:
        """All that the turns have as operand i of node j, along a first axis; None if it is the same in all."""
        values = self.loop.values(j, i)
        if (j, i) not in self.paths:
            return stacked_known(self.graph, self.b, values, self.reverse)
        path = self.paths[j, i]
        windows = [window_of(self.graph, v) for v in values]
        return stacked_windows(self.b, windows, path, self.reverse) if path.by else None

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
        return self.turns - 1 - turn if self.reverse else turn

    def _replace_stacks(self, stacks: dict[tuple[int, int], Value]) -> None:
        """Where a Concat has what turns made, one behind the other, it has rows of the stack."""
        for node in [n for n in self.graph.nodes() if n.op.name == "Concat" and len(n.inputs) >= LEAST_TURNS]:
            if node.id in self.inside:
                continue
            axis, operands = node.attrs["axis"], list(node.inputs)
            places = [self._turn_of(v, axis) for v in operands]
            made, k = [], 0
            while k < len(operands):
                end = k + 1
                key, at, spread = places[k]
                step = places[end][1] - at if end < len(operands) else 0
                while key in stacks and end < len(operands) and places[end] == (key, at + step * (end - k), spread):
                    end += 1
                if end == k + 1 or abs(step) != 1:
                    made.append(operands[k])
                    k += 1
                else:
                    made.append(self._rows(stacks[key], range(at, at + step * (end - k), step), axis, spread))
                    k = end
            if len(made) == 1:
                self.graph.replace_node(node.id, [self._shaped(self.b, made[0], node.type)])
            elif len(made) < len(operands):
                self.graph.set_node(node.id, inputs=made)

    def _turn_of(self, value: Value, axis: int) -> tuple[Any, int, bool]:
        """What turns make a value, at which place of the stack, and whether a new axis is put into it for a Concat; a key of
        None where no turn does.
        """
        node, spread = self.graph.node(value.node), False
        if node.op.name == "Reshape" and node.id not in self.inside:
            inner = self.graph.type(node.inputs[0]).shape
            if node.type.shape == (*inner[:axis], 1, *inner[axis:]):
                value, spread = node.inputs[0], True
        if value.node not in self.inside:
            return None, 0, False
        turn, j = self.inside[value.node]
        return (j, value.slot), self._place(turn), spread

    def _rows(self, stack: Value, at: range, axis: int, spread: bool) -> Value:
        """Rows of a stack one behind the other along an axis, which is a new one with `spread`."""
        b, shape = self.b, self.b.type(stack).shape
        x = stack
        if at != range(self.turns):
            rest = len(shape) - 1
            x = b.Slice(x, begin=(at[0], *(0,) * rest), size=(len(at), *shape[1:]), step=(at.step, *(1,) * rest))
        shape = b.type(x).shape
        if axis:
            x = b.Transpose(x, perm=(*range(1, axis + 1), 0, *range(axis + 1, len(shape))))
        shape = b.type(x).shape
        made: Value = (
            x if spread else b.Reshape(x, shape=(*shape[:axis], shape[axis] * shape[axis + 1], *shape[axis + 2 :]))
        )
        return made

    def _replace(self, final: dict[tuple[int, int, int], Value], stacks: dict[tuple[int, int], Value]) -> None:
        """Let what stands outside use the loop's results."""
        for id, (t, j) in sorted(self.inside.items()):
            users = [u for u in self.graph.users(id) if u not in self.inside]
            if not users and id not in self.graph.ends:
                continue
            node = self.graph.node(id)
            values = []
            for slot, type in enumerate(node.types):
                key = (j, slot)
                if (self.turns - t, *key) in final:
                    values.append(final[self.turns - t, *key])
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
