"""Stochastic gradient descent."""

from __future__ import annotations

from typing import Any

from graphc import ops
from graphc.experimental.optim.optimizer import Stepping
from graphc.nn import checks
from graphc.ops.tensor.tensor import Tensor


class SGD(Stepping):
    """w -= lr * g; with momentum v = momentum * v + (1 - dampening) * g; w -= lr * v (MindSpore: experimental.optim.SGD).

    The first step takes v = g, without dampening. With nesterov w -= lr * (g + momentum * v), for which momentum must be
    positive and dampening 0. weight_decay * w is added to g, maximize takes -g. All of them are numbers, of a group its own.
    Parameters may be complex. State: "accum.<parameter>" (v), "stat.<parameter>" (1 until the first step, then 0). See
    Optimizer for the rest.
    """

    counter: str | None = None
    linear = True

    def __init__(
        self,
        params: Any,
        lr: Any,
        momentum: float = 0,
        dampening: float = 0,
        weight_decay: float = 0.0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
    ) -> None:
        defaults = {
            "lr": lr, "momentum": momentum, "dampening": dampening, "weight_decay": weight_decay, "nesterov": nesterov,
            "maximize": maximize,
        }  # fmt: skip
        super().__init__(params, defaults)
        self.remember()

    def remember(self) -> None:
        """Make the state."""
        self.keep("accum")
        self.keep("stat", 1.0)

    def check(self, group: dict[str, Any]) -> None:
        momentum = checks.real("SGD", "momentum", group["momentum"], least=0)
        dampening = checks.real("SGD", "dampening", group["dampening"])
        checks.boolean("SGD", "maximize", group["maximize"])
        if checks.boolean("SGD", "nesterov", group["nesterov"]) and (momentum == 0 or dampening != 0):
            raise checks.wrong_value("SGD", "momentum", "positive, and dampening 0, with nesterov=True", momentum)

    def update(self, index: int, gradient: Tensor, group: dict[str, Any], numbers: Any) -> tuple[Tensor, ...]:
        if not group["momentum"]:
            weight = self.parameters[index]
            return (ops.assign(weight, weight - numbers * gradient),)
        accum, stat = self.accum[index], self.stat[index]
        first = (ops.real(stat) if stat.tensor_type.is_complex else stat) > 0
        moved = self.moved(index, gradient, group, (numbers, accum, first))
        return *moved, ops.assign(stat, ops.select(first, 0.0, stat))

    def moved(self, index: int, gradient: Tensor, group: dict[str, Any], terms: Any) -> tuple[Tensor, Tensor]:
        """Write v and the parameter. terms: the rate, v so far, and whether this is the first step."""
        (rate, held, first), weight = terms, self.parameters[index]
        momentum, dampening = float(group["momentum"]), float(group["dampening"])
        later = momentum * held + (gradient * (1.0 - dampening) if dampening else gradient)
        v = ops.select(first, gradient, later)
        step = gradient + momentum * v if group["nesterov"] else v
        return ops.assign(held, v), ops.assign(weight, weight - rate * step)
