"""Training steps side by side, in one command:

    python tests/bench/run.py --peers torch=PYTHON,torch-compile=PYTHON,jax=PYTHON,mindspore=PYTHON

PYTHON is an interpreter in whose environment that peer is installed; graphc runs in this one. Every measurement is a
process of its own, pinned to one CPU and one thread; rounds are interleaved, so that a busy moment hits everybody.
Prints Markdown tables of medians and their ratios to graphc, and writes everything measured with --json FILE. Standard
library only.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
TITLES = {"lenet": "LeNet-5, batch 32", "mlp": "MLP 784-512-512-10, batch 64"}
VARIANTS = ("plain", "scaled")
COLUMNS = {
    "step": ("step, ms", 1e3, 3),
    "cold_cpu": ("cold compile, CPU s", 1, 2),
    "start": ("warm start to first step, s", 1, 2),
    "rss": ("peak memory, MB", 1, 0),
    "warm_rss": ("peak memory after a warm start, MB", 1, 0),
}
#: Losses after the same number of steps may differ by float32 rounding only.
LOSS_TOLERANCE = 2e-3

Found = dict[tuple[str, str, str], dict[str, list[float]]]


def main() -> int:
    args = _parser().parse_args()
    load = os.getloadavg()[0]
    pythons = {"graphc": sys.executable}
    for item in filter(None, args.peers.split(",")):
        name, _, python = item.partition("=")
        if shutil.which(python) is None:
            print(f"{name} left out: {python!r} cannot be run")
        else:
            pythons[name] = python
    found: Found = defaultdict(lambda: defaultdict(list))
    versions: dict[str, str] = {}
    with tempfile.TemporaryDirectory() as scratch:
        failed: set[tuple[str, ...]] = set()
        for round in range(args.rounds):
            for workload in args.workloads.split(","):
                for variant in args.variants.split(","):
                    for peer, python in pythons.items():
                        key = (workload, variant, peer)
                        if key not in failed and not _measure(key, python, args, scratch, found[key], versions):
                            failed.add(key)
            print(f"round {round + 1} of {args.rounds} done", file=sys.stderr)
    report = "\n".join(_report(found, versions, args, load))
    print(report)
    if args.json:
        plain = [dict(zip(("workload", "variant", "peer"), k, strict=True)) | dict(v) for k, v in found.items()]
        Path(args.json).write_text(
            json.dumps({"machine": _machine(), "versions": versions, "measured": plain}, indent=1)
        )
    return 0 if all(found[k] for k in found if k[2] == "graphc") else 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peers", default="", help="NAME=PYTHON,... of torch, torch-compile, jax, mindspore")
    parser.add_argument("--rounds", type=int, default=3, help="processes per number (default %(default)s)")
    parser.add_argument("--seconds", type=float, default=3.0, help="of timed steps per process (default %(default)s)")
    parser.add_argument("--workloads", default=",".join(TITLES), help="default %(default)s")
    parser.add_argument("--variants", default=",".join(VARIANTS), help="default %(default)s")
    parser.add_argument("--cpu", type=int, help="the CPU to pin to (default: the last one this process may use)")
    parser.add_argument("--json", help="write every number here")
    return parser


def _measure(
    key: tuple[str, str, str],
    python: str,
    args: argparse.Namespace,
    scratch: str,
    into: dict[str, list[float]],
    versions: dict[str, str],
) -> bool:
    """One round of a peer: a process for the steps, one for the warm start. False, with a line why, if one fails."""
    workload, variant, peer = key
    caches = os.path.join(scratch, "-".join(key))
    first = not into
    for mode in ("run", "prime", "start") if first else ("run", "start"):
        # A cold compile finds no cache; the warm start finds the one that "prime" has left.
        cache = os.path.join(scratch, "empty") if mode == "run" else caches
        if mode == "run":
            shutil.rmtree(cache, ignore_errors=True)
        command = [python, str(HERE / "worker.py"), peer, workload, variant, "run" if mode == "run" else "start"]
        done = subprocess.run(
            [*_pin(args.cpu), *command, str(args.seconds)],
            env=_environment(cache),
            cwd=scratch,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            reason = (done.stderr.strip().splitlines() or ["no message"])[-1]
            print(f"{peer} left out for {workload} {variant}: {reason[:200]}")
            return False
        if mode == "prime":
            continue
        numbers: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
        versions[peer] = numbers.pop("version")
        if mode == "start":
            numbers = {"start": numbers["start"], "warm_rss": numbers["rss"]}
        for name, value in numbers.items():
            into[name].append(value)
    return True


def _pin(cpu: int | None) -> list[str]:
    if shutil.which("taskset") is None or not hasattr(os, "sched_getaffinity"):
        return []
    return ["taskset", "-c", str(max(os.sched_getaffinity(0)) if cpu is None else cpu)]


def _environment(cache: str) -> dict[str, str]:
    threads = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "GRAPHC_NUM_THREADS"), "1")
    caches = {
        "GRAPHC_CACHE_DIR": os.path.join(cache, "graphc"),
        "TORCHINDUCTOR_CACHE_DIR": os.path.join(cache, "torch"),
        "JAX_COMPILATION_CACHE_DIR": os.path.join(cache, "jax"),
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
        "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
        "MS_COMPILER_CACHE_ENABLE": "1",
        "MS_COMPILER_CACHE_PATH": os.path.join(cache, "mindspore"),
    }
    os.makedirs(cache, exist_ok=True)
    return {
        **os.environ,
        **threads,
        **caches,
        "PYTHONPATH": os.pathsep.join((str(ROOT), str(ROOT / "codegen"))),
        "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1",
        "TORCHINDUCTOR_COMPILE_THREADS": "1",
        "BENCH_STARTED": repr(time.time()),
    }


# ---- the report


def _report(found: Found, versions: dict[str, str], args: argparse.Namespace, load: float) -> list[str]:
    lines = [f"{_machine()}; one thread; medians of {args.rounds} processes; in brackets the ratio to graphc."]
    lines.append(f"Load average of the machine before the run: {load:.1f}.")
    lines += [f"Versions: {', '.join(versions.values())}.", "", *_summary(found, args)]
    for workload in args.workloads.split(","):
        for variant in args.variants.split(","):
            rows = {peer: v for (w, k, peer), v in found.items() if (w, k) == (workload, variant) and v}
            if not rows:
                continue
            title = f"{TITLES[workload]}, {'loss-scaled step' if variant == 'scaled' else 'plain step'}"
            lines += ["", f"**{title}**", "", *_table(rows)]
            odd = _disagreeing(rows)
            if odd:
                lines += ["", f"Losses differ, so these rows do not compute the same thing: {odd}"]
    return lines


def _summary(found: Found, args: argparse.Namespace) -> list[str]:
    """The step times alone, all workloads in one table."""
    columns = [(w, v) for w in args.workloads.split(",") for v in args.variants.split(",")]
    heads = [f"{TITLES[w].split(',')[0].split()[0]}, {'loss-scaled' if v == 'scaled' else v}" for w, v in columns]
    lines = [f"| step, ms | {' | '.join(heads)} |", f"|---|{'---:|' * len(columns)}"]
    for peer in dict.fromkeys(k[2] for k in found):
        cells = [_cell("step", peer, {p: n for (w, v, p), n in found.items() if (w, v) == c}) for c in columns]
        lines.append(f"| {peer} | {' | '.join(cells)} |")
    return lines


def _cell(name: str, peer: str, rows: dict[str, dict[str, list[float]]]) -> str:
    """The median of a peer, and its ratio to graphc's; empty if it was not measured."""
    numbers = rows.get(peer, {})
    if not numbers.get(name):
        return ""
    _, factor, digits = COLUMNS[name]
    value = statistics.median(numbers[name])
    base = rows.get("graphc", {}).get(name)
    ratio = f" ({value / statistics.median(base):.2f})" if peer != "graphc" and base else ""
    return f"{value * factor:.{digits}f}{ratio}"


def _table(rows: dict[str, dict[str, list[float]]]) -> list[str]:
    lines = [
        f"| | {' | '.join(title for title, _, _ in COLUMNS.values())} |",
        f"|---|{'---:|' * len(COLUMNS)}",
    ]
    for peer in rows:
        lines.append(f"| {peer} | {' | '.join(_cell(name, peer, rows) for name in COLUMNS)} |")
    return lines


def _disagreeing(rows: dict[str, dict[str, list[float]]]) -> str:
    losses = {peer: numbers["loss"][0] for peer, numbers in rows.items() if numbers.get("loss")}
    spread = max(losses.values()) - min(losses.values())
    return "" if spread <= LOSS_TOLERANCE else ", ".join(f"{p} {x:.5f}" for p, x in losses.items())


def _machine() -> str:
    model = platform.processor() or platform.machine()
    if os.path.exists("/proc/cpuinfo"):
        with open("/proc/cpuinfo") as file:
            names = [line.partition(":")[2].strip() for line in file if line.startswith("model name")]
        model = names[0] if names else model
    return f"{model}, {os.cpu_count()} CPUs, {platform.system()}, Python {platform.python_version()}"


if __name__ == "__main__":
    sys.exit(main())
