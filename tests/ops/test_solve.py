"""Small linear systems, integers, boxes, volumes and resizing, compiled, against NumPy in float64."""

from __future__ import annotations

import numpy as np
import pytest

import graphc
from graphc import Tensor, nn, ops
from graphc.ops import primitives as P
from tests.data.ms_functions import array


def compiled(function, *arrays):
    class Of(nn.Cell):
        def construct(self, *inputs):
            return function(*inputs)

    return Of()(*map(Tensor, arrays)).asnumpy()


MATRICES = array(2, 5, 5, low=-2.0, high=2.0)
MATRICES[0, 0, 0] = 0  # Elimination must exchange rows.


def test_inverse_and_determinant():
    exact = MATRICES.astype(np.float64)
    np.testing.assert_allclose(compiled(ops.inverse, MATRICES), np.linalg.inv(exact), rtol=2e-3, atol=2e-4)
    np.testing.assert_allclose(compiled(ops.det, MATRICES), np.linalg.det(exact), rtol=1e-4)
    cofactors = (np.linalg.det(exact)[:, None, None] * np.linalg.inv(exact)).swapaxes(1, 2)
    got = ops.grad(lambda x: ops.det(x).sum())(Tensor(MATRICES)).asnumpy()
    np.testing.assert_allclose(got, cofactors, rtol=2e-3, atol=2e-3)
    with pytest.raises(ValueError, match="expected square float or complex matrices"):
        ops.inverse(Tensor(np.ones((2, 3), np.float32)))


