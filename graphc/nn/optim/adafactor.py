"""Adafactor: adaptive rates whose state is smaller than the parameters."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphc import ops
from graphc.errors import ArgumentValueError, user_loc
from graphc.nn import checks
from graphc.nn.optim.base import Optimizer
from graphc.ops.primitives import FusedAdaFactor
from graphc.ops.tensor.parameter import Parameter, ParameterTuple
from graphc.ops.tensor.tensor import Tensor


class AdaFactor(Optimizer):
    """Gradients over the root of their mean square, which is kept in factors for matrices (Shazeer and Stern, 2018;
    MindSpore: nn.AdaFactor, as it computes on a CPU).

    The update is ops.FusedAdaFactor's, with beta2t = 1 - t^-decay_rate at step t = 1, 2, ... and, with relative_step, the
    rate min(0.01, 1 / sqrt(t)), or min(1e-6 t, 1 / sqrt(t)) with warmup_init; without it learning_rate must be given. Rates
    that are no number (lists, schedules) are used as they are: no relative_step, no scale_parameter. beta1 = 0 keeps no mean
    of the updates. weight_decay is decoupled from the gradient and holds for every parameter. compression keeps the mean
    squares of vectors in float16.
    State: "exp_avg.<parameter>" (unless beta1 is 0), "exp_avg_sq_row_<parameter>", "exp_avg_sq_col_<parameter>" and
    "exp_avg_sq_<parameter>", those without use of shape (1,), and "afactor_step" (float32[1]).
    Raises ArgumentValueError for both learning_rate and relative_step or neither, and for warmup_init without
    relative_step; further arguments and errors: see Optimizer.
    """

    def __init__(
        self,
        params: Any,
        learning_rate: Any = None,
        eps: Any = (1e-30, 1e-3),
        clip_threshold: float = 1.0,
        decay_rate: float = 0.8,
        beta1: float = 0.9,
        weight_decay: float = 0.0,
        scale_parameter: bool = True,
        relative_step: bool = True,
        warmup_init: bool = False,
        compression: bool = False,
        loss_scale: float = 1.0,
    ) -> None:
        owner = "AdaFactor"
        relative = checks.boolean(owner, "relative_step", relative_step)
        if (learning_rate is None) != relative:
            found = "both are" if relative else "neither is"
            raise ArgumentValueError(
                f"{owner}: learning_rate or relative_step, {found} given",
                loc=user_loc(),
                help="leave out learning_rate, or set relative_step=False",
            )
        if checks.boolean(owner, "warmup_init", warmup_init) and not relative:
            raise ArgumentValueError(f"{owner}: warmup_init needs relative_step", loc=user_loc())
        super().__init__(0.0 if learning_rate is None else learning_rate, params, weight_decay, loss_scale)
        if not isinstance(eps, (tuple, list)) or len(eps) != 2:
            raise checks.wrong_value(owner, "eps", "two floats", eps)
        self.eps = tuple(checks.exact_float(owner, f"eps[{i}]", e, least=0) for i, e in enumerate(eps))
        self.clip_threshold = checks.exact_float(owner, "clip_threshold", clip_threshold, above=0)
        self.decay_rate = checks.exact_float(owner, "decay_rate", decay_rate, above=0, most=1)
        self.beta1 = checks.real(owner, "beta1", 0.0 if beta1 is None else beta1, least=0)
        self.relative_step, self.warmup_init = relative, warmup_init
        self.compression = checks.boolean(owner, "compression", compression)
        number = learning_rate is None or checks.is_number(learning_rate)
        self.scale_parameter = checks.boolean(owner, "scale_parameter", scale_parameter) and number
        self._hold_means()

    def _hold_means(self) -> None:
        self.exp_avg = self.state("exp_avg") if self.beta1 else self.parameters
        self.exp_avg_sq_row = self._zeros("row_", lambda p: p.shape[:-1] if p.ndim > 1 else (1,))
        self.exp_avg_sq_col = self._zeros("col_", lambda p: (*p.shape[:-2], p.shape[-1]) if p.ndim > 1 else (1,))
        self.exp_avg_sq = self._zeros("", lambda p: (1,) if p.ndim > 1 else p.shape)
        self.counter = Parameter(Tensor([0.0], "float32"), name="afactor_step", requires_grad=False)

    def _zeros(self, kind: str, shape: Any) -> ParameterTuple:
        made = []
        for p in self.parameters:
            dtype = "float16" if self.compression and not kind and p.ndim < 2 else p.tensor_type.dtype
            data = Tensor(np.zeros(shape(p)), dtype)
            made.append(Parameter(data, name=f"exp_avg_sq_{kind}{p.name}", requires_grad=False))
        self._own(made)
        return ParameterTuple(made)

    def advance(self) -> None:
        ops.assign_add(self.counter, 1.0)

    def decay_weight(self, gradients: Any) -> tuple[Tensor, ...]:
        """The gradients as they are: the decay is the update's own."""
        return tuple(gradients)

    def update(self, index: int, gradient: Tensor, lr: Tensor) -> Tensor:
        step = ops.reshape(self.counter, ())
        rate: Any = lr
        if self.relative_step:
            rate = ops.minimum(step * 1e-6 if self.warmup_init else 1e-2, ops.rsqrt(step))
        decay = self.weight_decay[index] if self.is_group else self.weight_decay
        rule = FusedAdaFactor(self.scale_parameter, self.beta1 > 0, not isinstance(decay, float) or decay > 0)
        keep = 1.0 - ops.pow(step, -self.decay_rate)
        states = (self.exp_avg, self.exp_avg_sq_row, self.exp_avg_sq_col, self.exp_avg_sq)
        made: Tensor = rule(
            self.eps, self.clip_threshold, self.beta1, keep, self._decay_now(decay), rate,
            gradient, self.parameters[index], *(s[index] for s in states),
        )  # fmt: skip
        return made


__all__ = ["AdaFactor"]
