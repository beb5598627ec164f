"""Forward mode: a Jvp node becomes the nodes that carry tangents along the computation.

    before:  %5 = Mul(%3, %4)    %7 = Jvp(%5, %6, %3) {ys=1, wrt=(0,)}
    after:   %8 = Mul(%6, %4)  ; tangent of %5                           users of %7 use %8

An op without a forward rule has its gradient rule transposed: the gradient of its operands is linear in that of its result,
so the gradient of that linear map, weighted with the operands' tangents, is the tangent of the result. Nothing of the first
gradient but its coefficients remains in use.
"""

from __future__ import annotations

from collections.abc import Sequence

from graphc.ir import Builder, Graph, Node, NodeView, Origin, Value
from graphc.ir.op import NoGrad
from graphc.passes.node_places import Places
from graphc.passes.reverse_mode import accumulate, between, gradients_of, node_gradient


def expand(graph: Graph, jvp: Node, place: Places) -> None:
    """Replace one Jvp node. Raises GradientError GC150 for an op without gradient on the way."""
    count, wrt = jvp.attrs["ys"], jvp.attrs["wrt"]
    ys, given, cut = jvp.inputs[:count], jvp.inputs[count : count + len(wrt)], jvp.inputs[count + len(wrt) :]
    wanted = [cut[i] for i in wrt]
    path = between(graph, ys, cut, wanted, place)
    tangents: dict[Value, Value] = dict(zip(wanted, given, strict=True))
    stop = set(cut)
    builder = Builder(graph, jvp.region, jvp.scope, jvp.loc, origin=Origin("autodiff"))
    for id in sorted(path, key=place):
        node = graph.node(id)
        builder.fwd, builder.loc, builder.scope = id, node.loc, node.scope
        used = {v for user in graph.users(id) for v in graph.node(user).inputs}
        slots = [k for k, v in enumerate(node.outputs) if v in used or v in ys]
        made = _tangents(builder, node, [tangents.get(v) for v in node.inputs], slots)
        for value, tangent in zip(node.outputs, made, strict=True):
            if tangent is not None and value not in stop:
                tangents[value] = tangent
    builder.fwd, builder.loc, builder.scope = None, jvp.loc, jvp.scope
    results = []
    for y in ys:
        type = graph.type(y)
        results.append(tangents.get(y) or builder.Fill(dtype=type.dtype, shape=type.shape, value=0))
    graph.replace_node(jvp.id, results, "Jvp")


def _tangents(builder: Builder, node: Node, given: list[Value | None], slots: list[int]) -> Sequence[Value | None]:
    """The tangents of the results of a node that are used, `slots`, from those of its operands."""
    rule = node.op.grad
    if isinstance(rule, NoGrad) or all(t is None for t in given):
        return [None] * len(node.types)
    if node.op.jvp is not None:
        return node.op.jvp(builder, NodeView(builder.graph, node), *given)
    made: list[Value | None] = []
    for slot, type in enumerate(node.types):
        if type.dtype == "bool" or slot not in slots:
            made.append(None)
            continue
        probe = builder.Fill(dtype=type.dtype, shape=type.shape, value=0)
        dys = [probe if i == slot else None for i in range(len(node.types))]
        gradients = gradients_of(builder, node, dys)
        pairs = [(g, t) for g, t in zip(gradients, given, strict=True) if g is not None and t is not None]
        made.append(_transposed(builder, probe, pairs))
    return made


def _transposed(builder: Builder, probe: Value, pairs: list[tuple[Value, Value]]) -> Value | None:
    """The gradient of sum(g * t) over pairs (g, t) for the probe, on which each g depends linearly; None if none does."""
    graph = builder.graph
    # What depends on the probe was made after it, in this order.
    path: set[int] = set()
    back: set[int] = set()
    stack = [g.node for g, _ in pairs]
    while stack:
        id = stack.pop()
        if id > probe.node and id not in back:
            back.add(id)
            stack += [v.node for v in graph.node(id).inputs]
    for id in sorted(back):
        if any(v == probe or v.node in path for v in graph.node(id).inputs):
            path.add(id)
    adjoints: dict[Value, Value] = {}
    for g, t in pairs:
        if g == probe or g.node in path:
            accumulate(builder, adjoints, g, t)
    for id in sorted(path, reverse=True):
        node = graph.node(id)
        dys = [adjoints.get(v) for v in node.outputs]
        if any(d is not None for d in dys):
            node_gradient(builder, node, dys, adjoints, path, {probe})
    return adjoints.get(probe)
