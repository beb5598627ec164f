"""Metrics against MindSpore's recorded values, against their definitions in float64, and what they refuse."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from graphc import Tensor, nn, train
from graphc.errors import GraphcError
from graphc.nn.metrics.base import MetricError

RECORDED = json.loads((Path(__file__).parents[1] / "data" / "ms_metrics.json").read_text())
INPUTS = {name: np.array(a["values"], a["dtype"]) for name, a in RECORDED["inputs"].items()}
SCORES, LABELS = INPUTS["scores"], INPUTS["labels"]


@pytest.mark.parametrize("case", RECORDED["cases"], ids=lambda c: f"{c[0]} {c[1]} {c[3]}")
def test_as_recorded(case):
    name, options, batches, asked, want = case
    metric = getattr(nn, name)(**options)
    for batch in batches:
        metric.update(*(Tensor(INPUTS[x]) if isinstance(x, str) else x for x in batch))
    found = metric.eval(**asked)
    for got, wanted in zip(found, want, strict=True) if isinstance(found, tuple) else [(found, want)]:
        np.testing.assert_allclose(got, np.array(wanted), rtol=2e-6, atol=1e-6)
    again = metric.eval(**asked)  # Looking does not change it.
    np.testing.assert_array_equal(again, found)
    metric.clear()
    with pytest.raises(MetricError, match=rf"\[GC211\] {name} has no value"):
        metric.eval()


def test_names():
    assert set(nn._METRICS) == set(nn.metrics.__all__)
    assert nn.names() == train.names() == RECORDED["names"]
    arguments = {"topk": [1], "confusion_matrix": [3], "auc": [np.arange(2.0), np.arange(2.0)]}
    for name in nn.names():
        made = nn.get_metric_fn(name, *arguments.get(name, []))
        assert isinstance(made, nn.Metric) or name == "auc"
    assert nn.get_metric_fn("precision", eval_type="multilabel")._type == "multilabel"
    assert nn.get_metrics(None) is None
    assert isinstance(nn.get_metrics({"acc"})["acc"], nn.Accuracy)
    with pytest.raises(KeyError, match="there is no metric 'accurracy'"):
        nn.get_metric_fn("accurracy")


def test_the_whole_matches_its_parts():
    """Batches together give what one batch of all samples gives."""
    both = np.concatenate((SCORES, INPUTS["scores2"])), np.concatenate((LABELS, INPUTS["labels2"]))
    for metric in (nn.Accuracy(), nn.Precision(), nn.Recall(), nn.F1(), nn.Top5CategoricalAccuracy(), nn.MAE()):
        if isinstance(metric, nn.MAE):
            batches = (SCORES, SCORES * 2), (INPUTS["scores2"],) * 2
            whole = tuple(map(np.concatenate, zip(*batches, strict=True)))
        else:
            batches, whole = ((SCORES, LABELS), (INPUTS["scores2"], INPUTS["labels2"])), both
        once = metric(*whole)
        metric.clear()
        for batch in batches:
            metric.update(*batch)
        np.testing.assert_allclose(metric.eval(), once, rtol=1e-12)


def test_roc_of_several_classes():
    """Each class against the others, by counting."""
    rates, hits, thresholds = nn.ROC(class_num=5)(SCORES, np.array([0, 1, 2, 3, 4, 4]))
    for c in range(5):
        positive = np.array([0, 1, 2, 3, 4, 4]) == c
        for x, y, t in zip(rates[c], hits[c], thresholds[c], strict=True):
            said = SCORES[:, c] >= t
            assert x == (said & ~positive).sum() / (~positive).sum()
            assert y == (said & positive).sum() / positive.sum()
    with pytest.raises(ValueError, match="no negative sample"):
        nn.ROC(class_num=5)(SCORES, LABELS * 0)


def test_auc():
    x, y = np.array([0.6, 0.0, 1.0, 0.3]), np.array([0.8, 0.0, 1.0, 0.5])
    order = np.argsort(x)
    want = np.trapezoid(y[order], x[order]) if hasattr(np, "trapezoid") else np.trapz(y[order], x[order])
    assert nn.auc(x, y, reorder=True) == pytest.approx(want)
    assert nn.auc(x[order], y[order][:, None]) == pytest.approx(want)
    assert nn.auc(x[order][::-1], y[order][::-1]) == pytest.approx(want)
    with pytest.raises(ValueError, match="neither rises nor falls"):
        nn.auc(x, y)


def test_root_mean_square_distance_has_its_root():
    first, second = INPUTS["image"] == 1, INPUTS["image2"] == 1
    metric = nn.RootMeanSquareDistance()
    got = metric(INPUTS["image"], INPUTS["image2"], 1)

    def edge(region):
        """Elements with a neighbour outside, by looking at each."""
        padded = np.pad(region, 1)
        around = [(0, 1), (0, -1), (1, 0), (-1, 0)]
        return [(i, j) for i, j in np.argwhere(region) if not all(padded[i + 1 + a, j + 1 + b] for a, b in around)]

    squares = [min((i - k) ** 2 + (j - l) ** 2 for k, l in edge(second)) for i, j in edge(first)]
    assert got == pytest.approx(np.sqrt(np.mean(squares)))


def test_confusion_numbers_by_channel():
    """decrease="mean_batch" leaves one number per class: with one class it is a mean over samples."""
    said, true = INPUTS["cubes"][:, :1], INPUTS["cubes2"][:, :1]
    metric = nn.ConfusionMatrixMetric(metric_name="precision", calculation_method=True, decrease="mean_batch")
    each = [(s * t).sum() / s.sum() for s, t in zip(said, true, strict=True) if s.sum()]
    assert metric(said, true) == pytest.approx(np.mean(each))
    with pytest.raises(ValueError, match="leaves 2 numbers"):
        metric(INPUTS["cubes"], INPUTS["cubes2"])


class Scores(nn.Cell):
    """Scores that are sums of the image times fixed weights; `construct` runs as NumPy would."""

    def __init__(self):
        super().__init__()
        self.flat, self.dense = nn.Flatten(), nn.Dense(12, 3)

    def construct(self, x):
        return self.dense(self.flat(x))


@pytest.mark.filterwarnings("ignore::graphc.RecompileWarning")  # One Cell for batches of 12, 1 and 6.
def test_occlusion_sensitivity():
    image = np.random.default_rng(1).standard_normal((1, 1, 3, 4)).astype(np.float32)
    cell = Scores()
    weight = cell.dense.weight.asnumpy().astype(np.float64)[1].reshape(3, 4)
    got = nn.OcclusionSensitivity(margin=1, n_batch=12, pad_val=0.5)(cell, Tensor(image), np.array([1]))
    assert got.shape == (3, 4)
    for i, j in np.ndindex(3, 4):
        box = slice(max(0, i - 1), i + 1), slice(max(0, j - 1), j + 1)
        assert got[i, j] == pytest.approx(((image[0, 0] - 0.5) * weight)[box].sum(), abs=1e-5)
    part = nn.OcclusionSensitivity(margin=1, n_batch=12, pad_val=0.5, b_box=[0, -1, 1, 2, 0, 2])
    np.testing.assert_allclose(part(cell, image, 1), got[1:3, :3], atol=1e-6)
    with pytest.raises(ValueError, match="b_box needs two numbers for each of 3 axes"):
        nn.OcclusionSensitivity(b_box=[0, 1])(cell, image, 1)
    with pytest.raises(RuntimeError, match="one image and one label"):
        nn.OcclusionSensitivity()(cell, np.concatenate((image, image)), 1)


def test_a_metric_of_ones_own():
    class Mistakes(train.Metric):
        def __init__(self):
            super().__init__()
            self.clear()

        def clear(self):
            self.count = 0

        @train.rearrange_inputs
        def update(self, *inputs):
            scores, labels = map(self._convert_data, inputs)
            self.count += int((scores.argmax(axis=1) != labels).sum())

        def eval(self):
            return self.count

    metric = Mistakes().set_indexes([2, 0])
    assert metric.indexes == [2, 0]
    assert metric(Tensor(LABELS), "unused", Tensor(SCORES)) == 6 - round(6 * nn.Accuracy()(SCORES, LABELS))
    with pytest.raises(ValueError, match="choose among 2 inputs"):
        metric(LABELS, SCORES)
    with pytest.raises(ValueError, match="indexes must be a list of ints"):
        metric.set_indexes((0, 1))


@pytest.mark.parametrize(
    ("call", "kind", "text"),
    [
        (lambda: nn.Accuracy("both"), TypeError, "eval_type must be one of 'classification', 'multilabel'"),
        (lambda: nn.Accuracy()(SCORES), ValueError, r"update takes 2 inputs \(prediction, truth\), got 1"),
        (lambda: nn.Accuracy()(SCORES, LABELS[:4]), ValueError, "labels must have the shape of the predictions"),
        (lambda: nn.Accuracy()(3, LABELS), TypeError, "an input must be a Tensor, an array or a list, got int"),
        (lambda: nn.Recall("multilabel")(SCORES, SCORES), ValueError, "zeros and ones"),
        (lambda: nn.Precision()(SCORES, LABELS + 9), ValueError, "labels must be whole numbers from 0 to 4, got"),
        (lambda: nn.F1().update(SCORES, LABELS) or nn.Fbeta(0), ValueError, "beta must be a finite number > 0"),
        (lambda: nn.TopKCategoricalAccuracy("a"), TypeError, "k must be an int, got str"),
        (lambda: nn.TopKCategoricalAccuracy(0), ValueError, "k must be at least 1, got 0"),
        (lambda: nn.Loss()(SCORES), ValueError, "at most one axis"),
        (lambda: nn.MAE()(SCORES, LABELS), ValueError, "do not have as many elements"),
        (lambda: nn.Perplexity("a"), TypeError, "ignore_label must be an int or None"),
        (lambda: nn.Perplexity()(SCORES, LABELS[:2]), ValueError, "there are labels"),
        (lambda: nn.Dice(0.0), ValueError, "smooth must be a finite number > 0"),
        (lambda: nn.CosineSimilarity("near"), ValueError, "similarity must be one of 'dot', 'cosine'"),
        (lambda: nn.ConfusionMatrix(3, "rows"), ValueError, "normalize must be one of"),
        (lambda: nn.ConfusionMatrix(3)(SCORES, LABELS * 0 + 4), ValueError, "from 0 to 2"),
        (lambda: nn.ConfusionMatrixMetric(metric_name="luck"), NotImplementedError, "no metric_name 'luck'"),
        (lambda: nn.ROC(class_num=2)(SCORES, LABELS), ValueError, "the scores have 5 classes"),
        (lambda: nn.HausdorffDistance("far"), ValueError, "distance_metric must be one of"),
        (lambda: nn.HausdorffDistance()(LABELS, LABELS, 77), ValueError, "label 77 is in neither image"),
        (lambda: nn.BleuScore(5), ValueError, "n_gram must be from 1 to 4, got 5"),
        (lambda: nn.BleuScore()([["a"]], []), ValueError, "0 lists of references for 1 candidates"),
        (lambda: nn.get_metrics(["acc"]), TypeError, "a dict of metrics, a set of names or None, got list"),
        (lambda: nn.get_metrics({"acc": nn.Accuracy}), TypeError, r"help: give an instance: Accuracy\(\)"),
    ],
)
def test_refused(call, kind, text):
    with pytest.raises(GraphcError, match=text) as caught:
        call()
    assert isinstance(caught.value, kind)


def test_other_classes_than_before():
    metric = nn.Accuracy()
    metric.update(SCORES, LABELS)
    with pytest.raises(ValueError, match="the predictions have 4 classes, those before had 5"):
        metric.update(SCORES[:, :4], LABELS)
