"""Level "auto" of mixed precision: functions compute in the dtype that a list says. The dtypes are MindSpore 2.10's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graphc
from graphc import Parameter, Tensor, amp, mint, nn, ops
from graphc.ops.tensor import autocast
from graphc.ops.tensor.tree import tensors

RNG = np.random.default_rng(29)
X = RNG.uniform(0.2, 0.8, (4, 4)).astype(np.float32)
IMAGES = RNG.normal(size=(2, 3, 8, 8)).astype(np.float32)
WEIGHT = RNG.normal(size=(5, 3, 3, 3)).astype(np.float32)
LABELS = np.array([0, 1, 2, 3], np.int32)
pytestmark = pytest.mark.usefixtures("mode_again")
MODES = pytest.mark.parametrize("mode", [graphc.GRAPH_MODE, graphc.PYNATIVE_MODE])

#: Of x in float32: in float16 there.
LOW: dict[str, Callable[..., Any]] = {
    "matmul": lambda x: (x @ x, ops.matmul(x[None], x[None]), ops.MatMul()(x, x), x.matmul(x), mint.matmul(x, x)),
    "bmm": lambda x: (ops.bmm(x[None], x[None]), ops.BatchMatMul()(x[None], x[None])),
    "conv2d": lambda x: ops.conv2d(Tensor(IMAGES), Tensor(WEIGHT)),
    "dense": lambda x: (ops.dense(x, x, x[0]), mint.nn.functional.linear(x, x)),
    "float64": lambda x: ops.matmul(x.astype(graphc.float64), x.astype(graphc.float64)),
}
#: Of x in float16: in float32 there.
FULL: dict[str, Callable[..., Any]] = {
    "softmax": lambda x: (ops.softmax(x), x.softmax(-1), ops.log_softmax(x), ops.Softmax()(x)),
    "powers": lambda x: (ops.exp(x), x.exp(), ops.log(x), x**2, ops.pow(x, 2.0), 2.0**x, ops.rsqrt(x)),
    "sums": lambda x: (x.sum(), ops.cumsum(x, 0), ops.prod(x)),
    "norms": lambda x: (ops.layer_norm(x, (4,), x[0], x[1]), ops.group_norm(x, 2)),
    "losses": lambda x: (ops.cross_entropy(x, Tensor(LABELS)), ops.smooth_l1_loss(x, x * 2)),
    "of others": lambda x: ops.exp(x.astype(graphc.float64)) * ops.exp(x.astype(graphc.bfloat16)),
}
#: Of x in float16: as it is.
KEPT: dict[str, Callable[..., Any]] = {
    "elements": lambda x: (x + 1.0, ops.relu(x), ops.sqrt(x), ops.tanh(x), ops.gelu(x)),
    "means": lambda x: (x.mean(), ops.norm(x), ops.mse_loss(x, x * 2)),
}
#: Of x in float16 and y in float32: in float32.
WIDEST: dict[str, Callable[..., Any]] = {
    "joined": lambda x, y: (ops.concat((x, y)), ops.cat((y, x)), ops.addcmul(x, y, x, 1.0)),
    "biases": lambda x, y: (ops.bias_add(x, y[0]), ops.BiasAdd()(x, y[0])),
    "sums": lambda x, y: (x + y, ops.addmm(y, y, y)),
}


class Net(nn.Cell):
    """A function as a Cell; what it has inside is made once."""

    def __init__(self, body: Callable[..., Any]) -> None:
        super().__init__()
        self.body = body

    def construct(self, *inputs: Any) -> Any:
        return self.body(*inputs)


def dtypes(body: Callable[..., Any], mode: int, *inputs: Any) -> set[str]:
    graphc.set_context(mode=mode)
    call = amp.auto_mixed_precision(body, "auto")
    return {t.tensor_type.dtype for t in tensors((graphc.jit(call) if mode == graphc.GRAPH_MODE else call)(*inputs))}


@MODES
@pytest.mark.parametrize(
    "case", [*(("low", c) for c in LOW), *(("full", c) for c in FULL), *(("kept", c) for c in KEPT)]
)
def test_lists(case: tuple[str, str], mode: int) -> None:
    kind, name = case
    x = Tensor(X)
    if kind == "low":
        assert dtypes(LOW[name], mode, x) == {"float16"}
    else:
        body = {"full": FULL, "kept": KEPT}[kind][name]
        assert dtypes(body, mode, x.astype(graphc.float16)) == {"float32" if kind == "full" else "float16"}


@MODES
@pytest.mark.parametrize("name", WIDEST)
def test_the_widest(name: str, mode: int) -> None:
    assert dtypes(WIDEST[name], mode, Tensor(X).astype(graphc.float16), Tensor(X)) == {"float32"}


@MODES
def test_integers_are_nobodys(mode: int) -> None:
    def body(n: Any) -> Any:
        return ops.matmul(n, n), ops.concat((n, n))

    assert dtypes(body, mode, Tensor(LABELS.reshape(2, 2))) == {"int32"}


@MODES
@pytest.mark.parametrize(
    ("layer", "given", "made"),
    [
        (lambda: nn.Dense(4, 3, has_bias=False), "float32", "float16"),
        (lambda: nn.Dense(4, 3), "float32", "float32"),
        (lambda: nn.Dense(4, 3), "float16", "float32"),
        (
            lambda: nn.SequentialCell(nn.Dense(4, 4, has_bias=False), nn.Dense(4, 4, has_bias=False)),
            "float32",
            "float16",
        ),
        (lambda: nn.LayerNorm((4,)), "float16", "float32"),
        (lambda: nn.BatchNorm1d(4), "float16", "float32"),
        (lambda: nn.Softmax(), "float16", "float32"),
        (lambda: nn.ReLU(), "float16", "float16"),
        (lambda: nn.SequentialCell(nn.Softmax().to_float(graphc.float16)), "float32", "float16"),
        (lambda: nn.SequentialCell(nn.Dense(4, 4), nn.ReLU(), nn.Dense(4, 4, has_bias=False)), "float32", "float16"),
    ],
)
def test_layers(layer: Callable[[], nn.Cell], given: str, made: str, mode: int) -> None:
    graphc.set_context(mode=mode)
    assert amp.auto_mixed_precision(layer(), "auto")(Tensor(X).astype(given)).tensor_type.dtype == made


@MODES
@pytest.mark.parametrize("layer", [nn.Conv2d, nn.Conv2dTranspose])
def test_convolutions_of_halves(layer: type[nn.Cell], mode: int) -> None:
    """What a convolution has made is the next one's input."""
    graphc.set_context(mode=mode)
    net: Any = nn.SequentialCell(layer(3, 4, 3), layer(4, 2, 3))
    assert amp.auto_mixed_precision(net, "auto")(Tensor(IMAGES)).tensor_type.dtype == "float16"
    with pytest.raises(TypeError, match=r"\[GC110\] Conv2d.*: x has dtype float16, the layer's weight float32"):
        layer(3, 4, 3)(Tensor(IMAGES).astype(graphc.float16))


