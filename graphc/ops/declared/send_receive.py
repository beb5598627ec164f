"""What one process sends to another: each Send has its Receive there, of the same tag, and the gradient goes the way back.

A Send only begins: the process goes on, and waits (SendWait) until what was sent may change as late as it can. So two processes
that both send first and receive then do not wait for each other.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from graphc import processes
from graphc.errors import ArgumentValueError, DTypeError
from graphc.ir import NO_GRAD, REQUIRED, Builder, NodeView, Sample, TensorType, Value, op
from graphc.ir.lowering import CallBuilder
from graphc.ir.op import Attrs, Kernel, Operands, Types
from graphc.ir.types import HALVES
from graphc.ops.declared.collective import REQUEST, WORLD, check_collective, collective_call
from graphc.ops.declared.rules import MOVED, Array, floats

_SENT = (*MOVED, *HALVES)
_TERMS = {"peer": REQUIRED, "tag": 0, "group": WORLD, "size": 1}


def _check(name: str, x: TensorType, attrs: Attrs) -> None:
    check_collective(name, x, attrs)
    if attrs["peer"] not in range(attrs["size"]):
        raise ArgumentValueError(f"{name}: there is no rank {attrs['peer']} in a group of {attrs['size']}")


def _call(kind: str, attrs: Attrs) -> dict[str, Any]:
    return {**collective_call(kind, attrs), "root": attrs["peer"]}


# ---- Send


def _send_types(types: Types, attrs: Attrs) -> tuple[TensorType, ...]:
    _check("Send", types[0], attrs)
    if types[0].dtype != attrs["dtype"]:
        raise DTypeError(f"Send: x is {types[0]}, expected {attrs['dtype']}")
    return (REQUEST,)


def _send(k: CallBuilder, inputs: Operands, outputs: Operands, attrs: Attrs) -> None:
    (x,), (request,) = inputs, outputs
    if attrs["size"] == 1 or not x.type.size:
        k.fill(request, 0)
        return
    nothing = k.temp(TensorType(x.type.dtype, (1,)))
    sizes = {"dtype": x.type.dtype, "count": x.type.size, "received": 1}
    k.call("collective_start", (x,), (nothing, request), **_call("send", attrs), **sizes)


def _send_ref(x: Array, *, dtype: str, **attrs: Any) -> Array:
    if attrs["size"] > 1 and processes.started() is not None and x.size:
        # Halves are computed with in float32.
        x = x.astype(TensorType(dtype, ()).numpy)
        processes.exchange(_call("send", attrs), np.ascontiguousarray(x).reshape(-1), np.zeros(1, x.dtype))
    return np.zeros(REQUEST.shape, np.int64)


op(
    "Send",
    "x",
    attrs={"dtype": REQUIRED, **_TERMS},
    infer=_send_types,
    ref=_send_ref,
    grad=NO_GRAD,
    lower=Kernel(_send, _SENT),
    effect=True,
    rush=-1,
    samples=lambda: [Sample((a,), {"dtype": "float32", "peer": 0}) for a in (floats(3, 5), floats())],
    doc="begins to send x to the process `peer` of a group: MPI's request",
)


def _until_sent(k: CallBuilder, inputs: Operands, attrs: Attrs) -> None:
    x, request = inputs
    if attrs["size"] > 1 and x.type.size:
        nothing = k.temp(TensorType(x.type.dtype, (1,)))
        k.fill(nothing, 0)
        sizes = {"dtype": x.type.dtype, "count": x.type.size, "received": 1}
        k.call("collective_wait", (request, x), (nothing,), **sizes, in_place=True)


def _sent(k: CallBuilder, inputs: Operands, outputs: Operands, attrs: Attrs) -> None:
    (x, _), (out,) = inputs, outputs
    _until_sent(k, inputs, attrs)
    k.copy(x, out, (x.type.size,), 0, (1,), 0, (1,))


def _sent_grad(g: Builder, n: NodeView, dy: Value) -> list[Value | None]:
    """What the others make of it comes back, as soon as it has been sent."""
    x = n.type(n.x)
    if n.size == 1:
        return [dy, None]
    terms = {"peer": n.peer, "tag": n.tag, "group": n.group, "size": n.size}
    back = g.node("Receive", attrs={"shape": x.shape, "dtype": x.dtype, **terms}, after=(n.request.node,))
    return [g.Add(dy, back.outputs[0]), None]


op(
    "SendWait",
    "x request",
    attrs=_TERMS,
    infer=lambda types, attrs: (types[0],),
    ref=lambda x, request, **attrs: x,
    grad=_sent_grad,
    lower=Kernel(_sent, _SENT),
    effect=True,
    rush=2,
    samples=lambda: [Sample((floats(3, 5), np.zeros(REQUEST.shape, np.int64)), {"peer": 0}, grad=(0,))],
    doc="x, when it has been sent. Its gradient is that of x here, and what comes back from there",
)


def _send_end(k: CallBuilder, inputs: Operands, outputs: Operands, attrs: Attrs) -> None:
    _until_sent(k, inputs, attrs)
    k.fill(outputs[0], 0)


op(
    "SendEnd",
    "x request",
    attrs=_TERMS,
    infer=lambda types, attrs: (REQUEST,),
    ref=lambda x, request, **attrs: np.zeros(REQUEST.shape, np.int64),
    grad=NO_GRAD,
    lower=Kernel(_send_end, _SENT),
    effect=True,
    rush=2,
    samples=lambda: [Sample((floats(3, 5), np.zeros(REQUEST.shape, np.int64)), {"peer": 0})],
    doc="waits until x has been sent: its memory is free then",
)

# ---- Receive


def _received(types: Types, attrs: Attrs) -> tuple[TensorType, ...]:
    made = TensorType(attrs["dtype"], tuple(attrs["shape"]))
    _check("Receive", made, attrs)
    return (made,)


def _receive(k: CallBuilder, inputs: Operands, outputs: Operands, attrs: Attrs) -> None:
    (out,) = outputs
    if attrs["size"] == 1 or not out.type.size:
        k.fill(out, 0)
        return
    request, nothing = k.temp(REQUEST), k.temp(TensorType(out.type.dtype, (1,)))
    k.fill(nothing, 0)
    sizes = {"dtype": out.type.dtype, "count": 1, "received": out.type.size}
    k.call("collective_start", (nothing,), (out, request), **_call("receive", attrs), **sizes)
    k.call("message_wait", (request,), (out,), dtype=out.type.dtype, received=out.type.size, in_place=True)


def _receive_ref(**attrs: Any) -> Array:
    out = np.zeros(attrs["shape"], TensorType(attrs["dtype"], ()).numpy)
    if attrs["size"] > 1 and processes.started() is not None and out.size:
        processes.exchange(_call("receive", attrs), None, out.reshape(-1))
    return out


def _receive_grad(g: Builder, n: NodeView, dy: Value) -> list[Value | None]:
    """It goes back to who has sent it; nothing here is made of it."""
    if n.size > 1:
        terms = {"peer": n.peer, "tag": n.tag, "group": n.group, "size": n.size}
        g.SendWait(dy, g.Send(dy, dtype=n.dtype, **terms), **terms)
    return []


op(
    "Receive",
    "",
    attrs={"shape": REQUIRED, "dtype": REQUIRED, **_TERMS},
    infer=_received,
    ref=_receive_ref,
    grad=_receive_grad,
    lower=Kernel(_receive, _SENT),
    effect=True,
    rush=1,
    samples=lambda: [Sample((), {"shape": (3, 5), "dtype": "float32", "peer": 0})],
    doc="what the process `peer` of a group sends with this tag; zeros in a process alone",
)
