"""Learning rates: schedules and lists against what MindSpore and MindFormers computed, and their errors."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graphc
from graphc import Parameter, Tensor, nn, ops

DATA = Path(__file__).parents[1] / "data"
RECORDED = json.loads((DATA / "ms_learning_rates.json").read_text())


def at(schedule: nn.LearningRateSchedule, steps: int) -> list[float]:
    return [float(schedule(Tensor(i, "int32"))) for i in range(steps)]


def label(case: dict[str, Any]) -> str:
    return f"{case['name']}-{case['args']}"


@pytest.mark.parametrize("case", RECORDED["schedules"], ids=label)
def test_schedules_as_recorded(case: dict[str, Any]) -> None:
    schedule = getattr(nn, case["name"])(*case["args"], **case["kwargs"])
    np.testing.assert_allclose(at(schedule, len(case["values"])), case["values"], rtol=2e-5, atol=2e-7)


@pytest.mark.parametrize("case", RECORDED["lists"], ids=label)
def test_lists_as_recorded(case: dict[str, Any]) -> None:
    made = getattr(nn, case["name"])(*case["args"])
    assert isinstance(made, list)
    assert len(made) == len(case["values"])
    np.testing.assert_allclose(made, case["values"], rtol=1e-9)


@pytest.mark.parametrize("case", [RECORDED["schedules"][i] for i in (0, 6, 8, 15, 18, -1)], ids=label)
def test_a_schedule_keeps_the_shape_of_the_step_and_reads_a_parameter(case: dict[str, Any]) -> None:
    schedule = getattr(nn, case["name"])(*case["args"], **case["kwargs"])
    step = Parameter(Tensor([3], "int32"), name="step", requires_grad=False)
    for i in (3, 7):
        step.set_data(np.array([i], np.int32))
        rate = schedule(step)
        assert str(rate.tensor_type) == "f32[1]"
        assert float(rate) == pytest.approx(case["values"][i], rel=2e-5, abs=2e-7)


def test_restarts_begin_exactly_where_a_period_ends() -> None:
    # Near the ends of a period, a logarithm of almost a power of t_mult, rounding must not find the wrong period.
    for t_0, t_mult in ((5, 3), (3, 2), (10, 10), (333, 6), (1000, 7), (10000, 8)):
        schedule = nn.CosineAnnealingWarmRestarts(0.5, t_0, t_mult)
        begins = [t_0 * (t_mult**n - 1) // (t_mult - 1) for n in range(6)]
        begins = [b for b in begins if b < 2**24]  # float32 knows no odd steps beyond
        assert [float(schedule(Tensor(b, "int32"))) for b in begins] == [0.5] * len(begins)
        for n, b in enumerate(begins[1:]):
            last = 0.25 * (1 + math.cos(math.pi * (1 - 1 / (t_0 * t_mult**n))))
            assert float(schedule(Tensor(b - 1, "int32"))) == pytest.approx(last, rel=1e-4, abs=1e-7)


def test_a_rate_per_layer() -> None:
    schedule = nn.LearningRateWiseLayer(nn.WarmUpLR(0.1, 4), 0.5)
    np.testing.assert_allclose(at(schedule, 6), [0.0, 0.0125, 0.025, 0.0375, 0.05, 0.05], rtol=1e-6)


def test_an_own_schedule() -> None:
    class Stairs(nn.LearningRateSchedule):
        def construct(self, global_step: Tensor) -> Tensor:
            return 0.5 ** ops.cast(global_step, "float32")

    params = [Parameter(Tensor([0.0]), name="w")]
    optimizer = nn.SGD(params, Stairs())
    seen = []
    for _ in range(4):
        optimizer((Tensor([1.0]),))
        seen.append(-float(params[0]))
    assert seen == [1.0, 1.5, 1.75, 1.875]
    with pytest.raises(graphc.ArgumentTypeError, match="Unsaid does not define construct"):
        type("Unsaid", (nn.LearningRateSchedule,), {})()(Tensor(0, "int32"))


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (
            lambda: nn.ExponentialDecayLR(1, 0.9, 4),
            TypeError,
            "ExponentialDecayLR: learning_rate must be a float, got int",
        ),
        (lambda: nn.ExponentialDecayLR(0.0, 0.9, 4), ValueError, "learning_rate must be a finite number > 0, got 0.0"),
        (lambda: nn.NaturalExpDecayLR(0.1, -0.9, 4), ValueError, "decay_rate must be a finite number > 0, got -0.9"),
        (lambda: nn.InverseDecayLR(0.1, 0.9, 4.0), TypeError, "decay_steps must be an int, got float"),
        (lambda: nn.InverseDecayLR(0.1, 0.9, 0), ValueError, "decay_steps must be at least 1, got 0"),
        (lambda: nn.InverseDecayLR(0.1, 0.9, 4, 1), TypeError, "is_stair must be a bool, got int"),
        (lambda: nn.CosineDecayLR(0.1, 0.1, 4), ValueError, r"max_lr must be greater than min_lr=0.1, got 0.1"),
        (lambda: nn.CosineDecayLR(0, 0.1, 4), TypeError, "min_lr must be a float, got int"),
        (lambda: nn.PolynomialDecayLR(0.1, 0.01, 4, 2), TypeError, "power must be a float, got int"),
        (
            lambda: nn.PolynomialDecayLR(0.1, -0.01, 4, 2.0),
            ValueError,
            "end_learning_rate must be a finite number >= 0",
        ),
        (lambda: nn.WarmUpLR(-0.1, 4), ValueError, "learning_rate must be a finite number >= 0"),
        (lambda: nn.WarmUpLR(0.1, True), TypeError, "warmup_steps must be an int, got bool"),
        (lambda: nn.ConstantWarmUpLR(0.1), TypeError, "warmup_steps must be an int, got NoneType"),
        (lambda: nn.ConstantWarmUpLR(0.1, -1), ValueError, "warmup_steps must be at least 0, got -1"),
        (lambda: nn.ConstantWarmUpLR("0.1", 1), TypeError, "learning_rate must be a number, got str"),
        (lambda: nn.ConstantWarmUpLR(0.1, warmup_ratio=0.5), ValueError, "warmup_ratio needs total_steps"),
        (
            lambda: nn.LinearWithWarmUpLR(0.1, 10, warmup_ratio=1.5),
            ValueError,
            "warmup_ratio must be between 0 and 1, got 1.5",
        ),
        (lambda: nn.CosineWithWarmUpLR(0.1), ValueError, "CosineWithWarmUpLR: total_steps must be given"),
        (
            lambda: nn.PolynomialWithWarmUpLR(0.1, 10, 2, 0.2),
            ValueError,
            "lr_end must be smaller than learning_rate=0.1",
        ),
        (lambda: nn.CosineAnnealingLR(0.1, 0), ValueError, "t_max must be at least 1"),
        (lambda: nn.CosineAnnealingWarmRestarts(0.1, 2, 0), ValueError, "t_mult must be at least 1"),
        (
            lambda: nn.LearningRateWiseLayer(nn.ReLU(), 1.0),
            TypeError,
            "base_lr must be a LearningRateSchedule, got ReLU",
        ),
        (
            lambda: nn.piecewise_constant_lr([2, 1], [0.1, 0.2]),
            ValueError,
            r"milestone\[1\] must be at least the one before, 2",
        ),
        (lambda: nn.piecewise_constant_lr([2], [0.1, 0.2]), ValueError, "milestone has 1 values, learning_rates 2"),
        (lambda: nn.piecewise_constant_lr([0], [0.1]), ValueError, r"milestone\[0\] must be at least 1"),
        (lambda: nn.piecewise_constant_lr([1], [1]), TypeError, r"learning_rates\[0\] must be a float"),
        (lambda: nn.piecewise_constant_lr(3, [1]), TypeError, "milestone must be a tuple or list, got int"),
        (
            lambda: nn.exponential_decay_lr(0.1, 0.9, 0, 1, 1),
            ValueError,
            "exponential_decay_lr: total_step must be at least 1",
        ),
        (lambda: nn.natural_exp_decay_lr(0.1, 0.9, 1, 0, 1), ValueError, "step_per_epoch must be at least 1"),
        (lambda: nn.inverse_decay_lr(0.1, 0.9, 1, 1, 0), ValueError, "decay_epoch must be at least 1"),
        (lambda: nn.cosine_decay_lr(0.1, 0.1, 1, 1, 1), ValueError, "max_lr must be greater than min_lr"),
        (lambda: nn.polynomial_decay_lr(0.1, 0.1, 1, 1, 1, 0.0), ValueError, "power must be a finite number > 0"),
        (lambda: nn.warmup_lr(1, 1, 1, 1), TypeError, "warmup_lr: learning_rate must be a float, got int"),
    ],
)
def test_refused(make: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message) as caught:
        make()
    assert isinstance(caught.value, graphc.GraphcError)
    assert caught.value.loc is None or caught.value.loc.file.endswith("test_rates.py")


def test_polynomial_list_behind_its_end_grows_or_stays() -> None:
    stays = nn.polynomial_decay_lr(0.5, 0.25, 6, 1, 2, 1.0)
    grows = nn.polynomial_decay_lr(0.5, 0.25, 6, 1, 2, 1.0, True)
    assert stays == [0.5, 0.375, 0.25, 0.25, 0.25, 0.25]
    assert grows == [0.5, 0.375, 0.25, 0.5 - 0.25 * 3 / 4, 0.25, 0.5 - 0.25 * 5 / 6]
    assert all(map(math.isfinite, grows))
