"""Whole training steps against NumPy: 50 steps with two injected overflows, natively and in checked mode."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import graphc
from graphc import Tensor, nn
from graphc.debug import debug
from graphc.examples.lenet import LeNet5
from graphc.ops.declared import reference

STEPS, OVERFLOWS = 50, (17, 33)


class MLP(nn.Cell):
    def __init__(self, *sizes):
        super().__init__()
        layers = []
        for a, b in itertools.pairwise(sizes):
            layers += [nn.Dense(a, b), nn.ReLU()]
        self.net = nn.SequentialCell(*layers[:-1])

    def construct(self, x):
        return self.net(x)


def loss_scaled(network, optimizer, window=8, scale=1024.0):
    with_loss = nn.WithLossCell(network, nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean"))
    cell = nn.TrainOneStepWithLossScaleCell(with_loss, optimizer, nn.DynamicLossScaleUpdateCell(scale, 2, window))
    return cell.set_train()


def batches(shape, count=STEPS, overflows=OVERFLOWS, classes=10):
    rng = np.random.default_rng(5)
    for i in range(count):
        x = rng.standard_normal(shape).astype(np.float32)
        if i in overflows:
            x.reshape(-1)[7] = np.inf
        yield x, rng.integers(0, classes, shape[0]).astype(np.int32)


def snapshot(step):
    return {p.name: p.asnumpy() for p in step.parameters}


class Oracle:
    """The step's graph, run node by node in float64; keeps its own parameters."""

    def __init__(self, step):
        self.graph = step.graph
        self.values = {
            p.name: p.asnumpy().astype(np.float64 if p.asnumpy().dtype.kind == "f" else None) for p in step.parameters
        }

    def __call__(self, *inputs):
        feed, arrays = {}, iter(inputs)
        for i in self.graph.inputs:
            node = self.graph.node(i)
            feed[i] = self.values[node.name] if node.op.name == "Param" else next(arrays)
        outcome = reference.run(self.graph, feed)
        for i, array in outcome.updates.items():
            self.values[self.graph.node(i).name] = array
        return outcome.results


def follow(cell, shape, steps=STEPS, overflows=OVERFLOWS):
    """Compare every step of a cell with the oracle; on overflow steps trainable and optimizer state must not change a bit."""
    rng = np.random.default_rng(0)
    step = graphc.compile(cell, rng.standard_normal(shape).astype("f4"), np.zeros(shape[0], np.int32))
    oracle = Oracle(step)
    manager = {"scale_sense", "current_iterator_step", "last_overflow_iterator_step"}
    for i, (x, y) in enumerate(batches(shape, steps, overflows)):
        before = snapshot(step)
        loss, overflow, scale = step(Tensor(x), Tensor(y))
        expected_loss, expected_overflow, expected_scale = oracle(x, y)
        assert overflow.item() == bool(expected_overflow) == (i in overflows)
        assert scale.item() == expected_scale
        np.testing.assert_allclose(loss.asnumpy(), expected_loss, rtol=2e-4, atol=1e-5)
        after = snapshot(step)
        for name, array in after.items():
            if i in overflows and name not in manager:
                assert array.tobytes() == before[name].tobytes(), name
            else:
                np.testing.assert_allclose(
                    array, oracle.values[name], rtol=2e-3, atol=2e-4, err_msg=f"{name}, step {i}"
                )
        if i in overflows:
            assert after["scale_sense"] == before["scale_sense"] / 2
    return step


@pytest.mark.parametrize("jit", [True, False], ids=["native", "checked"])
def test_lenet_follows_float64(jit):
    np.random.seed(0)
    net = LeNet5()
    with debug(jit=jit, canary=True):
        steps, overflows = (STEPS, OVERFLOWS) if jit else (4, (2,))
        follow(loss_scaled(net, nn.Momentum(net.trainable_params(), 0.01, 0.9)), (8, 1, 32, 32), steps, overflows)


OPTIMIZERS = {
    "sgd": lambda p: nn.SGD(p, 0.05, momentum=0.9, dampening=0.1, weight_decay=0.01),
    "momentum": lambda p: nn.Momentum(p, 0.05, 0.9, weight_decay=0.01),
    "nesterov": lambda p: nn.Momentum(p, 0.05, 0.9, use_nesterov=True),
    "adam": lambda p: nn.Adam(p, 0.003),
}


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_mlp_follows_float64(optimizer):
    np.random.seed(1)
    net = MLP(19, 33, 10)
    follow(loss_scaled(net, OPTIMIZERS[optimizer](net.trainable_params())), (16, 19))


def hand_written(weights, x, y, momentum=0.9, lr=0.05):
    """An MLP step with softmax cross entropy and momentum in plain NumPy float64: (loss, updated weights)."""
    (w1, b1, w2, b2), moments = weights["w"], weights["m"]
    h = np.maximum(x @ w1.T + b1, 0)
    z = h @ w2.T + b2
    z = z - z.max(1, keepdims=True)
    p = np.exp(z) / np.exp(z).sum(1, keepdims=True)
    n = len(y)
    loss = -np.log(p[np.arange(n), y]).mean()
    d = p.copy()
    d[np.arange(n), y] -= 1
    d /= n
    dh = (d @ w2) * (h > 0)
    grads = [dh.T @ x, dh.sum(0), d.T @ h, d.sum(0)]
    weights["m"] = [momentum * m + g for m, g in zip(moments, grads, strict=True)]
    weights["w"] = [w - lr * m for w, m in zip(weights["w"], weights["m"], strict=True)]
    return loss


