"""What training cells of one's own take from the modules of MindSpore's: Cells around others, maps over gradients."""

from __future__ import annotations

from typing import Any

from graphc import ops
from graphc.nn.cell.cell import Cell
from graphc.nn.layer.combined import TimeDistributed
from graphc.ops.primitives import FloatStatus
from graphc.ops.tensor.row_tensor import RowTensor
from graphc.ops.tensor.tensor import Tensor


class _VirtualDatasetCell(Cell):
    """The backbone: its inputs are divided over processes, of which there is one."""

    def __init__(self, backbone: Cell) -> None:
        super().__init__(auto_prefix=False)
        self._backbone = backbone

    def construct(self, *inputs: Any) -> Any:
        return self._backbone(*inputs)


#: By HyperMap with a scale: each gradient divided by it.
_grad_scale = ops.MultitypeFuncGraph("grad_scale")
#: By HyperMap: of each gradient, whether it is not finite, float32 [1].
_grad_overflow = ops.MultitypeFuncGraph("_grad_overflow")


@_grad_scale.register("Tensor", "Tensor")
def tensor_grad_scale(scale: Tensor, grad: Tensor) -> Tensor:
    """grad / scale in the dtype of grad."""
    scaled: Tensor = grad * ops.cast(1 / scale, grad.dtype)
    return scaled


@_grad_scale.register("Tensor", "RowTensor")
def tensor_grad_scale_row_tensor(scale: Tensor, grad: RowTensor) -> RowTensor:
    """The same of the rows that there are."""
    return RowTensor(grad.indices, tensor_grad_scale(scale, grad.values), grad.dense_shape)


@_grad_overflow.register("Tensor")
def _tensor_grad_overflow(grad: Tensor) -> Tensor:
    flag: Tensor = FloatStatus()(grad)
    return flag


@_grad_overflow.register("RowTensor")
def _tensor_grad_overflow_row_tensor(grad: RowTensor) -> Tensor:
    flag: Tensor = FloatStatus()(grad.values)
    return flag


__all__ = ["TimeDistributed", "tensor_grad_scale"]
