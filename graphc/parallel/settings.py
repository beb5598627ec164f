"""MindSpore's settings of parallel training, by name, as an object, and as its own training cells read them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from graphc.context import ParallelMode, ParallelSettings, parallel_settings, reset_parallel, set_parallel
from graphc.errors import ArgumentValueError, user_loc


def set_auto_parallel_context(**settings: Any) -> None:
    """Set parallel_mode, gradients_mean, ... (MindSpore: set_auto_parallel_context).

    In modes data_parallel and hybrid_parallel training cells reduce their gradients. ArgumentValueError for settings that
    graphc does not have, and for values that need several processes.
    """
    set_parallel(**settings)


def get_auto_parallel_context(attr_key: str) -> Any:
    """A setting by name; ArgumentValueError if there is none of that name."""
    if attr_key not in ParallelSettings.__dataclass_fields__:
        known = ", ".join(ParallelSettings.__dataclass_fields__)
        raise ArgumentValueError(f"there is no parallel setting {attr_key!r}; there are {known}", loc=user_loc())
    held = getattr(parallel_settings(), attr_key)
    return dict(held) if attr_key == "parallel_optimizer_config" else held


def reset_auto_parallel_context() -> None:
    """All settings as they are at the start."""
    reset_parallel()


# ---- mindspore.parallel._auto_parallel_context


class _AutoParallelContext:
    """The settings behind a method each: `get_<name>()` and `set_<name>(value)`."""

    def __getattr__(self, name: str) -> Callable[..., Any]:
        verb, _, setting = name.partition("_")
        if verb == "get" and setting in ParallelSettings.__dataclass_fields__:
            return lambda: get_auto_parallel_context(setting)
        if verb == "set" and setting in ParallelSettings.__dataclass_fields__:
            return lambda value: set_auto_parallel_context(**{setting: value})
        raise AttributeError(f"there is no parallel setting {setting or name!r}")


_settings_object = _AutoParallelContext()


def auto_parallel_context() -> _AutoParallelContext:
    """The settings as an object with a getter and a setter for each."""
    return _settings_object


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


def _is_sharding_propagation() -> bool:
    return False


def _is_in_auto_parallel_mode() -> bool:
    return parallel_settings().parallel_mode in (ParallelMode.SEMI_AUTO_PARALLEL, ParallelMode.AUTO_PARALLEL)


def _parallel_predict_check() -> None:
    """Nothing to check in one process."""


def _set_cost(*values: Any) -> None:
    """Accepted: there are no strategies whose costs could be compared."""


_set_multi_subgraphs = _set_rp_matmul_mem_coef = _set_cost


__all__ = [
    "ParallelMode",
    "auto_parallel_context",
    "get_auto_parallel_context",
    "reset_auto_parallel_context",
    "set_auto_parallel_context",
]
