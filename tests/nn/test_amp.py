"""Mixed precision: which cells compute in half precision, training cells by level, managers and scalers."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest

import graphc
from graphc import Parameter, Tensor, amp, nn, ops

RNG = np.random.default_rng(23)
X = RNG.normal(size=(6, 4)).astype(np.float32)
LABELS = np.array([0, 2, 1, 1, 0, 2], np.int32)


class Net(nn.Cell):
    """Dense, BatchNorm, ReLU, Dense, and a sum of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.fc1 = nn.Dense(4, 8, weight_init=Tensor(RNG.normal(size=(8, 4)).astype(np.float32)))
        self.norm = nn.BatchNorm1d(8)
        self.relu = nn.ReLU()
        self.fc2 = nn.Dense(8, 3, weight_init=Tensor(RNG.normal(size=(3, 8)).astype(np.float32)))

    def construct(self, x: Tensor) -> Tensor:
        y = self.fc2(self.relu(self.norm(self.fc1(x))))
        return y + y


def dtypes(cell: nn.Cell, *inputs: Any) -> dict[str, set[str]]:
    """The dtypes of the forward values by the cell that makes them, but for casts."""
    made: dict[str, set[str]] = {}
    graph = dict(graphc.compile(cell, *inputs).passes)["trace"]
    for node in graph:
        if (
            node.op.name not in ("Cast", "Param", "Input", "Constant", "Fill", "Assign", "Depend")
            and node.type.is_float
        ):
            made.setdefault(node.scope, set()).add(node.type.dtype)
    return made


# ---- to_float


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_to_float_casts_inputs_and_parameters(dtype: str) -> None:
    net = nn.Dense(4, 3)
    plain = net(Tensor(X)).asnumpy()
    assert net.to_float(dtype) is net
    out = net(Tensor(X))
    assert str(out.dtype).lower() == dtype
    assert {p.tensor_type.dtype for p in net.get_parameters()} == {"float32"}
    np.testing.assert_allclose(ops.cast(out, "float32").asnumpy(), plain, rtol=0.05, atol=0.05)
    assert not np.array_equal(ops.cast(out, "float32").asnumpy(), plain)
    assert net.to_float("float32")(Tensor(X)).dtype == graphc.float32


def test_to_float_reaches_children_but_not_state() -> None:
    net = Net().to_float(graphc.float16)
    made = dtypes(net, Tensor(X))
    assert {k: v for k, v in made.items() if k in ("fc1", "relu", "fc2", "")} == {
        k: {"float16"} for k in ("fc1", "relu", "fc2", "")
    }
    net.set_train()
    before = net.norm.moving_mean.asnumpy()
    net(Tensor(X))
    assert net.norm.moving_mean.tensor_type.dtype == "float32"
    assert not np.array_equal(before, net.norm.moving_mean.asnumpy())


@pytest.mark.parametrize("level", ["O1", "O2", "O3"])
def test_frozen_layers_compute_in_half(level: str) -> None:
    """Weights do, whether they are trained or not; as in MindSpore."""
    nets = [Net(), Net()]
    for p in nets[1].get_parameters():
        p.set_data(nets[0].parameters_dict()[p.name])
        p.requires_grad = False
    made = [amp.auto_mixed_precision(net, level)(Tensor(X)).asnumpy() for net in (*nets, copy.deepcopy(nets[1]))]
    np.testing.assert_array_equal(made[0], made[1])
    np.testing.assert_array_equal(made[0], made[2])


def test_gradients_of_a_half_network_are_float32() -> None:
    net = nn.Dense(4, 3).to_float("float16")
    weights = graphc.ParameterTuple(net.trainable_params())
    grads = ops.GradOperation(get_by_list=True)(net, weights)(Tensor(X))
    assert [g.dtype for g in grads] == [graphc.float32] * 2
    np.testing.assert_allclose(grads[0].asnumpy(), np.repeat(X.sum(0)[None], 3, 0), rtol=1e-2, atol=1e-2)


@pytest.mark.parametrize("dtype", ["float64", "int32"])
def test_to_float_refuses(dtype: str) -> None:
    with pytest.raises(ValueError, match=f"must be float16, bfloat16 or float32, got {dtype}"):
        nn.Dense(4, 3).to_float(dtype)


# ---- levels


