"""The largest and the least of what processes have, NaN among it: a part of the program eager.py."""

from __future__ import annotations

from typing import Any

import numpy as np

import graphc
from graphc import Tensor, nn, ops
from graphc.compat import mint_distributed as dist


class Extremes(nn.Cell):
    def __init__(self, op: str) -> None:
        super().__init__()
        self.calls = [ops.AllReduce(op), ops.Reduce(0, op), ops.ReduceScatter(op)]

    def construct(self, x: Tensor) -> Any:
        return self.calls[0](x), self.calls[1](x), self.calls[2](x)


def extremes(rank: int, size: int) -> None:
    """NaN of any process is in all of them, at any size, compiled and not: else they would take different ways."""
    for dtype, rows in (("float32", 1), ("float64", 700), ("float16", 3)):
        everybody = np.ones((size, size * rows, 3), dtype)
        everybody[:, 0] = [[1, -np.inf, -0.0 if k % 2 else 0.0] for k in range(size)]
        for k in range(size):
            everybody[k, rows * k, k % 3] = np.nan
            everybody[k, -1, 2] = k - 1
        x, part = Tensor(everybody[rank]), slice(rows * rank, rows * rank + rows)
        for op, numpy in (("max", np.maximum), ("min", np.minimum)):
            wanted = numpy.reduce(everybody)
            total, own, first = x * 1, ops.zeros((rows, 3), x.dtype), x * 1
            dist.all_reduce(total, op)
            dist.reduce_scatter_tensor(own, x, op)
            dist.reduce(first, 0, op)
            found = [(total, first, own)]
            for mode in (graphc.GRAPH_MODE, graphc.PYNATIVE_MODE):
                graphc.set_context(mode=mode)
                found.append(Extremes(op)(x))
            graphc.set_context(mode=graphc.GRAPH_MODE)
            for total, first, own in found:
                np.testing.assert_array_equal(total.asnumpy(), wanted)
                np.testing.assert_array_equal(own.asnumpy(), wanted[part])
                if rank == 0:
                    np.testing.assert_array_equal(first.asnumpy(), wanted)
                bits: list[Any] = [None] * size
                dist.all_gather_object(bits, total.asnumpy().tobytes())
                assert len(set(bits)) == 1
