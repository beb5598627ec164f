"""Ops of gradients that users write themselves, CustomGrad, and of what PYNATIVE_MODE calls: HostCall, Call."""

from __future__ import annotations

from collections.abc import Iterator

from graphc.errors import ShapeError
from graphc.ir import REQUIRED, Builder, Graph, Node, NodeView, TensorType, Value, inline, op
from graphc.ir.op import Attrs, Structural, Types
from graphc.ops.declared.batching import Mapped

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


def _batch(g: Builder, m: Mapped) -> list[Value]:
    """The same boundary around mapped values; what several indices share gets the sum of their gradients."""
    outs, ins = m.outs, m.ins
    ys = [m.front(i) for i in range(outs)]
    own, captures = m.mapped[outs : outs + ins], m.mapped[outs + ins :]
    every = (True,) * outs
    bprop = m.subgraph(m.bprop, (*own, *every, *every, *captures), (True,) * len(m.wrt))
    b = Builder(bprop, "backward", g.scope, g.loc)
    results = [
        (r.name, r.value if own[i] else b.ReduceSum(r.value, axis=(0,)))
        for i, r in zip(m.wrt, bprop.results, strict=True)
    ]
    bprop.set_results(results)
    return list(g.node("CustomGrad", *ys, *m.inputs[outs:], attrs={**m.node.attrs, "bprop": bprop}).outputs)


op(
    "CustomGrad",
    "*operands",
    attrs={"outs": REQUIRED, "ins": REQUIRED, "wrt": REQUIRED, "bprop": REQUIRED},
    infer=_infer,
    ref=lambda *operands, outs, ins, wrt, bprop: tuple(operands[:outs]),
    grad=_grad,
    lower=Structural(),
    batch=_batch,
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


def _call_grad(g: Builder, n: NodeView, *dys: Value | None) -> list[Value | None]:
    """The compiled gradient, of the operands that are numbers to differentiate."""
    given = tuple(dy is not None for dy in dys)
    back = n.function.gradient(given)
    made = g.node("Call", *n.inputs, *(dy for dy in dys if dy is not None), attrs={"function": back}).outputs
    rest = iter(made)
    return [next(rest) if k in n.function.varying else None for k in range(len(n.inputs))]


op(
    "Call",
    "*operands",
    attrs={"function": REQUIRED, "wanted": None},
    infer=lambda types, attrs: tuple(attrs["function"].types),
    ref=lambda *operands, function, wanted: function(operands, wanted),
    grad=_call_grad,
    doc="what a compiled function makes of the values; of the `wanted` results alone where the others are not used."
    " PYNATIVE_MODE only",
)
