"""MFTrainOneStepCell against a float64 model of its step; its averages; the adaptive manager; gradient accumulation."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import graphc
from graphc import Tensor, nn, ops

RNG = np.random.default_rng(5)
X, Y = RNG.normal(size=(6, 4)).astype(np.float32), RNG.normal(size=(6, 3)).astype(np.float32)
BAD = np.full_like(X, np.inf)
W = RNG.normal(size=(3, 4)).astype(np.float32)


def network() -> nn.WithLossCell:
    return nn.WithLossCell(nn.Dense(4, 3, weight_init=Tensor(W), bias_init="zeros"), nn.MSELoss())


def make(optimizer: Any = None, **options: Any) -> tuple[nn.MFTrainOneStepCell, Any]:
    net = network()
    chosen = optimizer(net.trainable_params()) if optimizer else nn.SGD(net.trainable_params(), 0.1)
    return nn.MFTrainOneStepCell(net, chosen, **options).set_train(), net.backbone_network  # type: ignore[return-value]


def gradients(w: Any, b: Any) -> tuple[float, Any, Any]:
    """Loss and gradients of the network, in float64."""
    d = X @ w.T + b - Y
    g = 2 * d / d.size
    return float((d * d).mean()), g.T @ X, g.sum(0)


def clipped(grads: tuple[Any, ...], most: float) -> tuple[float, tuple[Any, ...]]:
    norm = float(np.sqrt(sum((g * g).sum() for g in grads)))
    factor = min(most / (max(norm, most) + 1e-6), 1.0)
    return norm, tuple(g * factor for g in grads)


# ---- outputs


@pytest.mark.parametrize("local_norm", [False, True])
@pytest.mark.parametrize("clip", [None, 0.5, 100.0])
@pytest.mark.parametrize("scale", [1.0, 1024, Tensor([64.0])])
def test_outputs_and_weights(clip: float | None, local_norm: bool, scale: Any) -> None:
    options: dict[str, Any] = {} if clip is None else {"use_clip_grad": True, "max_grad_norm": clip}
    step, layer = make(scale_sense=scale, local_norm=local_norm, **options)
    w, b = W.astype(np.float64), np.zeros(3)
    for _ in range(3):
        wanted, *grads = gradients(w, b)
        out = step(Tensor(X), Tensor(Y))
        assert len(out) == (7 if local_norm else 5)
        loss, overflow, returned, rate, norm = out[:5]
        assert float(loss) == pytest.approx(wanted, rel=1e-5)
        assert (overflow.shape, bool(overflow)) == ((), False)
        assert (returned.shape, returned.dtype) == (step.scale_sense.shape, step.scale_sense.dtype)
        assert (rate.shape, rate.dtype, float(rate)) == ((), graphc.float32, pytest.approx(0.1))
        if local_norm:
            np.testing.assert_allclose(out[5].asnumpy(), [(g * g).sum() for g in grads], rtol=1e-4)
            assert out[5].dtype == graphc.float32
            assert out[6] == (12, 3)
        if clip is None:
            assert norm is None
        else:
            total, grads = clipped(tuple(grads), clip)  # type: ignore[assignment]
            assert norm.shape == (1,)
            assert float(norm) == pytest.approx(total, rel=1e-4)
        w, b = w - 0.1 * grads[0], b - 0.1 * grads[1]
        np.testing.assert_allclose(layer.weight.asnumpy(), w, rtol=1e-4, atol=1e-6)
        np.testing.assert_allclose(layer.bias.asnumpy(), b, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize(("scale", "dtype"), [(2.0, "Float32"), (2, "Int64"), (np.float32(2), "Float32")])
def test_a_number_as_scale(scale: Any, dtype: str) -> None:
    step, _ = make(scale_sense=scale)
    returned = step(Tensor(X), Tensor(Y))[2]
    assert (str(returned.dtype), float(returned), returned.shape) == (dtype, 2.0, ())


def test_overflow_skips_the_update_and_says_so() -> None:
    step, layer = make(scale_sense=nn.DynamicLossScaleUpdateCell(8.0, 2, 2), use_clip_grad=True, local_norm=True)
    scales = []
    for flag in "001000111110":
        before = layer.weight.asnumpy()
        _, overflow, scale, _, norm, local, _ = step(Tensor(BAD if flag == "1" else X), Tensor(Y))
        assert bool(overflow) == (flag == "1")
        assert np.isfinite(norm.asnumpy()).all() == (flag == "0")
        assert np.isfinite(local.asnumpy()).all() == (flag == "0")
        assert np.array_equal(before, layer.weight.asnumpy()) == (flag == "1")
        scales.append(float(scale))
    assert scales == [8, 16, 8, 8, 16, 16, 8, 4, 2, 1, 1, 1]


def test_the_managers_flag_is_returned() -> None:
    """`overflow` is what the manager makes of it, and what decides about the update."""

    class Stubborn(nn.FixedLossScaleUpdateCell):
        def construct(self, loss_scale: Any, overflow: Any) -> Any:
            return ops.logical_not(overflow)

    step, layer = make(scale_sense=Stubborn(4.0))
    assert bool(step(Tensor(X), Tensor(Y))[1])
    assert np.array_equal(layer.weight.asnumpy(), W)


def test_half_gradients_become_float32() -> None:
    """Unscaled in float32: 2**-20 is lost in float16 but kept here."""
    step, _ = make()
    grads = step.unscale((Tensor(np.array([1.0], np.float16)),), Tensor(np.float32(2.0**20)))
    assert grads[0].dtype == graphc.float32
    assert float(grads[0]) == 2.0**-20


# ---- the learning rate


def test_rate_of_a_schedule_is_that_of_the_step() -> None:
    rates = [0.1, 0.2, 0.3, 0.4]
    step, _ = make(lambda p: nn.Momentum(p, rates, 0.9), scale_sense=nn.DynamicLossScaleUpdateCell(8.0, 2, 1000))
    flags = [False, True, True, False, False]
    got = [float(step(Tensor(BAD if bad else X), Tensor(Y))[3]) for bad in flags]
    assert got == pytest.approx([0.1, 0.2, 0.2, 0.2, 0.3])


def test_rates_of_groups() -> None:
    def fixed(p: Any) -> Any:
        return nn.SGD([{"params": [p[0]], "lr": 0.01}, {"params": [p[1]]}], 0.1)

    rates = make(fixed)[0](Tensor(X), Tensor(Y))[3]
    assert isinstance(rates, tuple)
    assert [float(r) for r in rates] == pytest.approx([0.01, 0.1])

    def dynamic(p: Any) -> Any:
        return nn.SGD([{"params": [p[0]], "lr": [0.01, 0.02]}, {"params": [p[1]], "lr": [0.3, 0.4]}], 0.1)

    step = make(dynamic)[0]
    assert [float(step(Tensor(X), Tensor(Y))[3]) for _ in range(2)] == pytest.approx([0.3, 0.4])


# ---- averages


@pytest.mark.parametrize("decay", [0.9, 0.5])
def test_moving_average(decay: float) -> None:
    step, layer = make(use_ema=True, ema_decay=decay, scale_sense=nn.DynamicLossScaleUpdateCell(8.0, 2, 2))
    assert [p.name for p in step.ema_weights] == [f"ema.{p.name}" for p in step.weights]
    averages = [p.asnumpy().astype(np.float64) for p in step.ema_weights]
    for bad in (False, True, False, False):
        before = [p.asnumpy() for p in step.ema_weights]
        step(Tensor(BAD if bad else X), Tensor(Y))
        if bad:
            assert all(map(np.array_equal, before, (p.asnumpy() for p in step.ema_weights)))
            continue
        averages = [decay * a + (1 - decay) * p.asnumpy() for a, p in zip(averages, step.weights, strict=True)]
        for wanted, p in zip(averages, step.ema_weights, strict=True):
            np.testing.assert_allclose(p.asnumpy(), wanted, rtol=1e-5, atol=1e-7)
    assert not np.array_equal(layer.weight.asnumpy(), step.ema_weights[0].asnumpy())
    assert {"ema.weight", "ema.bias"} <= set(step.parameters_dict())
    assert not any(p.requires_grad for p in step.ema_weights)


def test_without_averages_there_are_none() -> None:
    step, _ = make(parallel_config=object(), print_separate_loss=True)
    assert len(step.ema_weights) == 0
    assert len(step(Tensor(X), Tensor(Y))) == 5


# ---- accumulation


@pytest.mark.parametrize("parts", [1, 2, 3, 6])
def test_accumulated_gradients_are_those_of_the_sum(parts: int) -> None:
    net = network()
    accumulated = nn.GradAccumulationCell(net, parts)
    step = nn.MFTrainOneStepCell(accumulated, nn.SGD(net.trainable_params(), 0.1 / parts), scale_sense=16.0).set_train()
    wanted, gw, gb = gradients(W.astype(np.float64), np.zeros(3))
    loss = step(Tensor(X), Tensor(Y))[0]
    assert float(loss) == pytest.approx(wanted * parts, rel=1e-5)
    layer: Any = net.backbone_network
    np.testing.assert_allclose(layer.weight.asnumpy(), W - 0.1 * gw, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(layer.bias.asnumpy(), -0.1 * gb, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda n: nn.GradAccumulationCell(n, 0), ValueError, "micro_size must be at least 1, got 0"),
        (lambda n: nn.GradAccumulationCell(n, 2.0), TypeError, "micro_size must be an int, got float"),
        (lambda n: nn.GradAccumulationCell(3, 2), TypeError, "network must be a Cell, got int"),
        (
            lambda n: nn.GradAccumulationCell(n, 4)(Tensor(X), Tensor(Y)),
            ValueError,
            "f32\\[6,4\\] cannot be divided into 4",
        ),
        (
            lambda n: nn.MFTrainOneStepCell(n, sgd(n), use_clip_grad=1),
            TypeError,
            "use_clip_grad must be a bool, got int",
        ),
        (lambda n: nn.MFTrainOneStepCell(n, sgd(n), local_norm=1), TypeError, "local_norm must be a bool, got int"),
        (lambda n: nn.MFTrainOneStepCell(n, sgd(n), True, 0.0), ValueError, "max_norm must be a finite number > 0"),
        (lambda n: nn.MFTrainOneStepCell(n, sgd(n), scale_sense="x"), TypeError, "must be a Cell or a Tensor, got str"),
        (lambda n: nn.MFTrainOneStepCell(n, sgd(n), scale_sense=Tensor([1.0, 2.0])), ValueError, r"shape \(2,\)"),
        (lambda n: nn.MFTrainOneStepCell(n, sgd(n), use_ema=1), TypeError, "use_ema must be a bool"),
        (
            lambda n: nn.MFTrainOneStepCell(n, sgd(n), ema_decay=1.0),
            ValueError,
            "ema_decay must be a number between 0 and 1",
        ),
        (lambda n: nn.AdaptiveLossScaleUpdateCell(8.0, 2, 2, 2, 2), ValueError, "max_scale_window must be at least 3"),
        (lambda n: nn.AdaptiveLossScaleUpdateCell(8.0, 2, 2, 8, 0), ValueError, "min_scale_window must be at least 1"),
        (lambda n: nn.WithGradCell(3), TypeError, "network must be a Cell, got int"),
        (lambda n: nn.WithGradCell(n, sens="a"), TypeError, "sens must be None, a number"),
    ],
)
def test_refused(make: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message) as caught:
        make(network())
    assert isinstance(caught.value, graphc.GraphcError)


def sgd(net: nn.Cell) -> nn.SGD:
    return nn.SGD(net.trainable_params(), 0.1)


# ---- the adaptive manager


def model(flags: str, scale: float, factor: float, rung: int, windows: tuple[int, ...]) -> list[tuple[float, int]]:
    """(scale, window) after each step, by the rule of the docstring."""
    window, step, last, ups, downs, rows = windows[rung], 1, 0, 0, 0, []
    for flag in flags:
        rested = step - last >= window
        if flag == "1":
            scale, last, downs = max(scale / factor, 1.0), step, (downs + 1) % 4
            if downs == 3 and rung > 0:
                window, rung, ups, downs = 1, -1, 0, 0
        elif rested:
            scale, last, ups, downs = scale * factor, step, (ups + 1) % 4, 0
            if ups == 3 and rung < len(windows) - 1:
                rung, ups = rung + 1, 0
                window = windows[rung]
        step += 1
        rows.append((scale, window))
    return rows


@pytest.mark.parametrize(
    "flags", ["0" * 60, "1" * 12, "0" * 20 + "1" * 9 + "0" * 20, "0001" * 12, "110" * 15, "0010000110000001110000" * 3]
)
def test_adaptive_windows(flags: str) -> None:
    manager = nn.AdaptiveLossScaleUpdateCell(16.0, 2, 3, 5, 2)
    scale = graphc.Parameter(Tensor(np.float32(16.0)), name="scale_sense")
    assert manager.windows == (2, 3, 4, 5)
    rows = []
    for flag in flags:
        assert bool(manager(scale, Tensor(flag == "1"))) == (flag == "1")
        rows.append((float(scale), int(manager.scale_window)))
    assert rows == model(flags, 16.0, 2.0, 1, (2, 3, 4, 5))


def test_the_ladder_of_windows(caplog: pytest.LogCaptureFixture) -> None:
    manager = nn.AdaptiveLossScaleUpdateCell(2.0**16, 2, 200)
    assert manager.windows == (20, 30, 40, 50, 100, 200, 500, 1000)
    assert int(manager.scale_window) == 200
    assert manager.get_loss_scale() == 2.0**16
    assert {p.name for p in manager.get_parameters()} == {
        "current_iterator_step",
        "last_overflow_iterator_step",
        "scale_window",
        "list_index",
        "scale_window_up_count",
        "scale_window_down_count",
    }
    assert not caplog.records
    assert int(nn.AdaptiveLossScaleUpdateCell(8.0, 2, 150).scale_window) == 20
    assert "scale_window 150 is none of (20, 30," in caplog.text


def test_the_adaptive_manager_in_a_step() -> None:
    manager = nn.AdaptiveLossScaleUpdateCell(16.0, 2, 2, 4, 2)
    step, _ = make(scale_sense=manager)
    flags = "000000001110000"
    rows = []
    for flag in flags:
        rows.append((float(step(Tensor(BAD if flag == "1" else X), Tensor(Y))[2]), int(manager.scale_window)))
    assert rows == model(flags, 16.0, 2.0, 0, (2, 3, 4))


# ---- gradients as a cell


def test_with_grad_cell() -> None:
    net = network()
    _, gw, gb = gradients(W.astype(np.float64), np.zeros(3))
    for cell, factor in (
        (nn.WithGradCell(net), 1.0),
        (nn.WithGradCell(net.backbone_network, nn.MSELoss()), 1.0),
        (nn.WithGradCell(net, sens=3.0), 3.0),
        (nn.WithGradCell(net, sens=Tensor(np.float32(-2.0))), -2.0),
    ):
        first, second = cell(Tensor(X), Tensor(Y))
        np.testing.assert_allclose(first.asnumpy(), factor * gw, rtol=1e-4, atol=1e-6)
        np.testing.assert_allclose(second.asnumpy(), factor * gb, rtol=1e-4, atol=1e-6)
    assert net.training
