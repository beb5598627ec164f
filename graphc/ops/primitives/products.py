"""Products, distances, Fourier transforms and small linear systems as primitives."""

from __future__ import annotations

from graphc.ops import functional as F
from graphc.ops.functional.fourier import fft_with_size
from graphc.ops.functional.solve import cholesky, det, inverse
from graphc.ops.tensor.primitive import REQUIRED, declare
from graphc.ops.tensor.tensor import Tensor

# ---- products

MatMul = declare("MatMul", F.matmul, transpose_a=False, transpose_b=False)

BatchMatMul = declare("BatchMatMul", F.matmul, transpose_a=False, transpose_b=False)

Ger = declare("Ger", F.outer)
Einsum = declare("Einsum", lambda operands, equation: F.einsum(equation, operands), equation=REQUIRED)
Dense = declare("Dense", F.dense)

TensorDot = declare("TensorDot", F.tensor_dot)

Cross, Cdist = declare("Cross", F.cross, dim=None), declare("Cdist", F.cdist, p=2.0)

FFTWithSize = declare(
    "FFTWithSize",
    fft_with_size,
    signal_ndim=REQUIRED,
    inverse=REQUIRED,
    real=REQUIRED,
    norm="backward",
    onesided=True,
    signal_sizes=(),
)

# ---- small systems


def _inverse(x: Tensor, adjoint: bool) -> Tensor:
    """The inverse of square matrices, or of their transposes."""
    return inverse(F.swapaxes(x, -1, -2) if adjoint else x)


MatrixInverse = declare("MatrixInverse", _inverse, adjoint=False)

MatrixDeterminant = declare("MatrixDeterminant", det)

Cholesky = declare("Cholesky", lambda x, upper: cholesky(x, upper), cholesky.__doc__, upper=False)
