"""Optimizers whose weight decay is no part of the gradient: AdamWeightDecay, AdamW, Lamb."""

from __future__ import annotations

from typing import Any

from graphc import ops
from graphc.nn import checks
from graphc.nn.optim.adam import fraction, rest
from graphc.nn.optim.base import Optimizer
from graphc.nn.optim.sharding import by_element
from graphc.ops.tensor.tensor import Tensor

Decay = Tensor | float


def _number(x: Any) -> float:
    return float(x.item()) if isinstance(x, Tensor) else x


class _Decoupled(Optimizer):
    """Moments m and v of the gradient, kept in float32, and a weight decay that `decayed_update` applies."""

    updates_by = "moved"

    # No __init__: subclasses outside graphc skip that of AdamWeightDecay for Optimizer's, and set these themselves, where
    # beta1, beta2 and eps may be tensors with one element.

    def hold_moments(
        self, beta1: float, beta2: float, eps: float, prefixes: tuple[str, str], state_dtype: Any = None
    ) -> None:
        """Check and keep the numbers, and make the state."""
        owner = type(self).__name__
        self.beta1, self.beta2 = fraction(owner, "beta1", beta1), fraction(owner, "beta2", beta2)
        self.eps = checks.exact_float(owner, "eps", eps, above=0)
        self.moments1 = self.state(prefixes[0], dtype=state_dtype)
        self.moments2 = self.state(prefixes[1], dtype=state_dtype)

    def step(self, gradients: Any) -> tuple[Tensor, ...]:
        grads = self.gradients_centralization(self.checked(gradients))
        rates, decays = self.parameter_rates(), self.parameter_decays()
        ops.assign_add(self.global_step, 1)
        beta1, beta2 = _number(self.beta1), _number(self.beta2)
        # Once for all parameters of one rate and decay.
        numbers = {(id(rate), id(decay)): (rate, decay) for rate, decay in zip(rates, decays, strict=True)}
        shared = {key: self.shared(*pair) for key, pair in numbers.items()}
        made = []
        for i, g in enumerate(self.parts(grads)):
            g32 = g if g.dtype == self.moments1[i].dtype else ops.cast(g, "float32")
            m = self.moments1[i] * beta1 + g32 * rest(beta1)
            v = self.moments2[i] * beta2 + ops.square(g32) * rest(beta2)
            w = self.moved(self.weight(i), m, v, shared[id(rates[i]), id(decays[i])])
            written = (
                ops.assign(self.moments1[i], m),
                ops.assign(self.moments2[i], v),
                self.write(i, w),
            )
            made.append(ops.depend(Tensor(True), written))
        return tuple(made)

    def shared(self, lr: Tensor, decay: Decay) -> tuple[Any, ...]:
        """The numbers, without axes, that `moved` needs: made before the loops over the parameter, not between them."""
        return lr, decay

    def moved(self, weight: Tensor, m: Tensor, v: Tensor, shared: tuple[Any, ...]) -> Tensor:
        """The new value of a parameter."""
        raise NotImplementedError

    def correction(self, beta: float) -> Tensor:
        """1 - beta**t at step t = 1, 2, ..."""
        t = ops.cast(ops.reshape(self.global_step, ()), "float32")
        return 1.0 - ops.pow(beta, t)

    def decayed(self, update: Tensor, weight: Tensor, decay: Decay) -> Tensor:
        """update + decay * weight."""
        return update if isinstance(decay, float) and decay == 0 else update + weight * decay


class AdamWeightDecay(_Decoupled):
    """Adam with decoupled weight decay and without correction of the moments (MindSpore: nn.AdamWeightDecay).

    m = beta1 * m + (1 - beta1) * g;  v = beta2 * v + (1 - beta2) * g**2;
    w -= lr * (m / (sqrt(v) + eps) + weight_decay * w)
    State: "adam_m.<parameter>" (m), "adam_v.<parameter>" (v). beta1 and beta2 are floats between 0
    and 1, eps a float > 0. Further arguments and errors: see Optimizer.
    """

    def __init__(
        self,
        params: Any,
        learning_rate: Any = 1e-3,
        beta1: float = 0.9,
        beta2: float = 0.999,
        eps: float = 1e-6,
        weight_decay: Any = 0.0,
    ) -> None:
        super().__init__(learning_rate, params, weight_decay)
        self.hold_moments(beta1, beta2, eps, ("adam_m", "adam_v"))

    @by_element
    def moved(self, weight: Tensor, m: Tensor, v: Tensor, shared: tuple[Any, ...]) -> Tensor:
        lr, decay = shared
        made: Tensor = weight - lr * self.decayed(m / (ops.sqrt(v) + self.eps), weight, decay)
        return made


