"""Function transforms: every Grad, Jvp and Vmap node becomes the nodes it asks for, the inner ones first.

They stand in the order of the program, so that a gradient of a gradient, of a tangent or of what vmap gives finds the nodes of
the earlier one. What they become is made of ops alone: each can be transformed again.
"""

from __future__ import annotations

from collections.abc import Callable

from graphc.ir import Graph, Node
from graphc.passes import forward_mode, reverse_mode, vectorize
from graphc.passes.node_places import Places, Topological
from graphc.passes.tools import in_subgraphs

_EXPAND: dict[str, Callable[[Graph, Node, Places], None]] = {
    "Grad": reverse_mode.expand,
    "Jvp": forward_mode.expand,
    "Vmap": vectorize.expand,
}


def autodiff(graph: Graph) -> Graph:
    """Expand all Grad, Jvp and Vmap nodes, in subgraphs too; then drop the CustomGrad nodes, which have done their part.

    Raises GradientError GC150 for an op without gradient on the way.
    """
    return _drop_boundaries(without_requests(graph))


def without_requests(graph: Graph) -> Graph:
    """Expand all Grad, Jvp and Vmap nodes, in subgraphs too."""
    if graph.ops().isdisjoint(_EXPAND):
        return graph
    graph = in_subgraphs(graph, without_requests)
    requests = [n.id for n in graph if n.op.name in _EXPAND]
    if not requests:
        return graph
    graph = graph.copy()
    for id in requests:
        expand(graph, id, Topological(graph))
    graph.prune()
    # The gradient of an If asks for gradients inside its branches.
    return in_subgraphs(graph, without_requests)


def expand(graph: Graph, id: int, place: Places) -> None:
    """Put the nodes that a Grad, Jvp or Vmap node asks for in its place. Requests before it must be expanded already; `place`
    says where nodes stand, each behind its operands.
    """
    node, first = graph.node(id), graph.ids.next
    _EXPAND[node.op.name](graph, node, place)
    graph.note("made", (id,), range(first, graph.ids.next))


def _drop_boundaries(graph: Graph) -> Graph:
    """Without CustomGrad nodes: once all gradients stand, they are nothing but their first operands."""
    if "CustomGrad" not in graph.ops():
        return graph
    graph = in_subgraphs(graph, _drop_boundaries)
    boundaries = [n.id for n in graph if n.op.name == "CustomGrad"]
    if not boundaries:
        return graph
    graph = graph.copy()
    for id in boundaries:
        node = graph.node(id)
        graph.replace_node(id, node.inputs[: node.attrs["outs"]], "CustomGrad")
    graph.prune()
    return graph
