"""Training cells that users write: MindSpore's listings typed in, subclasses of the loss-scale cell, older status ops."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import graphc
import graphc as ms
from graphc import Parameter, Tensor, nn, ops
from graphc.nn import Cell, DistributedGradReducer
from graphc.ops import composite as C
from graphc.ops import functional as F
from graphc.parallel import (
    _get_device_num,
    _get_gradients_mean,
    _get_parallel_mode,
    reset_auto_parallel_context,
    set_auto_parallel_context,
)

RNG = np.random.default_rng(11)
X, Y = RNG.normal(size=(6, 4)).astype(np.float32), RNG.normal(size=(6, 3)).astype(np.float32)
BAD = np.full_like(X, np.inf)


@pytest.fixture(autouse=True)
def stand_alone() -> Iterator[None]:
    yield
    reset_auto_parallel_context()
    graphc.set_context(mode=graphc.GRAPH_MODE)


def network() -> nn.WithLossCell:
    return nn.WithLossCell(nn.Dense(4, 3, weight_init=Tensor(RNG.normal(size=(3, 4)).astype(np.float32))), nn.MSELoss())


def descend(w: Any, b: Any, steps: int, rate: float = 0.1) -> tuple[list[float], Any, Any]:
    """The losses of gradient descent on |x w.T + b - y|^2, in float64, and where it ends."""
    w, b, losses = w.astype(np.float64), b.astype(np.float64), []
    for _ in range(steps):
        d = X @ w.T + b - Y
        losses.append(float((d * d).mean()))
        g = 2 * d / d.size
        w, b = w - rate * g.T @ X, b - rate * g.sum(0)
    return losses, w, b


def check_descent(step: Cell, net: nn.WithLossCell, steps: int = 3) -> None:
    """The step is gradient descent with rate 0.1."""
    layer: Any = net.backbone_network
    losses, w, b = descend(layer.weight.asnumpy(), layer.bias.asnumpy(), steps)
    for wanted in losses:
        out = step(Tensor(X), Tensor(Y))
        loss = out[0] if isinstance(out, tuple) else out
        assert float(loss) == pytest.approx(wanted, rel=1e-5)
    np.testing.assert_allclose(layer.weight.asnumpy(), w, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(layer.bias.asnumpy(), b, rtol=1e-4, atol=1e-6)


# ---- the one-step cell of MindSpore's migration guide


class OneStep(Cell):
    """The training cell of the guide, in its own words."""

    def __init__(self, network, optimizer, sens=1.0):
        super(OneStep, self).__init__(auto_prefix=False)  # noqa: UP008
        self.network = network
        self.network.set_grad()
        self.optimizer = optimizer
        self.weights = self.optimizer.parameters
        self.grad = ops.GradOperation(get_by_list=True, sens_param=True)
        self.sens = sens
        self.reducer_flag = False
        self.grad_reducer = ops.identity
        self.parallel_mode = _get_parallel_mode()
        self.reducer_flag = self.parallel_mode in (ms.ParallelMode.DATA_PARALLEL, ms.ParallelMode.HYBRID_PARALLEL)
        if self.reducer_flag:
            self.mean = _get_gradients_mean()
            self.degree = _get_device_num()
            self.grad_reducer = DistributedGradReducer(self.weights, self.mean, self.degree)

    def construct(self, *inputs):
        loss = self.network(*inputs)
        sens = ops.fill(loss.dtype, loss.shape, self.sens)
        grads = self.grad(self.network, self.weights)(*inputs, sens)
        grads = self.grad_reducer(grads)
        loss = ops.depend(loss, self.optimizer(grads))
        return loss


@pytest.mark.parametrize("mode", ["stand_alone", "data_parallel", "hybrid_parallel"])
@pytest.mark.parametrize("mean", [False, True])
def test_the_listing_trains(mode: str, mean: bool) -> None:
    set_auto_parallel_context(parallel_mode=mode, gradients_mean=mean)
    net = network()
    step = OneStep(net, nn.SGD(net.trainable_params(), 0.1))
    assert step.reducer_flag == (mode != "stand_alone")
    check_descent(step, net)


def all_reduces(graph: Any) -> list[Any]:
    return [n for n in graph if n.op.name == "AllReduce"]


def test_reductions_keep_their_order() -> None:
    """Every process must reach its reductions in the same order: each one waits for the one before it."""
    set_auto_parallel_context(parallel_mode="data_parallel")
    net = network()
    step = nn.TrainOneStepCell(net, nn.SGD(net.trainable_params(), 0.1))
    nodes = all_reduces(graphc.compile(step, Tensor(X), Tensor(Y)).graph)
    assert len(nodes) == 2
    assert nodes[0].id in nodes[1].after
    check_descent(step, net)


def test_every_training_cell_reduces() -> None:
    set_auto_parallel_context(parallel_mode="data_parallel")
    for kind in (nn.TrainOneStepWithLossScaleCell, nn.MFTrainOneStepCell, WithIf):
        net = network()
        step = kind(net, nn.SGD(net.trainable_params(), 0.1), scale_sense=Tensor(8.0))
        assert len(all_reduces(graphc.compile(step, Tensor(X), Tensor(Y)).graph)) == 2


def test_a_layerwise_parameter_is_not_reduced() -> None:
    net = network()
    net.trainable_params()[0].layerwise_parallel = True
    reducer = DistributedGradReducer(net.trainable_params(), True, 2)
    grads = tuple(Tensor(np.full(p.shape, 3.0, np.float32)) for p in net.trainable_params())
    first, second = reducer(grads)
    assert float(first.asnumpy().max()) == 3.0
    assert float(second.asnumpy().max()) == 1.5
    assert len(all_reduces(graphc.compile(reducer, grads).graph)) == 1


def test_half_gradients_are_reduced_in_float32() -> None:
    p = Parameter(Tensor([1.0, 2.0], "float32"), name="p")
    step = graphc.compile(DistributedGradReducer([p], True, 1), (Tensor(np.array([1, 2], np.float16)),))
    assert [str(n.type) for n in all_reduces(step.graph)] == ["f32[2]"]
    assert step.graph.type(step.graph.results[0].value).dtype == "float16"


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda p: DistributedGradReducer(p, True, 0), ValueError, "degree must be an int of at least 1, got 0"),
        (lambda p: DistributedGradReducer(p, True, "2"), ValueError, "degree must be an int of at least 1, got '2'"),
        (lambda p: DistributedGradReducer(p, 1), TypeError, "mean must be a bool, got int"),
        (lambda p: DistributedGradReducer(3), TypeError, "parameters must be a tuple of Parameters, got int"),
        (lambda p: DistributedGradReducer(p)((Tensor(1.0),)), TypeError, "got 1 gradients for 2 parameters"),
        (lambda p: set_auto_parallel_context(device_num=8), ValueError, "device_num=8 needs several processes"),
        (lambda p: set_auto_parallel_context(parallel_mode="x"), ValueError, "parallel_mode must be one of"),
        (lambda p: set_auto_parallel_context(gradients_mean=1), TypeError, "gradients_mean must be of type bool"),
        (lambda p: set_auto_parallel_context(foo=1), ValueError, "there is no parallel setting 'foo'"),
        (lambda p: ops.AllReduce("mean"), ValueError, "op must be one of 'sum', 'max', 'min', 'prod'"),
        (lambda p: _shared(p, parallel_mode="stand_alone"), ValueError, "needs a data-parallel mode"),
        (lambda p: _shared(p, config=3), TypeError, "parallel_optimizer_config must be a dict, got 3"),
        (lambda p: _shared(p, config={"a": 1}), ValueError, "parallel_optimizer_config has no key 'a'; it has"),
        (
            lambda p: _shared(p, config={"parallel_optimizer_threshold": -1}),
            ValueError,
            "parallel_optimizer_threshold must be an int of at least 0, got -1",
        ),
        (
            lambda p: _shared(p, config={"optimizer_weight_shard_size": 8}),
            ValueError,
            "optimizer_weight_shard_size=8 is not supported, only -1 or 1",
        ),
        (
            lambda p: _shared(p, config={"optimizer_level": "level1"}),
            ValueError,
            "optimizer_level='level1' is not supported",
        ),
    ],
)
def test_parallel_settings_are_checked(make: Any, error: type[Exception], message: str) -> None:
    try:
        with pytest.raises(error, match=message):
            make(network().trainable_params())
    finally:
        graphc.reset_auto_parallel_context()


def _shared(params: Any, parallel_mode: str = "data_parallel", config: Any = None) -> Any:
    """An optimizer of the setting enable_parallel_optimizer."""
    set_auto_parallel_context(parallel_mode=parallel_mode, enable_parallel_optimizer=True)
    if config is not None:
        set_auto_parallel_context(parallel_optimizer_config=config)
    return nn.Momentum(params, 0.1, 0.9)


def test_a_process_alone_makes_all_updates() -> None:
    try:
        optimizer = _shared(network().trainable_params(), config={"parallel_optimizer_threshold": 0})
        assert graphc.parallel.get_auto_parallel_context("parallel_optimizer_config") == {
            "parallel_optimizer_threshold": 0
        }
        assert [m.shape for m in optimizer.moments] == [p.shape for p in optimizer.parameters]
    finally:
        graphc.reset_auto_parallel_context()


def test_all_reduce_alone() -> None:
    class Net(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.reduce = ops.AllReduce(ops.ReduceOp.MAX)

        def construct(self, x: Tensor) -> Tensor:
            return self.reduce(x) * 2

    assert Net()(Tensor([1.0, 2.0])).asnumpy().tolist() == [2.0, 4.0]
    assert ops.GradOperation()(Net())(Tensor([1.0, 2.0])).asnumpy().tolist() == [2.0, 2.0]
    assert ops.AllReduce()(Tensor([1.0])).asnumpy().tolist() == [1.0]


# ---- subclasses of the loss-scale cell


class WithIf(nn.TrainOneStepWithLossScaleCell):
    """Overrides construct and decides in Python."""

    def construct(self, *inputs):
        loss = self.network(*inputs)
        scaling_sens = self.scale_sense
        status, scaling_sens = self.start_overflow_check(loss, scaling_sens)
        scaling_sens_filled = C.ops_ones_like(loss) * F.cast(scaling_sens, loss.dtype)
        grads = self.grad(self.network, self.weights)(*inputs, scaling_sens_filled)
        grads = self.hyper_map(F_partial(grad_scale, scaling_sens), grads)
        grads = self.grad_reducer(grads)
        cond = self.get_overflow_status(status, grads)
        overflow = self.process_loss_scale(cond)
        if not overflow:
            loss = F.depend(loss, self.optimizer(grads))
        return loss, cond, scaling_sens


F_partial = ops.partial
C.ops_ones_like = ops.ones_like  # type: ignore[attr-defined]
grad_scale = C.MultitypeFuncGraph("grad_scale")


@grad_scale.register("Tensor", "Tensor")
def tensor_grad_scale(scale, grad):
    return grad * F.cast(ops.reciprocal(scale), grad.dtype)


@grad_scale.register("Tensor", "RowTensor")
def row_tensor_grad_scale(scale, grad):
    raise AssertionError("graphc has no row tensors")


class ThroughSuper(WithIf):
    """Calls its parent's construct, and process_loss_scale through super."""

    def process_loss_scale(self, overflow):
        flag = super().process_loss_scale(overflow)
        return flag

    def construct(self, *inputs):
        loss, cond, scale = super().construct(*inputs)
        return loss * 1.0, cond, scale


