"""What MindSpore's modules of layers, optimizers and training import for themselves, and scripts take from there."""

from graphc.compat.toplevel import constexpr
from graphc.nn.cell.cell import Cell
from graphc.nn.optim.base import Optimizer
from graphc.nn.optim.mindspore_base import opt_init_args_register
from graphc.ops.tensor.mutable import mutable
from graphc.ops.tensor.parameter import Parameter, ParameterTuple
from graphc.ops.tensor.primitive import Primitive, PrimitiveWithCheck, PrimitiveWithInfer, prim_attr_register
from graphc.ops.tensor.tensor import Tensor
from graphc.steps.jit import jit, jit_class

__all__ = [
    "Cell", "Optimizer", "Parameter", "ParameterTuple", "Primitive", "PrimitiveWithCheck", "PrimitiveWithInfer", "Tensor",
    "constexpr", "jit", "jit_class", "mutable", "opt_init_args_register", "prim_attr_register",
]  # fmt: skip
