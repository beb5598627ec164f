"""Primitives that few programs use, against MindSpore's recorded numbers (tests/data/ms_rare.py) and their documentation."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import numpy as np
import pytest

import graphc
from graphc import Tensor, ops
from graphc.ops import primitives
from tests.cells import Of
from tests.data.ms_rare import CASES, function, results

RECORDED = json.loads((Path(__file__).parents[1] / "data" / "ms_rare.json").read_text())
#: What no compiled Cell has.
EAGER = ("WithOverlaps", "MatrixLogarithm")


def test_every_case_is_recorded():
    assert list(RECORDED) == list(CASES)


@pytest.mark.parametrize("name", CASES)
def test_as_mindspore(name):
    f, operands = function(name, primitives, graphc), [Tensor(x) for x in CASES[name]]
    for made in (f(*operands), *(() if any(n in name for n in EAGER) else (Of(f)(*operands),))):
        for got, wanted in zip(results(made), RECORDED[name], strict=True):
            assert (list(got.shape), str(got.dtype)) == (wanted["shape"], wanted["dtype"])
            np.testing.assert_allclose(got.ravel().astype(np.float64), wanted["values"], rtol=2e-5, atol=1e-5)


def test_patches_of_images_are_those_of_volumes_one_deep():
    x = np.arange(2 * 3 * 5 * 6, dtype=np.float32).reshape(2, 3, 5, 6)
    for padding in ("valid", "SAME"):
        flat = ops.ExtractImagePatches([1, 1, 2, 3], [1, 1, 2, 1], [1, 1, 1, 1], padding)(Tensor(x))
        deep = ops.ExtractVolumePatches((1, 2, 3), (1, 2, 1), padding)(Tensor(x[:, :, None]))
        np.testing.assert_array_equal(flat.asnumpy(), deep.asnumpy()[:, :, 0])
    spread = ops.ExtractImagePatches([2, 2], [1, 1], [2, 3])(Tensor(x)).asnumpy()
    assert spread.shape == (2, 12, 3, 3)
    np.testing.assert_array_equal(spread[:, 9:], x[:, :, 2:, 3:])


def test_the_gradient_of_patches_counts_windows():
    grad = graphc.grad(lambda x: ops.ExtractImagePatches((2, 2), (1, 1), (1, 1))(x).sum())(ops.ones((1, 1, 3, 3)))
    np.testing.assert_array_equal(grad.asnumpy()[0, 0], [[1, 2, 1], [2, 4, 2], [1, 2, 1]])


def test_beyond_an_image_is_noise():
    x, size, far = Tensor(np.zeros((1, 3, 3, 1), np.float32)), Tensor([60, 50], graphc.int32), Tensor([[900.0, 900.0]])
    flat = ops.ExtractGlimpse(False, False)(x, size, far).asnumpy()
    assert -1 <= flat.min() < -0.98
    assert 0.98 < flat.max() < 1
    bell = ops.ExtractGlimpse(False, False, False, "gaussian")(x, size, far).asnumpy()
    np.testing.assert_allclose([bell.mean(), bell.std()], [10, 0.5], atol=0.05)


def test_accidental_hits_are_those_of_the_documentation():
    true, sampled = Tensor(np.array([[1, 2], [0, 4], [3, 3]])), Tensor(np.array([0, 1, 2, 3, 4]))
    rows, places, weights = (x.asnumpy() for x in ops.ComputeAccidentalHits(2)(true, sampled))
    assert (rows.tolist(), places.tolist()) == ([0, 0, 1, 1, 2, 2], [1, 2, 0, 4, 3, 3])
    assert (rows.dtype, places.dtype, weights.dtype) == (np.int32, np.int64, np.float32)
    assert set(weights.tolist()) == {float(np.finfo(np.float32).min)}
    with pytest.raises(graphc.TraceError, match="depends on the values"):
        graphc.compile(Of(ops.ComputeAccidentalHits(2)), true, sampled)


def test_channels_have_windows_of_their_own():
    x, w = (np.random.default_rng(0).standard_normal(s).astype(np.float32) for s in ((2, 3, 6, 6), (1, 3, 3, 3)))
    wanted = ops.Conv2D(3, 3, pad_mode="same", stride=2, group=3)(Tensor(x), Tensor(w.transpose(1, 0, 2, 3)))
    got = ops.DepthwiseConv2dNative(1, 3, pad_mode="same", stride=2)(Tensor(x), Tensor(w))
    np.testing.assert_array_equal(got.asnumpy(), wanted.asnumpy())


def test_slices_are_added_to_a_parameter():
    held = graphc.Parameter(Tensor(np.arange(1.0, 9.0, dtype=np.float32)))
    ops.ScatterNonAliasingAdd()(held, Tensor([[2], [4], [1], [7]]), Tensor([6.0, 7.0, 8.0, 9.0]))
    np.testing.assert_array_equal(held.asnumpy(), [1, 10, 9, 4, 12, 6, 7, 17])


@pytest.mark.parametrize(
    ("call", "error", "says"),
    [
        (
            lambda x: ops.ExtractImagePatches([1, 2, 2, 1], 1, 1)(x),
            graphc.ArgumentValueError,
            "ksizes must begin with 1, 1",
        ),
        (
            lambda x: ops.ExtractVolumePatches(2, 1, "full")(x),
            graphc.ArgumentValueError,
            "padding must be 'same' or 'valid'",
        ),
        (lambda x: ops.ExtractVolumePatches(2, 1, "same")(x), graphc.ShapeError, "expected 5 axes"),
        (lambda x: ops.ExtractGlimpse(noise="zero")(x, (1, 1), x), graphc.ArgumentValueError, "noise must be"),
        (lambda x: ops.ExtractGlimpse()(x, (1, 1), x), graphc.ShapeError, r"expected \[N, H, W, C\] and \[N, 2\]"),
        (lambda x: ops.DataFormatDimMap("NCWH")(x), graphc.ArgumentValueError, "src_format must be"),
        (lambda x: ops.DataFormatDimMap()(x), graphc.DTypeError, "expected int32 or int64"),
        (lambda x: ops.DataFormatVecPermute()(x), graphc.ShapeError, r"expected int32 or int64, \[4\]"),
        (lambda x: ops.CompareAndBitpack()(x, 1.0), graphc.ShapeError, "a multiple of 8"),
        (lambda x: ops.ParallelConcat()((x, x)), graphc.ShapeError, "whose first axis is 1"),
        (lambda x: ops.NoRepeatNGram(9)(Tensor([[[1, 2]]]), x[:1, :1]), graphc.ArgumentValueError, "must be 1 to 2"),
        (lambda x: ops.DepthwiseConv2dNative(1, 3)(x, x), graphc.ShapeError, r"expected \[N, C, H, W\] and"),
    ],
)
def test_what_does_not_fit_is_said(call, error, says):
    with pytest.raises(error, match=says):
        call(ops.ones((2, 3, 4)))


def pooled(x, rows, columns, overlapping, best):
    """Windows between borders, by NumPy."""
    more = 1 if overlapping else 0
    parts = [
        [best(x[:, a : b + more, c : d + more], axis=(1, 2)) for c, d in itertools.pairwise(columns)]
        for a, b in itertools.pairwise(rows)
    ]
    return np.array(parts).transpose(2, 0, 1, 3)


@pytest.mark.parametrize("overlapping", [False, True])
@pytest.mark.parametrize("pseudo", [False, True])
@pytest.mark.parametrize("deterministic", [False, True])
def test_windows_have_two_sizes(overlapping, pseudo, deterministic):
    x = np.random.default_rng(0).standard_normal((2, 11, 17, 3)).astype(np.float32)
    for name, best in (("Max", np.max), ("Avg", np.mean)):
        op = getattr(ops, f"Fractional{name}Pool")([1.0, 1.4, 2.3, 1.0], pseudo, overlapping, deterministic)
        runs = []
        for call in (op, Of(op), op, Of(op)):
            made, rows, columns = (a.asnumpy() for a in call(Tensor(x)))
            runs.append((*rows, *columns))
            assert (rows.dtype, columns.dtype, len(rows), len(columns)) == (np.int64, np.int64, 8, 8)
            for borders, end in ((rows, 11), (columns, 17)):
                assert (borders[0], borders[-1]) == (0, end)
                assert set(np.diff(borders)) <= {end // 7, end // 7 + 1} or (pseudo and np.diff(borders).min() > 0)
            np.testing.assert_allclose(made, pooled(x, rows, columns, overlapping, best), rtol=1e-5, atol=1e-6)
        assert (len(set(runs)) == 1) == deterministic


def test_borders_are_those_of_the_seeds():
    x = Tensor(np.arange(64, dtype=np.int64).reshape(1, 8, 8, 1) - 40)
    first, again, other = (
        ops.FractionalAvgPool([1.0, 1.5, 1.5, 1.0], deterministic=True, seed=3, seed2=s)(x) for s in (4, 4, 5)
    )
    assert first[1].asnumpy().tolist() == again[1].asnumpy().tolist()
    assert any(a.asnumpy().tolist() != b.asnumpy().tolist() for a, b in zip(first[1:], other[1:], strict=True))
    made, rows, columns = (a.asnumpy() for a in first)
    wanted = np.trunc(pooled(x.asnumpy().astype(np.float64), rows, columns, False, np.mean))
    np.testing.assert_array_equal(made, wanted)
    whole = ops.FractionalMaxPool([1.0, 1.0, 8.0, 1.0])(x)
    assert whole[0].asnumpy()[0, :, 0, 0].tolist() == list(range(-33, 31, 8))


def test_the_gradient_of_fractional_pooling():
    x = Tensor(np.random.default_rng(1).permutation(49).astype(np.float32).reshape(1, 7, 7, 1))
    largest, mean = (
        getattr(ops, f"Fractional{n}Pool")([1.0, 1.5, 2.5, 1.0], deterministic=True, seed=1) for n in ("Max", "Avg")
    )
    grad = graphc.grad(lambda x: largest(x)[0].sum())(x).asnumpy()
    assert set(x.asnumpy()[grad == 1]) == set(largest(x)[0].asnumpy().ravel())
    assert set(grad.ravel()) == {0, 1}
    _, rows, columns = (a.asnumpy() for a in mean(x))
    wanted = 1 / np.outer(np.repeat(np.diff(rows), np.diff(rows)), np.repeat(np.diff(columns), np.diff(columns)))
    np.testing.assert_allclose(graphc.grad(lambda x: mean(x)[0].sum())(x).asnumpy()[0, :, :, 0], wanted, rtol=1e-5)


@pytest.mark.parametrize(
    ("ratio", "more", "error", "says"),
    [
        ([1.0, 2.0, 2.0], {}, graphc.ArgumentValueError, "pooling_ratio must be"),
        ([1.0, 0.5, 2.0, 1.0], {}, graphc.ArgumentValueError, "at least 1"),
        ([1.0, 2, 2.0, 1.0], {}, graphc.ArgumentTypeError, "a list of floats"),
        ([1.0, 9.0, 2.0, 1.0], {}, graphc.ArgumentValueError, "leaves none"),
        ([1.0, 2.0, 2.0, 1.0], {"seed": 3}, graphc.ArgumentValueError, "must be 0 unless deterministic"),
        ([1.0, 2.0, 2.0, 1.0], {"deterministic": True, "seed": 0.5}, graphc.ArgumentTypeError, "seed must be an int"),
    ],
)
def test_ratios_that_do_not_fit_are_said(ratio, more, error, says):
    with pytest.raises(error, match=says):
        ops.FractionalMaxPool(ratio, **more)(ops.ones((1, 4, 4, 1)))
