"""Choices: the op If, whose branches are closed subgraphs, and its gradient; what other ops with subgraphs share."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from graphc.errors import DTypeError, ShapeError
from graphc.ir import REQUIRED, Builder, Graph, Node, NodeView, TensorType, Value, inline, op
from graphc.ir.op import Attrs, Structural, Types
from graphc.ops.declared import padding_control
from graphc.ops.declared.batching import Mapped
from graphc.ops.declared.bounds import unchecked


def _if_infer(types: Types, attrs: Attrs) -> tuple[TensorType, ...]:
    pred, *captures = types
    if pred != TensorType("bool", ()):
        raise DTypeError(f"If: the condition is {pred}, expected one bool: b1[]")
    then, orelse = attrs["then"], attrs["else"]
    for graph in (then, orelse):
        signature = [graph.node(i).type for i in graph.inputs]
        if signature != captures:
            raise ShapeError(
                f"If: @{graph.name} takes ({', '.join(map(str, signature))}), given ({', '.join(map(str, captures))})"
            )
    results = [tuple(g.type(r.value) for r in g.results) for g in (then, orelse)]
    if results[0] != results[1]:
        both = [f"({', '.join(map(str, r))})" for r in results]
        raise ShapeError(f"If: the branches return {both[0]} and {both[1]}", code="GC122")
    return results[0]


def check_closed(graph: Graph, node: Node) -> Iterator[str]:
    for name, sub in node.graphs():
        if sub.updates:
            yield f"its subgraph {name} updates parameters itself; a branch returns new versions instead"
        if any(n.op.name == "Param" for n in sub):
            yield f"its subgraph {name} reads a Param; a branch captures what it reads"


def _if_grad(g: Builder, n: NodeView, *dys: Value | None) -> list[Value | None]:
    """An If over the branches' gradients; each runs its branch's forward again, on the captures."""
    captures = n.inputs[1:]
    given = [(slot, dy) for slot, dy in enumerate(dys) if dy is not None]
    wanted = differentiable(g, captures, [dy for _, dy in given])
    if not given or not wanted:
        return [None] * len(n.inputs)
    branches = {
        name: _branch_gradient(g, branch, [slot for slot, _ in given], wanted) for name, branch in n.node.graphs()
    }
    made = g.node("If", n.inputs[0], *captures, *(dy for _, dy in given), attrs=branches)
    grads: list[Value | None] = [None] * len(n.inputs)
    for i, value in zip(wanted, made.outputs, strict=True):
        grads[1 + i] = value
    return grads


def differentiable(g: Builder, values: Sequence[Value], dys: Sequence[Value]) -> list[int]:
    """Which values get a gradient: floats, and integers where the gradient of an integer is asked for."""
    integers = any(not g.type(dy).is_float for dy in dys)
    return [i for i, v in enumerate(values) if g.type(v).is_float or (integers and g.type(v).dtype != "bool")]


def _branch_gradient(g: Builder, branch: Graph, slots: list[int], wanted: list[int]) -> Graph:
    """A graph of the branch's inputs and the sens of its results `slots`: the gradients of inputs `wanted`."""
    graph = Graph(f"{branch.name}_grad", g.graph.ids)
    inputs = [
        graph.add("Input", types=branch.node(i).types, name=branch.node(i).name, region="state").outputs[0]
        for i in branch.inputs
    ]
    results = inline(graph, branch, inputs)
    ys = [results[slot] for slot in slots]
    sens = [graph.add("Input", types=(graph.type(y),), region="state").outputs[0] for y in ys]
    attrs = {"ys": len(ys), "wrt": tuple(wanted)}
    grad = graph.add("Grad", [*ys, *sens, *inputs], attrs, region="backward", loc=g.loc, scope=g.scope)
    graph.set_results((str(i), value) for i, value in zip(wanted, grad.outputs, strict=True))
    return graph


def _if_jvp(g: Builder, n: NodeView, *tangents: Value | None) -> list[Value | None]:
    """An If over the branches' forward modes; each runs its branch once more."""
    given = [(i, t) for i, t in enumerate(tangents[1:]) if t is not None]
    slots = [k for k, type in enumerate(n.node.types) if type.dtype != "bool"]
    branches = {name: _branch_tangents(g, branch, [i for i, _ in given], slots) for name, branch in n.node.graphs()}
    made = g.node("If", *n.inputs, *(t for _, t in given), attrs=branches)
    results: list[Value | None] = [None] * len(n.node.types)
    for k, value in zip(slots, made.outputs, strict=True):
        results[k] = value
    return results


def _branch_tangents(g: Builder, branch: Graph, wrt: list[int], slots: list[int]) -> Graph:
    """A graph of the branch's inputs and the tangents of inputs `wrt`: the tangents of results `slots`."""
    types = [branch.node(i).type for i in branch.inputs]
    graph = subgraph(g, f"{branch.name}_jvp", [*types, *(types[i] for i in wrt)])
    values = [Value(i) for i in graph.inputs]
    inputs, given = values[: len(types)], values[len(types) :]
    results = inline(graph, branch, inputs)
    attrs = {"ys": len(slots), "wrt": tuple(wrt)}
    jvp = graph.add("Jvp", [*(results[k] for k in slots), *given, *inputs], attrs, loc=g.loc, scope=g.scope)
    graph.set_results((str(k), value) for k, value in zip(slots, jvp.outputs, strict=True))
    return graph


def _if_batch(g: Builder, m: Mapped) -> list[Value]:
    """An If where one condition holds for all indices; else both branches, of which each index takes one."""
    every = (True,) * len(m.node.types)
    if not m.mapped[0]:
        branches = {name: m.subgraph(branch, m.mapped[1:], every) for name, branch in m.node.graphs()}
        return list(g.node("If", *m.inputs, attrs=branches).outputs)
    then, orelse = (
        m.vectorize(g, unchecked(branch), m.inputs[1:], m.mapped[1:], every)
        for _, branch in sorted(m.node.graphs(), reverse=True)
    )
    return [chosen(g, m.inputs[0], a, b) for a, b in zip(then, orelse, strict=True)]


def chosen(g: Builder, flags: Value, a: Value, b: Value) -> Value:
    """a where the flag of its index on the first axis holds, else b."""
    ones = (1,) * (g.type(a).rank - 1)
    made: Value = g.Select(g.Reshape(flags, shape=(*g.type(flags).shape, *ones)), a, b)
    return made


def subgraph(g: Builder, name: str, types: Sequence[TensorType]) -> Graph:
    graph = Graph(name, g.graph.ids)
    for type in types:
        graph.add("Input", types=(type,), region="state")
    return graph


op(
    "If",
    "condition *captures",
    attrs={"then": REQUIRED, "else": REQUIRED},
    infer=_if_infer,
    grad=_if_grad,
    lower=Structural(),
    jvp=_if_jvp,
    batch=_if_batch,
    pad=padding_control.branches,
    check=check_closed,
    effect=True,
    doc="the results of subgraph `then` or `else`, which see only the captures; just one of them runs",
)
