"""A whole program: train_gpt.py PEER TEXT.npy LOSS.

Trains the benchmark's transformer on batches of a text (int32, below its vocabulary) until the mean loss of the last 50 steps
is at most LOSS. Prints the number of steps and that loss, as JSON.
"""

from __future__ import annotations

import importlib
import json
import sys
from collections import deque

import numpy as np
import workloads

MOST_STEPS = 4000


def main() -> None:
    peer, text, goal = sys.argv[1:]
    tokens = np.load(text)
    rng = np.random.default_rng(3)
    rows, context = workloads.WORKLOADS["gpt"].batch, workloads.GPT.context

    def batch() -> tuple[workloads.Array, workloads.Array]:
        pieces = tokens[rng.integers(0, len(tokens) - context, rows)[:, None] + np.arange(context + 1)]
        return pieces[:, :-1].copy(), pieces[:, 1:].copy()

    module = importlib.import_module(f"peer_{peer.replace('-', '_')}")
    step = module.build("gpt", "plain", workloads.weights("gpt"), *batch())()
    last: deque[float] = deque(maxlen=50)
    for done in range(1, MOST_STEPS + 1):
        last.append(step(*batch()))
        mean = sum(last) / len(last)
        if len(last) == 50 and mean <= float(goal):
            print(json.dumps({"steps": done, "loss": mean}))
            return
    raise SystemExit(f"a mean loss of {mean:.3f} after {MOST_STEPS} steps, not {goal}")


if __name__ == "__main__":
    main()
