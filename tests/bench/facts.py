"""What only graphc can say of its steps: facts.py step WORKLOAD SECONDS, or facts.py dispatch SECONDS. Prints one line of JSON.

step      "multiply_adds" of a plain step's products and convolutions; "memory" as of `CompiledStep.memory`; from profiling
          builds, the seconds in all kernels of a plain and of a scaled step ("plain", "scaled"), measured in turns, and in those
          kernels of the scaled step that only scale, check and decide ("overflow")
dispatch  seconds of a step that does next to nothing, called from Python ("python") and, its native entry, from a jitted
          loop ("native")
"""

from __future__ import annotations

import ctypes
import json
import re
import statistics
import sys
import time
from collections.abc import Iterator
from typing import Any

import numba
import numpy as np
import workloads
from cells import training_cell

import graphc
from graphc import Tensor, nn
from graphc.debug import debug
from graphc.ir import Graph, Node
from graphc.steps.compiled_step import CompiledStep
from graphc_codegen.program import Call
from graphc_codegen.run.native import NativeBound

TURNS, CALLS = 15, 2000


def compiled(workload: str, variant: str, inputs: tuple[Tensor, ...]) -> CompiledStep:
    return graphc.compile(training_cell(workload, variant, workloads.weights(workload), nn.AdamW), *inputs)


def multiply_adds(step: CompiledStep) -> int:
    """Counted on the graph: what the mathematics need, whatever a kernel does (Winograd's does less, a border more).

    Raises ValueError if the program has fewer such kernels than the graph has nodes; a transposed convolution may take several.
    """
    counts = list(_counts(step.graph, 1))
    calls = sum(c.kernel.family.startswith(("gemm", "conv2d")) for c in step._lowered.program.calls())
    if calls < len(counts):
        raise ValueError(f"{len(counts)} products and convolutions in the graph, {calls} kernels for them")
    return sum(counts)


def _counts(graph: Graph, turns: int) -> Iterator[int]:
    """Of every product and convolution, in as many turns as its loop has."""
    for node in graph:
        if node.op.name == "Scan":
            yield from _counts(node.attrs["body"], turns * node.attrs["length"])
        elif count := _count(graph, node):
            yield turns * count


def _count(graph: Graph, node: Node) -> int:
    first, second = (graph.type(v) for v in node.inputs[:2]) if len(node.inputs) > 1 else (node.type, node.type)
    if node.op.name in ("MatMul", "BatchMatMul"):
        return node.type.size * first.shape[-2 if node.attrs["transpose_a"] else -1]
    # A pixel of the result, or of its gradient, has a product for each weight of one output channel.
    result, weight = {
        "Conv2D": (node.type, second),
        "Conv2DBackpropInput": (first, second),
        "Conv2DBackpropFilter": (first, node.type),
    }.get(node.op.name, (None, node.type))
    return result.size * weight.size // weight.shape[0] if result else 0


def kernel_seconds(step: CompiledStep, inputs: tuple[Tensor, ...], seconds: float) -> float:
    """Seconds in the kernels of a step of a profiling build, the mean of at least three."""
    before = sum(t.seconds for t in step.timings())
    steps, end = 0, time.perf_counter() + seconds
    while steps < 3 or time.perf_counter() < end:
        step(*inputs)
        steps += 1
    return (sum(t.seconds for t in step.timings()) - before) / steps


def of_step(workload: str, seconds: float) -> dict[str, Any]:
    x, y = workloads.batch(workload)
    inputs = Tensor(x), Tensor(y)
    plain = compiled(workload, "plain", inputs)
    with debug(profile=True):
        profiled = {variant: compiled(workload, variant, inputs) for variant in workloads.VARIANTS}
    found: dict[str, list[float]] = {variant: [] for variant in profiled}
    for turn in range(TURNS):
        for variant, step in profiled.items():
            made = kernel_seconds(step, inputs, seconds / TURNS)
            # The first turn finds no memory in the caches.
            found[variant] += [made] if turn else []
    medians = {variant: statistics.median(times) for variant, times in found.items()}
    own = medians["scaled"] * overflow_share(profiled["scaled"])
    return {"multiply_adds": multiply_adds(plain), "memory": plain.memory, **medians, "overflow": own}


def overflow_share(step: CompiledStep) -> float:
    """Of the seconds in kernels the share of those whose nodes all belong to loss scale and overflow check.

    These stand outside the branch that updates and outside of loops, whose nodes have numbers of their own: those of what a
    loop leaves to be done before it are not looked for.
    """
    timings, regions = step.timings(), {node.id: node.region for node in step.graph}
    outside = {stmt.note for stmt in step._lowered.program.body if isinstance(stmt, Call)}
    own = 0.0
    for t in timings:
        if t.nodes in outside:
            found = {regions.get(int(node)) for node in re.findall(r"%(\d+)", t.nodes)}
            own += t.seconds if found == {"overflow"} else 0.0
    return own / sum(t.seconds for t in timings)


class AddOne(nn.Cell):
    def construct(self, x: Tensor) -> Any:
        return x + 1


def dispatch(seconds: float) -> dict[str, float]:
    x = Tensor(np.zeros(1, np.float32))
    step = graphc.compile(AddOne(), x)
    step(x)
    entry = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_int64)(step._executable.entry_address)

    def loop(count: int, context: int) -> int:
        status = 0
        for _ in range(count):
            status |= entry(context)
        return status

    def called(count: int) -> None:
        for _ in range(count):
            step(x)

    assert isinstance(step._bound, NativeBound)
    context = step._bound.context
    jitted: Any = numba.njit(loop)
    jitted(1, context)
    return {"python": _per_call(called, seconds), "native": _per_call(lambda n: jitted(n, context), seconds)}


def _per_call(run: Any, seconds: float) -> float:
    times: list[float] = []
    end = time.perf_counter() + seconds
    while len(times) < 3 or time.perf_counter() < end:
        began = time.perf_counter()
        run(CALLS)
        times.append((time.perf_counter() - began) / CALLS)
    return statistics.median(times)


def main() -> None:
    what, *rest = sys.argv[1:]
    print(json.dumps(dispatch(float(rest[0])) if what == "dispatch" else of_step(rest[0], float(rest[1]))))


if __name__ == "__main__":
    main()
