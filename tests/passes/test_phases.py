"""Images split by phase for convolutions with a stride."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import graphc
from graphc import nn, ops
from graphc.lower.convolution.phases import _runs


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


@pytest.mark.parametrize("seed", range(8))
def test_strided_convolutions_and_their_gradients(seed: int) -> None:
    rng = np.random.default_rng(seed)
    stride, kernel = int(rng.integers(2, 4)), (1, 1) if seed % 4 == 0 else tuple(map(int, rng.integers(1, 5, 2)))
    pad = tuple(map(int, rng.integers(0, 3, 4)))
    n, ci, co = (int(v) for v in rng.integers(1, 5, 3))
    h, w = (int(rng.integers(k + s, k + 9)) for k, s in zip(kernel, (1, 2), strict=True))
    layer = nn.Conv2d(ci, co, kernel, stride, pad_mode="pad", padding=pad, has_bias=False)
    weight = rng.standard_normal((co, ci, *kernel)).astype(np.float32)
    layer.weight.set_data(graphc.Tensor(weight))
    x = rng.standard_normal((n, ci, h, w)).astype(np.float32)

    padded = np.pad(x.astype(np.float64), ((0, 0), (0, 0), pad[:2], pad[2:]))
    windows = np.lib.stride_tricks.sliding_window_view(padded, kernel, axis=(2, 3))[:, :, ::stride, ::stride]
    want = np.einsum("nchwij,ocij->nohw", windows, weight.astype(np.float64))
    got = layer(graphc.Tensor(x)).asnumpy()
    np.testing.assert_allclose(got, want, rtol=0, atol=1e-4)

    dy = rng.standard_normal(want.shape).astype(np.float32)
    gradient = graphc.grad(lambda v: ops.reduce_sum(layer(v) * graphc.Tensor(dy)), 0, layer.trainable_params())
    dx, (dw,) = gradient(graphc.Tensor(x))
    np.testing.assert_allclose(dw.asnumpy(), np.einsum("nchwij,nohw->ocij", windows, dy), rtol=0, atol=1e-4)
    want_dx = np.zeros_like(padded)
    for i, j in itertools.product(range(kernel[0]), range(kernel[1])):
        rows, columns = slice(i, i + stride * dy.shape[2], stride), slice(j, j + stride * dy.shape[3], stride)
        want_dx[:, :, rows, columns] += np.einsum("nohw,oc->nchw", dy, weight[:, :, i, j])
    want_dx = want_dx[:, :, pad[0] : pad[0] + h, pad[2] : pad[2] + w]
    np.testing.assert_allclose(dx.asnumpy(), want_dx, rtol=0, atol=1e-4)
