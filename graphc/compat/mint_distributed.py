"""`mindspore.mint.distributed`: communication that writes into the tensors it is given, as torch's does."""

from __future__ import annotations

from typing import Any

from graphc import parallel
from graphc.arguments import no_effect, only
from graphc.ops.declared.collective import WORLD
from graphc.ops.functional import collective
from graphc.ops.tensor.tensor import Tensor

__all__ = [
    "all_gather_into_tensor", "all_reduce", "barrier", "broadcast", "get_rank", "get_world_size", "init_process_group",
    "is_available", "is_initialized", "reduce_scatter_tensor",
]  # fmt: skip

_begun = False


def is_available() -> bool:
    """Whether processes can tell each other something: True."""
    return True


def is_initialized() -> bool:
    """Whether `init_process_group` has been called."""
    return _begun


def init_process_group(
    backend: str | None = None,
    init_method: str | None = None,
    timeout: Any = None,
    world_size: int = -1,
    rank: int = -1,
    store: Any = None,
    pg_options: Any = None,
    device_id: Any = None,
) -> None:
    """Join the processes that mpiexec has started, which tells them their numbers; other ways to find each other have no effect.

    world_size, rank: -1, or what they are. Raises ArgumentValueError, and MissingPackageError GC207 in one of several processes
    without mpi4py.
    """
    global _begun
    given = {
        "init_method": init_method,
        "timeout": timeout,
        "store": store,
        "pg_options": pg_options,
        "device_id": device_id,
    }
    for name, value in ({"backend": backend} | given).items():
        if value is not None:
            no_effect("init_process_group", name, "MPI carries what processes tell each other")
    parallel.init()
    only("init_process_group", "world_size", world_size, -1, parallel.get_group_size())
    only("init_process_group", "rank", rank, -1, parallel.get_rank())
    _begun = True


def get_rank(group: str | None = None) -> int:
    """This process's number in a group, from 0."""
    return parallel.get_rank(group or WORLD)


def get_world_size(group: str | None = None) -> int:
    """How many processes a group has."""
    return parallel.get_group_size(group or WORLD)


def barrier(group: str | None = None, async_op: bool = False, device_ids: Any = None) -> None:
    """Wait until every process of a group has come here."""
    only("barrier", "async_op", async_op, False)
    collective.barrier(group or WORLD)


def all_reduce(tensor: Tensor, op: str = "sum", group: str | None = None, async_op: bool = False) -> None:
    """Reduce a tensor over the processes of a group, in place."""
    tensor.copy_(collective.all_reduce(tensor, op, group or WORLD, async_op))


def broadcast(tensor: Tensor, src: int, group: str | None = None, async_op: bool = False) -> None:
    """Write the tensor of the process `src` of a group into that of each."""
    only("broadcast", "async_op", async_op, False)
    tensor.copy_(collective.broadcast(tensor, src, group or WORLD))


def all_gather_into_tensor(
    output_tensor: Tensor, input_tensor: Tensor, group: str | None = None, async_op: bool = False
) -> None:
    """Write the inputs of a group's processes, joined along their first axis, into an output."""
    only("all_gather_into_tensor", "async_op", async_op, False)
    output_tensor.copy_(collective.all_gather(input_tensor, group or WORLD))


def reduce_scatter_tensor(
    output: Tensor, input: Tensor, op: str = "sum", group: str | None = None, async_op: bool = False
) -> None:
    """Write this process's part of the inputs, reduced over a group, into an output."""
    only("reduce_scatter_tensor", "async_op", async_op, False)
    output.copy_(collective.reduce_scatter(input, op, group or WORLD))
