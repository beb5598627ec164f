"""Convolutions against float64 NumPy, their parameters, and the errors of inputs that do not fit."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import graphc
from graphc import Tensor, nn, ops
from graphc.ops.functional.conv import convolution

Array = np.ndarray[Any, np.dtype[Any]]


def random(*shape: int, seed: int = 0) -> Array:
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def names(cell: nn.Cell) -> list[str]:
    return [p.name for p in cell.get_parameters()]


def convolve(x: Array, w: Array, pad: tuple[int, ...], stride: tuple[int, int], dilation: tuple[int, int]) -> Array:
    """Cross-correlation pixel by pixel in float64."""
    x = np.pad(x.astype(np.float64), ((0, 0), (0, 0), pad[:2], pad[2:]))
    (sh, sw), (dh, dw), (kh, kw) = stride, dilation, w.shape[2:]
    oh = (x.shape[2] - dh * (kh - 1) - 1) // sh + 1
    ow = (x.shape[3] - dw * (kw - 1) - 1) // sw + 1
    y = np.zeros((x.shape[0], w.shape[0], oh, ow))
    for i in range(oh):
        for j in range(ow):
            window = x[:, :, i * sh : i * sh + dh * (kh - 1) + 1 : dh, j * sw : j * sw + dw * (kw - 1) + 1 : dw]
            y[:, :, i, j] = np.tensordot(window, w.astype(np.float64), axes=([1, 2, 3], [1, 2, 3]))
    return y


def same(size: int, kernel: int, stride: int, dilation: int) -> tuple[int, int]:
    """Padding such that there are ceil(size / stride) windows, the odd one at the end."""
    windows = math.ceil(size / stride)
    total = max(0, (windows - 1) * stride + dilation * (kernel - 1) + 1 - size)
    return total // 2, math.ceil(total / 2)


@pytest.mark.usefixtures("eager")
@settings(max_examples=40, deadline=None)
@given(
    st.integers(1, 9),
    st.integers(1, 9),
    st.tuples(st.integers(1, 4), st.integers(1, 4)),
    st.tuples(st.integers(1, 3), st.integers(1, 3)),
    st.tuples(st.integers(1, 2), st.integers(1, 2)),
    st.booleans(),
)
def test_conv_same(
    h: int, w: int, kernel: tuple[int, int], stride: tuple[int, int], dilation: tuple[int, int], has_bias: bool
) -> None:
    layer = nn.Conv2d(2, 3, kernel, stride, dilation=dilation, has_bias=has_bias)
    x = random(2, 2, h, w)
    pad = (*same(h, kernel[0], stride[0], dilation[0]), *same(w, kernel[1], stride[1], dilation[1]))
    wanted = convolve(x, layer.weight.asnumpy(), pad, stride, dilation)
    if layer.bias is not None:
        wanted += layer.bias.asnumpy().reshape(1, 3, 1, 1)
    got = layer.construct(Tensor(x)).asnumpy()
    assert got.shape == (2, 3, math.ceil(h / stride[0]), math.ceil(w / stride[1]))
    np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=1e-5)


@pytest.mark.usefixtures("eager")
@pytest.mark.parametrize(
    ("kwargs", "pad"),
    [
        ({"pad_mode": "valid"}, (0, 0, 0, 0)),
        ({"pad_mode": "pad", "padding": 2}, (2, 2, 2, 2)),
        ({"pad_mode": "PAD", "padding": (0, 1, 2, 3)}, (0, 1, 2, 3)),
        ({"pad_mode": "pad"}, (0, 0, 0, 0)),
    ],
)
def test_conv_padding(kwargs: dict[str, Any], pad: tuple[int, ...]) -> None:
    layer, x = nn.Conv2d(2, 3, 3, stride=2, **kwargs), random(2, 2, 7, 8)
    wanted = convolve(x, layer.weight.asnumpy(), pad, (2, 2), (1, 1))
    np.testing.assert_allclose(layer.construct(Tensor(x)).asnumpy(), wanted, rtol=1e-5, atol=1e-5)


@pytest.mark.usefixtures("eager")
def test_conv_parameters() -> None:
    layer = nn.Conv2d(2, 6, (3, 5), has_bias=True)
    assert {p.name: p.shape for p in layer.get_parameters()} == {"weight": (6, 2, 3, 5), "bias": (6,)}
    bound = 1 / math.sqrt(2 * 3 * 5)
    assert all(np.abs(p.asnumpy()).max() <= bound for p in layer.get_parameters())
    assert names(nn.Conv2d(2, 6, 3)) == ["weight"]


@pytest.mark.usefixtures("eager")
def test_conv_errors_name_both_sides() -> None:
    layer = nn.Conv2d(3, 6, 5, weight_init="ones")
    with pytest.raises(graphc.ShapeError) as caught:
        layer.construct(Tensor(random(1, 8, 8, 3)))
    text = str(caught.value)
    assert "Conv2d: x has 8 channels (axis 1), the layer expects 3" in text
    assert "x: f32[1,8,8,3]" in text
    assert "weight: weight f32[6,3,5,5]" in text
    assert "help: bring channels to axis 1: ops.transpose(x, (0, 3, 1, 2))" in text
    with pytest.raises(graphc.ShapeError, match=r"help: make the layer nn.Conv2d\(2, 6, ...\)"):
        layer.construct(Tensor(random(1, 2, 8, 8)))
    with pytest.raises(graphc.ShapeError, match="Conv2d: x has 3 axes, expected 4"):
        layer.construct(Tensor(random(3, 8, 8)))
    with pytest.raises(graphc.DTypeError, match="Conv2d: x has dtype float64"):
        layer.construct(Tensor(random(1, 3, 8, 8).astype(np.float64)))
    with pytest.raises(graphc.ShapeError, match="the window does not fit"):
        nn.Conv2d(3, 6, 5, pad_mode="valid").construct(Tensor(random(1, 3, 4, 8)))


@pytest.mark.usefixtures("eager")
@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: nn.Conv2d(2, 2, 3, padding=1), ValueError, "padding must be 0 with pad_mode 'same', got 1"),
        (lambda: nn.Conv2d(2, 2, 3, pad_mode="valid", padding=(0, 0, 0, 1)), ValueError, "padding must be 0"),
        (lambda: nn.Conv2d(2, 2, 3, pad_mode="pad", padding=-1), ValueError, "padding must be at least 0"),
        (lambda: nn.Conv2d(2, 2, 3, pad_mode="pad", padding=(1, 1)), ValueError, "4 ints, two for each axis, got"),
        (lambda: nn.Conv2d(2, 2, 3, pad_mode="pad", padding=1.0), TypeError, "padding must be an int or"),
        (lambda: nn.Conv2d(2, 2, 3, pad_mode="full"), ValueError, "pad_mode must be one of 'same', 'valid'"),
        (lambda: nn.Conv2d(2, 2, 0), ValueError, "kernel_size must be at least 1"),
        (lambda: nn.Conv2d(2, 2, (3, 3, 3)), ValueError, "kernel_size must be an int or a tuple of two"),
        (lambda: nn.Conv2d(2, 2, 3, stride=(1, 1.5)), TypeError, "stride must be an int, got float"),
        (lambda: nn.Conv2d(4, 4, 3, group=3), ValueError, "in_channels must be a multiple of group = 3, got 4"),
        (lambda: nn.Conv2d(4, 4, 3, data_format="NHWC"), ValueError, "data_format must be 'NCHW'"),
        (lambda: nn.Conv2d(4, 4, 3, has_bias=None), TypeError, "has_bias must be a bool, got NoneType"),
    ],
)
def test_conv_refuses(make: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message) as caught:
        make()
    assert isinstance(caught.value, graphc.GraphcError)


def direct(x: Array, w: Array, pads: Any, stride: Any, dilation: Any, groups: int) -> Array:
    """Cross-correlation pixel by pixel, in float64."""
    x = np.pad(x.astype(np.float64), ((0, 0), (0, 0), pads[:2], pads[2:]))
    (kh, kw), (sh, sw), (dh, dw) = w.shape[2:], stride, dilation
    oh, ow = (x.shape[2] - dh * (kh - 1) - 1) // sh + 1, (x.shape[3] - dw * (kw - 1) - 1) // sw + 1
    per, out_per = x.shape[1] // groups, w.shape[0] // groups
    y = np.zeros((x.shape[0], w.shape[0], oh, ow))
    for o in range(w.shape[0]):
        first = o // out_per * per
        for i in range(oh):
            for j in range(ow):
                window = x[:, first : first + per, i * sh :, j * sw :][:, :, : dh * kh : dh, : dw * kw : dw]
                y[:, o, i, j] = (window[:, :, :kh, :kw] * w[o]).sum((1, 2, 3))
    return y


@pytest.mark.parametrize(
    ("x", "w", "pads", "stride", "dilation", "groups"),
    [
        ((2, 4, 7, 8), (6, 2, 3, 3), (1, 1, 1, 1), (1, 1), (1, 1), 2),
        ((2, 4, 9, 8), (4, 1, 3, 2), (1, 0, 2, 1), (2, 2), (1, 1), 4),
        ((1, 3, 9, 8), (6, 1, 2, 3), (0, 0, 0, 0), (1, 2), (2, 1), 3),
        ((1, 2, 9, 10), (3, 2, 3, 3), (1, 1, 1, 1), (2, 1), (1, 1), 1),
        ((1, 2, 11, 10), (3, 2, 3, 2), (0, 1, 1, 1), (4, 2), (1, 1), 1),
        ((1, 2, 11, 10), (3, 2, 3, 2), (2, 2, 1, 1), (1, 1), (3, 2), 1),
        ((1, 2, 12, 12), (3, 2, 2, 3), (1, 1, 1, 1), (3, 2), (4, 2), 1),
        ((1, 9, 12, 12), (9, 1, 9, 9), (0, 0, 0, 0), (1, 1), (1, 1), 9),
    ],
)
def test_convolution(x: Any, w: Any, pads: Any, stride: Any, dilation: Any, groups: int) -> None:
    class Apply(nn.Cell):
        def construct(self, a: Any, b: Any) -> Any:
            return convolution(a, b, pads, stride, dilation, groups)

    a, b = random(*x), random(*w, seed=1)
    wanted = direct(a, b, pads, stride, dilation, groups)
    y = Apply()(Tensor(a), Tensor(b)).asnumpy()
    np.testing.assert_allclose(y, wanted, rtol=1e-5, atol=2e-5)
    sens = random(*wanted.shape, seed=2)
    grad = ops.GradOperation(get_all=True, sens_param=True)(Apply())
    gradients = grad(Tensor(a), Tensor(b), Tensor(sens))
    for k, (value, got) in enumerate(zip((a, b), gradients, strict=True)):
        direction = random(*value.shape, seed=3 + k)
        # The convolution is linear in each operand.
        moved = direct(*((direction, b) if k == 0 else (a, direction)), pads, stride, dilation, groups)
        assert float((got.asnumpy() * direction).sum()) == pytest.approx(
            float((moved * sens).sum()), rel=1e-4, abs=1e-4
        )


def test_functional_conv2d() -> None:
    a, b, bias = random(2, 4, 6, 6), random(6, 2, 3, 3), random(6)
    for pad_mode, padding, pads in (
        ("valid", 0, (0, 0, 0, 0)),
        ("same", 0, (1, 1, 1, 1)),
        ("pad", 2, (2, 2, 2, 2)),
        ("pad", (1, 2), (1, 1, 2, 2)),
        ("pad", (1, 0, 2, 1), (1, 0, 2, 1)),
    ):
        got = ops.conv2d(Tensor(a), Tensor(b), Tensor(bias), 1, pad_mode, padding, 1, 2).asnumpy()
        wanted = direct(a, b, pads, (1, 1), (1, 1), 2) + bias[:, None, None]
        np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=2e-5)
    with pytest.raises(graphc.ShapeError, match="do not divide into 3 groups"):
        ops.conv2d(Tensor(a), Tensor(b), groups=3)
    with pytest.raises(graphc.ShapeError, match=r"x is f32\[6\] and weight is"):
        ops.conv2d(Tensor(bias), Tensor(b))
    with pytest.raises(graphc.ArgumentValueError, match="pad_mode must be"):
        ops.conv2d(Tensor(a), Tensor(b), pad_mode="full")
    with pytest.raises(graphc.ShapeError, match="the window reaches over 9"):
        ops.conv2d(Tensor(a), Tensor(random(4, 1, 3, 3)), dilation=4, groups=4)
