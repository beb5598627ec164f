"""Convolutions in one process: convolution_worker.py graphc|torch SECONDS. Answers each line of standard input, a row of
convolutions.py as JSON, with the seconds of a call: "forward", and "both" with the gradients for images and weights.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

#: The fewest and the most calls of a measurement.
LEAST, MOST = 3, 2000

Runs = tuple[Callable[[], Any], Callable[[], Any]]


def arrays(q: dict[str, Any]) -> list[np.ndarray]:
    """Images, weights and a gradient of the result."""
    rng = np.random.default_rng(0)
    sides = (q["ins"], q["outs"]) if q["kind"] == "transposed" else (q["outs"], q["ins"] // q["groups"])
    shapes = (
        (q["batch"], q["ins"], *q["size"]),
        (*sides, *q["window"]),
        (q["batch"], q["outs"], *q["out"]),
    )
    return [rng.standard_normal(s).astype(np.float32) for s in shapes]


def called(functions: Any, q: dict[str, Any], x: Any, w: Any) -> Any:
    """The convolution by torch's functions, or by those of the same names."""
    stride, pad, dilation = (tuple(q[name]) for name in ("stride", "pad", "dilation"))
    if q["kind"] == "transposed":
        return functions.conv_transpose2d(x, w, None, stride, pad)
    return getattr(functions, f"conv{q['axes']}d")(x, w, None, stride, pad, dilation, q["groups"])


def with_gradients(net: Any) -> Any:
    """A Cell of the result of a Cell and the gradients for its inputs, given one of the result behind these."""
    from graphc import nn, ops

    class Both(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.net = net
            self.grad = ops.GradOperation(get_all=True, sens_param=True)(net)

        def construct(self, *x: Any) -> Any:
            return self.net(*x[:-1]), self.grad(*x)

    return Both()


def with_graphc(q: dict[str, Any]) -> Runs:
    import graphc
    from graphc import Tensor, mint, nn

    class Forward(nn.Cell):
        def construct(self, x: Any, w: Any) -> Any:
            return called(mint.nn.functional, q, x, w)

    x, w, dy = map(Tensor, arrays(q))
    forward, both = graphc.compile(Forward(), x, w), graphc.compile(with_gradients(Forward()), x, w, dy)
    return lambda: forward(x, w), lambda: both(x, w, dy)


def with_torch(q: dict[str, Any]) -> Runs:
    import torch

    if "OMP_NUM_THREADS" in os.environ:
        torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))
    x, w, dy = map(torch.from_numpy, arrays(q))
    x.requires_grad_()
    w.requires_grad_()

    def forward() -> None:
        with torch.no_grad():
            called(torch.nn.functional, q, x, w)

    def both() -> None:
        x.grad = w.grad = None
        called(torch.nn.functional, q, x, w).backward(dy)

    return forward, both


def median(run: Callable[[], Any], seconds: float) -> float:
    """Of a call, after two."""
    for _ in range(2):
        run()
    times, end = [], time.perf_counter() + seconds
    while len(times) < LEAST or (len(times) < MOST and time.perf_counter() < end):
        began = time.perf_counter()
        run()
        times.append(time.perf_counter() - began)
    return statistics.median(times)


def main() -> None:
    make, seconds = {"graphc": with_graphc, "torch": with_torch}[sys.argv[1]], float(sys.argv[2])
    for line in sys.stdin:
        forward, both = make(json.loads(line))
        print(json.dumps({"forward": median(forward, seconds), "both": median(both, seconds)}), flush=True)


if __name__ == "__main__":
    main()