class OldStatus(nn.TrainOneStepWithLossScaleCell):
    """Clears and reads the status register itself, as scripts for older versions do."""

    def __init__(self, network, optimizer, scale_sense):
        super().__init__(network, optimizer, scale_sense)
        self.alloc_status = ops.NPUAllocFloatStatus()
        self.clear_status = ops.NPUClearFloatStatus()
        self.get_status = ops.NPUGetFloatStatus()
        self.reduce_sum = ops.ReduceSum(keep_dims=False)
        self.less_equal = ops.LessEqual()
        self.base = Tensor(1, ms.float32)

    def start_overflow_check(self, pre_cond, compute_input):
        status = self.alloc_status()
        status = F.depend(status, pre_cond)
        clear_status = self.clear_status(status)
        compute_input = F.depend(compute_input, clear_status)
        return status, compute_input

    def get_overflow_status(self, status, compute_output):
        status = F.depend(status, compute_output)
        get_status = self.get_status(status)
        status = F.depend(status, get_status)
        flag_sum = self.reduce_sum(status, (0,))
        return self.less_equal(self.base, flag_sum)


class OldStart(OldStatus):
    """Clears the register itself and lets the parent read it."""

    def get_overflow_status(self, status, compute_output):
        return nn.TrainOneStepWithLossScaleCell.get_overflow_status(self, status, compute_output)


