"""Control flow: the ops If and While, whose parts are closed subgraphs, and their gradients."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from graphc.errors import DTypeError, ShapeError
from graphc.ir import REQUIRED, Builder, Graph, Node, NodeView, TensorType, Value, inline, op
from graphc.ir.op import Attrs, Structural, Types
from graphc.ops.declared import padding
from graphc.ops.declared.batching import Mapped


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
        m.vectorize(g, branch, m.inputs[1:], m.mapped[1:], every) for _, branch in sorted(m.node.graphs(), reverse=True)
    )
    return [_chosen(g, m.inputs[0], a, b) for a, b in zip(then, orelse, strict=True)]


def _chosen(g: Builder, flags: Value, a: Value, b: Value) -> Value:
    """a where the flag of its index on the first axis holds, else b."""
    ones = (1,) * (g.type(a).rank - 1)
    made: Value = g.Select(g.Reshape(flags, shape=(*g.type(flags).shape, *ones)), a, b)
    return made


op(
    "If",
    "condition *captures",
    attrs={"then": REQUIRED, "else": REQUIRED},
    infer=_if_infer,
    grad=_if_grad,
    lower=Structural(),
    jvp=_if_jvp,
    batch=_if_batch,
    pad=padding.branches,
    check=check_closed,
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
    wanted = differentiable(g, n.inputs, given)
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
    test = subgraph(g, node.attrs["cond"].name, types)
    inputs = [Value(i) for i in test.inputs]
    if limit is None:
        more = inline(test, node.attrs["cond"], inputs[1:])[0]
    else:
        more = Builder(test, g.region, g.scope, g.loc).Less(inputs[0], inputs[-1])
    test.set_results([("more", more)])
    body = subgraph(g, node.attrs["body"].name, types)
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
    graph = subgraph(
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
    graph = subgraph(g, "turns_left", types)
    b = Builder(graph, g.region, g.scope, g.loc)
    graph.set_results([("more", b.Greater(Value(graph.inputs[0]), b.constant(0, "int32")))])
    return graph


def subgraph(g: Builder, name: str, types: Sequence[TensorType]) -> Graph:
    graph = Graph(name, g.graph.ids)
    for type in types:
        graph.add("Input", types=(type,), region="state")
    return graph


def _while_jvp(g: Builder, n: NodeView, *tangents: Value | None) -> list[Value | None]:
    """The loop over what it carries and the tangents of that; the condition sees no tangents."""
    count = n.node.attrs["carried"]
    types = [g.type(v) for v in n.inputs]
    own = [i for i in range(count) if types[i].is_float or tangents[i] is not None]
    held = [i for i in range(count, len(types)) if tangents[i] is not None]
    zeros = {i: g.Fill(dtype=types[i].dtype, shape=types[i].shape, value=0) for i in own if tangents[i] is None}
    start = [zeros.get(i, tangents[i]) for i in own]
    order = [*range(count), *(len(types) + k for k in range(len(own))), *range(count, len(types))]
    order += [len(types) + len(own) + k for k in range(len(held))]
    given = [*n.inputs, *start, *(tangents[i] for i in held)]
    kinds = [*types, *(types[i] for i in own), *(types[i] for i in held)]
    cond = subgraph(g, n.node.attrs["cond"].name, [kinds[k] for k in order])
    cond.set_results([("more", inline(cond, n.node.attrs["cond"], _at(cond, order, range(len(types))))[0])])
    body = subgraph(g, f"{n.node.attrs['body'].name}_jvp", [kinds[k] for k in order])
    inputs, moving = _at(body, order, range(len(types))), _at(body, order, range(len(types), len(kinds)))
    results = inline(body, n.node.attrs["body"], inputs)
    attrs = {"ys": len(own), "wrt": (*own, *held)}
    jvp = body.add("Jvp", [*(results[i] for i in own), *moving, *inputs], attrs, loc=g.loc, scope=g.scope)
    body.set_results((str(k), v) for k, v in enumerate([*results, *jvp.outputs]))
    attrs = {"carried": count + len(own), "cond": cond, "body": body}
    made = g.node("While", *(given[k] for k in order), attrs=attrs).outputs
    found = dict(zip(own, made[count:], strict=True))
    return [found.get(i) for i in range(count)]


def _at(graph: Graph, order: Sequence[int], wanted: Sequence[int]) -> list[Value]:
    """The inputs of a graph, which are in this order, that stand for the wanted numbers."""
    place = {k: Value(id) for k, id in zip(order, graph.inputs, strict=True)}
    return [place[k] for k in wanted]


def _while_batch(g: Builder, m: Mapped) -> list[Value]:
    """One loop for all indices. Where they end it at different turns, it goes on while any does, and what has ended stays."""
    count = m.node.attrs["carried"]
    cond, body = m.node.attrs["cond"], m.node.attrs["body"]
    carried, captures = m.mapped[:count], m.mapped[count:]
    while True:
        (apart,) = m.reached(cond, (*carried, *captures))
        made = m.reached(body, (*carried, *captures))
        after = tuple(a or b or apart for a, b in zip(carried, made, strict=True))
        if after == carried:
            break
        carried = after
    flags = (*carried, *captures)
    start = [m.front(i) if flag else x for i, (flag, x) in enumerate(zip(flags, m.inputs, strict=True))]
    if apart:
        parts = _while_any(g, m, cond, body, flags)
    else:
        parts = {"cond": m.subgraph(cond, flags, (False,)), "body": m.subgraph(body, flags, carried)}
    made_by = g.node("While", *start, attrs={"carried": count, **parts}).outputs
    return [y if flag else m.repeated(y) for y, flag in zip(made_by, carried, strict=True)]


def _while_any(g: Builder, m: Mapped, cond: Graph, body: Graph, flags: Sequence[bool]) -> dict[str, Graph]:
    """Condition and body of a loop whose indices end it one by one."""
    count = m.node.attrs["carried"]
    check = m.subgraph(cond, flags, (True,))
    b = Builder(check, g.region, g.scope, g.loc)
    check.set_results([("more", b.ReduceAny(check.results[0].value, axis=(0,)))])
    turn = m.subgraph(body, flags, (True,) * count)
    b = Builder(turn, g.region, g.scope, g.loc)
    inputs = [Value(i) for i in turn.inputs]
    (more,) = m.vectorize(b, cond, inputs, flags, (True,))
    turn.set_results([(r.name, _chosen(b, more, r.value, old)) for r, old in zip(turn.results, inputs, strict=False)])
    return {"cond": check, "body": turn}


op(
    "While",
    "*operands",
    attrs={"carried": REQUIRED, "cond": REQUIRED, "body": REQUIRED},
    infer=_while_infer,
    grad=_while_grad,
    lower=Structural(),
    jvp=_while_jvp,
    batch=_while_batch,
    pad=padding.turns,
    check=check_closed,
    effect=True,
    doc="the first `carried` operands, replaced by the results of subgraph `body` as long as `cond` gives true; both see the"
    " carried values and the captures",
)
