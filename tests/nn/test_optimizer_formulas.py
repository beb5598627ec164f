"""Ten compiled steps of every optimizer but the plainest against its formula in float64; state and results."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import graphc
from graphc import Parameter, Tensor, nn

Array = np.ndarray[Any, np.dtype[Any]]

RNG = np.random.default_rng(8)

W, B = RNG.normal(size=(6, 21)).astype(np.float32), RNG.normal(size=5).astype(np.float32)

STEPS = 10

GRADS = [
    (RNG.normal(size=W.shape).astype(np.float32), RNG.normal(size=B.shape).astype(np.float32)) for _ in range(STEPS)
]


def make_params(names: tuple[str, str] = ("fc.weight", "fc.bias")) -> list[Parameter]:
    return [Parameter(Tensor(v), name=n) for v, n in zip((W, B), names, strict=True)]


def adam_weight_decay(w: Array, gs: list[Array], lr: float, eps: float, decay: float) -> Iterator[Array]:
    m, v = np.zeros_like(w), np.zeros_like(w)
    rest = float(np.float32(1) - np.float32(0.999))  # MindSpore's 1 - beta2, 5e-5 from 0.001
    for g in gs:
        m, v = 0.9 * m + 0.1 * g, (1 - rest) * v + rest * g * g
        w = w - lr * (m / (np.sqrt(v) + eps) + decay * w)
        yield w


def adamw(w: Array, gs: list[Array], lr: float, b1: float, b2: float, eps: float, decay: float) -> Iterator[Array]:
    m, v = np.zeros_like(w), np.zeros_like(w)
    for t, g in enumerate(gs, 1):
        m, v = b1 * m + (1 - b1) * g, b2 * v + (1 - b2) * g * g
        w = w * (1 - lr * decay)
        w = w - lr * (m / (1 - b1**t)) / (np.sqrt(v / (1 - b2**t)) + eps)
        yield w


def lamb(w: Array, gs: list[Array], lr: float, decay: float, eps: float = 1e-6) -> Iterator[Array]:
    m, v = np.zeros_like(w), np.zeros_like(w)
    for t, g in enumerate(gs, 1):
        m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
        u = m / (1 - 0.9**t) / (np.sqrt(v / (1 - 0.999**t)) + eps) + decay * w
        norms = np.linalg.norm(w), np.linalg.norm(u)
        w = w - lr * (norms[0] / norms[1] if all(norms) else 1.0) * u
        yield w


def adamax(w: Array, gs: list[Array], lr: float, b1: float, b2: float, eps: float) -> Iterator[Array]:
    m, v = np.zeros_like(w), np.zeros_like(w)
    for t, g in enumerate(gs, 1):
        m, v = b1 * m + (1 - b1) * g, np.maximum(b2 * v, np.abs(g))
        w = w - lr / (1 - b1**t) * m / (v + eps)
        yield w


def adagrad(w: Array, gs: list[Array], lr: float, start: float, update: bool = True) -> Iterator[Array]:
    a = np.full_like(w, start)
    for g in gs:
        a = a + g * g if update else a
        w = w - lr * g / np.sqrt(a)
        yield w


def adadelta(w: Array, gs: list[Array], lr: float, rho: float, eps: float) -> Iterator[Array]:
    a, b = np.zeros_like(w), np.zeros_like(w)
    for g in gs:
        a = rho * a + (1 - rho) * g * g
        u = np.sqrt(b + eps) / np.sqrt(a + eps) * g
        b = rho * b + (1 - rho) * u * u
        w = w - lr * u
        yield w


def rmsprop(
    w: Array, gs: list[Array], lr: float, decay: float, momentum: float, eps: float, centered: bool
) -> Iterator[Array]:
    s, v, a = np.ones_like(w), np.zeros_like(w), np.zeros_like(w)
    for g in gs:
        s, a = decay * s + (1 - decay) * g * g, decay * a + (1 - decay) * g
        v = momentum * v + lr * g / np.sqrt(s - (a * a if centered else 0) + eps)
        w = w - v
        yield w


def ftrl(w: Array, gs: list[Array], lr: float, start: float, l1: float, l2: float, p: float = 0.5) -> Iterator[Array]:
    a, z = np.full_like(w, start), np.zeros_like(w)
    for g in gs:
        b = a + g * g
        z = z + g - (b**p - a**p) / lr * w
        a = b
        w = np.where(np.abs(z) > l1, (l1 * np.sign(z) - z) / (b**p / lr + 2 * l2), 0.0)
        yield w


def asgd(w: Array, gs: list[Array], lr: float, lambd: float, alpha: float) -> Iterator[Array]:
    eta = lr
    for t, g in enumerate(gs, 1):
        w = w * (1 - lambd * eta) - eta * g
        eta = lr / (1 + lambd * lr * t) ** alpha
        yield w


def rprop(
    w: Array, gs: list[Array], lr: float, etas: tuple[float, float], sizes: tuple[float, float]
) -> Iterator[Array]:
    s, prev = np.full_like(w, lr), np.zeros_like(w)
    for g in gs:
        sign = np.sign(g * prev)
        s = np.clip(s * np.where(sign > 0, etas[1], np.where(sign < 0, etas[0], 1.0)), *sizes)
        g = np.where(sign < 0, 0.0, g)
        w, prev = w - np.sign(g) * s, g
        yield w


CASES: list[tuple[Callable[..., Any], Callable[..., Iterator[Array]]]] = [
    (lambda p: nn.AdamWeightDecay(p, 0.05, weight_decay=0.1), lambda w, g: adam_weight_decay(w, g, 0.05, 1e-6, 0.1)),
    (lambda p: nn.AdamW(p, 0.05, (0.8, 0.95), 1e-4, 0.1), lambda w, g: adamw(w, g, 0.05, 0.8, 0.95, 1e-4, 0.1)),
    (lambda p: nn.Lamb(p, 0.05, weight_decay=0.1), lambda w, g: lamb(w, g, 0.05, 0.1)),
    (lambda p: nn.Lamb(p, 0.05), lambda w, g: lamb(w, g, 0.05, 0.0)),
    (lambda p: nn.AdaMax(p, 0.05, 0.8, 0.95, 1e-4), lambda w, g: adamax(w, g, 0.05, 0.8, 0.95, 1e-4)),
    (lambda p: nn.Adagrad(p, 0.3, 0.05), lambda w, g: adagrad(w, g, 0.05, 0.3)),
    (lambda p: nn.Adagrad(p, 0.3, 0.05, False), lambda w, g: adagrad(w, g, 0.05, 0.3, False)),
    (lambda p: nn.Adadelta(p, 0.5, 0.8, 1e-3), lambda w, g: adadelta(w, g, 0.5, 0.8, 1e-3)),
    (lambda p: nn.RMSProp(p, 0.05, 0.8, 0.5, 1e-4), lambda w, g: rmsprop(w, g, 0.05, 0.8, 0.5, 1e-4, False)),
    (
        lambda p: nn.RMSProp(p, 0.05, 0.8, 0.5, 1e-2, centered=True),
        lambda w, g: rmsprop(w, g, 0.05, 0.8, 0.5, 1e-2, True),
    ),
    (lambda p: nn.FTRL(p, 0.2, 0.1, l1=0.5, l2=0.1), lambda w, g: ftrl(w, g, 0.1, 0.2, 0.5, 0.1)),
    (lambda p: nn.FTRL(p, 0.2, 0.1, -0.7), lambda w, g: ftrl(w, g, 0.1, 0.2, 0.0, 0.0, 0.7)),
    (lambda p: nn.ASGD(p, 0.05, 0.1, 0.5), lambda w, g: asgd(w, g, 0.05, 0.1, 0.5)),
    (lambda p: nn.Rprop(p, 0.05, (0.4, 1.5), (0.02, 0.2)), lambda w, g: rprop(w, g, 0.05, (0.4, 1.5), (0.02, 0.2))),
]


@pytest.mark.parametrize(("make", "formula"), CASES)
def test_ten_compiled_steps_follow_the_formula(
    make: Callable[..., nn.Optimizer], formula: Callable[..., Iterator[Array]]
) -> None:
    params = make_params()
    optimizer = make(params)
    step = graphc.compile(optimizer, tuple(map(Tensor, GRADS[0])))
    wanted = [
        formula(p.asnumpy().astype(np.float64), [g[i].astype(np.float64) for g in GRADS]) for i, p in enumerate(params)
    ]
    for count, grads in enumerate(GRADS, 1):
        step(tuple(map(Tensor, grads)))
        assert optimizer.global_step.asnumpy().tolist() == [count]
        for p, w in zip(params, wanted, strict=True):
            np.testing.assert_allclose(p.asnumpy(), next(w), rtol=5e-5, atol=5e-6)


def test_averages_of_asgd_follow_the_formula() -> None:
    (p,) = params = [Parameter(Tensor([2.0]), name="w")]
    optimizer = nn.ASGD(params, 0.1, lambd=0.0, t0=2.0)
    mu, average, w = 1.0, 0.0, 2.0
    for t in range(1, 8):
        optimizer((Tensor([0.5]),))
        w -= 0.1 * 0.5
        average = w if mu == 1 else average + (w - average) * mu
        mu = 1 / max(1.0, t - 2.0)
        assert float(p) == pytest.approx(w, rel=1e-5)
        assert float(optimizer.ax[0]) == pytest.approx(average, rel=1e-5)
    assert average != pytest.approx(w, rel=1e-2)


def test_lamb_at_zero_moves_at_the_plain_rate() -> None:
    params = [Parameter(Tensor([0.0, 0.0]), name="w"), Parameter(Tensor([1.0, 0.0]), name="v")]
    nn.Lamb(params, 0.25)((Tensor([3.0, -2.0]), Tensor([0.0, 0.0])))
    np.testing.assert_allclose(params[0].asnumpy(), [-0.25, 0.25], rtol=1e-5)
    assert params[1].asnumpy().tolist() == [1.0, 0.0]


@pytest.mark.parametrize(
    ("make", "names"),
    [
        (lambda p: nn.AdamWeightDecay(p), ["adam_m.fc.weight", "adam_m.fc.bias", "adam_v.fc.weight", "adam_v.fc.bias"]),
        (lambda p: nn.AdamW(p), ["adam_m.fc.weight", "adam_m.fc.bias", "adam_v.fc.weight", "adam_v.fc.bias"]),
        (lambda p: nn.Lamb(p, 0.1), ["lamb_m.fc.weight", "lamb_m.fc.bias", "lamb_v.fc.weight", "lamb_v.fc.bias"]),
    ],
)
def test_state_names(make: Callable[..., nn.Optimizer], names: list[str]) -> None:
    # Those of the others are compared with MindSpore's in test_optimizers.py.
    optimizer = make(make_params())
    assert sorted(p.name for p in optimizer.get_parameters()) == sorted([*names, "global_step", "learning_rate"])
    assert not any(p.requires_grad for p in optimizer.get_parameters())


def test_results() -> None:
    grads = tuple(map(Tensor, GRADS[0]))
    for name in ("AdamWeightDecay", "AdamW", "AdaMax", "Adagrad", "Adadelta", "RMSProp", "FTRL"):
        done = getattr(nn, name)(make_params())(grads)
        assert [bool(d) for d in done] == [True, True], name
    for name in ("ASGD", "Rprop"):
        done = getattr(nn, name)(make_params())(grads)
        assert isinstance(done, Tensor), name
        assert bool(done), name


def test_moments_of_adamw_are_float32_for_half_parameters() -> None:
    params = [Parameter(Tensor(W.astype(np.float16)), name="w")]
    optimizer = nn.AdamW(params, 0.01)
    assert [p.tensor_type.dtype for p in (*optimizer.moments1, *optimizer.moments2)] == ["float32"] * 2
    optimizer((Tensor(GRADS[0][0].astype(np.float16)),))
    assert params[0].tensor_type.dtype == "float16"
    assert np.abs(params[0].asnumpy().astype(np.float32) - W).max() == pytest.approx(0.01, rel=0.2)


def test_lars_follows_its_formula() -> None:
    def run(use_clip: bool) -> None:
        params = make_params(("fc.weight", "fc.bias"))
        inner = nn.Momentum(params, 0.05, 0.9, weight_decay=0.1, loss_scale=2.0)
        optimizer = nn.LARS(inner, 1e-5, 0.02, use_clip)
        w, b = W.astype(np.float64), B.astype(np.float64)
        mw, mb = np.zeros_like(w), np.zeros_like(b)
        for gw, gb in GRADS:
            optimizer((Tensor(gw), Tensor(gb)))
            gw, gb = gw / 2.0, gb / 2.0
            trust = 0.02 * np.linalg.norm(w) / (np.linalg.norm(gw) + 0.1 * np.linalg.norm(w) + 1e-5)
            if use_clip:
                trust = min(trust / 0.05, 1.0)
            mw, mb = 0.9 * mw + trust * (gw + 0.1 * w), 0.9 * mb + gb
            w, b = w - 0.05 * mw, b - 0.05 * mb
        np.testing.assert_allclose(params[0].asnumpy(), w, rtol=5e-5, atol=5e-6)
        np.testing.assert_allclose(params[1].asnumpy(), b, rtol=5e-5, atol=5e-6)
        assert optimizer.global_step.asnumpy().tolist() == [STEPS]

    run(False)
    run(True)


def test_lars_inside_a_training_cell() -> None:
    net = nn.Dense(4, 3)
    optimizer = nn.LARS(nn.Momentum(net.trainable_params(), 0.5, 0.9), coefficient=0.1)
    cell = nn.TrainOneStepCell(nn.WithLossCell(net, nn.MSELoss()), optimizer)
    x, y = Tensor(RNG.normal(size=(8, 4)).astype(np.float32)), Tensor(RNG.normal(size=(8, 3)).astype(np.float32))
    losses = [float(cell(x, y)) for _ in range(6)]
    assert losses[-1] < losses[0]