@pytest.mark.parametrize(
    ("level", "wanted"),
    [
        ("O0", {"fc1": "float32", "norm": "float32", "fc2": "float32", "": "float32"}),
        ("O1", {"fc1": "float16", "norm": "float32", "fc2": "float16", "": "float32"}),
        ("O2", {"fc1": "float16", "norm": "float32", "fc2": "float16", "": "float16"}),
        ("O3", {"fc1": "float16", "norm": "float16", "fc2": "float16", "": "float16"}),
    ],
)
def test_what_computes_in_half(level: str, wanted: dict[str, str]) -> None:
    net = Net()
    assert amp.auto_mixed_precision(net, level) is net
    made = dtypes(net, Tensor(X))
    for scope, dtype in wanted.items():
        inside = {d for s, ds in made.items() if s == scope or (scope and s.startswith(scope + ".")) for d in ds}
        assert dtype in inside
        # Statistics that are kept stay in float32.
        assert inside <= ({dtype, "float32"} if scope == "norm" else {dtype})
    assert net(Tensor(X)).dtype == graphc.float32


def test_levels_agree_up_to_rounding() -> None:
    net = Net()
    plain = net(Tensor(X)).asnumpy()
    for level in ("O1", "O2", "O3"):
        for _, cell in net.cells_and_names():
            cell.compute_dtype = cell.result_dtype = None
        out = amp.auto_mixed_precision(net, level)(Tensor(X)).asnumpy()
        np.testing.assert_allclose(out, plain, rtol=0.02, atol=0.05)
        assert not np.array_equal(out, plain)


def test_own_lists() -> None:
    white = amp.custom_mixed_precision(Net(), white_list=[nn.Dense])
    made = dtypes(white, Tensor(X))
    assert (made["fc1"], made["relu"], made[""]) == ({"float16"}, {"float32"}, {"float32"})
    black = amp.custom_mixed_precision(Net(), black_list=[nn.Dense], dtype=graphc.bfloat16)
    made = dtypes(black, Tensor(X))
    assert (made["fc1"], made["relu"], made[""]) == ({"float32"}, {"bfloat16"}, {"bfloat16"})
    kinds = "Conv1d Conv2d Conv3d Conv1dTranspose Conv2dTranspose Conv3dTranspose Dense LSTMCell RNNCell GRUCell"
    assert [kind.__name__ for kind in amp.get_white_list()][:12] == [*kinds.split(), "PReLU", "ReLU"]
    assert nn.BatchNorm2d in amp.get_black_list()


class Products(nn.Cell):
    """Primitives in attributes, by themselves and beside a function."""

    def __init__(self) -> None:
        super().__init__()
        self.product, self.shares = ops.MatMul(transpose_b=True), ops.Softmax()
        self.weight = graphc.Parameter(Tensor(np.array([[1.2, 0.3], [0.7, 3.1]], np.float32)))

    def construct(self, x):
        return self.product(x, self.weight), ops.matmul(x, self.weight), self.shares(x)


@pytest.mark.parametrize("mode", [graphc.GRAPH_MODE, graphc.PYNATIVE_MODE])
def test_primitives_of_the_white_list(mode: int) -> None:
    """As MindSpore 2.10 does it: float16 within the primitive, float32 around it, functions as they are."""
    x = Tensor(np.array([[1.2345, 2.3456]], np.float32))
    held = Products()
    primitive = held.product
    graphc.set_context(mode=mode)
    try:
        half, plain, shares = amp.auto_mixed_precision(held, "O1")(x)
        own = amp.custom_mixed_precision(Products(), white_list=[ops.Softmax])(x)
    finally:
        graphc.set_context(mode=graphc.GRAPH_MODE)
    assert [t.dtype for t in (half, plain, shares)] == [graphc.float32] * 3
    weight = held.weight.asnumpy()
    wanted = x.asnumpy().astype(np.float16).astype(np.float32) @ weight.T.astype(np.float16).astype(np.float32)
    np.testing.assert_array_equal(half.asnumpy(), wanted.astype(np.float16).astype(np.float32))
    np.testing.assert_allclose(plain.asnumpy(), x.asnumpy() @ weight, rtol=1e-6)
    assert isinstance(held.product, ops.MatMul)
    assert held.product.transpose_b
    assert primitive is not held.product
    np.testing.assert_allclose(own[0].asnumpy(), x.asnumpy() @ weight.T, rtol=1e-6)
    assert np.array_equal(own[2].asnumpy(), own[2].asnumpy().astype(np.float16))


# ---- training networks


def optimizer(net: nn.Cell) -> nn.Momentum:
    return nn.Momentum(net.trainable_params(), 0.05, 0.9)


LOSS = {"sparse": True, "reduction": "mean"}


