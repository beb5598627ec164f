"""Adam and what is made of it: AdamW, Adamax, NAdam, RAdam."""

from __future__ import annotations

from typing import Any

from graphc import ops
from graphc.experimental.optim.optimizer import Stepping, checked_betas, power
from graphc.nn import checks
from graphc.nn.optim.adam import rest
from graphc.ops.tensor.tensor import Tensor


class _Moments(Stepping):
    """Running means of gradients and of their squares, "exp_avg.<parameter>" and "exp_avg_sq.<parameter>"."""

    def __init__(self, params: Any, defaults: dict[str, Any]) -> None:
        super().__init__(params, defaults)
        self.keep("exp_avg")
        self.keep("exp_avg_sq")

    def check(self, group: dict[str, Any]) -> None:
        owner = type(self).__name__
        checked_betas(owner, group)
        checks.real(owner, "eps", group["eps"], least=0)
        for name in ("amsgrad", "maximize"):
            if name in group:
                checks.boolean(owner, name, group[name])

    def moments(self, index: int, gradient: Tensor, group: dict[str, Any]) -> tuple[Any, Any]:
        """Both means with this gradient in them."""
        beta1, beta2 = map(float, group["betas"])
        m = self.exp_avg[index] * beta1 + gradient * rest(beta1)
        return m, self.exp_avg_sq[index] * beta2 + ops.square(gradient) * rest(beta2)


class Adam(_Moments):
    """m = beta1 * m + (1 - beta1) * g;  v = beta2 * v + (1 - beta2) * g**2;
    w -= lr * sqrt(1 - beta2**t) / (1 - beta1**t) * m / (sqrt(v) + eps) at step t = 1, 2, ...
    (Kingma and Ba, 2015; MindSpore: experimental.optim.Adam).

    betas: two numbers from 0 to below 1; eps >= 0; weight_decay * w is added to g; amsgrad takes the largest v so far for v
    (MindSpore ignores it); maximize takes -g. State: "exp_avg.<parameter>" (m), "exp_avg_sq.<parameter>" (v),
    "max_exp_avg_sq.<parameter>", "state_step" (int32). See Optimizer for the rest.
    """

    counter = "state_step"

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
        defaults = {
            "lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "amsgrad": amsgrad, "maximize": maximize,
        }  # fmt: skip
        super().__init__(params, defaults)
        self.keep("max_exp_avg_sq")

    def prepare(self, group: dict[str, Any], lr: Tensor, step: Any) -> Any:
        beta1, beta2 = map(float, group["betas"])
        return lr * ops.sqrt(1.0 - power(beta2, step)) / (1.0 - power(beta1, step))

    def update(self, index: int, gradient: Tensor, group: dict[str, Any], numbers: Any) -> tuple[Tensor, ...]:
        weight, top = self.parameters[index], self.max_exp_avg_sq[index]
        m, v = self.moments(index, gradient, group)
        most = ops.maximum(top, v) if group["amsgrad"] else v
        w = weight - numbers * m / (ops.sqrt(most) + float(group["eps"]))
        written = ops.assign(self.exp_avg[index], m), ops.assign(self.exp_avg_sq[index], v), ops.assign(weight, w)
        return (*written, ops.assign(top, most)) if group["amsgrad"] else written


class AdamW(_Moments):
    """Adam with decoupled weight decay: w = w * (1 - lr * weight_decay) - lr / (1 - beta1**t) * m / (sqrt(v) / sqrt(1 - beta2**t)
    + eps) (Loshchilov and Hutter, 2019; MindSpore: experimental.optim.AdamW). Arguments and state: see Adam.
    """

    counter = "state_step"

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
    ) -> None:
        defaults = {
            "lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "amsgrad": amsgrad, "maximize": maximize,
        }  # fmt: skip
        super().__init__(params, defaults)
        self.keep("max_exp_avg_sq")

    def decays(self, group: dict[str, Any]) -> float:
        return 0.0

    def prepare(self, group: dict[str, Any], lr: Tensor, step: Any) -> Any:
        beta1, beta2 = map(float, group["betas"])
        shrunk = 1.0 - lr * float(group["weight_decay"])
        return shrunk, lr / (1.0 - power(beta1, step)), ops.sqrt(1.0 - power(beta2, step))

    def update(self, index: int, gradient: Tensor, group: dict[str, Any], numbers: Any) -> tuple[Tensor, ...]:
        weight, top = self.parameters[index], self.max_exp_avg_sq[index]
        shrunk, rate, correction = numbers
        m, v = self.moments(index, gradient, group)
        most = ops.maximum(top, v) if group["amsgrad"] else v
        w = weight * shrunk - rate * m / (ops.sqrt(most) / correction + float(group["eps"]))
        written = ops.assign(self.exp_avg[index], m), ops.assign(self.exp_avg_sq[index], v), ops.assign(weight, w)
        return (*written, ops.assign(top, most)) if group["amsgrad"] else written


