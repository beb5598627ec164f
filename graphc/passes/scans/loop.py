"""A Scan while it is rewritten."""

from __future__ import annotations

from typing import Any

from graphc.ir import Builder, Graph, Node, Origin, TensorType, Value
from graphc.ir.op import Alias, Scalar, Strided
from graphc.ops.declared.batching import loop, rule_of
from graphc.ops.declared.scan import parts_of, rows, stack_length, stacked
from graphc.passes.tools import redirect

#: Elementwise ops that cost no more than to read their result from memory.
_CHEAP = frozenset({
    "Abs", "Add", "Cast", "Equal", "Greater", "GreaterEqual", "Less", "LessEqual", "LogicalAnd", "LogicalNot", "LogicalOr",
    "Maximum", "Minimum", "Mul", "Neg", "NotEqual", "Relu", "Select", "Sign", "Square", "Sub",
})  # fmt: skip


_PRODUCTS = frozenset({"MatMul", "BatchMatMul", "Conv2D", "Conv2DBackpropInput"})


def rearranges(node: Node) -> bool:
    """Whether a node only says how its operand is read."""
    return isinstance(node.op.lower, (Alias, Strided)) and not node.op.effect


def is_cheap(node: Node) -> bool:
    """Whether a node's result is computed as fast as it would be read."""
    return rearranges(node) or (isinstance(node.op.lower, Scalar) and node.op.name in _CHEAP)


def is_product(node: Node) -> bool:
    """Whether a node is a matrix product or a convolution: one of many rows is faster than many of few."""
    return node.op.name in _PRODUCTS


def may_move(node: Node) -> bool:
    """Whether a node may run somewhere else: nothing waits for it but those who read it."""
    return not node.op.effect and not node.after and node.op.name not in ("Input", "Param")


def may_batch(node: Node) -> bool:
    """Whether a node may run somewhere else for all turns at once."""
    return may_move(node) and rule_of(node.op) is not loop


