"""What profilers are told: levels, activities, schedules (MindSpore: mindspore.profiler)."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import Any

from graphc.errors import ArgumentTypeError, ArgumentValueError, user_loc
from graphc.validation.checks import exact_int
from graphc.validation.unused_arguments import no_effect, only


class ProfilerLevel(Enum):
    """How much is recorded: with LevelNone steps without their kernels, with any other both."""

    LevelNone = "LevelNone"
    Level0 = "Level0"
    Level1 = "Level1"
    Level2 = "Level2"


class ProfilerActivity(Enum):
    """What is recorded: of these a CPU is here."""

    NPU = "NPU"
    GPU = "GPU"
    CPU = "CPU"


class AicoreMetrics(Enum):
    """What is counted in the cores of an Ascend device: names that scripts give."""

    PipeUtilization = "PipeUtilization"
    ArithmeticUtilization = "ArithmeticUtilization"
    Memory = "Memory"
    MemoryL0 = "MemoryL0"
    MemoryUB = "MemoryUB"
    ResourceConflictRatio = "ResourceConflictRatio"
    L2Cache = "L2Cache"
    MemoryAccess = "MemoryAccess"
    AiCoreNone = "None"


class ExportType(Enum):
    """In which form results are written: as text, JSON."""

    Db = "db"
    Text = "text"


class HostSystem(Enum):
    """What of the system is watched: names that scripts give."""

    CPU = "cpu"
    MEM = "mem"
    DISK = "disk"
    NETWORK = "network"
    OSRT = "osrt"


class ProfilerAction(Enum):
    """What is done with a step: nothing, nothing yet, it is recorded, it is recorded and then everything is written."""

    NONE = 0
    WARM_UP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3

    @staticmethod
    def get_by_value(value: int) -> ProfilerAction | None:
        """The action of a number, None if it has none."""
        return next((action for action in ProfilerAction if action.value == value), None)


class Schedule:
    """Which steps are recorded: after `skip_first` steps, in rounds of `wait` steps that are not, `warmup` steps that are not
    either, and `active` steps that are; `repeat` rounds, or with 0 as many as there are.

    Called with the number of a step it gives its ProfilerAction. ArgumentTypeError and ArgumentValueError for other numbers.
    """

    def __init__(self, *, wait: int, active: int, warmup: int = 0, repeat: int = 0, skip_first: int = 0) -> None:
        least = {"wait": 0, "active": 1, "warmup": 0, "repeat": 0, "skip_first": 0}
        given = {"wait": wait, "active": active, "warmup": warmup, "repeat": repeat, "skip_first": skip_first}
        for name, value in given.items():
            exact_int("schedule", name, value)
            if value < least[name]:
                raise ArgumentValueError(f"schedule: {name} must be {least[name]} or more, got {value}", loc=user_loc())
        self.wait, self.active, self.warmup, self.repeat, self.skip_first = wait, active, warmup, repeat, skip_first

    def __call__(self, step: int) -> ProfilerAction:
        if step < 0:
            raise ArgumentValueError(f"schedule: step must be 0 or more, got {step}", loc=user_loc())
        turn, place = divmod(step - self.skip_first, self.wait + self.warmup + self.active)
        if turn < 0 or 0 < self.repeat <= turn or place < self.wait:
            return ProfilerAction.NONE
        place -= self.wait + self.warmup
        if place < 0:
            return ProfilerAction.WARM_UP
        return ProfilerAction.RECORD if place < self.active - 1 else ProfilerAction.RECORD_AND_SAVE

    def __repr__(self) -> str:
        return f"Schedule({', '.join(f'{name}={value!r}' for name, value in self.to_dict().items())})"

    def to_dict(self) -> dict[str, int]:
        """The numbers by their names."""
        return {
            "wait": self.wait,
            "active": self.active,
            "warmup": self.warmup,
            "repeat": self.repeat,
            "skip_first": self.skip_first,
        }


schedule = Schedule


def checked(owner: str, name: str, value: Any, kind: type) -> Any:
    """The value, if it is of that kind; else ArgumentTypeError."""
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise ArgumentTypeError(
            f"{owner}: {name} must be a {kind.__name__}, got {type(value).__name__}", loc=user_loc()
        )
    return value


def listed(owner: str, name: str, value: Any, kind: type[Enum]) -> list[Any]:
    """The members of an Enum in a list; ArgumentTypeError for anything else."""
    if not isinstance(value, Sequence) or not all(isinstance(v, kind) for v in value):
        raise ArgumentTypeError(f"{owner}: {name} must be a list of {kind.__name__}, got {value!r}", loc=user_loc())
    return list(value)


def mean_nothing(owner: str, given: dict[str, tuple[Any, Any]], why: str) -> None:
    """Say once of arguments that are not as by default, {name: (value, default)}, that they have no effect. ArgumentTypeError
    where a value is of another type.
    """
    for name, (value, default) in given.items():
        if value is not None and value != default:
            checked(owner, name, value, type(default))
            no_effect(owner, name, why)


class _ExperimentalConfig:
    """More of what `profile` is told: `profiler_level`. The rest counts what Ascend devices do, or says how it is stored: it has
    no effect, which is said once; of forms of results there is ExportType.Text.
    """

    def __init__(
        self,
        profiler_level: ProfilerLevel = ProfilerLevel.Level0,
        aic_metrics: AicoreMetrics = AicoreMetrics.AiCoreNone,
        l2_cache: bool = False,
        mstx: bool = False,
        data_simplification: bool = True,
        export_type: list[ExportType] | None = None,
        mstx_domain_include: list[str] | None = None,
        mstx_domain_exclude: list[str] | None = None,
        sys_io: bool = False,
        sys_interconnection: bool = False,
        host_sys: list[HostSystem] | None = None,
    ) -> None:
        owner = "_ExperimentalConfig"
        self.profiler_level = checked(owner, "profiler_level", profiler_level, ProfilerLevel)
        for form in listed(owner, "export_type", export_type or [ExportType.Text], ExportType):
            only(owner, "export_type", form, ExportType.Text)
        on_devices = {
            "aic_metrics": (aic_metrics, AicoreMetrics.AiCoreNone),
            "l2_cache": (l2_cache, False),
            "mstx": (mstx, False),
            "data_simplification": (data_simplification, True),
            "mstx_domain_include": (mstx_domain_include, []),
            "mstx_domain_exclude": (mstx_domain_exclude, []),
            "sys_io": (sys_io, False),
            "sys_interconnection": (sys_interconnection, False),
            "host_sys": (host_sys, []),
        }
        mean_nothing(owner, on_devices, "there is no Ascend device")


__all__ = [
    "AicoreMetrics",
    "ExportType",
    "HostSystem",
    "ProfilerAction",
    "ProfilerActivity",
    "ProfilerLevel",
    "Schedule",
    "_ExperimentalConfig",
    "schedule",
]
