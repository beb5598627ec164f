"""Dense against float64 NumPy, its parameters, and the errors of inputs that do not fit."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import graphc
from graphc import Tensor, nn

pytestmark = pytest.mark.usefixtures("eager")

Array = np.ndarray[Any, np.dtype[Any]]


def random(*shape: int, seed: int = 0) -> Array:
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def names(cell: nn.Cell) -> list[str]:
    return [p.name for p in cell.get_parameters()]


@pytest.mark.parametrize("lead", [(), (1,), (6,), (2, 3), (2, 1, 4)])
@pytest.mark.parametrize("has_bias", [True, False])
def test_dense(lead: tuple[int, ...], has_bias: bool) -> None:
    layer, x = nn.Dense(5, 4, has_bias=has_bias), random(*lead, 5)
    wanted = x.astype(np.float64) @ layer.weight.asnumpy().T.astype(np.float64)
    if layer.bias is not None:
        wanted += layer.bias.asnumpy()
    got = layer.construct(Tensor(x))
    assert got.dtype == graphc.float32
    np.testing.assert_allclose(got.asnumpy(), wanted, rtol=1e-5, atol=1e-6)


def test_dense_parameters() -> None:
    layer = nn.Dense(5, 4)
    assert {p.name: p.shape for p in layer.get_parameters()} == {"weight": (4, 5), "bias": (4,)}
    assert all(p.requires_grad for p in layer.get_parameters())
    bound = 1 / math.sqrt(5)  # HeUniform(sqrt(5)): sqrt(3) * sqrt(2 / 6) / sqrt(fan_in)
    assert all(np.abs(p.asnumpy()).max() <= bound for p in layer.get_parameters())
    assert names(nn.Dense(5, 4, has_bias=False)) == ["weight"]


def test_dense_activation() -> None:
    x = random(3, 5)
    for activation, f in (("relu", lambda v: np.maximum(v, 0)), (nn.Tanh(), np.tanh)):
        layer = nn.Dense(5, 4, "normal", "ones", activation=activation)
        plain = x @ layer.weight.asnumpy().T + 1
        np.testing.assert_allclose(layer.construct(Tensor(x)).asnumpy(), f(plain), rtol=1e-5, atol=1e-6)


def test_dense_error_names_both_sides() -> None:
    net = nn.SequentialCell(nn.ReLU(), nn.Dense(5, 4))
    with pytest.raises(graphc.ShapeError) as caught:
        net[1].construct(Tensor(random(2, 3)))
    text = str(caught.value)
    assert text.splitlines()[0] == "[GC101] Dense: the last axis of x has 3 features, the layer expects 5"
    assert "net[1].construct(Tensor(random(2, 3)))" in text
    assert "x: f32[2,3]" in text
    assert "weight: 1.weight f32[4,5]" in text
    assert "help: make the layer nn.Dense(3, 4)" in text


def test_dense_does_not_promote() -> None:
    with pytest.raises(graphc.DTypeError, match="x has dtype float16, the layer's weight float32") as caught:
        nn.Dense(3, 2).construct(Tensor(random(2, 3).astype(np.float16)))
    assert caught.value.help == "cast the input: ops.cast(x, graphc.float32)"


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: nn.Dense(0, 2), ValueError, "Dense: in_channels must be at least 1, got 0"),
        (lambda: nn.Dense(2, 2.5), TypeError, "Dense: out_channels must be an int, got float"),
        (lambda: nn.Dense(True, 2), TypeError, "Dense: in_channels must be an int, got bool"),
        (lambda: nn.Dense(2, 2, has_bias=1), TypeError, "Dense: has_bias must be a bool, got int"),
        (lambda: nn.Dense(2, 2, activation="selu"), ValueError, "name must be one of 'relu'"),
        (lambda: nn.Dense(2, 2, activation=3), TypeError, "activation must be a name or a Cell, got int"),
        (lambda: nn.Dense(2, 3, Tensor(random(2, 3))), ValueError, r"init is f32\[2,3\]"),
        (lambda: nn.Dense(2, 3, bias_init=Tensor(random(2))), ValueError, r"the shape asked for is \(3,\)"),
        (lambda: nn.Dense(2, 3).construct(Tensor(1.0)), ValueError, "x has no axes"),
        (lambda: nn.Dense(2, 3).construct("x"), TypeError, "Dense: x must be a Tensor"),
    ],
)
def test_dense_refuses(make: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        make()
