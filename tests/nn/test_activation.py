"""Activations against float64 NumPy, by class and by name, with their gradients."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import graphc
from graphc import Tensor, nn, ops

Array = np.ndarray[Any, np.dtype[Any]]


def random(*shape: int, seed: int = 0) -> Array:
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


@pytest.mark.usefixtures("eager")
def test_activations() -> None:
    x = random(3, 4)
    d = x.astype(np.float64)
    e = np.exp(d)
    wanted = {
        "relu": np.maximum(d, 0),
        "tanh": np.tanh(d),
        "sigmoid": 1 / (1 + np.exp(-d)),
        "softmax": e / e.sum(-1, keepdims=True),
        "logsoftmax": d - np.log(e.sum(-1, keepdims=True)),
    }
    for name, value in wanted.items():
        cell = nn.get_activation(name)
        assert cell is not None
        np.testing.assert_allclose(cell.construct(Tensor(x)).asnumpy(), value, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(nn.Softmax(0).construct(Tensor(x)).asnumpy(), e / e.sum(0), rtol=1e-5)
    assert nn.get_activation(None) is None
    with pytest.raises(graphc.ArgumentTypeError, match="Softmax: axis must be an int, got tuple"):
        nn.Softmax((0, 1))


@pytest.mark.parametrize(
    ("layer", "value", "slope"),
    [
        (nn.SeLU(), lambda x: 1.05070098 * np.where(x > 0, x, 1.67326324 * np.expm1(x)), None),
        (nn.Tanhshrink(), lambda x: x - np.tanh(x), lambda x: np.tanh(x) ** 2),
        (nn.Softplus(), lambda x: np.log1p(np.exp(x)), lambda x: 1 / (1 + np.exp(-x))),
        (nn.Softplus(0.5, 1.0), lambda x: np.where(x > 2, x, 2 * np.log1p(np.exp(x / 2))), None),
        (nn.ELU(0.3), lambda x: np.where(x > 0, x, 0.3 * np.expm1(x)), None),
        (nn.CELU(-0.7), lambda x: np.maximum(x, 0) + np.minimum(-0.7 * np.expm1(x / -0.7), 0), None),
    ],
    ids=lambda v: repr(v) if isinstance(v, nn.Cell) else "",
)
def test_activation(layer: nn.Cell, value: Any, slope: Any) -> None:
    x = np.linspace(-6, 6, 53).astype(np.float32)  # Without the kinks.
    exact = x.astype(np.float64)
    slope = slope or (lambda at: (value(at + 1e-6) - value(at - 1e-6)) / 2e-6)
    kinks = [0.0, 2.0]
    inside = np.min([np.abs(exact - k) for k in kinks], axis=0) > 1e-3
    np.testing.assert_allclose(layer(Tensor(x)).asnumpy(), value(exact), rtol=2e-5, atol=1e-6)
    grad = ops.GradOperation()(layer)(Tensor(x)).asnumpy()
    np.testing.assert_allclose(grad[inside], slope(exact)[inside], rtol=2e-5, atol=1e-6)


def test_activations_and_their_gradients_at_extremes() -> None:
    x = np.array([-1e4, -90.0, 0.0, 90.0, 1e4], np.float32)
    cells = (
        nn.GELU(),
        nn.GELU(False),
        nn.FastGelu(),
        nn.ELU(),
        nn.SeLU(),
        nn.CELU(),
        nn.SiLU(),
        nn.Mish(),
        nn.HSwish(),
    )
    for cell in (*cells, nn.Softplus(), nn.LogSigmoid(), nn.Softsign(), nn.ReLU6(), nn.HSigmoid()):
        assert np.isfinite(cell(Tensor(x)).asnumpy()).all(), cell
        assert np.isfinite(ops.GradOperation()(cell)(Tensor(x)).asnumpy()).all(), cell
        assert np.isnan(cell(Tensor([float("nan")])).asnumpy()).all(), cell


@pytest.mark.parametrize("name", ["relu", "GELU", "leakyrelu", "silu", "hswish", "softmin"])
def test_activation_by_name(name: str) -> None:
    cell = nn.get_activation(name)
    assert type(cell).__name__.lower() == name.lower()
