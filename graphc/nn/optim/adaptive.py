"""Optimizers with a rate per element from the gradients seen: Adagrad, Adadelta, RMSProp, FTRL, Rprop."""

from __future__ import annotations

from typing import Any

from graphc import ops
from graphc.errors import ArgumentValueError, user_loc
from graphc.nn import checks
from graphc.nn.optim.adam import fraction
from graphc.nn.optim.base import Optimizer
from graphc.nn.optim.sharding import by_element
from graphc.ops.tensor.tensor import Tensor


class Adagrad(Optimizer):
    """a += g**2; w -= lr * g / sqrt(a) (Duchi et al., 2011; MindSpore: nn.Adagrad).

    accum: the value a starts with, a float >= 0. update_slots=False leaves a alone (MindSpore's CPU kernel ignores
    it). State: "accum.<parameter>" (a). Further arguments and errors: see Optimizer.
    """

    def __init__(
        self,
        params: Any,
        accum: float = 0.1,
        learning_rate: Any = 0.001,
        update_slots: bool = True,
        loss_scale: float = 1.0,
        weight_decay: Any = 0.0,
    ) -> None:
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        self.update_slots = checks.boolean("Adagrad", "update_slots", update_slots)
        self.accum = self.state("accum", checks.exact_float("Adagrad", "accum", accum, least=0))

    @by_element
    def update(self, index: int, gradient: Tensor, lr: Tensor) -> tuple[Tensor, ...]:
        weight, accum = self.weight(index), self.accum[index]
        a = accum + ops.square(gradient) if self.update_slots else accum
        w = weight - lr * gradient / ops.sqrt(a)
        return (*([ops.assign(accum, a)] if self.update_slots else []), self.write(index, w))


class Adadelta(Optimizer):
    """a = rho * a + (1 - rho) * g**2;  u = sqrt(b + epsilon) / sqrt(a + epsilon) * g;  b = rho * b + (1 - rho) * u**2;
    w -= lr * u (Zeiler, 2012; MindSpore: nn.Adadelta).

    rho: a float from 0 to 1; epsilon: a float >= 0. State: "accum.<parameter>" (a), "accum_update.<parameter>" (b).
    Further arguments and errors: see Optimizer.
    """

    def __init__(
        self,
        params: Any,
        learning_rate: Any = 1.0,
        rho: float = 0.9,
        epsilon: float = 1e-6,
        loss_scale: float = 1.0,
        weight_decay: Any = 0.0,
    ) -> None:
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        self.rho = checks.exact_float("Adadelta", "rho", rho, least=0, most=1)
        self.epsilon = checks.exact_float("Adadelta", "epsilon", epsilon, least=0)
        self.accum = self.state("accum")
        self.accum_update = self.state("accum_update")

    @by_element
    def update(self, index: int, gradient: Tensor, lr: Tensor) -> tuple[Tensor, ...]:
        weight, accum, accum_update = self.weight(index), self.accum[index], self.accum_update[index]
        a = accum * self.rho + ops.square(gradient) * (1.0 - self.rho)
        u = ops.sqrt(accum_update + self.epsilon) / ops.sqrt(a + self.epsilon) * gradient
        b = accum_update * self.rho + ops.square(u) * (1.0 - self.rho)
        w = weight - lr * u
        return ops.assign(accum, a), ops.assign(accum_update, b), self.write(index, w)


class ProximalAdagrad(Optimizer):
    """a += g**2;  r = lr / sqrt(a);  p = w - r * g;  w = sign(p) / (1 + r * l2) * max(|p| - r * l1, 0) (Duchi et al., 2009;
    MindSpore: nn.ProximalAdagrad).

    accum: the value a starts with, l1, l2: floats >= 0. use_locking has no meaning here. State: "accum.<parameter>" (a). Of a
    parameter whose gradient is a RowTensor only those rows move. Further arguments and errors: see Optimizer.
    """

    lazy = True

    def __init__(
        self,
        params: Any,
        accum: float = 0.1,
        learning_rate: Any = 0.001,
        l1: float = 0.0,
        l2: float = 0.0,
        use_locking: bool = False,
        loss_scale: float = 1.0,
        weight_decay: Any = 0.0,
    ) -> None:
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        start = checks.exact_float("ProximalAdagrad", "accum", accum, least=0)
        self.l1 = checks.exact_float("ProximalAdagrad", "l1", l1, least=0)
        self.l2 = checks.exact_float("ProximalAdagrad", "l2", l2, least=0)
        self.use_locking = checks.boolean("ProximalAdagrad", "use_locking", use_locking)
        self.accum = self.state("accum", start)

    @by_element
    def update(self, index: int, gradient: Tensor, lr: Tensor) -> tuple[Tensor, ...]:
        place, gradient = self.place(gradient)
        weight, accum = self.weight(index, place), self.accum[index]
        a = place.read(accum) + ops.square(gradient)
        rate = lr / ops.sqrt(a)
        moved = weight - rate * gradient
        w = ops.sign(moved) / (1.0 + rate * self.l2) * ops.maximum(ops.abs(moved) - rate * self.l1, 0.0)
        return place.write(accum, a), self.write(index, w, place)


