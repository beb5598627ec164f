"""MindSpore's set_context, as far as it has a meaning here: compile Cells (GRAPH_MODE) or run them op by op (PYNATIVE_MODE)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from graphc import processes
from graphc.errors import ArgumentTypeError, ArgumentValueError, Loc, user_loc
from graphc.errors.suggestions import nearest, question
from graphc.validation.signatures import accept

GRAPH_MODE = 0

PYNATIVE_MODE = 1

#: Grows whenever a setting may have changed.
version = 0

_context: dict[str, Any] = {"mode": GRAPH_MODE, "device_target": "CPU", "save_graphs": False, "save_graphs_path": "."}

#: Names of settings that somebody has set.
_chosen: set[str] = set()

#: The user's line that has set the mode.
mode_set_at: Loc | None = None

#: Whether programs are MindSpore's.
_of_mindspore = False


#: What to write for a setting.
_HELP = {
    "mode": "mode=GRAPH_MODE, which is 0, or PYNATIVE_MODE, which is 1",
    "device_target": "device_target='CPU', in capitals: there are no other devices",
}


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
                help=question(nearest(name, allowed)),
            )
        if not isinstance(value, (int, str)) or value not in allowed[name]:
            wanted = " or ".join(map(repr, allowed[name]))
            raise ArgumentValueError(
                f"set_context: {name}={value!r} is not available, only {wanted}", loc=user_loc(), help=_HELP.get(name)
            )
    if "mode" in settings:
        global mode_set_at
        mode_set_at = user_loc()
    _context.update(settings)
    _chosen.update(settings)
    _changed()


def _changed() -> None:
    global version
    version += 1


def get_context(name: str) -> Any:
    """The value of a setting; ArgumentValueError if there is none of that name."""
    if name not in _context:
        raise ArgumentValueError(f"there is no setting {name!r}; there are {', '.join(_context)}", loc=user_loc())
    return _context[name]


def is_chosen(name: str) -> bool:
    """Whether a setting was set, to its default or to something else."""
    return name in _chosen


def of_mindspore(yes: bool) -> None:
    """Say whether programs are MindSpore's, which runs op by op where no mode is set."""
    global _of_mindspore
    _of_mindspore = yes
    _changed()


def leaves_to_python() -> bool:
    """Whether a Cell that only Python can run is run by it: in programs of MindSpore's, until somebody sets a mode."""
    return _of_mindspore and "mode" not in _chosen


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
    """Settings that training cells read. device_num and global_rank are what mpiexec says, when they are read.

    all_reduce_fusion_config  None, or rising numbers of gradients, in the order in which they get ready, behind each of which
                              a new bucket begins; by default buckets have BUCKET_BYTES
    model_parallel            over how many processes in a row layers with `shard` are cut
    pipeline_stages           over how many processes a network is divided by `cell.pipeline_stage`
    wire_dtype                what gradients travel as: "float32", or "bfloat16", which is half the bytes
    parallel_optimizer_config what enable_parallel_optimizer leaves whole: parameters of less than "parallel_optimizer_threshold"
                              KiB
    """

    parallel_mode: str = ParallelMode.STAND_ALONE
    gradients_mean: bool = False
    device_num: int = 1
    global_rank: int = 0
    parameter_broadcast: bool = False
    enable_parallel_optimizer: bool = False
    full_batch: bool = False
    pipeline_stages: int = 1
    all_reduce_fusion_config: tuple[int, ...] | None = None
    wire_dtype: str = "float32"
    model_parallel: int = 1
    parallel_optimizer_config: tuple[tuple[str, Any], ...] = ()

    @property
    def parts(self) -> int:
        """Over how many processes one network lies."""
        return self.model_parallel * self.pipeline_stages

    @property
    def threshold(self) -> int:
        """The least KiB of a parameter whose updates are shared out."""
        return int(dict(self.parallel_optimizer_config).get("parallel_optimizer_threshold", 64))


_settings = ParallelSettings()

#: Modes in which MindSpore's compiler cuts layers over processes; for one process they are settings like others.
_CUTTING = (ParallelMode.SEMI_AUTO_PARALLEL, ParallelMode.AUTO_PARALLEL)

