"""Transposed and volume convolution, padding, recurrence, attention and further losses against MindSpore's recorded numbers
(tests/data/ms_more_layers.py), and NumPy where MindSpore has no kernel."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import graphc
from graphc import Tensor, nn, ops
from tests.data.ms_more_layers import CASES, LINES, ROWS, SHARES, array, measured

RECORDED = json.loads((Path(__file__).parents[1] / "data" / "ms_more_layers.json").read_text())


def test_every_case_is_recorded():
    assert list(RECORDED) == list(CASES)


@pytest.mark.parametrize("name", CASES)
def test_results_and_gradients(name):
    found = measured(nn, ops, Tensor, name)
    assert len(found) == len(RECORDED[name])
    for i, (got, wanted) in enumerate(zip(found, RECORDED[name], strict=True)):
        assert list(got.shape) == wanted["shape"]
        expected = np.array(wanted["values"]).reshape(got.shape)
        np.testing.assert_allclose(got, expected, rtol=1e-4, atol=2e-5, err_msg=f"{name} {i}")


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


@pytest.mark.parametrize("batch_first", [False, True])
def test_lstm_with_lengths(batch_first):
    layer = nn.LSTM(7, 3, batch_first=batch_first)
    h, c = array(1, 4, 3), array(1, 4, 3, seed=3)
    x = LINES if not batch_first else LINES.swapaxes(0, 1).copy()
    lengths = np.array([2, 1, 0, 2], np.int32)
    out, (last, memory) = layer(Tensor(x), (Tensor(h), Tensor(c)), Tensor(lengths))
    wi, wh, bi, bh = (p.asnumpy().astype(np.float64) for p in layer.trainable_params())
    hs, cs, outs = h[0].astype(np.float64), c[0].astype(np.float64), []
    for t in range(2):
        i, f, g, o = np.split(LINES[t] @ wi.T + bi + hs @ wh.T + bh, 4, axis=1)
        inside = (lengths > t)[:, None]
        new = sigmoid(f) * cs + sigmoid(i) * np.tanh(g)
        made = sigmoid(o) * np.tanh(new)
        outs.append(np.where(inside, made, 0))
        hs, cs = np.where(inside, made, hs), np.where(inside, new, cs)
    wanted = np.stack(outs, 1 if batch_first else 0)
    for got, expected in ((out, wanted), (last[0], hs), (memory[0], cs)):
        np.testing.assert_allclose(got.asnumpy(), expected, rtol=1e-5, atol=1e-6)


def test_instance_norm_and_triplet_margin():
    x = LINES.astype(np.float64)
    wanted = (x - x.mean(2, keepdims=True)) / np.sqrt(x.var(2, keepdims=True) + 1e-5)
    np.testing.assert_allclose(nn.InstanceNorm1d(4)(Tensor(LINES)).asnumpy(), wanted, rtol=1e-4, atol=1e-5)
    distance = [np.linalg.norm(a - b + 1e-6, axis=1) for a, b in ((ROWS, SHARES), (ROWS, SHARES[::-1]))]
    loss = nn.TripletMarginLoss(reduction="none", margin=0.3)(*map(Tensor, (ROWS, SHARES, SHARES[::-1].copy())))
    np.testing.assert_allclose(loss.asnumpy(), np.maximum(distance[0] - distance[1] + 0.3, 0), rtol=1e-4, atol=1e-6)


def test_attention_masks():
    """A key that is masked counts nothing: the result is that of the others alone."""
    layer = nn.MultiheadAttention(7, 1)
    query, keys = Tensor(LINES[:, :1].copy()), array(5, 1, 7)
    kept = np.array([True, False, True, True, False])
    padding = Tensor(~kept[None])
    wanted, _ = layer(query, *[Tensor(keys[kept])] * 2)
    for options in ({"key_padding_mask": padding}, {"attn_mask": Tensor(np.tile(~kept, (2, 1)))}):
        got, weights = layer(query, Tensor(keys), Tensor(keys), **options)
        np.testing.assert_allclose(got.asnumpy(), wanted.asnumpy(), rtol=1e-5, atol=1e-6)
        assert weights.asnumpy()[..., ~kept].max() == 0


def test_whole_channels_are_dropped():
    layer = nn.Dropout2d(p=0.5)
    x = Tensor(np.ones((8, 8, 3, 3), np.float32))
    assert (layer(x).asnumpy() == 1).all()
    layer.set_train()
    sums = layer(x).asnumpy().sum((2, 3))
    assert set(np.unique(sums)) == {0.0, 18.0}


def test_cell_dict():
    cells = nn.CellDict({"first": nn.Dense(2, 2), "second": nn.ReLU()})
    cells["third"] = nn.Dense(2, 1)

    class Net(nn.Cell):
        def __init__(self):
            super().__init__()
            self.parts = cells

        def construct(self, x):
            for name in ("first", "second", "third"):
                x = self.parts[name](x)
            return x

    net = Net()
    assert net(Tensor(np.ones((3, 2), np.float32))).shape == (3, 1)
    assert [p.name for p in net.trainable_params()] == [
        "parts.first.weight", "parts.first.bias", "parts.third.weight", "parts.third.bias",
    ]  # fmt: skip
    assert cells.pop("second") is not None
    assert list(cells) == ["first", "third"]
    with pytest.raises(TypeError, match="holds Cells"):
        cells["x"] = 3
    with pytest.raises(ValueError, match="cannot name a cell"):
        cells["a.b"] = nn.ReLU()
    with pytest.raises(KeyError):
        cells["second"]


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (lambda: nn.Conv2dTranspose(3, 4, 3, output_padding=1), ValueError),
        (lambda: nn.Conv3d(2, 3, 3, group=2), ValueError),
        (lambda: nn.Pad(3), TypeError),
        (lambda: nn.ReflectionPad1d((9, 0))(Tensor(LINES)), ValueError),
        (lambda: nn.LSTM(2, 3, dropout=1.0), ValueError),
        (lambda: nn.MultiheadAttention(5, 2), ValueError),
        (lambda: nn.GRU(4, 3)(Tensor(LINES)), ValueError),
        (lambda: nn.ParameterUpdate(Tensor(1.0)), TypeError),
        (lambda: nn.SampledSoftmaxLoss(9, 7), ValueError),
        (lambda: nn.MultiMarginLoss(p=3), ValueError),
    ],
)
def test_what_does_not_fit(make, error):
    with pytest.raises(error) as caught:
        make()
    assert isinstance(caught.value, graphc.GraphcError)
