"""float16 and bfloat16 through tracer, interpreter and kernels: rounding after each op, genuine overflow."""

from __future__ import annotations

from contextlib import ExitStack
from unittest.mock import patch

import numpy as np
import pytest

import graphc
from graphc import Parameter, Tensor, nn, ops
from graphc.debug import debug
from graphc.ir import Sample
from graphc.ir.types import numpy_dtype
from graphc.lower import lower
from graphc.lower.convolution import choice, columns
from graphc.ops.declared import reference
from graphc.steps.build import multiplies_bfloat16
from graphc.testing import calls, races
from graphc.testing.ops import sample_graph
from graphc_codegen import compile_program
from graphc_codegen.program import NamedKernel

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


class Images(nn.Cell):
    """A convolution that pools, one with batch normalization and a stride, a product."""

    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 6, 5, pad_mode="valid", has_bias=True)
        self.conv2 = nn.Conv2d(6, 8, 3, 2, pad_mode="pad", padding=1)
        self.conv3 = nn.Conv2d(8, 8, 3, pad_mode="pad", padding=1)
        self.norm, self.pool, self.fc = nn.BatchNorm2d(8), nn.MaxPool2d(2, 2), nn.Dense(8 * 36, 4)

    def construct(self, x):
        x = ops.relu(self.norm(self.conv2(self.pool(ops.relu(self.conv1(x))))))
        return self.fc(self.conv3(x).reshape(x.shape[0], -1))


class Columns(nn.Cell):
    """Convolutions of single pixels, with a stride, and of few pixels; all with many channels."""

    def __init__(self):
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(32, 48, 1), nn.Conv2d(48, 64, 3, 2, has_bias=True)
        self.conv3, self.fc = nn.Conv2d(64, 160, 3), nn.Dense(160 * 36, 4)

    def construct(self, x):
        x = self.conv3(ops.relu(self.conv2(ops.relu(self.conv1(x)))))
        return self.fc(x.reshape(x.shape[0], -1))


class Attention(nn.Cell):
    """Causal attention behind a layer normalization, and two dense layers with GELU."""

    def __init__(self):
        super().__init__()
        self.norm, self.qkv = nn.LayerNorm((16,)), nn.Dense(16, 48)
        self.up, self.gelu, self.down = nn.Dense(16, 64), nn.GELU(), nn.Dense(64, 16)
        self.mask = Tensor(np.triu(np.full((40, 40), -1e9, np.float32), 1))

    def construct(self, x):
        q, k, v = (t.view(2, 40, 2, 8).transpose(0, 2, 1, 3) for t in ops.split(self.qkv(self.norm(x)), 16, 2))
        scores = ops.matmul(q, k.transpose(0, 1, 3, 2)) * 0.3
        shares = ops.softmax(scores + ops.cast(self.mask, scores.dtype), -1)
        y = x + ops.matmul(shares, v).transpose(0, 2, 1, 3).reshape(2, 40, 16)
        return y + self.down(self.gelu(self.up(y)))


class Trained(nn.Cell):
    """The gradients of a network for its parameters."""

    def __init__(self, network):
        super().__init__()
        self.network = network.set_train()
        self.weights = graphc.ParameterTuple(network.trainable_params())

    def construct(self, x, weight):
        def total(x):
            return (ops.cast(self.network(x), graphc.float32) * weight).sum()

        return ops.value_and_grad(total, None, self.weights)(x)


NETWORKS = {
    "images": (Images, (17, 1, 28, 28), (17, 4)),
    "columns": (Columns, (5, 32, 12, 12), (5, 4)),
    "attention": (Attention, (2, 40, 16), (2, 40, 16)),
}


