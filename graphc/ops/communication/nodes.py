"""The functions of this package while a step is traced: nodes, which have gradients."""

from __future__ import annotations

from graphc import processes
from graphc.errors import DTypeError, user_loc
from graphc.ops.communication.checks import CommHandle
from graphc.ops.functional import collective
from graphc.ops.functional.arithmetic import div
from graphc.ops.functional.index import write
from graphc.ops.functional.shapes import reshape
from graphc.ops.tensor.tensor import Tensor


def into(out: Tensor, made: Tensor, async_op: bool) -> CommHandle | None:
    """Let a name stand for what has been made: a step begins it as soon as it can, and waits as late as it can."""
    if made is not out:
        write(out, ..., reshape(made, out.shape))
    return CommHandle() if async_op else None


def all_reduce(x: Tensor, op: str, group: str) -> Tensor:
    """The node, and the division of "avg"."""
    return _mean(collective.all_reduce(x, _summed(op), group), op, group)


def reduce(x: Tensor, root: int, op: str, group: str) -> Tensor:
    """The node, and the division of "avg"."""
    return _mean(collective.reduce(x, root, _summed(op), group), op, group)


def reduce_scatter(x: Tensor, op: str, group: str) -> Tensor:
    """The node, and the division of "avg"."""
    return _mean(collective.reduce_scatter(x, _summed(op), group), op, group)


def all_gather(x: Tensor, group: str) -> Tensor:
    """The node; a single element is a vector of one."""
    return collective.all_gather(x if x.ndim else reshape(x, (1,)), group)


def broadcast(x: Tensor, root: int, group: str) -> Tensor:
    """The node."""
    return collective.broadcast(x, root, group)


def all_to_all(x: Tensor, group: str) -> Tensor:
    """The node."""
    return collective.all_to_all(x, 0, 0, group)


def _summed(op: str) -> str:
    return "sum" if op == "avg" else op


def _mean(total: Tensor, op: str, group: str) -> Tensor:
    if op != "avg":
        return total
    if not total.tensor_type.is_inexact:
        raise DTypeError(f"op='avg' of {total.tensor_type} has no place in a compiled step", loc=user_loc())
    made: Tensor = div(total, processes.size(group))
    return made
