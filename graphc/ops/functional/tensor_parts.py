"""Tensors of which every process has its part, see `graphc.processes.Cut`."""

from __future__ import annotations

from graphc import processes
from graphc.ops.declared.collective import WORLD
from graphc.ops.functional.collective import in_order
from graphc.ops.tensor.call import call
from graphc.ops.tensor.tensor import Tensor


def take_part(x: Tensor, group: str = WORLD) -> Tensor:
    """This process's part of x, flat."""
    made: Tensor = call("TakePart", x, group=group, size=processes.size(group))
    return made


def join_parts(part: Tensor, shape: tuple[int, ...]) -> Tensor:
    """The tensor of that shape whose parts all processes have, after every earlier collective."""
    return in_order("JoinParts", part, "join_parts", None, shape=shape)


def shared(x: Tensor, group: str) -> Tensor:
    """x, which all processes of a group have, for layers of which each computes a part: the gradient is the sum of theirs."""
    made: Tensor = call("Shared", x, group=group, size=processes.size(group))
    return made


def summed(x: Tensor, group: str) -> Tensor:
    """The sum of what each process of a group has computed a part of, after every earlier collective. What comes of it is the
    same in all of them, and counts once.
    """
    return in_order("AllReduce", x, "all_reduce", group, reduction="sum", whole=True)


__all__: list[str] = []
