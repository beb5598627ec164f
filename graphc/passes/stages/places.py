"""Which stage of a pipeline computes each value of a step, and of which micro batch it is.

Marks (ToStage) say where a value enters a stage; what is made of it is computed there, too, and a gradient where its forward
node is. A parameter belongs to the stage that updates it. What comes of inputs, constants and random states alone is computed
wherever it is needed: it has no stage. Behind the gradients, what is made of several stages is computed in all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from graphc import processes
from graphc.errors import LoweringError
from graphc.ir import Graph, Node, Origin, Value
from graphc.passes.replicated import PEERS, is_collective

#: A stage; None: every process computes it.
Stage = int | None


@dataclass
class Places:
    """For each value its stage and its micro batch, None where it has none. `late` are the nodes behind the gradients."""

    stage: dict[Value, Stage] = field(default_factory=dict)
    micro: dict[int, int | None] = field(default_factory=dict)
    late: set[int] = field(default_factory=set)

    def among(self, values: Sequence[Value]) -> list[int]:
        """The stages that values are computed in, rising."""
        return sorted({s for v in values if (s := self.stage[v]) is not None})


def is_staged(graph: Graph) -> bool:
    """Whether a graph is of several stages: it has marks, or parameters that are known to belong to one."""
    params = (n for n in map(graph.node, graph.inputs) if n.op.name == "Param")
    return "ToStage" in graph.ops() or any(n.attrs["stage"] is not None for n in params)


def places_of(graph: Graph) -> Places:
    """The places of all values of a step. LoweringError GC112 for what no pipeline can compute."""
    held: dict[int, int] = {
        id: graph.node(id).attrs["stage"]
        for id in graph.inputs
        if graph.node(id).op.name == "Param" and graph.node(id).attrs["stage"] is not None
    }
    while True:
        found = _flow(graph, [held.get(id) for id in graph.inputs], late=False)
        new = {p: s for p, v in graph.updates if p not in held and (s := found.stage[v]) is not None}
        if not new:
            return found
        held |= new


def owners(graph: Graph) -> dict[int, int]:
    """The stage of each Param that belongs to one."""
    found = places_of(graph)
    return {id: s for id in graph.inputs if (s := found.stage[Value(id)]) is not None}


def is_gradient(graph: Graph, node: Node) -> bool:
    """Whether a node is one that autodiff made for a forward node."""
    return node.region == "backward" and node.fwd is not None and node.fwd in graph


def inner_places(branch: Graph, given: Sequence[Stage]) -> Places:
    """The places within a branch of an If behind the gradients."""
    return _flow(branch, given, late=True)


def _flow(graph: Graph, entries: Sequence[Stage], late: bool) -> Places:
    found = Places()
    given = dict(zip(graph.inputs, entries, strict=True))
    for node in graph:
        if node.id in given:
            found.stage[Value(node.id)], found.micro[node.id] = given[node.id], None
            continue
        gradient = not late and is_gradient(graph, node)
        behind = any(
            v.node in found.late or (v.node not in given and is_gradient(graph, graph.node(v.node)))
            for v in node.inputs
        )
        if gradient and any(v.node in found.late for v in node.inputs):
            raise refused("a gradient of what is made of gradients", node, "take such a gradient in one process")
        if late or (behind and not gradient):
            found.late.add(node.id)
        found.micro[node.id] = _micro(node, found, gradient)
        for value, stage in zip(node.outputs, _stages(graph, node, found, gradient), strict=True):
            found.stage[value] = stage
        _check_talk(node, found)
    return found


def _micro(node: Node, found: Places, gradient: bool) -> int | None:
    if node.op.name == "ToStage":
        return int(node.attrs["micro"])
    if node.id in found.late:
        return None
    own = found.micro.get(node.fwd) if gradient and node.fwd is not None else None
    return own if own is not None else _most([found.micro[v.node] for v in node.inputs])


def _most(numbers: Sequence[int | None]) -> int | None:
    return max((n for n in numbers if n is not None), default=None)


def _stages(graph: Graph, node: Node, found: Places, gradient: bool) -> Sequence[Stage]:
    """The stage of each result."""
    count, stages = len(node.types), found.among(node.inputs)
    if node.op.name == "ToStage":
        if stages and stages[-1] > node.attrs["stage"]:
            raise refused(
                f"a cell of stage {node.attrs['stage']} that is given what stage {stages[-1]} makes",
                node,
                "number the stages in the order in which a batch goes through them: cell.pipeline_stage = ...",
            )
        return [node.attrs["stage"]]
    if node.op.name == "Assign" and found.stage[node.inputs[0]] is not None:
        return [found.stage[node.inputs[0]]]
    if gradient:
        if not stages:
            return [None] * count  # A constant, which gradients of several stages may share.
        own = found.stage[graph.node(node.fwd).outputs[0]] if node.fwd is not None else None
        return [stages[0] if own is None or (node.op.name == "Add" and len(stages) > 1) else own] * count
    if node.id not in found.late:
        return [stages[-1] if stages else None] * count
    if node.op.name == "If":
        return _of_branches(node, [found.stage[v] for v in node.inputs[1:]])
    if node.op.name == "GetFloatStatus":
        return [None]
    # Numbers come to tensors, such as what a global norm scales gradients by.
    large = {
        s for v in node.inputs if (s := found.stage[v]) is not None and (len(stages) == 1 or graph.type(v).size > 1)
    }
    return [large.pop() if len(large) == 1 else None] * count


def _of_branches(node: Node, given: Sequence[Stage]) -> list[Stage]:
    ways = []
    for _, branch in node.graphs():
        inner = inner_places(branch, given)
        ways.append([inner.stage[r.value] for r in branch.results])
    made: list[Stage] = []
    for pair in zip(*ways, strict=True):
        held = {s for s in pair if s is not None}
        if len(held) > 1:
            raise refused("a choice between what different stages make", node, "let one stage make both")
        made.append(held.pop() if held else None)
    return made


def _check_talk(node: Node, found: Places) -> None:
    """Refuse what talks to processes in other stages, which do something else meanwhile."""
    if not is_collective(node):
        return
    inner = bool(node.graphs())
    if inner and node.id in found.late:
        return  # Its branches are looked at by themselves.
    reduced = node.op.name == "AllReduce" and (
        node.attrs["group"] == processes.DATA or node.attrs["reduction"] in ("max", "min")
    )
    in_all = all(found.stage[v] is None for v in node.outputs)
    if inner or node.op.name in PEERS or not reduced or (node.attrs["group"] != processes.DATA and not in_all):
        raise refused(
            f"{node.op.name} over {'two processes' if node.op.name in PEERS else repr(node.attrs.get('group'))}",
            node,
            "reduce gradients by the training cells, or by nn.DistributedGradReducer",
        )


def refused(what: str, node: Node, help: str) -> LoweringError:
    """The error for what cannot be cut into stages."""
    return LoweringError(
        f"{what} is not available with pipeline_stages", code="GC112", loc=node.loc, help=help, nodes=[node.id]
    )


# ---- sums over micro batches


def sums_by_micro_batch(graph: Graph, found: Places) -> Graph:
    """Gradients of several micro batches added up in the order in which the pipeline makes them, within each stage; then
    over stages.

    before:  %9 = Add(%8, %7)   %10 = Add(%9, %6)       %8 of micro batch 2, %7 of 1, %6 of 0
    after:   %11 = Add(%6, %7)  %12 = Add(%11, %8)

    `found` gets the places of the new nodes.
    """
    absorbed: dict[int, list[Value]] = {}  # The leaves of sums that are operands of nothing but one other sum.
    roots: dict[int, list[Value]] = {}
    for node in graph:
        if (
            node.op.name != "Add"
            or not is_gradient(graph, node)
            or any(graph.type(v) != node.type for v in node.inputs)
        ):
            continue
        leaves = [leaf for v in node.inputs for leaf in absorbed.pop(v.node, None) or [v]]
        for v in node.inputs:
            roots.pop(v.node, None)
        if len({(found.stage[v], found.micro[v.node]) for v in leaves}) > 1:
            roots[node.id] = leaves
        if len(graph.users(node.id)) == 1 and node.id not in graph.ends:
            absorbed[node.id] = leaves
    if not roots:
        return graph
    graph = graph.copy()
    for id, leaves in roots.items():
        _rebuild(graph, graph.node(id), leaves, found)
    graph.prune()
    return graph


def _rebuild(graph: Graph, root: Node, leaves: list[Value], found: Places) -> None:
    def key(v: Value) -> tuple[int, int]:
        stage, micro = found.stage[v], found.micro[v.node]
        # The last stage first: what it has made comes to the others.
        return -1 if stage is None else -stage, -1 if micro is None else micro

    def add(x: Value, y: Value) -> Value:
        made = graph.add(
            "Add",
            [x, y],
            scope=root.scope,
            loc=root.loc,
            region=root.region,
            fwd=root.fwd,
            origin=Origin("cut_stages", "sum", (root.id,)),
        ).outputs[0]
        found.stage[made] = min(found.among([x, y]), default=None)
        found.micro[made.node] = _most([found.micro[x.node], found.micro[y.node]])
        return made

    partial: dict[Stage, Value] = {}
    for v in sorted(leaves, key=key):
        stage = found.stage[v]
        partial[stage] = add(partial[stage], v) if stage in partial else v
    total, *rest = partial.values()
    for v in rest:
        total = add(v, total)
    graph.replace_node(root.id, [total])
    for user in graph.users(total.node):
        found.stage.setdefault(Value(user), None)
