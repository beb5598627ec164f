"""Optimizers with a rate per element from the gradients seen: Adadelta, Adagrad, RMSprop, Rprop; and averaged SGD."""

from __future__ import annotations

from typing import Any

from graphc import ops
from graphc.experimental.optim.optimizer import Stepping
from graphc.nn import checks
from graphc.ops.tensor.tensor import Tensor


class Adadelta(Stepping):
    """a = rho * a + (1 - rho) * g**2;  u = sqrt(b + eps) / sqrt(a + eps) * g;  b = rho * b + (1 - rho) * u**2;  w -= lr * u
    (Zeiler, 2012; MindSpore: experimental.optim.Adadelta).

    rho: from 0 to 1; eps > 0; weight_decay * w is added to g; maximize takes -g. State: "accum.<parameter>" (a),
    "accum_update.<parameter>" (b). See Optimizer for the rest.
    """

    counter = None

    def __init__(
        self,
        params: Any,
        lr: Any = 1.0,
        rho: float = 0.9,
        eps: float = 1e-6,
        weight_decay: float = 0.0,
        *,
        maximize: bool = False,
    ) -> None:
        super().__init__(params, {"lr": lr, "rho": rho, "eps": eps, "weight_decay": weight_decay, "maximize": maximize})
        self.keep("accum")
        self.keep("accum_update")

    def check(self, group: dict[str, Any]) -> None:
        if checks.real("Adadelta", "rho", group["rho"], least=0) > 1:
            raise checks.wrong_value("Adadelta", "rho", "from 0 to 1", group["rho"])
        checks.real("Adadelta", "eps", group["eps"], above=0)
        checks.boolean("Adadelta", "maximize", group["maximize"])

    def update(self, index: int, gradient: Tensor, group: dict[str, Any], numbers: Any) -> tuple[Tensor, ...]:
        weight, accum, accum_update = self.parameters[index], self.accum[index], self.accum_update[index]
        rho, eps = float(group["rho"]), float(group["eps"])
        a = accum * rho + ops.square(gradient) * (1.0 - rho)
        u = ops.sqrt(accum_update + eps) / ops.sqrt(a + eps) * gradient
        b = accum_update * rho + ops.square(u) * (1.0 - rho)
        return ops.assign(accum, a), ops.assign(accum_update, b), ops.assign(weight, weight - numbers * u)


class Adagrad(Stepping):
    """a += g**2;  w -= lr / (1 + t * lr_decay) * g / (sqrt(a) + eps) at step t = 0, 1, ...
    (Duchi et al., 2011; MindSpore: experimental.optim.Adagrad).

    lr_decay, initial_accumulator_value (what a starts with) >= 0, eps > 0; weight_decay * w is added to g; maximize takes -g.
    State: "accum.<parameter>" (a), "step_t" (int32). See Optimizer for the rest.
    """

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-2,
        lr_decay: float = 0.0,
        weight_decay: float = 0.0,
        initial_accumulator_value: float = 0.0,
        eps: float = 1e-10,
        *,
        maximize: bool = False,
    ) -> None:
        defaults = {
            "lr": lr, "lr_decay": lr_decay, "eps": eps, "weight_decay": weight_decay,
            "initial_accumulator_value": initial_accumulator_value, "maximize": maximize,
        }  # fmt: skip
        super().__init__(params, defaults)
        self.keep("accum", float(initial_accumulator_value))

    def check(self, group: dict[str, Any]) -> None:
        for name in ("lr_decay", "initial_accumulator_value"):
            checks.real("Adagrad", name, group[name], least=0)
        if group["initial_accumulator_value"] != self.defaults["initial_accumulator_value"]:
            raise checks.wrong_value(
                "Adagrad",
                "initial_accumulator_value",
                "the optimizer's own in all groups",
                group["initial_accumulator_value"],
            )
        checks.real("Adagrad", "eps", group["eps"], above=0)
        checks.boolean("Adagrad", "maximize", group["maximize"])

    def prepare(self, group: dict[str, Any], lr: Tensor, step: Any) -> Any:
        decay = float(group["lr_decay"])
        return lr / (1.0 + (step - 1.0) * decay) if decay else lr

    def update(self, index: int, gradient: Tensor, group: dict[str, Any], numbers: Any) -> tuple[Tensor, ...]:
        weight, accum = self.parameters[index], self.accum[index]
        a = accum + ops.square(gradient)
        w = weight - numbers * gradient / (ops.sqrt(a) + float(group["eps"]))
        return ops.assign(accum, a), ops.assign(weight, w)