@pytest.mark.parametrize("network", NETWORKS)
@pytest.mark.parametrize("dtype", HALVES, ids=str)
def test_networks_on_halves(network, dtype):
    """Kernels get halves as they are, with one thread and with three."""
    graphc.set_seed(3)
    made, shape, out = NETWORKS[network]
    cell = Trained(graphc.amp.auto_mixed_precision(made(), "O2", dtype))
    rng = np.random.default_rng(1)
    x, weight = (Tensor(rng.standard_normal(s).astype(np.float32)) for s in (shape, out))
    step = graphc.compile(cell, x, weight)
    values = {"x": x.array, "weight": weight.array}
    params = {i: p.array for i, p in step.state.items()}
    feed = {i: params[i] if i in params else values[step.graph.node(i).name] for i in step.graph.inputs}
    tolerance = 2.0 ** (-7 if dtype == graphc.bfloat16 else -10)
    how = multiplies_bfloat16()
    if how == "all by tiles" or (how and dtype == graphc.bfloat16):
        for threads in (1, 3):
            _agree(step.graph, feed, tolerance, threads, False, how=how)
    for threads, checked in ((1, False), (3, False), (1, True)):
        lowered = _agree(step.graph, feed, tolerance, threads, checked)
    kernels = [c.kernel for c in calls(lowered) if isinstance(c.kernel, NamedKernel)]
    told = {k.name for k in kernels if "halves" in dict(k.params)}
    wanted = {"images": {"conv2d_batch_winograd", "gemm"}, "attention": {"gemm", "softmax", "softmax_grad"}}
    assert wanted.get(network, {"gemm"}) <= told
    if network == "images":
        assert "max_pool" not in {k.name for k in kernels}
    elif network == "columns":
        named = [
            c.kernel for c in calls(lower(step.graph, bfloat16=lambda: "pairs")) if isinstance(c.kernel, NamedKernel)
        ]
        by_pairs = [dict(k.params) for k in named if k.name == "gemm"]
        short = [{*dict(p.get("halves", ())).get("bfloat16", ()), *p.get("rounds", ())} for p in by_pairs]
        multiplied = [{0, 1} <= places for places in short]
        direct = [dict(k.params).get("pairs", False) for k in named if k.name == "conv2d"]
        # Whatever is a product or a direct convolution.
        assert dtype == graphc.float16 or (len(multiplied) > 5 and direct and all([*multiplied, *direct]))
    else:
        assert sum("causal" in dict(k.params) for k in kernels) == 2


@pytest.mark.parametrize("checked", [False, True])
@pytest.mark.parametrize("dtype", HALVES, ids=str)
def test_gradients_for_images_some_at_a_time(dtype, checked):
    """Taps that meet the same pixels have copies of the images, which are added up for each part of them."""
    rng = np.random.default_rng(4)
    x, w, dy = (5, 16, 6, 7), (17, 16, 3, 3), (5, 17, 3, 4)
    operands = tuple(rng.standard_normal(s).astype(numpy_dtype(dtype.name)) for s in (dy, w))
    attrs = {"shape": x, "stride": (2, 2), "pad": (1, 1, 1, 1)}
    graph, feed = sample_graph("Conv2DBackpropInput", [Sample(operands, attrs)])
    with patch.object(choice, "few", lambda *_, **__: "columns"), patch.object(columns, "_NEAR", 1 << 12):
        lowered = _agree(graph, feed, 2.0 ** (-7 if dtype == graphc.bfloat16 else -10), 1, checked)
    assert sum(c.kernel.family == "gemm" for c in calls(lowered)) > 1


