"""What this machine can do: the clock that profiling builds count by, its highest speed in arithmetic and in memory, how far its
processors are from each other, and whether they are threads of one core."""

from __future__ import annotations

import ctypes
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphc_codegen.cores import first_of_cores
from graphc_codegen.object_code.loading import Loaded, load
from graphc_codegen.object_code.support import compiled_once
from graphc_codegen.target import Target, host
from graphc_codegen.text.render import template

_CYCLES, _PRODUCTS, _STREAM = "graphc_cycles", "graphc_peak_products", "graphc_peak_stream"
_PING, _TOGETHER = "graphc_ping", "graphc_together"
#: Multiply-adds that are under way at the same time: more than two units with a latency of four cycles need.
_CHAINS = 12
#: Turns of a measurement of arithmetic, and floats of each of the three arrays of one of memory: more than caches hold.
_TURNS, _FLOATS = 400_000, 1 << 24
#: Each is measured so many times; the best counts.
_TIMES = 5
#: Turns of a word from one thread to the other and back, the first ones of which do not count, how often a thread looks for it
#: (some milliseconds, about); so many measurements that succeed are enough, and nothing begins after so many seconds.
_PINGS, _WARM, _LOOKS, _ENOUGH, _SECONDS = 256, 16, 1 << 21, 4, 0.04
#: Rounds of arithmetic of two threads at the same time, and turns of each, some microseconds. Those count of which the two have
#: spent so much together.
_ROUNDS, _BURST, _SHARED = 16, 2000, 0.9
#: Seconds between two looks at the clock at least, so that its rate is exact to a thousandth.
_APART = 5e-3


class Peak(NamedTuple):
    """Speeds that were measured: 10^9 float32 operations a second, a multiply-add being two, and 10^9 bytes a second read and
    written. With so many threads at work at the same time.
    """

    gflops: float
    gbs: float
    threads: int


class Clock:
    """How many seconds a tick of the processor's clock takes, from two looks at it; the first is when this is made."""

    def __init__(self, cache_dir: Path | None) -> None:
        self._read = _native(cache_dir).function(_CYCLES)
        self._first = self._look()

    def _look(self) -> tuple[int, float]:
        word = ctypes.c_int64()
        self._read(ctypes.addressof(word))
        return word.value, time.perf_counter()

    def seconds(self) -> float:
        """Of one tick."""
        time.sleep(max(0.0, self._first[1] + _APART - time.perf_counter()))
        ticks, now = self._look()
        return (now - self._first[1]) / (ticks - self._first[0])


def measure_peak(threads: int, cache_dir: Path | None) -> Peak:
    """Measure for so many threads; takes a few tenths of a second and 200 MB."""
    code, lanes = _native(cache_dir), host().lanes
    arrays = [np.ones(_FLOATS, np.float32) for _ in range(3)]
    stream, part = code.function(_STREAM, words=4), _FLOATS // threads // lanes * lanes
    pass_ = _best(threads, lambda k: stream(*(int(a.ctypes.data) + 4 * part * k for a in arrays), part))
    return Peak(measure_gflops(threads, cache_dir), threads * part * len(arrays) * 4 / pass_ / 1e9, threads)


def measure_gflops(threads: int, cache_dir: Path | None) -> float:
    """The first of these numbers; takes some milliseconds."""
    products, lanes = _native(cache_dir).function(_PRODUCTS, words=2), host().lanes
    # A factor of 1, so that nothing becomes a NaN; each thread has lines of the cache for itself to store to.
    own = np.ones((threads, (_CHAINS + 2) * lanes), np.float32)
    seconds = _best(threads, lambda k: products(_TURNS, int(own[k].ctypes.data)))
    return threads * _TURNS * _CHAINS * lanes * 2 / seconds / 1e9


def measure_distance(cache_dir: Path | None, seconds: float = _SECONDS) -> float | None:
    """Nanoseconds that a line of the cache takes from one core to another, the first two that this process may use: the
    least of a few measurements, some milliseconds in all where these have nothing else to do. No measurement begins after
    `seconds`; None if until then no two threads ran at the same time.
    """
    clock, ping = Clock(cache_dir), _native(cache_dir).function(_PING, words=5)
    # The word and what each thread writes are on lines of their own, of which two may come together.
    memory = np.zeros(64, np.int64)
    word, *counts = (int(memory.ctypes.data) + 8 * n for n in (16, 32, 48))
    ticks: list[int] = []

    def run(mine: int) -> int:
        return ping(word, mine, _PINGS, _LOOKS, counts[mine])

    end = time.perf_counter() + seconds
    while len(ticks) < _ENOUGH and time.perf_counter() < end:
        memory[:] = 0
        if _both(run):
            ticks.append(int(memory[33] - memory[32]))
    # The first thread is done when it has given the word away for the last time.
    return min(ticks) * clock.seconds() * 1e9 / (2 * (_PINGS - 1 - _WARM)) if ticks else None