class RMSprop(Stepping):
    """s = alpha * s + (1 - alpha) * g**2;  d = sqrt(s) + eps, centered: sqrt(s - a**2) + eps, a = alpha * a + (1 - alpha) * g;
    w -= lr * g / d; with momentum b = momentum * b + g / d; w -= lr * b (Hinton, 2012; MindSpore: experimental.optim.RMSprop).

    alpha, momentum >= 0, eps > 0; weight_decay * w is added to g; maximize takes -g. State: "mean_square.<parameter>" (s),
    "mean_grad.<parameter>" (a), "moment.<parameter>" (b). See Optimizer for the rest.
    """

    counter = None

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        momentum: float = 0.0,
        centered: bool = False,
        maximize: bool = False,
    ) -> None:
        defaults = {
            "lr": lr, "momentum": momentum, "alpha": alpha, "eps": eps, "centered": centered, "weight_decay": weight_decay,
            "maximize": maximize,
        }  # fmt: skip
        super().__init__(params, defaults)
        for name in ("mean_grad", "mean_square", "moment"):
            self.keep(name)

    def check(self, group: dict[str, Any]) -> None:
        for name in ("alpha", "momentum"):
            checks.real("RMSprop", name, group[name], least=0)
        checks.real("RMSprop", "eps", group["eps"], above=0)
        for name in ("centered", "maximize"):
            checks.boolean("RMSprop", name, group[name])

    def update(self, index: int, gradient: Tensor, group: dict[str, Any], numbers: Any) -> tuple[Tensor, ...]:
        weight, mean, moment = self.parameters[index], self.mean_grad[index], self.moment[index]
        alpha, momentum = float(group["alpha"]), float(group["momentum"])
        s = self.mean_square[index] * alpha + ops.square(gradient) * (1.0 - alpha)
        written, spread = [ops.assign(self.mean_square[index], s)], s
        if group["centered"]:
            a = mean * alpha + gradient * (1.0 - alpha)
            written.append(ops.assign(mean, a))
            spread = s - ops.square(a)
        step = gradient / (ops.sqrt(spread) + float(group["eps"]))
        if momentum > 0:
            step = moment * momentum + step
            written.append(ops.assign(moment, step))
        return (*written, ops.assign(weight, weight - numbers * step))


