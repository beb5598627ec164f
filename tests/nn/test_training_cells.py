"""Cells around a network: what they compute, compiled, against float64 NumPy; and what they refuse."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import graphc
from graphc import Parameter, Tensor, nn, ops

Array = np.ndarray[Any, np.dtype[Any]]
RNG = np.random.default_rng(3)
X, Y = RNG.normal(size=(6, 4)).astype(np.float32), RNG.normal(size=(6, 3)).astype(np.float32)


class Linear(nn.Cell):
    """x @ weight."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = Parameter(Tensor(np.random.default_rng(4).normal(size=(4, 3)).astype(np.float32)))

    def construct(self, x: Tensor) -> Tensor:
        return ops.matmul(x, self.weight)


def mse(w: Array) -> tuple[float, Array, Array]:
    """Loss of Linear with MSELoss, its gradient for the weight and for x, in float64."""
    x, y, w = (a.astype(np.float64) for a in (X, Y, w))
    d = x @ w - y
    return float((d**2).mean()), 2 * x.T @ d / d.size, 2 * d @ w.T / d.size


def with_loss(reduction: str = "mean") -> nn.WithLossCell:
    return nn.WithLossCell(Linear(), nn.MSELoss(reduction))


# ---- loss and evaluation


def test_with_loss_cell() -> None:
    net = with_loss()
    loss = net(Tensor(X), Tensor(Y))
    assert float(loss) == pytest.approx(mse(net.backbone_network.weight.asnumpy())[0], rel=1e-5)
    assert [p.name for p in net.get_parameters()] == ["weight"]
    assert isinstance(net.backbone_network, Linear)


def test_with_eval_cell() -> None:
    net = Linear()
    loss, outputs, labels = nn.WithEvalCell(net, nn.MSELoss())(Tensor(X), Tensor(Y))
    np.testing.assert_allclose(outputs.asnumpy(), X @ net.weight.asnumpy(), rtol=1e-4, atol=1e-5)
    assert float(loss) == pytest.approx(mse(net.weight.asnumpy())[0], rel=1e-5)
    assert np.array_equal(labels.asnumpy(), Y)


@pytest.mark.usefixtures("eager")
def test_with_eval_cell_casts() -> None:
    cell = nn.WithEvalCell(nn.Identity(), nn.MSELoss(), add_cast_fp32=True)
    loss, outputs, labels = cell(Tensor(X.astype(np.float16)), Tensor(X.astype(np.float16)))
    assert (loss.dtype, outputs.dtype, labels.dtype) == (graphc.float32,) * 3


# ---- one step


@pytest.mark.parametrize("sens", [None, 2.0, -0.5, 3])
def test_train_one_step(sens: float | None) -> None:
    net = with_loss()
    w = net.backbone_network.weight.asnumpy().astype(np.float64)
    cell = nn.TrainOneStepCell(net, nn.SGD(net.trainable_params(), 0.1), sens).set_train()
    for _ in range(3):
        loss, dw, _ = mse(w)
        assert float(cell(Tensor(X), Tensor(Y))) == pytest.approx(loss, rel=1e-5)
        w = w - 0.1 * (1 if sens is None else sens) * dw
        np.testing.assert_allclose(net.backbone_network.weight.asnumpy(), w, rtol=1e-4, atol=1e-5)


def test_a_loss_with_axes_is_summed() -> None:
    net = with_loss("none")
    w = net.backbone_network.weight.asnumpy().astype(np.float64)
    cell = nn.TrainOneStepCell(net, nn.SGD(net.trainable_params(), 0.01))
    loss = cell(Tensor(X), Tensor(Y))
    assert loss.shape == Y.shape
    wanted = w - 0.01 * mse(w)[1] * Y.size
    np.testing.assert_allclose(net.backbone_network.weight.asnumpy(), wanted, rtol=1e-4, atol=1e-5)


