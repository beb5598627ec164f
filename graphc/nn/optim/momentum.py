"""Gradient descent with momentum."""

from __future__ import annotations

from typing import Any

from graphc import ops
from graphc.nn import checks
from graphc.nn.optim.base import Optimizer
from graphc.nn.optim.sharding import by_element
from graphc.ops.tensor.parameter import Parameter
from graphc.ops.tensor.tensor import Tensor


class Momentum(Optimizer):
    """v = momentum * v + g; w -= lr * v (MindSpore: nn.Momentum).

    With use_nesterov w -= lr * (g + momentum * v), as documented (MindSpore's CPU kernel ignores the flag).
    momentum: a float >= 0 (an int is refused), kept as Parameter "momentum". State: "moments.<parameter>".
    Further arguments and errors: see Optimizer.
    """

    def __init__(
        self,
        params: Any,
        learning_rate: Any,
        momentum: float,
        weight_decay: Any = 0.0,
        loss_scale: float = 1.0,
        use_nesterov: bool = False,
    ) -> None:
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        if not isinstance(momentum, float):
            raise checks.wrong_type("Momentum", "momentum", "a float", momentum)
        value = checks.real("Momentum", "momentum", momentum, least=0)
        self.momentum = Parameter(Tensor(value, "float32"), name="momentum", requires_grad=False)
        self.use_nesterov = checks.boolean("Momentum", "use_nesterov", use_nesterov)
        self.moments = self.state("moments")

    @by_element
    def update(self, index: int, gradient: Tensor, lr: Tensor) -> tuple[Tensor, ...]:
        weight, moment = self.weight(index), self.moments[index]
        v = self.momentum * moment + gradient
        step = gradient + self.momentum * v if self.use_nesterov else v
        w = weight - lr * step
        return ops.assign(moment, v), self.write(index, w)


__all__ = ["Momentum"]
