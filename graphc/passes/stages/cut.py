"""The graph of one stage of a pipeline: what it computes, and what it sends to the others and gets from them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from graphc import processes
from graphc.context import parallel_settings
from graphc.errors import LoweringError
from graphc.ir import Graph, Node, Origin, Value
from graphc.passes.buckets import without_needless
from graphc.passes.stages.places import (
    Places,
    Stage,
    inner_places,
    is_gradient,
    is_staged,
    places_of,
    refused,
    sums_by_micro_batch,
)

#: Tags of MPI that every MPI has.
_TAGS = 1 << 15


def cut_stages(graph: Graph) -> Graph:
    """Leave of a step what this process's stage of the pipeline computes; what crosses over is sent.

    before:  %2 = ToStage(%1) {stage=0}   %3 = MatMul(%2, %9)   %4 = ToStage(%3) {stage=1}   %5 = Exp(%4)
    after:   %2 = ToStage(%1) {stage=0}   %3 = MatMul(%2, %9)   %6 = Send(%3) {peer=1}                      in stage 0
             %6 = Receive() {peer=0}   %4 = ToStage(%6) {stage=1}   %5 = Exp(%4)                             in stage 1

    What comes behind the gradients and is made of several stages, such as a global norm, is computed in all of them, of what
    the others broadcast; the results of the step, too. A test for overflow is everybody's. LoweringError GC112 for what no
    pipeline can compute.
    """
    if not is_staged(graph):
        return graph
    stages = parallel_settings().pipeline_stages
    if stages == 1:
        return _unmarked(graph)
    graph = without_needless(graph).copy()
    graph.prune()
    found = places_of(graph)
    graph = sums_by_micro_batch(graph, found)
    return _Stage(graph, found, processes.rank(processes.MODEL), stages).cut()


def _unmarked(graph: Graph) -> Graph:
    """Without marks: there is one stage. Its parameters must be here."""
    for id in graph.inputs:
        node = graph.node(id)
        if node.op.name == "Param" and node.attrs["stage"] is not None:
            raise LoweringError(
                f"{node.name!r} is held by stage {node.attrs['stage']} of a pipeline, and there are no stages any more",
                code="GC112",
                help="set pipeline_stages again, or make the network anew and load a checkpoint into it",
                nodes=[id],
            )
    graph = graph.copy()
    marks = [n.id for n in graph if n.op.name == "ToStage"]
    for id in marks:
        graph.replace_node(id, graph.node(id).inputs)
    graph.drop(marks)
    return graph


class _Part:
    """What is common to the cut of a step and to that of a branch: the new graph, and where old values are in it."""

    def __init__(self, graph: Graph, found: Places, me: int, stages: int) -> None:
        self.graph, self.found, self.me, self.stages = graph, found, me, stages
        self.new = Graph(graph.name, graph.ids)
        self.here: dict[Value, Value] = {}  # By value of the whole graph.
        self.shared: dict[Value, Value] = {}  # What has been broadcast.
        self.kept: dict[int, int] = {}  # By node of the whole graph, for order edges.
        self.last: int | None = None  # The last node that talks to all stages: they do so in one order.
        self.group = {"group": processes.MODEL, "size": stages}

    def is_mine(self, stage: Stage) -> bool:
        return stage is None or stage == self.me

    def at(self, value: Value) -> Value:
        """Where a value is."""
        return self.here[value] if value in self.here else self.shared[value]

    def make(self, node: Node, op: Any, inputs: Sequence[Value], attrs: Mapping[str, Any], **terms: Any) -> Node:
        """A new node for the sake of an old one."""
        origin = Origin("cut_stages", "", (node.id,))
        return self.new.add(
            op,
            inputs,
            attrs,
            **{"scope": node.scope, "loc": node.loc, "region": node.region, "origin": origin, **terms},
        )

    def in_turn(self) -> tuple[int, ...]:
        return () if self.last is None else (self.last,)

    def broadcast(self, value: Value, user: Node) -> None:
        """Let all stages have a value."""
        stage = self.found.stage[value]
        if stage is None or value in self.shared:
            return
        type = self.graph.type(value)
        if stage == self.me:
            operand = self.here[value]
        else:
            zero = False if type.dtype == "bool" else 0 if not type.is_inexact else 0.0
            operand = self.make(user, "Fill", (), {"dtype": type.dtype, "shape": type.shape, "value": zero}).outputs[0]
        made = self.make(user, "Broadcast", [operand], {"root": stage, **self.group}, after=self.in_turn())
        self.last, self.shared[value] = made.id, made.outputs[0]

    def put(self, node: Node, inputs: Sequence[Value], attrs: Mapping[str, Any], after: Sequence[int]) -> Node:
        """An old node, with its number."""
        fwd = node.fwd if node.fwd is not None and node.fwd in self.new else None
        made = self.new.add(
            node.op,
            inputs,
            attrs,
            after=after,
            types=node.types if node.op.infer is None else None,
            id=node.id,
            name=node.name,
            scope=node.scope,
            loc=node.loc,
            region=node.region,
            fwd=fwd,
            origin=node.origin,
        )
        self.kept[node.id] = made.id
        return made

    def take(self, node: Node) -> None:
        """Everything for one node of the whole graph."""
        if node.op.name == "If" and node.id in self.found.late:
            self.choose(node)
            return
        stages = {self.found.stage[v] for v in node.outputs}
        if node.op.name == "GetFloatStatus" and node.id in self.found.late:
            self.test(node)
            return
        (stage,) = stages or {None}
        for v in dict.fromkeys(node.inputs):
            self.bring(v, node, stage)
        if not self.is_mine(stage):
            return
        # What clears the status comes before all that is tested in any case: not behind the last stage's loss.
        after = [] if node.op.name == "ClearFloatStatus" else [self.kept[i] for i in node.after if i in self.kept]
        made = self.put(node, [self.at(v) for v in node.inputs], node.attrs, after)
        self.here.update(zip(node.outputs, made.outputs, strict=True))

    def bring(self, value: Value, user: Node, stage: Stage) -> None:
        """Let a value be where a node of that stage needs it."""
        if stage != self.found.stage[value]:
            self.broadcast(value, user)

    def test(self, node: Node) -> None:
        """Whether anything has overflowed, in any stage."""
        own = [v for v in node.inputs if self.is_mine(self.found.stage[v])]
        made = self.put(
            node, [self.at(v) for v in own], node.attrs, [self.kept[i] for i in node.after if i in self.kept]
        )
        if any(self.found.stage[v] is not None for v in node.inputs):
            flag = self.make(node, "Cast", made.outputs, {"dtype": "int32"})
            most = {"reduction": "max", **self.group}
            reduced = self.make(node, "AllReduce", flag.outputs, most, after=self.in_turn())
            self.last = reduced.id
            made = self.make(node, "Cast", reduced.outputs, {"dtype": "bool"})
        self.here[node.outputs[0]] = made.outputs[0]

    def choose(self, node: Node) -> None:
        """A choice, of which each stage makes its part."""
        self.broadcast(node.inputs[0], node)
        given = [self.found.stage[v] for v in node.inputs[1:]]
        taken = [i for i, s in enumerate(given) if self.is_mine(s)]
        kept = [v for v in node.outputs if self.is_mine(self.found.stage[v])]
        slots = [v.slot for v in kept]
        branches, talks = {}, False
        for name, branch in node.graphs():
            part = _Branch(branch, inner_places(branch, given), self.me, self.stages)
            branches[name] = part.cut(taken, slots, node)
            talks |= part.last is not None
        if not kept:
            return
        inputs = [self.shared.get(node.inputs[0]) or self.at(node.inputs[0])]
        inputs += [self.at(node.inputs[1 + i]) for i in taken]
        after = [self.kept[i] for i in node.after if i in self.kept]
        made = self.put(node, inputs, {**node.attrs, **branches}, [*after, *(self.in_turn() if talks else ())])
        self.here.update(zip(kept, made.outputs, strict=True))
        if talks:
            self.last = made.id

    def anchored(self, value: Value, node: Node, after: Sequence[int]) -> Value:
        """A result that does not come before these nodes, so that they stay."""
        return self.make(node, "Depend", [value], {}, after=[i for i in after if i != value.node]).outputs[0]


class _Branch(_Part):
    """The part of a branch that is this stage's."""

    def cut(self, taken: Sequence[int], slots: Sequence[int], owner: Node) -> Graph:
        mine = {self.graph.inputs[i] for i in taken}
        for id in self.graph.inputs:
            if id in mine:
                self.here[Value(id)] = self.put(self.graph.node(id), (), self.graph.node(id).attrs, ()).outputs[0]
        for node in self.graph:
            if node.id not in self.graph.inputs:
                self.take(node)
        results = [(self.graph.results[k].name, self.at(self.graph.results[k].value)) for k in slots]
        if self.last is not None:
            if not results:
                raise refused(
                    "a choice that leaves one stage nothing", owner, "return something of every stage from it"
                )
            name, value = results[0]
            results[0] = (name, self.anchored(value, owner, [self.last]))
        self.new.set_results(results)
        self.new.prune()
        return self.new


