"""Dropout: its masks, and the random state they are made from."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import graphc
from graphc import Parameter, Tensor, nn, ops
from graphc.ops.declared.random import mix64
from graphc.ops.tensor.seed import new_state

Array = np.ndarray[Any, np.dtype[Any]]


def random(*shape: int, seed: int = 0) -> Array:
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def mask(layer: nn.Dropout, shape: tuple[int, ...]) -> Array:
    return np.asarray(layer(Tensor(np.ones(shape, np.float32))).asnumpy())


@pytest.fixture
def seeded() -> None:
    graphc.set_seed(3)


@pytest.mark.usefixtures("seeded")
@pytest.mark.parametrize("p", [0.1, 0.5, 0.9])
def test_dropout_keeps_the_right_share_and_scales_it(p: float) -> None:
    layer = nn.Dropout(p=p)
    layer.set_train()
    y = mask(layer, (300, 700))
    np.testing.assert_allclose(np.unique(y), [0, 1 / (1 - p)], rtol=1e-6)
    # Five standard deviations of a binomial share.
    assert abs((y == 0).mean() - p) < 5 * np.sqrt(p * (1 - p) / y.size)
    for axis in (0, 1):
        share = (y == 0).mean(axis)
        assert np.abs(share - p).max() < 6 * np.sqrt(p * (1 - p) / y.shape[axis])


@pytest.mark.usefixtures("seeded")
def test_masks_of_steps_and_layers_are_unrelated() -> None:
    first, second = nn.Dropout(p=0.5), nn.Dropout(p=0.5)
    masks = []
    for layer in (first, second):
        layer.set_train()
        masks += [mask(layer, (200, 300)).ravel() - 1 for _ in range(3)]
    correlation = np.corrcoef(masks)
    np.testing.assert_allclose(correlation, np.eye(6), atol=5 / np.sqrt(masks[0].size))
    # Nor is one mask another one moved along.
    for shift in (1, 300, 16):
        assert abs(np.mean(masks[0][shift:] * masks[1][:-shift])) < 5 / np.sqrt(masks[0].size)


def test_same_seed_same_masks_in_every_mode(monkeypatch: pytest.MonkeyPatch) -> None:
    def masks() -> Array:
        graphc.set_seed(11)
        layer = nn.Dropout(p=0.4)
        layer.set_train()
        return np.stack([mask(layer, (5, 33)) for _ in range(2)])

    native = masks()
    np.testing.assert_array_equal(masks(), native)
    graphc.set_seed(12)
    other = nn.Dropout(p=0.4)
    other.set_train()
    assert (mask(other, (5, 33)) != native[0]).any()
    from graphc import dispatch

    monkeypatch.setattr(dispatch, "execute_cell", lambda cell, args, kwargs: cell.construct(*args, **kwargs))
    np.testing.assert_array_equal(masks(), native)


def test_initial_weights_do_not_depend_on_dropout() -> None:
    graphc.set_seed(5)
    plain = nn.Dense(3, 4).weight.asnumpy()
    graphc.set_seed(5)
    nn.Dropout(p=0.5)
    np.testing.assert_array_equal(nn.Dense(3, 4).weight.asnumpy(), plain)


def test_dropout_is_identity_in_evaluation_and_for_p_0() -> None:
    x = random(3, 4)
    for layer, train in ((nn.Dropout(p=0.5), False), (nn.Dropout(p=0.0), True), (nn.Dropout(1.0), True)):
        layer.set_train(train)
        before = layer.state.asnumpy()
        np.testing.assert_array_equal(layer(Tensor(x)).asnumpy(), x)
        assert layer.state.asnumpy() == before


def test_dropout_has_no_parameters_but_its_state_can_be_kept() -> None:
    layer = nn.Dropout()
    assert list(layer.get_parameters()) == []
    assert repr(layer) == "Dropout(keep_prob=0.5)"
    assert repr(nn.Dropout(p=0.3)) == "Dropout(p=0.3)"
    layer.set_train()
    state = layer.state.asnumpy()
    first = mask(layer, (4, 5))
    assert layer.state.asnumpy() == state + 1
    layer.state.set_data(state)
    np.testing.assert_array_equal(mask(layer, (4, 5)), first)


def test_states_of_layers_made_after_the_same_seed_have_different_names() -> None:
    graphc.set_seed(1)
    first = new_state("Dropout")
    graphc.set_seed(1)
    second = new_state("Dropout")
    assert first.asnumpy() == second.asnumpy()
    assert first.name != second.name


def test_key_of_splitmix64() -> None:
    # The first two outputs of SplitMix64 for state 1234567 (published test vector of the generator).
    gamma = 0x9E3779B97F4A7C15
    outputs = [mix64(1234567 + i * gamma) % 2**64 for i in range(2)]
    assert outputs == [6457827717110365317, 3203168211198807973]


class Noisy(nn.Cell):
    """A network whose mask shows: the output is its only multiplier of the weight."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = Parameter(np.ones((6, 40), np.float32), name="weight")
        self.drop = nn.Dropout(p=0.5)
        self.norm = nn.BatchNorm1d(40)

    def construct(self, x: Any) -> Any:
        return self.drop(x * self.weight), self.norm(x)


class NoisyLoss(nn.Cell):
    def __init__(self, net: nn.Cell) -> None:
        super().__init__()
        self.net = net

    def construct(self, x: Any) -> Any:
        a, b = self.net(x)
        return ops.reduce_sum(a) + ops.reduce_sum(b) * 0.0


@pytest.mark.parametrize("scale", [2.0, 3e38])
def test_one_forward_per_step(scale: float) -> None:
    """Forward and backward see the same mask; state and statistics move once, on overflow steps too."""
    net = Noisy()
    net.norm.moving_mean.set_data(np.full(40, 2.0, np.float32))
    optimizer = nn.SGD([net.weight], 1.0)
    manager = nn.FixedLossScaleUpdateCell(scale)
    step = nn.TrainOneStepWithLossScaleCell(NoisyLoss(net), optimizer, manager)
    step.set_train()
    x = np.full((6, 40), 3.0, np.float32)
    state, weight = net.drop.state.asnumpy(), net.weight.asnumpy()
    loss, overflow, _ = step(Tensor(x))
    assert bool(overflow.asnumpy()) == (scale > 2)
    assert net.drop.state.asnumpy() == state + 1
    np.testing.assert_allclose(net.norm.moving_mean.asnumpy(), 0.9 * 2 + 0.1 * 3, rtol=1e-6)
    kept = float(loss.asnumpy()) / 6  # 3 / keep_prob each
    assert kept == pytest.approx(round(kept))
    moved = weight - net.weight.asnumpy()
    if scale > 2:
        assert not moved.any()
    else:
        np.testing.assert_allclose(np.unique(moved), [0, 6])
        assert int((moved > 0).sum()) == round(kept)


def test_whole_channels_are_dropped():
    layer = nn.Dropout2d(p=0.5)
    x = Tensor(np.ones((8, 8, 3, 3), np.float32))
    assert (layer(x).asnumpy() == 1).all()
    layer.set_train()
    sums = layer(x).asnumpy().sum((2, 3))
    assert set(np.unique(sums)) == {0.0, 18.0}
