"""What a profiler has collected of a running program, and the trace that is made of it."""

from __future__ import annotations

import json
import logging
import os
import socket
import threading
import time
from collections import Counter
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from graphc.files import write_atomic
from graphc.profiling.measure import measure
from graphc.profiling.report import chrome_trace
from graphc.steps import profile_hooks
from graphc.steps.compiled_step import CompiledStep, watchers
from graphc.steps.profile_hooks import Ran

_logger = logging.getLogger("graphc")
#: Runs of a step by which its kernels are measured, and how many steps are: each takes a build that counts its time.
_RUNS, _STEPS = 5, 16
#: Nanoseconds from the clock of runs to the time of day.
_TO_DAY = time.time_ns() - time.perf_counter_ns()


@dataclass
class Collected:
    """The runs of steps and Cells between `start` and `stop`, several times over."""

    #: What has run, without what it was given: a training would keep all its data.
    runs: list[Ran] = field(default_factory=list)
    #: The last run of each step, and the nanoseconds of all.
    last: dict[CompiledStep, Ran] = field(default_factory=dict)
    spent: Counter[CompiledStep] = field(default_factory=Counter)
    on: bool = False

    def start(self) -> None:
        """Collect from now on."""
        if not self.on:
            profile_hooks.listeners.append(self.put)
            watchers.append(self.compiled)
            self.on = True

    def stop(self) -> None:
        """Collect no longer."""
        if self.on:
            profile_hooks.listeners.remove(self.put)
            watchers.remove(self.compiled)
            self.on = False

    def put(self, ran: Ran) -> None:
        """Keep a run."""
        self.runs.append(replace(ran, step=None, arrays=()))
        if ran.step is not None:
            self.last[ran.step] = ran
            self.spent[ran.step] += ran.ended - ran.began

    def compiled(self, step: CompiledStep) -> None:
        """Keep that a step has been compiled."""
        end = time.perf_counter_ns()
        began = end - int(sum(step.compile_seconds.values()) * 1e9)
        self.put(Ran("compile", step.graph.name, began, end, threading.get_ident()))

    def marked(self, name: str, began: int) -> None:
        """Keep what the program itself calls something that has lasted since then."""
        self.put(Ran("program", name, began, time.perf_counter_ns(), threading.get_ident()))

    def clear(self) -> None:
        """Forget all."""
        self.runs, self.last, self.spent = [], {}, Counter()

    def trace(self, kernels: bool) -> list[dict[str, Any]]:
        """Events in the format of Chrome's tracing: a track per thread of the program; with `kernels`, for each of the steps that
        took longest a process with a track per thread of one more run of it, which is measured now, where its last run stands.
        """
        threads = {ident: k for k, ident in enumerate(dict.fromkeys(ran.thread for ran in self.runs))}
        events = [_name("process_name", 0, 0, "program (graphc)")]
        events += [_name("thread_name", 0, k, f"Thread {k}") for k in threads.values()]
        events += [
            {
                "ph": "X",
                "name": ran.name,
                "cat": ran.kind,
                "pid": 0,
                "tid": threads[ran.thread],
                "ts": (ran.began + _TO_DAY) / 1e3,
                "dur": (ran.ended - ran.began) / 1e3,
                "args": {"kind": ran.kind, "steps": ran.count},
            }
            for ran in self.runs
        ]
        for k, ran in enumerate(self._longest() if kernels else ()):
            events += _kernels(ran, k + 1)
        return events

    def _longest(self) -> list[Ran]:
        """The last runs of the steps that took longest, in the order in which they began to run; what is left out is said."""
        chosen = {step for step, _ in self.spent.most_common(_STEPS)}
        if others := len(self.last) - len(chosen):
            _logger.warning(
                "profiler: the kernels of the %d steps that took longest are measured, of %d others they are not",
                _STEPS,
                others,
            )
        return [ran for step, ran in self.last.items() if step in chosen]


def _name(kind: str, pid: int, tid: int, text: str) -> dict[str, Any]:
    return {"ph": "M", "name": kind, "pid": pid, "tid": tid, "args": {"name": text}}


def _kernels(ran: Ran, pid: int) -> list[dict[str, Any]]:
    """The kernels of a step that has run so; none where it cannot be measured: in checked mode, without kernels, or where others
    would have to run it, too.
    """
    step = ran.step
    assert step is not None
    if step._executable.checked or step._talks or not step.record().calls:
        return []
    step._profile = measure(step, ran.arrays, _RUNS)
    begin = (ran.began + _TO_DAY) / 1e3
    events: list[dict[str, Any]] = chrome_trace(step.record())["traceEvents"]
    return [event | {"pid": pid} | ({"ts": event["ts"] + begin} if "ts" in event else {}) for event in events]


def write(collected: Collected, folder: str, worker: str | None, kernels: bool, metadata: dict[str, Any]) -> Path:
    """Write what was collected below a folder, where MindSpore does: in HOST_PID_TIME_ascend_ms the trace as
    ASCEND_PROFILER_OUTPUT/trace_view.json, and profiler_metadata.json if there are metadata. Returns the folder made. OSError
    if it cannot be.
    """
    made = _folder(Path(folder), worker or socket.gethostname())
    output = made / "ASCEND_PROFILER_OUTPUT"
    output.mkdir(parents=True)
    write_atomic(output / "trace_view.json", json.dumps(collected.trace(kernels)).encode())
    if metadata:
        write_atomic(made / "profiler_metadata.json", json.dumps(metadata, indent=2).encode())
    return made


def _folder(parent: Path, worker: str) -> Path:
    """One that is not there yet."""
    while True:
        now = datetime.now().strftime("%Y%m%d%H%M%S%f")[:-3]
        made = parent / f"{worker}_{os.getpid()}_{now}_ascend_ms"
        if not made.exists():
            return made
        time.sleep(0.001)
