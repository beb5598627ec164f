"""Losses against float64 NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import graphc
from graphc import Tensor, nn, ops

pytestmark = pytest.mark.usefixtures("eager")
REDUCE = {"none": lambda v: v, "mean": np.mean, "sum": np.sum}
RNG = np.random.default_rng(0)
LOGITS, OTHER = RNG.normal(size=(2, 6, 5)).astype(np.float32)


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
def test_regression(reduction: str) -> None:
    d = LOGITS.astype(np.float64) - OTHER
    for loss, values in ((nn.MSELoss(reduction), d**2), (nn.L1Loss(reduction), np.abs(d))):
        got = loss(Tensor(LOGITS), Tensor(OTHER))
        np.testing.assert_allclose(got.asnumpy(), REDUCE[reduction](values), rtol=1e-5)
        assert got.dtype == graphc.float32


def test_regression_broadcasts() -> None:
    got = nn.MSELoss()(Tensor(LOGITS), Tensor(OTHER[0]))
    np.testing.assert_allclose(got.asnumpy(), ((LOGITS - OTHER[0]) ** 2).mean(), rtol=1e-5)


def test_float16_is_summed_in_float32() -> None:
    x = np.full((200, 400), 1.0, np.float16)
    got = nn.MSELoss()(Tensor(x), Tensor(np.zeros_like(x)))
    assert got.dtype == graphc.float16
    assert float(got) == 1.0
    assert nn.L1Loss("sum")(Tensor(x[:4]), Tensor(np.zeros_like(x[:4]))).item() == 1600.0


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
@pytest.mark.parametrize("dtype", ["int32", "int64", "dense"])
def test_cross_entropy(reduction: str, dtype: str) -> None:
    x = LOGITS.astype(np.float64)
    log_p = x - np.log(np.exp(x).sum(-1, keepdims=True))
    index = np.array([0, 4, 2, 2, 1, 3])
    labels = np.eye(5, dtype=np.float32)[index] if dtype == "dense" else index.astype(dtype)
    loss = nn.SoftmaxCrossEntropyWithLogits(sparse=dtype != "dense", reduction=reduction)
    got = loss(Tensor(LOGITS), Tensor(labels)).asnumpy()
    np.testing.assert_allclose(got, REDUCE[reduction](-log_p[np.arange(6), index]), rtol=1e-5)


def test_defaults_are_mindspores() -> None:
    assert nn.MSELoss().reduction == nn.L1Loss().reduction == nn.LossBase().reduction == "mean"
    loss = nn.SoftmaxCrossEntropyWithLogits()
    assert (loss.sparse, loss.reduction) == (False, "none")
    assert repr(loss) == "SoftmaxCrossEntropyWithLogits(sparse=False, reduction=none)"


def test_own_loss_with_weights() -> None:
    class Weighted(nn.LossBase):
        def construct(self, logits: Any, labels: Any) -> Tensor:
            return self.get_loss(ops.abs(logits - labels), Tensor(np.arange(5, dtype=np.float32)))

    got = Weighted("sum")(Tensor(LOGITS), Tensor(OTHER)).asnumpy()
    np.testing.assert_allclose(got, (np.abs(LOGITS - OTHER) * np.arange(5)).sum(), rtol=1e-5)
    assert nn.LossBase().get_axis(Tensor(LOGITS)) == (0, 1)


def test_errors() -> None:
    sparse = nn.SoftmaxCrossEntropyWithLogits(sparse=True)
    with pytest.raises(graphc.DTypeError, match="labels are f32") as caught:
        sparse(Tensor(LOGITS), Tensor(np.zeros(6, np.float32)))
    assert caught.value.code == "GC111"
    with pytest.raises(graphc.ShapeError, match=r"labels are i32\[5\], expected one class number per row"):
        sparse(Tensor(LOGITS), Tensor(np.zeros(5, np.int32)))
    with pytest.raises(graphc.DTypeError, match="expected probabilities of the logits' dtype float32"):
        nn.SoftmaxCrossEntropyWithLogits()(Tensor(LOGITS), Tensor(np.zeros((6, 5), np.int32)))
    with pytest.raises(graphc.ArgumentValueError, match="MSELoss: reduction must be one of 'mean', 'sum'"):
        nn.MSELoss("median")
    with pytest.raises(graphc.ArgumentTypeError, match="sparse must be a bool, got int"):
        nn.SoftmaxCrossEntropyWithLogits(sparse=1)
    with pytest.raises(graphc.ArgumentTypeError, match="LossBase does not define construct"):
        nn.LossBase()(Tensor(LOGITS), Tensor(OTHER))
