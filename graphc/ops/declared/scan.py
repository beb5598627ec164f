"""Loops of a known number of turns: the op Scan, whose body is a closed subgraph, and its gradient.

A turn sees what the loop carries, the slices of its scanned operands at its place, and the captures, which are the same for
all. What turns make can be stacked. The gradient is a Scan in the other direction that reads, turn by turn, what the loop
carried: its cost grows with the number of turns as the loop's does.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from graphc.errors import GraphcError, ShapeError
from graphc.ir import REQUIRED, Builder, Graph, Node, NodeView, TensorType, Value, inline, op
from graphc.ir.op import Attrs, Structural, Types
from graphc.ops.declared import padding_control
from graphc.ops.declared.batching import Mapped
from graphc.ops.declared.control import check_closed, differentiable, subgraph


class Parts(NamedTuple):
    """What a Scan's operands, or their types, are: carried values, scanned ones, captures."""

    carried: tuple[Value, ...]
    scanned: tuple[Value, ...]
    captures: tuple[Value, ...]


def parts_of(node: Node) -> Parts:
    """The operands of a Scan by what they are."""
    c, s = node.attrs["carried"], node.attrs["scanned"]
    return Parts(node.inputs[:c], node.inputs[c : c + s], node.inputs[c + s :])


def stacked(type: TensorType, length: int) -> TensorType:
    """`length` values of a type, stacked along a new first axis."""
    return TensorType(type.dtype, (length, *type.shape))


def stack_length(attrs: Attrs, entry: int) -> int:
    """The rows of a stack: a carried value's has the initial one, too."""
    turns: int = attrs["length"]
    return turns + 1 if entry < attrs["carried"] else turns


def _infer(types: Types, attrs: Attrs) -> tuple[TensorType, ...]:
    c, s, turns, body = attrs["carried"], attrs["scanned"], attrs["length"], attrs["body"]
    for type in types[c : c + s]:
        if not type.shape or type.shape[0] != turns:
            raise ShapeError(f"Scan: {type} has no {turns} rows, one for each turn", code="GC123")
    rows = [TensorType(t.dtype, t.shape[1:]) for t in types[c : c + s]]
    wanted = [*types[:c], *rows, *types[c + s :]]
    signature = [body.node(i).type for i in body.inputs]
    if signature != wanted:
        given = ", ".join(map(str, wanted))
        raise ShapeError(f"Scan: @{body.name} takes ({', '.join(map(str, signature))}), given ({given})", code="GC123")
    made = [body.type(r.value) for r in body.results]
    if made[:c] != list(types[:c]):
        raise ShapeError(
            f"Scan: the loop carries ({', '.join(map(str, types[:c]))}), its body gives ({', '.join(map(str, made[:c]))})",
            code="GC123",
        )
    return (*types[:c], *(stacked(made[k], stack_length(attrs, k)) for k in attrs["stacks"]))


def _check(graph: Graph, node: Node) -> Iterator[str | GraphcError]:
    yield from check_closed(graph, node)
    count = len(node.attrs["body"].results)
    if any(not 0 <= k < count for k in node.attrs["stacks"]):
        yield f"it stacks results {node.attrs['stacks']} of a body that has {count}"


# ---- reverse mode


def states(g: Builder, n: NodeView) -> list[Value]:
    """What each turn of a Scan begins with, stacked by turn, for every carried value; the loop is told to keep that."""
    node, attrs = g.graph.node(n.node.id), dict(n.node.attrs)
    count, turns = attrs["carried"], attrs["length"]
    stacks: tuple[int, ...] = node.attrs["stacks"]
    new = tuple(k for k in range(count) if k not in stacks)
    if new:
        types = tuple(stacked(node.types[k], turns + 1) for k in new)
        node = g.graph.set_node(node.id, attrs={**node.attrs, "stacks": (*stacks, *new)}, types=(*node.types, *types))
    found: list[Value] = []
    for k in range(count):
        trace = node.outputs[count + node.attrs["stacks"].index(k)]
        found.append(rows(g, trace, 1 if attrs["reverse"] else 0, turns))
    return found


def rows(g: Builder, x: Value, begin: int, count: int) -> Value:
    """Rows `begin` to `begin + count` of a stack."""
    shape = g.type(x).shape
    made: Value = g.Slice(x, begin=(begin, *(0 for _ in shape[1:])), size=(count, *shape[1:]), step=(1,) * len(shape))
    return made


