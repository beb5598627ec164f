"""Layer-wise adaptive rates around another optimizer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from graphc import ops
from graphc.nn import checks
from graphc.nn.cell.cell import Cell
from graphc.nn.optim.base import Optimizer
from graphc.nn.optim.sharding import refuse_cut_layers
from graphc.ops.primitives import LARSUpdate
from graphc.ops.tensor.parameter import Parameter
from graphc.ops.tensor.tensor import Tensor


def _usual(parameter: Parameter) -> bool:
    return "LayerNorm" not in parameter.name and "bias" not in parameter.name


class LARS(Optimizer):
    """Scale the gradient of each layer, then let `optimizer` use it (You et al., 2017; MindSpore: nn.LARS, which has
    no CPU kernel; this is its formula).

    g = coefficient * |w| / (|g| + weight_decay * |w| + epsilon) * (g + weight_decay * w), with the norms of the whole
    parameter; use_clip divides the first factor by the learning rate and holds it at 1 at most.
    lars_filter(parameter) says which parameters this applies to, by default those with neither "LayerNorm" nor "bias"
    in their names; the others get their gradients as they are. Weight decay and loss scale are those of `optimizer`,
    which no longer applies them itself. epsilon, coefficient: floats. Raises ArgumentTypeError for arguments; see
    Optimizer for gradients.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        epsilon: float = 1e-5,
        coefficient: float = 0.001,
        use_clip: bool = False,
        lars_filter: Callable[[Parameter], bool] = _usual,
    ) -> None:
        Cell.__init__(self, auto_prefix=False)
        if not isinstance(optimizer, Optimizer):
            raise checks.wrong_type("LARS", "optimizer", "an Optimizer", optimizer)
        self.epsilon = checks.exact_float("LARS", "epsilon", epsilon)
        self.coefficient = checks.exact_float("LARS", "coefficient", coefficient)
        self.use_clip = checks.boolean("LARS", "use_clip", use_clip)
        self.opt = optimizer
        for name in ("parameters", "global_step", "learning_rate", "loss_scale", "weight_decay", "decay_flags",
                     "is_group", "is_group_lr", "dynamic_lr", "dynamic_weight_decay", "exec_weight_decay"):  # fmt: skip
            setattr(self, name, getattr(optimizer, name))
        refuse_cut_layers(self, "the norm of a layer", self.parameters)
        self.lars_flags = tuple(bool(lars_filter(p)) for p in self.parameters)
        optimizer.decay_flags = (False,) * len(self.parameters)
        optimizer.exec_weight_decay = optimizer.dynamic_weight_decay = False
        optimizer.loss_scale = 1.0

    def step(self, gradients: Any) -> Any:
        grads = self.scale_grad(self.checked(gradients))
        rates = self.parameter_rates() if self.use_clip else (None,) * len(grads)
        decays = self.parameter_decays()
        return self.opt(tuple(self._scaled(i, g, rates[i], decays[i]) for i, g in enumerate(grads)))

    def _scaled(self, index: int, gradient: Tensor, lr: Tensor | None, decay: Tensor | float) -> Tensor:
        if not self.lars_flags[index]:
            return gradient
        weight = self.parameters[index]
        decay = decay / self.loss_scale
        squares = (ops.reduce_sum(ops.square(x)) for x in (weight, gradient))
        made: Tensor = LARSUpdate(self.epsilon, self.coefficient, self.use_clip)(weight, gradient, *squares, decay, lr)
        return made


__all__ = ["LARS"]
