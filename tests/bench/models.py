"""Training steps of ten networks of these years beside eager torch's, in one command:

    python tests/bench/models.py --torch PYTHON [--threads 1] [--models TEXT]

PYTHON is an interpreter in whose environment torch is installed; graphc runs in this one. Each network is written once
(`model_networks.py`), with momentum in float32. Both processes live side by side and take turns. A time is the least of a
step, of one thread that of the processor, so that other programs do not count; the first call, by the clock, is graphc's,
which compiles.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from typing import Any

from model_networks import MODELS
from processes import LeftOut, Process, last_cpu
from report import machine_name, table


def measured(args: argparse.Namespace) -> list[tuple[str, dict[str, Any], dict[str, Any]]]:
    cpu = last_cpu() if args.threads == 1 else None
    rows = []
    with tempfile.TemporaryDirectory() as cache:
        pythons = {"graphc": sys.executable, "torch": args.torch}

        def started(name: str) -> Process:
            return Process(pythons[name], ["model_worker.py", name, str(args.seconds)], cache, cpu, 240)

        workers = {name: started(name) for name in pythons}
        try:
            for model in MODELS:
                if args.models not in model:
                    continue
                try:
                    own, other = (worker.ask(json.dumps({"model": model})) for worker in workers.values())
                    rows.append((model, own, other))
                except LeftOut as reason:
                    print(f"{model} left out: {reason}", file=sys.stderr)
                    for name in pythons:
                        workers[name].close()
                        workers[name] = started(name)
        finally:
            for worker in workers.values():
                worker.close()
    return rows


def lines(rows: list[tuple[str, dict[str, Any], dict[str, Any]]], time: str) -> list[str]:
    made = [
        [
            model,
            f"{own[time] * 1e3:.2f}",
            f"{other[time] * 1e3:.2f}",
            f"{own[time] / other[time]:.2f}",
            f"{own['first']:.2f}",
        ]
        for model, own, other in rows
    ]
    return table(["step, ms", "graphc", "torch", "graphc / torch", "first call, s"], made)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--torch", required=True, help="an interpreter with torch")
    parser.add_argument("--threads", type=int, choices=(0, 1), default=1, help="1, or 0 for all (default %(default)s)")
    parser.add_argument("--models", default="", metavar="TEXT", help="only those with this in their names")
    parser.add_argument("--seconds", type=float, default=1.0, help="of timed steps (default %(default)s)")
    args = parser.parse_args()
    threads = "one thread" if args.threads == 1 else "all threads"
    print(
        "\n".join(
            [f"{machine_name()}, {threads}.", "", *lines(measured(args), "processor" if args.threads == 1 else "step")]
        )
    )


if __name__ == "__main__":
    main()
