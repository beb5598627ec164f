"""Control flow: the ops If and While, whose parts are closed subgraphs, and their gradients."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from graphc.errors import DTypeError, ShapeError
from graphc.ir import REQUIRED, Builder, Graph, Node, NodeView, TensorType, Value, inline, op
from graphc.ir.op import Attrs, Structural, Types


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


def _if_check(graph: Graph, node: Node) -> Iterator[str]:
    for name, sub in node.graphs():
        if sub.updates:
            yield f"its subgraph {name} updates parameters itself; a branch returns new versions instead"
        if any(n.op.name == "Param" for n in sub):
            yield f"its subgraph {name} reads a Param; a branch captures what it reads"


def _if_grad(g: Builder, n: NodeView, *dys: Value | None) -> list[Value | None]:
    """An If over the branches' gradients; each runs its branch's forward again, on the captures."""
    captures = n.inputs[1:]
    given = [(slot, dy) for slot, dy in enumerate(dys) if dy is not None]
    wanted = _differentiable(g, captures, [dy for _, dy in given])
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


def _differentiable(g: Builder, values: Sequence[Value], dys: Sequence[Value]) -> list[int]:
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


op(
    "If",
    "condition *captures",
    attrs={"then": REQUIRED, "else": REQUIRED},
    infer=_if_infer,
    grad=_if_grad,
    lower=Structural(),
    check=_if_check,
    effect=True,
    doc="the results of subgraph `then` or `else`, which see only the captures; just one of them runs",
)


def _while_infer(types: Types, attrs: Attrs) -> tuple[TensorType, ...]:
    carried = list(types[: attrs["carried"]])
    for name in ("cond", "body"):
        graph = attrs[name]
        signature = [graph.node(i).type for i in graph.inputs]
        if signature != list(types):
            given = ", ".join(map(str, types))
            raise ShapeError(f"While: @{graph.name} takes ({', '.join(map(str, signature))}), given ({given})")
    test = [attrs["cond"].type(r.value) for r in attrs["cond"].results]
    if test != [TensorType("bool", ())]:
        raise DTypeError(
            f"While: the condition gives {', '.join(map(str, test)) or 'nothing'}, expected one bool: b1[]"
        )
    made = [attrs["body"].type(r.value) for r in attrs["body"].results]
    if made != carried:
        raise ShapeError(
            f"While: the loop carries ({', '.join(map(str, carried))}), its body gives ({', '.join(map(str, made))})",
            code="GC123",
        )
    return tuple(carried)


def _while_grad(g: Builder, n: NodeView, *dys: Value | None) -> list[Value | None]:
    """The turns once more, from the last to the first; each gets its state by running the loop again up to it.

    How often a loop runs is known only while it runs, so there is no room of fixed size for the states of all turns: n turns
    cost about n * n / 2 turns of the forward. A loop counts its turns, a second one walks back over them.
    """
    count = n.node.attrs["carried"]
    given = [dy for dy in dys if dy is not None]
    wanted = _differentiable(g, n.inputs, given)
    if not given or not wanted:
        return [None] * len(n.inputs)
    turns = _while_counted(g, n.node, n.inputs, None)[0]
    start = []
    for i in wanted:
        dy = dys[i] if i < count else None
        type = g.type(n.inputs[i])
        start.append(dy if dy is not None else g.Fill(dtype=type.dtype, shape=type.shape, value=0.0))
    body = _turn_gradient(g, n.node, wanted)
    types = [g.type(v) for v in (turns, *start, *n.inputs)]
    attrs = {"carried": 1 + len(start), "cond": _positive(g, types), "body": body}
    made = g.node("While", turns, *start, *n.inputs, attrs=attrs).outputs
    grads: list[Value | None] = [None] * len(n.inputs)
    for i, value in zip(wanted, made[1:], strict=True):
        grads[i] = value
    return grads


def _while_counted(g: Builder, node: Node, operands: Sequence[Value], limit: Value | None) -> tuple[Value, ...]:
    """(turns, final carried values) of a loop: of all its turns, or of the first `limit` ones."""
    count = node.attrs["carried"]
    zero = g.constant(0, "int32")
    extra = [limit] if limit is not None else []
    types = [g.type(v) for v in (zero, *operands, *extra)]
    test = _subgraph(g, node.attrs["cond"].name, types)
    inputs = [Value(i) for i in test.inputs]
    if limit is None:
        more = inline(test, node.attrs["cond"], inputs[1:])[0]
    else:
        more = Builder(test, g.region, g.scope, g.loc).Less(inputs[0], inputs[-1])
    test.set_results([("more", more)])
    body = _subgraph(g, node.attrs["body"].name, types)
    inputs = [Value(i) for i in body.inputs]
    b = Builder(body, g.region, g.scope, g.loc)
    made = inline(body, node.attrs["body"], inputs[1 : 1 + len(operands)])
    body.set_results((str(i), v) for i, v in enumerate([b.Add(inputs[0], b.constant(1, "int32")), *made]))
    attrs = {"carried": 1 + count, "cond": test, "body": body}
    return g.node("While", zero, *operands, *extra, attrs=attrs).outputs


def _turn_gradient(g: Builder, node: Node, wanted: list[int]) -> Graph:
    """The body of the loop that walks back: (turns left, adjoints, operands) -> (turns left - 1, adjoints before that turn).

    A carried value's adjoint is replaced, a capture's grows.
    """
    count = node.attrs["carried"]
    graph = _subgraph(
        g,
        f"{node.attrs['body'].name}_grad",
        [TensorType("int32", ()), *(g.type(node.inputs[i]) for i in wanted), *map(g.type, node.inputs)],
    )
    turns, *rest = (Value(i) for i in graph.inputs)
    adjoints, operands = rest[: len(wanted)], rest[len(wanted) :]
    b = Builder(graph, g.region, g.scope, g.loc, g.fwd, g.origin)
    left = b.Sub(turns, b.constant(1, "int32"))
    state = _while_counted(b, node, operands, left)[1:]
    inputs = [*state, *operands[count:]]
    results = inline(graph, node.attrs["body"], inputs)
    ys = [(results[i], adjoint) for i, adjoint in zip(wanted, adjoints, strict=True) if i < count]
    attrs = {"ys": len(ys), "wrt": tuple(wanted)}
    found = b.node("Grad", *(y for y, _ in ys), *(s for _, s in ys), *inputs, attrs=attrs).outputs
    made = [f if i < count else b.Add(a, f) for i, a, f in zip(wanted, adjoints, found, strict=True)]
    graph.set_results((str(i), v) for i, v in enumerate([left, *made]))
    return graph


def _positive(g: Builder, types: Sequence[TensorType]) -> Graph:
    """A condition: the first carried value is above 0."""
    graph = _subgraph(g, "turns_left", types)
    b = Builder(graph, g.region, g.scope, g.loc)
    graph.set_results([("more", b.Greater(Value(graph.inputs[0]), b.constant(0, "int32")))])
    return graph


def _subgraph(g: Builder, name: str, types: Sequence[TensorType]) -> Graph:
    graph = Graph(name, g.graph.ids)
    for type in types:
        graph.add("Input", types=(type,), region="state")
    return graph


op(
    "While",
    "*operands",
    attrs={"carried": REQUIRED, "cond": REQUIRED, "body": REQUIRED},
    infer=_while_infer,
    grad=_while_grad,
    lower=Structural(),
    check=_if_check,
    effect=True,
    doc="the first `carried` operands, replaced by the results of subgraph `body` as long as `cond` gives true; both see the"
    " carried values and the captures",
)
