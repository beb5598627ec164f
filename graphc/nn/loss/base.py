"""What all losses share: weights and the reduction of one loss per element."""

from __future__ import annotations

from graphc import ops
from graphc.nn import checks
from graphc.nn.cell.cell import Cell
from graphc.ops.tensor.tensor import Tensor


class LossBase(Cell):
    """Base of the losses (MindSpore: nn.LossBase).

    reduction: "mean", "sum" or "none". Raises ArgumentValueError for any other.
    """

    def __init__(self, reduction: str = "mean") -> None:
        super().__init__()
        self.reduction = checks.one_of(type(self).__name__, "reduction", reduction, ("mean", "sum", "none"))

    def get_axis(self, x: Tensor) -> tuple[int, ...]:
        """All axes of x."""
        return tuple(range(x.ndim))

    def get_loss(self, x: Tensor, weights: float | Tensor = 1.0) -> Tensor:
        """`x * weights` reduced, in x's dtype. float16 is multiplied and summed in float32."""
        narrow = x.tensor_type.dtype == "float16"
        y = ops.cast(x, "float32") if narrow else x
        if isinstance(weights, Tensor) or weights != 1.0:
            y = y * weights
        if self.reduction == "mean":
            y = ops.reduce_mean(y)
        elif self.reduction == "sum":
            y = ops.reduce_sum(y)
        return ops.cast(y, "float16") if narrow else y

    def extend_repr(self) -> str:
        return f"reduction={self.reduction}"


#: Its older name in MindSpore, from which losses of older scripts derive.
_Loss = LossBase

__all__ = ["LossBase"]
