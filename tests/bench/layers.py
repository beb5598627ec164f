"""What one more layer costs graphc to compile: python tests/bench/layers.py [--rounds N]

In a process of its own for each depth, whose kernels are in the object cache after the first compilation: the least processor
time of so many further ones. A layer is what the deeper network takes more, divided by the layers that it has more.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import subprocess
import sys
import time

#: Networks: the workload, the variable that sets its depth, two depths.
NETWORKS = {"GPT": ("gpt", "BENCH_LAYERS", 8, 24), "ResNet": ("resnet20", "BENCH_DEPTH", 20, 110)}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--workload", help="measure this one here, at the depth of the environment")
    args = parser.parse_args()
    if args.workload:
        print(json.dumps(measured(args.workload, args.rounds)))
        return 0
    for title, (workload, variable, small, large) in NETWORKS.items():
        few, many = (_at(workload, variable, depth, args.rounds) for depth in (small, large))
        nodes, seconds = ((many[name] - few[name]) / (large - small) for name in ("nodes", "seconds"))
        print(f"{title}, {small} to {large} layers: {nodes:.0f} nodes and {1e3 * seconds:.1f} ms for a layer more")
    return 0


def _at(workload: str, variable: str, depth: int, rounds: int) -> dict[str, float]:
    command = [sys.executable, __file__, "--workload", workload, "--rounds", str(rounds)]
    done = subprocess.run(command, env={**os.environ, variable: str(depth)}, capture_output=True, text=True, check=True)
    found: dict[str, float] = json.loads(done.stdout)
    return found


def measured(workload: str, rounds: int) -> dict[str, float]:
    """Nodes, and the least processor seconds of a compilation."""
    import cells
    from workloads import batch, weights

    import graphc
    from graphc import Tensor, nn

    cell = cells.training_cell(workload, "plain", weights(workload), nn.AdamW)
    inputs = tuple(map(Tensor, batch(workload)))
    graphc.compile(cell, *inputs)
    taken: list[float] = []
    for _ in range(rounds):
        gc.collect()
        start = time.process_time()
        step = graphc.compile(cell, *inputs)
        taken.append(time.process_time() - start)
    return {"nodes": step.graph.count(), "seconds": min(taken)}


if __name__ == "__main__":
    sys.exit(main())
