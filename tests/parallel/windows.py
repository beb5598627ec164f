"""What several processes do in test_windows.py: `mpiexec -n N python windows.py DIRECTORY`. Each writes what it found there."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graphc
from graphc import Tensor, nn, ops
from graphc.debug import debug, switches
from graphc.errors import ExportError
from graphc.parallel import get_group_size, get_rank, init
from graphc.processes import shared_memory
from graphc_codegen.links import WINDOW_DATA, WINDOW_WORDS
from graphc_codegen.program import ITEMSIZE

#: Parts of different lengths, more than a vector, less than one, and nothing at all.
SHAPES = ((37, 11), (1,), (130,), (0, 3), (3,))


class Net(nn.Cell):
    def __init__(self) -> None:
        super().__init__()
        rng = np.random.default_rng(3)
        self.ws = graphc.ParameterTuple(
            graphc.Parameter(rng.normal(size=s).astype(np.float32), name=f"w{k}") for k, s in enumerate(SHAPES)
        )

    def construct(self, x: Tensor) -> Tensor:
        return sum(ops.reduce_sum(ops.square(ops.sin(w * x))) for w in self.ws)


def trained(rank: int, threads: int = 1, checked: bool = False, **settings: Any) -> dict[str, Any]:
    """The parameters after some steps, how its reductions travel, and whether memory beside them was left alone."""
    graphc.reset_auto_parallel_context()
    graphc.set_auto_parallel_context(parallel_mode="data_parallel", gradients_mean=True, **settings)
    before = _window(rank)
    with debug(threads=threads, jit=not checked):
        net = Net()
        step = nn.TrainOneStepCell(net, nn.Momentum(net.trainable_params(), 0.1, 0.9)).set_train()
        for turn in range(5):
            # Of a process that is late, others must not read what it had before.
            if turn == 2 and rank == 0:
                ops.reduce_sum(Tensor(np.ones((1500, 1500), np.float32))).asnumpy()
            step(Tensor(np.float32(rank + turn + 1)))
        compiled = graphc.compile(step, Tensor(np.float32(1)))
        found = [p.asnumpy().astype(np.float64).ravel() for p in net.get_parameters()]
    puts = [dict(c.kernel.params) for c in compiled._executable.program.calls() if c.kernel.family == "window_put"]
    return {
        "weights": np.concatenate(found).tolist(),
        "places": [n.attrs["at"] for n in compiled.graph if n.op.name.endswith("Start")],
        "beside": not (before != _window(rank))[~_written(puts)[: before.size]].any(),
    }


def added(rank: int, size: int) -> dict[str, Any]:
    """Sums of float64, which gradients are not."""
    graphc.reset_auto_parallel_context()
    graphc.set_auto_parallel_context(parallel_mode="data_parallel", gradients_mean=True)

    class Sums(nn.Cell):
        def construct(self, *xs: Tensor) -> tuple[Tensor, ...]:
            return tuple(ops.AllReduce()(x) for x in xs)

    given = [[np.random.default_rng(r).normal(size=s) for s in SHAPES] for r in range(size)]
    sums = graphc.compile(Sums(), *map(Tensor, given[rank]))
    made = np.concatenate([x.asnumpy().ravel() for x in sums(*map(Tensor, given[rank]))])
    places = [n.attrs["at"] for n in sums.graph if n.op.name == "AllReduceStart"]
    wanted = np.concatenate([sum(each).ravel() for each in zip(*given, strict=True)])
    assert made.dtype == np.float64
    with pytest.raises(ExportError, match="talks to other processes"):
        sums.export("sums")
    assert np.abs(made - wanted).max() < 1e-14
    return {"weights": made.tolist(), "places": places, "beside": True}


def in_little_room(rank: int) -> dict[str, Any]:
    """Where not all buckets fit into the windows."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("graphc.passes.shared_memory.WINDOW_BYTES", 4096)
        return trained(rank, all_reduce_fusion_config=[1, 2, 3])


def _window(rank: int) -> np.ndarray[Any, np.dtype[np.uint8]]:
    """What this process's window begins with, now."""
    opened = list(shared_memory._open.values())
    return np.frombuffer(opened[rank] if opened else b"", np.uint8)[: WINDOW_DATA + (1 << 16)].copy()


def _written(puts: list[dict[str, Any]]) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Where a step writes in its window."""
    where = np.zeros(WINDOW_DATA + (1 << 16), np.bool_)
    for at in WINDOW_WORDS.values():
        where[at : at + 8] = True
    for p in puts:
        begin = WINDOW_DATA + p["at"]
        where[begin : begin + p["room"] * ITEMSIZE[p["dtype"]]] = True
    return where


def main(here: str) -> None:
    init()
    rank, size = get_rank(), get_group_size()
    shared = {"enable_parallel_optimizer": True, "parallel_optimizer_config": {"parallel_optimizer_threshold": 0}}
    found = {
        "plain": trained(rank),
        "buckets": trained(rank, all_reduce_fusion_config=[1, 2, 3]),
        "float64": added(rank, size),
        "little": in_little_room(rank),
        "threads": trained(rank, threads=2),
        "checked": trained(rank, checked=True),
        "wire": trained(rank, wire_dtype="bfloat16"),
        "shared": trained(rank, **shared),
        "both": trained(rank, wire_dtype="bfloat16", **shared),
    }
    name = f"{size}-{rank}-{switches().shared_memory}.json"
    (Path(here) / name).write_text(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1])
