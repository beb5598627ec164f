"""Normalization: what it learns and evaluates with, and its gradients."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from graphc import Tensor, nn, ops
from tests.data.ms_layer_gradients import LINES, ROWS, SHARES

Array = np.ndarray[Any, np.dtype[Any]]


def random(*shape: int, seed: int = 0) -> Array:
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def test_batch_norm_learns_and_evaluates_with_its_moving_statistics() -> None:
    layer = nn.BatchNorm2d(2)
    assert [p.name for p in layer.trainable_params()] == ["gamma", "beta"]
    assert [p.requires_grad for p in nn.BatchNorm2d(2, affine=False).get_parameters()] == [False] * 4
    layer.set_train()
    x = random(8, 2, 3, 3) * 3 + 5
    for _ in range(200):
        layer(Tensor(x))
    np.testing.assert_allclose(layer.moving_mean.asnumpy(), x.mean((0, 2, 3)), rtol=1e-5)
    np.testing.assert_allclose(layer.moving_variance.asnumpy(), x.var((0, 2, 3), ddof=1), rtol=1e-5)
    by_batch = layer(Tensor(x)).asnumpy()
    layer.set_train(False)
    before = layer.moving_mean.asnumpy()
    np.testing.assert_allclose(layer(Tensor(x)).asnumpy(), by_batch, atol=0.03)
    np.testing.assert_array_equal(layer.moving_mean.asnumpy(), before)


def test_gradient_of_a_gradient_through_batch_norm() -> None:
    """The variance's gradient leaves the mean out where it sums to zero; a second gradient must not miss it."""

    class Norm(nn.Cell):
        def construct(self, x: Any) -> Any:
            return ops.reduce_sum(ops.layer_norm(x, (5,), eps=0.1) * Tensor(random(3, 5, seed=4)))

    class GradientNorm(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.norm = Norm()
            self.grad = ops.GradOperation()

        def construct(self, x: Any) -> Any:
            return ops.reduce_sum(ops.square(self.grad(self.norm)(x)))

    x = random(3, 5).astype(np.float64)
    direction = random(3, 5, seed=1)

    def first(at: Array) -> float:
        """Sum of the squared gradient, by the formula of layer normalization, in float64."""
        w = random(3, 5, seed=4).astype(np.float64)
        centred = at - at.mean(-1, keepdims=True)
        inverse = 1 / np.sqrt(at.var(-1, keepdims=True) + 0.1)
        y = centred * inverse
        g = inverse * (w - w.mean(-1, keepdims=True) - y * (w * y).mean(-1, keepdims=True))
        return float((g**2).sum())

    cell = GradientNorm()
    assert float(cell(Tensor(x.astype(np.float32))).asnumpy()) == pytest.approx(first(x), rel=1e-4)
    numeric = (first(x + 1e-6 * direction) - first(x - 1e-6 * direction)) / 2e-6
    second = ops.GradOperation()(cell)(Tensor(x.astype(np.float32))).asnumpy()
    assert float((second * direction).sum()) == pytest.approx(numeric, rel=1e-3)


def test_instance_norm_and_triplet_margin():
    x = LINES.astype(np.float64)
    wanted = (x - x.mean(2, keepdims=True)) / np.sqrt(x.var(2, keepdims=True) + 1e-5)
    np.testing.assert_allclose(nn.InstanceNorm1d(4)(Tensor(LINES)).asnumpy(), wanted, rtol=1e-4, atol=1e-5)
    distance = [np.linalg.norm(a - b + 1e-6, axis=1) for a, b in ((ROWS, SHARES), (ROWS, SHARES[::-1]))]
    loss = nn.TripletMarginLoss(reduction="none", margin=0.3)(*map(Tensor, (ROWS, SHARES, SHARES[::-1].copy())))
    np.testing.assert_allclose(loss.asnumpy(), np.maximum(distance[0] - distance[1] + 0.3, 0), rtol=1e-4, atol=1e-6)
