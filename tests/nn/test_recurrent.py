"""Recurrent layers against NumPy, where MindSpore has no kernel."""

from __future__ import annotations

import numpy as np
import pytest

import graphc
from graphc import Tensor, nn, ops
from tests.codegen.emulated_tiles import tiles_here
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


KINDS = [
    (nn.LSTM, {"num_layers": 2, "bidirectional": True}),
    (nn.GRU, {"batch_first": True, "has_bias": False}),
    (nn.RNN, {"nonlinearity": "relu", "num_layers": 2}),
]


class Summed(nn.Cell):
    def __init__(self, layer):
        super().__init__()
        self.layer = layer

    def construct(self, x, *rest):
        out, state = self.layer(x, None, *rest)
        ends = state if isinstance(state, tuple) else (state,)
        return ops.reduce_sum(ops.sin(out)) + sum(ops.reduce_sum(ops.cos(s)) for s in ends)


@pytest.mark.parametrize("lengths", [False, True], ids=["whole", "lengths"])
@pytest.mark.parametrize(("kind", "options"), KINDS, ids=lambda k: getattr(k, "__name__", ""))
def test_loops_train_as_their_steps_do(kind, options, lengths):
    """Compiled layers are loops; op by op they are their steps. A loss-scaled step, with an overflow in between."""
    rng = np.random.default_rng(3)
    x = rng.normal(size=(5, 4, 7) if not options.get("batch_first") else (4, 5, 7)).astype(np.float32)
    given = [x, np.array([5, 1, 0, 3], np.int32)][: 1 + lengths]
    ends = []
    for mode in (graphc.GRAPH_MODE, graphc.PYNATIVE_MODE):
        graphc.set_seed(1)
        net = Summed(kind(7, 3, **options))
        for k, p in enumerate(net.trainable_params()):
            p.set_data(Tensor(np.random.default_rng(k).normal(size=p.shape).astype(np.float32) / 3))
        scale = nn.DynamicLossScaleUpdateCell(2.0**10, 2, 1000)
        train = nn.TrainOneStepWithLossScaleCell(net, nn.SGD(net.trainable_params(), 0.01), scale)
        before = graphc.get_context("mode")
        graphc.set_context(mode=mode)
        try:
            flags = [bool(train(*map(Tensor, [given[0] * s, *given[1:]]))[1]) for s in (1, np.inf, 1)]
        finally:
            graphc.set_context(mode=before)
        assert flags == [False, True, False]
        ends.append([p.asnumpy() for p in net.trainable_params()])
    for a, b in zip(*ends, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("options", [{"jit": True, "threads": 1}, {"jit": True, "threads": 2}, {"jit": False}], ids=str)
def test_wide_layers_whose_weights_are_packed_before_their_loops(dtype, options):
    """One, several threads and checked mode do what multiply-adds do."""

    def losses(tiles, **more):
        graphc.set_seed(5)
        net = Summed(nn.LSTM(64, 128))
        net = graphc.amp.auto_mixed_precision(net, "O2", graphc.bfloat16) if dtype == "bfloat16" else net
        train = nn.TrainOneStepCell(net, nn.Momentum(net.trainable_params(), 1e-4, 0.9))
        x = Tensor(np.random.default_rng(0).standard_normal((6, 32, 64)).astype(np.float32))
        with tiles_here(), graphc.debug(tiles=tiles, **more):
            step = graphc.compile(train, x)
            used = "pack_factor" in step.rewrites[-1][1]
            return used, [float(step(x)) for _ in range(2 if more.get("jit", True) else 1)]

    used, got = losses(True, **options)
    assert used
    plain, want = losses(False)
    assert not plain
    np.testing.assert_allclose(got, want[: len(got)], rtol=1e-5 if dtype == "float32" else 1e-2)
