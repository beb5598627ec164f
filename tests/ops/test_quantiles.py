"""Quantiles, medians and counts against NumPy, with ties, NaN, infinities and every axis, in PYNATIVE_MODE and compiled."""

from __future__ import annotations

import numpy as np
import pytest

import graphc
from graphc import ArgumentTypeError, ArgumentValueError, Tensor, ops
from graphc.errors import DTypeError, ShapeError, TraceError
from tests.cells import Of

HOLES = np.array([[3, 1, np.nan, 2], [5, 4, 4, 6]], np.float32)
FULL = np.random.default_rng(0).normal(size=(3, 4, 5)).astype(np.float32)


@pytest.mark.parametrize("name", ["quantile", "nanquantile"])
@pytest.mark.parametrize("axis", [None, 0, 1, -1])
def test_quantiles(name, axis):
    for x in (HOLES, FULL, HOLES.astype(np.float64)):
        for q in (0.0, 0.4, 1.0, np.array([0.25, 0.5], x.dtype)):
            for keep in (False, True):
                given = Tensor(q) if isinstance(q, np.ndarray) else q
                got = getattr(ops, name)(Tensor(x), given, axis, keep).asnumpy()
                wanted = getattr(np, name)(x, q, axis=axis, keepdims=keep)
                assert got.shape == np.shape(wanted)
                assert got.dtype == x.dtype
                np.testing.assert_allclose(got, wanted, rtol=2e-6, atol=2e-6)


def test_compiled():
    def several(x, q):
        return ops.quantile(x, 0.3, 1), ops.nanquantile(x, q, 0), ops.nanmedian(x, 1), ops.nanmean(x, 0), x.kthvalue(2)

    q = Tensor(np.array([0.1, 0.8], np.float32))
    for got, wanted in zip(Of(several)(Tensor(HOLES), q), several(Tensor(HOLES), q), strict=True):
        for a, b in zip(got, wanted, strict=True) if isinstance(got, tuple) else ((got, wanted),):
            assert a.dtype == b.dtype
            np.testing.assert_allclose(a.asnumpy(), b.asnumpy(), rtol=1e-6)
    with pytest.raises(ArgumentValueError, match="q must lie in"):
        Of(lambda q: ops.quantile(Tensor(HOLES), q))(Tensor(np.float32(1.5)))
    with pytest.raises(TraceError, match="bincount"):
        graphc.compile(Of(ops.bincount), Tensor([1, 2]))
    compiled = Of(lambda x: ops.histc(x, 5))(Tensor(FULL)).asnumpy()
    assert compiled.tolist() == np.histogram(FULL, 5)[0].tolist()


def test_infinite_elements():
    x = Tensor(np.array([-np.inf, 1, 2, np.inf], np.float32))
    assert [ops.quantile(x, q).item() for q in (0.0, 1 / 3, 0.5, 1.0)] == pytest.approx([-np.inf, 1, 1.5, np.inf])
    assert ops.quantile(x, 0.9).item() == np.inf


def test_gradients(mode_again):
    x = Tensor(HOLES)
    for function, wanted in (
        (lambda x: ops.quantile(x, 0.3, 1).sum(), [[0, 0, 0, 0], [0, 0.1, 0.9, 0]]),
        (lambda x: ops.nanquantile(x, 0.4, 1).sum(), [[0, 0.2, 0, 0.8], [0.2, 0, 0.8, 0]]),
        (lambda x: ops.nanmean(x, 1).sum(), [[1 / 3, 1 / 3, 0, 1 / 3], [0.25] * 4]),
        (lambda x: ops.nanmedian(x, 1)[0].sum(), [[0, 0, 0, 1], [0, 0, 1, 0]]),
        (lambda x: x.kthvalue(1, 1)[0].sum(), [[0, 1, 0, 0], [0, 1, 0, 0]]),
    ):
        np.testing.assert_allclose(graphc.grad(function)(x).asnumpy(), wanted, atol=2e-6)
    row = Tensor([1.0, 4.0, 9.0, 2.0])
    known = graphc.compile(Of(lambda x: ops.quantile(x, Tensor([0.3]))), row)
    assert "AppendLog" not in str(known.graph)
    for mode in (graphc.PYNATIVE_MODE, graphc.GRAPH_MODE):
        graphc.set_context(mode=mode)
        slopes = graphc.grad(lambda q: ops.quantile(row, q).sum())(Tensor([0.3, 0.6]))
        np.testing.assert_allclose(slopes.asnumpy(), [3, 6], rtol=1e-5)
    slope = graphc.grad(lambda w: (ops.bincount(Tensor([1, 1, 3]), w) * Tensor([1.0, 2.0, 3.0, 4.0])).sum())
    assert slope(Tensor([1.0, 2.0, 0.5])).asnumpy().tolist() == [2, 2, 4]


