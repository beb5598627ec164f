"""Collective ops. One process: a sum over all processes is the value itself."""

from __future__ import annotations

from graphc.errors import ArgumentValueError, DTypeError
from graphc.ir import Builder, NodeView, Sample, TensorType, Value, op
from graphc.ir.op import Alias, Attrs, Types
from graphc.ops.declared.batching import leading
from graphc.ops.declared.rules import floats, integers

WORLD = "hccl_world_group"

REDUCTIONS = ("sum", "max", "min", "prod")

# ---- the op


def _infer(types: Types, attrs: Attrs) -> tuple[TensorType, ...]:
    if attrs["reduction"] not in REDUCTIONS:
        raise ArgumentValueError(f"AllReduce: op must be one of {', '.join(REDUCTIONS)}, got {attrs['reduction']!r}")
    if types[0].dtype == "bool":
        raise DTypeError(f"AllReduce: x is {types[0]}, expected numbers")
    return (types[0],)


def _grad(g: Builder, n: NodeView, dy: Value) -> list[Value | None]:
    if n.reduction != "sum":
        return [dy]  # One process: it holds the only, hence the extreme, value.
    return [g.AllReduce(dy, reduction="sum", group=n.group)]


op(
    "AllReduce",
    "x",
    attrs={"reduction": "sum", "group": WORLD},
    infer=_infer,
    ref=lambda x, reduction, group: x,
    grad=_grad,
    lower=Alias(),
    batch=leading,
    effect=True,
    samples=lambda: [Sample((floats(3, 5),), grad=(0,)), Sample((integers(4),), {"reduction": "max"})],
    doc="x reduced over the processes of a group. Every process must reach its AllReduces in the same order: order edges keep"
    " that of the program. With one process the result is x, without a copy",
)