class AdamW(_Decoupled):
    """Adam with decoupled weight decay (Loshchilov and Hutter, 2019; MindFormers: AdamW).

    m = beta1 * m + (1 - beta1) * g;  v = beta2 * v + (1 - beta2) * g**2;
    w = w * (1 - lr * weight_decay) - lr / (1 - beta1**t) * m / (sqrt(v / (1 - beta2**t)) + eps) at step t = 1, 2, ...
    All parameters decay, unless a group says otherwise: "beta" and "gamma" in names mean nothing here.
    State, always float32: "adam_m.<parameter>" (m), "adam_v.<parameter>" (v). betas: two floats between 0 and 1;
    eps: a float > 0. Further arguments and errors: see Optimizer.
    """

    def __init__(
        self,
        params: Any,
        learning_rate: Any = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: Any = 0.0,
    ) -> None:
        if not isinstance(betas, (tuple, list)):
            raise checks.wrong_type("AdamW", "betas", "a tuple of two floats", betas)
        if len(betas) != 2:
            raise checks.wrong_value("AdamW", "betas", "two floats", betas)
        super().__init__(learning_rate, params, weight_decay)
        self.hold_moments(*betas, eps, ("adam_m", "adam_v"), "float32")
        if not self.is_group:
            self.decay_flags = (True,) * len(self.parameters)

    def shared(self, lr: Tensor, decay: Decay) -> tuple[Any, ...]:
        spared = isinstance(decay, float) and decay == 0
        kept = None if spared else 1.0 - lr * decay
        return lr / self.correction(self.beta1), self.correction(self.beta2), kept

    @by_element
    def moved(self, weight: Tensor, m: Tensor, v: Tensor, shared: tuple[Any, ...]) -> Tensor:
        rate, correction, kept = shared
        start = weight if kept is None else weight * kept
        made: Tensor = start - rate * (m / (ops.sqrt(v / correction) + self.eps))
        return made


class Lamb(_Decoupled):
    """Adam with a rate per layer (You et al., 2020; MindSpore: nn.Lamb, which has no CPU kernel; this is its formula).

    m = beta1 * m + (1 - beta1) * g;  v = beta2 * v + (1 - beta2) * g**2;
    u = m / (1 - beta1**t) / (sqrt(v / (1 - beta2**t)) + eps) + weight_decay * w at step t = 1, 2, ...
    w -= lr * |w| / |u| * u, with the norms of the whole parameter; 1 for the quotient where either norm is 0.
    State: "lamb_m.<parameter>" (m), "lamb_v.<parameter>" (v). beta1 and beta2 are floats between 0 and 1, eps a float
    > 0. Further arguments and errors: see Optimizer.
    """

    def __init__(
        self,
        params: Any,
        learning_rate: Any,
        beta1: float = 0.9,
        beta2: float = 0.999,
        eps: float = 1e-6,
        weight_decay: Any = 0.0,
    ) -> None:
        super().__init__(learning_rate, params, weight_decay)
        self.hold_moments(beta1, beta2, eps, ("lamb_m", "lamb_v"))

    def shared(self, lr: Tensor, decay: Decay) -> tuple[Any, ...]:
        return lr, decay, self.correction(self.beta1), self.correction(self.beta2)

    def moved(self, weight: Tensor, m: Tensor, v: Tensor, shared: tuple[Any, ...]) -> Tensor:
        lr, decay, correction1, correction2 = shared
        update = m / correction1 / (ops.sqrt(v / correction2) + self.eps)
        update = self.decayed(update, weight, decay)
        w_norm, u_norm = (ops.sqrt(ops.reduce_sum(ops.square(x))) for x in (weight, update))
        usable = ops.logical_and(w_norm > 0, u_norm > 0)
        ratio = ops.select(usable, w_norm / ops.select(usable, u_norm, 1.0), 1.0)
        made: Tensor = weight - lr * ratio * update
        return made


__all__ = ["AdamW", "AdamWeightDecay", "Lamb"]