class _Stage(_Part):
    """The part of a step that is this stage's."""

    def __init__(self, graph: Graph, found: Places, me: int, stages: int) -> None:
        super().__init__(graph, found, me, stages)
        self.sent: set[tuple[Value, int]] = set()
        self.ends: list[int] = []
        self.tag = -1

    def cut(self) -> Graph:
        graph = self.graph
        for node in graph:
            self.take(node)
        for _, value in graph.results:
            self.broadcast(value, graph.node(value.node))
        results = [
            (r.name, self.shared[r.value] if r.value in self.shared else self.here[r.value]) for r in graph.results
        ]
        ends = [*self.ends, *self.in_turn()]
        if ends:
            if not results:
                raise LoweringError("a step that returns nothing is not available with pipeline_stages", code="GC112")
            (name, value), *others = results
            results = [(name, self.anchored(value, graph.node(graph.results[0].value.node), ends)), *others]
        updates = [(p, self.at(v)) for p, v in graph.updates if self.is_mine(self.found.stage[Value(p)])]
        self.new.inputs = [i for i in graph.inputs if i in self.new]
        self.new.set_results(results, updates)
        self.new.prune()
        return self.new

    def bring(self, value: Value, user: Node, stage: Stage) -> None:
        source = self.found.stage[value]
        if source is None or source == stage:
            return
        if stage is None or user.id in self.found.late:
            self.broadcast(value, user)
            return
        if value in self.shared or (value, stage) in self.sent:
            return
        self.sent.add((value, stage))
        self.tag = (self.tag + 1) % _TAGS
        maker, micro = self.graph.node(value.node), self.found.micro[value.node]
        if source == self.me:
            self.send(value, maker, stage)
        elif stage == self.me:
            self.here[value] = self.receive(value, maker, source, micro)

    def send(self, value: Value, maker: Node, peer: int) -> None:
        type, terms = self.graph.type(value), {"peer": peer, "tag": self.tag, **self.group}
        begun = self.make(maker, "Send", [self.here[value]], {"dtype": type.dtype, **terms})
        self.ends.append(self.make(maker, "SendEnd", [self.here[value], *begun.outputs], terms).id)

    def receive(self, value: Value, maker: Node, peer: int, micro: int | None) -> Value:
        type = self.graph.type(value)
        # A gradient that is tested for overflow comes behind the status; no other edge says so here.
        gradient = is_gradient(self.graph, maker)
        clears = [n.id for n in self.new.nodes() if n.op.name == "ClearFloatStatus"] if gradient else []
        attrs = {"shape": type.shape, "dtype": type.dtype, "peer": peer, "tag": self.tag, **self.group}
        made = self.make(maker, "Receive", (), attrs, after=clears)
        if micro is not None:
            made = self.make(maker, "ToStage", made.outputs, {"stage": self.me, "micro": micro})
        return made.outputs[0]