@pytest.mark.parametrize("level", ["O0", "O1", "O2", "O3"])
def test_training_by_level(level: str) -> None:
    net = Net()
    step = amp.build_train_network(net, optimizer(net), nn.SoftmaxCrossEntropyWithLogits(**LOSS), level)  # type: ignore[arg-type]
    assert isinstance(step, nn.TrainOneStepWithLossScaleCell) == (level == "O2")
    assert step.training
    losses = []
    for _ in range(60):
        out = step(Tensor(X), Tensor(LABELS))
        losses.append(float(out[0] if level == "O2" else out))
    assert losses[-1] < 0.2 * losses[0]
    assert {p.tensor_type.dtype for p in net.get_parameters()} == {"float32"}
    if level == "O2":
        # The first scale, 2**24, is more than float16 gradients bear.
        assert 1.0 < float(step.scale_sense) < 2.0**24


def test_a_genuine_overflow_in_half() -> None:
    """40000 * 2 is beyond float16: the step finds out and does not update."""

    class Big(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.w = Parameter(Tensor(np.array([40000.0], np.float32)), name="w")

        def construct(self, x: Tensor) -> Tensor:
            return (self.w * x + self.w * x).sum()

    for dtype, overflows in (("float16", True), ("float32", False)):
        net = Big()
        cell = nn.TrainOneStepWithLossScaleCell(
            net.to_float(dtype), nn.SGD(net.trainable_params(), 1.0), Tensor(2.0**15)
        )
        loss, overflow, _ = cell(Tensor(np.array([2.0], np.float32)))
        assert bool(overflow) == overflows
        assert np.isinf(loss.asnumpy()) == overflows
        assert (float(net.w) == 40000.0) == overflows


def test_keyword_arguments_overrule_the_level() -> None:
    loss = nn.SoftmaxCrossEntropyWithLogits(**LOSS)  # type: ignore[arg-type]

    def build(level: str = "O0", **options: Any) -> tuple[Any, Net]:
        net = Net()
        return amp.build_train_network(net, optimizer(net), loss, level, **options), net

    step, _ = build("O2", loss_scale_manager=None)
    assert type(step) is nn.TrainOneStepCell
    step, _ = build(loss_scale_manager=amp.FixedLossScaleManager(64.0, drop_overflow_update=False))
    assert (type(step), step.sens) == (nn.TrainOneStepCell, 64.0)
    step, _ = build(loss_scale_manager=amp.FixedLossScaleManager(64.0))
    assert isinstance(step.loss_scaling_manager, nn.FixedLossScaleUpdateCell)
    _, net = build("O2", keep_batchnorm_fp32=False)
    assert net.norm.compute_dtype == "float16"
    _, net = build("O0", cast_model_type=graphc.float16, keep_batchnorm_fp32=True)
    assert (net.fc1.compute_dtype, net.norm.compute_dtype) == ("float16", "float32")
    _, net = build("O3", cast_model_type=graphc.float32)
    assert net.fc1.compute_dtype is None
    net = Net()
    alone = amp.build_train_network(nn.WithLossCell(net, loss), optimizer(net))
    assert float(alone(Tensor(X), Tensor(LABELS))) > 0


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda n: amp.auto_mixed_precision(3), TypeError, "network must be a Cell, got int"),
        (
            lambda n: amp.auto_mixed_precision(n, "O4"),
            ValueError,
            "level must be one of O0, O1, O2, O3, auto, got 'O4'",
        ),
        (lambda n: amp.auto_mixed_precision(n, 1), TypeError, "level must be a string, got int"),
        (lambda n: amp.auto_mixed_precision(n, "O1", "float32"), ValueError, "dtype must be one of float16, bfloat16"),
        (lambda n: amp.custom_mixed_precision(n), ValueError, "either white_list or black_list"),
        (
            lambda n: amp.custom_mixed_precision(n, white_list=[n]),
            TypeError,
            "the list holds classes of Cells and primitives",
        ),
        (lambda n: amp.build_train_network(n, 3), TypeError, "optimizer must be an Optimizer, got int"),
        (lambda n: amp.build_train_network(3, optimizer(n)), TypeError, "network must be a Cell, got int"),
        (lambda n: amp.build_train_network(n, optimizer(n), 3), TypeError, "loss_fn must be a Cell, got int"),
        (lambda n: amp.build_train_network(n, optimizer(n), level="O9"), ValueError, "level must be one of"),
        (lambda n: amp.build_train_network(n, optimizer(n), boost_level="O1"), ValueError, "boost_level must be 'O0'"),
        (lambda n: amp.build_train_network(n, optimizer(n), foo=1), ValueError, "has no argument 'foo'"),
        (
            lambda n: amp.build_train_network(n, optimizer(n), loss_scale_manager=3),
            TypeError,
            "a LossScaleManager or None",
        ),
        (lambda n: amp.build_train_network(n, optimizer(n), keep_batchnorm_fp32=3), TypeError, "must be a bool"),
        (
            lambda n: amp.build_train_network(n, optimizer(n), cast_model_type="int32"),
            ValueError,
            "cast_model_type must be",
        ),
        (lambda n: amp.FixedLossScaleManager(0.5), ValueError, "loss_scale must be a finite number >= 1"),
        (lambda n: amp.FixedLossScaleManager("a"), TypeError, "loss_scale must be a number, got str"),
        (lambda n: amp.DynamicLossScaleManager(0.5), ValueError, "init_loss_scale must be a finite number >= 1"),
        (lambda n: amp.DynamicLossScaleManager(2, 1), ValueError, "scale_factor must be a finite number > 1"),
        (lambda n: amp.DynamicLossScaler(2, 1, 1), ValueError, "scale_factor must be at least 2"),
        (lambda n: amp.DynamicLossScaleManager(2, 2, 0), ValueError, "scale_window must be at least 1"),
        (lambda n: amp.DynamicLossScaleManager(2, 2, 1.5), TypeError, "scale_window must be an int, got float"),
        (lambda n: amp.StaticLossScaler(0), ValueError, "scale_value must be a finite number >= 1"),
        (lambda n: amp.DynamicLossScaler(2, "2", 1), TypeError, "scale_factor must be an int, got str"),
        (lambda n: amp.DynamicLossScaler(2, 2, 0), ValueError, "scale_window must be at least 1"),
        (lambda n: amp.all_finite(Tensor(1.0)), TypeError, "inputs must be a tuple of Tensors, got Tensor"),
    ],
)
def test_refused(make: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message) as caught:
        make(Net())
    assert isinstance(caught.value, graphc.GraphcError)


