"""Images split by phase for convolutions with a stride."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import graphc
from graphc import nn, ops
from graphc.lower import lower
from graphc.lower.convolution import choice
from graphc.lower.convolution.phases import _runs
from graphc.testing import calls, close_to_reference, graph_of


@pytest.mark.parametrize("stride", [1, 2, 3, 4])
def test_runs_hold_every_pixel_once(stride: int) -> None:
    for size, before, phases in itertools.product(range(1, 10), range(5), {1, stride}):
        found = {}
        for run in _runs(size, before, stride, phases):
            for p, i in itertools.product(range(run.count), range(run.length)):
                pixel = run.start + p * run.start_step + i * stride
                assert found.setdefault((run.first + p, run.place + p * run.place_step + i), pixel) == pixel
        wanted = {((x + before) % stride, (x + before) // stride): x for x in range(size)}
        assert found == {place: x for place, x in wanted.items() if place[0] < phases}


@pytest.mark.parametrize("seed", range(64))
def test_strided_convolutions_and_their_gradients(seed: int) -> None:
    """Windows of one pixel, windows side by side (with padding and without), and any others, dilated too; dense and in groups.

    Then of more pixels and channels, for which there are other kernels.
    """
    rng = np.random.default_rng(seed)
    stride = tuple(map(int, rng.integers(1, 5, 2)))
    kernel = {0: (1, 1), 1: stride}.get(seed % 4, tuple(map(int, rng.integers(1, 5, 2))))
    dilation = tuple(map(int, rng.integers(1, 4, 2))) if seed % 4 == 3 else (1, 1)
    pad = (0, 0, 0, 0) if seed % 8 == 1 else tuple(map(int, rng.integers(0, 3, 4)))
    n, ci, co, groups = (int(v) for v in rng.integers(1, 5, 4))
    if seed >= 16:
        ci, co, groups = 16 * ci, 16 * co, 1
    reach = [d * (k - 1) + 1 for k, d in zip(kernel, dilation, strict=True)]
    most = 9 if seed < 16 else 40
    h, w = (int(rng.integers(r + s, r + most)) for r, s in zip(reach, (1, 2), strict=True))
    _check(rng, (n, groups, ci, co), (h, w), kernel, stride, pad, dilation)


@pytest.mark.parametrize("seed", range(24))
def test_blocks_of_taps(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Windows of 2 to 8 taps along an axis, wherever it pays and wherever it does not."""
    monkeypatch.setattr(choice, "in_blocks", lambda *args, transposed: True)
    monkeypatch.setattr(choice, "gradient_in_blocks", lambda *args: True)
    rng = np.random.default_rng(seed)
    stride, kernel = (tuple(map(int, rng.integers(*ends, 2))) for ends in ((1, 4), (2, 9)))
    pad = tuple(map(int, rng.integers(0, 4, 4)))
    n, ci, co = (int(v) for v in rng.integers(1, 12, 3))
    h, w = (int(rng.integers(k, k + 14)) for k in kernel)
    _check(rng, (n, 1, ci, co), (h, w), kernel, stride, pad, (1, 1))


