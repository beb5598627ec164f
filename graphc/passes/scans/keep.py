"""What the loop of a gradient computes again, of what the loop before has computed, that one keeps."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from graphc.ir import Graph, Node, Value
from graphc.passes.scans.loop import Loop, is_cheap, key_of, may_move, scans
from graphc.passes.tools import in_subgraphs


def keep_turns(graph: Graph) -> Graph:
    """Let a Scan read what turns of another one made, in place of making it again from the same operands.

    before:  %5 = Scan(%1) {body: tanh(matmul(state, w))}     %9 = Scan(states of %5) {body: ... tanh(matmul(state, w)) ...}
    after:   %5 = Scan(%1) {... and stacks the tanh}          %9 = Scan(the stack of %5) {body: ... its slice ...}

    What costs no more than to read it, such as a sum of what is there, is computed again all the same.
    """
    graph = in_subgraphs(graph, keep_turns)
    changed: Graph | None = None
    for id in scans(graph):
        for other in _makers(changed or graph, id):
            again = _again(changed or graph, id, other)
            if again:
                changed = changed or graph.copy()
                _keep(changed, id, other, again)
    return changed or graph


def _makers(graph: Graph, id: int) -> list[int]:
    """The Scans whose stacks a Scan reads."""
    node = graph.node(id)
    found: dict[int, None] = {}
    for v in node.inputs:
        maker = graph.node(v.node)
        if maker.op.name == "Slice":
            maker = graph.node(maker.inputs[0].node)
        if maker.op.name == "Scan" and maker.attrs["length"] == node.attrs["length"]:
            found[maker.id] = None
    return list(found)


def _again(graph: Graph, id: int, other: int) -> dict[Value, Value]:
    """Values of a Scan's body that are to be read: each with what it is in the body of the other Scan."""
    node, maker = graph.node(id), graph.node(other)
    body, first = node.attrs["body"], maker.attrs["body"]
    same = dict(_common_inputs(graph, node, maker))
    table: dict[Any, Node] = {}
    for n in first:
        if may_move(n):
            table.setdefault(key_of(n, list(n.inputs)), n)
    free = set(same)
    for n in body:
        if may_move(n) and all(v in same for v in n.inputs):
            found = table.get(key_of(n, [same[v] for v in n.inputs]))
            if found is not None:
                same.update(zip(n.outputs, found.outputs, strict=True))
                if not n.inputs:
                    free.update(n.outputs)
    matched = {v.node for v in same}
    wanted: dict[Value, None] = {}
    for n in body:
        if n.id not in matched:
            wanted.update((v, None) for v in n.inputs if v in same and v not in free)
    wanted.update((r.value, None) for r in body.results if r.value in same and r.value not in free)
    read = {v: None for v in wanted if not is_cheap(body.node(v.node))}
    for v in wanted:
        if v not in read and not _is_near(body, v, free | read.keys()):
            read[v] = None
    return {v: same[v] for v in read}


def _common_inputs(graph: Graph, node: Node, maker: Node) -> Iterator[tuple[Value, Value]]:
    """What the body of a Scan takes that is a value of another's body, in each turn; a turn is known by its place."""
    c, s = node.attrs["carried"], node.attrs["scanned"]
    inputs = [Value(i) for i in node.attrs["body"].inputs]
    others = [Value(i) for i in maker.attrs["body"].inputs]
    first, many = maker.attrs["carried"], maker.attrs["scanned"]
    results = [r.value for r in maker.attrs["body"].results]
    scanned = dict(zip(maker.inputs[first : first + many], others[first : first + many], strict=True))
    captures = dict(zip(maker.inputs[first + many :], others[first + many :], strict=True))
    before = 1 if maker.attrs["reverse"] else 0
    for outer, inner in zip(node.inputs[c : c + s], inputs[c : c + s], strict=True):
        source, begin = _rows_of(graph, outer)
        if outer in scanned:
            yield inner, scanned[outer]
        elif source.node == maker.id and source.slot >= first:
            k = maker.attrs["stacks"][source.slot - first]
            if k >= first and source == outer:
                yield inner, results[k]
            elif k < first and source != outer:
                yield inner, others[k] if begin == before else results[k]
    for outer, inner in zip(node.inputs[c + s :], inputs[c + s :], strict=True):
        if outer in captures:
            yield inner, captures[outer]


def _rows_of(graph: Graph, value: Value) -> tuple[Value, int]:
    """A value and 0, or if it is all rows but one of another: that and the first of them."""
    node = graph.node(value.node)
    if node.op.name == "Slice":
        whole, part = graph.type(node.inputs[0]).shape, node.type.shape
        if part[1:] == whole[1:] and part[0] + 1 == whole[0] and set(node.attrs["step"]) == {1}:
            return node.inputs[0], node.attrs["begin"][0]
    return value, 0


def _is_near(body: Graph, value: Value, there: set[Value]) -> bool:
    """Whether a value is made of what is there by cheap nodes alone."""
    node = body.node(value.node)
    return value in there or (is_cheap(node) and all(_is_near(body, v, there) for v in node.inputs))


def _keep(graph: Graph, id: int, other: int, again: dict[Value, Value]) -> None:
    maker = Loop(graph, graph.node(other), "keep_turns")
    stacks = [maker.stack_of(v) for v in again.values()]
    maker.store()
    loop = Loop(graph, graph.node(id), "keep_turns")
    for value, stack in zip(again, stacks, strict=True):
        loop.replace(value, loop.scan(stack))
    loop.shrink()