@pytest.mark.parametrize("dtype", ["int8", "int32", "int64", "uint8", "float16", "float32", "float64"])
def test_kth_values_and_medians(dtype):
    x = np.random.default_rng(1).integers(0, 9, (4, 5)).astype(dtype)
    for axis in (0, 1, -1):
        values, places = Tensor(x).kthvalue(2, axis, True)
        order = np.argsort(x, axis, kind="stable")
        wanted = np.take(order, [1], axis)
        assert (places.asnumpy() == wanted).all()
        assert (values.asnumpy() == np.take_along_axis(x, wanted, axis)).all()
        assert values.asnumpy().dtype == x.dtype
        middle = np.sort(x, axis).take((x.shape[axis] - 1) // 2, axis)
        assert (ops.nanmedian(Tensor(x), axis)[0].asnumpy() == middle).all()
    assert ops.nanmedian(Tensor(np.array(3, dtype)))[0].item() == 3


@pytest.mark.parametrize("dtype", ["int8", "int32", "int64", "float16", "float32", "float64"])
def test_histograms(dtype):
    x = np.random.default_rng(2).integers(-9, 9, 60).astype(dtype)
    got = ops.histc(Tensor(x), 7, -4, 5)
    assert got.asnumpy().dtype == ("float32" if dtype == "float16" else dtype)
    assert got.asnumpy().tolist() == np.histogram(x, 7, (-4, 5))[0].tolist()
    ends = Tensor(np.array([-4, 5], dtype))
    wide = ops.HistogramFixedWidth(7)(Tensor(x), ends).asnumpy()
    assert wide.tolist() == np.histogram(x.clip(-4, 5), 7, (-4, 5))[0].tolist()
    assert ops.histc(Tensor(x[:0]), 3).asnumpy().tolist() == [0, 0, 0]


def test_confusion():
    labels, guesses = np.array([0, 1, 1, 2]), np.array([0, 2, 1, 2])
    wanted = np.zeros((3, 3), np.int32)
    np.add.at(wanted, (labels, guesses), 1)
    run = Of(lambda a, b: ops.ConfusionMatrix(3)(a, b))
    assert (run(Tensor(labels), Tensor(guesses)).asnumpy() == wanted).all()
    heavy = ops.ConfusionMatrix(3, "float32")(Tensor(labels), Tensor(guesses), Tensor([1.5, 2.0, 3.0, 4.0]))
    assert (heavy.asnumpy() == wanted * np.array([[1.5, 0, 0], [0, 3, 2], [0, 0, 4]])).all()
    with pytest.raises(ArgumentValueError, match="classes must lie in 0"):
        run(Tensor(np.array([0, 1, 1, 3])), Tensor(guesses))


def test_sequences_far_apart():
    """Without normalization: kitten, sitting; and an empty row of each."""
    words = [[ord(c) for c in w] for w in ("kitten", "sitting")]
    places = [np.array([[0, k] for k in range(len(w))]) for w in words]
    given = [
        x
        for w, p in zip(words, places, strict=True)
        for x in (Tensor(p), Tensor(np.array(w)), Tensor(np.array([2, 7])))
    ]
    assert ops.EditDistance(False)(*given).asnumpy().tolist() == [3, 0]
    assert ops.EditDistance()(*given).asnumpy() == pytest.approx([3 / 7, 0])


def test_refused():
    x, whole = Tensor(FULL), Tensor([1, 2])
    for call, error in (
        (lambda: ops.quantile(whole, 0.5), DTypeError),
        (lambda: ops.quantile(x, 1.5), ArgumentValueError),
        (lambda: ops.quantile(x, "a"), ArgumentTypeError),
        (lambda: ops.quantile(x, Tensor(np.ones((1, 1), np.float32))), ShapeError),
        (lambda: ops.quantile(Tensor(FULL[:0]), 0.5), ShapeError),
        (lambda: ops.nanmean(whole), DTypeError),
        (lambda: x.kthvalue(0), ArgumentValueError),
        (lambda: x.kthvalue(1.0), ArgumentTypeError),
        (lambda: ops.histc(x, 0), ArgumentValueError),
        (lambda: ops.histc(x, 3, 2, 1), ArgumentValueError),
        (lambda: ops.histc(Tensor(HOLES), 3), ArgumentValueError),
        (lambda: ops.bincount(Tensor([1.0])), DTypeError),
        (lambda: ops.bincount(Tensor([-1])), ArgumentValueError),
        (lambda: ops.bincount(whole, Tensor([1.0])), ShapeError),
        (lambda: ops.unique_with_pad(Tensor([1.0]), 0), DTypeError),
        (lambda: ops.unique_consecutive(whole, 1), ArgumentTypeError),
        (lambda: ops.SegmentSum()(whole, Tensor([1, 0])), ArgumentValueError),
        (lambda: ops.sparse_segment_mean(x, Tensor([3]), Tensor([0])), ArgumentValueError),
        (lambda: ops.UnravelIndex()(Tensor([12]), Tensor([3, 4])), ArgumentValueError),
        (lambda: ops.RaggedRange(graphc.int32)(Tensor(1), Tensor(2), Tensor(0)), ArgumentValueError),
        (lambda: ops.NthElement()(x, 5), ArgumentValueError),
        (lambda: ops.LowerBound("int8")(x, x), ArgumentTypeError),
        (lambda: ops.eps(whole), DTypeError),
    ):
        with pytest.raises(error):
            call()


def test_a_place_out_of_range_is_not_among_the_largest():
    x = Tensor(-HOLES[1:] - 1)
    for run in (lambda t, k: ops.intopk(t, k, 2), Of(lambda t, k: ops.intopk(t, k, 2))):
        assert [run(x, Tensor([k])).item() for k in (-1, 0, 1, 2, 4)] == [False, False, True, True, False]