class StatusV2(nn.TrainOneStepWithLossScaleCell):
    """The second version of the status ops: the status is a plain tensor."""

    def start_overflow_check(self, pre_cond, compute_input):
        status = Tensor([0] * 8, ms.int32)
        status = F.depend(status, pre_cond)
        clear_status = ops.NPUClearFloatStatusV2()(status)
        compute_input = F.depend(compute_input, clear_status)
        return status, compute_input

    def get_overflow_status(self, status, compute_output):
        status = F.depend(status, compute_output)
        get_status = ops.NPUGetFloatStatusV2()(status)
        flag = ops.not_equal(Tensor(0, ms.int32), get_status)
        return ops.ReduceAny()(flag)


class GpuStatus(nn.TrainOneStepWithLossScaleCell):
    """Tests each gradient by FloatStatus; there is no register, and False stands for it."""

    def start_overflow_check(self, pre_cond, compute_input):
        return False, compute_input

    def get_overflow_status(self, status, compute_output):
        flags = self.hyper_map(F_partial(float_status), compute_output)
        flag_sum = ops.addn(flags).reshape(())
        return ops.less_equal(1.0, flag_sum)


class FalseStatus(GpuStatus):
    def get_overflow_status(self, status, compute_output):
        return nn.TrainOneStepWithLossScaleCell.get_overflow_status(self, status, compute_output)


