"""A run that is saved and continued in a new program gives the bits of one that was not interrupted."""

from __future__ import annotations

import json

import numpy as np
import pytest

import graphc
from graphc import Parameter, Tensor, load_checkpoint, load_param_into_net, nn, ops, save_checkpoint
from graphc.errors import ArgumentTypeError, ArgumentValueError
from graphc.ops.tensor import seed

DATA = np.random.RandomState(0).standard_normal((64, 4)).astype(np.float32)


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.first = nn.Dense(4, 8)
        self.drop = nn.Dropout(p=0.5)
        self.norm = nn.BatchNorm1d(8)
        self.last = nn.Dense(8, 1)

    def construct(self, x):
        x = self.norm(self.drop(self.first(x)))
        # Half of the losses overflow at the first scales.
        return ops.reduce_mean(self.last(ops.dropout(x, p=0.25)) ** 2) * 1e20


class Batches:
    """An iterator over batches in random order, with a position: the contract of data sets' iterators."""

    def __init__(self, start=1):
        self.random, self.epoch, self.place, self.order = np.random.RandomState(start), 0, 0, []

    def state_dict(self):
        keys = self.random.get_state()
        return {
            "epoch": self.epoch,
            "place": self.place,
            "order": list(self.order),
            "random": [keys[1].tolist(), keys[2]],
        }

    def load_state_dict(self, state):
        self.epoch, self.place, self.order = state["epoch"], state["place"], state["order"]
        self.random.set_state(("MT19937", np.array(state["random"][0], np.uint32), state["random"][1]))

    def __next__(self):
        if self.place == len(self.order):
            self.order, self.place, self.epoch = self.random.permutation(4).tolist(), 0, self.epoch + 1
        self.place += 1
        return Tensor(DATA[16 * self.order[self.place - 1] :][:16])


def program(start):
    """What a script makes before it trains."""
    graphc.set_seed(start)
    net = Net()
    optimizer = nn.AdamWeightDecay(net.trainable_params(), nn.exponential_decay_lr(0.01, 0.9, 20, 2, 1))
    update = nn.DynamicLossScaleUpdateCell(2.0**100, 2, 2)
    return nn.TrainOneStepWithLossScaleCell(net, optimizer, update).set_train(), Batches(start)


def trained(step, batches, count):
    bits = []
    for _ in range(count):
        bits.append(b"".join(r.asnumpy().tobytes() for r in step(next(batches))))
        bits.append(ops.standard_normal((2,)).asnumpy().tobytes() + np.random.rand(2).tobytes())
    return bits


@pytest.mark.parametrize("suffix", ["ckpt", "safetensors"])
def test_a_run_continues_bit_for_bit(tmp_path, suffix):
    path = tmp_path / f"run.{suffix}"
    step, batches = program(3)
    trained(step, batches, 6)
    position = {"step_num": 6, "dataset": batches.state_dict(), "random": graphc.get_rng_state()}
    save_checkpoint(step, path, append_dict=position, async_save=True)
    expected = trained(step, batches, 6)
    weights = {p.name: p.asnumpy().tobytes() for p in step.get_parameters()}

    step, batches = program(99)
    trained(step, batches, 2)  # Whatever it has done before.
    state = load_checkpoint(path)
    graphc.set_rng_state(state.pop("random"))
    batches.load_state_dict(state.pop("dataset"))
    assert state.pop("step_num").item() == 6
    assert load_param_into_net(step, state, strict_load=True) == ([], [])
    assert trained(step, batches, 6) == expected
    assert {p.name: p.asnumpy().tobytes() for p in step.get_parameters()} == weights
    assert len(set(expected)) == 12


# ---- the program's random state


def draws():
    return [ops.standard_normal((3,)), ops.standard_normal((3,), seed=7), nn.Dense(2, 2).weight, np.random.randn(3)]


def test_the_random_state_is_all_that_later_numbers_depend_on():
    graphc.set_seed(5)
    np.random.randn()  # One normal number of a pair is kept for later.
    ops.standard_normal((2,), seed=7)
    state = graphc.get_rng_state()
    assert (str(state.dtype), state.ndim) == ("UInt8", 1)
    layer = nn.Dropout(p=0.5).state.item()
    first = [np.asarray(a).tobytes() for a in draws()]
    graphc.set_seed(6)
    draws()
    ops.standard_normal((2,), seed=8)
    graphc.set_rng_state(state)
    assert graphc.get_seed() == 5
    assert nn.Dropout(p=0.5).state.item() == layer
    assert [np.asarray(a).tobytes() for a in draws()] == first
    graphc.set_seed(5)
    fresh = ops.standard_normal((2,), seed=8).asnumpy()
    graphc.set_rng_state(state)  # A generator that the state does not know starts from its seed.
    np.testing.assert_array_equal(ops.standard_normal((2,), seed=8).asnumpy(), fresh)


def test_a_state_that_is_none_changes_nothing():
    graphc.set_seed(5)
    state = graphc.get_rng_state()
    whole = json.loads(state.asnumpy().tobytes())
    wrong = [b"", b"{}", b"[", b"\xff", state.asnumpy().tobytes()[:-2]]
    for changed in (
        {"seed": "1"}, {"made": None}, {"functions": [[None]]}, {"functions": [["x", 1]]}, {"functions": [[None, 1 << 70]]},
        {"numpy": {}}, {"numpy": {**whole["numpy"], "state": {"key": [1], "pos": 0}}},
        {"numpy": {**whole["numpy"], "state": {**whole["numpy"]["state"], "pos": 625}}},
    ):  # fmt: skip
        wrong.append(json.dumps({**whole, **changed}).encode())
    for data in wrong:
        with pytest.raises(ArgumentValueError, match="no state that get_rng_state returned"):
            graphc.set_rng_state(Tensor(np.frombuffer(data, np.uint8)))
    with pytest.raises(ArgumentValueError, match="no state"):
        graphc.set_rng_state(Tensor(state.asnumpy().astype(np.float32)))
    with pytest.raises(ArgumentTypeError, match="must be a Tensor"):
        graphc.set_rng_state(state.asnumpy())
    assert graphc.get_rng_state().asnumpy().tobytes() == state.asnumpy().tobytes()


def test_another_generator_of_numpys_cannot_be_kept(monkeypatch):
    monkeypatch.setattr(seed.np.random, "get_state", lambda legacy: {"bit_generator": "PCG64"})
    with pytest.raises(ArgumentValueError, match="PCG64, not MT19937"):
        graphc.get_rng_state()


def test_a_parameter_is_read_without_a_second_copy(tmp_path):
    import tracemalloc

    save_checkpoint({"x": Parameter(np.zeros(8 << 20, np.uint8), name="x")}, tmp_path / "a.ckpt")
    tracemalloc.start()
    try:
        load_checkpoint(tmp_path / "a.ckpt")
        assert tracemalloc.get_traced_memory()[1] < 9 << 20
    finally:
        tracemalloc.stop()
