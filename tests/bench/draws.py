"""Random numbers beside a copy, in one command:

    python tests/bench/draws.py [--torch PYTHON] [--threads 1,2] [--sizes 4096,65536] [--seconds 0.3]

PYTHON is an interpreter in whose environment torch is installed; graphc runs in this one. Prints nanoseconds for each of so many
float32 that are multiplied by a number (`copy`), dropped out, drawn uniform and drawn normal, and in brackets how many times as
long as a copy of graphc's that is. Both processes live side by side and take turns; times are the least.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile

from draws_worker import DRAWS
from processes import LeftOut, Process, last_cpu

#: Elements: some that stay in the first cache, in the second, in the third, in none.
SIZES = "4096,65536,1048576,16777216"


def table(threads: int, torch: str | None, sizes: list[int], seconds: float) -> list[str]:
    cpu = last_cpu() if threads == 1 else None
    pythons = {"graphc": sys.executable} | ({"torch": torch} if torch else {})
    lines = [f"| {threads} thread(s), ns | {' | '.join(f'{p} {d}' for p in pythons for d in DRAWS)} |"]
    lines.append("|---" + "|---:" * len(pythons) * len(DRAWS) + "|")
    with tempfile.TemporaryDirectory() as cache:
        workers = [Process(python, ["draws_worker.py", name], cache, cpu, 120) for name, python in pythons.items()]
        try:
            for size in sizes:
                asked = [json.dumps({"draw": draw, "size": size, "seconds": seconds}) for draw in DRAWS]
                times = [worker.ask(q)["seconds"] / size * 1e9 for worker in workers for q in asked]
                cells = [f"{t:.3f} ({t / times[0]:.2f})" for t in times]
                lines.append(f"| {size:,} numbers | {' | '.join(cells)} |")
        finally:
            for worker in workers:
                worker.close()
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--torch", help="an interpreter with torch")
    parser.add_argument("--threads", default="1,2", help="numbers of threads (default %(default)s)")
    parser.add_argument("--sizes", default=SIZES, help="how many numbers (default %(default)s)")
    parser.add_argument("--seconds", type=float, default=0.3, help="of one measurement (default %(default)s)")
    args = parser.parse_args()
    sizes = [int(size) for size in args.sizes.split(",")]
    for threads in map(int, args.threads.split(",")):
        try:
            print("\n".join(table(threads, args.torch, sizes, args.seconds)), end="\n\n", flush=True)
        except LeftOut as reason:
            print(f"left out: {reason}", file=sys.stderr)


if __name__ == "__main__":
    main()
