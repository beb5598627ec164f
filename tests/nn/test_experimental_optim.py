"""Optimizers of groups and their schedulers against MindSpore's recorded numbers (tests/data/ms_experimental.py)."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import graphc
from graphc import Parameter, Tensor, nn, ops
from graphc.errors import ArgumentTypeError, ArgumentValueError, ShapeError, TraceError
from graphc.experimental import optim
from graphc.experimental.optim import lr_scheduler
from graphc.mint import optim as mint_optim
from tests.data.ms_experimental import GRADIENTS, OPTIMIZERS, SCHEDULED, WEIGHTS, rates, trained

RECORDED = json.loads((Path(__file__).parents[1] / "data" / "ms_experimental.json").read_text())


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_weights_are_mindspores(name):
    np.testing.assert_allclose(trained(graphc, optim, name), RECORDED["optimizers"][name], rtol=3e-5, atol=3e-6)


@pytest.mark.parametrize("name", SCHEDULED)
def test_rates_are_mindspores(name):
    found = rates(graphc, optim, lr_scheduler, name)
    np.testing.assert_allclose(found, RECORDED["schedulers"][name], rtol=1e-5, atol=1e-9)


def weights():
    return [Parameter(Tensor(w), name=f"w{k}") for k, w in enumerate(WEIGHTS)]


def test_adam_with_amsgrad_never_forgets_the_largest_square():
    """MindSpore leaves it out here: NumPy in float64."""
    (w, *_), rate, (b1, b2) = weights(), 0.01, (0.7, 0.8)
    optimizer = optim.Adam([w], rate, (b1, b2), amsgrad=True)
    m = v = top = np.zeros(w.shape)
    expected = w.asnumpy().astype(np.float64)
    for t, (g, _) in enumerate(GRADIENTS, 1):
        optimizer((Tensor(g),))
        m, v = b1 * m + (1 - b1) * g, b2 * v + (1 - b2) * np.square(g, dtype=np.float64)
        top = np.maximum(top, v)
        expected -= rate * np.sqrt(1 - b2**t) / (1 - b1**t) * m / (np.sqrt(top) + 1e-8)
    np.testing.assert_allclose(w.asnumpy(), expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("kind", ["Adam", "AdamW", "FusedAdamW"])
@pytest.mark.parametrize("amsgrad", [False, True])
def test_mints_adam_is_torchs(kind, amsgrad):
    """torch's documentation has the formula; NumPy in float64."""
    (w, *_), rate, (b1, b2), decay, eps = weights(), 0.01, (0.7, 0.8), 0.1, 1e-2
    optimizer = getattr(mint_optim, kind)([w], rate, (b1, b2), eps, decay, amsgrad, maximize=True)
    m = v = top = np.zeros(w.shape)
    expected = w.asnumpy().astype(np.float64)
    for t, (given, _) in enumerate(GRADIENTS, 1):
        optimizer((Tensor(given),))
        g = -given.astype(np.float64) + (decay * expected if kind == "Adam" else 0)
        expected *= 1 if kind == "Adam" else 1 - rate * decay
        m, v = b1 * m + (1 - b1) * g, b2 * v + (1 - b2) * g * g
        top = np.maximum(top, v)
        root = np.sqrt(top if amsgrad else v) / np.sqrt(1 - b2**t)
        expected -= rate / (1 - b1**t) * m / (root + eps)
    np.testing.assert_allclose(w.asnumpy(), expected, rtol=1e-5, atol=1e-6)


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.fc = nn.Dense(4, 2)

    def construct(self, x):
        return ops.reduce_mean(ops.square(self.fc(x)))


class Step(nn.Cell):
    def __init__(self, net, optimizer):
        super().__init__()
        self.net, self.optimizer = net, optimizer
        self.grad = ops.value_and_grad(net, None, optimizer.parameters)

    def construct(self, x):
        loss, grads = self.grad(x)
        return ops.depend(loss, self.optimizer(grads))