def _grad(g: Builder, n: NodeView, *dys: Value | None) -> list[Value | None]:
    """A Scan from the last turn to the first: it carries the adjoints of what the loop carries, and those of the captures."""
    node = n.node
    c, turns = node.attrs["carried"], node.attrs["length"]
    given = [dy for dy in dys if dy is not None]
    wanted = differentiable(g, n.inputs, given)
    if not given or not wanted:
        return [None] * len(n.inputs)
    s = node.attrs["scanned"]
    # What a trace gets goes to the turn that made its row, and its first row's to the initial value.
    from_stacks = [(k, dy) for k, dy in zip(node.attrs["stacks"], dys[c:], strict=False) if dy is not None]
    reverse = bool(node.attrs["reverse"])
    outside: dict[int, Value] = {}
    per_turn: list[tuple[int, Value]] = []
    for k, dy in from_stacks:
        if k >= c:
            per_turn.append((k, dy))
            continue
        per_turn.append((k, rows(g, dy, 0 if reverse else 1, turns)))
        first = g.Reshape(rows(g, dy, turns if reverse else 0, 1), shape=g.type(n.inputs[k]).shape)
        outside[k] = g.Add(outside[k], first) if k in outside else first
    kept = states(g, n)
    moving = [i for i in wanted if i < c]
    held = [i for i in wanted if i >= c + s]
    start = [_or_zeros(g, dys[i], n.inputs[i]) for i in moving] + [_or_zeros(g, None, n.inputs[i]) for i in held]
    back, order = _turn_gradient(g, n, wanted, per_turn, kept)
    operands = [*start, *(dy for _, dy in per_turn), *kept, *n.inputs[c:]]
    attrs = {
        "length": turns, "carried": len(start), "scanned": len(per_turn) + len(kept) + s,
        "stacks": tuple(range(len(start), len(start) + len(order))), "reverse": not reverse, "body": back,
    }  # fmt: skip
    made = g.node("Scan", *operands, attrs=attrs).outputs
    grads: list[Value | None] = [None] * len(n.inputs)
    for i, value in zip([*moving, *held], made, strict=False):
        grads[i] = g.Add(value, outside[i]) if i in outside else value
    for i, value in zip(order, made[len(start) :], strict=True):
        grads[i] = value
    return grads


def _or_zeros(g: Builder, dy: Value | None, like: Value) -> Value:
    type = g.type(like)
    made: Value = dy if dy is not None else g.Fill(dtype=type.dtype, shape=type.shape, value=0.0)
    return made


def _turn_gradient(
    g: Builder, n: NodeView, wanted: Sequence[int], per_turn: Sequence[tuple[int, Value]], kept: Sequence[Value]
) -> tuple[Graph, list[int]]:
    """The body of the loop that goes back, and of which scanned operands it stacks the gradients.

    It takes the adjoints of carried values and captures, the gradients of what the turn stacked, the state that the turn began
    with, its slices and the captures. A carried value's adjoint is replaced, a capture's grows.
    """
    node, c, s = n.node, n.node.attrs["carried"], n.node.attrs["scanned"]
    body: Graph = node.attrs["body"]
    types = [body.node(i).type for i in body.inputs]
    moving = [i for i in wanted if i < c]
    held = [i for i in wanted if i >= c + s]
    sliced = [i for i in wanted if c <= i < c + s]
    results = [body.type(r.value) for r in body.results]
    kinds = [*(types[i] for i in moving), *(types[i] for i in held), *(results[k] for k, _ in per_turn), *types]
    graph = subgraph(g, f"{body.name}_grad", kinds)
    values = [Value(i) for i in graph.inputs]
    adjoints, values = values[: len(moving)], values[len(moving) :]
    sums, values = values[: len(held)], values[len(held) :]
    given, inputs = values[: len(per_turn)], values[len(per_turn) :]
    b = Builder(graph, g.region, g.scope, g.loc)
    made = inline(graph, body, inputs)
    sens: dict[int, Value] = dict(zip(moving, adjoints, strict=True))
    for (k, _), dy in zip(per_turn, given, strict=True):
        sens[k] = b.Add(sens[k], dy) if k in sens else dy
    attrs = {"ys": len(sens), "wrt": tuple(wanted)}
    found = b.node("Grad", *(made[k] for k in sens), *sens.values(), *inputs, attrs=attrs).outputs
    gradient = dict(zip(wanted, found, strict=True))
    final = [gradient[i] for i in moving]
    final += [b.Add(a, gradient[i]) for a, i in zip(sums, held, strict=True)]
    final += [gradient[i] for i in sliced]
    graph.set_results((str(i), v) for i, v in enumerate(final))
    return graph, sliced


# ---- forward mode


