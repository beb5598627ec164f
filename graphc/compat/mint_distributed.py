"""`mindspore.mint.distributed`: communication that writes into the tensors it is given, as torch's does."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from graphc import ops, parallel
from graphc.arguments import no_effect, only
from graphc.errors import ArgumentValueError, user_loc
from graphc.ops.declared.collective import WORLD
from graphc.ops.functional import collective
from graphc.ops.tensor.tensor import Tensor
from graphc.parallel.comm_func import CommHandle

__all__ = [
    "all_gather", "all_gather_into_tensor", "all_reduce", "all_to_all", "all_to_all_single", "barrier", "broadcast",
    "destroy_process_group", "gather", "get_backend", "get_global_rank", "get_group_rank", "get_process_group_ranks",
    "get_rank", "get_world_size", "init_process_group", "irecv", "is_available", "is_initialized", "isend", "new_group",
    "recv", "reduce", "reduce_scatter", "reduce_scatter_tensor", "scatter", "send",
]  # fmt: skip

_begun = False
#: The groups that `new_group` has made.
_groups: set[str] = set()


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


def reduce(tensor: Tensor, dst: int, op: str = "sum", group: str | None = None, async_op: bool = False) -> None:
    """Write a tensor reduced over a group into that of its process `dst`; the others keep theirs."""
    only("reduce", "async_op", async_op, False)
    total = collective.reduce(tensor, dst, op, group or WORLD)
    if get_rank(group) == dst:
        tensor.copy_(total)


def all_gather(tensor_list: list[Tensor], tensor: Tensor, group: str | None = None, async_op: bool = False) -> None:
    """Write the tensors of a group's processes into those of a list."""
    only("all_gather", "async_op", async_op, False)
    _into("all_gather", tensor_list, collective.all_gather(tensor, group or WORLD))


def gather(
    tensor: Tensor,
    gather_list: list[Tensor] | None = None,
    dst: int = 0,
    group: str | None = None,
    async_op: bool = False,
) -> None:
    """Write the tensors of a group's processes into those of a list of its process `dst`."""
    only("gather", "async_op", async_op, False)
    joined = collective.all_gather(tensor, group or WORLD)
    if get_rank(group) == dst:
        _into("gather", gather_list or [], joined)


def scatter(
    tensor: Tensor,
    scatter_list: list[Tensor] | None = None,
    src: int = 0,
    group: str | None = None,
    async_op: bool = False,
) -> None:
    """Write this process's tensor of a list of the process `src` into another."""
    only("scatter", "async_op", async_op, False)
    rank, count = get_rank(group), get_world_size(group)
    given = list(scatter_list or []) if rank == src else [tensor] * count
    _require_count("scatter", given, count)
    tensor.copy_(collective.broadcast(ops.stack(given), src, group or WORLD)[rank])


def reduce_scatter(
    output: Tensor, input_list: list[Tensor], op: str = "sum", group: str | None = None, async_op: bool = False
) -> None:
    """Write this process's tensor of the lists of a group, reduced over it, into an output."""
    only("reduce_scatter", "async_op", async_op, False)
    _require_count("reduce_scatter", input_list, get_world_size(group))
    output.copy_(collective.all_reduce(ops.stack(input_list), op, group or WORLD)[get_rank(group)])


def all_to_all(
    output_tensor_list: list[Tensor], input_tensor_list: list[Tensor], group: str | None = None, async_op: bool = False
) -> None:
    """Send a tensor of a list to each process of a group, and write what comes from them into those of another list."""
    only("all_to_all", "async_op", async_op, False)
    _require_count("all_to_all", input_tensor_list, get_world_size(group))
    sent = collective.all_to_all(ops.stack(input_tensor_list), 0, 0, group or WORLD)
    _into("all_to_all", output_tensor_list, sent)


