"""Collective functions: values brought together over the processes of a group."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from weakref import WeakKeyDictionary

from graphc import dispatch, processes
from graphc.arguments import only
from graphc.context import ParallelMode, parallel_settings
from graphc.errors import ArgumentTypeError, ArgumentValueError, ShapeError, TraceError, user_loc
from graphc.ir import Graph, Value
from graphc.ops.declared.collective import REDUCTIONS, WORLD
from graphc.ops.functional.core import cast
from graphc.ops.functional.joining import concat, split
from graphc.ops.functional.state import assign_add
from graphc.ops.tensor.call import call as call_op
from graphc.ops.tensor.tensor import Parameter, Tensor, as_tensor

#: The last collective of each graph that is being traced.
_last: WeakKeyDictionary[Graph, Value] = WeakKeyDictionary()


def _collective(op: str, tensor: Any, owner: str, group: str | None, **attrs: Any) -> Tensor:
    """Call a collective op, after every earlier one of the graph."""
    x = as_tensor(tensor, f"{owner}: tensor")
    group = WORLD if group is None else group
    attrs = {**attrs, "group": group, "size": processes.size(group)}
    active: Any = dispatch.recorder.get()
    if active is None:
        made: Tensor = call_op(op, x, **attrs)
        return made
    before = _last.get(active.graph)
    after = () if before is None else active.wrap(before)
    result: Tensor = active.record(op, (x,), attrs, after=after)[0]
    _last[active.graph] = active.resolve(result)
    return result


def all_reduce(tensor: Tensor, op: str = "sum", group: str | None = None, async_op: bool = False) -> Tensor:
    """A tensor reduced over the processes of a group ("sum", "max", "min", "prod"), after every earlier collective.

    group: the name of one; by default that of all processes. async_op: False; a compiled step begins its reductions as soon
    as it can, and waits as late as it can.
    """
    only("all_reduce", "async_op", async_op, False)
    return _collective("AllReduce", tensor, "all_reduce", group, reduction=op)


def all_gather(tensor: Tensor, group: str | None = None) -> Tensor:
    """The tensors of a group's processes, joined along their first axis in the order of ranks."""
    return _collective("AllGather", tensor, "all_gather", group)


def reduce_scatter(tensor: Tensor, op: str = "sum", group: str | None = None) -> Tensor:
    """This process's part, along the first axis, of a tensor reduced over a group. ShapeError where it cannot be cut."""
    return _collective("ReduceScatter", tensor, "reduce_scatter", group, reduction=op)


def broadcast(tensor: Tensor, root_rank: int = 0, group: str | None = None) -> Tensor:
    """The tensor of one process of a group. ArgumentValueError for a rank that the group has not."""
    return _collective("Broadcast", tensor, "broadcast", group, root=root_rank)


def reduce(tensor: Tensor, dest_rank: int = 0, op: str = "sum", group: str | None = None) -> Tensor:
    """A tensor reduced over a group, in one of its processes; zeros in the others."""
    return _collective("Reduce", tensor, "reduce", group, root=dest_rank, reduction=op)


def all_to_all(tensor: Tensor, split_dim: int = 0, concat_dim: int = 0, group: str | None = None) -> Tensor:
    """A tensor cut along `split_dim` into a part for each process of a group; the parts for this one, joined along `concat_dim`.

    Raises ArgumentTypeError or ArgumentValueError for axes that it has not, ShapeError where it cannot be cut.
    """
    x = as_tensor(tensor, "all_to_all: tensor")
    axes = []
    for name, axis in (("split_dim", split_dim), ("concat_dim", concat_dim)):
        if type(axis) is not int:
            raise ArgumentTypeError(f"all_to_all: {name} must be an int, got {axis!r}", loc=user_loc())
        if not -x.ndim <= axis < x.ndim:
            raise ArgumentValueError(f"all_to_all: {x.type} has no axis {name}={axis}", loc=user_loc())
        axes.append(axis % x.ndim)
    size = processes.size(WORLD if group is None else group)
    if x.shape[axes[0]] % size:
        raise ShapeError(f"all_to_all: {x.type} cannot be cut into {size} equal parts", loc=user_loc())
    if axes == [0, 0] or size == 1:
        return _collective("AllToAll", x, "all_to_all", group)
    parts = split(x, x.shape[axes[0]] // size, axes[0])
    sent = _collective("AllToAll", concat(parts, 0), "all_to_all", group)
    received = split(sent, sent.shape[0] // size, 0)
    return concat(received, axes[1])


def barrier(group: str | None = None) -> None:
    """Wait until every process of a group has come here. TraceError while a Cell is traced: its collectives wait themselves."""
    if dispatch.recorder.get() is not None and not getattr(dispatch.recorder.get(), "immediate", False):
        raise TraceError("barrier has no place in a compiled step: its collectives wait for each other", loc=user_loc())
    found = processes.group(WORLD if group is None else group)
    if found.size > 1:
        found.communicator.Barrier()


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
    "all_reduce",
]
