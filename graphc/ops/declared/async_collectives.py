"""Collectives that are begun by one op and waited for by another: what passes make of those of gradients and of their parts.

Tensors that travel together lie together, `pending`, which the result replaces. What is cut into parts lies in it by process:
the first one's parts of all tensors, then the second one's, with zeros where a part is shorter than the others.

Where processes share memory (`at`, see `graphc.passes.shared_memory`) tensors lie so in the process's window instead, and the
result alone is made in `pending`, when it is waited for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import Any

import numpy as np

from graphc import processes
from graphc.errors import DTypeError
from graphc.ir import NO_GRAD, REQUIRED, Node, Sample, TensorType, op
from graphc.ir.lowering import CallBuilder, Operand, Walk
from graphc.ir.op import Attrs, Kernel, Operands, TypeRule, Types
from graphc.ops.declared.collective import (
    HALF,
    REQUEST,
    WORLD,
    check_collective,
    collective_call,
    collective_reference,
)
from graphc.ops.declared.rules import Array, check_dtype, floats
from graphc.processes import FOLDED, part_length

_BEGUN = ("float32", "float64")
#: What only moves, moves as halves, too.
_GATHERED = (*_BEGUN, HALF)
#: Of what has begun: whose windows, and where in them. Without `at` MPI carries it.
_PLACE: dict[str, Any] = {"group": WORLD, "at": None}
#: Puts operands into `pending`: (k, operands, pending, attributes).
Lay = Callable[[CallBuilder, Operands, Operand, Attrs], None]

# ---- where operands lie


def _in_a_row(k: CallBuilder, xs: Operands, pending: Operand, attrs: Attrs) -> None:
    at = 0
    for x in xs:
        k.copy(x, pending, (x.type.size,), 0, (1,), at, (1,))
        at += x.type.size


def _by_process(k: CallBuilder, xs: Operands, pending: Operand, attrs: Attrs) -> None:
    count = attrs["size"]
    if any(x.type.size % count for x in xs):
        k.fill(pending, 0)
    step, at = pending.type.size // count, 0
    for x in xs:
        length = part_length(x.type.size, count)
        whole = x.type.size // length if length else 0
        _put_into(k, x, pending, (whole, length), 0, (length, 1), at, (step, 1))
        _put_into(k, x, pending, (x.type.size - whole * length,), whole * length, (1,), whole * step + at, (1,))
        at += length


def _put_into(
    k: CallBuilder,
    x: Operand,
    pending: Operand,
    domain: tuple[int, ...],
    begin: int,
    strides: tuple[int, ...],
    at: int,
    steps: tuple[int, ...],
) -> None:
    """Copy, into another dtype where `pending` has one."""
    if x.type.dtype == pending.type.dtype:
        k.copy(x, pending, domain, begin, strides, at, steps)
    else:
        dtype = pending.type.dtype
        k.loop(lambda e, a: e.cast(a, dtype), [Walk(x, begin, strides)], Walk(pending, at, steps), domain)


def _at_own_place(k: CallBuilder, xs: Operands, pending: Operand, attrs: Attrs) -> None:
    at = processes.rank(attrs["group"]) * sum(x.type.size for x in xs)
    for x in xs:
        k.copy(x, pending, (x.type.size,), 0, (1,), at, (1,))
        at += x.type.size


# ---- the same for the references


def _laid_in_a_row(xs: tuple[Array, ...], attrs: Attrs) -> Array:
    return np.concatenate([x.reshape(-1) for x in xs])


def _laid_by_process(xs: tuple[Array, ...], attrs: Attrs) -> Array:
    count, rows = attrs["size"], []
    for x in xs:
        length = part_length(x.size, count)
        rows.append(np.concatenate([x.reshape(-1), np.zeros(length * count - x.size, x.dtype)]).reshape(count, length))
    return np.concatenate(rows, 1).reshape(-1)


# ---- in memory that processes share


#: Which pieces of operands lie where: (the sizes of the operands, attributes) -> (operand, from, to, elements); operand -1 are
#: zeros.
Pieces = Callable[[Sequence[int], Attrs], list[tuple[int, int, int, int]]]
_KINDS = {
    "AllReduceStart": "all_reduce", "ReduceScatterStart": "reduce_scatter", "AllGatherStart": "all_gather",
    "AllToAllStart": "all_to_all",
}  # fmt: skip
#: From so many processes on each adds up a part of a sum for all of them, instead of all of it.
_FOLDS = 4


def _row_of(sizes: Sequence[int], attrs: Attrs) -> list[tuple[int, int, int, int]]:
    """Each behind the one before, as each process gives them."""
    starts = accumulate(sizes, initial=0)
    return [(k, 0, at, n) for k, (n, at) in enumerate(zip(sizes, starts, strict=False))]


def _rows_by_process(sizes: Sequence[int], attrs: Attrs) -> list[tuple[int, int, int, int]]:
    """One row for each process, of its parts of all, with zeros where there are no numbers any more."""
    count, pieces, at = attrs["size"], [], 0
    lengths = [part_length(n, count) for n in sizes]
    for k, (n, length) in enumerate(zip(sizes, lengths, strict=True)):
        for rank in range(count):
            begin, to = rank * length, rank * sum(lengths) + at
            held = max(0, min(length, n - begin))
            pieces += [(k, begin, to, held), (-1, 0, to + held, length - held)]
        at += length
    return [piece for piece in pieces if piece[3]]


def window_bytes(start: Node) -> int:
    """How many bytes of each window what is begun by a node needs; 0 where there is nothing to carry."""
    kind, held, size = _KINDS[start.op.name], start.types[0], start.attrs["size"]
    elements = held.size // size if kind == "all_gather" else held.size
    return _room(kind, elements, size) * held.nbytes // held.size if held.size else 0


def _room(kind: str, elements: int, size: int) -> int:
    """How many elements of a window a collective needs in which each process gives so many."""
    if kind == "all_reduce" and size >= _FOLDS:
        return -(-part_length(elements, size) // FOLDED) * FOLDED * size
    return elements


def _put(k: CallBuilder, kind: str, xs: Operands, request: Operand, attrs: Attrs, pieces: Pieces) -> None:
    """Begin by way of the window: the others may read what this process gives."""
    xs = tuple(x for x in xs if x.type.size)
    laid = tuple(pieces([x.type.size for x in xs], attrs))
    room = _room(kind, sum(n for *_, n in laid), attrs["size"])
    common = _window(kind, attrs)
    token = k.temp(REQUEST)
    dtype, sizes = xs[0].type.dtype, tuple(x.type.size for x in xs)
    k.call("window_put", xs, (token,), **common, dtype=dtype, sizes=sizes, pieces=laid, room=room)
    k.call("window_open", (token,), (request,), **common, word="ready")


def _take(k: CallBuilder, kind: str, request: Operand, out: Operand, attrs: Attrs) -> None:
    """The result of all windows."""
    held, size = out.type.size, attrs["size"]
    folded = kind == "all_reduce" and size >= _FOLDS
    part = _room(kind, held, size) // size if kind == "all_reduce" else held // size
    common = {**_window(kind, attrs), "dtype": out.type.dtype}
    if folded:
        token, summed = k.temp(REQUEST), k.temp(REQUEST)
        k.call("window_fold", (request,), (token,), **common, part=part, word="ready")
        k.call("window_open", (token,), (summed,), **common, word="folded")
        request = summed
    word = "folded" if folded else "ready"
    k.call("window_take", (request,), (out,), **common, received=held, part=part, folded=folded, word=word)
    k.call("window_close", (request,), (out,), **common, received=held, in_place=True)


def _window(kind: str, attrs: Attrs) -> dict[str, Any]:
    return {**collective_call(kind, attrs), "at": attrs["at"]}


# ---- begin


def _types(name: str, elements: Callable[[Types, int], int]) -> TypeRule:
    def infer(types: Types, attrs: Attrs) -> tuple[TensorType, ...]:
        if not types or any(t.dtype != types[0].dtype for t in types):
            held = ", ".join(map(str, types)) or "nothing"
            raise DTypeError(f"{name}: got {held}, expected tensors of one dtype")
        check_collective(name, TensorType(types[0].dtype, (sum(t.size for t in types),)), attrs)
        return TensorType(types[0].dtype, (elements(types, attrs["size"]),)), REQUEST

    return infer


def _start(name: str, elements: Callable[[Types, int], int], lay: Lay, laid: Any, pieces: Pieces, doc: str) -> None:
    kind = _KINDS[name]

    def lower(k: CallBuilder, inputs: Operands, outputs: Operands, attrs: Attrs) -> None:
        pending, request = outputs
        if attrs["at"] is not None:
            _put(k, kind, inputs, request, attrs, pieces)
            return
        lay(k, inputs, pending, attrs)
        if attrs["size"] == 1:
            k.fill(request, 0)
            return
        held = pending.type.size
        count = held if kind == "all_reduce" else held // attrs["size"]
        params = {**collective_call(kind, attrs), "dtype": pending.type.dtype, "count": count, "received": held}
        k.call("collective_start", (), (pending, request), **params, in_place=True)

    def reference(*xs: Array, **attrs: Any) -> tuple[Array, Array]:
        count = attrs["size"]

        def shape(given: tuple[int, ...], size: int) -> tuple[int, ...]:
            return {"reduce_scatter": (given[0] // size,), "all_gather": (given[0] * size,)}.get(kind, given)

        made = collective_reference(kind, shape)(laid(xs, attrs), **attrs)
        if kind == "reduce_scatter":
            # As MPI does in place: this process's part comes first.
            made = np.concatenate([made, np.zeros(made.size * (count - 1), made.dtype)])
        return made, np.zeros(REQUEST.shape, np.int64)

    attrs: dict[str, Any] = {"group": REQUIRED, "size": REQUIRED, "at": None}
    given: dict[str, Any] = {"group": WORLD, "size": 1}
    if kind != "all_gather":
        attrs, given = {"reduction": REQUIRED, **attrs}, {"reduction": "sum", **given}
    op(
        name,
        "*xs",
        attrs=attrs,
        infer=_types(name, elements),
        ref=reference,
        grad=NO_GRAD,
        lower=Kernel(lower, _GATHERED if kind == "all_gather" else _BEGUN, waits=True),
        effect=True,
        rush=-1,
        samples=lambda: [Sample((floats(3, 5), floats(7)), given), Sample((floats(2),), given)],
        doc=doc,
    )


_start(
    "AllReduceStart",
    lambda types, size: sum(t.size for t in types),
    _in_a_row,
    _laid_in_a_row,
    _row_of,
    "begins the AllReduce of tensors that are joined, each flat: the place of the result, and MPI's request. Runs as soon as"
    " they are there",
)
_start(
    "ReduceScatterStart",
    lambda types, size: size * sum(part_length(t.size, size) for t in types),
    _by_process,
    _laid_by_process,
    _rows_by_process,
    "begins the sum over processes of tensors of which each process gets its part: the place of the parts, which come first,"
    " and MPI's request. Runs as soon as the tensors are there",
)
_start(
    "AllGatherStart",
    lambda types, size: size * sum(t.size for t in types),
    _at_own_place,
    _laid_in_a_row,
    _row_of,
    "begins to send parts of tensors, each flat, to all processes: the place where all parts come, by process, and MPI's request."
    " Runs as soon as the parts are there",
)

# ---- the same of halves, whose sum MPI has not


def _exchanged(types: Types, attrs: Attrs) -> tuple[TensorType, ...]:
    if not types or any(t.dtype != "float32" for t in types):
        raise DTypeError(f"AllToAllStart: got {', '.join(map(str, types)) or 'nothing'}, expected float32 tensors")
    count = attrs["size"]
    held = TensorType(HALF, (count * sum(part_length(t.size, count) for t in types),))
    check_collective("AllToAllStart", held, attrs)
    return held, held, REQUEST


def _exchange(k: CallBuilder, inputs: Operands, outputs: Operands, attrs: Attrs) -> None:
    sent, received, request = outputs
    _by_process(k, inputs, sent, attrs)
    if attrs["size"] == 1:
        k.duplicate(sent, received)
        k.fill(request, 0)
        return
    if attrs["at"] is not None:
        _put(k, "all_to_all", (sent,), request, attrs, _row_of)
        return
    sizes = {"dtype": HALF, "count": sent.type.size, "received": received.type.size}
    k.call("collective_start", (sent,), (received, request), **collective_call("all_to_all", attrs), **sizes)


def _exchange_ref(*xs: Array, **attrs: Any) -> tuple[Array, Array, Array]:
    sent = _laid_by_process(xs, attrs).astype(TensorType(HALF, ()).numpy)
    received = collective_reference("all_to_all", lambda shape, size: shape)(sent, **attrs)
    return sent, received, np.zeros(REQUEST.shape, np.int64)


op(
    "AllToAllStart",
    "*xs",
    attrs={"group": REQUIRED, "size": REQUIRED, "at": None},
    infer=_exchanged,
    ref=_exchange_ref,
    grad=NO_GRAD,
    lower=Kernel(_exchange, ("float32", HALF)),
    effect=True,
    rush=-1,
    samples=lambda: [Sample((floats(3, 5), floats(7)), {"group": WORLD, "size": 1})],
    doc="begins to send each process its parts of tensors, rounded to bfloat16: what is sent, the place of everybody's parts for"
    " this process, and MPI's request. Runs as soon as the tensors are there",
)


def _received(types: Types, attrs: Attrs) -> tuple[TensorType, ...]:
    if types[0] != types[1] or types[0].dtype != HALF or types[2] != REQUEST:
        raise DTypeError(f"AllToAllWait: got {', '.join(map(str, types))}, expected what AllToAllStart gives")
    return (types[0],)


def _receive(k: CallBuilder, inputs: Operands, outputs: Operands, attrs: Attrs) -> None:
    (_, sent, request), (out,) = inputs, outputs
    if attrs["at"] is not None:
        _take(k, "all_to_all", request, out, attrs)
    elif attrs["size"] > 1:
        sizes = {"dtype": HALF, "count": sent.type.size, "received": out.type.size}
        k.call("collective_wait", (request, sent), (out,), **sizes, in_place=True)


op(
    "AllToAllWait",
    "received sent request",
    attrs={"size": REQUIRED, **_PLACE},
    infer=_received,
    ref=lambda received, sent, request, **attrs: received,
    grad=NO_GRAD,
    lower=Kernel(_receive, (HALF,), in_place=True),
    effect=True,
    rush=1,
    doc="everybody's parts for this process, which an AllToAllStart has begun to bring, in their place. Runs as late as it can",
)

# ---- wait


def _wait(name: str, started: str, doc: str) -> None:
    kind = _KINDS[started]
    dtypes = _GATHERED if started == "AllGatherStart" else _BEGUN

    def infer(types: Types, attrs: Attrs) -> tuple[TensorType, ...]:
        check_dtype(name, "pending", types[0], dtypes)
        if types[1] != REQUEST:
            raise DTypeError(f"{name}: request is {types[1]}, expected what {started} gives, {REQUEST}")
        return (types[0],)

    def lower(k: CallBuilder, inputs: Operands, outputs: Operands, attrs: Attrs) -> None:
        out = outputs[0]
        if attrs["at"] is not None:
            _take(k, kind, inputs[1], out, attrs)
        elif attrs["size"] > 1:
            k.call("collective_wait", (inputs[1],), (out,), dtype=out.type.dtype, received=out.type.size, in_place=True)

    op(
        name,
        "pending request",
        attrs={"size": REQUIRED, **_PLACE},
        infer=infer,
        ref=lambda pending, request, **attrs: pending,
        grad=NO_GRAD,
        lower=Kernel(lower, dtypes, in_place=True),
        effect=True,
        rush=1,
        samples=lambda: [Sample((floats(6), np.zeros(REQUEST.shape, np.int64)), {"size": 1})],
        doc=f"the result of {doc} that has begun, in the place that it was given. Runs as late as it can",
    )


_wait("AllReduceWait", "AllReduceStart", "an AllReduce")
_wait("ReduceScatterWait", "ReduceScatterStart", "a sum of which each process gets its part,")
_wait("AllGatherWait", "AllGatherStart", "sending parts to all processes")
