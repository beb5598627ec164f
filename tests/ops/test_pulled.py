"""Gradients of primitives as primitives of their own give what MindSpore's give."""

from __future__ import annotations

import time

import numpy as np
import pytest

import graphc
from graphc import Tensor
from graphc.ops import primitives as P
from tests.cells import Of
from tests.ops.pulled_cases import CASES, digest, maker

f = maker(Tensor, np)
#: The digests of what MindSpore 2.10 gives, PyNative mode on a CPU.
RECORDED = {
    "StridedSliceGrad": (((2, 3), 1.1047, 1.0398),),
    "SliceGrad": (((2, 3), 1.1047, 0.4619),),
    "MaxPoolGrad": (((2, 3, 6, 6), -0.2806, -6.7887),),
    "AvgPoolGrad": (((2, 3, 6, 6), -0.2806, -1.247),),
    "MaxPoolGradWithArgmax": (((2, 3, 6, 6), -0.2806, -3.195),),
    "AvgPool3DGrad": (((2, 3, 4, 4, 4), -0.0535, -0.8316),),
    "Conv2DBackpropFilter": (((4, 3, 3, 3), 0.0008, -5.8652),),
    "LayerNormGrad": (((2, 3, 8), 0.0, -0.3355), ((8,), 18.235, 3.4572), ((8,), -0.0362, 0.0206)),
    "BatchNormGrad": (((2, 3, 4, 4), 0.0, 1.1504), ((3,), -28.1523, -11.827), ((3,), -0.106, -0.0155)),
    "BatchNormGrad, evaluation": (((2, 3, 4, 4), 1.4319, 1.5059), ((3,), -69.8021, -43.9724), ((3,), -0.106, -0.0155)),
    "DropoutGrad": (((2, 3), 3.927, -0.7052),),
    "GeLUGrad": (((2, 3), 0.8186, -0.4513),),
    "FastGeLUGrad": (((2, 3), 0.792, -0.4514),),
    "HShrinkGrad": (((2, 3), -0.5199, -1.7854),),
    "SoftShrinkGrad": (((2, 3), -0.5199, -1.7854),),
    "HSwishGrad": (((2, 3), 0.8523, -0.2477),),
    "LogitGrad": (((2, 3), -2.2393, -5.6063),),
    "PReLUGrad": (((2, 3, 4), -4.6331, -1.8665), ((3,), -2.69, -0.8465)),
    "SmoothL1LossGrad": (((2, 3), 3.8635, -0.0258),),
    "BinaryCrossEntropyGrad": (((2, 3), -0.1679, 0.0233),),
    "KLDivLossGrad": (((2, 3), -0.4353, 0.0624),),
    "NLLLossGrad": (((2, 3), -0.1463, -0.0553),),
    "MultiMarginLossGrad": (((2, 3), 0.0, -0.072),),
    "L2NormalizeGrad": (((2, 3), -0.9232, -0.625),),
    "LRNGrad": (((2, 5, 3, 3), 0.4219, -0.1022),),
    "MirrorPadGrad": (((2, 3), -1.2791, 2.9815),),
    "MaximumGrad": (((2, 3), 1.2067, -0.7615), ((2, 3), -1.5316, -0.0491)),
    "MinimumGrad": (((2, 3), -1.5316, -0.0491), ((2, 3), 1.2067, -0.7615)),
    "GatherDGradV2": (((2, 3), 0.3369, 0.4355),),
    "ResizeBilinearGrad": (((2, 3, 6, 6), -0.4213, -0.2537),),
    "ResizeNearestNeighborGrad": (((2, 3, 6, 6), -0.4213, -0.0869),),
    "ResizeBicubicGrad": (((2, 3, 6, 6), -0.4213, -0.2274),),
    "GridSampler2DGrad": (((2, 3, 6, 6), -0.0825, 3.1201), ((2, 4, 4, 2), -5.053, -31.192)),
}


def integers(*values):
    return Tensor(np.array(values, np.int32))


@pytest.mark.parametrize("name", CASES)
def test_the_same_as_in_mindspore(name):
    found = digest(CASES[name](P, f, integers), np)
    for (shape, *sums), (wanted_shape, *wanted) in zip(found, RECORDED[name], strict=True):
        assert shape == wanted_shape
        np.testing.assert_allclose(sums, wanted, rtol=2e-5, atol=3e-4)