def test_a_compiled_step_reads_the_rate_that_a_scheduler_writes():
    graphc.set_seed(0)
    net = Net()
    optimizer = optim.SGD(net.trainable_params(), 0.5)
    scheduler = lr_scheduler.ExponentialLR(optimizer, 0.5)
    x = Tensor(np.ones((3, 4), np.float32))
    step = graphc.compile(Step(net, optimizer), x)
    moves = []
    for _ in range(3):
        before = net.fc.bias.asnumpy().copy()
        gradient = ops.grad(net, None, net.fc.bias)(x).asnumpy()
        step(x)
        moves.append((before - net.fc.bias.asnumpy()) / gradient)
        scheduler.step()
    np.testing.assert_allclose(moves, [[0.5] * 2, [0.25] * 2, [0.125] * 2], rtol=1e-4)


def test_what_a_scheduler_returns_is_mindspores():
    optimizer = optim.SGD(weights()[:1], 0.5)
    assert lr_scheduler.StepLR(optimizer, 2).step() is True
    assert lr_scheduler.CosineAnnealingWarmRestarts(optimizer, 2).step(0.5) is None


def test_a_number_in_place_of_the_rate_counts_from_the_next_step_on():
    w, _ = weights()
    optimizer = optim.SGD([w], 0.5)
    gradient = Tensor(np.ones(w.shape, np.float32))
    moves = []
    for rate in (None, 0.25, Tensor(0.125)):
        if rate is not None:
            optimizer.param_groups[0]["lr"] = rate
        before = w.asnumpy().copy()
        optimizer((gradient,))
        moves.append(float((before - w.asnumpy()).mean()))
    np.testing.assert_allclose(moves, [0.5, 0.25, 0.125], rtol=1e-5)
    optimizer.param_groups[0]["lr"] = 0.75
    scheduler = lr_scheduler.ConstantLR(optimizer, 0.5)
    assert [float(r.asnumpy()) for r in scheduler.get_last_lr()] == [0.375]


def test_a_group_that_is_added_later_has_state_of_its_own():
    first, second = weights()
    optimizer = optim.AdamW([first], 0.01, amsgrad=True)
    optimizer((Tensor(GRADIENTS[0][0]),))
    optimizer.add_param_group({"params": second, "lr": 0.1, "weight_decay": 0.0})
    assert [p.name for p in optimizer.exp_avg] == ["exp_avg.w0", "exp_avg.w1"]
    assert optimizer.group_start_id == [0, 1, 2]
    before = second.asnumpy().copy()
    optimizer(tuple(map(Tensor, GRADIENTS[1])))
    m, v, g = 0.1 * GRADIENTS[1][1], 0.001 * np.square(GRADIENTS[1][1]), GRADIENTS[1][1]
    expected = before - 0.1 / (1 - 0.9**2) * m / (np.sqrt(v) / np.sqrt(1 - 0.999**2) + 1e-8)
    np.testing.assert_allclose(second.asnumpy()[g != 0], expected[g != 0], rtol=1e-4)


def test_ones_own_optimizer_and_scheduler():
    class Climbing(optim.Optimizer):
        def __init__(self, params, lr):
            super().__init__(params, {"lr": lr})

        def construct(self, gradients):
            for k, group in enumerate(self.param_groups):
                for i, p in enumerate(group["params"]):
                    ops.assign(p, p + gradients[self.group_start_id[k] + i] * group["lr"])
            return True

    class Halving(lr_scheduler.LRScheduler):
        def get_lr(self):
            return [rate * 0.5 for rate in self._last_lr]

    first, second = weights()
    optimizer = Climbing([{"params": [first]}, {"params": [second], "lr": 0.2}], 0.1)
    scheduler = Halving(optimizer)
    optimizer(tuple(map(Tensor, GRADIENTS[0])))
    for p, start, g, rate in zip((first, second), WEIGHTS, GRADIENTS[0], (0.05, 0.1), strict=True):
        np.testing.assert_allclose(p.asnumpy(), start + rate * g, rtol=1e-6)
    assert float(scheduler.last_epoch.asnumpy()) == 0
    assert "Parameter Group 1" in str(optimizer)
    assert "lr: 0.1" in str(optimizer)