float_status = C.MultitypeFuncGraph("float_status")


@float_status.register("Tensor")
def tensor_status(grad):
    return ops.FloatStatus()(grad)


CLASSES = [WithIf, ThroughSuper, OldStatus, OldStart, StatusV2, GpuStatus, FalseStatus]


@pytest.mark.parametrize("kind", CLASSES)
def test_a_subclass_trains(kind: Any) -> None:
    net = network()
    check_descent(kind(net, nn.SGD(net.trainable_params(), 0.1), Tensor(64.0)), net)


@pytest.mark.parametrize("mode", [graphc.GRAPH_MODE, graphc.PYNATIVE_MODE])
@pytest.mark.parametrize("kind", CLASSES)
def test_a_subclass_scales_and_skips(kind: Any, mode: int) -> None:
    graphc.set_context(mode=mode)
    net = network()
    step = kind(
        net, nn.Momentum(net.trainable_params(), 0.1, 0.9), nn.DynamicLossScaleUpdateCell(8.0, 2, 2)
    ).set_train()
    scales, flags = [], []
    for flag in "001000111110":
        before = [p.asnumpy() for p in (*step.weights, *step.optimizer.get_parameters())]
        _, overflow, _ = step(Tensor(BAD if flag == "1" else X), Tensor(Y))
        flags.append(str(int(bool(overflow))))
        scales.append(float(step.scale_sense))
        after = [p.asnumpy() for p in (*step.weights, *step.optimizer.get_parameters())]
        assert all(map(np.array_equal, before, after)) == (flag == "1")
    assert "".join(flags) == "001000111110"
    assert scales == [8, 16, 8, 8, 16, 16, 8, 4, 2, 1, 1, 1]


@pytest.mark.parametrize("kind", [WithIf, OldStatus, StatusV2])
def test_it_is_one_step_with_one_forward(kind: Any) -> None:
    """One matrix product forward, one for the weight's gradient; the optimizer stands in a branch."""
    net = network()
    step = graphc.compile(kind(net, nn.SGD(net.trainable_params(), 0.1), Tensor(64.0)), Tensor(X), Tensor(Y))
    ops_of_step = [n.op.name for n in step.graph]
    assert ops_of_step.count("MatMul") == 2
    assert {n.op.name for n in step.graph}.isdisjoint({"Assign"})
    assert ops_of_step.count("If") == 1
    assert ops_of_step.count("GetFloatStatus") <= 1


def test_a_status_that_nothing_has_cleared() -> None:
    class Net(nn.Cell):
        def construct(self, x: Tensor) -> Tensor:
            return ops.NPUGetFloatStatus()(F.depend(ops.NPUAllocFloatStatus()(), x * 2))

    with pytest.raises(graphc.TraceError, match="nothing has cleared it") as caught:
        Net()(Tensor([1.0]))
    assert caught.value.code == "GC161"


def test_what_was_computed_before_the_clearing_is_not_checked() -> None:
    class Net(nn.Cell):
        def construct(self, x: Tensor) -> tuple[Tensor, Tensor]:
            early = x / 0.0
            cleared = ops.NPUClearFloatStatus()(F.depend(ops.NPUAllocFloatStatus()(), early))
            status = ops.NPUAllocFloatStatus()()
            late = F.depend(x, cleared) * 2
            return ops.NPUGetFloatStatus()(F.depend(status, (early, late))), late

    flags, late = Net()(Tensor([1.0, 2.0]))
    assert flags.asnumpy().tolist() == [0.0] * 8
    assert late.asnumpy().tolist() == [2.0, 4.0]
    flags, _ = Net()(Tensor([3e38, 2.0]))
    assert flags.asnumpy().tolist() == [1.0] * 8