@pytest.mark.parametrize("how", ["pairs", "checked"])
@pytest.mark.parametrize(
    ("channels", "size", "window", "attrs"),
    [
        ((16, 24, 1), (13, 18), (3, 3), {"pad": (1, 1, 1, 1)}),
        ((5, 8, 1), (12, 17), (3, 3), {"pad": (0, 1, 2, 1), "stride": (2, 2)}),
        ((16, 8, 1), (19, 21), (5, 4), {"pad": (2, 2, 1, 2), "stride": (2, 1)}),
        ((8, 8, 1), (20, 24), (3, 3), {"pad": (3, 2, 0, 3), "dilation": (3, 2)}),
        ((12, 9, 3), (9, 33), (3, 3), {"pad": (1, 1, 1, 1), "groups": 3}),
        ((6, 8, 1), (11, 15), (3, 3), {"pad": (0, 0, 0, 0), "stride": (2, 3)}),
        ((1, 8, 1), (11, 15), (3, 3), {"pad": (0, 0, 0, 0)}),
    ],
)
def test_direct_convolutions_of_pairs(channels, size, window, attrs, how):
    """Forward and for the images, whatever other kernels would make them; odd channels have a zero beside them."""
    if how == "pairs" != multiplies_bfloat16():
        pytest.skip("this processor does not multiply pairs")
    (ci, co, groups), rng = channels, np.random.default_rng(5)
    (top, bottom, left, right), stride = attrs["pad"], attrs.get("stride", (1, 1))
    reach = [d * (k - 1) + 1 for k, d in zip(window, attrs.get("dilation", (1, 1)), strict=True)]
    padded = (size[0] + top + bottom, size[1] + left + right)
    out = [(n - r) // s + 1 for n, r, s in zip(padded, reach, stride, strict=True)]

    def drawn(*shape):
        return rng.standard_normal(shape).astype(numpy_dtype("bfloat16"))

    x, w, dy = drawn(3, ci, *size), drawn(co, ci // groups, *window), drawn(3, co, *out)
    instead = {"few": "", "pixels": False, "spreads": False, "in_blocks": False, "kernel": "conv2d", "phases": ""}
    given = {"stride": (1, 1), "dilation": (1, 1), **attrs}
    grouped = "Grouped" if groups > 1 else ""
    for op, operands, more in (("Conv2D", (x, w), {}), ("Conv2DBackpropInput", (dy, w), {"shape": x.shape})):
        graph, feed = sample_graph(grouped + op, [Sample(operands, {**given, **more})])
        with ExitStack() as patches:
            for name, value in instead.items():
                patches.enter_context(patch.object(choice, name, lambda *_, value=value, **__: value))
            for threads in (1, 3) if how == "pairs" else (1,):
                lowered = _agree(graph, feed, 2.0**-8, threads, how == "checked", how="pairs")
        direct = [dict(c.kernel.params) for c in calls(lowered) if c.kernel.family == "conv2d"]
        summed = (ci if op == "Conv2D" else co) // groups
        apart = op == "Conv2D" and stride[1] > 2
        assert direct
        assert all(p.get("pairs", False) == (summed > 1 and not apart) for p in direct)


@pytest.mark.parametrize("p", [1.0, 2.0])
@pytest.mark.parametrize("dtype", HALVES, ids=str)
def test_distances_of_halves_are_rounded_once(dtype, p):
    rng = np.random.default_rng(6)
    x, y = (Tensor(rng.standard_normal((n, 40)).astype(np.float32)).astype(dtype) for n in (7, 50))
    apart = np.abs(x.array.astype(np.float64)[:, None] - y.array.astype(np.float64))
    wanted = (apart**p).sum(-1) ** (1 / p)
    got = ops.cdist(x, y, p)
    assert got.dtype == dtype
    unit = {"float16": 2.0**-11, "bfloat16": 2.0**-8}[dtype.name]
    np.testing.assert_allclose(got.asnumpy().astype(np.float64), wanted, rtol=1.01 * unit)


def _agree(graph, feed, tolerance, threads, checked, how=""):
    """Run a step: its results are as near to float64 as those of the interpreter, which rounds after each op.

    Both may be far from it: where two pixels of a window become equal, its gradient goes elsewhere.
    """
    with patch("graphc.lower.convolution.choice._WORTH_BATCH", 0.1):
        lowered = lower(graph, canary=not checked, threads=threads, bfloat16=lambda: how)
    assert not races(lowered.program)
    params = [feed[i].copy() for i in lowered.params]
    bound = compile_program(lowered.program, cache_dir=None, checked=checked).bind(params, list(lowered.constants))
    bound.run([feed[i].copy() for i in lowered.inputs])
    bound.check_canaries()
    exact, rounded = (reference.run(graph, feed, exact=e).results for e in (True, False))
    for (buffer, type), want, other in zip(lowered.results, exact, rounded, strict=True):
        got = bound.read(buffer).reshape(type.shape).astype(np.float64)
        usual = 1.5 * np.abs(other.astype(np.float64) - want).max()
        np.testing.assert_allclose(got, want, rtol=0, atol=usual + tolerance * np.abs(want).max())
    return lowered
