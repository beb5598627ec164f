"""One measurement in one process: worker.py PEER WORKLOAD VARIANT run|start [SECONDS]. Prints one line of JSON.

run     cold compile, median step time, peak memory
start   wall seconds from the start of the process (BENCH_STARTED, from the caller) to the end of the first step
"""

from __future__ import annotations

import importlib
import json
import os
import resource
import sys
import time

import workloads

#: Steps before the timed ones; the loss after them is compared between the peers.
WARM_STEPS = 20
MIN_STEPS = 30


def cpu_seconds() -> float:
    """Processor seconds of this process and of the compilers it has started."""
    own, children = (resource.getrusage(w) for w in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime


def main() -> None:
    peer, workload, variant, mode, *rest = sys.argv[1:]
    seconds = float(rest[0]) if rest else 3.0
    module = importlib.import_module(f"peer_{peer.replace('-', '_')}")
    if mode == "run":
        module.start()
    build = module.build(workload, variant, workloads.weights(workload), *workloads.batch(workload))
    cpu, wall = cpu_seconds(), time.perf_counter()
    step = build()
    step()
    found = {"cold_cpu": cpu_seconds() - cpu, "cold_wall": time.perf_counter() - wall}
    if mode == "start":
        found = {"start": time.time() - float(os.environ["BENCH_STARTED"])}
    else:
        losses = [step() for _ in range(WARM_STEPS)]
        found["loss"] = losses[-1]
        times: list[float] = []
        end = time.perf_counter() + seconds
        while len(times) < MIN_STEPS or time.perf_counter() < end:
            began = time.perf_counter()
            step()
            times.append(time.perf_counter() - began)
        times.sort()
        found["step"] = times[len(times) // 2]
        found["steps"] = len(times)
    found["rss"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    found["version"] = module.version()
    print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main()
