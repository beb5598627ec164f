"""Cross entropy written as a log softmax of which one class is picked in each row becomes one op, which has its gradient, too."""

from __future__ import annotations

from graphc.ir import Builder, Graph, Node, Value
from graphc.passes.tools import in_subgraphs, only_reader


def fuse_cross_entropy(graph: Graph) -> Graph:
    """log_softmax(x)[label] is the loss of SparseSoftmaxCrossEntropyWithLogits, where nobody else reads the log softmax.

    before:  %2 = LogSoftmax(%x)   %3 = GatherElements(%2, %places) {axis=1}
    after:   %4, %5 = SparseSoftmaxCrossEntropyWithLogits(%x, %labels)   %6 = Neg(%4)   %7 = Reshape(%6)

    Labels are the places from the start; of those out of range a row has zero, as before.
    """
    if "LogSoftmax" not in graph.ops() or "GatherElements" not in graph.ops():
        return graph
    graph = in_subgraphs(graph, fuse_cross_entropy)
    copy: Graph | None = None
    dead: set[int] | None = None
    for id in [n.id for n in graph.nodes() if n.op.name == "LogSoftmax"]:
        dead = set(graph.dead()) if dead is None else dead
        reader = only_reader(graph, graph.node(id), dead) if id not in dead else None
        if reader is not None and _picks(graph, graph.node(id), reader):
            copy = copy or graph.copy()
            _put(copy, graph.node(id), reader)
    if copy is not None:
        copy.prune()
    return copy or graph


def _picks(graph: Graph, logs: Node, reader: Node) -> bool:
    """Whether a node picks one class of each row of [N, classes]."""
    if reader.op.name != "GatherElements" or reader.inputs[0] != logs.outputs[0] or reader.after:
        return False
    return logs.type.rank == 2 and reader.attrs["axis"] == 1 and reader.type.shape[1] == 1 and logs.type.size > 0


def _put(graph: Graph, logs: Node, reader: Node) -> None:
    g = Builder(graph, reader.region, reader.scope, reader.loc, reader.fwd, reader.origin)
    rows, classes = logs.type.shape
    places: Value = g.Reshape(reader.inputs[1], shape=(rows,))
    dtype = g.type(places).dtype
    none, size = g.constant(0, dtype), g.constant(classes, dtype)
    places = g.Select(g.Less(places, none), g.Add(places, size), places)
    inside = g.LogicalAnd(g.GreaterEqual(places, none), g.Less(places, size))
    labels = g.Select(inside, places, none)
    loss = g.node("SparseSoftmaxCrossEntropyWithLogits", logs.inputs[0], labels, attrs={}).outputs[0]
    made = g.Select(inside, g.Neg(loss), g.constant(0.0, reader.type.dtype))
    graph.replace_node(reader.id, [g.Reshape(made, shape=(rows, 1))], "one_entropy")
