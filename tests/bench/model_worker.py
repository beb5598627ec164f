"""Training steps of networks of these years in one process: model_worker.py graphc|torch SECONDS. Answers each line of standard
input, a JSON object with "model", a name of MODELS, with the least seconds of a "step", its "processor" seconds, and those of the
"first" call.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from model_networks import MODELS, Array, Framework, Model

#: Gives what a step needs to be called, once it is made.
Made = Callable[[], Callable[[], Any]]


def with_graphc(model: Model) -> Made:
    import graphc
    from graphc import Parameter, Tensor, mint, nn

    class Base(nn.Cell):
        def construct(self, *x: Any) -> Any:
            return self.body(*x)

    f = mint.nn.functional
    of = Framework(mint, mint.nn, f, Base, lambda a: Parameter(Tensor(a)), Tensor, nn.CellList)

    class WithLoss(nn.Cell):
        def __init__(self, network: Any) -> None:
            super().__init__(auto_prefix=False)
            self.network = network

        def construct(self, *x: Any) -> Any:
            loss = f.mse_loss if model.squares else f.cross_entropy
            return loss(self.network(*x[:-1]), x[-1])

    network = model.made(of)
    cell = nn.TrainOneStepCell(WithLoss(network), nn.SGD(network.trainable_params(), 0.01, 0.9)).set_train()
    x = list(map(Tensor, model.inputs(np.random.default_rng(0))))

    def make() -> Callable[[], Any]:
        step = graphc.compile(cell, *x)
        return lambda: step(*x)

    return make


def with_torch(model: Model) -> Made:
    import torch
    import torch.nn.functional as f

    if "OMP_NUM_THREADS" in os.environ:
        torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))

    class Base(torch.nn.Module):  # type: ignore[misc]
        def forward(self, *x: Any) -> Any:
            return self.body(*x)

    def parameter(a: Array) -> Any:
        return torch.nn.Parameter(torch.from_numpy(a))

    network = model.made(Framework(torch, torch.nn, f, Base, parameter, torch.from_numpy, torch.nn.ModuleList)).train()
    optimizer = torch.optim.SGD(network.parameters(), 0.01, 0.9)
    x = list(map(torch.from_numpy, model.inputs(np.random.default_rng(0))))

    def step() -> float:
        optimizer.zero_grad()
        loss = (f.mse_loss if model.squares else f.cross_entropy)(network(*x[:-1]), x[-1])
        loss.backward()
        optimizer.step()
        return float(loss)

    return lambda: step


def timed(step: Callable[[], Any], seconds: float) -> Iterator[tuple[float, float]]:
    """The seconds of steps, and those of the processor, for so many seconds and three steps at least."""
    end, count = time.perf_counter() + seconds, 0
    while count < 3 or time.perf_counter() < end:
        begin, processor = time.perf_counter(), time.process_time()
        step()
        yield time.perf_counter() - begin, time.process_time() - processor
        count += 1


def main() -> None:
    frameworks = {"graphc": with_graphc, "torch": with_torch}
    with_one, seconds = frameworks[sys.argv[1]], float(sys.argv[2])
    for line in sys.stdin:
        make = with_one(MODELS[json.loads(line)["model"]])
        begin = time.perf_counter()
        step = make()
        loss = float(step())
        first = time.perf_counter() - begin
        least, processor = map(min, zip(*timed(step, seconds), strict=True))
        print(json.dumps({"step": least, "processor": processor, "first": first, "loss": loss}), flush=True)


if __name__ == "__main__":
    main()
