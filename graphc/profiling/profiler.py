"""`Profiler` and `profile`: what runs of a program, written as a trace (MindSpore: mindspore.profiler)."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from pathlib import Path
from time import perf_counter_ns
from typing import Any, Self

from graphc.errors import ArgumentTypeError, ArgumentValueError, user_loc
from graphc.profiling.collected import Collected, write
from graphc.profiling.settings import (
    AicoreMetrics,
    ProfilerAction,
    ProfilerActivity,
    ProfilerLevel,
    _ExperimentalConfig,
    checked,
    listed,
    mean_nothing,
)
from graphc.validation.unused_arguments import no_effect, only

_logger = logging.getLogger("graphc")
_RECORDED = (ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE)
_NO_DEVICE = "what runs on the CPU is recorded, there is no other device"


def _all(step: int) -> ProfilerAction:
    return ProfilerAction.RECORD


class _Recording:
    """What both kinds of profilers do. `step()` ends a step of the schedule; with none, all is recorded from start to stop."""

    def __init__(
        self,
        schedule: Callable[[int], ProfilerAction] | None,
        on_trace_ready: Callable[..., Any] | None,
        folder: str,
        kernels: bool,
        start_profile: bool,
    ) -> None:
        owner = self._owner
        for name, value in (("schedule", schedule), ("on_trace_ready", on_trace_ready)):
            if value is not None and not callable(value):
                raise ArgumentTypeError(
                    f"{owner}: {name} must be a function, got {type(value).__name__}", loc=user_loc()
                )
        self.schedule = schedule or _all
        self._has_schedule, self._on_trace_ready = schedule is not None, on_trace_ready
        self._folder, self._kernels = folder, kernels
        self._metadata: dict[str, Any] = {}
        self._collected = Collected()
        self._started, self._began = False, 0
        self.step_num = 0
        self.current_action: ProfilerAction | None = self.schedule(0)
        if checked(owner, "start_profile", start_profile, bool):
            self.start()

    @property
    def _owner(self) -> str:
        return type(self).__name__

    def start(self) -> None:
        """Record from now on, if the schedule has it so; a warning in the log if that is so already."""
        if self._started:
            _logger.warning("%s: start() while it records already", self._owner)
            return
        self._started, self._began = True, perf_counter_ns()
        if self.current_action in _RECORDED:
            self._collected.start()

    def stop(self) -> None:
        """Record no longer; a warning in the log if nothing is recorded."""
        if not self._started:
            _logger.warning("%s: stop() while nothing is recorded", self._owner)
            return
        self._end_of_step()
        self._started = False
        self._collected.stop()

    def step(self) -> None:
        """The next step begins. After the last of a round, what was recorded is given to on_trace_ready."""
        if not self._started:
            _logger.warning("%s: step() while nothing is recorded", self._owner)
            return
        self._end_of_step()
        before = self.current_action
        self.step_num += 1
        self.current_action = self.schedule(self.step_num)
        if before is ProfilerAction.RECORD_AND_SAVE or self.current_action not in _RECORDED:
            self._collected.stop()
            if before is ProfilerAction.RECORD_AND_SAVE:
                self._ready()
            self._collected.clear()
        if self.current_action in _RECORDED:
            self._collected.start()
        self._began = perf_counter_ns()

    def _end_of_step(self) -> None:
        if self._has_schedule and self._collected.on:
            self._collected.marked(f"ProfilerStep#{self.step_num}", self._began)

    def _ready(self) -> None:
        """What was recorded is whole: whoever was named gets it, or it is written."""
        if self._on_trace_ready is None:
            self._write(self._folder, None, self._kernels)
        else:
            self._on_trace_ready(self)

    def _write(self, folder: str, worker: str | None, kernels: bool) -> Path:
        return write(self._collected, folder, worker, kernels, self._metadata)

    def add_metadata(self, key: str, value: str) -> None:
        """A text that is written beside the trace, in profiler_metadata.json. ArgumentTypeError for what is none."""
        self._metadata[checked("add_metadata", "key", key, str)] = checked("add_metadata", "value", value, str)

    def add_metadata_json(self, key: str, value: str) -> None:
        """The same with a value in JSON. ArgumentValueError for what is no JSON."""
        checked("add_metadata_json", "key", key, str)
        try:
            self._metadata[key] = json.loads(checked("add_metadata_json", "value", value, str))
        except json.JSONDecodeError as error:
            raise ArgumentValueError(f"add_metadata_json: value is no JSON: {error}", loc=user_loc()) from None

    def __enter__(self) -> Self:
        if not self._started:
            self.start()
        return self

    def __exit__(self, *raised: object) -> None:
        if self._started:
            self.stop()


class Profiler(_Recording):
    """Records the runs of compiled steps, of Cells in PYNATIVE_MODE and what is compiled, until `analyse()`, which writes them
    below output_path as a trace for Chrome and Perfetto: HOST_PID_TIME_ascend_ms/ASCEND_PROFILER_OUTPUT/trace_view.json.

    profiler_level: with LevelNone the kernels of steps are left out; with any other each step, at most the 16 that took longest,
    is run a few times more by analyse(), in a build that counts their time, and its parameters are then what they were.
    start_profile: whether recording begins at once. schedule, on_trace_ready: as for `profile`, with `step()`. activities: the
    CPU is recorded. The others count what devices do, and have no effect, which is said once.
    """

    def __init__(
        self,
        *,
        start_profile: bool = True,
        output_path: str = "./data",
        profiler_level: ProfilerLevel = ProfilerLevel.Level0,
        activities: list[ProfilerActivity] | None = None,
        schedule: Callable[[int], ProfilerAction] | None = None,
        on_trace_ready: Callable[..., Any] | None = None,
        profile_memory: bool = False,
        aic_metrics: AicoreMetrics = AicoreMetrics.AiCoreNone,
        with_stack: bool = False,
        data_simplification: bool = True,
        l2_cache: bool = False,
        hbm_ddr: bool = False,
        pcie: bool = False,
        data_process: bool = False,
        parallel_strategy: bool = False,
        sync_enable: bool = True,
        op_time: bool = True,
        profile_communication: bool = False,
        profile_framework: str | None = None,
        host_stack: bool = False,
        timeline_limit: int = 500,
    ) -> None:
        listed("Profiler", "activities", activities or [], ProfilerActivity)
        on_devices = {
            "profile_memory": (profile_memory, False),
            "aic_metrics": (aic_metrics, AicoreMetrics.AiCoreNone),
            "with_stack": (with_stack, False),
            "data_simplification": (data_simplification, True),
            "l2_cache": (l2_cache, False),
            "hbm_ddr": (hbm_ddr, False),
            "pcie": (pcie, False),
            "data_process": (data_process, False),
            "parallel_strategy": (parallel_strategy, False),
            "sync_enable": (sync_enable, True),
            "op_time": (op_time, True),
            "profile_communication": (profile_communication, False),
            "profile_framework": (profile_framework, ""),
            "host_stack": (host_stack, False),
            "timeline_limit": (timeline_limit, 500),
        }
        mean_nothing("Profiler", on_devices, _NO_DEVICE)
        level = checked("Profiler", "profiler_level", profiler_level, ProfilerLevel)
        folder = checked("Profiler", "output_path", output_path, str)
        super().__init__(schedule, on_trace_ready, folder, level is not ProfilerLevel.LevelNone, start_profile)

    def step(self) -> None:
        """The next step begins, for a schedule; without one nothing but a warning in the log."""
        if self._has_schedule:
            super().step()
        else:
            _logger.warning("Profiler: step() has no effect without a schedule")

    def analyse(
        self,
        offline_path: str | None = None,
        pretty: bool = False,
        step_list: list[int] | None = None,
        mode: str = "sync",
        async_mode: bool = False,
    ) -> None:
        """Write what was recorded, and forget it. With a schedule that is done in on_trace_ready. All steps are written, now:
        pretty, step_list and mode have no effect; offline_path must be None.
        """
        only("analyse", "offline_path", offline_path, None)
        only("analyse", "mode", mode, "sync", "async")
        if step_list is not None:
            no_effect("Profiler.analyse", "step_list", "all that was recorded is written")
        if self._started and not self._has_schedule:
            self.stop()
        if self._collected.runs:
            self._write(self._folder, None, self._kernels)
            self._collected.clear()

    @classmethod
    def offline_analyse(
        cls, path: str, pretty: bool = False, step_list: list[int] | None = None, data_simplification: bool = True
    ) -> None:
        """Nothing, said once: `analyse` has written what there is to see."""
        no_effect("Profiler", "offline_analyse", "analyse() has written what there is to see")

    def op_analyse(self, op_name: Any, device_id: int | None = None) -> None:
        """Refused: ArgumentValueError. Kernels compute several ops at once."""
        raise ArgumentValueError(
            "Profiler.op_analyse: kernels compute several ops at once",
            loc=user_loc(),
            help="step.profile(*inputs), or `graphc profile`, which divides their time (docs/debugging.md)",
        )


class profile(_Recording):
    """Records the runs of compiled steps, of Cells in PYNATIVE_MODE and what is compiled, while `with profile(...) as prof:`
    lasts, or from start() to stop(); `prof.step()` ends each step of the program.

    schedule: which steps are recorded, by default all until the end. on_trace_ready: called with the profiler when what was
    recorded is whole, such as tensorboard_trace_handler; by default it is written below ./data. experimental_config: its
    profiler_level says whether kernels are measured, as in `Profiler`. activities: the CPU is recorded. The others count what
    devices do, and have no effect, which is said once.
    """

    def __init__(
        self,
        activities: list[ProfilerActivity] | None = None,
        with_stack: bool = False,
        profile_memory: bool = False,
        data_process: bool = False,
        parallel_strategy: bool = False,
        start_profile: bool = True,
        hbm_ddr: bool = False,
        pcie: bool = False,
        sync_enable: bool = True,
        record_shapes: bool = False,
        schedule: Callable[[int], ProfilerAction] | None = None,
        on_trace_ready: Callable[..., Any] | None = None,
        experimental_config: _ExperimentalConfig | None = None,
    ) -> None:
        listed("profile", "activities", list(activities or []), ProfilerActivity)
        on_devices = {
            "with_stack": (with_stack, False),
            "profile_memory": (profile_memory, False),
            "data_process": (data_process, False),
            "parallel_strategy": (parallel_strategy, False),
            "hbm_ddr": (hbm_ddr, False),
            "pcie": (pcie, False),
            "sync_enable": (sync_enable, True),
            "record_shapes": (record_shapes, False),
        }
        mean_nothing("profile", on_devices, _NO_DEVICE)
        config = experimental_config if experimental_config is not None else _ExperimentalConfig()
        level = checked("profile", "experimental_config", config, _ExperimentalConfig).profiler_level
        super().__init__(schedule, on_trace_ready, "./data", level is not ProfilerLevel.LevelNone, start_profile)

    def stop(self) -> None:
        """Record no longer; what was recorded is given to on_trace_ready."""
        was = self._collected.on
        super().stop()
        if was:
            self._ready()
            self._collected.clear()


def tensorboard_trace_handler(
    dir_name: str | None = None, worker_name: str | None = None, analyse_flag: bool = True, async_mode: bool = False
) -> Callable[[_Recording], None]:
    """What writes the trace of a profiler, for its on_trace_ready: below dir_name, ./data by default, in a folder whose name
    begins with worker_name, that of the machine by default. analyse_flag: with False without kernels. It is written before
    anything else goes on, with async_mode too.
    """
    folder = checked("tensorboard_trace_handler", "dir_name", "./data" if dir_name is None else dir_name, str)
    if worker_name is not None:
        checked("tensorboard_trace_handler", "worker_name", worker_name, str)
    for name, value in (("analyse_flag", analyse_flag), ("async_mode", async_mode)):
        checked("tensorboard_trace_handler", name, value, bool)

    def handler(profiler: _Recording) -> None:
        profiler._write(folder, worker_name, analyse_flag and profiler._kernels)

    return handler


def analyse(
    profiler_path: str,
    max_process_number: int | None = None,
    pretty: bool = False,
    step_list: list[int] | None = None,
    data_simplification: bool = True,
) -> None:
    """Nothing, said once: a profiler writes what there is to see when its recording ends."""
    no_effect("profiler", "analyse", "a profiler writes what there is to see when its recording ends")


__all__ = ["Profiler", "analyse", "profile", "tensorboard_trace_handler"]