def measure_slowing(cache_dir: Path | None, seconds: float = _SECONDS) -> float | None:
    """How many times as long arithmetic takes on one of the first two cores that this process may use while the other one does
    the same: 1, or 2 where they are the two threads of one core, of which the system does not know. The least of some
    measurements, milliseconds in all where these have nothing else to do; None as `measure_distance`.
    """
    together, lanes = _native(cache_dir).function(_TOGETHER, words=4), host().lanes
    # Counts of the clock, then a factor of 1 and what it multiplies. Each has lines of the cache for itself.
    words = 2 * _ROUNDS + (_CHAINS + 2) * lanes // 2 + 16
    memory = np.zeros((3, words), np.int64)
    memory[1:, 2 * _ROUNDS :].view(np.float32)[:] = 1.0
    word, *own = (int(row.ctypes.data) for row in memory)
    counts = memory[1:, : 2 * _ROUNDS].reshape(2, _ROUNDS, 2)
    least = np.full((2, 2), np.inf)

    def run(mine: int, threads: int = 2) -> int:
        return together(word, threads, _LOOKS, own[mine])

    end, done = time.perf_counter() + seconds, 0
    while done < _ENOUGH and time.perf_counter() < end:
        for mine in (0, 1):
            memory[0] = 0
            with _bound(mine):
                run(mine, 1)
            least[0, mine] = min(least[0, mine], _longs(counts)[mine].min())
        memory[0] = 0
        if not _both(run):
            continue
        took = _longs(counts)
        shared = counts[:, :, 1].min(axis=0) - counts[:, :, 0].max(axis=0) > _SHARED * took.max(axis=0)
        if shared.any():
            least[1] = np.minimum(least[1], took[:, shared].min(axis=1))
            done += 1
    return float((least[1] / least[0]).min()) if done else None


def _longs(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """How many ticks each round of each thread took."""
    return counts[:, :, 1] - counts[:, :, 0]


def _both(run: Callable[[int], int]) -> bool:
    """Whether run(0) and run(1) have met, on the first two cores that this process may use."""

    def on(mine: int) -> int:
        with _bound(mine):
            return run(mine)

    other = threading.Thread(target=on, args=(1,))
    try:
        other.start()
    except RuntimeError:  # The system gives no more threads; who needs them says so.
        return False
    late = on(0)
    other.join()
    return not late


@contextmanager
def _bound(number: int) -> Iterator[None]:
    """This thread runs on one of the cores that it may use, where the system can do that."""
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    allowed = os.sched_getaffinity(0)
    cores = first_of_cores(allowed)
    os.sched_setaffinity(0, {cores[number % len(cores)]})
    try:
        yield
    finally:
        os.sched_setaffinity(0, allowed)


def _best(threads: int, work: Callable[[int], object]) -> float:
    """The least seconds that `threads` take which all do such work: of the one that takes longest the time on its processor, so
    that other work of the machine counts as little as may be.
    """
    found = []
    for _ in range(_TIMES):
        ready, seconds = threading.Barrier(threads), [0.0] * threads

        def run(k: int, ready: threading.Barrier = ready, seconds: list[float] = seconds) -> None:
            ready.wait()
            began = time.thread_time()
            work(k)
            seconds[k] = time.thread_time() - began

        workers = [threading.Thread(target=run, args=(k,)) for k in range(threads)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        found.append(max(seconds))
    return min(found)


def render_peak(target: Target) -> str:
    """The IR of the functions that are timed."""
    text: str = template("peak.ll.j2").render(
        cycles=_CYCLES,
        products=_PRODUCTS,
        stream=_STREAM,
        ping=_PING,
        together=_TOGETHER,
        rounds=_ROUNDS,
        burst=_BURST,
        warm=_WARM,
        chains=_CHAINS,
        lanes=target.lanes,
        fused=target.fused,
        wide=target.wide,
        vector=f"<{target.lanes} x float>",
        mangled=f"v{target.lanes}f32",
        clock=target.clock,
    )
    return text


@cache
def _native(cache_dir: Path | None) -> Loaded:
    """The loaded functions."""

    def make(target: Target) -> list[bytes]:
        from graphc_codegen.object_code import llvm_modules  # A step from the object cache needs no emitter.

        return [llvm_modules.compile_module(render_peak(target), target)]

    return load(
        compiled_once("peak", _CYCLES, cache_dir, make), [_CYCLES, _PRODUCTS, _STREAM, _PING, _TOGETHER], host()
    )
