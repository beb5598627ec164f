"""Measures a compiled step: runs of the step itself, in turns with runs of its profiling build."""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from graphc.errors import ArgumentValueError, user_loc
from graphc.inspect.document import CallTime, Profile, Slice
from graphc.steps.build import build, object_cache
from graphc_codegen.run.peak import measure_peak
from graphc_codegen.thread_context import COUNTED

if TYPE_CHECKING:
    from graphc.steps.compiled_step import CompiledStep
    from graphc.steps.inputs import Array
    from graphc_codegen import Bound

#: Runs that are not timed, and the fewest and most that are, if it is not said: as many as fit into so many seconds.
_WARM, _LEAST, _MOST, _SECONDS = 3, 7, 200, 1.5


class _Runs(NamedTuple):
    """Seconds of each run of the step and of its profiling build, and what each thread counted in the latter, int64 [runs,
    calls, threads, words], in ticks of so many seconds.
    """

    plain: list[float]
    profiled: list[float]
    counts: Array
    tick: float


def measure(step: CompiledStep, arrays: Sequence[Array], runs: int | None = None) -> Profile:
    """Run a step on inputs so many times, and its profiling build as often; parameters are what they were before afterwards.

    Raises ArgumentValueError in checked mode, for fewer than one run, and for a step without calls.
    """
    if step._executable.checked:
        raise ArgumentValueError(
            "a step in checked mode has no time to measure", loc=user_loc(), help="unset GRAPHC_JIT"
        )
    if runs is not None and runs < 1:
        raise ArgumentValueError(f"profile needs at least one run, got runs={runs}", loc=user_loc())
    program = step._lowered.program
    with step._lock:
        step._check_params()
        plain, profiled = (_bound(step, profile=on) for on in (False, True))
        found = _run(step, plain, profiled, list(arrays), runs)
    return _profile(found, program.threads)


def run_once(step: CompiledStep, arrays: Sequence[Array]) -> None:
    """Run a step; its parameters are what they were before afterwards."""
    with step._lock, _restored(step):
        step._bound.run(list(arrays))


def _bound(step: CompiledStep, *, profile: bool) -> Bound:
    """The step with memory of its own, as a build that counts its time or one that does not."""
    program = replace(step._lowered.program, profile=profile)
    executable = build(program, checked=False, locations=step._locations)
    return executable.bind([p.storage for p in step._params], list(step._lowered.constants))


def _run(step: CompiledStep, plain: Bound, profiled: Bound, arrays: list[Array], runs: int | None) -> _Runs:
    seconds: tuple[list[float], list[float]] = ([], [])
    counts: list[Array] = []
    with _restored(step) as fresh:
        for bound in (plain, profiled):
            for _ in range(_WARM):
                fresh()
                bound.run(arrays)
        end = time.perf_counter() + _SECONDS
        while len(counts) < (runs or _LEAST) or (runs is None and len(counts) < _MOST and time.perf_counter() < end):
            for bound, times in zip((plain, profiled), seconds, strict=True):
                fresh()
                before = _counts(profiled)
                began = time.perf_counter()
                bound.run(arrays)
                times.append(time.perf_counter() - began)
            after = _counts(profiled)
            after[..., : COUNTED["came"]] -= before[..., : COUNTED["came"]]
            counts.append(after)
        tick = profiled.tick()
    return _Runs(*seconds, np.stack(counts), tick)


def _counts(bound: Bound) -> Array:
    found = [count for _, count in bound.counts()]
    return np.stack(found) if found else np.zeros((0, 1, len(COUNTED)), np.int64)


@contextmanager
def _restored(step: CompiledStep) -> Iterator[Any]:
    """Gives what is to be called before each run: where optimizers have rates for some more steps only, or something is printed,
    parameters are set back. Afterwards they all are.
    """
    kept = [(p.storage, p.storage.copy()) for p in step._params]
    logs = [(p.storage, p.storage.copy()) for p in step._prints]

    def restore() -> None:
        for storage, copy in kept:
            storage[...] = copy

    limits = [n for check in step._checks if (n := check()) is not None]

    def fresh() -> None:
        if limits:
            restore()
        for storage, copy in logs:
            storage[...] = copy

    try:
        yield fresh
    finally:
        restore()


def _profile(found: _Runs, threads: int) -> Profile:
    calls = found.counts.shape[1]
    ms = found.tick * 1e3
    waited, worked, count = (
        np.median(found.counts[..., COUNTED[word]], axis=0) for word in ("waited", "worked", "calls")
    )
    peak = measure_peak(threads, object_cache())
    busy = found.counts[:, :, 0, [COUNTED["waited"], COUNTED["worked"]]].sum(axis=(1, 2)) * found.tick
    rows = [
        CallTime(
            k,
            tuple(round(float(t) * ms, 6) for t in worked[k]),
            tuple(round(float(t) * ms, 6) for t in waited[k]),
            float(count[k].max()),
        )
        for k in range(calls)
    ]
    return Profile(
        runs=len(found.plain),
        step_ms=statistics.median(found.plain) * 1e3,
        counted_ms=statistics.median(found.profiled) * 1e3,
        covered=round(float(np.median(busy / np.array(found.profiled))), 4),
        calls=tuple(rows),
        timeline=tuple(_timeline(found, ms)),
        gflops=round(peak.gflops, 3),
        gbs=round(peak.gbs, 3),
    )


def _timeline(found: _Runs, ms: float) -> Iterator[Slice]:
    """The calls of the run whose time is the median, as each thread made them."""
    order = np.argsort(found.profiled, kind="stable")
    counts = found.counts[order[(len(order) - 1) // 2]]
    ran = counts[..., COUNTED["calls"]] > 0
    if not ran.any():
        return
    began = int(counts[..., COUNTED["came"]][ran].min())
    for call, thread in np.argwhere(ran):
        words = counts[call, thread]
        turns = int(words[COUNTED["calls"]])
        # Of a call in a loop its last turn is known, and what all turns took together.
        yield Slice(
            int(call),
            int(thread),
            round((int(words[COUNTED["came"]]) - began) * ms, 6),
            round(int(words[COUNTED["waited"]]) * ms / turns, 6),
            round(int(words[COUNTED["worked"]]) * ms / turns, 6),
        )
