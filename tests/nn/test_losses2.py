"""Losses MindSpore has no CPU kernel for, labels out of range, saturated probabilities, and refusals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import graphc
from graphc import Tensor, nn, ops

RNG = np.random.default_rng(0)
X = RNG.normal(size=(4, 5)).astype(np.float32)
Y = np.where(RNG.normal(size=(4, 5)) > 0, 1, -1).astype(np.float32)
CLASSES = np.array([0, 3, 4, 1], np.int32)


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
def test_soft_margin(reduction: str) -> None:
    wanted = np.log1p(np.exp(-X.astype(np.float64) * Y))
    wanted = {"none": wanted, "mean": wanted.mean(), "sum": wanted.sum()}[reduction]
    got = nn.SoftMarginLoss(reduction)(Tensor(X), Tensor(Y)).asnumpy()
    np.testing.assert_allclose(got, wanted, rtol=1e-5)
    far = ops.soft_margin_loss(Tensor([200.0, -200.0]), Tensor([-1.0, -1.0]), "none").asnumpy()
    np.testing.assert_array_equal(far, [200.0, 0.0])


def test_a_class_out_of_range_is_nan_in_its_row_only() -> None:
    labels = np.array([0, 5, -1, -100], np.int32)
    for loss in (nn.CrossEntropyLoss(reduction="none"), nn.CrossEntropyLoss(reduction="none", label_smoothing=0.5)):
        got = loss(Tensor(X), Tensor(labels)).asnumpy()
        assert np.isnan(got).tolist() == [False, True, True, False]
        assert got[3] == 0  # ignore_index
    got = nn.NLLLoss(reduction="none")(Tensor(X), Tensor(labels)).asnumpy()
    assert np.isnan(got).tolist() == [False, True, True, False]


def test_ignored_rows_get_no_gradient() -> None:
    labels = np.array([0, -100, 4, -100], np.int64)
    loss = nn.CrossEntropyLoss()
    grad = ops.GradOperation()(loss)(Tensor(X), Tensor(labels)).asnumpy()
    p = np.exp(X) / np.exp(X).sum(1, keepdims=True)
    wanted = np.where((labels >= 0)[:, None], p - (labels[:, None] == np.arange(5)), 0) / 2
    np.testing.assert_allclose(grad, wanted, rtol=1e-4, atol=1e-6)


def test_extreme_logits_stay_finite() -> None:
    logits, bits = Tensor([500.0, -500.0, 500.0, -500.0]), Tensor([1.0, 0.0, 0.0, 1.0])
    loss = nn.BCEWithLogitsLoss("none")
    np.testing.assert_array_equal(loss(logits, bits).asnumpy(), [0, 0, 500, 500])
    weighted = nn.BCEWithLogitsLoss("none", pos_weight=Tensor([2.0]))
    np.testing.assert_array_equal(weighted(logits, bits).asnumpy(), [0, 0, 500, 1000])
    grad = ops.GradOperation()(loss)(logits, bits).asnumpy()
    np.testing.assert_array_equal(grad, [0, 0, 1, -1])
    certain = nn.BCELoss(reduction="none")(Tensor([1.0, 0.0, 0.5]), Tensor([1.0, 0.0, 1.0])).asnumpy()
    np.testing.assert_allclose(certain, [0, 0, np.log(2)], atol=1e-6)


def test_kl_divergence_of_a_zero_probability() -> None:
    logp, p = Tensor(np.log([[0.5, 0.25, 0.25]]).astype(np.float32)), Tensor([[0.0, 0.5, 0.5]])
    loss = nn.KLDivLoss("sum")
    assert float(loss(logp, p).asnumpy()) == pytest.approx(np.log(2), rel=1e-5)
    both = ops.GradOperation(get_all=True)(loss)(logp, p)
    assert all(np.isfinite(g.asnumpy()).all() for g in both)


def test_dense_cross_entropy_of_labels_that_do_not_sum_to_one() -> None:
    """MindSpore's gradient is softmax - labels for any labels."""
    labels = np.abs(RNG.normal(size=(4, 5))).astype(np.float32)
    loss = nn.SoftmaxCrossEntropyWithLogits(reduction="sum")
    p = np.exp(X) / np.exp(X).sum(1, keepdims=True)
    grad = ops.GradOperation()(loss)(Tensor(X), Tensor(labels)).asnumpy()
    np.testing.assert_allclose(grad, p - labels, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(loss(Tensor(X), Tensor(labels)).asnumpy(), -(labels * np.log(p)).sum(), rtol=1e-5)


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: nn.SmoothL1Loss(beta=0), ValueError, "beta must be a finite number > 0"),
        (lambda: nn.SmoothL1Loss(reduction="max"), ValueError, "reduction must be one of"),
        (lambda: nn.HuberLoss(delta=-1.0), ValueError, "delta must be a finite number > 0"),
        (lambda: nn.CrossEntropyLoss(label_smoothing=1.5), ValueError, r"label_smoothing must be in \[0, 1\]"),
        (lambda: nn.CrossEntropyLoss(label_smoothing=1), TypeError, "label_smoothing must be a float"),
        (lambda: nn.CrossEntropyLoss(ignore_index=1.0), TypeError, "ignore_index must be an int"),
        (lambda: nn.NLLLoss(weight=[1.0]), TypeError, "weight must be a Tensor or None, got list"),
        (lambda: nn.KLDivLoss("median"), ValueError, "reduction must be one of"),
        (lambda: nn.CosineEmbeddingLoss(2.0), ValueError, r"margin must be in \[-1, 1\]"),
        (lambda: nn.CosineEmbeddingLoss(1), TypeError, "margin must be a float"),
        (lambda: nn.BCEWithLogitsLoss(weight=graphc.Parameter(X)), TypeError, "weight must be a Tensor or None"),
        (lambda: ops.mse_loss(Tensor(X), Tensor(X), "max"), ValueError, "mse_loss: reduction must be one of"),
        (lambda: ops.cross_entropy(Tensor(X), Tensor(CLASSES), label_smoothing=-1.0), ValueError, "label_smoothing"),
        (lambda: ops.cross_entropy(Tensor(X), Tensor(CLASSES[:3])), ValueError, "expected one class number per row"),
        (lambda: ops.nll_loss(Tensor(X), Tensor(CLASSES > 1)), TypeError, "expected int32 or int64 class numbers"),
        (lambda: ops.nll_loss(Tensor(X), Tensor(CLASSES), Tensor(X[0, :2])), TypeError, "one number per class"),
        (lambda: ops.binary_cross_entropy(Tensor(X), Tensor(X[0])), ValueError, "expected equal shapes"),
        (lambda: ops.cosine_embedding_loss(Tensor(X), Tensor(X[:2]), Tensor(CLASSES)), ValueError, "equal shapes"),
    ],
)
def test_refused(make: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        make()
