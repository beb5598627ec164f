"""Adam."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphc import ops
from graphc.errors import ArgumentValueError, user_loc
from graphc.nn import checks
from graphc.nn.optim.base import Optimizer
from graphc.nn.optim.sharding import by_element
from graphc.ops.tensor.parameter import Parameter
from graphc.ops.tensor.tensor import Tensor


class Adam(Optimizer):
    """Adam (Kingma and Ba, 2015; MindSpore: nn.Adam).

    m = beta1 * m + (1 - beta1) * g;  v = beta2 * v + (1 - beta2) * g**2;
    w -= lr * sqrt(1 - beta2**t) / (1 - beta1**t) * m / (sqrt(v) + eps) at step t = 1, 2, ...
    use_nesterov takes beta1 * m + (1 - beta1) * g for m in the last line; use_amsgrad takes the largest v so
    far for v. weight_decay is added to the gradient (L2). 1 - beta is taken in float32, as the powers of beta
    are.
    State: "moment1.<parameter>" (m), "moment2.<parameter>" (v), "vhat.<parameter>" (use_amsgrad),
    "beta1_power", "beta2_power". beta1 and beta2 are floats between 0 and 1, eps a float > 0. use_locking has
    no meaning here. use_lazy: of a parameter whose gradient is a RowTensor only those rows move, and their m and v.
    use_offload has no meaning here. Further arguments and errors: see Optimizer.
    """

    def __init__(
        self,
        params: Any,
        learning_rate: Any = 1e-3,
        beta1: float = 0.9,
        beta2: float = 0.999,
        eps: float = 1e-8,
        use_locking: bool = False,
        use_nesterov: bool = False,
        weight_decay: Any = 0.0,
        loss_scale: float = 1.0,
        use_amsgrad: bool = False,
        *,
        use_lazy: bool = False,
        use_offload: bool = False,
    ) -> None:
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        self.beta1, self.beta2 = fraction("Adam", "beta1", beta1), fraction("Adam", "beta2", beta2)
        self.eps = checks.exact_float("Adam", "eps", eps, above=0)
        self.use_locking = checks.boolean("Adam", "use_locking", use_locking)
        self.use_nesterov = checks.boolean("Adam", "use_nesterov", use_nesterov)
        self.use_amsgrad = checks.boolean("Adam", "use_amsgrad", use_amsgrad)
        lazy, offload = (
            checks.boolean("Adam", n, v) for n, v in (("use_lazy", use_lazy), ("use_offload", use_offload))
        )
        if lazy and offload:
            raise ArgumentValueError("Adam: use_lazy and use_offload exclude each other", loc=user_loc())
        if self.use_nesterov and self.use_amsgrad:
            raise ArgumentValueError("Adam: use_nesterov and use_amsgrad exclude each other", loc=user_loc())
        self.lazy = self.use_lazy = lazy
        self.use_offload = offload
        self.beta1_power = Parameter(Tensor(1.0), name="beta1_power", requires_grad=False)
        self.beta2_power = Parameter(Tensor(1.0), name="beta2_power", requires_grad=False)
        self.moment1 = self.state("moment1")
        self.moment2 = self.state("moment2")
        self.vhat = self.state("vhat") if self.use_amsgrad else None

    def advance(self) -> None:
        ops.assign(self.beta1_power, self.beta1_power * self.beta1)
        ops.assign(self.beta2_power, self.beta2_power * self.beta2)

    def effective_rate(self, lr: Tensor) -> Tensor:
        return corrected(lr, self.beta1_power, self.beta2_power)

    def _apply_adam(
        self,
        params: Any,
        beta1_power: Tensor,
        beta2_power: Tensor,
        moment1: Any,
        moment2: Any,
        lr: Any,
        gradients: Any,
    ) -> tuple[Tensor, ...]:
        """Update every parameter by rates, gradients and powers of beta, for subclasses of MindSpore's that define `construct`.

        params and moments are the optimizer's own: ArgumentValueError for others.
        """
        for name, given, own in (
            ("params", params, self.parameters),
            ("moment1", moment1, self.moment1),
            ("moment2", moment2, self.moment2),
        ):
            if given is not own:
                raise ArgumentValueError(f"Adam: {name} must be those of the optimizer", loc=user_loc())
        rates = lr if self.is_group_lr else (lr,) * len(self.parameters)
        pairs = zip(self.parts(self.checked(gradients)), rates, strict=True)
        updates = (self.update(i, g, corrected(r, beta1_power, beta2_power)) for i, (g, r) in enumerate(pairs))
        return tuple(ops.depend(Tensor(True), written) for written in updates)

    @by_element
    def update(self, index: int, gradient: Tensor, lr: Tensor) -> tuple[Tensor, ...]:
        place, gradient = self.place(gradient)
        weight, moment1, moment2 = self.weight(index, place), self.moment1[index], self.moment2[index]
        fresh = gradient * rest(self.beta1)
        m = place.read(moment1) * self.beta1 + fresh
        v = place.read(moment2) * self.beta2 + ops.square(gradient) * rest(self.beta2)
        top = v if self.vhat is None else ops.maximum(place.read(self.vhat[index]), v)
        step = m * self.beta1 + fresh if self.use_nesterov else m
        w = weight - lr * step / (ops.sqrt(top) + self.eps)
        written = place.write(moment1, m), place.write(moment2, v), self.write(index, w, place)
        return written if self.vhat is None else (*written, place.write(self.vhat[index], top))


class AdaMax(Optimizer):
    """Adam with the largest gradient so far (Kingma and Ba, 2015; MindSpore: nn.AdaMax).

    m = beta1 * m + (1 - beta1) * g;  v = max(beta2 * v, |g|);
    w -= lr / (1 - beta1**t) * m / (v + eps) at step t = 1, 2, ...
    State: "moment1.<parameter>" (m), "moment2.<parameter>" (v), "beta1_power" (float32[1]). beta1 and beta2
    are floats between 0 and 1, eps a float > 0. Further arguments and errors: see Optimizer.
    """

    def __init__(
        self,
        params: Any,
        learning_rate: Any = 1e-3,
        beta1: float = 0.9,
        beta2: float = 0.999,
        eps: float = 1e-8,
        weight_decay: Any = 0.0,
        loss_scale: float = 1.0,
    ) -> None:
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        self.beta1, self.beta2 = fraction("AdaMax", "beta1", beta1), fraction("AdaMax", "beta2", beta2)
        self.eps = checks.exact_float("AdaMax", "eps", eps, above=0)
        self.beta1_power = Parameter(Tensor([1.0]), name="beta1_power", requires_grad=False)
        self.moment1 = self.state("moment1")
        self.moment2 = self.state("moment2")

    def advance(self) -> None:
        ops.assign(self.beta1_power, self.beta1_power * self.beta1)

    def effective_rate(self, lr: Tensor) -> Tensor:
        made: Tensor = lr / (1.0 - ops.reshape(self.beta1_power, ()))
        return made

    @by_element
    def update(self, index: int, gradient: Tensor, lr: Tensor) -> tuple[Tensor, ...]:
        weight, moment1, moment2 = self.weight(index), self.moment1[index], self.moment2[index]
        m = moment1 * self.beta1 + gradient * rest(self.beta1)
        v = ops.maximum(moment2 * self.beta2, ops.abs(gradient))
        w = weight - lr * m / (v + self.eps)
        return ops.assign(moment1, m), ops.assign(moment2, v), self.write(index, w)


def corrected(lr: Tensor, beta1_power: Tensor, beta2_power: Tensor) -> Tensor:
    """The rate of Adam at a step, whose means begin with zeros: beta_power is beta**t."""
    made: Tensor = lr * ops.sqrt(1.0 - beta2_power) / (1.0 - beta1_power)
    return made


def fraction(owner: str, name: str, value: Any) -> float:
    """A float between 0 and 1, neither of them."""
    if not isinstance(value, float):
        raise checks.wrong_type(owner, name, "a float", value)
    if not 0.0 < value < 1.0:
        raise checks.wrong_value(owner, name, "between 0 and 1", value)
    return value


def rest(beta: float) -> float:
    """1 - beta of the float32 that beta becomes."""
    return float(np.float32(1) - np.float32(beta))


__all__ = ["AdaMax", "Adam"]
