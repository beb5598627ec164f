"""The functions of MindSpore's communication module, over the processes that mpiexec has started; alone, for a group of one."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from graphc import processes
from graphc.errors import ArgumentValueError, user_loc
from graphc.processes import WORLD

#: What MindSpore calls the group of all processes on its kinds of devices.
HCCL_WORLD_COMM_GROUP, NCCL_WORLD_COMM_GROUP, MCCL_WORLD_COMM_GROUP = processes.WORLDS


class GlobalComm:
    """The group of all processes."""

    BACKEND = "graphc"
    WORLD_COMM_GROUP = WORLD
    INITED = True


def init(backend_name: str | None = None) -> None:
    """Join the processes that mpiexec has started; nothing to do for a process alone (MindSpore: communication.init).

    backend_name: accepted; MPI carries what processes tell each other. Raises MissingPackageError GC207 in one of several
    processes without mpi4py.
    """
    processes.start()


def release() -> None:
    """Accepted: processes part when they end."""


def get_rank(group: str = WORLD) -> int:
    """This process's number in a group, from 0; ArgumentValueError for a group that it is not in."""
    processes.start()
    return processes.rank(group)


def get_group_size(group: str = WORLD) -> int:
    """How many processes a group has; ArgumentValueError for a group that this one is not in."""
    processes.start()
    return processes.size(group)


def get_local_rank(group: str = WORLD) -> int:
    """This process's number among those of a group on its machine; ArgumentValueError for a group that it is not in."""
    processes.start()
    return processes.local(group)[0]


def get_local_rank_size(group: str = WORLD) -> int:
    """How many processes of a group run on this machine; ArgumentValueError for a group that this one is not in."""
    processes.start()
    return processes.local(group)[1]


def get_process_group_ranks(group: str = WORLD) -> list[int]:
    """The numbers among all processes of those of a group; ArgumentValueError for a group that this one is not in."""
    processes.start()
    return list(processes.group(group).ranks)


def create_group(group: str, rank_ids: Iterable[int], options: Any = None) -> None:
    """Make a group of these processes, each of which calls this with the same ranks (MindSpore: create_group).

    options: accepted, MPI has none of them. Raises ArgumentTypeError or ArgumentValueError for anything but a new name and
    distinct ranks.
    """
    processes.start()
    processes.create_group(group, rank_ids)


def destroy_group(group: str) -> None:
    """Forget a group; ArgumentValueError for that of all processes and for an unknown one."""
    processes.destroy_group(group)


def get_world_rank_from_group_rank(group: str, group_rank_id: int) -> int:
    """The number among all processes of a group's process; ArgumentValueError if there is none of that number."""
    ranks = processes.group(group).ranks
    if group_rank_id not in range(len(ranks)):
        raise _no_rank("get_world_rank_from_group_rank", group_rank_id, range(len(ranks)))
    return ranks[group_rank_id]


def get_group_rank_from_world_rank(world_rank_id: int, group: str) -> int:
    """The number in a group of a process; ArgumentValueError if it is not in there."""
    ranks = processes.group(group).ranks
    if world_rank_id not in ranks:
        raise _no_rank("get_group_rank_from_world_rank", world_rank_id, ranks)
    return ranks.index(world_rank_id)


def _no_rank(name: str, rank: int, ranks: Iterable[int]) -> ArgumentValueError:
    known = ", ".join(map(str, ranks))
    return ArgumentValueError(f"{name}: there is no rank {rank}, only {known}", loc=user_loc())


__all__ = [
    "HCCL_WORLD_COMM_GROUP",
    "MCCL_WORLD_COMM_GROUP",
    "NCCL_WORLD_COMM_GROUP",
    "GlobalComm",
    "create_group",
    "destroy_group",
    "get_group_rank_from_world_rank",
    "get_group_size",
    "get_local_rank",
    "get_local_rank_size",
    "get_process_group_ranks",
    "get_rank",
    "get_world_rank_from_group_rank",
    "init",
    "release",
]
