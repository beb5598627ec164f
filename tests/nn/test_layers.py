"""Layers against float64 NumPy, their parameters, and the errors of layers that do not fit their input."""

from __future__ import annotations

import math
from collections import OrderedDict
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import graphc
from graphc import Parameter, Tensor, nn

pytestmark = pytest.mark.usefixtures("eager")
Array = np.ndarray[Any, np.dtype[Any]]


def random(*shape: int, seed: int = 0) -> Array:
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def names(cell: nn.Cell) -> list[str]:
    return [p.name for p in cell.get_parameters()]


# ---- Dense


@pytest.mark.parametrize("lead", [(), (1,), (6,), (2, 3), (2, 1, 4)])
@pytest.mark.parametrize("has_bias", [True, False])
def test_dense(lead: tuple[int, ...], has_bias: bool) -> None:
    layer, x = nn.Dense(5, 4, has_bias=has_bias), random(*lead, 5)
    wanted = x.astype(np.float64) @ layer.weight.asnumpy().T.astype(np.float64)
    if layer.bias is not None:
        wanted += layer.bias.asnumpy()
    got = layer.construct(Tensor(x))
    assert got.dtype == graphc.float32
    np.testing.assert_allclose(got.asnumpy(), wanted, rtol=1e-5, atol=1e-6)


def test_dense_parameters() -> None:
    layer = nn.Dense(5, 4)
    assert {p.name: p.shape for p in layer.get_parameters()} == {"weight": (4, 5), "bias": (4,)}
    assert all(p.requires_grad for p in layer.get_parameters())
    bound = 1 / math.sqrt(5)  # HeUniform(sqrt(5)): sqrt(3) * sqrt(2 / 6) / sqrt(fan_in)
    assert all(np.abs(p.asnumpy()).max() <= bound for p in layer.get_parameters())
    assert names(nn.Dense(5, 4, has_bias=False)) == ["weight"]


def test_dense_activation() -> None:
    x = random(3, 5)
    for activation, f in (("relu", lambda v: np.maximum(v, 0)), (nn.Tanh(), np.tanh)):
        layer = nn.Dense(5, 4, "normal", "ones", activation=activation)
        plain = x @ layer.weight.asnumpy().T + 1
        np.testing.assert_allclose(layer.construct(Tensor(x)).asnumpy(), f(plain), rtol=1e-5, atol=1e-6)


def test_dense_error_names_both_sides() -> None:
    net = nn.SequentialCell(nn.ReLU(), nn.Dense(5, 4))
    with pytest.raises(graphc.ShapeError) as caught:
        net[1].construct(Tensor(random(2, 3)))
    text = str(caught.value)
    assert text.splitlines()[0] == "[GC101] Dense: the last axis of x has 3 features, the layer expects 5"
    assert "net[1].construct(Tensor(random(2, 3)))" in text
    assert "x: f32[2,3]" in text
    assert "weight: 1.weight f32[4,5]" in text
    assert "help: make the layer nn.Dense(3, 4)" in text


def test_dense_does_not_promote() -> None:
    with pytest.raises(graphc.DTypeError, match="x has dtype float16, the layer's weight float32") as caught:
        nn.Dense(3, 2).construct(Tensor(random(2, 3).astype(np.float16)))
    assert caught.value.help == "cast the input: ops.cast(x, graphc.float32)"


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: nn.Dense(0, 2), ValueError, "Dense: in_channels must be at least 1, got 0"),
        (lambda: nn.Dense(2, 2.5), TypeError, "Dense: out_channels must be an int, got float"),
        (lambda: nn.Dense(True, 2), TypeError, "Dense: in_channels must be an int, got bool"),
        (lambda: nn.Dense(2, 2, has_bias=1), TypeError, "Dense: has_bias must be a bool, got int"),
        (lambda: nn.Dense(2, 2, activation="selu"), ValueError, "name must be one of 'relu'"),
        (lambda: nn.Dense(2, 2, activation=3), TypeError, "activation must be a name or a Cell, got int"),
        (lambda: nn.Dense(2, 3, Tensor(random(2, 3))), ValueError, r"init is f32\[2,3\]"),
        (lambda: nn.Dense(2, 3, bias_init=Tensor(random(2))), ValueError, r"the shape asked for is \(3,\)"),
        (lambda: nn.Dense(2, 3).construct(Tensor(1.0)), ValueError, "x has no axes"),
        (lambda: nn.Dense(2, 3).construct("x"), TypeError, "Dense: x must be a Tensor"),
    ],
)
def test_dense_refuses(make: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        make()


# ---- Conv2d


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


def test_conv_parameters() -> None:
    layer = nn.Conv2d(2, 6, (3, 5), has_bias=True)
    assert {p.name: p.shape for p in layer.get_parameters()} == {"weight": (6, 2, 3, 5), "bias": (6,)}
    bound = 1 / math.sqrt(2 * 3 * 5)
    assert all(np.abs(p.asnumpy()).max() <= bound for p in layer.get_parameters())
    assert names(nn.Conv2d(2, 6, 3)) == ["weight"]


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


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: nn.Conv2d(2, 2, 3, padding=1), ValueError, "padding must be 0 with pad_mode 'same', got 1"),
        (lambda: nn.Conv2d(2, 2, 3, pad_mode="valid", padding=(0, 0, 0, 1)), ValueError, "padding must be 0"),
        (lambda: nn.Conv2d(2, 2, 3, pad_mode="pad", padding=-1), ValueError, "padding must be at least 0"),
        (lambda: nn.Conv2d(2, 2, 3, pad_mode="pad", padding=(1, 1)), ValueError, "top, bottom, left, right"),
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