@pytest.mark.parametrize("seed", range(24))
def test_phases_as_channels(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the stride: windows shorter than it, of several phases or of all, and pixels that none sees."""
    monkeypatch.setattr(choice, "spreads", lambda *args, transposed: True)
    monkeypatch.setattr(choice, "gradient_spreads", lambda *args: True)
    rng = np.random.default_rng(seed)
    stride, kernel = tuple(map(int, rng.integers(1, 6, 2))), tuple(map(int, rng.integers(1, 10, 2)))
    pad = tuple(map(int, rng.integers(0, 4, 4)))
    n, ci, co = (int(v) for v in rng.integers(1, 12, 3))
    h, w = (int(rng.integers(k, k + 25)) for k in kernel)
    _check(rng, (n, 1, ci, co), (h, w), kernel, stride, pad, (1, 1))


@pytest.mark.parametrize("seed", range(12))
def test_windows_whose_rows_are_long_and_do_not_overlap(seed: int) -> None:
    """Their columns are moved a row at a time: side by side or further apart, few pixels of many images or many."""
    rng = np.random.default_rng(seed)
    kernel = int(rng.integers(1, 9)), int(rng.integers(4, 10))
    stride = tuple(k + int(rng.integers(2)) * (seed % 3) for k in kernel)
    dilation = (int(rng.integers(1, 3)), 1) if seed % 3 == 2 else (1, 1)
    pad = tuple(map(int, rng.integers(0, 3, 4))) if seed % 2 else (0, 0, 0, 0)
    n, ci, co = int(rng.integers(8, 24)), int(rng.integers(1, 20)), int(rng.integers(4, 40))
    h, w = (
        d * (k - 1) + 1 + s * int(rng.integers(1, 6)) + int(rng.integers(2))
        for d, k, s in zip(dilation, kernel, stride, strict=True)
    )
    _check(rng, (n, 1, ci, co), (h, w), kernel, stride, pad, dilation)


@pytest.mark.parametrize("seed", range(32))
def test_windows_that_cover_an_axis(seed: int) -> None:
    """Rows, columns, both, or nearly so: their taps are channels then, in groups too, with padding or a stride elsewhere."""
    rng = np.random.default_rng(seed)
    covered = (seed % 4 in (0, 2), seed % 4 in (1, 2))
    kernel, stride = tuple(map(int, rng.integers(1, 8, 2))), tuple(map(int, rng.integers(1, 3, 2)))
    h, w = (k if whole else k + int(rng.integers(1, 5)) for k, whole in zip(kernel, covered, strict=True))
    before, after = (
        [int(p) * (not whole) for p, whole in zip(rng.integers(0, 3, 2), covered, strict=True)] for _ in "ab"
    )
    pad = (before[0], after[0], before[1], after[1]) if seed % 8 > 3 else (0, 0, 0, 0)
    n, ci, co, groups = (int(v) for v in rng.integers(1, 6, 4))
    if seed >= 16:
        n, ci, co, groups = 3 * n, 8 * ci, 8 * co, 1
    _check(rng, (n, groups, ci, co), (h, w), kernel, stride, pad, (1, 1))


def _check(rng, channels, size, kernel, stride, pad, dilation):
    """A convolution and both of its gradients against sums over windows in float64."""
    (n, groups, ci, co), (h, w), (sh, sw), (down, across) = channels, size, stride, dilation
    reach = [d * (k - 1) + 1 for k, d in zip(kernel, dilation, strict=True)]
    layer = nn.Conv2d(groups * ci, groups * co, kernel, stride, "pad", pad, dilation, groups, has_bias=False)
    weight = rng.standard_normal((groups, co, ci, *kernel)).astype(np.float32)
    layer.weight.set_data(graphc.Tensor(weight.reshape(groups * co, ci, *kernel)))
    x = rng.standard_normal((n, groups * ci, h, w)).astype(np.float32)

    def close(made, wanted):
        np.testing.assert_allclose(made, wanted, rtol=0, atol=1e-4 + 2e-6 * np.abs(wanted).max())

    padded = np.pad(x.astype(np.float64), ((0, 0), (0, 0), pad[:2], pad[2:]))
    padded = padded.reshape(n, groups, ci, *padded.shape[2:])
    windows = np.lib.stride_tricks.sliding_window_view(padded, reach, axis=(3, 4))
    windows = windows[:, :, :, ::sh, ::sw, ::down, ::across]
    want = np.einsum("ngchwij,gocij->ngohw", windows, weight.astype(np.float64))
    got = layer(graphc.Tensor(x)).asnumpy()
    close(got.reshape(want.shape), want)

    dy = rng.standard_normal(want.shape).astype(np.float32)
    gradient = graphc.grad(
        lambda v: ops.reduce_sum(layer(v) * graphc.Tensor(dy.reshape(got.shape))), 0, layer.trainable_params()
    )
    dx, (dw,) = gradient(graphc.Tensor(x))
    want_dw = np.einsum("ngchwij,ngohw->gocij", windows, dy)
    close(dw.asnumpy().reshape(weight.shape), want_dw)
    want_dx = np.zeros_like(padded)
    for i, j in itertools.product(range(kernel[0]), range(kernel[1])):
        rows, columns = (down * i + sh * np.arange(dy.shape[3]))[:, None], across * j + sw * np.arange(dy.shape[4])
        want_dx[:, :, :, rows, columns] += np.einsum("ngohw,goc->ngchw", dy, weight[..., i, j])
    want_dx = want_dx[:, :, :, pad[0] : pad[0] + h, pad[2] : pad[2] + w].reshape(x.shape)
    close(dx.asnumpy(), want_dx)


def test_windows_side_by_side_are_one_product_each_way() -> None:
    """No code for each of their pixels, and no call for each phase of the input's gradient."""
    graph = graph_of(
        """graph @g {
  forward:
    %0 x: f32[2,3,17,16] = Input()
    %1 w: f32[4,3,8,8] = Input()
    %2 g: f32[2,4,2,2] = Input()
    %3: f32[2,4,2,2] = Conv2D(%0, %1) {stride=(8, 8)}
    %4: f32[4,3,8,8] = Conv2DBackpropFilter(%2, %0) {shape=(4, 3, 8, 8), stride=(8, 8)}
    %5: f32[2,3,17,16] = Conv2DBackpropInput(%2, %1) {shape=(2, 3, 17, 16), stride=(8, 8)}
  return y=%3, dw=%4, dx=%5
}"""
    )
    lowered = lower(graph)
    products = [c.kernel for c in calls(lowered) if c.kernel.family in ("conv2d", "conv2d_filter_grad", "gemm")]
    assert sorted(k.family for k in products) == ["conv2d", "conv2d", "gemm"]
    made = [k for k in products if k.family == "conv2d"]
    assert {tuple(dict(k.params)[name] for name in ("kh", "kw", "stride")) for k in made} == {(1, 1, (1, 1))}
    close_to_reference(graph, lowered)
