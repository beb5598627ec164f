"""Parallel training, as far as one process goes: MindSpore's settings, and the group functions of its communication module.

graphc trains in one process: it has rank 0 of 1, gradients are reduced over that one, and settings that need more raise.
Reducing itself is an op, `graphc.ops.AllReduce`.
"""

from graphc.parallel.communication import (
    GlobalComm,
    create_group,
    destroy_group,
    get_group_rank_from_world_rank,
    get_group_size,
    get_local_rank,
    get_local_rank_size,
    get_rank,
    get_world_rank_from_group_rank,
    init,
    release,
)
from graphc.parallel.settings import (
    ParallelMode,
    get_auto_parallel_context,
    reset_auto_parallel_context,
    set_auto_parallel_context,
)

__all__ = [
    "GlobalComm",
    "ParallelMode",
    "create_group",
    "destroy_group",
    "get_auto_parallel_context",
    "get_group_rank_from_world_rank",
    "get_group_size",
    "get_local_rank",
    "get_local_rank_size",
    "get_rank",
    "get_world_rank_from_group_rank",
    "init",
    "release",
    "reset_auto_parallel_context",
    "set_auto_parallel_context",
]
