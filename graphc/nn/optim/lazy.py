"""Adam under the names it has in MindSpore for sparse gradients and for states in host memory."""

from __future__ import annotations

from typing import Any

from graphc.nn.optim.adam import Adam
from graphc.ops.tensor.parameter import Parameter
from graphc.ops.tensor.tensor import Tensor


class AdamOffload(Adam):
    """Adam (MindSpore: nn.AdamOffload, which computes on the host; here everything does). See Adam; the powers of beta1 and
    beta2 have shape (1,).
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
    ) -> None:
        super().__init__(params, learning_rate, beta1, beta2, eps, use_locking, use_nesterov, weight_decay, loss_scale)
        self.beta1_power = Parameter(Tensor([1.0]), name="beta1_power", requires_grad=False)
        self.beta2_power = Parameter(Tensor([1.0]), name="beta2_power", requires_grad=False)


class LazyAdam(AdamOffload):
    """Adam that leaves alone what is not used (MindSpore: nn.LazyAdam): of a parameter whose gradient is a RowTensor only those
    rows move, and the moments that belong to them; others as with Adam. See AdamOffload.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.lazy = True


__all__ = ["AdamOffload", "LazyAdam"]
