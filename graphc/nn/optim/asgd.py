"""Averaged stochastic gradient descent."""

from __future__ import annotations

from typing import Any

from graphc import ops
from graphc.nn import checks
from graphc.nn.optim.base import Optimizer
from graphc.nn.optim.sharding import by_element
from graphc.ops.tensor.parameter import Parameter, ParameterTuple
from graphc.ops.tensor.tensor import Tensor


class ASGD(Optimizer):
    """Gradient descent that also averages the parameters (Polyak and Juditsky, 1992; MindSpore: nn.ASGD).

    w = w * (1 - lambd * eta) - eta * g, with eta = lr at first;  a += (w - a) * mu, or a = w while mu is 1;  then
    eta = lr / (1 + lambd * lr * t)**alpha and mu = 1 / max(1, t - t0) at step t = 1, 2, ...
    lambd, alpha, t0: floats. State: "ax_.<parameter>" (a), and for each parameter the numbers "mu_<parameter>" and
    "eta_<parameter>". Returns one True. Further arguments and errors: see Optimizer.
    """

    def __init__(
        self,
        params: Any,
        learning_rate: Any = 0.1,
        lambd: float = 1e-4,
        alpha: float = 0.75,
        t0: float = 1e6,
        weight_decay: Any = 0.0,
    ) -> None:
        super().__init__(learning_rate, params, weight_decay)
        self.lambd = checks.exact_float("ASGD", "lambd", lambd)
        self.alpha = checks.exact_float("ASGD", "alpha", alpha)
        self.t0 = checks.exact_float("ASGD", "t0", t0)
        self.mu = self._numbers("mu_", 1.0)
        self.eta = self._numbers("eta_", 0.0)
        self.ax = self.state("ax_")

    def _numbers(self, prefix: str, value: float) -> ParameterTuple:
        self.check_once()
        made = ParameterTuple(Parameter(Tensor(value), prefix + p.name, requires_grad=False) for p in self.parameters)
        self._own(made)
        return made

    def construct(self, gradients: Any) -> Tensor:
        done: Tensor = ops.depend(Tensor(True), self.step(gradients))
        return done

    @by_element
    def update(self, index: int, gradient: Tensor, lr: Tensor) -> tuple[Tensor, ...]:
        weight, average = self.weight(index), self.ax[index]
        mu, last_eta = self.mu[index], self.eta[index]
        t = ops.cast(ops.reshape(self.global_step, ()), "float32")
        eta = ops.select(t <= 1.0, lr, last_eta)
        kept, first = 1.0 - self.lambd * eta, mu == 1.0
        next_eta = lr / ops.pow(1.0 + self.lambd * lr * t, self.alpha)
        next_mu = 1.0 / ops.maximum(t - self.t0, 1.0)
        w = weight * kept - eta * gradient
        a = ops.select(first, w, average + (w - average) * mu)
        return ops.assign(average, a), self.write(index, w), ops.assign(last_eta, next_eta), ops.assign(mu, next_mu)


__all__ = ["ASGD"]
