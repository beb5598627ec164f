"""The gradient of a While: a loop that goes back over the turns, each from the state it began with.

How often a loop runs is known only while it runs, and memory has a fixed size. So a fixed number of states is kept, in as many
places, and for any number of turns they are the right ones:

- The loop itself has P places. It keeps what every turn begins with whose number is a multiple of a stride: 1 at first, doubled
  whenever the places are full (`_keeping`).
- The loop that goes back has P more. From the last state kept in front of a turn it runs the loop's turns again, and keeps
  states on the way where the binomial numbers say: with f places and r runs of each turn it reaches C(f + r, r) turns, further
  than any other choice (Griewank, "Achieving logarithmic growth of temporal and spatial complexity in reverse automatic
  differentiation", 1992).

So n turns cost n turns forward, n of the gradient, and r n in between, r being the smallest number with C(P + r, r) >= 2 n / P.
With P = 32: none up to 32 turns, at most one up to 528, two up to 8,976, three up to 104,720. What is kept are operands like
others, whose rows Scatter writes: nothing that runs or transforms graphs has to know of it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from graphc.ir import Builder, Graph, Node, NodeView, TensorType, Value, inline
from graphc.ops.declared.control import differentiable, subgraph

#: Places for states: a power of two, as many as LIMIT bytes hold, but at least FEWEST and at most MOST.
FEWEST, MOST, LIMIT = 4, 32, 2**22

_HALVES = ("float16", "bfloat16")


def while_grad(g: Builder, n: NodeView, *dys: Value | None) -> list[Value | None]:
    """The turns once more, from the last to the first. A carried value's adjoint is replaced, a capture's grows."""
    count = n.node.attrs["carried"]
    given = [dy for dy in dys if dy is not None]
    wanted = differentiable(g, n.inputs, given)
    if not given or not wanted:
        return [None] * len(n.inputs)
    start = []
    for i in wanted:
        dy = dys[i] if i < count else None
        type = g.type(n.inputs[i])
        start.append(dy if dy is not None else g.Fill(dtype=type.dtype, shape=type.shape, value=0.0))
    turns, *kept = _keeping(g.graph, g.graph.node(n.node.id))
    back = _Back(g, n.node, wanted, _places(g, n.node), len(kept))
    found = back.loop(turns, start, kept)
    grads: list[Value | None] = [None] * len(n.inputs)
    for i, value in zip(wanted, found, strict=True):
        grads[i] = value
    return grads


# ---- places


def _places(g: Builder, node: Node) -> int:
    """How many states of a loop are kept, twice."""
    state = sum(_place(t, 1).nbytes for t in node.types)
    fit = LIMIT // max(state, 1)
    return min(MOST, max(FEWEST, 1 << fit.bit_length() - 1 if fit else 0))


def _place(type: TensorType, count: int) -> TensorType:
    """`count` values of a type, stacked. Halves are kept in float32, of which Scatter can write a row alone."""
    return TensorType("float32" if type.dtype in _HALVES else type.dtype, (count, *type.shape))


def _empty(b: Builder, types: Sequence[TensorType], count: int) -> list[Value]:
    kinds = [_place(t, count) for t in types]
    return [b.Fill(dtype=t.dtype, shape=t.shape, value=0) for t in kinds]


def _put(b: Builder, stacks: Sequence[Value], row: Value, values: Sequence[Value]) -> list[Value]:
    """The stacks with a row replaced; a row that there is not leaves them as they are."""
    same = [b.Cast(v, dtype=b.type(s).dtype) for s, v in zip(stacks, values, strict=True)]
    return [b.Scatter(s, row, v, axis=0, mode="update") for s, v in zip(stacks, same, strict=True)]


def _take(b: Builder, stacks: Sequence[Value], row: Value, types: Sequence[TensorType]) -> list[Value]:
    """A row of each stack, as values of these types; zeros where there is no such row."""
    return [b.Cast(b.Gather(s, row, axis=0), dtype=t.dtype) for s, t in zip(stacks, types, strict=True)]


# ---- forward


def _keeping(graph: Graph, node: Node) -> list[Value]:
    """Let a loop count its turns and keep states; returns its turns, the last stride, its rotation, and the stacks of states.

    Multiple j of the stride 2 ** e stands in the place whose number is j with its bits rotated by e, as did multiple 2 j of the
    stride before; the odd ones make room for new ones. The rotation is 2 ** (e mod the number of bits).
    """
    count, types = node.attrs["carried"], list(node.types)
    places = _places(Builder(graph), node)
    b = Builder(graph, node.region, node.scope, node.loc, node.fwd, node.origin)
    begin = [b.constant(0, "int32"), b.constant(1, "int32"), b.constant(1, "int32"), *_empty(b, types, places)]
    operands = [*node.inputs[:count], *begin, *node.inputs[count:]]
    kinds = [graph.type(v) for v in operands]
    new = count + len(begin)

    cond = subgraph(b, node.attrs["cond"].name, kinds)
    inputs = [Value(i) for i in cond.inputs]
    cond.set_results([("more", inline(cond, node.attrs["cond"], [*inputs[:count], *inputs[new:]])[0])])

    body = subgraph(b, node.attrs["body"].name, kinds)
    inputs = [Value(i) for i in body.inputs]
    made = inline(body, node.attrs["body"], [*inputs[:count], *inputs[new:]])
    t = Builder(body, node.region, node.scope, node.loc)
    turn, stride, rotation, *stacks = inputs[count:new]
    none, one, two, size = (t.constant(k, "int32") for k in (-1, 1, 2, places))
    hit = t.Equal(t.FloorMod(turn, stride), t.constant(0, "int32"))
    stacks = _put(t, stacks, t.Select(hit, _row(t, turn, stride, rotation, places), none), inputs[:count])
    after = t.Add(turn, one)
    full = t.Equal(after, t.Mul(stride, size))
    turned = t.Select(t.Equal(rotation, t.constant(places // 2, "int32")), one, t.Mul(rotation, two))
    made += [after, t.Select(full, t.Mul(stride, two), stride), t.Select(full, turned, rotation), *stacks]
    body.set_results((str(i), v) for i, v in enumerate(made))

    types += kinds[count:new]
    for part in (cond, body):
        part.freeze()
    graph.set_node(
        node.id, inputs=operands, types=tuple(types), attrs={**node.attrs, "carried": new, "cond": cond, "body": body}
    )
    return [Value(node.id, k) for k in range(count, new)]


def _row(b: Builder, turn: Value, stride: Value, rotation: Value, places: int) -> Value:
    """The place of the last multiple of the stride that is not above a turn."""
    spread, size = b.Mul(b.FloorDiv(turn, stride), rotation), b.constant(places, "int32")
    made: Value = b.Add(b.FloorMod(spread, size), b.FloorDiv(spread, size))
    return made


# ---- back


def _reach(places: int) -> np.ndarray[tuple[int, ...], np.dtype[np.int32]]:
    """C(f + r, r), by f = 0 to `places` and r, up to the most turns that can lie between two states that a loop keeps."""
    runs = 1
    while math.comb(places + runs, runs) < 2**32 // places and runs < 64:
        runs += 1
    rows = [[min(math.comb(f + r, r), 2**31 - 1) for r in range(runs + 1)] for f in range(places + 1)]
    return np.array(rows, np.int32)


class _Back:
    """The loop that goes back over the turns of a While.

    It carries the turns left, its places in use, the number of the turn of each, their states, and the adjoints; it reads what
    the loop kept, and the loop's captures.
    """

    def __init__(self, g: Builder, node: Node, wanted: list[int], places: int, kept: int) -> None:
        self.g, self.node, self.wanted, self.places, self.kept = g, node, wanted, places, kept
        self.count: int = node.attrs["carried"]
        self.types = [g.type(v) for v in node.inputs]
        self.states = self.types[: self.count]

    def loop(self, turns: Value, adjoints: Sequence[Value], kept: Sequence[Value]) -> tuple[Value, ...]:
        """The adjoints in front of the first turn, given those behind the last one."""
        g = self.g
        numbers = g.Fill(dtype="int32", shape=(self.places,), value=0)
        stacks = _empty(g, self.states, self.places)
        table = g.matrix(_reach(self.places))
        carried = [turns, g.constant(0, "int32"), numbers, *stacks, *adjoints]
        operands = [*carried, *kept, table, *self.node.inputs[self.count :]]
        kinds = [g.type(v) for v in operands]
        attrs = {"carried": len(carried), "cond": self._any_left(kinds), "body": self._turn(kinds)}
        made = g.node("While", *operands, attrs=attrs).outputs
        return made[len(carried) - len(adjoints) :]

    def _builder(self, graph: Graph) -> Builder:
        g = self.g
        return Builder(graph, g.region, g.scope, g.loc)

    def _any_left(self, kinds: Sequence[TensorType]) -> Graph:
        graph = subgraph(self.g, "turns_left", kinds)
        b = self._builder(graph)
        graph.set_results([("more", b.Greater(Value(graph.inputs[0]), b.constant(0, "int32")))])
        return graph

    def _turn(self, kinds: Sequence[TensorType]) -> Graph:
        """One turn back: the state it begins with, and its gradient there."""
        graph = subgraph(self.g, f"{self.node.attrs['body'].name}_grad", kinds)
        b = self._builder(graph)
        left, used, numbers, *rest = (Value(i) for i in graph.inputs)
        stacks, rest = rest[: self.count], rest[self.count :]
        adjoints, rest = rest[: len(self.wanted)], rest[len(self.wanted) :]
        (stride, rotation, *kept), table, captures = rest[: self.kept], rest[self.kept], rest[self.kept + 1 :]
        zero, one, none = (b.constant(k, "int32") for k in (0, 1, -1))
        turn = b.Sub(left, one)
        # With no place in use: what the loop kept comes into the first one.
        fresh = b.Equal(used, zero)
        row = b.Select(fresh, _row(b, turn, stride, rotation, self.places), none)
        to = b.Select(fresh, zero, none)
        stacks = _put(b, stacks, to, _take(b, kept, row, self.states))
        numbers = b.Scatter(numbers, to, b.Mul(b.FloorDiv(turn, stride), stride), axis=0, mode="update")
        used = b.Maximum(used, one)
        top = b.Sub(used, one)
        number = b.Gather(numbers, top, axis=0)
        done = b.Cast(b.Equal(number, turn), dtype="int32")
        state = _take(b, stacks, top, self.states)
        state, used, numbers, stacks = self._again(b, turn, number, state, used, numbers, stacks, table, captures)
        made = self._gradient(b, [*state, *captures], adjoints)
        final = [turn, b.Sub(used, done), numbers, *stacks, *made]
        graph.set_results((str(i), v) for i, v in enumerate(final))
        return graph

    def _again(
        self, b: Builder, turn: Value, number: Value, state: list[Value], used: Value, numbers: Value,
        stacks: list[Value], table: Value, captures: Sequence[Value],
    ) -> tuple[list[Value], Value, Value, list[Value]]:  # fmt: skip
        """The loop's turns from `number` up to `turn`, with states kept on the way: that state, and the places then."""
        following = self._next(b, number, turn, used, table)
        carried = [number, following, used, numbers, *state, *stacks]
        operands = [*carried, turn, table, *captures]
        kinds = [b.type(v) for v in operands]
        cond = subgraph(b, "turns_between", kinds)
        c = self._builder(cond)
        cond.set_results([("more", c.Less(Value(cond.inputs[0]), Value(cond.inputs[len(carried)])))])
        body = subgraph(b, self.node.attrs["body"].name, kinds)
        b2 = self._builder(body)
        number, following, used, numbers, *rest = (Value(i) for i in body.inputs)
        state, stacks = rest[: self.count], rest[self.count : 2 * self.count]
        turn, table, *captures = rest[2 * self.count :]
        state = inline(body, self.node.attrs["body"], [*state, *captures])
        number = b2.Add(number, b2.constant(1, "int32"))
        keep = b2.LogicalAnd(b2.Equal(number, following), b2.Less(number, turn))
        keep = b2.LogicalAnd(keep, b2.Less(used, b2.constant(self.places, "int32")))
        row = b2.Select(keep, used, b2.constant(-1, "int32"))
        numbers = b2.Scatter(numbers, row, number, axis=0, mode="update")
        stacks = _put(b2, stacks, row, state)
        used = b2.Add(used, b2.Cast(keep, dtype="int32"))
        following = b2.Select(keep, self._next(b2, number, turn, used, table), following)
        results = [number, following, used, numbers, *state, *stacks]
        body.set_results((str(i), v) for i, v in enumerate(results))
        attrs = {"carried": len(carried), "cond": cond, "body": body}
        _, _, used, numbers, *rest = b.node("While", *operands, attrs=attrs).outputs
        return rest[: self.count], used, numbers, rest[self.count :]

    def _next(self, b: Builder, number: Value, turn: Value, used: Value, table: Value) -> Value:
        """The turn whose state is kept next behind `number`: as far as it reaches there with one run of each turn less."""
        turns = b.Add(b.Sub(turn, number), b.constant(1, "int32"))
        free = b.Sub(b.constant(self.places + 1, "int32"), used)
        reach = b.Gather(table, free, axis=0)
        ahead = b.ReduceMax(b.Select(b.Less(reach, turns), reach, b.constant(0, "int32")), axis=(0,))
        made: Value = b.Add(number, ahead)
        return made

    def _gradient(self, b: Builder, inputs: Sequence[Value], adjoints: Sequence[Value]) -> list[Value]:
        """The adjoints in front of a turn, given those behind it."""
        results = inline(b.graph, self.node.attrs["body"], inputs)
        pairs = list(zip(self.wanted, adjoints, strict=True))
        ys = [(results[i], adjoint) for i, adjoint in pairs if i < self.count]
        attrs = {"ys": len(ys), "wrt": tuple(self.wanted)}
        found = b.node("Grad", *(y for y, _ in ys), *(s for _, s in ys), *inputs, attrs=attrs).outputs
        return [f if i < self.count else b.Add(a, f) for (i, a), f in zip(pairs, found, strict=True)]
