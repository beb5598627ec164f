"""Optimizers with torch's formulas (MindSpore: mindspore.mint.optim); their rates may be scheduled by experimental.optim."""

from __future__ import annotations

from typing import Any

from graphc.experimental.optim import SGD as _SGD
from graphc.experimental.optim import AdamW as _AdamW
from graphc.experimental.optim.optimizer import Stepping
from graphc.ops.tensor.tensor import Tensor
from graphc.signatures import accept


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
    __doc__ = _SGD.__doc__

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


__all__ = ["SGD", "Adam", "AdamW", "FusedAdamW"]

accept(globals(), __all__, __name__)
