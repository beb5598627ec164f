"""Tensors of which every process has its part, see `graphc.processes.Cut`."""

from __future__ import annotations

from graphc import processes
from graphc.ops.declared.collective import WORLD
from graphc.ops.functional.collective import in_order
from graphc.ops.tensor.call import call
from graphc.ops.tensor.tensor import Tensor


def take_part(x: Tensor) -> Tensor:
    """This process's part of x, flat."""
    made: Tensor = call("TakePart", x, group=WORLD, size=processes.size())
    return made


def join_parts(part: Tensor, shape: tuple[int, ...]) -> Tensor:
    """The tensor of that shape whose parts all processes have, after every earlier collective."""
    return in_order("JoinParts", part, "join_parts", None, shape=shape)


__all__: list[str] = []
