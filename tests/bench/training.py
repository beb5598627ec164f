"""What a training by Model adds to the bare steps, and what a sink saves: `python -m tests.bench.training`.

Prints a table for docs/training.md. Every way is timed in turns, and the least time counts: other work on the machine only adds.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import graphc
from graphc import Tensor, nn, train
from graphc.examples.lenet import LeNet5
from graphc.steps.calls import step_of

ROUNDS, STEPS = 15, 45
Array = np.ndarray[Any, np.dtype[Any]]


class Data:
    """Batches that lie in memory, with ready blocks as the data sets of graphc give them."""

    def __init__(self, images: Array, labels: Array) -> None:
        self.images, self.labels = images, labels
        self.at = 0

    def get_dataset_size(self) -> int:
        return len(self.images)

    def create_tuple_iterator(self, num_epochs: int = -1) -> Data:
        self.at = 0
        return self

    def __iter__(self) -> Any:
        return iter(zip(self.images, self.labels, strict=True))

    def blocks(self, columns: Any, steps: int) -> Any:
        if self.at == len(self.images):
            self.at = 0
            return None
        part = slice(self.at, min(self.at + steps, len(self.images)))
        self.at = part.stop
        return self.images[part], self.labels[part]


def ways(network: nn.Cell, images: Array, labels: Array) -> dict[str, Callable[[], Any]]:
    """An epoch of STEPS steps: each a call of the compiled step, by Model, by Model in a sink."""
    loss = nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean")
    model = train.Model(network, loss, nn.Momentum(network.trainable_params(), 0.01, 0.9))
    data = Data(images, labels)
    model.train(1, data)
    batches = [(Tensor(x), Tensor(y)) for x, y in data]
    step = step_of(model.train_network, batches[0])
    assert step is not None
    return {
        "bare": lambda: [step(*batch) for batch in batches],
        "Model": lambda: model.train(4, data),
        "sink": lambda: model.train(4, data, dataset_sink_mode=True),
    }


def measure(functions: dict[str, Callable[[], Any]]) -> dict[str, float]:
    """Microseconds per step, the least of all rounds."""
    least = dict.fromkeys(functions, float("inf"))
    for _ in range(ROUNDS):
        for name, function in functions.items():
            began = time.perf_counter()
            function()
            steps = STEPS if name == "bare" else 4 * STEPS
            least[name] = min(least[name], (time.perf_counter() - began) / steps * 1e6)
    return least


def main() -> None:
    """Print the table."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 10, (STEPS, 32)).astype(np.int32)
    graphc.set_seed(1)
    mlp = nn.SequentialCell(nn.Dense(64, 64, activation="relu"), nn.Dense(64, 32, activation="relu"), nn.Dense(32, 10))
    cases = {
        "MLP 64-64-32-10, batch 32": (mlp, (64,)),
        "LeNet-5, batch 32": (LeNet5(), (1, 32, 32)),
    }
    print(f"Load average {os.getloadavg()[0]:.1f}, {os.cpu_count()} CPUs.\n")
    print("| µs per step | bare step | Model | sink |\n|---|---:|---:|---:|")
    for name, (network, shape) in cases.items():
        images = rng.standard_normal((STEPS, 32, *shape)).astype(np.float32)
        found = measure(ways(network, images, labels))
        cells = " | ".join(f"{t:.1f} ({t / found['bare']:.2f})" for t in found.values())
        print(f"| {name} | {cells} |")


if __name__ == "__main__":
    main()