#: Modes in which every process trains the same parameters on its part of the data.
_DATA_PARALLEL = (ParallelMode.DATA_PARALLEL, ParallelMode.HYBRID_PARALLEL)


def parallel_settings() -> ParallelSettings:
    """The settings as they are now."""
    if processes.started() is None:
        return _settings
    return replace(_settings, device_num=processes.size(), global_rank=processes.rank())


def is_data_parallel() -> bool:
    """Whether training cells reduce their gradients in the parallel mode that is set: all processes train one network."""
    # Where each process is a stage of its own there is nothing for a mode that cuts layers to cut.
    return _settings.parallel_mode in _DATA_PARALLEL or _is_one_pipeline(_settings)


def _is_one_pipeline(settings: ParallelSettings) -> bool:
    """Whether the processes are the stages of one pipeline in a mode that cuts layers."""
    return settings.parallel_mode in _CUTTING and settings.pipeline_stages == processes.size() > 1


def set_parallel(**changes: Any) -> None:
    """Change settings. A parallel mode joins the other processes, if mpiexec has started several.

    ArgumentValueError for unknown settings, and for values that need more processes than there are.
    """
    global _settings
    known = ParallelSettings.__dataclass_fields__
    if (
        changes.get("parallel_mode", ParallelMode.STAND_ALONE) != ParallelMode.STAND_ALONE
        or "model_parallel" in changes
        or "pipeline_stages" in changes
    ):
        processes.start()
    count, rank = processes.size(), processes.rank()
    fixed = {"device_num": count, "global_rank": rank}
    for name, value in changes.items():
        if name not in known:
            raise ArgumentValueError(
                f"there is no parallel setting {name!r}; there are {', '.join(known)}", loc=user_loc()
            )
        if name == "parallel_mode" and value not in ParallelMode.MODE_LIST:
            modes = ", ".join(ParallelMode.MODE_LIST)
            raise ArgumentValueError(f"parallel_mode must be one of {modes}, got {value!r}", loc=user_loc())
        if name in _CHECKS:
            changes[name] = _CHECKS[name](value)
            continue
        kind = type(known[name].default)
        if type(value) is not kind:
            raise ArgumentTypeError(
                f"{name} must be of type {kind.__name__}, got {type(value).__name__}", loc=user_loc()
            )
        if value != fixed.get(name, value):
            raise ArgumentValueError(_unmet(name, value, fixed[name], count), loc=user_loc())
    settings = replace(_settings, **changes)
    _check_together(settings, count)
    if settings.parts > 1:
        processes.divide(settings.parts, in_a_row=settings.pipeline_stages == 1)
    _settings = settings
    _changed()


def _check_together(settings: ParallelSettings, count: int) -> None:
    """ArgumentValueError GC112 for settings that exclude each other in so many processes."""
    if settings.parallel_mode in _CUTTING and count > 1 and not _is_one_pipeline(settings):
        raise ArgumentValueError(
            f"parallel_mode={settings.parallel_mode!r} is not available in {count} processes: layers are not cut over them",
            code="GC112",
            loc=user_loc(),
            help=f"parallel_mode={ParallelMode.DATA_PARALLEL!r}, with model_parallel and nn.Dense(..., shard='columns'), or with"
            f" pipeline_stages; or, in one call, pipeline_stages={count}",
        )
    if settings.pipeline_stages > 1:
        for name, only in (("model_parallel", 1), ("enable_parallel_optimizer", False)):
            if getattr(settings, name) != only:
                raise ArgumentValueError(
                    f"{name}={getattr(settings, name)} is not available together with"
                    f" pipeline_stages={settings.pipeline_stages}",
                    code="GC112",
                    loc=user_loc(),
                )


def _unmet(name: str, value: Any, only: Any, count: int) -> str:
    """Why a setting cannot have a value."""
    if count == 1:
        return f"{name}={value} needs several processes; graphc trains in one, where {name} is {only}"
    return f"{name}={value} is not available, only {only}: there are {count} processes, each with all parameters"


