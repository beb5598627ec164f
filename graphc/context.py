"""MindSpore's set_context, as far as it has a meaning here: compile Cells (GRAPH_MODE) or run them op by op (PYNATIVE_MODE)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from graphc.errors import ArgumentTypeError, ArgumentValueError, user_loc

GRAPH_MODE = 0

PYNATIVE_MODE = 1

#: Grows whenever a setting may have changed.
version = 0

_context: dict[str, Any] = {"mode": GRAPH_MODE, "device_target": "CPU", "save_graphs": False, "save_graphs_path": "."}


def set_context(**settings: Any) -> None:
    """Set `mode` (GRAPH_MODE or PYNATIVE_MODE), `device_target` ("CPU"), `save_graphs` and `save_graphs_path`.

    save_graphs: what is written of each step that is compiled from now on, into a folder of its own below save_graphs_path
    (default: the working directory): 0 or False nothing, 1 its graph and the record of the step, 2 or True everything that
    `step.dump` writes, 3 drawings of the graph, too. ArgumentValueError for anything else.
    """
    allowed = {"mode": (GRAPH_MODE, PYNATIVE_MODE), "device_target": ("CPU",), "save_graphs": (False, True, 0, 1, 2, 3)}
    for name, value in settings.items():
        if name == "save_graphs_path":
            if not isinstance(value, str) or not value:
                raise ArgumentValueError(
                    f"set_context: save_graphs_path is the path of a directory, got {value!r}", loc=user_loc()
                )
            continue
        if name not in allowed:
            raise ArgumentValueError(
                f"set_context has no setting {name!r}; it has {', '.join((*allowed, 'save_graphs_path'))}",
                loc=user_loc(),
            )
        if not isinstance(value, (int, str)) or value not in allowed[name]:
            wanted = " or ".join(map(repr, allowed[name]))
            raise ArgumentValueError(f"set_context: {name}={value!r} is not available, only {wanted}", loc=user_loc())
    _context.update(settings)
    _changed()


def _changed() -> None:
    global version
    version += 1


def get_context(name: str) -> Any:
    """The value of a setting; ArgumentValueError if there is none of that name."""
    if name not in _context:
        raise ArgumentValueError(f"there is no setting {name!r}; there are {', '.join(_context)}", loc=user_loc())
    return _context[name]


# ---- settings


class ParallelMode:
    """How training is spread over processes (MindSpore: mindspore.ParallelMode)."""

    STAND_ALONE = "stand_alone"
    DATA_PARALLEL = "data_parallel"
    HYBRID_PARALLEL = "hybrid_parallel"
    SEMI_AUTO_PARALLEL = "semi_auto_parallel"
    AUTO_PARALLEL = "auto_parallel"
    MODE_LIST = (STAND_ALONE, DATA_PARALLEL, HYBRID_PARALLEL, SEMI_AUTO_PARALLEL, AUTO_PARALLEL)


@dataclass(frozen=True)
class ParallelSettings:
    """Settings that training cells read: one process, so that every mode computes what stand_alone does."""

    parallel_mode: str = ParallelMode.STAND_ALONE
    gradients_mean: bool = False
    device_num: int = 1
    global_rank: int = 0
    parameter_broadcast: bool = False
    enable_parallel_optimizer: bool = False
    full_batch: bool = False
    pipeline_stages: int = 1


_settings = ParallelSettings()


def parallel_settings() -> ParallelSettings:
    """The settings as they are now."""
    return _settings


def set_parallel(**changes: Any) -> None:
    """Change settings. ArgumentValueError for unknown ones and for values that need more than this process."""
    global _settings
    known = ParallelSettings.__dataclass_fields__
    only = {"device_num": 1, "global_rank": 0, "pipeline_stages": 1, "enable_parallel_optimizer": False}
    for name, value in changes.items():
        if name not in known:
            raise ArgumentValueError(
                f"there is no parallel setting {name!r}; there are {', '.join(known)}", loc=user_loc()
            )
        if name == "parallel_mode" and value not in ParallelMode.MODE_LIST:
            modes = ", ".join(ParallelMode.MODE_LIST)
            raise ArgumentValueError(f"parallel_mode must be one of {modes}, got {value!r}", loc=user_loc())
        kind = type(known[name].default)
        if type(value) is not kind:
            raise ArgumentTypeError(
                f"{name} must be of type {kind.__name__}, got {type(value).__name__}", loc=user_loc()
            )
        if value != only.get(name, value):
            raise ArgumentValueError(
                f"{name}={value} needs several processes; graphc trains in one, where {name} is {only[name]}",
                loc=user_loc(),
            )
    _settings = replace(_settings, **changes)
    _changed()


def reset_parallel() -> None:
    """All settings as they are at the start."""
    global _settings
    _settings = ParallelSettings()
    _changed()
