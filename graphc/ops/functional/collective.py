"""Collective functions: values brought together over the processes of a group."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from weakref import WeakKeyDictionary

from graphc import dispatch, processes
from graphc.context import ParallelMode, parallel_settings
from graphc.errors import ArgumentValueError, ShapeError, TraceError, user_loc
from graphc.ir import Graph, Value
from graphc.ops.declared.collective import REDUCTIONS, WORLD
from graphc.ops.functional.core import cast
from graphc.ops.functional.in_place import assign_add
from graphc.ops.functional.joining import concat, split
from graphc.ops.tensor.call import call as call_op
from graphc.ops.tensor.dtype import to_name
from graphc.ops.tensor.parameter import Parameter
from graphc.ops.tensor.tensor import Tensor, as_tensor
from graphc.validation.checks import exact_int

#: The last collective of each graph that is being traced.
_last: WeakKeyDictionary[Graph, Value] = WeakKeyDictionary()


def in_order(op: str, tensor: Any, owner: str, group: str | None, **attrs: Any) -> Tensor:
    """Call a collective op, after every earlier one of the graph."""
    operands = () if tensor is None else (as_tensor(tensor, f"{owner}: tensor"),)
    group = WORLD if group is None else group
    attrs = {**attrs, "group": group, "size": processes.size(group)}
    active: Any = dispatch.recorder.get()
    if active is None:
        made: Tensor = call_op(op, *operands, **attrs)
        return made
    before = _last.get(active.graph)
    after = () if before is None else active.wrap(before)
    result: Tensor = active.record(op, operands, attrs, after=after)[0]
    _last[active.graph] = active.resolve(result)
    return result


def all_reduce(tensor: Tensor, op: str = "sum", group: str | None = None) -> Tensor:
    """A tensor reduced over the processes of a group ("sum", "max", "min", "prod"), after every earlier collective.

    group: the name of one; by default that of all processes. A compiled step begins its reductions as soon as it can, and
    waits as late as it can.
    """
    return in_order("AllReduce", tensor, "all_reduce", group, reduction=op)


def all_gather(tensor: Tensor, group: str | None = None) -> Tensor:
    """The tensors of a group's processes, joined along their first axis in the order of ranks."""
    return in_order("AllGather", tensor, "all_gather", group)


def reduce_scatter(tensor: Tensor, op: str = "sum", group: str | None = None) -> Tensor:
    """This process's part, along the first axis, of a tensor reduced over a group. ShapeError where it cannot be cut."""
    return in_order("ReduceScatter", tensor, "reduce_scatter", group, reduction=op)


def broadcast(tensor: Tensor, root_rank: int = 0, group: str | None = None) -> Tensor:
    """The tensor of one process of a group. ArgumentValueError for a rank that the group has not."""
    return in_order("Broadcast", tensor, "broadcast", group, root=root_rank)


def reduce(tensor: Tensor, dest_rank: int = 0, op: str = "sum", group: str | None = None) -> Tensor:
    """A tensor reduced over a group, in one of its processes; zeros in the others."""
    return in_order("Reduce", tensor, "reduce", group, root=dest_rank, reduction=op)


