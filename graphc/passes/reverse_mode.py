"""Reverse mode: a Grad node becomes the backward nodes it asks for.

    before:  %5 = Mul(%3, %4)    %7 = Grad(%5, %6, %3, %4) {ys=1, wrt=(0, 1)}
    after:   %8 = Mul(%6, %4)  ; grad of %5      %9 = Mul(%6, %3)  ; grad of %5     users of %7 use %8 and %9

The rules of the ops do the work; this walks from the outputs back to the cut, adds up what meets, and marks each new node
with its forward node, that node's line and scope, and region "backward".

The gradient of a real loss for x + iy is dloss/dx + i dloss/dy. Rules give dy f'(x), as for real numbers; where a result is
complex the gradient is then conj(conj(dy) f'(x)), so rules are applied to conjugates, and need not know.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from graphc.errors import GradientError
from graphc.ir import Builder, Graph, Node, NodeView, Origin, Value
from graphc.ir.op import NoGrad
from graphc.passes.node_places import Places


def expand(graph: Graph, grad: Node, place: Places) -> None:
    """Replace one Grad node. Raises GradientError GC150 for an op without gradient on the way."""
    count = grad.attrs["ys"]
    ys, sens, cut = grad.inputs[:count], grad.inputs[count : 2 * count], grad.inputs[2 * count :]
    wanted = [cut[i] for i in grad.attrs["wrt"]]
    path = between(graph, ys, cut, wanted, place)
    adjoints: dict[Value, Value] = {}
    builder = Builder(graph, "backward", grad.scope, grad.loc, origin=Origin("autodiff"))
    for y, s in zip(ys, sens, strict=True):
        accumulate(builder, adjoints, y, s)
    stop, targets = set(cut), set(wanted)
    whole: set[Value] = set()
    received: list[int] = []
    for id in sorted(path, key=place, reverse=True):
        node = graph.node(id)
        builder.fwd, builder.loc, builder.scope = id, node.loc, node.scope
        dys = [
            _side_by_side(builder, adjoints[v], whole) if v in adjoints and v not in stop else None
            for v in node.outputs
        ]
        if all(d is None for d in dys):
            continue
        if node.op.name == "Receive":
            before = set(graph.nx)
            gradients_of(builder, node, dys)
            received += sorted(set(graph.nx) - before)
            continue
        node_gradient(builder, node, dys, adjoints, path, targets)
    builder.fwd, builder.loc, builder.scope = None, grad.loc, grad.scope
    results = []
    for value, name in zip(wanted, grad.attrs["names"] or [""] * len(wanted), strict=True):
        if value in adjoints:
            adjoint = _side_by_side(builder, adjoints[value], whole)
        else:
            type = graph.type(value)
            adjoint = builder.Fill(dtype=type.dtype, shape=type.shape, value=0.0)
        made = graph.node(adjoint.node)
        if name and not made.name and made.region == "backward" and len(made.types) == 1:
            graph.set_node(made.id, name=name)
        # What goes back to other processes is no gradient of anything here: it goes before all that is.
        results.append(
            builder.node("Depend", adjoint, attrs={}, after=tuple(received)).outputs[0] if received else adjoint
        )
    graph.replace_node(grad.id, results, "Grad")


def between(
    graph: Graph, ys: tuple[Value, ...], cut: tuple[Value, ...], wanted: list[Value], place: Places
) -> set[int]:
    """The nodes on a way from a wanted value to an output that does not pass through the cut."""
    stop = set(cut)
    low = min((place(v.node) for v in wanted), default=()) if place.near else ()
    back: set[int] = set()
    stack = [y.node for y in ys if y not in stop]
    while stack:
        id = stack.pop()
        if id in back or place(id) < low:
            continue
        back.add(id)
        stack += [v.node for v in graph.node(id).inputs if v not in stop]
    reached: set[int] = set()
    targets = set(wanted)
    for id in sorted(back, key=place):
        node = graph.node(id)
        if node.op.name == "Receive" or any(v in targets or (v not in stop and v.node in reached) for v in node.inputs):
            reached.add(id)
    return reached


def node_gradient(
    builder: Builder,
    node: Node,
    dys: list[Value | None],
    adjoints: dict[Value, Value],
    path: set[int],
    wanted: set[Value],
) -> None:
    """Add what the node's gradient rule gives to the adjoints of its operands that are wanted or on the path."""
    if isinstance(node.op.grad, NoGrad):
        return
    for operand, gradient in zip(node.inputs, gradients_of(builder, node, dys), strict=True):
        if gradient is not None and (operand in wanted or operand.node in path):
            accumulate(builder, adjoints, operand, gradient)


