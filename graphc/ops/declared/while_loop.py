"""Loops of any number of turns: the op While, whose condition and body are closed subgraphs; its gradient is in `checkpoints`."""

from __future__ import annotations

from collections.abc import Sequence

from graphc.errors import DTypeError, ShapeError
from graphc.ir import REQUIRED, Builder, Graph, NodeView, TensorType, Value, inline, op
from graphc.ir.op import Attrs, Structural, Types
from graphc.ops.declared import padding_control
from graphc.ops.declared.batching import Mapped
from graphc.ops.declared.bounds import unchecked
from graphc.ops.declared.checkpoints import while_grad
from graphc.ops.declared.control import check_closed, chosen, subgraph


def _infer(types: Types, attrs: Attrs) -> tuple[TensorType, ...]:
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
            help="let what it carries keep its size: carry a mask of the rows that are left, or the number of the row",
        )
    return tuple(carried)


def _jvp(g: Builder, n: NodeView, *tangents: Value | None) -> list[Value | None]:
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


def _batch(g: Builder, m: Mapped) -> list[Value]:
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
        parts = _until_all_end(g, m, cond, body, flags)
    else:
        parts = {"cond": m.subgraph(cond, flags, (False,)), "body": m.subgraph(body, flags, carried)}
    made_by = g.node("While", *start, attrs={"carried": count, **parts}).outputs
    return [y if flag else m.repeated(y) for y, flag in zip(made_by, carried, strict=True)]


def _until_all_end(g: Builder, m: Mapped, cond: Graph, body: Graph, flags: Sequence[bool]) -> dict[str, Graph]:
    """Condition and body of a loop whose indices end it one by one."""
    count, cond, body = m.node.attrs["carried"], unchecked(cond), unchecked(body)
    check = m.subgraph(cond, flags, (True,))
    b = Builder(check, g.region, g.scope, g.loc)
    check.set_results([("more", b.ReduceAny(check.results[0].value, axis=(0,)))])
    turn = m.subgraph(body, flags, (True,) * count)
    b = Builder(turn, g.region, g.scope, g.loc)
    inputs = [Value(i) for i in turn.inputs]
    (more,) = m.vectorize(b, cond, inputs, flags, (True,))
    turn.set_results([(r.name, chosen(b, more, r.value, old)) for r, old in zip(turn.results, inputs, strict=False)])
    return {"cond": check, "body": turn}


op(
    "While",
    "*operands",
    attrs={"carried": REQUIRED, "cond": REQUIRED, "body": REQUIRED},
    infer=_infer,
    grad=while_grad,
    lower=Structural(),
    jvp=_jvp,
    batch=_batch,
    pad=padding_control.turns,
    check=check_closed,
    effect=True,
    doc="the first `carried` operands, replaced by the results of subgraph `body` as long as `cond` gives true; both see the"
    " carried values and the captures",
)
