"""Recurrent layers against NumPy, where MindSpore has no kernel."""

from __future__ import annotations

import numpy as np
import pytest

from graphc import Tensor, nn
from tests.data.ms_layer_gradients import LINES, array


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