def test_the_last_clearing_counts() -> None:
    class Net(nn.Cell):
        def construct(self, x: Tensor) -> tuple[Tensor, Tensor]:
            status = ops.NPUAllocFloatStatus()()
            big = F.depend(x, ops.NPUClearFloatStatus()(status)) * 3e38
            first = ops.NPUGetFloatStatus()(F.depend(status, big))
            small = F.depend(x, ops.NPUClearFloatStatus()(F.depend(status, first))) * 2
            return first, ops.NPUGetFloatStatus()(F.depend(F.depend(status, big), small))

    first, second = Net()(Tensor([3.0]))
    assert (first.asnumpy().max(), second.asnumpy().max()) == (1.0, 0.0)


@pytest.mark.parametrize(
    "make",
    [
        lambda n, o: nn.TrainOneStepCell(n, o),
        lambda n, o: nn.TrainOneStepWithLossScaleCell(n, o, Tensor(8.0)),
        lambda n, o: nn.MFTrainOneStepCell(n, o),
    ],
)
def test_a_list_of_rates_that_is_too_short(make: Any) -> None:
    """The step that has no rate raises, and leaves everything as it was."""
    net = network()
    step = make(net, nn.SGD(net.trainable_params(), [0.1, 0.2]))
    for _ in range(2):
        step(Tensor(X), Tensor(Y))
    before = [p.asnumpy() for p in (*step.weights, *step.optimizer.get_parameters())]
    with pytest.raises(RuntimeError, match="learning rate"):
        step(Tensor(X), Tensor(Y))
    assert all(map(np.array_equal, before, (p.asnumpy() for p in (*step.weights, *step.optimizer.get_parameters()))))


# ---- the forward runs once per step


class Counting(nn.Cell):
    """A network that counts its calls in a Parameter."""

    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Dense(4, 3, weight_init=Tensor(RNG.normal(size=(3, 4)).astype(np.float32)))
        self.count = Parameter(Tensor(0, "int32"), name="count", requires_grad=False)
        self.seen = Parameter(Tensor(np.zeros(3, np.float32)), name="seen", requires_grad=False)

    def construct(self, x: Tensor) -> Tensor:
        y = self.fc(x)
        ops.assign_add(self.count, 1)
        ops.assign(self.seen, y.mean(0))
        return y * 1.0 + ops.cast(self.count, ms.float32) * 0.0


@pytest.mark.parametrize("scale", [None, Tensor(16.0)])
@pytest.mark.parametrize("kind", [nn.TrainOneStepWithLossScaleCell, WithIf, StatusV2, nn.MFTrainOneStepCell])
def test_forward_effects_happen_once(kind: Any, scale: Any) -> None:
    """Once per step, and on a step whose update is skipped, too."""
    net = Counting()
    sense = nn.DynamicLossScaleUpdateCell(8.0, 2, 2) if scale is None else scale
    optimizer = nn.Momentum(net.trainable_params(), 0.1, 0.9)
    step = kind(nn.WithLossCell(net, nn.MSELoss()), optimizer, scale_sense=sense).set_train()
    for number, bad in enumerate([False, True, False], 1):
        x = np.where(np.arange(4) == 0, np.inf, X).astype(np.float32) if bad else X
        weight, bias = net.fc.weight.asnumpy(), net.fc.bias.asnumpy()
        step(Tensor(x), Tensor(Y))
        assert int(net.count) == number
        with np.errstate(invalid="ignore"):
            np.testing.assert_allclose(net.seen.asnumpy(), (x @ weight.T + bias).mean(0), rtol=1e-4, atol=1e-5)
        assert np.array_equal(net.fc.weight.asnumpy(), weight) == bad
    assert int(optimizer.global_step.asnumpy()[0]) == 2


def test_a_method_runs_once_for_value_and_gradient() -> None:
    class Net(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.count = Parameter(Tensor([0.0]), name="count", requires_grad=False)

        def square(self, x: Tensor) -> Tensor:
            ops.assign_add(self.count, 1.0)
            return x * x

    net = Net()
    value, gradient = nn.ForwardValueAndGrad(net.square)(Tensor([3.0]))
    assert (float(value), float(gradient), float(net.count)) == (9.0, 6.0, 1.0)
    graphc.value_and_grad(net.square)(Tensor([3.0]))
    assert float(net.count) == 2.0
