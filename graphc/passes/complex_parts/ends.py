"""Transforms that read the step's complex operands, or make its complex results, without anything in between."""

from __future__ import annotations

from graphc.ir import Graph, Node, Value

#: Ops that take complex numbers in the place of two parts, and give them if they are to be `whole`.
TRANSFORMS = frozenset({"FourierParts", "RealFourierParts", "HalfFourierParts"})


def joined(graph: Graph) -> Graph:
    """Let transforms take, and make, whole complex numbers where these come from outside, or go there.

    before:  %1 = Real(%0)   %2 = Imag(%0)   %3 = FourierParts(%1, %2)             %4 = Complex(%3, %3#1)
    after:   %4 = FourierParts(%0) {whole=True}
    """
    for id in [n.id for n in graph if n.op.name in TRANSFORMS]:
        node = graph.node(id)
        whole = _source(graph, node)
        if whole is not None:
            graph.set_node(id, inputs=[whole])
            node = graph.node(id)
        end = _target(graph, node)
        if end is not None:
            made = graph.add(
                node.op, node.inputs, {**node.attrs, "whole": True}, after=node.after, name=end.name, scope=node.scope,
                loc=node.loc, region=node.region, fwd=node.fwd, origin=node.origin,
            )  # fmt: skip
            graph.replace_node(end.id, made.outputs, "whole")
    graph.prune()
    return graph


def _source(graph: Graph, node: Node) -> Value | None:
    """The complex value whose parts are a node's two operands."""
    if len(node.inputs) != 2:
        return None
    makers = [graph.node(v.node) for v in node.inputs]
    if [m.op.name for m in makers] != ["Real", "Imag"] or makers[0].inputs != makers[1].inputs:
        return None
    return makers[0].inputs[0]


def _target(graph: Graph, node: Node) -> Node | None:
    """The only reader of a node's results, if that makes complex numbers of them."""
    users = graph.users(node.id)
    if len(users) != 1 or node.id in graph.ends or node.attrs.get("whole", True):
        return None
    end = graph.node(users[0])
    return end if end.op.name == "Complex" and end.inputs == node.outputs and not end.after else None
