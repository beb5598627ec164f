"""What training cells of one's own take from the modules of MindSpore's: Cells around others, maps over gradients."""

from __future__ import annotations

from typing import Any

from graphc import ops
from graphc.nn.cell.cell import Cell
from graphc.ops.gradients.hypermap import MultitypeFuncGraph
from graphc.ops.tensor.tensor import Tensor


class _VirtualDatasetCell(Cell):
    """The backbone: its inputs are divided over processes, of which there is one."""

    def __init__(self, backbone: Cell) -> None:
        super().__init__(auto_prefix=False)
        self._backbone = backbone

    def construct(self, *inputs: Any) -> Any:
        return self._backbone(*inputs)


#: Gradients divided by a scale, and float32[1], 1 where one is infinite or NaN: `ops.HyperMap` takes them over all gradients.
_grad_scale = MultitypeFuncGraph("grad_scale")
_grad_overflow = MultitypeFuncGraph("_grad_overflow")


@_grad_scale.register("Tensor", "Tensor")
def tensor_grad_scale(scale: Tensor, grad: Tensor) -> Tensor:
    """grad / scale, in the dtype of grad."""
    made: Tensor = grad * ops.cast(ops.reciprocal(scale), grad.dtype)
    return made


@_grad_overflow.register("Tensor")
def _tensor_grad_overflow(grad: Tensor) -> Tensor:
    made: Tensor = ops.FloatStatus()(grad)
    return made


__all__ = ["tensor_grad_scale"]
