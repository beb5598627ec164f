"""Training with a scaled loss: the sequence of scales, skipped updates, the hooks, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import graphc
from graphc import Parameter, Tensor, nn, ops
from graphc.ops.tensor.tree import flatten
from graphc.trace import trace

RNG = np.random.default_rng(3)
X, Y = RNG.normal(size=(6, 4)).astype(np.float32), RNG.normal(size=(6, 3)).astype(np.float32)
BAD = np.full_like(X, np.inf)

#: Overflow flags of twelve steps, and the scale after each: first 8, factor 2, window 2.
#: Recorded from MindSpore 2.10.
FLAGS = "001000111110"
SCALES = [8, 16, 8, 8, 16, 16, 8, 4, 2, 1, 1, 1]


def make(scale_sense: Any, optimizer: Any = None) -> nn.TrainOneStepWithLossScaleCell:
    net = nn.WithLossCell(nn.Dense(4, 3), nn.MSELoss())
    chosen = optimizer or (lambda params: nn.Momentum(params, 0.1, 0.9))
    cell = nn.TrainOneStepWithLossScaleCell(net, chosen(net.trainable_params()), scale_sense)
    return cell.set_train()  # type: ignore[return-value]


# ---- the managers


@pytest.mark.usefixtures("eager")
def test_dynamic_manager_sequence() -> None:
    manager = nn.DynamicLossScaleUpdateCell(8.0, 2, 2)
    scale = Parameter(Tensor(manager.get_loss_scale(), "float32"), name="scale_sense")
    for step, (flag, wanted) in enumerate(zip(FLAGS, SCALES, strict=True), 1):
        assert bool(manager(scale, Tensor(flag == "1"))) == (flag == "1")
        assert float(scale) == wanted
        assert int(manager.cur_iter) == step + 1
    assert scale.shape == ()


@pytest.mark.usefixtures("eager")
@pytest.mark.parametrize(
    ("first", "factor", "window", "rows"),
    [
        (4096.0, 2, 3, [(0, 4096, 2, 0), (0, 4096, 3, 0), (0, 8192, 4, 3), (0, 8192, 5, 3), (1, 4096, 6, 5)]),
        (16.0, 4, 2, [(0, 16, 2, 0), (0, 64, 3, 2), (0, 64, 4, 2), (0, 256, 5, 4), (1, 64, 6, 5), (0, 64, 7, 5)]),
        (1.0, 2, 1, [(0, 2, 2, 1), (0, 4, 3, 2), (1, 2, 4, 3), (1, 1, 5, 4), (1, 1, 6, 5), (0, 2, 7, 6)]),
    ],
)
def test_dynamic_manager_state(first: float, factor: int, window: int, rows: list[tuple[int, ...]]) -> None:
    """(flag, scale, current step, step of the last change); the first two from MindSpore 2.10."""
    manager = nn.DynamicLossScaleUpdateCell(first, factor, window)
    scale = Parameter(Tensor(first, "float32"), name="scale_sense")
    for flag, *wanted in rows:
        manager(scale, Tensor(bool(flag)))
        assert [float(scale), int(manager.cur_iter), int(manager.last_overflow_iter)] == wanted


@pytest.mark.usefixtures("eager")
def test_managers() -> None:
    dynamic = nn.DynamicLossScaleUpdateCell(loss_scale_value=212, scale_factor=2, scale_window=1000)
    assert dynamic.get_loss_scale() == 212
    assert {p.name: str(p.tensor_type) for p in dynamic.get_parameters()} == {
        "current_iterator_step": "i32[]",
        "last_overflow_iterator_step": "i32[]",
    }
    fixed = nn.FixedLossScaleUpdateCell(1024.0)
    scale = Parameter(Tensor(1024.0), name="scale_sense")
    assert bool(fixed(scale, Tensor(True)))
    assert float(scale) == fixed.get_loss_scale() == 1024.0


# ---- the step


def test_step_sequence() -> None:
    """Scales, flags and losses of twelve steps; a step that overflows changes nothing but the scale."""
    cell = make(nn.DynamicLossScaleUpdateCell(8.0, 2, 2))
    plain = make(Tensor(1.0))
    for ours, other in zip(cell.weights, plain.weights, strict=True):
        other.set_data(ours)
    good = 0
    for flag, wanted in zip(FLAGS, SCALES, strict=True):
        before = {p.name: p.asnumpy() for p in (*cell.weights, *cell.optimizer.get_parameters())}
        loss, overflow, scale = cell(Tensor(BAD if flag == "1" else X), Tensor(Y))
        assert (bool(overflow), float(scale), float(cell.scale_sense)) == (flag == "1", wanted, wanted)
        assert (overflow.shape, overflow.dtype, scale.shape) == ((), graphc.bool_, ())
        if flag == "1":
            after = {p.name: p.asnumpy() for p in (*cell.weights, *cell.optimizer.get_parameters())}
            assert all(np.array_equal(before[n], after[n]) for n in before)
        else:
            good += 1
            assert float(loss) == pytest.approx(float(plain(Tensor(X), Tensor(Y))[0]), rel=1e-5)
        assert cell.optimizer.global_step.asnumpy().tolist() == [good]
    for ours, other in zip(cell.weights, plain.weights, strict=True):
        np.testing.assert_allclose(ours.asnumpy(), other.asnumpy(), rtol=1e-5, atol=1e-6)


def test_an_overflow_of_gradients_alone() -> None:
    """The loss is finite, but its gradient times the scale is not."""
    cell = make(nn.DynamicLossScaleUpdateCell(3e38, 2, 1000), lambda params: nn.Adam(params, 0.1))
    before = [p.asnumpy() for p in cell.weights]
    loss, overflow, scale = cell(Tensor(X * 100), Tensor(Y))
    assert np.isfinite(float(loss))
    assert bool(overflow)
    assert float(scale) == pytest.approx(1.5e38)
    assert all(np.array_equal(p.asnumpy(), w) for p, w in zip(cell.weights, before, strict=True))
    assert float(cell.optimizer.beta1_power) == 1.0


@pytest.mark.parametrize(
    ("scale_sense", "type"),
    [
        (Tensor(1024.0), "f32[]"),
        (Tensor([1024.0]), "f32[1]"),
        (Tensor(1024), "i64[]"),
        (nn.FixedLossScaleUpdateCell(1024.0), "f32[]"),
    ],
)
def test_fixed_scales(scale_sense: Any, type: str) -> None:
    cell = make(scale_sense)
    weight, bias = (p.asnumpy().astype(np.float64) for p in cell.weights)
    loss, overflow, scale = cell(Tensor(X), Tensor(Y))
    assert (str(scale.tensor_type), float(scale), bool(overflow), loss.shape) == (type, 1024.0, False, ())
    assert cell.scale_sense.name == "scale_sense"
    x, y = X.astype(np.float64), Y.astype(np.float64)
    gradient = 2 * (x @ weight.T + bias - y).T @ x / y.size
    np.testing.assert_allclose(cell.weights[0].asnumpy(), weight - 0.1 * gradient, rtol=1e-4, atol=1e-5)
    _, overflow, scale = cell(Tensor(BAD), Tensor(Y))
    assert (bool(overflow), float(scale)) == (True, 1024.0)


def test_the_scale_can_be_set() -> None:
    cell = make(Tensor(2.0))
    cell(Tensor(X), Tensor(Y))
    cell.set_sense_scale(Tensor(32.0))
    assert float(cell(Tensor(X), Tensor(Y))[2]) == 32.0
    with pytest.raises(graphc.ArgumentTypeError, match="sens must be a Tensor, got float") as caught:
        cell.set_sense_scale(4.0)
    assert caught.value.code == "GC152"
    with pytest.raises(graphc.ShapeError, match=r"sens has shape \(1,\), the scale \(\)"):
        cell.set_sense_scale(Tensor([4.0]))
    cell.scale_sense.set_data(Tensor(0.0))
    cell.set_sense_scale(Tensor(8.0))  # Also from 0, which MindSpore refuses.
    assert float(cell.scale_sense) == 8.0


# ---- hooks


class OwnStep(nn.TrainOneStepWithLossScaleCell):
    """A construct of its own over the three hooks, as users of MindSpore write it."""

    def construct(self, *inputs: Any) -> Any:
        loss = self.network(*inputs)
        scaling_sens = self.scale_sense
        status, scaling_sens = self.start_overflow_check(loss, scaling_sens)
        filled = ops.ones_like(loss) * ops.cast(scaling_sens, loss.dtype)
        grads = self.grad(self.network, self.weights)(*inputs, filled)
        grads = tuple(ops.cast(g, graphc.float32) * (1 / scaling_sens) for g in grads)
        grads = self.grad_reducer(grads)
        norm = ops.sqrt(sum((ops.reduce_sum(ops.square(g)) for g in grads), Tensor(0.0)))
        cond = self.get_overflow_status(status, grads)
        overflow = self.process_loss_scale(cond)
        loss = self.update_unless(overflow, loss, grads)
        return loss, overflow, scaling_sens, norm


def test_a_subclass_reuses_the_hooks() -> None:
    wanted = make(nn.DynamicLossScaleUpdateCell(8.0, 2, 2))
    net = nn.WithLossCell(nn.Dense(4, 3), nn.MSELoss())
    own = OwnStep(net, nn.Momentum(net.trainable_params(), 0.1, 0.9), nn.DynamicLossScaleUpdateCell(8.0, 2, 2))
    for a, b in zip(own.weights, wanted.weights, strict=True):
        a.set_data(b)
    for flag in FLAGS[:5]:
        x, y = Tensor(BAD if flag == "1" else X), Tensor(Y)
        got, expected = own(x, y), wanted(x, y)
        assert (bool(got[1]), float(got[2])) == (bool(expected[1]), float(expected[2]))
        np.testing.assert_allclose(float(got[0]), float(expected[0]), rtol=1e-6)
        assert np.isfinite(float(got[3])) == (flag == "0")


def test_hooks_work_at_once() -> None:
    cell = make(Tensor(2.0))
    status, value = cell.start_overflow_check(Tensor(1.0), cell.scale_sense)
    assert status.asnumpy().tolist() == [0] * 8
    assert value is cell.scale_sense
    finite, infinite = Tensor([1.0, 2.0]), Tensor([1.0, np.inf])
    assert not bool(cell.get_overflow_status(status, (finite,)))
    assert bool(cell.get_overflow_status(status, (finite, infinite)))
    assert bool(cell.get_overflow_status(status, Tensor(np.nan)))
    assert cell.process_loss_scale(True) is True


def test_the_graph_orders_and_names_the_regions() -> None:
    cell = make(nn.DynamicLossScaleUpdateCell(8.0, 2, 2))
    graph = trace(cell, *flatten(((Tensor(X), Tensor(Y)), {}))).graph
    (clear,) = [n for n in graph if n.op.name == "ClearFloatStatus"]
    (test,) = [n for n in graph if n.op.name == "GetFloatStatus"]
    (chosen,) = [n for n in graph if n.op.name == "If"]
    assert {clear.region, test.region} == {"overflow"}
    assert clear.after
    assert test.inputs[0].node == clear.id
    assert {n.region for n in graph if n.scope.startswith("loss_scaling_manager")} == {"overflow"}
    assert {n.region for n in chosen.attrs["then"] if n.scope.endswith("optimizer")} == {"optimizer"}
    assert {n.op.name for n in chosen.attrs["then"]} >= {"Assign"}
    assert not any(n.op.name == "Assign" for n in chosen.attrs["else"])
    assert not any(n.op.name == "Assign" and n.region == "optimizer" for n in graph)


# ---- errors


@pytest.mark.parametrize(
    ("scale_sense", "error", "message"),
    [
        (1.0, TypeError, "scale_sense must be a Cell or a Tensor, got float"),
        (None, TypeError, "scale_sense must be a Cell or a Tensor, got NoneType"),
        (Tensor([1.0, 2.0]), ValueError, r"scale_sense has shape \(2,\), expected \(\) or \(1,\)"),
        (Tensor([[1.0]]), ValueError, r"scale_sense has shape \(1, 1\)"),
        (nn.ReLU(), TypeError, r"ReLU has no get_loss_scale\(\)"),
    ],
)
def test_scale_sense_is_refused(scale_sense: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message) as caught:
        make(scale_sense)
    assert isinstance(caught.value, graphc.GraphcError)
    assert caught.value.code == "GC152"


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((0, 2, 2), ValueError, "loss_scale_value must be a finite number > 0, got 0"),
        (("8", 2, 2), TypeError, "loss_scale_value must be a number, got str"),
        ((8.0, 1, 2), ValueError, "scale_factor must be a finite number > 1"),
        ((8.0, 2, 0), ValueError, "scale_window must be at least 1, got 0"),
        ((8.0, 2, 1.5), TypeError, "scale_window must be an int, got float"),
    ],
)
def test_managers_refuse(arguments: tuple[Any, ...], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        nn.DynamicLossScaleUpdateCell(*arguments)
    with pytest.raises(graphc.ArgumentValueError, match="FixedLossScaleUpdateCell: loss_scale_value must be"):
        nn.FixedLossScaleUpdateCell(-1.0)