class Rprop(Stepping):
    """s = clip(s * etas[1] where g keeps its sign, s * etas[0] where it changes it, step_sizes); w -= sign(g) * s; where the sign
    changes nothing is updated, and the next sign counts as new (Riedmiller and Braun, 1993; MindSpore: experimental.optim.Rprop).

    etas: factors below and above 1; step_sizes: the least and greatest s; s starts with lr; maximize takes -g. State:
    "prev.<parameter>" (g of the step before), "step_size.<parameter>" (s), "step_t" (int32). See Optimizer for the rest.
    """

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-2,
        etas: tuple[float, float] = (0.5, 1.2),
        step_sizes: tuple[float, float] = (1e-6, 50),
        *,
        maximize: bool = False,
    ) -> None:
        super().__init__(params, {"lr": lr, "etas": etas, "step_sizes": step_sizes, "maximize": maximize})
        self.keep("prev")
        self.keep("step_size")

    def check(self, group: dict[str, Any]) -> None:
        for name in ("etas", "step_sizes"):
            if not isinstance(group[name], (tuple, list)) or len(group[name]) != 2:
                raise checks.wrong_value("Rprop", name, "a tuple of two numbers", group[name])
        less, more = (checks.real("Rprop", f"etas[{k}]", v, above=0) for k, v in enumerate(group["etas"]))
        if not less < 1 < more:
            raise checks.wrong_value("Rprop", "etas", "below 1 and above 1", group["etas"])
        least, most = (checks.real("Rprop", f"step_sizes[{k}]", v, least=0) for k, v in enumerate(group["step_sizes"]))
        if least > most:
            raise checks.wrong_value("Rprop", "step_sizes", "the least first", group["step_sizes"])
        if group["weight_decay"]:
            raise checks.wrong_value("Rprop", "weight_decay", "0: only signs of gradients count", group["weight_decay"])
        checks.boolean("Rprop", "maximize", group["maximize"])

    def prepare(self, group: dict[str, Any], lr: Tensor, step: Any) -> Any:
        return lr, step == 1.0

    def update(self, index: int, gradient: Tensor, group: dict[str, Any], numbers: Any) -> tuple[Tensor, ...]:
        weight, prev, size = self.parameters[index], self.prev[index], self.step_size[index]
        (lr, first), (less, more) = numbers, map(float, group["etas"])
        agreement = gradient * prev
        factor = ops.select(agreement > 0, more, ops.select(agreement < 0, less, ops.ones_like(prev)))
        now = ops.select(first, lr, 1.0 * size)
        s = ops.clip_by_value(now * factor, *map(float, group["step_sizes"]))
        g = ops.select(agreement < 0, 0.0, gradient)
        return ops.assign(size, s), ops.assign(prev, g), ops.assign(weight, weight - ops.sign(g) * s)


class ASGD(Stepping):
    """w = w * (1 - lambd * eta) - eta * g;  ax += mu * (w - ax); then eta = lr / (1 + lambd * lr * t)**alpha and
    mu = 1 / max(1, t - t0) for the next step; eta starts with lr, mu with 1 (Polyak and Juditsky, 1992; MindSpore:
    experimental.optim.ASGD).

    lambd, t0: floats; weight_decay * w is added to g; maximize takes -g. State: "ax.<parameter>", "eta_<parameter>",
    "mu_<parameter>", "step_t" (int32). See Optimizer for the rest.
    """

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-2,
        lambd: float = 1e-4,
        alpha: float = 0.75,
        t0: float = 1e6,
        weight_decay: float = 0.0,
        maximize: bool = False,
    ) -> None:
        defaults = {
            "lr": lr, "lambd": lambd, "alpha": alpha, "t0": t0, "weight_decay": weight_decay, "maximize": maximize,
        }  # fmt: skip
        super().__init__(params, defaults)
        self.keep("mu", 1.0, scalar=True)
        self.keep("eta", scalar=True)
        self.keep("ax")

    def check(self, group: dict[str, Any]) -> None:
        for name in ("lambd", "t0"):
            checks.exact_float("ASGD", name, group[name])
        checks.real("ASGD", "alpha", group["alpha"])
        checks.boolean("ASGD", "maximize", group["maximize"])

    def prepare(self, group: dict[str, Any], lr: Tensor, step: Any) -> Any:
        base = 1.0 + float(group["lambd"]) * lr * step
        following = lr / ops.pow(base, float(group["alpha"]))
        return lr, step == 1.0, following, 1.0 / ops.maximum(step - float(group["t0"]), 1.0)

    def update(self, index: int, gradient: Tensor, group: dict[str, Any], numbers: Any) -> tuple[Tensor, ...]:
        weight, ax, (lr, first, following, later) = self.parameters[index], self.ax[index], numbers
        mu = self.mu[index] * 1.0
        eta = ops.select(first, lr, self.eta[index] * 1.0)
        w = weight * (1.0 - float(group["lambd"]) * eta) - eta * gradient
        mean = ops.select(mu == 1.0, w, ax + (w - ax) * mu)
        return (
            ops.assign(weight, w), ops.assign(ax, mean), ops.assign(self.eta[index], following),
            ops.assign(self.mu[index], later),
        )  # fmt: skip
