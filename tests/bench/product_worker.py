"""Products and attention in one process: product_worker.py graphc|torch. Answers each line of standard input, a JSON object, with
one.

A question has "m", "n", "k", "ta", "tb", "batch", "dtype" and "seconds" for a product; its answer has the least "seconds" of a
product, over runs of many that take so long together. Graphc's process answers {"peak": THREADS} with `measure_peak`,
{"gflops": THREADS} with the "gflops" alone, and {"distance": true} with the nanoseconds that a line of the cache takes from one
CPU to another.
{"attention": [heads, context, width], "causal", "backward", "seconds"} is answered with the least "seconds" and the "bytes" by
which the process grew at the most while it ran, null where the system does not say it.
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


def repeated(program: Any, inputs: Any, params: Any = (), consts: Any = ()) -> Callable[[int], float]:
    """What runs a program so many times in one loop and returns the seconds of one."""
    from graphc_codegen.program import For
    from graphc_codegen.run.executable import compile_program

    made: dict[int, Any] = {}

    def run(count: int) -> float:
        if count not in made:
            body = program.body if count == 1 else (For(count, (), program.body),)
            made[count] = compile_program(replace(program, body=body), cache_dir=None).bind(params, consts)
            made[count].run(inputs)
        began = CLOCK()
        made[count].run(inputs)
        return (CLOCK() - began) / count

    return run


def with_graphc(q: dict[str, Any]) -> Callable[[int], float]:
    """What runs the product so many times in one step and returns the seconds of one."""
    import graphc
    from graphc import Tensor, nn, ops

    class Product(nn.Cell):
        def construct(self, x: Any, y: Any) -> Any:
            kind = ops.MatMul if q["batch"] == 1 else ops.BatchMatMul
            return kind(transpose_a=q["ta"], transpose_b=q["tb"])(x, y)

    arrays = stored(q)
    program = graphc.compile(Product(), *map(Tensor, arrays))._lowered.program

    return repeated(program, arrays)


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


def attention_operands(q: dict[str, Any]) -> list[np.ndarray]:
    """Queries, keys, values, and a gradient of the result."""
    rng = np.random.default_rng(0)
    return [rng.standard_normal((1, *q["attention"])).astype(np.float32) for _ in range(4)]


def attention_with_graphc(q: dict[str, Any]) -> Callable[[], Any]:
    import graphc
    from graphc import Tensor, nn, ops

    _, context, width = q["attention"]
    hidden = np.triu(np.full((context, context), -1e9, np.float32), 1)

    class Attention(nn.Cell):
        def construct(self, x: Any, y: Any, z: Any) -> Any:
            scores = ops.matmul(x, ops.swapaxes(y, -1, -2)) * width**-0.5
            scores = scores + Tensor(hidden) if q["causal"] else scores
            return ops.matmul(ops.softmax(scores, -1), z)

    class WithGradients(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.net = Attention()
            self.grad = ops.GradOperation(get_all=True, sens_param=True)(self.net)

        def construct(self, x: Any, y: Any, z: Any, sens: Any) -> Any:
            return self.net(x, y, z), self.grad(x, y, z, sens)

    operands = [Tensor(a) for a in attention_operands(q)]
    cell, given = (WithGradients(), operands) if q["backward"] else (Attention(), operands[:3])
    step = graphc.compile(cell, *given)
    return lambda: step(*given)


def attention_with_torch(q: dict[str, Any]) -> Callable[[], Any]:
    import torch

    if "OMP_NUM_THREADS" in os.environ:
        torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))
    *given, sens = map(torch.from_numpy, attention_operands(q))
    for x in given:
        x.requires_grad_(q["backward"])

    def run() -> Any:
        y = torch.nn.functional.scaled_dot_product_attention(*given, is_causal=q["causal"])
        return torch.autograd.grad(y, given, sens) if q["backward"] else y

    return run


def grown(run: Callable[[], Any]) -> int | None:
    """The most bytes by which the first run makes this process larger."""
    try:
        with open("/proc/self/clear_refs", "w") as file:
            file.write("5")
        before, _ = _resident()
        run()
        return _resident()[1] - before
    except OSError:
        return None


def _resident() -> tuple[int, int]:
    """Bytes in memory now, and at the most."""
    with open("/proc/self/status") as file:
        found = dict(line.split(":", 1) for line in file)
    return tuple(int(found[name].split()[0]) << 10 for name in ("VmRSS", "VmHWM"))  # type: ignore[return-value]


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


def _attention(q: dict[str, Any]) -> dict[str, Any]:
    run = {"graphc": attention_with_graphc, "torch": attention_with_torch}[sys.argv[1]](q)

    def timed(count: int) -> float:
        began = CLOCK()
        for _ in range(count):
            run()
        return (CLOCK() - began) / count

    larger = grown(run)
    return {"seconds": least(timed, q["seconds"]), "bytes": larger}


def main() -> None:
    make = {"graphc": with_graphc, "torch": with_torch}[sys.argv[1]]
    made: dict[str, Callable[[int], float]] = {}
    for line in sys.stdin:
        q = json.loads(line)
        if "attention" in q:
            print(json.dumps(_attention(q)), flush=True)
            continue
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