# ---- pooling


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


def test_pooling_refuses() -> None:
    with pytest.raises(graphc.ShapeError, match="MaxPool2d: x has 2 axes, expected 4"):
        nn.MaxPool2d(2).construct(Tensor(random(4, 4)))
    with pytest.raises(graphc.ShapeError, match="the window does not fit"):
        nn.AvgPool2d(5).construct(Tensor(random(1, 1, 4, 4)))
    with pytest.raises(graphc.ArgumentValueError, match="AvgPool2d: pad_mode must be one of 'same', 'valid'"):
        nn.AvgPool2d(2, pad_mode="pad")
    with pytest.raises(graphc.ArgumentTypeError, match="MaxPool2d: kernel_size must be an int or a tuple"):
        nn.MaxPool2d("2")


# ---- small layers


def test_activations() -> None:
    x = random(3, 4)
    d = x.astype(np.float64)
    e = np.exp(d)
    wanted = {
        "relu": np.maximum(d, 0),
        "tanh": np.tanh(d),
        "sigmoid": 1 / (1 + np.exp(-d)),
        "softmax": e / e.sum(-1, keepdims=True),
        "logsoftmax": d - np.log(e.sum(-1, keepdims=True)),
    }
    for name, value in wanted.items():
        cell = nn.get_activation(name)
        assert cell is not None
        np.testing.assert_allclose(cell.construct(Tensor(x)).asnumpy(), value, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(nn.Softmax(0).construct(Tensor(x)).asnumpy(), e / e.sum(0), rtol=1e-5)
    assert nn.get_activation(None) is None
    with pytest.raises(graphc.ArgumentTypeError, match="Softmax: axis must be an int, got tuple"):
        nn.Softmax((0, 1))


def test_flatten_and_identity() -> None:
    x = Tensor(random(2, 3, 4, 5))
    assert nn.Flatten().construct(x).shape == (2, 60)
    assert nn.Flatten(0, 1).construct(x).shape == (6, 4, 5)
    assert np.array_equal(nn.Flatten().construct(x).asnumpy(), x.asnumpy().reshape(2, 60))
    assert nn.Identity().construct(x) is x
    with pytest.raises(graphc.ArgumentTypeError, match="start_dim must be an int"):
        nn.Flatten("1")


# ---- containers


class Held(nn.Cell):
    """Holds a container under the name `body`."""

    def __init__(self, body: nn.Cell) -> None:
        super().__init__()
        self.body = body


def test_sequential_applies_in_order() -> None:
    first, second = nn.Dense(3, 4), nn.Dense(4, 2)
    x = Tensor(random(2, 3))
    wanted = second.construct(nn.ReLU().construct(first.construct(x))).asnumpy()
    for seq in (nn.SequentialCell([first, nn.ReLU(), second]), nn.SequentialCell(first, nn.ReLU(), second)):
        assert np.array_equal(seq(x).asnumpy(), wanted)
    assert names(seq) == ["0.weight", "0.bias", "2.weight", "2.bias"]


def test_sequential_of_named_cells() -> None:
    seq = nn.SequentialCell(OrderedDict([("fc", nn.Dense(3, 4)), ("out", nn.Dense(4, 2, has_bias=False))]))
    assert names(seq) == ["fc.weight", "fc.bias", "out.weight"]
    seq.append(nn.Dense(2, 2, has_bias=False))
    assert names(Held(seq)) == ["body.fc.weight", "body.fc.bias", "body.out.weight", "body.2.weight"]
    with pytest.raises(graphc.ArgumentValueError, match=r"'a.b' cannot name a cell"):
        nn.SequentialCell(OrderedDict([("a.b", nn.ReLU())]))


def test_sequential_changes() -> None:
    net = Held(nn.SequentialCell(nn.Dense(3, 4, has_bias=False)))
    seq = net.body
    assert isinstance(seq, nn.SequentialCell)
    assert seq.append(nn.Dense(4, 5, has_bias=False)) is seq
    seq.insert(1, nn.ReLU())
    assert len(seq) == 3
    assert names(net) == ["body.0.weight", "body.2.weight"]
    del seq[1]
    assert names(net) == ["body.0.weight", "body.1.weight"]
    seq[0] = nn.Dense(7, 4)
    assert names(net) == ["body.0.weight", "body.0.bias", "body.1.weight"]
    assert seq[-1].out_channels == 5
    assert [type(c).__name__ for c in seq] == ["Dense", "Dense"]


def test_a_slice_shares_cells_and_keeps_names() -> None:
    net = Held(nn.SequentialCell([nn.Dense(2, 2, has_bias=False) for _ in range(4)]))
    tail = net.body[2:]
    assert isinstance(tail, nn.SequentialCell)
    assert len(tail) == 2
    assert tail[0] is net.body[2]
    assert names(net) == [f"body.{i}.weight" for i in range(4)]
    x = Tensor(random(1, 2))
    assert np.array_equal(tail(x).asnumpy(), net.body[3](net.body[2](x)).asnumpy())


def test_cell_list() -> None:
    cells = nn.CellList([nn.Dense(2, 2, has_bias=False)])
    cells.append(nn.Dense(2, 2)).extend([nn.ReLU(), nn.Dense(2, 2, has_bias=False)])
    assert names(Held(cells)) == ["body.0.weight", "body.1.weight", "body.1.bias", "body.3.weight"]
    assert [type(c).__name__ for c in cells] == ["Dense", "Dense", "ReLU", "Dense"]
    assert cells[2] is list(cells)[2]
    cells.insert(0, nn.ReLU())
    assert names(cells) == ["body.1.weight", "body.2.weight", "body.2.bias", "body.4.weight"]
    with pytest.raises(graphc.ArgumentTypeError, match="a CellList cannot be called"):
        cells(Tensor(1.0))
    kept = nn.CellList([nn.Dense(2, 2, has_bias=False)], auto_prefix=False)
    assert names(kept) == ["weight"]


def test_containers_refuse() -> None:
    cells = nn.CellList(nn.ReLU())
    with pytest.raises(graphc.ArgumentTypeError, match="CellList holds Cells, got function"):
        cells.append(lambda x: x)
    with pytest.raises(graphc.ArgumentTypeError, match="SequentialCell holds Cells, got int"):
        nn.SequentialCell(3)
    with pytest.raises(IndexError, match="index 1 is out of range for 1 cells"):
        cells[1]
    with pytest.raises(graphc.ArgumentTypeError, match="an index must be an int or a slice, got str"):
        cells["0"]


def test_a_container_does_not_change_while_compiled() -> None:
    class Growing(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.cells_ = nn.CellList([nn.ReLU()])

        def construct(self, x: Tensor) -> Tensor:
            self.cells_.append(nn.ReLU())
            return x

    with pytest.raises(graphc.TraceError, match="CellList is changed inside construct") as caught:
        graphc.compile(Growing(), Tensor(1.0))
    assert caught.value.code == "GC133"


def test_parameters_of_an_own_layer() -> None:
    class Scale(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.factor = Parameter(Tensor([2.0]))

        def construct(self, x: Tensor) -> Tensor:
            return x * self.factor

    seq = nn.SequentialCell(Scale(), Scale())
    assert names(seq) == ["0.factor", "1.factor"]
    assert seq(Tensor([3.0])).asnumpy().tolist() == [12.0]
