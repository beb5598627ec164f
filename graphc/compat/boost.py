"""`mindspore.boost`, as far as it is about accumulating gradients over steps."""

from __future__ import annotations

from typing import Any

from graphc import ops
from graphc.nn import checks
from graphc.nn.cell.cell import Cell
from graphc.nn.optim import Optimizer
from graphc.ops.tensor.parameter import Parameter
from graphc.ops.tensor.tensor import Tensor

gradient_accumulation_op = ops.MultitypeFuncGraph("gradient_accumulation_op")
gradient_clear_op = ops.MultitypeFuncGraph("gradient_clear_op")


@gradient_accumulation_op.register("Int64", "Tensor", "Tensor")
def cumulative_grad_process(accumulation_step: int, cumulative_grad: Parameter, grad: Tensor) -> Tensor:
    """Add grad / accumulation_step to a sum. Returns the sum."""
    return ops.assign_add(cumulative_grad, grad / accumulation_step)


@gradient_clear_op.register("Tensor")
def clear_grad(cumulative_grad: Parameter) -> Tensor:
    """Make a sum zero."""
    return ops.assign(cumulative_grad, ops.zeros_like(cumulative_grad))


class GradientAccumulation(Cell):
    """The optimizer's step after every so many calls, with the mean of their gradients (MindSpore: boost.GradientAccumulation).

    max_accumulation_step: an int of at least 1; optimizer: an Optimizer. Called with a loss and a tuple of gradients, returns
    the loss. The names of the weights, and of the optimizer's state, get the prefix "optimizer."; the sums are Parameters
    "grad_accumulation.<name>", the calls since the last step "accumulation_step".
    Raises ArgumentTypeError or ArgumentValueError.
    """

    def __init__(self, max_accumulation_step: int, optimizer: Optimizer) -> None:
        super().__init__()
        owner = type(self).__name__
        self._max_accumulation_step = checks.integer(owner, "max_accumulation_step", max_accumulation_step)
        if not isinstance(optimizer, Optimizer):
            raise checks.wrong_type(owner, "optimizer", "an Optimizer", optimizer)
        self.optimizer = optimizer
        # A Cell of MindSpore's that holds an optimizer names all it holds after it, the weights as well.
        optimizer.update_parameters_name("optimizer.")
        self.weights = optimizer.parameters
        self.hyper_map = ops.HyperMap()
        self._grad_accumulation = self.weights.clone(prefix="grad_accumulation", init="zeros")
        self._accumulation_step: Any = Parameter(Tensor(0, "int32"), name="accumulation_step")

    def construct(self, loss: Tensor, grads: Any) -> Tensor:
        add = ops.partial(gradient_accumulation_op, self._max_accumulation_step)
        loss = ops.depend(loss, self.hyper_map(add, self._grad_accumulation, grads))
        self._accumulation_step += 1
        if self._accumulation_step >= self._max_accumulation_step:
            loss = ops.depend(loss, self.optimizer(self._grad_accumulation))
            loss = ops.depend(loss, self.hyper_map(gradient_clear_op, self._grad_accumulation))
            self._accumulation_step = 0
        return loss


__all__ = [
    "GradientAccumulation", "clear_grad", "cumulative_grad_process", "gradient_accumulation_op", "gradient_clear_op",
]  # fmt: skip