class RMSProp(Optimizer):
    """s = decay * s + (1 - decay) * g**2;  v = momentum * v + lr * g / sqrt(s + epsilon);  w -= v (Hinton, 2012;
    MindSpore: nn.RMSProp). centered subtracts a**2 under the root, a = decay * a + (1 - decay) * g.

    decay, momentum: floats >= 0; epsilon: a float > 0. use_locking has no meaning here. State:
    "mean_square.<parameter>" (s, starts with 1), "moment.<parameter>" (v), "mean_grad.<parameter>" (a, centered
    only). Further arguments and errors: see Optimizer.
    """

    def __init__(
        self,
        params: Any,
        learning_rate: Any = 0.1,
        decay: float = 0.9,
        momentum: float = 0.0,
        epsilon: float = 1e-10,
        use_locking: bool = False,
        centered: bool = False,
        loss_scale: float = 1.0,
        weight_decay: Any = 0.0,
    ) -> None:
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        self.decay = checks.exact_float("RMSProp", "decay", decay, least=0)
        self.momentum = checks.exact_float("RMSProp", "momentum", momentum, least=0)
        self.epsilon = checks.exact_float("RMSProp", "epsilon", epsilon, above=0)
        self.use_locking = checks.boolean("RMSProp", "use_locking", use_locking)
        self.centered = checks.boolean("RMSProp", "centered", centered)
        self.mg = self.state("mean_grad") if self.centered else None
        self.ms = self.state("mean_square", "ones")
        self.moment = self.state("moment")

    @by_element
    def update(self, index: int, gradient: Tensor, lr: Tensor) -> tuple[Tensor, ...]:
        weight, square, moment = self.weight(index), self.ms[index], self.moment[index]
        s = square * self.decay + ops.square(gradient) * (1.0 - self.decay)
        a = None if self.mg is None else self.mg[index] * self.decay + gradient * (1.0 - self.decay)
        variance = s if a is None else s - ops.square(a)
        v = moment * self.momentum + lr * gradient / ops.sqrt(variance + self.epsilon)
        w = weight - v
        written = ops.assign(square, s), ops.assign(moment, v), self.write(index, w)
        return written if self.mg is None or a is None else (*written, ops.assign(self.mg[index], a))


