"""One step of optimizer rules that MindSpore has as fused operators."""

from __future__ import annotations

from typing import Any

from graphc.errors import ArgumentValueError, user_loc
from graphc.ops import functional as F
from graphc.ops.functional.core import Operand
from graphc.ops.primitives.optimizers import AdamWeightDecay
from graphc.ops.tensor.parameter import Parameter
from graphc.ops.tensor.primitive import Hint, declare
from graphc.ops.tensor.tensor import Tensor


def _root_mean_square(x: Tensor) -> Tensor:
    return F.sqrt(F.reduce_mean(F.square(x)))


def _moved(state: Parameter, keep: Any, value: Tensor) -> Tensor:
    """state = keep state + (1 - keep) value, in float32; returns the new state."""
    return F.assign(state, F.add(F.mul(F.cast(state, "float32"), keep), F.mul(value, F.sub(1.0, keep))))


def _scaled_gradient(grad: Tensor, square: Tensor, keep: Any, states: tuple[Parameter, ...]) -> Tensor:
    """grad / sqrt(mean of its squares); the mean is kept whole, or as means over the last and the last but one axis."""
    rows, columns, whole = states
    if grad.ndim < 2:
        return F.mul(grad, F.rsqrt(F.cast(_moved(whole, keep, square), "float32")))
    by_row = F.cast(_moved(rows, keep, F.reduce_mean(square, -1)), "float32")
    by_column = F.cast(_moved(columns, keep, F.reduce_mean(square, -2)), "float32")
    share = F.rsqrt(F.div(by_row, F.reduce_mean(by_row, -1, keep_dims=True)))
    return F.mul(F.mul(grad, F.expand_dims(share, -1)), F.expand_dims(F.rsqrt(by_column), -2))


def _ada_factor(
    epsilon: Any,
    clip_threshold: Operand,
    beta1: Operand,
    beta2t: Operand,
    weight_decay: Operand,
    learning_rate: Operand,
    gradient: Tensor,
    param: Parameter,
    exp_avg: Parameter,
    exp_avg_sq_row: Parameter,
    exp_avg_sq_col: Parameter,
    exp_avg_sq: Parameter,
    enable_scale_parameter: bool,
    enable_first_moment: bool,
    enable_weight_decay: bool,
) -> Tensor:
    """One step of Adafactor (Shazeer and Stern, 2018) in float32; returns the new parameter.

    u = g / sqrt(v), with v the moving mean (weight beta2t of the old) of g^2 + epsilon[0], of a gradient with two or more
    axes in factors; u is divided by max(1, its root mean square / clip_threshold). The rate is multiplied by
    max(epsilon[1], root mean square of param) with enable_scale_parameter; param is reduced by rate * u, or its moving mean
    (beta1), and by rate * weight_decay * param. beta2t and the rate may have one element in an axis of their own.
    """
    if len(epsilon) != 2:
        raise ArgumentValueError(f"FusedAdaFactor: epsilon must have 2 elements, it has {len(epsilon)}", loc=user_loc())
    weight, grad = F.cast(param, "float32"), F.cast(gradient, "float32")
    rate, keep = (F.reshape(x, ()) if isinstance(x, Tensor) else x for x in (learning_rate, beta2t))
    if enable_scale_parameter:
        rate = F.mul(F.maximum(_root_mean_square(weight), epsilon[1]), rate)
    u = _scaled_gradient(grad, F.add(F.square(grad), epsilon[0]), keep, (exp_avg_sq_row, exp_avg_sq_col, exp_avg_sq))
    u = F.mul(F.div(u, F.maximum(F.div(_root_mean_square(u), clip_threshold), 1.0)), rate)
    if enable_first_moment:
        u = F.cast(_moved(exp_avg, beta1, u), "float32")
    if enable_weight_decay:
        u = F.add(u, F.mul(F.mul(weight, weight_decay), rate))
    return F.assign(param, F.cast(F.sub(weight, u), param.tensor_type.dtype))


FusedAdaFactor = declare(
    "FusedAdaFactor", _ada_factor, enable_scale_parameter=False, enable_first_moment=False, enable_weight_decay=False
)


def _ada_factor_of_clipped(
    epsilon: Any,
    clip_threshold: Operand,
    beta1: Operand,
    beta2t: Operand,
    weight_decay: Operand,
    learning_rate: Operand,
    gradient: Tensor,
    param: Parameter,
    exp_avg: Parameter,
    exp_avg_sq_row: Parameter,
    exp_avg_sq_col: Parameter,
    exp_avg_sq: Parameter,
    global_norm: Operand,
    enable_scale_parameter: bool,
    enable_first_moment: bool,
    enable_weight_decay: bool,
) -> Tensor:
    """FusedAdaFactor with the gradient, in float32, divided by global_norm."""
    rule = FusedAdaFactor(enable_scale_parameter, enable_first_moment, enable_weight_decay)
    grad = F.div(F.cast(gradient, "float32"), global_norm)
    states = (exp_avg, exp_avg_sq_row, exp_avg_sq_col, exp_avg_sq)
    made: Tensor = rule(epsilon, clip_threshold, beta1, beta2t, weight_decay, learning_rate, grad, param, *states)
    return made


FusedAdaFactorWithGlobalNorm = declare(
    "FusedAdaFactorWithGlobalNorm",
    _ada_factor_of_clipped,
    enable_scale_parameter=False,
    enable_first_moment=False,
    enable_weight_decay=False,
)


def _lars(
    weight: Tensor,
    gradient: Tensor,
    norm_weight: Tensor,
    norm_gradient: Tensor,
    weight_decay: Operand,
    learning_rate: Operand,
    epsilon: float,
    hyperpara: float,
    use_clip: bool,
) -> Tensor:
    """hyperpara |w| / (|g| + weight_decay |w| + epsilon) (g + weight_decay w), of the sums of squares of weight and gradient
    (You et al., 2017). use_clip divides the first factor by the learning rate and holds it at 1 at most.
    """
    w_norm, g_norm = F.sqrt(norm_weight), F.sqrt(norm_gradient)
    below = F.add(F.add(g_norm, F.mul(w_norm, weight_decay)), epsilon)
    trust = F.div(F.mul(w_norm, hyperpara), below)
    if use_clip:
        trust = F.minimum(F.div(trust, learning_rate), 1.0)
    return F.mul(F.add(gradient, F.mul(weight, weight_decay)), trust)


LARSUpdate = declare("LARSUpdate", _lars, epsilon=1e-5, hyperpara=0.001, use_clip=False)


def _adam_decay_of_clipped(
    var: Parameter,
    m: Parameter,
    v: Parameter,
    lr: Operand,
    beta1: Operand,
    beta2: Operand,
    epsilon: Any,
    decay: Operand,
    gradient: Tensor,
    global_norm: Operand,
) -> tuple[Tensor, Tensor, Tensor]:
    """AdamWeightDecay with the gradient, in float32, divided by global_norm."""
    made: tuple[Tensor, Tensor, Tensor] = AdamWeightDecay()(
        var, m, v, lr, beta1, beta2, epsilon, decay, F.div(F.cast(gradient, "float32"), global_norm)
    )
    return made


FusedCastAdamWeightDecay = declare("FusedCastAdamWeightDecay", _adam_decay_of_clipped, use_locking=Hint(False))
