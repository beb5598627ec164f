"""Which values are the same in every process: what comes of parameters and of reductions over all processes is, data are not.

Where every process trains the same parameters, what an update is made of has to be: a process that skips a step, or takes
another one, has other parameters from then on, and nothing would say so.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from graphc import processes
from graphc.errors import VerifyError
from graphc.ir import Graph, Node, Value
from graphc.ir.op import Scalar

#: Collectives that give every process of the group the same, and those that do not. What waits for them has their operands.
_SAME = ("AllReduce", "AllGather", "Broadcast", "JoinParts", "AllReduceStart", "AllGatherStart")
_DIFFERENT = ("ReduceScatter", "AllToAll", "Reduce", "SumPart", "ReduceScatterStart", "AllToAllStart")
#: Between two processes: others need not do the like.
PEERS = ("Send", "Receive")
COLLECTIVES = (*_SAME, *_DIFFERENT, *PEERS)


def is_collective(node: Node) -> bool:
    """Whether a node, or one of its subgraphs, begins to talk to other processes."""
    if node.op.name in COLLECTIVES:
        return bool(node.attrs["size"] > 1)
    return any(is_collective(inner) for _, sub in node.graphs() for inner in sub.nodes())


def is_between_stages(node: Node) -> bool:
    """Whether a node, or one of its subgraphs, talks over the group MODEL: in a pipeline, to the other stages."""
    return node.attrs.get("group") == processes.MODEL or any(
        is_between_stages(inner) for _, sub in node.graphs() for inner in sub.nodes()
    )


#: Between which processes a value may differ: those that have other data, and those that hold other parts of layers.
Axes = frozenset[str]
NOWHERE: Axes = frozenset()
BETWEEN_DATA: Axes = frozenset({processes.DATA})
BETWEEN_PARTS: Axes = frozenset({processes.MODEL})
EVERYWHERE: Axes = BETWEEN_DATA | BETWEEN_PARTS


def differing(graph: Graph, entries: Mapping[int, Axes]) -> dict[Value, Axes]:
    """The values of a graph that may differ between processes, and between which, where the Inputs and Params `entries` do."""
    found: dict[Value, Axes] = {}
    for node in graph:
        if node.op.name in ("Input", "Param"):
            made: Sequence[Axes] = [entries.get(node.id, NOWHERE)]
        else:
            made = _results(node, [found.get(v, NOWHERE) for v in node.inputs])
        found.update((v, axes) for v, axes in zip(node.outputs, made, strict=True) if axes)
    return found


def _results(node: Node, inputs: Sequence[Axes]) -> Sequence[Axes]:
    """Between which processes each result of a node may differ, from where its operands do."""
    count, own = len(node.types), NOWHERE.union(*inputs)
    if node.op.name == "RandomKey":
        return [BETWEEN_DATA]  # Random states are apart.
    if node.op.name in _SAME:
        return [own - _axes(node)] * count
    if node.op.name in (*_DIFFERENT, "TakePart") and node.attrs["size"] > 1:
        return [own | (_axes(node) or EVERYWHERE)] * count
    if node.op.name in PEERS and node.attrs["size"] > 1:
        return [EVERYWHERE] * count
    if node.op.name != "If":
        return [own] * count
    ways = [_of_branch(sub, inputs[1:]) for _, sub in node.graphs()]
    return [inputs[0].union(*pair) for pair in zip(*ways, strict=True)]


def _of_branch(branch: Graph, inputs: Sequence[Axes]) -> list[Axes]:
    found = differing(branch, dict(zip(branch.inputs, inputs, strict=True)))
    return [found.get(r.value, NOWHERE) for r in branch.results]


def _axes(node: Node) -> Axes:
    """Between which processes a collective makes no difference, or one."""
    group = node.attrs["group"]
    if group == processes.WORLD or node.attrs["size"] == processes.size():
        return EVERYWHERE
    return frozenset({group}) & EVERYWHERE


def check_alike(graph: Graph, apart: Mapping[int, Axes]) -> None:
    """Raise VerifyError GC164 if a trained parameter, a state of its optimizer or a loss scale could get other values in one
    process than in another, or if one could begin a collective alone.

    `apart` are the Params that differ between processes, such as random states and parts of layers, and between which.
    What the forward pass keeps for itself, such as the moving averages of a BatchNorm, may differ.
    """
    entries = {n.id: BETWEEN_DATA for n in map(graph.node, graph.inputs) if n.op.name == "Input"} | dict(apart)
    while True:
        found = differing(graph, entries)
        _check_branches(graph, found)
        written = {p: found.get(value, NOWHERE) - entries.get(p, NOWHERE) for p, value in graph.updates}
        new = {p: axes for p, axes in written.items() if axes}
        wrong = [p for p in sorted(new) if _must_agree(graph, p)]
        if wrong:
            raise _error(graph, wrong, found)
        if not new:
            break
        entries |= {p: axes | entries.get(p, NOWHERE) for p, axes in new.items()}
    if BETWEEN_PARTS in entries.values():
        _check_numbers(graph, entries)


def _check_numbers(graph: Graph, entries: Mapping[int, Axes]) -> None:
    """Raise VerifyError GC164 where an update scales a tensor by a number that each process makes of its parts of layers alone,
    such as their norm.
    """
    found = differing(graph, entries)
    for node in graph:
        spreads = isinstance(node.lower, Scalar) or node.op.name == "BroadcastTo"
        if spreads and node.region in ("optimizer", "overflow") and node.type.size > 1:
            for v in node.inputs:
                if graph.type(v).size == 1 and processes.MODEL in found.get(v, NOWHERE):
                    raise VerifyError(
                        f"%{v.node} {graph.node(v.node).op.name} is made of this process's parts of layers that are cut, others"
                        " have another number",
                        code="GC164",
                        loc=node.loc,
                        help="reduce it over all that hold parts, or use each element alone, as ops.clip_by_value does",
                        nodes=[node.id],
                    )
        for _, sub in node.graphs() if node.op.name == "If" else ():
            given = zip(sub.inputs, (found.get(v, NOWHERE) for v in node.inputs[1:]), strict=True)
            _check_numbers(sub, dict(given))


def _check_branches(graph: Graph, found: Collection[Value]) -> None:
    """Raise VerifyError GC164 where a process may begin a collective that others do not."""
    for node in graph.owners():
        if is_collective(node) and any(v in found for v in (node.inputs[:1] if node.op.name == "If" else node.inputs)):
            raise VerifyError(
                f"%{node.id} {node.op.name} talks to other processes, but each decides by its own data whether, or how often",
                code="GC164",
                loc=node.loc,
                help="reduce in front of it, or reduce the condition: ops.AllReduce(ops.ReduceOp.MAX)(flag)",
                nodes=[node.id],
            )


def _must_agree(graph: Graph, param: int) -> bool:
    value = next(value for p, value in graph.updates if p == param)
    return bool(graph.node(param).attrs["trainable"]) or graph.node(value.node).region in ("optimizer", "overflow")


def _error(graph: Graph, wrong: Sequence[int], found: Collection[Value]) -> VerifyError:
    names = [repr(graph.node(p).name) for p in wrong]
    shown = ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
    value = next(value for p, value in graph.updates if p == wrong[0])
    writer = graph.node(value.node)
    if writer.op.name == "If" and writer.inputs[0] in found:
        why = f"whether it is made, %{writer.inputs[0].node}, is decided by this process's own data"
        help = "test the gradients behind the grad_reducer, or reduce the flag: ops.AllReduce(ops.ReduceOp.MAX)(flag)"
    else:
        why = f"what it is made of is computed from this process's own data, by {_first(graph, value, found)}"
        help = "reduce the gradients first: grads = self.grad_reducer(grads)"
    return VerifyError(
        f"the update of {shown} could differ between processes, which would train different networks from then on",
        code="GC164",
        loc=writer.loc,
        details=[why],
        help=help,
        nodes=[writer.id],
    )


def _first(graph: Graph, value: Value, found: Collection[Value]) -> str:
    """The gradient, or whatever stands first, that makes a value differ."""
    for node in _behind(graph, value, found):
        if node.region == "backward":
            return f"%{node.id} {node.op.name}" + (f" at {node.loc}" if node.loc else "")
    return f"%{value.node} {graph.node(value.node).op.name}"


def _behind(graph: Graph, value: Value, found: Collection[Value]) -> Iterator[Node]:
    """The nodes that a value is computed from, as far as they differ, the nearest first."""
    stack, seen = [value.node], {value.node}
    for id in stack:  # Grows.
        yield graph.node(id)
        new = [v.node for v in graph.node(id).inputs if v in found and v.node not in seen]
        seen.update(new)
        stack += new
