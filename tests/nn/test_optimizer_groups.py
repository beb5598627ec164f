"""Groups of parameters with rates and decays of their own, as recorded from MindSpore."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from graphc import Parameter, Tensor, nn, ops

DATA = Path(__file__).parents[1] / "data"

RECORDED = json.loads((DATA / "ms_learning_rates.json").read_text())

RNG = np.random.default_rng(8)

W, B = RNG.normal(size=(6, 21)).astype(np.float32), RNG.normal(size=5).astype(np.float32)


def make_params(names: tuple[str, str] = ("fc.weight", "fc.bias")) -> list[Parameter]:
    return [Parameter(Tensor(v), name=n) for v, n in zip((W, B), names, strict=True)]


class DecayOfStep(nn.Cell):
    """0.1 * (step + 1), as in tests/data/ms_learning_rates.py."""

    def construct(self, step: Tensor) -> Tensor:
        return 0.1 * (ops.cast(step, "float32") + 1.0)


def described(value: Any) -> Any:
    if value == "step":
        return DecayOfStep()
    if isinstance(value, dict):
        ((name, args),) = value.items()
        return getattr(nn, name)(*args)
    return value


@pytest.mark.parametrize("case", RECORDED["groups"], ids=lambda c: f"{c['name']}-{c['kwargs']}-{c['groups']}")
def test_groups_as_recorded(case: dict[str, Any]) -> None:
    start = {k: np.array(v, np.float32) for k, v in RECORDED["start"].items()}
    params = [Parameter(Tensor(v), name=k) for k, v in start.items()]
    given: Any = params
    if case["groups"] is not None:
        given = [
            {k: [params[i] for i in v] if k in ("params", "order_params") else described(v) for k, v in group.items()}
            for group in case["groups"]
        ]
    optimizer = getattr(nn, case["name"])(given, **{k: described(v) for k, v in case["kwargs"].items()})
    assert [p.name for p in optimizer.parameters] == case["order"]
    assert sorted({p.name for p in (*params, *optimizer.get_parameters())}) == case["state"]
    for step, rates in enumerate(case["rates"]):
        now = optimizer.get_lr()
        got = [float(r) for r in now] if isinstance(now, tuple) else float(now)
        np.testing.assert_allclose(got, rates, rtol=1e-5)
        grads = {
            "fc.weight": start["fc.weight"] * np.float32(0.1 * (step + 1)) + np.float32(0.05),
            "norm.beta": start["norm.beta"] * np.float32(step + 1) - np.float32(0.3),
        }
        optimizer(tuple(Tensor(grads[n]) for n in case["order"]))
    for p in params:
        np.testing.assert_allclose(p.asnumpy(), case["values"][p.name], rtol=2e-5, atol=2e-6, err_msg=p.name)


def test_what_groups_look_like() -> None:
    w, b = make_params()
    plain = nn.Momentum([{"params": [w], "weight_decay": 0.5}, {"params": [b]}], 0.25, 0.9, loss_scale=2.0)
    assert (plain.is_group, plain.is_group_lr, plain.dynamic_lr, plain.dynamic_weight_decay) == (
        True,
        False,
        False,
        False,
    )
    assert [float(d) for d in plain.get_weight_decay()] == [1.0, 0.0]
    assert plain.decay_flags == (True, False)
    assert float(plain.get_lr()) == 0.25

    w, b = make_params()
    fixed = nn.Momentum([{"params": [w]}, {"params": [b], "lr": 0.5}, {"order_params": [b, w]}], 0.25, 0.9)
    assert (fixed.is_group_lr, fixed.dynamic_lr, fixed.is_group_params_ordered) == (True, False, True)
    assert [p.name for p in fixed.parameters] == ["fc.bias", "fc.weight"]
    assert fixed.get_lr_parameter(b).name == "learning_rate_group_1"
    assert [float(r) for r in fixed.get_lr_parameter([w, b])] == [0.25, 0.5]
    # MindSpore's order: rates as they are first used, before the rest of the state.
    rates = ["global_step", "learning_rate_group_1", "learning_rate"]
    assert [p.name for p in fixed.get_parameters() if p.name not in ("fc.weight", "fc.bias")][:3] == rates

    w, b = make_params()
    schedule = nn.WarmUpLR(0.5, 2)
    moving = nn.Momentum([{"params": [w], "lr": schedule}, {"params": [b]}], 0.25, 0.9)
    assert (moving.is_group_lr, moving.dynamic_lr) == (True, True)
    assert moving.get_lr_parameter(w) is schedule
    assert moving.get_lr_parameter(b).name == "learning_rate"
    assert [float(r) for r in moving.get_lr()] == [0.0, 0.25]
    assert moving.learning_rate[-1](moving.global_step).asnumpy() == 0.25


def test_grad_centralization_subtracts_the_mean_of_each_row() -> None:
    params = [
        Parameter(Tensor(np.zeros(shape, np.float32)), name=f"p{i}")
        for i, shape in enumerate([(3, 16, 2), (3, 8), (16,)])
    ]
    optimizer = nn.SGD([{"params": params, "grad_centralization": True}], 1.0)
    grads = [RNG.normal(size=p.shape).astype(np.float32) for p in params]
    optimizer(tuple(map(Tensor, grads)))
    np.testing.assert_allclose(
        params[0].asnumpy(), grads[0].mean((1, 2), keepdims=True) - grads[0], rtol=1e-5, atol=1e-6
    )
    np.testing.assert_allclose(params[1].asnumpy(), -grads[1])
    np.testing.assert_allclose(params[2].asnumpy(), -grads[2])


def test_groups_decay_whatever_their_names() -> None:
    params = [Parameter(Tensor([2.0]), name=n) for n in ("norm.beta", "norm.gamma")]
    nn.SGD([{"params": params[:1], "weight_decay": 0.25}, {"params": params[1:]}], 0.5)((Tensor([0.0]), Tensor([0.0])))
    assert [float(p) for p in params] == [1.75, 2.0]


def test_a_decay_that_changes_trains_in_a_cell() -> None:
    class Net(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.w = Parameter(Tensor([1.0]), name="w")

        def construct(self, x: Tensor) -> Tensor:
            return ops.reduce_sum(self.w * x)

    net = Net()
    cell = nn.TrainOneStepCell(net, nn.Momentum(net.trainable_params(), 0.5, 0.0, weight_decay=DecayOfStep()))
    w = 1.0
    for t in range(4):
        cell(Tensor([0.25]))
        w -= 0.5 * (0.25 + 0.1 * (t + 1) * w)
        assert float(net.w) == pytest.approx(w, rel=1e-5)
