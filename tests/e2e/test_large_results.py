"""Results that are made in memory of their own: every dtype has its numbers and shape, and nobody else writes there."""

from __future__ import annotations

import numpy as np
import pytest

import graphc
from graphc import Tensor, nn, ops


class Moved(nn.Cell):
    def construct(self, x):
        return x + x, ops.reshape(x, (-1,)), ops.transpose(x, (1, 0))


DTYPES = ["float32", "float64", "int8", "int32", "int64", "uint16", "float16", "bfloat16", "complex64"]


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_dtype(dtype):
    n = np.arange(300 * 401).reshape(300, 401)
    given = [n % 50 + k + (1j * (n % 5) if dtype == "complex64" else 0) for k in range(4)]
    step = graphc.compile(Moved(), Tensor(given[0], getattr(graphc, dtype)))
    kept = [(x, step(Tensor(x, getattr(graphc, dtype)))) for x in given[:3]]
    del kept[1]  # Its memory is that of the next results.
    kept.append((given[3], step(Tensor(given[3], getattr(graphc, dtype)))))
    for x, results in kept:
        for got, wanted in zip(results, (x + x, x.reshape(-1), x.T), strict=True):
            assert (got.dtype, got.shape) == (getattr(graphc, dtype), wanted.shape)
            assert (got.asnumpy().astype(wanted.dtype) == wanted).all()
