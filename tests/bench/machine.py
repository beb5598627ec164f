"""What the processor can do at most: machine.py prints one line of JSON; `machine.py distance` one for each line that it reads:
{"distance": nanoseconds that a line of the cache takes from one CPU to another}, null if no two threads ran at the same time.

"flops": float32 operations a second, by multiply-adds of vectors in registers; "bandwidth": bytes a second, by summing an
array that no cache holds. Both by all threads that graphc would use (GRAPHC_NUM_THREADS), the best of many short runs.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from graphc.debug import threads
from graphc_codegen.declarations import Declarations
from graphc_codegen.object_code import llvm_modules, loading
from graphc_codegen.run.peak import measure_distance
from graphc_codegen.target import Target, host
from graphc_codegen.writer import Writer, vec

#: Independent sums: more than latency times throughput of a multiply-add, few enough for 16 registers.
SUMS = 12
#: Turns of a run, and the seconds to repeat it: short runs, of which a busy machine leaves some alone.
TURNS, SECONDS = 400_000, 1.0
BYTES = 1 << 27


def function(target: Target, count: int, step: int, turn: Callable[[Writer, str, list[str]], list[str]]) -> str:
    """The module text of `int32 run(ptr %p)`: a loop with SUMS carried vectors, whose sum it stores at %p."""
    declarations = Declarations()
    w = Writer(declarations, target.lanes, fused=target.fused)
    v = vec("float", w.lanes)
    sums = w.loop(count, lambda i, carried: turn(w, i, carried), [(v, "zeroinitializer")] * SUMS, step=step)
    total = sums[0]
    for value in sums[1:]:
        total = w.binary("fadd", total, value)
    w.vstore(total, "%p")
    head = f'define i32 @run(ptr %p) nounwind "prefer-vector-width"="{32 * w.lanes}" {{'
    return "\n".join([*declarations, head, "body:", *w.lines, "  ret i32 0", "}", ""])


def multiply_adds(w: Writer, i: str, sums: list[str]) -> list[str]:
    half, one = w.constant(0.5), w.constant(1.0)
    return [w.fma(value, half, one) for value in sums]


def reads(w: Writer, i: str, sums: list[str]) -> list[str]:
    at = w.at("%p", i)
    return [w.binary("fadd", value, w.vload(w.at(at, k * w.lanes))) for k, value in enumerate(sums)]


def best_seconds(target: Target, text: str, arrays: Sequence[np.ndarray]) -> float:
    """The least time in which as many threads as there are arrays run the function, each on its own."""
    loaded = loading.load([llvm_modules.compile_module(text, target)], ["run"], target)
    run = loaded.function("run")
    addresses = [int(a.ctypes.data) for a in arrays]
    seconds = []
    end = time.perf_counter() + SECONDS
    with ThreadPoolExecutor(len(arrays)) as pool:
        over = map if len(arrays) == 1 else pool.map
        while time.perf_counter() < end:
            began = time.perf_counter()
            list(over(run, addresses))
            seconds.append(time.perf_counter() - began)
    return min(seconds)


def main() -> None:
    target, count = host(), threads()
    floats = SUMS * target.lanes
    length = BYTES // 4 // floats * floats
    arrays = [np.ones(length, np.float32) for _ in range(count)]
    arithmetic = best_seconds(target, function(target, TURNS, 1, multiply_adds), arrays)
    # The sum overwrites the first vector; the array stays as good as any.
    memory = best_seconds(target, function(target, length, floats, reads), arrays)
    found = {
        "flops": 2 * floats * TURNS * count / arithmetic,
        "bandwidth": 4 * length * count / memory,
        "threads": count,
    }
    print(json.dumps(found))


def distances() -> None:
    for _ in sys.stdin:
        print(json.dumps({"distance": measure_distance(None, 1.0)}), flush=True)


if __name__ == "__main__":
    distances() if sys.argv[1:] == ["distance"] else main()
