"""Samples a second into ready batches: arrays, and Python sources beside torch's DataLoader with as many workers.

usage: python tests/bench/data.py [--torch PYTHON] [--rounds 5]. PYTHON: an interpreter that has torch; without one graphc is
alone. Every figure is the median of rounds that alternate between the two, each in a process of its own, its best of three
passes.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

COUNT, BATCH = 60000, 64


class Images:
    """A source of the user's: MNIST's shape, one image and label per call, converted for the network."""

    def __init__(self, count: int = COUNT) -> None:
        self.images = np.random.default_rng(0).integers(0, 256, (count, 28, 28)).astype(np.uint8)
        self.labels = np.arange(count) % 10

    def __len__(self) -> int:
        return len(self.images)

    def __getitem__(self, i: int) -> tuple[Any, int]:
        return self.images[i].astype(np.float32) / 255, int(self.labels[i])


class Plain(Images):
    """The same images as they are: next to nothing is the source's own time."""

    def __getitem__(self, i: int) -> tuple[Any, int]:
        return self.images[i], int(self.labels[i])


#: Sources, and what their rows of the table begin with.
SOURCES: tuple[tuple[type[Images], str], ...] = ((Images, "converts"), (Plain, "plain"))


def rate(make: Callable[[], Iterable[Any]], passes: int = 3) -> float:
    """Samples a second of the best pass, the start of workers left out: each has given some of the first batches."""
    best = 0.0
    for _ in range(passes):
        iterator = iter(make())
        for _ in range(16):
            next(iterator)
        start, seen = time.perf_counter(), 0
        for batch in iterator:
            seen += len(batch[0])
        best = max(best, seen / (time.perf_counter() - start))
    return best


def alone(source: Images, passes: int = 3) -> float:
    """Samples a second of nothing but calls of the source, in a shuffled order: no loader in one thread is faster."""
    order = np.random.default_rng(0).permutation(len(source)).tolist()
    best = 0.0
    for _ in range(passes):
        start = time.perf_counter()
        for first in range(0, len(order), BATCH):
            list(map(source.__getitem__, order[first : first + BATCH]))
        best = max(best, len(order) / (time.perf_counter() - start))
    return best


def graphc_rates() -> dict[str, float]:
    """Of arrays, and of each source alone and with 0 workers (the main thread), 1 (a thread reads ahead) and 2 (processes)."""
    import graphc.dataset as ds
    from graphc.dataset import transforms, vision

    images = Images()
    columns = {"image": images.images[..., None], "label": images.labels.astype(np.int32)}
    arrays = ds.NumpySlicesDataset(columns)
    recipe = arrays.map([vision.Rescale(1 / 255, 0.0), vision.HWC2CHW()], "image")
    recipe = recipe.map(transforms.TypeCast("int32"), "label")

    def of(dataset: Any) -> Callable[[], Iterable[Any]]:
        return lambda: dataset.batch(BATCH).create_tuple_iterator(num_epochs=1)

    found = {"arrays": rate(of(arrays)), "arrays, scaled": rate(of(recipe))}
    for kind, name in SOURCES:
        source = kind()
        found[f"{name}, alone"] = alone(source)
        for workers in (0, 1, 2):
            ds.config.set_debug_mode(workers == 0, [])
            made = ds.GeneratorDataset(source, ["image", "label"], num_parallel_workers=max(workers, 1))
            found[f"{name}, {workers} workers"] = rate(of(made))
    ds.config.set_debug_mode(False)
    return found


def torch_rates() -> dict[str, float]:
    """Of the same sources, by torch's DataLoader."""
    import torch

    torch.set_num_threads(1)
    found = {}
    for kind, name in SOURCES:
        source: Any = kind()
        for workers in (0, 1, 2):
            loader = torch.utils.data.DataLoader(source, BATCH, shuffle=True, num_workers=workers)
            found[f"{name}, {workers} workers"] = rate(lambda loader=loader: loader)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--torch", help="an interpreter that has torch")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", choices=("graphc", "torch"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.only:
        print(json.dumps(graphc_rates() if options.only == "graphc" else torch_rates()))
        return
    peers = {"graphc": sys.executable, **({"torch": options.torch} if options.torch else {})}
    runs: dict[str, list[dict[str, float]]] = {name: [] for name in peers}
    for _ in range(options.rounds):
        for name, python in peers.items():
            done = subprocess.run(
                [python, __file__, "--only", name], capture_output=True, text=True, check=True, timeout=600
            )
            runs[name].append(json.loads(done.stdout.splitlines()[-1]))
    medians = {
        name: {case: statistics.median(r[case] for r in rows) for case in rows[0]} for name, rows in runs.items()
    }
    print(f"{'thousand samples a second':28}" + "".join(f"{name:>10}" for name in peers))
    for case in medians["graphc"]:
        found = [medians[name].get(case) for name in peers]
        print(f"{case:28}" + "".join(f"{'-' if v is None else f'{v / 1000:.1f}':>10}" for v in found))


if __name__ == "__main__":
    main()