def test_names_of_state_and_what_a_checkpoint_holds():
    optimizer = optim.ASGD(weights())
    names = ["ax.w0", "ax.w1", "eta_w0", "eta_w1", "learning_rate_group_0", "mu_w0", "mu_w1", "step_t"]
    assert sorted(p.name for p in optimizer.get_parameters()) == names


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda w: optim.SGD([], 0.1), ArgumentValueError, "params is empty"),
        (lambda w: optim.SGD(set(w), 0.1), ArgumentTypeError, "is a set"),
        (lambda w: optim.SGD([w[0], w[0]], 0.1), ArgumentValueError, "more than once"),
        (lambda w: optim.SGD([1], 0.1), ArgumentTypeError, "must be Parameters"),
        (lambda w: optim.SGD(w, -0.1), ArgumentValueError, "lr must be"),
        (lambda w: optim.SGD(w, "x"), ArgumentTypeError, "lr must be a number"),
        (lambda w: optim.SGD(w, Tensor([0.1, 0.2])), ArgumentValueError, "without axes"),
        (lambda w: optim.SGD(w, 0.1, nesterov=True), ArgumentValueError, "with nesterov=True"),
        (lambda w: optim.SGD([{"params": w, "beta": 1}], 0.1), ArgumentValueError, "'beta', which is no option"),
        (lambda w: optim.SGD([{"lr": 0.1}], 0.1), ArgumentValueError, "a group has no params"),
        (lambda w: optim.Adam(w, betas=(0.9, 1.0)), ArgumentValueError, r"betas\[1\] must be below 1"),
        (
            lambda w: optim.Adam([Parameter(Tensor(1j), name="z")]),
            ArgumentTypeError,
            "updates are those of real numbers",
        ),
        (lambda w: optim.SGD([Parameter(1, name="n")], 0.1), ArgumentTypeError, "only float parameters have gradients"),
        (lambda w: optim.Adam(w, weight_decay=-1.0), ArgumentValueError, "weight_decay must be"),
        (lambda w: optim.Rprop(w, etas=(1.5, 1.2)), ArgumentValueError, "below 1 and above 1"),
        (lambda w: optim.Rprop([{"params": w, "weight_decay": 1.0}]), ArgumentValueError, "only signs"),
        (lambda w: optim.ASGD(w, t0=1), ArgumentTypeError, "t0 must be a float"),
        (lambda w: lr_scheduler.StepLR(nn.SGD(w), 3), ArgumentTypeError, "an optimizer of graphc.experimental.optim"),
        (lambda w: lr_scheduler.StepLR(optim.SGD(w, 0.1), 3, last_epoch=2), ArgumentValueError, "no 'initial_lr'"),
        (lambda w: lr_scheduler.LambdaLR(optim.SGD(w, 0.1), [1, 2]), ArgumentValueError, "each of 1 groups"),
        (lambda w: lr_scheduler.ReduceLROnPlateau(optim.SGD(w, 0.1), factor=1.0), ArgumentValueError, "below 1"),
        (lambda w: lr_scheduler.SequentialLR(optim.SGD(w, 0.1), [], [1]), ArgumentValueError, "milestones"),
    ],
)
def test_bad_arguments(make, error, message):
    with pytest.raises(error, match=message):
        make(weights())


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"momentum": 0.9, "nesterov": True, "weight_decay": 0.1},
        {"momentum": 0.9, "dampening": 0.3, "maximize": True},
    ],
)
def test_sgd_of_complex_parameters_is_that_of_their_parts(options):
    z = np.array([1 + 2j, 3 - 1j], np.complex64)
    gradients = (np.array([1 + 1j, 2 - 4j], np.complex64), np.array([-3 + 1j, 0.5j], np.complex64))

    def trained(*parts):
        held = [Parameter(Tensor(part(z).copy()), name=f"w{k}") for k, part in enumerate(parts)]
        optimizer = mint_optim.SGD(held, 0.1, **options)
        for g in gradients:
            optimizer(tuple(Tensor(part(g).copy()) for part in parts))
        return [p.asnumpy() for p in held]

    (made,), (real, imaginary) = trained(np.asarray), trained(np.real, np.imag)
    np.testing.assert_allclose(made, real + 1j * imaginary, rtol=1e-6)


