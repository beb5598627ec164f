"""Ops of gradients that users write themselves: CustomGrad, and HostCall for those that run in Python."""

from __future__ import annotations

from collections.abc import Iterator

from graphc.errors import ShapeError
from graphc.ir import REQUIRED, Builder, Graph, Node, NodeView, TensorType, Value, inline, op
from graphc.ir.op import Attrs, Structural, Types

# ---- the op


def _infer(types: Types, attrs: Attrs) -> tuple[TensorType, ...]:
    outs, ins = attrs["outs"], attrs["ins"]
    bprop: Graph = attrs["bprop"]
    inputs, results = types[outs : outs + ins], types[:outs]
    wanted = [*inputs, *results, *results, *types[outs + ins :]]
    signature = [bprop.node(i).type for i in bprop.inputs]
    if signature != wanted:
        given = ", ".join(map(str, wanted))
        raise ShapeError(f"CustomGrad: @{bprop.name} takes ({', '.join(map(str, signature))}), given ({given})")
    made = tuple(bprop.type(r.value) for r in bprop.results)
    if made != tuple(inputs[i] for i in attrs["wrt"]):
        raise ShapeError(
            f"CustomGrad: @{bprop.name} gives ({', '.join(map(str, made))}), which are no gradients of the inputs"
        )
    return tuple(results)


def _check(graph: Graph, node: Node) -> Iterator[str]:
    bprop = node.attrs["bprop"]
    if bprop.updates or any(n.op.name == "Param" for n in bprop):
        yield "its subgraph bprop reads or updates parameters itself; it captures what it reads"


def _grad(g: Builder, n: NodeView, *dys: Value | None) -> list[Value | None]:
    """The user's gradient, in place of that of the nodes which made the results."""
    outs, ins = n.outs, n.ins
    results, inputs = n.inputs[:outs], n.inputs[outs : outs + ins]
    given = []
    for y, dy in zip(results, dys, strict=True):
        type = g.type(y)
        given.append(g.Fill(dtype=type.dtype, shape=type.shape, value=0) if dy is None else dy)
    made = inline(g.graph, n.bprop, [*inputs, *results, *given, *n.inputs[outs + ins :]])
    grads: list[Value | None] = [None] * len(n.inputs)
    for i, value in zip(n.wrt, made, strict=True):
        grads[outs + i] = value
    return grads


op(
    "CustomGrad",
    "*operands",
    attrs={"outs": REQUIRED, "ins": REQUIRED, "wrt": REQUIRED, "bprop": REQUIRED},
    infer=_infer,
    ref=lambda *operands, outs, ins, wrt, bprop: tuple(operands[:outs]),
    grad=_grad,
    lower=Structural(),
    check=_check,
    doc="the first `outs` operands, whose gradients for the next `ins` operands are those that subgraph `bprop` gives for the"
    " operands `wrt` among them. bprop takes the ins, the outs, the gradients of the outs, and the captures that follow. Autodiff"
    " drops the node when all gradients stand",
)


op(
    "HostCall",
    "*operands",
    attrs={"function": REQUIRED},
    infer=lambda types, attrs: tuple(types),
    ref=lambda *operands, function: function(*operands),
    doc="what a Python function makes of the values. PYNATIVE_MODE only: a step has no Python in it",
)
