"""How evenly the kernels of training steps are divided among threads, more than this machine has, too:

    python tests/bench/shares.py [--workloads gpt,lenet] [--threads 2,4,8,16] [--worst 6]

Every kernel of a compiled step is called for one thread after the other, alone: in a copy of the kernels where meetings return at
once and no thread takes over what is another's. Prints for each workload the milliseconds of all parts together, of the longest
part of every call added up, which is what a step takes at the least on so many processors, and an equal part of all; then the
calls that lose most. The results of these calls are nobody's; only their times count.
"""

from __future__ import annotations

import argparse
import time
from collections import defaultdict
from typing import Any
from unittest import mock

import workloads
from cells import training_cell

import graphc
from graphc import Tensor, nn
from graphc.debug import debug
from graphc_codegen.object_code.llvm_modules import compile_module
from graphc_codegen.object_code.loading import Loaded, load
from graphc_codegen.program import NamedKernel, symbol
from graphc_codegen.target import host
from graphc_codegen.text.render import render_kernels
from graphc_codegen.thread_context import CONTEXT
from graphc_codegen.writer import Writer

#: Calls of a kernel for one thread, of which the fastest counts; and seconds that a call from Python takes itself.
REPEATS, CALL = 3, 4e-7


def own_part(w: Writer, count: int, part: Any) -> None:
    """In place of `Writer._hand_out`: a thread takes no more than its own."""
    w._divided = w._handed = True
    start, end, body = part("%thread")
    w.turns((start, end), lambda i, _: body(i))
    w._divided = False


def alone(program: Any) -> Loaded:
    """The kernels of a program, each for a thread that is alone."""
    with mock.patch.object(Writer, "_hand_out", own_part):
        text = render_kernels(program.kernels(), host(), threads=program.threads, loops=program.has_loops())
    head, meets, rest = text.partition("define void @graphc_barrier(ptr %context) #0 {\n")
    assert meets or program.threads == 1
    if meets:
        text = head + meets + "  ret void\n}\n" + rest[rest.index("\n}\n") + 3 :]
    return load([compile_module(text, host())], list(program.kernels()), host())


def parts(workload: str, threads: int) -> list[tuple[Any, list[float]]]:
    """Every call of a step with the seconds of each thread."""
    cell = training_cell(workload, "plain", workloads.weights(workload), nn.AdamW)
    inputs = [Tensor(a) for a in workloads.batch(workload)]
    with debug(threads=threads):
        step = graphc.compile(cell, *inputs)
    step(*inputs)  # Which binds the inputs.
    rendered = step._executable.rendered
    code = alone(rendered.program)
    functions = {name: code.function(name, words=2) for name in rendered.program.kernels()}
    known: dict[tuple[str, int], list[float]] = {}
    found = []
    for call, first in rendered.calls:
        key = symbol(call.kernel), first
        if key not in known:
            contexts = [step._bound.context + k * CONTEXT for k in range(call.kernel.threads)]
            known[key] = [seconds(functions[key[0]], context, first) for context in contexts]
        found.append((call, known[key]))
    return found


def seconds(function: Any, context: int, first: int) -> float:
    times = []
    for _ in range(REPEATS):
        began = time.perf_counter()
        function(context, first)
        times.append(time.perf_counter() - began)
    return max(min(times) - CALL, 0.0)


def title(kernel: Any) -> str:
    if not isinstance(kernel, NamedKernel):
        return str(kernel.family)
    p = dict(kernel.params)
    return (
        f"{kernel.name} {', '.join(str(p[n]) for n in ('batch', 'n', 'ci', 'co', 'm', 'k', 'h', 'w', 'kh') if n in p)}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workloads", default="mlp,lenet,gpt,resnet20", help="some of run.py's (default %(default)s)")
    parser.add_argument("--threads", default="2,4,8,16", help="numbers of threads (default %(default)s)")
    parser.add_argument("--worst", type=int, default=6, help="kernels that are printed of each (default %(default)s)")
    args = parser.parse_args()
    for workload in args.workloads.split(","):
        for threads in map(int, args.threads.split(",")):
            found = parts(workload, threads)
            total, longest = sum(sum(t) for _, t in found), sum(max(t) for _, t in found)
            print(
                f"{workload}, {threads} threads: {total * 1e3:.2f} ms in all, longest parts {longest * 1e3:.2f},",
                end=" ",
            )
            print(f"equal ones {total / threads * 1e3:.2f}; {sum(c.wait for c, _ in found)} meetings", flush=True)
            lost: dict[str, list[float]] = defaultdict(lambda: [0.0, 0.0])
            for call, times in found:
                entry = lost[title(call.kernel)]
                entry[0] += max(times)
                entry[1] += sum(times) / threads
            for name, (most, equal) in sorted(lost.items(), key=lambda x: x[1][1] - x[1][0])[: args.worst]:
                print(f"    {most * 1e3:7.3f} for {equal * 1e3:7.3f}  {name}", flush=True)


if __name__ == "__main__":
    main()
