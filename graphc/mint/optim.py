"""Optimizers with torch's formulas (MindSpore: mindspore.mint.optim); their rates may be scheduled by experimental.optim."""

from __future__ import annotations

from typing import Any

from graphc import ops
from graphc.experimental.optim import SGD as _SGD
from graphc.experimental.optim import AdamW as _AdamW
from graphc.experimental.optim.optimizer import Stepping
from graphc.ops.tensor.tensor import Tensor
from graphc.validation.signatures import accept


class AdamW(_AdamW):
    __doc__ = _AdamW.__doc__


class FusedAdamW(_AdamW):
    __doc__ = f"AdamW: each parameter is one loop anyway. {_AdamW.__doc__}"


class Adam(_AdamW):
    """w -= lr / (1 - beta1**t) * m / (sqrt(v) / sqrt(1 - beta2**t) + eps), weight_decay * w added to g (Kingma and Ba, 2015).

    eps stands beside the corrected root, unlike in nn.Adam. Arguments and state: see AdamW.
    """

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
    ) -> None:
        super().__init__(params, lr, betas, eps, weight_decay, amsgrad, maximize=maximize)

    def decays(self, group: dict[str, Any]) -> float:
        return Stepping.decays(self, group)

    def prepare(self, group: dict[str, Any], lr: Tensor, step: Any) -> Any:
        _, rate, correction = super().prepare(group, lr, step)
        return 1.0, rate, correction


class SGD(_SGD):
    """w -= lr * g; with momentum v = momentum * v + (1 - dampening) * g; w -= lr * v. The first step takes v = g.

    With nesterov w -= lr * (g + momentum * v), for which momentum must be positive and dampening 0. weight_decay * w is added to
    g, maximize takes -g. State: "momentum_buf.<parameter>" (v), "step_t" (int32). See Optimizer for the rest.
    """

    counter = "step_t"

    def __init__(
        self,
        params: Any,
        lr: Any,
        momentum: float = 0,
        dampening: float = 0,
        weight_decay: float = 0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
    ) -> None:
        super().__init__(params, lr, momentum, dampening, weight_decay, nesterov, maximize=maximize)

    def remember(self) -> None:
        self.keep("momentum_buf")

    def prepare(self, group: dict[str, Any], lr: Tensor, step: Any) -> Any:
        return lr, step

    def update(self, index: int, gradient: Tensor, group: dict[str, Any], numbers: Any) -> tuple[Tensor, ...]:
        rate, step = numbers
        if not group["momentum"]:
            weight = self.parameters[index]
            return (ops.assign(weight, weight - rate * gradient),)
        return self.moved(index, gradient, group, (rate, self.momentum_buf[index], step <= 1))


__all__ = ["SGD", "Adam", "AdamW", "FusedAdamW"]

accept(globals(), __all__, __name__)
