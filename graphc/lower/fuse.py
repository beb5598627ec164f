"""Fusion: which elementwise nodes and reductions share one loop nest, and in which order everything runs.

One walk over the graph in topological order keeps some groups open. A node joins an open group of its domain that makes one of
its operands or reads one of them; a group closes, and takes its place in the sequence, as soon as a node outside needs it.
So a group never waits for something that waits for it, whatever the edges are, data or order.

A reduction that was needed early has closed before others of the same operands came. These join it afterwards, where all that
they read was there already: one sweep less over memory for each.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from graphc.ir import Graph, Node, TensorType, Value
from graphc.ir.op import Lowering, Reduce, Scalar, Strided

#: A loop body of more instructions or operands than this would spill registers.
MAX_NODES = 48
MAX_OPERANDS = 14
#: More open groups than this keep values alive for too long.
MAX_OPEN = 6
#: Sweeps over so many elements take longer than a call; groups that are merged late are at most so many steps apart.
_LARGE, _NEAR = 1 << 13, 16


@dataclass(slots=True, eq=False)
class Group:
    """Nodes that become one loop kernel over `domain`; reductions among them all reduce `axes`.

    `again` are members that another group computes, too: that one stores their results where that is needed. Nodes may still join
    while it is `open`.
    """

    domain: tuple[int, ...]
    nodes: list[Node] = field(default_factory=list)
    members: set[int] = field(default_factory=set)
    reads: set[Value] = field(default_factory=set)
    axes: tuple[int, ...] | None = None
    again: set[int] = field(default_factory=set)
    open: bool = True


Step = Group | Node


def uniform_values(graph: Graph) -> dict[Value, float]:
    """Values that hold one number everywhere and need no memory inside a loop: Fill and constants of one element."""
    uniform: dict[Value, float] = {}
    for node in graph:
        if node.op.name == "Fill":
            uniform[node.outputs[0]] = node.attrs["value"]
        elif node.op.name == "Constant" and node.type.size == 1:
            uniform[node.outputs[0]] = node.attrs["value"].array.reshape(()).item()
    return uniform


def fuse(graph: Graph, uniform: dict[Value, float]) -> list[Step]:
    """The steps of a graph in execution order. Inputs, parameters and uniform values are no steps."""
    return _in_one_sweep(graph, _Fuser(graph, uniform).run())


def _in_one_sweep(graph: Graph, steps: list[Step]) -> list[Step]:
    """Let large groups of reductions join others a little before them that read or make a whole operand of theirs."""
    kept: list[Step] = []
    place: dict[int, int] = {}
    alike: dict[tuple[Any, ...], list[Group]] = {}
    for step in steps:
        nodes = step.nodes if isinstance(step, Group) else [step]
        if isinstance(step, Group) and step.axes is not None and math.prod(step.domain) >= _LARGE:
            others = alike.setdefault((step.domain, step.axes), [])
            near = [g for g in others[-MAX_OPEN:] if place[g.nodes[0].id] >= len(kept) - _NEAR]
            found = next((g for g in near if _may_join(graph, g, step, place)), None)
            if found is not None:
                found.nodes += step.nodes
                found.members |= step.members
                found.reads |= {v for v in step.reads if v.node not in found.members}
                place.update((n.id, place[found.nodes[0].id]) for n in nodes)
                continue
            others.append(step)
        place.update((n.id, len(kept)) for n in nodes)
        kept.append(step)
    return kept


def _may_join(graph: Graph, group: Group, late: Group, place: dict[int, int]) -> bool:
    """Whether a later group can run in the loop of an earlier one, which shares a whole operand with it."""
    made = [v for v in late.reads if v.node in group.members]
    if not any(graph.type(v).shape == group.domain for v in (*made, *(group.reads & late.reads))):
        return False
    read = group.reads | late.reads
    if len(group.nodes) + len(late.nodes) > MAX_NODES or len(read) > MAX_OPERANDS:
        return False
    here = place[group.nodes[0].id]
    waits = [v.node for v in late.reads if v not in made] + [p for n in late.nodes for p in n.after]
    if any(place.get(id, -1) >= here and id not in late.members for id in waits):
        return False
    return all(_same_place(graph, group, n, v) for n in late.nodes for v in n.inputs if v in made)


def _same_place(graph: Graph, group: Group, node: Node, value: Value) -> bool:
    """Whether a node reads an operand made in the group at the very element that the loop has just made."""
    maker, lower = graph.node(value.node), node.lower
    if isinstance(maker.lower, Reduce) or isinstance(lower, Strided):
        return False
    if isinstance(lower, Scalar) and lower.align is not None:
        types: list[TensorType] = [graph.type(v) for v in node.inputs]
        walk = lower.align(types, node.attrs)[node.inputs.index(value)]
        return walk == tuple(range(len(group.domain)))
    return maker.types[value.slot].shape == group.domain


class _Fuser:
    def __init__(self, graph: Graph, uniform: dict[Value, float]) -> None:
        self.graph = graph
        self.uniform = uniform
        self.open: list[Group] = []
        self.group_of: dict[int, Group] = {}
        self.steps: list[Step] = []

    def run(self) -> list[Step]:
        uniform = {value.node for value in self.uniform}
        for node in self.graph:
            if node.op.name in ("Input", "Param", "Constant") or node.id in uniform:
                # What a constant comes after is done then: a micro batch of a pipeline ends.
                self._finish(node.after if node.op.name == "Constant" else (), None)
                continue
            lower = node.lower
            domain = self._domain(node, lower)
            reads = [v for v in node.inputs if v.node not in uniform]
            group = self._choose(node, lower, domain, reads) if domain is not None else None
            if node.after:
                self._finish(node.after, group)
            self._finish([v.node for v in reads], group)
            if domain is None:
                self.steps.append(node)
                continue
            if group is None:
                group = Group(domain)
                self.open.append(group)
                if len(self.open) > MAX_OPEN:
                    self._close(self.open[0])
            self._join(group, node, lower, reads)
        for group in list(self.open):
            self._close(group)
        return self.steps

    def _finish(self, nodes: Iterable[int], group: Group | None) -> None:
        """Close the groups of nodes, but for one."""
        for p in nodes:
            before = self.group_of.get(p)
            if before is not None and before is not group and before.open:
                self._close(before)

    def _close(self, group: Group) -> None:
        group.open = False
        self.open.remove(group)
        self.steps.append(group)

    def _domain(self, node: Node, lower: Lowering | None) -> tuple[int, ...] | None:
        if isinstance(lower, (Scalar, Strided)):
            return node.type.shape
        if isinstance(lower, Reduce):
            return self.graph.type(node.inputs[0]).shape
        return None

    def _join(self, group: Group, node: Node, lower: Lowering | None, reads: list[Value]) -> None:
        group.nodes.append(node)
        group.members.add(node.id)
        group.reads.update([v for v in reads if v.node not in group.members])
        self.group_of[node.id] = group
        if isinstance(lower, Reduce):
            group.axes = node.attrs["axis"]

    def _choose(self, node: Node, lower: Lowering | None, domain: tuple[int, ...], reads: list[Value]) -> Group | None:
        """The open group that a node joins: rather one that makes an operand than one that shares one."""
        alike = [g for g in self.open if g.domain == domain]
        if not alike:
            return None
        # Most have nothing to do with the node, and need not be asked whether it fits.
        made = {v.node for v in node.inputs}
        makers = [g for g in alike if not g.members.isdisjoint(made) and self._fits(g, node, lower, reads)]
        if makers:
            return self._merged(makers, reads)
        for group in reversed(alike):
            if (not domain or not group.reads.isdisjoint(reads)) and self._fits(group, node, lower, reads):
                return group
        return None

    def _merged(self, makers: list[Group], new: list[Value]) -> Group:
        """The groups that make operands of a node that reads these, as one, as far as the limits allow.

        No open group needs another: whatever needed it would have closed it. So their order among each other is free.
        """
        last = makers[-1]
        for other in makers[-2::-1]:
            members = last.members | other.members
            reads = {v for v in last.reads.union(other.reads, new) if v.node not in members}
            if len(members) >= MAX_NODES or len(reads) > MAX_OPERANDS:
                continue
            if other.axes is not None and last.axes is not None and other.axes != last.axes:
                continue
            last.nodes[:0] = other.nodes
            last.members |= other.members
            last.reads |= other.reads
            last.axes = other.axes if last.axes is None else last.axes
            self.group_of.update((n.id, last) for n in other.nodes)
            other.open = False
            self.open.remove(other)
        return last

    def _fits(self, group: Group, node: Node, lower: Lowering | None, reads: list[Value]) -> bool:
        if isinstance(lower, Reduce) and group.axes is not None and group.axes != node.attrs["axis"]:
            return False
        if len(group.nodes) >= MAX_NODES:
            return False
        members = group.members
        new = [v for v in reads if v.node not in members]
        if len(group.reads) + len(new) > MAX_OPERANDS and len(group.reads.union(new)) > MAX_OPERANDS:
            return False
        if node.after and not members.isdisjoint(node.after):
            return False  # An order edge between two iterations of one loop cannot be kept.
        # Two open groups must not wait for each other: what this node needs from another group closes that one first,
        # which is possible unless it needs this group.
        return all([_same_place(self.graph, group, node, v) for v in node.inputs if v.node in members])
