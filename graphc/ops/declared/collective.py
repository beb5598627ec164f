"""Collective ops: what the processes of a group do together. Every process must reach them in the same order.

`size` is the group's number of processes, known when a Cell is traced. With one there is nobody to talk to: the result is x.
Their lowering begins a collective and waits for it; `graphc.ops.declared.async_collectives` has ops that do one of both.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from graphc import processes
from graphc.errors import ArgumentValueError, DTypeError, LoweringError, ShapeError
from graphc.ir import Builder, Gradient, NodeView, Sample, TensorType, Value, op
from graphc.ir.lowering import CallBuilder, ExpressionBuilder, Operand, Walk
from graphc.ir.op import Alias, Attrs, ByAttributes, Kernel, NoGrad, Operands, TypeRule, Types
from graphc.ir.types import HALVES
from graphc.ops.declared.batching import leading
from graphc.ops.declared.rules import MOVED, Array, floats, integers
from graphc.processes import WORLD as WORLD
from graphc.processes import part_length

REDUCTIONS = processes.REDUCTIONS

#: What MPI adds up; halves go through float32.
_REDUCED = ("float32", "float64", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
_MOVED = (*MOVED, *HALVES)
#: What a float32 travels as where its `wire` says so.
HALF = "bfloat16"
_HALF = TensorType(HALF, ()).numpy
#: MPI counts with an int of 32 bits.
_MOST = (1 << 31) - 1

# ---- types


def check_collective(name: str, x: TensorType, attrs: Attrs) -> None:
    size = attrs["size"]
    if type(size) is not int or size < 1:
        raise ArgumentValueError(f"{name}: size must be the group's number of processes, got {size!r}")
    if x.nbytes * size > _MOST:
        raise ShapeError(f"{name}: {x} from {size} processes is more than MPI takes at once, 2 GiB")
    if "reduction" in attrs:
        if attrs.get("whole") and attrs["reduction"] != "sum":
            raise ArgumentValueError(f"{name}: whole is said of a sum, not of {attrs['reduction']!r}")
        if attrs["reduction"] not in REDUCTIONS:
            raise ArgumentValueError(f"{name}: op must be one of {', '.join(REDUCTIONS)}, got {attrs['reduction']!r}")
        if x.dtype == "bool":
            raise DTypeError(f"{name}: x is {x}, expected numbers")
    if attrs.get("wire") is not None:
        if attrs["wire"] != HALF or attrs.get("reduction", "sum") != "sum":
            raise ArgumentValueError(f"{name}: wire must be None, or {HALF!r} for a sum, got {attrs['wire']!r}")
        if x.dtype != "float32":
            raise DTypeError(f"{name}: x is {x}, sums of float32 alone travel as {HALF}")
    if "root" in attrs and attrs["root"] not in range(size):
        raise ArgumentValueError(f"{name}: there is no rank {attrs['root']} in a group of {size}")


def _same(name: str) -> TypeRule:
    def infer(types: Types, attrs: Attrs) -> tuple[TensorType, ...]:
        check_collective(name, types[0], attrs)
        return (types[0],)

    return infer


def _gathered(types: Types, attrs: Attrs) -> tuple[TensorType, ...]:
    x = types[0]
    check_collective("AllGather", x, attrs)
    if not x.rank:
        raise ShapeError(f"AllGather: x is {x}, expected at least one axis: that is where the parts are joined")
    return (TensorType(x.dtype, (x.shape[0] * attrs["size"], *x.shape[1:])),)


def _scattered(types: Types, attrs: Attrs) -> tuple[TensorType, ...]:
    x, size = types[0], attrs["size"]
    check_collective("ReduceScatter", x, attrs)
    if not x.rank or x.shape[0] % size:
        raise ShapeError(f"ReduceScatter: x is {x}, its first axis cannot be cut into {size} equal parts")
    return (TensorType(x.dtype, (x.shape[0] // size, *x.shape[1:])),)


def _exchanged(types: Types, attrs: Attrs) -> tuple[TensorType, ...]:
    x, size = types[0], attrs["size"]
    check_collective("AllToAll", x, attrs)
    if not x.rank or x.shape[0] % size:
        raise ShapeError(f"AllToAll: x is {x}, its first axis cannot be cut into {size} equal parts")
    return (x,)


# ---- what they compute


def collective_call(kind: str, attrs: Mapping[str, Any], *, alone: bool = False) -> dict[str, Any]:
    """A collective as the kernels know it, but for sizes. LoweringError for another number of processes than the group has;
    where it may be `alone`, a process that has none beside it is taken for one of so many that have the same.
    """
    group = processes.group(attrs["group"])
    if group.size != attrs["size"] and not (alone and processes.started() is None):
        raise LoweringError(
            f"the graph is made for {attrs['size']} processes of group {attrs['group']!r}, which has {group.size}",
            help=f"run it by: mpiexec -n {attrs['size']} python ...",
        )
    return {
        "call": kind,
        "group": group.number if alone else processes.known_to_steps(group),
        "size": attrs["size"],
        "reduction": attrs.get("reduction", "sum"),
        "root": attrs.get("root", 0),
        "tag": attrs.get("tag", 0),
    }


def collective_reference(kind: str, shape: Callable[[tuple[int, ...], int], tuple[int, ...]]) -> Callable[..., Array]:
    """The NumPy reference: by mpi4py, on several processes."""

    def ref(x: Array, **attrs: Any) -> Array:
        if attrs["size"] == 1:
            return x
        call = collective_call(kind, attrs, alone=True) | {"type": str(TensorType.of(x))}
        half = x.dtype.name in HALVES and "reduction" in attrs
        given = np.ascontiguousarray(x.astype(np.float32) if half else x).reshape(-1)
        out = np.empty(shape(x.shape, attrs["size"]), given.dtype)
        processes.exchange(call, given, out.reshape(-1))
        return out.astype(x.dtype) if half else out

    return ref


# ---- sums that travel as halves


def sum_of_halves(k: CallBuilder, x: Operand, part: Operand, attrs: Attrs) -> None:
    """part = this process's part of the sum of x over the processes, of which each sends the others theirs, rounded to bfloat16.

    They are added up in float32, in the order of ranks.
    """
    count, length = attrs["size"], part.type.size
    sent, received, request = (k.temp(t) for t in (*[TensorType(HALF, (count * length,))] * 2, REQUEST))
    if x.type.size < count * length:
        k.fill(sent, 0)
    k.loop(lambda e, a: e.cast(a, HALF), [Walk(x, 0, (1,))], Walk(sent, 0, (1,)), (x.type.size,))
    sizes = {"dtype": HALF, "count": count * length, "received": count * length}
    k.call("collective_start", (sent,), (received, request), **collective_call("all_to_all", attrs), **sizes)
    k.call("collective_wait", (request, sent), (received,), **sizes, in_place=True)
    rows, row = Walk(received, 0, (length, 1)), Walk(part, 0, (0, 1))
    k.loop(lambda e, a: e.cast(a, "float32"), [rows], row, (count, length), combine="sum", axes=(0,))


def sum_of_halves_reference(x: Array, attrs: Mapping[str, Any]) -> Array:
    """The same of NumPy arrays, flat."""
    count = attrs["size"]
    sent = np.zeros(part_length(x.size, count) * count, _HALF)
    sent[: x.size] = x.reshape(-1)
    received = np.empty_like(sent)
    processes.exchange(collective_call("all_to_all", attrs, alone=True), sent, received)
    total: Array = received.reshape(count, -1).astype(np.float32).sum(0, dtype=np.float32)
    return total


def _all_reduce_halves(k: CallBuilder, inputs: Operands, outputs: Operands, attrs: Attrs) -> None:
    (x,), (out,), request = inputs, outputs, k.temp(REQUEST)
    count, length = attrs["size"], part_length(x.type.size, attrs["size"])
    part, own = (k.temp(TensorType(dtype, (length,))) for dtype in ("float32", HALF))
    whole = k.temp(TensorType(HALF, (count * length,)))
    sum_of_halves(k, x, part, attrs)
    k.elementwise(lambda e, a: e.cast(a, HALF), (part,), own)
    sizes = {"dtype": HALF, "count": length, "received": count * length}
    k.call("collective_start", (own,), (whole, request), **collective_call("all_gather", attrs), **sizes)
    k.call("collective_wait", (request, own), (whole,), **sizes, in_place=True)
    k.loop(lambda e, a: e.cast(a, "float32"), [Walk(whole, 0, (1,))], Walk(out, 0, (1,)), (x.type.size,))


def _all_reduce_ref(x: Array, **attrs: Any) -> Array:
    if attrs["wire"] is None or attrs["size"] == 1:
        return collective_reference("all_reduce", lambda shape, size: shape)(x, **attrs)
    own = sum_of_halves_reference(x, attrs).astype(_HALF)
    whole = np.empty(own.size * attrs["size"], own.dtype)
    processes.exchange(collective_call("all_gather", attrs, alone=True), own, whole)
    return whole[: x.size].reshape(x.shape).astype(x.dtype)


def _all_reduce_lowering() -> ByAttributes:
    usual, halves = _lowering("all_reduce", _REDUCED), Kernel(_all_reduce_halves, ("float32",))
    return ByAttributes(lambda a: halves if a["wire"] is not None and a["size"] > 1 else usual.choose(a), usual.usual)


def _extreme(k: CallBuilder, kind: str, x: Operand, out: Operand, attrs: Attrs) -> None:
    """The largest or the least of floats, NaN where one of them is: MPI compares numbers, and beside each whether it is NaN.

    Of those for each process the numbers come first, then as many marks. Zeros have no sign.
    """
    dtype, length = x.type.dtype, out.type.size
    count, sign = x.type.size // length, 1.0 if attrs["reduction"] == "max" else -1.0
    sent, received = (k.temp(TensorType(dtype, (2 * operand.type.size,))) for operand in (x, out))

    def number(e: ExpressionBuilder, a: Any) -> Any:
        zero = e.constant(0.0, a)
        return e.select(e.ne(a, a), e.constant(-sign * math.inf, a), e.select(e.eq(a, zero), zero, a))

    def mark(e: ExpressionBuilder, a: Any) -> Any:
        return e.select(e.ne(a, a), e.constant(sign, a), e.constant(0.0, a))

    rows = [Walk(x, 0, (length, 1))]
    for place, fn in ((0, number), (length, mark)):
        k.loop(fn, rows, Walk(sent, place, (2 * length, 1)), (count, length))
    _send(k, kind, sent, received, attrs)
    parts = [Walk(received, 0, (1,)), Walk(received, length, (1,))]
    k.loop(
        lambda e, a, nan: e.select(e.ne(nan, e.constant(0.0, nan)), e.constant(math.nan, a), a),
        parts,
        Walk(out, 0, (1,)),
        (length,),
    )


def _send(k: CallBuilder, kind: str, x: Operand, out: Operand, attrs: Attrs) -> None:
    request = k.temp(REQUEST)
    sizes = {"dtype": x.type.dtype, "count": x.type.size, "received": out.type.size}
    k.call("collective_start", (x,), (out, request), **collective_call(kind, attrs), **sizes)
    k.call("collective_wait", (request, x), (out,), **sizes, in_place=True)


def _lowering(kind: str, dtypes: tuple[str, ...]) -> ByAttributes:
    def calls(k: CallBuilder, inputs: Operands, outputs: Operands, attrs: Attrs) -> None:
        (x,), (out,) = inputs, outputs
        extreme = attrs.get("reduction") in processes.EXTREMA and x.type.is_float and out.type.size
        (_extreme if extreme else _send)(k, kind, x, out, attrs)

    several = Kernel(calls, dtypes, waits=True)
    return ByAttributes(lambda attrs: Alias() if attrs["size"] == 1 else several, several)


#: Where MPI keeps what it needs to know of a collective that has begun: an int or a pointer.
REQUEST = TensorType("int64", (1,))

# ---- gradients: that of each process's result flows back to all that it was made of


def _reduced_grad(g: Builder, n: NodeView, dy: Value) -> list[Value | None]:
    if n.whole:
        return [dy]
    total = g.AllReduce(dy, reduction="sum", group=n.group, size=n.size)
    if n.reduction == "sum":
        return [total]
    if n.reduction == "prod":
        return [g.Mul(total, g.Div(n.out(), n.x))]
    return [g.Mul(total, g.Cast(g.Equal(n.x, n.out()), dtype=n.type(n.x).dtype))]


def _gathered_grad(g: Builder, n: NodeView, dy: Value) -> list[Value | None]:
    return [g.ReduceScatter(dy, reduction="sum", group=n.group, size=n.size)]


def _scattered_grad(g: Builder, n: NodeView, dy: Value) -> list[Value | None]:
    if n.reduction != "sum":
        raise ArgumentValueError(f"ReduceScatter has a gradient for op 'sum', not for {n.reduction!r}")
    return [g.AllGather(dy, group=n.group, size=n.size)]


def _exchanged_grad(g: Builder, n: NodeView, dy: Value) -> list[Value | None]:
    return [g.AllToAll(dy, group=n.group, size=n.size)]


def _broadcast_grad(g: Builder, n: NodeView, dy: Value) -> list[Value | None]:
    return [g.Reduce(dy, reduction="sum", root=n.root, group=n.group, size=n.size)]


def _reduce_grad(g: Builder, n: NodeView, dy: Value) -> list[Value | None]:
    if n.reduction != "sum":
        raise ArgumentValueError(f"Reduce has a gradient for op 'sum', not for {n.reduction!r}")
    return [g.Broadcast(dy, root=n.root, group=n.group, size=n.size)]


# ---- the ops


def _collective(
    name: str,
    kind: str,
    infer: TypeRule,
    grad: Gradient | NoGrad,
    doc: str,
    *,
    attrs: Mapping[str, Any] | None = None,
    shape: Callable[[tuple[int, ...], int], tuple[int, ...]] = lambda shape, size: shape,
    mapped: bool = False,
    ref: Callable[..., Array] | None = None,
    lower: ByAttributes | None = None,
) -> None:
    reduces = attrs is not None and "reduction" in attrs
    op(
        name,
        "x",
        attrs={**(attrs or {}), "group": WORLD, "size": 1},
        infer=infer,
        ref=ref or collective_reference(kind, shape),
        grad=grad,
        lower=lower or _lowering(kind, _REDUCED if reduces else _MOVED),
        batch=leading if mapped else None,
        effect=True,
        samples=lambda: [Sample((floats(3, 5),), grad=(0,)), Sample((integers(4),))],
        doc=doc,
    )


_collective(
    "AllReduce",
    "all_reduce",
    _same("AllReduce"),
    _reduced_grad,
    "x reduced over the processes of a group. Every process must reach its collectives in the same order: order edges keep"
    " that of the program. With one process the result is x, without a copy. A sum whose `wire` is bfloat16 travels rounded, is"
    " added up in float32, and is rounded once more. `whole`: what comes of the sum is the same in all processes of the group,"
    " and counts once: its gradient is that of x",
    attrs={"reduction": "sum", "wire": None, "whole": False},
    mapped=True,
    ref=_all_reduce_ref,
    lower=_all_reduce_lowering(),
)
op(
    "Shared",
    "x",
    attrs={"group": WORLD, "size": 1},
    infer=_same("Shared"),
    ref=lambda x, **attrs: x,
    grad=lambda g, n, dy: [g.AllReduce(dy, reduction="sum", whole=True, group=n.group, size=n.size)],
    lower=Alias(),
    samples=lambda: [Sample((floats(3, 5),), grad=(0,))],
    doc="x, which all processes of a group have, as an operand of what each computes a part of: its gradient is the sum of all"
    " of theirs",
)
_collective(
    "AllGather",
    "all_gather",
    _gathered,
    _gathered_grad,
    "x of every process of a group, joined along the first axis in the order of ranks",
    shape=lambda shape, size: (shape[0] * size, *shape[1:]),
)
_collective(
    "ReduceScatter",
    "reduce_scatter",
    _scattered,
    _scattered_grad,
    "x reduced over the processes of a group, of which each keeps its part along the first axis",
    attrs={"reduction": "sum"},
    shape=lambda shape, size: (shape[0] // size, *shape[1:]),
)
_collective(
    "AllToAll",
    "all_to_all",
    _exchanged,
    _exchanged_grad,
    "x cut into a part for each process of a group along the first axis; the result joins the parts that are for this one",
)
_collective(
    "Broadcast",
    "broadcast",
    _same("Broadcast"),
    _broadcast_grad,
    "x of the process `root` of a group",
    attrs={"root": 0},
    mapped=True,
)
_collective(
    "Reduce",
    "reduce",
    _same("Reduce"),
    _reduce_grad,
    "x reduced over the processes of a group, in the process `root`; zeros in the others",
    attrs={"reduction": "sum", "root": 0},
    mapped=True,
)
