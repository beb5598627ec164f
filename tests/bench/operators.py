"""Operators that nobody tuned for, beside torch's, in one command:

    python tests/bench/operators.py --torch PYTHON [--threads 1,2] [--cases TEXT] [--dtype float64] [--worst 30]

PYTHON is an interpreter in whose environment torch is installed; graphc runs in this one. Every case of `operator_worker.py` is a
compiled step here, and eager there. Both processes live side by side and take turns; each time is the median of many calls from
Python, of float32 or what `--dtype` says. Prints the medians of graphc's time over torch's, forward alone and with the gradients,
then the worst cases with graphc's times in microseconds.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
from typing import Any

from operator_worker import CASES
from processes import LeftOut, Process, last_cpu


def table(threads: int, args: argparse.Namespace) -> list[str]:
    cpu = last_cpu() if threads == 1 else None
    rows = []
    with tempfile.TemporaryDirectory() as cache:
        pythons = {"graphc": sys.executable, "torch": args.torch}
        workers = {name: started(name, python, cache, cpu, args) for name, python in pythons.items()}
        try:
            for case in CASES:
                if args.cases not in case:
                    continue
                try:
                    own, other = (worker.ask(json.dumps({"case": case})) for worker in workers.values())
                except LeftOut as reason:
                    print(f"{case} left out: {reason}", file=sys.stderr)
                    for name, python in pythons.items():
                        workers[name].close()
                        workers[name] = started(name, python, cache, cpu, args)
                    continue
                rows.append((case, own, {k: own[k] / other[k] for k in own if own[k] is not None}))
        finally:
            for worker in workers.values():
                worker.close()
    return [f"{threads} thread(s), {len(rows)} operators of {args.dtype}.", "", *_lines(rows, args.worst)]


def started(name: str, python: str, cache: str, cpu: int | None, args: argparse.Namespace) -> Process:
    return Process(python, ["operator_worker.py", name, str(args.seconds), args.dtype], cache, cpu, 120)


def _lines(rows: list[tuple[str, dict[str, Any], dict[str, float]]], worst: int) -> list[str]:
    def cells(ratios: dict[str, float], own: dict[str, Any]) -> str:
        return " | ".join(f"{ratios[k]:.2f} ({own[k] * 1e6:,.0f})" if k in ratios else "" for k in ("forward", "both"))

    medians = [statistics.median([r[k] for _, _, r in rows if k in r] or [0.0]) for k in ("forward", "both")]
    lines = ["| graphc / torch (us) | forward | with gradients |", "|---|---:|---:|"]
    lines.append(f"| median | {medians[0]:.2f} | {medians[1]:.2f} |")
    for case, own, ratios in sorted(rows, key=lambda row: -max(row[2].values()))[:worst]:
        lines.append(f"| {case} | {cells(ratios, own)} |")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--torch", required=True, help="an interpreter with torch")
    parser.add_argument("--threads", default="1,2", help="numbers of threads (default %(default)s)")
    parser.add_argument("--cases", default="", metavar="TEXT", help="only cases with this in their names")
    parser.add_argument(
        "--dtype", default="float32", choices=("float32", "float64", "float16", "bfloat16"), help="(%(default)s)"
    )
    parser.add_argument("--worst", type=int, default=30, help="cases that are printed (default %(default)s)")
    parser.add_argument("--seconds", type=float, default=0.1, help="of one measurement (default %(default)s)")
    args = parser.parse_args()
    for threads in map(int, args.threads.split(",")):
        print("\n".join(table(threads, args)), end="\n\n", flush=True)


if __name__ == "__main__":
    main()
