"""Losses against float64 NumPy; labels out of range, saturated probabilities, and refusals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import graphc
from graphc import Tensor, nn, ops

REDUCE = {"none": lambda v: v, "mean": np.mean, "sum": np.sum}
RNG = np.random.default_rng(0)
LOGITS, OTHER = RNG.normal(size=(2, 6, 5)).astype(np.float32)


@pytest.mark.usefixtures("eager")
@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
def test_regression(reduction: str) -> None:
    d = LOGITS.astype(np.float64) - OTHER
    for loss, values in ((nn.MSELoss(reduction), d**2), (nn.L1Loss(reduction), np.abs(d))):
        got = loss(Tensor(LOGITS), Tensor(OTHER))
        np.testing.assert_allclose(got.asnumpy(), REDUCE[reduction](values), rtol=1e-5)
        assert got.dtype == graphc.float32


@pytest.mark.usefixtures("eager")
def test_regression_broadcasts() -> None:
    got = nn.MSELoss()(Tensor(LOGITS), Tensor(OTHER[0]))
    np.testing.assert_allclose(got.asnumpy(), ((LOGITS - OTHER[0]) ** 2).mean(), rtol=1e-5)


@pytest.mark.usefixtures("eager")
def test_float16_is_summed_in_float32() -> None:
    x = np.full((200, 400), 1.0, np.float16)
    got = nn.MSELoss()(Tensor(x), Tensor(np.zeros_like(x)))
    assert got.dtype == graphc.float16
    assert float(got) == 1.0
    assert nn.L1Loss("sum")(Tensor(x[:4]), Tensor(np.zeros_like(x[:4]))).item() == 1600.0


@pytest.mark.usefixtures("eager")
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


@pytest.mark.usefixtures("eager")
def test_defaults_are_mindspores() -> None:
    assert nn.MSELoss().reduction == nn.L1Loss().reduction == nn.LossBase().reduction == "mean"
    loss = nn.SoftmaxCrossEntropyWithLogits()
    assert (loss.sparse, loss.reduction) == (False, "none")
    assert repr(loss) == "SoftmaxCrossEntropyWithLogits(sparse=False, reduction=none)"


@pytest.mark.usefixtures("eager")
def test_own_loss_with_weights() -> None:
    class Weighted(nn.LossBase):
        def construct(self, logits: Any, labels: Any) -> Tensor:
            return self.get_loss(ops.abs(logits - labels), Tensor(np.arange(5, dtype=np.float32)))

    got = Weighted("sum")(Tensor(LOGITS), Tensor(OTHER)).asnumpy()
    np.testing.assert_allclose(got, (np.abs(LOGITS - OTHER) * np.arange(5)).sum(), rtol=1e-5)
    assert nn.LossBase().get_axis(Tensor(LOGITS)) == (0, 1)


@pytest.mark.usefixtures("eager")
def test_weights_of_another_dtype() -> None:
    """MindSpore's dtypes: a float32 weight widens nll_loss, and leaves binary cross entropy in that of its operands."""
    logits, weight = Tensor(np.zeros((2, 3), np.float16)), Tensor(np.array([1, 2, 3], np.float32))
    labels, shares = Tensor(np.array([2, 0], np.int32)), Tensor(np.full((2, 3), 0.5, np.float16))
    for reduction in ("none", "mean", "sum"):
        assert ops.nll_loss(logits, labels, weight, reduction=reduction).dtype == graphc.float32
        assert ops.nll_loss(logits, labels, reduction=reduction).dtype == graphc.float16
        both = ops.binary_cross_entropy_with_logits(logits, shares, weight, weight, reduction)
        assert both.dtype == graphc.float16
        wide = ops.binary_cross_entropy_with_logits(logits, shares.astype(graphc.float32), weight, weight, reduction)
        assert wide.dtype == graphc.float32


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


SAMPLED = np.random.default_rng(3).normal(size=(9, 3)).astype(np.float32)


def sampled_loss(loss: nn.Cell) -> np.ndarray:
    rows, labels = SAMPLED[:3], np.array([[0, 1], [2, 1], [3, 3]])
    return loss(*map(Tensor, (SAMPLED, np.zeros(9, np.float32), labels, rows))).asnumpy()


@pytest.mark.usefixtures("mode_again")
@pytest.mark.parametrize("mode", [graphc.GRAPH_MODE, graphc.PYNATIVE_MODE])
def test_a_sample_of_all_other_classes_is_the_mean_over_the_labels(mode: int) -> None:
    graphc.set_context(mode=mode)
    scores = SAMPLED[:3].astype(np.float64) @ SAMPLED.T
    others = np.exp(scores[:, 4:]).sum(1)
    own = np.stack([scores[[0, 0], [0, 1]], scores[[1, 1], [2, 1]], scores[[2, 2], [3, 3]]])
    want = (np.log(np.exp(own).sum(1) + others)[:, None] - own).mean(1)
    # Of 9 classes 4 are labels of the batch: of 6 to draw 5 are left.
    for count in (5, 6):
        np.testing.assert_allclose(sampled_loss(nn.SampledSoftmaxLoss(count, 9, 2)), want, rtol=1e-5)


@pytest.mark.usefixtures("mode_again")
@pytest.mark.parametrize("mode", [graphc.GRAPH_MODE, graphc.PYNATIVE_MODE])
def test_each_call_draws_classes_anew_all_equally_likely(mode: int) -> None:
    graphc.set_seed(1)
    graphc.set_context(mode=mode)
    loss = nn.SampledSoftmaxLoss(1, 9, 2)
    drawn = [float(sampled_loss(loss)[2]) for _ in range(300)]
    values, counts = np.unique(np.round(drawn, 4), return_counts=True)
    assert len(values) == 5
    assert counts.min() > 35


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
        (lambda: ops.nll_loss(Tensor(X), Tensor(CLASSES), Tensor(X[0, :2])), ValueError, "one number per class"),
        (lambda: ops.binary_cross_entropy(Tensor(X), Tensor(X[0])), ValueError, "expected equal shapes"),
        (lambda: ops.cosine_embedding_loss(Tensor(X), Tensor(X[:2]), Tensor(CLASSES)), ValueError, "equal shapes"),
    ],
)
def test_arguments_refused(make: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        make()
