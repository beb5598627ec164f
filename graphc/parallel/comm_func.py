"""`mindspore.communication.comm_func`: communication as functions, in one process."""

from __future__ import annotations

from graphc.ops.declared.collective import WORLD
from graphc.ops.functional.collective import ReduceOp
from graphc.ops.functional.collective import all_reduce as _all_reduce
from graphc.ops.tensor.tensor import Tensor

__all__ = ["all_reduce", "barrier"]


def barrier(group: str = WORLD) -> None:
    """Return at once: nobody else is to arrive."""


def all_reduce(
    tensor: Tensor, op: str = ReduceOp.SUM, group: str = WORLD, async_op: bool = False
) -> tuple[Tensor, None]:
    """(tensor reduced over the processes of a group, None: there is nothing left to wait for)."""
    return _all_reduce(tensor, op, group), None
