"""Wrappers written for MindSpore, as MindFormers has them, against graphc's own cells."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import numpy as np
import pytest

import graphc
from graphc import Tensor, compat, nn

RNG = np.random.default_rng(4)
X, Y = RNG.normal(size=(8, 4)).astype(np.float32), RNG.normal(size=(8, 3)).astype(np.float32)
W, B = RNG.normal(size=(3, 4)).astype(np.float32), RNG.normal(size=3).astype(np.float32)
BAD = X.copy()
BAD[0, 0] = np.inf


@pytest.fixture(scope="module")
def wrapper():
    compat.install()
    sys.path.insert(0, str(Path(__file__).parent))
    yield importlib.import_module("wrapper_like_mindformers")
    sys.path.pop(0)
    del sys.modules["wrapper_like_mindformers"]
    compat.uninstall()


@pytest.fixture
def automatic():
    graphc.set_auto_parallel_context(parallel_mode="semi_auto_parallel")
    yield
    graphc.reset_auto_parallel_context()


class Net(nn.Cell):
    """Squared errors: their mean, or with `parts` their sum and number."""

    def __init__(self, parts=False):
        super().__init__()
        self.fc = nn.Dense(4, 3, weight_init=Tensor(W), bias_init=Tensor(B))
        self.parts = parts

    def construct(self, x, y):
        errors = (self.fc(x) - y) ** 2
        return (errors.sum(), graphc.ops.ones_like(y).sum()) if self.parts else errors.mean()


def groups(net, lr=None, decay=0.1):
    first = {"params": [net.fc.weight], "weight_decay": decay}
    return [first if lr is None else {**first, "lr": lr}, {"params": [net.fc.bias]}]


def dynamic():
    return nn.DynamicLossScaleUpdateCell(64.0, 2, 2)


OPTIMIZERS = {
    "numbers": ({"learning_rate": 0.1, "weight_decay": 0.05}, None),
    "list": ({"learning_rate": [0.1, 0.2, 0.3, 0.4, 0.5]}, None),
    "schedule": ({"learning_rate": nn.CosineDecayLR(0.01, 0.1, 4)}, None),
    "groups": ({"learning_rate": 0.1}, lambda net: groups(net)),
    "rates of groups": ({"learning_rate": 0.1}, lambda net: groups(net, 0.02)),
    "schedules of groups": ({"learning_rate": 0.1}, lambda net: groups(net, nn.CosineDecayLR(0.01, 0.1, 4))),
}


@pytest.mark.parametrize("mode", [graphc.GRAPH_MODE, graphc.PYNATIVE_MODE], ids=["graph", "pynative"])
@pytest.mark.parametrize("scale", [lambda: 8.0, lambda: 8, lambda: Tensor([8.0]), dynamic])
@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_step_and_optimizer(wrapper, optimizer, scale, mode):
    options, parameters = OPTIMIZERS[optimizer]
    graphc.set_context(mode=mode)
    nets, steps = [], []
    for cell, kind, clip in (
        (wrapper.Step, wrapper.Moments, {"limit": 0.5}),
        (nn.MFTrainOneStepCell, nn.AdamW, {"use_clip_grad": True, "max_grad_norm": 0.5, "local_norm": True}),
    ):
        net = Net()
        chosen = net.trainable_params() if parameters is None else parameters(net)
        nets.append(net)
        steps.append(cell(net, kind(chosen, **options), scale_sense=scale(), **clip).set_train())
    weights: list[np.ndarray] = []
    try:
        for x in (X, BAD, X, X):
            theirs, ours = (s(Tensor(x), Tensor(Y)) for s in steps)
            for a, b in zip(flat(theirs[:6]), flat(ours[:6]), strict=True):
                assert (a.dtype, a.shape) == (b.dtype, b.shape)
                np.testing.assert_allclose(a.asnumpy(), b.asnumpy(), rtol=2e-5, atol=2e-6)
            last, weights = weights, [p.asnumpy() for p in nets[0].get_parameters()]
            if x is BAD:
                assert bool(theirs[1])
                assert all(np.array_equal(p, q) for p, q in zip(last, weights, strict=True))
    finally:
        graphc.set_context(mode=graphc.GRAPH_MODE)
    for p, q in zip(nets[0].get_parameters(), nets[1].get_parameters(), strict=True):
        np.testing.assert_allclose(p.asnumpy(), q.asnumpy(), rtol=2e-5, atol=2e-6)
    # As in MindSpore the copy of the rate has the name of the optimizer's, so that the first call names all by their paths.
    names = {p.name.removeprefix("optimizer.") for p in steps[0].get_parameters()}
    assert {"adam_m.fc.weight", "adam_v.fc.bias", "scale_sense", "global_step"} <= names


def flat(results):
    return [x for r in results if r is not None for x in (r if isinstance(r, tuple) else (r,))]


def test_arguments_of_an_optimizer_are_kept(wrapper):
    net = Net()
    optimizer = wrapper.Moments(net.trainable_params(), Tensor([0.1, 0.2]), eps=1e-6)
    assert optimizer.init_args == {"betas": (0.9, 0.999), "eps": 1e-6, "weight_decay": 0.0}
    assert optimizer.init_params["params"] == net.trainable_params()
    assert optimizer.init_learning_rate == pytest.approx([0.1, 0.2])
    assert wrapper.Moments(net.trainable_params(), nn.CosineDecayLR(0.1, 0.2, 4)).init_learning_rate is None
    assert [p.name for p in net.fc.weight.param_info.cloned_obj[:2]] == ["adam_m.fc.weight", "adam_v.fc.weight"]


def test_a_subclass_that_goes_past_its_base(wrapper):
    nets = [Net(), Net()]
    optimizers = wrapper.WideAdam(nets[0].trainable_params(), 0.1), nn.AdamWeightDecay(nets[1].trainable_params(), 0.1)
    for _ in range(3):
        for optimizer in optimizers:
            optimizer((Tensor(W), Tensor(B)))
    for p, q in zip(nets[0].get_parameters(), nets[1].get_parameters(), strict=True):
        np.testing.assert_allclose(p.asnumpy(), q.asnumpy(), rtol=1e-6)


@pytest.mark.usefixtures("automatic")
@pytest.mark.parametrize("count", [1, 2, 4])
def test_accumulators(wrapper, count):
    nets = [Net(True), Net()]
    added = wrapper.AddedStep(
        wrapper.Parts(nets[0], count), nn.Momentum(nets[0].trainable_params(), 0.1, 0.9), dynamic()
    )
    plain = nn.MFTrainOneStepCell(nets[1], nn.Momentum(nets[1].trainable_params(), 0.1, 0.9), scale_sense=dynamic())
    assert added.network.get_flags() == {"defer_inline": True}
    for x in (X, BAD, X, X):
        got, want = (s.set_train()(Tensor(x), Tensor(Y)) for s in (added, plain))
        assert (bool(got[1]), float(got[2])) == (bool(want[1]), float(want[2])) == (x is BAD, float(want[2]))
        if x is X:
            np.testing.assert_allclose(got[0].asnumpy(), want[0].asnumpy(), rtol=1e-5)
        assert not any(p.asnumpy().any() for p in added.totals)
    for p, q in zip(nets[0].get_parameters(), nets[1].get_parameters(), strict=True):
        np.testing.assert_allclose(p.asnumpy(), q.asnumpy(), rtol=1e-5, atol=1e-6)


def test_accumulators_belong_to_automatic_modes(wrapper):
    net = Net(True)
    with pytest.raises(ValueError, match="not in mode stand_alone"):
        wrapper.AddedStep(net, nn.SGD(net.trainable_params(), 0.1), dynamic())


@pytest.mark.filterwarnings("ignore::graphc.RecompileWarning")  # Python numbers are constants.
@pytest.mark.parametrize("step", [lambda i: i, lambda i: Tensor(i, "int32"), lambda i: Tensor([i], "int32")])
def test_a_schedule_with_several_ways_out(wrapper, step):
    schedule = wrapper.Schedule(0.1, 3, 6)
    rates = [float(np.reshape(schedule(step(i)), ())) for i in range(9)]
    np.testing.assert_allclose(rates, [0, 0.1 / 3, 0.2 / 3, 0.1, 0.1, 0.1, 0.1, 0.025, 0.025], rtol=1e-6)
    with pytest.raises(TypeError, match="warmup must be int"):
        wrapper.Schedule(0.1, 3.0, 6)


def test_scatter(wrapper):
    made = wrapper.scattered(
        Tensor(np.zeros((2, 3), np.float32)), Tensor([[0, 2], [1, 0]]), Tensor([[1.0, 2.0], [3.0, 4.0]])
    )
    for x in made:
        np.testing.assert_array_equal(x.asnumpy(), [[1, 0, 2], [4, 3, 0]])


def test_functions_of_gradients_that_wrappers_map(wrapper):
    """`_grad_scale` and `_grad_overflow` of mindspore.nn.wrap.loss_scale, as steps of one's own take them."""
    module = importlib.import_module("mindspore.nn.wrap.loss_scale")

    class Step(nn.TrainOneStepWithLossScaleCell):
        def construct(self, x, y):
            loss = self.network(x, y)
            grads = self.grad(self.network, self.weights)(x, y, graphc.ops.ones_like(loss) * self.scale_sense)
            grads = self.hyper_map(graphc.ops.partial(module._grad_scale, self.scale_sense), grads)
            flags = self.hyper_map(graphc.ops.partial(module._grad_overflow), grads)
            return graphc.ops.depend(loss, self.optimizer(grads)), graphc.ops.addn(flags)

    def steps(cell, scale):
        net = Net()
        step = cell(net, nn.Momentum(net.trainable_params(), 0.1, 0.9), *scale).set_train()
        results = [step(X, Y) for _ in range(3)]
        return net.fc.weight.asnumpy(), results

    plain, _ = steps(nn.TrainOneStepCell, ())
    scaled, results = steps(Step, (Tensor([128.0]),))
    np.testing.assert_allclose(scaled, plain, rtol=1e-5)
    assert [float(flag) for _, flag in results] == [0, 0, 0]
    net = Net()
    _, flag = Step(net, nn.Momentum(net.trainable_params(), 0.1, 0.9), Tensor([128.0])).set_train()(BAD, Y)
    assert float(flag) > 0