@pytest.mark.parametrize(
    ("primitive", "operands"),
    [
        (P.MaxPoolGrad(2, 2), (f(1, 2, 4, 4), f(1, 2, 2, 2), f(1, 2, 2, 2))),
        (P.LayerNormGrad(-1, -1), (f(2, 8), f(2, 8), f(2, 1) ** 2, f(2, 1), f(8))),
        (P.SoftmaxGrad(), (f(2, 8), f(2, 8))),
        (P.MaximumGrad(), (f(2, 3), f(2, 3) * -1, f(2, 3))),
    ],
    ids=lambda case: type(case).__name__,
)
def test_compiled_and_with_gradients_of_their_own(primitive, operands):
    cell = Of(primitive)
    eager, compiled = primitive(*operands), cell(*operands)
    for a, b in zip(*((x if isinstance(x, tuple) else (x,)) for x in (eager, compiled)), strict=True):
        np.testing.assert_allclose(a.asnumpy(), b.asnumpy(), rtol=1e-5, atol=1e-6)
    gradient = graphc.grad(cell, len(operands) - 1)(*operands)
    assert gradient.shape == operands[-1].shape


def test_what_does_not_fit_is_refused():
    with pytest.raises(ValueError, match=r"MaxPoolGradWithArgmax: .* has no places"):
        P.MaxPoolGradWithArgmax(2, 2)(f(2, 3), f(2, 3), integers(1, 2))
    with pytest.raises(TypeError, match=r"GeLUGrad: missing a required argument: 'y'; its operands are \(dy, x, y\)"):
        P.GeLUGrad()(f(2, 3), f(2, 3))
    with pytest.raises(TypeError, match=r"GeLUGrad: x must be a Tensor, got float"):
        P.GeLUGrad()(f(2, 3), 1.0, f(2, 3))
    with pytest.raises(graphc.ShapeError, match=r"MaxPoolGrad: dy is f32\[1,2,3,3\], expected f32\[1,2,2,2\]"):
        P.MaxPoolGrad(2, 2)(f(1, 2, 4, 4), f(1, 2, 2, 2), f(1, 2, 3, 3))
    with pytest.raises(graphc.DTypeError, match=r"GeLUGrad: dy is f64\[2,3\], expected f32"):
        P.GeLUGrad()(f(2, 3).astype("float64"), f(2, 3), f(2, 3))
    with pytest.raises(graphc.TraceError, match=r"GC120.*AdaptiveAvgPool2DGrad"):
        graphc.compile(Of(P.AdaptiveAvgPool2DGrad()), f(2, 3, 2, 2), integers(2, 3, 4, 4))
    with pytest.raises(ValueError, match=r"PadV3Grad: mode must be one of 'reflect', 'edge', 'circular'"):
        P.PadV3Grad("constant")(f(2, 3, 6), (1, 1))
    with pytest.raises(ValueError, match=r"PadV3Grad: paddings must be two numbers"):
        P.PadV3Grad()(f(2, 3, 6), (1, 1, 2))
    with pytest.raises(graphc.ShapeError, match=r"MedianGrad: .* not the median along axis 0"):
        P.MedianGrad()(f(2), f(2, 3), f(2), integers(0, 1))
    with pytest.raises(IndexError, match="index 7 is out of range"):
        P.SparseSegmentMeanGrad()(f(2, 3), integers(0, 2, 7), integers(0, 0, 1), 4)


def test_an_eager_call_finds_what_was_compiled_for_the_one_before():
    grad, x, dy = P.SmoothL1LossGrad(0.5, "none"), f(2, 3), f(3, 2).reshape((2, 3))
    first, again = grad(x, dy, dy), grad(x + 1, dy, dy)
    assert not np.array_equal(first.asnumpy(), again.asnumpy())
    start = time.process_time()
    for _ in range(20):
        grad(x, dy, dy)
    # Each would take a tenth of a second if it were compiled anew.
    assert time.process_time() - start < 0.5


def test_moments_that_are_given_count_as_those_of_x():
    x, dy, gamma = f(2, 4), f(4, 2).reshape((2, 4)), f(4)

    def sum_of(primitive, *given):
        return (primitive(*given)[0] * Tensor(np.cos(np.arange(8, dtype=np.float32)).reshape(2, 4))).sum()

    def whole(x):
        return sum_of(P.LayerNormGrad(), x, dy, x.var(1, keepdims=True), x.mean(1, True), gamma)

    def given(x, variance, mean):
        return sum_of(P.LayerNormGrad(), x, dy, variance, mean, gamma)

    moments = (x.var(1, keepdims=True), x.mean(1, True))
    by_x, by_variance, by_mean = graphc.grad(given, (0, 1, 2))(x, *moments)
    np.testing.assert_allclose(by_x.asnumpy(), graphc.grad(whole)(x).asnumpy(), rtol=1e-4)
    assert not by_variance.asnumpy().any()
    assert not by_mean.asnumpy().any()
    h = 1e-3 * np.eye(1, 8, 5, dtype=np.float32).reshape(2, 4)
    slope = (whole(x + Tensor(h)).item() - whole(x - Tensor(h)).item()) / 2e-3
    np.testing.assert_allclose(by_x.asnumpy()[1, 1], slope, rtol=2e-2)