def all_to_all(tensor: Tensor, split_dim: int = 0, concat_dim: int = 0, group: str | None = None) -> Tensor:
    """A tensor cut along `split_dim` into a part for each process of a group; the parts for this one, joined along `concat_dim`.

    Raises ArgumentTypeError or ArgumentValueError for axes that it has not, ShapeError where it cannot be cut.
    """
    x = as_tensor(tensor, "all_to_all: tensor")
    axes = []
    for name, axis in (("split_dim", split_dim), ("concat_dim", concat_dim)):
        exact_int("all_to_all", name, axis)
        if not -x.ndim <= axis < x.ndim:
            raise ArgumentValueError(f"all_to_all: {x.tensor_type} has no axis {name}={axis}", loc=user_loc())
        axes.append(axis % x.ndim)
    size = processes.size(WORLD if group is None else group)
    if x.shape[axes[0]] % size:
        raise ShapeError(f"all_to_all: {x.tensor_type} cannot be cut into {size} equal parts", loc=user_loc())
    if axes == [0, 0] or size == 1:
        return in_order("AllToAll", x, "all_to_all", group)
    parts = split(x, x.shape[axes[0]] // size, axes[0])
    sent = in_order("AllToAll", concat(parts, 0), "all_to_all", group)
    received = split(sent, sent.shape[0] // size, 0)
    return concat(received, axes[1])


def send(tensor: Tensor, dest_rank: int, tag: int = 0, group: str | None = None) -> Tensor:
    """Send a tensor to one process of a group, which receives it by the same tag, after every earlier collective. Returns the
    tensor: what uses it waits until it has been sent.

    The gradient of what is returned is that of the tensor here, and what comes back from there. ArgumentValueError for a
    rank that the group has not, and for this process itself.
    """
    terms = _terms("send", "dest_rank", dest_rank, tag, group)
    x = as_tensor(tensor, "send: tensor")
    request = in_order("Send", x, "send", group, dtype=x.tensor_type.dtype, peer=dest_rank, tag=tag)
    made: Tensor = call_op("SendWait", x, request, **terms)
    return made


def receive(shape: Sequence[int], dtype: Any, src_rank: int, tag: int = 0, group: str | None = None) -> Tensor:
    """The tensor of that shape and dtype that one process of a group sends by the same tag, after every earlier collective.

    Its gradient is sent back. Errors: see `send`.
    """
    terms = _terms("receive", "src_rank", src_rank, tag, group)
    return in_order(
        "Receive", None, "receive", group, shape=tuple(shape), dtype=to_name(dtype), peer=terms["peer"], tag=tag
    )


def _terms(owner: str, name: str, peer: Any, tag: Any, group: str | None) -> dict[str, Any]:
    """With whom, by which tag; what `send` raises."""
    group = WORLD if group is None else group
    size = processes.size(group)
    for what, value in ((name, peer), ("tag", tag)):
        exact_int(owner, what, value)
    if peer not in range(size):
        raise ArgumentValueError(f"{owner}: there is no rank {peer} in a group of {size}", loc=user_loc())
    if peer == processes.rank(group):
        raise ArgumentValueError(f"{owner}: {name}={peer} is this process itself", loc=user_loc())
    if not 0 <= tag < 1 << 15:
        raise ArgumentValueError(f"{owner}: tag must be from 0 to 32767, got {tag}", loc=user_loc())
    return {"peer": peer, "tag": tag, "group": group, "size": size}


def barrier(group: str | None = None) -> None:
    """Wait until every process of a group has come here. TraceError while a Cell is traced: its collectives wait themselves."""
    if dispatch.recorder.get() is not None and not getattr(dispatch.recorder.get(), "immediate", False):
        raise TraceError("barrier has no place in a compiled step: its collectives wait for each other", loc=user_loc())
    found = processes.group(WORLD if group is None else group)
    if found.talk is not None:
        found.talk.call("barrier", processes.transfers.barrier)


class ReduceOp:
    """Names of reductions (MindSpore: ops.ReduceOp)."""

    SUM, MAX, MIN, PROD = REDUCTIONS


def accumulate(parameters: Sequence[Parameter], gradients: Sequence[Tensor]) -> None:
    """In modes semi_auto_parallel and auto_parallel add each gradient to the parameter's accumulator, if it has one.

    An accumulator is what `weights.clone("accu_grads", "zeros")` made for it last. As in MindSpore, where the compiler of
    these modes adds up the gradients of micro batches, whoever takes the sum writes zeros for the next step.
    """
    if parallel_settings().parallel_mode not in (ParallelMode.SEMI_AUTO_PARALLEL, ParallelMode.AUTO_PARALLEL):
        return
    for p, g in zip(parameters, gradients, strict=True):
        if p.accumulator is not None:
            assign_add(p.accumulator, cast(g, p.accumulator.dtype))


__all__ = [
    "ReduceOp",
]
