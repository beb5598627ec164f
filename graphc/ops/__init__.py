"""The ops: declarations, tensors, functions, gradients and primitives. Knows the IR; knows no Cells, no compiler."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from graphc.errors.suggestions import no_member
from graphc.ops import communication, functional, gradients, primitives
from graphc.ops import declared as declared
from graphc.ops.communication import *
from graphc.ops.functional import *
from graphc.ops.gradients import *
from graphc.ops.primitives import *
from graphc.ops.tensor.mutable import mutable as mutable
from graphc.ops.tensor.parameter import Parameter as Parameter
from graphc.ops.tensor.parameter import ParameterTuple as ParameterTuple
from graphc.ops.tensor.row_tensor import RowTensor as RowTensor
from graphc.ops.tensor.tensor import Tensor as Tensor
from graphc.ops.user_kernels import custom as custom
from graphc.tracebacks import clean
from graphc.validation.signatures import accept

if not TYPE_CHECKING:
    _OWN = ("Parameter", "ParameterTuple", "RowTensor", "Tensor", "custom", "mutable")
    _PARTS = (functional, gradients, primitives, communication)
    __all__ = list(dict.fromkeys((*_OWN, *(name for part in _PARTS for name in part.__all__))))
    accept(globals(), __all__, __name__)

    def __getattr__(name: str) -> Any:
        try:
            return no_member("graphc.ops", name, __all__)
        except (AttributeError, ImportError) as error:
            clean(error)
            raise
