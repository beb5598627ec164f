"""Matrix products as a share of what the processor can do, in one command:

    python tests/bench/products.py [--quick] [--rows TEXT] [--torch PYTHON] [--threads 1,2] [--attention]

PYTHON is an interpreter in whose environment torch is installed; graphc runs in this one. Both are processes of their own, and
measure each product in turns; the least time counts. Prints a Markdown table per number of threads: GFLOP/s of every
transposition as a share of the peak that is measured beside each row, half of it for float64. Of products with one row or column
it is the bytes of the matrix a second, as a share of the measured rate of memory.

With --attention it is attention instead, written as two products and a softmax, beside torch's scaled_dot_product_attention:
milliseconds, with torch's as a multiple of graphc's, and by how many MB the process grows at the most.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator
from typing import Any

from processes import LeftOut, Process, last_cpu

SIZES = (64, 128, 256, 512, 1024, 2048, 4096)
QUICK = (64, 256, 1024)
#: m, n, k: not multiples of a tile, small batches, large results.
OTHERS = ((67, 67, 67), (131, 131, 131), (513, 513, 513), (1031, 1031, 1031), (64, 2048, 2048), (256, 2048, 2048))
OTHERS += ((2048, 2048, 256), (4096, 4096, 128))
#: Batch, m, n, k: attention's products, and larger ones.
BATCHES = ((48, 64, 64, 32), (12, 128, 128, 64), (8, 256, 256, 256), (4, 512, 512, 512))
WAYS = ("nn", "tn", "nt", "tt")
ROUNDS = 3
#: Of attention: contexts, widths of a head, heads.
CONTEXTS, WIDTHS, HEADS = (128, 512, 1024, 4096), (32, 64, 128), 4


def questions(quick: bool) -> Iterator[tuple[str, dict[str, Any]]]:
    """The rows of the table, each with a question but for the transposition."""
    for dtype in ("float32", "float64"):
        cubes = [(n, n, n) for n in (QUICK if quick else SIZES)]
        others = OTHERS[2:3] if quick else OTHERS if dtype == "float32" else OTHERS[:4]
        for m, n, k in (*cubes, *others):
            yield f"{m} x {n}, k = {k}, {dtype}", _question(m, n, k, dtype)
    for dtype in ("float32", "float64"):
        for batch, m, n, k in BATCHES[:1] if quick else BATCHES:
            yield f"{batch} of {m} x {n}, k = {k}, {dtype}", _question(m, n, k, dtype, batch)
    for m, n, k in ((1, 4096, 4096), (4096, 1, 4096)):
        yield f"{m} x {n}, k = {k}, float32 (memory)", _question(m, n, k, "float32")


def _question(m: int, n: int, k: int, dtype: str, batch: int = 1) -> dict[str, Any]:
    return {"m": m, "n": n, "k": k, "dtype": dtype, "batch": batch}


def share(q: dict[str, Any], seconds: float, peak: dict[str, float]) -> float:
    """Of the peak in arithmetic, or of the memory's rate where a matrix is read once."""
    if min(q["m"], q["n"]) == 1:
        return 4 * q["m"] * q["n"] * q["k"] / seconds / 1e9 / peak["gbs"]
    width = 2 if q["dtype"] == "float64" else 1
    return 2 * q["batch"] * q["m"] * q["n"] * q["k"] * width / seconds / 1e9 / peak["gflops"]


def table(threads: int, args: argparse.Namespace) -> list[str]:
    pythons = {"graphc": sys.executable, **({"torch": args.torch} if args.torch else {})}
    with tempfile.TemporaryDirectory() as cache:
        workers = {
            name: Process(python, ["product_worker.py", name], cache, last_cpu() if threads == 1 else None, 120)
            for name, python in pythons.items()
        }
        try:
            peak = workers["graphc"].ask(json.dumps({"peak": threads}))
            apart = workers["graphc"].ask(json.dumps({"distance": True}))["distance"] if threads > 1 else None
            titles = [f"{name} {way}" for name in workers for way in WAYS]
            lines = [
                f"{threads} thread(s): {peak['gflops']:.0f} GFLOP/s of float32 in registers, {peak['gbs']:.1f} GB/s of memory"
                + (f"; {apart:.0f} ns from one CPU to another." if apart is not None else "."),
                "",
                f"| m x n | {' | '.join(titles)} |",
                "|---" + "|---:" * len(titles) + "|",
            ]
            for title, q in questions(args.quick):
                if args.rows not in title:
                    continue
                cells = _row(workers, q, peak, args.seconds, threads)
                lines.append(f"| {title} | {' | '.join(cells)} |")
                print(lines[-1], file=sys.stderr)
            return lines
        finally:
            for worker in workers.values():
                worker.close()


