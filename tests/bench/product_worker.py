"""Products in one process: product_worker.py graphc|torch. Answers each line of standard input, a JSON object, with one.

A question has "m", "n", "k", "ta", "tb", "batch", "dtype" and "seconds" for a product; its answer has the least "seconds" of a
product, over runs of many that take so long together. Graphc's process answers {"peak": THREADS} with `measure_peak`,
{"gflops": THREADS} with the "gflops" alone, and {"distance": true} with the nanoseconds that a line of the cache takes from one
CPU to another.
"""

from __future__ import annotations

import json
import math
import os
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

#: Of one thread only the time on its processor counts: other work of the machine counts as little as may be.
CLOCK = time.thread_time if os.environ.get("OMP_NUM_THREADS") == "1" else time.perf_counter
#: Seconds of one run, about, and the fewest runs.
RUN, LEAST = 2e-3, 3


def stored(q: dict[str, Any]) -> tuple[np.ndarray, np.ndarray]:
    """Both factors as they lie in memory."""
    rng = np.random.default_rng(0)
    batch = (q["batch"],) if q["batch"] > 1 else ()
    a, b = ((q["m"], q["k"]), (q["k"], q["n"]))
    shapes = (*batch, *(a[::-1] if q["ta"] else a)), (*batch, *(b[::-1] if q["tb"] else b))
    return tuple(rng.standard_normal(s).astype(q["dtype"]) for s in shapes)  # type: ignore[return-value]


def with_graphc(q: dict[str, Any]) -> Callable[[int], float]:
    """What runs the product so many times in one step and returns the seconds of one."""
    import graphc
    from graphc import Tensor, nn, ops
    from graphc_codegen.program import For
    from graphc_codegen.run.executable import compile_program

    class Product(nn.Cell):
        def construct(self, x: Any, y: Any) -> Any:
            kind = ops.MatMul if q["batch"] == 1 else ops.BatchMatMul
            return kind(transpose_a=q["ta"], transpose_b=q["tb"])(x, y)

    arrays = stored(q)
    program = graphc.compile(Product(), *map(Tensor, arrays))._lowered.program

    def bound(count: int) -> Any:
        body = program.body if count == 1 else (For(count, (), program.body),)
        return compile_program(replace(program, body=body), cache_dir=None).bind((), ())

    def run(count: int, made: dict[int, Any] = {}) -> float:  # noqa: B006
        if count not in made:
            made[count] = bound(count)
            made[count].run(arrays)
        began = CLOCK()
        made[count].run(arrays)
        return (CLOCK() - began) / count

    return run


def with_torch(q: dict[str, Any]) -> Callable[[int], float]:
    import torch

    if "OMP_NUM_THREADS" in os.environ:
        torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))
    a, b = map(torch.from_numpy, stored(q))
    a, b = (x.mT if turned else x for x, turned in ((a, q["ta"]), (b, q["tb"])))
    out = torch.empty((*a.shape[:-1], b.shape[-1]), dtype=a.dtype)

    def run(count: int) -> float:
        began = CLOCK()
        for _ in range(count):
            torch.matmul(a, b, out=out)
        return (CLOCK() - began) / count

    return run


def least(run: Callable[[int], float], seconds: float) -> float:
    """The least time of a product. Runs are as long as RUN, so that what begins and ends them does not count."""
    once = min(run(1) for _ in range(2))
    count = max(1, math.ceil(RUN / once))
    times, end = [once], CLOCK() + seconds
    while len(times) < LEAST or CLOCK() < end:
        times.append(run(count))
    return min(times)


def about_the_machine(q: dict[str, Any]) -> dict[str, Any]:
    from graphc_codegen.run.peak import measure_distance, measure_gflops, measure_peak

    if "peak" in q:
        return measure_peak(q["peak"], None)._asdict()
    if "gflops" in q:
        return {"gflops": measure_gflops(q["gflops"], None)}
    return {"distance": measure_distance(None, 1.0)}


def main() -> None:
    make = {"graphc": with_graphc, "torch": with_torch}[sys.argv[1]]
    made: dict[str, Callable[[int], float]] = {}
    for line in sys.stdin:
        q = json.loads(line)
        if "m" not in q:
            print(json.dumps(about_the_machine(q)), flush=True)
            continue
        seconds, key = q.pop("seconds"), json.dumps(q)
        if key not in made:
            made.clear()
            made[key] = make(q)
        print(json.dumps({"seconds": least(made[key], seconds)}), flush=True)


if __name__ == "__main__":
    main()