class Adamax(Stepping):
    """m = beta1 * m + (1 - beta1) * g;  u = max(beta2 * u, |g| + eps);  w -= lr / (1 - beta1**t) * m / u
    (Kingma and Ba, 2015; MindSpore: experimental.optim.Adamax).

    State: "exp_avg.<parameter>" (m), "exp_inf.<parameter>" (u), "step_t" (int32). Arguments: see Adam.
    """

    def __init__(
        self,
        params: Any,
        lr: Any = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        *,
        maximize: bool = False,
    ) -> None:
        super().__init__(
            params, {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "maximize": maximize}
        )
        self.keep("exp_avg")
        self.keep("exp_inf")

    def check(self, group: dict[str, Any]) -> None:
        checked_betas("Adamax", group)
        checks.real("Adamax", "eps", group["eps"], above=0)
        checks.boolean("Adamax", "maximize", group["maximize"])

    def prepare(self, group: dict[str, Any], lr: Tensor, step: Any) -> Any:
        return lr / (1.0 - power(float(group["betas"][0]), step))

    def update(self, index: int, gradient: Tensor, group: dict[str, Any], numbers: Any) -> tuple[Tensor, ...]:
        weight, (beta1, beta2) = self.parameters[index], map(float, group["betas"])
        m = self.exp_avg[index] * beta1 + gradient * rest(beta1)
        u = ops.maximum(self.exp_inf[index] * beta2, ops.abs(gradient) + float(group["eps"]))
        w = weight - numbers * m / u
        return ops.assign(self.exp_avg[index], m), ops.assign(self.exp_inf[index], u), ops.assign(weight, w)


class NAdam(_Moments):
    """Adam with Nesterov's momentum (Dozat, 2016; MindSpore: experimental.optim.NAdam).

    mu(t) = beta1 * (1 - 0.96**(t * momentum_decay) / 2); p = p * mu(t); d = sqrt(v / (1 - beta2**t)) + eps;
    w -= lr * (1 - mu(t)) / (1 - p) * g / d + lr * mu(t + 1) / (1 - p * mu(t + 1)) * m / d.
    State: "exp_avg.<parameter>" (m), "exp_avg_sq.<parameter>" (v), "mu_product_<parameter>" (p, without axes), "step_t" (int32).
    momentum_decay: a number >= 0. Further arguments: see Adam.
    """

    def __init__(
        self,
        params: Any,
        lr: Any = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        momentum_decay: float = 4e-3,
    ) -> None:
        super().__init__(
            params,
            {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "momentum_decay": momentum_decay},
        )
        self.keep("mu_product", 1.0, scalar=True)

    def check(self, group: dict[str, Any]) -> None:
        super().check(group)
        checks.real("NAdam", "momentum_decay", group["momentum_decay"], least=0)

    def prepare(self, group: dict[str, Any], lr: Tensor, step: Any) -> Any:
        (beta1, beta2), decay = map(float, group["betas"]), float(group["momentum_decay"])
        mu, later = (beta1 * (1.0 - 0.5 * power(0.96, at * decay)) for at in (step, step + 1.0))
        return lr, mu, later, 1.0 - power(beta2, step)

    def update(self, index: int, gradient: Tensor, group: dict[str, Any], numbers: Any) -> tuple[Tensor, ...]:
        weight, product = self.parameters[index], self.mu_product[index]
        lr, mu, later, correction = numbers
        p = product * mu
        m, v = self.moments(index, gradient, group)
        d = ops.sqrt(v / correction) + float(group["eps"])
        w = weight - lr * (1.0 - mu) / (1.0 - p) * gradient / d - lr * later / (1.0 - p * later) * m / d
        return (
            ops.assign(product, p), ops.assign(self.exp_avg[index], m), ops.assign(self.exp_avg_sq[index], v),
            ops.assign(weight, w),
        )  # fmt: skip


class RAdam(_Moments):
    """Adam whose rate is rectified while the variance is not known yet (Liu et al., 2020; MindSpore: experimental.optim.RAdam).

    r = 2 / (1 - beta2) - 1;  r(t) = r - 2 * t * beta2**t / (1 - beta2**t);  w -= lr * m / (1 - beta1**t) * a, where a is 1 as
    long as r(t) <= 5, then sqrt(1 - beta2**t) / (sqrt(v) + eps) * sqrt((r(t) - 4) (r(t) - 2) r / ((r - 4) (r - 2) r(t))).
    State: "exp_avg.<parameter>" (m), "exp_avg_sq.<parameter>" (v), "step_t" (int32). Arguments: see Adam.
    """

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
    ) -> None:
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay})

    def prepare(self, group: dict[str, Any], lr: Tensor, step: Any) -> Any:
        beta1, beta2 = map(float, group["betas"])
        final, past = 2.0 / (1.0 - beta2) - 1.0, power(beta2, step)
        length = final - 2.0 * step * past / (1.0 - past)
        known = length > 5.0
        # Where it is not known the root is of something else, which is not taken.
        safe = ops.select(known, length, 6.0)
        rect = ops.sqrt((safe - 4.0) * (safe - 2.0) * final / ((final - 4.0) * (final - 2.0) * safe))
        return lr / (1.0 - power(beta1, step)), known, ops.sqrt(1.0 - past) * rect

    def update(self, index: int, gradient: Tensor, group: dict[str, Any], numbers: Any) -> tuple[Tensor, ...]:
        weight, (rate, known, rectified) = self.parameters[index], numbers
        m, v = self.moments(index, gradient, group)
        w = weight - m * rate * ops.select(known, rectified / (ops.sqrt(v) + float(group["eps"])), 1.0)
        return ops.assign(self.exp_avg[index], m), ops.assign(self.exp_avg_sq[index], v), ops.assign(weight, w)
