"""Which values are the same in every process: what comes of parameters and of reductions over all processes is, data are not.

Where every process trains the same parameters, what an update is made of has to be: a process that skips a step, or takes
another one, has other parameters from then on, and nothing would say so.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from graphc import processes
from graphc.errors import VerifyError
from graphc.ir import Graph, Node, Value

#: Collectives that give every process of the group the same.
_SAME = ("AllReduce", "AllGather", "Broadcast", "JoinParts", "AllReduceStart", "AllGatherStart")
_DIFFERENT = ("ReduceScatter", "AllToAll", "Reduce", "SumPart", "ReduceScatterStart", "AllToAllStart")
#: What waits for them is no collective itself.
_WAITS = ("AllReduceWait", "AllGatherWait")
_OWN = ("ReduceScatterWait", "AllToAllWait", "TakePart")
#: Between two processes: others need not do the like.
PEERS = ("Send", "Receive")


def is_collective(node: Node) -> bool:
    """Whether a node, or one of its subgraphs, begins to talk to other processes."""
    if node.op.name in (*_SAME, *_DIFFERENT, *PEERS):
        return bool(node.attrs["size"] > 1)
    return any(is_collective(inner) for _, sub in node.graphs() for inner in sub.nodes())


def differing(graph: Graph, entries: Collection[int]) -> set[Value]:
    """The values of a graph that may differ between processes, where the Inputs and Params `entries` do."""
    found: set[Value] = set()
    for node in graph:
        if node.op.name in ("Input", "Param"):
            if node.id in entries:
                found.add(Value(node.id))
            continue
        own = [v in found for v in node.inputs]
        found.update(v for v, differs in zip(node.outputs, _results(node, own), strict=True) if differs)
    return found


def _results(node: Node, inputs: Sequence[bool]) -> Sequence[bool]:
    """Which results of a node may differ, from which of its operands do."""
    count = len(node.types)
    if node.op.name == "RandomKey":
        return [True]  # Random states are apart.
    if node.op.name in _SAME + _WAITS and _is_of_all(node):
        return [False] * count
    if node.op.name in (*_DIFFERENT, *_OWN, *PEERS) and node.attrs["size"] > 1:
        return [True] * count
    if node.op.name != "If" or inputs[0]:
        return [any(inputs)] * count
    ways = [_of_branch(sub, inputs[1:]) for _, sub in node.graphs()]
    return [any(pair) for pair in zip(*ways, strict=True)]


def _of_branch(branch: Graph, inputs: Sequence[bool]) -> list[bool]:
    found = differing(branch, [i for i, differs in zip(branch.inputs, inputs, strict=True) if differs])
    return [r.value in found for r in branch.results]


def _is_of_all(node: Node) -> bool:
    # What waits for a reduction has the operand of what began it.
    return node.op.name in _WAITS or node.attrs["group"] == processes.WORLD or node.attrs["size"] == processes.size()


def check_alike(graph: Graph, apart: Collection[int]) -> None:
    """Raise VerifyError GC164 if a trained parameter, a state of its optimizer or a loss scale could get other values in one
    process than in another, or if one could begin a collective alone.

    `apart` are the Params that each process has for itself, such as random states.
    What the forward pass keeps for itself, such as the moving averages of a BatchNorm, may differ.
    """
    entries = {n.id for n in map(graph.node, graph.inputs) if n.op.name == "Input"} | set(apart)
    while True:
        found = differing(graph, entries)
        _check_branches(graph, found)
        new = {p for p, value in graph.updates if value in found} - entries
        wrong = [p for p in sorted(new) if _must_agree(graph, p)]
        if wrong:
            raise _error(graph, wrong, found)
        if not new:
            return
        entries |= new


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
