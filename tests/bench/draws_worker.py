"""Random numbers in one process: draws_worker.py graphc|torch. Answers each line of standard input, a JSON object with "draw",
a name of DRAWS, "size" and "seconds", with the least "seconds" of one draw of so many float32, over runs that take so long
together.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
from product_worker import CLOCK, least, repeated

#: A copy is what the others are compared with: it reads and writes as much as dropout does.
DRAWS = ("copy", "dropout", "uniform", "normal")
#: The part that dropout leaves out.
DROPPED = 0.3


def numbers(size: int) -> np.ndarray:
    return np.random.default_rng(0).standard_normal(size).astype(np.float32)


def with_graphc(q: dict[str, Any]) -> Callable[[int], float]:
    """What draws so many times in one step and returns the seconds of one."""
    import graphc
    from graphc import Tensor, nn, ops

    class Draw(nn.Cell):
        def construct(self, x: Any) -> Any:
            if q["draw"] == "copy":
                return x * 1.5
            if q["draw"] == "dropout":
                return ops.dropout(x, p=DROPPED)
            return (ops.rand if q["draw"] == "uniform" else ops.randn)(*x.shape)

    x = numbers(q["size"])
    step = graphc.compile(Draw(), Tensor(x))
    program, states = step._lowered.program, [p.storage for p in step._params]

    inputs = [x] if any(b.space == "input" for b in program.buffers) else []
    return repeated(program, inputs, states, step._lowered.constants)


def with_torch(q: dict[str, Any]) -> Callable[[int], float]:
    import torch

    if "OMP_NUM_THREADS" in os.environ:
        torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))
    x = torch.from_numpy(numbers(q["size"]))
    out = torch.empty_like(x)
    draw = {
        "copy": lambda: torch.mul(x, 1.5, out=out),
        "dropout": lambda: torch.nn.functional.dropout(x, DROPPED),
        "uniform": lambda: out.uniform_(),
        "normal": lambda: out.normal_(),
    }[q["draw"]]

    def run(count: int) -> float:
        began = CLOCK()
        for _ in range(count):
            draw()
        return (CLOCK() - began) / count

    return run


def main() -> None:
    make = {"graphc": with_graphc, "torch": with_torch}[sys.argv[1]]
    for line in sys.stdin:
        q = json.loads(line)
        print(json.dumps({"seconds": least(make(q), q["seconds"])}), flush=True)


if __name__ == "__main__":
    main()
