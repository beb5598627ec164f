"""float16 and bfloat16 through tracer, interpreter and kernels: rounding after each op, genuine overflow."""

from __future__ import annotations

import numpy as np
import pytest

import graphc
from graphc import Parameter, Tensor, nn, ops
from graphc.debug import debug
from graphc.ops.declared import reference

HALVES = [graphc.float16, graphc.bfloat16]


class Doubled(nn.Cell):
    def construct(self, x, y):
        total = x * 2 + y * 2
        return total, ops.all_finite((total,)), ops.cast(total, graphc.float32)


@pytest.mark.parametrize("jit", [True, False], ids=["native", "checked"])
def test_float16_overflows_beyond_65504(jit):
    with debug(jit=jit):
        big = Tensor(np.array([40000, 1.5, 16376, -40000]), graphc.float16)
        total, finite, wide = Doubled()(big, big)
        assert total.dtype == graphc.float16
        assert total.asnumpy().tolist() == [np.inf, 6, 65504, -np.inf]
        assert not finite.item()
        assert wide.asnumpy().tolist() == [np.inf, 6, 65504, -np.inf]
        total, finite, _ = Doubled()(Tensor(big, graphc.bfloat16), Tensor(big, graphc.bfloat16))
        assert finite.item()
        assert total.asnumpy().astype(np.float32)[0] == 159744


class Mixed(nn.Cell):
    def __init__(self, dtype):
        super().__init__()
        self.w = Parameter(Tensor(np.random.default_rng(0).standard_normal((5, 7)), dtype))
        self.b = Parameter(Tensor(np.linspace(-1, 1, 5), dtype))

    def construct(self, x):
        y = ops.tanh(ops.matmul(x, self.w, False, True) + self.b)
        return ops.reduce_sum(ops.softmax(y) * y, 1), ops.reduce_max(y, 0), ops.exp(y) - y / 3


@pytest.mark.parametrize("dtype", HALVES, ids=str)
def test_kernels_round_like_the_interpreter(dtype):
    x = Tensor(np.random.default_rng(1).standard_normal((6, 7)), dtype)
    cell = Mixed(dtype)
    step = graphc.compile(cell, x)
    feed = {i: {"x": x, "w": cell.w, "b": cell.b}[step.graph.node(i).name].array for i in step.graph.inputs}
    expected = reference.run(step.graph, feed, exact=False).results
    unit = {"float16": 2**-10, "bfloat16": 2**-7}[dtype.name]
    with debug(jit=False):
        checked = [r.asnumpy() for r in graphc.compile(cell, x)(x)]
    for got, also, want in zip(step(x), checked, expected, strict=True):
        assert got.dtype == dtype
        np.testing.assert_allclose(got.asnumpy().astype(np.float64), want.astype(np.float64), rtol=2 * unit, atol=unit)
        np.testing.assert_allclose(also.astype(np.float64), want.astype(np.float64), rtol=2 * unit, atol=unit)


class HalfNet(nn.Cell):
    """Computes in float16, keeps its weights in float32."""

    def __init__(self):
        super().__init__()
        self.fc1, self.fc2 = nn.Dense(6, 16), nn.Dense(16, 3)

    def construct(self, x):
        half = graphc.float16
        h = ops.matmul(ops.cast(x, half), ops.cast(self.fc1.weight, half), False, True)
        h = ops.relu(ops.bias_add(h, ops.cast(self.fc1.bias, half)))
        y = ops.matmul(h, ops.cast(self.fc2.weight, half), False, True)
        return ops.cast(ops.bias_add(y, ops.cast(self.fc2.bias, half)), graphc.float32)


def test_loss_scaled_training_in_float16_finds_its_scale():
    """The first scale is far too large for float16 gradients: it comes down by itself, and then the loss does."""
    np.random.seed(0)
    net = HalfNet()
    with_loss = nn.WithLossCell(net, nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean"))
    optimizer = nn.Momentum(net.trainable_params(), 0.1, 0.9)
    manager = nn.DynamicLossScaleUpdateCell(2.0**24, 2, 1000)
    cell = nn.TrainOneStepWithLossScaleCell(with_loss, optimizer, manager).set_train()
    rng = np.random.default_rng(2)
    x = Tensor(rng.standard_normal((32, 6)).astype(np.float32))
    y = Tensor((x.asnumpy()[:, :3].argmax(1)).astype(np.int32))
    step = graphc.compile(cell, x, y)
    history = [(float(loss), bool(over), float(scale)) for loss, over, scale in (step(x, y) for _ in range(120))]
    skipped = [over for _, over, _ in history]
    assert skipped[0]
    assert not any(skipped[-40:])
    assert history[-1][2] == 2.0 ** (24 - sum(skipped))
    assert history[-1][0] < 0.4 * history[0][0]
    assert int(optimizer.global_step.asnumpy()[0]) == len(history) - sum(skipped)
    assert all(p.dtype == graphc.float32 for p in net.trainable_params())