def _jvp(g: Builder, n: NodeView, *tangents: Value | None) -> list[Value | None]:
    """The loop over what it carries and scans and the tangents of that."""
    node, (c, s) = n.node, (n.node.attrs["carried"], n.node.attrs["scanned"])
    body: Graph = node.attrs["body"]
    types = [body.node(i).type for i in body.inputs]
    own = [i for i in range(c) if types[i].is_float or tangents[i] is not None]
    row = [i for i in range(c, c + s) if tangents[i] is not None]
    held = [i for i in range(c + s, len(types)) if tangents[i] is not None]
    start = [_or_zeros(g, tangents[i], n.inputs[i]) for i in own]
    # Carried values and their tangents, scanned ones and theirs, captures and theirs.
    order = [*range(c), *(("d", i) for i in own), *range(c, c + s), *(("d", i) for i in row)]
    order += [*range(c + s, len(types)), *(("d", i) for i in held)]
    kinds = [types[k] if isinstance(k, int) else types[k[1]] for k in order]
    graph = subgraph(g, f"{body.name}_jvp", kinds)
    at = {k: Value(i) for k, i in zip(order, graph.inputs, strict=True)}
    inputs = [at[i] for i in range(len(types))]
    results = inline(graph, body, inputs)
    smooth = [k for k in range(c, len(results)) if graph.type(results[k]).is_float and k in node.attrs["stacks"]]
    ys = [*own, *smooth]
    wrt = (*own, *row, *held)
    attrs = {"ys": len(ys), "wrt": wrt}
    moved = graph.add(
        "Jvp", [*(results[k] for k in ys), *(at["d", i] for i in wrt), *inputs], attrs, loc=g.loc, scope=g.scope
    ).outputs
    tangent = dict(zip(ys, moved, strict=True))
    final = [*results[:c], *(tangent[i] for i in own), *results[c:], *(tangent[k] for k in smooth)]
    graph.set_results((str(k), v) for k, v in enumerate(final))
    place = {k: c + own.index(k) for k in own}
    place |= {k: c + len(own) + len(results) - c + j for j, k in enumerate(smooth)}
    stacks = tuple(place[k] for k in node.attrs["stacks"] if k in place)
    moving = dict(zip(own, start, strict=True)) | {i: _or_zeros(g, tangents[i], n.inputs[i]) for i in (*row, *held)}
    operands = [n.inputs[k] if isinstance(k, int) else moving[k[1]] for k in order]
    attrs = {**node.attrs, "carried": c + len(own), "scanned": s + len(row), "stacks": stacks, "body": graph}
    made = g.node("Scan", *operands, attrs=attrs).outputs
    found: list[Value | None] = [made[c + own.index(i)] if i in own else None for i in range(c)]
    ends = iter(made[c + len(own) :])
    return [*found, *(next(ends) if k in place else None for k in node.attrs["stacks"])]


# ---- vmap


def _batch(g: Builder, m: Mapped) -> list[Value]:
    """One loop for all indices: the batch axis stands in front of what it carries, and behind the turns in what it scans."""
    attrs = m.node.attrs
    c, s, body = attrs["carried"], attrs["scanned"], attrs["body"]
    carried, others = m.mapped[:c], m.mapped[c:]
    while True:
        made = m.reached(body, (*carried, *others))
        after = tuple(a or b for a, b in zip(carried, made, strict=False))
        if after == carried:
            break
        carried = after
    flags = (*carried, *others)
    operands = []
    for i, (flag, x) in enumerate(zip(flags, m.inputs, strict=True)):
        if not flag:
            operands.append(x)
        elif c <= i < c + s:
            operands.append(_exchanged(g, x))
        else:
            operands.append(m.front(i))
    fronts = (*carried, *made[c:])
    turn = m.subgraph(body, flags, fronts)
    results = g.node("Scan", *operands, attrs={**attrs, "body": turn}).outputs
    found = [y if flag else m.repeated(y) for y, flag in zip(results, carried, strict=False)]
    for y, k in zip(results[c:], attrs["stacks"], strict=True):
        found.append(_exchanged(g, y) if fronts[k] else m.repeated(y))
    return found


def _exchanged(g: Builder, x: Value) -> Value:
    """The first two axes exchanged."""
    made: Value = g.Transpose(x, perm=(1, 0, *range(2, len(g.type(x).shape))))
    return made


op(
    "Scan",
    "*operands",
    attrs={
        "length": REQUIRED, "carried": REQUIRED, "scanned": REQUIRED, "stacks": (), "reverse": False, "body": REQUIRED,
    },
    infer=_infer,
    grad=_grad,
    lower=Structural(),
    jvp=_jvp,
    batch=_batch,
    pad=padding_control.scanned,
    check=_check,
    effect=True,
    doc="`length` turns of subgraph `body`, from the last place with `reverse`: it sees the `carried` values, the slices of the"
    " `scanned` operands along their first axis, and the captures; it gives the next carried values and what is stacked."
    " Results: the last carried values, then the body's results `stacks`, by place; a carried value's have the initial one, too",
)  # fmt: skip