def all_to_all_single(
    output: Tensor,
    input: Tensor,
    output_split_sizes: Any = None,
    input_split_sizes: Any = None,
    group: str | None = None,
    async_op: bool = False,
) -> None:
    """Send equal parts of the first axis to the processes of a group, and write what comes from them into an output.

    Parts of unequal sizes, and async_op, are ArgumentValueError GC112.
    """
    for name, value in (("output_split_sizes", output_split_sizes), ("input_split_sizes", input_split_sizes)):
        only("all_to_all_single", name, value or None, None)
    only("all_to_all_single", "async_op", async_op, False)
    output.copy_(collective.all_to_all(input, 0, 0, group or WORLD))


def send(tensor: Tensor, dst: int = 0, group: str | None = None, tag: int = 0) -> None:
    """Send a tensor to a process of a group."""
    collective.send(tensor, dst, tag, group or WORLD)


def recv(tensor: Tensor, src: int = 0, group: str | None = None, tag: int = 0) -> int:
    """Write what a process of a group sends into a tensor of that shape and dtype; the number of that process."""
    tensor.copy_(collective.receive(tensor.shape, tensor.dtype, src, tag, group or WORLD))
    return src


def isend(tensor: Tensor, dst: int = 0, group: str | None = None, tag: int = 0) -> CommHandle:
    """`send`, done when it returns."""
    send(tensor, dst, group, tag)
    return CommHandle()


def irecv(tensor: Tensor, src: int = 0, group: str | None = None, tag: int = 0) -> CommHandle:
    """`recv`, done when it returns."""
    recv(tensor, src, group, tag)
    return CommHandle()


def new_group(
    ranks: Sequence[int] | None = None,
    timeout: Any = None,
    backend: Any = None,
    pg_options: Any = None,
    use_local_synchronization: bool = False,
    group_desc: Any = None,
) -> str:
    """The name of a group of these processes, by default of all; a group of the same ones is made once. MPI has no options."""
    options = {"timeout": timeout, "backend": backend, "pg_options": pg_options, "group_desc": group_desc}
    for name, value in (options | {"use_local_synchronization": use_local_synchronization or None}).items():
        if value is not None:
            no_effect("new_group", name, "MPI carries what processes tell each other")
    members = tuple(range(get_world_size())) if ranks is None else tuple(ranks)
    if members == tuple(range(get_world_size())):
        return WORLD
    name = f"ranks_{'_'.join(map(str, members))}"
    if name not in _groups:
        parallel.create_group(name, members)
        _groups.add(name)
    return name


def destroy_process_group(group: str | None = None) -> None:
    """Forget a group; without one all of them, and that of all processes with them."""
    global _begun
    names = [group] if group not in (None, WORLD) else sorted(_groups)
    for name in names:
        parallel.destroy_group(str(name))
        _groups.discard(str(name))
    if group in (None, WORLD):
        _begun = False


def get_backend(group: str | None = None) -> str:
    """What carries the tensors of a group: "mpi"."""
    parallel.get_group_size(group or WORLD)
    return "mpi"


def get_global_rank(group: str | None, group_rank: int) -> int:
    """The number among all processes of a group's process."""
    return parallel.get_world_rank_from_group_rank(group or WORLD, group_rank)


def get_group_rank(group: str | None, global_rank: int) -> int:
    """The number in a group of a process."""
    return parallel.get_group_rank_from_world_rank(global_rank, group or WORLD)


def get_process_group_ranks(group: str | None = None) -> list[int]:
    """The numbers among all processes of those of a group."""
    return [get_global_rank(group, place) for place in range(get_world_size(group))]


def _into(owner: str, outputs: list[Tensor], joined: Tensor) -> None:
    """Write parts of the first axis, or entries of it, into tensors."""
    if not outputs or joined.shape[0] % len(outputs):
        raise ArgumentValueError(
            f"{owner}: {joined.tensor_type} does not go into {len(outputs)} tensors", loc=user_loc()
        )
    size = joined.shape[0] // len(outputs)
    for place, output in enumerate(outputs):
        part = joined[place * size : (place + 1) * size]
        output.copy_(ops.reshape(part, output.shape))


def _require_count(owner: str, given: Sequence[Any], count: int) -> None:
    if len(given) != count:
        raise ArgumentValueError(
            f"{owner}: expected {count} tensors, one per process, got {len(given)}", loc=user_loc()
        )
