"""Convolutions that nobody tuned for, beside torch's, in one command:

    python tests/bench/convolutions.py --torch PYTHON [--count 90] [--seed 1] [--threads 1,2] [--rows TEXT] [--worst 20]
        [--uneven]

PYTHON is an interpreter in whose environment torch is installed; graphc runs in this one. Shapes are drawn by the seed: along
one, two or three axes, with windows of 1 to 9, strides, dilations, groups, depthwise and transposed, of images of any size. With
--uneven the two axes of images differ, in size, window and stride, windows may cover an axis, and strides reach 5. Both
processes live side by side and take turns; each time is the median of many calls from Python, float32. Prints the medians of
graphc's time over torch's, forward alone and with both gradients, then the worst rows.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import statistics
import sys
import tempfile
from typing import Any

from processes import LeftOut, Process, last_cpu

KINDS = (
    "plain",
    "plain",
    "plain",
    "strided",
    "dilated",
    "transposed",
    "depthwise",
    "grouped",
    "pixels",
    "line",
    "volume",
)
CHANNELS = (3, 8, 16, 24, 32, 48, 64, 96, 128, 192, 256, 512)
SIZES = {1: (32, 100, 128, 256, 500), 2: (4, 7, 8, 14, 16, 28, 32, 56, 64), 3: (4, 8, 12, 16)}
WINDOWS = {1: (2, 3, 5, 7, 9), 2: (2, 3, 3, 3, 4, 5, 7), 3: (2, 3, 3)}
#: Multiply-adds of a row, and the most elements of an image batch.
LEAST, MOST, ELEMENTS = 2e5, 6e8, 8e6


#: Of uneven ones: sizes of an axis, windows, and strides along it.
UNEVEN = (1, 4, 7, 16, 22, 40, 64, 100, 128, 200, 500), (1, 1, 2, 3, 4, 5, 7, 8, 11, 16, 25), (1, 1, 1, 2, 3, 4, 5)


def questions(count: int, seed: int, uneven: bool = False) -> list[dict[str, Any]]:
    """So many rows."""
    draw, made = random.Random(seed), []
    while len(made) < count:
        q = (_uneven if uneven else _drawn)(draw)
        if LEAST < q["products"] < MOST and max(_elements(q)) < ELEMENTS:
            made.append(q)
    return made


def _drawn(draw: random.Random) -> dict[str, Any]:
    kind = draw.choice(KINDS)
    axes = {"line": 1, "volume": 3}.get(kind, 2)
    ins, outs, groups = draw.choice(CHANNELS), draw.choice(CHANNELS[1:]), 1
    window, stride, dilation = draw.choice(WINDOWS[axes]), 1, 1
    if kind == "strided":
        stride = 2
    elif kind == "transposed":
        window, stride = draw.choice((2, 3, 4, 5)), draw.choice((1, 2, 2, 2, 4))
    elif kind == "dilated":
        window, dilation = 3, draw.choice((2, 3, 4, 6, 12))
    elif kind == "depthwise":
        ins = outs = groups = draw.choice((16, 32, 48, 96, 128, 256, 384))
        stride = draw.choice((1, 1, 2))
    elif kind == "grouped":
        groups = draw.choice((2, 4, 8, 32))
        ins, outs = (groups * draw.choice((4, 8, 16, 32)) for _ in range(2))
    elif kind == "pixels":
        window = 1
    size, pad = draw.choice(SIZES[axes]), dilation * (window - 1) // 2
    if kind == "transposed":
        pad = max(0, (window - stride) // 2)
        out = (size - 1) * stride - 2 * pad + window
    else:
        out = (size + 2 * pad - dilation * (window - 1) - 1) // stride + 1
    batch = draw.choice((1, 2, 4, 8, 16, 32))
    along = {"size": size, "out": out, "window": window, "stride": stride, "dilation": dilation, "pad": pad}
    return _question(kind, (batch, ins, outs, groups), {name: [value] * axes for name, value in along.items()})


def _uneven(draw: random.Random) -> dict[str, Any]:
    """Images whose axes differ; a third of the windows cover an axis."""
    ins, outs, batch = draw.choice((1, 1, *CHANNELS)), draw.choice(CHANNELS[1:]), draw.choice((1, 4, 8, 16, 32))
    along: dict[str, list[int]] = {name: [] for name in ("size", "out", "window", "stride", "dilation", "pad")}
    covered = draw.choice((0, 1, None, None, None, None))
    for axis in range(2):
        size, window, stride = map(draw.choice, UNEVEN)
        if axis == covered:
            window = size
        pad = draw.choice((0, window // 2)) if axis != covered else 0
        out = (size + 2 * pad - window) // stride + 1
        for name, value in zip(along, (size, out, window, stride, 1, pad), strict=True):
            along[name].append(value)
    return _question("uneven", (batch, ins, outs, 1), along)


def _question(kind: str, counts: tuple[int, int, int, int], along: dict[str, list[int]]) -> dict[str, Any]:
    """A row; `along` has a number for each axis."""
    batch, ins, outs, groups = counts
    pixels = math.prod(max(0, n) for n in along["size" if kind == "transposed" else "out"])
    products = batch * pixels * ins * outs // groups * math.prod(along["window"])
    named = {"kind": kind, "axes": len(along["size"]), "batch": batch, "ins": ins, "outs": outs, "groups": groups}
    return {**named, **along, "products": products}


def _elements(q: dict[str, Any]) -> tuple[int, int]:
    before, behind = math.prod(q["size"]), math.prod(max(n, 0) for n in q["out"])
    return q["batch"] * q["ins"] * before, q["batch"] * q["outs"] * behind


def title(q: dict[str, Any]) -> str:
    """What a row is called."""
    size = " x ".join(map(str, q["size"]))
    more = [f"{name} {_each(q[name])}" for name in ("stride", "dilation") if max(q[name]) > 1]
    more += [f"groups {q['groups']}"] if q["groups"] > 1 else []
    turned = ["transposed"] if q["kind"] == "transposed" else []
    return ", ".join(
        [f"{q['batch']} of {q['ins']} to {q['outs']}", size, f"window {_each(q['window'])}", *more, *turned]
    )


def _each(numbers: list[int]) -> str:
    """One number where all are the same."""
    return " x ".join(map(str, numbers if len(set(numbers)) > 1 else numbers[:1]))


def table(threads: int, args: argparse.Namespace) -> list[str]:
    cpu = last_cpu() if threads == 1 else None
    rows = []
    with tempfile.TemporaryDirectory() as cache:
        workers = [
            Process(python, ["convolution_worker.py", name, str(args.seconds)], cache, cpu, 120)
            for name, python in (("graphc", sys.executable), ("torch", args.torch))
        ]
        try:
            for q in questions(args.count, args.seed, args.uneven):
                if args.rows not in title(q):
                    continue
                try:
                    own, other = (worker.ask(json.dumps(q)) for worker in workers)
                except LeftOut as reason:
                    print(f"{title(q)} left out: {reason}", file=sys.stderr)
                    continue
                rows.append((q, own, other, [own[k] / other[k] for k in ("forward", "both")]))
        finally:
            for worker in workers:
                worker.close()
    return [f"{threads} thread(s), {len(rows)} convolutions, seed {args.seed}.", "", *_lines(rows, args.worst)]


def _lines(rows: list[Any], worst: int) -> list[str]:
    lines = [
        "| graphc / torch | forward | with gradients | GFLOP/s |",
        "|---|---:|---:|---:|",
        f"| median | {' | '.join(f'{statistics.median([r[3][k] for r in rows]):.2f}' for k in range(2))} | |",
    ]
    for q, own, _, ratios in sorted(rows, key=lambda row: -math.prod(row[3]))[:worst]:
        # Both gradients take as many multiplications each as the convolution.
        rate = 6 * q["products"] / own["both"] / 1e9
        lines.append(f"| {title(q)} | {ratios[0]:.2f} | {ratios[1]:.2f} | {rate:.0f} |")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--torch", required=True, help="an interpreter with torch")
    parser.add_argument("--count", type=int, default=90, help="convolutions (default %(default)s)")
    parser.add_argument("--uneven", action="store_true", help="images whose axes differ")
    parser.add_argument("--seed", type=int, default=1, help="which (default %(default)s)")
    parser.add_argument("--threads", default="1,2", help="numbers of threads (default %(default)s)")
    parser.add_argument("--rows", default="", metavar="TEXT", help="only rows with this in their title")
    parser.add_argument("--worst", type=int, default=20, help="rows that are printed (default %(default)s)")
    parser.add_argument("--seconds", type=float, default=0.2, help="of one measurement (default %(default)s)")
    args = parser.parse_args()
    for threads in map(int, args.threads.split(",")):
        print("\n".join(table(threads, args)), end="\n\n", flush=True)


if __name__ == "__main__":
    main()