def test_cholesky():
    positive = MATRICES @ MATRICES.swapaxes(1, 2) + 0.5 * np.eye(5, dtype=np.float32)
    wanted = np.linalg.cholesky(positive.astype(np.float64))
    np.testing.assert_allclose(compiled(ops.cholesky, positive), wanted, rtol=1e-4, atol=1e-4)
    upper = compiled(P.Cholesky(True), positive)
    np.testing.assert_allclose(upper, wanted.swapaxes(1, 2), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("upper", [False, True])
@pytest.mark.parametrize("size", [1, 5, 40])
def test_the_gradient_of_cholesky(size, upper):
    """That of a symmetric matrix: differences in symmetric directions, in float64."""
    rng = np.random.default_rng(size)
    x, weights, step = (rng.standard_normal((2, size, size)) for _ in range(3))
    x = x @ x.swapaxes(1, 2) / size + np.eye(size)
    step = step + step.swapaxes(1, 2)

    def total(x):
        return (ops.cholesky(x, upper) * Tensor(weights)).sum()

    class Gradient(nn.Cell):
        def construct(self, x):
            return ops.grad(total)(x)

    got = Gradient()(Tensor(x)).asnumpy()
    np.testing.assert_allclose(got, got.swapaxes(1, 2), rtol=1e-12)
    ends = [float(total(Tensor(x + h * step))) for h in (-1e-6, 1e-6)]
    assert (got * step).sum() == pytest.approx((ends[1] - ends[0]) / 2e-6, rel=1e-6)
    _, tangent = ops.jvp(lambda x: ops.cholesky(x, upper), Tensor(x), Tensor(step))
    assert (tangent.asnumpy() * weights).sum() == pytest.approx((got * step).sum(), rel=1e-9)


def test_cholesky_reads_the_lower_triangle_and_fills_the_other():
    x = np.array([[4, np.nan, np.nan], [2, 5, np.nan], [2, 3, 6]], np.float32)
    for function in (compiled, lambda f, x: f(Tensor(x)).asnumpy()):
        np.testing.assert_allclose(function(ops.cholesky, x), [[2, 0, 0], [1, 2, 0], [1, 1, 2]])
        assert np.isnan(function(ops.cholesky, -np.eye(3, dtype=np.float32))).any()


def test_large_systems_compile_to_few_calls():

    def calls(size):
        x = np.eye(size, dtype=np.float32)
        step = graphc.compile(Likelihood(), x, x[:, :1])
        return step.source.count("(ctx, ")

    class Likelihood(nn.Cell):
        def construct(self, k, y):
            return ops.grad(lambda k: ops.cholesky_solve(y, ops.cholesky(k)).sum())(k)

    assert calls(100) < 25


def test_integers():
    a, b = np.array([12, 0, -8, 7, 5], np.int32), np.array([18, 4, 12, 0, 15], np.int32)
    assert compiled(ops.gcd, a, b).tolist() == np.gcd(a, b).tolist()
    assert compiled(ops.lcm, a, b).tolist() == np.lcm(a, b).tolist()
    bits = np.array([0, 1, -1, 255, -32768], np.int16)
    assert compiled(ops.population_count, bits).tolist() == [0, 1, 16, 8, 1]


def test_boxes():
    boxes = np.array([[0, 0, 3, 3], [2, 2, 5, 4], [8, 8, 9, 9]], np.float32)
    wanted = np.eye(3)
    wanted[0, 1] = wanted[1, 0] = 4 / (16 + 12 - 4)
    np.testing.assert_allclose(compiled(ops.iou, boxes, boxes), wanted, rtol=1e-6)


VOLUME = array(1, 2, 5, 6, 7)


@pytest.mark.parametrize("mode", ["valid", "same"])
@pytest.mark.parametrize("kind", ["max", "avg"])
def test_pooling_of_volumes(mode, kind):
    from graphc.ops.functional.pooling import pool3d

    kernel, stride = (2, 3, 2), (2, 2, 3)
    got = compiled(lambda x: pool3d(x, kernel, stride, mode, kind=kind), VOLUME)
    x = VOLUME.astype(np.float64)
    if mode == "same":
        ends = []
        for n, k, s in zip(x.shape[2:], kernel, stride, strict=True):
            total = max((-(-n // s) - 1) * s + k - n, 0)
            ends.append((total // 2, total - total // 2))
        x = np.pad(x, [(0, 0), (0, 0), *ends], constant_values=np.nan)
    windows = np.lib.stride_tricks.sliding_window_view(x, kernel, axis=(2, 3, 4))[
        :, :, :: stride[0], :: stride[1], :: stride[2]
    ]
    wanted = (np.nanmax if kind == "max" else np.nanmean)(windows, axis=(-3, -2, -1))
    np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("groups", [1, 2])
def test_convolution_of_volumes(groups):
    """All slices that a window meets at once, and one after the other where each channel is a group."""
    each = 2 // groups
    weight = array(4, each, 2, 3, 2)
    got = compiled(
        lambda x, w: ops.conv3d(x, w, None, (1, 2, 1), "pad", (1, 0, 0, 1, 1, 0), (2, 1, 1), groups), VOLUME, weight
    )
    padded = np.pad(VOLUME.astype(np.float64), ((0, 0), (0, 0), (1, 0), (0, 1), (1, 0)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3, 2), axis=(2, 3, 4))
    taken = windows[:, :, :, ::2, :, ::2]
    wanted = [
        np.einsum(
            "ncdhwijk,ocijk->nodhw",
            taken[:, g * each : (g + 1) * each],
            weight[g * 4 // groups : (g + 1) * 4 // groups],
        )
        for g in range(groups)
    ]
    np.testing.assert_allclose(got, np.concatenate(wanted, axis=1), rtol=1e-4, atol=1e-5)
    with pytest.raises(graphc.ShapeError, match="deeper than the padded volume"):
        ops.conv3d(Tensor(VOLUME), Tensor(array(1, 2, 9, 1, 1)))


@pytest.mark.parametrize("corners", [True, False])
def test_bilinear_resizing_is_exact_for_planes(corners):
    rows, columns = np.meshgrid(np.arange(4.0), np.arange(5.0), indexing="ij")
    plane = (2 * rows - 3 * columns + 1).astype(np.float32)[None, None]
    got = compiled(lambda x: P.ResizeBilinearV2(corners)(x, (7, 9)), plane)[0, 0]
    step = (3 / 6, 4 / 8) if corners else (4 / 7, 5 / 9)
    places = [np.minimum(np.arange(n) * s, m) for n, s, m in zip((7, 9), step, (3, 4), strict=True)]
    r, c = np.meshgrid(*places, indexing="ij")
    np.testing.assert_allclose(got, 2 * r - 3 * c + 1, rtol=1e-5, atol=1e-5)
