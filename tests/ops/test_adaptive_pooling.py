"""Adaptive pooling: NumPy's means and maxima of parts, equal or not, and gradients by finite differences."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import graphc
from graphc import Tensor, ops

SIZES = [
    ((8, 12), (2, 3)),
    ((7, 12), (2, 3)),
    ((7, 11), (3, 5)),
    ((6, 5), (None, 5)),
    ((4, 9), (4, 1)),
    ((2, 6), (4, 3)),
    ((13, 1), (1, 1)),
]


def parts(size, wanted):
    return [slice(i * size // wanted, -(-(i + 1) * size // wanted)) for i in range(wanted)]


def pooled(x, sizes, how):
    wanted = [s or n for s, n in zip(sizes, x.shape[-2:], strict=True)]
    made = np.empty((*x.shape[:-2], *wanted))
    rows, columns = (parts(n, s) for n, s in zip(x.shape[-2:], wanted, strict=True))
    for (i, a), (j, b) in itertools.product(enumerate(rows), enumerate(columns)):
        made[..., i, j] = how(x[..., a, b], axis=(-2, -1))
    return made


@pytest.mark.parametrize(("plane", "sizes"), SIZES, ids=str)
@pytest.mark.parametrize("name", ["max", "avg"])
def test_values_and_gradients(name, plane, sizes):
    x = np.random.default_rng(0).permutation(6 * plane[0] * plane[1]).reshape(2, 3, *plane).astype(np.float32)
    call = getattr(ops, f"adaptive_{name}_pool2d")
    how = {"max": np.max, "avg": np.mean}[name]
    wanted = pooled(x.astype(np.float64), sizes, how)
    weights = np.cos(np.arange(wanted.size)).reshape(wanted.shape)
    np.testing.assert_allclose(graphc.jit(lambda x: call(x, sizes))(Tensor(x)).asnumpy(), wanted, rtol=1e-6)
    loss = graphc.grad(lambda x: (call(x, sizes) * Tensor(weights.astype(np.float32))).sum())
    got = graphc.jit(loss)(Tensor(x)).asnumpy()
    for at in itertools.islice(np.ndindex(x.shape), 0, None, 7):
        ends = []
        for step in (-0.25, 0.25):
            moved = x.astype(np.float64)
            moved[at] += step
            ends.append((pooled(moved, sizes, how) * weights).sum())
        assert got[at] == pytest.approx((ends[1] - ends[0]) / 0.5, abs=1e-4)