# ---- managers and scalers


def test_managers_make_their_cells() -> None:
    dynamic = amp.DynamicLossScaleManager(16, 2, 3)
    dynamic.update_loss_scale(True)
    cell: Any = dynamic.get_update_cell()
    assert (cell.get_loss_scale(), cell.scale_factor, cell.scale_window) == (8, 2, 3)
    assert dynamic.get_drop_overflow_update() is True
    fixed = amp.FixedLossScaleManager()
    fixed.update_loss_scale(True)
    assert (fixed.get_loss_scale(), fixed.get_drop_overflow_update()) == (128.0, True)
    assert isinstance(fixed.get_update_cell(), nn.FixedLossScaleUpdateCell)


def test_a_thousand_overflows_in_a_row_are_too_many() -> None:
    manager = amp.DynamicLossScaleManager()
    for _ in range(1000):
        manager.update_loss_scale(True)
    with pytest.raises(RuntimeError, match="overflowed in 1001 steps in a row"):
        manager.update_loss_scale(True)


def test_a_scaler_in_a_compiled_function() -> None:
    """The functional style: scale, differentiate, unscale, check, update, adjust, in one compiled function."""
    net = nn.Dense(4, 1, weight_init="ones", bias_init="zeros")
    chosen = nn.SGD(net.trainable_params(), 0.01)
    scaler = amp.DynamicLossScaler(1024.0, 2, 2)

    def forward(x: Tensor) -> Tensor:
        return scaler.scale(net(x).mean())

    gradient = graphc.value_and_grad(forward, None, chosen.parameters)

    @graphc.jit
    def train(x: Tensor) -> tuple[Tensor, Tensor]:
        loss, grads = gradient(x)
        grads = scaler.unscale(grads)
        finite = amp.all_finite(grads)
        if finite:
            loss = ops.depend(loss, chosen(grads))
        scaler.adjust(finite)
        return scaler.unscale(loss), finite

    scales = []
    for flag in "0010010":
        before = net.weight.asnumpy()
        _, finite = train(Tensor(np.full_like(X, np.inf) if flag == "1" else X))
        assert bool(finite) == (flag == "0")
        assert np.array_equal(before, net.weight.asnumpy()) == (flag == "1")
        scales.append(float(scaler.scale_value))
    assert scales == [1024.0, 2048.0, 1024.0, 1024.0, 2048.0, 1024.0, 1024.0]
