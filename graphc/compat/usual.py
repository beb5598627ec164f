"""What MindSpore's modules of layers, optimizers and training import for themselves, and scripts take from there."""

from graphc.nn.cell.cell import Cell
from graphc.ops.tensor.parameter import Parameter, ParameterTuple
from graphc.ops.tensor.tensor import Tensor

__all__ = ["Cell", "Parameter", "ParameterTuple", "Tensor"]
