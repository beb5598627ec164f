"""The functions of MindSpore's communication module, for a group of one process."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from graphc.errors import ArgumentTypeError, ArgumentValueError, user_loc
from graphc.ops.declared.collective import WORLD


class GlobalComm:
    """The group of all processes: this one."""

    BACKEND = "graphc"
    WORLD_COMM_GROUP = WORLD
    INITED = True


def init(backend_name: str | None = None) -> None:
    """Accepted: one process has nothing to connect."""


def release() -> None:
    """Accepted: one process has nothing to disconnect."""


def get_rank(group: str = WORLD) -> int:
    """This process's number in a group: 0."""
    return 0


def get_group_size(group: str = WORLD) -> int:
    """How many processes a group has: 1."""
    return 1


def get_local_rank(group: str = WORLD) -> int:
    """This process's number on its machine: 0."""
    return 0


def get_local_rank_size(group: str = WORLD) -> int:
    """How many processes of a group run on this machine: 1."""
    return 1


def create_group(group: str, rank_ids: Iterable[int], options: Any = None) -> None:
    """Accepted for the group of this process alone; ArgumentValueError for ranks other than [0]."""
    if not isinstance(group, str):
        raise ArgumentTypeError(f"create_group: group must be a string, got {type(group).__name__}", loc=user_loc())
    ranks = list(rank_ids)
    if ranks != [0]:
        raise ArgumentValueError(
            f"create_group: rank_ids must be [0], got {ranks}: graphc trains in one process", loc=user_loc()
        )


def destroy_group(group: str) -> None:
    """Accepted: a group of one process holds nothing."""


def _only_rank(name: str, rank: int) -> int:
    if rank != 0:
        raise ArgumentValueError(f"{name}: there is no rank {rank}, only 0", loc=user_loc())
    return 0


def get_world_rank_from_group_rank(group: str, group_rank_id: int) -> int:
    """0 for rank 0; ArgumentValueError for others."""
    return _only_rank("get_world_rank_from_group_rank", group_rank_id)


def get_group_rank_from_world_rank(world_rank_id: int, group: str) -> int:
    """0 for rank 0; ArgumentValueError for others."""
    return _only_rank("get_group_rank_from_world_rank", world_rank_id)


__all__ = [
    "GlobalComm",
    "create_group",
    "destroy_group",
    "get_group_rank_from_world_rank",
    "get_group_size",
    "get_local_rank",
    "get_local_rank_size",
    "get_rank",
    "get_world_rank_from_group_rank",
    "init",
    "release",
]
