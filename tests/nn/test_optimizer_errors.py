"""Optimizers: the arguments and gradients they refuse."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import graphc
from graphc import Parameter, Tensor, nn, ops

W, B = np.full((6, 21), 0.5, np.float32), np.full(5, 0.25, np.float32)


def make_params() -> list[Parameter]:
    return [Parameter(Tensor(v), name=n) for v, n in ((W, "fc.weight"), (B, "fc.bias"))]


class DecayOfStep(nn.Cell):
    """0.1 * (step + 1)."""

    def construct(self, step: Tensor) -> Tensor:
        return 0.1 * (ops.cast(step, "float32") + 1.0)


def two(p: list[Parameter], **first: Any) -> list[dict[str, Any]]:
    return [{"params": p[:1], **first}, {"params": p[1:]}]


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda p: nn.SGD([*two(p), p[0]]), TypeError, "must be all Parameters or all groups"),
        (lambda p: nn.SGD(two(p, rate=1)), KeyError, "group 0 has the key 'rate', known are params, lr, weight_decay"),
        (lambda p: nn.SGD([*p, p[0]]), ValueError, "SGD: parameter 'fc.weight' is given twice"),
        (lambda p: nn.Adam(p + p), ValueError, "Adam: parameter 'fc.weight' is given twice"),
        (lambda p: nn.ASGD(p + p), ValueError, "ASGD: parameter 'fc.weight' is given twice"),
        (lambda p: nn.SGD([{"lr": 0.1}]), KeyError, "group 0 has no 'params'"),
        (lambda p: nn.SGD([*two(p), {"params": p[:1]}]), RuntimeError, "'fc.weight' is in group 0 and in group 2"),
        (lambda p: nn.SGD([*two(p), {"order_params": p[:1]}]), ValueError, "must hold each of the 2 parameters"),
        (lambda p: nn.SGD([*two(p), {"order_params": [p[0], p[0]]}]), ValueError, "must hold each of the 2 parameters"),
        (lambda p: nn.SGD([*two(p), {"order_params": p, "lr": 1}]), ValueError, "'order_params' must be alone"),
        (lambda p: nn.SGD([*two(p), {"order_params": 3}]), TypeError, "'order_params' must be a list of Parameters"),
        (lambda p: nn.SGD([{"order_params": p}]), ValueError, "no group has parameters"),
        (lambda p: nn.SGD([{"params": []}]), ValueError, "there are no parameters to optimize"),
        (lambda p: nn.SGD([{"params": p[0]}]), TypeError, "'params' of group 0 must be a list of Parameters"),
        (lambda p: nn.SGD([{"params": [1]}]), TypeError, "parameters must be Parameters, got int"),
        (lambda p: nn.SGD({"params": p}), TypeError, "parameters must be a list of Parameters, got dict"),
        (lambda p: nn.SGD(None), ValueError, "parameters must not be None"),
        (lambda p: nn.SGD(two(p, lr=-1.0)), ValueError, "learning_rate must be a finite number >= 0, got -1.0"),
        (lambda p: nn.SGD(two(p, lr=[0.1]), [0.1, 0.2]), ValueError, "lists of learning rates differ in length: 1, 2"),
        (lambda p: nn.SGD(two(p, weight_decay="a")), TypeError, "weight_decay must be a number or a Cell, got str"),
        (lambda p: nn.SGD(two(p, grad_centralization=1)), TypeError, "grad_centralization must be a bool"),
        (
            lambda p: nn.SGD(two(p, weight_decay=DecayOfStep())),
            TypeError,
            "SGD: weight_decay must be a number, not a Cell",
        ),
        (lambda p: nn.SGD(p, weight_decay=DecayOfStep()), TypeError, "SGD: weight_decay must be a number, not a Cell"),
        (lambda p: nn.SGD(p, []), ValueError, r"must have one axis with a rate per step, it has shape \(0,\)"),
        (lambda p: nn.SGD(p, Tensor([[0.1]])), ValueError, r"it has shape \(1, 1\)"),
        (lambda p: nn.SGD(p, [0.1, "a"]), TypeError, "must list one number per step, the list holds str"),
        (lambda p: nn.SGD(p, ["0.1"]), TypeError, "must list one number per step, the list holds str"),
        (
            lambda p: nn.Optimizer(p, 0.1),
            TypeError,
            r"the list holds Parameter(.|\n)*super\(\).__init__\(learning_rate, par",
        ),
        (lambda p: nn.SGD(p, [0.1, -0.1]), ValueError, r"learning_rate\[1\] must be a finite number >= 0, got -0.1"),
        (
            lambda p: nn.SGD(p, [0.1, float("nan")]),
            ValueError,
            r"learning_rate\[1\] must be a finite number >= 0, got nan",
        ),
        (lambda p: nn.SGD(p, {0.1: 1}), TypeError, "a list of numbers or a LearningRateSchedule, got dict"),
        (lambda p: nn.SGD(p, None), TypeError, "got NoneType"),
        (lambda p: nn.SGD(p).get_lr_parameter(1), TypeError, "param must be a Parameter or a list of them, got int"),
        (lambda p: nn.SGD(p).get_lr_parameter(make_params()[0]), ValueError, r"fc.weight f32\[6,21\] does not belong"),
        (lambda p: nn.FTRL(p, learning_rate=[0.1, 0.2]), ValueError, "FTRL: the learning rate must be one float"),
        (lambda p: nn.FTRL(two(p, lr=0.1)), ValueError, "FTRL: the learning rate must be one float"),
        (lambda p: nn.FTRL(p, learning_rate=1), TypeError, "learning_rate must be a float, got int"),
        (lambda p: nn.FTRL(p, lr_power=0.5), ValueError, "lr_power must be at most 0, got 0.5"),
        (lambda p: nn.FTRL(p, l1=-0.5), ValueError, "l1 must be a finite number >= 0"),
        (lambda p: nn.Adagrad(p, 1), TypeError, "accum must be a float, got int"),
        (lambda p: nn.Adagrad(p, update_slots=1), TypeError, "update_slots must be a bool"),
        (lambda p: nn.Adadelta(p, rho=1.5), ValueError, "rho must be at most 1, got 1.5"),
        (lambda p: nn.Adadelta(p, epsilon=-1.0), ValueError, "epsilon must be a finite number >= 0"),
        (lambda p: nn.RMSProp(p, decay=1), TypeError, "decay must be a float"),
        (lambda p: nn.RMSProp(p, epsilon=0.0), ValueError, "epsilon must be a finite number > 0"),
        (lambda p: nn.RMSProp(p, centered=None), TypeError, "centered must be a bool"),
        (lambda p: nn.AdaMax(p, beta1=0.0), ValueError, "AdaMax: beta1 must be between 0 and 1"),
        (lambda p: nn.AdamWeightDecay(p, eps=1), TypeError, "AdamWeightDecay: eps must be a float"),
        (lambda p: nn.AdamW(p, betas=0.9), TypeError, "betas must be a tuple of two floats, got float"),
        (lambda p: nn.AdamW(p, betas=(0.9,)), ValueError, "betas must be two floats"),
        (lambda p: nn.AdamW(p, betas=(0.9, 1.0)), ValueError, "AdamW: beta2 must be between 0 and 1, got 1.0"),
        (lambda p: nn.Lamb(p, 0.1, beta1=1), TypeError, "Lamb: beta1 must be a float, got int"),
        (lambda p: nn.ASGD(p, lambd=1), TypeError, "lambd must be a float"),
        (lambda p: nn.Rprop(p, etas=[0.5, 1.2]), TypeError, "etas must be a tuple of two floats, got list"),
        (lambda p: nn.Rprop(p, etas=(0.5, 1.0)), ValueError, r"etas\[1\] must be a finite number > 1, got 1.0"),
        (lambda p: nn.Rprop(p, step_sizes=(0.5, 0.1)), ValueError, r"step_sizes\[1\] must be a finite number >= 0.5"),
        (lambda p: nn.LARS(p), TypeError, "LARS: optimizer must be an Optimizer, got list"),
        (lambda p: nn.LARS(nn.SGD(p), epsilon=1), TypeError, "epsilon must be a float, got int"),
    ],
)
def test_refused(make: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message) as caught:
        make(make_params())
    assert isinstance(caught.value, graphc.GraphcError)
    assert caught.value.loc is None or caught.value.loc.file.endswith("test_optimizer_errors.py")


@pytest.mark.parametrize("name", ["AdamWeightDecay", "RMSProp", "Rprop"])
def test_gradients_that_do_not_fit_change_nothing(name: str) -> None:
    params = make_params()
    optimizer = getattr(nn, name)(params)
    w, b = map(Tensor, (W, B))
    with pytest.raises(graphc.ShapeError, match=r"gradient of fc.weight is f32\[5\], the parameter f32\[6,21\]"):
        optimizer((b, w))
    with pytest.raises(graphc.ArgumentValueError, match="got 1 gradients for 2 parameters"):
        optimizer((w,))
    assert np.array_equal(params[0].asnumpy(), W)
    assert optimizer.global_step.asnumpy().tolist() == [0]
