"""Functions made of ops, against NumPy, and what they refuse."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import graphc
from graphc import Tensor, ops
from tests.cells import Of

X = np.random.default_rng(0).normal(size=(3, 5)).astype(np.float32)
I = np.random.default_rng(1).integers(-9, 9, (4, 7)).astype(np.int32)


@pytest.mark.parametrize(
    ("function", "wanted"),
    [
        (lambda x: ops.tile(x, (2,)), np.tile(X, (2,))),
        (lambda x: ops.tile(x, (2, 1, 2)), np.tile(X, (2, 1, 2))),
        (lambda x: ops.cumsum(x, -1), np.cumsum(X, -1)),
        (lambda x: ops.cumsum(x, 0), np.cumsum(X, 0)),
        (lambda x: ops.round(x, decimals=1), np.round(X, 1)),
        (lambda x: ops.norm(x, "fro"), np.linalg.norm(X)),
        (lambda x: ops.norm(x, 0, 1), (X != 0).sum(1).astype(np.float32)),
        (lambda x: ops.norm(x, -np.inf, 0, True), np.abs(X).min(0, keepdims=True)),
        (lambda x: ops.std(x, ddof=1), X.std(ddof=1)),
        (lambda x: ops.var(x, (0, 1), keepdims=True), X.var(keepdims=True)),
        (lambda x: ops.unsqueeze(x, 1), X[:, None]),
        (lambda x: ops.masked_fill(x, x < 0, 2), np.where(X < 0, 2, X)),
        (lambda x: ops.layer_norm(x, (5,), eps=0.0), (X - X.mean(1, keepdims=True)) / X.std(1, keepdims=True)),
        (lambda x: ops.softplus(x, 3, 1), np.where(X * 3 > 1, X, np.log1p(np.exp(X * 3)) / 3)),
        (lambda x: ops.hinge_embedding_loss(x, ops.sign(x), 0.5), np.where(X > 0, X, np.maximum(0.5 - X, 0)).mean()),
        (lambda x: ops.l1_loss(x, x * 2, "sum"), np.abs(X).sum()),
    ],
)
def test_floats(function: Any, wanted: Any) -> None:
    got = Of(function)(Tensor(X)).asnumpy()
    assert got.dtype == np.float32
    assert got.shape == np.shape(wanted)
    np.testing.assert_allclose(got, wanted, rtol=2e-5, atol=2e-6)
    np.testing.assert_allclose(function(Tensor(X)).asnumpy(), wanted, rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize(
    ("function", "wanted"),
    [
        (lambda x: ops.cumsum(x, 1), np.cumsum(I, 1, dtype=np.int32)),
        (lambda x: ops.cumsum(x, 0, graphc.int64), np.cumsum(I, 0, dtype=np.int64)),
        (lambda x: ops.tile(x, (1, 3)), np.tile(I, (1, 3))),
        (lambda x: ops.addn([x, x, x]), I * 3),
        (lambda x: ops.masked_fill(x, x > 0, 5), np.where(I > 0, 5, I)),
        (lambda x: ops.chunk(x, 3, 1)[2], I[:, 6:]),
    ],
)
def test_integers(function: Any, wanted: Any) -> None:
    got = Of(function)(Tensor(I)).asnumpy()
    assert got.dtype == wanted.dtype
    np.testing.assert_array_equal(got, wanted)


def test_size() -> None:
    assert ops.size(Tensor(X)) == 15


@pytest.mark.parametrize("training", [True, False])
def test_batch_norm_moves_tensors_in_training_only(training: bool) -> None:
    mean, variance = np.arange(5, dtype=np.float32), np.arange(1, 6, dtype=np.float32)
    args = [Tensor(v) for v in (X, mean, variance)]
    got = ops.batch_norm(*args, None, None, training, eps=0.0).asnumpy()
    m, v = (X.mean(0), X.var(0)) if training else (mean, variance)
    np.testing.assert_allclose(got, (X - m) / np.sqrt(v), rtol=1e-4, atol=1e-5)
    moved = 0.9 * mean + 0.1 * m if training else mean
    np.testing.assert_allclose(args[1].asnumpy(), moved, rtol=1e-6)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: ops.tile(Tensor(X), (0, -1)), ValueError, "repetitions must not be negative"),
        (lambda: ops.chunk(Tensor(X), 0), ValueError, "chunks must be positive, got 0"),
        (lambda: ops.cumsum(Tensor(X), 2), ValueError, "axis 2 is out of range"),
        (lambda: ops.addn(()), TypeError, "must be a tuple or list of at least one tensor"),
        (lambda: ops.norm(Tensor(X), "nuc", 0), TypeError, "ord of vectors must be a number, got 'nuc'"),
        (
            lambda: ops.norm(Tensor(X), 3, (0, 1)),
            ValueError,
            "ord must be 'fro', 'nuc', inf, -inf, 1, -1, 2 or -2, got 3",
        ),
        (lambda: ops.gelu(Tensor(X), "exact"), ValueError, "approximate must be 'none' or 'tanh', got 'exact'"),
        (lambda: ops.gelu(Tensor(I)), TypeError, "expected a float tensor"),
        (lambda: ops.celu(Tensor(X), 0), ValueError, "alpha must not be 0"),
        (lambda: ops.glu(Tensor(X)), ValueError, "cannot be halved"),
        (lambda: ops.layer_norm(Tensor(X), (3,)), ValueError, r"are not normalized_shape = \(3,\)"),
        (lambda: ops.layer_norm(Tensor(X), (5,), Tensor(X[:, 0])), ValueError, "weight is f32"),
        (lambda: ops.batch_norm(Tensor(X), *[Tensor(X[0, :4])] * 4), ValueError, "expected one number per channel"),
        (lambda: ops.group_norm(Tensor(X), 2), ValueError, "cannot be divided into 2 groups"),
        (lambda: ops.prelu(Tensor(X), Tensor(X)), ValueError, "expected one number or one per channel"),
        (lambda: ops.smooth_l1_loss(Tensor(X), Tensor(X), 0.0), ValueError, "beta must be positive"),
        (lambda: ops.huber_loss(Tensor(X), Tensor(X), delta=0.0), ValueError, "delta must be positive"),
    ],
)
def test_refused(call: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call()


def test_searching():
    edges, x = [-0.5, 0.0, 0.25], np.array([-0.5, -0.1, 0.25, 3.0], np.float32)
    assert ops.bucketize(Tensor(x), edges).asnumpy().tolist() == np.searchsorted(edges, x, "left").tolist()
    assert ops.bucketize(Tensor(x), edges, right=True).asnumpy().tolist() == np.searchsorted(edges, x, "right").tolist()
    order = np.array([2, 0, 1])
    found = ops.searchsorted(
        Tensor(np.array(edges, np.float32)[[1, 2, 0]]), Tensor(x), sorter=Tensor(order), side="right"
    )
    assert found.asnumpy().tolist() == np.searchsorted(edges, x, "right").tolist()