def test_mlp_follows_a_hand_written_step():
    """Independent of graphc's autodiff: formulas written out, overflow steps skipped, scale kept by its rule."""
    np.random.seed(2)
    net = MLP(19, 33, 10)
    step = None
    cell = loss_scaled(net, nn.Momentum(net.trainable_params(), 0.05, 0.9))
    weights = {"w": [p.asnumpy().astype(np.float64) for p in net.trainable_params()]}
    weights["m"] = [np.zeros_like(w) for w in weights["w"]]
    scale, last, now = 1024.0, 0, 1
    for i, (x, y) in enumerate(batches((16, 19))):
        step = step or graphc.compile(cell, x, y)
        loss, overflow, got_scale = step(x, y)
        if i in OVERFLOWS:
            scale, last = max(scale / 2, 1.0), now
        else:
            np.testing.assert_allclose(loss.asnumpy(), hand_written(weights, x.astype(np.float64), y), rtol=1e-4)
            if now - last >= 8:
                scale, last = scale * 2, now
        now += 1
        assert overflow.item() == (i in OVERFLOWS)
        assert got_scale.item() == scale
    for p, w in zip(net.trainable_params(), weights["w"], strict=True):
        np.testing.assert_allclose(p.asnumpy(), w, rtol=1e-3, atol=1e-5)


def test_gradients_that_overflow_float32_are_caught_and_the_scale_comes_down():
    np.random.seed(3)
    net = MLP(19, 33, 10)
    cell = loss_scaled(net, nn.Adam(net.trainable_params(), 0.01), window=1000)
    # A loss of 1e3 times a scale near the end of float32: only the gradients overflow.
    x, y = next(batches((16, 19), 1, ()))
    x *= 1e4
    step = graphc.compile(cell, x, y)
    cell.scale_sense.set_data(Tensor(np.float32(2.0**127)))
    before = snapshot(step)
    seen = []
    for _ in range(30):
        loss, overflow, scale = step(x, y)
        assert np.isfinite(loss.asnumpy())
        seen.append((overflow.item(), scale.item()))
        if not overflow.item():
            break
        after = snapshot(step)
        for name in before:
            if name.startswith("net.") or "moment" in name or name in ("global_step", "beta1_power", "beta2_power"):
                assert after[name].tobytes() == before[name].tobytes()
    assert len(seen) > 2
    assert [s for _, s in seen] == [2.0 ** (126 - k) for k in range(len(seen) - 1)] + [seen[-2][1]]
    assert snapshot(step)["global_step"] == 1


@pytest.mark.parametrize("shape", [(), (1,)])
def test_a_tensor_as_scale_is_fixed_until_set(shape):
    np.random.seed(4)
    net = MLP(6, 4, 3)
    with_loss = nn.WithLossCell(net, nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean"))
    scale = Tensor(np.full(shape, 8.0, np.float32))
    cell = nn.TrainOneStepWithLossScaleCell(with_loss, nn.SGD(net.trainable_params(), 0.1), scale)
    x, y = next(batches((5, 6), 1, (), 3))
    loss, overflow, got = cell(Tensor(x), Tensor(y))
    assert (got.shape, overflow.shape, loss.shape) == (shape, (), ())
    assert got.asnumpy() == 8
    x[0, 0] = np.nan
    _, overflow, got = cell(Tensor(x), Tensor(y))
    assert overflow.item()
    assert got.asnumpy() == 8
    cell.set_sense_scale(Tensor(np.full(shape, 4.0, np.float32)))
    assert cell(Tensor(x), Tensor(y))[2].asnumpy() == 4


def test_plain_step_and_scaled_step_agree():
    """A power-of-two scale changes no bit of a step without overflow."""
    results = []
    for scaled in (False, True):
        np.random.seed(5)
        net = MLP(19, 33, 10)
        optimizer = nn.Momentum(net.trainable_params(), 0.05, 0.9)
        if scaled:
            cell = loss_scaled(net, optimizer, window=1000)
        else:
            with_loss = nn.WithLossCell(net, nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean"))
            cell = nn.TrainOneStepCell(with_loss, optimizer).set_train()
        for x, y in batches((16, 19), 5, ()):
            out = cell(Tensor(x), Tensor(y))
            loss = out[0] if scaled else out
        results.append((loss.asnumpy(), [p.asnumpy() for p in net.trainable_params()]))
    # The scale is a power of two and costs no bit; which product of an update is fused with its sum is the processor's choice.
    np.testing.assert_array_max_ulp(results[0][0], results[1][0], 4)
    for a, b in zip(results[0][1], results[1][1], strict=True):
        np.testing.assert_array_max_ulp(a, b, 4)
