"""Collective functions: values brought together over all processes. One process: a sum over all is the value itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from weakref import WeakKeyDictionary

from graphc import dispatch
from graphc.arguments import only
from graphc.context import ParallelMode, parallel_settings
from graphc.ir import Graph, Value
from graphc.ops.declared.collective import REDUCTIONS, WORLD
from graphc.ops.functional.core import cast
from graphc.ops.functional.state import assign_add
from graphc.ops.tensor.call import call as call_op
from graphc.ops.tensor.tensor import Parameter, Tensor, as_tensor

#: The last AllReduce of each graph that is being traced.
_last: WeakKeyDictionary[Graph, Value] = WeakKeyDictionary()


def all_reduce(tensor: Tensor, op: str = "sum", group: str | None = None, async_op: bool = False) -> Tensor:
    """A tensor reduced over the processes of a group ("sum", "max", "min", "prod"), after every earlier all_reduce.

    group: the name of one; by default that of all processes. async_op: False, there is nobody to wait for.
    """
    only("all_reduce", "async_op", async_op, False)
    group = WORLD if group is None else group
    x = as_tensor(tensor, "all_reduce: tensor")
    active: Any = dispatch.recorder.get()
    if active is None:
        made: Tensor = call_op("AllReduce", x, reduction=op, group=group)
        return made
    before = _last.get(active.graph)
    after = () if before is None else active.wrap(before)
    result: Tensor = active.record("AllReduce", (x,), {"reduction": op, "group": group}, after=after)[0]
    _last[active.graph] = active.resolve(result)
    return result


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