def gradients_of(builder: Builder, node: Node, dys: list[Value | None]) -> Sequence[Value | None]:
    """What the node's rule gives for each operand. Raises GradientError GC150 for an op without gradient."""
    rule = node.op.grad
    if rule is None:
        raise no_gradient(node)
    # One gradient for each result; that of a single one is never None here.
    apply: Callable[..., Sequence[Value | None]] = rule  # type: ignore[assignment]
    view = NodeView(builder.graph, node)
    if not any(t.is_complex for t in node.types):
        return apply(builder, view, *dys)
    made = apply(builder, view, *(_conjugate(builder, d) for d in dys))
    return [_conjugate(builder, gradient) for gradient in made]


def _conjugate(builder: Builder, x: Value | None) -> Value | None:
    return builder.Conj(x) if x is not None and builder.type(x).is_complex else x


def no_gradient(node: Node) -> GradientError:
    """The error for an op without gradient."""
    return GradientError(
        f"{node.op.name} has no gradient"
        + (": " + node.op.doc.split(": ", 1)[1] if "no gradient: " in node.op.doc else ""),
        loc=node.loc,
        nodes=[node.id],
        details=[
            f"%{node.id} {node.op.name} in {node.scope or 'construct'} lies between the loss and what is differentiated"
        ],
        help="wrap its operand in ops.stop_gradient if it shall not be differentiated",
    )


def accumulate(builder: Builder, adjoints: dict[Value, Value], value: Value, gradient: Value) -> None:
    """Add to the adjoint of a value."""
    before = adjoints.get(value)
    adjoints[value] = gradient if before is None else builder.Add(before, gradient)


def _side_by_side(builder: Builder, gradient: Value, whole: set[Value]) -> Value:
    """A sum of gradients of slices as their Concat, if they lie side by side along one axis and leave nothing out.

    before:  %5 = SliceGrad(%3) {begin=(0,), shape=(4,)}   %6 = SliceGrad(%4) {begin=(2,), shape=(4,)}   %7 = Add(%5, %6)
    after:   %8 = Concat(%3, %4) {axis=0}

    `whole` collects sums that are not only of slices: a sum of such a one is not looked into down to its beginning again.
    """
    graph, shape = builder.graph, builder.type(gradient).shape
    pieces: list[Node] = []
    stack = [gradient]
    while stack:
        value = stack.pop()
        node = graph.node(value.node)
        if value in whole:
            whole.add(gradient)
            return gradient
        if node.op.name == "Add" and all(graph.type(v).shape == shape for v in node.inputs):
            stack += node.inputs
        elif node.op.name == "SliceGrad" and all(step == 1 for step in node.attrs["step"]):
            pieces.append(node)
        else:
            whole.add(gradient)
            return gradient
    sizes = [graph.type(piece.inputs[0]).shape for piece in pieces]
    axes = {axis for size in sizes for axis, (n, whole) in enumerate(zip(size, shape, strict=True)) if n != whole}
    if len(pieces) < 2 or len(axes) != 1:
        return gradient
    (axis,) = axes
    parts = sorted(
        (piece.attrs["begin"][axis], size[axis], piece.inputs[0]) for piece, size in zip(pieces, sizes, strict=True)
    )
    ends = [0, *(begin + count for begin, count, _ in parts)]
    if ends[-1] != shape[axis] or [begin for begin, _, _ in parts] != ends[:-1]:
        return gradient
    made: Value = builder.Concat(*(value for _, _, value in parts), axis=axis)
    return made
