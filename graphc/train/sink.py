"""Sinks: many training steps in one native loop over batches that lie in memory."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from graphc.ir.types import TensorType
from graphc.nn.cell.cell import Cell
from graphc.ops.tensor.tensor import Tensor
from graphc.steps.calls import step_of
from graphc.train.batches import Array, Batches, as_tensors
from graphc.train.outputs import mean_loss, overflow_of, scale_of

#: Bytes of batches that are taken from the data set at a time.
BLOCK = 64 << 20
#: Bytes of a loss that are kept of every step.
_KEPT = 1 << 16


@dataclass(frozen=True)
class Sunk:
    """What a sink gives.

    outputs: what its last step returned. inputs: that step's batch. losses: the mean loss of every step, float64 [steps],
    NaN where a step returns none. overflows, scales: bool and float64 [steps] of cells that return (loss, overflow, scale),
    else None. data_seconds: how long it has waited for the data set.
    """

    outputs: Any
    inputs: tuple[Tensor, ...]
    losses: Array
    overflows: Array | None
    scales: Array | None
    data_seconds: float


class Sink:
    """Runs a cell on the batches of a data set, so many at a time.

    The first batch is taken alone; its size says how many make a block of at most BLOCK bytes, or one. A block is one native
    loop. Batches of another shape, as the last of an epoch may be, are a block, and a compilation, of their own.
    """

    def __init__(self, cell: Cell, batches: Batches, check: Callable[[tuple[Tensor, ...]], None]) -> None:
        """`check` is called with a batch of each block, and raises for what the cell does not take."""
        self._cell = cell
        self._batches = batches
        self._check = check
        self._most = 1

    def run(self, steps: int) -> Sunk:
        """So many steps. What a step raises ends the sink; the steps before it are done."""
        parts: list[tuple[Array | None, ...]] = []
        left, waited = steps, 0.0
        outputs: Any = None
        batch: tuple[Tensor, ...] = ()
        while left:
            began = time.perf_counter()
            queue = self._batches.block(min(left, self._most))
            waited += time.perf_counter() - began
            count = len(queue[0])
            self._most = max(1, BLOCK // max(1, sum(q[0, ...].nbytes for q in queue)))
            batch = as_tensors([q[count - 1, ...] for q in queue])
            self._check(batch)
            outputs, *kept = self._run_block(queue, batch)
            parts.append(tuple(kept))
            left -= count
        losses, overflows, scales = (_joined([part[k] for part in parts]) for k in range(3))
        assert losses is not None
        return Sunk(outputs, batch, losses, overflows, scales, waited)

    def _run_block(
        self, queue: list[Array], batch: tuple[Tensor, ...]
    ) -> tuple[Any, Array, Array | None, Array | None]:
        """(what the last step returns, losses, overflows, scales)"""
        step = step_of(self._cell, batch)
        if step is None or step.serves_once:
            return self._one_by_one(queue)
        kept = _kept(step.results)
        outputs, values = step.run_many(queue, kept)
        count = len(queue[0])
        found = dict(zip(kept, values, strict=True))
        losses = found[0].reshape(count, -1).mean(axis=1) if 0 in found else np.full(count, np.nan)
        return (
            outputs,
            losses.astype(np.float64),
            found[1].reshape(count) if 1 in found else None,
            found[2].reshape(count).astype(np.float64) if 2 in found else None,
        )

    def _one_by_one(self, queue: list[Array]) -> tuple[Any, Array, Array | None, Array | None]:
        """Every step is a call: in PYNATIVE_MODE, and where each needs one of its own."""
        rows = []
        outputs: Any = None
        for i in range(len(queue[0])):
            outputs = self._cell(*(Tensor.wrap(q[i, ...]) for q in queue))
            rows.append((mean_loss(outputs), overflow_of(outputs), scale_of(outputs)))
        losses, overflows, scales = zip(*rows, strict=True)
        return (
            outputs,
            np.array([np.nan if x is None else x for x in losses]),
            None if None in overflows else np.array(overflows),
            None if None in scales else np.array(scales),
        )


def _joined(parts: list[Array | None]) -> Array | None:
    """Arrays one after the other, None if one is missing."""
    known = [part for part in parts if part is not None]
    return np.concatenate(known) if len(known) == len(parts) else None


def _kept(results: Any) -> list[int]:
    """Which results are kept of every step: the loss, the overflow, the loss scale."""
    items = [results] if isinstance(results, TensorType) else results if isinstance(results, (tuple, list)) else []
    kept = []
    for i, type in enumerate(items[:3]):
        if not isinstance(type, TensorType):
            break
        if i == 0:
            wanted = type.is_float and type.nbytes <= _KEPT
        elif i == 1:
            wanted = type.dtype == "bool" and type.nbytes == 1
            if not wanted:
                break
        else:
            wanted = type.is_float and type.nbytes == type.numpy.itemsize
        kept += [i] if wanted else []
    return kept
