"""Training steps in half precision beside those in float32, in one command:

    python tests/bench/halves.py [--torch PYTHON]

Every step runs in a process of its own, and all of a workload are timed in turns. Prints medians, their ratios to the same
framework's float32, and how many bytes graphc's values take (the arena: parameters and optimizer state are float32 in any case).
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile

import facts
import workloads
from processes import LeftOut, Process, last_cpu
from report import machine_name, table

import graphc

#: Peer and variant of a column, by its title; the first of each peer is what its others are compared with.
STEPS = {
    "float32": ("graphc", "plain"),
    "O2 float16": ("graphc", "O2-float16"),
    "O2 bfloat16": ("graphc", "O2-bfloat16"),
    "O3 bfloat16": ("graphc", "O3-bfloat16"),
    "torch": ("torch", "plain"),
    "torch, autocast bfloat16": ("torch-bfloat16", "plain"),
}
NAMES = ("mlp_wide", "lenet", "lenet256", "resnet20", "gpt")


def main() -> int:
    args = _parser().parse_args()
    load = os.getloadavg()[0]
    rows, left_out = [], []
    with tempfile.TemporaryDirectory() as scratch:
        for name in args.workloads.split(","):
            found, missing = measured(name, args, scratch)
            rows.append(row(name, found))
            left_out += missing
    heads = ["step, ms", *STEPS, *(f"arena, MB, {title}" for title in ("float32", "O2 float16", "O2 bfloat16"))]
    threads = "one thread" if args.threads == 1 else "all threads"
    lines = [
        f"{machine_name()}, {threads}; medians of {args.rounds} rounds. Load average before the run: {load:.1f}.",
        "",
    ]
    lines += [*(f"- {line}" for line in left_out), *([""] if left_out else []), *table(heads, rows)]
    print("\n".join(lines))
    return 0 if all(r[1] for r in rows) else 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--torch", help="the interpreter of an environment that has torch")
    parser.add_argument("--workloads", default=",".join(NAMES), help="(default %(default)s)")
    parser.add_argument("--threads", type=int, choices=(0, 1), default=1, help="1, or 0 for all (default %(default)s)")
    parser.add_argument("--rounds", type=int, default=5, help="turns of each step (default %(default)s)")
    parser.add_argument("--seconds", type=float, default=0.3, help="of timed steps per turn (default %(default)s)")
    parser.add_argument("--limit", type=float, default=90, help="seconds for one measurement (default %(default)s)")
    return parser


def measured(workload: str, args: argparse.Namespace, scratch: str) -> tuple[dict[str, float], list[str]]:
    """The median seconds of each step by its title, and a line for each that was left out."""
    cpu = last_cpu() if args.threads == 1 else None
    running: dict[str, Process] = {}
    times: dict[str, list[float]] = {}
    left_out: list[str] = []

    def leave(title: str, reason: LeftOut) -> None:
        running.pop(title).close()
        times.pop(title, None)
        left_out.append(f"{title} left out for {workload}: {reason}")

    try:
        for title, (peer, variant) in STEPS.items():
            python = sys.executable if peer == "graphc" else args.torch
            if python:
                running[title] = Process(
                    python, ["worker.py", peer, workload, variant, "warm"], scratch, cpu, args.limit
                )
                try:
                    running[title].ask()
                except LeftOut as reason:
                    leave(title, reason)
        for _ in range(args.rounds):
            for title in list(running):
                try:
                    times.setdefault(title, []).append(running[title].ask(repr(args.seconds))["step"])
                except LeftOut as reason:
                    leave(title, reason)
    finally:
        for process in running.values():
            process.close()
    return {title: statistics.median(t) for title, t in times.items()}, left_out


def row(workload: str, found: dict[str, float]) -> list[str]:
    """Milliseconds, ratios to the same framework's float32, and megabytes of the arena."""
    cells = [workloads.WORKLOADS[workload].title]
    for title, (peer, _) in STEPS.items():
        own = found.get("float32" if peer == "graphc" else "torch")
        ratio = f" ({found[title] / own:.2f})" if title in found and own and found[title] != own else ""
        cells.append(f"{found[title] * 1e3:.3f}{ratio}" if title in found else "")
    x, y = workloads.batch(workload)
    inputs = graphc.Tensor(x), graphc.Tensor(y)
    arenas = [
        facts.compiled(workload, STEPS[t][1], inputs).memory["arena"] for t in ("float32", "O2 float16", "O2 bfloat16")
    ]
    return [*cells, f"{arenas[0] / 1e6:.2f}", *(f"{a / 1e6:.2f} ({a / arenas[0]:.2f})" for a in arenas[1:])]


if __name__ == "__main__":
    sys.exit(main())
