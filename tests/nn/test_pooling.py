"""Pooling against NumPy, and what it refuses."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import graphc
from graphc import Tensor, nn
from graphc.ops.declared import reference
from graphc.testing import agree, graph_of

pytestmark = pytest.mark.usefixtures("eager")

Array = np.ndarray[Any, np.dtype[Any]]


def random(*shape: int, seed: int = 0) -> Array:
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def same(size: int, kernel: int, stride: int, dilation: int) -> tuple[int, int]:
    """Padding such that there are ceil(size / stride) windows, the odd one at the end."""
    windows = math.ceil(size / stride)
    total = max(0, (windows - 1) * stride + dilation * (kernel - 1) + 1 - size)
    return total // 2, math.ceil(total / 2)


def pooled(x: Array, kernel: tuple[int, int], stride: tuple[int, int], mode: str, reduce: Any) -> Array:
    """Each window, clipped to the image, reduced in float64."""
    pads, counts = [], []
    for size, k, s in zip(x.shape[-2:], kernel, stride, strict=True):
        pads.append(same(size, k, s, 1)[0] if mode == "same" else 0)
        counts.append(math.ceil(size / s) if mode == "same" else (size - k) // s + 1)
    y = np.zeros((*x.shape[:-2], *counts))
    for i in range(counts[0]):
        for j in range(counts[1]):
            top, left = i * stride[0] - pads[0], j * stride[1] - pads[1]
            window = x[..., max(top, 0) : top + kernel[0], max(left, 0) : left + kernel[1]]
            y[..., i, j] = reduce(window.astype(np.float64), axis=(-2, -1))
    return y


@settings(max_examples=40, deadline=None)
@given(
    st.tuples(st.integers(4, 9), st.integers(4, 9)),
    st.tuples(st.integers(1, 4), st.integers(1, 4)),
    st.tuples(st.integers(1, 3), st.integers(1, 3)),
    st.sampled_from(["valid", "same"]),
    st.booleans(),
)
def test_pooling(
    plane: tuple[int, int], kernel: tuple[int, int], stride: tuple[int, int], mode: str, batch: bool
) -> None:
    x = random(*((2,) if batch else ()), 3, *plane)
    for layer, reduce in ((nn.MaxPool2d, np.max), (nn.AvgPool2d, np.mean)):
        got = layer(kernel, stride, mode).construct(Tensor(x)).asnumpy()
        np.testing.assert_allclose(got, pooled(x, kernel, stride, mode, reduce), rtol=1e-5, atol=1e-6)


def test_pooling_defaults_do_nothing() -> None:
    x = random(1, 2, 3, 3)
    assert np.array_equal(nn.MaxPool2d().construct(Tensor(x)).asnumpy(), x)
    assert nn.MaxPool2d(2).stride == (1, 1)


def test_ceil_mode_holds_for_valid_averages_too() -> None:
    x = Tensor(random(1, 2, 5, 7))
    got = nn.AvgPool2d(2, 2, "valid", ceil_mode=True).construct(x).asnumpy()
    assert got.shape == (1, 2, 3, 4)
    assert np.array_equal(got, nn.AvgPool2d(2, 2, "pad", ceil_mode=True).construct(x).asnumpy())


def test_pooling_refuses() -> None:
    with pytest.raises(graphc.ShapeError, match="MaxPool2d: x has 2 axes, expected 4"):
        nn.MaxPool2d(2).construct(Tensor(random(4, 4)))
    with pytest.raises(graphc.ShapeError, match="the window does not fit"):
        nn.AvgPool2d(5).construct(Tensor(random(1, 1, 4, 4)))
    with pytest.raises(graphc.ArgumentValueError, match="AvgPool2d: pad_mode must be one of 'same', 'valid', 'pad'"):
        nn.AvgPool2d(2, pad_mode="full")
    with pytest.raises(graphc.ArgumentValueError, match="AvgPool2d: padding must be 0 with pad_mode 'same'"):
        nn.AvgPool2d(2, pad_mode="same", padding=1)
    with pytest.raises(graphc.ArgumentValueError, match="MaxPool2d: return_indices must be the default with pad_mode"):
        nn.MaxPool2d(2, return_indices=True)
    with pytest.raises(graphc.ArgumentValueError, match="MaxPool3d: padding must be at most half of the window"):
        nn.MaxPool3d(2, 1, "pad", 2)
    with pytest.raises(graphc.ArgumentTypeError, match="MaxPool2d: kernel_size must be an int or a tuple"):
        nn.MaxPool2d("2")


def test_an_infinite_gradient_goes_to_the_maximum_alone() -> None:
    """By the interpreter as by kernels."""
    graph = graph_of("""\
graph @grad {
  forward:
    %0 x: f32[1,1,4,4] = Input()
    %1 dy: f32[1,1,2,2] = Input()
    %2: f32[1,1,4,4] = MaxPoolGrad(%0, %1) {kernel=(2, 2), stride=(2, 2)}
  return dx=%2
}""")
    x, dy = np.arange(16, dtype=np.float32).reshape(1, 1, 4, 4), np.full((1, 1, 2, 2), np.inf, np.float32)
    agree(graph, {0: x, 1: dy}, checked=False)
    assert np.isfinite(reference.run(graph, {0: x, 1: dy}).results[0]).sum() == 12
