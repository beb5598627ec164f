"""Optimizers against float64 formulas and against what MindSpore computed; their state and their errors."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graphc
from graphc import Parameter, Tensor, nn, ops

pytestmark = pytest.mark.usefixtures("eager")
DATA = Path(__file__).parents[1] / "data"
RECORDED = json.loads((DATA / "ms_optimizers.json").read_text())
Array = np.ndarray[Any, np.dtype[Any]]
RNG = np.random.default_rng(5)
W, B = RNG.normal(size=(3, 4)).astype(np.float32), RNG.normal(size=4).astype(np.float32)
GRADS = [(RNG.normal(size=(3, 4)).astype(np.float32), RNG.normal(size=4).astype(np.float32)) for _ in range(7)]


def make_params() -> list[Parameter]:
    return [Parameter(Tensor(W), name="fc.weight"), Parameter(Tensor(B), name="fc.bias")]


# ---- against formulas: each takes (w, gradients) and yields w after each step, in float64


def sgd(
    w: Array, gs: list[Array], lr: float = 0.1, m: float = 0.0, damp: float = 0.0, nesterov: bool = False
) -> Iterator[Array]:
    v: Array | None = None
    for g in gs:
        if m:
            v = g if v is None else m * v + (1 - damp) * g
        step = g if v is None else g + m * v if nesterov else v
        w = w - lr * step
        yield w


def momentum(w: Array, gs: list[Array], lr: float, m: float, nesterov: bool = False) -> Iterator[Array]:
    v = np.zeros_like(w)
    for g in gs:
        v = m * v + g
        w = w - lr * (g + m * v if nesterov else v)
        yield w


def adam(
    w: Array,
    gs: list[Array],
    lr: float = 1e-3,
    b1: float = 0.9,
    b2: float = 0.999,
    eps: float = 1e-8,
    nesterov: bool = False,
    amsgrad: bool = False,
) -> Iterator[Array]:
    m, v, top = np.zeros_like(w), np.zeros_like(w), np.zeros_like(w)
    for t, g in enumerate(gs, 1):
        m, v = b1 * m + (1 - b1) * g, b2 * v + (1 - b2) * g * g
        top = np.maximum(top, v)
        rate = lr * np.sqrt(1 - b2**t) / (1 - b1**t)
        step = b1 * m + (1 - b1) * g if nesterov else m
        w = w - rate * step / (np.sqrt(top if amsgrad else v) + eps)
        yield w


CASES: list[tuple[Callable[..., Any], Callable[..., Iterator[Array]]]] = [
    (lambda p: nn.SGD(p), lambda w, g: sgd(w, g)),
    (lambda p: nn.SGD(p, 0.05, momentum=0.9), lambda w, g: sgd(w, g, 0.05, 0.9)),
    (lambda p: nn.SGD(p, 0.1, 0.8, dampening=0.25), lambda w, g: sgd(w, g, 0.1, 0.8, 0.25)),
    (lambda p: nn.SGD(p, 0.1, 0.8, nesterov=True), lambda w, g: sgd(w, g, 0.1, 0.8, nesterov=True)),
    (lambda p: nn.Momentum(p, 0.1, 0.9), lambda w, g: momentum(w, g, 0.1, 0.9)),
    (lambda p: nn.Momentum(p, 0.1, 0.9, use_nesterov=True), lambda w, g: momentum(w, g, 0.1, 0.9, True)),
    (lambda p: nn.Adam(p), lambda w, g: adam(w, g)),
    (lambda p: nn.Adam(p, 0.1, 0.8, 0.95, 1e-3), lambda w, g: adam(w, g, 0.1, 0.8, 0.95, 1e-3)),
    (lambda p: nn.Adam(p, 0.1, use_nesterov=True), lambda w, g: adam(w, g, 0.1, nesterov=True)),
    (lambda p: nn.Adam(p, 0.1, use_amsgrad=True), lambda w, g: adam(w, g, 0.1, amsgrad=True)),
]


@pytest.mark.parametrize(("make", "formula"), CASES)
def test_formula(make: Callable[..., nn.Optimizer], formula: Callable[..., Iterator[Array]]) -> None:
    params = make_params()
    optimizer = make(params)
    wanted = [
        formula(p.asnumpy().astype(np.float64), [g[i].astype(np.float64) for g in GRADS]) for i, p in enumerate(params)
    ]
    for step, grads in enumerate(GRADS, 1):
        done = optimizer(tuple(map(Tensor, grads)))
        assert [bool(d) for d in done] == [True, True]
        assert optimizer.global_step.asnumpy().tolist() == [step]
        for p, w in zip(params, wanted, strict=True):
            np.testing.assert_allclose(p.asnumpy(), next(w), rtol=2e-5, atol=2e-6)


def recorded_gradients(step: int) -> list[Array]:
    """As in tests/data/ms_optimizers.py."""
    w, b = (np.array(v, np.float32) for v in RECORDED["start"].values())
    return [w * np.float32(0.1 * (step + 1)) + np.float32(0.05), b * np.float32(step + 1) - np.float32(0.3)]


@pytest.mark.parametrize("case", RECORDED["cases"], ids=lambda c: f"{c['name']}-{c['kwargs']}")
def test_same_as_recorded_from_mindspore(case: dict[str, Any]) -> None:
    params = [Parameter(Tensor(np.array(v, np.float32)), name=k) for k, v in RECORDED["start"].items()]
    kwargs = {k: tuple(v) if k in ("etas", "step_sizes") else v for k, v in case["kwargs"].items()}
    optimizer = getattr(nn, case["name"])(params, **kwargs)
    for step in range(RECORDED["steps"]):
        optimizer(tuple(map(Tensor, recorded_gradients(step))))
    state = {p.name: p for p in [*params, *optimizer.get_parameters()]}
    assert set(state) == set(case["state"])
    for name, wanted in case["state"].items():
        got = state[name].asnumpy()
        assert got.dtype.name == wanted["dtype"], name
        assert got.shape == np.shape(wanted["value"]), name
        np.testing.assert_allclose(got, wanted["value"], rtol=2e-5, atol=2e-6, err_msg=name)


# ---- weight decay and loss scale


def test_weight_decay_spares_beta_and_gamma() -> None:
    names = ("fc.weight", "fc.bias", "norm.gamma", "norm.beta")
    params = [Parameter(Tensor([2.0]), name=n) for n in names]
    optimizer = nn.SGD(params, 0.5, weight_decay=0.25)
    optimizer(tuple(Tensor([0.0]) for _ in names))
    assert [float(p) for p in params] == [1.75, 1.75, 2.0, 2.0]
    assert float(optimizer.get_weight_decay()) == 0.25


def test_loss_scale_divides_the_gradient_only() -> None:
    (p,) = params = [Parameter(Tensor([2.0]), name="w")]
    nn.Momentum(params, 0.5, 0.0, weight_decay=0.25, loss_scale=8.0)((Tensor([16.0]),))
    assert float(p) == 2.0 - 0.5 * (16 / 8 + 0.25 * 2)


def test_parameters_keep_their_dtype() -> None:
    params = [Parameter(Tensor(W.astype(t)), name=t) for t in ("float16", "float64")]
    optimizer = nn.Adam(params, 0.1)
    optimizer((Tensor(GRADS[0][0]), Tensor(GRADS[0][0].astype(np.float64))))
    assert [p.tensor_type.dtype for p in (*params, *optimizer.moment1)] == ["float16", "float64"] * 2
    assert np.abs(params[0].asnumpy() - W).max() == pytest.approx(0.1, rel=0.02)


# ---- state


def test_state_names_and_types() -> None:
    def state(optimizer: nn.Optimizer) -> dict[str, str]:
        assert not any(p.requires_grad for p in optimizer.get_parameters())
        return {p.name: str(p.tensor_type) for p in optimizer.get_parameters()}

    common = {"learning_rate": "f32[]", "global_step": "i32[1]"}
    both = {"fc.weight": "f32[3,4]", "fc.bias": "f32[4]"}

    def like(*prefixes: str) -> dict[str, str]:
        return {f"{prefix}.{n}": t for prefix in prefixes for n, t in both.items()}

    params = make_params()
    assert state(nn.SGD(params)) == {**common, "momentum": "f32[]", **like("accum", "stat")}
    assert state(nn.Momentum(params, 0.1, 0.9)) == {**common, "momentum": "f32[]", **like("moments")}
    powers = {"beta1_power": "f32[]", "beta2_power": "f32[]"}
    assert state(nn.Adam(params)) == {**common, **powers, **like("moment1", "moment2")}
    assert set(like("vhat")) < set(state(nn.Adam(params, use_amsgrad=True)))


class Held(nn.Cell):
    """Two optimizers of a cell that names its children, and what they train."""

    def __init__(self, make: Callable[[Any], nn.Cell]) -> None:
        super().__init__()
        self.net, self.other = nn.Dense(3, 2), nn.Dense(3, 2)
        self.opt, self.second = make(self.net.trainable_params()), make(self.other.trainable_params())


def test_state_is_named_by_the_attribute_that_holds_the_optimizer() -> None:
    own = ("global_step", "learning_rate", "momentum", "moments.net.weight", "moments.net.bias")
    names = [p.name for p in Held(lambda p: nn.Momentum(p, 0.1, 0.9)).get_parameters()]
    # As recorded from MindSpore 2.10, but for "opt." before the names of what is trained.
    assert names[:4] == ["net.weight", "net.bias", "other.weight", "other.bias"]
    assert names[4:] == [f"opt.{n}" for n in own] + [f"second.{n.replace('net', 'other')}" for n in own]
    recent = Held(lambda p: graphc.experimental.optim.Adam(p, 0.1))
    assert {"opt.exp_avg.net.weight", "second.exp_avg.other.weight"} < {p.name for p in recent.get_parameters()}
    recent.second.add_param_group({"params": [Parameter(np.zeros(3, np.float32), name="late")]})
    added = {"second.exp_avg.late", "second.exp_avg.other.weight", "second.learning_rate_group_1"}
    assert added < {p.name for p in recent.get_parameters()}
    outer = nn.CellList([recent])
    assert {f"0.{name}" for name in added} < {p.name for p in outer.get_parameters()}


def test_the_learning_rate_can_be_assigned() -> None:
    (p,) = params = [Parameter(Tensor([1.0]), name="w")]
    optimizer = nn.SGD(params, Tensor(0.5))
    optimizer((Tensor([1.0]),))
    ops.assign(optimizer.learning_rate, 0.25)
    optimizer((Tensor([1.0]),))
    assert float(p) == 0.25
    assert float(optimizer.get_lr()) == float(optimizer.get_lr_parameter(p)) == 0.25
    assert len(optimizer.get_lr_parameter(params)) == 1


def test_an_own_optimizer() -> None:
    class SignDescent(nn.Optimizer):
        def update(self, index: int, gradient: Tensor, lr: Tensor) -> Tensor:
            return ops.assign(self.parameters[index], self.parameters[index] - lr * ops.sign(gradient))

    (p,) = params = [Parameter(Tensor([1.0, -1.0]), name="w")]
    SignDescent(0.5, params)((Tensor([3.0, -0.1]),))
    assert p.asnumpy().tolist() == [0.5, -0.5]


def test_an_own_construct_over_adam() -> None:
    """As MindSpore's Adam, whose parts published optimizers call."""

    class Own(nn.Adam):
        def construct(self, gradients: Any) -> Any:
            assert self.use_offload is self.use_lazy is False
            gradients = self.scale_grad(self.decay_weight(self.flatten_gradients(gradients)))
            lr = self.get_lr()
            self.assignadd(self.global_step, self.global_step_increase_tensor)
            self.beta1_power *= self.beta1
            self.beta2_power *= self.beta2
            powers = self.beta1_power, self.beta2_power
            return self._apply_adam(self._parameters, *powers, self.moment1, self.moment2, lr, gradients)

    gradients = Tensor([3.0, -0.1]), Tensor([0.5])
    made = []
    for kind in (Own, nn.Adam):
        a, b = Parameter(Tensor([1.0, -1.0]), name="a"), Parameter(Tensor([2.0]), name="b")
        optimizer = kind([{"params": [a], "lr": 0.2}, {"params": [b]}], 0.1, weight_decay=0.01)
        for _ in range(3):
            optimizer(gradients)
        made.append([p.asnumpy().tolist() for p in (a, b, *optimizer.moment2, optimizer.global_step)])
    assert made[0] == made[1]
    with pytest.raises(ValueError, match="Adam: moment1 must be those of the optimizer"):
        optimizer._apply_adam(optimizer.parameters, 1.0, 1.0, (), optimizer.moment2, 0.1, gradients)