def test_return_grad() -> None:
    net = with_loss()
    w = net.backbone_network.weight.asnumpy()
    cell = nn.TrainOneStepCell(net, nn.Momentum(net.trainable_params(), 0.1, 0.9), return_grad=True)
    loss, grads = cell(Tensor(X), Tensor(Y))
    assert float(loss) == pytest.approx(mse(w)[0], rel=1e-5)
    assert list(grads) == ["weight"]
    np.testing.assert_allclose(grads["weight"].asnumpy(), mse(w)[1], rtol=1e-4, atol=1e-5)


def test_a_gradient_reducer_is_used() -> None:
    net = with_loss()
    w = net.backbone_network.weight.asnumpy().astype(np.float64)
    cell = nn.TrainOneStepCell(net, nn.SGD(net.trainable_params(), 0.1))
    cell.grad_reducer = lambda grads: tuple(g * 0.5 for g in grads)
    cell(Tensor(X), Tensor(Y))
    np.testing.assert_allclose(net.backbone_network.weight.asnumpy(), w - 0.05 * mse(w)[1], rtol=1e-4, atol=1e-5)


# ---- value and gradient


@pytest.mark.parametrize("get_all", [False, True])
@pytest.mark.parametrize("get_by_list", [False, True])
@pytest.mark.parametrize("sens_param", [False, True])
def test_forward_value_and_grad(get_all: bool, get_by_list: bool, sens_param: bool) -> None:
    net = with_loss()
    w = net.backbone_network.weight.asnumpy()
    cell = nn.ForwardValueAndGrad(net, list(net.trainable_params()), get_all, get_by_list, sens_param)
    sens = (Tensor(np.float32(3.0)),) if sens_param else ()
    loss, grads = cell(Tensor(X), Tensor(Y), *sens)
    value, dw, dx = mse(w)
    factor = 3.0 if sens_param else 1.0
    dy = -2 * (X.astype(np.float64) @ w - Y) / Y.size
    wanted: Any = (dx, dy) if get_all else dx
    if get_by_list:
        wanted = (wanted, (dw,)) if get_all else (dw,)
    assert float(loss) == pytest.approx(value, rel=1e-5)
    same_nest(grads, wanted, factor)


def same_nest(got: Any, wanted: Any, factor: float) -> None:
    if isinstance(wanted, tuple):
        assert isinstance(got, tuple)
        assert len(got) == len(wanted)
        for g, v in zip(got, wanted, strict=True):
            same_nest(g, v, factor)
    else:
        np.testing.assert_allclose(got.asnumpy(), wanted * factor, rtol=1e-4, atol=1e-5)


def test_forward_value_and_grad_of_a_function() -> None:
    value, grad = nn.ForwardValueAndGrad(lambda x: x * x * x)(Tensor(2.0))
    assert (float(value), float(grad)) == (8.0, 12.0)


# ---- errors


def momentum(net: nn.Cell) -> nn.Momentum:
    return nn.Momentum(net.trainable_params(), 0.1, 0.9)


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda n: nn.WithLossCell(n, ops.relu), TypeError, "WithLossCell: loss_fn must be a Cell, got function"),
        (lambda n: nn.WithLossCell(Linear, n), TypeError, "help: give an instance, such as Linear"),
        (lambda n: nn.WithEvalCell(n, n, 1), TypeError, "add_cast_fp32 must be a bool, got int"),
        (lambda n: nn.TrainOneStepCell(len, momentum(n)), TypeError, "network must be a Cell, got builtin"),
        (lambda n: nn.TrainOneStepCell(n, None), TypeError, "optimizer must be a Cell, got NoneType"),
        (lambda n: nn.TrainOneStepCell(n, n), TypeError, "must have a tuple `parameters`, WithLossCell has none"),
        (lambda n: nn.TrainOneStepCell(n, momentum(n), 0), ValueError, "sens must be different from 0, got 0"),
        (lambda n: nn.TrainOneStepCell(n, momentum(n), "1"), TypeError, "sens must be a number, got str"),
        (lambda n: nn.TrainOneStepCell(n, momentum(n), 1, 1), TypeError, "return_grad must be a bool"),
        (lambda n: nn.ForwardValueAndGrad(3), TypeError, "network must be a Cell, function or method, got int"),
        (lambda n: nn.ForwardValueAndGrad(n, get_all=1), TypeError, "get_all must be a bool, got int"),
        (lambda n: nn.ForwardValueAndGrad(n, sens_param=1), TypeError, "sens_param must be a bool, got int"),
        (lambda n: nn.ForwardValueAndGrad(n, get_by_list=True), TypeError, "weights must be a tuple"),
        (lambda n: nn.ForwardValueAndGrad(n, [1], get_by_list=True), TypeError, "holds Parameters, got int"),
    ],
)
def test_refused(make: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message) as caught:
        make(with_loss())
    assert isinstance(caught.value, graphc.GraphcError)


