"""One peer and one step in one process: worker.py PEER WORKLOAD VARIANT cold|warm.

Answers with lines of JSON. The first comes after the first steps; then one for every line of standard input, which holds a
number of seconds to time steps for.

cold    "cold_wall" and "cold_cpu": seconds from the built model to the end of its first step, without what the framework does
        once per process
warm    "start": wall seconds from the start of the process (BENCH_STARTED, from the caller) to the end of the first step
"""

from __future__ import annotations

import importlib
import json
import os
import resource
import sys
import time
from collections.abc import Callable
from typing import Any

import workloads

#: Steps before anything is timed; the loss after them is compared between the peers.
WARM_STEPS = 10
#: Steps before each turn, which find the caches as the other peers have left them, and the least number to time.
AGAIN, MIN_STEPS = 1, 3


def cpu_seconds() -> float:
    """Processor seconds of this process and of the compilers it has started."""
    own, children = (resource.getrusage(w) for w in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime


def timed(step: Callable[[], float], seconds: float) -> dict[str, float]:
    """The median time of steps, made one after the other for so many seconds."""
    for _ in range(AGAIN):
        step()
    times: list[float] = []
    end = time.perf_counter() + seconds
    while len(times) < MIN_STEPS or time.perf_counter() < end:
        began = time.perf_counter()
        step()
        times.append(time.perf_counter() - began)
    return {"step": sorted(times)[len(times) // 2], "steps": len(times)}


def answer(found: dict[str, Any]) -> None:
    rss = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({**found, "rss": rss}), flush=True)


def main() -> None:
    peer, workload, variant, mode = sys.argv[1:]
    module = importlib.import_module(f"peer_{peer.replace('-', '_')}")
    if mode == "cold":
        module.start()
    build = module.build(workload, variant, workloads.weights(workload), *workloads.batch(workload))
    cpu, wall = cpu_seconds(), time.perf_counter()
    step = build()
    step()
    found: dict[str, Any] = {"version": module.version()}
    if mode == "cold":
        found |= {"cold_cpu": cpu_seconds() - cpu, "cold_wall": time.perf_counter() - wall}
    else:
        found["start"] = time.time() - float(os.environ["BENCH_STARTED"])
    losses = [step() for _ in range(WARM_STEPS)]
    answer({**found, "loss": losses[-1]})
    for line in sys.stdin:
        answer(timed(step, float(line)))


if __name__ == "__main__":
    main()