# ---- errors


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda p: nn.Momentum(p, 0.1, 1), TypeError, "Momentum: momentum must be a float, got int"),
        (lambda p: nn.Momentum(p, 0.1, -0.5), ValueError, "momentum must be a finite number >= 0"),
        (lambda p: nn.Momentum(p, 0.1, 0.9, use_nesterov=1), TypeError, "use_nesterov must be a bool"),
        (lambda p: nn.SGD(p, -0.1), ValueError, "SGD: learning_rate must be a finite number >= 0, got -0.1"),
        (lambda p: nn.SGD(p, float("nan")), ValueError, "learning_rate must be a finite number"),
        (lambda p: nn.SGD(p, "0.1"), TypeError, "learning_rate must be a number, a Tensor, .*, got str"),
        (lambda p: nn.SGD(p, nn.ReLU()), TypeError, "or a LearningRateSchedule, got ReLU"),
        (lambda p: nn.SGD(p, weight_decay=nn.ReLU()), TypeError, "weight_decay must be a number"),
        (lambda p: nn.SGD(p, weight_decay=-1), ValueError, "weight_decay must be a finite number >= 0"),
        (lambda p: nn.SGD(p, loss_scale=0), ValueError, "loss_scale must be a finite number > 0, got 0"),
        (lambda p: nn.SGD(p, momentum=-1), ValueError, "momentum must be a finite number >= 0"),
        (lambda p: nn.SGD(p, nesterov=True), ValueError, "momentum must be positive with nesterov=True"),
        (lambda p: nn.SGD(p, 0.1, 0.9, 0.1, nesterov=True), ValueError, "dampening must be 0 with nesterov"),
        (lambda p: nn.SGD([]), ValueError, "there are no parameters to optimize"),
        (lambda p: nn.SGD(nn.Dense(2, 2)), TypeError, "parameters must be a list of Parameters, got Dense"),
        (lambda p: nn.SGD(p[0]), TypeError, "parameters must be a list of Parameters, got Parameter"),
        (lambda p: nn.SGD([Tensor(1.0)]), TypeError, "parameters must be Parameters, got Tensor"),
        (lambda p: nn.SGD([p[0], p[0]]), ValueError, "SGD: parameter 'fc.weight' is given twice"),
        (lambda p: nn.SGD([Parameter(1, name="n")]), TypeError, r"n i32\[\] cannot be trained"),
        (
            lambda p: nn.SGD([Parameter(Tensor(1j), name="n")]),
            TypeError,
            r"n c\d+\[\] cannot be trained: its updates are",
        ),
        (lambda p: nn.Adam(p, beta1=1.0), ValueError, "Adam: beta1 must be between 0 and 1, got 1.0"),
        (lambda p: nn.Adam(p, beta2=1), TypeError, "Adam: beta2 must be a float, got int"),
        (lambda p: nn.Adam(p, eps=0.0), ValueError, "eps must be a finite number > 0"),
        (
            lambda p: nn.Adam(p, use_lazy=True, use_offload=True),
            ValueError,
            "use_lazy and use_offload exclude each other",
        ),
        (lambda p: nn.Adam(p, use_amsgrad=True, use_nesterov=True), ValueError, "exclude each other"),
    ],
)
def test_refused(make: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message) as caught:
        make(make_params())
    assert isinstance(caught.value, graphc.GraphcError)
    assert caught.value.loc is None or caught.value.loc.file.endswith("test_optimizers.py")


def test_gradients_that_do_not_fit() -> None:
    optimizer = nn.Momentum(make_params(), 0.1, 0.9)
    w, b = map(Tensor, GRADS[0])
    with pytest.raises(graphc.ArgumentValueError, match="got 1 gradients for 2 parameters") as caught:
        optimizer((w,))
    assert caught.value.details == ("fc.weight f32[3,4]", "fc.bias f32[4]")
    with pytest.raises(graphc.ShapeError, match=r"gradient of fc.weight is f32\[4\], the parameter f32\[3,4\]"):
        optimizer((b, w))
    with pytest.raises(graphc.ArgumentTypeError, match="gradients must be a tuple of Tensors, got Tensor"):
        optimizer(w)
    with pytest.raises(graphc.ArgumentTypeError, match="got a tuple of NoneType, Tensor"):
        optimizer((w, None))
    assert optimizer.global_step.asnumpy().tolist() == [0]


def test_update_must_be_defined() -> None:
    with pytest.raises(graphc.ArgumentTypeError, match="Optimizer does not define update"):
        nn.Optimizer(0.1, make_params())(tuple(map(Tensor, GRADS[0])))
