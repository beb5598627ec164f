"""Published styles of loss-scale wrappers take the very steps of graphc's own cell: every weight, scale and flag."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graphc
from graphc import Tensor, compat, nn

RNG = np.random.default_rng(9)
X, Y = RNG.normal(size=(6, 4)).astype(np.float32), RNG.normal(size=(6, 3)).astype(np.float32)
W = RNG.normal(size=(3, 4)).astype(np.float32)
BAD = np.full_like(X, np.inf)
NAMES = (
    "Statements", "Depends", "SuccFirst", "SuccNone", "CondFirst", "Method", "Expression", "Nested", "Unused", "Early",
    "Hooks",
)  # fmt: skip


@pytest.fixture(scope="module")
def styles() -> Any:
    compat.install()
    sys.path.insert(0, str(Path(__file__).parent))
    yield importlib.import_module("loss_scale_wrappers")
    sys.path.pop(0)
    del sys.modules["loss_scale_wrappers"]
    compat.uninstall()


@pytest.fixture(autouse=True)
def graph_mode() -> Any:
    yield
    graphc.set_context(mode=graphc.GRAPH_MODE)


def made(kind: Any) -> Any:
    net = nn.WithLossCell(nn.Dense(4, 3, weight_init=Tensor(W), bias_init="zeros"), nn.MSELoss())
    optimizer = nn.Momentum(net.trainable_params(), 0.1, 0.9)
    return kind(net, optimizer, nn.DynamicLossScaleUpdateCell(8.0, 2, 2)).set_train()


def course(step: Any) -> list[list[float]]:
    """Loss, flag, scale, weights and momenta of ten steps, five of which overflow."""
    rows = []
    for flag in "0010011101":
        loss, overflow, *_ = step(Tensor(BAD if flag == "1" else X), Tensor(Y))
        scale = step.scale_sense if hasattr(step, "scale_sense") else step.loss_scale
        state = [*step.weights, *step.optimizer.moments, step.optimizer.global_step]
        numbers = np.concatenate([p.asnumpy().ravel() for p in state])
        rows.append([float(loss), float(overflow), float(scale), *map(float, numbers)])
    return rows


def test_all_styles_are_tried(styles: Any) -> None:
    assert tuple(c.__name__ for c in styles.STYLES) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_a_published_style_takes_the_same_steps(styles: Any, name: str) -> None:
    wanted = course(made(nn.TrainOneStepWithLossScaleCell))
    assert [row[1] for row in wanted] == [0, 0, 1, 0, 0, 1, 1, 1, 0, 1]
    np.testing.assert_allclose(course(made(getattr(styles, name))), wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", ["Statements", "Depends", "Hooks"])
def test_styles_in_plain_python(styles: Any, name: str) -> None:
    wanted = course(made(nn.TrainOneStepWithLossScaleCell))
    graphc.set_context(mode=graphc.PYNATIVE_MODE)
    np.testing.assert_allclose(course(made(getattr(styles, name))), wanted, rtol=1e-5, atol=1e-6)


def test_what_is_of_two_kinds_cannot_be_returned(styles: Any) -> None:
    step = made(styles.HooksWithSuccInTheResult)
    with pytest.raises(TypeError) as caught:
        graphc.compile(step, X, Y)
    text = str(caught.value)
    assert (
        "[GC122] 'succ' is the Python value False if the condition holds and a tuple of 2 if not, and is returned"
        in text
    )
    assert "loss_scale_wrappers.py" in text
    assert "help: give succ the same kind of value in both branches; ops.depend alone takes either" in text