class Returns(nn.Cell):
    """Returns whatever `f` makes of x * weight."""

    def __init__(self, f: Any) -> None:
        super().__init__()
        self.f = f
        self.weight = Parameter(Tensor([1.0, 2.0]))

    def construct(self, x: Tensor) -> Any:
        return self.f(x * self.weight)


@pytest.mark.parametrize(
    ("f", "returned"),
    [
        (lambda y: (ops.reduce_sum(y), y), r"a tuple of 2: f32\[\], f32\[2\]"),
        (lambda y: {"loss": y}, "it returned dict"),
        (lambda y: None, "it returned NoneType"),
        (lambda y: ops.cast(y, graphc.int32), r"it returned i32\[2\], which has no gradient"),
    ],
)
def test_the_network_returns_one_loss(f: Any, returned: str) -> None:
    net = Returns(f)
    for cell in (
        nn.TrainOneStepCell(net, momentum(net)),
        nn.TrainOneStepWithLossScaleCell(net, momentum(net), Tensor(1.0)),
    ):
        with pytest.raises(graphc.ArgumentTypeError, match=returned) as caught:
            cell(Tensor([1.0, 1.0]))
        assert caught.value.code == "GC151"
        assert "the network Returns must return one float tensor" in caught.value.message


class TwoOptimizers(nn.Cell):
    """MindSpore's DCGAN: two networks, an optimizer each, in one step."""

    def __init__(self, one: nn.Cell, other: nn.Cell) -> None:
        super().__init__(auto_prefix=False)
        self.one, self.other = one, other
        self.first = nn.Adam(one.trainable_params(), 0.1)
        self.second = nn.Adam(other.trainable_params(), 0.1)
        self.first.update_parameters_name("optim_g.")
        self.second.update_parameters_name("optim_d.")
        self.grad = ops.GradOperation(get_by_list=True)

    def construct(self, x: Any) -> Any:
        loss = self.one(x).sum() + self.other(x).sum()
        a = self.grad(self.one, self.first.parameters)(x)
        b = self.grad(self.other, self.second.parameters)(x)
        return ops.depend(loss, (self.first(a), self.second(b)))


def test_two_optimizers_in_one_step_have_names_of_their_own():
    one, other = nn.Dense(3, 2), nn.Dense(3, 2)
    step = TwoOptimizers(one, other)
    # Recorded from MindSpore 2.10: state and weights alike get the prefix.
    assert [p.name for p in other.get_parameters()] == ["optim_d.weight", "optim_d.bias"]
    assert {"optim_d.global_step", "optim_d.moment1.weight"} <= {p.name for p in step.second.get_parameters()}
    before = [p.asnumpy() for p in (one.weight, other.weight)]
    x = Tensor(np.ones((2, 3), np.float32))
    losses = [float(step(x)) for _ in range(3)]
    assert losses[0] > losses[1] > losses[2]
    assert all((p.asnumpy() != b).all() for p, b in zip((one.weight, other.weight), before, strict=True))
