"""Max pooling comes before ReLU: it leaves fewer elements, and convolutions can pool what they make."""

from __future__ import annotations

from graphc.ir import Graph, Node
from graphc.passes.tools import in_subgraphs


def pool_before_relu(graph: Graph) -> Graph:
    """Swap ReLU and max pooling where nothing else reads the ReLU's result, and their gradients.

    before:  %2 = ReLU(%1)      %3 = MaxPool(%2)    ...   %5 = MaxPoolGrad(%2, %4)   %6 = ReluGrad(%5, %2)
    after:   %3 = MaxPool(%1)   %7 = ReLU(%3)       ...   %8 = ReluGrad(%4, %7)      %5 = MaxPoolGrad(%1, %8)

    Both are the same numbers. A window's maximum is positive in %2 if it is in %1, and stands at the same place then; else no
    gradient passes.
    """
    if "MaxPool" not in graph.ops():
        return graph
    graph = in_subgraphs(graph, pool_before_relu)
    copy: Graph | None = None
    for id in [n.id for n in graph.nodes() if n.op.name == "MaxPool"]:
        while (gradients := _gradients(copy or graph, id)) is not None:
            copy = copy or graph.copy()
            _swap(copy, id, gradients)
    if copy is not None:
        copy.prune()
    return copy or graph


def _gradients(graph: Graph, id: int) -> list[tuple[Node, Node]] | None:
    """The pairs of MaxPoolGrad and ReluGrad that belong to a MaxPool after a ReLU; None if they cannot be swapped."""
    if id not in graph:  # It was dead.
        return None
    pool = graph.node(id)
    relu = graph.node(pool.inputs[0].node)
    if relu.op.name != "ReLU" or pool.after or relu.after or relu.id in graph.ends:
        return None
    users = [graph.node(u) for u in graph.users(relu.id) if u != id]
    pairs = [pair for node in users if (pair := _pair(graph, pool, node)) is not None]
    return pairs if {n.id for n in users} == {n.id for pair in pairs for n in pair} else None


def _pair(graph: Graph, pool: Node, node: Node) -> tuple[Node, Node] | None:
    """`node` and what alone reads it, if they are the gradients of a MaxPool and the ReLU before it."""
    relu = pool.inputs[0]
    if node.op.name != "MaxPoolGrad" or node.attrs != pool.attrs or node.inputs[0] != relu or node.after:
        return None
    users = graph.users(node.id)
    if relu in node.inputs[1:] or len(users) != 1 or node.id in graph.ends:
        return None
    reader = graph.node(users[0])
    whole = reader.op.name == "ReluGrad" and reader.inputs == (node.outputs[0], relu) and not reader.after
    return (node, reader) if whole else None


def _swap(graph: Graph, id: int, gradients: list[tuple[Node, Node]]) -> None:
    pool = graph.node(id)
    old = graph.node(pool.inputs[0].node)
    graph.set_node(id, inputs=old.inputs)
    relu = graph.add(
        "ReLU", pool.outputs, name=old.name, scope=old.scope, loc=old.loc, region=old.region, fwd=old.fwd
    )  # fmt: skip
    graph.replace_node(id, relu.outputs, "pool_first")
    graph.note("relu_after", (old.id,), (relu.id,))
    for spread, masked in gradients:
        dy = graph.node(spread.id).inputs[1]
        mask = graph.add(
            "ReluGrad", [dy, relu.outputs[0]], scope=masked.scope, loc=masked.loc, region=masked.region, fwd=relu.id,
            origin=masked.origin,
        )  # fmt: skip
        graph.set_node(spread.id, inputs=[old.inputs[0], mask.outputs[0]])
        graph.note("mask_first", (masked.id,), (mask.id,))
        graph.replace_node(masked.id, spread.outputs, "spread_after")
    # What is dead would still count as a reader.
    graph.drop([old.id, *(masked.id for _, masked in gradients)])