@pytest.mark.parametrize(
    "options", [{}, {"momentum": 0.9, "nesterov": True}, {"momentum": 0.9, "dampening": 0.3, "weight_decay": 0.1}]
)
def test_mints_sgd_has_state_of_its_own_names_and_the_same_steps(options):
    kinds = [kind(weights(), 0.1, **options) for kind in (optim.SGD, mint_optim.SGD)]
    for gradients in GRADIENTS:
        for optimizer in kinds:
            optimizer(tuple(map(Tensor, gradients)))
    for one, other in zip(*(o.parameters for o in kinds), strict=True):
        np.testing.assert_allclose(one.asnumpy(), other.asnumpy(), rtol=1e-6)
    state = {p.name: p for p in kinds[1].get_parameters()}
    assert set(state) == {"learning_rate_group_0", "step_t", "momentum_buf.w0", "momentum_buf.w1"}
    assert int(state["step_t"].asnumpy()) == len(GRADIENTS)


def test_gradients_that_do_not_fit_change_nothing():
    optimizer = optim.Adam(weights())
    with pytest.raises(ArgumentValueError, match="1 gradients for 2"):
        optimizer((Tensor(GRADIENTS[0][0]),))
    with pytest.raises(ShapeError, match="the gradient of w0"):
        optimizer(tuple(map(Tensor, GRADIENTS[0][::-1])))
    assert int(optimizer.state_step.asnumpy()) == 0


def test_a_scheduler_steps_between_steps_only():
    optimizer = optim.SGD(weights(), 0.1)
    scheduler = lr_scheduler.StepLR(optimizer, 1)

    class Both(nn.Cell):
        def construct(self, x):
            scheduler.step()
            return x

    with pytest.raises(TraceError, match="inside a step that is compiled"):
        Both()(Tensor([1.0]))


class Keeping(optim.Optimizer):
    """SGD with momentum, in `state`: from the start, or from the first step on."""

    def __init__(self, params, early):
        super().__init__(params, {"lr": 0.1})
        for p in self.parameters if early else ():
            self.state[p]["moment"] = Parameter(ops.zeros_like(p), name=f"moment.{p.name}")

    def construct(self, gradients):
        for p, g in zip(self.parameters, gradients, strict=True):
            held = self.state[p]
            if "moment" not in held:
                held["moment"] = ops.zeros_like(g)
            if isinstance(held["moment"], Parameter):
                ops.assign(held["moment"], held["moment"] * 0.9 + g)
            else:
                held["moment"] = held["moment"] * 0.9 + g
            ops.assign(p, p - 0.1 * held["moment"])
        return True


@pytest.mark.parametrize(
    ("mode", "early"),
    [(mode, early) for mode in (graphc.PYNATIVE_MODE, graphc.GRAPH_MODE) for early in (False, True)],
)
def test_an_optimizer_of_ones_own_keeps_what_it_likes_in_its_state(mode, early):
    before = graphc.get_context("mode")
    graphc.set_context(mode=mode)
    try:
        own, wanted = Keeping(weights(), early), optim.SGD(weights(), 0.1, momentum=0.9)
        for gradients in GRADIENTS:
            for optimizer in (own, wanted):
                optimizer(tuple(map(Tensor, gradients)))
        for one, other in zip(own.parameters, wanted.parameters, strict=True):
            np.testing.assert_allclose(one.asnumpy(), other.asnumpy(), rtol=1e-6)
    finally:
        graphc.set_context(mode=before)
