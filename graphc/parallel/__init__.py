"""Parallel training, as far as one process goes: MindSpore's settings, and the group functions of its communication module.

graphc trains in one process: it has rank 0 of 1, gradients are reduced over that one, and settings that need more raise.
"""

from __future__ import annotations

from typing import Any

from graphc.errors import ArgumentValueError, user_loc
from graphc.ops.collective import (
    WORLD,
    ParallelMode,
    ParallelSettings,
    parallel_settings,
    reset_parallel,
    set_parallel,
)

__all__ = [
    "GlobalComm",
    "ParallelMode",
    "get_auto_parallel_context",
    "get_group_size",
    "get_rank",
    "init",
    "release",
    "reset_auto_parallel_context",
    "set_auto_parallel_context",
]


class GlobalComm:
    """The group of all processes: this one."""

    BACKEND = "graphc"
    WORLD_COMM_GROUP = WORLD
    INITED = True


def set_auto_parallel_context(**settings: Any) -> None:
    """Set parallel_mode, gradients_mean, ... (MindSpore: set_auto_parallel_context).

    In modes data_parallel and hybrid_parallel training cells reduce their gradients. ArgumentValueError for settings that
    graphc does not have, and for values that need several processes.
    """
    set_parallel(**settings)


def get_auto_parallel_context(name: str) -> Any:
    """A setting by name; ArgumentValueError if there is none of that name."""
    if name not in ParallelSettings.__dataclass_fields__:
        known = ", ".join(ParallelSettings.__dataclass_fields__)
        raise ArgumentValueError(f"there is no parallel setting {name!r}; there are {known}", loc=user_loc())
    return getattr(parallel_settings(), name)


def reset_auto_parallel_context() -> None:
    """All settings as they are at the start."""
    reset_parallel()


# ---- mindspore.communication


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


# ---- mindspore.parallel._utils, by which training cells read the settings


def _get_parallel_mode() -> str:
    return parallel_settings().parallel_mode


def _get_gradients_mean() -> bool:
    return parallel_settings().gradients_mean


def _get_device_num() -> int:
    return parallel_settings().device_num


def _get_global_rank() -> int:
    return parallel_settings().global_rank


def _get_parameter_broadcast() -> bool:
    return parallel_settings().parameter_broadcast


def _get_enable_parallel_optimizer() -> bool:
    return parallel_settings().enable_parallel_optimizer


def _get_full_batch() -> bool:
    return parallel_settings().full_batch


def _get_pipeline_stages() -> int:
    return parallel_settings().pipeline_stages


def _get_stage_device_num() -> int:
    return parallel_settings().device_num


def _is_pynative_parallel() -> bool:
    return False


def _parallel_predict_check() -> None:
    """Nothing to check in one process."""
