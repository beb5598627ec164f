"""`mindspore.communication.comm_func`: communication as functions. Each returns at once what it has received."""

from __future__ import annotations

from graphc.arguments import only
from graphc.ops.declared.collective import WORLD
from graphc.ops.functional import collective
from graphc.ops.functional.collective import ReduceOp
from graphc.ops.tensor.tensor import Tensor

__all__ = [
    "CommHandle", "all_gather_into_tensor", "all_reduce", "barrier", "broadcast", "irecv", "isend", "recv", "reduce",
    "reduce_scatter_tensor", "send",
]  # fmt: skip


class CommHandle:
    """Of a communication that is done: `wait()` returns at once."""

    def wait(self) -> None:
        """Nothing is left to wait for."""


def barrier(group: str = WORLD) -> None:
    """Wait until every process of a group has come here."""
    collective.barrier(group)


def all_reduce(
    tensor: Tensor, op: str = ReduceOp.SUM, group: str = WORLD, async_op: bool = False
) -> tuple[Tensor, None]:
    """(tensor reduced over the processes of a group, None: there is nothing left to wait for)."""
    return collective.all_reduce(tensor, op, group, async_op), None


def all_gather_into_tensor(tensor: Tensor, group: str = WORLD, async_op: bool = False) -> tuple[Tensor, None]:
    """(the tensors of a group's processes joined along their first axis, None)."""
    only("all_gather_into_tensor", "async_op", async_op, False)
    return collective.all_gather(tensor, group), None


def reduce_scatter_tensor(
    tensor: Tensor, op: str = ReduceOp.SUM, group: str = WORLD, async_op: bool = False
) -> tuple[Tensor, None]:
    """(this process's part of a tensor reduced over a group, None)."""
    only("reduce_scatter_tensor", "async_op", async_op, False)
    return collective.reduce_scatter(tensor, op, group), None


def broadcast(tensor: Tensor, src: int = 0, group: str = WORLD) -> Tensor:
    """The tensor of the process `src` of a group."""
    return collective.broadcast(tensor, src, group)


def reduce(tensor: Tensor, dst: int, op: str = ReduceOp.SUM, group: str = WORLD) -> Tensor:
    """A tensor reduced over a group, in its process `dst`; zeros in the others."""
    return collective.reduce(tensor, dst, op, group)


def send(tensor: Tensor, dst: int = 0, group: str = WORLD, tag: int = 0) -> None:
    """Send a tensor to a process of a group."""
    collective.send(tensor, dst, tag, group)


def recv(tensor: Tensor, src: int = 0, group: str = WORLD, tag: int = 0) -> Tensor:
    """What a process of a group sends, in the shape and dtype of a tensor."""
    return collective.receive(tensor.shape, tensor.dtype, src, tag, group)


def isend(tensor: Tensor, dst: int = 0, group: str = WORLD, tag: int = 0) -> CommHandle:
    """`send`, done when it returns."""
    send(tensor, dst, group, tag)
    return CommHandle()


def irecv(tensor: Tensor, src: int = 0, group: str = WORLD, tag: int = 0) -> tuple[Tensor, CommHandle]:
    """(what `recv` gives, a handle that has nothing to wait for)."""
    return recv(tensor, src, group, tag), CommHandle()
