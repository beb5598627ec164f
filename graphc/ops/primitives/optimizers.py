"""One step of each optimizer rule as a primitive, the fused ones included."""

from __future__ import annotations

from typing import Any

from graphc.ops import functional as F
from graphc.ops.functional.core import Operand
from graphc.ops.tensor.parameter import Parameter
from graphc.ops.tensor.primitive import REQUIRED, Hint, Primitive, declare
from graphc.ops.tensor.tensor import Tensor

# ---- optimizer rules


def _moved(old: Parameter, rate: Any, new: Tensor) -> Tensor:
    """old = rate old + (1 - rate) new."""
    return F.assign(old, F.add(F.mul(old, rate), F.mul(new, F.sub(1.0, rate))))


def _momentum(
    variable: Parameter,
    accumulation: Parameter,
    learning_rate: Operand,
    gradient: Tensor,
    momentum: Operand,
    use_nesterov: bool,
    gradient_scale: float,
) -> Tensor:
    """accum = momentum accum + grad; var -= lr accum, with nesterov lr (grad + momentum accum)."""
    grad = gradient if gradient_scale == 1.0 else F.mul(gradient, gradient_scale)
    accum = F.assign(accumulation, F.add(F.mul(accumulation, momentum), grad))
    step = F.add(grad, F.mul(accum, momentum)) if use_nesterov else accum
    return F.assign_sub(variable, F.mul(step, learning_rate))


ApplyMomentum = declare("ApplyMomentum", _momentum, use_nesterov=False, use_locking=Hint(False), gradient_scale=1.0)


def _corrected(lr: Any, beta1_power: Any, beta2_power: Any) -> Tensor:
    """The rate of Adam's step t, which corrects that its moving means began with zeros: lr sqrt(1 - beta2^t) / (1 - beta1^t)."""
    return F.div(F.mul(lr, F.sqrt(F.sub(1.0, beta2_power))), F.sub(1.0, beta1_power))


def _adam_step(
    m: Parameter,
    v: Parameter,
    beta1_power: Any,
    beta2_power: Any,
    lr: Any,
    beta1: Any,
    beta2: Any,
    epsilon: Any,
    grad: Tensor,
    use_nesterov: bool,
) -> Tensor:
    """What Adam takes off: lr sqrt(1 - beta2^t) / (1 - beta1^t) m / (sqrt(v) + eps); the moving means m of grad and v of grad^2
    move.
    """
    first, second = _moved(m, beta1, grad), _moved(v, beta2, F.square(grad))
    rate = _corrected(lr, beta1_power, beta2_power)
    top = F.add(F.mul(first, beta1), F.mul(grad, F.sub(1.0, beta1))) if use_nesterov else first
    return F.div(F.mul(rate, top), F.add(F.sqrt(second), epsilon))


def _adam(
    var: Parameter,
    m: Parameter,
    v: Parameter,
    beta1_power: Operand,
    beta2_power: Operand,
    lr: Operand,
    beta1: Operand,
    beta2: Operand,
    epsilon: Operand,
    grad: Tensor,
    use_nesterov: bool,
) -> tuple[Tensor, Tensor, Tensor]:
    """var -= lr sqrt(1 - beta2^t) / (1 - beta1^t) m / (sqrt(v) + eps), with the moving means m of grad and v of grad^2."""
    step = _adam_step(m, v, beta1_power, beta2_power, lr, beta1, beta2, epsilon, grad, use_nesterov)
    return F.assign_sub(var, step), m.value(), v.value()


Adam = declare("Adam", _adam, use_locking=Hint(False), use_nesterov=False)


def _adam_change(
    m: Parameter,
    v: Parameter,
    beta1_power: Operand,
    beta2_power: Operand,
    lr: Operand,
    beta1: Operand,
    beta2: Operand,
    epsilon: Operand,
    gradient: Tensor,
    use_nesterov: bool,
) -> Tensor:
    """What Adam would add to a parameter; m and v move."""
    return F.neg(_adam_step(m, v, beta1_power, beta2_power, lr, beta1, beta2, epsilon, gradient, use_nesterov))


AdamNoUpdateParam = declare("AdamNoUpdateParam", _adam_change, use_locking=Hint(False), use_nesterov=False)


