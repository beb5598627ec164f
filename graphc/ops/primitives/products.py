"""Products and distances as primitives."""

from __future__ import annotations

from graphc.ops import functional as F
from graphc.ops.tensor.primitive import REQUIRED, declare

# ---- products

MatMul = declare("MatMul", F.matmul, transpose_a=False, transpose_b=False)

BatchMatMul = declare("BatchMatMul", F.matmul, transpose_a=False, transpose_b=False)

Ger = declare("Ger", F.outer)
Einsum = declare("Einsum", lambda operands, equation: F.einsum(equation, operands), equation=REQUIRED)
Dense = declare("Dense", F.dense)

TensorDot = declare("TensorDot", F.tensor_dot)

#: MindSpore's number for: the first axis of size 3.
_FIRST = -65530

Cross = declare("Cross", lambda x, y, dim: F.cross(x, y, None if dim == _FIRST else dim), F.cross.__doc__, dim=_FIRST)

Cdist = declare("Cdist", F.cdist, p=2.0)