class Layers(nn.Cell):
    def __init__(self) -> None:
        super().__init__()
        weights = np.random.default_rng(3).normal(size=(2, 4, 4)).astype(np.float32)
        self.first = nn.Dense(4, 4, weight_init=Tensor(weights[0]), has_bias=False)
        self.exact = nn.Dense(4, 4, weight_init=Tensor(weights[1]), has_bias=False)
        self.scale = Parameter(np.ones(4, np.float32), name="scale")

    def construct(self, x: Any) -> Any:
        y = self.first(x)
        if y.sum() > 1000:
            y = y * 0.5
        return y, self.exact(ops.tanh(y) * self.scale)


@MODES
def test_a_network(mode: int) -> None:
    """What to_float says comes first; values are those of float16 products, parameters stay float32."""
    graphc.set_context(mode=mode)
    net = Layers()
    wide = net(Tensor(X))
    net.exact.to_float(graphc.float32)
    assert amp.auto_mixed_precision(net, "auto", graphc.bfloat16) is net
    first, last = net(Tensor(X))
    assert (first.dtype, last.dtype) == (graphc.bfloat16, graphc.float32)
    np.testing.assert_allclose(last.asnumpy(), wide[1].asnumpy(), rtol=0.05, atol=0.05)
    assert not np.array_equal(last.asnumpy(), wide[1].asnumpy())
    assert {p.dtype for p in net.trainable_params()} == {graphc.float32}


@MODES
def test_gradients(mode: int) -> None:
    graphc.set_context(mode=mode)
    wide, low = Layers(), amp.auto_mixed_precision(Layers(), "auto")

    def gradients(net: nn.Cell) -> Any:
        return graphc.grad(lambda x: net(x)[1].sum(), 0, net.trainable_params())(Tensor(X))

    for a, b in zip(tensors(gradients(wide)), tensors(gradients(low)), strict=True):
        assert b.dtype == graphc.float32
        np.testing.assert_allclose(b.asnumpy(), a.asnumpy(), rtol=0.05, atol=0.05)


def test_a_compiled_function_is_compiled_for_each() -> None:
    """A function that others call knows in which it is."""
    graphc.set_context(mode=graphc.PYNATIVE_MODE)
    inner = graphc.jit(lambda x: ops.matmul(x, x))
    x = Tensor(X)
    assert [inner(x).dtype, amp.auto_mixed_precision(Net(inner), "auto")(x).dtype, inner(x).dtype] == [
        graphc.float32, graphc.float16, graphc.float32
    ]  # fmt: skip


def test_training() -> None:
    """Model and build_train_network take the level: losses go down as in float32."""
    losses = []
    for level in ("O0", "auto"):
        net = Layers()
        loss = nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean")

        class Last(nn.Cell):
            def __init__(self, net: nn.Cell) -> None:
                super().__init__()
                self.net = net

            def construct(self, x: Any) -> Any:
                return self.net(x)[1]

        step = amp.build_train_network(Last(net), nn.Momentum(net.trainable_params(), 0.1, 0.9), loss, level)
        losses.append([step(Tensor(X), Tensor(LABELS)).item() for _ in range(8)])
    np.testing.assert_allclose(losses[1], losses[0], rtol=0.02)
    assert losses[1] != losses[0]
    assert losses[1][-1] < losses[1][0]


def test_every_name_of_the_lists_is_there() -> None:
    for name, kind in autocast._KINDS.items():
        in_mint, _, short = name.rpartition(".")
        spaces = (mint, mint.linalg) if in_mint else (ops, mint, mint.nn.functional)
        found = [getattr(space, short) for space in spaces if hasattr(space, short)]
        assert found, name
        for x in found:
            assert getattr(x.__call__ if isinstance(x, type) else x, "casts_by", None) == kind, name


@pytest.mark.parametrize("level", ["O0", "O1", "O2", "O3"])
def test_only_this_level_takes_functions(level: str) -> None:
    with pytest.raises(TypeError, match="network must be a Cell, got function"):
        amp.auto_mixed_precision(lambda x: x, level)
    with pytest.raises(TypeError, match="network must be a Cell or function, got int"):
        amp.auto_mixed_precision(3, "auto")
