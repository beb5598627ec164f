"""Stochastic gradient descent."""

from __future__ import annotations

from typing import Any

from graphc import ops
from graphc.errors import ArgumentTypeError, user_loc
from graphc.nn import checks
from graphc.nn.optim.base import Optimizer
from graphc.nn.optim.sharding import by_element
from graphc.ops.tensor.parameter import Parameter
from graphc.ops.tensor.tensor import Tensor


class SGD(Optimizer):
    """w -= lr * g; with momentum v = momentum * v + (1 - dampening) * g; w -= lr * v (MindSpore: nn.SGD).

    The first step takes v = g, without dampening. With nesterov w -= lr * (g + momentum * v), for which
    momentum must be positive and dampening 0. momentum is kept as Parameter "momentum". State:
    "accum.<parameter>" (v) and "stat.<parameter>" (1 until the first step, then 0); momentum 0 leaves both
    alone. weight_decay must be a number. Further arguments and errors: see Optimizer.
    """

    def __init__(
        self,
        params: Any,
        learning_rate: Any = 0.1,
        momentum: float = 0.0,
        dampening: float = 0.0,
        weight_decay: Any = 0.0,
        nesterov: bool = False,
        loss_scale: float = 1.0,
    ) -> None:
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        if self.dynamic_weight_decay:
            raise ArgumentTypeError("SGD: weight_decay must be a number, not a Cell", loc=user_loc())
        value = checks.real("SGD", "momentum", momentum, least=0)
        self.dampening = checks.real("SGD", "dampening", dampening, least=0)
        self.nesterov = checks.boolean("SGD", "nesterov", nesterov)
        if self.nesterov and value == 0:
            raise checks.wrong_value("SGD", "momentum", "positive with nesterov=True", momentum)
        if self.nesterov and self.dampening:
            raise checks.wrong_value("SGD", "dampening", "0 with nesterov=True", dampening)
        self.has_momentum = value > 0
        # A row without a gradient stays as it is.
        self.lazy = not self.has_momentum
        self.momentum = Parameter(Tensor(value, "float32"), name="momentum", requires_grad=False)
        self.accum = self.state("accum")
        self.stat = self.state("stat", "ones")

    @by_element
    def update(self, index: int, gradient: Tensor, lr: Tensor) -> Tensor | tuple[Tensor, ...]:
        if not self.has_momentum:
            place, gradient = self.place(gradient)
            return self.write(index, self.weight(index, place) - lr * gradient, place)
        weight, accum, stat = self.weight(index), self.accum[index], self.stat[index]
        later = self.momentum * accum + (gradient * (1.0 - self.dampening) if self.dampening else gradient)
        first = stat > 0
        v = ops.select(first, gradient, later)
        step = gradient + self.momentum * v if self.nesterov else v
        w = weight - lr * step
        # 0 from the first step on: the same as a zero tensor, but made by the loop that reads it.
        done = ops.select(first, 0.0, stat)
        return ops.assign(accum, v), ops.assign(stat, done), self.write(index, w)


__all__ = ["SGD"]
