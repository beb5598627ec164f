"""Clipping against what MindSpore and MindFormers computed, compiled and at once, and its errors."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graphc
from graphc import Tensor, nn, ops

DATA = Path(__file__).parents[1] / "data"
CASES = json.loads((DATA / "ms_learning_rates.json").read_text())["clip"]


class Call(nn.Cell):
    """A function as a cell."""

    def __init__(self, fn: Any, args: dict[str, Any]) -> None:
        super().__init__()
        self.fn, self.args = fn, args

    def construct(self, x: Any) -> Any:
        return self.fn(x, **self.args)


def label(case: dict[str, Any]) -> str:
    return f"{case['name']}-{case['args']}-{case['x']}-{case['dtype']}"


def check(case: dict[str, Any], made: Any) -> None:
    flat = [*made[0], made[1]] if case["name"] == "ClipGradNorm" else made
    flat = flat if isinstance(flat, (tuple, list)) else [flat]
    assert len(flat) == len(case["made"])
    rtol = 2e-3 if case["dtype"] == "float16" else 2e-5
    for got, wanted in zip(flat, case["made"], strict=True):
        array = got.asnumpy().astype(np.float64)
        assert array.shape == np.shape(wanted)
        np.testing.assert_allclose(array, np.array(wanted, np.float64), rtol=rtol, atol=1e-7)


def run(case: dict[str, Any], x: tuple[Tensor, ...], compiled: bool) -> Any:
    args = dict(case["args"])
    if case["name"] == "ClipByNorm":
        limit = Tensor(args.pop("clip_norm"), "float32")
        cell = nn.ClipByNorm(**args)
        return cell(x[0], limit) if compiled else cell.construct(x[0], limit)
    if case["name"] == "ClipGradNorm":
        cell = nn.ClipGradNorm(**args)
        return cell(x) if compiled else cell.construct(x)
    fn = getattr(ops, case["name"])
    return Call(fn, args)(x) if compiled else fn(x, **args)


@pytest.mark.parametrize("case", CASES, ids=label)
def test_as_recorded_at_once(case: dict[str, Any]) -> None:
    with np.errstate(over="ignore", invalid="ignore"):
        x = tuple(Tensor(np.array(v, case["dtype"])) for v in case["x"])
        made = run(case, x, compiled=False)
    check(case, made)
    if case["name"] in ("clip_by_value", "clip_by_global_norm"):
        assert all(m.dtype == t.dtype for m, t in zip(made, x, strict=True))


@pytest.mark.parametrize("case", CASES, ids=label)
def test_as_recorded_compiled(case: dict[str, Any]) -> None:
    check(case, run(case, tuple(Tensor(np.array(v, case["dtype"])) for v in case["x"]), compiled=True))


def test_nests_come_back_as_they_went_in() -> None:
    x, y = Tensor([3.0, 4.0]), Tensor([[12.0]])
    for clip, kind in (
        (lambda t: ops.clip_by_global_norm(t, 1.0), list),
        (lambda t: ops.clip_by_norm(t, 1.0), tuple),  # As MindSpore's, and the next.
        (lambda t: ops.clip_by_value(t, 0, 1), tuple),
    ):
        assert isinstance(clip(x), Tensor)
        made = clip((x, y))
        assert isinstance(made, tuple)
        assert [m.shape for m in made] == [(2,), (1, 1)]
        made = clip([x, y])
        assert isinstance(made, kind)
        assert [m.shape for m in made] == [(2,), (1, 1)]


def test_value_bounds() -> None:
    x = Tensor([-2.0, 0.5, math.nan, 3.0])
    np.testing.assert_array_equal(ops.clip_by_value(x, -1.0, 1).asnumpy(), [-1.0, 0.5, math.nan, 1.0])
    np.testing.assert_array_equal(ops.clip_by_value(x, clip_value_max=1.0).asnumpy(), [-2.0, 0.5, math.nan, 1.0])
    np.testing.assert_array_equal(ops.clip_by_value(x, Tensor(0.0)).asnumpy(), [0.0, 0.5, math.nan, 3.0])
    np.testing.assert_array_equal(ops.clip_by_value(x, 2.0, 1.0).asnumpy()[[0, 3]], [1.0, 1.0])
    bounds = Tensor([[0.0], [1.0]])
    assert ops.clip_by_value(x, bounds).shape == (2, 4)
    whole = ops.clip_by_value(Tensor([1, 5, 9], "int32"), 2.9, 8.1)
    assert whole.tensor_type.dtype == "int32"
    assert whole.asnumpy().tolist() == [2, 5, 8]


def test_gradient_of_clipped_values_is_zero_outside() -> None:
    grad = ops.GradOperation()(lambda x: ops.clip_by_value(x, 0.0, 1.0) * Tensor([2.0, 3.0, 4.0]))
    assert grad(Tensor([-1.0, 0.5, 2.0])).asnumpy().tolist() == [0.0, 3.0, 0.0]


@pytest.mark.parametrize("limit", [1.0, 2.0])
def test_norms_are_held_and_directions_kept(limit: float) -> None:
    rng = np.random.default_rng(3)
    x = [rng.normal(size=s).astype(np.float32) * 5 for s in ((3, 4), (7,), ())]
    norm = math.sqrt(sum(float((v.astype(np.float64) ** 2).sum()) for v in x))
    tensors = tuple(map(Tensor, x))
    for made in (
        ops.clip_by_global_norm(tensors, limit),
        ops.clip_by_norm(tensors, limit),
        nn.ClipGradNorm(limit)(tensors)[0],
    ):
        for got, v in zip(made, x, strict=True):
            np.testing.assert_allclose(got.asnumpy(), v * limit / norm, rtol=1e-5)
    assert float(nn.ClipGradNorm(limit)(tensors)[1]) == pytest.approx(norm, rel=1e-6)


def test_a_training_step_with_clipping() -> None:
    class Clipped(nn.TrainOneStepCell):
        def __init__(self, network: nn.Cell, optimizer: nn.Optimizer) -> None:
            super().__init__(network, optimizer)
            self.clip = nn.ClipGradNorm(0.5)

        def construct(self, *inputs: Tensor) -> Any:
            loss = self.network(*inputs)
            grads, norm = self.clip(self.grad(self.network, self.weights)(*inputs, ops.ones_like(loss)))
            return ops.depend(loss, self.optimizer(grads)), norm

    net = nn.Dense(4, 3)
    before = [p.asnumpy() for p in net.trainable_params()]
    cell = Clipped(nn.WithLossCell(net, nn.MSELoss()), nn.SGD(net.trainable_params(), 1.0))
    rng = np.random.default_rng(4)
    x, y = (Tensor(rng.normal(size=(8, n)).astype(np.float32) * 9) for n in (4, 3))
    _, norm = cell(x, y)
    moved = [p.asnumpy() - b for p, b in zip(net.trainable_params(), before, strict=True)]
    assert float(norm) > 5.0
    assert math.sqrt(sum(float((m**2).sum()) for m in moved)) == pytest.approx(0.5, rel=1e-4)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda x: ops.clip_by_value(x), ValueError, "clip_by_value: a lower or an upper bound must be given"),
        (lambda x: ops.clip_by_value(x, "0"), TypeError, "clip_value_min must be a Tensor, a number or None, got str"),
        (lambda x: ops.clip_by_value(1.0, 0), TypeError, "x must be a Tensor or a tuple or list of Tensors, got float"),
        (lambda x: ops.clip_by_value((x, 1.0), 0), TypeError, "x must hold Tensors only, got a tuple of Tensor, float"),
        (lambda x: ops.clip_by_global_norm(()), ValueError, "clip_by_global_norm: x holds no tensors"),
        (lambda x: ops.clip_by_global_norm((x,), 0), ValueError, "clip_norm must be greater than 0, got 0"),
        (lambda x: ops.clip_by_global_norm((x,), math.nan), ValueError, "clip_norm must be greater than 0, got nan"),
        (lambda x: ops.clip_by_global_norm((x,), "1"), TypeError, "clip_norm must be a number, got str"),
        (lambda x: ops.clip_by_global_norm((x,), 1.0, 2.0), ValueError, "use_norm must be None, got 2.0"),
        (lambda x: ops.clip_by_norm(x, True), TypeError, "max_norm must be a number, got bool"),
        (
            lambda x: ops.clip_by_norm(x * math.inf, 1.0, error_if_nonfinite=True),
            RuntimeError,
            "the norm of order 2 is inf",
        ),
        (
            lambda x: Call(ops.clip_by_norm, {"max_norm": 1.0, "error_if_nonfinite": True})(x),
            ValueError,
            "inside a compiled",
        ),
        (lambda x: nn.ClipByNorm(1.0), TypeError, "axis must be an int, a tuple of ints or None, got float"),
        (
            lambda x: nn.ClipByNorm()(Tensor([1], "int32"), Tensor(1.0)),
            TypeError,
            "ClipByNorm: x must be a float Tensor",
        ),
        (lambda x: nn.ClipGradNorm(0.0), ValueError, "max_norm must be a finite number > 0, got 0.0"),
        (lambda x: nn.ClipGradNorm(1.0, 1.0), ValueError, "use_norm must be None, got 1.0"),
        (lambda x: nn.ClipGradNorm()(x), TypeError, "ClipGradNorm: x must be a tuple of Tensors"),
    ],
)
def test_refused(call: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message) as caught:
        call(Tensor([1.0, 2.0]))
    assert isinstance(caught.value, graphc.GraphcError)
    assert caught.value.loc is None or caught.value.loc.file.endswith("test_clip.py")


def test_a_bool_is_no_bound() -> None:
    for a, bounds in ((Tensor([True]), (0, 1)), (Tensor([1]), (False, 1)), (Tensor([1.0]), (None, Tensor(True)))):
        with pytest.raises(graphc.ArgumentValueError, match="a bool has no order"):
            ops.clamp(a, *bounds)