def _fusion(value: Any) -> tuple[int, ...] | None:
    """Where buckets end. Raises ArgumentTypeError for no list of ints, ArgumentValueError unless they rise from 1."""
    if value is None:
        return None
    if not isinstance(value, (list, tuple)) or not all(type(n) is int for n in value):
        raise ArgumentTypeError(f"all_reduce_fusion_config must be a list of ints, got {value!r}", loc=user_loc())
    if any(b <= a for a, b in zip((0, *value), value, strict=False)):
        raise ArgumentValueError(
            f"all_reduce_fusion_config must be rising numbers of gradients, got {value!r}", loc=user_loc()
        )
    return tuple(value)


def _wire(value: Any) -> str:
    """What gradients travel as. ArgumentTypeError for no string, ArgumentValueError GC112 for another dtype."""
    if not isinstance(value, str):
        raise ArgumentTypeError(f"wire_dtype must be of type str, got {type(value).__name__}", loc=user_loc())
    if value not in ("float32", "bfloat16"):
        raise ArgumentValueError(
            f"wire_dtype={value!r} is not available, only 'float32' or 'bfloat16'",
            code="GC112",
            loc=user_loc(),
            help="what bfloat16 can hold reaches as far as float32: gradients overflow where they would have otherwise",
        )
    return value


def _model_parallel(value: Any) -> int:
    """Over how many processes layers are cut."""
    return _divisor("model_parallel", value, "start several: mpiexec -n 4 python ...")


def _pipeline_stages(value: Any) -> int:
    """How many stages."""
    several = max(value, 2) if isinstance(value, int) else 2
    return _divisor("pipeline_stages", value, f"it needs several: mpiexec -n {several} python ...")


def _divisor(name: str, value: Any, alone: str) -> int:
    """ArgumentTypeError for no int, ArgumentValueError unless it divides the processes; `alone` helps where there is one."""
    if type(value) is not int:
        raise ArgumentTypeError(f"{name} must be of type int, got {type(value).__name__}", loc=user_loc())
    count = processes.size()
    if value < 1 or count % value:
        raise ArgumentValueError(
            f"{name}={value} does not divide the {count} process{'' if count == 1 else 'es'} of this training",
            loc=user_loc(),
            help=None if count > 1 else alone,
        )
    return value


def _shared_updates(value: Any) -> tuple[tuple[str, Any], ...]:
    """What is said of shared updates. ArgumentTypeError for no dict, ArgumentValueError for unknown keys, and GC112 for values
    that graphc does not have.
    """
    owner = "parallel_optimizer_config"
    if not isinstance(value, dict):
        raise ArgumentTypeError(f"{owner} must be a dict, got {value!r}", loc=user_loc())
    # Between steps every process has whole parameters, which none of MindSpore's levels of an optimizer leaves it.
    known: dict[str, tuple[Any, ...]] = {
        "optimizer_weight_shard_size": (-1, processes.size()),
        "gradient_accumulation_shard": (False,),
        "optimizer_level": (),
    }
    for key, wanted in value.items():
        if key == "parallel_optimizer_threshold":
            if type(wanted) is not int or wanted < 0:
                raise ArgumentValueError(f"{owner}: {key} must be an int of at least 0, got {wanted!r}", loc=user_loc())
        elif key in known:
            if not any(wanted is w or (type(wanted) is type(w) and wanted == w) for w in known[key]):
                those = f", only {' or '.join(map(repr, known[key]))}" if known[key] else ""
                raise ArgumentValueError(
                    f"{owner}: {key}={wanted!r} is not supported{those}", code="GC112", loc=user_loc()
                )
        else:
            names = ", ".join(("parallel_optimizer_threshold", *known))
            raise ArgumentValueError(f"{owner} has no key {key!r}; it has {names}", loc=user_loc())
    return tuple(value.items())


#: Settings with rules of their own.
_CHECKS: dict[str, Callable[[Any], Any]] = {
    "all_reduce_fusion_config": _fusion,
    "wire_dtype": _wire,
    "model_parallel": _model_parallel,
    "pipeline_stages": _pipeline_stages,
    "parallel_optimizer_config": _shared_updates,
}


def reset_parallel() -> None:
    """All settings as they are at the start."""
    global _settings
    _settings = ParallelSettings()
    _changed()


accept(globals(), ("get_context", "set_context"), __name__)

__all__ = ["GRAPH_MODE", "PYNATIVE_MODE", "ParallelMode", "get_context", "set_context", "version"]