def _amsgrad(
    var: Parameter,
    m: Parameter,
    v: Parameter,
    vhat: Parameter,
    beta1_power: Operand,
    beta2_power: Operand,
    lr: Operand,
    beta1: Operand,
    beta2: Operand,
    epsilon: Operand,
    grad: Tensor,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """As Adam, with the largest v so far, `vhat`, in place of v (Reddi et al., 2018)."""
    first, second = _moved(m, beta1, grad), _moved(v, beta2, F.square(grad))
    most = F.assign(vhat, F.maximum(vhat, second))
    rate = _corrected(lr, beta1_power, beta2_power)
    step = F.div(F.mul(rate, first), F.add(F.sqrt(most), epsilon))
    return F.assign_sub(var, step), first, second, most


def _amsgrad_of_three(
    var: Parameter,
    m: Parameter,
    v: Parameter,
    vhat: Parameter,
    beta1_power: Operand,
    beta2_power: Operand,
    lr: Operand,
    grad: Tensor,
    beta1: float,
    beta2: float,
    epsilon: float,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """As ApplyAdamWithAmsgradV2, whose betas and epsilon the constructor gets."""
    return _amsgrad(var, m, v, vhat, beta1_power, beta2_power, lr, beta1, beta2, epsilon, grad)


ApplyAdamWithAmsgrad = declare(
    "ApplyAdamWithAmsgrad", _amsgrad_of_three, beta1=0.9, beta2=0.999, epsilon=1e-8, use_locking=Hint(False)
)

ApplyAdamWithAmsgradV2 = declare("ApplyAdamWithAmsgradV2", _amsgrad, use_locking=Hint(False))


def _keras_momentum(
    var: Parameter, accum: Parameter, lr: Operand, grad: Tensor, momentum: Operand, use_nesterov: bool
) -> tuple[Tensor, Tensor]:
    """accum = momentum accum - lr grad; var += accum, with nesterov momentum accum - lr grad."""
    down = F.mul(grad, lr)
    total = F.assign(accum, F.sub(F.mul(accum, momentum), down))
    return F.assign_add(var, F.sub(F.mul(total, momentum), down) if use_nesterov else total), total


ApplyKerasMomentum = declare("ApplyKerasMomentum", _keras_momentum, use_locking=Hint(False), use_nesterov=False)


def _adam_decay(
    var: Parameter,
    m: Parameter,
    v: Parameter,
    lr: Operand,
    beta1: Operand,
    beta2: Operand,
    epsilon: Operand,
    decay: Operand,
    gradient: Tensor,
) -> tuple[Tensor, Tensor, Tensor]:
    """var -= lr (m / (sqrt(v) + eps) + decay var)."""
    first, second = _moved(m, beta1, gradient), _moved(v, beta2, F.square(gradient))
    step = F.add(F.div(first, F.add(F.sqrt(second), epsilon)), F.mul(var, decay))
    return F.assign_sub(var, F.mul(step, lr)), first, second


AdamWeightDecay = declare("AdamWeightDecay", _adam_decay, use_locking=Hint(False))


def _adagrad(
    var: Parameter, accum: Parameter, lr: Operand, grad: Tensor, update_slots: bool, epsilon: float = 0.0
) -> tuple[Tensor, Tensor]:
    """accum += grad^2; var -= lr grad / (sqrt(accum) + eps)."""
    total = F.assign_add(accum, F.square(grad)) if update_slots else accum
    return F.assign_sub(var, F.div(F.mul(grad, lr), F.add(F.sqrt(total), epsilon))), total


ApplyAdagrad = declare("ApplyAdagrad", _adagrad, update_slots=True)

ApplyAdagradV2 = declare("ApplyAdagradV2", _adagrad, epsilon=REQUIRED, update_slots=True)


def _rms(
    var: Parameter,
    mean_square: Parameter,
    moment: Parameter,
    learning_rate: Operand,
    grad: Tensor,
    decay: Operand,
    momentum: Operand,
    epsilon: Operand,
) -> Tensor:
    """mom = momentum mom + lr grad / sqrt(ms + eps); var -= mom, with the moving mean ms of grad^2."""
    square = _moved(mean_square, decay, F.square(grad))
    step = F.div(F.mul(grad, learning_rate), F.sqrt(F.add(square, epsilon)))
    return F.assign_sub(var, F.assign(moment, F.add(F.mul(moment, momentum), step)))


ApplyRMSProp = declare("ApplyRMSProp", _rms, use_locking=Hint(False))


def _centered_rms(
    var: Parameter,
    mean_gradient: Parameter,
    mean_square: Parameter,
    moment: Parameter,
    grad: Tensor,
    learning_rate: Operand,
    decay: Operand,
    momentum: Operand,
    epsilon: Operand,
) -> Tensor:
    """As ApplyRMSProp, with the variance ms - mg^2 in place of ms."""
    mean, square = _moved(mean_gradient, decay, grad), _moved(mean_square, decay, F.square(grad))
    variance = F.sub(square, F.square(mean))
    step = F.div(F.mul(grad, learning_rate), F.sqrt(F.add(variance, epsilon)))
    return F.assign_sub(var, F.assign(moment, F.add(F.mul(moment, momentum), step)))


ApplyCenteredRMSProp = declare("ApplyCenteredRMSProp", _centered_rms, use_locking=Hint(False))


def _ftrl(
    var: Parameter,
    accum: Parameter,
    linear: Parameter,
    grad: Tensor,
    lr: Any,
    l1: Any,
    l2: Any,
    lr_power: Any,
    shrinkage: float = 0.0,
) -> Tensor:
    """Follow the regularized leader (McMahan et al., 2013); 2 shrinkage var is added to the gradient, but not to its square."""
    power = F.neg(lr_power) if isinstance(lr_power, Tensor) else -lr_power
    total = F.add(accum, F.square(grad))
    raised = F.pow(total, power)
    sigma = F.div(F.sub(raised, F.pow(accum, power)), lr)
    pull = F.add(grad, F.mul(var, 2.0 * shrinkage)) if shrinkage else grad
    line = F.assign_add(linear, F.sub(pull, F.mul(sigma, var)))
    quadratic = F.add(F.div(raised, lr), F.mul(2.0, l2))
    inside = F.less_equal(F.abs(line), l1)
    made = F.select(inside, 0.0, F.div(F.sub(F.mul(F.sign(line), l1), line), quadratic))
    F.assign(accum, total)
    return F.assign(var, made)


def _ftrl_of_four(
    var: Parameter,
    accum: Parameter,
    linear: Parameter,
    grad: Tensor,
    lr: Operand,
    l1: Operand,
    l2: Operand,
    lr_power: Operand,
) -> Tensor:
    """Follow the regularized leader (McMahan et al., 2013)."""
    return _ftrl(var, accum, linear, grad, lr, l1, l2, lr_power)


ApplyFtrl = declare("ApplyFtrl", _ftrl_of_four, use_locking=Hint(False))


def _dual_averaging(
    var: Parameter,
    gradient_accumulator: Parameter,
    gradient_squared_accumulator: Parameter,
    grad: Tensor,
    lr: Operand,
    l1: Operand,
    l2: Operand,
    global_step: Any,
) -> Tensor:
    """var = -lr sign(G) max(|G| - l1 t, 0) / (l2 t lr + sqrt(S)), of the sums G of grad and S of grad^2 (Duchi et al., 2011)."""
    total = F.assign_add(gradient_accumulator, grad)
    squares = F.assign_add(gradient_squared_accumulator, F.square(grad))
    step = F.cast(global_step, var.tensor_type.dtype)
    shrunk = F.mul(F.sign(total), F.maximum(F.sub(F.abs(total), F.mul(step, l1)), 0.0))
    return F.assign(var, F.div(F.mul(F.neg(shrunk), lr), F.add(F.mul(F.mul(step, l2), lr), F.sqrt(squares))))


ApplyAdagradDA = declare("ApplyAdagradDA", _dual_averaging, use_locking=Hint(False))


def _descent(var: Parameter, alpha: Operand, delta: Tensor) -> Tensor:
    """var -= alpha delta."""
    return F.assign_sub(var, F.mul(delta, alpha))


ApplyGradientDescent = declare("ApplyGradientDescent", _descent)


def _proximal(var: Parameter, target: Tensor, rate: Any, l1: Any, l2: Any) -> Tensor:
    """var = sign(t) max(|t| - rate l1, 0) / (1 + rate l2) of the target t."""
    shrunk = F.maximum(F.sub(F.abs(target), F.mul(rate, l1)), 0.0)
    return F.assign(var, F.div(F.mul(F.sign(target), shrunk), F.add(1.0, F.mul(rate, l2))))


def _proximal_descent(var: Parameter, alpha: Operand, l1: Operand, l2: Operand, delta: Tensor) -> Tensor:
    """A proximal step after var - alpha delta."""
    return _proximal(var, F.sub(var, F.mul(delta, alpha)), alpha, l1, l2)


def _proximal_adagrad(
    var: Parameter, accum: Parameter, lr: Operand, l1: Operand, l2: Operand, grad: Tensor
) -> tuple[Tensor, Tensor]:
    """accum += grad^2, then a proximal step of rate lr / sqrt(accum) after var - rate grad."""
    total = F.assign_add(accum, F.square(grad))
    rate = F.div(lr, F.sqrt(total))
    return _proximal(var, F.sub(var, F.mul(grad, rate)), rate, l1, l2), total


ApplyProximalGradientDescent = declare("ApplyProximalGradientDescent", _proximal_descent)

ApplyProximalAdagrad = declare("ApplyProximalAdagrad", _proximal_adagrad, use_locking=Hint(False))


def _adamax(
    var: Parameter,
    m: Parameter,
    v: Parameter,
    beta1_power: Operand,
    lr: Operand,
    beta1: Operand,
    beta2: Operand,
    epsilon: Operand,
    grad: Tensor,
) -> tuple[Tensor, Tensor, Tensor]:
    """v = max(beta2 v, |grad|); var -= lr / (1 - beta1^t) m / (v + eps)."""
    first = _moved(m, beta1, grad)
    most = F.assign(v, F.maximum(F.mul(v, beta2), F.abs(grad)))
    rate = F.div(lr, F.sub(1.0, beta1_power))
    return F.assign_sub(var, F.div(F.mul(rate, first), F.add(most, epsilon))), first, most


ApplyAdaMax = declare("ApplyAdaMax", _adamax)


def _adadelta(
    var: Parameter, accum: Parameter, accum_update: Parameter, lr: Operand, rho: Operand, epsilon: Operand, grad: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """update = sqrt(accum_update + eps) / sqrt(accum + eps) grad; var -= lr update."""
    total = _moved(accum, rho, F.square(grad))
    update = F.mul(F.div(F.sqrt(F.add(accum_update, epsilon)), F.sqrt(F.add(total, epsilon))), grad)
    moved = _moved(accum_update, rho, F.square(update))
    return F.assign_sub(var, F.mul(update, lr)), total, moved


ApplyAdadelta = declare("ApplyAdadelta", _adadelta)


def _add_sign(
    var: Parameter, m: Parameter, lr: Operand, alpha: Operand, sign_decay: Operand, beta: Operand, grad: Tensor
) -> tuple[Tensor, Tensor]:
    """var -= lr (alpha + sign_decay sign(grad) sign(m)) grad."""
    first = _moved(m, beta, grad)
    agree = F.mul(F.mul(F.sign(grad), F.sign(first)), sign_decay)
    return F.assign_sub(var, F.mul(F.mul(F.add(agree, alpha), grad), lr)), first


def _power_sign(
    var: Parameter, m: Parameter, lr: Operand, logbase: Operand, sign_decay: Operand, beta: Operand, grad: Tensor
) -> tuple[Tensor, Tensor]:
    """var -= lr exp(logbase sign_decay sign(grad) sign(m)) grad."""
    first = _moved(m, beta, grad)
    agree = F.mul(F.mul(F.sign(grad), F.sign(first)), sign_decay)
    return F.assign_sub(var, F.mul(F.mul(F.exp(F.mul(agree, logbase)), grad), lr)), first


ApplyAddSign, ApplyPowerSign = declare("ApplyAddSign", _add_sign), declare("ApplyPowerSign", _power_sign)


class SGD(Primitive):
    """Stochastic gradient descent with momentum: called with (parameter, gradient, learning rate, accum, momentum, stat).

    `stat` is 1 before the first step, which takes the gradient itself as accumulation, and 0 after it.
    """

    def __init__(self, dampening: float = 0.0, weight_decay: float = 0.0, nesterov: bool = False) -> None:
        super().__init__()
        self.dampening, self.weight_decay, self.nesterov = dampening, weight_decay, nesterov

    def __call__(
        self,
        parameters: Parameter,
        gradient: Tensor,
        learning_rate: Any,
        accum: Parameter,
        momentum: Any,
        stat: Parameter,
    ) -> Tensor:
        grad = F.add(gradient, F.mul(parameters, self.weight_decay)) if self.weight_decay else gradient
        moving = F.add(F.mul(accum, momentum), F.mul(grad, 1.0 - self.dampening))
        total = F.assign(accum, F.select(F.greater(stat, 0.0), grad, moving))
        F.assign(stat, F.zeros_like(stat))
        step = F.add(grad, F.mul(total, momentum)) if self.nesterov else total
        return F.assign_sub(parameters, F.mul(step, learning_rate))