class FTRL(Optimizer):
    """Follow the regularized leader (McMahan et al., 2013; MindSpore: nn.FTRL).

    b = a + g**2;  z += g - (b**p - a**p) / lr * w with p = -lr_power;  a = b;
    w = (l1 * sign(z) - z) / (b**p / lr + 2 * l2) where |z| > l1, else 0 (MindSpore's CPU kernel forgets the sign).
    initial_accum: the value a starts with, a float >= 0; learning_rate: a float > 0 (no list, schedule or rate of a
    group: ArgumentValueError); lr_power: a float <= 0; l1, l2: floats >= 0. use_locking has no meaning here. Without
    groups all parameters decay, whatever their names. Of a parameter whose gradient is a RowTensor only those rows move.
    State: "moments.<parameter>" (a), "linear.<parameter>" (z).
    Further arguments and errors: see Optimizer.
    """

    lazy = True

    def __init__(
        self,
        params: Any,
        initial_accum: float = 0.1,
        learning_rate: float = 0.001,
        lr_power: float = -0.5,
        l1: float = 0.0,
        l2: float = 0.0,
        use_locking: bool = False,
        loss_scale: float = 1.0,
        weight_decay: Any = 0.0,
    ) -> None:
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        if self.dynamic_lr or self.is_group_lr:
            raise ArgumentValueError(
                "FTRL: the learning rate must be one float, not a list, a schedule or the rate of a group",
                loc=user_loc(),
            )
        checks.exact_float("FTRL", "learning_rate", learning_rate, above=0)
        start = checks.exact_float("FTRL", "initial_accum", initial_accum, least=0)
        self.power = -checks.exact_float("FTRL", "lr_power", lr_power, most=0)
        self.l1 = checks.exact_float("FTRL", "l1", l1, least=0)
        self.l2 = checks.exact_float("FTRL", "l2", l2, least=0)
        self.use_locking = checks.boolean("FTRL", "use_locking", use_locking)
        self.moments = self.state("moments", start)
        self.linear = self.state("linear")
        if not self.is_group:
            self.decay_flags = (True,) * len(self.parameters)

    def _raised(self, x: Tensor) -> Tensor:
        return ops.sqrt(x) if self.power == 0.5 else ops.pow(x, self.power)

    @by_element
    def update(self, index: int, gradient: Tensor, lr: Tensor) -> tuple[Tensor, ...]:
        place, gradient = self.place(gradient)
        weight, moment, linear = (
            self.weight(index, place),
            place.read(self.moments[index]),
            place.read(self.linear[index]),
        )
        b = moment + ops.square(gradient)
        root = self._raised(b)
        z = linear + gradient - (root - self._raised(moment)) / lr * weight
        # l1 * sign(z) - z is 0 at |z| = l1, and has the wrong sign below.
        w = ops.select(ops.abs(z) > self.l1, (self.l1 * ops.sign(z) - z) / (root / lr + 2.0 * self.l2), 0.0)
        return place.write(self.moments[index], b), place.write(self.linear[index], z), self.write(index, w, place)


class Rprop(Optimizer):
    """Resilient backpropagation (Riedmiller and Braun, 1993; MindSpore: nn.Rprop).

    s, lr at first, is multiplied by etas[1] where gradient and last gradient p have one sign, by etas[0] where they
    have opposite ones, and held between step_sizes; there g becomes 0. Then w -= sign(g) * s; p = g.
    etas: a tuple (float between 0 and 1, float > 1); step_sizes: a tuple of two floats, not falling. State:
    "prev.<parameter>" (p), "step_size.<parameter>" (s). Returns one True. Further arguments and errors: see Optimizer.
    """

    def __init__(
        self,
        params: Any,
        learning_rate: Any = 0.1,
        etas: tuple[float, float] = (0.5, 1.2),
        step_sizes: tuple[float, float] = (1e-6, 50.0),
        weight_decay: Any = 0.0,
    ) -> None:
        super().__init__(learning_rate, params, weight_decay)
        for name, value in (("etas", etas), ("step_sizes", step_sizes)):
            if not isinstance(value, tuple):
                raise checks.wrong_type("Rprop", name, "a tuple of two floats", value)
            if len(value) != 2:
                raise checks.wrong_value("Rprop", name, "a tuple of two floats", value)
        self.eta_minus = fraction("Rprop", "etas[0]", etas[0])
        self.eta_plus = checks.exact_float("Rprop", "etas[1]", etas[1], above=1)
        self.least = checks.exact_float("Rprop", "step_sizes[0]", step_sizes[0])
        self.most = checks.exact_float("Rprop", "step_sizes[1]", step_sizes[1], least=self.least)
        self.prev = self.state("prev")
        self.step_size = self.state("step_size")

    def construct(self, gradients: Any) -> Tensor:
        done: Tensor = ops.depend(Tensor(True), self.step(gradients))
        return done

    @by_element
    def update(self, index: int, gradient: Tensor, lr: Tensor) -> tuple[Tensor, ...]:
        weight, prev, size = self.weight(index), self.prev[index], self.step_size[index]
        first = ops.reshape(self.global_step, ()) <= 1
        agreement = gradient * prev
        turned = agreement < 0
        factor = ops.select(agreement > 0, self.eta_plus, ops.select(turned, self.eta_minus, ops.ones_like(agreement)))
        s = ops.minimum(ops.maximum(ops.select(first, lr, size) * factor, self.least), self.most)
        g = ops.select(turned, 0.0, gradient)
        w = weight - ops.sign(g) * s
        return ops.assign(prev, g), ops.assign(size, s), self.write(index, w)


__all__ = ["FTRL", "Adadelta", "Adagrad", "ProximalAdagrad", "RMSProp", "Rprop"]