class Loop:
    """A Scan of `graph`, in parts that can be changed; `store` makes them the node again, which keeps its id.

    Stacks can be added, and anything nobody reads taken away by `shrink`. Body inputs and operands go together:
    `scanned[i]` is seen as `slices[i]`, and so on.
    """

    def __init__(self, graph: Graph, node: Node, pass_name: str) -> None:
        self.graph, self.id = graph, node.id
        attrs = node.attrs
        self.turns: int = attrs["length"]
        self.reverse = bool(attrs["reverse"])
        self.body: Graph = attrs["body"].copy()
        parts = parts_of(node)
        self.carried, self.scanned, self.captures = map(list, parts)
        inputs = [Value(i) for i in self.body.inputs]
        c, s = len(self.carried), len(self.scanned)
        self.states, self.slices, self.held = inputs[:c], inputs[c : c + s], inputs[c + s :]
        self.results = [r.value for r in self.body.results]
        self.stacks: list[int] = list(attrs["stacks"])
        self.outside = Builder(
            graph, node.region, node.scope, node.loc, node.fwd, Origin(pass_name, sources=(node.id,))
        )

    @property
    def node(self) -> Node:
        return self.graph.node(self.id)

    def stack_of(self, value: Value) -> Value:
        """What a value of the body is in all turns, stacked by turn; the loop is told to keep it where it does not yet."""
        b = self.outside
        if value in self.slices:
            return self.scanned[self.slices.index(value)]
        if value in self.held:
            outer = self.captures[self.held.index(value)]
            made: Value = b.BroadcastTo(outer, shape=(self.turns, *b.type(outer).shape))
            return made
        c = len(self.carried)
        if value in self.states:
            return rows(b, self._stack(self.states.index(value)), 1 if self.reverse else 0, self.turns)
        if value not in self.results:
            self.results.append(value)
        k = self.results.index(value)
        stack = self._stack(k)
        return rows(b, stack, 0 if self.reverse else 1, self.turns) if k < c else stack

    def _stack(self, k: int) -> Value:
        """The stack of result k."""
        if k not in self.stacks:
            self.stacks.append(k)
            self.store()
        return Value(self.id, len(self.carried) + self.stacks.index(k))

    def scan(self, outer: Value, name: str = "") -> Value:
        """Have the body see the slices of one more value of the graph; returns what it sees."""
        type = self.graph.type(outer)
        row = TensorType(type.dtype, type.shape[1:])
        made = self.body.add("Input", types=(row,), name=name, region="state").outputs[0]
        self.scanned.append(outer)
        self.slices.append(made)
        return made

    def capture(self, outer: Value) -> Value:
        """Have the body see one more value of the graph; returns what it sees."""
        made = self.body.add("Input", types=(self.graph.type(outer),), region="state").outputs[0]
        self.captures.append(outer)
        self.held.append(made)
        return made

    def replace(self, old: Value, new: Value) -> None:
        """Let everything in the body that uses a value use another one."""
        for user in self.body.users(old.node):
            node = self.body.node(user)
            if old in node.inputs:
                self.body.set_node(user, inputs=[new if v == old else v for v in node.inputs])
        self.results = [new if v == old else v for v in self.results]

    def store(self) -> None:
        """Make the parts the node."""
        body = self.body.copy()
        body.inputs = [v.node for v in (*self.states, *self.slices, *self.held)]
        body.set_results((str(k), v) for k, v in enumerate(self.results))
        body.prune()
        attrs = {
            "length": self.turns, "carried": len(self.carried), "scanned": len(self.scanned),
            "stacks": tuple(self.stacks), "reverse": self.reverse, "body": body.freeze(),
        }  # fmt: skip
        kept = [self.graph.type(v) for v in self.carried]
        stacks = [stacked(body.type(self.results[k]), stack_length(attrs, k)) for k in self.stacks]
        operands = [*self.carried, *self.scanned, *self.captures]
        self.graph.set_node(self.id, inputs=operands, attrs=attrs, types=(*kept, *stacks))

    # ---- what nobody reads

    def shrink(self) -> None:
        """Take away stacks that nobody reads, carried values that only make themselves, and what then is not used."""
        self.store()
        slots = self._read_slots()
        c = len(self.carried)
        keep = [j for j in range(len(self.stacks)) if c + j in slots]
        stacked_results = {self.stacks[j] for j in keep}
        alive = {k for k in range(c) if k in slots or k in stacked_results}
        while True:
            wanted = [self.results[k] for k in sorted(alive | stacked_results)]
            used = _behind(self.body, wanted)
            more = {k for k in range(c) if self.states[k] in used} - alive
            if not more:
                break
            alive |= more
        kept = sorted(alive)
        results = [*kept, *sorted(k for k in stacked_results if k >= c)]
        moved = {k: n for n, k in enumerate(results)}
        slot_of = {k: n for n, k in enumerate(kept)} | {c + j: len(kept) + n for n, j in enumerate(keep)}
        self.stacks = [moved[self.stacks[j]] for j in keep]
        self.results = [self.results[k] for k in results]
        self.carried, self.states = [self.carried[k] for k in kept], [self.states[k] for k in kept]
        self.scanned, self.slices = _used(self.scanned, self.slices, used)
        self.captures, self.held = _used(self.captures, self.held, used)
        body = self.body.copy()
        body.set_results((str(k), v) for k, v in enumerate(self.results))
        body.inputs = [v.node for v in (*self.states, *self.slices, *self.held)]
        body.prune()
        self.body = body
        self.store()
        redirect(self.graph, lambda v: Value(self.id, slot_of[v.slot]) if v.node == self.id else v, self.id)

    def _read_slots(self) -> set[int]:
        found = {v.slot for u in self.graph.users(self.id) for v in self.graph.node(u).inputs if v.node == self.id}
        ends = [*(r.value for r in self.graph.results), *(u.value for u in self.graph.updates)]
        return found | {v.slot for v in ends if v.node == self.id}


def _behind(body: Graph, values: list[Value]) -> set[Value]:
    """All values that some values are computed from, these among them."""
    found: set[Value] = set()
    stack = list(values)
    while stack:
        value = stack.pop()
        if value not in found:
            found.add(value)
            node = body.node(value.node)
            stack += [*node.inputs, *(v for i in node.after for v in body.node(i).outputs)]
    return found


def _used(outer: list[Value], inner: list[Value], used: set[Value]) -> tuple[list[Value], list[Value]]:
    pairs = [(a, b) for a, b in zip(outer, inner, strict=True) if b in used]
    return [a for a, _ in pairs], [b for _, b in pairs]


def scans(graph: Graph) -> list[int]:
    """The Scan nodes of a graph, in order."""
    owners = {node.id for node in graph.owners() if node.op.name == "Scan"}
    return [i for i in graph.order() if i in owners] if owners else []


def key_of(node: Node, inputs: list[Value]) -> Any:
    """What is equal for nodes that compute the same from these operands."""
    attrs = tuple((k, repr(v) if isinstance(v, float) else v) for k, v in node.attrs.items())
    return node.op.name, tuple(inputs), attrs, node.types