def _row(
    workers: dict[str, Process], q: dict[str, Any], peak: dict[str, float], seconds: float, threads: int
) -> list[str]:
    """The cells. The peak in arithmetic is measured before each round, as clocks change: the highest one counts."""
    found: dict[tuple[str, str], float] = {}
    beside: list[float] = []
    for way in WAYS:
        line = json.dumps({**q, "ta": way[0] == "t", "tb": way[1] == "t", "seconds": seconds})
        for _ in range(ROUNDS):
            beside.append(workers["graphc"].ask(json.dumps({"gflops": threads}))["gflops"])
            for name, worker in workers.items():
                try:
                    took = worker.ask(line)["seconds"]
                except LeftOut:
                    continue
                found[name, way] = min(found.get((name, way), took), took)
    peak = {**peak, "gflops": max(beside)}
    return [
        f"{share(q, found[name, way], peak):.0%}" if (name, way) in found else "" for name in workers for way in WAYS
    ]


def attention_table(threads: int, args: argparse.Namespace) -> list[str]:
    pythons = {"graphc": sys.executable, **({"torch": args.torch} if args.torch else {})}
    titles = [f"{way}, {unit}" for way in ("forward", "with gradients") for unit in ("ms", "MB")]
    lines = [
        f"{threads} thread(s), {HEADS} heads.",
        "",
        f"| attention | {' | '.join(titles)} |",
        "|---" + "|---:" * 4 + "|",
    ]
    for width in WIDTHS[1:2] if args.quick else WIDTHS:
        for context in CONTEXTS[:2] if args.quick else CONTEXTS:
            for causal in (False, True):
                cells = []
                for backward in (False, True):
                    q = {"attention": [HEADS, context, width], "causal": causal, "backward": backward}
                    cells += _attention_cells(pythons, {**q, "seconds": args.seconds}, threads)
                title = f"context {context}, width {width}{', causal' if causal else ''}"
                lines.append(f"| {title} | {' | '.join(cells)} |")
                print(lines[-1], file=sys.stderr)
    return lines


def _attention_cells(pythons: dict[str, str], q: dict[str, Any], threads: int) -> list[str]:
    """Milliseconds and MB of each. A process has one question: what another one left behind is no part of it."""
    found: dict[str, list[dict[str, Any]]] = {name: [] for name in pythons}
    with tempfile.TemporaryDirectory() as cache:
        for _ in range(ROUNDS):
            for name, python in pythons.items():
                cpu = last_cpu() if threads == 1 else None
                worker = Process(python, ["product_worker.py", name], cache, cpu, 120)
                try:
                    found[name].append(worker.ask(json.dumps(q)))
                except LeftOut as reason:
                    print(f"{name} left out: {reason}", file=sys.stderr)
                finally:
                    worker.close()
    times = {name: min(a["seconds"] for a in answers) for name, answers in found.items() if answers}
    sizes = [min((a["bytes"] or 0) for a in answers) / 1e6 for answers in found.values() if answers]
    own = times.get("graphc", float("nan"))
    rest = [f" ({seconds / own:.2f})" for name, seconds in times.items() if name != "graphc"]
    return [f"{own * 1e3:.2f}{''.join(rest)}", " / ".join(f"{size:.0f}" for size in sizes)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--torch", help="an interpreter with torch")
    parser.add_argument("--quick", action="store_true", help="a few sizes")
    parser.add_argument("--rows", default="", metavar="TEXT", help="only rows with this in their title")
    parser.add_argument("--threads", default="1,2", help="numbers of threads (default %(default)s)")
    parser.add_argument("--seconds", type=float, default=0.05, help="of one measurement (default %(default)s)")
    parser.add_argument("--attention", action="store_true", help="attention instead of products")
    args = parser.parse_args()
    made = attention_table if args.attention else table
    for threads in map(int, args.threads.split(",")):
        print("\n".join(made(threads, args)), end="\n\n", flush=True)


if __name__ == "__main__":
    main()
